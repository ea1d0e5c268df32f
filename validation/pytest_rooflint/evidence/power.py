"""Power in the evidence: of each device, at its own point and in each mode, the load that is hardest to sustain."""

from collections.abc import Iterable, Iterator

from rooflint.answers.tdp_registry import (
    CAVEATS,
    at_the_limit,
    counted,
    ends,
    fitting_clock,
    hardest_loads,
    ratio_shown,
    told,
    watts,
)
from rooflint.base.errors import InputError
from rooflint.coefficients.library import Coefficients
from rooflint.energy.model import Energies
from rooflint.energy.power import PowerCheck, UnknownPower, survey
from rooflint.hardware.device import Hardware
from rooflint.hardware.registry import Registry
from rooflint_report import findings

Found = PowerCheck | UnknownPower


def power(devices: Iterable[Hardware], registry: Registry) -> findings.Power:
    """Power at the printed peak, highest typical ratio first; devices without an answer are listed with the reason."""
    energies = Energies(Coefficients(registry))
    found = [_surveyed(point, energies) for one in devices for point in points(one)]
    able = [[one for one in several if isinstance(one, PowerCheck)] for several in found]
    worst = hardest_loads([one for several in able for one in several])
    counts = {several[0].load.device: len(several) for several in able if several}
    unknown = {several[0].device: len(several) for several in map(_missing, found) if several}
    return findings.Power(
        said=list(told(worst)) if worst else [],
        verdicts=counted(worst),
        loads=[_load(one, counts[one.load.device], unknown.get(one.load.device, 0)) for one in worst],
        not_known=[row for several in found if several == _missing(several) for row in _reasons(several)],
        caveats=list(CAVEATS),
    )


def points(device: Hardware) -> Iterator[Hardware]:
    """A device at its own point and in each mode."""
    yield device
    yield from map(device.at, device.operating_points)


def _surveyed(point: Hardware, energies: Energies) -> list[Found]:
    """All loads of a device; a file of energies that cannot be read counts as a missing figure here."""
    try:
        return survey(point, energies)
    except InputError as error:
        return [UnknownPower(point, str(error.problems[0]))]


def _missing(several: list[Found]) -> list[UnknownPower]:
    return [one for one in several if isinstance(one, UnknownPower)]


def limit(one: PowerCheck) -> findings.PowerLimit:
    """What the device is rated for."""
    return findings.PowerLimit(path=one.limit.path, value=one.limit_w, display=watts(one.limit_w))


def _load(one: PowerCheck, known: int, unknown: int) -> findings.PowerLoad:
    """The hardest of the known loads, with the numbers of known and unknown loads."""
    return findings.PowerLoad(
        device=one.load.hardware.id,
        at=one.load.hardware.mode,
        unit=one.load.unit,
        precision=one.load.precision,
        limit=limit(one),
        typical_display=watts(one.typical_w),
        low_ratio=one.low_ratio,
        ratio=one.ratio,
        high_ratio=one.high_ratio,
        ratio_display=ratio_shown(one.ratio),
        ends_display=ends(one),
        verdict=one.verdict,
        left_out=list(one.left_out),
        exhausting_j_per_op=one.exhausting_j_per_op,
        exhausting_display=at_the_limit(one),
        fitting_clock_hz=one.fitting_clock_hz,
        fitting_clock_display=fitting_clock(one),
        known=known,
        unknown=unknown,
    )


def _reasons(several: list[Found]) -> list[findings.PowerNotKnown]:
    """A row for each reason of a point without any answer; equal ones of its loads once."""
    point = several[0].hardware if isinstance(several[0], UnknownPower) else several[0].load.hardware
    return [
        findings.PowerNotKnown(device=point.id, at=point.mode, reason=reason)
        for reason in dict.fromkeys(one.reason for one in _missing(several))
    ]
