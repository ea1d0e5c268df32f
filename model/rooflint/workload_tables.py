"""Op tables: networks that were captured once and are kept as readable YAML, so that speaking of them needs no torch.

`specs/workloads/<id>.yaml` holds a network's ops for the batch that it was captured with, and how it was captured;
`rooflint.capture` writes it, and the torch environment proves that a fresh capture equals it.
"""

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rooflint.errors import InputError, Problem, refuse
from rooflint.strict_yaml import Document, load
from rooflint.whole_file import write_whole
from rooflint.workload import COLUMNS, LARGEST, QUANTITIES, Op, Workload, WorkloadError

ROOT = Path(__file__).parent / "specs" / "workloads"

_ID = re.compile(r"[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*")
_PLAIN = re.compile(r"(?!(true|false|null|yes|no|on|off)$)[a-z_][a-z0-9_.@/-]*|[0-9]+(\.[0-9]+){2,}", re.IGNORECASE)
_HEAD = "# One row an op, in order of execution; elements, not bytes. Written by `python -m rooflint.capture`."
_KEYS = ("name", "captured", "batch", "columns", "ops")


@dataclass(frozen=True)
class Captured:
    """Where a table comes from."""

    torch: str
    torchvision: str
    method: str
    input: tuple[int, ...]
    """Shape of the one input."""


def workload_ids(root: Path = ROOT) -> list[str]:
    """Ids of the committed tables, such as `torchvision/resnet18`."""
    return sorted(file.relative_to(root).with_suffix("").as_posix() for file in root.rglob("*.yaml"))


def load_workload(workload_id: str, root: Path = ROOT) -> Workload:
    """The committed workload of that id.

    Raises WorkloadError for an id that is not there, InputError for a table that is not one.
    """
    file = root / f"{workload_id}.yaml"
    if not _ID.fullmatch(workload_id) or not file.is_file():
        raise WorkloadError(f"unknown workload '{workload_id}' (known: {', '.join(workload_ids(root))})")
    workload, _ = read_table(file)
    if workload.name != workload_id:
        raise refuse(file, 1, f"name: want {workload_id}, as the file is called, found {workload.name}")
    return workload


def read_table(file: Path) -> tuple[Workload, Captured]:
    """A table and its origin. Raises InputError with file and line for whatever is wrong with it."""
    document = load(file)
    problems = list(_head_problems(document)) or list(_row_problems(document))
    if problems:
        raise InputError(problems)
    data = document.data
    captured = Captured(**{**data["captured"], "input": tuple(data["captured"]["input"])})
    try:
        return Workload.from_ops(data["name"], [Op(*row) for row in data["ops"]], data["batch"]), captured
    except WorkloadError as error:
        path = ("ops",) if error.row is None else ("ops", error.row)
        raise InputError([document.problem(path, str(error))]) from error


def _head_problems(document: Document) -> Iterator[Problem]:
    data = document.data
    if not isinstance(data, dict) or set(data) != set(_KEYS):
        yield document.problem((), f"want the keys {', '.join(_KEYS)}, found {_found(data)}")
        return
    yield from _captured_problems(document)
    if not isinstance(data["name"], str):
        yield document.problem(("name",), f"name: want a text, found {data['name']}")
    if not _is_shape([data["batch"]]):
        yield document.problem(("batch",), f"batch: want a whole number of at least 1, found {data['batch']}")
    if data["columns"] != list(COLUMNS):
        yield document.problem(("columns",), f"columns: want [{', '.join(COLUMNS)}]")
    if not isinstance(data["ops"], list):
        yield document.problem(("ops",), f"ops: want a list of rows, found {_found(data['ops'])}")


def _captured_problems(document: Document) -> Iterator[Problem]:
    captured, fields = document.data["captured"], tuple(Captured.__annotations__)
    if not isinstance(captured, dict) or set(captured) != set(fields):
        yield document.problem(("captured",), f"captured: want {', '.join(fields)}, found {_found(captured)}")
        return
    for key, value in captured.items():
        if key == "input" and not _is_shape(value):
            yield document.problem(("captured", key), f"input: want a shape such as [1, 3, 224, 224], found {value}")
        if key != "input" and not isinstance(value, str):
            yield document.problem(("captured", key), f"{key}: want a text, found {value}")


def _row_problems(document: Document) -> Iterator[Problem]:
    for position, row in enumerate(document.data["ops"]):
        path = ("ops", position)
        if not isinstance(row, list) or len(row) != len(COLUMNS):
            yield document.problem(path, f"want a row of {len(COLUMNS)} columns, found {_found(row)}")
            continue
        for column, value in zip(COLUMNS, row, strict=True):
            if column not in QUANTITIES and not isinstance(value, str):
                yield document.problem(path, f"{column}: want a text, found {value}")
            if column in QUANTITIES and not (type(value) is int and 0 <= value <= LARGEST):
                yield document.problem(path, f"{column}: want a whole number from 0 to 2^53, found {value}")


def _is_shape(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(type(size) is int and size > 0 for size in value)


def _found(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(value)
    return f"{len(value)} entries" if isinstance(value, list) else str(value)


def write_table(workload: Workload, captured: Captured, file: Path) -> None:
    """Write the table of a workload, with how it was captured."""
    write_whole(file, _text(workload, captured))


def _text(workload: Workload, captured: Captured) -> str:
    origin = [f"  {key}: {_scalar(value)}" for key, value in asdict(captured).items()]
    rows = [f"  - {_scalar(row)}" for row in workload.rows()]
    lines = [_HEAD, f"name: {_scalar(workload.name)}", "captured:", *origin, f"batch: {workload.batch}"]
    return "\n".join([*lines, f"columns: {_scalar(COLUMNS)}", "ops:", *rows, ""])


def _scalar(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_scalar, value))}]"
    if isinstance(value, int) or _PLAIN.fullmatch(str(value)):
        return str(value)
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
