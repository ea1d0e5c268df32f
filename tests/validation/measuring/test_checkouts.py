"""Revisions side by side: what they hold, and that nothing of them stays."""

import subprocess

import pytest

from pytest_rooflint.measuring.checkouts import checkouts
from rooflint.base.errors import RooflintError


def git(root, *arguments: str) -> str:
    command = ["git", "-C", str(root), "-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    return subprocess.run([*command, *arguments], capture_output=True, encoding="utf-8", check=True).stdout.strip()


@pytest.fixture
def versions(repository):
    """A repository of two commits; the second has a folder more."""
    git(repository.root, "init", "-q", "-b", "main")
    repository.write("time.txt", "1.0")
    git(repository.root, "add", "-A")
    git(repository.root, "commit", "-q", "-m", "One")
    repository.write("time.txt", "1.1")
    repository.write("bench/new.txt", "here")
    git(repository.root, "add", "-A")
    git(repository.root, "commit", "-q", "-m", "Two")
    return repository


def worktrees(root) -> int:
    return git(root, "worktree", "list").count("\n") + 1


def test_each_revision_has_its_own_files_and_names_its_commit(versions):
    with checkouts(versions.root, ("HEAD~1", "main")) as (base, head):
        assert (base.folder / "time.txt").read_text(encoding="utf-8") == "1.0"
        assert (head.folder / "time.txt").read_text(encoding="utf-8") == "1.1"
        assert head.commit == git(versions.root, "rev-parse", "HEAD")
        assert len(str(base.folder)) == len(str(head.folder))
        assert worktrees(versions.root) == 3


@pytest.mark.parametrize("problem", [KeyboardInterrupt, RuntimeError, SystemExit])
def test_nothing_stays_whatever_happens(versions, problem):
    with pytest.raises(problem), checkouts(versions.root, ("HEAD~1", "HEAD")) as sides:
        (sides[0].folder / "left.txt").write_text("behind", encoding="utf-8")
        raise problem
    assert worktrees(versions.root) == 1
    assert not any(side.folder.exists() for side in sides)
    assert git(versions.root, "status", "--porcelain") == ""


def test_a_revision_may_stand_on_both_sides(versions):
    with checkouts(versions.root, ("HEAD", "HEAD")) as (base, head):
        assert base.commit == head.commit
        assert base.folder != head.folder


def test_a_revision_that_there_is_not_is_one_sentence_and_leaves_nothing(versions):
    with (
        pytest.raises(RooflintError, match="'nonsense' is not a revision of"),
        checkouts(versions.root, ("HEAD", "nonsense")),
    ):
        pass
    assert worktrees(versions.root) == 1


def test_the_command_runs_where_the_user_stands(versions):
    said = r"HEAD~1 has no folder bench; run this from one that both"
    with pytest.raises(RooflintError, match=said), checkouts(versions.root / "bench", ("HEAD~1", "HEAD")):
        pass
    assert worktrees(versions.root) == 1
    with checkouts(versions.root / "bench", ("HEAD", "HEAD")) as (base, _):
        assert (base.folder / "new.txt").is_file()


def test_outside_of_a_repository_is_one_sentence(tmp_path):
    with pytest.raises(RooflintError, match="rev-parse"), checkouts(tmp_path, ("a", "b")):
        pass
