"""A progress bar for commands that take minutes."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import Progress


class Advance(Protocol):
    """Moves the bar."""

    def __call__(self, done: int = 1, *, what: str | None = None) -> None:
        """So many more are done; `what` is next."""


@contextmanager
def bar(what: str, total: int) -> Iterator[Advance]:
    """A bar on stderr, if that is a terminal. No thread refreshes it, because some of what runs is timed or forked."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda done=1, *, what=None: None
        return
    with Progress(console=console, transient=True, auto_refresh=False) as progress:
        task = progress.add_task(what, total=total)

        def advance(done: int = 1, *, what: str | None = None) -> None:
            progress.update(task, advance=done, description=what, refresh=True)

        yield advance
