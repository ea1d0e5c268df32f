"""Moves: what counts as one, by what factor, and which comes first."""

import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_rooflint.history.comparison import Difference, compare, power_moves
from pytest_rooflint.history.side import opened
from pytest_rooflint.history.summary import summary
from pytest_rooflint.history.text import as_md, as_text
from rooflint.base.errors import RooflintError
from rooflint.base.git import RevisionError
from rooflint.coefficients.library import Coefficients
from rooflint.devices.registry import PACKAGED, Registry
from rooflint.energy.model import Energies
from rooflint.networks.tables import Captured, write_table
from rooflint.networks.workload import Workload, mlp
from rooflint.prediction.ledger import QUANTITIES, Key, Ledger, Row, record, tables, write_ledger
from rooflint_report.differences import Delta
from rooflint_report.evidence import plain

nan = float("nan")


def row(device="acme/x1", at="", network="mlp", precision="int8", batch=1, fused=False, latency=1.0, **more) -> Row:
    values = tuple(more.pop(name, latency) for name in QUANTITIES)
    return Row(Key(device, at, network, precision, batch, fused), values, **more)


def moved(old: list[Row], new: list[Row]) -> dict[str, tuple[object, ...]]:
    found = Difference.of(Ledger.of(old), Ledger.of(new)).moves()
    return {one.quantity: (one.rows, one.of, one.low, one.high, one.known, one.unknown) for one in found}


def test_equal_ledgers_have_no_moves():
    whole = Ledger.of([row(), row(batch=2, energy_j=nan)])
    difference = Difference.of(whole, whole)
    assert difference.moves() == []
    assert difference.predictions == 0
    assert (difference.factors == 1).all()


def test_a_move_is_counted_with_its_least_and_its_greatest_factor():
    old = [row(batch=batch) for batch in (1, 2, 4)]
    # ×2 and ×1/2 of three; the third moves by less than the sum of floats may
    new = [row(batch=1, latency_s=2.0), row(batch=2, latency_s=0.5), row(batch=4, latency_s=1 + 1e-12)]
    assert moved(old, new) == {"latency_s": (2, 3, 0.5, 2.0, 0, 0)}


def test_what_becomes_known_or_unknown_has_no_factor():
    old = [row(energy_j=nan), row(batch=2)]
    new = [row(), row(batch=2, energy_j=nan)]
    assert moved(old, new) == {"energy_j": (2, 2, None, None, 1, 1)}


def test_what_rises_from_zero_has_no_factor_and_is_counted():
    assert moved([row(launch_wait_s=0.0)], [row()]) == {"launch_wait_s": (1, 1, None, None, 0, 0)}


def test_only_what_both_have_is_compared():
    assert moved([row(), row(device="acme/x2")], [row(latency=3.0), row(device="acme/x3")]).keys() == set(QUANTITIES)


@given(st.lists(st.tuples(st.floats(0.1, 10), st.floats(0.1, 10)), min_size=1, max_size=6))
def test_moves_back_are_the_inverse_of_moves(pairs):
    old = Ledger.of(row(batch=position, latency=pair[0]) for position, pair in enumerate(pairs, 1))
    new = Ledger.of(row(batch=position, latency=pair[1]) for position, pair in enumerate(pairs, 1))
    there, back = Difference.of(old, new), Difference.of(new, old)
    assert (there.moved == back.moved).all()
    np.testing.assert_allclose(there.factors * back.factors, 1)
    for one, other in zip(there.moves(), back.moves(), strict=True):
        assert one.low == pytest.approx(1 / other.high)


def test_the_farthest_move_comes_first():
    old = [row(), row(device="acme/a")]
    new = [row(latency_s=1.5, power_w=0.1), row(device="acme/a", latency_s=3.0)]
    found = Difference.of(Ledger.of(old), Ledger.of(new)).moves()
    assert [(one.device, one.quantity) for one in found] == [
        ("acme/x1", "power_w"),
        ("acme/a", "latency_s"),
        ("acme/x1", "latency_s"),
    ]


