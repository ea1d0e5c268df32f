"""`tops_per_w: arithmetic`: no device computes more per watt than its arithmetic alone would take.

Over all devices of a glob: peak over power limit, against 1 / energy of a bare op at the process node. Registers,
wires, memory and leakage come on top of it, so whoever is above has a power, a peak or a node that cannot be.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pytest_rooflint.claims.over_devices import (
    ALL,
    DEVICES,
    check_devices,
    display_of_devices,
    matching_devices,
    shown_lines,
    slug_of_devices,
    wrong_devices,
)
from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import ClaimError, Context, Kind, Obtained, check_precisions
from rooflint.base.errors import RooflintError
from rooflint.base.facts import Fact
from rooflint.base.text import some
from rooflint.base.units import DIMENSIONLESS, OPS_PER_J, format_quantity
from rooflint.coefficients.library import Coefficients
from rooflint.devices.hardware import Hardware
from rooflint.energy.model import Energies

SUBJECT = "arithmetic"

LIMITS = ("tdp", "powers.limit")
"""What a device may draw; the most that was measured of it is less."""


@dataclass
class Looked:
    """What was found on the devices of a glob."""

    breaches: dict[str, list[str]] = field(default_factory=dict)
    """Of each device that could be tried."""
    silent: dict[str, list[str]] = field(default_factory=dict)
    """By reason: what could not be tried, a device or a precision of it."""

    def leave_out(self, reason: str, what: str) -> None:
        """Remember, once, that nobody says enough of something."""
        known = self.silent.setdefault(reason, [])
        if what not in known:
            known.append(what)


def check(claim: Claim) -> None:
    """Refuse another ceiling, and options that cannot mean anything."""
    if claim.subject != SUBJECT:
        raise ClaimError(f"want '{SUBJECT}', the only ceiling that is known; found '{claim.subject}'")
    check_precisions(claim)
    check_devices(claim)


def obtain(claim: Claim, context: Context) -> Obtained:
    """Try every device, as rated and at each operating point; an excused one must be above the ceiling."""
    excused = claim.option("except", {})
    energies, looked = Energies(Coefficients(context.registry)), Looked()
    matching = [*matching_devices(context, claim.option("devices", ALL))]
    for one in matching:
        for mode in (one, *(one.at(name) for name in one.operating_points)):
            _look(mode, claim.option("compute"), energies, looked)
    wrong = [*wrong_devices(looked.breaches, excused)]
    return Obtained(
        value=float(len(wrong)),
        dimension=DIMENSIONLESS,
        formula="; ".join(_reasons(looked.silent))
        if matching
        else f"no device matches '{claim.option('devices', ALL)}'",
        display=display_of_devices(len(looked.breaches), excused, wrong),
        holds=bool(looked.breaches) and not wrong,
        expected="no peak takes more power for its arithmetic alone than the device may draw",
        precision=claim.option("compute"),
        details="\n".join(shown_lines(wrong)),
    )


def _look(mode: Hardware, wanted: str | None, energies: Energies, looked: Looked) -> None:
    """Each unit of a device in each precision, by itself."""
    limit = next((fact for path in LIMITS if (fact := mode.facts.get(path))), None)
    if limit is None:
        looked.leave_out("no rated power", mode.id)
        return
    if "process" not in mode.facts:
        looked.leave_out("no process node", mode.id)
        return
    asked = [(unit, name) for unit in mode.units.values() for name in unit.precisions if wanted in (None, name)]
    if not asked:
        looked.leave_out(f"no {wanted} unit" if wanted else "no rate is disclosed", mode.id)
    for unit, name in asked:
        try:
            peak, each = unit.peak_ops_per_s(name), energies.node(mode).arithmetic(name).low
        except RooflintError as error:
            looked.leave_out(str(error).removeprefix(f"{mode.id}: "), mode.id)
            continue
        found = looked.breaches.setdefault(mode.id, [])
        found.extend(_breach(f"{unit.name} {name}", mode, peak / limit.value, 1 / each, limit))


def _breach(what: str, mode: Hardware, ops_per_j: float, ceiling_ops_per_j: float, limit: Fact) -> Iterator[str]:
    if ops_per_j > ceiling_ops_per_j:
        node, at = mode.facts["process"].display, f" at {mode.mode}" if mode.mode else ""
        yield (
            f"{what}{at}: {_shown(ops_per_j)} with {limit.display}, "
            f"where arithmetic alone at {node} allows {_shown(ceiling_ops_per_j)}"
        )


def _reasons(silent: Mapping[str, list[str]]) -> Iterator[str]:
    for reason, devices in silent.items():
        yield f"{reason}: {some(devices)}"


def _shown(ops_per_j: float) -> str:
    return format_quantity(ops_per_j, OPS_PER_J)


KIND = Kind(
    "tops_per_w",
    "a ceiling that no device of a glob exceeds: peak over power, against what arithmetic alone takes at its node",
    obtain,
    expects=lambda subject: False,
    scopes=(),
    modes=False,
    inferred=True,
    foreign=True,
    check=check,
    slug=slug_of_devices,
    options={**DEVICES, "compute": {"type": "string", "description": "the only precision to try; each unless said"}},
)
