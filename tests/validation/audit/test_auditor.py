"""The audit: tables of any shape become figures, figures become findings, and nothing right is accused."""

import csv
import json
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pytest_rooflint.audit import account, published, tables
from pytest_rooflint.audit.account import STATUSES
from pytest_rooflint.audit.auditor import Auditor
from pytest_rooflint.audit.columns import (
    ColumnError,
    NumberError,
    columns,
    guessed,
    mapped,
    printed,
    said_precision,
    said_sparsity,
)
from rooflint.base.errors import InputError
from rooflint.devices.registry import Registry
from rooflint.diagnosis.figures import ERRORS, figures

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "typical-errors.csv"
REGISTRY = Registry()
AUDITOR = Auditor(REGISTRY)


def only(findings):
    (finding,) = findings
    return finding


# ---- tables of every shape


WANTED = {("H100 SXM5", "bf16", "989"), ("T4", "int8", "130")}
CSV = "device,precision,peak_tflops\nH100 SXM5,bf16,989\nT4,int8,130\n"
SHAPES = {
    "t.csv": CSV,
    "t.tsv": CSV.replace(",", "\t"),
    "semicolons.csv": "# from our wiki\n\n" + CSV.replace(",", ";"),
    "t.md": "# GPUs\n\n| device | precision | peak_tflops |\n|---|:-:|--:|\n"
    "| **H100 SXM5** | `bf16` | 989 |\n| [T4](https://t4) | int8 | 130 |\n",
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
    rows = tables.read(file)
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


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.txt", CSV, "want a table as .csv"),
        ("t.csv", "", "found none"),
        ("t.csv", "device,precision,peak_tflops\n", "found none"),
        ("t.csv", "device,peak,peak\nH100,1,2\n", "duplicate column 'peak'"),
        ("t.csv", "device,bf16\nH100,1,2,3\n", "want 2 columns, found 4"),
        ("t.csv", 'device,bf16\n"H100,1\n', "invalid CSV"),
        ("t.csv", "chip_code,bf16\nH100,989\n", "no column names a device"),
        ("t.csv", "device,colour\nH100,green\n", "no column holds a figure"),
        ("t.json", "[1, 2]", "want a record with named values"),
        ("t.json", "3", "want a list of records"),
        ("t.json", '{"a": 1', "invalid JSON: Expecting ',' delimiter"),
        ("t.yaml", "H100: {bf16: 1}\nH100: {bf16: 2}\n", "is written twice"),
    ],
)
def test_a_file_that_is_no_table_is_refused_with_its_place(audited, name, text, message):
    with pytest.raises(InputError, match=message) as caught:
        audited(text, name)
    assert all(problem.line >= 1 and problem.file.name == name for problem in caught.value.problems)


# ---- columns


@pytest.mark.parametrize(
    ("name", "role", "precision", "unit"),
    [
        ("GPU", "device", None, None),
        ("peak_tflops", "peak", None, "TFLOP/s"),
        ("FP16 Tensor (TFLOPS)", "peak", "fp16", "TFLOP/s"),
        ("int8_tops", "peak", "int8", "TOP/s"),
        ("peakFp32", "peak", "fp32", None),
        ("bfloat16", "peak", "bf16", None),
        ("mem_bw_gbps", "bandwidth", None, "GB/s"),
        ("Memory Bandwidth (TB/s)", "bandwidth", None, "TB/s"),
        ("mem_gb", "capacity", None, "GB"),
        ("Memory Size", "capacity", None, None),
        ("TDP (W)", "tdp", None, "W"),
        ("Board Power", "tdp", None, None),
        ("sm_count", "count", None, None),
        ("CUDA cores", "count", None, None),
        ("bus_width_bits", "bus", None, "bit"),
        ("boost_clock_mhz", "clock", None, "MHz"),
        ("flops_per_clk_per_sm", "rate", None, None),
    ],
)
def test_a_column_is_what_its_name_says(name, role, precision, unit):
    column = guessed(name)
    assert (column.role, column.precision, column.unit) == (role, precision, unit)


@pytest.mark.parametrize(
    "name",
    ["note", "source_file", "commit", "Year", "l2_mb", "nvlink_gbps", "gflops_per_watt", "price", "mem_clock_mhz"],
)
def test_a_column_of_something_else_is_left_alone(name):
    assert guessed(name) is None


