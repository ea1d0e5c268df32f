"""`rooflint hardware` lists devices and shows their facts; `rooflint peaks` derives peaks and bandwidths from them.

`rooflint precisions` lists number formats and policies.
"""

import json
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import typer

from rooflint.api.devices import Quantity, bandwidths_of, registry, system
from rooflint.api.devices import device as device_named
from rooflint.base.errors import RooflintError, shown, shown_short
from rooflint.base.facts import Factor, Grade, weakest
from rooflint.base.precision import POLICIES, PRECISIONS, rate_unit
from rooflint.base.precision import precision as precision_named
from rooflint.base.text import UNKNOWN, wrapped
from rooflint.base.units import BYTES_PER_S, OPS_PER_S, format_quantity
from rooflint.cli.options import Format, Specs
from rooflint.hardware.device import KINDS, Hardware, working_peak_ops_per_s, working_units
from rooflint.hardware.names import listed, system_of
from rooflint.hardware.system import System
from rooflint.output.answer import write
from rooflint.output.sections import Table

NOTE = """
peak: sum of the units that a network runs on, of one processor where a module
has several; ≈ estimate; rooflint peaks DEVICE derives the peak of each unit"""

app = typer.Typer(add_completion=False)
sheets = typer.Typer()
app.add_typer(sheets, name="hardware")


@sheets.callback(invoke_without_command=True)
def hardware_command(context: typer.Context) -> None:
    """List devices, or show every fact of one."""
    if context.invoked_subcommand is None:
        list_devices()


@dataclass(frozen=True)
class Best:
    """The highest dense peak of a device in any precision."""

    ops_per_s: float
    precision: str
    grade: Grade

    def __str__(self) -> str:
        """`989.4 TFLOP/s bf16`, with `≈` in front where it rests on an estimate."""
        about = "≈ " if self.grade == "estimate" else ""
        return f"{about}{format_quantity(self.ops_per_s, OPS_PER_S, unit=rate_unit(self.precision))} {self.precision}"


@sheets.command("list")
def list_devices(
    pattern: Annotated[str, typer.Argument(help="Words of a name, or a glob such as 'nvidia/*h100*'.")] = "",
    kind: Annotated[str, typer.Option(help=f"Only one kind: {', '.join(KINDS)}.")] = "",
    precision: Annotated[
        str,
        typer.Option("--precision", "-p", help="Only devices that compute in this precision, with their peak in it."),
    ] = "",
    architecture: Annotated[str, typer.Option(help="Part of an architecture, such as hopper.")] = "",
    form: Format = "text",
    specs: Specs = None,
) -> None:
    """List devices with their highest dense peak (in any or one precision), bandwidth and power."""
    devices = registry(specs)
    wanted = precision_named(precision).name if precision else ""
    ids = listed(devices, pattern) if pattern else devices.ids()
    found = [
        hardware
        for hardware in map(devices.get, ids)
        if (not kind or hardware.kind == kind)
        and architecture.lower() in (hardware.architecture or "")
        and (not wanted or _best(hardware, wanted))
    ]
    if not found:
        asked = ", ".join(word for word in (pattern, kind, wanted, architecture) if word)
        raise RooflintError(
            f"no device matches '{asked}' ({len(devices.ids())} are known; 'rooflint hardware' lists them)"
        )
    typer.echo(write(_overview(found, wanted) if form in ("text", "md") else _figures(found, wanted), form), nl=False)
    if form == "text":
        typer.echo(NOTE)


def _overview(found: list[Hardware], wanted: str) -> Table:
    rows = []
    for one in found:
        peak = _best(one, wanted) or ("undisclosed" if one.undisclosed else UNKNOWN)
        bandwidth = _bandwidth(one)
        moved = UNKNOWN if bandwidth is None else format_quantity(bandwidth, BYTES_PER_S)
        rows.append((one.id, one.kind, str(peak), moved, one.facts["tdp"].display if "tdp" in one.facts else UNKNOWN))
    return Table(("device", "kind", "highest dense peak", "bandwidth", "TDP"), tuple(rows))