def test_twice_the_bandwidth_halves_what_only_waits_for_memory():
    # 1024 × 1024 in int8 at batch 1: 2 op/B, far left of every breakpoint
    registry = Registry()
    device, works = registry.get("nvidia/t4"), tables([mlp([1024, 1024])], ((1, False),))
    bus = next(fact for path, fact in device.facts.items() if path.endswith(".bus"))
    energies = Energies(Coefficients(registry))
    old = record([device], works, energies, ["int8"])
    new = record([device.with_facts({bus.path: bus.with_value(bus.value * 2)})], works, energies, ["int8"])
    (wait,) = [one for one in Difference.of(old, new).moves() if one.quantity == "memory_wait_s"]
    assert (wait.rows, wait.low, wait.high) == (1, pytest.approx(0.5), pytest.approx(0.5))


# ---- What moved: one planted change at a time in a tiny repository, with the factor that a hand calculation gives

X1 = "specs/hardware/acme/x1.yaml"
X2 = "specs/hardware/acme/x2.yaml"
A1 = "specs/architectures/acme/a1.yaml"
LAYER = "specs/workloads/layer.yaml"

CAPTURED = Captured(torch="2.0.0", torchvision="0.15.0", method="by hand", input=(1, 1024))

ROWS = 2 * 2 * 3
"""Points × precisions that acme/x1 has × runs of the matrix."""


def git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), "-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    return subprocess.run([*command, *arguments], capture_output=True, encoding="utf-8", check=True).stdout.strip()


@pytest.fixture
def acme(small):
    """A repository with one device and one layer, 1024 × 1024: 2 op/B, at batch 32 up to 64.

    With 64 times the cores of the tiny device its breakpoints are 64 times 320 in int8, 80 in fp16 and half of that at
    the point `low`. So latency is memory time alone, and nothing is launched.
    """
    small.edit(X1, "groups: [4,", "groups: [256,")
    write_layer(small, [1024, 1024])
    git(small.root, "init", "-q", "-b", "main")
    git(small.root, "add", "-A")
    git(small.root, "commit", "-q", "-m", "Acme X1")
    return small


def write_layer(repository, widths: list[int]) -> None:
    layers = mlp(widths)
    write_table(Workload.from_ops("layer", layers.rows(), flow=layers.flow), CAPTURED, repository.root / LAYER)


def diffed(repository, old: str | None = "HEAD", new: str | None = None):
    roots = [(repository.root / "specs").resolve()]
    with opened(old, roots, repository.root) as before, opened(new, roots, repository.root) as after:
        return plain(summary(compare(before, after)))


def of(found, quantity="latency_s", device="acme/x1"):
    (move,) = [one for one in found["moves"] if (one["device"], one["quantity"]) == (device, quantity)]
    return move


# ---- facts


def test_nothing_moves_where_nothing_changed(acme):
    found = diffed(acme)
    assert (found["moved"], found["changes"], found["moves"]) == ({"predictions": 0, "devices": 0}, [], [])
    assert found["matrix"]["predictions"] == 2 * 4 * 3  # points × precisions × runs of one network


def test_comments_and_other_sources_move_nothing(acme):
    acme.edit(X1, "kind: npu", "# what Acme calls it\nkind: npu")
    acme.edit(X1, "pin_rate: [6.4 Gbit/s, brief, p. 3]", "pin_rate: [6.4 Gbit/s, brief, p. 4]")
    found = diffed(acme)
    assert (found["changes"], found["moves"], found["recited"]) == ([], [], 1)


def test_one_fact_moves_what_rests_on_it_by_its_factor(acme):
    acme.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    found = diffed(acme)
    latency = of(found)
    # twice the pins' rate: half the memory time
    assert (latency["rows"], latency["of"], latency["low"], latency["high"]) == (ROWS, ROWS, 0.5, 0.5)
    assert latency["factor"] == "×0.5"
    assert latency["together"] == ""
    (change,) = found["changes"]
    assert change["path"] == "memories.lpddr5.pin_rate"
    assert (change["file"], change["line"]) == (X1, acme.line(X1, "12.8"))
    assert (change["old"]["text"], change["new"]["text"]) == ("6.4 Gbit/s", "12.8 Gbit/s")
    assert (change["new"]["document"], change["new"]["grade"]) == ("Acme X1 architecture brief, 2025", "read")
    assert (change["devices"], change["predictions"]) == (["acme/x1"], ROWS)
    assert change["moves"][0] == {
        **{"quantity": "latency_s", "word": "latency", "rows": ROWS},
        **{"low": 0.5, "high": 0.5, "factor": "×0.5", "knowledge": []},
    }


