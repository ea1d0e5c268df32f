"""Cells: a number is read as it was meant, or refused with the cell; a cell without a figure is none."""

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_rooflint.audit.cells import NumberError, claims, commas, has_no_value, parts, printed
from pytest_rooflint.audit.columns import guessed

PEAK, COUNT, MEMORY = guessed("bf16 (TFLOPS)"), guessed("CUDA cores"), guessed("Memory (GB)")
CLOCK, POWER, BANDWIDTH, RATE = (guessed(name) for name in ("clock", "TDP (W)", "bw (TB/s)", "flops_per_clk_per_sm"))


def value(text, column=PEAK):
    """What a cell says in the unit of its column; None where it is refused."""
    scale = {"peak": 1e12, "bandwidth": 1e12, "capacity": 1e9, "clock": 1e9}.get(column.role, 1.0)
    try:
        return printed(text, column)[0].value / scale
    except NumberError as refused:
        assert f"'{text}'" in str(refused)
        return None


@pytest.mark.parametrize(
    ("text", "column", "read"),
    [
        ("156*2", PEAK, 312),
        ("156 × 2", PEAK, 312),
        ("989 teraFLOPS", PEAK, 989),
        ("2.2 petaFLOPS", PEAK, 2200),
        ("5120-bit", guessed("bus"), 5120 / 8),
        ("2 x 181", PEAK, 362),
        ("2 x 24 GB", MEMORY, 48),
        ("2 TB", BANDWIDTH, 2),
        ("8x80", MEMORY, 640),
        ("1979 / 2", PEAK, 989.5),
        ("1/32", RATE, 1 / 32),
        ("989×10^12", PEAK, 989),
        ("989e12/1", PEAK, None),
        # two figures
        ("56 / 60", COUNT, None),
        ("16/32 GB", MEMORY, None),
        ("40/80", MEMORY, None),
        ("40,80 GB", MEMORY, None),
        ("350 / 700", POWER, None),
        ("1.41/1.59", CLOCK, None),
        ("16 / 8", PEAK, None),
        ("120 * 181", PEAK, None),
        ("80 160", MEMORY, None),
        ("312 624", PEAK, None),
        # thousands
        ("16 896", COUNT, 16896),
        ("16\u202f896", COUNT, 16896),
        ("2\u00a0250", PEAK, 2250),
        ("2 250", PEAK, 2250),
        ("1 234 567", COUNT, 1234567),
        ("1,979", PEAK, 1979),
        ("1,979.5", PEAK, 1979.5),
        ("16'896", COUNT, 16896),
        ("16,896", COUNT, 16896),
        # decimal commas
        ("3,35", BANDWIDTH, 3.35),
        ("0,989 PFLOPS", PEAK, 989),
        ("1,98", CLOCK, 1.98),
        # ranges and bounds
        ("700-1000", POWER, None),
        ("80–94 GB", MEMORY, None),
        ("350 to 700", POWER, None),
        (">1000", PEAK, None),
        ("1 + 2", PEAK, None),
        ("85%", PEAK, None),
        # marks
        ("989*", PEAK, 989),
        ("989**", PEAK, 989),
        ("*989", PEAK, 989),
    ],
)
def test_a_cell_is_read_as_it_was_meant_or_refused(text, column, read):
    assert value(text, column) == (None if read is None else pytest.approx(read))


def test_a_product_has_the_digits_of_its_figure():
    assert printed("156*2", PEAK)[0].step == pytest.approx(2e12)
    assert printed("2 x 24 GB", MEMORY)[0].step == pytest.approx(2e9)
    assert printed("16 896", COUNT)[0].step == 1


def test_a_table_shows_what_a_comma_means():
    assert commas(["1,979", "989.4", "3,350"]) == "thousands"
    assert commas(["1,979", "3,35"]) == "decimal"
    assert commas(["1.979,4"]) == "decimal"
    assert commas(["1,979", "3,35", "989.4"]) == "unclear"
    german, mixed = replace(PEAK, commas="decimal"), replace(PEAK, commas="unclear")
    assert (value("1,979", german), value("1.979,4", german), value("2.250", german)) == (1.979, 1979.4, 2250)
    assert (value("1,979", mixed), value("3,35", mixed)) == (None, 3.35)


@pytest.mark.slow
def test_a_table_with_decimal_commas_is_read_whole(audited):
    table = "device;bw (TB/s);FP16 (PFLOPS)\nH100 SXM5;3,35;0,989\nH200 SXM;4,8;0,989\nB200;8;2,250\n"
    assert {one.status for one in audited(table)} <= {"right", "disputed"}


def test_only_a_peak_has_a_sparse_one_beside_it():
    assert parts("989 / 1979", PEAK) == [("989", False), ("1979", True)]
    assert parts("80 / 160", MEMORY) == [("80 / 160", None)]


@pytest.mark.parametrize(
    "text",
    ["N/A", "n/a", "—", "–", "-", "NaN", "nan", "X", "x", "✗", "None", "null", "TBD", "not supported", " - ", "?"],
)
def test_a_cell_that_says_no_value_is_no_figure_and_passes_a_strict_audit(audited, text):
    assert has_no_value(text)
    findings = audited(f"device,bf16_tflops,fp8_tflops\nH100 SXM5,989,{text}\n")
    assert [one.status for one in findings] == ["right"]
    assert not any(one.fails(strict=True) for one in findings)


def test_a_figure_is_not_taken_for_no_value():
    assert not any(map(has_no_value, ("0", "1", "989", "X1", "8x", "inf")))


