"""Every kind of claim: what it obtains, by hand; what it rests on; what it says of a subject that is not there.

The device is `acme/k1` of conftest.py: 8 tiles with 2 arrays of 1024 INT8 MAC at 1 GHz, a 1024-bit bus at 2 Gbit/s.
"""

import pytest

from rooflint.base.errors import InputError

WORKLOAD = "workload: {mlp: [64, 64], batch: 2}"
GEMM = "workload: {gemm: [1024, 1024, 1024]}"


def paths(verdict):
    return {fact.path for fact in verdict.facts}


# ---- attainable


@pytest.mark.parametrize(
    ("claim", "value"),
    [
        # in INT8 a 1024³ product has 2 · 1024 / 3 = 682.7 op/B; × 256 GB/s is above the peak
        ("attainable: mac_array int8 / hbm, expect: 32.77 TOP/s, workload: {gemm: [1024, 1024, 1024]}", 32.768e12),
        # stored in FP32 a quarter of it: 170.7 op/B × 256 GB/s = 43.7 TOP/s, still above
        ("attainable: mac_array int8 / hbm, expect: 32.77 TOP/s, workload: {gemm: [1024, 1024, 1024]}, storage: fp32",
         32.768e12),
        # 2 · 64³ op over 3 · 64² B = 42.67 op/B, left of the breakpoint of 128
        ("attainable: mac_array int8 / hbm, expect: 10.92 TOP/s, workload: {gemm: [64, 64, 64]}", 256e9 * 128 / 3),
        ("attainable: mac_array int8 / hbm, expect: 2.731 TOP/s, workload: {gemm: [64, 64, 64]}, storage: fp32",
         256e9 * 32 / 3),
        ("attainable: mac_array int8 / hbm, at: low, expect: 16.38 TOP/s, workload: {gemm: [1024, 1024, 1024]}",
         16.384e12),
    ],
)  # fmt: skip
def test_attainable_is_the_lower_of_the_two_roofs(claims, claim, value):
    (verdict,) = claims(claim)
    assert verdict.outcome == "pass", verdict.text()
    assert verdict.obtained.value == pytest.approx(value, rel=1e-12)


def test_a_bandwidth_so_high_that_the_peak_takes_over_is_still_named(acme, claims):
    # 42.67 op/B × 256 GB/s = 10.92; with 32 Gbit/s a pin the roof is the peak, 32.77
    acme.edit("specs/hardware/acme/k1.yaml", "pin_rate: [2 Gbit/s", "pin_rate: [32 Gbit/s")
    (verdict,) = claims("attainable: mac_array int8 / hbm, expect: 10.92 TOP/s, workload: {gemm: [64, 64, 64]}")
    assert verdict.outcome == "fail"
    assert any(cause.fact.path.startswith("memories.hbm.") for cause in verdict.causes if cause.fact)


def test_the_roof_that_counts_is_the_one_to_mend(acme, claims):
    acme.edit("specs/hardware/acme/k1.yaml", "pin_rate: [2 Gbit/s", "pin_rate: [1 Gbit/s")
    (verdict,) = claims("attainable: mac_array int8 / hbm, expect: 10.92 TOP/s, workload: {gemm: [64, 64, 64]}")
    assert (verdict.outcome, verdict.ratio_text) == ("fail", "1/2")
    assert {cause.fact.path for cause in verdict.causes if cause.fact} <= {"memories.hbm.pin_rate", "memories.hbm.bus"}
    assert "op/B" in verdict.text()


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        ("attainable: mac_array int8, expect: 1.00 TOP/s, workload: {gemm: [8, 8, 8]}", "want two operands with '/'"),
        ("attainable: int8 / hbm, expect: 1.00 TOP/s, workload: {gemm: [8, 8, 8]}", "want a unit and a precision"),
        ("attainable: mac_array int8 / hbm, expect: 1.00 TOP/s, workload: {gemm: [8, 8, 8]}, storage: int9",
         "storage: unknown precision 'int9'"),
    ],
)  # fmt: skip
def test_an_attainable_that_cannot_mean_anything_is_refused(claims, claim, says):
    with pytest.raises(InputError, match=says):
        claims(claim)


# ---- peak


