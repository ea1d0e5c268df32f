"""Runs that propose repairs: a patch that git applies, or none with the reason."""

import re
import subprocess

import pytest

PATCH = "rooflint.patch"


@pytest.fixture
def git():
    """`git(root, "apply", …)`: the finished process."""

    def run(root, *arguments):
        command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments]
        return subprocess.run(command, cwd=root, capture_output=True, encoding="utf-8", check=False)

    return run


@pytest.fixture
def mend(tiny, git):
    """Run with proposals, apply the patch with git, run again: (first run, patch, second run)."""

    def fixed(*arguments):
        first = tiny.run(*arguments, "--rooflint-propose")
        patch = tiny.read(PATCH)
        assert git(tiny.root, "apply", "--check", PATCH).stderr == ""
        assert git(tiny.root, "apply", PATCH).returncode == 0
        (tiny.root / PATCH).unlink()
        return first, patch, tiny.run()

    return fixed


@pytest.fixture
def refused(tiny):
    """What a run says of a claim for which it proposes nothing; nothing is written."""

    def message(*arguments):
        result = tiny.run(*arguments, "--rooflint-propose")
        assert result.ret == 1
        assert not (tiny.root / PATCH).exists()
        text = result.stdout.str()
        assert "nothing to propose, so no patch was written" in text
        return " ".join(line for line in text.splitlines() if line.startswith("no proposal for"))

    return message


@pytest.fixture
def changed():
    """Lines that a patch takes away and adds."""

    def lines_of(patch):
        lines = patch.splitlines()
        return [line for line in lines if re.match(r"[-+](?!--|\+\+)", line)]

    return lines_of
