"""The program `rooflint`: one table of commands, each imported only when it is used."""

import errno
import gc
import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

import rooflint
from rooflint.base.errors import ExpandedNameWarning, RooflintError
from rooflint.base.text import sanitized

COMMANDS: dict[str, tuple[str, str]] = {
    "analyze": (
        "rooflint.cli.networks",
        "Show time, units, energy, memory, cost and carbon of a network on one device, down to each kernel.",
    ),
    "audit": (
        "pytest_rooflint.cli.audit",
        "Check tables of published figures against the specs, and explain each wrong figure.",
    ),
    "calibrate": (
        "pytest_rooflint.cli.calibrate",
        "Compare the model with published measurements: power, and kernel times whose constants are fitted to them.",
    ),
    "check": ("pytest_rooflint.cli.check", "Check the golden files against the specs. Other arguments go to pytest."),
    "compare": ("rooflint.cli.networks", "Compare devices on a network: latency, energy, memory; which wins, and why."),
    "diff": (
        "pytest_rooflint.cli.differences",
        "List predictions that changed between two revisions of the specs, and the fact that changed them.",
    ),
    "explain": ("rooflint.cli.explain", "Explain the time of one GPU kernel, term by term."),
    "explore": (
        "rooflint.cli.explore",
        "Explore variants of a device: the best of them for networks, and which fact buys most.",
    ),
    "hardware": ("rooflint.cli.hardware", "List devices, or show every fact of one."),
    "history": (
        "pytest_rooflint.cli.history",
        "Keep a line for each commit, and draw the trend of counts, predictions and measured times.",
    ),
    "ledger": (
        "pytest_rooflint.cli.differences",
        "Write all predictions (devices × networks × precisions × batches) to a gzipped CSV file.",
    ),
    "measure": (
        "pytest_rooflint.cli.measure",
        "Measure products, memory and networks on this machine; record them.",
    ),
    "models": ("rooflint.cli.networks", "Show latency, energy, memory and units of many networks on one device."),
    "mutate": (
        "pytest_rooflint.cli.mutate",
        "Mutation-test the specs: inject common errors, and count which claims catch them.",
    ),
    "networks": ("rooflint.cli.networks", "List the networks that need no torch, with their parameters."),
    "peaks": (
        "rooflint.cli.hardware",
        "Derive the peaks and bandwidths of a device from its facts, with sources.",
    ),
    "precisions": (
        "rooflint.cli.hardware",
        "List number formats and policies: how weights, activations and cache are stored, and what computes.",
    ),
    "report": ("rooflint_report.report", "Render the evidence of a run as an HTML page and a Markdown summary."),
    "schema": ("pytest_rooflint.cli.schema", "Export the JSON Schemas of specs, golden files and JSON output."),
    "sweep": (
        "rooflint.cli.networks",
        "Sweep batches: latency, throughput and energy, the best batch, and where one device overtakes another.",
    ),
    "tdp": ("rooflint.cli.tdp", "Estimate power from physics: can a chip sustain its peak?"),
}
"""Every command: its module, and its help. The `app` of the module is the command, or has it among others. The names
of modules are not imports: `--help` needs none of them, and the model works where the harness is not installed."""


COLLECT_AFTER = 1_000_000
"""New objects between two runs of the garbage collector; by default 700, so that imports alone start it hundreds of
times, and a run over everything imported so far takes as long as reading a device."""


_UsageError: type[Any] = typer.BadParameter.__bases__[0]


_BOUNDS = (
    (r"Input should be greater than or equal to (\S+)", r"want \1 or more"),
    (r"Input should be less than or equal to (\S+)", r"want \1 or less"),
    (r"Input should be a valid integer.*", "want a whole number"),
    (r"Input should be a valid number.*", "want a number"),
    (r"Got unexpected extra argument\(?s?\)? \((.*)\)", r"unexpected words: \1"),
)
"""What Typer says of a value, and how we do."""


def _plain(message: str) -> str:
    """A message on an option, in the words of all other messages."""
    for pattern, text in _BOUNDS:
        message = re.sub(pattern, text, message)
    return message


@contextmanager
def _sanitized_usage() -> Iterator[None]:
    """Errors of usage quote words that were typed; nothing in them acts on a terminal or a log."""
    try:
        yield
    except _UsageError as error:
        several = _how_to_name_several(error)
        error.message = _plain(sanitized(error.message)) + several
        raise


@contextmanager
def _with_a_precision_to_try() -> Iterator[None]:
    """Where a device lacks the precision, which may be the default, the nearest one that it has is named."""
    try:
        yield
    except RooflintError as error:
        if nearest := getattr(error, "instead", None):
            raise RooflintError(f"{error}; try -p {nearest}") from error
        raise


