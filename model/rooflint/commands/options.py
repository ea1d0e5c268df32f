"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from rooflint.project import configured
from rooflint.specs import Registry

Format = Annotated[str, typer.Option("--format", "-f", help="text, json, csv, md, or what other parts add.")]
Specs = Annotated[
    list[Path] | None,
    typer.Option("--specs", help="Specs folder, instead of the project's own.", exists=True, file_okay=False),
]


def registry(specs: list[Path] | None) -> Registry:
    """Given folders, or those of the project around us, in front of the packaged specs."""
    return Registry.of(specs or configured("rooflint_specs"))
