"""Tables as named NumPy columns."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rooflint.base.errors import RooflintError
from rooflint.output.sections import Table


class Columns(Mapping[str, NDArray[Any]]):
    """A table as named NumPy columns of one length."""

    def __init__(self, columns: Mapping[str, Sequence[Any]]) -> None:
        self._columns = {name: _array(values) for name, values in columns.items()}

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        rows = len(next(iter(self._columns.values()), ()))
        return f"<Columns of {rows} rows: {', '.join(self._columns)}>"

    def to_pandas(self) -> Any:
        """A `pandas.DataFrame`. Raises RooflintError where pandas is not installed."""
        try:
            import pandas as pd  # noqa: PLC0415  # optional
        except ImportError:
            raise RooflintError("to_pandas() needs pandas: python -m pip install pandas") from None
        return pd.DataFrame(self._columns)

    @classmethod
    def of(cls, table: Table) -> Self:
        """Of the rows of an answer; a value that is not known becomes NaN among numbers and None among texts."""
        return cls({name: [row[place] for row in table.rows] for place, name in enumerate(table.columns)})


def _array(values: Sequence[Any]) -> NDArray[Any]:
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, int | float) and not isinstance(value, bool) for value in known):
        return np.array([np.nan if value is None else value for value in values])
    return np.array(values, dtype=object if len(known) < len(values) else None)
