"""Op tables: networks that were captured once and are kept as readable YAML, so that using them needs no torch.

`specs/workloads/<id>.yaml` holds a network's ops for the batch that it was captured with, and how it was captured.
`rooflint.workloads.capture.write` writes it, and the torch environment proves that a fresh capture equals it. A table
may say which op reads the result of which: a last column `reads` with the names of those ops, and two more keys. Older
tables lack the column `window`.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from rooflint.base.errors import InputError, Problem, RooflintError, refuse
from rooflint.base.files import read_text, write_atomically
from rooflint.base.parsed import kept
from rooflint.base.strict_yaml import Document, parse
from rooflint.base.suggestions import did_you_mean
from rooflint.workloads.flow import INPUT, Flow
from rooflint.workloads.ops import COLUMNS, QUANTITIES, Op
from rooflint.workloads.workload import LARGEST, Workload, WorkloadError

ROOT = Path(__file__).parents[1] / "specs" / "workloads"

_ID = re.compile(r"[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*")
_PLAIN = re.compile(r"(?!(true|false|null|yes|no|on|off)$)[a-z_][a-z0-9_.@/-]*|[0-9]+(\.[0-9]+){2,}", re.IGNORECASE)
_HEAD = (
    "# One row an op, in order of execution; elements, not bytes. "
    "Written by `python -m rooflint.workloads.capture.write`."
)
_KEYS = ("name", "captured", "batch", "columns", "ops")
_PLAIN_COLUMNS = COLUMNS[:-1]
"""A capture runs each op once, so its table does not say how often."""
_NO_WINDOW = _PLAIN_COLUMNS[:-1]
"""The columns of tables that were written before convolutions said their window."""
_FLOW_KEYS = ("elements_input", "returns")
_CONSTANT = "elements_constant"
"""A third one, where it is known."""
_WINDOW = "window"
_READS = "reads"
_INPUT = "input"
"""Stands among the names of ops for the input of the network."""


class UnknownNetworkError(RooflintError):
    """A name that torchvision was asked for and does not know."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        near = difflib.get_close_matches(name.lower(), known, n=1)
        super().__init__(f"torchvision has no network '{name}'{did_you_mean(near)}")
        self.known = known
        """Names that it knows."""


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

    Raises WorkloadError for an unknown id, InputError for a broken table.
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
    return _parsed(file, read_text(file))


@lru_cache(maxsize=256)
def _parsed(file: Path, text: str) -> tuple[Workload, Captured]:
    data = kept(__name__, file, text, lambda: _checked(parse(text, file)))
    captured = Captured(**{**data["captured"], "input": tuple(data["captured"]["input"])})
    columns = [name for name in data["columns"] if name != _READS]
    rows = [Op(**dict(zip(columns, row, strict=False))) for row in data["ops"]]
    try:
        return Workload.from_ops(data["name"], rows, data["batch"], flow=_flow(data)), captured
    except WorkloadError as error:
        path = ("ops",) if error.row is None else ("ops", error.row)
        raise InputError([parse(text, file).problem(path, str(error))]) from error


def _checked(document: Document) -> dict[str, Any]:
    """The data of a table that has its keys, rows and flow. Raises InputError for one that has not."""
    problems = list(_head_problems(document)) or list(_row_problems(document)) or list(_flow_problems(document))
    if problems:
        raise InputError(problems)
    data: dict[str, Any] = document.data
    return data


def _head_problems(document: Document) -> Iterator[Problem]:
    data = document.data
    if not isinstance(data, dict) or set(data) - {*_FLOW_KEYS, _CONSTANT} != set(_KEYS):
        yield document.problem((), f"want the keys {', '.join(_KEYS)}, found {_found(data)}")
        return
    yield from _captured_problems(document)
    if not isinstance(data["name"], str):
        yield document.problem(("name",), f"name: want a text, found {data['name']}")
    if not _is_shape([data["batch"]]):
        yield document.problem(("batch",), f"batch: want a whole number of at least 1, found {data['batch']}")
    if data["columns"] not in ([*first, *reads] for first in (_PLAIN_COLUMNS, _NO_WINDOW) for reads in ((), (_READS,))):
        yield document.problem(
            ("columns",), f"columns: want [{', '.join(_PLAIN_COLUMNS)}], and {_READS} where it is known"
        )
    elif set(data) - set(_KEYS) - {_CONSTANT} != (set(_FLOW_KEYS) if _has_flow(data) else set()):
        expected = f"want {' and '.join(_FLOW_KEYS)} where there is a column {_READS}, and only there"
        yield document.problem((), f"{expected}, found {_found(data)}")
    elif _CONSTANT in data and not _has_flow(data):
        yield document.problem((_CONSTANT,), f"{_CONSTANT}: want it only where there is a column {_READS}")
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
    width = len(document.data["columns"])
    for position, row in enumerate(document.data["ops"]):
        path = ("ops", position)
        if not isinstance(row, list) or len(row) != width:
            yield document.problem(path, f"want a row of {width} columns, found {_found(row)}")
            continue
        for column, value in zip(document.data["columns"], row, strict=True):
            if column in ("name", "kind") and not isinstance(value, str):
                yield document.problem(path, f"{column}: want a text, found {value}")
            if column in QUANTITIES and not _is_count(value):
                yield document.problem(path, f"{column}: want a whole number from 0 to 2^53, found {value}")
            if column == _WINDOW and not (isinstance(value, list) and all(map(_is_count, value))):
                yield document.problem(path, f"{column}: want a list of whole numbers, found {value}")


