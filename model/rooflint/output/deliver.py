"""Where an answer goes: to standard output, a pipe or a device, or whole into a file whose suffix says the format.

A file may also be a drawing, .svg or .png, which is no format of its own: it has only the curves and the bars.
"""

import os
from pathlib import Path

import typer

from rooflint.base.errors import RooflintError
from rooflint.base.files import write_whole, write_whole_bytes
from rooflint.output.answer import Answer, write

FORMS = {".txt": "text", ".json": "json", ".csv": "csv", ".md": "md", ".html": "html"}
"""Format by suffix."""

DRAWINGS = {".svg": "svg", ".png": "png"}
"""Kind of a drawing by suffix."""

STANDARD = (Path("-"), Path("/dev/stdout"))
"""Names of standard output."""


class OutputError(RooflintError):
    """A file that cannot be written, or whose suffix says no format."""


def deliver(answer: Answer, form: str | None, output: Path | None) -> None:
    """Write an answer in a format; without one as the file's suffix says, without a file as text.

    Raises UnknownFormatError for a format that no part brings, OutputError for a file, PlotError for a drawing.
    """
    if output is None or output in STANDARD:
        typer.echo(write(answer, form or "text"), nl=False)
        return
    try:
        place, stream = _place(output)
        if not form and not stream and output.suffix.lower() in DRAWINGS:
            from rooflint.output.plot import draw  # noqa: PLC0415  # only for drawings

            write_whole_bytes(place, draw(answer, DRAWINGS[output.suffix.lower()]))
            return
        chosen = form or _form_of(output, stream)
        text = write(answer, chosen)
        put = _append if stream else write_whole
        put(place, _uncoloured(text) if chosen == "text" else text)
    except OSError as error:
        raise OutputError(f"{output}: cannot be written ({error.strerror})") from None


def _place(output: Path) -> tuple[Path, bool]:
    """What is written to, and whether it is a stream: a device or a pipe, which nothing may replace by a file.

    A symlink stays; what it leads to is written. Raises OutputError for a folder, and where there is none to write in.
    """
    if output.is_dir():
        raise OutputError(f"{output}: want a file to write, found a folder")
    if output.exists() and not output.is_file():
        return output, True
    place = Path(os.path.realpath(output))
    if not place.parent.is_dir():
        raise OutputError(f"{output}: want a file in a folder that is there, found no folder {place.parent}")
    return place, False


def _append(stream: Path, text: str) -> None:
    with stream.open("a", encoding="utf-8", newline="") as file:
        file.write(text)


def _form_of(output: Path, stream: bool) -> str:
    """As the suffix says; a stream may have none and then takes text."""
    form = FORMS.get(output.suffix.lower(), "text" if stream else None)
    if form is None:
        raise OutputError(f"{output}: want a suffix that names a format ({', '.join(FORMS)}), or --format")
    return form


def _uncoloured(text: str) -> str:
    """A file is no terminal, even if the command runs in one."""
    from rich.text import Text  # noqa: PLC0415  # only for text

    return "".join(Text.from_ansi(line).plain + "\n" for line in text.splitlines())
