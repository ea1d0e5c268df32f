"""What the harness adds to the Python API: audits and verdicts as objects."""

import pytest

import rooflint as rl
from pytest_rooflint.suite.verdict import Verdict

# T4: 40 SM × 8 × 64 MAC × 2 op/MAC × 1.59 GHz = 65.13 TFLOP/s; a tenth of it is wrong
TABLE = "GPU,FP16 TFLOP/s\nT4,65\nT4,6.5\nNo <such> card,1\n"


@pytest.fixture
def table(tmp_path):
    file = tmp_path / "gpus.csv"
    file.write_text(TABLE, encoding="utf-8")
    return file


@pytest.mark.slow
def test_an_audit_has_a_finding_a_figure(table):
    found = rl.audit(table)
    assert len(found) == len([*found]) == 3
    assert sorted(one.status for one in found) == ["right", "unknown device", "wrong"]
    (wrong,) = found.wrong
    assert (wrong.line, wrong.device, wrong.printed) == (3, "T4", "6.5 TFLOP/s")
    assert "T4: fp16 peak 6.5 TFLOP/s: wrong" in str(found)
    assert repr(found) == "<Findings: 3 figures of 2 devices: 1 wrong, 1 unknown device, 1 right>"


@pytest.mark.slow
def test_an_audit_in_a_notebook_shows_text_as_text(table):
    shown = rl.audit(table)._repr_html_()
    assert "No &lt;such&gt; card" in shown
    assert "<td>6.5 TFLOP/s</td>" in shown


def test_an_audit_as_a_data_frame_has_right_figures_too(table):
    pytest.importorskip("pandas")
    assert sorted(rl.audit(table).to_pandas()["status"]) == ["right", "unknown device", "wrong"]


@pytest.mark.slow
def test_a_column_is_what_the_caller_says(tmp_path):
    file = tmp_path / "gpus.csv"
    file.write_text("GPU,Dense\nT4,65\n", encoding="utf-8")
    (found,) = rl.audit(file, columns={"Dense": "peak fp16 TFLOP/s"})
    assert (found.status, found.quantity) == ("right", "fp16 peak")


@pytest.mark.slow
def test_an_audit_needs_a_table(tmp_path):
    with pytest.raises(rl.RooflintError, match="want at least one table, found none"):
        rl.audit()
    with pytest.raises(
        rl.RooflintError, match=r"want a table \(.csv, .tsv, .md, .json, .yaml\) or Python source, found no file"
    ):
        rl.audit(tmp_path)


def test_the_projects_own_golden_files_pass(tiny):
    found = rl.check()
    assert repr(found) == f"<Verdicts: {len(found)} pass>"
    assert found.ok
    assert {type(one) for one in found} == {Verdict}
    assert found.counts == {"pass": len(found)}
    assert str(found) == f"{len(found)} pass"
    assert found[:2] == found.verdicts[:2]


def test_a_claim_that_fails_is_told_in_full(tiny):
    tiny.edit(
        "golden/x1.yaml", "{peak: mac_array fp16, expect: 8.19 TFLOP/s}", "{peak: mac_array fp16, expect: 4.10 TFLOP/s}"
    )
    found = rl.check()
    assert not found.ok
    (failure,) = found.failures
    assert str(found).startswith(failure.text())
    assert found.counts["fail"] == 1


def test_one_file_is_judged_alone(tiny):
    tiny.write("specs/hardware/acme/x2.yaml", tiny.read("specs/hardware/acme/x1.yaml"))
    assert "acme/x2 has no claim" in str(rl.check())
    assert not rl.check().ok
    assert rl.check("golden/x1.yaml").ok


def test_a_broken_file_is_a_problem_and_the_others_are_judged(tiny):
    whole = len(rl.check())
    tiny.write("golden/broken.yaml", "claims: [\n")
    found = rl.check()
    assert len(found) == whole
    assert not found.ok
    assert any(problem.file.name == "broken.yaml" for problem in found.problems)
    alone = rl.check("golden/broken.yaml")
    assert (len(alone), alone.ok) == (0, False)


def test_what_cannot_be_judged_is_a_sentence(tiny):
    tiny.write("golden/notes.md", "notes")
    for place, problem in {
        "golden/none.yaml": "no such file or folder",
        "golden/notes.md": "not a golden file",
    }.items():
        with pytest.raises(rl.RooflintError, match=problem):
            rl.check(place)


def test_without_a_project_a_folder_is_wanted(tmp_path, monkeypatch):
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")  # whatever stands above it
    monkeypatch.chdir(tmp_path)
    with pytest.raises(rl.RooflintError, match="want a folder of golden files"):
        rl.check()