def _figures(found: list[Hardware], wanted: str) -> Table:
    """For programs: SI base units, empty where nothing is known."""
    peaks = ("precision", "peak_ops_per_s")
    columns = ("id", "name", "kind", "architecture", *peaks, "bandwidth_bytes_per_s", "tdp_w", "grade")
    rows = []
    for one in found:
        best = _best(one, wanted)
        peak = (best.precision, best.ops_per_s, best.grade) if best else (None, None, None)
        rows.append((one.id, one.name, one.kind, one.architecture, *peak[:2], _bandwidth(one), one.tdp_w, peak[2]))
    return Table(columns, tuple(rows))


def _best(hardware: Hardware, wanted: str) -> Best | None:
    peaks = (best for best in _peaks(hardware) if wanted in ("", best.precision))
    return max(peaks, key=lambda best: best.ops_per_s, default=None)


def _peaks(hardware: Hardware) -> Iterator[Best]:
    for precision in dict.fromkeys(name for unit in hardware.units.values() for name in unit.precisions):
        try:
            ladders = [unit.derivation(precision) for unit in working_units(hardware, precision)]
        except RooflintError:
            continue  # undisclosed, or only of another processor on the module
        facts = [fact for ladder in ladders for fact in ladder.facts]
        yield Best(working_peak_ops_per_s(hardware, precision), precision, weakest(tuple(facts)))


def _bandwidth(hardware: Hardware) -> float | None:
    try:
        return hardware.main_memory().bandwidth_bytes_per_s
    except RooflintError:
        return None


SYSTEMS = ("system", "devices", "topology", "one-way", "pair", "bisection", "cards")


@sheets.command("systems")
def list_systems(form: Format = "text", specs: Specs = None) -> None:
    """List systems: devices and how they are joined, with bandwidths in one direction."""
    known = registry(specs)
    rows = [_joined(system_of(known, known.get(name))) for name in known.system_files]  # refuses what it cannot read
    typer.echo(write(Table(SYSTEMS, tuple(rows)), form), nl=False)
    if form == "text":
        typer.echo("\none-way: all links of a device; pair: between two; cards: the share of a device")


def _joined(one: System) -> tuple[str, ...]:
    figures: list[float | None] = [one.link.derivation(1).result, one.pair(1).result]
    figures.append(one.bisection(1).result if one.joined.topology != "host" else None)
    figures.append(one.outside() if one.cards else None)
    texts = (UNKNOWN if value is None else format_quantity(value, BYTES_PER_S) for value in figures)
    return one.short, f"{one.count} × {one.device.id.rpartition('/')[2]}", one.joined.topology, *texts


@sheets.command("show")
def show(
    device: Annotated[str, typer.Argument(help="Id, name, or words that exactly one device has.")],
    at: Annotated[str, typer.Option(help="Operating point, such as 30w.")] = "",
    form: Format = "text",
    specs: Specs = None,
) -> None:
    """Show every fact of a device with its source, place and grade; formats other than text add file and line."""
    joined = None if at else system(device, specs=specs)
    hardware = joined.hardware if joined else device_named(device, at, specs=specs)
    rows = tuple(
        (path, fact.display, fact.source.grade, fact.source.document, fact.where, f"{shown(fact.file)}:{fact.line}")
        for path, fact in hardware.facts.items()
    )
    if form != "text":
        typer.echo(write(Table(("fact", "value", "grade", "document", "where", "line"), rows), form), nl=False)
        return
    for line in _sheet(hardware):
        typer.echo(line)


