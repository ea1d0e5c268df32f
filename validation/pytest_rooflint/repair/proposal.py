"""Proposals of repairs, with reasons; what makes a suite worse; and what a golden file should quote instead.

A person decides, with the document open. A figure is never proposed where a convention explains the ratio, where the
claim would only repeat the model's own printout, or where it is not clear which of several printed values is wrong.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Decimal
from pathlib import Path

from pytest_rooflint.golden import kinds
from pytest_rooflint.golden.expect import Expectation, ExpectationError, parse_expectation
from pytest_rooflint.golden.kinds import Claim, Obtained
from pytest_rooflint.suite import world
from pytest_rooflint.suite.dependencies import Changed, Dependencies, Name, Noted, changes, is_read_by_name, noted
from pytest_rooflint.suite.judge import corroborated, is_known_wrong, outcome_of
from pytest_rooflint.suite.suite import Suite
from pytest_rooflint.suite.verdict import Verdict
from rooflint.base.errors import InputError, shown
from rooflint.base.units import IEC_PREFIXES, OPS_PER_MAC, SI_PREFIXES
from rooflint.diagnosis.causes import Cause, conventions


class Refusal(Exception):  # noqa: N818  # it is an answer, not an error
    """The reason for not proposing anything, in one sentence without the claim."""


def refuse_outside(file: Path, root: Path) -> None:
    """Refuse files outside the project. Raises Refusal."""
    if not file.resolve().is_relative_to(root):
        raise Refusal(f"{shown(file)} is not a file of this project")


@dataclass(frozen=True)
class Proposal:
    """One change of one file."""

    file: Path
    line: int
    what: str
    """Path of the fact, or id of the claim."""
    old: str
    new: str
    before: str
    """The file's whole text without this proposal, but with those before it."""
    after: str
    fixes: tuple[str, ...]
    """Ids of the failing claims of this run that it fixes."""
    remarks: tuple[str, ...]
    """Factor, cause, trials, and what the user has to decide; one sentence each."""


@dataclass(frozen=True)
class Plan:
    """Proposals for the failing claims of a run, and their joint effect."""

    proposals: tuple[Proposal, ...]
    refusals: tuple[tuple[str, str], ...]
    """(id, reason) of the failing claims without a proposal."""
    fixed: int
    """Number of failing claims of the whole suite that pass with all proposals."""
    failures: int
    """Number of failing claims of the run."""


# ---- Which claims of a suite are red, and whether a changed suite is any worse than it was

Key = tuple[Path, int]
"""A claim: its file, and its place among the claims there, which survives a change of its id."""


@dataclass(frozen=True)
class State:
    """State of a suite: failing claims with their ids, and problems of its files."""

    failures: Mapping[Key, str]
    problems: frozenset[tuple[Path, str]]
    read: Mapping[Key, Dependencies] = field(default_factory=dict, compare=False, repr=False)
    """What claims read."""

    @classmethod
    def of(cls, suite: Suite, *, excuses: bool) -> "State":
        """Judge every claim, without a search for causes."""
        return cls({}, frozenset()).after(suite, suite, None, excuses=excuses)

    def after(self, before: Suite, suite: Suite, file: Path | None, *, excuses: bool) -> "State":
        """The state of a suite whose text of that file is another; only claims that may rest on it are judged again."""
        moved = changes(before, suite, [file]) if file and self.read and is_read_by_name(suite, file) else None
        problems = {(problem.file, problem.message) for problem in world.problems(suite)}
        failures, reads = dict[Key, str](), dict[Key, Dependencies]()
        for golden in suite.files:
            try:
                claims = suite.read(golden).claims
            except InputError as error:
                problems |= {(problem.file, problem.message) for problem in error.problems}
                continue
            for place, claim in enumerate(claims):
                key = golden, place
                if moved and key in self.read and not _concerned(claim, self.read[key], moved):
                    fails, reads[key] = key in self.failures, self.read[key]
                else:
                    context = _noted(suite)
                    fails = outcome_of(claim, context or suite, excuses=excuses) == "fail"
                    reads |= {key: context.dependencies} if context else {}
                if fails:
                    failures[key] = claim.id
        return State(failures, frozenset(problems), reads)

    def objection(self, before: "State") -> str | None:
        """Why a change from another state to this one is not proposed; None if nothing is worse."""
        if new := sorted(self.problems - before.problems):
            return new[0][1]
        if broken := [name for key, name in self.failures.items() if key not in before.failures]:
            more = f" and {len(broken) - 1} more" if len(broken) > 1 else ""
            return f"would turn {broken[0]}{more} red"
        return None


