"""Costs of ATen ops, by hand, without torch."""

import pytest

from rooflint.workloads.ops import Cost, Tensor, UnknownOpError, Window, cost, is_free

X = Tensor((1, 8, 10, 10))


@pytest.mark.parametrize(
    ("op", "ops_per_element"),
    [
        ("add", 1),
        ("relu", 1),
        ("hardtanh", 2),
        ("sigmoid", 4),
        ("silu", 5),
        ("hardswish", 5),
        ("gelu", 5),
        ("softmax", 5),
        ("batch_norm", 5),
        ("layer_norm", 5),
    ],
)
def test_an_element_wise_op_costs_its_convention_for_each_element_of_the_result(op, ops_per_element):
    assert cost(op, {"self": X}, X) == Cost(op, ops_per_element * 800)


def test_the_tanh_form_of_gelu_costs_nine():
    assert cost("gelu", {"approximate": "tanh"}, X).other_ops == 9 * 800


@pytest.mark.parametrize("op", ["max_pool2d", "adaptive_avg_pool2d", "mean", "cat", "roll"])
def test_pools_and_moves_compute_nothing(op):
    priced = cost(op, {"self": X}, X)
    assert (priced.other_ops, priced.groups) == (0, 0)


@pytest.mark.parametrize("op", ["view", "permute", "dropout", "contiguous", "getitem"])
def test_another_look_at_the_same_elements_is_free(op):
    assert is_free(op, {"self": X}, X)


def test_only_a_pad_by_nothing_is_free():
    assert is_free("pad", {"self": X}, X)
    assert not is_free("pad", {"self": X}, Tensor((1, 8, 11, 11)))


@pytest.mark.parametrize("op", ["cumprod", "fft_fft2", "lstm", "torchvision::nms", "", "relu6_"])
def test_an_unknown_op_is_an_error_and_never_zero(op):
    with pytest.raises(UnknownOpError, match=rf"^unknown op {op}: .*or add its cost \(docs/growing\.md, An op\)$"):
        cost(op, {"self": X}, X)


def test_a_linear_layer_on_a_sequence_has_a_row_for_each_token():
    # 2 × 7 tokens × 16 → 32
    priced = cost(
        "linear", {"input": Tensor((2, 7, 16)), "weight": Tensor((32, 16), is_data=False)}, Tensor((2, 7, 32))
    )
    assert priced == Cost("linear", 0, m=14, n=32, k=16, groups=1)


@pytest.mark.parametrize(
    ("weight", "out", "groups", "expected"),
    [
        ((16, 8, 3), (1, 16, 98), 1, Cost("conv1d", 0, m=98, n=16, k=24, groups=1)),
        ((16, 4, 3, 3), (1, 16, 8, 8), 2, Cost("conv2d", 0, 64, 8, 36, 2, Window(3, 3, 1, 1, 8, 8))),
        ((16, 8, 1, 3, 3), (1, 16, 4, 8, 8), 1, Cost("conv3d", 0, m=256, n=16, k=72, groups=1)),
    ],
)
def test_a_convolution_is_positions_times_channels_times_window_in_any_number_of_axes(weight, out, groups, expected):
    arguments = {"weight": Tensor(weight, is_data=False), "groups": groups}
    assert cost(expected.kind, arguments, Tensor(out)) == expected


def test_a_window_has_the_larger_stride_and_dilation_of_its_axes():
    weight = Tensor((16, 8, 3, 5), is_data=False)
    priced = cost("conv2d", {"weight": weight, "stride": [1, 2], "dilation": [3]}, Tensor((1, 16, 4, 6)))
    assert priced.window == Window(3, 5, stride=2, dilation=3, height=4, width=6)


def test_a_transposed_convolution_feeds_a_window_from_every_input_position():
    # 10 × 10 positions × 8 channels × 4 × (2 × 2) window = 12 800 MAC
    arguments = {"input": X, "weight": Tensor((8, 4, 2, 2), is_data=False)}
    priced = cost("conv_transpose2d", arguments, Tensor((1, 4, 20, 20)))
    assert priced == Cost("conv_transpose2d", 0, m=100, n=16, k=8, groups=1)