def test_words_beside_a_precision_say_lanes_and_sparsity():
    assert said_precision("fp16_vector") == ("fp16", True, None)
    assert said_precision("BF16 Tensor sparse") == ("bf16", False, True)
    assert said_precision("fp64") == ("fp64", None, None)
    assert (said_sparsity("with sparsity"), said_sparsity("dense (w/o sparsity)"), said_sparsity("unstated")) == (
        True,
        False,
        None,
    )


def test_a_mapping_says_what_a_name_does_not():
    column = mapped("Dense", "peak bf16 sparse TFLOP/s")
    assert (column.role, column.precision, column.sparse, column.unit) == ("peak", "bf16", True, "TFLOP/s")
    assert mapped("Lanes", "count cuda_core", {"cuda_core"}).subject == "cuda_core"
    with pytest.raises(ColumnError, match="want a group or unit that specs have, such as SM or cuda_core, found 'foo'"):
        mapped("Lanes", "count foo", {"cuda_core"})
    with pytest.raises(ColumnError, match="want a precision or a unit such as bf16 or TFLOP/s, found 'bf61'"):
        mapped("Dense", "peak bf61")
    assert mapped("Dense", "peak bf16 tflops").unit == "TFLOP/s"
    with pytest.raises(ColumnError, match="want one of device, precision"):
        mapped("Dense", "speed")
    with pytest.raises(ColumnError, match="want a precision or a unit"):
        mapped("Dense", "bandwidth gallons")
    with pytest.raises(ColumnError, match="the table has no such column"):
        columns(["device"], {"Dense": "peak"})


# ---- numbers


@pytest.mark.parametrize(
    ("text", "value", "step"),
    [
        ("989", 989e12, 1e12),
        ("989.0", 989e12, 1e12),
        ("989.4", 989.4e12, 0.1e12),
        ("1,979", 1979e12, 1e12),
        ("~312 TFLOPS", 312e12, 1e12),
        ("0.989 PFLOP/s", 989e12, 1e12),
        ("312e12", 312e12, 1e12),
        ("1979e12 / 2", 989.5e12, 0.5e12),
        ("989 (dense)", 989e12, 1e12),
    ],
)
def test_a_number_is_read_with_its_digits(text, value, step):
    found, _ = printed(text, guessed("bf16"))
    assert found.value == pytest.approx(value)
    assert found.step == pytest.approx(step)


def test_a_unit_that_nobody_says_is_assumed_and_said(audited):
    finding = only(audited("device,bf16\nH100 SXM5,989\n"))
    assert (finding.status, finding.note) == ("right", "no unit given; taken as TFLOP/s")


@pytest.mark.parametrize("text", ["n/a", "-", "nan", "inf", "0", "-5", "989 bananas", "312 W", "1e999"])
def test_what_is_no_number_of_the_quantity_is_not_checked_and_says_why(audited, text):
    with pytest.raises(NumberError):
        printed(text, guessed("bf16"))
    finding = only(audited(f'device,bf16\nH100 SXM5,"{text}"\n'))
    assert finding.status == "not checked"
    assert finding.note


# ---- findings


def test_a_name_without_its_variant_is_right_for_one_of_them_and_said_to_be_ambiguous(audited):
    finding = only(audited("device,bf16_tflops\nH100,756\n"))
    assert finding.status == "ambiguous"
    assert "nvidia/h100-pcie-80gb" in finding.note
    assert "989.4 TFLOP/s" in finding.note or "835.3 TFLOP/s" in finding.note


def test_a_figure_that_all_variants_share_is_right(audited):
    assert only(audited("device,bf16_tflops\nA100,312\n")).status == "right"


def test_a_variant_that_the_table_names_apart_is_not_meant_by_the_plain_name(audited):
    # the PCIe board has a row of its own, with another figure, so that 756 under the plain name is not it
    table = "device,bf16_tflops,mem_bw_gbps\nH100,756,\nH100 PCIe,,2000\nH100 NVL,835,\n"
    plain, *named = audited(table)
    assert [one.status for one in named] == ["right", "right"]
    assert plain.status == "wrong"
    assert plain.explanations[0].error == "another device"


