"""A side of a comparison: the working tree, a revision, a folder of specs, or a ledger that was written before."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from rooflint.base import git
from rooflint.base.errors import InputError, Problem, RooflintError, shown
from rooflint.base.memo import kept
from rooflint.base.shards import ClusterError, Workers, code, results
from rooflint.coefficients.library import Coefficients
from rooflint.energy.model import Energies
from rooflint.hardware.device import Hardware
from rooflint.hardware.registry import PACKAGED, Registry
from rooflint.prediction.ledger import SUFFIXES, Ledger, Table, read_ledger, record, tables
from rooflint.workloads.tables import load_workload, workload_ids
from rooflint.workloads.workload import Workload


@dataclass(frozen=True, eq=False)
class Specs:
    """Specs that the installed model can be asked about."""

    label: str
    """`the working tree`, `revision HEAD^1`, `folder specs`."""
    roots: tuple[Path, ...]
    """Roots whose devices are predicted; the packaged specs come after them."""
    registry: Registry
    commit: str | None = None
    home: Path | None = None
    """The temporary folder with the files of a revision; left out of messages."""
    taken: dict[str, Workload] = field(default_factory=dict, repr=False)
    """Op tables of another side."""

    def take_tables(self, other: "Specs") -> None:
        """Take the op tables of another side whose files say the same, so that they are not read again."""
        for name, table in other.networks.items():
            if _same(self.tables / f"{name}.yaml", other.tables / f"{name}.yaml"):
                self.taken[name] = table

    def take_devices(self, other: "Specs") -> None:
        """Take the devices of another side whose files say the same, which can be told by their paths alone."""
        self.registry.take(other.registry, _same)

    @cached_property
    def energies(self) -> Energies:
        """Coefficients of these specs. Raises RooflintError for a file that cannot be read."""
        coefficients = Coefficients(self.registry)
        with self._placed_errors():
            for root in self.registry.roots:
                for file in coefficients.files(root):
                    coefficients.check(file)
        return Energies(coefficients)

    @property
    def tables(self) -> Path:
        """The folder of the committed op tables: that of the first root which has some."""
        found = (root / "workloads" for root in self.registry.roots)
        return next((folder for folder in found if folder.is_dir()), PACKAGED / "workloads")

    @cached_property
    def networks(self) -> Mapping[str, Workload]:
        """The committed op tables. Raises RooflintError for one that cannot be read."""
        with self._placed_errors():
            names = workload_ids(self.tables)
            return {name: self.taken.get(name) or load_workload(name, self.tables) for name in names}

    @cached_property
    def works(self) -> tuple[Table, ...]:
        """The op tables as the matrix runs them."""
        return tuple(table for network in self.networks.values() for table in _runs(network))

    @cached_property
    def named(self) -> frozenset[str]:
        """Ids of the devices that have a file, whether it can be read or not."""
        with self._placed_errors():
            return frozenset(name for root in self.roots for name in self.registry.ids(root))

    @cached_property
    def _read(self) -> tuple[Mapping[str, Hardware], tuple[Problem, ...]]:
        devices: dict[str, Hardware] = {}
        problems: dict[Problem, None] = {}
        for name in sorted(self.named):
            try:
                devices[name] = self.registry.get(name)
            except InputError as error:
                problems |= dict.fromkeys(error.problems)
        return devices, tuple(problems)

    @property
    def devices(self) -> Mapping[str, Hardware]:
        """Devices that can be read. Raises RooflintError for two files with one id."""
        return self._read[0]

    @property
    def points(self) -> frozenset[tuple[str, str]]:
        """Devices and their operating points, the device's own as an empty text."""
        return frozenset((name, at) for name, one in self.devices.items() for at in ("", *one.operating_points))

    @property
    def left_out(self) -> list[str]:
        """Problems of the devices that cannot be read, in sentences."""
        return [f"left out: {self.sentence(problem)}" for problem in self._read[1]]

    @contextmanager
    def _placed_errors(self) -> Iterator[None]:
        """Rewrite the paths in errors of shared files to paths that the user knows."""
        try:
            yield
        except InputError as error:
            raise RooflintError("\n".join(map(self.sentence, error.problems))) from error

    def check(self) -> None:
        """Read the files that all devices need. Raises RooflintError."""
        _ = self.energies, self.networks

    def ledger(self, devices: Sequence[str] | None = None) -> Ledger:
        """Predictions of some devices, or of all. Raises RooflintError."""
        wanted = self.devices.values() if devices is None else [self.devices[name] for name in devices]
        return record(wanted, self.works, self.energies)

    def ledger_by(self, workers: Workers, progress: Callable[[int], object] = lambda done: None) -> Ledger:
        """Predictions of all devices, in shards on several processes; `progress` is told how many devices are done.

        The ledger is that of one process. Raises RooflintError, and ClusterError where workers cannot be used.
        """
        self.check()
        roots = tuple(None if root == PACKAGED.resolve() else root for root in self.registry.roots)
        names = sorted(self.devices)
        shards = [
            Shard(roots, self.digest, tuple(names[start : start + OF_SHARD]))
            for start in range(0, len(names), OF_SHARD)
        ]
        found = []
        for shard, part in zip(shards, results(predict_shard, shards, workers), strict=True):
            found.append(part)
            progress(len(shard.devices))
        return Ledger.of(row for part in found for row in part.rows())

    @cached_property
    def digest(self) -> str:
        """Of all that predictions follow from: the model's code and the files of these specs."""
        return f"{code()} {self.registry.digest}"

    def within(self, file: Path) -> str:
        """Path of a file below its root: `hardware/acme/x1.yaml`."""
        for root in self.registry.roots:
            if file.is_relative_to(root):
                return file.relative_to(root).as_posix()
        return file.as_posix()

    def shown(self, file: Path) -> str:
        """Path of a file for messages."""
        return file.relative_to(self.home).as_posix() if self.home else shown(file)

    def sentence(self, problem: Problem) -> str:
        """A problem with its place; that in a revision begins with the commit, as git writes it."""
        commit = f"{self.commit[:12]}:" if self.commit else ""
        return f"{commit}{self.shown(problem.file)}:{problem.line}  {problem.message}"


