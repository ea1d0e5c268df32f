"""What git knows of a folder."""

import os
import subprocess

import pytest

from rooflint.base import git
from rooflint.base.git import RevisionError


def test_a_folder_outside_of_any_checkout_has_no_commit(tmp_path):
    assert git.state_of(tmp_path) is None


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A repository with one commit, that no settings of this machine touch."""
    for key in ("GIT_DIR", "GIT_WORK_TREE"):
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]

    def run(*arguments):
        done = subprocess.run(
            ["git", *identity, *arguments], cwd=tmp_path, capture_output=True, encoding="utf-8", check=True
        )
        return done.stdout.strip()

    run("init", "--quiet", "--initial-branch=trunk")
    (tmp_path / "file").write_text("one", encoding="utf-8")
    run("add", "file")
    run("commit", "--quiet", "--message=first")
    tmp_path.joinpath("below").mkdir()
    return tmp_path, run


def test_a_checkout_has_commit_branch_and_cleanliness(checkout):
    folder, run = checkout
    clean = {"commit": run("rev-parse", "HEAD"), "branch": "trunk", "dirty": False}
    assert len(clean["commit"]) == 40
    assert git.state_of(folder) == git.state_of(folder / "below") == clean
    (folder / "file").write_text("two", encoding="utf-8")
    assert git.state_of(folder) == {**clean, "dirty": True}


def test_a_machine_without_git_has_no_commit(checkout, monkeypatch):
    folder, _ = checkout
    monkeypatch.setenv("PATH", "")
    assert git.state_of(folder) is None


def test_a_revision_names_its_commit_and_another_word_does_not(checkout):
    folder, run = checkout
    assert git.top_of(folder / "below") == folder.resolve()
    assert git.commit_of(folder, "trunk") == git.commit_of(folder, "HEAD") == run("rev-parse", "HEAD")
    with pytest.raises(RevisionError, match=rf"^'v9' is not a revision of {folder.name}$"):
        git.commit_of(folder, "v9")
    with pytest.raises(RevisionError, match="is not a revision of"):
        git.commit_of(folder, "--help")


def test_a_branch_starts_where_it_left_the_default_branch(checkout):
    folder, run = checkout
    first = run("rev-parse", "HEAD")
    assert git.base_of(folder) == first  # there is no branch main: HEAD itself
    run("branch", "main")
    (folder / "file").write_text("two", encoding="utf-8")
    run("commit", "--quiet", "--all", "--message=second")
    assert git.base_of(folder) == first


def test_a_folder_of_a_commit_is_exported_and_an_absent_one_is_empty(checkout, tmp_path_factory):
    folder, _ = checkout
    into = tmp_path_factory.mktemp("export")
    assert (git.export(folder, "HEAD", folder, into) / "file").read_text(encoding="utf-8") == "one"
    assert list(git.export(folder, "HEAD", folder / "below", into).iterdir()) == []
    assert git.knows(folder, "HEAD", folder / "file")
    assert not git.knows(folder, "HEAD", folder / "below")
    assert not git.knows(folder, "HEAD", folder.parent)


def test_a_failure_has_the_last_line_of_git(tmp_path, monkeypatch):
    with pytest.raises(RevisionError, match=r"git rev-parse: fatal: not a git repository"):
        git.top_of(tmp_path)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RevisionError, match="git cannot be run: No such file"):
        git.top_of(tmp_path)
