"""Capture cache: tables of networks that were captured on this machine, kept as JSON under a key of what went in.

An entry is found by the network, its inputs, the versions of torch and torchvision and the text of the modules that
capture; it is good while the files that it was made from still hold what they held. Whatever is wrong with an entry,
it is as if it were not there.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rooflint.errors import RooflintError
from rooflint.flow import Flow
from rooflint.whole_file import write_whole
from rooflint.workload import COLUMNS, Op, Workload, WorkloadError

RULES = (
    "aten", "candidates", "capture_cache", "graph", "own_module",
    "quantized", "scaling", "torchvision_networks", "trace",
)  # fmt: skip
"""Modules that decide what is in a table; when one changes, no older entry is found."""

LIBRARIES = ("torch", "torchvision")


class MissingTorchError(RooflintError):
    """A capture without torch; the message says what to install."""


@dataclass(frozen=True)
class Entry:
    """Where the table of one network with one set of inputs is kept."""

    file: Path

    def read(self) -> Workload | None:
        """The table, or None where there is none that is still good."""
        try:
            found = json.loads(self.file.read_text(encoding="utf-8"))
            if digests(map(Path, found["files"])) != found["files"] or found["columns"] != list(COLUMNS):
                return None
            rows = [Op(*row) for row in found["ops"]]
            return Workload.from_ops(found["name"], rows, found["batch"], found["fixed_batch"], _flow(found["flow"]))
        except (OSError, ValueError, TypeError, KeyError, WorkloadError):
            return None

    def write(self, workload: Workload, files: Iterable[Path] = ()) -> None:
        """Keep a table that was made from those files."""
        kept: Mapping[str, Any] = {
            "name": workload.name,
            "batch": workload.batch,
            "fixed_batch": workload.fixed_batch,
            "files": digests(files),
            "columns": COLUMNS,
            "ops": list(workload.rows()),
            "flow": workload.flow and asdict(workload.flow),
        }
        write_whole(self.file, json.dumps(kept, separators=(",", ":")) + "\n")


def _flow(kept: Mapping[str, Any] | None) -> Flow | None:
    if kept is None:
        return None
    reads, returns = tuple(map(tuple, kept["reads"])), tuple(kept["returns"])
    return Flow(reads, returns, kept["elements_input"], kept["elements_constant"])


def entry(network: str, inputs: Any, folder: Path) -> Entry:
    """The place for a network with inputs of those shapes.

    Raises MissingTorchError where torch or torchvision is not installed, because a capture is theirs.
    """
    parts = json.dumps([network, inputs, libraries(), rules()])
    name = "".join(letter if letter.isalnum() else "-" for letter in network)[-60:]
    return Entry(folder / f"{name}-{hashlib.sha256(parts.encode()).hexdigest()[:16]}.json")


def libraries() -> list[str]:
    """Versions of torch and torchvision, read without importing them."""
    try:
        return [version(library) for library in LIBRARIES]
    except PackageNotFoundError as error:
        raise MissingTorchError(f"capturing a network needs {error.name}: install rooflint[torch]") from error


def rules() -> str:
    """Digest of the modules that capture."""
    here = Path(__file__).parent
    return hashlib.sha256(b"".join((here / f"{module}.py").read_bytes() for module in RULES)).hexdigest()


def digests(files: Iterable[Path]) -> dict[str, str]:
    """Digest of each file, by its path. Raises OSError for one that cannot be read."""
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(files)}
