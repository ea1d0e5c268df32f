"""`rooflint audit`: compare a table of peaks, bandwidths, powers and counts with the registry."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from pytest_rooflint.audit import account
from pytest_rooflint.audit.account import Finding
from pytest_rooflint.audit.auditor import Auditor
from rooflint.api.devices import registry
from rooflint.base.errors import InputError, RooflintError
from rooflint.base.files import write_atomically
from rooflint.base.project import configured
from rooflint.cli.options import Golden, Specs
from rooflint.output.answer import FORMATS, write

app = typer.Typer(add_completion=False)


@app.command()
def audit(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Tables (.csv, .tsv, .md, .html, .xlsx, .json, .yaml) or Python source.", exists=True, dir_okay=False
        ),
    ],
    mapping: Annotated[
        list[str] | None,
        typer.Option("--map", help="Meaning of a column, such as 'Dense=peak bf16 TFLOP/s' or 'Board=device'."),
    ] = None,
    form: Annotated[
        str, typer.Option("--format", "-f", help="text, json, csv, md, sarif or html; by default the suffix of -o.")
    ] = "",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to a file.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Also list correct figures.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Also fail on figures that could not be checked.")] = False,
    golden: Golden = None,
    specs: Specs = None,
) -> None:
    """Check tables of published figures and explain each wrong one.

    Python source is read and not run. Exit status: 0 no wrong figure; 1 a wrong figure, or nothing could be checked;
    2 a file cannot be read, and the findings of the others are printed.
    """
    roots = tuple(golden or configured("rooflint_golden"))
    auditor = Auditor(registry(specs), roots, dict(map(_pair, mapping or ())))
    findings, unread = audited(auditor, files)
    if len(unread) == len(files):
        raise unread[0]
    text = _written(findings, form or _suffix(output), everything)
    if output:
        try:
            write_atomically(output, text)
        except OSError as error:
            raise RooflintError(f"cannot write {output}: {error.strerror}") from error
        typer.echo(f"{account.sentence(findings)}; written to {output}")
    else:
        typer.echo(text, nl=False)
    for reason in unread:
        typer.echo(f"not read: {reason}", err=True)
    if unread:
        raise typer.Exit(2)
    if not any(finding.is_checked for finding in findings):
        typer.echo("no figure could be checked", err=True)
        raise typer.Exit(1)
    raise typer.Exit(int(any(finding.fails(strict=strict) for finding in findings)))


def audited(auditor: Auditor, files: Sequence[Path]) -> tuple[list[Finding], list[InputError]]:
    """Findings of all files that can be read, and why the others cannot."""
    findings: list[Finding] = []
    unread = []
    for file in files:
        try:
            findings += auditor.audit(file)
        except InputError as error:
            unread.append(error)
    return findings, unread


def _pair(text: str) -> tuple[str, str]:
    column, sign, role = text.rpartition("=")
    if not (sign and column and role):
        raise RooflintError(f"--map: want COLUMN=QUANTITY, found '{text}'")
    return column, role


def _suffix(output: Path | None) -> str:
    return output.suffix.lstrip(".").lower().replace("txt", "text") if output else "text"


def _written(findings: list[Finding], form: str, everything: bool) -> str:
    own = {"json": account.as_json, "sarif": account.as_sarif}
    known = sorted({*own, *FORMATS})
    if form and form not in known:
        raise RooflintError(f"unknown format '{form}' (known: {', '.join(known)})")
    if form == "text":
        return account.as_text(findings, everything=everything)
    if form in own:
        return own[form](findings)
    return write(account.as_table(findings, everything=everything), form or "text")
