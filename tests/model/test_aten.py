"""Costs of ATen ops, by hand, without torch."""

import pytest

from rooflint.aten import Cost, Tensor, UnknownOpError, cost, is_free

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


@pytest.mark.parametrize("op", ["cumsum", "fft_fft2", "lstm", "torchvision::nms", "", "relu6_"])
def test_an_unknown_op_is_an_error_and_never_zero(op):
    with pytest.raises(UnknownOpError, match=f"unknown op {op}"):
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
        ((16, 4, 3, 3), (1, 16, 8, 8), 2, Cost("conv2d", 0, m=64, n=8, k=36, groups=2)),
        ((16, 8, 1, 3, 3), (1, 16, 4, 8, 8), 1, Cost("conv3d", 0, m=256, n=16, k=72, groups=1)),
    ],
)
def test_a_convolution_is_positions_times_channels_times_window_in_any_number_of_axes(weight, out, groups, expected):
    arguments = {"weight": Tensor(weight, is_data=False), "groups": groups}
    assert cost(expected.kind, arguments, Tensor(out)) == expected


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