def test_a_plain_name_may_repeat_a_variant_that_the_table_names_too(audited):
    table = "device,bf16_tflops\nH100,989\nH100 SXM,989\nH100 PCIe,756\n"
    assert [one.status for one in audited(table)] == ["right", "right", "right"]


def test_figures_of_one_name_must_be_of_one_variant(audited):
    findings = audited("device,bf16_tflops,mem_bw_gbps,tdp_w\nH100,989,2039,700\n")
    assert {one.quantity: one.status for one in findings} == {
        "bf16 peak": "right",
        "bandwidth": "wrong",
        "tdp": "right",
    }
    wrong = next(one for one in findings if one.status == "wrong")
    assert "nvidia/h100-pcie-80gb" in wrong.cause


def test_a_vendors_own_disagreement_is_disputed_and_no_error(audited):
    finding = only(audited("device,bf16_tflops\nL40S,362.05\n"))
    assert (finding.status, finding.is_wrong) == ("disputed", False)
    assert "2490 MHz" in finding.note


def test_a_known_error_of_others_is_wrong_with_its_reason(audited):
    finding = only(audited("device,mem_gb\nMI325X,288\n"))
    assert finding.is_wrong
    assert "shipped with 256" in finding.cause


def test_a_round_figure_is_said_to_be_rounded(audited):
    finding = only(audited("device,bf16_tflops\nMI300X,1300\n"))
    assert (finding.status, finding.note) == ("rounded", "1.307 PFLOP/s rounded to two digits")


def test_an_unknown_device_is_said_to_be_unknown_and_what_is_near(audited):
    finding = only(audited("device,bf16_tflops\nH100 Ultra,989\n"))
    assert finding.status == "unknown device"
    assert "nvidia/h100-sxm5-80gb" in finding.note


def test_a_precision_that_the_device_lacks_is_unsupported_or_another_ones_figure(audited):
    findings = audited("device,precision,peak_tflops\nV100 SXM2 16GB,int8,125\nV100 SXM2 16GB,int4,333\n")
    assert [one.status for one in findings] == ["wrong", "unsupported"]
    assert "dense FP16 peak" in findings[0].cause
    assert "has: fp16, fp32, fp64" in findings[1].note


def test_a_repeated_figure_of_a_long_table_is_found_once(audited):
    table = "device,precision,peak_tflops,tdp_w\nT4,int8,130,70\nT4,fp16,65,70\n"
    assert len([one for one in audited(table) if one.quantity == "tdp"]) == 1


def test_the_same_number_of_two_devices_is_judged_for_each(audited):
    findings = audited("device,bf16_tflops\nH100 SXM5,312\nA100,312\n")
    assert [one.status for one in findings] == ["wrong", "right"]


# ---- the labelled table


def labelled():
    lines = EXAMPLE.read_text(encoding="utf-8").splitlines()
    return dict(enumerate(csv.DictReader(lines[1:]), 3))


def test_the_labelled_table_is_found_out_cell_by_cell():
    rows, findings = labelled(), AUDITOR.audit(EXAMPLE)
    found = {one.line: one for one in findings}
    assert set(found) == set(rows)
    causes = {
        line: (one.is_wrong and one.explanations and one.explanations[0].error) or "" for line, one in found.items()
    }
    said = {line: (one.is_wrong, causes[line]) for line, one in found.items()}
    assert said == {line: (row["label"] == "wrong", row["cause"]) for line, row in rows.items()}


#: Classes that no public table has shown us yet, or that only a last resort names; they are tested on their own.
RARE = {
    *("dense for sparse", "another mode", "another count", "platform total"),
    *("op counted twice", "decimal point", "power of two"),
}


def test_the_labelled_table_has_every_class_of_error_that_was_met_and_as_many_right_figures():
    causes = {part for row in labelled().values() for part in row["cause"].split(" + ") if part}
    assert set(ERRORS) - causes == RARE
    right = sum(row["label"] == "right" for row in labelled().values())
    assert 0.4 < right / len(labelled()) < 0.6


def test_a_labelled_row_is_right_only_where_a_sourced_figure_has_its_digits():
    findings = {one.line: one for one in AUDITOR.audit(EXAMPLE)}
    for line, row in labelled().items():
        if row["label"] == "right":
            assert findings[line].status in ("right", "disputed"), row
            assert 0.97 < findings[line].ratio < 1.03, row


