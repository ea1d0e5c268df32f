"""The program: commands by entry point, and one sentence instead of a traceback."""

import errno
import os
import re
import subprocess
import sys
import traceback
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from typer.testing import CliRunner

import rooflint
from rooflint.base.errors import RooflintError
from rooflint.cli import main
from rooflint.cli.main import summary

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def run(monkeypatch, capsys):
    """`run("peaks", "t4")` is the program in this process: status, stdout, stderr."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def program(*arguments):
        monkeypatch.setattr(sys, "argv", ["rooflint", *map(str, arguments)])
        try:
            main.main()
            status = 0
        except SystemExit as leaving:
            status = leaving.code or 0
        out, err = (COLOUR.sub("", stream) for stream in capsys.readouterr())  # GitHub's runner asks for colours
        return SimpleNamespace(status=status, out=out, err=err)

    return program


@pytest.fixture
def commands(monkeypatch):
    """Other commands than the installed ones: `commands(hello=function)`."""

    def install(**loaded):
        entries = {
            name: SimpleNamespace(name=name, module="nowhere", attr="app", load=lambda thing=thing: thing)
            for name, thing in loaded.items()
        }
        monkeypatch.setattr(main, "_entries", lambda: entries)

    return install


def test_the_version_is_that_of_the_distribution(run):
    done = run("--version")
    assert (done.status, done.out) == (0, f"rooflint {rooflint.__version__}\n")


def test_help_lists_every_installed_command(run):
    done = run("--help")
    assert done.status == 0
    for entry in entry_points(group="rooflint.commands"):
        assert f" {entry.name} " in done.out
    assert {"hardware", "peaks"} <= {entry.name for entry in entry_points(group="rooflint.commands")}


def test_without_a_command_there_is_help(run):
    done = run()
    assert done.status == 2
    assert "Usage: rooflint" in done.out + done.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("peaks", "h100"), "'h100' is ambiguous: nvidia/h100-nvl-94gb, nvidia/h100-pcie-80gb, nvidia/h100-sxm5-80gb"),
        (("peaks", "nvidia/t4", "--at", "30w"), "nvidia/t4 has no operating point '30w' (has: none)"),
        (("peaks", "nvidia/t4", "-f", "yaml"), "unknown format 'yaml' (known: "),
        (("hardware", "show", "zzzzzzzz"), "unknown device 'zzzzzzzz' ("),
        (("hardware", "list", "zzzzzzzz"), "no device matches 'zzzzzzzz' ("),
        (("peaks", "nvidia/t4", "-p", "fp8"), "nvidia/t4 does not support fp8 (has: fp16, fp32, fp64, int4, int8)"),
        (("peaks", "nvidia/t4", "-p", "fp17"), "unknown precision 'fp17' (known: "),
    ],
)
def test_what_a_user_can_mend_is_one_sentence_and_status_2(run, arguments, sentence):
    try:
        done = run(*arguments)
    except Exception:
        pytest.fail(f"a traceback for what a user typed:\n{traceback.format_exc(limit=-2)}")
    assert done.status == 2
    assert done.err.startswith(sentence)
    assert done.err.count("\n") == 1
    assert "Traceback" not in done.err


def test_a_broken_spec_is_said_with_file_line_and_wish(run, specs, monkeypatch):
    specs.write("acme/one", "name: One\nkind: gpu\ntdp: 700 W\nfoo: 1\n")
    monkeypatch.chdir(specs.root)
    done = run("peaks", "acme/one", "--specs", specs.root)
    assert done.status == 2
    assert done.err.splitlines() == [
        "hardware/acme/one.yaml:3  tdp: want [value, source, where], found '700 W'",
        "hardware/acme/one.yaml:4  unknown key 'foo'",
    ]


def test_an_unknown_command_is_a_usage_error(run):
    done = run("nosuch")
    assert done.status == 2
    assert "No such command 'nosuch'" in done.err


def test_a_bug_is_not_swallowed(commands, run):
    def broken():
        raise ZeroDivisionError

    commands(broken=broken)
    with pytest.raises(ZeroDivisionError):
        run("broken")


def test_another_package_brings_a_function(commands, run):
    def hello(name: str = "you") -> None:
        typer.echo(f"hello {name}")

    commands(hello=hello)
    assert run("hello", "--name", "me").out == "hello me\n"


def test_another_package_brings_an_app_of_several_commands(commands, run):
    app = typer.Typer()
    app.command("one")(lambda: typer.echo("1"))
    app.command("two")(lambda: typer.echo("2"))
    commands(many=app)
    assert run("many", "two").out == "2\n"
    assert "many" in run("--help").out


def test_an_error_of_another_package_is_one_sentence_too(commands, run):
    def refusing() -> None:
        raise RooflintError("want this, found that")

    commands(refusing=refusing)
    done = run("refusing")
    assert (done.status, done.err) == (2, "want this, found that\n")


def test_only_the_command_that_is_used_is_loaded(monkeypatch, run):
    loaded = []
    load = EntryPoint.load

    def noted(entry):
        if entry.group == main.GROUP:
            loaded.append(entry.name)
        return load(entry)

    monkeypatch.setattr(EntryPoint, "load", noted)
    assert run("peaks", "nvidia/t4").status == 0
    assert set(loaded) == {"peaks"}


LISTED = """
import sys
from rooflint import cli
try:
    cli.main()
