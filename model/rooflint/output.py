"""Where an answer goes: to standard output, or whole into a file whose suffix says the format."""

from pathlib import Path

from rooflint.answer import Answer, write, writers
from rooflint.errors import RooflintError
from rooflint.whole_file import write_whole

FORMS = {".txt": "text", ".json": "json", ".csv": "csv", ".md": "md", ".html": "html"}
"""Format by suffix."""


class OutputError(RooflintError):
    """A file that cannot be written, or whose suffix says no format."""


def deliver(answer: Answer, form: str | None, output: Path | None) -> None:
    """Write an answer in a format; without one as the file's suffix says, without a file as text.

    Raises UnknownFormatError for a format that no part brings, OutputError for a file.
    """
    chosen = form or (_form_of(output) if output else "text")
    text = write(answer, chosen)
    if output is None:
        import typer  # noqa: PLC0415  # only for printing

        typer.echo(text, nl=False)
        return
    try:
        write_whole(output, _uncoloured(text) if chosen == "text" else text)
    except OSError as error:
        raise OutputError(f"{output}: cannot be written ({error.strerror})") from None


def _form_of(output: Path) -> str:
    form = FORMS.get(output.suffix.lower())
    if form is None:
        known = ", ".join(suffix for suffix, name in FORMS.items() if name in writers())
        raise OutputError(f"{output}: want a suffix that names a format ({known}), or --format")
    return form


def _uncoloured(text: str) -> str:
    """A file is no terminal, even if the command runs in one."""
    from rich.text import Text  # noqa: PLC0415  # only for text

    return "".join(Text.from_ansi(line).plain + "\n" for line in text.splitlines())
