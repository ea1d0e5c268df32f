"""Predictions, comparisons and columns of the Python API: figures by hand, the text of the command, and refusals."""

import os
import pickle
from html.parser import HTMLParser

import numpy as np
import pytest
from typer.testing import CliRunner

import rooflint as rl
from rooflint.api.predictions import repeated_options, setting
from rooflint.cli.main import program
from rooflint.output.sections import Table

TILES = """\
name: One
kind: npu
scope: chip
sources: {wp: {document: White paper, grade: quoted}}
units:
  core:
    group: tile
    groups: [10, wp, p. 1]
    per_group: [1, wp, p. 1]
    clock: [1 GHz, wp, p. 1]
    macs_per_clock: {fp16: [100 MAC, wp, p. 1]}
memories:
  hbm: {capacity: [8 GB, wp, p. 2], bus: [1024 bit, wp, p. 2], pin_rate: [2 Gbit/s, wp, p. 2]}
"""


class Open(HTMLParser):
    """Elements that are open; closing another one than the last fails."""

    def __init__(self):
        super().__init__()
        self.tags = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.tags.pop() == tag


def is_well_formed(text):
    parser = Open()
    parser.feed(text)
    return parser.tags == []


def test_columns_add_up_to_the_latency():
    found = rl.predict("resnet18", "h100-sxm5", batch=8)
    columns = found.kernels
    # ResNet-18 on 224 × 224: 1.814 GMAC of convolutions and products a sample
    assert columns["ops"].sum() == pytest.approx(8 * 2 * 1.814e9, rel=0.01)
    longer = columns["compute_s"].clip(min=columns["memory_s"])
    assert (longer + columns["launch_s"]).sum() == pytest.approx(found.latency_s)
    assert (found.batch, found.compute, found.storage, found.fidelity) == (8, "bf16", "bf16", "roofline")


def test_options_reach_the_prediction():
    plain = rl.predict("resnet18", "h100-sxm5", precision="FP16")
    fused = rl.predict("resnet18", "h100-sxm5", precision="FP16", storage="FP8", fuse=True, launch="free")
    assert len(fused.kernels["ops"]) < len(plain.kernels["ops"])
    assert (fused.compute, fused.storage, fused.kernels["launch_s"].sum()) == ("fp16", "fp8", 0)
    assert rl.predict("resnet18", "h100-sxm5", fidelity="silicon").fidelity == "silicon"
    slow = rl.predict("resnet18", "agx-orin-64", precision="fp16", at="15w")
    assert slow.hardware == rl.device("agx-orin-64@15w")
    again = rl.predict("resnet18", rl.device("agx-orin-64"), precision="fp16", at="15w")
    assert again.hardware == slow.hardware


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "typed"),
    [
        (lambda: rl.compare("resnet18", "t4,l4", precision="fp16", batch=8), "compare resnet18 -d t4,l4 -p fp16 -b 8"),
        (lambda: rl.compare("resnet18", fuse=True, storage="fp32"), "compare resnet18 --fuse --storage fp32"),
        (
            lambda: rl.compare("resnet18", "agx-orin-64", precision="fp16", at="30w", launch="graph"),
            "compare resnet18 -d agx-orin-64 -p fp16 --at 30w --launch graph",
        ),
    ],
)
def test_a_comparison_prints_as_the_command(made, typed):
    assert str(made()) == CliRunner().invoke(program, typed.split()).stdout.rstrip("\n")


def test_a_notebook_shows_well_formed_html():
    found = rl.predict("resnet18", "t4", precision="fp16")
    assert "<h3>torchvision/resnet18 on nvidia/t4</h3>" in found._repr_html_()
    assert is_well_formed(found._repr_html_())
    assert is_well_formed(rl.compare("resnet18", ["t4", "l4"], precision="fp16")._repr_html_())


def test_every_device_of_a_comparison_runs_the_batch():
    found = rl.compare("resnet18", ["t4", "l4"], precision="fp16", batch=8)
    assert found.columns["batch"].tolist() == [8, 8]
    assert found.contenders[0].prediction.latency_s == rl.predict("resnet18", "t4", precision="fp16", batch=8).latency_s


def test_the_next_steps_repeat_the_options():
    chosen = setting("fp16", storage="fp32", fuse=True, launch="graph", fidelity="silicon")
    repeated = "-b 8 -p fp16 --storage fp32 --launch graph --fidelity silicon --at 30w --fuse"
    assert repeated_options(8, chosen, "30w").split() == repeated.split()
    assert repeated_options(1, setting("bf16")) == ""


def test_what_is_shown_is_short():
    assert repr(rl.predict("vgg16", "t4", precision="fp16")).startswith("<Prediction torchvision/vgg16 on nvidia/t4: ")
    assert repr(rl.compare("vgg16", ["t4", "l4"])) == "<Comparison of torchvision/vgg16 on nvidia/t4, nvidia/l4>"


