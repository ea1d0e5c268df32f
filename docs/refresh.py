"""Run the commands that the documents show, and put what they print below them.

    python docs/refresh.py            # rewrites the blocks
    python docs/refresh.py --check    # says which are stale, with file and line; exit status 1

A block begins with "```console" and one line "$ rooflint …"; "```console 12" shows the first twelve lines of it.
"""

import os
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
BLOCK = re.compile(r"```console(?: (?P<most>\d+))?\n\$ rooflint (?P<command>[^\n]*)\n(?P<output>.*?)```\n", re.DOTALL)

os.environ |= {"COLUMNS": "80", "NO_COLOR": "1"}


def main() -> int:
    """Refresh all documents, or say what is stale."""
    files = [HERE.parent / "README.md", *sorted(HERE.glob("*.md"))]
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
    if write and stale:
        file.write_text(fresh, encoding="utf-8")
    yield from stale


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