def test_a_fact_that_nothing_waits_for_is_said_to_move_nothing(acme):
    acme.edit(X1, "clock: [1000 MHz", "clock: [1001 MHz")
    found = diffed(acme)
    assert not [one for one in found["moves"] if one["quantity"] == "latency_s"]
    assert [one["path"] for one in found["changes"]] == ["units.mac_array.clock"]


def test_a_fact_of_an_operating_point_moves_that_point_alone(acme):
    acme.edit(X1, "{tdp: [7 W", "{memories.lpddr5.pin_rate: [3.2 Gbit/s, brief, p. 4], tdp: [7 W")
    found = diffed(acme)
    assert (of(found)["rows"], of(found)["low"]) == (ROWS // 2, 2.0)
    (change,) = found["changes"]
    assert (change["at"], change["old"]) == ("low", None)
    assert change["text"] == "memories.lpddr5.pin_rate at low nothing → 3.2 Gbit/s"


def test_two_facts_are_told_apart_and_multiply(acme):
    acme.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    acme.edit(X1, "128 bit", "512 bit")
    found = diffed(acme)
    # ×2 pins' rate, ×4 bus
    assert (of(found)["low"], of(found)["high"]) == (0.125, 0.125)
    said = "together ×0.125, alone ×0.25 (memories.lpddr5.bus) and ×0.5 (memories.lpddr5.pin_rate)"
    assert of(found)["together"] == said
    assert {one["path"]: one["moves"][0]["factor"] for one in found["changes"]} == {
        "memories.lpddr5.bus": "×0.25",
        "memories.lpddr5.pin_rate": "×0.5",
    }


def test_two_facts_that_cancel_are_both_named(acme):
    acme.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    acme.edit(X1, "128 bit", "64 bit")
    found = diffed(acme)
    assert not [one for one in found["moves"] if one["quantity"] == "latency_s"]
    assert sorted(one["moves"][0]["factor"] for one in found["changes"]) == ["×0.5", "×2"]


def test_facts_that_act_only_together_are_said_to(acme):
    # 1/16 of the cores: breakpoints of 1280 and 160 at the lowest, nothing waits for them; with 8 times the bandwidth
    # one of 20 in fp16 at the point low, below the 31 op/B of batch 32
    acme.edit(X1, "6.4 Gbit/s", "51.2 Gbit/s")
    acme.edit(X1, "groups: [256,", "groups: [16,")
    found = diffed(acme)
    assert (of(found)["low"], of(found)["high"] > 0.15) == (0.125, True)
    said = f"together {of(found)['factor']}, alone ×0.125 (memories.lpddr5.pin_rate); the rest is interplay"
    assert of(found)["together"] == said


def test_what_a_device_no_longer_supports_is_no_longer_known(acme):
    acme.edit(X1, ", fp16: [1024 MAC, brief, p. 2]", "")
    found = diffed(acme)
    latency = of(found)
    assert (latency["rows"], latency["of"], latency["unknown"], latency["factor"]) == (ROWS // 2, ROWS, ROWS // 2, "")
    assert latency["knowledge"] == [f"{ROWS // 2} no longer known"]
    assert found["changes"][0]["text"] == "units.mac_array.macs_per_clock.fp16 1024 MAC → nothing"
    assert f"latency {ROWS // 2} no longer known" in found["changes"][0]["alone"]
    back = diffed(acme, "specs", "HEAD")
    assert of(back)["knowledge"] == [f"{ROWS // 2} newly known"]


def test_beyond_some_number_of_trials_changes_are_listed_and_not_tried(acme, monkeypatch):
    monkeypatch.setattr("pytest_rooflint.history.comparison.MOST_TRIALS", 1)
    acme.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    acme.edit(X1, "128 bit", "512 bit")
    first, second = diffed(acme)["changes"]
    assert (first["predictions"], first["untried"]) == (ROWS, "")
    assert (second["predictions"], second["moves"]) == (None, [])
    assert second["alone"] == "not tried alone: more than 1 devices would be predicted again"


def test_what_is_no_fact_but_decides_is_named(acme):
    acme.edit(X1, "circuit: systolic_mac", "circuit: simd_packed")
    (change,) = diffed(acme)["changes"]
    assert (change["what"], change["text"]) == ("trait", "circuits mac_array systolic_mac → simd_packed")


def test_another_kind_of_device_is_named(acme):
    acme.edit(X1, "kind: npu", "kind: tpu")
    (change,) = diffed(acme)["changes"]
    assert change["text"] == "kind npu → tpu"


# ---- architectures


@pytest.fixture
def family(acme):
    """Two devices of one architecture."""
    text = acme.read(X1)
    rates = "macs_per_clock: {int8: [4096 MAC, brief, p. 2], fp16: [1024 MAC, brief, p. 2]}"
    pins = "pin_rate: [6.4 Gbit/s, brief, p. 3]"
    assert rates in text and pins in text
    acme.write(
        A1,
        "name: A1\nkind: npu\nsources: {arch: {document: Acme A1 manual, grade: read}}\n"
        "units:\n  mac_array:\n    group: core\n    circuit: systolic_mac\n"
        "    macs_per_clock: {int8: [4096 MAC, arch, p. 2], fp16: [1024 MAC, arch, p. 2]}\n"
        "memories:\n  lpddr5: {pin_rate: [6.4 Gbit/s, arch, p. 3]}\n",
    )
    own = text.replace("kind: npu\n", "kind: npu\narchitecture: acme/a1\n").replace(f"    {rates}\n", "")
    own = own.replace(f", {pins}", "")
    acme.write(X1, own)
    acme.write(X2, own.replace("name: Acme X1", "name: Acme X2"))
    git(acme.root, "add", "-A")
    git(acme.root, "commit", "-q", "-m", "The family")
    return acme


def test_a_fact_of_an_architecture_names_every_device_that_it_moves(family):
    family.edit(A1, "6.4 Gbit/s", "12.8 Gbit/s")
    found = diffed(family)
    (change,) = found["changes"]
    assert (change["file"], change["devices"]) == (A1, ["acme/x1", "acme/x2"])
    assert change["predictions"] == 2 * ROWS
    assert [of(found, device=name)["low"] for name in ("acme/x1", "acme/x2")] == [0.5, 0.5]


def test_a_device_that_says_otherwise_is_not_moved_by_its_architecture(family):
    family.edit(X2, "bus: [128 bit, brief, p. 3]", "bus: [128 bit, brief, p. 3], pin_rate: [6.4 Gbit/s, brief, p. 9]")
    git(family.root, "commit", "-q", "-am", "X2 has its own")
    family.edit(A1, "6.4 Gbit/s", "12.8 Gbit/s")
    found = diffed(family)
    assert [one["devices"] for one in found["changes"]] == [["acme/x1"]]
    assert found["moved"]["devices"] == 1


# ---- what appears and vanishes


def test_a_new_device_is_listed_and_moves_nothing(acme):
    acme.write(X2, acme.read(X1).replace("Acme X1", "Acme X2"))
    found = diffed(acme)
    assert found["devices"] == {"appeared": ["acme/x2"], "vanished": []}
    assert (found["moves"], found["matrix"]["devices"]) == ([], 1)
    back = diffed(acme, "specs", "HEAD")
    assert back["devices"] == {"appeared": [], "vanished": ["acme/x2"]}


def test_a_new_operating_point_is_listed(acme):
    acme.write(X1, acme.read(X1) + "  high: {tdp: [30 W, brief, p. 4]}\n")
    found = diffed(acme)
    assert (found["points"]["appeared"], found["moves"]) == (["acme/x1 at high"], [])


def test_a_new_network_is_listed(acme):
    table = acme.read(LAYER).replace("name: layer", "name: second")
    acme.write("specs/workloads/second.yaml", table)
    found = diffed(acme)
    assert found["networks"]["appeared"] == ["second"]
    assert [one["text"] for one in found["changes"]] == ["workloads/second.yaml appeared"]
    assert found["moves"] == []


def test_an_op_table_that_changed_is_tried_alone(acme):
    write_layer(acme, [1024, 2048])
    found = diffed(acme)
    (change,) = found["changes"]
    assert (change["text"], change["devices"]) == ("workloads/layer.yaml changed", ["acme/x1"])
    assert of(found)["low"] > 1.9  # twice the weights, the same input
    assert of(found)["together"] == ""


def keep(acme, name: str) -> str:
    """A packaged file, brought nearer by and committed; which changes nothing."""
    acme.write(f"specs/{name}", (PACKAGED / name).read_text(encoding="utf-8"))
    assert diffed(acme)["changes"] == []
    git(acme.root, "add", "-A")
    git(acme.root, "commit", "-q", "-m", "Energies")
    return f"specs/{name}"


def test_energies_that_changed_are_tried_alone(acme):
    seven = keep(acme, "process/7nm.yaml")
    acme.write(seven, f"# a comment\n{acme.read(seven)}")
    assert diffed(acme)["changes"] == []
    acme.edit(seven, "int8: [0.07 pJ/op", "int8: [7 pJ/op")
    found = diffed(acme)
    (change,) = found["changes"]
    assert change["text"] == "readings.tpu.multiply.int8 0.07 pJ/op → 7 pJ/op"
    assert (change["file"], change["line"]) == (seven, acme.line(seven, "[7 pJ/op"))
    assert (change["what"], change["devices"]) == ("fact", ["acme/x1"])
    assert of(found, "energy_j")["low"] > 1
    assert of(found, "energy_j")["together"] == ""
    assert {one["quantity"] for one in found["moves"]} == {"energy_j", "power_w"}


def test_two_energies_are_told_apart(acme):
    seven = keep(acme, "process/7nm.yaml")
    acme.edit(seven, "int8: [0.07 pJ/op", "int8: [7 pJ/op")
    acme.edit(seven, "fp16: [0.34 pJ/op", "fp16: [3.4 pJ/op")
    found = diffed(acme)
    assert {one["path"]: one["predictions"] for one in found["changes"]} == {
        "readings.tpu.multiply.int8": ROWS // 2,
        "readings.tpu.multiply.fp16": ROWS // 2,
    }
    assert of(found, "energy_j")["rows"] == ROWS


def test_a_file_of_energies_that_is_built_otherwise_is_tried_as_a_whole(acme):
    seven = keep(acme, "process/7nm.yaml")
    acme.edit(seven, "int8: [0.07 pJ/op", "int16: [0.07 pJ/op")
    acme.edit(seven, "    op: {fp32:", "    multiply: {int8: [7 pJ/op, log, nowhere]}\n    op: {fp32:")
    (change,) = diffed(acme)["changes"]
    assert (change["what"], change["text"], change["predictions"]) == ("file", "process/7nm.yaml changed", ROWS // 2)


# ---- sides


def test_two_folders_are_compared_without_git(small):
    shutil.copytree(small.root / "specs", small.root / "before")
    small.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    found = diffed(small, "before", "specs")
    assert (found["old"]["label"], found["new"]["label"]) == ("folder before", "folder specs")
    assert of(found)["low"] < 1
    assert [one["file"] for one in found["changes"]] == [X1]


def test_two_revisions_are_compared_whatever_the_working_tree_says(acme):
    acme.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    git(acme.root, "commit", "-q", "-am", "Faster")
    acme.write(X1, "broken: [")
    found = diffed(acme, "HEAD^", "HEAD")
    assert of(found)["low"] == 0.5
    head = git(acme.root, "rev-parse", "HEAD")
    assert found["new"] == {"label": f"revision HEAD ({head[:12]})", "commit": head}
    assert acme.read(X1) == "broken: ["
    assert git(acme.root, "status", "--porcelain") == f"M {X1}"


def test_a_ledger_may_be_a_side_and_lists_moves_only(acme):
    roots = [(acme.root / "specs").resolve()]
    with opened(None, roots, acme.root) as side:
        write_ledger(side.ledger(), acme.root / "old.csv.gz")
    acme.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    found = diffed(acme, "old.csv.gz")
    assert (of(found)["low"], of(found)["rows"]) == (0.5, ROWS)
    assert found["changes"] == []
    assert diffed(acme, "old.csv.gz", "old.csv.gz")["moves"] == []


def test_a_revision_that_does_not_exist_is_one_sentence(acme):
    with pytest.raises(RevisionError, match=r"^'nowhere' is not a revision, a folder of specs or a ledger$"):
        diffed(acme, "nowhere")
    with pytest.raises(RevisionError, match="is not a revision"):
        diffed(acme, "--output=x")


def test_outside_of_git_is_one_sentence(small):
    with pytest.raises(RevisionError, match=r"not a git repository.*; without git, name two folders") as refused:
        diffed(small, "HEAD")
    assert "\n" not in str(refused.value)


def test_a_broken_device_is_left_out_and_named_with_its_revision(acme):
    acme.write(X2, acme.read(X1).replace("Acme X1", "Acme X2"))
    line = acme.edit(X1, "tdp: [15 W, brief, p. 1]", "tdp: 15 W")
    git(acme.root, "add", "-A")
    git(acme.root, "commit", "-q", "-m", "Broken")
    commit = git(acme.root, "rev-parse", "HEAD")[:12]
    acme.edit(X1, "tdp: 15 W", "tdp: [15 W, brief, p. 1]")
    mended = diffed(acme, "HEAD")
    (left_out,) = mended["left_out"]
    assert left_out["side"] == "old"
    assert left_out["said"].startswith(f"left out: {commit}:{X1}:{line}  tdp: want [value, source, where]")
    assert mended["devices"]["appeared"] == ["acme/x1"]
    broken = diffed(acme, "HEAD^", "HEAD")
    assert [one["side"] for one in broken["left_out"]] == ["new"]


def test_a_broken_file_that_all_rest_on_is_refused_with_its_revision(acme):
    acme.write("specs/process/7nm.yaml", "nothing: of this\n")
    git(acme.root, "add", "-A")
    git(acme.root, "commit", "-q", "-m", "Broken")
    commit = git(acme.root, "rev-parse", "HEAD")[:12]
    (acme.root / "specs/process/7nm.yaml").unlink()
    acme.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    with pytest.raises(RooflintError, match=rf"^{commit}:specs/process/7nm\.yaml:1  "):
        diffed(acme)


def test_what_a_revision_did_not_have_yet_is_lent_to_it_and_said(acme, monkeypatch):
    # a repository that has everything itself, as the packaged specs have: nothing stands behind it
    for single in ("circuits.yaml", "launches.yaml"):
        shutil.copyfile(PACKAGED / single, acme.root / "specs" / single)
    monkeypatch.setattr("rooflint.devices.registry.PACKAGED", (acme.root / "specs").resolve())
    acme.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    found = diffed(acme)
    said = [one["said"] for one in found["left_out"]]
    assert [one.partition(" has no ")[2] for one in said] == [
        "circuits.yaml, so the installed one is taken for it",
        "launches.yaml, so the installed one is taken for it",
    ]
    assert of(found)["low"] == 0.5


# ---- the slow twin: predict everything on both sides

FACTS = {
    "6.4 Gbit/s": ("3.2 Gbit/s", "51.2 Gbit/s"),
    "bus: [128 bit": ("bus: [64 bit", "bus: [4096 bit"),
    "clock: [1000 MHz": ("clock: [10 MHz", "clock: [999 MHz"),
    "groups: [256,": ("groups: [1,", "groups: [64,"),
    "4096 MAC": ("16 MAC", "8192 MAC"),
    "process: [7 nm": ("process: [16 nm", "process: [5 nm"),
}


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.fixed_dictionaries({}, optional={old: st.sampled_from(new) for old, new in FACTS.items()}))
def test_what_moved_is_what_predicting_everything_finds(acme, drawn):
    git(acme.root, "checkout", "-q", "--", ".")
    acme.write(X2, acme.read(X1).replace("Acme X1", "Acme X2"))
    before = acme.root / "before"
    shutil.rmtree(before, ignore_errors=True)
    shutil.copytree(acme.root / "specs", before)
    for old, new in drawn.items():
        acme.edit(X1, old, new)
    roots = [(acme.root / "specs").resolve()]
    with opened("before", roots, acme.root) as one, opened(None, roots, acme.root) as other:
        found = compare(one, other)
        slow = Difference.of(one.ledger(), other.ledger())
        assert found.moves == slow.moves()
        assert found.cells == len(slow.keys)
        assert len(found.effects) == len(drawn)
        if len(drawn) == 1:
            assert found.effects[0].alone.moves() == found.moves


# ---- power


def test_another_tdp_moves_no_prediction_and_the_power_over_it(acme):
    acme.edit(X1, "tdp: [15 W", "tdp: [30 W")
    found = diffed(acme)
    assert found["moves"] == []
    (change,) = found["changes"]
    assert change["powers"] == 1
    assert change["alone"] == "alone moves no prediction of acme/x1; power over its limit at 1 point"
    (power,) = found["power"]
    assert (power["device"], power["at"]) == ("acme/x1", None)
    assert [one["limit"]["value"] for one in (power["old"], power["new"])] == [15.0, 30.0]
    assert power["new"]["ratio"] == pytest.approx(power["old"]["ratio"] / 2)
    assert power["alone"] == [{"change": 0, "new": power["new"]}]
    assert found["also"] == ["another power over its limit at 1 point, every verdict as before"]
    assert power["said"] in as_text(Delta.model_validate(found)).replace("\n  ", " ")
    assert f"- {power['said']}" in as_md(Delta.model_validate(found))


def test_another_verdict_is_said_first(acme):
    acme.edit(X1, "tdp: [15 W", "tdp: [900 W")
    found = diffed(acme)
    (power,) = found["power"]
    assert (power["old"]["verdict"], power["new"]["verdict"]) == ("cannot sustain", "undecided")
    assert found["also"] == ["another power over its limit at 1 point, at 1 with another verdict"]
    assert power["said"].endswith("of its limit, cannot sustain → undecided")


def test_two_changes_of_a_power_stand_each_alone(acme):
    acme.edit(X1, "tdp: [15 W", "tdp: [30 W")
    acme.edit(X1, "groups: [256,", "groups: [512,")
    (own, low) = sorted(diffed(acme)["power"], key=lambda one: one["at"] or "")
    assert [len(own["alone"]), len(low["alone"])] == [2, 1]  # the point has a limit of its own
    ratios = sorted(one["new"]["ratio"] / own["old"]["ratio"] for one in own["alone"])
    assert ratios[0] == pytest.approx(0.5)
    assert 1 < ratios[1] <= 2
    assert own["new"]["ratio"] / own["old"]["ratio"] == pytest.approx(ratios[0] * ratios[1])


def test_a_power_without_a_limit_is_no_longer_known(acme):
    acme.edit(X1, "tdp: [15 W, brief, p. 1]\n", "")
    power = next(one for one in diffed(acme)["power"] if one["at"] is None)
    assert power["new"] is None
    assert power["said"].endswith("no longer known")
    back = next(one for one in diffed(acme, None, "HEAD")["power"] if one["at"] is None)
    assert (back["old"], back["new"]) == (None, power["old"])
    assert back["said"].endswith("newly known")


def test_an_energy_moves_the_power_with_its_line_named(acme):
    seven = keep(acme, "process/7nm.yaml")
    line = acme.edit(seven, "int8: [0.07 pJ/op", "int8: [7 pJ/op")
    found = diffed(acme)
    (change,) = found["changes"]
    assert (change["file"], change["line"], change["powers"]) == (seven, line, 2)
    assert [one["at"] for one in found["power"]] == [None, "low"]
    for one in found["power"]:
        assert (one["new"]["precision"], one["new"]["ratio"] > one["old"]["ratio"]) == ("int8", True)
        assert one["alone"] == [{"change": 0, "new": one["new"]}]


def test_other_lines_of_a_spec_move_no_power(acme):
    acme.edit(X1, "kind: npu", "# what Acme calls it\nkind: npu")
    assert diffed(acme)["power"] == []


@pytest.mark.parametrize("end", ["low_ratio", "ratio", "high_ratio", "limit_w"])
def test_a_power_of_which_only_one_end_moves_is_another(end):
    def loaded(**other):
        figures = {"low_ratio": 0.5, "ratio": 0.8, "high_ratio": 1.2, "limit_w": 300.0} | other
        load = SimpleNamespace(unit="tensor_core", precision="fp16")
        return SimpleNamespace(load=load, limit=SimpleNamespace(path="tdp"), verdict="undecided", **figures)

    point = ("acme/x1", "")
    (move,) = power_moves({point: loaded()}, {point: loaded(**{end: 0.9})}, {point})
    assert move.point == point
    assert power_moves({point: loaded()}, {point: loaded()}, {point}) == []
