"""Changes of claims in text: what was lost, where, what to write; the decisive line last."""

from pytest_rooflint.history import claim_text
from pytest_rooflint.history.claim_text import MOST, lines
from rooflint_report.causes import Culprit
from rooflint_report.claim_changes import Cause

GOLDEN = "golden/x1.yaml"
X1 = "specs/hardware/acme/x1.yaml"


def as_text(found):
    return "\n".join(lines(found)) + "\n"


def test_nothing_lost_is_one_line(guarded, against):
    (line,) = lines(against(guarded))
    assert line.startswith("nothing was lost without a reason; 10 claims in revision HEAD (")
    assert line.endswith("), 10 now")


def test_a_removed_claim_says_what_where_and_what_to_write(guarded, against):
    line = guarded.edit(GOLDEN, "  - {count: core, expect: 4}\n", "")
    first, write, counts, last = as_text(against(guarded)).splitlines()
    assert first == f"{GOLDEN}:{line}  count core of acme/x1 is removed"
    assert write == "  restore it, or write in golden/x1.yaml: removed: {count-core: REASON}"
    assert counts == "claims: 1 removed, 9 unchanged"
    assert last.startswith("failed: 1 check removed or weakened without a stated reason; 10 claims in revision HEAD (")
    assert last.endswith("), 9 now")


def test_claims_of_a_file_share_a_block(guarded, against):
    text = guarded.read(GOLDEN).splitlines(keepends=True)
    guarded.write(GOLDEN, "".join(text[:5]))
    text = as_text(against(guarded))
    assert "7 claims are removed\n" in text
    assert "and 4 more\n" in text
    assert "removed: {peak-mac_array-int8-at-low: REASON, peak-mac_array-fp16: REASON, " in text
    assert ", …}" in text


def test_a_failing_claim_names_the_changed_fact_that_it_depends_on(guarded, against):
    line = guarded.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    text = as_text(against(guarded))
    assert f"{X1}:{line}  memories.lpddr5.pin_rate 6.4 Gbit/s → 12.8 Gbit/s: 3 claims fail" in text
    assert f"  {GOLDEN}::bandwidth-lpddr5\n" in text
    assert "newly failing:" not in text


def test_a_failing_claim_that_no_changed_line_explains_has_lines_of_its_own(guarded, against):
    line = guarded.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    text = as_text(against(guarded).model_copy(update={"causes": None}))
    assert "newly failing: bandwidth lpddr5 of acme/x1 pass, now fail\n" in text
    assert f"  memories.lpddr5.pin_rate 6.4 Gbit/s → 12.8 Gbit/s ({X1}:{line})\n" in text


def test_claims_on_a_spec_that_cannot_be_read_are_not_compared(guarded, against):
    line = guarded.edit(X1, "6.4 Gbit/s", "6.4 Gbit/sx")
    found = against(guarded)
    *_, problem, last = as_text(found).splitlines()
    assert problem.startswith(f"{X1}:{line}  memories.lpddr5.pin_rate: unknown unit 'Gbit/sx'; want ")
    assert problem.endswith("such as 5.24 Gbit/s; 6.4 Gbit/s in the base")
    assert last.startswith("failed: 1 file cannot be read (10 claims rest on it); ")
    assert (found.counts.newly_failing, found.causes, found.unstated) == (0, None, 1)


def test_a_stated_reason_is_shown_and_many_losses_are_cut(guarded, against):
    guarded.edit(GOLDEN, "  - {count: core, expect: 4}\n", "")
    guarded.edit(GOLDEN, "claims:\n", "removed: {count-core: the page counts another die}\nclaims:\n")
    text = as_text(against(guarded))
    assert "  stated: the page counts another die\n" in text
    assert not text.splitlines()[-1].startswith("failed")
    for number in range(MOST + 2):
        guarded.write(f"golden/bad{number}.yaml", "claims: nothing\n")
    assert len(as_text(against(guarded)).splitlines()) < 15


def test_the_changes_that_make_claims_fail_are_named_with_what_reverting_them_does(guarded, against):
    rate = guarded.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    *_, blamed, first, second, third, effect, told, _, _ = as_text(against(guarded)).splitlines()
    assert all(one.startswith("  golden/") for one in (first, second, third))
    # two bandwidths and the breakpoint
    assert blamed == f"{X1}:{rate}  memories.lpddr5.pin_rate 6.4 Gbit/s → 12.8 Gbit/s: 3 claims fail because of it"
    assert (effect, told) == (
        "  reverted alone: 3 claims stop failing, no other fails",
        "1 changed line makes 3 claims fail",
    )


def test_two_changes_have_a_line_each_and_one_for_both(guarded, against):
    guarded.edit(GOLDEN, "count: core, expect: 4", "count: core, expect: 5")
    guarded.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    said = lines(against(guarded))
    assert "  reverted alone: 1 claim stops failing, no other fails" in said
    assert said[-4:-2] == [
        "reverted together: 4 claims stop failing, no other fails",
        "2 changed lines make 4 claims fail",
    ]


def test_what_fails_where_a_change_alone_is_reverted_is_named():
    change = {"file": X1, "line": 3, "path": "tdp", "at": None, "base": "15 W", "head": "30 W", "factor": "2"}
    cause = Cause(**change, claims=["golden/x1.yaml::a"], fixes=["golden/x1.yaml::a"], breaks=["golden/x2.yaml::b"])
    place, effect, others = claim_text._culprit(Culprit(cause, []))
    assert place == f"{X1}:3  tdp 15 W → 30 W (×2)"
    assert effect.endswith("reverted alone: 1 claim stops failing, 1 other fails")
    assert others == "  then fail: golden/x2.yaml::b"
