"""The program: a table of commands, and one sentence instead of a traceback."""

import errno
import logging
import os
import re
import subprocess
import sys
import traceback
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from typer.testing import CliRunner

import rooflint
from rooflint.base.errors import RooflintError
from rooflint.base.text import HIDDEN
from rooflint.cli import main
from rooflint.cli.main import COMMANDS

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
    """Another table of commands: `commands(hello=app)`, where an app may be a function."""

    def install(**loaded):
        for name, thing in loaded.items():
            app = thing if isinstance(thing, typer.Typer) else typer.Typer()
            if app is not thing:
                app.command()(thing)
            monkeypatch.setitem(sys.modules, f"nowhere.{name}", SimpleNamespace(app=app))
            monkeypatch.setitem(COMMANDS, name, (f"nowhere.{name}", "Helps."))

    return install


def test_the_version_is_that_of_the_distribution(run):
    done = run("--version")
    assert (done.status, done.out) == (0, f"rooflint {rooflint.__version__}\n")


def test_help_lists_every_command_with_its_help(run):
    done = run("--help")
    assert done.status == 0
    for name, (_, help_text) in COMMANDS.items():
        assert re.search(rf"│ {name} +{re.escape(help_text)} ", done.out)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_can_be_loaded_and_has_the_help_of_the_table(name):
    command = main.load(name, *COMMANDS[name])
    assert command.name == name
    assert command.help.startswith(COMMANDS[name][1])


def test_details_of_a_command_follow_its_help(run):
    assert "Exit status: 0 no wrong figure" in run("audit", "--help").out


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
        (
            ("analyze", "resnet18", "nvidia/t4"),
            "nvidia/t4 does not support bf16 (has: fp16, fp32, fp64, int4, int8); try -p fp16",
        ),
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
    assert "No such command 'nosuch'; rooflint --help lists them" in done.err


def test_a_mistyped_command_is_told_what_is_near(run):
    done = run("peak", "t4")
    assert (done.status, done.out) == (2, "")
    assert "No such command 'peak'; did you mean peaks?" in done.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("compare", "resnet18", "-d", "t4", "l4", "a10"),
            "unexpected words: l4 a10; separate devices by commas: -d t4,l4",
        ),
        (("peaks", "t4", "l4"), "unexpected words: l4"),
    ],
)
def test_words_that_are_left_over_are_told_with_the_way_to_name_several_devices(run, monkeypatch, words, told):
    monkeypatch.setenv("COLUMNS", "120")
    done = run(*words)
    assert (done.status, done.out) == (2, "")
    assert told in done.err
    assert ("commas" in done.err) == ("commas" in told)


@pytest.mark.parametrize("terminal", [True, False])
def test_what_takes_long_is_said_on_a_terminal_alone(run, monkeypatch, terminal):
    log = logging.getLogger("rooflint")
    monkeypatch.setattr(log, "handlers", [])
    monkeypatch.setattr(log, "level", logging.WARNING)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    run("--version")
    assert [type(one) for one in log.handlers] == [logging.StreamHandler] * terminal
    assert (log.getEffectiveLevel() == logging.INFO) == terminal


@pytest.mark.filterwarnings("default::rooflint.base.errors.ExpandedNameWarning")
def test_an_abbreviation_is_said_beside_the_output(run):
    done = run("peaks", "xavier", "-f", "csv")
    assert (done.status, done.err) == (0, "note: 'xavier' is read as nvidia/jetson-agx-xavier-32gb\n")
    assert done.out.startswith("subject,")


@pytest.mark.parametrize(
    ("words", "wish"),
    [
        (("--prompt", "0"), "'--prompt': want 1 or more"),
        (("--batch", "x"), "want a whole number"),
    ],
)
def test_a_value_that_an_option_does_not_take_is_told_in_plain_words(run, words, wish):
    done = run("compare", "llama-3.1-8b", "-d", "h100-sxm5", *words)
    assert done.status == 2
    assert wish in " ".join(done.err.replace("│", " ").split())


