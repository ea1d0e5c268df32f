"""Regressions: which rows are good and bad, when a family fails, and how the answer reports it."""

import json
import re
import shutil

import numpy as np
import pytest

from rooflint.base.errors import shown
from rooflint.hardware.registry import PACKAGED, Registry
from rooflint.kernels.constants import CORES, GROUPS, OPS, constants_file, names
from rooflint.output.answer import write
from rooflint_calibration import regressions as module
from rooflint_calibration.base import answer_request
from rooflint_calibration.package import family_of
from rooflint_calibration.regressions import (
    Family,
    PredictionError,
    RegressionRecord,
    RegressionsRecord,
    answer,
    changes,
    compare,
    terms,
)
from rooflint_calibration.rows import Rows
from rooflint_calibration.topics import TOPICS

REGISTRY = Registry()
COLUMNS = TOPICS["gemm"].columns
SIZES = np.array([[16.0, 16384.0, 16384.0, 6.0], [64.0, 4096.0, 4096.0, 6.0], [8192.0, 8192.0, 8192.0, 6.0]])


def family(old, new, sizes=SIZES):
    """Rows that took 1 s each, as two states predict them."""
    devices = ["nvidia/l40s"] * len(sizes)
    return Family("gemm", "ada", devices, sizes, np.ones(len(sizes)), np.array(old), np.array(new))


def test_good_is_within_15_percent_and_bad_beyond_25_either_way():
    # of good ones: just bad, not yet bad, bad on the other side: 1 / 1.26
    assert family([1.0, 1.14, 1 / 1.14], [1.26, 1.24, 1 / 1.26]).regressed.tolist() == [True, False, True]
    # neither good nor bad before: it cannot go bad
    assert family([1.16, 1.0, 1.0], [3.0, 1.0, 1.0]).regressed.tolist() == [False, False, False]
    assert family([1.26, 0.5, 1.2], [1.0, 1.15, 1.0]).improved.tolist() == [True, True, False]


def test_the_rows_whose_prediction_moved_most_come_first_and_once():
    sizes = np.tile(SIZES, (20, 1))
    before, now = np.ones(60), np.linspace(1.2, 3.0, 60)
    assert module._farthest(family(before, now, sizes)) == list(range(59, 59 - module.COMPARED, -1))


def test_a_row_of_two_regimes_is_counted_once(monkeypatch):
    rows = Rows("nvidia/l40s", COLUMNS, SIZES, np.array([1.0, 2.0, 3.0]))
    monkeypatch.setattr(module, "sample", lambda *_: (rows, None))
    found = module._stratified(REGISTRY, "gemm", "nvidia/l40s", 3)
    assert dict(zip(map(tuple, found.sizes), found.seconds, strict=True)) == dict(
        zip(map(tuple, SIZES), rows.seconds, strict=True)
    )
    assert len(found) == 3


def test_a_family_fails_if_more_rows_regressed_than_is_tolerated_and_than_improved():
    sizes = np.tile(SIZES, (100, 1))
    before, now = np.ones(300), np.ones(300)
    now[:3] = 2.0  # 3 of 300 are 1 %
    assert not family(before, now, sizes).fails(0.01)
    now[3] = 2.0
    assert family(before, now, sizes).fails(0.01)
    before[4:8] = 2.0  # as many went good
    assert not family(before, now, sizes).fails(0.01)
    before[7] = 1.0
    assert family(before, now, sizes).fails(0.01)


def test_a_better_average_does_not_excuse_regressions():
    # the mean error falls from 20 to 14 %, and one row in ten is lost
    before, now = np.full(100, 1.2), np.full(100, 1.12)
    before[:10], now[:10] = 1.1, 1.3
    sizes = np.tile(SIZES[:1], (100, 1))
    assert np.abs(now - 1).mean() < np.abs(before - 1).mean()
    assert family(before, now, sizes).fails(0.01)


def test_the_regime_is_the_one_that_regressions_are_concentrated_in():
    assert family([1.0, 1.0, 1.0], [2.0, 1.0, 1.0]).regime == "narrow"  # m = 16, 8.6 GFLOP
    assert family([1.0, 1.0, 1.0], [1.0, 1.0, 2.0]).regime == "large"  # 1.1 TFLOP
    assert family([1.0, 1.0, 1.0], [2.0, 2.0, 2.0]).regime == "all"