def _how_to_name_several(error: Any) -> str:
    """How several devices are named, where words are left over in a command that takes devices."""
    takes = {option for one in error.ctx.command.params for option in one.opts} if error.ctx else ()
    is_left_over = "unexpected extra argument" in error.message
    return "; separate devices by commas: -d t4,l4" if is_left_over and "-d" in takes else ""


class Program(TyperGroup):
    """A group whose commands are imported when they run."""

    listing = False
    """Whether commands are only listed, for which the table is enough."""

    def make_context(self, *arguments: Any, **more: Any) -> Any:
        """Read the words before the command."""
        with _sanitized_usage():
            return super().make_context(*arguments, **more)

    def invoke(self, ctx: Any) -> Any:
        """Read the words of the command, and run it."""
        with _sanitized_usage(), _with_a_precision_to_try():
            return super().invoke(ctx)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Names of all commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Import one command, or take its help from the table where commands are only listed."""
        if cmd_name not in COMMANDS:
            return None
        module, help_text = COMMANDS[cmd_name]
        return TyperCommand(cmd_name, help=help_text) if self.listing else load(cmd_name, module, help_text)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command of the first word. Raises a usage error with the commands that are spelt like it."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from rooflint.base.suggestions import did_you_mean, nearest  # noqa: PLC0415  # for a mistyped word only

            near = did_you_mean(nearest(args[0], list(COMMANDS), cutoff=0.6))
            ctx.fail(f"No such command '{args[0]}'{near or '; rooflint --help lists them'}")
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """List the commands without importing them."""
        self.listing = True
        super().format_help(ctx, formatter)


def load(name: str, module: str, help_text: str) -> Any:
    """The command of that name in a module, with that help. Raises RooflintError where it cannot be imported."""
    try:
        app: Any = typer.main.get_command(import_module(module).app)
    except ImportError as error:
        raise RooflintError(f"{name}: cannot import {module} ({error}); reinstall rooflint") from error
    command = getattr(app, "commands", {}).get(name, app)
    details = (command.help or "").partition("\n\n")[2]
    command.name, command.help = name, f"{help_text}\n\n{details}".strip()
    return command


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rooflint {rooflint.__version__}")
        raise typer.Exit


def _trust(given: bool) -> None:
    if given:
        from rooflint.workloads.load import trusted  # noqa: PLC0415  # few commands read networks

        trusted.set(True)


program = typer.Typer(cls=Program, no_args_is_help=True, add_completion=True, pretty_exceptions_enable=False)


@program.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and exit."
    ),
    trust: bool = typer.Option(
        False, "--trust", callback=_trust, help="Run code of networks from outside the project without a warning."
    ),
) -> None:
    """Performance models of hardware: sourced specs, derived peaks, golden expectations, verdicts that explain."""


_show = warnings.showwarning


def _warn(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
    """A warning to the user as one line; others, for developers, with their place as Python shows them."""
    if issubclass(category, UserWarning):
        kind = "note" if issubclass(category, ExpandedNameWarning) else "warning"
        typer.echo(sanitized(f"{kind}: {message}"), err=True)
    else:
        _show(message, category, *place, **more)


def main() -> None:
    """Run the program.

    An error that the user can correct is one sentence on stderr and status 2. If standard output cannot be written, the
    status is 1, with a sentence unless the reader closed the pipe.
    """
    gc.set_threshold(COLLECT_AFTER)
    warnings.showwarning = _warn
    _show_progress()
    try:
        _run()
    except OSError as error:
        if (problem := _problem_of_output()) is None:
            raise
        if problem.errno != errno.EPIPE:
            typer.echo(f"standard output cannot be written ({error.strerror})", err=True)
        _close_output()
        sys.exit(1)
    finally:
        gc.freeze()  # or Python looks for cycles among all objects before it ends, which takes a fifth of a help


def _show_progress() -> None:
    """Let a terminal show what the library is at when it takes long."""
    if sys.stderr and sys.stderr.isatty():
        import logging  # noqa: PLC0415  # nothing that writes to a file or a pipe needs it

        log = logging.getLogger("rooflint")
        log.addHandler(logging.StreamHandler())
        log.setLevel(logging.INFO)


def _run() -> None:
    try:
        program(prog_name="rooflint")  # however it was started
    except RooflintError as error:
        typer.echo(sanitized(str(error)), err=True)
        sys.exit(2)
    finally:
        if sys.stdout:  # what still waits fails here, where it can be said, and not when the interpreter ends
            sys.stdout.flush()


def _problem_of_output() -> OSError | None:
    """The error of writing to standard output, if there is one; errors of other files are not counted."""
    try:
        print(flush=True)
    except OSError as error:
        return error
    return None


def _close_output() -> None:
    """Discard buffered output, because the interpreter would try to write it again at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
