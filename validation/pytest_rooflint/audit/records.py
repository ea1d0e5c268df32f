"""Records of JSON and YAML become rows: one record in a file, or many in lists and mappings of any depth."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_rooflint.audit.cells import quantity_of
from pytest_rooflint.audit.columns import guessed, is_device_word, is_mere_precision, says_which_links
from pytest_rooflint.audit.rows import NAME, Cell, IsDevice, Row
from rooflint.base import strict_json, strict_yaml
from rooflint.base.errors import refuse

_LEADING_TABS = re.compile(r"^\t+", re.MULTILINE)


def read_records(text: str, file: Path, is_device: IsDevice) -> Iterator[Row]:
    """Rows of a JSON or YAML file.

    The device of a record is what its field `name`, `gpu` or the like says, else its key, else the name of the file.
    Raises InputError for what is neither a record, nor a list or mapping of records or numbers.
    """
    if file.suffix.lower() == ".json":
        strict_json.parse(text, file, finite=False)  # its message is better; valid JSON is read as YAML, for the lines
    document = strict_yaml.parse(_LEADING_TABS.sub(" ", text), file)
    if not isinstance(document.data, dict | list):
        raise refuse(file, 1, "want a list of records or a mapping of names to values")
    yield from _Reader(document, is_device).rows(document.data, ())


@dataclass(frozen=True)
class _Reader:
    document: strict_yaml.Document
    is_device: IsDevice

    def rows(self, node: Any, path: strict_yaml.Path) -> Iterator[Row]:
        """The rows of a list, or of a mapping that is a record or holds some."""
        if isinstance(node, list):
            for position, one in enumerate(node):
                here = (*path, position)
                if not isinstance(one, dict | list):
                    raise refuse(self.document.file, self.document.line(here), "want a record with named values")
                yield from self.rows(one, here) if self._holds(one) else self._record(None, one, here)
        elif names := self._column_of_devices(node):
            yield from self._by_column(node, names, path)
        elif self._is_named(node) or (self._mentions(node) and not any(self.is_device(str(key)) for key in node)):
            yield from self._record(None, node, path)
        elif any(self.is_device(str(key)) for key in node) or not self._holds(node):
            yield from self._by_key(node, path)
        else:
            for key, child in node.items():
                if isinstance(child, dict | list) and self._holds(child):
                    yield from self.rows(child, (*path, key))

    def _column_of_devices(self, node: Mapping[Any, Any]) -> list[Any]:
        """The list of devices in a mapping of columns: `{gpu: [A100, H100], tdp: [400, 700]}`."""
        lists = [one for one in node.values() if isinstance(one, list) and len(one) > 1]
        return next((one for one in lists if all(isinstance(text, str) and self.is_device(text) for text in one)), [])

    def _by_column(self, node: Mapping[Any, Any], names: list[Any], path: strict_yaml.Path) -> Iterator[Row]:
        columns = {
            key: held
            for key, held in node.items()
            if isinstance(held, list) and held is not names and len(held) == len(names)
        }
        for place, name in enumerate(names):
            cells = {
                str(key): self._plain((*path, key, place), held[place])
                for key, held in columns.items()
                if isinstance(held[place], str | int | float)
            }
            yield {NAME: Cell(name, self.document.line(path)), **cells}

    def _by_key(self, node: Mapping[Any, Any], path: strict_yaml.Path) -> Iterator[Row]:
        """Rows of a mapping whose keys are devices, or which is the record of the device that its file is named for."""
        children = [child for child in node.values() if isinstance(child, dict | list)]
        if not path and len(node) == 1 and children:
            [(key, child)] = node.items()
            if self.is_device(str(key)):
                yield from self._record(str(key), child, (key,))
                return
            if isinstance(child, list) or all(isinstance(one, dict) for one in child.values()):
                yield from self.rows(child, (key,)) if isinstance(child, list) else self._by_key(child, (key,))
                return
        if not path and self.is_device(self.document.file.stem) and not any(self.is_device(str(key)) for key in node):
            yield from self._record(self.document.file.stem, node, path)
            return
        for key, child in node.items():
            if isinstance(child, dict) and not self.is_device(str(key)) and any(map(self._is_named, child.values())):
                yield from self.rows(child, (*path, key))
            else:
                yield from self._record(str(key), child, (*path, key))

    def _record(self, name: str | None, node: Any, path: strict_yaml.Path) -> Iterator[Row]:
        """The row of a record, and those of variants below it: `{h100: {sxm: {...}, pcie: {...}}}`."""
        line = self.document.line(path)
        if not isinstance(node, dict):
            label = str(path[-2]) if len(path) > 1 and guessed(str(path[-2])) else "value"
            if name is not None and isinstance(node, list):
                if _is_bare(node):
                    yield {NAME: Cell(name, line), label: self._cell(path, node)}
                yield from ({NAME: Cell(name, line), **row} for row in self._listed({name: node}, path[:-1]))
            elif name is not None:
                cell = self._cell(path, node)
                yield {NAME: Cell(name, line), quantity_of(cell.text) if label == "value" else label: cell}
            return
        variants = {key for key, child in node.items() if name and isinstance(child, dict) and self._is_of(name, key)}
        for key in variants:
            yield from self._record(f"{name} {key}", node[key], (*path, key))
        own = {key: child for key, child in node.items() if key not in variants}
        cells = dict(self._flat(own, path))
        cells = {NAME: Cell(name, line), **cells} if name is not None and not self._is_named(node) else cells
        listed = list(self._listed(own, path))
        if not variants or len(cells) > (NAME in cells):
            yield cells
        named = {key: cell for key, cell in cells.items() if key == NAME or is_device_word(key)}
        yield from ({**named, **row} for row in listed)

    def _listed(self, record: Mapping[Any, Any], path: strict_yaml.Path) -> Iterator[Row]:
        """Rows of the lists of records within a record: `{h100: {peaks: [{precision: bf16, tflops: 989}]}}`."""
        for key, child in record.items():
            here = (*path, key)
            if isinstance(child, dict):
                yield from self._listed(child, here)
            for position, one in enumerate(child if isinstance(child, list) else ()):
                if isinstance(one, dict):
                    cells = self._flat(one, (*here, position))
                    yield {f"{key}.{name}" if is_mere_precision(name) else name: cell for name, cell in cells}

    def _is_of(self, name: str, key: Any) -> bool:
        return (
            self.is_device(name)
            and self.is_device(f"{name} {key}")
            and not (guessed(str(key)) or says_which_links(str(key)))
        )

    def _is_named(self, node: Any) -> bool:
        """Whether a mapping has a field that names its device, or that is a record which does: `gpu: {name: H100}`."""
        if not isinstance(node, dict):
            return False
        inner = [child for key, child in node.items() if is_device_word(str(key)) and isinstance(child, dict)]
        if any(map(self._is_named, inner)):
            return True
        named = [child for key, child in node.items() if is_device_word(str(key)) and isinstance(child, str)]
        return any(map(self.is_device, named)) or (bool(named) and not any(map(self._holds, node.values())))

    def _mentions(self, node: Mapping[Any, Any]) -> bool:
        """Whether a field under any other key names a device beside fields that say what they are."""
        texts = [child for key, child in node.items() if isinstance(child, str) and guessed(str(key)) is None]
        return any(map(self.is_device, texts)) and any(guessed(str(key)) for key in node)

    def _holds(self, node: Any) -> bool:
        """Whether there are records of devices in a node, at any depth."""
        if isinstance(node, list):
            return any(map(self._holds, node))
        if not isinstance(node, dict):
            return False
        return (
            bool(self._column_of_devices(node))
            or any(is_device_word(str(key)) and isinstance(child, str) for key, child in node.items())
            or self._mentions(node)
            or any(self.is_device(str(key)) for key in node)
            or any(map(self._holds, node.values()))
        )

    def _flat(self, record: Mapping[Any, Any], path: strict_yaml.Path) -> Iterator[tuple[str, Cell]]:
        """Cells of a record; `{peaks: {bf16: 989}}` is the column `peaks.bf16`."""
        for key, value in record.items():
            here = (*path, key)
            if isinstance(value, dict):
                yield from ((f"{key}.{name}", cell) for name, cell in self._flat(value, here))
            elif value is not None and (not isinstance(value, list) or _is_bare(value)):
                yield str(key), self._cell(here, value)

    def _cell(self, path: strict_yaml.Path, value: Any) -> Cell:
        """A cell; a list of one number is that number, and of several a text that is not read as one."""
        if isinstance(value, list):
            texts = [self.document.texts.get((*path, place), str(one)) for place, one in enumerate(value)]
            return Cell(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]", self.document.line(path))
        return self._plain(path, value)

    def _plain(self, path: strict_yaml.Path, value: Any) -> Cell:
        return Cell(self.document.texts.get(path, str(value)), self.document.line(path))


def _is_bare(node: list[Any]) -> bool:
    """Whether a list holds numbers only, of which none says what it is."""
    return bool(node) and all(isinstance(one, int | float) and not isinstance(one, bool) for one in node)
