"""`monotone: latency batch`: a law that holds on every device of a glob, whatever its facts are.

Laws quote no figure: they count as neither corroboration nor coverage nor a kill, and they can be broken.
"""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from pytest_rooflint.claim import Claim, slug
from pytest_rooflint.claims.subjects import STORAGE, WORKLOAD, check_precisions
from pytest_rooflint.kinds import ClaimError, Context, Kind, Obtained
from pytest_rooflint.laws import LAWS, Setting, precisions
from rooflint.errors import InputError
from rooflint.hardware import Hardware
from rooflint.units import DIMENSIONLESS

ALL = "*"
"""Every device of the suite."""

BATCHES = (1, 2, 8, 32, 256)
"""Where a law over batches looks, unless the claim says otherwise."""

MOST = 12
"""Breaches that a verdict shows; the rest is counted."""


def check(claim: Claim) -> None:
    """Refuse a law that does not exist, and options that cannot mean anything."""
    if claim.subject not in LAWS:
        raise ClaimError(f"want one of {', '.join(LAWS)}; found '{claim.subject}'")
    check_precisions(claim)
    devices, excused, batches = (
        claim.option("devices", ALL),
        claim.option("except", {}),
        claim.option("batches", [*BATCHES]),
    )
    if not isinstance(devices, str) or not devices:
        raise ClaimError(f"devices: want a glob such as 'nvidia/*', found {devices}")
    if not isinstance(excused, Mapping) or not all(isinstance(why, str) and why for why in excused.values()):
        raise ClaimError(f"except: want the reason for each device, such as {{nvidia/p40: …}}, found {excused}")
    if not _rising(batches):
        raise ClaimError(f"batches: want two or more whole numbers above zero in rising order, found {batches}")
    unused = [name for name, used in _used(claim).items() if name in claim.options and not used]
    if unused:
        raise ClaimError(f"{unused[0]}: means nothing to '{claim.subject}'")


def _rising(batches: Any) -> bool:
    whole = isinstance(batches, list) and all(type(batch) is int and batch > 0 for batch in batches)
    return whole and len(batches) > 1 and batches == sorted(set(batches))


def _used(claim: Claim) -> dict[str, bool]:
    law = LAWS[claim.subject]
    return {"batches": law.over_batches, "workload": law.of_networks, "storage": law.of_networks}


def obtain(claim: Claim, context: Context) -> Obtained:
    """Try the law on every device; an excused one must break it."""
    setting = _setting(claim, context)
    excused = claim.option("except", {})
    matching = [*_matching(context, claim.option("devices", ALL))]
    tried = [one for one in matching if precisions(one, setting)]
    broken = {one.id: list(LAWS[claim.subject].breaches(one, setting)) for one in tried}
    wrong = [*_wrong(broken, excused)]
    return Obtained(
        value=float(len(wrong)),
        dimension=DIMENSIONLESS,
        formula=_formula(claim, matching, tried),
        display=_display(len(tried), excused, wrong),
        holds=bool(tried) and not wrong,
        expected=LAWS[claim.subject].promise,
        precision=setting.compute,
        details="\n".join(_shown(wrong)),
    )


def _matching(context: Context, glob: str) -> Iterator[Hardware]:
    """Devices of the suite; a broken spec is red by itself."""
    for name in context.devices():
        try:
            if fnmatchcase(name, glob):
                yield context.registry.get(name)
        except InputError:
            continue


def _setting(claim: Claim, context: Context) -> Setting:
    law, compute, storage = LAWS[claim.subject], claim.option("compute"), claim.option("storage")
    if not law.of_networks:
        return Setting({}, compute, storage)
    workload = context.workload(claim)
    batches = claim.option("batches", BATCHES) if law.over_batches else [workload.batch]
    return Setting({batch: workload.at_batch(batch) for batch in batches}, compute, storage)


def _wrong(broken: Mapping[str, list[str]], excused: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Devices that break the law, and excused ones that do not: (device, what it says)."""
    for device, breaches in broken.items():
        if device not in excused:
            yield from ((device, breach) for breach in breaches)
    for device in excused:
        if not broken.get(device):
            state = "keeps the law" if device in broken else "is not among the devices that were tried"
            yield device, f"{state}; remove it from 'except'"


def _formula(claim: Claim, matching: list[Hardware], tried: list[Hardware]) -> str:
    if not matching:
        return f"no device matches '{claim.option('devices', ALL)}'"
    silent = len(matching) - len(tried)
    return f"{silent} more disclose too little" if silent else ""


def _display(tried: int, excused: Mapping[str, str], wrong: list[tuple[str, str]]) -> str:
    devices = f"{tried} device" + ("s" if tried != 1 else "")
    if wrong:
        return f"broken by {len({device for device, _ in wrong})} of {devices}"
    return f"holds on {devices}" + (f", {len(excused)} of them excused" if excused else "")


def _shown(wrong: list[tuple[str, str]]) -> Iterator[str]:
    for device, breach in wrong[:MOST]:
        yield f"            {device}  {breach}"
    if len(wrong) > MOST:
        yield f"            and {len(wrong) - MOST} more"


def _slug(claim: Claim) -> str:
    devices = claim.option("devices", ALL)
    return slug(claim.subject if devices == ALL else f"{claim.subject} on {devices.replace('*', 'all')}")


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
    slug=_slug,
    options={
        **STORAGE,
        **WORKLOAD,
        "devices": {"type": "string", "description": "a glob over ids such as nvidia/*; all unless said"},
        "except": {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "description": "devices that are known to break it, each with the reason",
        },
        "batches": {"type": "array", "items": {"type": "integer", "minimum": 1}, "description": "where to look"},
    },
)
