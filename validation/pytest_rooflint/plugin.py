"""The pytest plugin's entry: sleeps in other people's runs, imports next to nothing until it is wanted.

It wakes where the ini option `rooflint_golden` is set, and collects only below the folders that it names.
"""

from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options and ini values."""
    parser.addini("rooflint_golden", "folders with golden YAML files; without it rooflint does nothing", type="paths")
    parser.addini(
        "rooflint_specs",
        "folders with hardware/, architectures/, workloads/; the packaged specs unless set",
        type="paths",
    )
    parser.addini("rooflint_mutation_floor", "mutation score below which 'rooflint mutate' is red, in per cent")
    group = parser.getgroup("rooflint", "golden expectations of hardware performance models")
    group.addoption("--rooflint-evidence", metavar="FILE", help="write the evidence of this run as JSON")
    group.addoption(
        "--rooflint-propose",
        metavar="FILE.patch",
        nargs="?",
        const="",
        help="write what would turn red claims green as a patch, rooflint.patch at the root; the run stays red",
    )
    group.addoption("--rooflint-only", action="store_true", help="run the golden suite, unless files or ids are named")
    group.addoption(
        "--rooflint-golden", metavar="DIR", action="append", default=[], help="golden folder instead of the ini value"
    )
    group.addoption(
        "--rooflint-specs", metavar="DIR", action="append", default=[], help="specs folder instead of the ini value"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Wake up, where somebody asked for it."""
    golden = _folders(config, "rooflint_golden")
    only = config.getoption("--rooflint-only")
    if not golden:
        if only:
            raise pytest.UsageError(
                "no golden folder: set rooflint_golden in pytest's configuration, or pass --golden DIR"
            )
        return
    if only and config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = [str(folder) for folder in golden]
    _check_patch(config.getoption("--rooflint-propose"))
    from pytest_rooflint.session.run import Run  # noqa: PLC0415  # a run without goldens pays for nothing

    config.pluginmanager.register(Run(config, golden, _folders(config, "rooflint_specs")), "rooflint-run")


def _check_patch(name: str | None) -> None:
    """A folder that follows the bare option would be taken for its file."""
    if name and not name.endswith((".patch", ".diff")):
        raise pytest.UsageError(
            f"--rooflint-propose: want a file that ends in .patch, found '{name}'; write --rooflint-propose=FILE.patch"
        )


def _folders(config: pytest.Config, name: str) -> list[Path]:
    given: list[Any] = config.getoption(f"--{name.replace('_', '-')}") or config.getini(name)
    return [Path(config.invocation_params.dir, folder).resolve() for folder in given]