@pytest.mark.parametrize(
    ("claim", "value"),
    [
        # 8 × 2 × 1024 × 2 × 1 GHz
        ("peak: mac_array int8, expect: 32.77 TOP/s", 32.768e12),
        # FP16 has a clock of its own: 8 × 2 × 512 × 2 × 0.9 GHz
        ("peak: mac_array fp16, expect: 14.75 TFLOP/s", 14.7456e12),
        # × 2 for structured sparsity
        ("peak: mac_array int8, sparse: true, expect: 65.54 TOP/s", 65.536e12),
        # the low point halves the clock
        ("peak: mac_array int8, at: low, expect: 16.38 TOP/s", 16.384e12),
        ("peak: mac_array int8, at: {acme/k1: low}, expect: 16.38 TOP/s", 16.384e12),
        # one of two parts
        ("peak: mac_array int8, per: gcd, expect: 16.38 TOP/s", 16.384e12),
        # 8 × 16 × 8 × 2 × 1.2 GHz = 2.4576 on top of 32.768
        ("peak: mac_array int8 + vector int8, expect: 35.23 TOP/s", 35.2256e12),
        ("peak: mac_array INT8, expect: 32.77 TOP/s", 32.768e12),
    ],
)
def test_a_peak_is_the_product_of_the_facts(claims, claim, value):
    (verdict,) = claims(claim)
    assert verdict.outcome == "pass"
    assert verdict.obtained.value == pytest.approx(value, rel=1e-12)


def test_a_peak_rests_on_counts_rate_and_its_own_clock(claims):
    one, two = claims("peak: mac_array int8, expect: 32.77 TOP/s", "peak: mac_array fp16, expect: 14.75 TFLOP/s")
    assert paths(one) == {
        "units.mac_array.groups",
        "units.mac_array.per_group",
        "units.mac_array.macs_per_clock.int8",
        "units.mac_array.clock",
    }
    assert "units.mac_array.clock_of.fp16" in paths(two)
    assert "units.mac_array.clock" not in paths(two)
    assert one.obtained.formula == "8 tile × 2 mac_array × 1024 MAC/clock × 2 op/MAC × 1000 MHz"


def test_sparse_and_part_are_steps_of_the_ladder(claims):
    (verdict,) = claims("peak: mac_array int8, sparse: true, per: gcd, expect: 32.77 TOP/s")
    assert verdict.obtained.formula.endswith("× 2 (sparse) × 1/2 (gcd)")
    assert {"units.mac_array.sparsity.int8", "parts.gcd"} <= paths(verdict)


def test_a_peak_is_printed_in_flop_where_the_precision_floats(claims):
    one, two = claims("peak: mac_array int8, expect: 1.00 TOP/s", "peak: mac_array fp16, expect: 1.00 TFLOP/s")
    assert one.obtained.shown() == "32.77 TOP/s"
    assert two.obtained.shown() == "14.75 TFLOP/s"


# ---- memories


@pytest.mark.parametrize(
    ("claim", "value"),
    [
        # 1024 bit / 8 × 2 Gbit/s
        ("bandwidth: hbm, expect: 256 GB/s", 256e9),
        ("bandwidth: hbm, per: gcd, expect: 128 GB/s", 128e9),
        ("bandwidth: ddr, expect: 25.6 GB/s", 25.6e9),
        ("capacity: hbm, expect: 16 GiB", 16 * 2**30),
        # 16 GiB are 17.18 GB
        ("capacity: hbm, expect: 17.18 GB", 16 * 2**30),
        ("capacity: hbm, per: gcd, expect: 8.00 GiB", 8 * 2**30),
        ("capacity: l2, expect: 4.00 MiB", 4 * 2**20),
        # 32.768 TOP/s over 256 GB/s
        ("breakpoint: mac_array int8 / hbm, expect: 128 op/B", 128),
        ("breakpoint: mac_array int8 / hbm, at: low, expect: 64 op/B", 64),
        ("breakpoint: mac_array fp16 / ddr, expect: 14.75 TFLOP/s / 25.6 GB/s", 576),
    ],
)
def test_memories_are_bus_times_rate_and_breakpoints_peak_over_bandwidth(claims, claim, value):
    (verdict,) = claims(claim)
    assert verdict.outcome == "pass"
    assert verdict.obtained.value == pytest.approx(value, rel=1e-12)


def test_sixteen_gib_are_not_sixteen_gb(claims):
    (verdict,) = claims("capacity: hbm, expect: 16.0 GB")
    # 2^30 / 10^9
    assert verdict.outcome == "fail"
    assert verdict.ratio == pytest.approx(1.0737, abs=1e-4)
    assert "GB" in verdict.causes[0].text and "GiB" in verdict.causes[0].text


