"""`rooflint diff`, `rooflint ledger`: what they print and write, and which status they give."""

import json
import subprocess

import pytest
from typer.testing import CliRunner

from pytest_rooflint.cli.differences import app
from pytest_rooflint.history.claim_sides import ClaimSide
from rooflint.base.errors import RooflintError

X1 = "specs/hardware/acme/x1.yaml"


def git(root, *arguments: str) -> str:
    command = ["git", "-C", str(root), "-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    return subprocess.run([*command, *arguments], capture_output=True, encoding="utf-8", check=True).stdout.strip()


@pytest.fixture
def acme(small):
    """The tiny repository under git, at its second commit, which made the memory twice as fast."""
    git(small.root, "init", "-q", "-b", "main")
    git(small.root, "add", "-A")
    git(small.root, "commit", "-q", "-m", "Acme X1")
    small.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    git(small.root, "commit", "-q", "-am", "Twice as fast")
    return small


def run(*arguments: str, command="diff", status: int = 0) -> str:
    result = CliRunner().invoke(app, [command, *arguments])
    if isinstance(result.exception, RooflintError):
        raise result.exception
    assert result.exit_code == status, result.output
    return result.stdout


def test_nothing_moved_is_one_sentence(acme):
    head = git(acme.root, "rev-parse", "HEAD")[:12]
    message = "no prediction moved between revision HEAD {} and the working tree; 240 compared\n"
    assert " ".join(run("HEAD").split()) == message.format(f"({head})").strip()


@pytest.mark.slow
def test_without_a_name_it_starts_where_the_branch_left_the_default_one(acme):
    # main: one, two; a branch from one with another clock
    git(acme.root, "checkout", "-q", "-b", "side", "HEAD^")
    acme.edit(X1, "clock: [1000 MHz", "clock: [900 MHz")
    git(acme.root, "commit", "-q", "-am", "Slower clock")
    found = json.loads(run("--format", "json"))
    assert found["old"]["commit"] == git(acme.root, "rev-parse", "main^")
    assert [one["path"] for one in found["changes"]] == ["units.mac_array.clock"]
    git(acme.root, "checkout", "-q", "main")
    assert run().startswith("no prediction moved")
    git(acme.root, "branch", "-q", "-m", "trunk")
    assert run().startswith("no prediction moved")  # no branch that is called like a default one: HEAD


def test_the_text_names_the_fact_with_line_source_and_factor_in_80_columns(acme):
    text = run("HEAD^")
    assert max(map(len, text.splitlines())) <= 80
    assert f"{X1}:{acme.line(X1, '12.8')}\n  memories.lpddr5.pin_rate 6.4 Gbit/s → 12.8 Gbit/s\n" in text
    assert "  Acme X1 architecture brief, 2025, p. 3 (read)\n" in text
    assert "alone moves" in text
    assert "\nacme/x1  latency " in text


def test_markdown_has_what_changed_and_the_moves(acme):
    text = run("HEAD^", "HEAD", "--format", "md")
    assert text.startswith("## What moved\n\n- ")
    assert "| where | change | source | alone |" in text
    assert f"| {X1}:{acme.line(X1, '12.8')} | memories.lpddr5.pin_rate 6.4 Gbit/s → 12.8 Gbit/s |" in text
    assert "| device | quantity | moved | of | factor | together |" in text


@pytest.mark.slow
def test_the_suffix_of_the_file_names_the_format(acme):
    assert run("HEAD^", "-o", "out/moved.json") == ""
    assert json.loads(acme.read("out/moved.json"))["schema"] == "rooflint-delta/2"
    run("HEAD^", "-o", "out/moved.md")
    assert acme.read("out/moved.md") == run("HEAD^", "-f", "md")
    with pytest.raises(RooflintError, match=r"moved\.xlsx: want a file that ends in \.txt, \.json, \.md, or --format"):
        run("HEAD^", "-o", "moved.xlsx")
    with pytest.raises(RooflintError, match=r"specs/x\.md: cannot be written|hardware: cannot be written"):
        run("HEAD^", "-f", "md", "-o", "specs/hardware")


@pytest.mark.slow
def test_it_fails_only_where_it_is_asked_to(acme):
    def status(*arguments: str) -> int:
        return CliRunner().invoke(app, ["diff", *arguments]).exit_code

    assert status("HEAD^") == 0
    assert status("HEAD^", "--fail-over", "1.5") == 1
    assert status("HEAD^", "--fail-over", "1000") == 0
    assert status("HEAD", "--fail-over", "1") == 0
    assert status("HEAD", "HEAD^", "--fail-over", "1.5") == 1  # upwards as well as downwards


@pytest.mark.slow
def test_many_moves_are_cut_unless_all_are_asked_for(acme, monkeypatch):
    monkeypatch.setattr("pytest_rooflint.history.summary.MOST", 1)
    assert "more (rooflint diff " in run("HEAD^")
    assert "more (rooflint diff " in run("HEAD^", "-f", "md")
    assert "more (rooflint diff " not in run("HEAD^", "--all")


@pytest.mark.slow
def test_another_folder_of_specs_may_be_named(acme):
    acme.write("other/hardware/acme/x9.yaml", acme.read(X1).replace("Acme X1", "Acme X9"))
    git(acme.root, "add", "-A")
    git(acme.root, "commit", "-q", "-m", "More")
    acme.edit("other/hardware/acme/x9.yaml", "12.8 Gbit/s", "6.4 Gbit/s")
    found = json.loads(run("HEAD", "--specs", "other", "-f", "json"))
    assert {one["device"] for one in found["moves"]} == {"acme/x9"}


@pytest.mark.slow
def test_it_is_added_to_the_evidence_of_a_run(acme):
    acme.write("evidence.json", '{"schema": "rooflint-evidence/3"}')
    run("HEAD^", "--evidence", "evidence.json")
    found = json.loads(acme.read("evidence.json"))
    assert found["delta"]["moved"]["devices"] == 1
    with pytest.raises(RooflintError, match=r"nowhere\.json: want the evidence of a run to add to: "):
        run("HEAD^", "--evidence", "nowhere.json")


@pytest.mark.slow
def test_watched_predictions_are_told_and_added_to_the_evidence(acme, monkeypatch):
    acme.write("pyproject.toml", acme.read("pyproject.toml") + 'rooflint_watch = ["vgg16 int8 b1 @ acme/x1"]\n')
    acme.write("evidence.json", '{"schema": "rooflint-evidence/3", "watched": []}')
    text = run("HEAD^", "--evidence", "evidence.json")
    (one,) = json.loads(acme.read("evidence.json"))["watched"]
    # twice the bandwidth; between half the time and the same
    assert 0.5 <= one["ratio"] < 0.9
    line = f"watched: vgg16 int8 b1 @ acme/x1 {one['base_display']} → {one['head_display']}, {one['factor']}\n"
    assert text.endswith(line)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    notice = (
        f"::notice title=vgg16 int8 b1 @ acme/x1::{one['base_display']} → {one['head_display']} ({one['factor']})\n"
    )
    assert run("HEAD^").endswith(f"{line}{notice}")
    assert "::notice" not in run("HEAD")
    assert json.loads(run("HEAD^", "-f", "json"))["schema"] == "rooflint-delta/2"  # the lines go to the other stream


def test_a_watched_prediction_that_cannot_be_is_one_sentence_with_its_line(acme):
    acme.write("pyproject.toml", acme.read("pyproject.toml") + 'rooflint_watch = ["vgg61 int8 b1 @ acme/x1"]\n')
    with pytest.raises(RooflintError, match=r"pyproject\.toml:4  rooflint_watch: unknown network 'vgg61'; did"):
        run("HEAD^")


@pytest.mark.slow
def test_a_ledger_is_written_and_compared(acme):
    message = run("HEAD^", "-o", "old.csv.gz", command="ledger")
    assert message == "old.csv.gz: 120 predictions, 120 combinations are not supported\n"
    found = json.loads(run("old.csv.gz", "-f", "json"))
    assert found["old"]["label"] == "ledger old.csv.gz"
    assert found["changes"] == []
    assert any(one["quantity"] == "latency_s" for one in found["moves"])
    run("-o", "new.csv.gz", command="ledger")
    assert run("new.csv.gz").startswith("no prediction moved")


def test_a_ledger_that_cannot_be_is_one_sentence(acme):
    with pytest.raises(RooflintError, match=r"old\.txt: want a file that ends in \.csv\.gz"):
        run("-o", "old.txt", command="ledger")
    acme.write("bad.csv.gz", "no gzip")
    with pytest.raises(RooflintError, match=r"bad\.csv\.gz:1  want a ledger, which is CSV in gzip"):
        run("bad.csv.gz")
    with pytest.raises(RooflintError, match=r"nowhere\.csv\.gz:1  want a ledger"):
        run("nowhere.csv.gz")


@pytest.mark.slow
def test_check_puts_what_moved_into_evidence_and_report_also_when_all_is_green(acme):
    git(acme.root, "checkout", "-q", "HEAD^")
    acme.edit(X1, "capacity: [8 GB", "capacity: [16 GB")
    acme.edit(X1, "process: [7 nm", "process: [5 nm")
    result = acme.script("rooflint", "check", "--against", "HEAD", "--report")
    assert result.returncode == 0, result.stdout + result.stderr
    found = json.loads(acme.read("reports/out/evidence.json"))
    assert {one["path"] for one in found["delta"]["changes"]} == {"memories.lpddr5.capacity", "process"}
    assert "What moved since" in acme.read("reports/out/report.html")
    assert "moved" in acme.read("reports/out/summary.md")


@pytest.mark.slow
def test_check_against_a_revision_that_does_not_exist_is_red_and_says_so(acme):
    git(acme.root, "checkout", "-q", "HEAD^")
    result = acme.script("rooflint", "check", "--against", "nowhere")
    assert result.returncode == 2
    assert "--against: 'nowhere' is not a revision" in result.stderr
    assert "Traceback" not in result.stderr


# ---- claims


@pytest.mark.slow
def test_lost_claims_come_before_the_predictions_and_decide_the_status(acme):
    evidence = acme.root / "evidence.json"
    text = run("HEAD", "--claims")
    assert text.endswith("), 8 now\n") and "; nothing was lost without a reason; 8 claims in revision HEAD (" in text
    acme.edit("golden/x1.yaml", "  - {count: core, expect: 4}\n", "")
    acme.script("rooflint", "check", f"--evidence={evidence}")
    text = run("HEAD", "--claims", f"--evidence={evidence}", status=1)
    assert text.index("write in golden/x1.yaml: removed: {count-core: REASON}") < text.index("no prediction moved")
    assert text.splitlines()[-1].startswith("failed: ") and text.count("\nfailed: ") == 1
    found = json.loads(evidence.read_text(encoding="utf-8"))
    assert found["claim_changes"]["schema"] == "rooflint-claims/1"
    whole = acme.root / "differences.json"
    run("HEAD", "--claims", f"--output={whole}", status=1)
    assert json.loads(whole.read_text(encoding="utf-8")) == found["delta"] | {"claim_changes": found["claim_changes"]}
    assert run("HEAD").startswith("no prediction moved")  # status 0: without --claims, claims are not counted
    acme.edit("golden/x1.yaml", "claims:\n", "removed: {count-core: misprinted}\nclaims:\n")
    assert "stated: misprinted" in run("HEAD", "--claims")


@pytest.mark.parametrize(
    "edited", [(X1, "4096 MAC", "2048 MAC"), ("golden/x1.yaml", "core, expect: 4", "core, expect: 5")]
)
def test_what_the_run_just_found_is_taken_and_makes_no_difference(acme, monkeypatch, edited):
    acme.edit(*edited)
    evidence, kept = acme.root / "evidence.json", acme.root / ".rooflint"
    acme.script("pytest", "--rooflint-only", f"--rooflint-evidence={evidence}", f"--rooflint-store={kept}", "-q")
    as_run = evidence.read_bytes()
    text = run("HEAD", "--claims", f"--evidence={evidence}", status=1)
    whole, again = evidence.read_bytes(), []
    judge = ClaimSide.judge
    monkeypatch.setattr(ClaimSide, "judge", lambda side, claim: again.append((side, claim.id)) or judge(side, claim))
    evidence.write_bytes(as_run)
    assert run("HEAD", "--claims", f"--evidence={evidence}", f"--judged={kept}", status=1) == text
    assert evidence.read_bytes() == whole
    fails = {one["id"] for one in json.loads(as_run)["verdicts"] if one["outcome"] == "fail"}
    assert fails
    now = [claim for side, claim in again if side.specs.home is None]
    assert len(now) == len(set(now)) < 8
    # a spec that changed since the run is judged again
    again.clear()
    acme.write("specs/hardware/acme/x2.yaml", acme.read(X1))
    evidence.write_bytes(as_run)
    run("HEAD", "--claims", f"--evidence={evidence}", f"--judged={kept}", status=1)
    assert len([claim for side, claim in again if side.specs.home is None]) >= 8


def test_golden_folders_without_claims_are_refused(acme):
    with pytest.raises(RooflintError, match=r"^--golden needs --claims"):
        run("HEAD", "--golden=golden")


def test_claims_of_two_revisions_are_refused(acme):
    with pytest.raises(RooflintError, match="between a revision and the working tree"):
        run("HEAD^", "HEAD", "--claims")


@pytest.mark.slow
def test_a_revision_that_a_shallow_clone_lacks_is_one_sentence_with_the_command(acme, tmp_path_factory, monkeypatch):
    clone = tmp_path_factory.mktemp("clone") / "shallow"
    git(acme.root, "clone", "-q", "--depth=1", f"file://{acme.root}", str(clone))
    git(clone, "checkout", "-q", "--detach")
    monkeypatch.chdir(clone)
    head = git(clone, "rev-parse", "HEAD")
    with pytest.raises(RooflintError) as refused:
        run("HEAD^", "--claims")
    assert str(refused.value).endswith(f"type: git fetch --depth=2 origin {head}")
    git(clone, "fetch", "-q", "--depth=2", "origin", head)
    assert "45 of" in run("HEAD^") or "moved between revision HEAD^" in run("HEAD^")