# ---- what the golden files know


def test_published_figures_tell_vendors_from_others():
    known = published.published((), REGISTRY)
    l40s = [one for one in known.printed["nvidia/l40s"] if one.dispute]
    assert any(one.precision == "fp16" for one in l40s)
    assert all(one.dispute for figures in known.refuted.values() for one in figures)
    assert not any(one.printed.startswith("NVIDIA") for one in known.refuted.get("nvidia/h100-sxm5-80gb", ()))


def test_golden_files_that_come_with_the_package_are_found():
    assert list(published.shipped().rglob("*.yaml"))


# ---- accounts


@pytest.fixture
def findings():
    return AUDITOR.audit(EXAMPLE)


def test_the_account_counts_every_figure_once(findings):
    assert sum(account.counts(findings).values()) == len(findings)
    assert set(account.counts(findings)) == set(STATUSES)
    assert account.sentence(findings).startswith(f"{len(findings)} figures of ")


def test_the_text_fits_a_terminal_and_ends_with_the_sentence(findings, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = account.as_text(findings).splitlines()
    assert lines[-1] == account.sentence(findings)
    assert all(len(line) <= 80 or line.lstrip().startswith(("docs/", "model/", "/")) for line in lines)


def test_json_carries_facts_with_their_lines(findings):
    document = json.loads(account.as_json(findings))
    assert document["schema"] == account.SCHEMA
    wrong = [one for one in document["findings"] if one["status"] == "wrong"]
    assert all(one["causes"] for one in wrong)
    derived = next(one for one in wrong if one["expected"] and one["expected"]["facts"])
    assert all(fact["line"] >= 1 and fact["file"].endswith(".yaml") for fact in derived["expected"]["facts"])


def test_sarif_names_a_rule_a_place_and_a_level_for_each_result(findings):
    document = json.loads(account.as_sarif(findings))
    (run,) = document["runs"]
    rules = {rule["id"]: rule["shortDescription"]["text"] for rule in run["tool"]["driver"]["rules"]}
    assert document["version"] == "2.1.0"
    assert {result["ruleId"] for result in run["results"]} == set(rules)
    assert rules["sparse-for-dense"] == ERRORS["sparse for dense"]
    assert rules["MAC-for-op"] == ERRORS["MAC for op"]
    errors = [result for result in run["results"] if result["level"] == "error"]
    assert len(errors) == account.counts(findings)["wrong"]
    assert all(result["locations"][0]["physicalLocation"]["region"]["startLine"] >= 3 for result in run["results"])


def test_the_table_leaves_out_what_is_right_unless_everything_is_wanted(findings):
    assert len(account.as_table(findings, everything=True).rows) == len(findings)
    assert {row[6] for row in account.as_table(findings).rows} == {one.status for one in findings} - {"right"}


# ---- laws

PEAKS = [
    (device, figure)
    for device in REGISTRY.ids()
    for figure in figures(REGISTRY.get(device))
    if figure.quantity == "peak" and not (figure.mode or figure.part or figure.sparse) and " + " not in figure.unit
]


@settings(max_examples=150, deadline=None)  # a slow runner is no bug
@given(st.sampled_from(PEAKS), st.sampled_from([1 / 16, 1 / 8, 1.0995, 2.5, 8.0, 1e3, 1e-3, 1 / 1.31]))
def test_no_right_peak_is_accused_and_no_wild_one_gets_away(peak, factor):
    device, figure = peak
    asked = AUDITOR.identifier
    columns_ = f"device,precision,peak_tflops\n{device},{figure.precision}{'' if figure.is_matrix else '_vector'},"
    right = f"{float(f'{figure.value / 1e12:.4g}'):.10g}"
    wrong = f"{float(f'{figure.value / 1e12 * factor:.4g}'):.10g}"
    value = float(wrong) * 1e12
    others = [one.value for one in asked.of(device) if one.quantity == "peak" and one.precision == figure.precision]
    assume(not any(0.94 < value / other < 1.06 for other in others))
    assert _status(f"{columns_}{right}\n") != "wrong"
    assert _status(f"{columns_}{wrong}\n") == "wrong"


def _status(text):
    import tempfile  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "t.csv")
        file.write_text(text, encoding="utf-8")
        return only(AUDITOR.audit(file)).status
