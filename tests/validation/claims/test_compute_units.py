"""Claims about compute units, by hand: peaks, numbers, rates per clock, sparsity, orders of clocks."""

import pytest

from pytest_rooflint.golden import read
from pytest_rooflint.suite.judge import judge

# ---- `peak`


OF_INT8 = {f"units.mac_array.{name}" for name in ("groups", "per_group", "macs_per_clock.int8", "clock")}


@pytest.mark.parametrize(
    ("claim", "value"),
    [
        # 8 tiles × 2 arrays × 1024 MAC × 2 op × 1 GHz
        ("peak: mac_array int8, expect: 32.77 TOP/s", 32.768e12),
        ("peak: mac_array INT8, expect: 32.77 TOP/s", 32.768e12),
        # FP16 has its own clock: 8 × 2 × 512 × 2 × 0.9 GHz
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
    ],
)
def test_a_peak_is_the_product_of_its_facts(one, claim, value):
    verdict = one(claim)
    assert verdict.outcome == "pass"
    assert verdict.obtained.value == pytest.approx(value, rel=1e-12)


def test_a_peak_of_one_unit_is_one_ladder_and_of_two_units_two_terms(one, paths):
    single = one("peak: mac_array int8, expect: 32.77 TOP/s")
    assert single.obtained.formula == "8 tile × 2 mac_array × 1024 MAC/clock × 2 op/MAC × 1000 MHz"
    assert (paths(single), single.corroborated) == (OF_INT8, True)
    assert (single.obtained.unit, single.obtained.precision, single.obtained.sparse) == ("mac_array", "int8", False)
    assert single.obtained.ladder.result == single.obtained.value and single.obtained.terms == ()
    both = one("peak: mac_array int8 + vector int8, expect: 35.23 TOP/s").obtained
    assert both.ladder is None
    assert [term[1:] for term in both.terms] == [("mac_array", "int8"), ("vector", "int8")]
    assert len(both.facts) == 8 and " + " in both.formula


def test_fp16_uses_its_own_clock(one, paths):
    verdict = one("peak: mac_array fp16, expect: 14.75 TFLOP/s")
    assert "units.mac_array.clock_of.fp16" in paths(verdict)
    assert "units.mac_array.clock" not in paths(verdict)
    assert verdict.obtained.shown() == "14.75 TFLOP/s"


def test_sparsity_and_parts_are_factors_of_the_ladder(one, paths):
    verdict = one("peak: mac_array int8, sparse: true, per: gcd, expect: 32.77 TOP/s")
    assert verdict.obtained.formula.endswith("× 2 (sparse) × 1/2 (gcd)")
    assert verdict.obtained.sparse and paths(verdict) == {*OF_INT8, "units.mac_array.sparsity.int8", "parts.gcd"}


def test_the_number_of_parts_divides(one):
    # 16.384 of 10.92 TOP/s are 3/2, so 3 parts instead of 2 would do
    verdict = one("peak: mac_array int8, per: gcd, expect: 10.92 TOP/s")
    assert ("parts.gcd", "3") in {(cause.fact.path, cause.repair) for cause in verdict.causes if cause.fact}


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        ("peak: tensor_core int8, expect: 1.00 TOP/s", "no unit 'tensor_core' (has: mac_array, vector, secret)"),
        ("peak: mac_array int4, expect: 1.00 TOP/s", "mac_array does not support int4 (has: int8, fp16)"),
        ("peak: mac_array fp16, sparse: true, expect: 1.00 TFLOP/s", "no structured sparsity in fp16 (has: int8)"),
        ("peak: mac_array int8, per: core, expect: 1.00 TOP/s", "acme/k1 has no parts named 'core' (has: gcd)"),
        ("peak: mac_array int8, at: 30w, expect: 1.00 TOP/s", "acme/k1 has no operating point '30w' (has: low)"),
        ("peak: mac_array int8 + dla int8, expect: 1.00 TOP/s", "acme/k1 has no unit 'dla'"),
    ],
)
def test_a_peak_of_what_the_device_lacks_fails(one, claim, says):
    verdict = one(claim)
    assert (verdict.outcome, verdict.obtained) == ("fail", None)
    assert says in verdict.reason


def test_a_device_without_parts_says_so(one):
    assert one("peak: tensor_core int8, per: gcd, expect: 130 TOP/s", head="hardware: nvidia/t4\n").reason.endswith(
        "nvidia/t4 has no parts named 'gcd' (has: none)"
    )


