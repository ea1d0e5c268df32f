"""The suite: configured folders, the registry, every golden file, and the closed world that they must cover."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_rooflint.golden import kinds
from pytest_rooflint.golden import read as golden
from pytest_rooflint.golden.claim import MEASURED, Claim
from pytest_rooflint.golden.kinds import ClaimError, article
from pytest_rooflint.golden.schema import Golden
from rooflint.base import strict_yaml
from rooflint.base.errors import InputError, Problem, shown
from rooflint.coefficients.library import Coefficients
from rooflint.cost.tables import Grid, Prices
from rooflint.hardware.device import Hardware
from rooflint.hardware.registry import PACKAGED, Registry
from rooflint_calibration.package import PUBLISHED

if TYPE_CHECKING:
    from pytest_rooflint.golden.replay import Assumed
    from rooflint.workloads.workload import Workload


@dataclass(frozen=True)
class Suite:
    """The golden files and specs of some folders, with all that claims are judged against."""

    golden_roots: tuple[Path, ...]
    spec_roots: tuple[Path, ...] = (PACKAGED,)
    registry: Registry = field(default_factory=Registry)
    options: tuple[str, ...] = ()
    """Command-line options that a rerun needs."""
    texts: Mapping[Path, str] = field(default_factory=dict, repr=False)
    """Texts to read in place of some files."""
    visited: set[Path] = field(default_factory=set, repr=False)
    """Golden files that pytest has collected."""
    _read: dict[Path, Golden | InputError] = field(default_factory=dict, repr=False)
    _assumed: "dict[Path, Mapping[str, Assumed]]" = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, golden_roots: Iterable[Path], spec_roots: Iterable[Path], options: Iterable[str] = ()) -> "Suite":
        """The suite of some golden and specs folders; the packaged specs where none are given."""
        roots = tuple(spec_roots) or (PACKAGED,)
        return cls(tuple(golden_roots), roots, Registry.of(roots), tuple(options))

    def with_text(self, file: Path, text: str) -> "Suite":
        """The same suite with another text in place of one golden or spec file."""
        texts = {**self.texts, file: text}
        kept = {other: found for other, found in self._read.items() if other != file}
        registry = self.registry if self.owns(file) else self.registry.with_texts(texts)
        return replace(self, texts=texts, registry=registry, _read=kept, _assumed={})

    def text(self, file: Path) -> str:
        """The text of a golden or spec file in this suite. Raises InputError where it cannot be read."""
        return self.texts[file] if file in self.texts else strict_yaml.read_text(file)

    # ---- golden files

    def owns(self, file: Path) -> bool:
        """Whether a file is a golden file of this suite; published tables are not."""
        return file.suffix in (".yaml", ".yml") and any(
            file.is_relative_to(root) and not file.is_relative_to(root / PUBLISHED) for root in self.golden_roots
        )

    def read(self, file: Path) -> Golden:
        """Read a golden file, once. Raises the same InputError each time."""
        if file not in self._read:
            try:
                self._read[file] = golden.load(file, self.texts.get(file))
            except InputError as error:
                self._read[file] = error
        found = self._read[file]
        if isinstance(found, InputError):
            raise found
        return found

    @cached_property
    def files(self) -> tuple[Path, ...]:
        """Paths of all golden files, sorted."""
        found = (file for root in self.golden_roots for file in (*root.rglob("*.yaml"), *root.rglob("*.yml")))
        return tuple(sorted(file for file in found if self.owns(file)))

    def goldens(self) -> Iterator[Golden]:
        """All valid golden files."""
        for file in self.files:
            try:
                yield self.read(file)
            except InputError:
                continue

    def claims(self) -> tuple[Claim, ...]:
        """Every claim of every valid golden file."""
        return tuple(claim for one in self.goldens() for claim in one.claims)

    # ---- what kinds of claims ask for

    def device(self, claim: Claim, name: str | None = None) -> Hardware:
        """The device of a claim, or another that it names, at its operating point; else its architecture."""
        if name is None and claim.hardware is None:
            if claim.architecture is None:
                raise ClaimError(f"{article(claim.kind)} claim needs 'hardware:' at the top of the file")
            return self.registry.architecture(claim.architecture).as_hardware()
        device, _, named = (name or str(claim.hardware)).partition("@")
        hardware = self.registry.get(device)
        mode = named or claim.mode_of(device)
        return hardware.at(mode) if mode else hardware

    def workload(self, claim: Claim) -> "Workload":
        """The workload of a claim."""
        from pytest_rooflint.golden import workloads  # noqa: PLC0415  # NumPy, which most claims do without

        return workloads.build(claim.workload, self.spec_roots)

    def assumed(self, claim: Claim) -> "Mapping[str, Assumed]":
        """The assumptions of a replay by label."""
        if claim.file not in self._assumed:
            from pytest_rooflint.golden.replay import assume  # noqa: PLC0415  # NumPy, as above

            self._assumed[claim.file] = assume(self.read(claim.file), self.registry)
        return self._assumed[claim.file]

    # ---- the closed world

    def world_problems(self) -> list[Problem]:
        """What the suite as a whole lacks, over all configured folders, whatever this run selected."""
        claims = self.claims()
        if not claims:
            roots = ", ".join(map(shown, self.golden_roots)) or "no folder"
            return [
                Problem(
                    self.golden_roots[0] if self.golden_roots else Path.cwd(), 1, f"no claim was found below {roots}"
                )
            ]
        try:
            problems = dict.fromkeys(
                (
                    *self._root_problems(),
                    *self._spec_problems(),
                    *self._unclaimed(claims),
                    *self._recording_problems(claims),
                    *self._published_problems(claims),
                )
            )
        except InputError as error:  # a file name that is not an id hides the others
            return [*error.problems, *_doubles(claims)]
        return [*problems, *_doubles(claims)]

    def _root_problems(self) -> Iterator[Problem]:
        """Folders without devices, files that are not read, ids that two folders define."""
        seen: dict[str, Path] = {}
        for root in self.spec_roots:
            ids = self.registry.ids(root)
            if not ids:
                yield Problem(root, 1, "a configured specs folder must have a device below hardware/")
            for device in ids:
                if device in seen:
                    yield Problem(self.registry.files[device], 1, f"{device} is also defined in {shown(seen[device])}")
                seen.setdefault(device, root)
            yield from _broken_workloads(root / "workloads")
        for root in self.golden_roots:
            for file in sorted(root.rglob("*")):
                if file.is_file() and not _is_readable(file.relative_to(root)):
                    yield Problem(file, 1, "not a .yaml file; files in a golden folder must be golden files")

    def _recording_problems(self, claims: Iterable[Claim]) -> Iterator[Problem]:
        """Recordings that cannot be read, of an unknown device, or without a claim."""
        if any((root / MEASURED).is_dir() for root in self.golden_roots):
            from pytest_rooflint.recordings import files as world  # noqa: PLC0415  # NumPy, as above

            yield from world.problems(self.golden_roots, self.registry, claims)

    def _published_problems(self, claims: Iterable[Claim]) -> Iterator[Problem]:
        """Published tables that cannot be read, of an unknown device, or without a claim."""
        if any((root / PUBLISHED).is_dir() for root in self.golden_roots):
            from pytest_rooflint.recordings.files import table_problems  # noqa: PLC0415  # NumPy, as above

            yield from table_problems(self.golden_roots, self.registry, claims)

    def _spec_problems(self) -> Iterator[Problem]:
        """Invalid spec files of the configured folders: devices, coefficients, prices, grid carbon."""
        own = tuple(root.resolve() for root in self.spec_roots)
        architectures = [name for name, file in self.registry.architecture_files.items() if _below(file, own)]
        for name, read in (
            *((name, self.registry.architecture) for name in architectures),
            *((device, self.registry.get) for device in self._configured()),
        ):
            try:
                read(name)
            except InputError as error:
                yield from error.problems
        for kind in (Coefficients(self.registry), Prices(self.registry), Grid(self.registry)):
            for file in (file for root in self.spec_roots for file in kind.files(root)):
                try:
                    kind.check(file)
                except InputError as error:
                    yield from error.problems

    def unvisited(self, root: Path) -> list[Problem]:
        """Golden files of a folder that pytest did not collect: in skipped folders, behind links, ignored."""
        missed = [
            file for file in self.files if file.is_relative_to(root.resolve()) and file.resolve() not in self.visited
        ]
        return [
            Problem(file, 1, "not collected by pytest, so its claims were not judged; see norecursedirs, --ignore")
            for file in missed
        ]

    def devices(self) -> list[str]:
        """Ids of the devices in the configured folders; none where a file name is not an id."""
        try:
            return self._configured()
        except InputError:
            return []

    def _configured(self) -> list[str]:
        return sorted({device for root in self.spec_roots for device in self.registry.ids(root)})

    def _unclaimed(self, claims: Iterable[Claim]) -> Iterator[Problem]:
        claimed = {claim.hardware for claim in claims if _checks(claim)}
        for device in self._configured():
            if device not in claimed:
                yield Problem(
                    self.registry.files[device],
                    1,
                    f"{device} has no claim in any golden file; add one, or its spec is never tested",
                )


def _is_readable(file: Path) -> bool:
    """Whether a file belongs in a golden folder: YAML, Python, Markdown, recordings; hidden files are ignored."""
    hidden = any(part.startswith(".") or part == "__pycache__" for part in file.parts)
    recording = file.suffix == ".json" and file.parts[0] == MEASURED and len(file.parts) > 2
    return hidden or recording or file.suffix in (".yaml", ".yml", ".md", ".py")


def _broken_workloads(folder: Path) -> Iterator[Problem]:
    from rooflint.workloads import tables  # noqa: PLC0415  # NumPy, as above

    for file in sorted(folder.rglob("*.yaml")):
        try:
            tables.read_table(file)
        except InputError as error:
            yield from error.problems


def _checks(claim: Claim) -> bool:
    """Whether a claim tests its device: not a replay, excused or undisclosed, and of a kind that asks the device."""
    excused = claim.is_replay or claim.xfail is not None or claim.undisclosed
    return not excused and "hardware" in kinds.kind(claim.kind).scopes


def _below(file: Path, roots: tuple[Path, ...]) -> bool:
    return any(file.resolve().is_relative_to(root) for root in roots)


def _doubles(claims: Iterable[Claim]) -> Iterator[Problem]:
    """Claims that stand in two files with the same source."""
    first: dict[tuple[str | None, ...], Claim] = {}
    for claim in claims:
        about = claim.hardware or claim.architecture or json.dumps(claim.workload)
        if claim.is_replay:
            continue
        key = (about, claim.id, claim.source.document if claim.source else None, str(claim.workload))
        other = first.setdefault(key, claim)
        if other.file != claim.file:
            yield Problem(
                claim.file,
                claim.line,
                f"'{claim.id}' of {about} is claimed twice from the same document (also "
                f"{shown(other.file)}:{other.line}); keep one",
            )
