"""Claims that hold on every device of a glob, whatever its facts are: laws of the roofline, and of op/s per watt.

A law has no expected figure, so it counts neither as corroboration nor as coverage, and kills no mutant.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from pytest_rooflint.golden.kinds import (
    STORAGE,
    WORKLOAD,
    Claim,
    ClaimError,
    Context,
    Kind,
    Obtained,
    check_precisions,
    slug,
)
from pytest_rooflint.suite.roofline_laws import LAWS, Law, Setting
from rooflint.base.errors import RooflintError
from rooflint.base.facts import Fact
from rooflint.base.memo import memoised
from rooflint.base.text import counted, some
from rooflint.base.units import DIMENSIONLESS, OPS_PER_J, format_quantity
from rooflint.energy.model import Energies
from rooflint.hardware.device import Hardware
from rooflint.workloads.workload import Workload

# ---- the devices of a glob, excused devices, and how breaches are listed

ALL = "*"
EVERY = "every device"
"""The glob of every device in the suite."""

MOST = 12
"""Breaches that a verdict lists; the rest are counted."""

DEVICES: dict[str, dict[str, Any]] = {
    "devices": {"type": "string", "description": "a glob over ids such as nvidia/*; all by default"},
    "except": {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "description": "devices that are known to break it, or a class: 'compute capability 6.1'; with the reason",
    },
}


def check_devices(claim: Claim) -> None:
    """Refuse an invalid glob, and excuses without a reason. Raises ClaimError."""
    devices, excused = claim.option("devices", ALL), claim.option("except", {})
    if not isinstance(devices, str) or not devices:
        raise ClaimError(f"devices: want a glob such as 'nvidia/*', found {devices}")
    if not isinstance(excused, Mapping) or not all(isinstance(why, str) and why for why in excused.values()):
        raise ClaimError(f"except: want a reason for each device, such as {{nvidia/p40: …}}, found {excused}")


def matching_devices(claim: Claim, context: Context) -> list[Hardware]:
    """Devices of the suite that match the claim's glob; an invalid spec fails elsewhere."""
    return [one for one in context.readable() if fnmatchcase(one.id, claim.option("devices", ALL))]


def tested(claim: Claim, matching: list[Hardware], broken: Mapping[str, list[str]], untested: str) -> Obtained:
    """The number of breaches, by those of each tested device; excused devices must break the law. [1]"""
    excused = by_device(claim.option("except", {}), matching, broken)
    wrong = [*wrong_devices(broken, excused)]
    advice = excuses_for(matching, [device for device, _ in wrong if broken.get(device)])
    return Obtained(
        value=float(len(wrong)),
        dimension=DIMENSIONLESS,
        formula=untested if matching else f"no device matches '{claim.option('devices', ALL)}'",
        display=display_of_devices(len(broken), excused, wrong),
        holds=bool(broken) and not wrong,
        expected="no device that breaks it",
        precision=claim.option("compute"),
        details="\n".join([*shown_lines(wrong), *advice]),
    )


CLASS = "compute capability "
"""Begins the name of a class of devices that are built alike."""


def by_device(excuses: Mapping[str, str], matching: list[Hardware], broken: Mapping[str, list[str]]) -> dict[str, str]:
    """The reason for each device, also of the devices in a class that break the law; a class without any stays."""
    found: dict[str, str] = {}
    for name, why in excuses.items():
        members = [one.id for one in matching if name == f"{CLASS}{one.compute_capability}" and broken.get(one.id)]
        found |= dict.fromkeys(members or [name], why)
    return found


def excuses_for(matching: list[Hardware], devices: list[str]) -> Iterator[str]:
    """How to excuse the first of some devices that break a law; nothing where there is none."""
    for one in [one for one in matching if one.id in devices][:1]:
        names = [one.id, *([f"{CLASS}{one.compute_capability}"] if one.compute_capability else [])]
        how = " or ".join(f"'except: {{{name}: reason}}'" for name in names)
        yield f"            if it is built so, excuse it in the claim: {how}"


