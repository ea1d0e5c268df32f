"""Graphs: what each op reads, writes and is called, which op reads which result, and what is refused."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from rooflint.workloads.capture.graph import CaptureError
from rooflint.workloads.capture.trace import capture
from rooflint.workloads.flow import INPUT
from rooflint.workloads.footprint import footprint
from rooflint.workloads.ops import UnknownOpError
from rooflint.workloads.workload import Workload


class Functional(nn.Module):
    """A module that is one function of its inputs and of a weight."""

    def __init__(self, function, *shape):
        super().__init__()
        self.function = function
        self.weight = nn.Parameter(torch.empty(shape))

    def forward(self, *x):
        return self.function(*x, self.weight)


def captured(function, *shape: int) -> Workload:
    return capture(Functional(function, 6, 4).eval(), shape)


def test_what_does_not_depend_on_the_input_is_a_constant_that_is_read():
    # w·wᵀ + 1 is computed once; adding it reads its 6 × 6 elements, whatever the batch
    (row,) = captured(lambda x, w: x + (w @ w.T + 1), 5, 6, 6).rows()
    assert (row.kind, row.elements_in, row.elements_weight, row.elements_out) == ("add", 180, 36, 180)


def test_an_expanded_constant_is_read_once():
    # the class token of a vision transformer: 4 elements, expanded over the batch
    (row,) = captured(lambda x, w: torch.cat([w[:1].expand(5, 1, 4), x], dim=1), 5, 7, 4).rows()
    assert (row.kind, row.elements_in, row.elements_weight, row.elements_out) == ("cat", 140, 4, 160)


def test_a_tensor_that_is_used_twice_is_read_once():
    (row,) = captured(lambda x, w: x * x, 2, 5).rows()
    assert (row.other_ops, row.elements_in, row.elements_out) == (10, 10, 10)


def test_views_reshapes_and_dropout_cost_nothing():
    def function(x, w):
        y = x.flatten(1).view(2, 5, 4).permute(0, 2, 1).contiguous().reshape(2, 20)[:, :10].chunk(2, 1)[0]
        return functional.dropout(y, 0.5, training=False).relu()

    assert captured(function, 2, 20).kinds.tolist() == ["relu"]


def test_a_module_that_is_called_again_gets_a_number():
    class Twice(nn.Sequential):
        def forward(self, x):
            return self[0](self[0](x))

    assert capture(Twice(nn.ReLU()).eval(), (1, 4)).op_names.tolist() == ["0", "0@2"]


def test_data_written_into_a_constant_makes_it_data_with_every_view_of_it():
    # 6 elements are read and written; both views of the cache, 12 elements each, are activations from then on
    def function(x, w):
        cache = x.new_zeros(2, 6)
        early = cache.view(12)
        cache[:, :3] = x[:, :3]
        return cache + 1, early + 1

    rows = list(captured(function, 2, 6).rows())
    assert [(row.kind, row.elements_in, row.elements_weight, row.elements_out) for row in rows] == [
        ("copy", 6, 0, 6),
        ("add", 12, 0, 12),
        ("add", 12, 0, 12),
    ]


# ------------------------------------------------------------------------------------------------------------ data flow


def flow(function, *shape):
    """(kind, what it reads) of each op, and what is returned."""
    table = capture(Functional(function, 6, 6).eval(), shape)
    names = [*table.kinds.tolist(), "input"]
    pairs = [(names[row], *(names[at] for at in read)) for row, read in enumerate(table.flow.reads)]
    return pairs, [names[at] for at in table.flow.returns]


def test_a_residual_addition_reads_both_branches():
    pairs, returns = flow(lambda x, w: (x @ w).relu() + x.sigmoid(), 2, 6)
    assert pairs == [("matmul", "input"), ("relu", "matmul"), ("sigmoid", "input"), ("add", "relu", "sigmoid")]
    assert returns == ["add"]


def test_what_reads_a_tensor_after_a_write_in_place_reads_what_was_written():
    def function(x, w):
        y = x @ w
        early = y.view(-1)
        y.relu_()
        return y + 1, early.sigmoid(), x.exp()

    pairs, returns = flow(function, 2, 6)
    assert pairs == [("matmul", "input"), ("relu", "matmul"), ("add", "relu"), ("sigmoid", "relu"), ("exp", "input")]
    assert returns == ["add", "sigmoid", "exp"]


def test_a_tensor_that_was_written_in_place_is_returned_as_it_was_written():
    def function(x, w):
        y = x @ w
        functional.hardtanh_(y.view(3, 4))
        return y

    assert flow(function, 2, 6) == ([("matmul", "input"), ("hardtanh", "matmul")], ["hardtanh"])


def test_a_copy_is_not_written_into():
    def function(x, w):
        y = x @ w
        for copy in (y.clone(), y.to(torch.float64)):
            copy.relu_()
        same = y.to(torch.float32)
        same.sigmoid_()
        return y + 1

    pairs, _ = flow(function, 2, 6)
    assert pairs[1:] == [("relu", "matmul"), ("relu", "matmul"), ("sigmoid", "matmul"), ("add", "sigmoid")]


def test_a_write_into_a_part_leaves_the_rest():
    # the first half is the input's by then, the second still the product's
    def function(x, w):
        y = x @ w
        y[:, :3] = x[:, :3].relu()
        return y.sigmoid()

    pairs, _ = flow(function, 2, 6)
    assert pairs == [("matmul", "input"), ("relu", "input"), ("copy", "relu"), ("sigmoid", "matmul", "copy")]


def test_parts_of_a_result_are_that_result():
    def function(x, w):
        first, second = (x @ w).chunk(2, 1)
        third, fourth = second.permute(1, 0).split([1, 2])
        return torch.cat([first.relu(), third.sigmoid().t(), fourth.t()], 1)

    pairs, _ = flow(function, 2, 6)
    assert pairs == [
        ("matmul", "input"),
        ("relu", "matmul"),
        ("sigmoid", "matmul"),
        ("cat", "matmul", "relu", "sigmoid"),
    ]


def test_constants_are_not_read_as_results():
    pairs, returns = flow(lambda x, w: (x + (w @ w.T), w * 2), 6, 6)
    assert (pairs, returns) == ([("add", "input")], ["add"])


def test_a_constant_that_data_was_written_into_holds_that_result():
    def function(x, w):
        cache = x.new_zeros(2, 6)
        early = cache.view(12)
        cache[:, :3] = x[:, :3]
        return early + 1

    assert flow(function, 2, 6)[0] == [("copy", "input"), ("add", "copy")]


def test_constants_are_counted_once_and_whole():
    # w, 6 × 6, is read twice, and half of it once more; of a table of 36 only what is picked is read, and all is kept
    def function(x, w):
        return x @ w + (x @ w.T).sum(-1, keepdim=True) + (x[:, :3] @ w[:3]) + w[x.argmax(-1)]

    table = capture(Functional(function, 6, 6).eval(), (2, 6))
    assert table.elements_weight.sum() == 36 + 36 + 18
    assert table.flow.elements_constant == footprint(table).weight_elements == 36


def test_what_an_op_is_told_to_write_into_is_not_read():
    def function(x, w):
        place = torch.empty_like(x)
        torch.add(x, x, out=place)
        return place * 2

    table = capture(Functional(function, 6, 6).eval(), (2, 6))
    assert table.flow.reads == ((INPUT,), (0,))
    assert (table.elements_in.tolist(), table.elements_weight.tolist()) == ([12, 12], [0, 0])


def test_several_results_and_the_input_itself_may_be_returned():
    assert flow(lambda x, w: {"a": x.relu(), "b": (x.exp(), x)}, 2, 6)[1] == ["input", "relu", "exp"]


def test_an_op_with_two_results_is_one_row():
    pairs, returns = flow(lambda x, w: torch.topk(x.relu(), 2), 2, 6)
    assert (pairs, returns) == ([("relu", "input"), ("topk", "relu")], ["topk"])


def test_dead_code_is_read_by_nobody():
    pairs, returns = flow(lambda x, w: (x.exp(), x.relu())[1], 2, 6)
    assert ("exp", "input") in pairs
    assert returns == ["relu"]


def test_a_network_as_it_is_fused_moves_less_and_computes_the_same():
    module = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Flatten()).eval()
    table = capture(module, (1, 3, 8, 8))
    # conv and its ReLU: 192 in, 256 out; pool 256 in, 64 out
    assert table.fused().op_names.tolist() == ["0 + relu", "2"]
    assert table.fused().elements_in.tolist() == [192, 256]
    assert footprint(table.fused()).activation_elements.tolist() == [192 + 256, 256 + 64]


# ------------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("function", "op"),
    [
        (lambda x, w: x.cumprod(-1), "cumprod"),
        (lambda x, w: torch.fft.rfft(x).real, "fft_rfft"),
        (lambda x, w: torch.einsum("ij,jk,kl->il", x, w, w.T), "einsum"),
    ],
)
def test_an_unknown_op_is_named_and_never_counted_as_zero(function, op):
    with pytest.raises(UnknownOpError, match=op):
        captured(function, 2, 6)


def test_an_unknown_op_is_told_with_its_module():
    with pytest.raises(UnknownOpError, match=r"^1: unknown op celu: .*\(aten\.celu\.default\)$"):
        capture(nn.Sequential(nn.Linear(4, 4), nn.CELU()).eval(), (1, 4))


def test_data_written_into_a_parameter_is_refused():
    def function(x, w):
        w[:, :3].copy_(x[:, :3])
        return x + 1

    with pytest.raises(CaptureError, match="writes data into a parameter or buffer"):
        captured(function, 6, 4)


def test_a_number_taken_out_of_the_data_is_refused():
    with pytest.raises(CaptureError, match="which ops run depends on the data"):
        captured(lambda x, w: x * 2 if x.sum() > 0 else x, 2, 6)