def _concerned(claim: Claim, read: Dependencies, moved: Changed[Path, Name]) -> bool:
    return moved.concern(claim.file, goldens=read.goldens, any_golden=read.any_golden(claim), names=read.names)


def _noted(suite: Suite) -> Noted | None:
    """The suite with a note of what is read; None where a file name is not an id."""
    try:
        return noted(suite)
    except InputError:
        return None


# ---- What a golden file should quote if no fact is wrong: the obtained value in the printed number of digits


_VALUE = re.compile(
    r"(?<![\w.])(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)(?:\s+(?P<unit>[A-Za-zµ%][A-Za-zµ%/]*))?"
)

ROUNDED = 0.005
"""Relative error of a figure that was rounded before it was doubled."""


@dataclass(frozen=True)
class Reprint:
    """A new text for `expect`, or a flag to add; `remarks` give the reasons."""

    expect: str | None = None
    entry: str | None = None
    remarks: tuple[str, ...] = ()


def reprint(claim: Claim, verdict: Verdict, suite: Suite, written: str, *, excuses: bool) -> Reprint:
    """The corrected expectation. Raises Refusal."""
    expectation, obtained = claim.expectation, verdict.obtained
    if excuses and is_known_wrong(verdict):
        raise Refusal("equals a figure known to be wrong; correct the spec, and keep 'xfail'")
    if claim.xfail is not None and excuses:
        raise Refusal("is a known disagreement that changed; resolve it, or update its 'xfail', by hand")
    if claim.is_replay:
        raise Refusal("replays what a document printed; correct the assumption under 'given', or the quote")
    if expectation is None or obtained is None or verdict.ratio is None:
        raise Refusal(f"has no figure to replace it with: {verdict.reason or 'it states no figure'}")
    if sparse := _as_sparse(claim, suite, written, excuses=excuses):
        return sparse
    if found := next(_other_prefixes(written, claim, obtained), None):
        return Reprint(found, remarks=(f"the model obtains the same digits with another prefix: {found}",))
    _refuse_conventions(expectation, obtained, suite, written)
    if not corroborated(claim, obtained):
        raise Refusal("has no document of its own, so a new figure would only repeat the model; check the document")
    return Reprint(_scaled(written, claim, obtained, verdict.ratio))


def is_misnamed(claim: Claim, verdict: Verdict, suite: Suite, written: str, *, excuses: bool) -> bool:
    """Whether a claim passes with another prefix, or as sparse instead of dense, or the reverse."""
    if passes_otherwise(claim, suite, excuses=excuses):
        return True
    return verdict.obtained is not None and any(_other_prefixes(written, claim, verdict.obtained))


def passes_otherwise(claim: Claim, suite: Suite, *, excuses: bool) -> bool:
    """Whether a claim passes as sparse instead of dense, or the reverse."""
    if "sparse" not in kinds.kind(claim.kind).options:
        return False
    other = replace(claim, options={**claim.options, "sparse": not claim.option("sparse")})
    return outcome_of(other, suite, excuses=excuses) == "pass"


def _as_sparse(claim: Claim, suite: Suite, written: str, *, excuses: bool) -> Reprint | None:
    """Add `sparse: true` if that makes the claim pass. Raises Refusal if a sparse claim quotes a dense figure."""
    if not passes_otherwise(claim, suite, excuses=excuses):
        return None
    if claim.option("sparse"):
        raise Refusal(f"quotes the dense figure, {written}; remove 'sparse: true', or quote the sparse one")
    remark = (
        f"{written} is the figure with sparsity; if only that is printed, '{written} / 2' with a note is an alternative"
    )
    return Reprint(entry="sparse: true", remarks=(remark,))


