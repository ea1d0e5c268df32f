"""`rooflint peaks DEVICE`: every peak and bandwidth as a ladder of facts, each with its citation and grade."""

from collections.abc import Iterator
from typing import Annotated

import typer

from rooflint.commands.options import Format, Specs, registry
from rooflint.errors import RooflintError, shown
from rooflint.facts import Factor, Ladder, weakest
from rooflint.hardware import Hardware
from rooflint.precision import precision as precision_named
from rooflint.precision import rate_unit
from rooflint.table import Table, write
from rooflint.units import BYTES_PER_S, OPS_PER_S, format_quantity

app = typer.Typer(add_completion=False)

Rung = tuple[str, str, Ladder]


@app.command()
def peaks(
    device: Annotated[str, typer.Argument(help="Id, alias, or a part of exactly one id.")],
    precision: Annotated[str, typer.Option("--precision", "-p", help="Only this precision, in any case.")] = "",
    at: Annotated[str, typer.Option(help="Operating point, such as 30w.")] = "",
    form: Format = "text",
    specs: Specs = None,
) -> None:
    """Peaks and bandwidths of a device, derived: each factor with its source, grade and line."""
    hardware = registry(specs).find(device)
    hardware = hardware.at(at) if at else hardware
    wanted = precision_named(precision).name if precision else ""
    rungs = list(_rungs(hardware, wanted))
    if wanted and not rungs:
        hardware.best_unit(wanted)  # raises and says why
    if form != "text":
        typer.echo(write(_table(rungs), form), nl=False)
        return
    typer.echo(f"{hardware.name}  ({hardware.id}{f' at {at}' if at else ''})")
    for line in _text(rungs):
        typer.echo(line)
    for path, reason in hardware.undisclosed.items():
        typer.echo(f"\nundisclosed: {path}: {reason}")


def _rungs(hardware: Hardware, wanted: str) -> Iterator[Rung]:
    """(subject, figure for a reader, ladder) of everything that can be derived."""
    for unit in hardware.units.values():
        for name in unit.precisions:
            if wanted and name != wanted:
                continue
            try:
                ladder = unit.derivation(name)
            except RooflintError:
                continue  # undisclosed; listed at the end
            shown_peak = format_quantity(ladder.result, OPS_PER_S, unit=rate_unit(name))
            if f"sparsity.{name}" in unit.facts:
                sparse = unit.derivation(name, sparse=True).result
                shown_peak += f" dense, {format_quantity(sparse, OPS_PER_S, unit=rate_unit(name))} sparse"
            yield f"{unit.name} {name}", shown_peak, ladder
    for memory in hardware.memories.values():
        if memory.has_bandwidth and not wanted:
            ladder = memory.derivation()
            yield memory.name, format_quantity(ladder.result, BYTES_PER_S), ladder


def _table(rungs: list[Rung]) -> Table:
    columns = ("subject", "value", "formula", "weakest grade", "factor", "fact", "document", "where", "grade", "line")
    rows = [
        (subject, ladder.result, ladder.formula, weakest(ladder.facts), factor.display, *_citation(factor))
        for subject, _, ladder in rungs
        for factor in ladder.factors
    ]
    return Table(columns, tuple(rows))


def _citation(factor: Factor) -> tuple[str, str, str, str, str]:
    fact = factor.fact
    if fact is None:
        return "convention", "", "", "", ""
    return fact.path, fact.source.document, fact.where, fact.source.grade, f"{shown(fact.file)}:{fact.line}"


def _text(rungs: list[Rung]) -> Iterator[str]:
    documents: dict[str, int] = {}
    for subject, figure, ladder in rungs:
        yield f"\n{subject:<22} {figure}"
        for position, factor in enumerate(ladder.factors):
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
