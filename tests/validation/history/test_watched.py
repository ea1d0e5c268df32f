"""Watched predictions: the setting, with its errors, and the figures of head and base."""

import pytest

import rooflint as rl
from pytest_rooflint.history.side import Specs, opened
from pytest_rooflint.history.watched import notices, watched, watches
from rooflint.base.errors import InputError
from rooflint.hardware.registry import Registry
from rooflint_report.differences import Watched

X1 = "specs/hardware/acme/x1.yaml"
PROJECT = """[tool.pytest.ini_options]
rooflint_golden = ["golden"]
rooflint_specs = ["specs"]
"""
RESNET = "resnet18 int8 b4 @ acme/x1"


def asking(repository, *asked: str):
    """The project with these watched predictions, its file and its specs."""
    listed = "".join(f'    "{one}",\n' for one in asked)
    file = repository.write("pyproject.toml", f"{PROJECT}rooflint_watch = [\n{listed}]\n")
    roots = ((repository.root / "specs").resolve(),)
    return Specs("the working tree", roots, Registry.of(roots)), file


def test_a_prediction_is_the_bytes_over_the_bandwidth(tiny, write_layer):
    # 1024² weights + 1024 of bias + 1024 in + 1024 out = 1 051 648 B in int8; 128 bit × 6.4 Gbit/s = 102.4 GB/s
    write_layer(tiny, [1024, 1024])
    (one,) = watched(*asking(tiny, "layer int8 b1 @ acme/x1")[:1])
    assert one.head == pytest.approx(1_051_648 / 102.4e9, rel=1e-12)
    assert (one.head_display, one.base, one.base_display, one.ratio) == ("10.27 µs", None, None, None)
    assert one.attained == pytest.approx(one.intensity * 102.4e9)  # it waits for memory
    assert (one.text, one.has_moved) == ("watched: layer int8 b1 @ acme/x1 10.27 µs", False)


@pytest.mark.parametrize(("at", "mode"), [("", None), ("@low", "low")])
def test_it_is_what_a_comparison_says(tiny, at, mode):
    head, _ = asking(tiny, f"{RESNET}{at}")
    (one,) = watched(head)
    found = rl.compare("resnet18", [f"acme/x1{at}"], precision="int8", batch=4, specs=[tiny.root / "specs"])
    assert one.head == found.columns["latency_s"][0]
    assert (one.at, one.watch) == (mode, f"{RESNET}{at}")


def test_a_shipped_device_is_what_a_comparison_of_it_says(tiny):
    head, _ = asking(tiny, "torchvision/vit_b_16 BF16 b8 @ h100-sxm5-80gb")
    (one,) = watched(head)
    assert one.watch == "vit_b_16 bf16 b8 @ nvidia/h100-sxm5-80gb"
    assert one.head == rl.compare("vit_b_16", ["h100-sxm5-80gb"], precision="bf16", batch=8).columns["latency_s"][0]


def test_the_base_is_predicted_from_its_own_specs_and_tables(tiny, git, write_layer):
    write_layer(tiny, [1024, 1024])
    git(tiny.root, "init", "-q", "-b", "main")
    git(tiny.root, "add", "-A")
    git(tiny.root, "commit", "-q", "-m", "Acme X1")
    tiny.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    head, _ = asking(tiny, "layer int8 b1 @ acme/x1")
    with opened("HEAD", head.roots, tiny.root) as base:
        (one,) = watched(head, base)
        assert one.base == pytest.approx(1_051_648 / 102.4e9, rel=1e-12)
        assert one.ratio == pytest.approx(0.5, rel=1e-12)
        assert one.text == "watched: layer int8 b1 @ acme/x1 10.27 µs → 5.135 µs, ×0.5"
        # twice as wide, twice the outputs: 2 × 1024² + 2048 + 1024 + 2048 = 2 102 272 B, at twice the rate
        write_layer(tiny, [1024, 2048])
        (one,) = watched(asking(tiny, "layer int8 b1 @ acme/x1")[0], base)
        assert one.ratio == pytest.approx(2_102_272 / 1_051_648 / 2, rel=1e-12)


