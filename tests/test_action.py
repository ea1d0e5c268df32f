"""The action and the hook as other repositories use them: their commands, run in a scratch repository."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from tests.validation.conftest import SCRIPTS, TINY, run_script

ROOT = Path(__file__).parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
TEMPLATE = (ROOT / "templates/rooflint.yml").read_text(encoding="utf-8")
SPEC = "specs/hardware/acme/x1.yaml"


def git(folder, *arguments):
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def scratch(tmp_path):
    """A repository with one commit, in which every claim holds."""
    folder = tmp_path / "chips"
    shutil.copytree(TINY, folder, ignore=shutil.ignore_patterns(".pytest_cache"))
    git(folder, "init")
    git(folder, "add", "-A")
    git(folder, "commit", "-m", "first")
    return folder


@pytest.fixture
def halved(scratch):
    """A second commit halves a rate, which makes four claims fail."""
    file = scratch / SPEC
    file.write_text(file.read_text(encoding="utf-8").replace("int8: [4096 MAC", "int8: [2048 MAC"), encoding="utf-8")
    git(scratch, "commit", "-am", "second")
    return scratch


def step(name):
    (found,) = [one for one in ACTION["runs"]["steps"] if one.get("name") == name]
    return found


def acted(folder, event="push", scripts=SCRIPTS, **inputs):
    """Status and output of the action's own commands, with the inputs as its `env` passes them on; and the summary.

    They run the `rooflint` of the folder of scripts.
    """
    given = {name.replace("_", "-"): value for name, value in inputs.items()}
    values = {f"inputs.{name}": given.get(name, one["default"]) for name, one in ACTION["inputs"].items()}
    values["github.event_name"] = event
    summary = folder.parent / "summary.md"
    environment = {
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder.parent),
        "GITHUB_ACTIONS": "true",
        "GITHUB_STEP_SUMMARY": str(summary),
    }
    done = None
    for name in ("Check the specs", "Show the summary on the page of the run"):
        one = step(name)
        passed = {key: values[value.strip("${} ")] for key, value in one.get("env", {}).items()}
        ran = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", one["run"]],
            cwd=folder / values["inputs.working-directory"],
            env=environment | passed,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        done = done or ran
    return done.returncode, done.stdout + done.stderr, summary.read_text(encoding="utf-8")


def git_output(folder, *arguments):
    return subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, encoding="utf-8"
    ).stdout.strip()


def component(folder, source="push", base="", **inputs):
    """Status and output of the commands of the component for GitLab, but for the installation."""
    head, body = re.split(r"\n---.*\n", TEMPLATE)
    for name, one in yaml.safe_load(head)["spec"]["inputs"].items():
        given = json.dumps(inputs.get(name, one.get("default", "rooflint")))
        body = body.replace(f'"$[[ inputs.{name} ]]"', f"$[[ inputs.{name} ]]").replace(f"$[[ inputs.{name} ]]", given)
    (job,) = yaml.safe_load(body).values()
    environment = {
        "PATH": f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder.parent),
        "CI_PIPELINE_SOURCE": source,
        **{
            name: value if isinstance(value, str) else json.dumps(value)
            for name, value in job["variables"].items()
            if name != "BASE"
        },
        "BASE": base,
    }
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", "\n".join(job["script"])],
        cwd=folder,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_no_expression_stands_in_a_command():
    # what a pull request names itself reaches a command through the environment only
    for one in ACTION["runs"]["steps"]:
        assert "${{" not in one.get("run", "")
        assert all(value.startswith("${{") for value in one.get("env", {}).values())


def test_every_input_is_used_and_every_used_one_is_declared():
    text = (ROOT / "action.yml").read_text(encoding="utf-8").partition("\nruns:")[2]
    assert {name for name in ACTION["inputs"] if f"inputs.{name}" in text} == set(ACTION["inputs"])


@pytest.mark.slow
def test_a_green_repository_ends_with_report_summary_and_empty_sarif(scratch):
    status, text, summary = acted(scratch)
    assert (status, "::error" in text) == (0, False)
    assert summary.startswith("## Green")
    out = scratch / "reports/out"
    assert (out / "report.html").is_file()
    assert json.loads((out / "causes.sarif").read_text(encoding="utf-8"))["runs"][0]["results"] == []


@pytest.mark.slow
def test_what_the_action_installs_judges_a_pull_request(halved, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    scripts = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin")
    (command,) = [step("Install rooflint")["run"]]
    there = {"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}", "ROOFLINT": str(ROOT), "PIP_NO_COMPILE": "1"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    subprocess.run(["bash", "-eo", "pipefail", "-c", command], env=kept | there, check=True)
    status, text, _ = acted(halved, event="pull_request", scripts=scripts)
    assert status == 1
    assert text.count("::error") == 1
    assert (halved / "reports/out/report.html").is_file()


@pytest.mark.slow
def test_a_pull_request_names_the_changed_line_once(halved):
    status, text, summary = acted(halved, "pull_request")
    assert status == 1
    (error,) = [line for line in text.splitlines() if line.startswith("::error")]
    assert error.startswith(f"::error file={SPEC},line=") and ",title=4 failing claims::" in error
    assert summary.startswith("<!-- rooflint -->\n### ✗ 1 changed line makes 4 claims fail")
    (result,) = json.loads((halved / "reports/out/causes.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]
    assert result["ruleId"] == "change"


@pytest.mark.slow
def test_a_pull_request_with_a_device_without_claims_is_annotated_at_its_spec(halved):
    spec = (halved / SPEC).read_text(encoding="utf-8").replace("2048 MAC", "4096 MAC")
    (halved / SPEC).write_text(spec, encoding="utf-8")
    (halved / SPEC).with_name("x9.yaml").write_text(spec.replace("Acme X1", "Acme X9"), encoding="utf-8")
    git(halved, "add", "-A")
    git(halved, "commit", "--amend", "-m", "second")
    status, text, _ = acted(halved, event="pull_request")
    assert status == 1
    (error,) = [line for line in text.splitlines() if line.startswith("::error")]
    assert "file=specs/hardware/acme/x9.yaml" in error


@pytest.mark.slow
def test_without_the_base_a_pull_request_is_judged_and_warned(scratch):
    status, text, _ = acted(scratch, "pull_request")
    assert status == 0
    assert "::warning title=rooflint::not compared with the base" in text


@pytest.mark.slow
def test_inputs_reach_the_command_and_stay_text(halved):
    status, text, _ = acted(halved, base="none", golden="golden\n", specs="specs", arguments="-k\nbandwidth")
    assert status == 0
    assert "deselected:" in text
    shutil.rmtree(halved / "reports")
    status, text, summary = acted(halved, golden="$(touch stolen); golden")
    assert status != 0
    assert not (halved / "stolen").exists()
    assert summary.rpartition("\n## ")[2].startswith("No report")
    status, text, _ = acted(halved, mutate="maybe")
    assert (status, "want true or false, found maybe" in text) == (2, True)


@pytest.mark.slow
def test_two_runs_in_one_workflow_keep_artifacts_of_different_names(scratch):
    for name in ("gpus-", "npus-"):
        acted(scratch, name=name)
    out = scratch / "reports/out"
    assert {one.name for one in out.glob("*.html")} == {"report.html", "gpus-report.html", "npus-report.html"}
    kept = [one["with"] for one in ACTION["runs"]["steps"] if "upload-artifact" in one.get("uses", "")]
    assert [("${{ inputs.name }}" in one["path"], one.get("name")) for one in kept] == [
        (True, None),
        (False, "${{ inputs.name }}comment"),
    ]


@pytest.mark.slow
def test_the_hook_judges_what_changed(scratch):
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    first = run_script(scratch, *hook["entry"].split())
    assert (first.returncode, "so all claims are judged" in first.stdout) == (0, True)
    file = scratch / SPEC
    file.write_text(file.read_text(encoding="utf-8").replace("int8: [4096 MAC", "int8: [2048 MAC"), encoding="utf-8")
    second = run_script(scratch, *hook["entry"].split())
    assert second.returncode == 1
    assert second.stdout.endswith("what depends on it: 4 fail, 4 pass\n")


@pytest.mark.slow
@pytest.mark.parametrize("source", ["push", "merge_request_event"])
def test_the_component_for_gitlab_leaves_tests_and_code_quality(halved, source):
    base = git_output(halved, "rev-parse", "HEAD^1")
    status, text = component(halved, source, base)
    assert status == 1, text
    found = json.loads((halved / "reports/out/code-quality.json").read_text(encoding="utf-8"))
    assert [one["location"]["path"] for one in found] == [SPEC]
    assert found[0]["check_name"] == ("rooflint-change" if source != "push" else "rooflint-claim")
    suite = ElementTree.parse(halved / "reports/out/junit.xml").getroot().find("testsuite")
    assert suite.get("failures") == "4"
    assert (halved / "reports/out/report.html").is_file()


@pytest.mark.slow
def test_the_component_is_green_with_inputs_as_text(scratch):
    status, text = component(scratch, golden="golden", specs="specs")
    assert status == 0, text
    assert json.loads((scratch / "reports/out/code-quality.json").read_text(encoding="utf-8")) == []
    status, _ = component(scratch, golden="$(touch stolen); golden")
    assert status != 0
    assert not (scratch / "stolen").exists()


def test_the_component_uses_every_input_and_none_in_a_command():
    head, body = re.split(r"\n---.*\n", TEMPLATE)
    inputs = yaml.safe_load(head)["spec"]["inputs"]
    assert {name for name in inputs if f"$[[ inputs.{name} ]]" in body} == set(inputs)
    (job,) = yaml.safe_load(body).values()
    assert "inputs." not in " ".join(job["before_script"] + job["script"])


# ---- the workflows of this repository


WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def commands(workflow):
    jobs = yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"].values()
    return "\n".join(step.get("run", "") for job in jobs for step in job["steps"])


def test_workflows_name_environments_of_tox_that_exist():
    named = {name for one in WORKFLOWS for name in re.findall(r"tox run -e ([\w-]+)", commands(one))}
    text = (ROOT / "tox.ini").read_text(encoding="utf-8")
    sections = re.findall(r"^\[testenv:(.+)\]$", text, re.MULTILINE)
    exist = {f"{one.partition('{')[0]}{factor}" for one in sections for factor in re.findall(r"-\w+", one) or [""]}
    exist |= {one.partition("{")[0] for one in sections}
    assert {"lint", "unit", "slow", "report", "measure", "silicon-rows"} <= named
    assert named <= exist


def test_workflows_run_scripts_that_exist_and_lint_validates_every_workflow():
    scripts = {name for one in WORKFLOWS for name in re.findall(r"\.github/[\w.-]+", commands(one))}
    assert ".github/history.sh" in scripts
    for name in scripts:
        assert os.access(ROOT / name, os.X_OK), name
    lint = (ROOT / "tox.ini").read_text(encoding="utf-8").partition("[testenv:lint]")[2].partition("[testenv:unit]")[0]
    assert {one.name for one in WORKFLOWS} == set(re.findall(r"\.github/workflows/([\w-]+\.yml)", lint))
    assert "vendor.github-actions action.yml" in lint


# ---- the history of main


@pytest.fixture
def published(tmp_path):
    """`published(status, text)`: status and output of history.sh, with a page that answers so; and the site."""
    programs = tmp_path / "bin"
    programs.mkdir()

    def run(evidence, status, text=""):
        scripts = {
            "gh": "echo https://acme.github.io/chips/",
            "curl": (
                'while test $# -gt 1; do if test "$1" = --output; then cp answer "$2"; fi; shift; done\n'
                f'test "$1" = https://acme.github.io/chips/history.jsonl && printf {status}'
            ),
        }
        for name, script in scripts.items():
            (programs / name).write_text(f"#!/bin/bash\n{script}\n", encoding="utf-8")
            (programs / name).chmod(0o755)
        (tmp_path / "answer").write_text(text, encoding="utf-8")
        path = os.pathsep.join(map(str, (programs, SCRIPTS, os.environ["PATH"])))
        done = subprocess.run(
            [ROOT / ".github/history.sh", evidence, "none.json", "site"],
            cwd=tmp_path,
            env={"PATH": path, "GITHUB_REPOSITORY": "acme/chips", "HOME": str(tmp_path)},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        return done.returncode, done.stdout + done.stderr, tmp_path / "site"

    return run


@pytest.mark.slow
def test_each_commit_adds_a_line_to_the_published_history(scratch, published):
    run_script(scratch, "rooflint", "check")
    evidence = scratch / "reports/out/evidence.json"
    status, text, site = published(evidence, 404)
    assert status == 0, text
    (line,) = (site / "history.jsonl").read_text(encoding="utf-8").splitlines()
    assert "<svg" in (site / "index.html").read_text(encoding="utf-8")
    earlier = json.dumps(json.loads(line) | {"sha": "a" * 40})
    status, text, site = published(evidence, 200, f"{earlier}\n")
    assert status == 0, text
    assert len((site / "history.jsonl").read_text(encoding="utf-8").splitlines()) == 2


@pytest.mark.slow
def test_a_history_that_cannot_be_read_is_not_begun_anew(scratch, published):
    run_script(scratch, "rooflint", "check")
    status, text, _ = published(scratch / "reports/out/evidence.json", 503)
    assert (status, "answers 503; publish again" in text) == (1, True)