def _sheet(hardware: Hardware) -> Iterator[str]:
    """For a terminal: facts under their part of the device, documents once at the end."""
    yield f"{hardware.name}  ({hardware.label})"
    about = (hardware.kind, f"scope {hardware.scope}", hardware.architecture, hardware.die)
    yield "  " + ", ".join(word for word in about if word)
    documents: dict[str, int] = {}
    section = ""
    order = list(dict.fromkeys(_split(path)[0] for path in hardware.facts))
    keys = max(len(_split(path)[1]) for path in hardware.facts)
    values = max(len(fact.display) for fact in hardware.facts.values())
    for path, fact in sorted(hardware.facts.items(), key=lambda item: order.index(_split(item[0])[0])):
        above, key = _split(path)
        if above != section:
            yield from ("", f"  {above}")
            section = above
        number = documents.setdefault(f"{fact.source.document} ({fact.source.grade})", len(documents) + 1)
        head = f"    {key:<{keys}} {fact.display:<{values}} {fact.source.grade:<9}[{number}] "
        yield wrapped(fact.where, head, len(head))
    yield ""
    yield f"  weakest grade: {weakest(tuple(hardware.facts.values()))}"
    yield from (wrapped(f"{path}: {reason}", "  undisclosed: ", 4) for path, reason in hardware.undisclosed.items())
    if hardware.operating_points:
        yield wrapped(", ".join(hardware.operating_points), "  operating points: ", 4)
    yield ""
    yield from (wrapped(document, f"  [{number}] ", 6) for document, number in documents.items())
    if hardware.notes:
        yield from ("", wrapped(hardware.notes, "  ", 2))


def _split(path: str) -> tuple[str, str]:
    """`units.tensor_core.clock` → its part of the device, and the rest."""
    parts = path.split(".")
    depth = 2 if parts[0] in ("units", "memories", "caches", "links") else 1 if len(parts) > 1 else 0
    return ".".join(parts[:depth]) or "device", ".".join(parts[depth:])


# ---- `rooflint peaks DEVICE`: every peak and bandwidth as a ladder of facts, each with its citation and grade


@app.command("peaks")
def peaks(
    device: Annotated[str, typer.Argument(help="Id, name, or words that exactly one device has.")],
    precision: Annotated[str, typer.Option("--precision", "-p", help="Only this precision (case-insensitive).")] = "",
    at: Annotated[str, typer.Option(help="Operating point, such as 30w.")] = "",
    form: Format = "text",
    specs: Specs = None,
) -> None:
    """Derive peaks and bandwidths of a device, or the links of a system, from facts with sources.

    json, csv and md add file and line.
    """
    if (joined := system(device, specs=specs)) and not (precision or at):
        _derived(bandwidths_of(joined), joined.hardware, form)
        return
    hardware = device_named(device, at, specs=specs)
    wanted = precision_named(precision).name if precision else ""
    rungs = hardware.peaks(wanted) + ([] if wanted else hardware.bandwidths() + hardware.link_bandwidths())
    if wanted and not rungs:
        hardware.best_unit(wanted)  # raises with the reason
    _derived(rungs, hardware, form)


def _derived(rungs: list[Quantity], hardware: Hardware, form: str) -> None:
    """Figures with their factors."""
    if form == "json":
        typer.echo(json.dumps([_record(rung) for rung in rungs], ensure_ascii=False, indent=2))
        return
    if form != "text":
        typer.echo(write(_table(rungs), form), nl=False)
        return
    typer.echo(f"{hardware.name}  ({hardware.label})")
    typer.echo(f"facts of {shown_short(hardware.file)}")
    for line in _text(rungs):
        typer.echo(line)
    for path, reason in hardware.undisclosed.items():
        typer.echo(f"\nundisclosed: {path}: {reason}")
    if hardware.notes:
        typer.echo("\n" + textwrap.fill(hardware.notes, 80))