def test_a_breakpoint_rests_on_both_sides(claims):
    (verdict,) = claims("breakpoint: mac_array int8 / hbm, expect: 128 op/B")
    assert {"units.mac_array.clock", "memories.hbm.bus", "memories.hbm.pin_rate"} <= paths(verdict)


# ---- counts, powers, clocks


@pytest.mark.parametrize(
    ("claim", "value"),
    [
        ("count: tile, expect: 8", 8),
        ("count: mac_array, expect: 16", 16),  # 8 × 2
        ("count: vector, expect: 128", 128),  # 8 × 16
        ("count: vector, per: gcd, expect: 64", 64),
        ("tdp: rated, expect: 20 W", 20),
        ("tdp: typical, expect: 12 W", 12),
        ("tdp: rated, at: low, expect: 10 W", 10),
        ("ratio: mac_array int8 / mac_array fp16, expect: 2", 2),
        # (1024 × 2) / (2 × 16) MAC per clock and tile
        ("ratio: mac_array int8 / vector fp32, expect: 64", 64),
        ("sparsity: mac_array int8, expect: 2", 2),
    ],
)
def test_counts_powers_and_rates_are_looked_up_and_multiplied(claims, claim, value):
    (verdict,) = claims(claim)
    assert verdict.outcome == "pass"
    assert verdict.obtained.value == value


@pytest.mark.parametrize(
    "claim", ["count: tile, expect: 9", "tdp: rated, expect: 21 W", "sparsity: mac_array int8, expect: 1"]
)
def test_a_wrong_count_is_red(claims, claim):
    (verdict,) = claims(claim)
    assert verdict.outcome == "fail"


def test_rates_are_claimed_of_an_architecture_too(claims):
    ratio, factor = claims(
        "ratio: mac_array int8 / mac_array fp16, expect: 2",
        "sparsity: mac_array int8, expect: 4",
        head="architecture: acme/a1\n",
    )
    assert ratio.outcome == "pass"
    assert (factor.outcome, factor.ratio_text) == ("fail", "1/2")


@pytest.mark.parametrize(
    ("head", "claim", "outcome"),
    [
        ("architecture: nvidia/hopper-gh100", "full_die: SM, expect: 144", "pass"),
        ("architecture: nvidia/hopper-gh100", "full_die: SM, expect: 132", "fail"),
        ("hardware: nvidia/h100-sxm5-80gb", "full_die: SM, expect: 144", "pass"),
        # two dies of 112
        ("hardware: amd/mi250x", "full_die: CU, expect: 224", "pass"),
        ("hardware: amd/mi250x", "full_die: CU, expect: 112", "fail"),
    ],
)
def test_what_the_silicon_has_is_claimed_of_an_architecture_and_with_all_dies_of_a_device(claims, head, claim, outcome):
    (verdict,) = claims(claim, head=f"{head}\n")
    assert verdict.outcome == outcome


@pytest.mark.parametrize(
    ("order", "outcome"),
    [
        # base 800, mac_array 1000, its FP16 900, vector and boost 1200 MHz
        ("base <= mac_array <= boost", "pass"),
        ("base < mac_array fp16 < mac_array", "pass"),
        ("vector <= boost", "pass"),
        ("vector < boost", "fail"),
        ("mac_array <= mac_array fp16", "fail"),
        ("boost <= base", "fail"),
        ("base <= boost <= mac_array", "fail"),
    ],
)
def test_clocks_are_compared_neighbour_by_neighbour(claims, order, outcome):
    (verdict,) = claims(f"clocks: {order}")
    assert verdict.outcome == outcome
    assert verdict.expected_display == order


def test_clocks_of_an_operating_point_are_its_own(claims):
    (verdict,) = claims("clocks: base <= mac_array, at: low")
    assert verdict.outcome == "fail"
    assert verdict.obtained.shown() == "base 800 MHz, mac_array 500 MHz"


# ---- workloads