def test_an_undisclosed_rate_is_not_validated_and_hides_no_unknown_unit(one):
    verdict = one("peak: secret int8, expect: 1.00 TOP/s, undisclosed: true")
    assert (verdict.outcome, "Acme does not publish it" in verdict.reason) == ("not validated here", True)
    assert one("peak: secret int8 + dla int8, expect: 1.00 TOP/s, undisclosed: true").outcome == "fail"


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        ("peak: mac_array, expect: 1.00 TOP/s", "want a unit and a precision such as"),
        ("peak: mac_array int9, expect: 1.00 TOP/s", "unknown precision 'int9'"),
        ("peak: mac_array int8, sparse: 1, expect: 1.00 TOP/s", "sparse: want true or false"),
        ("peak: mac_array int8, expect: 1.00 GB/s", "expect: a peak is in op/s"),
    ],
)
def test_an_invalid_peak_is_refused(refusal, claim, says):
    assert says in refusal(claim)


# ---- `count`


TILE = "groups: [8, brief, p. 2]\n    per_group: [16"


@pytest.mark.parametrize(
    ("claim", "value", "facts"),
    [
        ("count: tile, expect: 8", 8, {"units.mac_array.groups"}),
        ("count: mac_array, expect: 16", 16, {"units.mac_array.groups", "units.mac_array.per_group"}),  # 8 × 2
        ("count: vector, expect: 128", 128, {"units.vector.groups", "units.vector.per_group"}),  # 8 × 16
        ("count: vector, per: gcd, expect: 64", 64, {"units.vector.groups", "units.vector.per_group", "parts.gcd"}),
    ],
)
def test_a_count_is_groups_or_groups_times_units(one, paths, claim, value, facts):
    verdict = one(claim)
    assert (verdict.outcome, verdict.obtained.value, verdict.corroborated) == ("pass", value, True)
    assert paths(verdict) == facts


def test_a_wrong_count_names_the_repair(one):
    verdict = one("count: tile, expect: 4")
    assert (verdict.outcome, verdict.ratio_text, verdict.obtained.formula) == ("fail", "2", "8 tile")
    assert ("units.mac_array.groups", "4") in {
        (cause.fact.path, cause.repair) for cause in verdict.causes if cause.fact
    }


def test_units_that_disagree_on_their_groups_have_no_count(acme, one):
    acme.edit("specs/hardware/acme/k1.yaml", TILE, TILE.replace("8", "9"))
    verdict = one("count: tile, expect: 8")
    assert (verdict.outcome, verdict.obtained) == ("fail", None)
    assert "disagree on the number of 'tile': mac_array 8, vector 9; claim the count of a unit" in verdict.reason


def test_an_unknown_group_is_told(one, refusal):
    reason = one("count: SM, expect: 8").reason
    assert reason == "acme/k1 has no units or groups named 'SM' (has: mac_array, vector, secret, tile, island)"
    assert "a count is a bare number" in refusal("count: tile, expect: 8 W")


# ---- `full_die`


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
def test_the_groups_of_all_dies_are_counted(one, head, claim, outcome):
    verdict = one(claim, head=f"{head}\n")
    assert verdict.outcome == outcome
    assert verdict.corroborated is (outcome == "pass")
    assert verdict.obtained.hardware is not None and verdict.facts


def test_a_spec_without_the_full_die_and_an_operating_point_are_refused(one, refusal):
    missing = "the spec of acme/k1 does not give the number of 'tile' on the die"
    assert one("full_die: tile, expect: 8").reason == missing
    assert "takes no operating point here" in refusal("full_die: tile, at: low, expect: 8")
    assert "a full_die is a bare number" in refusal("full_die: tile, expect: 8 W")
    assert "needs 'hardware or architecture:'" in refusal("full_die: tile, expect: 8", head="")


# ---- `resident_warps`


def test_the_number_of_warps_is_that_of_the_spec(one, paths):
    # Hopper tuning guide: 64 warps per SM
    for head in ("hardware: nvidia/h100-sxm5-80gb\n", "architecture: nvidia/hopper-gh100\n"):
        verdict = one("resident_warps: SM, expect: 64", head=head)
        assert (verdict.outcome, verdict.obtained.value, verdict.corroborated) == ("pass", 64, True)
        assert paths(verdict) == {"resident_warps.SM"}
        assert verdict.obtained.formula == "64 warps"


def test_a_wrong_number_of_warps_names_the_repair(acme, one):
    acme.edit("specs/hardware/acme/k1.yaml", "tdp: [20 W", "resident_warps: {tile: [64, brief, p. 2]}\ntdp: [20 W")
    verdict = one("resident_warps: tile, expect: 32")
    assert (verdict.outcome, verdict.ratio_text) == ("fail", "2")
    assert [cause.repair for cause in verdict.causes if cause.fact] == ["32"]


def test_a_spec_without_the_number_of_warps_and_an_operating_point_are_refused(one, refusal):
    missing = "the spec of acme/k1 does not give the number of warps in a 'CU'"
    assert one("resident_warps: CU, expect: 8").reason == missing
    assert "takes no operating point here" in refusal("resident_warps: SM, at: low, expect: 8")
    assert "a resident_warps is a bare number" in refusal("resident_warps: SM, expect: 8 W")