@kept(1)  # two sides that share a network share its tables
def _runs(network: Workload) -> tuple[Table, ...]:
    return tables([network])


def _same(one: Path, other: Path) -> bool:
    """Whether two files have the same content; not where one is missing."""
    try:
        return one.read_bytes() == other.read_bytes()
    except OSError:
        return False


OF_SHARD = 4
"""Devices of a shard: a second of work, so that the last workers to finish do not keep the others waiting."""


@dataclass(frozen=True)
class Shard:
    """Some devices of one state of the specs; a worker reads its own copy of the files."""

    roots: tuple[Path | None, ...]
    """Roots of the registry; None is the specs that come with the worker's rooflint."""
    digest: str
    devices: tuple[str, ...]


def predict_shard(shard: Shard) -> Ledger:
    """The ledger of a shard. Raises ClusterError where the worker's files are not those of the shard."""
    return _specs_of(shard.roots, shard.digest).ledger(shard.devices)


@lru_cache(maxsize=2)
def _specs_of(roots: tuple[Path | None, ...], digest: str) -> Specs:
    places = tuple(root or PACKAGED.resolve() for root in roots)
    found = Specs("a shard", places, Registry(places))
    if missing := [str(root) for root in places if not root.is_dir()]:
        raise ClusterError(f"a worker has no folder {', '.join(missing)}; give it the same folders as here")
    if found.digest != digest:
        raise ClusterError("a worker has another version of rooflint or of the specs; install the same as here")
    return found


@dataclass(frozen=True, eq=False)
class LedgerSide:
    """A ledger that was written before, by any version of the model."""

    label: str
    found: Ledger = field(repr=False)
    commit: None = None

    def ledger(self) -> Ledger:
        """The whole ledger."""
        return self.found

    def ledger_by(self, workers: Workers, progress: Callable[[int], object] = lambda done: None) -> Ledger:  # noqa: ARG002
        """The whole ledger."""
        return self.found

    @property
    def left_out(self) -> list[str]:
        """Empty, because a ledger has a row for predictions that failed."""
        return []

    @cached_property
    def points(self) -> frozenset[tuple[str, str]]:
        """Devices and their operating points, the device's own as an empty text."""
        return frozenset((key.device, key.at) for key in self.found.keys)

    @property
    def named(self) -> frozenset[str]:
        """Ids of the devices in it."""
        return frozenset(name for name, _ in self.points)

    @property
    def networks(self) -> frozenset[str]:
        """Networks in it."""
        return frozenset(key.network for key in self.found.keys)


Side = Specs | LedgerSide


@contextmanager
def opened(asked: str | None, roots: Sequence[Path], here: Path) -> Iterator[Side]:
    """The side with that name; None means the working tree. Temporary folders are removed afterwards.

    Raises InputError for a file that is not a ledger, RevisionError for an unknown name.
    """
    if asked is None:
        yield Specs("the working tree", tuple(roots), Registry.of(roots))
    elif (here / asked / "hardware").is_dir():
        folder = (here / asked).resolve()
        yield Specs(f"folder {asked}", (folder,), Registry.of([folder]))
    elif (here / asked).is_file() or asked.endswith(SUFFIXES):
        yield LedgerSide(f"ledger {asked}", read_ledger(here / asked))
    else:
        top, commit = git.revision(repository(here), asked, "a revision, a folder of specs or a ledger")
        with TemporaryDirectory(prefix="rooflint-") as home:
            label = commit[:12] if commit.startswith(asked) else f"{asked} ({commit[:12]})"
            yield _at(top, commit, f"revision {label}", roots, Path(home).resolve())


def repository(here: Path) -> Path:
    """The top of the repository around a folder. Raises RevisionError."""
    try:
        return git.top_of(here)
    except git.RevisionError as error:
        raise git.RevisionError(
            f"{error}; without git, name two folders of specs, or two files that rooflint ledger wrote"
        ) from error


def _at(top: Path, commit: str, label: str, roots: Sequence[Path], into: Path) -> Specs:
    """The roots as they were at a commit; a root that is not of the repository stays as it is."""
    every = Registry.of(roots).roots
    then = {root: git.export(top, commit, root, into) if git.knows(top, commit, root) else root for root in every}
    own = tuple(then[Path(root).resolve()] for root in roots)
    return Specs(label, own, Registry(tuple(then[root] for root in every)), commit, into)
