"""Specs without a golden folder: what can be checked of them alone, as one item for each specs folder.

That is their form, their sources and the laws that hold for every device. No figure is compared with what a document
prints, which the summary says.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_rooflint.suite.suite import Suite
from rooflint.base.errors import listed
from rooflint.base.text import counted, sanitized, wrapped


class WrongSpecs(Exception):  # noqa: N818  # it is a verdict, not an error
    """Specs that cannot be right; its text is the whole message."""


class SpecsFolder(pytest.Directory):
    """A configured specs folder."""

    def collect(self) -> Iterator[pytest.Item]:
        """One item."""
        yield SpecsItem.from_parent(self, name="specs")


class SpecsItem(pytest.Item):
    """Test of the specs of a folder."""

    def runtest(self) -> None:
        """Fail if something is wrong with the specs."""
        from pytest_rooflint.suite import world  # noqa: PLC0415  # NumPy, which a run of other tests does without

        alone = self.config.pluginmanager.getplugin(NAME)
        below = Path(os.path.realpath(self.path))
        if wrong := [one for one in world.of_specs(alone.suite) if one.file.is_relative_to(below)]:
            raise WrongSpecs(listed(wrong))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """One line per problem."""
        if isinstance(excinfo.value, WrongSpecs):
            return sanitized(str(excinfo.value))
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """The folder itself."""
        return self.path, 0, self.name


NAME = "rooflint-specs-alone"
"""Name of the plugin."""


class SpecsAlone:
    """The plugin where specs folders are configured and no golden folder is."""

    def __init__(self, specs: list[Path]) -> None:
        for folder in specs:
            if not folder.is_dir():
                raise pytest.UsageError(f"rooflint_specs: want a folder, found nothing at {folder}")
        self.suite = Suite.of((), specs)
        self.is_checked = False

    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect a specs folder."""
        real = Path(os.path.realpath(path))
        return SpecsFolder.from_parent(parent, path=path) if real in self.suite.spec_roots else None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note that specs were checked, in the process that prints the summary."""
        self.is_checked = self.is_checked or report.nodeid.endswith("::specs")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what was not checked, and how it would be."""
        if self.is_checked:
            devices = counted(len(self.suite.devices()), "device")
            text = (
                f"specs of {devices}: form, sources and laws were checked, but no figure was compared with a document. "
                "To compare figures, write golden/NAME.yaml (hardware, source, claims), "
                'and rooflint_golden = ["golden"] beside rooflint_specs'
            )
            terminalreporter.write_line(wrapped(text, "", 2))
