"""Held-out scores: times by constants fitted without a family, beside rows of that family that took a known time."""

import math
from pathlib import Path

import numpy as np
import pytest

from pytest_rooflint.claims import held_out
from pytest_rooflint.golden.kinds import Claim, ClaimError, ClaimSource
from rooflint.hardware.registry import Registry
from rooflint.kernels.constants import constants_file
from rooflint_calibration import evaluation, topics
from rooflint_calibration.evaluation import Score
from rooflint_calibration.package import FAMILIES, devices, family_of
from rooflint_calibration.rows import Rows
from rooflint_calibration.topics import TOPICS

FILE = constants_file(Registry())


def claim(subject="gemm hopper all", **options):
    return Claim(
        "prediction", subject, "x", Path("x.yaml"), 1, ClaimSource(None, "A", "read", "p. 1"), None, options=options
    )


@pytest.fixture
def machines(monkeypatch):
    """`machines(factor)`: every device took so many times what the constants predict that have not seen it."""

    def take(factor, **beaten):
        def measured(topic, device, chip):
            sizes = np.column_stack([*2.0 ** np.random.default_rng(2).integers(2, 15, (3, 400)), np.full(400, 6.0)])
            seconds = factor * TOPICS[topic].predict(sizes, chip, FILE.without(family_of(device)))
            return Rows(
                device, TOPICS[topic].columns, sizes, seconds, {"faster than the dense peak": beaten.get(device, 0)}
            )

        monkeypatch.setattr(topics, "measured", measured)

    return take


# ---- a family that was left out


@pytest.mark.slow
def test_an_error_within_its_bounds_passes_and_one_beyond_them_fails(machines, verdict):
    machines(1 / 1.08)  # predicted 8 % too long, all alike
    found = verdict("prediction: gemm hopper all, error: 8.1 %, bias: 8.1 %")
    assert (found.outcome, found.obtained_display) == ("pass", "error 8.0%, bias +8.0%")
    assert "800 shapes of nvidia/h100-sxm5-80gb, nvidia/h200-sxm-141gb" in found.obtained.formula
    assert verdict("prediction: gemm hopper all, error: 7.9 %, bias: 8.1 %").outcome == "fail"
    assert verdict("prediction: gemm hopper all, error: 8.1 %, bias: 7.9 %").outcome == "fail"
    assert verdict("prediction: gemm hopper narrow, error: 8.1 %, bias: 8.1 %, rows: 10").obtained.value > 0


@pytest.mark.slow
def test_an_order_that_is_predicted_passes(machines, verdict):
    machines(1.0)
    found = verdict("prediction: gemm order, right: 95 %, rows: 50")
    assert found.outcome == "pass"
    assert (
        "on 29 pairs of devices of different families" in found.obtained.formula
    )  # 36 less 1 of Hopper, 6 of Blackwell


@pytest.mark.slow
def test_an_order_that_is_predicted_less_often_than_claimed_is_red(machines, verdict, monkeypatch):
    machines(1.0)
    monkeypatch.setattr(evaluation, "ordered", lambda one, two, rows: (9, 10))
    assert verdict("prediction: gemm order, right: 90 %").outcome == "pass"
    found = verdict("prediction: gemm order, right: 90.1 %")
    assert found.outcome == "fail"
    assert "90.0% of the faster devices predicted" in " ".join(found.text().split())


def test_measurements_that_beat_the_roofline_are_red_with_their_device(machines, verdict):
    machines(1.0)
    assert verdict("prediction: gemm roofline").outcome == "pass"
    assert verdict("prediction: gemm peak").outcome == "pass"
    machines(0.3)
    found = verdict("prediction: gemm roofline")
    assert found.outcome == "fail"
    assert "  nvidia/l40s  " in found.text()
    assert "exempt: working sets up to 3.5 times L2" in " ".join(found.text().split())  # wherever the line ends


def test_each_score_stands_beside_that_of_the_plain_roofline(machines, verdict):
    machines(1 / 1.08)
    found = verdict("prediction: gemm hopper large, error: 9 %, bias: 8.5 %, rows: 20").obtained
    said = found.prediction
    assert (said.topic, said.family, said.table, said.regime) == ("gemm", "hopper", None, "large")
    assert said.devices == list(found.others) == ["nvidia/h100-sxm5-80gb", "nvidia/h200-sxm-141gb"]
    assert (said.rows, found.precision) == (40, "bf16")
    assert (said.error, said.bias) == (pytest.approx(0.08), pytest.approx(0.08))
    assert said.roofline_error > 0 > said.roofline_bias  # nothing is slower than the roofline says
    assert (said.error_bound, said.bias_bound) == ("9 %", "8.5 %")
    assert found.expected == "error up to 9.0%, bias up to 8.5%"
    assert found.formula == "constants fitted without hopper, 40 shapes of nvidia/h100-sxm5-80gb, nvidia/h200-sxm-141gb"
    assert (found.details, found.causes) == ("", ())


def test_a_red_score_says_where_the_error_is(machines, verdict, monkeypatch):
    asked = []

    def reason(registry, family, regime, ones):
        asked.append((family, regime, [one.rows.device for one in ones]))
        return "  where it is", ()

    monkeypatch.setattr(held_out, "reason", reason)
    machines(2.0)
    found = verdict("prediction: gemm ada all, error: 5 %, bias: 5 %, rows: 50")
    assert (found.outcome, found.obtained_display) == ("fail", "error 50.0%, bias -50.0%")
    assert found.obtained.details == "  where it is"
    assert asked == [("ada", "all", list(found.obtained.others))]


