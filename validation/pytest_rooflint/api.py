"""What the harness adds to the Python API: `rooflint.audit` and `rooflint.check`, by entry points."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_rooflint.audit import account
from pytest_rooflint.audit.auditor import Auditor
from pytest_rooflint.suite import world
from pytest_rooflint.suite.judge import Trial, judge
from pytest_rooflint.suite.suite import Suite
from pytest_rooflint.suite.verdict import Verdict, tally
from rooflint.api.devices import Specs, registry
from rooflint.api.predictions import Columns
from rooflint.base.errors import InputError, Problem, RooflintError
from rooflint.base.project import configured, golden_folders
from rooflint.output.answer import as_fragment
from rooflint.output.sections import Grid, Page


@dataclass(frozen=True)
class Findings(Sequence[account.Finding]):
    """What an audit found, one finding a figure; `print(f)` is `rooflint audit`."""

    findings: tuple[account.Finding, ...]

    def __getitem__(self, index: Any) -> Any:
        return self.findings[index]

    def __len__(self) -> int:
        return len(self.findings)

    @property
    def wrong(self) -> tuple[account.Finding, ...]:
        """Figures that are wrong."""
        return tuple(one for one in self.findings if one.is_wrong)

    def to_pandas(self) -> Any:
        """One row a figure, right ones too. Raises RooflintError where pandas is not installed."""
        return Columns.of(account.as_table(self.findings, everything=True)).to_pandas()

    def __repr__(self) -> str:
        return f"<Findings: {account.sentence(self.findings)}>"

    def __str__(self) -> str:
        return account.as_text(self.findings).rstrip("\n")

    def _repr_html_(self) -> str:
        table = account.as_table(self.findings)
        return as_fragment(Page("Audit", account.sentence(self.findings), (Grid("", table),)))


def audit(*tables: Path | str, columns: Mapping[str, str] | None = None, specs: Specs = None) -> Findings:
    """Check tables of published figures against the specs.

    Args:
        tables: CSV, TSV, Markdown, HTML, Excel, JSON or YAML files, or Python source, which is read and not run.
        columns: what a column means, where its name does not say: `{"Dense": "peak bf16 TFLOP/s"}`.
        specs: folders of specs, in front of the packaged ones.

    Raises RooflintError without a file, and for one that is missing or cannot be read as a table.
    """
    auditor = Auditor(registry(specs), tuple(configured("rooflint_golden")), dict(columns or {}))
    files = [Path(table) for table in tables]
    if not files:
        raise RooflintError("want at least one table, found none")
    for file in files:
        if not file.is_file():
            raise RooflintError(f"{file}: want a table (.csv, .tsv, .md, .json, .yaml) or Python source, found no file")
    return Findings(tuple(finding for file in files for finding in auditor.audit(file)))


@dataclass(frozen=True)
class Verdicts(Sequence[Verdict]):
    """The verdicts on golden files, one a claim; `print(v)` is what pytest says of the failures."""

    verdicts: tuple[Verdict, ...]
    problems: tuple[Problem, ...] = ()
    """Files that cannot be read, devices without a claim, and whatever else is wrong before a claim is judged."""

    def __getitem__(self, index: Any) -> Any:
        return self.verdicts[index]

    def __len__(self) -> int:
        return len(self.verdicts)

    @property
    def failures(self) -> tuple[Verdict, ...]:
        """Claims that fail."""
        return tuple(one for one in self.verdicts if one.outcome == "fail")

    @property
    def ok(self) -> bool:
        """Whether nothing fails and there is no problem."""
        return not self.failures and not self.problems

    @property
    def counts(self) -> dict[str, int]:
        """Claims by outcome: pass, fail, xfail, undisclosed and so on."""
        return dict(Counter(one.outcome for one in self.verdicts))

    def __repr__(self) -> str:
        return f"<Verdicts: {tally(self.verdicts)}>"

    def __str__(self) -> str:
        shown = [*(one.text() for one in self.failures), *map(str, self.problems), tally(self.verdicts)]
        return "\n\n".join(shown)


def check(*golden: Path | str, specs: Specs = None) -> Verdicts:
    """Judge golden files as `pytest` does.

    Args:
        golden: folders of golden files, or single files; the project's own folders if none is given.
        specs: folders of specs, in front of the packaged ones.

    Raises RooflintError where there is no such file or folder, for a file that is not YAML, and where no project names
    a folder.
    """
    named, places = configured("rooflint_golden"), [Path(place).resolve() for place in golden]
    if not places and not named:
        raise RooflintError("want a folder of golden files, or a pyproject.toml with rooflint_golden")
    for place in places:
        if not place.exists():
            raise RooflintError(f"{place}: no such file or folder")
    files = {place for place in places if place.is_file()}
    roots, part = golden_folders(places, [folder.resolve() for folder in named]) if places else (named, ())
    folders = configured("rooflint_specs") if specs is None else map(Path, specs)
    suite = Suite.of(dict.fromkeys(root.parent if root in files else root for root in roots), folders, part=part)
    for file in files.difference(suite.files):
        raise RooflintError(f"{file}: not a golden file (.yaml, .yml)")
    problems: list[Problem] = [] if files else world.problems(suite)
    trial = Trial(suite)
    verdicts = tuple(
        judge(claim, f"{claim.file}::{claim.id}", suite, trial=trial) for claim in _claims(suite, files, problems)
    )
    return Verdicts(verdicts, tuple(problems))


def _claims(suite: Suite, files: set[Path], problems: list[Problem]) -> Iterator[Any]:
    for file in suite.files:
        if not files or file in files:
            try:
                yield from suite.read(file).claims
            except InputError as error:
                problems += error.problems