@pytest.mark.parametrize(
    ("claim", "value"),
    [
        # 2 × 64 × 64 MAC, 2 op each
        ("flops: macs, expect: 16384 op", 16384),
        ("flops: all, expect: 16384 op", 16384),
        ("flops: linear, expect: 8192 MAC", 16384),
        # INT8: 2·64 in + 64·64 weights + 64 biases + 2·64 out = 4416 B
        ("intensity: int8, expect: 16384 op / 4416 B", 16384 / 4416),
        ("intensity: fp32, expect: 16384 op / 17664 B", 16384 / 17664),
    ],
)
def test_work_and_traffic_of_a_layer_by_hand(claims, claim, value):
    (verdict,) = claims(claim, head=f"{WORKLOAD}\n")
    assert verdict.outcome == "pass"
    assert verdict.obtained.value == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("claim", "workload", "latency_s"),
    [
        # memory: 4416 B / 256 GB/s = 17.25 ns; compute: 16384 op / 32.768 TOP/s = 0.5 ns; one launch of 1 us
        ("latency: acme/k1, compute: int8, expect: 1.01725 us", WORKLOAD, 1.01725e-6),
        # stored in FP32: 4 × 17.25 ns = 69 ns
        ("latency: acme/k1, compute: int8, storage: fp32, expect: 1.069 us", WORKLOAD, 1.069e-6),
        # 2^31 op / 32.768 TOP/s = 65.536 us, 3 · 2^20 B / 256 GB/s = 12.3 us
        ("latency: acme/k1, compute: int8, expect: 66.536 us", GEMM, 66.536e-6),
        # the low point halves the peak: 131.072 us
        ("latency: acme/k1, at: low, compute: int8, expect: 132.072 us", GEMM, 132.072e-6),
        ("latency: acme/k1@low, compute: int8, expect: 132.072 us", GEMM, 132.072e-6),
        ("latency: acme/k1, at: {acme/k1: low}, compute: int8, expect: 132.072 us", GEMM, 132.072e-6),
    ],
)
def test_latency_is_the_roofline_by_hand(claims, claim, workload, latency_s):
    (verdict,) = claims(claim, head=f"{workload}\n")
    assert verdict.outcome == "pass"
    assert verdict.obtained.value == pytest.approx(latency_s, rel=1e-6)


@pytest.mark.parametrize(
    ("claim", "outcome"),
    [
        ("latency: acme/k1 < acme/k1@low, compute: int8", "pass"),
        ("latency: acme/k1@low < acme/k1, compute: int8", "fail"),
        ("latency: acme/k1@low < acme/k1, compute: int8, refuted: true", "pass"),
        ("latency: acme/k1 < acme/k1@low, compute: int8, refuted: true", "fail"),
        ("latency: acme/k1@low < acme/k1, compute: int8, refuted: false", "fail"),
    ],
)
def test_an_order_holds_or_is_refuted(claims, claim, outcome):
    (verdict,) = claims(claim, head=f"{GEMM}\n")
    assert verdict.outcome == outcome


def test_two_devices_that_are_equally_fast_are_in_no_order(claims):
    # both wait for the same memory, and 1 us for the launch
    (verdict,) = claims("latency: acme/k1 < acme/k1@low, compute: int8", head=f"{WORKLOAD}\n")
    assert verdict.outcome == "fail"


def test_an_order_names_its_devices_with_their_times_and_bounds(claims):
    (verdict,) = claims("latency: acme/k1@low < acme/k1, compute: int8", head=f"{GEMM}\n")
    assert verdict.obtained.shown() == "k1@low 132.1 us (compute), k1 66.54 us (compute)"
    assert verdict.expected_display == "acme/k1@low < acme/k1"
    assert verdict.obtained.others == ("acme/k1@low", "acme/k1")


@pytest.mark.parametrize(
    ("options", "workload", "bound"),
    [
        ("compute: int8", GEMM, "compute"),
        ("compute: int8", WORKLOAD, "launch"),
        # an MLP of 4096: 4096² B of weights take 65.5 us, the launch 1 us
        ("compute: int8", "workload: {mlp: [4096, 4096]}", "memory"),
        # stored in FP64 the product moves 3 · 2^20 · 8 B = 98.3 us > 65.5 us
        ("compute: int8, storage: fp64", GEMM, "memory"),
    ],
)
def test_a_bound_is_what_most_of_the_time_waits_for(claims, options, workload, bound):
    (right,) = claims(f"bound: acme/k1, is: {bound}, {options}", head=f"{workload}\n")
    assert right.outcome == "pass"
    for other in {"compute", "memory", "launch"} - {bound}:
        (red,) = claims(f"bound: acme/k1, is: {other}, {options}", head=f"{workload}\n")
        assert red.outcome == "fail"
        assert red.obtained.shown().startswith(f"{bound}-bound")