def test_the_term_is_the_one_with_the_largest_share_of_the_change():
    changed = {"fill": 1.25, "memory": -0.25}
    one = RegressionRecord(device="x", sizes={"m": 1.0}, measured_s=1.0, old_s=1.0, new_s=2.0, terms_s=changed)
    assert (one.term, terms([one])) == ("fill", {"fill": 1.25, "memory": -0.25})
    assert one.model_copy(update={"new_s": 0.5, "terms_s": {"fill": 0.1, "memory": -0.6}}).term == "memory"


# ---------------------------------------------------------------------------------------------------- two states asked


DEVICES = {"hopper": ("nvidia/h100-sxm5-80gb", "nvidia/h200-sxm-141gb"), "ada": ("nvidia/l40s",)}


@pytest.fixture
def rows(monkeypatch):
    """Three devices took what this tree says."""

    def of(registry, topic, device, regime, count):
        draw = np.random.default_rng(8)
        sizes = np.column_stack([*2.0 ** draw.integers(0, 13, (3, 40)), np.full(40, 6.0)])
        group = {"topic": "gemm", "precision": "bf16", "device": device, "family": family_of(device)}
        request = module.make_request([{**group, "sizes": sizes.tolist(), "terms": False}])
        seconds = answer_request(request, REGISTRY)["groups"][0]["seconds"]
        return Rows(device, COLUMNS, sizes, np.array(seconds)), None

    monkeypatch.setattr(module, "sample", of)
    monkeypatch.setattr(module, "measured_devices", lambda topic: DEVICES)
    monkeypatch.setattr(module, "COMPARED", 5)
    monkeypatch.setattr(module, "TOPICS", {"gemm": TOPICS["gemm"]})


def this(request):
    """What this tree says, through JSON as another tree would."""
    return json.loads(json.dumps(answer_request(json.loads(json.dumps(request)), REGISTRY)))


def slower(request):
    """The same with a launch that takes 5 µs more on Ada."""
    found = this(request)
    for group, one in zip(request["groups"], found["groups"], strict=True):
        if group["family"] == "ada":
            one["seconds"] = [seconds + 5e-6 for seconds in one["seconds"]]
            one["terms"] = {
                name: [each + 5e-6 * (name == "launch") for each in seconds] for name, seconds in one["terms"].items()
            }
    return found


def test_the_same_model_has_no_regressions(rows):
    found = compare(REGISTRY, ["gemm"], 40, this, this)
    assert [(one.family, int(one.regressed.sum()), int(one.improved.sum())) for one in found.families] == [
        ("hopper", 0, 0),
        ("ada", 0, 0),
    ]
    assert "Regressions by family" not in write(answer(found, "HEAD^1", 0.01), "text")


@pytest.mark.slow
def test_the_answer_names_family_regime_term_and_the_worst_rows_in_80_columns(rows):
    found = compare(REGISTRY, ["gemm"], 40, this, slower)
    text = write(answer(found, "HEAD^1 (0123456789ab)", 0.01), "text")
    assert max(map(len, text.splitlines())) <= 80
    assert "Failed: gemm ada ─" in text
    assert "• regime small (< 1 GFLOP): " in text
    message = " ".join(text.split())
    assert "improved; failed: gemm ada good: within" in message
    assert "term: launch 100 % of the change" in message
    assert "on nvidia/l40s: measured " in message
    assert ": launch +5 µs" in message
    record = json.loads(write(answer(found, "HEAD^1", 0.01), "json"))
    assert RegressionsRecord.model_validate(record)
    (failed,) = [one for one in record["families"] if one["failed"]]
    assert (record["schema"], failed["family"], failed["regime"]) == (
        "rooflint.calibrate.regressions/1",
        "ada",
        "small",
    )
    assert failed["terms"]["launch"] == pytest.approx(1)
    assert failed["worst"][0]["new_s"] - failed["worst"][0]["old_s"] == pytest.approx(5e-6)
    assert write(answer(found, "HEAD^1", 0.01), "csv").startswith("topic,family,rows,good_before,good_now,regressed")


