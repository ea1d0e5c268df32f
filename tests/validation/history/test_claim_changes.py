"""Claims counted against a base: each kind of change planted alone in a tiny repository, with and without a reason."""

import pytest

from rooflint.base.errors import RooflintError

GOLDEN = "golden/x1.yaml"
MORE = "golden/more.yaml"
X1 = "specs/hardware/acme/x1.yaml"
RECORDING = "golden/measured/acme/x1/2026-01-01T0000-0.json"
COUNT = "  - {count: core, expect: 4}\n"


def only(found):
    """The one change of a claim."""
    (one,) = found.changes
    return one


def test_nothing_changed_is_ten_unchanged_claims(guarded, against):
    found = against(guarded)
    assert (found.counts.base, found.counts.head, found.counts.unchanged) == (10, 10, 10)
    assert (found.changes, found.recordings, found.facts, found.unstated) == ([], [], [], 0)
    assert found.text.startswith("nothing was lost without a reason; 10 claims in ")
    assert found.text.endswith(", 10 now")


# ---- the matrix: (edit of one file, change, verdict in the base, verdict now, red)

XFAIL = "xfail: {ratio: 2, reason: the page is of the X2, until: 2099-01-01}"
MATRIX = {
    "new": (MORE, "8.0 GB}\n", "8.0 GB}\n  - {count: core, expect: 4}\n", "new", None, "pass", 0),
    "new and failing": (MORE, "8.0 GB}\n", "8.0 GB}\n  - {count: core, expect: 5}\n", "new", None, "fail", 1),
    "removed": (GOLDEN, "  - {ratio: mac_array int8 / mac_array fp16, expect: 4}\n", "", "removed", "pass", None, 1),
    "wider": (MORE, "± 3 %", "± 4 %", "loosened", "pass", "pass", 1),
    "another figure": (GOLDEN, "lpddr5, expect: 102.4", "lpddr5, expect: 102.5", "newly failing", "pass", "fail", 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MATRIX)
def test_each_change_of_a_golden_file_alone(name, guarded, against):
    file, old, new, change, base, head, red = MATRIX[name]
    guarded.edit(file, old, new)
    found = against(guarded)
    one = next(one for one in found.changes if one.change == change)
    assert (one.base, one.head, len(found.changes)) == (base, head, 1)
    assert (found.unstated > 0) == bool(red)
    assert getattr(found.counts, change.replace(" ", "_")) == 1


def test_a_narrower_tolerance_or_another_line_is_no_change(guarded, against):
    guarded.edit(MORE, "± 3 %", "± 1 %")
    guarded.edit(GOLDEN, "claims:\n", "# a remark\nclaims:\n")
    assert against(guarded).changes == []


def test_a_wrong_fact_fails_claims_which_name_it_with_both_values(guarded, against):
    line = guarded.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    found = against(guarded)
    # two bandwidths; the breakpoint halves; the network waits for memory no more
    assert {one.id for one in found.changes} >= {"bandwidth-lpddr5", "breakpoint-mac_array-int8-per-lpddr5"}
    assert {one.change for one in found.changes} == {"newly failing"}
    for one in found.changes:
        (fact,) = one.facts
        assert (fact.file, fact.line, fact.path) == (X1, line, "memories.lpddr5.pin_rate")
        assert (fact.base, fact.head) == ("6.4 Gbit/s", "12.8 Gbit/s")
    assert found.unstated == len(found.changes)  # not a loss of facts: their claims fail
    assert found.facts == []


def test_a_mended_fact_fixes_claims_and_one_left_wrong_still_fails(guarded, against, git):
    guarded.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    guarded.edit(GOLDEN, "count: core, expect: 4", "count: core, expect: 5")
    git(guarded.root, "commit", "-qam", "Wrong")
    guarded.edit(X1, "12.8 Gbit/s", "6.4 Gbit/s")
    found = against(guarded)
    kinds = {one.id: (one.change, one.base, one.head) for one in found.changes}
    assert kinds["bandwidth-lpddr5"] == ("fixed", "fail", "pass")
    assert kinds["count-core"] == ("still failing", "fail", "fail")
    assert found.unstated == 0


# ---- files


def test_a_renamed_file_keeps_its_claims_and_a_loosened_one_is_found_in_it(guarded, against):
    (guarded.root / MORE).rename(guarded.root / "golden/review.yaml")
    assert against(guarded).changes == []
    guarded.edit("golden/review.yaml", "± 3 %", "± 4 %")
    one = only(against(guarded))
    assert (one.change, one.file, one.moved_from) == ("loosened", "golden/review.yaml", MORE)


@pytest.mark.slow
def test_a_claim_that_moved_to_another_file_is_the_same(guarded, against):
    text = "  - {capacity: lpddr5, expect: 8.0 GB}\n"
    guarded.edit(MORE, text, "")
    guarded.edit(GOLDEN, COUNT, COUNT + text)
    # the source at the top of the other file is another document: not the same claim
    assert {one.change for one in against(guarded).changes} == {"new", "removed"}
    source = ', source: {document: "Acme X1 review, 2025", where: p. 3, grade: read}}'
    guarded.edit(GOLDEN, "expect: 8.0 GB}", f"expect: 8.0 GB{source}")
    assert against(guarded).changes == []


def test_a_removed_file_wants_one_reason_in_a_neighbour(guarded, against):
    (guarded.root / MORE).unlink()
    found = against(guarded)
    assert {one.write for one in found.changes} == {"golden/x1.yaml: removed: {more.yaml: REASON}"}
    assert found.counts.removed == 2
    guarded.edit(GOLDEN, "claims:\n", "removed: {more.yaml: the review was withdrawn}\nclaims:\n")
    found = against(guarded)
    assert ({one.reason for one in found.changes}, found.unstated) == ({"the review was withdrawn"}, 0)


@pytest.mark.slow
def test_a_folder_is_a_reason_only_where_it_is_gone(guarded, against):
    guarded.edit(GOLDEN, "claims:\n", "removed: {measured/: not ours, ./: all}\nclaims:\n")
    (guarded.root / MORE).unlink()
    (guarded.root / RECORDING).unlink()
    assert [one.reason for one in against(guarded).recordings] == [None]  # the empty folder is still there
    for folder in ("acme/x1", "acme", "."):
        (guarded.root / "golden/measured" / folder).rmdir()
    found = against(guarded)
    assert [one.reason for one in found.recordings] == ["not ours"]
    assert {one.reason for one in found.changes} == {None}


def test_a_folder_that_the_project_names_no_more_takes_its_claims_along(guarded, against):
    guarded.write("other/x1.yaml", guarded.read(GOLDEN))
    guarded.edit("pyproject.toml", '["golden"]', '["other"]')
    found = against(guarded)
    assert found.counts.removed == 2  # those of more.yaml; the others moved
    assert {one.write for one in found.changes} == {"other/x1.yaml: removed: {../golden/more.yaml: REASON}"}


def test_a_file_that_cannot_be_read_is_named_and_its_claims_are_not_called_removed(guarded, against):
    guarded.edit(MORE, "claims:", "claim:")
    found = against(guarded)
    assert found.changes == []
    assert found.unreadable and found.unreadable[0].startswith(MORE)
    assert found.unstated == 1


def test_a_file_of_the_base_that_cannot_be_read_any_more_is_named(guarded, against, git):
    text = guarded.read(MORE)
    guarded.edit(MORE, "claims:", "claim:")
    git(guarded.root, "commit", "-qam", "Wrong")
    guarded.write(MORE, text)
    (sentence,) = against(guarded).unreadable
    assert sentence.startswith(f"{MORE} of revision HEAD (")
    assert ") cannot be read any more, so its claims are not compared: line " in sentence


# ---- recordings


@pytest.mark.slow
@pytest.mark.parametrize(("content", "change"), [(None, "removed"), ('{"a": 1}\n', "changed")])
def test_a_recording_that_is_gone_or_another_wants_a_reason(content, change, guarded, against):
    if content is None:
        (guarded.root / RECORDING).unlink()
    else:
        guarded.write(RECORDING, content)
    found = against(guarded)
    (one,) = found.recordings
    assert (one.change, one.file, found.unstated) == (change, RECORDING, 1)
    key = RECORDING.removeprefix("golden/")
    assert one.write == f"golden/more.yaml: removed: {{{key}: REASON}}"
    guarded.edit(MORE, "claims:\n", f"removed: {{{key}: the clock was wrong}}\nclaims:\n")
    found = against(guarded)
    assert ([one.reason for one in found.recordings], found.unstated) == (["the clock was wrong"], 0)


def test_a_recording_that_moved_or_came_is_no_loss(guarded, against):
    guarded.write("golden/measured/acme/x1/2026-02-02T0000-0.json", '{"b": 2}\n')
    (guarded.root / RECORDING).rename(guarded.root / "golden/measured/acme/x1/2026-01-01T000000-a.json")
    assert (against(guarded).recordings, against(guarded).unstated) == ([], 0)


# ---- facts


def test_a_fact_that_loses_its_last_independent_claim_is_named(guarded, against):
    line = guarded.line(X1, "capacity:")
    guarded.edit(MORE, "  - {capacity: lpddr5, expect: 8.0 GB}\n", "")
    found = against(guarded)
    (fact,) = found.facts
    assert (fact.file, fact.line, fact.path) == (X1, line, "memories.lpddr5.capacity")
    assert fact.claims == ["golden/more.yaml::capacity-lpddr5"]
    assert found.unstated == 2  # the claim and the fact
    guarded.edit(MORE, "claims:\n", "removed: {capacity-lpddr5: misprinted}\nclaims:\n")
    found = against(guarded)
    assert ([one.reason for one in found.facts], found.unstated) == (["misprinted"], 0)


PRICES = """name: Prices of Acme
sources:
  shop: {document: "Acme shop", grade: read}
devices:
  acme/x1:
    purchase:
      - {price: [199 USD, shop, X1], date: 2026-01-01}
"""
PLACES = """name: Carbon by country
sources:
  ember: {document: "Ember, yearly data", grade: read}
places:
  are:
    name: United Arab Emirates
    carbon:
      - {intensity: [500 g/kWh, ember, ARE], year: 2022}
"""


@pytest.mark.parametrize(
    ("file", "text", "claim", "path"),
    [
        (
            "prices/acme.yaml",
            PRICES,
            "{price: acme/x1 purchase, date: 2026-01-01, expect: 199 USD}",
            "devices.acme/x1.purchase.0.price",
        ),
        (
            "grid/places.yaml",
            PLACES,
            "{grid: are carbon, year: 2022, expect: 500 g/kWh}",
            "places.are.carbon.0.intensity",
        ),
    ],
)
def test_a_price_or_a_place_that_loses_its_last_independent_claim_is_named(
    file, text, claim, path, guarded, git, against
):
    guarded.write(f"specs/{file}", text)
    guarded.write(
        "golden/money.yaml", f'source: {{document: "Another", where: page, grade: read}}\nclaims:\n  - {claim}\n'
    )
    git(guarded.root, "add", "-A")
    git(guarded.root, "commit", "-q", "-m", "Prices and places")
    (guarded.root / "golden/money.yaml").unlink()
    assert [(one.file, one.path) for one in against(guarded).facts] == [(f"specs/{file}", path)]


def test_a_claim_that_cites_the_document_of_the_fact_guards_it_no_more(guarded, against):
    guarded.edit(
        MORE,
        "expect: 8.0 GB}",
        'expect: 8.0 GB, source: {document: "Acme X1 architecture brief, 2025", where: p. 3, grade: read}}',
    )
    found = against(guarded)
    assert (only(found).change, only(found).base, only(found).head) == ("loosened", "pass", "pass")
    assert "no second source" in only(found).text
    assert [one.path for one in found.facts] == ["memories.lpddr5.capacity"]


def test_a_fact_with_another_independent_claim_left_is_not_named(guarded, against):
    guarded.edit(MORE, "  - {bandwidth: lpddr5, expect: 102 GB/s ± 3 %, why: measured}\n", "")
    assert against(guarded).facts == []


def test_a_fact_that_is_gone_itself_is_not_named(guarded, against):
    guarded.edit(MORE, "  - {capacity: lpddr5, expect: 8.0 GB}\n", "")
    guarded.edit(X1, "capacity: [8 GB, brief, p. 3], ", "")
    assert against(guarded).facts == []


# ---- sides


def test_claims_need_a_revision_and_the_working_tree(guarded, against):
    with pytest.raises(RooflintError, match="between a revision and the working tree, not from folder specs"):
        against(guarded, "specs")
