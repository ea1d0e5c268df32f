"""`rooflint hardware list`, `rooflint hardware show DEVICE`."""

from typing import Annotated

import typer

from rooflint.commands.options import Format, Specs, registry
from rooflint.errors import RooflintError
from rooflint.facts import weakest
from rooflint.hardware import Hardware
from rooflint.precision import rate_unit
from rooflint.table import Table, write
from rooflint.units import BYTES_PER_S, OPS_PER_S, format_quantity

app = typer.Typer(help="List and show devices.", no_args_is_help=True, add_completion=False)

#: Precisions that say most about a device in one column.
_HEADLINE = ("bf16", "fp16", "int8", "fp32")


@app.command("list")
def list_devices(
    pattern: Annotated[str, typer.Argument(help="Part of an id, or a glob such as 'nvidia/*h100*'.")] = "",
    kind: Annotated[str, typer.Option(help="Only cpu, gpu, tpu, kpu or npu.")] = "",
    form: Format = "text",
    specs: Specs = None,
) -> None:
    """All devices in a table, with their best dense peak, bandwidth and power."""
    devices = registry(specs)
    ids = devices.match(pattern) if pattern else devices.ids()
    rows = [_row(hardware) for hardware in map(devices.get, ids) if not kind or hardware.kind == kind]
    if not rows:
        raise RooflintError(f"no device matches '{pattern or kind}' ({len(devices.ids())} are known)")
    typer.echo(write(Table(("device", "kind", "best dense peak", "bandwidth", "TDP"), tuple(rows)), form), nl=False)


def _row(hardware: Hardware) -> tuple[str, str, str, str, str]:
    return hardware.id, hardware.kind, _best_peak(hardware), _bandwidth(hardware), _display(hardware, "tdp")


def _best_peak(hardware: Hardware) -> str:
    for precision in _HEADLINE:
        try:
            peak = hardware.best_unit(precision).peak_ops_per_s(precision)
        except RooflintError:
            continue
        return f"{format_quantity(peak, OPS_PER_S, unit=rate_unit(precision))} {precision}"
    return "undisclosed" if hardware.undisclosed else "—"


def _bandwidth(hardware: Hardware) -> str:
    try:
        return format_quantity(hardware.main_memory().bandwidth_bytes_per_s, BYTES_PER_S)
    except RooflintError:
        return "—"


def _display(hardware: Hardware, path: str) -> str:
    return hardware.facts[path].display if path in hardware.facts else "—"


@app.command("show")
def show(
    device: Annotated[str, typer.Argument(help="Id, alias, or a part of exactly one id.")],
    at: Annotated[str, typer.Option(help="Operating point, such as 30w.")] = "",
    form: Format = "text",
    specs: Specs = None,
) -> None:
    """Every fact of a device with its source, grade and line."""
    hardware = registry(specs).find(device)
    hardware = hardware.at(at) if at else hardware
    rows = tuple(
        (path, fact.display, fact.source.grade, fact.source.document, fact.where, f"{fact.file.name}:{fact.line}")
        for path, fact in hardware.facts.items()
    )
    table = Table(("fact", "value", "grade", "document", "where", "line"), rows)
    if form != "text":
        typer.echo(write(table, form), nl=False)
        return
    for line in _sheet(hardware):
        typer.echo(line)


def _sheet(hardware: Hardware) -> list[str]:
    """For a terminal: documents once, facts citing them by key."""
    head = [f"{hardware.name}  ({hardware.id}{f' at {hardware.mode}' if hardware.mode else ''})"]
    about = [hardware.kind, f"scope {hardware.scope}", hardware.architecture, hardware.die]
    lines = [*head, "  " + ", ".join(word for word in about if word), ""]
    documents: dict[str, int] = {}
    for path, fact in hardware.facts.items():
        number = documents.setdefault(f"{fact.source.document} ({fact.source.grade})", len(documents) + 1)
        lines.append(f"  {path:<38} {fact.display:<14} {fact.source.grade:<9} [{number}]")
    lines += ["", f"  weakest grade: {weakest(tuple(hardware.facts.values()))}"]
    lines += [f"  undisclosed: {path}: {reason}" for path, reason in hardware.undisclosed.items()]
    if hardware.operating_points:
        lines.append(f"  operating points: {', '.join(hardware.operating_points)}")
    lines += ["", *(f"  [{number}] {document}" for document, number in documents.items())]
    return lines + (["", f"  {hardware.notes}"] if hardware.notes else [])
