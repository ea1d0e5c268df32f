"""Networks that torch exports to ONNX, read node by node, against the capture of the same modules.

What an export changes is computed here: attention becomes two products with a softmax between them, whose queries and
keys are scaled; ReLU6 and SiLU are written out; means of all positions are reductions over two axes.
"""

import warnings
from collections import defaultdict
from functools import cache

import pytest

torch = pytest.importorskip("torch")
from tests.torch.conftest import captures  # noqa: E402

from rooflint.workloads.capture.torchvision_networks import import_torchvision  # noqa: E402
from rooflint.workloads.capture.trace import capture  # noqa: E402
from rooflint.workloads.onnx_graph import read_onnx  # noqa: E402

pytest.importorskip("onnxscript")

BATCH = 2
SIDE = {"resnet50": 64, "vit_b_16": 224, "mobilenet_v3_large": 64, "efficientnet_b0": 64}
EXPORTED = captures(SIDE, quick=())


@cache
def both(name, folder):
    """(rows of the capture, table of the file) of a network of torchvision."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network = getattr(import_torchvision().models, name)(weights=None).eval()
        for tensor in [*network.parameters(), *network.buffers()]:
            if tensor.is_floating_point():  # an export drops biases that are zero
                torch.nn.init.uniform_(tensor.data, 0.5, 1.0)
        example = torch.zeros(BATCH, 3, SIDE[name], SIDE[name])
        sizes = ({0: torch.export.Dim("batch", min=1, max=4096)},)
        program = torch.onnx.export(network, (example,), dynamo=True, verbose=False, dynamic_shapes=sizes)
    program.save(str(folder / f"{name}.onnx"), external_data=True)
    theirs = capture(network.to("meta"), tuple(example.shape))
    return theirs, read_onnx(folder / f"{name}.onnx").at_batch(BATCH)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("onnx")


def shapes(rows, *kinds):
    return [(row.kind, row.m, row.n, row.k, row.groups, row.window) for row in rows if row.kind in kinds]


def summed(rows):
    found = defaultdict(lambda: [0, 0, 0])
    for row in rows:
        for column, value in enumerate((row.macs, row.other_ops, row.elements_out)):
            found[row.kind][column] += value
    return found


def weights(rows, *kinds):
    return sum(row.elements_weight for row in rows if row.kind in kinds)


@pytest.mark.parametrize("name", EXPORTED)
def test_products_have_the_same_shapes_in_the_same_order(name, folder):
    theirs, ours = both(name, folder)
    assert shapes(ours.rows(), "conv2d", "linear") == shapes(theirs.rows(), "conv2d", "linear") != []


@pytest.mark.parametrize("name", EXPORTED)
def test_weights_are_the_same_but_for_folded_norms(name, folder):
    theirs, ours = both(name, folder)
    # a norm has mean, variance, scale and shift of each channel; folded into a convolution, its bias remains
    norms = weights(theirs.rows(), "batch_norm")
    assert weights(ours.rows(), "conv2d") == weights(theirs.rows(), "conv2d") + norms // 4
    assert ours.flow.elements_constant == theirs.flow.elements_constant - 3 * norms // 4
    kinds = {"linear", "layer_norm", "add", "cat"}
    assert weights(ours.rows(), *kinds) == weights(theirs.rows(), *kinds)


@pytest.mark.parametrize("name", EXPORTED)
def test_all_other_ops_compute_and_move_the_same(name, folder):
    theirs, ours = both(name, folder)
    there, here = summed(theirs.rows()), summed(ours.rows())
    there.pop("batch_norm", None)
    if name == "vit_b_16":
        attention = there.pop("attention")
        scaled = here.pop("mul")
        # queries and keys are scaled, not scores: batch × 197 tokens × 768 each, in 12 layers
        assert scaled == [0, 12 * 2 * BATCH * 197 * 768, 12 * 2 * BATCH * 197 * 768]
        scores = 12 * BATCH * 12 * 197 * 197
        assert attention[1] == 6 * scores and here.pop("softmax")[1] == 5 * scores
        assert here.pop("matmul")[0] == attention[0]
    if name == "efficientnet_b0":
        silu = there.pop("silu")
        sigmoid, product = here["sigmoid"], here["mul"]
        # x · sigmoid(x): 4 op and 1; gates of squeeze and excitation are both in both
        assert [sigmoid[1] - there["sigmoid"][1], product[1] - there["mul"][1]] == [4 * silu[2], silu[2]]
        here["sigmoid"], here["mul"] = there["sigmoid"], there["mul"]
    assert here == there


def test_an_export_that_is_not_optimised_keeps_norms_and_has_one_batch(folder):
    network = import_torchvision().models.resnet18(weights=None).eval()
    example = torch.zeros(BATCH, 3, 64, 64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(network, (example,), str(folder / "18.onnx"), dynamo=True, verbose=False, optimize=False)
    theirs, ours = capture(network.to("meta"), tuple(example.shape)), read_onnx(folder / "18.onnx")
    assert [row[1:] for row in ours.rows()] == [row[1:] for row in theirs.rows()]
    assert ours.flow.reads == theirs.flow.reads and ours.flow.elements_input == theirs.flow.elements_input
    assert "exported for this batch alone" in ours.fixed_batch
