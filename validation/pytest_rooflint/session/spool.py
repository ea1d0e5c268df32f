"""Texts of a long run that would take much memory: kept in a temporary file until they are read again."""

from array import array
from collections.abc import Sequence
from tempfile import SpooledTemporaryFile
from typing import overload


class Spool(Sequence[bytes]):
    """Texts that are only read again at the end of a run: in memory while they are few, then in a temporary file."""

    def __init__(self, most_bytes: int = 4 * 1024 * 1024) -> None:
        self._file = SpooledTemporaryFile(max_size=most_bytes)  # noqa: SIM115  # `close` closes it
        self._ends = array("q", [0])
        self._order = array("q")
        """Numbers of the texts that count."""
        self._numbers: dict[str, int] = {}

    def close(self) -> None:
        """Remove the file; the texts are gone."""
        self._file.close()

    def forget(self, name: str) -> None:
        """Leave out the text of that name, if there is one."""
        if (number := self._numbers.pop(name, None)) is not None:
            self._order.remove(number)

    def put(self, name: str, text: str) -> None:
        """Add a text, in place of one of the same name."""
        self.forget(name)
        self._numbers[name] = len(self._ends) - 1
        self._order.append(self._numbers[name])
        self._file.seek(self._ends[-1])
        self._ends.append(self._ends[-1] + self._file.write(text.encode()))

    def __len__(self) -> int:
        """Number of texts."""
        return len(self._order)

    @overload
    def __getitem__(self, position: int) -> bytes: ...
    @overload
    def __getitem__(self, position: slice) -> list[bytes]: ...
    def __getitem__(self, position: int | slice) -> bytes | list[bytes]:
        """One of the texts, in UTF-8. Raises IndexError."""
        found = range(len(self))[position]
        if not isinstance(found, int):
            return [self[one] for one in found]
        number = self._order[found]
        self._file.seek(self._ends[number])
        return self._file.read(self._ends[number + 1] - self._ends[number])
