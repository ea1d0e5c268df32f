"""`rooflint audit`: somebody's table of peaks, bandwidths, powers and counts, held against the registry."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rooflint.api.devices import registry
from rooflint.base.errors import RooflintError
from rooflint.base.files import configured, write_whole
from rooflint.cli.options import Specs

if TYPE_CHECKING:
    from pytest_rooflint.audit.account import Finding

app = typer.Typer(add_completion=False)


class AuditError(RooflintError):
    """What was asked for cannot be done."""


@app.command()
def audit(
    files: Annotated[
        list[Path], typer.Argument(help="Tables: .csv, .tsv, .json, .yaml or .md.", exists=True, dir_okay=False)
    ],
    mapping: Annotated[
        list[str] | None,
        typer.Option("--map", help="What a column is, such as 'Dense=peak bf16 TFLOP/s' or 'Board=device'."),
    ] = None,
    form: Annotated[
        str, typer.Option("--format", "-f", help="text, json, csv, md, sarif, html; by the suffix of -o.")
    ] = "",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A file instead of the terminal.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="List what is right, too.")] = False,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Fail on whatever could not be settled, too."),
    ] = False,
    golden: Annotated[list[Path] | None, typer.Option(help="Golden folder instead of the project's own.")] = None,
    specs: Specs = None,
) -> None:
    """Check tables of published figures, and say of each wrong one what it is instead.

    Status 0: nothing is wrong. 1: something is, or nothing could be checked. 2: a table cannot be read.
    """
    from pytest_rooflint.audit.auditor import Auditor  # noqa: PLC0415  # `rooflint --help` does without

    roots = tuple(golden or configured("rooflint_golden"))
    auditor = Auditor(registry(specs), roots, dict(map(_pair, mapping or ())))
    findings = [finding for file in files for finding in auditor.audit(file)]
    text = _written(findings, form or _suffix(output), everything)
    if output:
        try:
            write_whole(output, text)
        except OSError as error:
            raise AuditError(f"{output}: cannot be written: {error.strerror}") from error
        from pytest_rooflint.audit.account import sentence  # noqa: PLC0415

        typer.echo(f"{sentence(findings)}; written to {output}")
    else:
        typer.echo(text, nl=False)
    if not any(finding.is_checked for finding in findings):
        typer.echo("nothing could be checked", err=True)
        raise typer.Exit(1)
    raise typer.Exit(int(any(finding.fails(strict=strict) for finding in findings)))


def _pair(text: str) -> tuple[str, str]:
    column, sign, role = text.rpartition("=")
    if not (sign and column and role):
        raise AuditError(f"--map: want COLUMN=QUANTITY, found '{text}'")
    return column, role


def _suffix(output: Path | None) -> str:
    return output.suffix.lstrip(".").lower().replace("txt", "text") if output else "text"


def _written(findings: "list[Finding]", form: str, everything: bool) -> str:
    from pytest_rooflint.audit import account  # noqa: PLC0415
    from rooflint.output.answer import FORMATS, write  # noqa: PLC0415

    own = {"json": account.as_json, "sarif": account.as_sarif}
    known = sorted({*own, *FORMATS})
    if form and form not in known:
        raise AuditError(f"unknown format '{form}' (known: {', '.join(known)})")
    if form == "text":
        return account.as_text(findings, everything=everything)
    if form in own:
        return own[form](findings)
    return write(account.as_table(findings, everything=everything), form or "text")
