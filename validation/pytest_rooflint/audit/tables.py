"""Read tables: CSV, TSV, Markdown, JSON, YAML and Python source become rows of texts, each with its line."""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_rooflint.audit.rows import NAME, Cell, Row
from pytest_rooflint.audit.source import read_python
from rooflint.base import strict_json, strict_yaml
from rooflint.base.errors import refuse
from rooflint.base.files import read_text

MAX_BYTES = 4 * 1024 * 1024
PYTHON = ".py"
_RULE = re.compile(r"\s*\|?[\s:|-]+\|?\s*")
_LEADING_TABS = re.compile(r"^\t+", re.MULTILINE)


def read(file: Path, is_device: Callable[[str], bool]) -> list[Row]:
    """Read the rows of a table, in the format of its file's suffix; `is_device` tells names of devices in source code.

    Raises InputError for an unreadable file, an unknown suffix, and a table without rows.
    """
    readers = {
        ".csv": _separated,
        ".tsv": _separated,
        ".md": _markdown,
        ".json": _nested,
        ".yaml": _nested,
        ".yml": _nested,
    }
    suffix = file.suffix.lower()
    if suffix not in {**readers, PYTHON: None}:
        wish = f"want a table as {', '.join(readers)} or {PYTHON}"
        raise refuse(file, 1, f"{wish}, found '{file.suffix or file.name}'")
    text = read_text(file, MAX_BYTES).removeprefix("\ufeff")
    if suffix == PYTHON:
        return _of_source(text, file, is_device)
    rows = list(readers[suffix](text, file))
    if not rows:
        raise refuse(file, 1, "want a table with a header and at least one row, found none")
    return rows


def _of_source(text: str, file: Path, is_device: Callable[[str], bool]) -> list[Row]:
    rows = list(read_python(text, file, is_device))
    if not rows:
        raise refuse(file, 1, "want figures of devices, found none: no key, name, condition or comment names a device")
    return rows


# ---- CSV


def _separated(text: str, file: Path) -> Iterator[Row]:
    separator = "\t" if file.suffix.lower() == ".tsv" else _separator(text)
    reader = csv.reader(io.StringIO(text), delimiter=separator, strict=True)
    header: list[str] | None = None
    last = 0
    try:
        for values in reader:
            line, last = last + 1, reader.line_num
            if not any(value.strip() for value in values) or values[0].lstrip().startswith("#"):
                continue
            if header is None:
                header = _header(values, file, line)
            else:
                yield _row(header, values, file, line)
    except csv.Error as error:
        raise refuse(file, reader.line_num, f"invalid CSV: {error}") from error


def _separator(text: str) -> str:
    head = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    return max(",;\t", key=head.count)


def _header(values: list[str], file: Path, line: int) -> list[str]:
    names = [value.strip() for value in values]
    twice = [name for name, times in Counter(names).items() if name and times > 1]
    if twice:
        raise refuse(file, line, f"duplicate column '{twice[0]}'; keep one")
    return names


def _row(header: list[str], values: list[str], file: Path, line: int) -> Row:
    if len(values) > len(header):
        raise refuse(file, line, f"want {len(header)} columns, found {len(values)}")
    return {name: Cell(value.strip(), line) for name, value in zip(header, values, strict=False) if value.strip()}


# ---- Markdown


def _markdown(text: str, file: Path) -> Iterator[Row]:
    """Rows of every table on the page; a table is a header, a rule of hyphens, and rows."""
    lines = text.splitlines()
    header: list[str] | None = None
    for number, line in enumerate(lines, 1):
        if line.count("|") < 2:
            header = None
        elif header is None and number < len(lines) and "-" in lines[number] and _RULE.fullmatch(lines[number]):
            header = [_plain(cell) for cell in _split(line)]
        elif header is not None and not _RULE.fullmatch(line):
            yield _row(header, [_plain(cell) for cell in _split(line)], file, number)


def _split(line: str) -> list[str]:
    return line.strip().removeprefix("|").removesuffix("|").split("|")


def _plain(cell: str) -> str:
    """A cell without emphasis, code marks and link targets."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", cell).replace("*", "").replace("`", "").strip()


# ---- JSON and YAML


def _nested(text: str, file: Path) -> Iterator[Row]:
    """Rows of a list of records, a mapping of records, or a mapping of numbers; records may nest."""
    if file.suffix.lower() == ".json":
        _refuse_broken(text, file)
    document = strict_yaml.parse(_LEADING_TABS.sub(" ", text), file)
    data: Any = document.data
    path: strict_yaml.Path = ()
    if isinstance(data, dict) and len(data) == 1 and isinstance(next(iter(data.values())), list | dict):
        inner = next(iter(data))
        if isinstance(data[inner], list) or all(isinstance(one, dict) for one in data[inner].values()):
            data, path = data[inner], (inner,)
    if isinstance(data, list):
        for position, record in enumerate(data):
            if not isinstance(record, dict):
                raise refuse(file, document.line((*path, position)), "want a record with named values")
            yield dict(_flat(record, document, (*path, position)))
    elif isinstance(data, dict):
        for name, record in data.items():
            own = (*path, name)
            cells = (
                _flat(record, document, own) if isinstance(record, dict) else [("value", _cell(document, own, record))]
            )
            yield {NAME: Cell(str(name), document.line(own)), **dict(cells)}
    else:
        raise refuse(file, 1, "want a list of records or a mapping of names to values")


def _refuse_broken(text: str, file: Path) -> None:
    """Refuse invalid JSON with the message of the JSON parser; valid JSON is read as YAML, which has line numbers."""
    strict_json.parse(text, file, finite=False)


def _flat(
    record: Mapping[str, Any], document: strict_yaml.Document, path: strict_yaml.Path
) -> Iterator[tuple[str, Cell]]:
    """Cells of a record; `{peaks: {bf16: 989}}` is the column `peaks.bf16`."""
    for key, value in record.items():
        here = (*path, key)
        if isinstance(value, dict):
            yield from ((f"{key}.{name}", cell) for name, cell in _flat(value, document, here))
        elif value is not None and not isinstance(value, list):
            yield str(key), _cell(document, here, value)


def _cell(document: strict_yaml.Document, path: strict_yaml.Path, value: Any) -> Cell:
    return Cell(document.texts.get(path, str(value)), document.line(path))