def _flow_problems(document: Document) -> Iterator[Problem]:
    data = document.data
    if not _has_flow(data):
        return
    known: list[str] = [_INPUT]
    for key, step in (("elements_input", data["batch"]), (_CONSTANT, 1)):
        elements = data.get(key, 0)
        if not _is_count(elements) or elements % step:
            expected = f"want a whole number from 0 to 2^53{', a multiple of the batch' if step > 1 else ''}"
            yield document.problem((key,), f"{key}: {expected}, found {elements}")
    for position, row in enumerate(data["ops"]):
        path = ("ops", position)
        if row[0] == _INPUT:
            yield document.problem(path, f"name: want another than {_INPUT}, which is the input of the network")
        if not _in_order(row[-1], known):
            expected = f"want names of ops above or {_INPUT}, in their order, each once"
            yield document.problem(path, f"{_READS}: {expected}, found {_listed(row[-1])}")
        known.append(row[0])
    if not _in_order(data["returns"], known):
        expected = "want names of ops, in their order, each once"
        yield document.problem(("returns",), f"returns: {expected}, found {_listed(data['returns'])}")


def _in_order(names: Any, known: Sequence[str]) -> bool:
    """Whether these are some of the known names, in their order, each once."""
    if not isinstance(names, list):
        return False
    rest = iter(known)
    return all(name in rest for name in names)


def _flow(data: dict[str, Any]) -> Flow | None:
    if not _has_flow(data):
        return None
    at = {name: row for row, name in enumerate([_INPUT, *(row[0] for row in data["ops"])], start=INPUT)}
    reads = tuple(tuple(at[name] for name in row[-1]) for row in data["ops"])
    return Flow(reads, tuple(at[name] for name in data["returns"]), data["elements_input"], data.get(_CONSTANT))


def _has_flow(data: dict[str, Any]) -> bool:
    return _READS in data["columns"]


def _is_shape(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(type(size) is int and size > 0 for size in value)


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= LARGEST


def _listed(value: Any) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list) else str(value)


def _found(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(value)
    return f"{len(value)} entries" if isinstance(value, list) else str(value)


def write_table(workload: Workload, captured: Captured, file: Path) -> None:
    """Write the table of a workload, with how it was captured."""
    write_atomically(file, _text(workload, captured))


def _text(workload: Workload, captured: Captured) -> str:
    origin = [f"  {key}: {_scalar(value)}" for key, value in asdict(captured).items()]
    head = [_HEAD, f"name: {_scalar(workload.name)}", "captured:", *origin, f"batch: {workload.batch}"]
    columns: tuple[str, ...] = _PLAIN_COLUMNS
    if (workload.repeats > 1).any():
        raise WorkloadError(f"{workload.name}: want a table of ops that each run once")
    rows: list[tuple[Any, ...]] = [row[:-1] for row in workload.rows()]
    if workload.flow is not None:
        names = _names(workload)
        returns = _scalar(names(workload.flow.returns))
        head.append(f"elements_input: {workload.flow.elements_input}")
        if workload.flow.elements_constant is not None:
            head.append(f"{_CONSTANT}: {workload.flow.elements_constant}")
        head.append(f"returns: {returns}")
        columns = (*columns, _READS)
        rows = [(*row, names(read)) for row, read in zip(rows, workload.flow.reads, strict=True)]
    table = [f"  - {_scalar(row)}" for row in rows]
    return "\n".join([*head, f"columns: {_scalar(columns)}", "ops:", *table, ""])


def _names(workload: Workload) -> Callable[[Iterable[int]], tuple[str, ...]]:
    """What rows are called among the reads. Raises WorkloadError for an op called as the input is."""
    names = [*workload.op_names.tolist(), _INPUT]  # INPUT is -1
    if _INPUT in names[:-1]:
        raise WorkloadError(f"{workload.name}: want no op called {_INPUT}, which is the input of the network")
    return lambda rows: tuple(names[row] for row in rows)


def _scalar(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_scalar, value))}]"
    if isinstance(value, int) or _PLAIN.fullmatch(str(value)):
        return str(value)
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
