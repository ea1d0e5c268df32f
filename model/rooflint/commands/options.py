"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from rooflint.hardware import Hardware
from rooflint.project import configured
from rooflint.specs import Registry

Format = Annotated[str, typer.Option("--format", "-f", help="text, json, csv, md, or what other parts add.")]
Specs = Annotated[
    list[Path] | None,
    typer.Option("--specs", help="Specs folder, instead of the project's own.", exists=True, file_okay=False),
]


def chosen(device: str, at: str, specs: list[Path] | None) -> Hardware:
    """The device that a person means, at an operating point if one is named."""
    hardware = registry(specs).find(device)
    return hardware.at(at) if at else hardware


def registry(specs: list[Path] | None) -> Registry:
    """Given folders, or those of the project around us, in front of the packaged specs."""
    return Registry.of(specs or configured("rooflint_specs"))
