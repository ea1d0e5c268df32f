"""The comment on a pull request: the culprit first, fifteen lines, and all of it text, as a real renderer sees it."""

import json
import re
from types import SimpleNamespace

import pytest
from markdown_it import MarkdownIt

from rooflint_report.evidence import Evidence, EvidenceError
from rooflint_report.post import MARK
from rooflint_report.report import LONGEST_TEXT, render, render_comment, render_html, render_summary
from rooflint_report.sections.failures import view
from rooflint_report.sections.section import Page

NASTY = (
    "<script>alert(1)</script> | `a` *b* [c](javascript:d) @someone https://evil.example www.evil.example\n::error::x"
)
SPEC = "model/rooflint/specs/architectures/nvidia/ampere-ga10b.yaml"
CLAIM = "golden/peaks/nvidia/jetson-agx-orin-64gb.yaml::peak-tensor_core-int8"


def drawn(text):
    """Tokens of GitHub's Markdown, with those inside paragraphs."""
    return [one for block in MarkdownIt("gfm-like").parse(text) for one in (block, *(block.children or ()))]


def cause(claims, line=23, **other):
    found = {"file": SPEC, "line": line, "path": "units.tensor_core.macs_per_clock.int8", "at": None}
    return (
        found
        | {"base": "512 MAC", "head": "64 MAC", "factor": "1/8", "claims": claims, "fixes": claims, "breaks": []}
        | other
    )


def claim_changes(causes=(), **other):
    """What became of the claims of a base, with causes."""
    names = ("new", "removed", "loosened", "newly_excused", "newly_failing", "fixed", "still_failing")
    claims = sorted({name for one in causes for name in one["claims"]})
    found = {
        **{"failing": claims, "changes": list(causes), "pairs": [], "unexplained": [], "untried": 0},
        "all": {"changes": [*range(len(causes))], "fixes": claims, "breaks": []},
        "text": "changed lines make claims fail",
    }
    return {
        **{"schema": "rooflint-claims/1", "base": {"label": "revision main (0123456789ab)", "commit": None}},
        **{"head": {"label": "the working tree", "commit": None}, "changes": [], "recordings": [], "facts": []},
        "counts": {"base": 10, "head": 10, "unchanged": 10} | dict.fromkeys(names, 0),
        **{"unreadable": [], "unstated": len(claims), "text": "10 claims in main, 10 now"},
        "causes": found if causes else None,
    } | other


def shown(text):
    """Lines that are not folded."""
    return re.sub(r"(?s)(</summary>).*?(?=</details>)", r"\1", text).splitlines()


def test_without_a_base_there_is_no_comment_and_the_summary_is_as_it_was(evidence, green):
    assert render_comment(evidence) == render_comment(green) == ""
    assert render_summary(evidence).startswith("## Red")


def test_nothing_changed_is_no_comment(green):
    record = green | {"claim_changes": claim_changes()}
    assert render_comment(record) == ""
    assert render_summary(record).startswith("## Green")


@pytest.mark.slow
def test_the_culprit_comes_first_with_factor_cause_and_what_reverting_does(evidence):
    record = evidence | {"claim_changes": claim_changes([cause([CLAIM])])}
    text = render_comment(record)
    assert f"\n- **`{SPEC}:23`** " in text
    text = text.replace("\\", "")
    _, title, culprit, problem, rerun, *_ = text.splitlines()
    assert title == (
        "### ✗ changed lines make claims fail; in the base none of them fails; 2 other claims fail; "
        "2 problems in the files"
    )
    assert problem.startswith("- ") and problem.endswith(" (and 1 more)")
    assert culprit.startswith(f"- **`{SPEC}:23`** units.tensor_core.macs_per_clock.int8 512 MAC → 64 MAC (**1/8**): ")
    assert "1 claim fails because of it. Likely: macs_per_clock 64 is 1/8 of 512; it is volta's FP16 rate." in culprit
    assert culprit.endswith("Reverting it alone: 1 claim stops failing, no other fails.")
    assert rerun.startswith("- first failing claim: `") and CLAIM in rerun
    assert text.splitlines()[-1].startswith("Base `main (0123456789ab)` → head ")
    assert render_summary(record).startswith(render_comment(record))
    assert render_summary(record).endswith("\n")  # another step may write below it


