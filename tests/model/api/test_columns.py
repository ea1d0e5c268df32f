"""Tables as columns: what is not known, and tables without rows."""

import numpy as np
import pytest

import rooflint as rl
from rooflint.output.sections import Table


def test_an_unknown_number_is_nan_and_an_unknown_text_is_none():
    found = rl.Columns.of(Table(("seconds", "bound", "fused"), ((1, "memory", True), (None, None, None))))
    assert found["seconds"].dtype == float
    assert found["seconds"][0] == 1
    assert np.isnan(found["seconds"][1])
    assert [*found["bound"]] == ["memory", None]
    assert [*found["fused"]] == [True, None]


def test_known_values_keep_their_type():
    found = rl.Columns.of(Table(("batch", "fused", "device"), ((1, True, "t4"), (2, False, "l4"))))
    assert [column.dtype.kind for column in found.values()] == ["i", "b", "U"]


def test_a_table_without_rows_keeps_its_columns():
    found = rl.Columns.of(Table(("device", "latency_s"), ()))
    assert [*found] == ["device", "latency_s"]
    assert [column.size for column in found.values()] == [0, 0]
    assert repr(found) == "<Columns of 0 rows: device, latency_s>"


def test_a_table_is_a_mapping_of_its_columns():
    found = rl.Columns({"a": [1, 2, 3], "b": ["x", "y", "z"]})
    assert (len(found), repr(found)) == (2, "<Columns of 3 rows: a, b>")


def test_a_data_frame_has_the_same_columns():
    pytest.importorskip("pandas")
    found = rl.Columns({"a": [1, None], "b": ["x", "y"]}).to_pandas()
    assert [*found.columns] == ["a", "b"]
    assert found["a"].isna().tolist() == [False, True]


def test_without_pandas_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(rl.RooflintError, match="python -m pip install pandas"):
        rl.Columns({"a": [1]}).to_pandas()