# ---- `ratio`


@pytest.mark.parametrize(
    ("claim", "value"),
    [
        # 1024 / 512 MAC, whatever the clocks and counts
        ("ratio: mac_array int8 / mac_array fp16, expect: 2", 2),
        ("ratio: mac_array fp16 / mac_array int8, expect: 1 / 2", 0.5),
        # per tile: (1024 × 2) / (2 × 16)
        ("ratio: mac_array int8 / vector fp32, expect: 64", 64),
    ],
)
def test_a_ratio_is_of_rates_per_clock(one, claim, value):
    verdict = one(claim)
    assert (verdict.outcome, verdict.obtained.value, verdict.corroborated) == ("pass", value, True)


def test_the_facts_of_both_sides_count_and_those_of_the_group_where_units_differ(one, paths):
    rates = {"units.mac_array.macs_per_clock.int8", "units.mac_array.macs_per_clock.fp16"}
    assert paths(one("ratio: mac_array int8 / mac_array fp16, expect: 2")) == rates
    other = one("ratio: mac_array int8 / vector fp32, expect: 64")
    assert other.obtained.formula == "(1024 MAC/clock × 2 mac_array) / (2 MAC/clock × 16 vector)"
    assert {"units.mac_array.per_group", "units.vector.per_group"} < paths(other)


def test_a_wrong_ratio_may_be_due_to_either_side(one):
    verdict = one("ratio: mac_array int8 / mac_array fp16, expect: 4")
    repairs = {cause.fact.path: cause.repair for cause in verdict.causes if cause.fact}
    assert (verdict.outcome, verdict.ratio_text) == ("fail", "1/2")
    assert repairs["units.mac_array.macs_per_clock.int8"] == "2048 MAC"
    assert repairs["units.mac_array.macs_per_clock.fp16"] == "256 MAC"
    assert (verdict.obtained.unit, verdict.obtained.precision) == ("mac_array", "int8")


def test_an_architecture_has_ratios_too(one):
    verdict = one("ratio: mac_array int8 / mac_array fp16, expect: 2", head="architecture: acme/a1\n")
    assert verdict.outcome == "pass"


def test_invalid_ratios(one, refusal):
    assert "does not support int4" in one("ratio: mac_array int4 / mac_array int8, expect: 2").reason
    assert one("ratio: secret int8 / secret fp16, expect: 2, undisclosed: true").outcome == "not validated here"
    assert one("ratio: secret int8 / tensor_core int8, expect: 2, undisclosed: true").outcome == "fail"
    assert "compares a rate with itself" in refusal("ratio: mac_array int8 / mac_array INT8, expect: 1")
    assert "want two operands with '/'" in refusal("ratio: mac_array int8, expect: 2")
    assert "a ratio is a bare number" in refusal("ratio: mac_array int8 / mac_array fp16, expect: 2 W")


# ---- `sparsity`


@pytest.mark.parametrize("head", ["hardware: acme/k1\n", "architecture: acme/a1\n"])
def test_the_factor_is_that_of_the_spec(one, paths, head):
    verdict = one("sparsity: mac_array int8, expect: 2", head=head)
    assert (verdict.outcome, verdict.obtained.value, verdict.corroborated) == ("pass", 2, True)
    assert paths(verdict) == {"units.mac_array.sparsity.int8"}
    assert (verdict.obtained.unit, verdict.obtained.precision) == ("mac_array", "int8")


def test_a_wrong_factor_names_the_repair(one):
    verdict = one("sparsity: mac_array int8, expect: 4")
    assert (verdict.outcome, verdict.ratio_text) == ("fail", "1/2")
    assert [cause.repair for cause in verdict.causes if cause.fact] == ["4"]


def test_a_unit_without_sparsity_and_invalid_subjects(one, refusal):
    assert "no structured sparsity in fp16" in one("sparsity: mac_array fp16, expect: 2").reason
    assert "want a unit and a precision" in refusal("sparsity: mac_array, expect: 2")
    assert "a sparsity is a bare number" in refusal("sparsity: mac_array int8, expect: 2 W")


# ---- `clocks`


@pytest.mark.slow
@pytest.mark.parametrize(
    ("order", "outcome"),
    [
        # base 800, mac_array 1000, its FP16 900, vector and boost 1200 MHz
        ("base <= mac_array <= boost", "pass"),
        ("base < mac_array FP16 < mac_array", "pass"),
        ("vector <= boost", "pass"),
        ("vector < boost", "fail"),
        ("mac_array <= mac_array fp16", "fail"),
        ("mac_array int8 <= mac_array fp16", "fail"),  # INT8 has the clock of the unit
        ("boost <= base", "fail"),
        ("base <= boost <= mac_array", "fail"),
        ("boost <= base <= mac_array", "fail"),
    ],
)
def test_each_clock_is_compared_with_the_next(one, order, outcome):
    verdict = one(f"clocks: {order}")
    assert (verdict.outcome, verdict.expected_display, verdict.corroborated) == (outcome, order, False)


