"""A registry that notes who is asked for, so that what a claim depends on is known and not guessed.

A claim learns about hardware from the registry alone. What it asks for next can only follow from what it was told
before, so a fact of a device that it never asked for cannot change what it says.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from pytest_rooflint.golden import kinds
from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.expect import Expectation, parse_expectation
from pytest_rooflint.mutation.operators import SAME
from pytest_rooflint.suite.judge import brief
from pytest_rooflint.suite.suite import Suite
from pytest_rooflint.suite.verdict import Verdict
from rooflint.base.errors import InputError, RooflintError, shown
from rooflint.base.facts import Fact
from rooflint.devices.hardware import Hardware
from rooflint.devices.registry import Architecture, Registry

#: `("device", id)` or `("architecture", id)`: an id may name one of each.
Name = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class Watched(Registry):
    """The same registry, with a list of what was asked."""

    origin: Registry
    asked: set[Name] = field(default_factory=set)

    def get(self, device: str) -> Hardware:
        """The device of exactly that id. Raises UnknownDeviceError or InputError."""
        self.asked.add(("device", device))
        return self.origin.get(device)

    def architecture(self, name: str) -> Architecture:
        """The architecture of exactly that id. Raises UnknownDeviceError or InputError."""
        self.asked.add(("architecture", name))
        return self.origin.architecture(name)

    def match(self, name: str) -> list[str]:
        """Ids that a person may mean. Names are no facts, so nobody was asked for one."""
        return self.origin.match(name)


def watched(suite: Suite) -> tuple[Suite, set[Name]]:
    """The suite on such a registry, and the names that it will have been asked for."""
    registry = suite.registry
    watching = Watched(registry.roots, origin=registry)
    watching.__dict__.update(files=registry.files, architecture_files=registry.architecture_files)
    return replace(suite, registry=watching), watching.asked


# ---- The baseline: what every claim says of the specs as they are, and which claims speak of which device


class RedSuiteError(RooflintError):
    """A suite that is red before anything is set wrong."""


@dataclass(frozen=True)
class Stand:
    """A claim and its verdict on the specs as they are."""

    claim: Claim
    verdict: Verdict
    asked: frozenset[Name]
    """Devices and architectures that it asked for."""

    @property
    def order(self) -> tuple[str, int, str]:
        """Place in the golden files."""
        return str(self.claim.file), self.claim.line, self.claim.id

    @property
    def id(self) -> str:
        """`golden/peaks/nvidia/t4.yaml::bandwidth-gddr6`."""
        return f"{shown(self.claim.file)}::{self.claim.id}"

    @property
    def corroborated(self) -> bool:
        """Whether two documents meet in it."""
        return self.verdict.corroborated

    @property
    def value(self) -> float | None:
        """What the model obtains; None where it refuses."""
        return self.verdict.obtained.value if self.verdict.obtained else None

    @cached_property
    def printed(self) -> Expectation | None:
        """What the printed digits allow, whatever tolerance is stated."""
        expectation = self.claim.expectation
        if expectation is None or expectation.tolerance != "stated":
            return expectation
        return parse_expectation(expectation.text)

    def moved(self, after: Verdict) -> bool:
        """Whether the figure is another one, or none any more."""
        if self.value is None or after.obtained is None:
            return (self.value is None) != (after.obtained is None)
        return abs(after.obtained.value - self.value) > SAME * abs(self.value)

    def moved_beyond_digits(self, after: Verdict) -> bool:
        """Whether the figure has left the interval of the printed digits.

        Where it lies outside already, by a stated tolerance, the interval is laid around it.
        """
        if self.printed is None or self.value is None or after.obtained is None:
            return self.moved(after)
        shift = 1.0 if self.printed.holds(self.value) else self.printed.value / self.value
        return not self.printed.holds(after.obtained.value * shift)


@dataclass(frozen=True)
class Baseline:
    """Every claim that may notice something, and where to look first."""

    suite: Suite
    stands: tuple[Stand, ...]
    """All claims but replays: those count neither as coverage nor as a kill."""

    @classmethod
    def of(cls, suite: Suite) -> "Baseline":
        """Judge every claim. Raises RedSuiteError where one is red, or a file is."""
        stands = tuple(_stand(claim, suite) for claim in suite.claims() if _counts(claim))
        _refuse_red(stands, suite)
        return cls(suite, stands)

    @cached_property
    def _by_name(self) -> dict[Name, list[Stand]]:
        found: dict[Name, list[Stand]] = {}
        for stand in self.stands:
            for name in stand.asked:
                found.setdefault(name, []).append(stand)
        return found

    def concerning(self, names: Iterable[Name]) -> list[Stand]:
        """Claims that may rest on a fact of these devices and architectures, in the order of the golden files."""
        found = {stand.order: stand for name in names for stand in self._by_name.get(name, ())}
        return [found[order] for order in sorted(found)]

    @cached_property
    def backed(self) -> frozenset[Fact]:
        """Facts that corroborated peaks and bandwidths rest on."""
        backed = (stand for stand in self.stands if stand.corroborated and stand.claim.kind in ("peak", "bandwidth"))
        return frozenset(fact for stand in backed for fact in stand.verdict.facts)

    @cached_property
    def by_id(self) -> Mapping[str, Stand]:
        """Claims by their ids."""
        return {stand.id: stand for stand in self.stands}


def _stand(claim: Claim, suite: Suite) -> Stand:
    watching, asked = watched(suite)
    verdict = brief(claim, watching)
    return Stand(claim, verdict, frozenset(asked))


def likeliest_first(stands: Sequence[Stand], fact: Fact) -> list[Stand]:
    """Corroborated claims that rest on a fact, other claims that do, the rest."""
    return sorted(stands, key=lambda stand: (fact not in stand.verdict.facts, not stand.corroborated))


def _refuse_red(stands: Sequence[Stand], suite: Suite) -> None:
    reds = [f"{shown(stand.claim.file)}:{stand.claim.line}" for stand in stands if stand.verdict.outcome == "fail"]
    reds = reds or [str(problem) for problem in _problems(suite)]
    if reds:
        more = f" and {len(reds) - 1} more" if len(reds) > 1 else ""
        raise RedSuiteError(f"a red suite has no mutation score; first mend {reds[0]}{more} (rooflint check)")


def _problems(suite: Suite) -> list[object]:
    """Broken files and an open world: what no claim can be held against."""
    problems: list[object] = []
    for file in suite.files:
        try:
            suite.read(file)
        except InputError as error:
            problems += error.problems
    return [*problems, *suite.world_problems()]


def _counts(claim: Claim) -> bool:
    """Whether a claim checks facts: no history, and no table of somebody else's figures."""
    return not (claim.is_replay or kinds.kind(claim.kind).foreign)
