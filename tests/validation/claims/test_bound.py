"""`bound`: what limits most of a workload's latency."""

import pytest

MLP = "workload: {mlp: [64, 64], batch: 2}"
GEMM = "workload: {gemm: [1024, 1024, 1024]}"


@pytest.mark.parametrize(
    ("options", "workload", "bound"),
    [
        ("compute: int8", GEMM, "compute"),
        ("compute: int8", MLP, "launch"),
        # an MLP of 4096: 4096² B of weights take 65.5 us, the launch 1 us
        ("compute: int8", "workload: {mlp: [4096, 4096]}", "memory"),
        # stored in FP64 the product moves 3 · 2^20 · 8 B = 98.3 us > 65.5 us
        ("compute: int8, storage: fp64", GEMM, "memory"),
    ],
)
def test_a_bound_is_what_most_of_the_time_waits_for(one, options, workload, bound):
    right = one(f"bound: acme/k1, is: {bound}, {options}", head=f"{workload}\n")
    assert right.outcome == "pass"
    for other in {"compute", "memory", "launch"} - {bound}:
        wrong = one(f"bound: acme/k1, is: {other}, {options}", head=f"{workload}\n")
        assert wrong.outcome == "fail"
        assert wrong.obtained.shown().startswith(f"{bound}-bound")


def test_a_bound_shows_intensity_and_breakpoint(one, paths):
    verdict = one("bound: acme/k1, is: compute, compute: int8", head=f"{GEMM}\n")
    # 2 · 1024 / 3 op/B; the array's 32.768 TOP/s over 256 GB/s
    assert verdict.obtained.shown() == "compute-bound: 682.7 op/B, breakpoint 128 op/B"
    assert verdict.obtained.value == pytest.approx(2048 / 3)
    assert (verdict.expected_display, verdict.corroborated) == ("compute-bound", False)
    assert "memories.hbm.pin_rate" in paths(verdict)
    assert (verdict.obtained.others, verdict.obtained.precision) == (("acme/k1",), "int8")


def test_invalid_bounds(one, refusal):
    assert "is: want one of compute, memory, launch, found 'luck'" in refusal(
        f"bound: acme/k1, is: luck, compute: int8, {MLP}"
    )
    assert "a bound claim takes no expectation here" in refusal(
        f"bound: acme/k1, is: memory, compute: int8, expect: 1 op/B, {MLP}"
    )
    assert "a latency needs 'compute:'" in refusal(f"bound: acme/k1, is: memory, {MLP}")
    assert "does not support fp4" in one(f"bound: nvidia/t4, is: memory, compute: fp4, {MLP}").reason
    # whether the secret unit computes in FP64 is undisclosed
    undisclosed = one(f"bound: acme/k1, is: memory, compute: fp64, undisclosed: true, {MLP}")
    assert undisclosed.outcome == "not validated here"
