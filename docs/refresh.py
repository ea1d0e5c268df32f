"""Run the commands that the documents show and put what they print below them; list the keys of the evidence.

    python docs/refresh.py            # rewrites the blocks
    python docs/refresh.py --check    # says which are stale, with file and line; exit status 1

A block begins with "```console" and one line "$ rooflint …"; "```console 12" shows the first twelve lines of it.
The keys of the evidence stand in evidence.md between two comments, from the records of `rooflint_report`.
"""

import inspect
import os
import re
import shlex
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel

HERE = Path(__file__).parent
KEYS = re.compile(r"<!-- keys -->\n(?P<keys>.*?)<!-- end of keys -->", re.DOTALL)
WIDTH = 100
WORDS = {str: "text", int: "integer", float: "number", bool: "true or false", NoneType: "null", Any: "any"}
BLOCK = re.compile(r"```console(?: (?P<most>\d+))?\n\$ rooflint (?P<command>[^\n]*)\n(?P<output>.*?)```\n", re.DOTALL)

os.environ |= {"COLUMNS": "80", "NO_COLOR": "1"}


def main() -> int:
    """Refresh all documents, or say what is stale."""
    files = [HERE.parent / "README.md", *sorted(HERE.glob("*.md")), *sorted(HERE.glob("commands/*.md"))]
    stale = [place for file in files for place in refreshed(file, write="--check" not in sys.argv)]
    for place in stale if "--check" in sys.argv else ():
        print(f"{place}  differs from what the command prints; run: python docs/refresh.py")
    return int(bool(stale) and "--check" in sys.argv)


def refreshed(file: Path, write: bool) -> Iterator[str]:
    """Places of blocks that were stale."""
    text = file.read_text(encoding="utf-8")
    stale = []

    def block(found: re.Match[str]) -> str:
        fresh = shown(found["command"], int(found["most"] or 0))
        if fresh != found["output"]:
            stale.append(f"{file.relative_to(HERE.parent)}:{text.count(chr(10), 0, found.start()) + 1}")
        head = found[0][: found.start("output") - found.start()]
        return f"{head}{fresh}```\n"

    fresh = BLOCK.sub(block, text)
    if (listing := KEYS.search(fresh)) and listing["keys"] != (keys := listed()):
        stale.append(f"{file.relative_to(HERE.parent)}:{fresh.count(chr(10), 0, listing.start()) + 1}")
        fresh = fresh[: listing.start("keys")] + keys + fresh[listing.end("keys") :]
    if write and stale:
        file.write_text(fresh, encoding="utf-8")
    yield from stale


def listed() -> str:
    """Every record of the evidence with its keys, in the order in which they are reached."""
    from rooflint_report.evidence import Evidence  # noqa: PLC0415

    records = [Evidence]
    for record in records:  # grows while it is read
        fields = record.model_fields.values()
        records += dict.fromkeys(one for field in fields for one in inside(field.annotation) if one not in records)
    return "\n".join(map(listing, records))


def inside(kind: Any) -> Iterator[Any]:
    """Records that an annotation mentions."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
    for part in get_args(kind):
        yield from inside(part)


def listing(record: type[BaseModel]) -> str:
    """A record: its name, what it is, and a line a key."""
    from rooflint_report.verdicts import Record, described  # noqa: PLC0415

    texts = described(record) if issubclass(record, Record) else {}
    rows = [
        (field.serialization_alias or name, word(field.annotation), texts.get(name, ""))
        for name, field in record.model_fields.items()
    ]
    wide = [max(len(row[column]) for row in rows) for column in (0, 1)]
    text = f"**{record.__name__}**: {inspect.getdoc(record)}\n\n"
    for key, kind, said in rows:
        head = f"    {key:<{wide[0]}}  {kind:<{wide[1]}}  "
        lines = textwrap.wrap(said, max(WIDTH - len(head), 30)) or [""]
        text += "".join(
            f"{part}{line}".rstrip() + "\n"
            for part, line in zip(
                [
                    head,
                    *[" " * len(head)] * len(lines),
                ],
                lines,
                strict=False,
            )
        )
    return text


def word(kind: Any) -> str:
    """A type for a reader: `[Verdict]`, `text or null`, `{text: number}`."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return word(parts[0])
    if origin is Literal:
        return " or ".join(map(str, parts)) if len(parts) < 3 else "text"
    if origin is list:
        return f"[{word(parts[0])}]"
    if origin is dict:
        return f"{{{word(parts[0])}: {word(parts[1])}}}"
    if parts:
        return " or ".join(dict.fromkeys(map(word, parts)))
    return WORDS.get(kind, getattr(kind, "__name__", "any"))


def shown(command: str, most: int) -> str:
    """What a command prints, or its first lines."""
    lines = printed(shlex.split(command)).splitlines()
    if most and len(lines) > most:
        lines = [*lines[:most], "…"]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def printed(arguments: list[str]) -> str:
    """Standard output, or the one sentence of a refusal."""
    from typer.testing import CliRunner  # noqa: PLC0415  # after the width of the terminal is set

    from rooflint.cli.main import program  # noqa: PLC0415

    result = CliRunner().invoke(program, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return f"{result.exception}\n"
    return result.stdout


if __name__ == "__main__":
    sys.exit(main())
