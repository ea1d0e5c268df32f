"""Command lines from a seeded generator, and what is wrong with what the program did."""

import contextlib
import io
import random
import shutil
import sys
import traceback
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from tests.validation.conftest import run_script

from rooflint.base.text import HIDDEN
from rooflint.cli import main as program

from .generator import HOSTILE, TINY, Run, inputs, run
from .readers import targets

#: Commands that write no file, about the devices and the files that the script finds where it runs.
COMMANDS = (
    "hardware show acme/x1", "hardware list tesla", "peaks acme/x1 --format json", "peaks acme/x1 --at low",
    "compare resnet18 -d t4,h100", "analyze resnet18 -d t4 --batch 4 -p int8", "models -d t4 --batch 2",
    "sweep resnet18 -d t4,h100", "explain gemm 64 64 64 -d h100-sxm5 -p fp16",
    "explain attention 8 64 64 -d h100-sxm5 --phase decode --cache fp8", "audit x.csv --all --strict",
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
    return fault(status, printed, must_fail)


def fault(status: int, printed: str, must_fail: bool) -> str | None:
    """What is wrong with the way in which the program ended."""
    if (must_fail and status == 0) or status not in (0, 1, 2):
        return f"ends with status {status}: {printed[-200:]}"
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


# ---- real processes

#: What reads a file of each of these readers, and where the file lies.
READ_BY = {
    "hardware": ("specs/hardware/acme/x1.yaml", "hardware show acme/x1 --specs specs"),
    "goldens": ("golden/x1.yaml", "check --golden golden --specs specs"),
    "audit csv": ("y.csv", "audit y.csv"),
    "audit json": ("y.json", "audit y.json"),
    "evidence": ("y.evidence", "report y.evidence"),
}


def fault_of_process(words: Sequence[str], must_fail: bool) -> str | None:
    """What a process did wrong with a command line; its time is that of a loaded machine and is not judged."""
    done = run_script(Path.cwd(), "rooflint", *words)
    return fault(done.returncode, done.stdout + done.stderr, must_fail)


def faults_of_broken_files(name: str, number: int, seed: int) -> list[tuple[str, bytes]]:
    """What commands did wrong with files that no reader may accept, in the folder where this runs."""
    place, command = READ_BY[name]
    target = targets(Path("seeds-of-files"))[name]
    broken = (content for content, must_fail in inputs(target, random.Random(seed)) if must_fail)
    found = []
    for content in islice(broken, number):
        Path(place).write_bytes(content)
        if what := fault_of_process(command.split(), must_fail=True):
            found.append((what, content[:200]))
    return found


def faults_of_processes(number: int, seed: int) -> list[tuple[str, Sequence[str]]]:
    """What real processes did wrong with command lines, in the folder where this runs."""
    tried = islice(lines(random.Random(seed)), number)
    return [(what, words) for words, must_fail in tried if (what := fault_of_process(words, must_fail))]
