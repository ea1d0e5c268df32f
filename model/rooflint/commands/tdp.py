"""`rooflint tdp estimate` and `rooflint tdp registry`: what arithmetic draws, and which chips can hold their peak."""

import typer

from rooflint.commands.tdp_estimate import estimate_command
from rooflint.commands.tdp_registry import registry_command

app = typer.Typer(help="Power from physics: can a chip keep its peak?", no_args_is_help=True, add_completion=False)
app.command("estimate")(estimate_command)
app.command("registry")(registry_command)
