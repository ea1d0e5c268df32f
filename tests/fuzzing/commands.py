"""Command lines from a seeded generator, and what is wrong with what the program did."""

import contextlib
import io
import random
import shutil
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from rooflint.base.text import HIDDEN
from rooflint.cli import main as program

from .generator import HOSTILE, TINY, Run, run
from .readers import targets

#: Commands that write no file, about the devices and the files that the script finds where it runs.
COMMANDS = (
    "hardware show acme/x1", "hardware list tesla", "peaks acme/x1 --format json", "peaks acme/x1 --at low",
    "compare resnet18 -d t4,h100", "analyze resnet18 -d t4 --batch 4 -p int8", "models -d t4 --batch 2",
    "sweep resnet18 -d t4,h100", "explain gemm -m 64 -n 64 -k 64 -d h100 -p fp16", "audit x.csv --all --strict",
    "audit x.json -f json", "audit x.md --map Dense=device", "tdp estimate t4", "report x.evidence", "--version", "",
)  # fmt: skip
WORDS = (
    *(str(value) for value in HOSTILE if isinstance(value, str | int | float)), "--help", "-d", "-p", "--format",
    "json", "--batch", "--at", "--specs", "--golden", "specs", "golden", "x.csv", "x.json", "--", "-", "resnet18",
    "h100@low",
)  # fmt: skip
BROKEN = "--no-such-option"


def lines(chosen: random.Random) -> Iterator[tuple[list[str], bool]]:
    """Command lines without end, and whether each must be refused."""
    while True:
        words = chosen.choice(COMMANDS).split()
        for _ in range(chosen.choice((0, 1, 1, 2, 3))):
            place = chosen.randrange(len(words) + 1)
            end = place + chosen.choice((0, 1))
            words[place:end] = chosen.choice(([], [chosen.choice(WORDS)], [chosen.choice(WORDS)], words[place:end] * 2))
        must_fail = not {"--help", "--version", "--"} & set(words) and chosen.random() < 0.1
        yield ([BROKEN, *words] if must_fail else words), must_fail


def outcome(words: Sequence[str]) -> tuple[int, str]:
    """Exit status of a command line in this process, and all that it prints."""
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape", write_through=True)
    status: Any = 0
    with (
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
        pytest.MonkeyPatch.context() as patched,
    ):
        patched.setattr(sys, "argv", ["rooflint", *words])
        try:
            program.main()
        except SystemExit as ended:
            status = ended.code
        text = printed.buffer.getvalue().decode("utf-8", "replace")  # type: ignore[attr-defined]
    return int(status or 0), text


def fault_of_line(words: Sequence[str], must_fail: bool) -> str | None:
    """What the program did wrong with a command line."""
    try:
        status, printed = outcome(words)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno}: {str(error)[:100]}"
    if (must_fail and status == 0) or status not in (0, 1, 2):
        return f"ends with status {status}"
    if "Traceback" in printed:
        return "prints a traceback"
    if found := HIDDEN.search(printed):
        return f"prints U+{ord(found[0]):04X}"
    return None if status == 0 or printed.strip() else "fails and says nothing"


def run_lines(number: int, seed: int) -> Run:
    """Put some command lines to the program in the folder where this runs."""
    return run(fault_of_line, lines(random.Random(seed)), number)


def fill(folder: Path) -> None:
    """The files that command lines name."""
    shutil.copytree(TINY, folder, dirs_exist_ok=True)
    every = targets(folder / "seeds")
    for name in ("audit csv", "audit json", "audit md"):
        (folder / f"x{every[name].suffix}").write_text(every[name].seeds[0], encoding="utf-8")
    (folder / "x.evidence").write_text(every["evidence"].seeds[0], encoding="utf-8")
