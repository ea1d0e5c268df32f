"""The machine's fingerprint: enough to compare figures, nothing that tells who owns it."""

import getpass
import json
import os
import platform
import socket
import subprocess

import pytest

from rooflint_measure.identity import machine


def test_the_fingerprint_is_plain_data_about_this_machine():
    found = machine.fingerprint()
    assert set(found) == {"system", "release", "machine", "cpu", "cores", "python"}
    assert json.loads(json.dumps(found)) == found
    assert found["system"] == platform.system()
    assert found["cores"] == os.cpu_count()
    assert platform.python_version() in found["python"]


def test_the_fingerprint_names_neither_host_nor_user(monkeypatch):
    text = json.dumps(machine.fingerprint())
    assert len(socket.gethostname()) < 4 or socket.gethostname() not in text
    assert getpass.getuser() not in text.split('"')


def test_the_processor_is_the_first_model_name_that_the_system_lists(tmp_path):
    file = tmp_path / "cpuinfo"
    file.write_text("processor\t: 0\nmodel name\t: Acme 9000: Turbo\nmodel name\t: another\n", encoding="utf-8")
    assert machine.cpu_name(file) == "Acme 9000: Turbo"


def test_a_system_that_does_not_say_has_an_unknown_processor(tmp_path, monkeypatch):
    file = tmp_path / "cpuinfo"
    file.write_text("processor\t: 0\n", encoding="utf-8")
    assert machine.cpu_name(file) == "unknown"
    monkeypatch.setattr(platform, "processor", lambda: "")
    assert machine.cpu_name(tmp_path / "nowhere") == "unknown"
    monkeypatch.setattr(platform, "processor", lambda: "arm")
    assert machine.cpu_name(tmp_path / "nowhere") == "arm"


def test_a_folder_outside_of_any_checkout_has_no_commit(tmp_path):
    assert machine.commit(tmp_path) is None


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A repository with one commit, that no settings of this machine touch."""
    for key in ("GIT_DIR", "GIT_WORK_TREE"):
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]

    def git(*arguments):
        done = subprocess.run(
            ["git", *identity, *arguments], cwd=tmp_path, capture_output=True, encoding="utf-8", check=True
        )
        return done.stdout.strip()

    git("init", "--quiet", "--initial-branch=trunk")
    (tmp_path / "file").write_text("one", encoding="utf-8")
    git("add", "file")
    git("commit", "--quiet", "--message=first")
    tmp_path.joinpath("below").mkdir()
    return tmp_path, git


def test_a_checkout_has_commit_branch_and_cleanliness(checkout):
    folder, git = checkout
    clean = {"commit": git("rev-parse", "HEAD"), "branch": "trunk", "dirty": False}
    assert len(clean["commit"]) == 40
    assert machine.commit(folder) == machine.commit(folder / "below") == clean
    (folder / "file").write_text("two", encoding="utf-8")
    assert machine.commit(folder) == {**clean, "dirty": True}


def test_a_machine_without_git_has_no_commit(checkout, monkeypatch):
    folder, _ = checkout
    monkeypatch.setenv("PATH", "")
    assert machine.commit(folder) is None