@pytest.fixture
def other(evidence):
    """Another failing claim than CLAIM."""
    names = (f"{one['file']}::{one['id']}" for one in evidence["verdicts"] if one["outcome"] == "fail")
    return next(name for name in names if name != CLAIM)


def test_a_claim_has_the_changed_line_as_its_cause_and_no_guess_that_it_disproves(evidence, other):
    record = evidence | {"claim_changes": claim_changes([cause([CLAIM]), cause([CLAIM, other], 24)])}
    found = {f"{one.file}::{one.id}": one for _, one in Page.of(Evidence.model_validate(record)).fails}
    assert [one.line for one in found[CLAIM].causes] == [23, 24]
    assert {one.fixes for one in found[CLAIM].causes} == {None}
    (told,) = found[other].causes
    assert told.text == "units.tensor_core.macs_per_clock.int8 512 MAC → 64 MAC, changed since the base"
    assert (told.line, told.repair, told.factor_text) == (24, "512 MAC", "1/8")


@pytest.mark.slow
def test_the_page_says_what_reverting_all_changed_lines_does(evidence, other):
    both = [cause([CLAIM]), cause([other], 24)]
    assert "Reverted together: 2 claims stop failing, no other fails." in render_html(
        evidence | {"claim_changes": claim_changes(both)}
    )
    assert "Reverted together" not in render_html(evidence | {"claim_changes": claim_changes(both[:1])})


def test_what_reverting_breaks_is_another_claim_and_what_one_line_explains_is_run_again_first(evidence, other):
    both = cause([other, CLAIM], breaks=["golden/x.yaml::count"])
    text = render_comment(evidence | {"claim_changes": claim_changes([both, cause([other], 24)])})
    assert "Reverting it alone: 2 claims stop failing, 1 other fails: golden/x.yaml::count." in text
    assert CLAIM in next(line for line in text.splitlines() if line.startswith("- first failing claim: `pytest "))


def test_problems_in_files_stand_at_the_top_of_the_page(evidence):
    head = render_html(evidence).partition('class="tiles"')[0]
    assert all(f"{one['file']}" in head for one in evidence["problems"] if one["file"])
    assert head.count('class="culprit"') == len(evidence["problems"]) + 1
    # without a base, the repair that fixes several claims and breaks none comes before them
    assert "with 110 CU instead of 220 CU, 2 of 3 failing claims pass and no other fails" in head


@pytest.mark.slow
def test_other_failures_with_one_cause_are_one_line(evidence):
    text = render_comment(evidence | {"claim_changes": claim_changes()})
    one, several = (line for line in text.splitlines() if line.startswith("  - "))
    assert one.endswith("jetson-agx-orin-64gb.yaml:5`")
    assert several.endswith("mi250x.yaml:4`, and 1 more claim for the same cause")


def moved_by(predictions):
    """Of a difference, what the comment reads."""
    moves = [SimpleNamespace(word="latency", device="acme/x1", factor=factor) for factor in ("", "×1.2 … ×15")]
    moved = SimpleNamespace(predictions=predictions, devices=7)
    return SimpleNamespace(moved=moved, matrix=SimpleNamespace(predictions=18_720), moves=moves)


def test_predictions_that_moved_in_a_green_run_are_a_short_comment(green):
    found = Evidence.model_validate(green | {"claim_changes": claim_changes()})
    for predictions in (0, 330):
        text = render_comment(found.model_copy(update={"delta": moved_by(predictions)}))
        assert bool(text) == bool(predictions)
    mark, title, moved, _, last = text.splitlines()
    assert (title, moved) == (
        "### ✓ Every claim holds as in the base",
        "- 330 of 18 720 predictions moved on 7 devices, farthest latency of acme/x1 ×1.2 … ×15",
    )
    assert mark == "<!-- rooflint -->" and last.startswith("Base ")


