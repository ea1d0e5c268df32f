"""Moves: what counts as one, by what factor, and which comes first."""

import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_rooflint.history.comparison import Difference, compare, power_moves
from pytest_rooflint.history.side import opened
from pytest_rooflint.history.summary import as_md, as_text
from rooflint.coefficients.library import Coefficients
from rooflint.energy.model import Energies
from rooflint.hardware.registry import Registry
from rooflint.prediction.figures import QUANTITIES
from rooflint.prediction.ledger import Key, Ledger, Row, record, tables
from rooflint.workloads.builders import mlp
from rooflint_report.differences import Delta

nan = float("nan")

X1 = "specs/hardware/acme/x1.yaml"
X2 = "specs/hardware/acme/x2.yaml"
A1 = "specs/architectures/acme/a1.yaml"
ROWS = 2 * 2 * 3
"""Points × precisions that acme/x1 has × runs of the matrix."""


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


def test_latencies_come_first_and_of_each_kind_the_farthest_move():
    old = [row(), row(device="acme/a")]
    new = [row(latency_s=1.5, power_w=0.1), row(device="acme/a", latency_s=3.0)]
    found = Difference.of(Ledger.of(old), Ledger.of(new)).moves()
    assert [(one.device, one.quantity) for one in found] == [
        ("acme/a", "latency_s"),
        ("acme/x1", "latency_s"),
        ("acme/x1", "power_w"),
    ]


def test_twice_the_bandwidth_halves_what_only_waits_for_memory():
    # 4096 × 4096 in int8 at batch 1: 2 op/B, far left of every breakpoint; 16 MiB of weights pass 4 MiB of L2
    registry = Registry()
    device, works = registry.get("nvidia/t4"), tables([mlp([4096, 4096])], ((1, False),))
    bus = next(fact for path, fact in device.facts.items() if path.endswith(".bus"))
    energies = Energies(Coefficients(registry))
    old = record([device], works, energies, ["int8"])
    new = record([device.with_facts({bus.path: bus.with_value(bus.value * 2)})], works, energies, ["int8"])
    (wait,) = [one for one in Difference.of(old, new).moves() if one.quantity == "memory_wait_s"]
    assert (wait.rows, wait.low, wait.high) == (1, pytest.approx(0.5), pytest.approx(0.5))


# ---- the slow twin: predict everything on both sides

FACTS = {
    "6.4 Gbit/s": ("3.2 Gbit/s", "51.2 Gbit/s"),
    "bus: [128 bit": ("bus: [64 bit", "bus: [4096 bit"),
    "clock: [1000 MHz": ("clock: [10 MHz", "clock: [999 MHz"),
    "groups: [256,": ("groups: [1,", "groups: [64,"),
    "4096 MAC": ("16 MAC", "8192 MAC"),
    "process: [7 nm": ("process: [16 nm", "process: [5 nm"),
}


@pytest.mark.slow
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.fixed_dictionaries({}, optional={old: st.sampled_from(new) for old, new in FACTS.items()}))
def test_what_moved_is_what_predicting_everything_finds(acme, git, drawn):
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "old", "new"),
    [("process/7nm.yaml", "int8: [0.07 pJ/op", "int8: [7 pJ/op"), (None, "pin_rate: [6.4", "pin_rate: [8")],
)
def test_the_only_change_does_what_it_does_alone_beside_another(acme, keep, path, old, new):
    # where another change moves the same predictions, those of the first are predicted again for it alone
    file, roots = keep(path) if path else X1, [(acme.root / "specs").resolve()]
    acme.write(X2, acme.read(X1).replace("Acme X1", "Acme X2"))
    shutil.copytree(acme.root / "specs", acme.root / "before")
    found = []
    for edit in ((file, old, new), (X1, "clock: [1000 MHz", "clock: [999 MHz")):
        acme.edit(*edit)
        with opened("before", roots, acme.root) as one, opened(None, roots, acme.root) as other:
            found.append(compare(one, other))
    only, beside = (next(one for one in each.effects if "clock" not in one.change.path) for each in found)
    assert (len(found[0].effects), len(found[1].effects)) == (1, 2)
    assert only.alone.moves() == beside.alone.moves() != []
    assert [one.point for one in only.power] == [one.point for one in beside.power]
    assert only.holders == beside.holders


# ---- power


