"""The baseline: the verdict of every claim on the specs as they are, and the devices that each claim depends on.

A claim reads hardware from the registry alone, so a registry that records what is read knows its dependencies: a fact
of a device that the claim never read cannot change its verdict.
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
from rooflint.hardware.device import Hardware
from rooflint.hardware.registry import Architecture, Registry

#: `("device", id)` or `("architecture", id)`: an id may name one of each.
Name = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class TrackedRegistry(Registry):
    """The same registry, with a record of what was read."""

    origin: Registry
    dependencies: set[Name] = field(default_factory=set)

    def get(self, device: str) -> Hardware:
        """The device of exactly that id. Raises UnknownDeviceError or InputError."""
        self.dependencies.add(("device", device))
        return self.origin.get(device)

    def architecture(self, name: str) -> Architecture:
        """The architecture of exactly that id. Raises UnknownDeviceError or InputError."""
        self.dependencies.add(("architecture", name))
        return self.origin.architecture(name)

    def match(self, name: str) -> list[str]:
        """Ids that a person may mean. Names are not facts, so this reads none."""
        return self.origin.match(name)


def tracked(suite: Suite) -> tuple[Suite, set[Name]]:
    """The suite on such a registry, and the set that its dependencies are added to."""
    registry = suite.registry
    tracking = TrackedRegistry(registry.roots, origin=registry)
    tracking.__dict__.update(files=registry.files, architecture_files=registry.architecture_files)
    return replace(suite, registry=tracking), tracking.dependencies


# ---- The baseline


class FailingSuiteError(RooflintError):
    """A suite that fails before any mutation."""


@dataclass(frozen=True)
class JudgedClaim:
    """A claim and its verdict on the specs as they are."""

    claim: Claim
    verdict: Verdict
    dependencies: frozenset[Name]
    """Devices and architectures that it reads."""

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
        """Whether it compares two documents."""
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

    def changed(self, after: Verdict) -> bool:
        """Whether the figure is another one, or exists in one of the two only."""
        if self.value is None or after.obtained is None:
            return (self.value is None) != (after.obtained is None)
        return abs(after.obtained.value - self.value) > SAME * abs(self.value)

    def changed_beyond_digits(self, after: Verdict) -> bool:
        """Whether the figure has left the interval of the printed digits.

        Where it lies outside already, by a stated tolerance, the interval is laid around it.
        """
        if self.printed is None or self.value is None or after.obtained is None:
            return self.changed(after)
        shift = 1.0 if self.printed.holds(self.value) else self.printed.value / self.value
        return not self.printed.holds(after.obtained.value * shift)


@dataclass(frozen=True)
class Baseline:
    """Every claim that may catch a mutant."""

    suite: Suite
    claims: tuple[JudgedClaim, ...]
    """All claims but replays, which count neither as coverage nor as a kill."""

    @classmethod
    def of(cls, suite: Suite) -> "Baseline":
        """Judge every claim. Raises FailingSuiteError where a claim or a file fails."""
        claims = tuple(_judged(claim, suite) for claim in suite.claims() if _counts(claim))
        _refuse_failing(claims, suite)
        return cls(suite, claims)

    @cached_property
    def _by_name(self) -> dict[Name, list[JudgedClaim]]:
        found: dict[Name, list[JudgedClaim]] = {}
        for claim in self.claims:
            for name in claim.dependencies:
                found.setdefault(name, []).append(claim)
        return found

    def depending_on(self, names: Iterable[Name]) -> list[JudgedClaim]:
        """Claims that read one of these devices and architectures, in the order of the golden files."""
        found = {claim.order: claim for name in names for claim in self._by_name.get(name, ())}
        return [found[order] for order in sorted(found)]

    @cached_property
    def backed(self) -> frozenset[Fact]:
        """Facts that corroborated peaks and bandwidths rest on."""
        rates = (one for one in self.claims if one.corroborated and one.claim.kind in ("peak", "bandwidth"))
        return frozenset(fact for one in rates for fact in one.verdict.facts)

    @cached_property
    def by_id(self) -> Mapping[str, JudgedClaim]:
        """Claims by their ids."""
        return {claim.id: claim for claim in self.claims}


def _judged(claim: Claim, suite: Suite) -> JudgedClaim:
    tracking, dependencies = tracked(suite)
    verdict = brief(claim, tracking)
    return JudgedClaim(claim, verdict, frozenset(dependencies))


def likeliest_first(claims: Sequence[JudgedClaim], fact: Fact) -> list[JudgedClaim]:
    """Corroborated claims that rest on a fact, other claims that do, the rest."""
    return sorted(claims, key=lambda claim: (fact not in claim.verdict.facts, not claim.corroborated))


def _refuse_failing(claims: Sequence[JudgedClaim], suite: Suite) -> None:
    failures = [f"{shown(one.claim.file)}:{one.claim.line}" for one in claims if one.verdict.outcome == "fail"]
    failures = failures or [str(problem) for problem in _problems(suite)]
    if failures:
        more = f" and {len(failures) - 1} more" if len(failures) > 1 else ""
        raise FailingSuiteError(
            f"a failing suite has no mutation score; first fix {failures[0]}{more} (rooflint check)"
        )


def _problems(suite: Suite) -> list[object]:
    """Broken files, and problems of the suite as a whole."""
    problems: list[object] = []
    for file in suite.files:
        try:
            suite.read(file)
        except InputError as error:
            problems += error.problems
    return [*problems, *suite.world_problems()]


def _counts(claim: Claim) -> bool:
    """Whether a claim checks facts of the specs: not a replay, and not about a table of foreign figures."""
    return not (claim.is_replay or kinds.kind(claim.kind).foreign)
