"""The command with its two files, the sentence that a run is put in, and the summary: worst first, and harmless."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from markdown_it import MarkdownIt
from typer.testing import CliRunner

from rooflint_report.evidence import Evidence
from rooflint_report.report import LIMIT_BYTES, code, escaped, headline, render_summary, report

from .test_comment import CLAIM, cause, claim_changes


@pytest.fixture
def run(tmp_path):
    program = typer.Typer()
    program.command()(report)
    return lambda *arguments: CliRunner().invoke(program, [str(argument) for argument in arguments])


@pytest.fixture
def file(tmp_path, evidence):
    path = tmp_path / "out" / "evidence.json"
    path.parent.mkdir()
    path.write_text(json.dumps(evidence), encoding="utf-8")
    return path


def test_red_evidence_renders_with_status_0_beside_itself(run, file):
    done = run(file)
    assert done.exit_code == 0
    assert sorted(path.name for path in file.parent.iterdir()) == ["evidence.json", "report.html", "summary.md"]
    assert str(file.with_name("report.html")) in done.output
    assert str(file.with_name("summary.md")) in done.output


@pytest.mark.slow
def test_a_short_file_is_told_in_bytes(run, file, green):
    file.write_text(json.dumps(green), encoding="utf-8")
    length = len(file.with_name("summary.md").read_bytes()) if run(file).exit_code == 0 else 0
    assert 0 < length < 1000
    assert run(file).output.splitlines()[1] == f"{file.with_name('summary.md')}  {length} B"
    assert run(file).output.splitlines()[0].endswith(" kB")


def test_both_files_can_be_put_elsewhere(run, file, tmp_path):
    page, summary = tmp_path / "new" / "p.html", tmp_path / "other" / "s.md"
    assert run(file, "--html", page, "--summary", summary).exit_code == 0
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert summary.read_text(encoding="utf-8").startswith("## Red")


def test_the_default_is_where_the_suite_writes(run, tmp_path, monkeypatch):
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    done = run()
    assert done.exit_code == 2
    assert done.output.startswith(str(Path("reports/out/evidence.json")))


@pytest.mark.parametrize("text", ["{", "{}", '{"schema": "rooflint-evidence/9"}'])
def test_bad_evidence_is_one_sentence_and_status_2(run, file, text):
    file.write_text(text, encoding="utf-8")
    done = run(file)
    assert done.exit_code == 2
    assert done.output.count("\n") == 1
    assert done.output.startswith(f"{file}: ")
    assert not file.with_name("report.html").exists()


def test_a_folder_is_no_evidence(run):
    done = run("/")
    assert done.exit_code == 2
    assert "/: cannot be read: Is a directory" in done.output


def test_a_place_that_cannot_be_written_is_one_sentence_and_status_2(run, file):
    blocked = file.parent / "evidence.json" / "report.html"
    done = run(file, "--html", blocked)
    assert done.exit_code == 2
    assert "cannot be written" in done.output
    assert done.output.count("\n") == 1


@pytest.mark.slow
def test_the_report_knows_evidence_and_nothing_of_devices_or_harness(file):
    program = (
        "import sys; from pathlib import Path; from rooflint_report.report import render; "
        f"p = Path({str(file)!r}); render(p, p.with_name('a.html'), p.with_name('a.md')); "
        "print(*sorted(m for m in sys.modules if m.partition('.')[0] in ('pytest_rooflint', 'pytest', 'numpy') "
        "or m.startswith('rooflint.') and not m.startswith(('rooflint.base', 'rooflint.output'))))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, encoding="utf-8")
    assert done.stdout.strip() == ""


# ---- The headline


def test_red_counts_fails_and_problems(evidence):
    assert headline(Evidence.model_validate(evidence)).state == "Red"
    assert headline(Evidence.model_validate(evidence)).sentence == "3 of 136 claims fail and 2 problems in the files."


def test_one_fail_is_singular(evidence):
    evidence["counts"] |= {"fail": 1, "claims": 1}
    evidence["problems"] = []
    assert headline(Evidence.model_validate(evidence)).sentence == "1 of 1 claim fails."


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            [{}],
            "ampere-ga10b tensor_core.macs_per_clock.int8 512 MAC → 64 MAC makes 1 of 136 claims fail; 2 others fail.",
        ),
        (
            [{}, {"line": 24}],
            "ampere-ga10b tensor_core.macs_per_clock.int8 512 MAC → 64 MAC and 1 more changed line make 1 of 136 "
            "claims fail; 2 others fail.",
        ),
        ([{"head": "9" * 80}], "ampere-ga10b.yaml:23 makes 1 of 136 claims fail; 2 others fail."),
    ],
)
def test_the_change_that_makes_claims_fail_is_named(evidence, changes, says):
    evidence |= {"problems": [], "claim_changes": claim_changes([cause([CLAIM], **one) for one in changes])}
    assert headline(Evidence.model_validate(evidence)).sentence == says


def test_problems_alone_are_red(green, evidence):
    green["problems"] = evidence["problems"][:1]
    assert headline(Evidence.model_validate(green)).sentence == "1 problem in the files."


def test_too_few_errors_caught_are_red(mutated):
    assert headline(Evidence.model_validate(mutated)).state == "Green"
    mutated["mutation"]["holds"] = False
    found = headline(Evidence.model_validate(mutated))
    assert found == ("Red", "fewer errors are caught than pyproject.toml asks.")


@pytest.mark.parametrize(
    ("losses", "says"), [(1, "1 check removed or weakened since"), (2, "2 checks removed or weakened since")]
)
def test_claims_that_were_lost_are_red(losses, says, green):
    found = headline(Evidence.model_validate(green | {"claim_changes": claim_changes(unstated=losses)}))
    assert found == ("Red", f"{says} the base without a stated reason.")


def test_green_names_what_did_not_decide(green):
    assert headline(Evidence.model_validate(green)).state == "Green"
    assert (
        headline(Evidence.model_validate(green)).sentence
        == "134 of 136 claims hold, none fails; 1 known to disagree; 1 not validated here."
    )


def test_what_was_deselected_is_said(green):
    green["counts"]["deselected"] = 7
    assert headline(Evidence.model_validate(green)).sentence.endswith("; 7 deselected, so this is not a full check.")


@pytest.mark.parametrize(("status", "word"), [(2, "interrupted"), (3, "internal error"), (4, "wrongly")])
def test_a_run_that_broke_off_is_never_green(green, status, word):
    green["run"]["exit_status"] = status
    assert headline(Evidence.model_validate(green)).state == "Incomplete"
    assert word in headline(Evidence.model_validate(green)).sentence


def test_an_interrupted_red_run_says_both(evidence):
    evidence["run"]["exit_status"] = 2
    assert headline(Evidence.model_validate(evidence)).sentence.endswith(
        "2 problems in the files, and pytest was interrupted (status 2)."
    )


def test_another_failing_test_is_red(green):
    green["run"]["exit_status"] = 1
    assert headline(Evidence.model_validate(green)).state == "Red"
    assert "another test failed" in headline(Evidence.model_validate(green)).sentence


def test_an_empty_run_is_not_green(empty):
    assert headline(Evidence.model_validate(empty)).state == "Empty"
    empty["run"]["exit_status"] = 0
    assert headline(Evidence.model_validate(empty)).state == "Empty"


# ---- The summary


def test_it_opens_with_the_verdict_of_the_run(evidence, green):
    assert render_summary(evidence).splitlines()[0] == "## Red: 3 of 136 claims fail and 2 problems in the files."
    assert render_summary(green).splitlines()[0].startswith("## Green: 134 of 136 claims hold, none fails")


def test_counts_and_blind_spots_are_one_table_at_the_end(evidence):
    head, rule, row = render_summary(evidence).partition("### Counts\n\n")[2].splitlines()[:3]
    assert head.count("|") == rule.count("|") == row.count("|") == 9
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    counts = evidence["counts"]
    expected = ["pass", "fail", "xfail", "undecided", "not validated here", "uncorroborated"]
    assert cells == [*(str(counts[name]) for name in expected), "7", "10"]


def test_a_red_has_ratio_cause_and_lines(evidence):
    text = render_summary(evidence)
    red = text[text.index("- ✗") :].split("\n- ✗")[0]
    assert "**1/8** `golden/peaks/nvidia/jetson-agx-orin-64gb.yaml:5`" in red
    assert "expected **85 TOP/s**: `170 TOP/s / 2`" in red
    assert "`model/rooflint/specs/architectures/nvidia/ampere-ga10b.yaml:23`; repair:" in red
    assert "`pytest golden/peaks/nvidia/jetson-agx-orin-64gb.yaml::peak-tensor_core-int8`" in red


def test_the_best_repair_comes_before_the_reds(evidence):
    text = render_summary(evidence)
    place = "- With **110 CU** written instead of **220 CU** at `model/rooflint/specs/hardware/amd/mi250x.yaml:15`"
    assert f"{place} (`units.matrix_core.groups`), **2 of 3 failing claims pass** and no other claim fails\n" in text
    assert text.index(place) < text.index("### Failures")
    assert "repair: 110 CU; with it, 2 failing claims pass and no other claim fails\n" in text


def test_evidence_without_places_has_none(evidence, without):
    assert "One place" not in render_summary(without(evidence, "places"))


def test_lists_are_not_glued_to_headings(evidence):
    assert not re.search(r"[^\n]\n#", render_summary(evidence))


def test_failures_with_one_cause_stand_together(evidence):
    text = render_summary(evidence)
    by_cause = text[text.index("### Failures, by cause") : text.index("### Counts")]
    assert by_cause.count("\n- ✗ ") == 2
    assert by_cause.count("\n  - also peak matrix\\_core") == 1


def test_green_is_short(green):
    assert len(render_summary(green)) < 600


def test_empty_evidence_is_not_green(empty):
    assert render_summary(empty).startswith("## Empty: no claim was checked")


def test_hostile_text_stays_text(make_evidence):
    text = render_summary(make_evidence(nasty=True))
    outside_code = re.sub(r"(`+) ?.*?[^`]\1(?!`)", "", text)
    assert "<script" not in outside_code
    assert "@someone" not in outside_code
    assert not re.search(r"(?<!\\)\[a", outside_code)
    assert not re.search(r"(?<!\\)\*bold", outside_code)


@pytest.mark.slow
def test_a_thousand_reds_fit(make_evidence):
    record = make_evidence(devices=66)
    for verdict in record["verdicts"]:
        verdict |= {"outcome": "fail", "ratio": 0.5, "note": "x" * 5000}
        verdict["expected"]["source"] = {"document": "ü" * 5000, "where": "<" * 5000, "grade": "read"}
    text = render_summary(record)
    assert len(text.encode()) < LIMIT_BYTES
    assert "more causes in the report." in text
    assert text.count("- ✗") >= 5


@pytest.mark.parametrize("text", ["a", "`", "``a`", "a|b", "`a``"])
def test_a_code_span_outlasts_the_backticks_in_it(text):
    span = code(text)
    fence = span[: len(span) - len(span.lstrip("`"))]
    assert span.endswith(fence)
    assert fence not in text or len(fence) > max(map(len, text.split("`")[0:1]))
    assert text in span


def test_markdown_stays_on_one_line_and_short():
    assert escaped("a\nb\r\n\tc") == "a b c"
    assert len(escaped("x" * 10_000)) <= 300
    assert escaped(escaped("*")) == r"\*"


def test_hashes_stand_in_code_spans_and_numbers_do_not():
    found = escaped(
        "revision HEAD (9875c49c9da0) moved 12345678 of deadbeef, 1e10000 and 4f1c09e2d7ab55c3e1e0f6a7b8c9d0e1f2a3b4c5"
    )
    assert "`9875c49c9da0`" in found and "`4f1c09e2d7ab55c3e1e0f6a7b8c9d0e1f2a3b4c5`" in found
    assert found.count("`") == 6  # 1e10000 could be a hash


def test_watched_predictions_are_a_list_of_their_own_in_the_summary(evidence):
    watched = {
        "watch": "vgg16 int8 b1 @ t4",
        "network": "vgg16",
        "precision": "int8",
        "batch": 1,
        "device": "nvidia/t4",
    }
    watched |= {"at": None, "base": None, "base_display": None, "head": 1e-3, "head_display": "1 ms", "ratio": None}
    tokens = MarkdownIt("gfm-like").parse(
        render_summary(evidence | {"watched": [watched | {"factor": "", "why": None}]})
    )
    lists, depth = [], 0
    for token in tokens:
        depth += token.nesting if "list_item" in token.type else 0
        if token.type == "bullet_list_open" and not depth:
            lists.append(0)
        if token.type == "list_item_open" and depth == 1:
            lists[-1] += 1
    assert lists[-1] == 1