def test_the_other_way_around_rows_go_good_and_nothing_fails(rows):
    found = compare(REGISTRY, ["gemm"], 40, slower, this)
    text = " ".join(write(answer(found, "HEAD^1", 0.01), "text").split())
    assert "0 rows regressed, " in text
    assert "failed:" not in text.partition("good:")[0]


def test_rows_that_the_base_cannot_predict_are_left_out_and_listed(rows):
    def young(request):
        found = this(request)
        for group, one in zip(request["groups"], found["groups"], strict=True):
            if group["family"] == "hopper":
                one.clear()
                one["error"] = "unknown hopper"
        return found

    found = compare(REGISTRY, ["gemm"], 40, young, this)
    assert [one.family for one in found.families] == ["ada"]
    assert found.left_out == ("gemm on hopper: no prediction in the base: unknown hopper",)
    assert "Not compared" in write(answer(found, "HEAD^1", 0.01), "text")


def test_rows_that_this_tree_cannot_predict_are_an_error(rows):
    def mute(request):
        found = this(request)
        found["groups"][0] = {"error": "unknown hopper"}
        return found

    def undefined(request):
        found = this(request)
        found["groups"][0]["seconds"][3:5] = [float("nan"), float("inf")]
        return found

    with pytest.raises(PredictionError, match=r"^gemm on hopper: no prediction in this tree: unknown hopper$"):
        compare(REGISTRY, ["gemm"], 40, this, mute)
    with pytest.raises(PredictionError, match=r"^gemm on hopper: this tree predicts no finite time for 2 rows$"):
        compare(REGISTRY, ["gemm"], 40, this, undefined)


# ---------------------------------------------------------------------------------------------------- constants


def test_constants_that_changed_are_listed_with_their_line(tmp_path):
    text = (PACKAGED / "silicon.yaml").read_text(encoding="utf-8")
    wrong = re.sub(r"(  start_clocks:\n(?:    .*\n)*?    value: \[)[\d.]+", r"\g<1>9", text)
    wrong = re.sub(r"(  overlap:\n(?:    .*\n)*?    folds: {ampere: )[\d.]+", r"\g<1>9", wrong)
    wrong = wrong.replace("  l2_sharpness:\n", "  l2_edge:\n")
    (tmp_path / "silicon.yaml").write_text(wrong, encoding="utf-8")
    for name in (OPS, CORES):
        shutil.copyfile(PACKAGED / name, tmp_path / name)
    start, overlap, edge, sharpness = changes(tmp_path)
    value = constants_file(Registry()).constants.products.start_clocks
    line = 1 + next(number + 3 for number, line in enumerate(text.splitlines()) if line == "  start_clocks:")
    assert str(start) == f"start_clocks 9 → {value:g} ({shown(PACKAGED / 'silicon.yaml')}:{line})"
    assert str(overlap).startswith(
        f"overlap stays {constants_file(Registry()).constants.products.overlap:g}, and 1 of its folds ("
    )
    assert (edge.name, edge.new, sharpness.name, sharpness.old) == ("l2_edge", None, "l2_sharpness", None)
    assert changes(PACKAGED) == []
    assert edge.place == "silicon.yaml of the base"
    assert len(changes(tmp_path / "nowhere")) == sum(map(len, map(names, GROUPS)))  # all are new


def test_constants_that_changed_stand_in_the_answer():
    one = module.ChangeRecord(name="overlap", old=2.0, new=3.0, folds=0, place="silicon.yaml:96")
    found = answer(module.Comparison((), {}, ()), "HEAD^1", 0.01, [one])
    assert [(section.heading, section.sentences) for section in found.sections] == [
        ("Constants that changed", ("overlap 2 → 3 (silicon.yaml:96)",))
    ]


@pytest.mark.parametrize(("regime", "mostly"), [("small", "small, launch"), ("all", "launch"), (None, "launch")])
def test_a_family_is_shown_with_the_regime_that_regressed_most_unless_all_did(regime, mostly):
    counts = {"rows": 9, "good_before": 8, "good_now": 5, "regressed": 4, "improved": 1}
    record = module.FamilyRecord(
        topic="gemm", family="ada", failed=True, regime=regime, terms={"launch": 1.0}, worst=[], **counts
    )
    assert module._shown(record) == ("gemm", "ada", 9, 8, 5, 4, 1, mostly)
