"""Ledgers as files: nothing is lost, and what is no ledger is refused in one sentence."""

import csv
import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.errors import RooflintError
from rooflint.ledger import QUANTITIES, Key, Ledger, Row
from rooflint.ledger_file import COLUMNS, SCHEMA, as_bytes, read_ledger, write_ledger

nan = float("nan")


def row(device="acme/x1", at="", network="mlp", precision="int8", batch=1, fused=False, latency=1.0, **more) -> Row:
    values = tuple(more.pop(name, latency) for name in QUANTITIES)
    return Row(Key(device, at, network, precision, batch, fused), values, **more)


WRITTEN = Ledger.of(
    [
        row(),
        row(device="acme/x2", latency=1 / 3, energy_j=nan, not_known='nobody, "says" so'),
        row(batch=8, latency=nan),
    ]
)


def test_a_file_gives_back_every_number_to_the_bit(tmp_path):
    file = tmp_path / "deep" / "ledger.csv.gz"
    write_ledger(WRITTEN, file)
    again = read_ledger(file)
    assert again.keys == WRITTEN.keys
    np.testing.assert_array_equal(again.values, WRITTEN.values)
    assert (again.not_supported, again.not_known) == (WRITTEN.not_supported, WRITTEN.not_known)
    assert as_bytes(again) == file.read_bytes()


finite = st.floats(min_value=0, allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\x00"), max_size=12)


@given(st.lists(st.tuples(texts, finite, texts), unique_by=lambda one: one[0]))
def test_any_text_and_any_number_survives_the_file(tmp_path_factory, drawn):
    written = Ledger.of(row(network=name, latency=value, not_known=said) for name, value, said in drawn)
    file = tmp_path_factory.mktemp("ledger") / "any.csv.gz"
    write_ledger(written, file)
    again = read_ledger(file)
    assert again.keys == written.keys
    np.testing.assert_array_equal(again.values, written.values)
    assert again.not_known == written.not_known


def test_a_table_reader_needs_no_options(tmp_path):
    file = tmp_path / "ledger.csv.gz"
    write_ledger(Ledger.of([row(energy_j=nan)]), file)
    with gzip.open(file, "rt", encoding="utf-8") as text:
        (found,) = csv.DictReader(text)
    assert found["schema"] == SCHEMA
    assert (found["device"], found["latency_s"], found["energy_j"], found["fused"]) == ("acme/x1", "1.0", "", "false")


HEAD = ",".join(COLUMNS)
LINE = f"{SCHEMA},acme/x1,,mlp,int8,1,false,1.0,1.0,0.0,0.0,,,0.5,10.0,,"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", 1, "want a ledger with the columns schema, device, at"),
        ("a,b\n1,2\n", 2, "want a ledger of the schema rooflint-ledger/1, found '1'"),
        (f"{HEAD}\n{LINE.replace('ledger/1', 'ledger/9')}\n", 2, "found 'rooflint-ledger/9'"),
        (f"{HEAD},more\n{LINE}\n", 1, "want a ledger with the columns"),
        (f"{HEAD}\n{LINE}\n{LINE}\n", 3, "the same prediction as line 2"),
        (f"{HEAD}\n{LINE},x\n", 2, "want 17 cells"),
        (
            f"{HEAD}\n{LINE.replace(',1,false', ',one,false')}\n",
            2,
            "batch, fused: want a whole number and true or false",
        ),
        (f"{HEAD}\n{LINE.replace('10.0', 'ten')}\n", 2, "peak_memory_bytes: want a number of at least 0, or nothing"),
        (f"{HEAD}\n{LINE.replace('10.0', 'nan')}\n", 2, "found 'nan'"),
        (f"{HEAD}\n{LINE.replace('10.0', '-1')}\n", 2, "found '-1'"),
        (f"{HEAD}\n{LINE.replace('10.0', 'inf')}\n", 2, "found 'inf'"),
    ],
)
def test_what_is_no_ledger_is_refused_in_one_sentence(tmp_path, text, line, said):
    file = tmp_path / "bad.csv.gz"
    file.write_bytes(gzip.compress(text.encode()))
    with pytest.raises(RooflintError) as refused:
        read_ledger(file)
    assert str(refused.value).startswith(f"{file.as_posix()}:{line}  ")
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_what_is_no_gzip_is_refused_in_one_sentence(tmp_path):
    file = tmp_path / "bad.csv.gz"
    whole = as_bytes(Ledger.of([row()]))
    for content in (b"plain text", whole[:-9], b"\x1f\x8b\x08\x00" + b"\xff" * 20, b""):
        file.write_bytes(content)
        with pytest.raises(RooflintError) as refused:
            read_ledger(file)
        assert "\n" not in str(refused.value)
    with pytest.raises(RooflintError, match="want a ledger, which is CSV in gzip"):
        read_ledger(tmp_path / "nowhere.csv.gz")