def test_a_loss_without_a_reason_is_told_with_what_to_write(green):
    lost = claim_changes(
        unstated=1, text="1 check removed or weakened without a stated reason; 10 claims in main, 9 now"
    )
    lost["recordings"] = [
        {"file": "golden/r.json", "line": None, "text": "is removed", "reason": None, "change": "removed"}
        | {"write": "golden/x1.yaml: removed: {r.json: REASON}"}
    ]
    text = render_comment(green | {"claim_changes": lost}).replace("\\", "")
    assert text.startswith(
        "<!-- rooflint -->\n### ✗ 1 check removed or weakened without a stated reason; 10 claims in main, 9 now\n"
    )
    assert "- golden/r.json is removed: restore it, or write in golden/x1.yaml: removed: {r.json: REASON}\n" in text


def test_forty_culprits_and_losses_are_fifteen_lines(evidence):
    claims = [f"golden/x{number}.yaml::count-{number}" for number in range(40)]
    found = claim_changes([cause([name], line) for line, name in enumerate(claims)])
    loss = {"line": None, "text": "is removed", "reason": None, "change": "removed", "write": "removed: {r: REASON}"}
    found["recordings"] = [{"file": f"golden/r{number}.json"} | loss for number in range(40)]
    text = render_comment(evidence | {"claim_changes": found})
    assert len(shown(text)) <= 15
    assert "- and 37 more, listed below\n" in text
    assert "- and 32 more changed lines\n" in text
    assert "- and 38 more without a stated reason\n" in text
    assert max(map(len, text.splitlines())) < 6 * LONGEST_TEXT
    assert len(text.encode()) < 60_000


def watched(number, head=2e-3, **more):
    ratio = head / 1e-3
    return {
        **{"watch": f"resnet{number} int8 b1 @ acme/x1", "network": "a", "precision": "int8", "batch": 1, "at": None},
        **{
            "device": "acme/x1",
            "base": 1e-3,
            "base_display": "1 ms",
            "head": head,
            "head_display": f"{1e3 * head:g} ms",
        },
        **{"ratio": ratio, "factor": f"×{ratio:.3g}", "why": None},
        **more,
    }


def test_watched_predictions_are_a_table_the_farthest_move_first(green):
    rows = [watched(1, 1e-3), watched(2, 1.2e-3), watched(3, 14.9e-3)]
    text = render_comment(green | {"claim_changes": claim_changes(), "watched": rows})
    assert text.startswith(f"{MARK}\n### ✓ ")
    tokens = drawn(text)
    assert sum(one.type == "table_open" for one in tokens) == 1
    cells = [one.content for one in tokens if one.type == "inline"][-2 * 4 - 1 :][:8]
    assert cells[:4] == ["resnet3 int8 b1 @ acme/x1".replace("@ ", "@ "), "1 ms", "14.9 ms", "×14.9"]
    assert cells[4].startswith("resnet2 ")  # the other is as in the base


def test_watched_predictions_that_are_as_in_the_base_are_no_comment(green):
    record = green | {"claim_changes": claim_changes(), "watched": [watched(1, 1e-3)]}
    assert render_comment(record) == ""
    assert "- watched: resnet1 int8 b1 @ acme/x1 1 ms, as in the base\n" in render_summary(record)


def test_a_table_without_room_for_all_counts_the_others(green):
    text = render_comment(green | {"claim_changes": claim_changes(), "watched": [watched(one) for one in range(40)]})
    assert len(shown(text)) == 15
    rows = sum(one.type == "tr_open" for one in drawn(text)) - 1
    assert f"| and {40 - rows + 1} more | | | |\n" in text


def test_a_slower_benchmark_is_a_line_and_others_are_none(green):
    times = {"machine": "m", "canary": None, "seconds": {"b": 2.0}}
    row = {"name": "b", "base_display": "1 s", "now_display": "2 s", "factor": 2.0, "factor_text": "×2"}
    found = {"times": times, "baseline": "a.json", "canary": None, "threshold": 1.25, "gone": [], "text": "b is slower"}
    for outcome in ("slower", "same"):
        record = green | {
            "claim_changes": claim_changes(),
            "benchmarks": found | {"rows": [row | {"outcome": outcome}]},
        }
        assert ("- b is slower\n" in render_comment(record)) == (outcome == "slower")
    gone = green | {"claim_changes": claim_changes(), "benchmarks": found | {"rows": [], "gone": ["a"]}}
    assert "- b is slower\n" in render_comment(gone)


