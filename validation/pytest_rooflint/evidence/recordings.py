"""Measurements in the evidence: each beside its prediction by the roofline, with its conditions and its outcome."""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import cbrt
from typing import Any, Literal

from pytest_rooflint.claims.measured import reached
from pytest_rooflint.golden import workloads
from pytest_rooflint.golden.kinds import Claim, ClaimError
from pytest_rooflint.recordings.bounds import Bounds, bounds, table_of
from pytest_rooflint.recordings.files import KINDS, claims_file, machine_mismatch, recorded_file, recordings_below
from pytest_rooflint.recordings.laws import LAWS, Finding, LawContext, findings
from pytest_rooflint.recordings.row import RecordedFile, Row, reasons
from pytest_rooflint.suite.suite import Suite
from rooflint.base import units
from rooflint.base.errors import RooflintError, shown
from rooflint.base.text import counted
from rooflint.base.units import format_number, format_quantity, percent
from rooflint_measure.record import Gemm, Network, Stream, Unavailable
from rooflint_report.findings import Measured, MeasuredRow, Named, TakenRecording
from rooflint_report.verdicts import Why

SPEED = ("rate <= peak", "bandwidth <= peak", "latency >= roofline")
"""Laws of speed: a measurement passes if one of them holds."""

BESIDE = ("macs = op table", "power <= limit")
"""Other laws: a measurement fails if one of them is broken, and does not pass by them."""


def rows_of(one: RecordedFile, asked: LawContext, at: str | None) -> Iterator[MeasuredRow]:
    """Rows of all measurements of a device."""
    for row in one.rows():
        if isinstance(row.subject, Gemm | Stream | Network):
            yield _row(row, asked, at)


def _row(row: Row, asked: LawContext, at: str | None) -> MeasuredRow:
    samples = row.measurement.samples
    outcome, why = _standing(row, asked)
    return MeasuredRow(
        device=asked.hardware.id,
        at=at,
        file=shown(row.recorded.file),
        line=row.line,
        name=row.measurement.name,
        kind=row.subject.kind,
        what=_what(row.subject),
        precision=row.precision,
        library=row.subject.library,
        size=cbrt(row.subject.macs / row.subject.batch) if isinstance(row.subject, Gemm) else None,
        best_s=samples.best_s,
        best_display=format_quantity(samples.best_s, units.SECONDS),
        median_s=samples.median_s,
        median_display=format_quantity(samples.median_s, units.SECONDS),
        spread_display=percent(samples.spread),
        samples=len(samples.seconds),
        disturbed=len(reasons(samples, asked.despite)),
        conditions=conditions([row]),
        outcome=outcome,
        why=why,
        **_reached(row, asked),
        **_predicted(row, asked),
        **_power(row),
    )


def _what(subject: Gemm | Stream | Network) -> str:
    """What was timed, without its precision and library."""
    match subject:
        case Gemm():
            batch = f"{subject.batch} of " if subject.batch > 1 else ""
            cube = subject.m == subject.n == subject.k
            return f"product {batch}" + (f"{subject.m}³" if cube else f"{subject.m} × {subject.n} × {subject.k}")
        case Stream():
            return f"{subject.kernel} of {format_quantity(subject.array_bytes, units.BYTES, digits=3)}"
        case Network():
            return ", ".join([f"{subject.name} batch {subject.batch}", *subject.settings])


def _standing(row: Row, asked: LawContext) -> tuple[Literal["pass", "fail", "undecided"], str]:
    """Outcome and reason: fail if a law is broken, pass if a law of speed holds, otherwise undecided."""
    fast, beside = ([one for name in laws for one in findings((row,), LAWS[name], asked)] for laws in (SPEED, BESIDE))
    too_fast = [one for one in fast if one.state == "breaks"][:1]  # two laws of speed say the same
    if broken := [*too_fast, *(one for one in beside if one.state == "breaks")]:
        return "fail", "; ".join(map(_sentence, broken))
    if any(one.state == "keeps" for one in fast):
        return "pass", ""
    return "undecided", fast[0].text if fast else "no figure to compare it with"


def _sentence(broken: Finding) -> str:
    because = f" (likely: {broken.causes[0].text})" if broken.causes and broken.causes[0].fact else ""
    return f"{broken.text}{because}"


def _reached(row: Row, asked: LawContext) -> dict[str, Any]:
    """The rate, and its share of the peak or bandwidth, which is not clamped to 1."""
    try:
        one = reached(row, asked.hardware)
    except RooflintError as error:
        return {"rate_display": "—", "efficiency": None, "efficiency_display": f"not known: {error}"}
    return {"rate_display": one.shown, "efficiency": one.share, "efficiency_display": percent(one.share)}


def _predicted(row: Row, asked: LawContext) -> dict[str, Any]:
    found = _bounds(row, asked)
    ratio = found.roofline_s / row.measurement.samples.best_s if found else None
    return {
        "predicted_s": found.roofline_s if found else None,
        "predicted_display": format_quantity(found.roofline_s, units.SECONDS) if found else "—",
        "bound": found.bound if found else None,
        "ratio": ratio,
        "ratio_display": format_number(ratio, 3) if ratio else "—",
    }


