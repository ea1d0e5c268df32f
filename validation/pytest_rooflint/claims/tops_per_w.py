"""`tops_per_w: arithmetic`: a law that no device has more op/s per watt than its arithmetic alone allows.

For all devices of a glob: peak over power limit stays below 1 / energy of a bare op at the process node. Registers,
wires, memory and leakage come on top, so a device above the ceiling has a wrong power, peak or node.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

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
from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import ClaimError, Context, Kind, Obtained, check_precisions
from rooflint.base.errors import RooflintError
from rooflint.base.facts import Fact
from rooflint.base.text import some
from rooflint.base.units import DIMENSIONLESS, OPS_PER_J, format_quantity
from rooflint.coefficients.library import Coefficients
from rooflint.energy.model import Energies
from rooflint.hardware.device import Hardware

SUBJECT = "arithmetic"

LIMITS = ("tdp", "powers.limit")
"""Facts that give the power limit, the first that is there."""


@dataclass
class Tested:
    """Breaches on the devices of a glob, and what could not be tested."""

    breaches: dict[str, list[str]] = field(default_factory=dict)
    """By device, for each that was tested."""
    skipped: dict[str, list[str]] = field(default_factory=dict)
    """Devices that could not be tested, wholly or in a precision, by reason."""

    def skip(self, reason: str, what: str) -> None:
        """Note a device that could not be tested, once per reason."""
        known = self.skipped.setdefault(reason, [])
        if what not in known:
            known.append(what)


def check(claim: Claim) -> None:
    """Refuse an unknown ceiling, and invalid options."""
    if claim.subject != SUBJECT:
        raise ClaimError(f"want '{SUBJECT}', the only known ceiling; found '{claim.subject}'")
    check_precisions(claim)
    check_devices(claim)


def obtain(claim: Claim, context: Context) -> Obtained:
    """Test every device, as rated and at each operating point; an excused one must exceed the ceiling."""
    excused = claim.option("except", {})
    energies, tested = Energies(Coefficients(context.registry)), Tested()
    matching = [*matching_devices(context, claim.option("devices", ALL))]
    for one in matching:
        for mode in (one, *(one.at(name) for name in one.operating_points)):
            _test(mode, claim.option("compute"), energies, tested)
    wrong = [*wrong_devices(tested.breaches, excused)]
    return Obtained(
        value=float(len(wrong)),
        dimension=DIMENSIONLESS,
        formula="; ".join(_reasons(tested.skipped))
        if matching
        else f"no device matches '{claim.option('devices', ALL)}'",
        display=display_of_devices(len(tested.breaches), excused, wrong),
        holds=bool(tested.breaches) and not wrong,
        expected="the arithmetic of each peak alone takes no more than the power limit",
        precision=claim.option("compute"),
        details="\n".join(shown_lines(wrong)),
    )


def _test(mode: Hardware, wanted: str | None, energies: Energies, tested: Tested) -> None:
    """Test each unit of a device in each precision."""
    limit = next((fact for path in LIMITS if (fact := mode.facts.get(path))), None)
    if limit is None:
        tested.skip("no rated power", mode.id)
        return
    if "process" not in mode.facts:
        tested.skip("no process node", mode.id)
        return
    asked = [(unit, name) for unit in mode.units.values() for name in unit.precisions if wanted in (None, name)]
    if not asked:
        tested.skip(f"no {wanted} unit" if wanted else "no rate is disclosed", mode.id)
    for unit, name in asked:
        try:
            peak, each = unit.peak_ops_per_s(name), energies.node(mode).arithmetic(name).low
        except RooflintError as error:
            tested.skip(str(error).removeprefix(f"{mode.id}: "), mode.id)
            continue
        found = tested.breaches.setdefault(mode.id, [])
        found.extend(_breach(f"{unit.name} {name}", mode, peak / limit.value, 1 / each, limit))


def _breach(what: str, mode: Hardware, ops_per_j: float, ceiling_ops_per_j: float, limit: Fact) -> Iterator[str]:
    if ops_per_j > ceiling_ops_per_j:
        node, at = mode.facts["process"].display, f" at {mode.mode}" if mode.mode else ""
        yield (
            f"{what}{at}: {_shown(ops_per_j)} with {limit.display}, "
            f"where arithmetic alone at {node} allows {_shown(ceiling_ops_per_j)}"
        )


def _reasons(skipped: Mapping[str, list[str]]) -> Iterator[str]:
    for reason, devices in skipped.items():
        yield f"{reason}: {some(devices)}"


def _shown(ops_per_j: float) -> str:
    return format_quantity(ops_per_j, OPS_PER_J)


KIND = Kind(
    "tops_per_w",
    "a law for every device of a glob: peak over power limit stays below what arithmetic alone allows at its node",
    obtain,
    expects=lambda subject: False,
    scopes=(),
    modes=False,
    inferred=True,
    foreign=True,
    check=check,
    slug=slug_of_devices,
    options={**DEVICES, "compute": {"type": "string", "description": "the only precision to test; all by default"}},
)
