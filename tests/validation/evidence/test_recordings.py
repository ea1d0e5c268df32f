"""Measurements in the evidence: a row each, beside the prediction, green, red or undecided."""

import json

import pytest

from pytest_rooflint.evidence.recordings import _what, measured
from rooflint_measure.record import Gemm
from rooflint_report.evidence import plain

CLAIM = "measured: rate <= peak"
KEYS = {
    "": "schema sentences recordings rows how",
    "recordings.0": "device at file machine taken command facts software left_out conditions",
    "rows.0": "device at file line name kind what precision library size best_s best_display median_s median_display"
    " spread_display samples disturbed conditions outcome why rate_display efficiency efficiency_display predicted_s"
    " predicted_display bound ratio ratio_display power_w idle_w power_display idle_display energy_display"
    " per_w_display",
}


@pytest.fixture
def rows(bench):
    """Rows of the evidence of what was recorded, with a claim over it."""

    def found(*measurements, claim=CLAIM, **facts):
        bench.record(*measurements, **facts)
        bench.claim(claim)
        return plain(measured(bench.repository.suite()))["rows"]

    return found


def test_the_keys_are_those_of_the_schema(bench, make):
    bench.record(make.gemm(30e12))
    bench.claim(CLAIM)
    found = plain(measured(bench.repository.suite()))
    assert found["schema"] == "rooflint-measured/2"
    assert set(found) == set(KEYS[""].split())
    assert set(found["recordings"][0]) == set(KEYS["recordings.0"].split())
    assert set(found["rows"][0]) == set(KEYS["rows.0"].split())
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_a_product_stands_beside_its_prediction(rows, make):
    (row,) = rows(make.gemm(16.384e12, energy=make.energy(16.384)))
    assert (row["outcome"], row["why"], row["what"]) == ("pass", "", "product 4096³")
    assert (row["size"], row["efficiency"], row["ratio"]) == pytest.approx((4096, 0.5, 0.5))
    # 2 × 4096³ op / 16.384 TOP/s = 8.389 ms
    assert (row["best_display"], row["predicted_display"], row["bound"]) == ("8.389 ms", "4.194 ms", "compute")
    assert (row["rate_display"], row["efficiency_display"]) == ("16.38 TOP/s", "50 %")
    # 2 s × 16.384 W over 100 calls; 137.4 GOP / 0.3277 J
    assert (row["power_display"], row["energy_display"]) == ("16.38 W", "327.7 mJ")
    assert row["per_w_display"] == "419.4 GOP/s/W"


def test_three_outcomes_with_their_reasons(rows, make):
    found = rows(
        make.gemm(30e12), make.gemm(50e12, shape=(8192, 8192, 8192)), make.gemm(20e12, shape=(99, 99, 99), stolen=5)
    )
    assert [row["outcome"] for row in found] == ["pass", "fail", "undecided"]
    assert "beaten by 52.6 % (likely: macs_per_clock.int8 1024 MAC is 1/2" in found[1]["why"]
    assert "5 of 5 samples are disturbed (stolen 5)" in found[2]["why"]
    assert [row["disturbed"] for row in found] == [0, 0, 5]


def test_what_a_claim_calls_normal_is_normal_in_the_evidence(rows, make):
    (row,) = rows(make.gemm(30e12, throttled=5), claim=f"{CLAIM}, despite: [power cap], why: sold so")
    assert (row["outcome"], row["disturbed"]) == ("pass", 0)


def test_power_that_nobody_measured_is_a_reason(rows, make):
    (row,) = rows(make.gemm(30e12))
    assert (row["power_w"], row["power_display"]) == (None, "not available: a synthetic recording")


def test_a_network_without_op_table_has_no_prediction(rows, make):
    (row,) = rows(make.network(1e-3, name="alexnet"))
    assert (row["predicted_s"], row["ratio"], row["outcome"]) == (None, None, "undecided")
    assert "alexnet" in row["why"]


def test_each_operating_point_is_predicted_at_its_own_clock(rows, make):
    (row,) = rows(make.gemm(15e12), power_mode="low")
    assert (row["at"], row["predicted_display"]) == ("low", "8.389 ms")