def test_what_only_one_side_knows_has_moved_without_a_factor(tiny, git):
    git(tiny.root, "init", "-q", "-b", "main")
    git(tiny.root, "add", "-A")
    git(tiny.root, "commit", "-q", "-m", "Acme X1")
    tiny.edit(X1, "int8: [4096 MAC, brief, p. 2], ", "")
    tiny.write("specs/hardware/acme/x2.yaml", tiny.read(X1).replace("Acme X1", "Acme X2"))
    head, _ = asking(tiny, RESNET, "resnet18 fp16 b1 @ acme/x2")
    with opened("HEAD", head.roots, tiny.root) as base:
        lost, new = watched(head, base)
    assert (lost.head, lost.head_display, lost.ratio, lost.has_moved) == (None, "not known", None, True)
    assert "acme/x1" in lost.why
    assert (new.base, new.base_display, new.ratio, new.has_moved) == (None, "not known", None, True)
    assert new.text.startswith("watched: resnet18 fp16 b1 @ acme/x2 not known → ")
    assert [line.partition("::")[0] for line in notices([lost, new])] == ["", ""]
    assert len([*notices([lost, new])]) == 2


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("resnet18 int8 @ acme/x1", "want NETWORK PRECISION bBATCH @ DEVICE, such as 'resnet50 int8 b1 @ jetson-"),
        ("resnet18 int8 b0 @ acme/x1", "want NETWORK PRECISION bBATCH @ DEVICE"),
        ("resnet18 int8 b1 acme/x1", "want NETWORK PRECISION bBATCH @ DEVICE"),
        ("resnet-18 int8 b1 @ acme/x1", "unknown network 'resnet-18'; did you mean resnet18, "),
        ("resnet18 int9 b1 @ acme/x1", "unknown precision 'int9' (known: fp64, "),
        ("resnet18 int8 b1 @ jetson-orn-nx", "unknown device 'jetson-orn-nx'; did you mean nvidia/jetson-orin-nx-"),
        ("resnet18 int8 b1 @ acme/x1@high", "has no operating point 'high'"),
        ("resnet18 int8 b1 @ t4,l4", "'t4,l4' names 2 devices; want one"),
    ],
)
def test_a_setting_that_cannot_be_read_is_refused_with_its_line(tiny, asked, message):
    head, file = asking(tiny, RESNET, asked)
    with pytest.raises(InputError) as caught:
        watches(head)
    (problem,) = caught.value.problems
    assert (problem.file.resolve(), problem.line) == (file.resolve(), tiny.line("pyproject.toml", asked))
    assert problem.message.startswith("rooflint_watch: ")
    assert message in problem.message


def test_every_wrong_entry_is_told_and_the_same_one_counts_once(tiny):
    with pytest.raises(InputError) as caught:
        watches(asking(tiny, "nonsense", "more nonsense")[0])
    assert [one.line for one in caught.value.problems] == [5, 6]
    head, _ = asking(tiny, RESNET, "torchvision/resnet18 INT8 b4 @ x1")
    assert [str(one) for one in watches(head)] == [RESNET]
    assert watches(asking(tiny)[0]) == []


def record(base, head):
    """A watched prediction as the evidence has it."""
    displays = {"base_display": f"{base} s", "head_display": f"{head} s"}
    ratio = head / base if base and head else None
    names = {"watch": "a b\nc", "network": "a", "precision": "int8", "batch": 1, "device": "b", "at": None, "why": None}
    factor = f"×{ratio:.3g}" if ratio else ""
    return Watched(**names, **displays, base=base, head=head, ratio=ratio, factor=factor)


@pytest.mark.parametrize(
    ("head", "is_told"), [(1.0, False), (1.099, False), (1.1, True), (1 / 1.1, True), (0.92, False), (14.9, True)]
)
def test_a_notice_tells_of_a_move_of_ten_per_cent_or_more(head, is_told):
    assert bool([*notices([record(1.0, head)])]) == is_told


def test_a_notice_is_one_command_whatever_it_quotes():
    (line,) = notices([record(1.0, 2.0)])
    assert line == "::notice title=a b%0Ac::1.0 s → 2.0 s (×2)"


def test_a_spec_that_cannot_be_read_is_told_elsewhere(tiny):
    tiny.edit(X1, "tdp: [15 W, brief, p. 1]", "tdp: 15 W")
    head, _ = asking(tiny, RESNET, "nonsense")
    with pytest.raises(InputError) as caught:
        watches(head)
    assert [one.line for one in caught.value.problems] == [6]