@pytest.mark.parametrize(
    "words", [("\u202enosuch",), ("tdp", "estimate", "t4", "\x1b[31mred"), ("peaks", "--\u202eat")]
)
def test_usage_errors_show_control_characters_as_escapes(run, words):
    done = run(*words)
    assert done.status == 2
    assert not HIDDEN.search(done.err)
    assert "\u202e" not in "".join(words) or "\\u202e" in done.err  # terminal sequences are left out


def test_a_bug_is_not_swallowed(commands, run):
    def broken():
        raise ZeroDivisionError

    commands(broken=broken)
    with pytest.raises(ZeroDivisionError):
        run("broken")


def test_a_command_takes_options(commands, run):
    def hello(name: str = "you") -> None:
        typer.echo(f"hello {name}")

    commands(hello=hello)
    assert run("hello", "--name", "me").out == "hello me\n"


def test_a_command_may_be_a_group(commands, run):
    app = typer.Typer()
    app.command("one")(lambda: typer.echo("1"))
    app.command("two")(lambda: typer.echo("2"))
    commands(many=app)
    assert run("many", "two").out == "2\n"
    assert "many" in run("--help").out


def test_a_module_may_have_several_commands(commands, run):
    app = typer.Typer()
    app.command("one")(lambda: typer.echo("1"))
    app.command("two")(lambda: typer.echo("2"))
    commands(one=app, two=app)
    assert run("two").out == "2\n"


def test_an_error_of_a_command_is_one_sentence(commands, run):
    def refusing() -> None:
        raise RooflintError("want this, found that")

    commands(refusing=refusing)
    done = run("refusing")
    assert (done.status, done.err) == (2, "want this, found that\n")


LISTED = """
import sys
from rooflint.cli.main import main
try:
    main()
except SystemExit as leaving:
    assert not leaving.code
heavy = ("numpy", "pydantic", "yaml", "pytest", "jinja2", "importlib.metadata")
print("imported:", *(name for name in sys.modules if ".cli." in name and name != "rooflint.cli.main" or name in heavy))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("arguments", "imported"), [(["--help"], ""), (["peaks", "--help"], "rooflint.cli.hardware")])
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


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="this system has no full device")
@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize("arguments", [("peaks", "t4"), ("--help",), ("hardware", "list", "t4", "-f", "json")])
def test_standard_output_that_takes_no_more_is_one_sentence_and_status_1(arguments, buffered):
    with open("/dev/full", "w", encoding="utf-8") as full, started(*arguments, stdout=full, buffered=buffered) as run:  # noqa: PTH123
        assert run.communicate()[1] == "standard output cannot be written (No space left on device)\n"
    assert run.returncode == 1


@pytest.mark.slow
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


def test_a_command_that_cannot_be_imported_is_one_sentence_and_hides_no_other(monkeypatch, run):
    monkeypatch.setitem(COMMANDS, "gone", ("rooflint.cli.gone", "Left long ago."))
    listed = run("--help")
    assert listed.status == 0
    assert "Left long ago." in listed.out
    assert "peaks" in listed.out
    asked = run("gone")
    assert (asked.status, asked.err) == (
        2,
        "gone: cannot import rooflint.cli.gone (No module named 'rooflint.cli.gone'); reinstall rooflint\n",
    )


def test_a_warning_to_the_user_is_one_line_and_one_to_developers_is_shown_by_python(capsys, monkeypatch):
    shown = []
    monkeypatch.setattr(main, "_show", lambda *given: shown.append(given))
    main._warn("runs\x1b code", UserWarning, "load.py", 7)
    main._warn("is deprecated", DeprecationWarning, "other.py", 8)
    assert capsys.readouterr().err == "warning: runs\\u001b code\n"
    assert shown == [("is deprecated", DeprecationWarning, "other.py", 8)]
