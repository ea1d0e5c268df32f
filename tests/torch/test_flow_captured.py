"""Data flow of captures: which op reads which result, whatever lies between them."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from rooflint.workloads.capture.torchvision_networks import build, capture_torchvision, import_torchvision, input_shape
from rooflint.workloads.capture.trace import capture
from rooflint.workloads.capture.user_model import capture_factory, capture_program
from rooflint.workloads.flow import INPUT
from rooflint.workloads.tables import load_workload, workload_ids
from rooflint.workloads.workload import footprint

COMMITTED = [name.removeprefix("torchvision/") for name in workload_ids() if name.startswith("torchvision/")]


class Functional(nn.Module):
    """A module that is one function."""

    def __init__(self, function):
        super().__init__()
        self.function = function
        self.weight = nn.Parameter(torch.empty(6, 6))

    def forward(self, *x):
        return self.function(*x, self.weight)


def flow(function, *shape):
    """(kind, what it reads) of each op, and what is returned."""
    table = capture(Functional(function).eval(), shape)
    names = [*table.kinds.tolist(), "input"]
    pairs = [(names[row], *(names[at] for at in read)) for row, read in enumerate(table.flow.reads)]
    return pairs, [names[at] for at in table.flow.returns]


@pytest.mark.parametrize("network", COMMITTED)
def test_a_fresh_capture_has_the_data_flow_of_the_committed_table(network):
    assert capture_torchvision(network) == load_workload(f"torchvision/{network}")
    assert (
        capture_torchvision(network, (3, 3, 224, 224)).flow == load_workload(f"torchvision/{network}").at_batch(3).flow
    )


# ---------------------------------------------------------------------------------------------------------- hand counts


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

    table = capture(Functional(function).eval(), (2, 6))
    assert table.elements_weight.sum() == 36 + 36 + 18
    assert table.flow.elements_constant == footprint(table).weight_elements == 36


@pytest.mark.parametrize("network", ["densenet121", "fcn_resnet50", "vit_b_32"])
def test_weights_are_as_many_as_torchvision_prints(network):
    assert footprint(capture_torchvision(network)).weight_elements == printed(network)


@pytest.mark.parametrize(("network", "read"), [("retinanet_resnet50_fpn", 1.7), ("raft_small", 10)])
def test_weights_that_run_several_times_are_as_many_as_torchvision_prints(network, read):
    # heads on five levels, twelve updates; anchors and grids of positions are constants as well, of 2 % at most
    table = capture_torchvision(network)
    assert printed(network) <= footprint(table).weight_elements <= 1.02 * printed(network)
    assert table.elements_weight.sum() > read * printed(network)


def printed(network):
    """torchvision's parameters, and two running means for each channel of a batch norm."""
    module = build(network, input_shape(network))
    norms = sum(part.num_features for part in module.modules() if isinstance(part, nn.BatchNorm2d))
    weights = next(iter(import_torchvision().models.get_model_weights(network)))
    return weights.meta["num_params"] + 2 * norms


def test_what_an_op_is_told_to_write_into_is_not_read():
    def function(x, w):
        place = torch.empty_like(x)
        torch.add(x, x, out=place)
        return place * 2

    table = capture(Functional(function).eval(), (2, 6))
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


def test_several_inputs_are_one(tmp_path, monkeypatch):
    (tmp_path / "two_inputs.py").write_text(
        "import torch\n\nclass Two(torch.nn.Module):\n    def forward(self, a, b):\n        return a.relu() + b\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    table = capture_factory("two_inputs:Two", [(2, 5), (2, 5)])
    assert (table.flow.elements_input, table.flow.reads) == (20, ((INPUT,), (INPUT, 0)))
    assert table.at_batch(4).flow.elements_input == 40


def test_a_saved_program_keeps_its_data_flow(tmp_path):
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True)).eval()
    batch = torch.export.Dim("batch", min=1, max=64)
    program = torch.export.export(module, (torch.empty(2, 3, 8, 8),), dynamic_shapes=({0: batch},))
    torch.export.save(program, tmp_path / "net.pt2")
    table = capture_program(tmp_path / "net.pt2")
    assert table.flow == capture(module, (2, 3, 8, 8)).flow
    assert len(table.fused()) == 1


def test_a_network_as_it_is_fused_moves_less_and_computes_the_same():
    module = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Flatten()).eval()
    table = capture(module, (1, 3, 8, 8))
    # conv and its ReLU: 192 in, 256 out; pool 256 in, 64 out
    assert table.fused().op_names.tolist() == ["0 + relu", "2"]
    assert table.fused().elements_in.tolist() == [192, 256]
    assert footprint(table.fused()).activation_elements.tolist() == [192 + 256, 256 + 64]
