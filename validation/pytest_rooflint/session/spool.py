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

    def close(self) -> None:
        """Remove the file; the texts are gone."""
        self._file.close()

    def append(self, text: str) -> None:
        """Add a text."""
        self._file.seek(self._ends[-1])
        self._ends.append(self._ends[-1] + self._file.write(text.encode()))

    def __len__(self) -> int:
        """Number of texts."""
        return len(self._ends) - 1

    @overload
    def __getitem__(self, position: int) -> bytes: ...
    @overload
    def __getitem__(self, position: slice) -> list[bytes]: ...
    def __getitem__(self, position: int | slice) -> bytes | list[bytes]:
        """One of the texts, in UTF-8. Raises IndexError."""
        found = range(len(self))[position]
        if not isinstance(found, int):
            return [self[one] for one in found]
        self._file.seek(self._ends[found])
        return self._file.read(self._ends[found + 1] - self._ends[found])
