"""`predicted`: the roofline over the measured time."""


def test_a_prediction_is_the_roofline_over_the_measured_time(bench, make, said):
    # 6.181 ms / 10 ms
    bench.record(make.network(10e-3))
    verdict = bench.verdict("predicted: network resnet18 b1, expect: 0.618")
    assert verdict.outcome == "pass"
    assert "6.181 ms by the roofline (compute) / 10 ms measured" in said(verdict)


def test_a_prediction_of_a_network_with_halved_macs_names_them(bench, make, said):
    bench.record(make.network(10e-3, macs=1_814_073_344 // 2))
    assert "as if a MAC were one op" in said(
        bench.verdict("predicted: network resnet18, expect: 1.24 ± 5 %, why: seen")
    )


def test_predictions_of_products_and_streams_are_known_too(bench, make):
    bench.record(make.gemm(16.384e12), make.stream(128e9))
    assert bench.verdict("predicted: gemm int8, expect: 0.50").outcome == "pass"
    assert bench.verdict("predicted: stream copy, expect: 0.50").outcome == "pass"


def test_the_farthest_of_several_measurements_is_shown_with_its_facts(bench, make, paths):
    # 32.768 TOP/s of the roofline over 16.384 and over 20: 20 / 32.768 = 0.61 is farther from 0.5
    bench.record(make.gemm(16.384e12), make.gemm(20e12, shape=(8192, 8192, 8192)))
    verdict = bench.verdict("predicted: gemm int8, expect: 0.50")
    assert (verdict.outcome, verdict.obtained_display, verdict.corroborated) == ("fail", "0.6104", False)
    assert "8192x8192x8192" in verdict.text() and verdict.obtained.precision == "int8"
    assert {"units.mac_array.clock"} <= paths(verdict)


def test_only_a_roofline_that_is_beaten_is_diagnosed(bench, make):
    bench.record(make.gemm(16.384e12))
    assert bench.verdict("predicted: gemm int8, expect: 0.90").causes == ()
    bench.record(make.gemm(50e12))
    said = " ".join(bench.verdict("predicted: gemm int8, expect: 0.50").text().split())  # however it is wrapped
    assert "a MAC is counted as one op" in said
