"""The ledger: what stands in it, that it is the same each time, and that it is what predict says."""

import csv
import gzip
import math
import sys

import numpy as np
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from rooflint.base.errors import InputError, RooflintError
from rooflint.coefficients.library import Coefficients
from rooflint.energy.model import Energies
from rooflint.hardware.device import UndisclosedError, UnsupportedError
from rooflint.hardware.registry import Registry
from rooflint.prediction.ledger import (
    COLUMNS,
    PRECISIONS,
    QUANTITIES,
    RUNS,
    SCHEMA,
    Key,
    Ledger,
    LedgerError,
    Row,
    as_bytes,
    as_parquet,
    read_ledger,
    record,
    tables,
    write_ledger,
)
from rooflint.prediction.predict import NotKnownError, Setting, predict
from rooflint.workloads.ops import Op
from rooflint.workloads.tables import load_workload
from rooflint.workloads.workload import Workload

DEVICES = (
    "google/tpu-v4",
    "hailo/hailo-8",
    "intel/xeon-8490h",
    "nvidia/jetson-agx-orin-64gb",
    "nvidia/t4",
    "stillwater/kpu-t64",
)
NETWORKS = ("torchvision/resnet18", "torchvision/vit_b_16")


def ledger() -> Ledger:
    registry = Registry()
    works = tables(map(load_workload, NETWORKS))
    return record(map(registry.get, DEVICES), works, Energies(Coefficients(registry)))


LEDGER = ledger()
ROWS = {row.key: row for row in LEDGER.rows()}

# ---- the matrix


def test_every_device_stands_in_it_at_its_own_and_at_every_operating_point():
    orin = Registry().get("nvidia/jetson-agx-orin-64gb")
    found = {key.at for key in LEDGER.keys if key.device == orin.id}
    assert found == {"", *orin.operating_points}
    assert len(list(orin.points())) == len(found)


def test_every_combination_has_a_row_supported_or_not():
    places = {(key.device, key.at) for key in LEDGER.keys}
    assert len(LEDGER) == len(places) * len(NETWORKS) * len(PRECISIONS) * len(RUNS)
    assert len(set(LEDGER.keys)) == len(LEDGER)


def test_what_a_device_does_not_support_is_counted_with_its_reason():
    refused = [one for one in ROWS.values() if one.not_supported]
    assert len(refused) == len(LEDGER) - LEDGER.supported > 0
    assert all(all(map(math.isnan, one.values)) for one in refused)
    tpu = ROWS[Key("google/tpu-v4", "", NETWORKS[0], "fp16", 1, False)]
    assert tpu.not_supported.startswith("google/tpu-v4 does not support fp16")
    hailo = ROWS[Key("hailo/hailo-8", "", NETWORKS[0], "int8", 1, False)]
    assert hailo.not_supported


def test_what_is_not_known_is_nan_and_has_its_reason():
    for one in ROWS.values():
        unknown = any(map(math.isnan, one.values)) and not one.not_supported
        assert not unknown or one.not_known


def test_a_network_that_cannot_be_fused_is_counted_with_its_reason():
    lonely = Workload.from_ops("lonely", [Op("fc", "linear", 4, 0, 2, 4, 2, 1, 2, 2, 1)])
    assert lonely.flow is None
    works = tables([lonely])
    assert [bool(work.refused) for work in works] == [fused for _, fused in RUNS]
    registry = Registry()
    found = record([registry.get("nvidia/t4")], works, Energies(Coefficients(registry)), ["fp32"])
    assert [reason.startswith("lonely cannot be fused") for reason in found.not_supported] == [
        key.fused for key in found.keys
    ]


def test_waits_add_up_to_the_latency_and_power_is_energy_over_it():
    columns = dict(zip(QUANTITIES, LEDGER.values.T, strict=True))
    latency = columns["latency_s"]
    waits = sum(columns[f"{cause}_wait_s"] for cause in ("compute", "memory", "launch"))
    np.testing.assert_allclose(waits, latency, rtol=1e-12)
    np.testing.assert_allclose(columns["power_w"] * latency, columns["energy_j"], rtol=1e-12)


def test_the_same_specs_give_the_same_bytes():
    assert as_bytes(ledger()) == as_bytes(LEDGER)


# ---- the slow twin: read everything anew, ask for one prediction as a user does


