"""`monotone: latency batch`: a law that holds on every device of a glob, whatever its facts are.

A law has no expected figure, so it counts neither as corroboration nor as coverage, and kills no mutant.
"""

from typing import Any

from pytest_rooflint.claims.device_glob import (
    ALL,
    DEVICES,
    check_devices,
    display_of_devices,
    matching_devices,
    shown_lines,
    slug_of_devices,
    wrong_devices,
)
from pytest_rooflint.claims.roofline_laws import LAWS, Setting, precisions
from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import STORAGE, WORKLOAD, ClaimError, Context, Kind, Obtained, check_precisions
from rooflint.base.text import counted
from rooflint.base.units import DIMENSIONLESS
from rooflint.hardware.device import Hardware

BATCHES = (1, 2, 8, 32, 256)
"""Batches that a law over batches compares, unless the claim lists its own."""


def check(claim: Claim) -> None:
    """Refuse an unknown law, and invalid options."""
    if claim.subject not in LAWS:
        raise ClaimError(f"want one of {', '.join(LAWS)}; found '{claim.subject}'")
    check_precisions(claim)
    check_devices(claim)
    batches = claim.option("batches", [*BATCHES])
    if not _rising(batches):
        raise ClaimError(f"batches: want two or more whole numbers above zero in rising order, found {batches}")
    unused = [name for name, used in _used(claim).items() if name in claim.options and not used]
    if unused:
        raise ClaimError(f"{unused[0]}: '{claim.subject}' does not use it; remove it")


def _rising(batches: Any) -> bool:
    whole = isinstance(batches, list) and all(type(batch) is int and batch > 0 for batch in batches)
    return whole and len(batches) > 1 and batches == sorted(set(batches))


def _used(claim: Claim) -> dict[str, bool]:
    law = LAWS[claim.subject]
    return {"batches": law.over_batches, "workload": law.of_networks, "storage": law.of_networks}


def obtain(claim: Claim, context: Context) -> Obtained:
    """Test the law on every device; an excused one must break it."""
    setting = _setting(claim, context)
    excused = claim.option("except", {})
    law = LAWS[claim.subject]
    matching = [one for one in matching_devices(context, claim.option("devices", ALL)) if law.concerns(one)]
    tried = [one for one in matching if precisions(one, setting)]
    broken = {one.id: list(law.breaches(one, setting)) for one in tried}
    wrong = [*wrong_devices(broken, excused)]
    return Obtained(
        value=float(len(wrong)),
        dimension=DIMENSIONLESS,
        formula=_formula(claim, matching, tried),
        display=display_of_devices(len(tried), excused, wrong),
        holds=bool(tried) and not wrong,
        expected=law.promise,
        precision=setting.compute,
        details="\n".join(shown_lines(wrong)),
    )


def _setting(claim: Claim, context: Context) -> Setting:
    law, compute, storage = LAWS[claim.subject], claim.option("compute"), claim.option("storage")
    if not law.of_networks:
        return Setting({}, compute, storage)
    workload = context.workload(claim)
    batches = claim.option("batches", BATCHES) if law.over_batches else [workload.batch]
    return Setting({batch: workload.at_batch(batch) for batch in batches}, compute, storage)


def _formula(claim: Claim, matching: list[Hardware], tried: list[Hardware]) -> str:
    if not matching:
        return f"no device matches '{claim.option('devices', ALL)}'"
    untested = len(matching) - len(tried)
    return f"{counted(untested, 'device')} not tested: too little is disclosed" if untested else ""


KIND = Kind(
    "monotone",
    "a law that holds on every device of a glob, whatever its facts are",
    obtain,
    expects=lambda subject: False,
    scopes=(),
    modes=False,
    inferred=True,
    foreign=True,
    check=check,
    slug=slug_of_devices,
    options={
        **STORAGE,
        **WORKLOAD,
        **DEVICES,
        "batches": {"type": "array", "items": {"type": "integer", "minimum": 1}, "description": "batches to compare"},
    },
)
