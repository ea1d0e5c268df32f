"""Repairs of specs: one value of one line, tried before it is proposed, refused where it would mislead."""

import re

import pytest

from pytest_rooflint.repair.spec_repair import digits, is_odd
from rooflint.hardware.registry import Registry

SPEC = "specs/hardware/acme/x1.yaml"
GOLDEN = "golden/x1.yaml"
REASON = "unguarded: {tdp: one document says it}"
PATCH = "rooflint.patch"


@pytest.mark.slow
def test_a_repair_of_a_spec_changes_one_value_of_one_line(tiny, mend, changed):
    tiny.edit(SPEC, "{int8: [4096 MAC, brief, p. 2]", "{int8: [2048 MAC, brief,   p. 2]")
    tiny.edit(SPEC, "circuit: systolic_mac", "circuit: systolic_mac   # a comment, with × and ±")
    before = tiny.read(SPEC)
    first, patch, second = mend()
    assert (first.ret, second.ret) == (1, 0)
    assert tiny.read(SPEC) == before.replace("2048", "4096")
    old = "    macs_per_clock: {int8: [2048 MAC, brief,   p. 2], fp16: [1024 MAC, brief, p. 2]}"
    assert changed(patch) == [f"-{old}", f"+{old.replace('2048', '4096')}"]


@pytest.mark.slow
def test_several_reds_of_one_fact_are_one_hunk_that_names_them_all(tiny, mend):
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    _, patch, _ = mend()
    assert patch.count("\n@@ ") == 1
    assert f"# 1. {SPEC}:14 units.mac_array.macs_per_clock.int8: 2048 MAC → 4096 MAC\n" in patch
    assert "#    factor 1/2: macs_per_clock.int8 2048 MAC would have to be 4096 MAC\n" in patch
    assert "#    tried on every claim: 4 red claims turn green, none turns red\n" in patch
    assert re.findall(r"#    fixes (\S+)", patch) == [
        f"{GOLDEN}::peak-mac_array-int8",
        f"{GOLDEN}::peak-mac_array-int8-at-low",
        f"{GOLDEN}::breakpoint-mac_array-int8-per-lpddr5",
        f"{GOLDEN}::ratio-mac_array-int8-per-mac_array-fp16",
    ]


@pytest.mark.slow
def test_two_slips_in_two_facts_are_two_hunks_for_one_file(tiny, mend):
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    tiny.edit(SPEC, "bus: [128 bit", "bus: [32 bit")
    _, patch, second = mend()
    assert second.ret == 0
    assert patch.count(f"--- a/{SPEC}") == 2
    assert "bus: [128 bit" in tiny.read(SPEC) and "int8: [4096 MAC" in tiny.read(SPEC)


@pytest.mark.slow
def test_a_fact_of_an_operating_point_is_mended_where_it_stands(tiny, mend, changed):
    tiny.edit(SPEC, "tdp: [7 W, brief, p. 4]", "units.mac_array.groups: [8, brief, p. 4]")
    _, patch, second = mend()
    assert second.ret == 0
    line = "  low: {units.mac_array.groups: [8, brief, p. 4], units.mac_array.clock: [500 MHz, brief, p. 4]}"
    assert changed(patch) == [f"-{line}", f"+{line.replace('8,', '4,')}"]


@pytest.mark.slow
def test_of_two_operating_points_on_one_line_the_wrong_one_is_mended(tiny, mend, changed):
    facts = "units.mac_array.groups: [8, brief, p. 4], units.mac_array.clock: [500 MHz, brief, p. 4]"
    line = f"operating_points: {{lower: {{{facts}}}, low: {{{facts}}}}}"
    tiny.write(SPEC, tiny.read(SPEC).partition("operating_points:")[0] + f"{line}\n")
    _, patch, second = mend()
    assert second.ret == 0
    assert changed(patch) == [f"-{line}", "+" + "[4,".join(line.rsplit("[8,", 1))]


@pytest.mark.slow
def test_one_red_of_many_is_mended_by_the_fact_and_the_rest_with_it(tiny, mend):
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    first, patch, second = mend(f"{GOLDEN}::peak-mac_array-int8")
    first.assert_outcomes(failed=1)
    assert re.findall(r"#    fixes (\S+)", patch) == [f"{GOLDEN}::peak-mac_array-int8"]
    assert "4 red claims turn green with all of it" in patch
    assert second.ret == 0


@pytest.mark.slow
def test_of_repairs_that_do_the_same_one_is_proposed_and_the_others_are_named(tiny, mend, changed):
    # half of the bandwidth: the pin rate, or the bus; nothing says which
    tiny.edit(SPEC, "pin_rate: [6.4 Gbit/s", "pin_rate: [3.2 Gbit/s")
    _, patch, second = mend()
    assert second.ret == 0
    assert len(changed(patch)) == 2
    assert "#    undecided: other repairs fix the same claims; read the sources of each before you choose\n" in patch
    assert re.search(
        r"#    instead of this one: memories\.lpddr5\.(bus 128 bit → 256 bit|pin_rate 3.2 Gbit/s → 6.4 Gbit/s) at ",
        patch,
    )


