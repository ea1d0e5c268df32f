"""A base: the model at a revision answers in its own process, with its own constants."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pytest_rooflint.cli.calibrate import app
from rooflint.base.errors import RooflintError
from rooflint.hardware.registry import Registry
from rooflint.kernels.constants import constants_file
from rooflint_calibration import base, topics
from rooflint_calibration.base import SCHEMA, BaseError, NoCalibrationError, answer_request, make_request, model_at
from rooflint_calibration.regressions import changes

ROOT = Path(__file__).parents[3]
CONSTANTS = "model/rooflint/specs/silicon.yaml"
PACKAGE = "validation/rooflint_calibration"
REQUEST = make_request(
    [
        {
            **{"topic": "gemm", "precision": "bf16", "device": "nvidia/l40s", "family": "ada"},
            **{"sizes": [[16, 4096, 4096, 6], [4096, 4096, 4096, 6]], "terms": True},
        }
    ]
)


def git(root, *arguments):
    command = ["git", "-C", str(root), "-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    subprocess.run([*command, *arguments], capture_output=True, check=True)


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A repository with this tree's packages; the first commit has launches of 9 µs, the working tree its own."""
    for name in ("model/rooflint", PACKAGE):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(tmp_path / "model/rooflint/specs/workloads")  # large, and no kernel reads it
    file = tmp_path / CONSTANTS
    text = file.read_text(encoding="utf-8")
    wrong, found = re.subn(r"(graph_launch_us:\n(?:    .*\n)*?    value: \[)[\d.]+", r"\g<1>9", text)
    assert found == 1
    file.write_text(wrong, encoding="utf-8")
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "Nine")
    file.write_text(text, encoding="utf-8")
    monkeypatch.setattr(base, "folders", lambda: (tmp_path / "model", tmp_path / "validation"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def answer(revision, checkout):
    with model_at(revision, checkout) as found:
        return found.label, found.ask(REQUEST)["groups"][0]


@pytest.mark.slow
def test_the_base_answers_with_its_own_constants_and_the_working_tree_is_left_alone(checkout):
    before = {file: file.stat().st_mtime_ns for file in checkout.rglob("*.py")}
    label, old = answer("HEAD", checkout)
    new = answer_request(REQUEST, Registry())["groups"][0]
    assert label.startswith("HEAD (")
    with model_at("HEAD", checkout) as found:
        assert "graph_launch_us 9 → " in " ".join(map(str, changes(found.specs)))
    # no document gives Ada's launch, so the 9 µs count
    more_s = 9e-6 - 1e-6 * constants_file(Registry()).without("ada").products.graph_launch_us
    assert [a - b for a, b in zip(old["seconds"], new["seconds"], strict=True)] == pytest.approx([more_s, more_s])
    assert old["terms"]["launch"][0] - new["terms"]["launch"][0] == pytest.approx(more_s)
    assert {file: file.stat().st_mtime_ns for file in checkout.rglob("*.py")} == before


@pytest.mark.slow
def test_a_base_that_answers_in_another_version_is_an_error(checkout):
    file = checkout / PACKAGE / "base.py"
    file.write_text(file.read_text(encoding="utf-8").replace(SCHEMA, "rooflint-predictions/0"), encoding="utf-8")
    git(checkout, "commit", "-q", "-am", "Young")
    with pytest.raises(BaseError, match=r"does not answer: .*want a request rooflint-predictions/0"):
        answer("HEAD", checkout)
    text = file.read_text(encoding="utf-8").replace('return {"schema": SCHEMA', 'return {"schema": "old"')
    file.write_text(text.replace("rooflint-predictions/0", SCHEMA), encoding="utf-8")
    git(checkout, "commit", "-q", "-am", "Other")
    with pytest.raises(BaseError, match=rf"^HEAD \(.*\) answers in old, want {SCHEMA}$"):
        answer("HEAD", checkout)


@pytest.mark.slow
def test_a_base_that_is_too_old_to_answer_is_reported_with_status_0(checkout):
    (checkout / PACKAGE / "base.py").unlink()
    git(checkout, "commit", "-q", "-am", "Before")
    with pytest.raises(NoCalibrationError, match="is too old to answer"):
        answer("HEAD", checkout)
    result = CliRunner().invoke(app, ["regressions", "--base", "HEAD"], catch_exceptions=False)
    assert result.exit_code == 0
    assert result.stdout.startswith("HEAD (")
    assert "is too old to answer, so its predictions cannot be compared" in result.stdout


@pytest.mark.slow
def test_a_base_that_breaks_or_does_not_exist_is_one_sentence(checkout, tmp_path, monkeypatch):
    with pytest.raises(BaseError, match=r"'v9' is not a revision of "):
        answer("v9", checkout)
    (checkout / "model/rooflint/kernels/gemm.py").write_text("1 / 0\n", encoding="utf-8")
    git(checkout, "commit", "-q", "-am", "Broken")
    with pytest.raises(BaseError, match=r"^HEAD \(.*\) does not answer: ZeroDivisionError: division by zero"):
        answer("HEAD", checkout)
    monkeypatch.setattr(base, "folders", lambda: (Path("/elsewhere/model"), checkout / "validation"))
    with pytest.raises(BaseError, match=r"is imported from /elsewhere/model, which is outside the repository"):
        answer("HEAD", checkout)


@pytest.mark.slow
def test_an_op_without_measurements_is_an_error_that_lists_the_others(checkout):
    result = CliRunner().invoke(app, ["regressions", "--base", "HEAD", "--op", "conv"])
    assert isinstance(result.exception, RooflintError)
    assert str(result.exception) == f"--op: want one of {', '.join(topics.TOPICS)}, found 'conv'"


def test_a_request_of_another_version_and_an_unknown_family_are_errors():
    with pytest.raises(RooflintError, match=rf"want a request {SCHEMA}, found old"):
        answer_request({"schema": "old", "groups": []}, Registry())
    strange = make_request([{**REQUEST["groups"][0], "family": "volta"}])
    assert answer_request(strange, Registry())["groups"] == [{"error": "unknown volta"}]