def test_a_cell_that_is_not_read_is_said_with_its_text(audited):
    (finding,) = audited("device,SMs\nA100,56 / 60\n")
    assert (finding.status, finding.note) == (
        "not checked", "not read: '56 / 60' has more than one figure; write one per cell",
    )  # fmt: skip
    assert finding.fails(strict=True)


# ---- headers


@pytest.mark.parametrize(
    ("name", "sparse"),
    [("FP8 w/ sparsity", True), ("FP8 w/o sparsity", False), ("FP8 (without sparsity)", False), ("FP8 dense", False)],
)
def test_a_header_with_sparsity_is_a_peak_and_no_power(name, sparse):
    column = guessed(name)
    assert (column.role, column.precision, column.sparse, column.unit) == ("peak", "fp8", sparse, None)


@pytest.mark.parametrize("name", ["tensor_cores_generation", "Tensor Cores gen", "memory_type", "CUDA cores version"])
def test_a_header_of_a_generation_is_no_count(name):
    assert guessed(name) is None


# ---- properties


@given(st.integers(1, 999_999), st.sampled_from([",", " ", "\u00a0", "\u202f", "'", "_"]))
def test_thousands_may_be_set_apart_by_any_sign(number, sign):
    grouped = f"{number:,}".replace(",", sign)
    read = value(grouped, COUNT)
    is_two = sign.isspace() and number >= 1000 and (number >= 100_000 or 1.9 <= number % 1000 / (number // 1000) <= 2.1)
    assert read == (None if is_two else number)


@given(st.integers(0, 9999), st.integers(1, 99))
def test_a_decimal_comma_is_a_point(whole, hundredths):
    assert value(f"{whole},{hundredths:02}") == pytest.approx(whole + hundredths / 100)


@given(st.integers(65, 99_999), st.integers(2, 64))
def test_a_product_is_worked_out_in_either_order(figure, factor):
    for text in (f"{figure}*{factor}", f"{factor} x {figure}", f"{figure} × {factor}"):
        assert value(text, MEMORY) == pytest.approx(figure * factor)


@given(st.integers(1, 999), st.integers(1, 999), st.sampled_from([MEMORY, COUNT, POWER, CLOCK]))
def test_two_figures_with_a_slash_are_never_one(one, other, column):
    assume(one != other)
    assert value(f"{one}/{other}", column) is None
    assert value(f"{one} / {other}", column) is None


@given(st.text(alphabet="0123456789.,*/x×- ()eE'GBTFLOPS", max_size=14))
def test_any_cell_is_read_or_refused(text):
    for column in (PEAK, MEMORY, COUNT):
        read = [value(part, column) for part, _ in parts(text, column)]
        assert all(one is None or one > 0 for one in read)


def test_a_column_of_flops_gives_small_numbers_no_prefix(audited):
    [finding] = audited("device,bf16_peak_flops\nH100 SXM5,989.4\n")
    assert (finding.status, finding.note) == ("right", "no unit given; taken as TFLOP/s")


def test_megabytes_in_whole_gibibytes_are_mebibytes(audited):
    assert [one.status for one in audited("device,memory (MB)\nT4,16384\nA100 SXM4 80GB,81920\nT4,15360\n")] == [
        "right", "right", "wrong",
    ]  # fmt: skip


def test_what_a_figure_is_worked_out_from_is_left_out():
    assert value("2 × 132 = 264", COUNT) == 264
    assert value("SM = 264 of 2 x 132", COUNT) is None


def test_two_figures_of_a_cell_in_two_units_are_one_unless_they_differ():
    assert parts("9 TFLOPS (8873 GFLOPS)", PEAK) == [("9 TFLOPS (8873 GFLOPS)", None)]
    assert parts("9TFLOPS(11,758GFLOPS)", PEAK) == [("9 TFLOPS", None), ("11758 GFLOPS", None)]
    assert parts("24 GB (16 W)", MEMORY) == [("24 GB (16 W)", None)]


@pytest.mark.parametrize(
    ("device", "text"),
    [("TITAN V", "12288"), ("RTX 3060", "12288"), ("H100 SXM", "81920"), ("GB200 NVL72", "13392"), ("H100 SXM", "80")],
)
def test_a_bare_memory_of_thousands_is_in_megabytes_unless_it_is_of_many_devices(audited, device, text):
    (finding,) = audited(f"device,memory\n{device},{text}\n")
    assert finding.status == "right"


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("8 GB, GDDR6, 256 bit", [("8 GB", "capacity"), ("256 bit", "bus")]),
        ("48 GB GDDR6 (ECC), 384-bit", [("48 GB", "capacity"), ("384 bit", "bus")]),
        ("80 GB HBM3 + 3350 GB/s; 700 W", [("80 GB", "capacity"), ("3350 GB/s", "bandwidth"), ("700 W", "tdp")]),
        ("24 GB, PCIe 4.0 x16", [("24 GB", "capacity")]),
        ("GDDR6, 8 GB", [("8 GB", "capacity")]),
        ("16/32 GB", None),
        ("16 GB, 32 GB", None),
        ("24 GB, 2 of them", None),
        ("384 bit, GDDR6", None),  # without the figure of the column
        ("80 GB", None),
    ],
)
def test_a_cell_may_hold_facts_that_their_units_tell_apart(text, facts):
    found = [(one, column.role) for one, column in claims(text, MEMORY)]
    assert found == (facts or [(text, "capacity")])
