"""Summaries: what is read in a module's text is what an import would tell."""

import sys
from importlib.metadata import EntryPoint, entry_points

import pytest

from rooflint import cli
from rooflint.summaries import summary

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
    imported = cli._command(name, ENTRIES[name].load()).help
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
