"""Runs console scripts in processes forked from this one, which has imported what they import.

Each line on standard input is a JSON object that asks for one script; its exit status is the answer on standard output.
"""

import json
import os
import runpy
import signal
import sys
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

from _pytest.assertion.rewrite import AssertionRewritingHook

from pytest_rooflint.cli import check
from pytest_rooflint.golden import kinds
from rooflint.cli.main import COMMANDS

MODULES = ("pytest_rooflint.evidence.build", "pytest_rooflint.session.run")
LONGEST_S = 300
"""A script that takes longer hangs, on the slowest machine, and is killed."""


def load() -> None:
    """Import commands, kinds of claims and plugins of pytest, which would say that it cannot rewrite those."""
    for module in {*MODULES, *(module for module, _ in COMMANDS.values())}:
        import_module(module)
    for name in kinds.names():
        kinds.kind(name)
    for plugin in entry_points(group="pytest11"):
        plugin.load()
    AssertionRewritingHook._warn_already_imported = lambda *_: None
    check._run = run_module


def run_module(module: str, *arguments: str) -> int:
    """Exit status of `python -m`, as `rooflint check` runs it."""
    sys.stdout.flush()
    if child := os.fork():
        return status_of(child)
    become("-m", module, *arguments)
    sys.exit()


def run(command: list[str], cwd: str, env: dict[str, str], out: str, err: str) -> None:
    """Do in this process what Python does with these words, there and with that environment."""
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, file in enumerate((out, err), start=1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    signal.alarm(LONGEST_S)
    become(*command)


def become(name: str, *arguments: str) -> None:
    """Run a script, or a module behind `-m`, as the main one."""
    if name == "-m":
        sys.argv = list(arguments)
        sys.path.insert(0, str(Path.cwd()))
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = [name, *arguments]
        sys.path.insert(0, str(Path(name).parent))
        runpy.run_path(name, run_name="__main__")


def status_of(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main() -> None:
    load()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            run(**json.loads(line))
            return
        print(status_of(child), flush=True)


if __name__ == "__main__":
    main()
