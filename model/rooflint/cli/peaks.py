"""`rooflint peaks DEVICE`: every peak and bandwidth as a ladder of facts, each with its citation and grade."""

import json
import textwrap
from collections.abc import Iterator
from typing import Annotated

import typer

from rooflint.api.devices import Quantity
from rooflint.api.devices import device as device_named
from rooflint.base.errors import shown
from rooflint.base.facts import Factor, weakest
from rooflint.base.precision import precision as precision_named
from rooflint.cli.options import Format, Specs
from rooflint.output.answer import write
from rooflint.output.sections import Table

app = typer.Typer(add_completion=False)


@app.command()
def peaks(
    device: Annotated[str, typer.Argument(help="Id, alias, or a part of exactly one id.")],
    precision: Annotated[str, typer.Option("--precision", "-p", help="Only this precision (case-insensitive).")] = "",
    at: Annotated[str, typer.Option(help="Operating point, such as 30w.")] = "",
    form: Format = "text",
    specs: Specs = None,
) -> None:
    """Derive peaks and bandwidths of a device from its facts, with sources; json, csv and md add file and line."""
    hardware = device_named(device, at, specs=specs)
    wanted = precision_named(precision).name if precision else ""
    rungs = hardware.peaks(wanted) + ([] if wanted else hardware.bandwidths())
    if wanted and not rungs:
        hardware.best_unit(wanted)  # raises with the reason
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