def full(evidence, culprits, losses, predictions):
    """Evidence of a run with so many of everything."""
    found = claim_changes([cause([CLAIM], line) for line in range(culprits)])
    loss = {"line": None, "text": "is removed", "reason": None, "change": "removed", "write": "removed: {r: REASON}"}
    found["recordings"] = [{"file": f"golden/r{number}.json"} | loss for number in range(losses)]
    whole = evidence | {"claim_changes": found, "watched": [watched(one) for one in range(predictions)]}
    return Evidence.model_validate(whole).model_copy(update={"delta": moved_by(330)})


@pytest.mark.slow
@pytest.mark.parametrize("predictions", [0, 1, 3, 40])
@pytest.mark.parametrize("losses", [0, 1, 2, 3])
@pytest.mark.parametrize("culprits", [0, 1, 3, 4])
def test_no_comment_is_longer_than_fifteen_lines(evidence, culprits, losses, predictions):
    text = render_comment(full(evidence, culprits, losses, predictions))
    assert len(shown(text)) <= 15
    assert "330 of 18 720 predictions moved" in text
    if predictions:  # in a table, or the farthest behind the number of moves
        assert "resnet0 int8 b1 @ acme/x1 1 ms → 2 ms" in text.replace("@\u200b", "@") or "| resnet0 " in text


def test_hostile_text_is_text(make_evidence):
    record = make_evidence(nasty=True)
    (fail, *_) = [one for one in record["verdicts"] if one["outcome"] == "fail"]
    bad = cause([f"{fail['file']}::{fail['id']}"], file=NASTY, path=NASTY, at=NASTY, base=NASTY, head=NASTY)
    found = claim_changes([bad], text=NASTY) | {"base": {"label": NASTY, "commit": None}}
    found["causes"]["text"] = NASTY
    found["recordings"] = [
        {"file": NASTY, "line": None, "text": NASTY, "reason": None, "change": "removed", "write": NASTY}
    ]
    tokens = drawn(text := render_comment(record | {"claim_changes": json.loads(json.dumps(found))}))
    assert not [one for one in tokens if one.type in ("link_open", "image", "table_open", "fence", "code_block")]
    html = [one.content.strip() for one in tokens if one.type in ("html_block", "html_inline")]
    assert html == ["<!-- rooflint -->", "<details><summary>Failing claims, by cause</summary>", "</details>"]
    said = "".join(one.content for one in tokens if one.type == "text")
    assert "@someone" not in said
    assert not re.search(r"(?m)^::", text)


def test_the_comment_is_one_heading_and_a_list(evidence):
    tokens = drawn(render_comment(evidence | {"claim_changes": claim_changes([cause([CLAIM]), cause([], 24)])}))
    assert [one.tag for one in tokens if one.type == "heading_open"] == ["h3"]
    assert sum(one.type == "list_item_open" for one in tokens if one.level == 1) == 2 + 1 + 1 + 1


def test_a_line_that_did_not_change_ranks_below_one_that_did(evidence):
    (fail, *_) = [one for one in evidence["verdicts"] if f"{one['file']}::{one['id']}" == CLAIM]
    fail["causes"].insert(0, fail["causes"][0] | {"line": 77, "text": "the clock is a quarter"})
    place = {"path": "a", "from": "1", "to": "2", "fixes": 1, "breaks": 0, "failing": 2}
    place["ids"] = [fail["nodeid"], "golden/other.yaml::of-no-change"]
    evidence["places"] = [place | {"file": SPEC, "line": line} for line in (77, 23)]
    # a change that makes no claim fail (24) ranks its line first; one that does is told at the top, and not again
    evidence["places"].append(place | {"file": SPEC, "line": 24})
    for changes, first, lines in (
        (None, 77, [77, 23, 24]),
        ([cause([CLAIM])], 23, [77, 24]),
        ([cause([CLAIM]), cause([], 24)], 23, [24, 77]),
    ):
        found = Evidence.model_validate(evidence | {"claim_changes": claim_changes(changes) if changes else None})
        page = Page.of(found)
        (verdict,) = [one for _, one in page.fails if one.id == fail["id"] and one.file == fail["file"]]
        assert verdict.causes[0].line == first
        assert [one.line for one, _ in view(page).places] == lines
    for one in evidence["places"]:
        one["ids"] = [fail["nodeid"]]
    changes = {"claim_changes": claim_changes([cause([CLAIM])])}
    assert view(Page.of(Evidence.model_validate(evidence | changes))).places == []  # the change explains the claim


