"""A progress bar: on a terminal it moves, elsewhere it writes nothing."""

import io

import pytest
from rich.console import Console

from pytest_rooflint.cli import progress


@pytest.fixture
def screen(monkeypatch):
    """`screen(terminal=True)`: where a bar is drawn."""

    def opened(*, terminal):
        file = io.StringIO()
        console = Console(file=file, force_terminal=terminal, width=80)
        monkeypatch.setattr(progress, "Console", lambda stderr: console if stderr else pytest.fail("not on stderr"))
        return file

    return opened


def test_where_there_is_no_terminal_nothing_is_written(screen):
    file = screen(terminal=False)
    with progress.bar("Trying", 4) as advance:
        advance()
        advance(2, what="more")
    assert file.getvalue() == ""


def test_on_a_terminal_the_bar_moves_and_says_what_is_next(screen):
    file = screen(terminal=True)
    with progress.bar("Trying", 4) as advance:
        advance()
        assert "Trying" in file.getvalue() and "25%" in file.getvalue()
        advance(2, what="Writing")
        assert "Writing" in file.getvalue() and "75%" in file.getvalue()
