"""Which claim of a base is which claim now, and whether it is still as strict."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_rooflint.golden.expect import ROUNDING_ERROR, Expectation
from pytest_rooflint.golden.kinds import Claim
from pytest_rooflint.history.claim_sides import Judged

Pair = tuple[Judged | None, Judged | None]

#: Options that bound something: -1 where the lesser value is stricter, 1 where the greater one is.
_BOUNDS = {"error": -1, "bias": -1, "within": -1, "right": 1, "rows": 1, "strict": 1}


def pairs(old: Sequence[Judged], new: Sequence[Judged], files: Iterable[str], present: Iterable[str]) -> list[Pair]:
    """Claims of a base with those of now: by file and id, then in renamed files, then by what they state.

    `files` are the golden files of the base, `present` those of now. Claims without a partner stand alone.
    """
    here, there = {one.id: one for one in new}, {one.id: one for one in old}
    found: list[Pair] = [(one, here[one.id]) for one in old if one.id in here]
    gone = [one for one in old if one.id not in here]
    fresh = [one for one in new if one.id not in there]
    renamed = renames(gone, fresh, set(files), set(present))
    for key_of in (lambda one: (renamed.get(one.file, one.file), one.claim.id), lambda one: stated(one.claim)):
        waiting: dict[object, list[Judged]] = defaultdict(list)
        for one in fresh:
            waiting[key_of(one)].append(one)
        left = []
        for one in gone:
            same = waiting[key_of(one)]
            found.append((one, same.pop(0))) if same else left.append(one)
        gone, fresh = left, [one for several in waiting.values() for one in several]
    return [*found, *((one, None) for one in gone), *((None, one) for one in fresh)]


def renames(gone: Iterable[Judged], fresh: Iterable[Judged], files: set[str], present: set[str]) -> Mapping[str, str]:
    """Golden files that have another name now, by their old one: at least half of their claims are in the new one."""
    new: dict[str, set[object]] = defaultdict(set)
    old: dict[str, set[object]] = defaultdict(set)
    for one in fresh:
        if one.file not in files:
            new[one.file].add(_printed(one))
    for one in gone:
        if one.file not in present:
            old[one.file].add(_printed(one))
    found: dict[str, str] = {}
    for file, keys in old.items():
        free = [name for name in new if name not in found.values()]
        best = max(free, key=lambda name: len(keys & new[name]), default=None)
        if best is not None and 2 * len(keys & new[best]) >= len(keys):
            found[file] = best
    return found


def _printed(one: Judged) -> tuple[str, str]:
    return one.claim.id, one.claim.expectation.text if one.claim.expectation else ""


def stated(claim: Claim) -> str:
    """All that a claim states, whatever its file and its key of a source."""
    expectation, source = claim.expectation, claim.source
    expected = (expectation.text, expectation.stated, expectation.tolerance) if expectation else None
    return json.dumps((_about(claim), expected, source.document if source else None), default=str, sort_keys=True)


def _about(claim: Claim) -> list[Any]:
    device = claim.hardware, claim.architecture, claim.at
    return [claim.kind, claim.subject, *device, claim.workload, dict(claim.options)]


# ---- strictness


def looser(before: Judged, after: Judged) -> str | None:
    """How a claim became weaker; None where whatever it accepts now, it accepted before."""
    old, new = before.claim, after.claim
    if text := _weaker(old.expectation, new.expectation):
        return f"expects {text}"
    if text := _other_words(old, new):
        return text
    if old.xfail and new.xfail and (text := _weaker(old.xfail.ratio, new.xfail.ratio)):
        return f"excuses a ratio of {text}"
    if before.independent and after.outcome == "pass" and not after.independent:
        return "is backed by no second source: a fact that it follows from cites the same document, or an estimate"
    return None


def _weaker(old: Expectation | None, new: Expectation | None) -> str | None:
    """`5 GB/s (±10 %) instead of 5 GB/s (±1 %)`; None where the new interval lies within the old one."""
    if old is None:
        return None
    if new is None:
        return f"nothing instead of {_text(old)}"
    slack = ROUNDING_ERROR * abs(old.value)
    within = old.low - slack <= new.low and new.high <= old.high + slack
    return None if within and old.dimension == new.dimension else f"{_text(new)} instead of {_text(old)}"


def _text(expectation: Expectation) -> str:
    return f"{expectation.text} ({expectation.tolerance_text})"


def _other_words(old: Claim, new: Claim) -> str | None:
    """What a claim is about now instead; None where only a bound became stricter."""
    for word in ("kind", "subject", "hardware", "architecture", "at", "workload"):
        one, other = getattr(old, word), getattr(new, word)
        if one != other:
            return f"is about {word} {_shown(other)} instead of {_shown(one)}"
    for option in sorted({*old.options, *new.options}):
        one, other = old.option(option), new.option(option)
        if one != other and not _stricter(option, one, other):
            return f"says {option}: {_shown(other)} instead of {_shown(one)}"
    return None


def _stricter(option: str, old: Any, new: Any) -> bool:
    """Whether an option bounds more than before."""
    sign = _BOUNDS.get(option)
    one, other = _number(old), _number(new)
    return sign is not None and one is not None and other is not None and sign * (other - one) > 0


def _number(value: Any) -> float | None:
    """`12 %` as 12; None for what is not a number or a share."""
    try:
        return float(str(value).removesuffix(" %")) if not isinstance(value, bool) else float(value)
    except ValueError:
        return None


def _shown(value: Any) -> str:
    return "nothing" if value is None else str(value)