@given(st.sampled_from(LEDGER.keys))
def test_a_row_is_what_predict_says_when_everything_is_read_anew(key):
    registry = Registry()
    device = registry.get(key.device)
    network = load_workload(key.network).at_batch(key.batch)
    setting = Setting(key.precision, fuse=key.fused)
    message = ROWS[key]
    try:
        found = predict(device.at(key.at) if key.at else device, network, Energies(Coefficients(registry)), setting)
    except (UnsupportedError, UndisclosedError) as error:
        assert (message.not_supported, all(map(math.isnan, message.values))) == (str(error), True)
        return
    figures = dict(zip(QUANTITIES, message.values, strict=True))
    assert figures["latency_s"] == found.latency_s
    assert [figures[f"{cause}_wait_s"] for cause in ("compute", "memory", "launch")] == list(found.shares.values())
    for quantity, name in (
        ("energy_j", "energy_j"),
        ("utilization", "utilization"),
        ("peak_memory_bytes", "peak_bytes"),
    ):
        try:
            assert figures[quantity] == getattr(found, name)
        except NotKnownError as error:
            assert math.isnan(figures[quantity])
            assert str(error) in message.not_known


# ---- Ledgers as files: nothing is lost, and what is no ledger is refused in one sentence

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


@pytest.mark.parametrize(("suffix", "as_file"), [(".csv.gz", as_bytes), (".parquet", as_parquet)])
def test_a_file_gives_back_every_number_to_the_bit(tmp_path, suffix, as_file):
    file = tmp_path / "deep" / f"ledger{suffix}"
    write_ledger(WRITTEN, file)
    again = read_ledger(file)
    assert again.keys == WRITTEN.keys
    np.testing.assert_array_equal(again.values, WRITTEN.values)
    assert (again.not_supported, again.not_known) == (WRITTEN.not_supported, WRITTEN.not_known)
    assert as_file(again) == file.read_bytes()


def test_a_table_in_parquet_has_a_column_for_each_quantity_and_null_where_it_is_not_known(tmp_path):
    write_ledger(WRITTEN, tmp_path / "ledger.parquet")
    table = parquet.read_table(tmp_path / "ledger.parquet").to_pydict()
    assert (table["device"], table["batch"]) == (["acme/x1", "acme/x1", "acme/x2"], [1, 8, 1])
    assert table["energy_j"] == [1.0, None, None]
    assert table["latency_s"] == [1.0, None, 1 / 3]


def test_an_empty_ledger_is_a_parquet_file_too(tmp_path):
    write_ledger(Ledger.of([]), tmp_path / "none.parquet")
    assert len(read_ledger(tmp_path / "none.parquet")) == 0


def test_parquet_that_is_none_and_parquet_of_others_are_refused(tmp_path):
    file = tmp_path / "ledger.parquet"
    file.write_text("device", encoding="utf-8")
    with pytest.raises(InputError, match=r"ledger\.parquet:1  want a ledger as Parquet: "):
        read_ledger(file)
    parquet.write_table(pyarrow.table({"device": ["acme/x1"]}), file)
    with pytest.raises(InputError, match=r"parquet:1  want a ledger of the schema rooflint-ledger/1, found ''$"):
        read_ledger(file)


def test_without_pyarrow_parquet_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(LedgerError, match=r"^Parquet needs pyarrow, else write \.csv\.gz; in the clone"):
        write_ledger(WRITTEN, tmp_path / "ledger.parquet")
    assert list(tmp_path.iterdir()) == []


finite = st.floats(min_value=0, allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\x00"), max_size=12)


@given(st.lists(st.tuples(texts, finite, texts), unique_by=lambda one: one[0]))
def test_any_text_and_any_number_survives_the_file(tmp_path_factory, drawn):
    written = Ledger.of(row(network=name, latency=value, not_known=message) for name, value, message in drawn)
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
    ("text", "line", "message"),
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
def test_what_is_no_ledger_is_refused_in_one_sentence(tmp_path, text, line, message):
    file = tmp_path / "bad.csv.gz"
    file.write_bytes(gzip.compress(text.encode()))
    with pytest.raises(RooflintError) as refused:
        read_ledger(file)
    assert str(refused.value).startswith(f"{file.as_posix()}:{line}  ")
    assert message in str(refused.value)
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
