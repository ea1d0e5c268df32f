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


# ---- what to type for a revision that is not here


@pytest.fixture
def clone(checkout, tmp_path_factory):
    """`clone("--depth=1")`: a clone of a repository with two commits, and `run` in it."""
    origin, run = checkout
    (origin / "file").write_text("two", encoding="utf-8")
    run("commit", "--quiet", "--all", "--message=second")

    def cloned(*options):
        folder = tmp_path_factory.mktemp("clone") / "here"
        run("clone", "--quiet", *options, f"file://{origin}", str(folder))
        return folder

    return cloned


@pytest.mark.slow
@pytest.mark.parametrize(
    ("revision", "command"),
    [
        ("main", "git fetch --depth=1 origin main:main"),
        ("origin/main", "git fetch --depth=1 origin main:refs/remotes/origin/main"),
        ("v1.2.0", "git fetch --depth=1 origin tag v1.2.0"),
        ("f" * 40, f"git fetch --depth=1 origin {'f' * 40}"),
        ("main~3", "git fetch --depth=1 origin main:main"),
    ],
)
def test_a_shallow_clone_is_told_what_to_fetch(revision, command, clone):
    assert git.to_fetch(clone("--depth=1"), revision) == command
    assert git.to_fetch(clone(), revision) == command.replace("--depth=1 ", "")


@pytest.mark.slow
@pytest.mark.parametrize(("revision", "depth"), [("HEAD^", 2), ("HEAD~3", 4), ("HEAD^^", 3), ("HEAD^1~2", 4)])
def test_an_ancestor_that_is_cut_off_is_a_matter_of_depth(revision, depth, clone):
    folder = clone("--depth=1")
    tip = git.commit_of(folder, "HEAD")
    assert git.to_fetch(folder, revision) == f"git fetch --depth={depth} origin {tip}"
    assert git.to_fetch(clone(), "HEAD~9") == ""  # the history is complete, and shorter than that


def test_what_is_told_brings_the_revision(clone, checkout):
    folder, (_, run) = clone("--depth=1"), checkout
    with pytest.raises(RevisionError):
        git.commit_of(folder, "HEAD^")
    command = git.to_fetch(folder, "HEAD^")
    subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    assert git.commit_of(folder, "HEAD^") == run("rev-parse", "HEAD^")


def test_without_a_remote_there_is_nothing_to_fetch(checkout):
    assert git.to_fetch(checkout[0], "main") == ""


def test_a_shallow_clone_that_does_not_reach_the_default_branch_is_told_to_be_deepened(clone, checkout):
    _, run = checkout
    run("checkout", "--quiet", "-b", "side", "HEAD^")
    run("commit", "--quiet", "--allow-empty", "--message=aside")
    run("checkout", "--quiet", "trunk")
    folder = clone("--depth=1", "--branch=side", "--no-single-branch")
    with pytest.raises(RevisionError, match="type: git fetch --unshallow"):
        git.base_of(folder)