def test_attention_is_two_products_and_a_softmax_of_the_scores():
    # 2 × 3 heads × 5 × 7 scores: (4 + 6) MAC, and 1 + 5 op each; one more where a mask is added
    arguments = {"query": Tensor((2, 3, 5, 4)), "key": Tensor((2, 3, 7, 4)), "value": Tensor((2, 3, 7, 6))}
    out = Tensor((2, 3, 5, 6))
    plain = cost("scaled_dot_product_attention", arguments, out)
    assert plain == Cost("attention", 6 * 210, m=5, n=7, k=10, groups=6)
    masked = cost("scaled_dot_product_attention", {**arguments, "attn_mask": Tensor((5, 7))}, out)
    assert masked.other_ops - plain.other_ops == 210


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ((5, 4), (4, 6), (5, 6, 4, 1)),
        ((2, 3, 5, 4), (2, 3, 4, 6), (5, 6, 4, 6)),
        ((2, 3, 5, 4), (3, 4, 6), (10, 6, 4, 3)),  # the second operand is shared by the 2
        ((2, 3, 5, 4), (1, 3, 4, 6), (10, 6, 4, 3)),
        ((4,), (4, 6), (1, 6, 4, 1)),
        ((2, 5, 4), (4,), (10, 1, 4, 1)),
        ((4,), (4,), (1, 1, 4, 1)),
    ],
)
def test_matmul_broadcasts_like_numpy(left, right, expected):
    priced = cost("matmul", {"self": Tensor(left), "other": Tensor(right)}, Tensor(()))
    assert (priced.m, priced.n, priced.k, priced.groups) == expected


def test_a_weight_on_the_left_still_gives_its_channels_to_n():
    priced = cost("matmul", {"self": Tensor((6, 4), is_data=False), "other": Tensor((2, 4, 5))}, Tensor((2, 6, 5)))
    assert (priced.m, priced.n, priced.k, priced.groups) == (10, 6, 4, 1)


def test_einsum_is_the_product_that_its_axes_say():
    tensors = [Tensor((2, 3, 5, 4)), Tensor((2, 3, 7, 4))]
    priced = cost("einsum", {"equation": "b h i d, b h j d -> b h i j", "tensors": tensors}, Tensor((2, 3, 5, 7)))
    assert priced == Cost("matmul", 0, m=5, n=7, k=4, groups=6)


@pytest.mark.parametrize("equation", ["ij,jk,kl->il", "ii,ij->j", "...i,ij->...j", "ij,jk", "ij,jk->k"])
def test_a_form_of_einsum_that_is_no_plain_product_is_refused(equation):
    with pytest.raises(UnknownOpError, match="unknown form einsum"):
        cost("einsum", {"equation": equation, "tensors": [Tensor((2, 2)), Tensor((2, 2))]}, Tensor((2, 2)))


# -------------------------------------------------------------------------------- detectors, flow, decomposed graphs


def test_a_sort_compares_once_a_level_and_topk_keeps_a_heap():
    # 1000 elements: 10 levels; the best 5 of them: 3 levels
    row = Tensor((1000,))
    assert cost("sort", {"self": row}, row) == Cost("sort", 10_000)
    assert cost("topk", {"self": row, "k": 5}, Tensor((5,))) == Cost("topk", 3000)
    assert cost("sort", {"self": Tensor((1,))}, Tensor((1,))).other_ops == 0


def test_suppression_compares_pairs_of_boxes_up_to_a_thousand_of_a_class():
    # 100 boxes: 100 · 100 / 2 pairs × 13, sorted in 7 levels; 4000: each meets 1000 others, 12 levels
    for boxes, ops in ((100, 13 * 5000 + 700), (4000, 13 * 2_000_000 + 48_000)):
        assert cost("batched_nms", {"boxes": Tensor((boxes, 4))}, Tensor((boxes,))) == Cost("nms", ops)