def _other_prefixes(written: str, claim: Claim, obtained: Obtained) -> Iterator[str]:
    """The same digits with another prefix, if the claim then passes."""
    for match in _VALUE.finditer(written):
        unit = match["unit"] or ""
        own = next((prefix for prefix in (*IEC_PREFIXES, *SI_PREFIXES) if prefix and unit.startswith(prefix)), "")
        for bare in dict.fromkeys((unit.removeprefix(own), unit)):
            for prefix in (*SI_PREFIXES, *IEC_PREFIXES) if bare else ():
                text = f"{written[: match.start('unit')]}{prefix}{bare}{written[match.end('unit') :]}"
                if text != written and _agrees(text, claim, obtained):
                    yield text


def _refuse_conventions(expectation: Expectation, obtained: Obtained, suite: Suite, written: str) -> None:
    found = next(_broken_conventions(expectation, obtained, suite), None)
    if found:
        raise Refusal(
            f"is off by {found.factor_text}, a convention ({found.text}); "
            f"quote {written} with what makes it comparable, such as '/ 2' and a note"
        )


def _broken_conventions(expectation: Expectation, obtained: Obtained, suite: Suite) -> Iterator[Cause]:
    """Conventions whose factor equals the ratio, up to the rounding of a figure before it was multiplied."""
    low, high = expectation.low * (1 - ROUNDED), expectation.high * (1 + ROUNDED)
    for _, case in obtained.cases(low, high, suite.registry):
        yield from (cause for cause in conventions(case) if case.span.holds(cause.factor))
    if obtained.dimension[0] and low <= obtained.value * OPS_PER_MAC <= high:
        yield Cause("a MAC is counted as one op", 1 / OPS_PER_MAC, 1.0)
    if obtained.dimension[0] and low <= obtained.value / OPS_PER_MAC <= high:
        yield Cause("an op is counted as a MAC", OPS_PER_MAC, 1.0)


def _scaled(written: str, claim: Claim, obtained: Obtained, ratio: float) -> str:
    """The one printed value of a text scaled by a ratio, in as many digits. Raises Refusal."""
    values = list(_VALUE.finditer(written.partition("±")[0]))
    printed = [match for match in values if match["unit"] or "." in match["number"]] or values
    if len(printed) != 1:
        raise Refusal(f"rests on {len(printed)} printed values; the figures do not say which one is misprinted")
    number, (start, end) = printed[0]["number"], printed[0].span("number")
    whole = not printed[0]["unit"] and "." not in number
    for factor in (ratio, 1 / ratio):
        text = f"{written[:start]}{_digits(number, factor, whole=whole, cut=_is_cut(claim))}{written[end:]}"
        if text != written and _agrees(text, claim, obtained):
            return text
    raise Refusal(f"obtains {obtained.shown()}, which cannot be written in as many digits as {number}")


def _digits(number: str, factor: float, *, whole: bool, cut: bool) -> str:
    """A number scaled, in as many significant digits as were printed, and with all digits before the point."""
    mantissa = number.lower().partition("e")[0]
    significant = len(mantissa.replace(".", "").lstrip("0")) or 1
    value = Decimal(number) * Decimal(factor)
    decimals = 0 if whole else max(0, significant - 1 - value.adjusted())
    return f"{value.quantize(Decimal(1).scaleb(-decimals), ROUND_DOWN if cut else ROUND_HALF_EVEN):f}"


def _agrees(text: str, claim: Claim, obtained: Obtained) -> bool:
    try:
        expectation = parse_expectation(text, truncated=_is_cut(claim))
    except ExpectationError:
        return False
    return expectation.dimension == obtained.dimension and expectation.holds(obtained.value)


def _is_cut(claim: Claim) -> bool:
    expectation = claim.expectation
    return expectation is not None and "truncated" in (
        expectation.tolerance,
        expectation.digits.tolerance if expectation.digits else "",
    )
