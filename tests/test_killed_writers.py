"""Writers that are killed while they write leave the old file or the new one, never half of one.

As a script, `python tests/test_killed_writers.py 500` kills each writer in turn, 500 times in all.
"""

import itertools
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from rooflint.base.files import create, write_atomically, write_pieces_atomically
from rooflint.base.parsed import Parsed
from rooflint_measure import record
from rooflint_measure.recording import read, write

SIZE = 400_000
"""Characters of a version: long enough to be killed in the middle of."""
MEASURED = Path(record.__file__).parents[2] / "golden/measured"


def version(number: int) -> str:
    """A text that shows whether it is whole."""
    return f"{number}:" + chr(ord("a") + number % 26) * SIZE + f":{number}\n"


def is_whole(text: str) -> bool:
    """Whether a text is one of the versions."""
    number = text.partition(":")[0]
    return number.isdecimal() and text == version(int(number))


@dataclass(frozen=True)
class Writer:
    """What is done again and again until it is killed, and how what it leaves is read."""

    write: Callable[[Path, int], object]
    read: Callable[[Path], bool]
    """Whether everything in the folder is whole."""


def replaced(folder: Path) -> bool:
    file = folder / "x.json"
    return not file.exists() or is_whole(file.read_text(encoding="utf-8"))


def created(folder: Path) -> bool:
    return all(is_whole(file.read_text(encoding="utf-8")) for file in folder.glob("*.json"))


def whole(folder: Path, number: int) -> None:
    write_atomically(folder / "x.json", version(number))


def pieces(folder: Path, number: int) -> None:
    text = version(number).encode()
    write_pieces_atomically(folder / "x.json", (text[at : at + 5000] for at in range(0, len(text), 5000)))


def recorded(folder: Path) -> bool:
    return all(read(file).measurements for file in folder.glob("*.json"))


def parsed(folder: Path, number: int) -> bool:
    """Whether what is read for a text is what was parsed from it, however the last writer ended."""
    text = version(number % 3)
    return Parsed(folder, ("rooflint",)).of(Path("x.yaml"), text, lambda: [text]) == [text]


def writers() -> dict[str, Writer]:
    recording = read(next(MEASURED.rglob("*.json")))
    return {
        "write_atomically": Writer(
            lambda folder, number: write_atomically(folder / "x.json", version(number)), replaced
        ),
        "evidence": Writer(pieces, replaced),
        "create": Writer(lambda folder, number: create(folder / f"{number}.json", version(number)), created),
        "recordings": Writer(lambda folder, _: write(folder, recording), recorded),
        "kept parses": Writer(parsed, lambda folder: all(parsed(folder, number) for number in range(3))),
    }


def kill(writer: Writer, folder: Path, after_s: float) -> None:
    """Start a writer and kill it."""
    child = os.fork()
    if not child:
        for number in itertools.count(random.randrange(10**6)):
            writer.write(folder, number)
    time.sleep(after_s)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def main(times: int) -> None:
    """Kill the writers in turn; exit with the name of one that left half a file."""
    chosen, strays = random.Random(20261122), 0
    for number, (name, writer) in zip(range(times), itertools.cycle(writers().items()), strict=False):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            for _ in range(2):  # the second one starts beside what the first one left
                kill(writer, folder, chosen.uniform(0.002, 0.03))
                if not writer.read(folder):
                    sys.exit(f"{name} left half a file after kill {number}")
            strays += sum(file.name.startswith(".") for file in folder.iterdir())
    print(f"{2 * times} kills, {strays} temporary files left, every file whole")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_writer_that_is_killed_leaves_the_old_file_or_the_new_one():
    done = subprocess.run([sys.executable, __file__, "25"], capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    assert "50 kills" in done.stdout


def test_half_a_file_would_be_seen():
    assert is_whole(version(7))
    assert not is_whole(version(7)[:-1])
    assert not is_whole(version(7)[: SIZE // 2])
    assert not is_whole("")


if __name__ == "__main__":
    main(int(sys.argv[1]))
