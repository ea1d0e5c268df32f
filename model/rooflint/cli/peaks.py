"""`rooflint peaks DEVICE`: every peak and bandwidth as a ladder of facts, each with its citation and grade."""

import json
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import typer

from rooflint.base.errors import shown
from rooflint.base.facts import Factor, Ladder, weakest
from rooflint.base.precision import precision as precision_named
from rooflint.base.precision import rate_unit
from rooflint.base.units import BYTES_PER_S, OPS_PER_S, format_quantity
from rooflint.cli.options import Format, Specs, chosen
from rooflint.devices.hardware import ComputeUnit, Hardware, UndisclosedError
from rooflint.output.answer import write
from rooflint.output.table import Table

app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class Rung:
    """Something that is derived: a peak of a unit in a precision, or a bandwidth."""

    subject: str
    unit: str
    """`op/s` or `B/s`."""
    figure: str
    """For a reader."""
    ladder: Ladder
    sparse: float | None = None
    """With structured sparsity, where the unit has it."""


@app.command()
def peaks(
    device: Annotated[str, typer.Argument(help="Id, alias, or a part of exactly one id.")],
    precision: Annotated[str, typer.Option("--precision", "-p", help="Only this precision, in any case.")] = "",
    at: Annotated[str, typer.Option(help="Operating point, such as 30w.")] = "",
    form: Format = "text",
    specs: Specs = None,
) -> None:
    """Peaks and bandwidths of a device as ladders of facts, cited and graded; json, csv and md add file and line."""
    hardware = chosen(device, at, specs)
    wanted = precision_named(precision).name if precision else ""
    rungs = list(_rungs(hardware, wanted))
    if wanted and not rungs:
        hardware.best_unit(wanted)  # raises and says why
    if form == "json":
        typer.echo(json.dumps([_record(rung) for rung in rungs], ensure_ascii=False, indent=2))
        return
    if form != "text":
        typer.echo(write(_table(rungs), form), nl=False)
        return
    typer.echo(f"{hardware.name}  ({hardware.id}{f' at {at}' if at else ''})")
    for line in _text(rungs):
        typer.echo(line)
    for path, reason in hardware.undisclosed.items():
        typer.echo(f"\nundisclosed: {path}: {reason}")
    if hardware.notes:
        typer.echo("\n" + textwrap.fill(hardware.notes, 80))


def _rungs(hardware: Hardware, wanted: str) -> Iterator[Rung]:
    """Everything that can be derived, or the peaks of one precision."""
    for unit in hardware.units.values():
        for name in unit.precisions:
            if not wanted or name == wanted:
                try:
                    yield _peak(unit, name)
                except UndisclosedError:
                    continue  # listed at the end
    for memory in hardware.memories.values():
        if memory.has_bandwidth and not wanted:
            ladder = memory.derivation()
            yield Rung(memory.name, "B/s", format_quantity(ladder.result, BYTES_PER_S), ladder)


def _peak(unit: ComputeUnit, name: str) -> Rung:
    ladder = unit.derivation(name)
    figure = format_quantity(ladder.result, OPS_PER_S, unit=rate_unit(name))
    if f"sparsity.{name}" not in unit.facts:
        return Rung(f"{unit.name} {name}", "op/s", figure, ladder)
    sparse = unit.derivation(name, sparse=True).result
    figure += f" dense, {format_quantity(sparse, OPS_PER_S, unit=rate_unit(name))} sparse"
    return Rung(f"{unit.name} {name}", "op/s", figure, ladder, sparse)


def _record(rung: Rung) -> dict[str, object]:
    """For programs: one object a figure, with its factors inside."""
    keys = ("fact", "document", "where", "grade", "line")
    return {
        "subject": rung.subject,
        "value": rung.ladder.result,
        "unit": rung.unit,
        "sparse_value": rung.sparse,
        "formula": rung.ladder.formula,
        "weakest_grade": weakest(rung.ladder.facts),
        "factors": [
            {"factor": factor.display, **dict(zip(keys, _citation(factor), strict=True))}
            for factor in rung.ladder.factors
        ],
    }


def _table(rungs: list[Rung]) -> Table:
    columns = ("subject", "value", "unit", "weakest grade", "factor", "fact", "document", "where", "grade", "line")
    rows = [
        (rung.subject, rung.ladder.result, rung.unit, weakest(rung.ladder.facts), factor.display, *_citation(factor))
        for rung in rungs
        for factor in rung.ladder.factors
    ]
    return Table(columns, tuple(rows))


def _citation(factor: Factor) -> tuple[str, str, str, str, str]:
    fact = factor.fact
    if fact is None:
        return "convention", "", "", "", ""
    return fact.path, fact.source.document, fact.where, fact.source.grade, f"{shown(fact.file)}:{fact.line}"


def _text(rungs: list[Rung]) -> Iterator[str]:
    documents: dict[str, int] = {}
    for rung in rungs:
        yield f"\n{rung.subject:<22} {rung.figure}"
        for position, factor in enumerate(rung.ladder.factors):
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