def test_a_window_of_a_box_is_a_mean_of_bilinear_samples():
    # 3 boxes × 8 channels × 7 × 7, each of 2 × 2 samples of 7 ops and an addition
    assert cost("roi_align", {"sampling": 2}, Tensor((3, 8, 7, 7))) == Cost("roi_align", 4 * 8 * 1176)


def test_sampling_a_grid_is_bilinear_and_finds_its_place_once_for_all_channels():
    # 1 × 8 × 10 × 10: 7 ops each, 12 for each of 100 places; the nearest and the cubic form are not known
    assert cost("grid_sampler", {"interpolation_mode": 0}, X) == Cost("grid_sample", 7 * 800 + 12 * 100)
    with pytest.raises(UnknownOpError, match="want the bilinear one"):
        cost("grid_sampler", {"interpolation_mode": 2}, X)


def test_a_reduction_costs_one_op_an_element_of_its_argument_and_a_maximum_of_two_one_of_its_result():
    assert cost("sum", {"self": X}, Tensor((1,))) == Cost("sum", 800)
    assert cost("max", {"self": X, "other": Tensor((1,))}, X) == Cost("max", 800)


def test_a_variance_adds_for_the_mean_and_then_subtracts_squares_and_adds():
    # 80 rows of 10 elements: 800 × (1 + 3) op, whatever is left of an axis
    assert cost("var", {"self": X, "dim": [-1]}, Tensor((1, 8, 10))) == Cost("var", 3200)


def test_a_gated_unit_costs_a_sigmoid_and_a_product_for_each_element_that_is_left():
    # half of 8 channels × 10 × 10: (4 + 1) op each
    assert cost("glu", {"self": X, "dim": 1}, Tensor((1, 4, 10, 10))) == Cost("glu", 5 * 400)


@pytest.mark.parametrize(
    ("op", "ops"), [("quantize", 5), ("dequantize", 2), ("upsample_bicubic2d", 35), ("upsample_trilinear3d", 15)]
)
def test_conversions_and_other_upsamplings_have_their_conventions(op, ops):
    assert cost(op, {"self": X}, X) == Cost(op, ops * 800)


def test_a_decomposed_graph_costs_what_the_whole_one_costs():
    weight = Tensor((16, 8, 3, 3), is_data=False)
    out = Tensor((1, 16, 8, 8))
    assert cost("convolution", {"input": X, "weight": weight, "transposed": False}, out) == cost(
        "conv2d", {"input": X, "weight": weight}, out
    )
    bias, left, right = Tensor((5,), is_data=False), Tensor((3, 4)), Tensor((4, 5), is_data=False)
    assert cost("addmm", {"self": bias, "mat1": left, "mat2": right}, Tensor((3, 5))) == Cost(
        "matmul", 0, m=3, n=5, k=4, groups=1
    )
    assert cost("native_layer_norm", {"input": X}, X) == cost("layer_norm", {"input": X}, X)


# ---- grouped products of experts


def test_a_grouped_product_multiplies_each_row_once():
    # 6 rows of 8, each times the 8 × 5 of its expert, whichever of the 4 that is: 240 MAC
    price = cost("_grouped_mm", {"self": Tensor((6, 8)), "mat2": Tensor((4, 8, 5), is_data=False)}, Tensor((6, 5)))
    assert (price.kind, price.m, price.n, price.k, price.groups) == ("experts", 6, 5, 8, 1)


def test_a_grouped_product_of_another_form_is_not_guessed():
    with pytest.raises(UnknownOpError, match="unknown form of _grouped_mm"):
        cost("_grouped_mm", {"self": Tensor((6, 8)), "mat2": Tensor((8, 5))}, Tensor((6, 5)))


def test_a_histogram_counts_each_element_into_its_bin():
    assert cost("histc", {"self": Tensor((24,))}, Tensor((8,))).other_ops == 48