def _record(rung: Quantity) -> dict[str, object]:
    """For programs: one object a figure, with its factors inside."""
    keys = ("fact", "document", "where", "grade", "line")
    return {
        "subject": rung.subject,
        "value": rung.value,
        "unit": rung.unit,
        "sparse_value": rung.sparse.value if rung.sparse else None,
        "formula": rung.derivation.formula,
        "weakest_grade": weakest(rung.derivation.facts),
        "factors": [
            {"factor": factor.display, **dict(zip(keys, _citation(factor), strict=True))}
            for factor in rung.derivation.factors
        ],
    }


def _table(rungs: list[Quantity]) -> Table:
    columns = ("subject", "value", "unit", "weakest grade", "factor", "fact", "document", "where", "grade", "line")
    rows = [
        (rung.subject, rung.value, rung.unit, weakest(rung.derivation.facts), factor.display, *_citation(factor))
        for rung in rungs
        for factor in rung.derivation.factors
    ]
    return Table(columns, tuple(rows))


def _citation(factor: Factor) -> tuple[str, str, str, str, str]:
    fact = factor.fact
    if fact is None:
        return "convention", "", "", "", ""
    return fact.path, fact.source.document, fact.where, fact.source.grade, f"{shown(fact.file)}:{fact.line}"


def _text(rungs: list[Quantity]) -> Iterator[str]:
    documents: dict[str, int] = {}
    for rung in rungs:
        figure = f"{rung.text} dense, {rung.sparse.text} sparse" if rung.sparse else rung.text
        yield f"\n{rung.subject:<22} {figure}"
        for position, factor in enumerate(rung.derivation.factors):
            yield f"  {'×' if position else ' '} {factor.display:<22} {_source(factor, documents)}".rstrip()
    if documents:
        yield ""
    for document, number in documents.items():
        yield f"[{number}] {document}"


def _source(factor: Factor, documents: dict[str, int]) -> str:
    fact = factor.fact
    if fact is None:
        return "convention"
    number = documents.setdefault(f"{fact.source.document} ({fact.source.grade})", len(documents) + 1)
    return f"{fact.source.grade:<9} [{number}] {fact.where}"


# ---- `rooflint precisions`: what `-p` takes


@app.command("precisions")
def precisions(form: Format = "text") -> None:
    """List number formats and policies: what weights, activations and cache are stored in, and what computes."""
    if form not in ("text", "md"):
        typer.echo(write(_formats_and_policies(), form), nl=False)
        return
    columns = ("policy", "weights", "activations", "cache", "products in", "published as")
    rows = (
        (name, f"{one.weights.stored_bits:.4g} bit", one.activations, one.cache, " or ".join(one.compute), one.source)
        for name, one in POLICIES.items()
    )
    typer.echo(write(Table(columns, tuple(rows)), form), nl=False)
    listed = ", ".join(f"{name} {one.stored_bits:g}" for name, one in PRECISIONS.items())
    for line in ("", *textwrap.wrap(POLICY_NOTE, 78), "", *textwrap.wrap(f"{FORMAT_NOTE} {listed}.", 78)):
        typer.echo(line)


POLICY_NOTE = (
    "A policy makes the weights of the products in the blocks of a transformer narrow, with the share of a scale in "
    "their bits; under mxfp4 those of experts alone, where there are some. Embeddings, norms, biases, router and head "
    "stay in 16 bits, and so do all other activations; they and attention compute in bf16, or in fp16 where a device "
    "lacks it."
)
FORMAT_NOTE = "A format stores and computes everything alike. Bits of an element:"


def _formats_and_policies() -> Table:
    """For programs."""
    columns = ("name", "kind", "weight_bits", "activations", "cache", "compute", "source")
    formats = ((name, "format", one.stored_bits, name, name, name, None) for name, one in PRECISIONS.items())
    policies = (
        (name, "policy", one.weights.stored_bits, one.activations, one.cache, "/".join(one.compute), one.source)
        for name, one in POLICIES.items()
    )
    return Table(columns, (*formats, *policies))
