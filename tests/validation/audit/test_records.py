"""Records of JSON and YAML, in the depths at which people keep them."""

import pytest

from pytest_rooflint.audit.records import read_records
from rooflint.base.errors import InputError


def records(text, tmp_path, name="t.yaml"):
    """Texts by column of each row."""
    rows = read_records(text, tmp_path / name, lambda one: one.lower().replace("-", " ") in DEVICES)
    return [{column: cell.text for column, cell in row.items()} for row in rows]


H100 = [{"device": "h100", "bf16": "989"}]
DEVICES = {"a100", "h100", "h100 sxm", "h100 pcie"}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("{name: H100, bf16: 989}", [{"name": "H100", "bf16": "989"}]),
        ("[{name: H100, bf16: 989}]", [{"name": "H100", "bf16": "989"}]),
        ("gpus: [{name: H100, peaks: {bf16: 989}}]", [{"name": "H100", "peaks.bf16": "989"}]),
        ("h100: {bf16: 989}", [{"device": "h100", "bf16": "989"}]),
        ("nvidia: {h100: {bf16: 989}, a100: {bf16: 3}}", [*H100, {"device": "a100", "bf16": "3"}]),
        ("nvidia: {gpus: [{gpu: h100, bf16: 989}]}\namd: {gpus: []}", [{"gpu": "h100", "bf16": "989"}]),
        ("h100: {sxm: {bf16: 9}, pcie: {}}", [{"device": "h100 sxm", "bf16": "9"}, {"device": "h100 pcie"}]),
        ("h100: 989\na100: 312", [{"device": "h100", "value": "989"}, {"device": "a100", "value": "312"}]),
        ("h100: 80 GB\na100: TBD", [{"device": "h100", "capacity": "80 GB"}, {"device": "a100", "value": "TBD"}]),
        ("h100: 3.35 TB/s", [{"device": "h100", "bandwidth": "3.35 TB/s"}]),
        ("bf16_tflops: {h100: 989}", [{"device": "h100", "bf16_tflops": "989"}]),
        ("h100: {name: H100 SXM, bf16: 989}", [{"name": "H100 SXM", "bf16": "989"}]),
        ("h100: [{precision: bf16, tflops: 9}]", [{"device": "h100", "precision": "bf16", "tflops": "9"}]),
        ("h100: {bf16: 989, more: [{tdp: 7}]}", [*H100, {"device": "h100", "tdp": "7"}]),
        ("{name: H100, peaks: {dense: [{bf16: 9}, 3]}}", [{"name": "H100"}, {"name": "H100", "dense.bf16": "9"}]),
        ("h100: {bf16: [989], tdp: [350, 700]}", [{"device": "h100", "bf16": "989", "tdp": "[350, 700]"}]),
        ("tflops: {h100: [989, 1979]}", [{"device": "h100", "tflops": "[989, 1979]"}]),
        ("h100: {bf16: 989, uses: [training], on: [true]}", H100),
        ("other: {bf16: 1}", [{"device": "other", "bf16": "1"}]),
    ],
)  # fmt: skip
def test_a_record_is_found_at_any_depth(text, wanted, tmp_path):
    assert sorted(records(text, tmp_path), key=str) == sorted(wanted, key=str)


def test_the_name_of_a_file_is_the_device_of_its_only_record(tmp_path):
    text = "peaks: {bf16: 989}\ntdp_w: 700"
    assert records(text, tmp_path, "h100.yaml") == [{"device": "h100", "peaks.bf16": "989", "tdp_w": "700"}]
    assert records(text, tmp_path, "notes.yaml")[0]["device"] == "peaks"  # whatever stands there


@pytest.mark.parametrize(("text", "message"), [("3", "want a list of records"), ("[1, 2]", "want a record with named")])
def test_what_is_no_record_is_refused_with_its_line(text, message, tmp_path):
    with pytest.raises(InputError, match=rf"t\.yaml:1  {message}"):
        records(text, tmp_path)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("version: 1\ncards: [{part: H100 SXM, tdp: 700}]", [{"part": "H100 SXM", "tdp": "700"}]),
        (
            "[{part: H100, tdp: 700}, {part: A100, tdp: 400}]",
            [{"part": "H100", "tdp": "700"}, {"part": "A100", "tdp": "400"}],
        ),
        ("h100: {successor: a100, tdp: 700}", [{"device": "h100", "successor": "a100", "tdp": "700"}]),
    ],
)
def test_a_field_under_any_name_may_hold_the_device(text, wanted, tmp_path):
    assert records(text, tmp_path) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("gpu: [A100, H100]\ntdp_w: [400, 700]\nsource: us", [("A100", "tdp_w", "400"), ("H100", "tdp_w", "700")]),
        ("data: {gpu: [A100, H100], tdp_w: [400]}", []),
        ("- gpu: {name: H100, memory: {total_mib: 81559}}", [("H100", "gpu.memory.total_mib", "81559")]),
        (  # a list of rates below its name, in columns that say only how sparse they are
            "h100: {peaks: [{dtype: bf16, dense: 989, sparse: 1979}]}",
            [("h100", "dtype", "bf16"), ("h100", "peaks.dense", "989"), ("h100", "peaks.sparse", "1979")],
        ),
        ("h100: {nvlink: {gb_s: 900}}", [("h100", "nvlink.gb_s", "900")]),  # and no board with NVLink
        (
            "nodes: {dgx: {gpu: H100, mem_gb: 2048}}\na100: {tdp: 400}",
            [("H100", "mem_gb", "2048"), ("a100", "tdp", "400")],
        ),
    ],
)
def test_columns_lists_and_nested_records_keep_their_devices(text, wanted, tmp_path):
    rows = records(text, tmp_path)
    named = [(next(row[key] for key in ("device", "gpu", "gpu.name") if key in row), row) for row in rows]
    found = [(name, column, text) for name, row in named for column, text in row.items() if text != name]
    assert found == wanted
