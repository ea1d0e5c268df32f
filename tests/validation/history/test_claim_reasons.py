"""Which reasons count for a loss, and where each is to be written."""

import pytest

GOLDEN = "golden/x1.yaml"
MORE = "golden/more.yaml"
X1 = "specs/hardware/acme/x1.yaml"
RECORDING = "golden/measured/acme/x1/2026-01-01T0000-0.json"
COUNT = "  - {count: core, expect: 4}\n"
XFAIL = "xfail: {ratio: 2, reason: the page is of the X2, until: 2099-01-01}"


def only(found):
    """The one change of a claim."""
    (one,) = found.changes
    return one


def test_a_removed_claim_wants_a_reason_in_its_file(guarded, against):
    guarded.edit(GOLDEN, COUNT, "")
    one = only(against(guarded))
    assert (one.change, one.reason, one.independent) == ("removed", None, True)
    assert one.write == "golden/x1.yaml: removed: {count-core: REASON}"
    guarded.edit(GOLDEN, "claims:\n", "removed: {count-core: the page counts another die}\nclaims:\n")
    found = against(guarded)
    assert (only(found).reason, only(found).write, found.unstated) == ("the page counts another die", None, 0)


@pytest.mark.slow
def test_a_reason_of_the_base_does_not_count_again(guarded, against, git):
    guarded.edit(GOLDEN, "claims:\n", "removed: {ratio-of-old: gone}\nclaims:\n")
    guarded.edit(GOLDEN, COUNT, "")
    guarded.edit(GOLDEN, "ratio-of-old", "count-core")
    git(guarded.root, "commit", "-qam", "Removed")
    guarded.edit(GOLDEN, "expect: 16.4 TOP/s}\n", "expect: 16.4 TOP/s}\n" + COUNT)
    guarded.edit(GOLDEN, "removed: {count-core: gone}\n", "")
    git(guarded.root, "commit", "-qam", "Back")
    guarded.edit(GOLDEN, COUNT, "")
    assert against(guarded).unstated > 0
    guarded.edit(GOLDEN, "claims:\n", "removed: {count-core: gone}\nclaims:\n")
    assert against(guarded).unstated == 0
    git(guarded.root, "commit", "-qam", "Gone again")
    guarded.edit(
        GOLDEN, "claims:\n", "removed: {count-core: gone}\nclaims:\n".replace("removed: {count-core: gone}\n", "")
    )
    assert against(guarded).unstated == 0


def test_an_old_why_does_not_excuse_a_wider_tolerance(guarded, against):
    line = guarded.edit(MORE, "± 3 %", "± 4 %")
    one = only(against(guarded))
    assert one.text == "expects 102 GB/s (±4 %) instead of 102 GB/s (±3 %)"
    assert one.write == f"{MORE}:{line}: why: REASON (another than before)"
    guarded.edit(MORE, "why: measured", "why: measured at another temperature")
    found = against(guarded)
    assert (only(found).reason, found.unstated) == ("measured at another temperature", 0)


def test_a_newly_excused_claim_has_its_reason_in_xfail(guarded, against, git):
    guarded.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    git(guarded.root, "commit", "-qam", "Wrong")
    guarded.edit(GOLDEN, "lpddr5, expect: 102.4 GB/s}", f"lpddr5, expect: 102.4 GB/s, {XFAIL}}}")
    one = next(one for one in against(guarded).changes if one.id == "bandwidth-lpddr5" and one.file == GOLDEN)
    assert (one.change, one.base, one.head) == ("newly excused", "fail", "xfail")
    assert (one.reason, one.write) == ("the page is of the X2", None)


def test_a_claim_that_is_not_validated_any_more_wants_a_why(guarded, against):
    guarded.edit(X1, ", fp16: [1024 MAC, brief, p. 2]", "")
    silent = "undisclosed: {units.mac_array.macs_per_clock: Acme is silent}\n"
    guarded.edit(X1, "operating_points:", f"{silent}operating_points:")
    guarded.edit(GOLDEN, "8.19 TFLOP/s}", "8.19 TFLOP/s, undisclosed: true}")
    one = next(one for one in against(guarded).changes if one.id == "peak-mac_array-fp16")
    assert (one.change, one.head) == ("newly excused", "not validated here")
    assert one.write is not None and "why: REASON" in one.write