def test_a_device_that_cannot_run_stays_with_the_reason():
    found = rl.compare("resnet18", ["h100-sxm5", "t4"])
    assert [*found.columns["device"]] == ["nvidia/h100-sxm5-80gb", "nvidia/t4"]
    assert found.columns["not_supported"][0] is None
    assert found.columns["not_supported"][1].startswith("nvidia/t4 does not support bf16")


def test_devices_come_once_as_names_or_objects():
    found = rl.compare("resnet18", ["h100-sxm5", rl.device("t4"), "gpu", "nvidia/t4"])
    assert [one.label for one in found.contenders] == ["nvidia/h100-sxm5-80gb", "nvidia/t4"]


def test_by_default_one_device_of_each_kind():
    assert [one.hardware.kind for one in rl.compare("resnet18").contenders] == ["cpu", "gpu", "tpu", "kpu"]


def test_predictions_and_comparisons_survive_pickling():
    one, two = rl.predict("resnet18", "t4", precision="fp16"), rl.compare("resnet18", ["t4", "l4"])
    assert str(pickle.loads(pickle.dumps(one))) == str(one)
    assert str(pickle.loads(pickle.dumps(two))) == str(two)


def test_every_network_named_can_be_had():
    assert "torchvision/resnet18" in rl.networks()
    assert [rl.network(name).name for name in rl.networks()] == rl.networks()


def test_a_spec_that_changes_is_read_again(specs):
    def compute_s():
        found = rl.predict("resnet18", "acme/one", precision="fp16", specs=[specs.root])
        return found.kernels["compute_s"].sum()

    specs.write("acme/one", TILES)
    before = compute_s()
    file = specs.write("acme/one", TILES.replace("[10,", "[20,"))
    later = file.stat().st_mtime_ns + 10**9
    os.utime(file, ns=(later, later))
    assert compute_s() == pytest.approx(before / 2)


@pytest.mark.parametrize(
    ("ask", "problem"),
    [
        (lambda: rl.predict("resnet18", None), "want a device or its name, found NoneType"),
        (lambda: rl.predict("resnet18", "t4"), "nvidia/t4 does not support bf16"),
        (lambda: rl.predict("resnet18", "t4", batch=0), "batch: want a whole number of at least 1, found 0"),
        (lambda: rl.predict("resnet18", "t4", launch="eager"), "unknown launch mode 'eager' (known: "),
        (lambda: rl.predict("resnet18", "t4", fidelity="exact"), "unknown fidelity 'exact' (known: roofline, silicon)"),
        (lambda: rl.predict("resnet18", "h100"), "'h100' is ambiguous"),
        (lambda: rl.compare("resnet18", []), "want at least one device, found none"),
        (lambda: rl.compare("resnet18", ["t4", 4]), "want a device or its name, found int"),
        (lambda: rl.network("resnet18", shape=(0, 3)), "resnet18: want a shape of whole numbers"),
        (lambda: rl.network("resnet18", [1]), "resnet18: inputs belong to a module; want shape="),
        (lambda: rl.network(rl.network("vgg16"), [1]), "torchvision/vgg16: inputs belong to a module; want shape="),
    ],
)
def test_a_wrong_question_is_a_sentence(ask, problem):
    with pytest.raises(rl.RooflintError) as caught:
        ask()
    assert problem in str(caught.value)


def test_an_unknown_number_is_nan_and_an_unknown_text_is_none():
    found = rl.Columns.of(Table(("seconds", "bound", "fused"), ((1, "memory", True), (None, None, None))))
    assert found["seconds"].dtype == float
    assert found["seconds"][0] == 1
    assert np.isnan(found["seconds"][1])
    assert [*found["bound"]] == ["memory", None]
    assert [*found["fused"]] == [True, None]


def test_known_values_keep_their_type():
    found = rl.Columns.of(Table(("batch", "fused", "device"), ((1, True, "t4"), (2, False, "l4"))))
    assert [column.dtype.kind for column in found.values()] == ["i", "b", "U"]


def test_a_table_without_rows_keeps_its_columns():
    found = rl.Columns.of(Table(("device", "latency_s"), ()))
    assert [*found] == ["device", "latency_s"]
    assert [column.size for column in found.values()] == [0, 0]
    assert repr(found) == "<Columns of 0 rows: device, latency_s>"


def test_a_table_is_a_mapping_of_its_columns():
    found = rl.Columns({"a": [1, 2, 3], "b": ["x", "y", "z"]})
    assert (len(found), repr(found)) == (2, "<Columns of 3 rows: a, b>")


def test_a_data_frame_has_the_same_columns():
    pytest.importorskip("pandas")
    found = rl.Columns({"a": [1, None], "b": ["x", "y"]}).to_pandas()
    assert [*found.columns] == ["a", "b"]
    assert found["a"].isna().tolist() == [False, True]


def test_without_pandas_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(rl.RooflintError, match="python -m pip install pandas"):
        rl.Columns({"a": [1]}).to_pandas()
