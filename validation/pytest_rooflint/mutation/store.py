"""What mutation testing keeps: the verdict on each claim, the mutants of each file, their outcomes and their score.

Each is kept with a key over everything that it was worked out from. A verdict rests on the modules that the kind of
claim may import, on its golden file, on the facts of devices that it looked up, on all that these devices say besides
facts, and on all files that are neither golden files nor devices. Mutants rest on their own file, on devices of the
same architecture, and on rates of other architectures. Outcomes rest on the verdicts of the claims that were judged
again, and on the facts that these read in a trial. The line of a fact changes none of them.
"""

import datetime
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar

from pytest_rooflint.golden import kinds
from pytest_rooflint.golden.kinds import Claim
from pytest_rooflint.mutation import baseline, operators, outcome, score
from pytest_rooflint.mutation.baseline import Baseline, JudgedClaim, checking, id_of
from pytest_rooflint.mutation.operators import Mutation
from pytest_rooflint.mutation.outcome import Basis, Group, Mutant, Outcome, Subject, group_of, subjects
from pytest_rooflint.mutation.score import FileScore
from pytest_rooflint.suite import dependencies, judge, store
from pytest_rooflint.suite.dependencies import Dependencies, Name, outline, statement
from pytest_rooflint.suite.modules import Modules
from pytest_rooflint.suite.suite import Suite
from rooflint.base.errors import RooflintError
from rooflint.base.facts import Fact, Place
from rooflint.base.files import digest_of, file_digest
from rooflint.base.memo import memoised
from rooflint.base.parsed import one_path
from rooflint.base.units import Quantity
from rooflint.hardware.device import Hardware

T = TypeVar("T")
FOLDER = store.FOLDER / "mutation"
CLAIMS, MODULES, SCORES = "claims.json", "modules.json", "scores.json"
PARSED = FOLDER / "parsed"
"""Where golden files and devices are kept as they were read."""


class StoreError(RooflintError):
    """A folder in which outcomes cannot be kept."""


