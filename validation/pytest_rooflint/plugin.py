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
    """Register the run where golden folders are configured."""
    golden = _folders(config, "rooflint_golden")
    only = config.getoption("--rooflint-only")
    if not golden:
        if specs := _folders(config, "rooflint_specs"):
            _specs_alone(config, specs, only=only)
        elif only:
            from rooflint.base.project import NO_GOLDEN  # noqa: PLC0415  # the inactive plugin must import next to nothing

            raise pytest.UsageError(NO_GOLDEN)
        return
    from rooflint.base.project import golden_folders  # noqa: PLC0415  # the inactive plugin must import next to nothing

    given, named = config.getoption("--rooflint-golden"), _real(config, config.getini("rooflint_golden"))
    roots, part = golden_folders(golden if given else [], named)
    if only and config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = [str(folder) for folder in part or roots]
    _check_patch(config.getoption("--rooflint-propose"))
    _check_evidence(config)
    from pytest_rooflint.session.run import Run  # noqa: PLC0415

    config.pluginmanager.register(Run(config, roots, part, _folders(config, "rooflint_specs")), "rooflint-run")


def _specs_alone(config: pytest.Config, specs: list[Path], *, only: bool) -> None:
    """Register what checks specs without golden files."""
    from pytest_rooflint.session.alone import NAME, SpecsAlone  # noqa: PLC0415  # as above

    if only and config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = [str(folder) for folder in specs]
    config.pluginmanager.register(SpecsAlone(specs), NAME)


def _check_patch(name: str | None) -> None:
    """Refuse a folder after the bare option, which pytest takes for the option's file."""
    if name and not name.endswith((".patch", ".diff")):
        raise pytest.UsageError(
            f"--rooflint-propose: want a file that ends in .patch, found '{name}'; write --rooflint-propose=FILE.patch"
        )


def _check_evidence(config: pytest.Config) -> None:
    """Refuse to replace a file that is not the evidence of an earlier run."""
    from pytest_rooflint.suite.store import EVIDENCE  # noqa: PLC0415  # the inactive plugin must import next to nothing
    from rooflint.base.files import is_replaceable  # noqa: PLC0415

    name = config.getoption("--rooflint-evidence")
    if name and not is_replaceable(Path(config.invocation_params.dir, name), EVIDENCE):
        raise pytest.UsageError(f"--rooflint-evidence: {name} is not evidence and is not replaced; name another file")


def _folders(config: pytest.Config, name: str) -> list[Path]:
    return _real(config, config.getoption(f"--{name.replace('_', '-')}") or config.getini(name))


def _real(config: pytest.Config, folders: list[Any]) -> list[Path]:
    return [Path(os.path.realpath(Path(config.invocation_params.dir, folder))) for folder in folders]
