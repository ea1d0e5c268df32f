"""`measured: rate <= peak`: a law that every measurement in a device's recordings must obey.

The recordings are in the folder beside the golden file, with the same name. Noise only slows down: a measurement that
is too fast fails even if it was disturbed, and one that is not too fast decides nothing if it was.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import ClaimError, Context, Kind, Obtained, check_precisions
from pytest_rooflint.recordings.files import MACHINE, rows_of
from pytest_rooflint.recordings.finding import DESPITE, Finding, LawContext, check_despite
from pytest_rooflint.recordings.laws import LAWS, findings
from rooflint.base.text import counted, some
from rooflint.base.units import DIMENSIONLESS, UnitError, parse_quantity
from rooflint.workloads.workload import Workload

MOST = 8
"""Breaches that a verdict lists; the rest are counted."""

WITHIN = {"within": {"type": "string", "description": "allowed difference of two figures: 10 %; needs a why"}}
COMPUTE = {"compute": {"type": "string", "description": "the only precision to test; all by default"}}


def check(claim: Claim) -> None:
    """Refuse an unknown law, and invalid options."""
    law = LAWS.get(claim.subject)
    if law is None:
        raise ClaimError(f"want one of {', '.join(LAWS)}; found '{claim.subject}'")
    check_precisions(claim)
    check_despite(claim)
    if law.compares and claim.option("within") is None:
        raise ClaimError(f"'{claim.subject}' compares two figures; add a tolerance such as 'within: 10 %', and 'why:'")
    if claim.option("within") is not None and not claim.why:
        raise ClaimError("within: add 'why:', the reason for this tolerance")
    _within(claim)


def _within(claim: Claim) -> float:
    text = claim.option("within", "0 %")
    try:
        quantity = parse_quantity(str(text))
    except UnitError as error:
        raise ClaimError(f"within: {error}") from error
    if not str(text).endswith("%") or not 0 <= quantity.value <= 1:
        raise ClaimError(f"within: want a share such as 10 %, found '{text}'")
    return quantity.value


def asked(claim: Claim, context: Context) -> LawContext:
    """What a law may ask for, from the claim and the suite."""
    return LawContext(
        hardware=context.device(claim),
        registry=context.registry,
        networks=lambda name, batch: network(claim, context, name, batch),
        within=_within(claim),
        despite=tuple(claim.option("despite", ())),
    )


def network(claim: Claim, context: Context, name: str, batch: int) -> Workload:
    """The committed op table of a torchvision network. Raises RooflintError where there is none."""
    spoken = {"network": f"torchvision/{name}", "batch": batch}
    return context.workload(replace(claim, workload=spoken))


def obtain(claim: Claim, context: Context) -> Obtained:
    """Test the law on every measurement that it applies to."""
    law = LAWS[claim.subject]
    found = list(findings(rows_of(claim, context), law, asked(claim, context)))
    states = Counter[str](one.state for one in found)
    broken = [one for one in found if one.state == "breaks"]
    kept = [one for one in found if one.state == "keeps"]
    facts = (fact for one in broken or kept for fact in one.facts)
    doubt = _doubt(found) if not broken and not kept else ""
    return Obtained(
        value=float(len(broken)),
        dimension=DIMENSIONLESS,
        formula="; ".join(_apart(found)),
        display=_display(states, len(found)),
        holds=bool(kept) and not broken,
        expected=law.promise,
        facts=tuple(dict.fromkeys(facts)),
        hardware=context.device(claim),
        precision=claim.option("compute"),
        details="\n".join(_lines(broken)),
        doubt=doubt,
        causes=tuple(broken[0].causes) if broken else (),
    )


def _display(states: Counter[str], looked: int) -> str:
    if not looked:
        return "no measurement that the law applies to"
    if states["breaks"]:
        return f"broken by {states['breaks']} of {counted(looked, 'measurement')}"
    return f"holds on {states['keeps']} of {counted(looked, 'measurement')}"


def _doubt(found: list[Finding]) -> str:
    """Why nothing was decided; empty where no measurement was disturbed or exempt."""
    open_ones = [one for one in found if one.state in ("disturbed", "exempt")]
    if not open_ones:
        return ""
    first = open_ones[0]
    more = f"; and {len(open_ones) - 1} more" if len(open_ones) > 1 else ""
    return f"undecided: {first.row.measurement.name}: {first.text}{more}"


def _apart(found: Iterable[Finding]) -> Iterator[str]:
    """What was left out of the count, by reason, with some names."""
    several = list(found)
    for state in ("disturbed", "exempt"):
        names = [f"{one.row.measurement.name} ({one.text})" for one in several if one.state == state]
        if names:
            yield f"{len(names)} {state}: {some(names)}"
    silent = [one for one in several if one.state == "silent"]
    for reason in dict.fromkeys(one.text for one in silent):
        names = [one.row.measurement.name for one in silent if one.text == reason]
        yield f"{len(names)} not applicable, {reason}: {some(names)}"


def _lines(broken: list[Finding]) -> Iterator[str]:
    for one in broken[:MOST]:
        yield f"            {one.row.place}  {one.row.measurement.name}"
        yield f"              {one.text}"
    if len(broken) > MOST:
        yield f"            and {len(broken) - MOST} more"


KIND = Kind(
    "measured",
    "a law that every measurement in a device's recordings must obey",
    obtain,
    expects=lambda subject: False,
    inferred=True,
    check=check,
    options={**MACHINE, **COMPUTE, **WITHIN, **DESPITE},
)