@pytest.mark.slow
def test_the_comment_is_a_third_file_and_goes_where_a_later_run_has_no_base(tmp_path, evidence):
    file, there = tmp_path / "evidence.json", tmp_path / "comment.md"

    def written(record):
        file.write_text(json.dumps(record), encoding="utf-8")
        return [path.name for path, _ in render(file, tmp_path / "report.html", tmp_path / "summary.md")]

    there.write_text("not ours", encoding="utf-8")
    assert written(evidence) == ["report.html", "summary.md"]
    with pytest.raises(EvidenceError, match=r"comment\.md: was not written by rooflint and is not replaced"):
        written(changed := evidence | {"claim_changes": claim_changes([cause([CLAIM])])})
    assert there.read_text(encoding="utf-8") == "not ours"
    there.unlink()
    assert written(changed)[2:] == written(changed)[2:] == ["comment.md"]
    assert there.read_text(encoding="utf-8").startswith(f"{MARK}\n### ✗ changed lines make claims fail")
    written(evidence)
    assert not there.exists()


# ---- where CI says it runs

COMMIT, URL = "c" * 40, "https://github.com/o/r"


def hosted(record, **other):
    """The evidence of a run on a pull request."""
    found = {"service": "github", "url": URL, "commit": COMMIT, "pull_request": 7, "folder": "sub"}
    return record | {"run": record["run"] | {"hosting": found | {"run": f"{URL}/actions/runs/4711"} | other}}


@pytest.mark.slow
def test_a_run_on_a_pull_request_leaves_what_the_workflow_posts(tmp_path, evidence):
    file, there = tmp_path / "evidence.json", tmp_path / "comment.json"

    def rendered(record):
        file.write_text(json.dumps(record), encoding="utf-8")
        render(file, tmp_path / "report.html", tmp_path / "summary.md")
        return there.is_file()

    changed = {"claim_changes": claim_changes([cause([CLAIM])])}
    assert not rendered(evidence | changed)
    assert not rendered(hosted(evidence | changed, pull_request=None))
    assert rendered(hosted(evidence | changed))
    found = json.loads(there.read_text(encoding="utf-8"))
    text = found.pop("text")
    assert found == {"schema": "rooflint-comment/1", "pull_request": 7, "head": COMMIT}
    assert text == (tmp_path / "comment.md").read_text(encoding="utf-8")
    assert not rendered(evidence)


def test_files_commits_pull_request_and_run_are_links(evidence):
    changed = claim_changes([cause([CLAIM])]) | {"base": {"label": "main (0123456789ab)", "commit": "d" * 40}}
    text = render_comment(hosted(evidence | {"claim_changes": changed}))
    assert f"- **[`{SPEC}:23`]({URL}/blob/{COMMIT}/sub/{SPEC}#L23)** " in text
    assert text.splitlines()[-1] == (
        f"Base [`main (0123456789ab)`]({URL}/commit/{'d' * 40}) → head [`{'c' * 12}`]({URL}/commit/{COMMIT})"
        f" · [pull request]({URL}/pull/7) · [run and report]({URL}/actions/runs/4711)"
    )
    addresses = [one.attrs["href"] for one in drawn(text) if one.type == "link_open"]
    assert len(addresses) > 6 and all(one.startswith(f"{URL}/") for one in addresses)


def test_outside_ci_there_are_no_links(evidence):
    text = render_comment(evidence | {"claim_changes": claim_changes([cause([CLAIM])])})
    assert not [one for one in drawn(text) if one.type == "link_open"]