@pytest.mark.slow
def test_a_shared_architecture_is_mended_in_its_own_file(tiny, mend):
    rates = "    macs_per_clock: {int8: [4096 MAC, brief, p. 2], fp16: [1024 MAC, brief, p. 2]}\n"
    tiny.edit(SPEC, rates, "")
    tiny.edit(SPEC, "scope: chip", "scope: chip\narchitecture: acme/a1")
    source = 'sources: {brief: {document: "Acme A1 manual", grade: read}}'
    tiny.write(
        "specs/architectures/acme/a1.yaml",
        f"name: A1\nkind: npu\n{source}\nunits:\n  mac_array:\n{rates.replace('4096', '1024')}",
    )
    _, patch, second = mend()
    assert second.ret == 0
    assert "--- a/specs/architectures/acme/a1.yaml\n" in patch


def test_a_repair_beyond_the_physical_window_is_refused(tiny, refused):
    # 0.80 kB is what the claim asks for, and no memory is below 1 kB
    tiny.edit(GOLDEN, "Acme X1 product page, 2025", "Acme X1 architecture brief, 2025")
    tiny.write(GOLDEN, tiny.read(GOLDEN) + "  - {capacity: lpddr5, expect: 0.80 kB}\n")
    message = refused()
    assert "memories.lpddr5.capacity 8 GB → " in message
    assert "outside 1 kB … 100 TB" in message


@pytest.mark.slow
def test_a_shipped_fact_is_given_so_that_the_golden_file_is_to_be_mended(tiny, refused):
    tiny.write(
        "golden/t4.yaml",
        "hardware: nvidia/t4\nsource: {document: A blog, where: p. 1, grade: read}\n"
        "claims:\n  - {bandwidth: gddr6, expect: 160.0 GB/s}\n",
    )
    message = refused("golden/t4.yaml")
    assert "quote 160.0 GB/s with what makes it comparable" in message


def test_a_repair_that_two_documents_forbid_is_not_proposed(tiny):
    # five cores would mend the count and break the peaks
    tiny.edit(GOLDEN, "count: core, expect: 4", "count: core, expect: 5")
    tiny.run("--rooflint-propose")
    assert re.findall(r"^--- a/(\S+)", tiny.read(PATCH), re.MULTILINE) == [GOLDEN]
    assert "groups 5 would break 4 claims" in tiny.read(PATCH)


# ---- of repairs that do the same


@pytest.mark.parametrize(
    ("path", "text", "odd"),
    [
        ("memories.gddr6.bus", "384 bit", False),
        ("memories.gddr6.bus", "1536 bit", True),  # gddr6 of the shipped devices ends at 384 bit
        ("memories.gddr6.bus", "8 bit", True),
        ("memories.gddr6.pin_rate", "14 Gbit/s", False),
        ("memories.gddr6.pin_rate", "100 Gbit/s", True),
    ],
)
def test_a_value_is_odd_where_no_other_device_has_as_much_or_as_little(path, text, odd):
    registry = Registry()
    assert is_odd(registry, registry.get("nvidia/t4").facts[path], text) is odd


def test_a_key_that_few_devices_have_is_compared_whatever_the_unit_is_called():
    # one device has mxu units of 480 MHz; clocks of all units together reach from 612 MHz below to GHz
    registry = Registry()
    clock = registry.get("google/coral-edge-tpu").facts["units.mxu.clock"]
    assert not is_odd(registry, clock, "1000 MHz")
    assert is_odd(registry, clock, "19 GHz")


# ---- one fact against one claim


@pytest.mark.slow
def test_where_one_claim_stands_against_one_fact_both_sides_are_named(tiny, mend, changed):
    # 15 W is claimed as 20 W by nobody else; a TDP of 20 W is as usual as one of 15 W
    tiny.edit(GOLDEN, REASON, "compute: int8")
    tiny.write(GOLDEN, tiny.read(GOLDEN) + "  - {tdp: rated, expect: 20.0 W}\n")
    _, patch, second = mend()
    assert second.ret == 0
    assert changed(patch) == ["-tdp: [15 W, brief, p. 1]", "+tdp: [20 W, brief, p. 1]"]
    assert "#    only one claim asks for it; read both documents before you choose\n" in patch
    assert f"#    instead of this one: {GOLDEN}:13 expect 20.0 W → 15.0 W\n" in patch


@pytest.mark.slow
@pytest.mark.parametrize(
    ("claim", "wanted"),
    [
        ("{tdp: rated, expect: 15.0 kW}", "{tdp: rated, expect: 15.0 W}"),  # 15 kW would mend it, too
        ("{tdp: rated, expect: 0.030 W}", "{tdp: rated, expect: 15 W}"),  # no device has so little
        ("{tdp: rated, expect: 19.7137 W}", "{tdp: rated, expect: 15.0000 W}"),  # nobody prints such a TDP
    ],
)
def test_one_claim_does_not_make_a_fact_odd(tiny, mend, claim, wanted, changed):
    tiny.edit(GOLDEN, REASON, "compute: int8")
    tiny.write(GOLDEN, tiny.read(GOLDEN) + f"  - {claim}\n")
    _, patch, second = mend()
    assert second.ret == 0
    assert changed(patch) == [f"-  - {claim}", f"+  - {wanted}"]


@pytest.mark.parametrize(("text", "number"), [("1300 MHz", 2), ("1.300 GHz", 4), ("0.50 W", 2), ("132", 3), ("8", 1)])
def test_digits_are_counted_as_they_are_written(text, number):
    assert digits(text) == number


@pytest.mark.slow
def test_a_whole_number_stays_one(tiny, mend):
    # 4 cores × 1 mac_array; a figure of five digits must not grow a point
    tiny.edit(GOLDEN, "{count: core, expect: 4}", "{count: core, expect: 40000}")
    _, patch, _ = mend()
    assert "+  - {count: core, expect: 4}" in patch
