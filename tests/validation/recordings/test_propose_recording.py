"""`.github/propose-recording`: adds what was recorded to a branch of its own, changes nothing that is there."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / ".github" / "propose-recording"

#: Stands in for GitHub's program, writes down what it was asked for.
FAKE_GH = """#!/usr/bin/env bash
printf '%s\\n' "$@" > "$ASKED"
"""


def git(folder, *arguments):
    return subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, encoding="utf-8"
    ).stdout.strip()


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A clone with one recording, whose pushes go to a bare repository in the place of GitHub's."""
    origin, clone, programs = tmp_path / "origin.git", tmp_path / "clone", tmp_path / "programs"
    git(tmp_path, "init", "--quiet", "--bare", str(origin))
    git(tmp_path, "init", "--quiet", "--initial-branch=main", str(clone))
    kept = clone / "golden" / "measured" / "amd" / "a" / "kept.json"
    kept.parent.mkdir(parents=True)
    kept.write_text("kept\n", encoding="utf-8")
    git(clone, "add", ".")
    git(clone, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message", "first")
    programs.mkdir()
    (programs / "gh").write_text(FAKE_GH, encoding="utf-8")
    (programs / "gh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    for name, value in {
        "ASKED": str(tmp_path / "asked"),
        "GH_TOKEN": "secret-token",
        "GITHUB_REPOSITORY": "o/r",
        "GITHUB_REF_NAME": "main",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{origin.as_posix()}.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://github.com/o/r.git",
    }.items():
        monkeypatch.setenv(name, value)
    return clone


def recorded(tmp_path, **files):
    """The artifact of the job that measured."""
    folder = tmp_path / "recorded"
    for name, text in files.items():
        file = folder / "golden" / "measured" / "amd" / "a" / f"{name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (folder / "account.md").write_text("account\n", encoding="utf-8")
    return folder


def propose(checkout, folder):
    return subprocess.run(
        [str(SCRIPT), str(folder), "recording-7"], cwd=checkout, capture_output=True, encoding="utf-8", check=False
    )


def test_a_new_recording_is_pushed_and_proposed(checkout, tmp_path):
    done = propose(checkout, recorded(tmp_path, kept="kept\n", new="new\n"))
    assert done.returncode == 0, done.stderr
    changed = git(tmp_path / "origin.git", "show", "--name-status", "--format=%s", "recording-7").splitlines()
    assert changed == ["Record what golden/measured/amd/a measured", "", "A\tgolden/measured/amd/a/new.json"]
    asked = (tmp_path / "asked").read_text(encoding="utf-8").splitlines()
    assert asked[:6] == ["pr", "create", "--base", "main", "--head", "recording-7"]
    assert asked[-1].endswith("recorded/account.md")


def test_a_recording_that_is_there_is_never_changed(checkout, tmp_path):
    done = propose(checkout, recorded(tmp_path, kept="forged\n"))
    assert done.returncode == 0, done.stderr
    assert "nothing new was recorded" in done.stdout
    assert (checkout / "golden/measured/amd/a/kept.json").read_text(encoding="utf-8") == "kept\n"
    assert not (tmp_path / "asked").exists()


@pytest.mark.parametrize("name", ["a\n::error::b", "a b", "-x", "a;touch $HOME"])
def test_a_name_that_no_recording_has_stops_the_proposal(checkout, tmp_path, name):
    done = propose(checkout, recorded(tmp_path, **{name: "new\n"}))
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("not proposed, since its name is not that of a recording: ")
    assert not (tmp_path / "asked").exists()
    assert git(tmp_path / "origin.git", "branch", "--list") == ""


def test_the_token_is_on_no_command_line_and_git_gets_it_from_the_environment(checkout, tmp_path, monkeypatch):
    real = shutil.which("git")
    spy = tmp_path / "programs" / "git"
    spy.write_text(
        f'#!/usr/bin/env bash\nprintf "%s\\n" "$@" >> "$ASKED.git"\nif [[ " $* " = *" push "* ]]; then\n'
        f'  printf "protocol=https\\nhost=github.com\\n\\n" |\n'
        f'    "{real}" "${{@:1:4}}" credential fill > "$ASKED.password"\n'
        f'fi\nexec "{real}" "$@"\n',
        encoding="utf-8",
    )
    spy.chmod(0o755)
    monkeypatch.setenv("GIT_TERMINAL_PROMPT", "0")
    assert propose(checkout, recorded(tmp_path, new="new\n")).returncode == 0
    assert "secret-token" not in (tmp_path / "asked.git").read_text(encoding="utf-8")
    assert "secret-token" not in (tmp_path / "asked").read_text(encoding="utf-8")
    assert "password=secret-token" in (tmp_path / "asked.password").read_text(encoding="utf-8").splitlines()