@pytest.mark.parametrize(("error", "bias", "holds"), [(0.05, -0.02, True), (0.051, 0.0, False), (0.0, 0.021, False)])
def test_both_bounds_belong_to_what_they_allow_and_a_bias_counts_either_way(error, bias, holds):
    one = claim(error="5 %", bias="2 %")
    found = held_out.scored(
        one,
        Score(7, error, bias),
        Score(7, 0.4, -0.3),
        "x",
        topic="gemm",
        regime="all",
        precision="bf16",
        devices=["d"],
    )
    assert (found.holds, found.value) == (holds, error)
    assert (found.prediction.roofline_error, found.prediction.roofline_bias) == (0.4, -0.3)


# ---- what a claim asks for


@pytest.mark.parametrize(
    ("words", "needed"),
    [
        (["hopper", "large"], ("error", "bias")),
        (["order"], ("right",)),
        (["peak"], ()),
        (["roofline"], ()),
        (["hopper"], None),
        (["volta", "large"], None),
        (["hopper", "huge"], None),
        (["hopper", "large", "all"], None),
        ([], None),
    ],
)
def test_a_family_with_a_regime_needs_two_bounds_and_all_devices_their_own(words, needed):
    assert held_out.subject("gemm").needs(words) == needed


def test_only_products_have_subjects_about_all_devices():
    decode = held_out.subject("decode")
    assert decode.needs(["order"]) is None
    assert decode.known.startswith("a family (")
    assert held_out.subject("gemm").known.startswith("one of order, peak, roofline, or a family (ampere, ")
    assert decode.sampled


@pytest.mark.parametrize(("text", "value"), [("12 %", 0.12), ("0.5 %", 0.005), ("100 %", 1.0)])
def test_a_bound_is_in_per_cent(text, value):
    assert math.isclose(held_out.share(claim(error=text), "error"), value)


@pytest.mark.parametrize("text", ["12", "12%", "a %", "1 % of it", None])
def test_a_bound_that_is_no_share_is_refused(text):
    with pytest.raises(ClaimError, match=rf"error: want a share such as 12 %, found '{text}'"):
        held_out.share(claim(error=text), "error")


def test_a_claim_is_decided_on_a_thousand_rows_of_each_device_unless_it_says_so():
    assert held_out.rows_of(claim()) == 1000
    assert held_out.rows_of(claim(rows=1)) == 1
    for wrong in (0, True, 2.0, "many"):
        with pytest.raises(ClaimError, match=f"rows: want a whole number of at least 1, found '{wrong}'"):
            held_out.rows_of(claim(rows=wrong))


# ---- all measured devices together


@pytest.mark.slow
def test_an_order_says_share_shapes_and_pairs(machines, verdict, monkeypatch):
    machines(1.0)
    monkeypatch.setattr(evaluation, "ordered", lambda one, two, rows: (rows - 1, rows))
    found = verdict("prediction: gemm order, right: 90 %, rows: 10").obtained
    assert (found.value, found.precision) == (pytest.approx(0.9), "bf16")
    assert found.formula == "290 shapes on 29 pairs of devices of different families"
    assert found.expected == "90.0% or more of the faster devices predicted"


@pytest.mark.slow
def test_a_device_in_an_order_is_predicted_without_its_own_family(machines, verdict, monkeypatch):
    machines(1.0)
    seen = {}

    def ordered(one, two, rows):
        for each in (one, two):
            seen[each.rows.device] = each.constants == FILE.without(family_of(each.rows.device))
        return 1, 1

    monkeypatch.setattr(evaluation, "ordered", ordered)
    verdict("prediction: gemm order, right: 90 %")
    assert seen == dict.fromkeys((name for family in FAMILIES for name in devices(family)), True)


def test_shapes_faster_than_the_peak_are_counted_by_device(machines, verdict):
    machines(1.0, **{"nvidia/l40s": 3, "nvidia/h200-sxm-141gb": 2})
    found = verdict("prediction: gemm peak")
    assert (found.outcome, found.obtained.value, found.obtained_display) == ("fail", 5.0, "5 shapes are faster")
    assert sorted(found.obtained.details.splitlines()) == [
        "  nvidia/h200-sxm-141gb  2 shapes",
        "  nvidia/l40s  3 shapes",
    ]
    assert found.obtained.expected == "no shape faster than the dense peak"
    count = 400 * sum(len(devices(family)) for family in FAMILIES)
    assert (found.obtained.formula, found.obtained.precision) == (f"{count} shapes; of all measured", "bf16")
    machines(1.0)
    assert verdict("prediction: gemm peak").obtained.value == 0


def test_shapes_faster_than_the_roofline_are_no_matter_of_the_peak(machines, verdict):
    machines(0.3)
    assert verdict("prediction: gemm peak").outcome == "pass"
    found = verdict("prediction: gemm roofline").obtained
    assert found.value > 0
    assert found.expected == "no shape faster than the roofline"
    assert sum(int(line.split()[1]) for line in found.details.splitlines()) == found.value
