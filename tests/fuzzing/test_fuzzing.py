"""Fuzzing: broken files and command lines are refused in sentences, without a traceback, a hang or status 0.

`python -m tests.fuzzing recordings 100000 --seed 7` runs more inputs of one reader.
"""

import pytest

from rooflint.base.errors import RooflintError

from .commands import READ_BY, faults_of_broken_files, faults_of_processes, fill, run_lines
from .generator import SEED, Target
from .readers import NAMES, run_reader, targets

INPUTS = 1100
"""Of each reader: 20 000 of all, with the command lines."""
LINES = 300
PROCESSES = 5
"""Of each command that reads a file; three times as many of command lines."""


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


@pytest.mark.slow
@pytest.mark.parametrize("name", READ_BY)
def test_a_process_refuses_a_broken_file(name, tmp_path, monkeypatch):
    fill(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert faults_of_broken_files(name, PROCESSES, SEED) == []


@pytest.mark.slow
def test_a_process_refuses_a_broken_command_line(tmp_path, monkeypatch):
    fill(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert faults_of_processes(3 * PROCESSES, SEED) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_seeds_are_valid(readers, name):
    refused = []
    for seed in readers[name].seeds:
        try:
            readers[name].read(seed.encode())
        except RooflintError as error:
            refused.append(str(error))
    assert readers[name].seeds and refused == []
