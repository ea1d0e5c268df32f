"""Start of a run: what is refused before it, and the plugin that judges it."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_rooflint.session.alone import NAME, SpecsAlone
from pytest_rooflint.session.run import Run
from pytest_rooflint.suite.store import EVIDENCE
from rooflint.base.files import is_replaceable
from rooflint.base.project import NO_GOLDEN, golden_folders


def register(config: pytest.Config, golden: list[Path], configured: list[Path], specs: list[Path]) -> None:
    """Register what judges the golden folders, or else the specs alone. Raises UsageError.

    Args:
        config: of pytest.
        golden: golden folders of the option, or else of the ini value.
        configured: golden folders of the ini value, of which the option may name a part.
        specs: folders of the option, or else of the ini value.
    """
    if not (golden or specs):
        raise pytest.UsageError(NO_GOLDEN)
    if not golden:
        _collect_only(config, specs)
        config.pluginmanager.register(SpecsAlone(specs), NAME)
        return
    roots, part = golden_folders(golden if config.getoption("--rooflint-golden") else [], configured)
    _collect_only(config, part or roots)
    _check_patch(config.getoption("--rooflint-propose"))
    _check_evidence(config)
    config.pluginmanager.register(Run(config, roots, part, specs), "rooflint-run")


def _collect_only(config: pytest.Config, folders: Sequence[Path]) -> None:
    if config.getoption("--rooflint-only") and config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = [str(folder) for folder in folders]


def _check_patch(name: str | None) -> None:
    """Refuse a folder after the bare option, which pytest takes for the option's file."""
    if name and not name.endswith((".patch", ".diff")):
        raise pytest.UsageError(
            f"--rooflint-propose: want a file that ends in .patch, found '{name}'; write --rooflint-propose=FILE.patch"
        )


def _check_evidence(config: pytest.Config) -> None:
    """Refuse to replace a file that is not the evidence of an earlier run."""
    name = config.getoption("--rooflint-evidence")
    if name and not is_replaceable(Path(config.invocation_params.dir, name), EVIDENCE):
        raise pytest.UsageError(f"--rooflint-evidence: {name} is not evidence and is not replaced; name another file")