def test_another_tdp_moves_no_prediction_and_the_power_over_it(acme, diffed):
    acme.edit(X1, "tdp: [15 W", "tdp: [30 W")
    found = diffed(acme)
    assert found["moves"] == []
    (change,) = found["changes"]
    assert change["powers"] == 1
    assert (
        change["alone"]
        == "alone moves no prediction of acme/x1; changes the power at the printed peak at 1 operating point"
    )
    (power,) = found["power"]
    assert (power["device"], power["at"]) == ("acme/x1", None)
    assert [one["limit"]["value"] for one in (power["old"], power["new"])] == [15.0, 30.0]
    assert power["new"]["ratio"] == pytest.approx(power["old"]["ratio"] / 2)
    assert power["alone"] == [{"change": 0, "new": power["new"]}]
    assert found["also"] == ["power at the printed peak changed at 1 operating point, no verdict"]
    assert power["text"] in as_text(Delta.model_validate(found)).replace("\n  ", " ")
    assert f"- {power['text']}" in as_md(Delta.model_validate(found))


def test_another_verdict_is_said_first(acme, diffed):
    acme.edit(X1, "tdp: [15 W", "tdp: [900 W")
    found = diffed(acme)
    (power,) = found["power"]
    assert (power["old"]["verdict"], power["new"]["verdict"]) == ("cannot sustain", "undecided")
    assert found["also"] == ["power at the printed peak changed at 1 operating point, and 1 verdict"]
    assert power["text"].endswith("of its rated power, cannot sustain → undecided")


@pytest.mark.slow
def test_roofs_that_moved_are_kept_as_they_were_in_the_base(acme, diffed):
    acme.edit(X1, "int8: [4096 MAC", "int8: [2048 MAC")
    (roof,) = diffed(acme)["roofs"]
    # 256 * 4096 MAC * 2 * 1 GHz, over 128 bit * 6.4 Gbit/s / 8
    assert roof == {
        **{"device": "acme/x1", "unit": "mac_array", "precision": "int8"},
        **{"peak": pytest.approx(256 * 4096 * 2e9), "bandwidth": pytest.approx(102.4e9)},
    }
    acme.edit(X1, "tdp: [15 W", "tdp: [30 W")
    assert len(diffed(acme)["roofs"]) == 1
    acme.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    assert {(one["unit"], one["precision"]) for one in diffed(acme)["roofs"]} == {
        ("mac_array", "int8"),
        ("mac_array", "fp16"),
    }


def test_a_device_without_a_known_bandwidth_has_no_roof_and_is_compared(acme, git, diffed):
    acme.edit(X1, ", bus: [128 bit, brief, p. 3], pin_rate: [6.4 Gbit/s, brief, p. 3]", "")
    git(acme.root, "commit", "-aqm", "No bandwidth")
    acme.edit(X1, "tdp: [15 W", "tdp: [30 W")
    found = diffed(acme)
    assert [one["path"] for one in found["changes"]] == ["tdp"]
    assert found["roofs"] == []


def test_two_changes_of_a_power_stand_each_alone(acme, diffed):
    acme.edit(X1, "tdp: [15 W", "tdp: [30 W")
    acme.edit(X1, "groups: [256,", "groups: [512,")
    (own, low) = sorted(diffed(acme)["power"], key=lambda one: one["at"] or "")
    assert [len(own["alone"]), len(low["alone"])] == [2, 1]  # the point has a limit of its own
    ratios = sorted(one["new"]["ratio"] / own["old"]["ratio"] for one in own["alone"])
    assert ratios[0] == pytest.approx(0.5)
    assert 1 < ratios[1] <= 2
    assert own["new"]["ratio"] / own["old"]["ratio"] == pytest.approx(ratios[0] * ratios[1])


def test_a_power_without_a_limit_is_no_longer_known(acme, diffed):
    acme.edit(X1, "tdp: [15 W, brief, p. 1]\n", "")
    power = next(one for one in diffed(acme)["power"] if one["at"] is None)
    assert power["new"] is None
    assert power["text"].endswith("no longer known")
    back = next(one for one in diffed(acme, None, "HEAD")["power"] if one["at"] is None)
    assert (back["old"], back["new"]) == (None, power["old"])
    assert back["text"].endswith("newly known")


def test_an_energy_moves_the_power_with_its_line_named(acme, diffed, keep):
    seven = keep("process/7nm.yaml")
    line = acme.edit(seven, "int8: [0.07 pJ/op", "int8: [7 pJ/op")
    found = diffed(acme)
    (change,) = found["changes"]
    assert (change["file"], change["line"], change["powers"]) == (seven, line, 2)
    assert [one["at"] for one in found["power"]] == [None, "low"]
    for one in found["power"]:
        assert (one["new"]["precision"], one["new"]["ratio"] > one["old"]["ratio"]) == ("int8", True)
        assert one["alone"] == [{"change": 0, "new": one["new"]}]


def test_other_lines_of_a_spec_move_no_power(acme, diffed):
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