except SystemExit as leaving:
    assert not leaving.code
heavy = ("numpy", "pydantic", "yaml", "pytest", "jinja2")
print("imported:", *(name for name in sys.modules if ".commands" in name or name in heavy))
"""


@pytest.mark.parametrize(("arguments", "imported"), [(["--help"], ""), (["peaks", "--help"], "rooflint.cli.peaks")])
def test_the_list_of_commands_imports_none_of_them(arguments, imported):
    result = subprocess.run(
        [sys.executable, "-c", LISTED, *arguments], capture_output=True, encoding="utf-8", check=False
    )
    assert result.returncode == 0, result.stderr
    assert imported in result.stdout.splitlines()[-1]
    assert (imported == "") == (result.stdout.splitlines()[-1] == "imported:")


# ------------------------------------------------------------------------------------------------------ standard output


def started(*arguments, stdout, buffered=True):
    environment = {**os.environ, "PYTHONUNBUFFERED": "" if buffered else "1", "COLUMNS": "80"}
    return subprocess.Popen(
        [sys.executable, "-m", "rooflint", *arguments],
        stdout=stdout, stderr=subprocess.PIPE, encoding="utf-8", env=environment,
    )  # fmt: skip


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="this system has no full device")
@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize("arguments", [("peaks", "t4"), ("--help",), ("hardware", "list", "t4", "-f", "json")])
def test_standard_output_that_takes_no_more_is_one_sentence_and_status_1(arguments, buffered):
    with open("/dev/full", "w", encoding="utf-8") as full, started(*arguments, stdout=full, buffered=buffered) as run:  # noqa: PTH123
        assert run.communicate()[1] == "standard output cannot be written (No space left on device)\n"
    assert run.returncode == 1


@pytest.mark.skipif(os.name != "posix", reason="pipes break otherwise elsewhere")
@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize("arguments", [("peaks", "t4"), ("--help",), ("hardware", "list", "-f", "json")])
def test_a_reader_that_leaves_ends_it_quietly(arguments, buffered):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        with started(*arguments, stdout=writing, buffered=buffered) as run:
            assert run.communicate()[1] == ""
    finally:
        os.close(writing)
    assert run.returncode == 1


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="this system has no full device")
def test_what_a_command_only_printed_fails_where_it_can_be_said(commands, run, monkeypatch):
    commands(broken=lambda: print("waits in the buffer"))
    with open("/dev/full", "w", encoding="utf-8") as full:  # noqa: PTH123
        monkeypatch.setattr(sys, "stdout", full)
        done = run("broken")
        monkeypatch.undo()
    assert (done.status, done.err) == (1, "standard output cannot be written (No space left on device)\n")


def test_a_file_of_a_command_that_cannot_be_written_is_a_bug_and_not_swallowed(commands, run):
    def broken():
        raise OSError(errno.ENOSPC, "No space left on device")

    commands(broken=broken)
    with pytest.raises(OSError, match="No space left"):
        run("broken")


def test_the_package_runs_as_a_module():
    result = subprocess.run(
        [sys.executable, "-m", "rooflint", "--version"], capture_output=True, encoding="utf-8", check=False
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, f"rooflint {rooflint.__version__}\n", "")


def test_the_group_works_under_the_runner_of_typer():
    assert CliRunner().invoke(main.program, ["--version"]).output == f"rooflint {rooflint.__version__}\n"


def test_a_command_that_cannot_be_loaded_is_said_so_and_hides_no_other(monkeypatch, run):
    gone = EntryPoint("gone", "rooflint.commands.gone:app", main.GROUP)
    kept = {entry.name: entry for entry in entry_points(group=main.GROUP)}
    monkeypatch.setattr(main, "_entries", lambda: {**kept, "gone": gone})
    listed = run("--help")
    assert listed.status == 0
    assert "cannot be loaded (No module named 'rooflint.commands.gone')" in listed.out
    assert "peaks" in listed.out
    asked = run("gone")
    assert asked.status == 2
    assert asked.err.strip() == (
        "gone: cannot be loaded (No module named 'rooflint.commands.gone'); install the package that brings it again"
    )


# ---- Summaries: what is read in a module's text is what an import would tell

ENTRIES = {entry.name: entry for entry in entry_points(group="rooflint.commands")}


def read(tmp_path, monkeypatch, text, attr="app"):
    (tmp_path / "brought").mkdir()
    (tmp_path / "brought" / "__init__.py").write_text("raise ImportError('imported')\n", encoding="utf-8")
    (tmp_path / "brought" / "orders.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    return summary(EntryPoint("orders", f"brought.orders:{attr}", "rooflint.commands"))


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_a_summary_equals_its_slow_twin(name):
    """Which imports the command."""
    imported = main._command(name, ENTRIES[name].load()).help
    assert summary(ENTRIES[name]) == imported
    assert imported


@pytest.mark.parametrize(
    ("text", "attr", "said"),
    [
        ("def hello():\n    '''Greet.'''\n", "hello", "Greet."),
        ("app = typer.Typer(help='Greet.')\n@app.command()\ndef a():\n    'A.'\n", "app", "Greet."),
        ("app = typer.Typer()\n@app.command('x')\ndef a():\n    'A.'\ndef b():\n    'B.'\n", "app", "A."),
        ("app = typer.Typer()\n@app.command\ndef a():\n    'A.'\n", "app", "A."),
    ],
    ids=["function", "help-of-the-app", "one-command", "bare-decorator"],
)
def test_it_is_read_where_typer_finds_it(tmp_path, monkeypatch, text, attr, said):
    assert read(tmp_path, monkeypatch, text, attr) == said
    assert "brought" not in sys.modules


@pytest.mark.parametrize(
    "text",
    [
        "from elsewhere import app\n",
        "app = typer.Typer(help=WORDS)\n",
        "app = typer.Typer()\n@app.command()\ndef a():\n    'A.'\n@app.command()\ndef b():\n    'B.'\n",
        "app = typer.Typer()\n@app.command()\ndef a():\n    pass\n",
    ],
    ids=["imported", "computed", "two-commands", "no-docstring"],
)
def test_what_only_an_import_can_tell_is_none(tmp_path, monkeypatch, text):
    assert read(tmp_path, monkeypatch, text) is None


@pytest.mark.parametrize("module", ["nosuch", "nosuch.deeper", "rooflint.nosuch", "sys"])
def test_a_module_without_text_is_none(module):
    assert summary(EntryPoint("x", f"{module}:app", "rooflint.commands")) is None