# ---- subjects that are not there


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        ("peak: tensor_core int8, expect: 1.00 TOP/s", "no unit 'tensor_core' (has: mac_array, vector, secret)"),
        ("peak: mac_array int4, expect: 1.00 TOP/s", "mac_array does not support int4 (has: int8, fp16)"),
        ("peak: mac_array fp16, sparse: true, expect: 1.00 TFLOP/s", "no structured sparsity in fp16 (has: int8)"),
        ("peak: mac_array int8, per: core, expect: 1.00 TOP/s", "acme/k1 has no parts named 'core' (has: gcd)"),
        ("peak: mac_array int8, at: 30w, expect: 1.00 TOP/s", "acme/k1 has no operating point '30w' (has: low)"),
        ("peak: mac_array int8 + dla int8, expect: 1.00 TOP/s", "acme/k1 has no unit 'dla'"),
        ("bandwidth: hbm3, expect: 1.00 GB/s", "acme/k1 has no memory 'hbm3' (has: hbm, ddr)"),
        ("capacity: l3, expect: 1.00 MiB", "acme/k1 has no memory 'l3'"),
        ("breakpoint: mac_array int8 / hbm3, expect: 1.00 op/B", "acme/k1 has no memory 'hbm3'"),
        ("count: SM, expect: 8", "no units or groups named 'SM' (has: mac_array, vector, secret, tile, island)"),
        ("tdp: idle, expect: 1.00 W", "acme/k1 has no idle power"),
        ("clocks: base <= tensor_core", "acme/k1 has no clock 'tensor_core' (has: base, boost, mac_array"),
        ("ratio: mac_array int4 / mac_array int8, expect: 2", "mac_array does not support int4"),
        ("sparsity: mac_array fp16, expect: 2", "no structured sparsity in fp16"),
        ("full_die: tile, expect: 8", "the spec of acme/k1 does not give the number of 'tile' on the die"),
        (f"latency: acme/k2, compute: int8, expect: 1.00 us, {WORKLOAD}", "unknown device 'acme/k2'; did you mean"),
        (f"latency: acme/k1 < acme/k2, compute: int8, {WORKLOAD}", "unknown device 'acme/k2'; did you mean"),
        (f"latency: acme/k1 < nvidia/t4, at: low, compute: int8, {WORKLOAD}", "nvidia/t4 has no operating point 'low'"),
        (f"latency: acme/k1@turbo, compute: int8, expect: 1.00 us, {WORKLOAD}", "no operating point 'turbo'"),
        (f"latency: nvidia/t4, compute: fp4, expect: 1.00 us, {WORKLOAD}", "nvidia/t4 does not support fp4"),
        (f"latency: nvidia/t4 < acme/k1, compute: fp4, {WORKLOAD}", "nvidia/t4 does not support fp4"),
        (f"bound: nvidia/t4, is: memory, compute: fp4, {WORKLOAD}", "nvidia/t4 does not support fp4"),
        ("latency: acme/k1, compute: int8, expect: 1.00 us", "no workload is named"),
        ("flops: all, expect: 1.00 op, workload: torchvision/resnet19", "unknown workload 'torchvision/resnet19'"),
        (f"flops: conv2d, expect: 1.00 op, {WORKLOAD}", "has no ops of kind conv2d (has: linear)"),
        ("flops: all, expect: 1.00 op, workload: {mlp: [0, 1]}", "want a whole number of at least 1"),
    ],
)  # fmt: skip
def test_a_subject_that_is_not_there_is_red_and_told_what_is(claims, claim, says):
    (verdict,) = claims(claim)
    assert verdict.outcome == "fail"
    assert says in verdict.reason
    assert verdict.obtained is None


def test_what_nobody_has_is_not_hidden_by_what_nobody_discloses(claims):
    verdicts = claims(
        "peak: secret int8 + tensor_core int8, expect: 1.00 TOP/s, undisclosed: true",
        "breakpoint: secret int8 / nowhere, expect: 1.00 op/B, undisclosed: true",
        "ratio: secret int8 / tensor_core int8, expect: 2, undisclosed: true",
    )
    assert [verdict.outcome for verdict in verdicts] == ["fail"] * 3


@pytest.mark.parametrize(
    "claim",
    [
        "peak: secret int8, expect: 1.00 TOP/s, undisclosed: true",
        "ratio: secret int8 / secret fp16, expect: 2, undisclosed: true",
        # the secret unit may compute in FP64, for all that anybody says
        f"bound: acme/k1, is: memory, compute: fp64, undisclosed: true, {WORKLOAD}",
    ],
)
def test_what_nobody_discloses_is_neither_right_nor_wrong(claims, claim):
    (verdict,) = claims(claim)
    assert verdict.outcome == "not validated here"
    assert "Acme does not publish it" in verdict.reason
