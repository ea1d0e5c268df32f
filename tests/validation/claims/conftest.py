"""Claims about acme/k1 of the parent's conftest.py, one at a time."""

import shutil

import pytest

from pytest_rooflint.golden import read
from pytest_rooflint.suite.judge import judge
from rooflint.base.errors import InputError
from rooflint.hardware.registry import PACKAGED


@pytest.fixture
def one(claims):
    """The verdict on a single claim."""
    return lambda line, **head: claims(line, **head)[0]


@pytest.fixture
def refusal(claims):
    """Why a file with that claim is refused."""

    def message(line, **head):
        with pytest.raises(InputError) as caught:
            claims(line, **head)
        return caught.value.problems[0].message

    return message


@pytest.fixture
def paths():
    """The paths of the facts behind a verdict."""
    return lambda verdict: {fact.path for fact in verdict.facts}


@pytest.fixture
def shipped(repository):
    """Verdicts on claims about copies of the shipped devices and coefficients."""
    for folder in ("hardware/nvidia", "architectures/nvidia", "process", "memory", "events"):
        shutil.copytree(PACKAGED / folder, repository.root / "specs" / folder)
    shutil.copy(PACKAGED / "circuits.yaml", repository.root / "specs" / "circuits.yaml")

    def verdict(line):
        repository.write(
            "golden/measured.yaml",
            f"source: {{document: Somebody's stopwatch, where: p. 1, grade: read}}\nclaims:\n  - {{{line}}}\n",
        )
        (found,) = repository.verdicts("golden/measured.yaml").values()
        return found

    repository.judge = verdict
    return repository


@pytest.fixture
def verdict(tmp_path, shipped_suite):
    """The verdict on one claim of the shipped devices."""

    def judged(line):
        file = tmp_path / "silicon.yaml"
        file.write_text(
            f"source: {{document: Some tables, where: all, grade: read}}\nclaims:\n  - {{{line}}}\n", encoding="utf-8"
        )
        (claim,) = read.load(file).claims
        return judge(claim, "", shipped_suite)

    return judged
