"""The program `rooflint`: one entry, commands that each part brings, imported only when they are used."""

import sys
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import typer
from typer.core import TyperGroup

import rooflint
from rooflint.errors import RooflintError

GROUP = "rooflint.commands"


@cache
def _entries() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


class Program(TyperGroup):
    """A group whose commands are entry points."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Names of all installed commands."""
        return sorted(_entries())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Import one command."""
        entry = _entries().get(cmd_name)
        return _command(cmd_name, entry.load()) if entry else None


def _command(name: str, loaded: Any) -> Any:
    """A Typer app, or a function with annotations, as a command of that name."""
    app = loaded
    if not isinstance(loaded, typer.Typer):
        app = typer.Typer(add_completion=False)
        app.command()(loaded)
    command = typer.main.get_command(app)
    command.name = name
    return command


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rooflint {rooflint.__version__}")
        raise typer.Exit


program = typer.Typer(cls=Program, no_args_is_help=True, add_completion=True, pretty_exceptions_enable=False)


@program.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and leave."
    ),
) -> None:
    """Performance models of hardware: sourced specs, derived peaks, golden expectations, self-explaining verdicts."""


def main() -> None:
    """Run the program; what a user can mend is one sentence on stderr and status 2."""
    try:
        program()
    except RooflintError as error:
        typer.echo(str(error), err=True)
        sys.exit(2)