def test_an_order_shows_its_clocks_and_their_facts(one, paths):
    verdict = one("clocks: base <= mac_array fp16 <= boost, at: low")
    assert verdict.outcome == "fail"
    assert verdict.obtained.shown() == "base 800 MHz, mac_array fp16 450 MHz, boost 1200 MHz"
    assert paths(verdict) == {"clocks.base", "units.mac_array.clock_of.fp16", "clocks.boost"}
    assert verdict.obtained.value == 1200e6


def test_invalid_orders(one, refusal):
    assert one("clocks: base <= tensor_core").reason.startswith(
        "acme/k1 has no clock 'tensor_core' (has: base, boost, mac_array, vector"
    )
    assert "compares a clock with itself" in one("clocks: mac_array <= mac_array int8").reason
    assert "want clocks with '<=' or '<' between them" in refusal("clocks: base")
    assert "want a clock on each side" in refusal("clocks: base <=")
    assert "takes no expectation here" in refusal("clocks: base <= boost, expect: 1.00 GHz")
    assert "a clocks claim needs 'hardware:'" in refusal("clocks: base <= boost", head="")


# ---- `clock`


@pytest.mark.parametrize(
    ("claim", "value", "path"),
    [
        ("clock: base, expect: 800 MHz", 800e6, "clocks.base"),
        ("clock: boost, expect: 1.2 GHz", 1200e6, "clocks.boost"),
        ("clock: mac_array, expect: 1000 MHz", 1000e6, "units.mac_array.clock"),
        # a clock of its own in FP16, half of it at the low point
        ("clock: mac_array fp16, expect: 900 MHz", 900e6, "units.mac_array.clock_of.fp16"),
        ("clock: mac_array fp16, at: low, expect: 450 MHz", 450e6, "units.mac_array.clock_of.fp16"),
    ],
)
def test_a_clock_is_that_of_the_device_unit_or_precision(one, paths, claim, value, path):
    verdict = one(claim)
    assert (verdict.outcome, verdict.corroborated, verdict.obtained.value) == ("pass", True, value)
    assert paths(verdict) == {path}


def test_a_clock_that_is_one_megahertz_off_fails(one):
    assert one("clock: base, expect: 801 MHz").outcome == "fail"
    assert one("clock: base, expect: 799 MHz").outcome == "fail"


def test_an_unknown_clock_is_told(one, refusal):
    assert one("clock: memory, expect: 1.00 GHz").reason.startswith("acme/k1 has no clock 'memory' (has: base, boost")
    assert "a clock is in Hz" in refusal("clock: base, expect: 10.0 W")


# ---- `process`


def test_a_process_node_is_that_of_the_spec(acme, one, paths):
    missing = one("process: node, expect: 4 nm ± 1 %")
    assert (missing.outcome, missing.reason) == ("fail", "the spec of acme/k1 does not give the process node")
    acme.edit("specs/hardware/acme/k1.yaml", "\nclocks:", "\nprocess: [4 nm, brief, p. 2]\nclocks:")
    verdict = one("process: node, expect: 4 nm ± 1 %")
    assert (verdict.outcome, verdict.corroborated, verdict.obtained.value) == ("pass", True, 4e-9)
    assert (paths(verdict), verdict.obtained.shown()) == ({"process"}, "4 nm")
    assert one("process: node, expect: 5 nm ± 1 %").outcome == "fail"


def test_only_the_node_is_claimed_of_a_process(refusal):
    assert "want 'process: node', found 'n4'" in refusal("process: n4, expect: 4 nm ± 1 %")
    assert "a process is in m" in refusal("process: node, expect: 4.00 W")


def test_devices_of_a_system_are_counted_along_its_axes(tmp_path, shipped_suite):
    # 16 × 20 × 28
    source = "source: {document: Somebody, where: p. 1, grade: read}"
    file, verdicts = tmp_path / "pod.yaml", []
    for count in (8960, 4480):
        claims = f"claims:\n  - {{count: devices, expect: {count}}}\n"
        file.write_text(f"hardware: google/tpu-v5p-pod\n{source}\n{claims}", encoding="utf-8")
        (claim,) = read.load(file).claims
        verdicts.append(judge(claim, "", shipped_suite))
    right, wrong = verdicts
    assert (right.outcome, wrong.outcome) == ("pass", "fail")
    assert {fact.path for fact in right.facts} == {"axes.x", "axes.y", "axes.z"}