def test_a_recording_that_is_refused_is_not_shown(bench, make):
    bench.record(make.gemm(30e12), device="another machine")
    bench.claim(CLAIM)
    bench.repository.write("golden/measured/acme/k1/broken.json", "{")
    found = plain(measured(bench.repository.suite()))
    assert (found["recordings"], found["rows"], found["sentences"]) == ([], [], [])


def test_a_recording_without_claims_is_not_shown(bench, make):
    bench.record(make.gemm(30e12))
    assert plain(measured(bench.repository.suite()))["recordings"] == []


def test_a_suite_without_recordings_says_how_to_make_one(acme):
    found = plain(measured(acme.suite()))
    assert found["rows"] == []
    assert found["how"].startswith("rooflint measure record writes a recording")


def test_the_counts_are_one_sentence(bench, make):
    bench.record(make.gemm(30e12), make.gemm(50e12, shape=(8192, 8192, 8192)))
    bench.claim(CLAIM)
    assert plain(measured(bench.repository.suite()))["sentences"] == [
        "2 measurements of 1 device: 1 within their bounds, 1 beyond them"
    ]


def test_a_stream_has_a_bandwidth_and_no_ops_per_joule(rows, make):
    # 2 × 100 MB at 200 of 256 GB/s
    (row,) = rows(make.stream(200e9, energy=make.energy(10.0)), claim="measured: bandwidth <= peak")
    assert (row["what"], row["size"], row["rate_display"]) == ("copy of 100 MB", None, "200 GB/s")
    assert (row["efficiency"], row["ratio"]) == pytest.approx((0.78125, 0.78125))
    assert (row["best_display"], row["predicted_display"], row["ratio_display"]) == ("1 ms", "781.3 µs", "0.781")
    assert (row["power_w"], row["idle_w"], row["per_w_display"]) == (10.0, 5.0, "—")


def test_what_was_timed_is_said_without_its_precision_and_library():
    whole = {"precision": "int8", "library": "synthetic"}
    assert _what(Gemm(**whole, m=64, n=64, k=64)) == "product 64³"
    assert _what(Gemm(**whole, m=64, n=32, k=64)) == "product 64 × 32 × 64"
    assert _what(Gemm(**whole, m=64, n=64, k=32, batch=3)) == "product 3 of 64 × 64 × 32"


def test_samples_are_told_by_the_best_the_median_and_their_spread(rows, make):
    # five samples, each a hundredth of the best longer than the one before
    (row,) = rows(make.stream(200e9), claim="measured: bandwidth <= peak")
    assert (row["best_s"], row["median_s"], row["samples"]) == (pytest.approx(1e-3), pytest.approx(1.02e-3), 5)


def test_a_network_with_a_wrong_count_is_red_whatever_its_speed(rows, make):
    (row,) = rows(make.network(7e-3, macs=1_814_073_344 // 2), claim="measured: macs = op table")
    assert row["what"] == "resnet18 batch 1"
    assert row["outcome"] == "fail"
    assert "as if a MAC were one op" in row["why"]


def test_a_precision_that_the_device_lacks_has_no_share_of_a_peak(rows, make):
    (row,) = rows(make.gemm(1e9, precision="fp64"))
    assert (row["rate_display"], row["efficiency"]) == ("—", None)
    assert row["efficiency_display"].startswith("not known: ")
    assert (row["predicted_s"], row["predicted_display"], row["bound"], row["ratio_display"]) == (None, "—", None, "—")
    assert row["outcome"] == "undecided"


def test_conditions_are_ranges_over_all_measurements(bench, make):
    bench.record(make.gemm(30e12, clock_hz=1e9, load=0.5), make.stream(200e9, clock_hz=1.5e9, load=0.5))
    bench.claim(CLAIM)
    found = plain(measured(bench.repository.suite()))
    assert found["recordings"][0]["conditions"] == "1 GHz … 1.5 GHz, load 0.5, 1 thread"
    assert [row["conditions"] for row in found["rows"]] == ["1 GHz, load 0.5, 1 thread", "1.5 GHz, load 0.5, 1 thread"]
