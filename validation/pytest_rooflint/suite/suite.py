"""The suite: configured folders, the registry, and every golden file."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_rooflint.golden.kinds import Claim, ClaimError, Golden
from pytest_rooflint.golden.read import is_valid, load
from rooflint.base.errors import InputError, RooflintError
from rooflint.base.files import read_text
from rooflint.base.parsed import Parsed
from rooflint.base.project import NO_GOLDEN, configured, golden_folders
from rooflint.base.text import article
from rooflint.hardware.device import Hardware
from rooflint.hardware.names import system_of
from rooflint.hardware.registry import Registry
from rooflint.hardware.system import System
from rooflint_calibration.package import PUBLISHED

if TYPE_CHECKING:
    from rooflint.workloads.workload import Workload


@dataclass(frozen=True)
class Suite:
    """The golden files and specs of some folders, with all that claims are judged against."""

    golden_roots: tuple[Path, ...]
    spec_roots: tuple[Path, ...] = ()
    """The folders of the user's own specs, which golden files must cover; the packaged ones are there besides."""
    registry: Registry = field(default_factory=Registry)
    options: tuple[str, ...] = ()
    """Command-line options that a rerun needs."""
    part: tuple[Path, ...] = ()
    """Folders within the golden folders whose files alone are judged; everything where none are named."""
    texts: Mapping[Path, str] = field(default_factory=dict, repr=False)
    """Texts to read in place of some files."""
    visited: set[Path] = field(default_factory=set, repr=False)
    """Golden files that pytest has collected."""
    _read: dict[Path, Golden | InputError] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        golden_roots: Iterable[Path],
        spec_roots: Iterable[Path],
        options: Iterable[str] = (),
        parsed: Parsed | None = None,
        part: Iterable[Path] = (),
    ) -> "Suite":
        """The suite of some golden and specs folders, over the packaged specs."""
        roots = tuple(spec_roots)
        return cls(tuple(golden_roots), roots, Registry.of(roots, parsed), tuple(options), tuple(part))

    @classmethod
    def of_project(
        cls, golden: Sequence[Path] | None = None, specs: Sequence[Path] | None = None, parsed: Parsed | None = None
    ) -> "Suite":
        """The suite of some folders; of those that the project names where none are given.

        Of golden folders within those of the project, only the claims are theirs. Raises RooflintError where the
        project names no golden folder.
        """
        roots, part = golden_folders([folder.resolve() for folder in golden or ()], _resolved("rooflint_golden"))
        if not roots:
            raise RooflintError(NO_GOLDEN)
        options = [f"--rooflint-golden={folder}" for folder in (() if part else golden or ())]
        options += [f"--rooflint-specs={folder}" for folder in specs or ()]
        own = [folder.resolve() for folder in specs or ()] or _resolved("rooflint_specs")
        return cls.of(roots, own, options, parsed, part)

    def with_text(self, file: Path, text: str) -> "Suite":
        """The same suite with another text in place of one golden or spec file."""
        texts = {**self.texts, file: text}
        kept = {other: found for other, found in self._read.items() if other != file}
        registry = self.registry if self.owns(file) else self.registry.with_texts(texts)
        return replace(self, texts=texts, registry=registry, _read=kept)

    def reread(self, changed: Collection[Path]) -> "Suite":
        """The same suite with these golden and spec files read again; golden files may be new or gone."""
        kept = {other: found for other, found in self._read.items() if other not in changed}
        return replace(self, registry=self.registry.reread(changed), _read=kept)

    def over(self, registry: Registry) -> "Suite":
        """The same suite on another registry with the same files."""
        twin = replace(self, registry=registry)
        if "files" in self.__dict__:
            twin.__dict__.update(files=self.files)
        return twin

    def text(self, file: Path) -> str:
        """The text of a golden or spec file in this suite. Raises InputError where it cannot be read."""
        return self.texts[file] if file in self.texts else read_text(file)

    # ---- golden files

    def owns(self, file: Path) -> bool:
        """Whether a file is a golden file of this suite; published tables are not."""
        return (
            file.suffix in (".yaml", ".yml")
            and any(
                file.is_relative_to(root) and not file.is_relative_to(root / PUBLISHED) for root in self.golden_roots
            )
            and (not self.part or any(map(file.is_relative_to, self.part)))
        )

    def read(self, file: Path) -> Golden:
        """Read a golden file, once. Raises the same InputError each time."""
        if file not in self._read:
            try:
                self._read[file] = self._load(file)
            except InputError as error:
                self._read[file] = error
        found = self._read[file]
        if isinstance(found, InputError):
            raise found
        return found

    def _load(self, file: Path) -> Golden:
        parsed = self.registry.source.parsed
        if parsed is None or file in self.texts:
            return load(file, self.texts.get(file))
        text = read_text(file)
        return parsed.of(file, text, lambda: load(file, text), is_valid)

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

    def is_own(self, file: Path) -> bool:
        """Whether a spec file lies in the configured folders, where the user can change it."""
        return any(map(file.resolve().is_relative_to, self._own_roots))

    @cached_property
    def _own_roots(self) -> tuple[Path, ...]:
        return tuple(root.resolve() for root in self.spec_roots)

    def devices(self) -> list[str]:
        """Ids of the devices in the configured folders; none where a file name is not an id."""
        try:
            return sorted({device for root in self.spec_roots for device in self.registry.ids(root)})
        except InputError:
            return []

    def systems(self) -> list[str]:
        """Ids of the systems in the configured folders; none where a file name is not an id."""
        try:
            return sorted({system for root in self.spec_roots for system in self.registry.system_ids(root)})
        except InputError:
            return []

    def readable(self) -> Iterator[Hardware]:
        """The devices in the configured folders, or all where none are configured.

        An invalid spec is a problem of the suite, and left out here.
        """
        yield from self._read_of(self.devices()) if self.spec_roots else self.registry.readable()

    def reported(self) -> Iterator[Hardware]:
        """The devices that a report is about: those in the configured folders, and those that claims are about."""
        named = {claim.hardware for claim in self.claims() if claim.hardware}
        found = self._read_of(sorted({*self.devices(), *named}))
        yield from (hardware for hardware in found if not hardware.joined)

    def reported_systems(self) -> Iterator[System]:
        """The same of systems."""
        named = {claim.hardware for claim in self.claims() if claim.hardware}
        for hardware in self._read_of(sorted({*self.systems(), *named})):
            if hardware.joined:
                with suppress(RooflintError):
                    yield system_of(self.registry, hardware)

    def _read_of(self, devices: Iterable[str]) -> Iterator[Hardware]:
        for device in devices:
            with suppress(RooflintError):
                yield self.registry.get(device)


def _resolved(option: str) -> list[Path]:
    return [folder.resolve() for folder in configured(option)]
