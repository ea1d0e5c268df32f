"""torchvision's networks, family by family: hand counts, torchvision's own figures, torch's counter, other batches."""

import warnings
from contextlib import nullcontext
from functools import cache

import pytest
import torch
from tests.torch.conftest import captures
from torch.utils.flop_counter import FlopCounterMode

from rooflint.base.errors import MissingTorchError
from rooflint.workloads.capture import torchvision_networks
from rooflint.workloads.capture.graph import CaptureError
from rooflint.workloads.capture.torchvision_networks import (
    FAMILIES,
    build,
    capture_torchvision,
    every_box_passes,
    example,
    family,
    import_torchvision,
    input_shape,
    networks,
    trace_torchvision,
)
from rooflint.workloads.capture.write import write_torchvision
from rooflint.workloads.footprint import footprint
from rooflint.workloads.ops import NMS_RIVALS
from rooflint.workloads.tables import UnknownNetworkError, load_workload, read_table, workload_ids

ONE_OF_EACH = (
    "alexnet",
    "googlenet",
    "regnet_x_400mf",
    "shufflenet_v2_x0_5",
    "squeezenet1_1",
    "quantized_mobilenet_v2",
    "lraspp_mobilenet_v3_large",
    "fcn_resnet50",
    "fasterrcnn_mobilenet_v3_large_320_fpn",
    "keypointrcnn_resnet50_fpn",
    "retinanet_resnet50_fpn",
    "r2plus1d_18",
    "mvit_v1_b",
    "raft_small",
    "swin_v2_t",
)

QUICK = ("alexnet", "squeezenet1_1", "quantized_mobilenet_v2")
"""Those of them that are captured in a second; the others are slow."""

INPUT_SHAPE = (1, 3, 224, 224)
COMMITTED = [name for path in workload_ids() if (name := path.removeprefix("torchvision/")) != path]


@cache
def captured(network, batch=1):
    """A network at its own size, captured once in each process; xdist runs all tests of a network in one."""
    return capture_torchvision(network, (batch, *input_shape(network)[1:]))


def row(network, name):
    (found,) = [row for row in captured(network).rows() if row.name == name]
    return found


# ----------------------------------------------------------------------------------------------------- committed tables


@pytest.mark.parametrize("network", captures(COMMITTED, quick=("resnet18", "vgg16")))
@pytest.mark.parametrize("batch", [1, 3])
def test_a_fresh_capture_at_any_batch_is_the_committed_table_scaled_to_it(network, batch):
    fresh, table = captured(network, batch), load_workload(f"torchvision/{network}").at_batch(batch)
    assert list(fresh.rows()) == list(table.rows())
    assert fresh == table  # its data flow as well


@pytest.mark.parametrize("network", COMMITTED)
def test_multiply_accumulates_agree_with_torchvisions_own_figure(network):
    # weights.meta["_ops"] is printed in GMAC with three decimals, for the crop that the weights were trained on
    printed = {
        weights.meta["_ops"]
        for weights in import_torchvision().models.get_model_weights(network)
        if weights.transforms.keywords["crop_size"] == INPUT_SHAPE[-1]
    }
    assert printed == {round(load_workload(f"torchvision/{network}").total_macs / 1e9, 3)}


@pytest.mark.parametrize("network", COMMITTED)
def test_twice_the_multiply_accumulates_is_what_torch_counts_on_the_meta_device(network, flops):
    with torch.device("meta"):
        module = import_torchvision().models.get_model(network, weights=None).eval()
    assert 2 * load_workload(f"torchvision/{network}").total_macs == flops(module, INPUT_SHAPE)


# ---------------------------------------------------------------------------------------------------------- hand counts


def test_every_family_has_a_size_of_its_own():
    shapes = {network: input_shape(network) for network in networks()}
    assert {family(network) for network in shapes} == set(FAMILIES)
    assert shapes["inception_v3"] == (1, 3, 299, 299)
    assert shapes["efficientnet_b7"] == (1, 3, 600, 600)
    assert shapes["fcn_resnet50"] == (1, 3, 520, 520)
    assert shapes["ssd300_vgg16"] == (1, 3, 300, 300)
    assert shapes["r3d_18"] == (1, 3, 16, 112, 112)
    assert shapes["raft_large"] == (1, 3, 520, 960)


