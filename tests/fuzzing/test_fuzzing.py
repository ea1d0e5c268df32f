"""Fuzzing: broken files and command lines are refused in sentences, without a traceback, a hang or status 0.

`python -m tests.fuzzing recordings 100000 --seed 7` runs more inputs of one reader.
"""

import pytest

from rooflint.base.errors import RooflintError

from .commands import fill, run_lines
from .generator import SEED, Target
from .readers import NAMES, run_reader, targets

INPUTS = 1100
"""Of each reader: 20 000 of all, with the command lines."""
LINES = 300


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Target]:
    return targets(tmp_path_factory.mktemp("fuzz"))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_what_a_reader_cannot_use_it_refuses_in_sentences(readers, name):
    assert run_reader(readers[name], INPUTS, SEED).faults == {}


@pytest.mark.slow
def test_what_a_command_cannot_use_it_refuses_in_sentences(tmp_path, monkeypatch):
    fill(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert run_lines(LINES, SEED).faults == {}


@pytest.mark.parametrize("name", NAMES)
def test_the_seeds_are_valid(readers, name):
    refused = []
    for seed in readers[name].seeds:
        try:
            readers[name].read(seed.encode())
        except RooflintError as error:
            refused.append(str(error))
    assert readers[name].seeds and refused == []
