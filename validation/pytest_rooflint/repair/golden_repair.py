"""Repairs of golden files: what to quote instead, where no change of a fact fixes a claim without breaking others."""

from collections.abc import Callable, Iterable, Iterator

from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.repair.proposal import Key, Proposal, Refusal, refuse_outside
from pytest_rooflint.repair.reprint import Reprint, reprint
from pytest_rooflint.repair.spec_repair import Repairs
from pytest_rooflint.suite.judge import judge
from pytest_rooflint.suite.suite import Suite
from pytest_rooflint.suite.verdict import Verdict
from rooflint.base import strict_yaml
from rooflint.base.errors import InputError
from rooflint.base.strict_yaml import PlaceError


def proposal(suite: Suite, key: Key, name: str, repairs: Repairs) -> tuple[Proposal, Suite]:
    """The change of the golden file for a failing claim, and the changed suite. Raises Refusal."""
    (file, place), excuses = key, repairs.excuses
    refuse_outside(file, repairs.root)
    claim = suite.read(file).claims[place]
    verdict = repairs.verdicts[key]
    before, path = suite.text(file), ("claims", place, "expect")
    written = _tried(lambda: strict_yaml.value_at(before, path)) if claim.expectation else ""
    _refuse_shared(verdict, (other for place, other in repairs.verdicts.items() if place != key))
    change = reprint(claim, verdict, suite, written, excuses=excuses)
    after = _tried(lambda: _changed(before, path, change))
    changed = suite.with_text(file, after)
    _refuse_red(changed, key, excuses=excuses)
    old, new = (written, change.expect) if change.expect else ("dense", change.entry or "")
    tried = f"tried before, and refused: {repairs.objections[name]}" if name in repairs.objections else ""
    remarks = (*_remarks(claim, verdict), *change.remarks, *filter(None, (tried,)))
    return Proposal(file, claim.line, claim.id, old, str(new), before, after, (name,), remarks), changed


def _tried(change: Callable[[], str]) -> str:
    try:
        return change()
    except PlaceError as error:
        raise Refusal(f"its 'expect' {error}; change it by hand") from error


def _changed(text: str, path: tuple[str | int, ...], change: Reprint) -> str:
    if change.entry:
        return strict_yaml.with_entry_before(text, path, change.entry)
    return strict_yaml.with_value(text, path, str(change.expect))


def _refuse_shared(verdict: Verdict, others: Iterable[Verdict]) -> None:
    """Refuse if another claim on the same facts is off by the same factor, because then the fact is wrong.

    A figure that the same document repeats, for example in a quotient, counts once.
    """
    for other in others:
        if set(verdict.facts) & set(other.facts) and _same_factor(verdict, other) and not _repeats(verdict, other):
            raise Refusal(
                f"is off by the same factor as {other.claim.id}, which rests on the same facts; correct the fact"
            )


def _same_factor(one: Verdict, two: Verdict) -> bool:
    expected = (one.claim.expectation, two.claim.expectation)
    if not (one.ratio and two.ratio and expected[0] and expected[1]):
        return False
    return abs(one.ratio / two.ratio - 1) <= expected[0].width + expected[1].width


def _repeats(one: Verdict, two: Verdict) -> bool:
    sources = (one.claim.source, two.claim.source)
    texts = [verdict.claim.expectation.text for verdict in (one, two) if verdict.claim.expectation]
    same = sources[0] is not None and sources[1] is not None and sources[0].document == sources[1].document
    return same and len(texts) == 2 and (texts[0] in texts[1] or texts[1] in texts[0])


def _refuse_red(suite: Suite, key: Key, *, excuses: bool) -> None:
    """Read and judge the changed file. Raises Refusal if the claim does not pass."""
    try:
        claim = suite.read(key[0]).claims[key[1]]
    except InputError as error:
        raise Refusal(f"would be refused: {error.problems[0].message}") from error
    verdict = judge(claim, "", suite, excuses=excuses)
    if verdict.outcome != "pass":
        raise Refusal(f"would still fail: {verdict.reason or verdict.ratio_text}")


def _remarks(claim: Claim, verdict: Verdict) -> Iterator[str]:
    yield f"only if the source really prints this: {claim.source}"
    yield f"factor {verdict.ratio_text}: {_because(verdict)}"
    if verdict.obtained:
        yield f"obtained {verdict.obtained_display}: {verdict.obtained.formula}"


def _because(verdict: Verdict) -> str:
    """The first candidate cause, and why its repair is not proposed."""
    if not verdict.causes:
        return "unexplained by any known convention or fact"
    first = verdict.causes[0]
    breaks = f", which would turn {first.breaks} green {'claim' if first.breaks == 1 else 'claims'} red"
    return first.text + (breaks if first.breaks else "")
