"""Repairs are tried: what every other claim would say if one fact were another."""

import re

import pytest

# ---- Repairs are tried: a cause says how many red claims its repair turns green, and how many green ones red

SPEC = "specs/hardware/acme/x1.yaml"


@pytest.fixture
def message(tiny):
    """Text of each red claim of a run by its id, spaces made one, and the whole output."""

    def run(*arguments):
        text = tiny.run(*arguments).stdout.str()
        blocks = re.findall(r"^(golden/\S+?:\d+  .*?)^  rerun +pytest \S+::(\S+)$", text, re.MULTILINE | re.DOTALL)
        return {id: " ".join(block.split()) for block, id in blocks}, text

    return run


def test_a_repair_that_mends_every_red_claim_comes_first_and_says_so(tiny, message):
    # half of INT8: two peaks, a breakpoint and a ratio
    line = tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    verdicts, text = message()
    assert len(verdicts) == 4
    repair = f"{SPEC}:{line} units.mac_array.macs_per_clock.int8; write 4096 MAC"
    for verdict in verdicts.values():
        assert f"{repair} (fixes 4 failures, breaks nothing)" in verdict
    place = f"4096 MAC instead of 2048 MAC at {SPEC}:{line}  units.mac_array.macs_per_clock.int8"
    assert f"A single change fixes 4 of 4 failures and breaks nothing: write {place}" in text


def test_the_repair_of_a_clock_comes_before_that_of_each_rate(tiny, message):
    # 500 MHz halve both precisions and the breakpoint; at the low point the clock is 500 MHz anyway
    line = tiny.edit(SPEC, "clock: [1000 MHz", "clock: [500 MHz")
    verdicts, text = message()
    assert set(verdicts) == {"peak-mac_array-int8", "peak-mac_array-fp16", "breakpoint-mac_array-int8-per-lpddr5"}
    place = f"1000 MHz instead of 500 MHz at {SPEC}:{line}  units.mac_array.clock"
    assert f"A single change fixes 3 of 3 failures and breaks nothing: write {place}" in text
    for verdict in verdicts.values():
        assert f"{SPEC}:{line} units.mac_array.clock; write 1000 MHz" in verdict


def test_a_wrong_claim_is_not_mended_by_a_fact_that_others_rest_on(tiny, message):
    # five cores would mend the count, and break three peaks and a breakpoint
    tiny.edit("golden/x1.yaml", "count: core, expect: 4", "count: core, expect: 5")
    verdicts, text = message()
    assert set(verdicts) == {"count-core"}
    assert "A single change" not in text
    assert "none red" not in verdicts["count-core"]
    assert "breaks 4" in verdicts["count-core"]


def test_a_repair_is_tried_on_all_claims_although_few_are_run(tiny, message):
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    verdicts, _ = message("golden/x1.yaml::peak-mac_array-int8")
    assert list(verdicts) == ["peak-mac_array-int8"]
    assert "4096 MAC (fixes 4 failures, breaks nothing)" in verdicts["peak-mac_array-int8"]


def test_what_was_tried_leaves_no_trace(tiny, message):
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    before = tiny.read(SPEC)
    first, _ = message()
    second, _ = message()
    assert first == second
    assert tiny.read(SPEC) == before


def test_an_expected_failure_is_neither_mended_nor_broken(tiny, message):
    # the sheet's 16.4 TOP/s at full clock is excused; half the rate would make it come true
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    excuse = "xfail: {ratio: 1.004, reason: an old sheet, until: 2999-01-01}"
    sheet = "source: {document: An old sheet, where: p. 1, grade: read}"
    tiny.write(
        "golden/old.yaml",
        f"hardware: acme/x1\n{sheet}\nclaims:\n  - {{bandwidth: lpddr5, expect: 51 GB/s, {excuse}}}\n",
    )
    verdicts, _ = message()
    assert "(fixes 4 failures, breaks nothing)" in verdicts["peak-mac_array-int8"]


def test_a_broken_spec_elsewhere_does_not_stop_a_trial(tiny, message):
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    tiny.write("specs/architectures/acme/a1.yaml", "name: [\n")
    tiny.write("specs/hardware/acme/x2.yaml", "name: [\n")
    verdicts, text = message()
    assert "write 4096 MAC (fixes 4 failures, breaks nothing)" in verdicts["peak-mac_array-int8"]
    assert "Traceback" not in text


def test_without_excuses_what_was_excused_is_counted_as_red(tiny):
    # 51.2 GB/s is excused at 102.4 / 51.2 = 2; half the rate would break bandwidth and breakpoint
    sheet = "source: {document: An old sheet, where: p. 1, grade: read}"
    excuse = "xfail: {ratio: 2, reason: an old sheet, until: 2999-01-01}"
    claim = f"{{bandwidth: lpddr5, expect: 51.2 GB/s, {excuse}}}"
    tiny.write("golden/old.yaml", f"hardware: acme/x1\n{sheet}\nclaims:\n  - {claim}\n")
    assert tiny.run().ret == 0
    output = tiny.run("--runxfail").stdout.str()
    assert "fixes 1 failure, breaks 2" in " ".join(output.split())
