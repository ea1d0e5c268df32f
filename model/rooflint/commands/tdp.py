"""`rooflint tdp estimate`: what a chip's arithmetic draws, from physics."""

import typer

from rooflint.commands.tdp_estimate import estimate_command

app = typer.Typer(help="Power from physics: can a chip keep its peak?", no_args_is_help=True, add_completion=False)
app.command("estimate")(estimate_command)


@app.callback()
def _group() -> None:
    """Keep the name of a command in front of its options also where there is only one."""