@dataclass(frozen=True)
class Store:
    """A folder of verdicts, mutants and outcomes."""

    folder: Path
    suite: Suite
    _rows: dict[Name, dict[str, Any]] = field(default_factory=dict, repr=False)
    """What the files of groups hold, by subject."""
    _keys: dict[str, str] = field(default_factory=dict, repr=False)
    """Keys of the verdicts of the baseline, by the ids of claims."""
    _made_keys: dict[Name, str] = field(default_factory=dict, repr=False)
    """Keys of the mutants of each file, by subject."""
    _bases: dict[Name, list[Basis]] = field(default_factory=dict, repr=False)
    """What the outcomes of each fact's mutants rest on, by subject."""
    _judged_keys: dict[Name, list[str]] = field(default_factory=dict, repr=False)
    """Keys of the outcomes of each fact's mutants, by subject."""
    _scored: dict[Name, tuple[FileScore, list[Any]]] = field(default_factory=dict, repr=False)
    """Kept scores that hold, with their rows as they were kept, by subject."""
    _digests: dict[Path, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Take the digests of all files before any is read: what is saved later is judged again by the next run."""
        roots = (*self.suite.golden_roots, *self.suite.registry.roots)
        list(self._contents(file for root in roots for file in root.rglob("*") if file.suffix in store.READ))

    @cached_property
    def subjects(self) -> tuple[Subject, ...]:
        """Devices and architectures of the configured folders."""
        return tuple(subjects(self.suite))

    # ---- verdicts

    def baseline(self) -> Baseline:
        """Every claim with its verdict; only those are judged whose verdict was not kept. Raises StoreError."""
        wanted = {id_of(claim): claim for claim in checking(self.suite)}
        known = _claims(store.kept(self.folder / CLAIMS), wanted)
        claims = []
        for name, claim in wanted.items():
            key, judged = known.get(name, ("", None))
            if judged is None or key != self._claim_key(judged):
                judged = JudgedClaim.of(claim, self.suite)
                key = self._claim_key(judged)
            self._keys[name] = key
            claims.append(judged)
        if {name: key for name, (key, _) in known.items()} != self._keys:
            self._keep(CLAIMS, _as_json(claims, self._keys))
        return Baseline(self.suite, tuple(claims))

    def _claim_key(self, judged: JudgedClaim) -> str:
        """What the verdict on a claim rests on."""
        claim, read = judged.claim, judged.dependencies
        overdue = bool(claim.xfail and claim.xfail.until < self._today)
        files = self._goldens if read.any_golden(claim) else [*self._contents({claim.file, *read.goldens})]
        own = (self._code[claim.kind], self._common, f"{claim.id} {overdue}")
        return digest_of([*own, *files, *self._said(read.names, read.places | read.present)])

    def _said(self, names: Iterable[Name], places: AbstractSet[Place]) -> Iterator[str]:
        """What devices and architectures say besides facts, and what some facts say."""
        yield self._outlines(frozenset(names))
        yield str(sum(map(self._statements.__getitem__, places & self._statements.keys())))  # the same in any order

    @cached_property
    def _goldens(self) -> Sequence[str]:
        return [*self._contents(self.suite.files)]

    @memoised
    def _outlines(self, names: frozenset[Name]) -> str:
        """Many claims rest on the same devices."""
        return digest_of(map(self._outline, sorted(names)))

    @memoised
    def _outline(self, name: Name) -> str:
        """A device or an architecture without its facts; of one that cannot be read, digests of its files."""
        section, named = name
        registry = self.suite.registry
        try:
            device = registry.get(named) if section == "device" else registry.architecture(named).as_hardware()
        except RooflintError:
            return "\n".join([" ".join(name), *self._contents(self._files_of(name))])
        return digest_of([section, outline(device)])

    @memoised
    def _whole(self, name: Name) -> str:
        """A device or an architecture that can be read, with its facts."""
        section, named = name
        registry = self.suite.registry
        device = registry.get(named) if section == "device" else registry.architecture(named).as_hardware()
        facts = (str(self._statements[fact.place]) for fact in _facts_of(device))
        return digest_of([self._outline(name), *facts])

    @cached_property
    def _statements(self) -> Mapping[Place, int]:
        """Digests of what the facts of all hardware that can be read say; those of other files are common."""
        registry, found = self.suite.registry, dict[Place, int]()
        read = [*registry.readable(), *registry.readable_systems()]
        for name in registry.architecture_files:
            with suppress(RooflintError):
                read.append(registry.architecture(name).as_hardware())
        for fact in (fact for hardware in read for fact in _facts_of(hardware)):
            if (place := fact.place) not in found:  # devices share those of their architecture
                found[place] = int(digest_of([statement(fact)]), 16)
        return found

    @cached_property
    def _today(self) -> datetime.date:
        return datetime.datetime.now(tz=datetime.UTC).date()

    @cached_property
    def _code(self) -> Mapping[str, str]:
        """Digests of the modules that judge claims, by kind."""
        homes = {name: kinds.home(name) for name in kinds.names()}
        own = (judge.__name__, dependencies.__name__, baseline.__name__, __name__)  # judge, and make what is kept
        return {name: self.modules.digest(home, *own) for name, home in homes.items()}

    @cached_property
    def modules(self) -> Modules:
        """Our modules, as their files are."""
        return Modules(self.folder / MODULES)

    def _files_of(self, name: Name) -> Iterator[Path]:
        """The file of a device and of its architecture; none for a name that does not exist."""
        registry = self.suite.registry
        section, named = name
        if section == "device" and named in registry.files:
            yield registry.files[named]
            section, named = "architecture", registry.get(named).architecture or ""
        elif section == "device":
            yield from (file for name, file in registry.system_files.items() if name == named)
        if section == "architecture" and named in registry.architecture_files:
            yield registry.architecture_files[named]

    @cached_property
    def _common(self) -> str:
        """Ids of all devices, and every file that claims may read besides golden files and devices."""
        registry = self.suite.registry
        listed = registry.files, registry.system_files, registry.architecture_files
        named = {*self.suite.files, *(file for files in listed for file in files.values())}
        roots = (*self.suite.golden_roots, *registry.roots)
        others = {file for root in roots for file in root.rglob("*") if file.suffix in store.READ} - named
        return digest_of([*(name for files in listed for name in files), *self._contents(others)])

    def _contents(self, files: Iterable[Path]) -> Iterator[str]:
        for file in sorted(files):
            if file not in self._digests:
                with suppress(OSError):  # a folder, or deleted meanwhile; reading it reports that
                    self._digests[file] = file_digest(file)
            yield f"{file} {self._digests.get(file)}"

    # ---- mutants and their outcomes

    def group(self, subject: Subject) -> Group:
        """The mutants of a file; made only where they were not kept."""
        found = self._row(subject)
        group = _group(subject, found) if found.get("made") == self._made_key(subject) else None
        return group or group_of(subject, self.suite)

    def _made_key(self, subject: Subject) -> str:
        """What the mutants of a file rest on."""
        if subject.key not in self._made_keys:
            self._made_keys[subject.key] = self._digest_of_made(subject)
        return self._made_keys[subject.key]

    def _digest_of_made(self, subject: Subject) -> str:
        own, registry = subject.hardware, self.suite.registry
        near = [] if subject.table else [subject.key, *(("device", one.id) for one in registry.siblings(own))]
        if not subject.table and own.architecture:
            near.append(("architecture", own.architecture))
        rates = {fact.path for fact in subject.facts if operators.is_compared(fact)}
        compared = [
            f"{name} {path} {architecture.facts[path].display}"
            for name in registry.architecture_files
            for architecture in [registry.architecture(name)]
            for path in sorted(rates & architecture.facts.keys())
        ]
        code = self.modules.digest(operators.__name__, outcome.__name__, __name__)
        own_file = self._contents([own.file]) if subject.table else ()
        return digest_of([code, *own_file, *map(self._whole, near), *compared])

    def known(self, group: Group, baseline: Baseline) -> list[Outcome | None]:
        """The kept outcomes of a group's mutants; None for each that has to be found out."""
        found, now = self._row(group.subject), self._judged_keys_of(group.subject, baseline)
        if self.is_kept(group, baseline):
            with suppress(TypeError, KeyError):
                all_of_them = [_outcome(*row[7:]) for row in found["mutants"]]  # in the order in which they were made
                if len(all_of_them) == len(group.mutants):
                    return [*all_of_them]
        outcomes = _outcomes(found, now)
        return [outcomes.get(_identity(group.subject, mutant)) for mutant in group.mutants]

    def put(self, group: Group, outcomes: Sequence[Outcome], bases: Mapping[int, Basis], baseline: Baseline) -> None:
        """Keep the outcomes of all mutants of a file, and what new ones rest on, by their positions in the group.

        Raises StoreError where the folder cannot be written.
        """
        subject, pairs = group.subject, zip(group.mutants, outcomes, strict=True)
        self._bases[subject.key] = self._merged(group, bases, baseline)
        self._judged_keys.pop(subject.key, None)
        content = {
            "made": self._made_key(subject),
            "judged": self._judged_keys_of(subject, baseline),
            "rests": _bases_as_json(self._bases[subject.key]),
            "refused": list(group.refused),
            "mutants": [_as_row(subject, mutant, one) for mutant, one in pairs],
        }
        self._rows[subject.key] = content
        self._keep(self._name(subject), json.dumps(content, ensure_ascii=False, separators=(",", ":")))

    def _merged(self, group: Group, new: Mapping[int, Basis], baseline: Baseline) -> list[Basis]:
        """What the outcomes of each fact's mutants rest on: those that are kept, and new ones."""
        subject = group.subject
        was, now = self._row(subject).get("judged"), self._judged_keys_of(subject, baseline)
        before = was if isinstance(was, list) and len(was) == len(now) else [""] * len(now)
        kept = zip(before, now, self._bases_of(subject), strict=True)
        merged = [basis if one == two else Basis() for one, two, basis in kept]
        of_fact = {id(one): (subject.position(group.mutants[index].fact), one) for index, one in new.items()}
        for position, one in of_fact.values():
            merged[position].add(one)
        return merged

    def is_kept(self, group: Group, baseline: Baseline) -> bool:
        """Whether a group is kept as it is now made and judged."""
        found = self._row(group.subject)
        now = (self._made_key(group.subject), self._judged_keys_of(group.subject, baseline))
        return (found.get("made"), found.get("judged")) == now

    # ---- scores

    def scores(self, baseline: Baseline) -> dict[Name, FileScore]:
        """The kept scores of files by their subjects; only those that hold for the mutants and verdicts of now."""
        try:
            kept = {(section, name): rest for section, name, *rest in json.loads(store.kept(self.folder / SCORES))}
        except (ValueError, TypeError, RecursionError):
            return {}
        found = {}
        for subject in self.subjects:
            with suppress(ValueError):
                key, rests, row = kept.get(subject.key, ("", {}, None))
                bases = _bases(rests, len(subject.facts))
                if row and key == self._score_key(subject, bases, baseline):
                    found[subject.key] = FileScore.model_validate(row)
                    self._bases[subject.key] = bases
                    self._scored[subject.key] = found[subject.key], [key, rests, row]
        return found

    def put_scores(self, scores: Mapping[Name, FileScore], baseline: Baseline) -> None:
        """Keep the scores of files. Raises StoreError where the folder cannot be written."""
        rows = []
        for subject in self.subjects:
            if score := scores.get(subject.key):
                same, row = self._scored.get(subject.key, (None, []))
                if score is not same:
                    bases = self._bases_of(subject)
                    key = self._score_key(subject, bases, baseline)
                    row = [key, _bases_as_json(bases), score.model_dump(by_alias=True)]
                rows.append([*subject.key, *row])
        self._keep(SCORES, json.dumps(rows, ensure_ascii=False, separators=(",", ":")))

    def _score_key(self, subject: Subject, bases: Sequence[Basis], baseline: Baseline) -> str:
        own = (self.modules.digest(score.__name__, __name__), str(Path.cwd()))  # files are named from the folder
        lines = self._contents([subject.hardware.file])
        return digest_of([*own, *lines, self._made_key(subject), *self._keys_on(subject, bases, baseline)])

    def _judged_keys_of(self, subject: Subject, baseline: Baseline) -> list[str]:
        """What the outcomes of the mutants of each fact of a file rest on, as far as it is kept."""
        if subject.key not in self._judged_keys:
            self._judged_keys[subject.key] = self._keys_on(subject, self._bases_of(subject), baseline)
        return self._judged_keys[subject.key]

    def _keys_on(self, subject: Subject, bases: Sequence[Basis], baseline: Baseline) -> list[str]:
        """Keys of the outcomes of the mutants of each fact, where they rest on these."""
        heirs = self.suite.registry.heirs(subject.id) if subject.is_architecture else [subject.hardware]
        devices: list[Name] = [] if subject.table else [("device", one.id) for one in heirs]
        common = [self.modules.digest(outcome.__name__, __name__), *map(self._outline, devices)]
        common += self._contents([subject.hardware.file]) if subject.table else ()
        base, whole = digest_of(common), digest_of(map(self._whole, devices))
        return [
            digest_of([base, whole if basis.compared else "", *self._of_fact(fact, basis, baseline)])
            for fact, basis in zip(subject.facts, bases, strict=True)
        ]

    def _of_fact(self, fact: Fact, basis: Basis, baseline: Baseline) -> Iterator[str]:
        """What the outcomes of a fact's mutants rest on; of claims that were not asked, only their order."""
        place, read = fact.place, basis.read
        yield statement(fact)
        for one in baseline.asking(fact):
            key = self._keys[one.id] if one.id in basis.asked else ""
            yield f"{one.id} {one.corroborated} {place in one.facts} {place in one.dependencies.places} {key}"
        yield from self._said(read.names, read.places | read.present)
        yield from self._contents(read.goldens)

    def _bases_of(self, subject: Subject) -> list[Basis]:
        if subject.key not in self._bases:
            self._bases[subject.key] = _bases(self._row(subject).get("rests"), len(subject.facts))
        return self._bases[subject.key]

    def _row(self, subject: Subject) -> dict[str, Any]:
        if subject.key not in self._rows:
            try:
                found = json.loads(store.kept(self.folder / self._name(subject)))
            except (ValueError, RecursionError):
                found = {}
            self._rows[subject.key] = found if isinstance(found, dict) else {}
        return self._rows[subject.key]

    @staticmethod
    def _name(subject: Subject) -> str:
        return f"{subject.key[0]}/{subject.id}.json"

    def _keep(self, name: str, text: str) -> None:
        try:
            store.keep(self.folder / name, f"{text}\n", self.folder)
            if name == CLAIMS:
                self.modules.keep()
        except OSError as error:
            raise StoreError(f"{self.folder}: cannot keep results: {error.strerror}; run with --no-cache") from error


# ---- verdicts as JSON


def _as_json(claims: Iterable[JudgedClaim], keys: Mapping[str, str]) -> str:
    """Verdicts by the ids of claims; places and names are numbered, because many claims share them."""
    places, names = _Numbers[Place](), _Numbers[Name]()
    found = {}
    for one in claims:
        read = one.dependencies
        found[one.id] = [
            *(keys[one.id], one.outcome, one.value, one.corroborated, [places[place] for place in one.facts]),
            *([places[place] for place in read.places], [names[name] for name in read.names]),
            [places[place] for place in read.present],
            *([str(file) for file in read.goldens], read.folders),
        ]
    document = {"places": list(places), "names": list(names), "claims": found}
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


class _Numbers(dict[T, int]):
    """Numbers things in the order in which they are asked for."""

    def __missing__(self, thing: T) -> int:
        self[thing] = len(self)
        return self[thing]


def _claims(text: str, wanted: Mapping[str, Claim]) -> dict[str, tuple[str, JudgedClaim]]:
    """Kept verdicts on wanted claims with their keys; none from a text that something else wrote."""
    try:
        found = json.loads(text)
        places: list[Place] = [(file, path, at) for file, path, at in found["places"]]
        names: list[Name] = [(section, name) for section, name in found["names"]]
        rows = found["claims"].items()
        return {name: _judged(name, wanted[name], row, places, names) for name, row in rows if name in wanted}
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return {}


def _judged(name: str, claim: Claim, row: list[Any], places: list[Place], names: list[Name]) -> tuple[str, JudgedClaim]:
    key, verdict, value, corroborated, facts, looked_up, asked, present, goldens, folders = row
    read = Dependencies(
        {names[one] for one in asked},
        {places[one] for one in looked_up},
        {places[one] for one in present},
        set(map(_path, goldens)),
        folders,
    )
    return key, JudgedClaim(name, claim, verdict, value, corroborated, frozenset(places[one] for one in facts), read)


# ---- mutants and outcomes as JSON


def _as_row(subject: Subject, mutant: Mutant, found: Outcome) -> list[Any]:
    """A mutant, the position of its fact first, and its outcome."""
    mutation, wrong = mutant.mutation, mutant.mutation.fact
    quantity = (wrong.display, wrong.value, wrong.quantity.step) if wrong else (mutation.display, None, None)
    made = (mutation.operator, mutation.text, *quantity, list(mutation.also))
    return [subject.position(mutant.fact), *made, found.category, found.killed_by, found.witness]


def _group(subject: Subject, found: Mapping[str, Any]) -> Group | None:
    """The group that was kept; None where something else wrote it."""
    try:
        mutants = tuple(_mutant(subject.facts[row[0]], row) for row in found["mutants"])
        return Group(subject, mutants, tuple(found["refused"]))
    except (ValueError, TypeError, KeyError, IndexError):
        return None


def _mutant(fact: Fact, row: Sequence[Any]) -> Mutant:
    _, operator, text, display, value, step, also, *_ = row
    quantity = None if value is None else Quantity(value, fact.quantity.dimension, display, step)
    wrong = Fact(fact.path, quantity, fact.source, fact.where, fact.file, fact.line, fact.at) if quantity else None
    return Mutant(fact, Mutation(operator, text, wrong, tuple(also)))


def _bases_as_json(bases: Sequence[Basis]) -> dict[str, Any]:
    """What outcomes rest on, by the positions of the facts; claims, names and places are numbered."""
    claims, names, places = _Numbers[str](), _Numbers[Name](), _Numbers[Place]()
    facts = [
        [
            [claims[one] for one in basis.asked],
            [names[one] for one in sorted(basis.read.names)],
            [places[one] for one in sorted(basis.read.places | basis.read.present)],
            sorted(map(str, basis.read.goldens)),
            basis.compared,
        ]
        for basis in bases
    ]
    return {"claims": list(claims), "names": list(names), "places": list(places), "facts": facts}


def _bases(found: Any, count: int) -> list[Basis]:
    """What outcomes rest on, as it was kept; nothing where something else wrote it."""
    try:
        claims, names = found["claims"], [(section, name) for section, name in found["names"]]
        places: list[Place] = [(file, path, at) for file, path, at in found["places"]]
        made = [
            Basis(
                dict.fromkeys(claims[one] for one in asked),
                Dependencies({names[n] for n in named}, {places[n] for n in read}, goldens={*map(_path, goldens)}),
                compared,
            )
            for asked, named, read, goldens, compared in found["facts"]
        ]
    except (ValueError, TypeError, KeyError, IndexError):
        made = []
    return made if len(made) == count else [Basis() for _ in range(count)]


def _facts_of(hardware: Hardware) -> Iterator[Fact]:
    """The facts of a device, those of its operating points included."""
    yield from hardware.facts.values()
    for overlay in hardware.operating_points.values():
        yield from overlay.values()


_path = cache(lambda file: one_path(*Path(file).parts))  # files are named many times


def _identity(subject: Subject, mutant: Mutant) -> tuple[int, str, str]:
    return subject.position(mutant.fact), mutant.mutation.operator, mutant.mutation.display


_outcome = cache(Outcome)  # there are few, of many mutants


def _outcomes(found: Mapping[str, Any], now: Sequence[str]) -> Mapping[tuple[int, str, str], Outcome]:
    """Outcomes of the kept mutants whose keys are still these; none where something else wrote them."""
    try:
        same = {position for position, (one, two) in enumerate(zip(found["judged"], now, strict=True)) if one == two}
        return {(row[0], row[1], row[3]): _outcome(*row[7:]) for row in found["mutants"] if row[0] in same}
    except (ValueError, TypeError, KeyError, IndexError):
        return {}