def _bounds(row: Row, asked: LawContext) -> Bounds | None:
    try:
        return bounds(row, asked.hardware, asked.networks)
    except (RooflintError, ClaimError):
        return None


def _power(row: Row) -> dict[str, Any]:
    """Mean power and energy of a call, idle power included; a missing measurement is a reason, never zero."""
    energy = row.measurement.energy
    if isinstance(energy, Unavailable):
        unknown = dict.fromkeys(("idle_display", "energy_display", "per_w_display"), "—")
        return {"power_w": None, "idle_w": None, "power_display": str(energy), **unknown}
    ops = row.measurement.ops
    per_w = format_quantity(ops / energy.call_j, units.OPS_PER_J) if ops and energy.call_j else "—"
    return {
        "power_w": energy.mean_w,
        "idle_w": energy.idle_w,
        "power_display": format_quantity(energy.mean_w, units.WATTS),
        "idle_display": format_quantity(energy.idle_w, units.WATTS),
        "energy_display": format_quantity(energy.call_j, units.JOULES),
        "per_w_display": per_w,
    }


# ---- conditions


def conditions(rows: Sequence[Row]) -> str:
    """Clock, temperature, load and threads over all measurements, as far as they were recorded."""
    threads = sorted({row.measurement.conditions.threads for row in rows})
    load = _range(rows, "load", units.DIMENSIONLESS)
    text = [
        _range(rows, "clock_hz", units.HERTZ),
        _range(rows, "temperature_c", units.DIMENSIONLESS, " °C"),
        f"load {load}" if load else "",
        counted(threads[0], "thread") if len(threads) == 1 else f"{threads[0]} to {threads[-1]} threads",
    ]
    return ", ".join(filter(None, text))


def _range(rows: Sequence[Row], name: str, dimension: units.Dimension, unit: str = "") -> str:
    values = [value for row in rows for value in row.readings(name)]
    if not values:
        return ""
    low, high = (f"{format_quantity(end, dimension, digits=3)}{unit}" for end in (min(values), max(values)))
    return low if low == high else f"{low} … {high}"


# ---- all recordings of a suite

HOW = "rooflint measure record writes a recording of this machine; docs/recordings.md says where it goes."


def measured(suite: Suite) -> Measured:
    """All recordings of known devices, and every measurement in them that depends on the device."""
    found = list(_recordings(suite))
    rows = [row for one, asked, at in found for row in rows_of(one, asked, at)]
    return Measured(
        sentences=list(_said(rows, found)),
        recordings=[_recording(one, asked, at) for one, asked, at in found],
        rows=rows,
        how=HOW,
    )


Read = tuple[RecordedFile, LawContext, str | None]
"""A recording, what laws may know of its device, and the operating point."""


def _recordings(suite: Suite) -> Iterator[Read]:
    """Valid recordings; a separate check of the suite lists the invalid ones."""
    claims = [claim for claim in suite.claims() if claim.kind in KINDS]
    for root in suite.golden_roots:
        for device, file in recordings_below(root):
            about = [claim for claim in claims if claim.file == claims_file(file)]
            try:
                one = recorded_file(file)
                at = one.mode if suite.registry.get(device).operating_points else None
                asked = _asked(suite, device, at, about)
            except RooflintError:
                continue
            if about and not machine_mismatch(one, asked.hardware, about[0].option("machine")):
                yield one, asked, at


def _asked(suite: Suite, device: str, at: str | None, claims: Sequence[Claim]) -> LawContext:
    hardware = suite.registry.get(device)
    normal = dict.fromkeys(reason for claim in claims for reason in claim.option("despite", ()))
    return LawContext(
        hardware=hardware.at(at) if at else hardware,
        registry=suite.registry,
        networks=lambda one: table_of(
            one,
            lambda name, batch: workloads.build({"network": f"torchvision/{name}", "batch": batch}, suite.spec_roots),
        ),
        despite=tuple(normal),
    )


def _said(rows: Sequence[MeasuredRow], found: Sequence[Read]) -> Iterator[str]:
    if not rows:
        return
    devices = {asked.hardware.id for _, asked, _ in found}
    counts = Counter[str](row.outcome for row in rows)
    words = {"pass": "within their bounds", "fail": "beyond them", "undecided": "undecided"}
    states = ", ".join(f"{counts[outcome]} {word}" for outcome, word in words.items() if counts[outcome])
    yield f"{counted(len(rows), 'measurement')} of {counted(len(devices), 'device')}: {states}"


# ---- recordings


def _recording(one: RecordedFile, asked: LawContext, at: str | None) -> TakenRecording:
    recording = one.recording
    machine = recording.machine
    return TakenRecording(
        device=asked.hardware.id,
        at=at,
        file=shown(one.file),
        machine=machine.device,
        taken=recording.taken.isoformat(timespec="minutes"),
        command=recording.command,
        facts=[Named(name=name, display=str(value)) for name, value in machine.facts.items()],
        software=[Named(name=name, display=value) for name, value in machine.software.items()],
        left_out=[Why(what=what, why=why) for what, why in recording.left_out.items()],
        conditions=conditions([*one.rows()]),
    )
