"""Entry point of the pytest plugin: inactive, and importing next to nothing, until folders are configured.

It is active where the ini option `rooflint_golden` is set, and collects only below the folders named there. Where only
`rooflint_specs` is set, what can be checked of specs alone is one item.
"""

import os
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add command-line options and ini values."""
    parser.addini("rooflint_golden", "folders with golden YAML files", type="paths")
    parser.addini(
        "rooflint_specs",
        "folders with hardware/, architectures/, workloads/; the packaged specs by default",
        type="paths",
    )
    parser.addini("rooflint_mutation_floor", "mutation score below which 'rooflint mutate' fails, in percent")
    parser.addini("rooflint_mutation_independent_floor", "the same for what independent sources kill, in percent")
    parser.addini("rooflint_unguarded_ceiling", "figures that may have no claim and no stated reason")
    parser.addini("rooflint_watch", "predictions to show after each run", type="linelist")
    group = parser.getgroup("rooflint", "validation of hardware performance models")
    group.addoption("--rooflint-evidence", metavar="FILE", help="write the evidence of this run to FILE as JSON")
    group.addoption(
        "--rooflint-propose",
        metavar="FILE.patch",
        nargs="?",
        const="",
        help="write repairs of the failures as a patch, by default rooflint.patch at the root; the run still fails",
    )
    group.addoption(
        "--rooflint-store",
        metavar="DIR",
        help="judge claims first whose files changed since the last run; DIR keeps what is needed to tell",
    )
    group.addoption(
        "--rooflint-compared",
        action="store_true",
        help="leave annotations on GitHub and watched predictions to the comparison with a base that follows",
    )
    group.addoption("--rooflint-only", action="store_true", help="run only the golden suite, unless files are named")
    group.addoption(
        "--rooflint-golden", metavar="DIR", action="append", default=[], help="golden folder, overrides the ini value"
    )
    group.addoption(
        "--rooflint-specs", metavar="DIR", action="append", default=[], help="specs folder, overrides the ini value"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the run where golden or specs folders are configured, or asked for."""
    golden, specs = _folders(config, "rooflint_golden"), _folders(config, "rooflint_specs")
    if golden or specs or config.getoption("--rooflint-only"):
        from pytest_rooflint.session import start  # noqa: PLC0415  # the inactive plugin must import next to nothing

        start.register(config, golden, _real(config, config.getini("rooflint_golden")), specs)


def _folders(config: pytest.Config, name: str) -> list[Path]:
    return _real(config, config.getoption(f"--{name.replace('_', '-')}") or config.getini(name))


def _real(config: pytest.Config, folders: list[Any]) -> list[Path]:
    return [Path(os.path.realpath(Path(config.invocation_params.dir, folder))) for folder in folders]