def wrong_devices(broken: Mapping[str, list[str]], excused: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(device, message) of each breach, and of each excused device that obeys the law."""
    for device, breaches in broken.items():
        if device not in excused:
            yield from ((device, breach) for breach in breaches)
    for device in excused:
        if not broken.get(device):
            state = "obeys the law" if device in broken else "was not tested"
            yield device, f"{state}; remove it from 'except'"


def shown_lines(wrong: list[tuple[str, str]]) -> Iterator[str]:
    """The first breaches, one line each."""
    for device, breach in wrong[:MOST]:
        yield f"            {device}  {breach}"
    if len(wrong) > MOST:
        yield f"            and {len(wrong) - MOST} more"


def display_of_devices(tried: int, excused: Mapping[str, str], wrong: list[tuple[str, str]]) -> str:
    """How many devices obey or break the law."""
    devices = counted(tried, "device")
    if broken := {device for device, _ in wrong} - set(excused):
        return f"broken by {len(broken)} of {devices}"
    if wrong:
        return f"holds on {devices}; an exception is not needed"
    return f"holds on {devices}" + (f", {len(excused)} of them excused" if excused else "")


def headline_of(claim: Claim, promise: str, *about: str) -> str:
    """`law: twice the clock halves the compute time (resnet18, nvidia/*)`."""
    more = [*filter(None, about), *(one for one in devices_of(claim) if one != EVERY)]
    return f"law: {promise}" + (f" ({', '.join(more)})" if more else "")


def devices_of(claim: Claim) -> list[str]:
    """What a law is about: every device, or those of its glob."""
    devices = claim.option("devices", ALL)
    return [EVERY if devices in (ALL, "*/*") else devices]


def slug_of_devices(claim: Claim) -> str:
    """The id of a law, with the glob where it is not every device."""
    devices = claim.option("devices", ALL)
    return slug(claim.subject if devices == ALL else f"{claim.subject} on {devices.replace('*', 'all')}")


# ---- `monotone: latency batch`

BATCHES = (1, 2, 8, 32, 256)
"""Batches that a law over batches compares, unless the claim lists its own."""


def check_monotone(claim: Claim) -> None:
    """Refuse an unknown law, and invalid options."""
    if claim.subject not in LAWS:
        raise ClaimError(f"want one of {', '.join(LAWS)}; found '{claim.subject}'")
    check_precisions(claim)
    check_devices(claim)
    batches = claim.option("batches", [*BATCHES])
    if not _rising(batches):
        raise ClaimError(f"batches: want two or more whole numbers above zero in rising order, found {batches}")
    law = LAWS[claim.subject]
    used = {"batches": law.over_batches, "workload": law.of_networks, "storage": law.of_networks}
    unused = [name for name in used if name in claim.options and not used[name]]
    if unused:
        raise ClaimError(f"{unused[0]}: '{claim.subject}' does not use it; remove it")


def _rising(batches: Any) -> bool:
    whole = isinstance(batches, list) and all(type(batch) is int and batch > 0 for batch in batches)
    return whole and len(batches) > 1 and batches == sorted(set(batches))


def obtain_monotone(claim: Claim, context: Context) -> Obtained:
    """Test the law on every device. [1]"""
    setting, law = _setting(claim, context), LAWS[claim.subject]
    matching = [one for one in matching_devices(claim, context) if law.concerns(one)]
    found = {one.id: _breaches(one, law, setting) for one in matching}
    broken = {device: breaches for device, breaches in found.items() if breaches is not None}
    rest = len(matching) - len(broken)
    untested = f"{counted(rest, 'device')} not tested: {law.lacking}" if rest else ""
    return tested(claim, matching, broken, untested)


def _headline(claim: Claim) -> str:
    law, batches = LAWS[claim.subject], claim.option("batches")
    if not law.of_networks:
        return headline_of(claim, law.promise)
    at = f"batches {', '.join(map(str, batches))}" if batches else ""
    return headline_of(claim, law.promise, claim.network, at, str(claim.option("compute") or ""))


def _setting(claim: Claim, context: Context) -> Setting:
    law, compute, storage = LAWS[claim.subject], claim.option("compute"), claim.option("storage")
    if not law.of_networks:
        return Setting({}, compute, storage)
    workload = context.workload(claim)
    batches = claim.option("batches", BATCHES) if law.over_batches else [workload.batch]
    return Setting(_at_batches(workload, tuple(batches)), compute, storage)


@memoised
def _at_batches(workload: Workload, batches: tuple[int, ...]) -> Mapping[int, Workload]:
    return {batch: workload.at_batch(batch) for batch in batches}


@memoised
def _breaches(hardware: Hardware, law: Law, setting: Setting) -> list[str] | None:
    """The breaches on one device; None where the law cannot be tested on it.

    They are kept with the device: when a suite is judged again, only devices that were read again are tested.
    """
    return list(law.breaches(hardware, setting)) if law.tests(hardware, setting) else None


MONOTONE = Kind(
    "monotone",
    "a law that holds on every device of a glob, whatever its facts are",
    obtain_monotone,
    expects=lambda subject: False,
    scopes=(),
    modes=False,
    inferred=True,
    foreign=True,
    check=check_monotone,
    slug=slug_of_devices,
    headline=_headline,
    about=devices_of,
    options={
        **STORAGE,
        **WORKLOAD,
        **DEVICES,
        "batches": {"type": "array", "items": {"type": "integer", "minimum": 1}, "description": "batches to compare"},
    },
)

# ---- `tops_per_w: arithmetic`: no device has more op/s per watt than its arithmetic alone allows
#
# Peak over power limit stays below 1 / energy of a bare op at the process node. Registers, wires, memory and leakage
# come on top, so a device above the ceiling has a wrong power, peak or node.

SUBJECT = "arithmetic"

LIMITS = ("tdp", "powers.limit")
"""Facts that give the power limit, the first that is there."""


@dataclass
class Tested:
    """Breaches on the devices of a glob, and what could not be tested."""

    breaches: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """By device, for each that was tested."""
    skipped: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Devices that could not be tested, wholly or in a precision, by reason."""


def check_tops_per_w(claim: Claim) -> None:
    """Refuse an unknown ceiling, and invalid options."""
    if claim.subject != SUBJECT:
        raise ClaimError(f"want '{SUBJECT}', the only known ceiling; found '{claim.subject}'")
    check_precisions(claim)
    check_devices(claim)


def obtain_tops_per_w(claim: Claim, context: Context) -> Obtained:
    """Test every device, as rated and at each operating point. [1]"""
    energies, found = Energies.of(context.registry), Tested()
    matching = matching_devices(claim, context)
    for one in matching:
        for mode in one.points():
            _test(mode, claim.option("compute"), energies, found)
    untested = "; ".join(f"{reason}: {some(devices)}" for reason, devices in found.skipped.items())
    return tested(claim, matching, found.breaches, untested)


def _test(mode: Hardware, wanted: str | None, energies: Energies, found: Tested) -> None:
    limit = next((fact for path in LIMITS if (fact := mode.facts.get(path))), None)
    if limit is None:
        found.skipped["no rated power"].append(mode.id)
        return
    if "process" not in mode.facts:
        found.skipped["no process node"].append(mode.id)
        return
    asked = [(unit, name) for unit in mode.units.values() for name in unit.precisions if wanted in (None, name)]
    if not asked:
        found.skipped[f"no {wanted} unit" if wanted else "no rate is disclosed"].append(mode.id)
    for unit, name in asked:
        try:
            peak, each = unit.peak_ops_per_s(name), energies.node(mode).arithmetic(name).low
        except RooflintError as error:
            found.skipped[str(error).removeprefix(f"{mode.id}: ")].append(mode.id)
            continue
        breaches = found.breaches[mode.id]
        breaches.extend(_breach(f"{unit.name} {name}", mode, peak / limit.value, 1 / each, limit))


def _breach(what: str, mode: Hardware, ops_per_j: float, ceiling_ops_per_j: float, limit: Fact) -> Iterator[str]:
    if ops_per_j > ceiling_ops_per_j:
        node, at = mode.facts["process"].display, f" at {mode.mode}" if mode.mode else ""
        yield (
            f"{what}{at}: {format_quantity(ops_per_j, OPS_PER_J)} with {limit.display}, "
            f"where arithmetic alone at {node} allows {format_quantity(ceiling_ops_per_j, OPS_PER_J)}"
        )


TOPS_PER_W = Kind(
    "tops_per_w",
    "a law for every device of a glob: peak over power limit stays below what arithmetic alone allows at its node",
    obtain_tops_per_w,
    expects=lambda subject: False,
    scopes=(),
    modes=False,
    inferred=True,
    foreign=True,
    check=check_tops_per_w,
    slug=slug_of_devices,
    headline=lambda claim: headline_of(
        claim,
        "the arithmetic of each peak alone takes no more than the power limit",
        str(claim.option("compute") or ""),
    ),
    about=devices_of,
    options={**DEVICES, "compute": {"type": "string", "description": "the only precision to test; all by default"}},
)
