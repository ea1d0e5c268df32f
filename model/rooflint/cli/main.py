"""Summaries: what a command says of itself, read in the text of its module, which is not imported for it."""

import ast
import errno
import os
import sys
from contextlib import suppress
from functools import cache
from importlib.machinery import PathFinder
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

import rooflint
from rooflint.base.errors import RooflintError


def summary(entry: EntryPoint) -> str | None:
    """The help of a command, as Typer would take it from the module; None where only an import can tell.

    That is the `help` of a Typer app, else the docstring of its one command, else that of a function.
    """
    file = _file(entry.module)
    if file is None:
        return None
    body = ast.parse(file.read_bytes()).body
    app = next((node.value for node in body if isinstance(node, ast.Assign) and _assigns(node, entry.attr)), None)
    if given := _argument(app, "help"):
        return given
    functions = [node for node in body if isinstance(node, ast.FunctionDef)]
    name = f"{entry.attr}.command"
    wanted = [one for one in functions if one.name == entry.attr or name in map(_called, one.decorator_list)]
    return ast.get_docstring(wanted[0]) if len(wanted) == 1 else None


def _file(module: str) -> Path | None:
    """Where a module's text is, found without importing the packages that it is in."""
    spec, parts = None, module.split(".")
    for depth in range(1, len(parts) + 1):
        spec = PathFinder.find_spec(".".join(parts[:depth]), spec.submodule_search_locations if spec else None)
        if spec is None:
            return None
    file = Path(spec.origin or "") if spec else Path()
    return file if file.suffix == ".py" and file.is_file() else None


def _assigns(node: ast.Assign, name: str) -> bool:
    return [target.id for target in node.targets if isinstance(target, ast.Name)] == [name]


def _called(decorator: ast.expr) -> str:
    """`app.command` of `@app.command("list")`."""
    return ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)


def _argument(call: ast.expr | None, name: str) -> str | None:
    """The text that a call is given by that name."""
    given = call.keywords if isinstance(call, ast.Call) else []
    values = (one.value.value for one in given if one.arg == name and isinstance(one.value, ast.Constant))
    return next((value for value in values if isinstance(value, str)), None)


# ---- The program `rooflint`: one entry, commands that each part brings, imported only when they are used

GROUP = "rooflint.commands"
LISTING = f"{GROUP}.listing"
"""Whether commands are asked for only to be listed."""


@cache
def _entries() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


class Program(TyperGroup):
    """A group whose commands are entry points."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Names of all installed commands."""
        return sorted(_entries())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import one command, unless a summary is all that is asked for."""
        entry = _entries().get(cmd_name)
        if entry is None:
            return None
        said = summary(entry) if ctx.meta.get(LISTING) else None
        if said:
            return TyperCommand(cmd_name, help=said)
        try:
            return _command(cmd_name, entry.load())
        except (ImportError, AttributeError) as error:
            broken = f"cannot be loaded ({error}); install the package that brings it again"
            if ctx.meta.get(LISTING):
                return TyperCommand(cmd_name, help=broken)
            raise RooflintError(f"{cmd_name}: {broken}") from error

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The list of commands, which are not imported for it."""
        ctx.meta[LISTING] = True
        super().format_help(ctx, formatter)


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
    """Run the program.

    What a user can mend is one sentence on stderr and status 2; standard output that takes no more is one and status 1,
    or only the status where its reader has left.
    """
    try:
        _run()
    except OSError as error:
        if (problem := _problem_of_output()) is None:
            raise
        if problem.errno != errno.EPIPE:
            typer.echo(f"standard output cannot be written ({error.strerror})", err=True)
        _close_output()
        sys.exit(1)


def _run() -> None:
    try:
        program(prog_name="rooflint")  # however it was started
    except RooflintError as error:
        typer.echo(str(error), err=True)
        sys.exit(2)
    finally:
        if sys.stdout:  # what still waits fails here, where it can be said, and not when the interpreter ends
            sys.stdout.flush()


def _problem_of_output() -> OSError | None:
    """What standard output answers to one more line; an error of another file is none of it."""
    try:
        print(flush=True)
    except OSError as error:
        return error
    return None


def _close_output() -> None:
    """Send what still waits to nowhere, or the interpreter would try once more to write it."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