def test_a_classifier_by_hand():
    # alexnet: 11 × 11 × 3 windows at 55 × 55 positions, 64 channels, one bias each; 9216 → 4096
    conv = row("alexnet", "features.0")
    assert (conv.m, conv.n, conv.k, conv.elements_weight) == (55 * 55, 64, 363, 64 * 363 + 64)
    assert row("alexnet", "classifier.1").macs == 9216 * 4096 == 37_748_736


@pytest.mark.slow
def test_a_segmentation_network_by_hand():
    # fcn_resnet50, stride 8: 65 × 65 positions, 2048 → 512 channels over 3 × 3; its two heads are scaled to 520 × 520
    conv = row("fcn_resnet50", "classifier.0")
    assert (conv.m, conv.n, conv.k) == (4225, 512, 18_432)
    assert row("fcn_resnet50", "upsample_bilinear2d").other_ops == 7 * 21 * 520 * 520 == 39_748_800
    assert row("fcn_resnet50", "aux_classifier.4").macs == 4225 * 21 * 256 == 22_713_600


@pytest.mark.slow
def test_a_detector_by_hand():
    # 320 × 320 at strides 32, 32 and 64: 10 × 10, 10 × 10 and 5 × 5 positions with 15 anchors
    # of which min(1500, 150) + min(1500, 150) + min(375, 150) = 450 candidates meet each other, 150 proposals go on
    name = "fasterrcnn_mobilenet_v3_large_320_fpn"
    nms = row(name, "rpn.nms")
    assert nms.other_ops == 13 * 450 * 450 // 2 + 450 * 9 == 1_320_300
    assert (nms.elements_in, nms.elements_out) == (450 * (4 + 1 + 1), 450)
    # 150 windows of 7 × 7 × 256, each the mean of 2 × 2 samples: 4 × (7 + 1) ops
    align = next(row for row in captured(name).rows() if row.kind == "roi_align")
    assert align.other_ops == 150 * 49 * 256 * 32 == 60_211_200
    fc = row(name, "roi_heads.box_head.fc6")
    assert (fc.m, fc.n, fc.k) == (150, 1024, 12_544)
    # 150 proposals × 90 classes, none of them dropped by its score
    assert row(name, "roi_heads.nms").other_ops == 13 * (13_500 * NMS_RIVALS // 2) + 13_500 * 14 == 87_939_000


@pytest.mark.slow
def test_the_masks_of_a_detector_are_scaled_to_a_canonical_box_and_pasted():
    # 100 detections; masks of 28 × 28, padded by 1, to 224 × 224, laid into 800 × 800
    scaled = row("maskrcnn_resnet50_fpn", "upsample_bilinear2d")
    assert scaled.other_ops == 7 * 100 * 224 * 224 == 35_123_200
    pasted = row("maskrcnn_resnet50_fpn", "pad@2")
    assert (pasted.elements_in, pasted.elements_out) == (100 * 224 * 224, 100 * 800 * 800)


@pytest.mark.slow
def test_a_video_network_by_hand():
    # r2plus1d_18: 16 frames of 112 × 112; 1 × 7 × 7 windows with stride 2, 45 channels
    conv = row("r2plus1d_18", "stem.0")
    assert (conv.kind, conv.m, conv.n, conv.k) == ("conv3d", 16 * 56 * 56, 45, 147)


@pytest.mark.slow
def test_an_optical_flow_network_by_hand():
    # raft_small: 65 × 120 = 7800 positions at stride 8 meet each other in 128 channels; 7 × 7 looks around each of them
    assert row("raft_small", "matmul").macs == 7800 * 7800 * 128 == 7_787_520_000
    look = row("raft_small", "grid_sample")
    assert (look.elements_out, look.other_ops) == (382_200, (7 + 12) * 382_200)


def test_a_quantised_network_has_no_batch_norms_and_two_more_ops():
    kinds = captured("quantized_resnet18").kinds.tolist()
    assert "batch_norm" not in kinds
    assert len(kinds) == 68 - 20 + 2
    assert captured("quantized_resnet18").total_macs == captured("resnet18").total_macs
    first, last = list(captured("quantized_resnet18").rows())[:: len(kinds) - 1]
    assert (first.kind, first.other_ops) == ("quantize", 5 * 150_528)
    assert (last.kind, last.other_ops) == ("dequantize", 2 * 1000)


# ----------------------------------------------------------------------------------------------- torchvision's figures

#: torchvision ran these on a picture in which they found nothing: parts that then do nothing.
IDLE = {
    "fasterrcnn_mobilenet_v3_large_320_fpn": "roi_heads",
    "fasterrcnn_mobilenet_v3_large_fpn": "roi_heads",
    "maskrcnn_resnet50_fpn": "roi_heads.mask",
    "keypointrcnn_resnet50_fpn": "roi_heads.keypoint",
}

#: Size of the pictures that torchvision printed its optical-flow figures for.
SIZES = {"raft_large": (512, 512), "raft_small": (512, 512)}


def constant_macs(network, shape):
    """What others count and we do not, by hand: products of constants, which are computed once. [MAC]"""
    if network.startswith("swin_v2"):
        # in each block, for (2 · 8 − 1)² = 225 distances of two positions in a window: 2 → 512 → heads
        heads = {"swin_v2_t": 138, "swin_v2_s": 282, "swin_v2_b": 376}[network]  # summed over the blocks
        blocks = 12 if network == "swin_v2_t" else 24
        return 225 * (blocks * 2 * 512 + 512 * heads)
    if network.startswith("raft"):
        # the first of twelve updates sees no flow yet: 7 × 7 × 2 → wide, 3 × 3 × wide → narrow, at every eighth pixel
        wide, narrow = (128, 64) if network == "raft_large" else (64, 32)
        return shape[-1] * shape[-2] // 64 * (98 * wide + 9 * wide * narrow)
    return 0


def test_multiply_accumulates_are_torchvisions_own(any_network):
    shape = (*input_shape(any_network)[:2], *SIZES.get(any_network, input_shape(any_network)[2:]))
    table = captured(any_network) if shape == input_shape(any_network) else trace_torchvision(any_network, shape)
    idle = IDLE.get(any_network, "nothing")
    macs = sum(row.macs for row in table.rows() if not row.name.startswith(idle)) + constant_macs(any_network, shape)
    weights = next(iter(import_torchvision().models.get_model_weights(any_network)))
    assert round(macs / 1e9, 3) == weights.meta["_ops"]


def test_twice_the_multiply_accumulates_is_what_torch_counts(any_network):
    shape, kind = input_shape(any_network), family(any_network)
    module = build(any_network, shape).to("meta")
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with torch.no_grad(), warnings.catch_warnings(), FlopCounterMode(display=False) as counter:
            warnings.simplefilter("ignore")
            with every_box_passes() if kind == "detection" else nullcontext():
                module(*example(module, kind, shape).arguments)
    finally:
        torch.backends.mha.set_fastpath_enabled(before)
    macs = captured(any_network).total_macs + constant_macs(any_network, shape)
    assert counter.get_total_flops() == 2 * macs > 0


# -------------------------------------------------------------------------------------------------------- other batches


def test_a_trace_at_batch_two_is_the_table_at_batch_two(any_network):
    table = captured(any_network).at_batch(2)
    traced = trace_torchvision(any_network, (2, *input_shape(any_network)[1:]), "as traced")
    if family(any_network) in ("detection", "optical_flow"):  # rows a picture; constants as long as the batch
        assert totals(table) == totals(traced)
    else:
        assert list(table.rows()) == list(traced.rows())
        assert table.flow == traced.flow


def test_a_network_knows_its_data_flow_and_runs_in_fewer_kernels(any_network):
    # every op reads something; whatever is written into memory is read, or returned, or dead code of a detector or RAFT
    table = captured(any_network)
    fused = table.fused()
    assert all(table.flow.reads)
    unread = [row for row, readers in enumerate(table.flow.readers()) if not readers and row not in table.flow.returns]
    assert not unread or family(any_network) in ("detection", "optical_flow")
    assert len(fused) < len(table)
    assert (fused.total_ops, fused.elements_weight.sum()) == (table.total_ops, table.elements_weight.sum())
    assert fused.total_bytes("int8") < table.total_bytes("int8")
    assert fused.at_batch(3) == table.at_batch(3).fused()
    assert footprint(fused).weight_elements == footprint(table).weight_elements > 0


def totals(workload):
    read = workload.elements_in.sum() + workload.elements_weight.sum()
    return workload.total_macs, workload.total_ops, int(read), int(workload.elements_out.sum())


@pytest.mark.slow
def test_a_detector_for_four_pictures_is_one_for_one_picture_scaled():
    name = "fasterrcnn_mobilenet_v3_large_320_fpn"
    assert captured(name, 4) == captured(name).at_batch(4)


# --------------------------------------------------------------------------------------------------------------- others


@pytest.mark.slow
def test_the_table_of_a_detector_says_that_every_box_passes(tmp_path):
    name = "fasterrcnn_mobilenet_v3_large_320_fpn"
    write_torchvision(name, tmp_path)
    table, origin = read_table(tmp_path / f"torchvision/{name}.yaml")
    assert table == captured(name)
    assert origin.method.endswith("every box passes")


def test_a_size_may_be_chosen():
    # alexnet on 160 × 160: the first convolution has (160 + 4 − 11) / 4 + 1 = 39 positions an edge
    first = next(capture_torchvision("alexnet", (1, 3, 160, 160)).rows())
    assert first.m == 39 * 39


@pytest.mark.parametrize(
    ("name", "shape", "problem"),
    [
        ("resnet18", (3, 64, 64), "want batch,channels,height,width, such as --input 1,3,64,64; found 3,64,64, which "),
        ("r3d_18", (3, 8, 64, 64), "want batch,channels,frames,height,width, such as --input 1,3,8,64,64; found 3,8,"),
    ],
)
def test_one_picture_without_a_batch_is_refused_with_the_line_to_type(name, shape, problem):
    with pytest.raises(CaptureError, match=f"^{name}: {problem}"):
        capture_torchvision(name, shape)


def test_a_name_that_torchvision_does_not_know_is_refused():
    with pytest.raises(UnknownNetworkError, match=r"^torchvision has no network 'resnt18'; did you mean resnet18\?$"):
        capture_torchvision("resnt18")
    with pytest.raises(UnknownNetworkError, match=r"^torchvision has no network 'nonesuch'$"):
        capture_torchvision("nonesuch")


def test_a_vision_transformer_wants_whole_patches():
    with pytest.raises(CaptureError, match=r"^torchvision/vit_b_16 is not made for \(225, 225\): "):
        capture_torchvision("vit_b_16", (1, 3, 225, 225))


@pytest.mark.slow
@pytest.mark.parametrize("network", ["densenet121", "fcn_resnet50", "vit_b_32"])
def test_weights_are_as_many_as_torchvision_prints(network):
    assert footprint(captured(network)).weight_elements == printed(network)


@pytest.mark.slow
@pytest.mark.parametrize(("network", "read"), [("retinanet_resnet50_fpn", 1.7), ("raft_small", 10)])
def test_weights_that_run_several_times_are_as_many_as_torchvision_prints(network, read):
    # heads on five levels, twelve updates; anchors and grids of positions are constants as well, of 2 % at most
    table = captured(network)
    assert printed(network) <= footprint(table).weight_elements <= 1.02 * printed(network)
    assert table.elements_weight.sum() > read * printed(network)


def printed(network):
    """torchvision's parameters, and two running means for each channel of a batch norm."""
    module = build(network, input_shape(network))
    norms = sum(part.num_features for part in module.modules() if isinstance(part, torch.nn.BatchNorm2d))
    weights = next(iter(import_torchvision().models.get_model_weights(network)))
    return weights.meta["num_params"] + 2 * norms


# --------------------------------------------------------------------------------------------------- torchvision import


def test_another_error_of_the_import_is_not_hidden(monkeypatch):
    def broken(name):
        raise RuntimeError("operator torchvision::other does not exist")

    monkeypatch.setattr(torchvision_networks.importlib, "import_module", broken)
    with pytest.raises(RuntimeError, match="torchvision::other"):
        import_torchvision.__wrapped__()


def test_without_torchvision_the_message_says_what_to_install(monkeypatch):
    def absent(name):
        raise ModuleNotFoundError(f"No module named '{name}'", name=name)

    monkeypatch.setattr(torchvision_networks.importlib, "import_module", absent)
    with pytest.raises(MissingTorchError, match="needs torchvision; in the clone of rooflint: python -m pip install"):
        import_torchvision.__wrapped__()


def test_where_torchvision_imports_nothing_is_defined(monkeypatch):
    monkeypatch.setattr(torchvision_networks, "_definitions", lambda: pytest.fail("defined a schema"))
    assert import_torchvision.__wrapped__() is import_torchvision()
