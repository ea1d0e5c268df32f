"""Tables of every shape become rows of texts with their lines."""

import openpyxl
import pytest

from pytest_rooflint.audit import tables
from rooflint.base.errors import InputError

WANTED = {("H100 SXM5", "bf16", "989"), ("T4", "int8", "130")}
CSV = "device,precision,peak_tflops\nH100 SXM5,bf16,989\nT4,int8,130\n"
SHAPES = {
    "t.csv": CSV,
    "t.tsv": CSV.replace(",", "\t"),
    "semicolons.csv": "# from our wiki\n\n" + CSV.replace(",", ";"),
    "t.md": "# GPUs\n\n| device | precision | peak_tflops |\n|---|:-:|--:|\n"
    "| **H100 SXM5** | `bf16` | 989 |\n| [T4](https://t4) | int8 | 130 |\n",
    "tags.md": "| device | precision | peak_tflops |\n|---|---|---|\n"
    '| <span class="name">H100 SXM5</span> | <b>bf16</b> | 989<br/> |\n| T4 | int8 | 130 |\n',
    "list.json": '[\n\t{"device": "H100 SXM5", "precision": "bf16", "peak_tflops": 989},\n'
    '\t{"device": "T4", "precision": "int8", "peak_tflops": 130}\n]\n',
    "list.yaml": "gpus:\n  - {device: H100 SXM5, precision: bf16, peak_tflops: 989}\n"
    "  - {device: T4, precision: int8, peak_tflops: 130}\n",
    "records.yaml": "H100 SXM5: {precision: bf16, peak_tflops: 989}\nT4: {precision: int8, peak_tflops: 130}\n",
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_table_is_read_in_every_shape(name, tmp_path):
    file = tmp_path / name
    file.write_text(SHAPES[name], encoding="utf-8")
    rows = tables.read(file, lambda name: False)
    assert {tuple(cell.text for cell in row.values()) for row in rows} == WANTED
    lines = SHAPES[name].splitlines()
    assert all("989" in lines[row["peak_tflops"].line - 1] for row in rows if row["device"].text == "H100 SXM5")


def test_nested_records_are_columns_with_dots(audited):
    findings = audited('{"H100 SXM5": {"peaks": {"bf16": 989, "fp8": 3958}, "tdp_w": 700}}', "nested.json")
    assert [(one.column, one.status) for one in findings] == [
        ("peaks.bf16", "right"),
        ("peaks.fp8", "wrong"),
        ("tdp_w", "right"),
    ]


def test_a_mapping_of_numbers_is_a_table_once_somebody_says_what_they_are(audited):
    table = "H100 SXM5: 989e12\nA100: 312e12\nT4: 99e12\n"
    with pytest.raises(InputError, match="no column holds a figure; name it with --map"):
        audited(table, "peaks.yaml")
    findings = audited(table, "peaks.yaml", value="peak bf16 FLOP/s")
    assert [one.status for one in findings] == ["right", "right", "unsupported"]


def test_a_table_of_something_else_that_is_broken_leaves_the_others_of_its_page(audited):
    table = "| GPU | BF16 (TFLOPS) |\n|---|---|\n| H100 SXM5 | 989 |\n\n"
    [finding] = audited(table + "| Options |\n| --- | --- |\n| sm_20 | Fermi |\n", "t.md")
    assert finding.status == "right"
    with pytest.raises(InputError, match=":7  want 1 columns, found 2"):
        audited(table + "| GPU |\n| --- | --- |\n| H200 SXM | 989 |\n", "t.md")


def test_a_page_without_tables_may_hold_a_dictionary(audited):
    page = '{\n    "NVIDIA_A10": {"mem_bandwidth": 600 * (1024**3), "link": NA},\n    "L4": {"mem_bandwidth": 300e9}\n}'
    assert [(one.line, one.device, one.status) for one in audited(page, "t.md")] == [
        (2, "NVIDIA_A10", "wrong"),
        (3, "L4", "right"),
    ]
    with pytest.raises(InputError, match="want a table"):
        audited('    "A10": {"mem_bandwidth": 600\n', "t.md")


def test_every_sheet_of_a_workbook_is_read(auditor, tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["GPU", "BF16 (TFLOPS)"])
    book.active.append(["H100 SXM5", 989])
    other = book.create_sheet("more")
    other.append(["GPU", "TDP (W)"])
    other.append([])
    other.append(["A100 SXM4 80GB", 300])
    book.save(tmp_path / "gpus.xlsx")
    findings = auditor({}).audit(tmp_path / "gpus.xlsx")
    assert [(one.line, one.quantity, one.status) for one in findings] == [
        (2, "bf16 peak", "right"),
        (3, "tdp", "wrong"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.txt", CSV, "want a table as .csv"),
        ("t.csv", "", "found none"),
        ("t.csv", "device,precision,peak_tflops\n", "found none"),
        ("t.csv", "device,bf16\nH100,1,2,3\n", "want 2 columns, found 4"),
        ("t.csv", 'device,bf16\n"H100,1\n', "invalid CSV"),
        ("t.csv", "chip_code,bf16\nX-17,989\n", "no column names a device"),
        ("t.csv", "device,colour\nH100,green\n", "no column holds a figure"),
        ("t.xlsx", "PK", "is not an Excel workbook"),
        ("t.json", "[1, 2]", "want a record with named values"),
        ("t.json", "3", "want a list of records"),
        ("t.json", '{"a": 1', "is not JSON: Expecting ',' delimiter"),
        ("t.yaml", "H100: {bf16: 1}\nH100: {bf16: 2}\n", "is written twice"),
    ],
)
def test_a_file_that_is_no_table_is_refused_with_its_place(audited, name, text, message):
    with pytest.raises(InputError, match=message) as caught:
        audited(text, name)
    assert all(problem.line >= 1 and problem.file.name == name for problem in caught.value.problems)


# ---- headers and rows as spreadsheets write them


def test_a_repeated_column_is_not_read_and_said(audited):
    findings = audited("device,tdp_w,bf16_tflops,bf16_tflops\nH100 SXM5,700,989,1979\n")
    assert [(one.column, one.status) for one in findings] == [
        ("tdp_w", "right"),
        ("bf16_tflops (column 3)", "not checked"),
        ("bf16_tflops (column 4)", "not checked"),
    ]


def test_a_repeated_column_may_be_mapped(audited):
    table = "device,bf16_tflops,bf16_tflops\nH100 SXM5,989,1979\n"
    roles = {"bf16_tflops (column 2)": "peak bf16 TFLOP/s", "bf16_tflops (column 3)": "peak bf16 sparse TFLOP/s"}
    assert [one.status for one in audited(table, **roles)] == ["right", "right"]


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("t.csv", "GPU,Dense,,Sparse,\n,FP16 (TFLOPS),FP8 (TFLOPS),FP16 (TFLOPS),FP8 (TFLOPS)\n"
                  "H100 SXM5,989,1979,1979,3958\n"),
        ("t.md", "| GPU | Dense | Dense | Sparse | Sparse |\n|---|---|---|---|---|\n"
                 "| | FP16 (TFLOPS) | FP8 (TFLOPS) | FP16 (TFLOPS) | FP8 (TFLOPS) |\n"
                 "| H100 SXM5 | 989 | 1979 | 1979 | 3958 |\n"),
    ],
)  # fmt: skip
def test_merged_cells_of_a_header_stand_over_several_columns(audited, name, table):
    findings = audited(table, name)
    assert [(one.quantity, one.status) for one in findings] == [
        ("fp16 peak", "right"), ("fp8 peak", "right"), ("sparse fp16 peak", "right"), ("sparse fp8 peak", "right"),
    ]  # fmt: skip


