"""What the kernel says in /proc and /sys, read from below a root, so that tests can bring a machine of their own."""

from pathlib import Path

ROOT = Path("/")


def text(file: Path) -> str | None:
    """A file without the white space around it; None where it is not there or may not be read."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def number(file: Path) -> int | None:
    """A file that holds one whole number; None for anything else."""
    found = text(file)
    try:
        return None if found is None else int(found)
    except ValueError:
        return None


def numbers(ranges: str) -> tuple[int, ...]:
    """`0-3,8` is 0 1 2 3 8, as the kernel lists CPUs."""
    found: list[int] = []
    for part in filter(None, ranges.split(",")):
        first, _, last = part.partition("-")
        found.extend(range(int(first), int(last or first) + 1))
    return tuple(found)


def cpu(root: Path, number_of_cpu: int) -> Path:
    """The folder of one CPU."""
    return root / f"sys/devices/system/cpu/cpu{number_of_cpu}"