def test_a_header_that_is_repeated_between_rows_is_no_row(audited):
    for name, table in (
        ("t.csv", "device,bf16_tflops\nH100 SXM5,989\ndevice,bf16_tflops\nL40S,362\n"),
        ("t.md", "|device|bf16_tflops|\n|--|--|\n|H100 SXM5|989|\n|device|bf16_tflops|\n|--|--|\n|L40S|362|\n"),
    ):
        assert [one.device for one in audited(table, name)] == ["H100 SXM5", "L40S"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252"])
def test_a_table_is_read_in_the_encodings_of_spreadsheets(tmp_path, auditor, encoding):
    file = tmp_path / "t.csv"
    file.write_bytes("Gerät (é),GPU,TDP (W)\nx,A100 PCIe 80GB,300\n".encode(encoding))
    assert [one.status for one in auditor({}).audit(file)] == ["right"]


def test_more_values_than_columns_may_be_empty(audited):
    assert [one.status for one in audited("device,tdp_w\nL4,72,,\n")] == ["right"]


def test_blank_lines_between_the_rows_of_a_table_and_escaped_emphasis_are_nothing(audited):
    page = ["| GPU | TDP (W) |", "| :--- | --- |", "| \\*\\*H100 SXM5\\*\\* | \\*\\*700\\*\\* |", "| T4 | 80 |"]
    apart = audited("\n\n".join(page) + "\n", "t.md")
    assert [(one.device, one.line, one.status) for one in apart] == [("H100 SXM5", 5, "right"), ("T4", 7, "wrong")]


def test_a_blank_line_parts_tables_of_which_the_second_has_a_header(audited):
    first, second = "| GPU | TDP (W) |\n|---|---|\n| T4 | 70 |\n", "| GPU | FP16 TFLOPS |\n|---|---|\n| T4 | 65 |\n"
    findings = audited(f"{first}\n{second}", "t.md")
    assert [(one.column, one.status) for one in findings] == [("TDP (W)", "right"), ("FP16 TFLOPS", "right")]
    prose = audited(f"{first}\na | b | c of something else\n", "t.md")
    assert [one.line for one in prose] == [3]
