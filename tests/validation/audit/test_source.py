"""Figures of devices in Python source, by the statements in which people write them."""

from textwrap import dedent

import pytest

from pytest_rooflint.audit.source import read_python
from rooflint.base.errors import InputError

DEVICES = {
    "a100", "h100", "h100 nvl", "h100 pcie", "v100", "rtx 4090", "4090", "tpu v4", "mi300x",
    "compute capability 8.0", "nvidia h100",
}  # fmt: skip


def figures(source, tmp_path):
    """(line, device, column, text) of every figure."""
    file = tmp_path / "mfu.py"

    def is_device(name):
        return name.lower().replace("_", " ").replace("-", " ").strip() in DEVICES

    rows = read_python(source, file, is_device)
    return [
        (cell.line, row["device"].text, column, cell.text)
        for row in rows
        for column, cell in row.items()
        if column != "device"
    ]


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("PEAK = {'a100': 312e12, 'h100': 2 * 181e12}", [("a100", "PEAK", "312e12"), ("h100", "PEAK", "3.62e+14")]),
        (  # what differs by its memory is another device, and its size no name of a figure
            "X = {'h100 pcie 96GB': {'tflops': 9}, 'h100': {'tflops': 989}}",
            [("h100 pcie 96GB", "tflops", "9"), ("h100", "tflops", "989")],
        ),
        (  # a comment heads the lines below it, up to a gap or its next
            "# A100 https://x.com/h100\ntflops = 312\nbw_gbs = 2039\n\nmem_gb = 1\n",
            [("A100", "tflops", "312"), ("A100", "bw_gbs", "2039")],
        ),
        ("# A100\ntflops = 312\nbw_gbs = 3350  # H100", [("A100", "tflops", "312"), ("H100", "bw_gbs", "3350")]),
        (  # a comment on a line that names no device leaves it to the comment above
            "# A100\ntflops = 312  # dense\nbw_gbs = 2039",
            [("A100", "tflops", "312"), ("A100", "bw_gbs", "2039")],
        ),
        ("LINKS = {'nvlink_5': {'bandwidth_gb_s': 900}}  # h100", [("h100", "nvlink_5.bandwidth_gb_s", "900")]),
        ("tflops = 312  # A100\nbw_gbs = 3350", [("A100", "tflops", "312")]),
        ("FLOPS = {'h100': {'bf16': 989e12}}", [("h100", "FLOPS.bf16", "989e12")]),
        ("FLOPS = {'h100': {torch.bfloat16: 989e12}}", [("h100", "FLOPS.bfloat16", "989e12")]),
        ("FLOPS = {'bf16': {'h100': 989e12}}", [("h100", "bf16", "989e12")]),
        ("SPECS = {'h100': {'tflops': 989, 'mem_gb': 80}}", [("h100", "tflops", "989"), ("h100", "mem_gb", "80")]),
        (  # a condition that names a precision says more than the key
            "FLOPS = {('h100', torch.float32): 989 / 2 if is_using_tf32() else 67.0}",
            [("h100", "FLOPS.tf32", "494.5"), ("h100", "FLOPS.float32", "67.0")],
        ),
        ("SPECS = dict(h100=dict(tflops=989))", [("h100", "tflops", "989")]),
        ("X = [{'name': 'h100', 'tflops': 989}]", [("h100", "tflops", "989")]),
        ("X = [Gpu(name='h100', tflops=989)]", [("h100", "tflops", "989")]),
        ("TFLOPS = [('h100', 989), ('a100', 312)]", [("h100", "TFLOPS", "989"), ("a100", "TFLOPS", "312")]),
        ("TFLOPS = ((['h100', 'nvl'], 835), (['a100'], 3))", [("h100 nvl", "TFLOPS", "835"), ("a100", "TFLOPS", "3")]),
        (  # members of an enumeration
            "FLOPS = {Gpu.H100_PCIE: {Dtype.FLOAT16: 756e12}}",
            [("H100_PCIE", "FLOPS.FLOAT16", "756e12")],
        ),
        (  # a comment names the places of a tuple, with its device or without
            "# (mem_gb, bw_gbs)\nX = {'h100': (80, 3350)}\n",
            [("h100", "mem_gb", "80"), ("h100", "bw_gbs", "3350")],
        ),
        (
            "# columns: (name, mem_gb, bw_gbs)\nX = [('h100', 80, 3350)]\n",
            [("h100", "mem_gb", "80"), ("h100", "bw_gbs", "3350")],
        ),
        (  # the heading of the columns within the dict, or behind the last bracket
            "X = {\n    #  mem GB   HBM GB/s\n    'h100': (80, 3350),\n}\n",
            [("h100", "mem GB", "80"), ("h100", "HBM GB/s", "3350")],
        ),
        (
            "X = [\n    ('h100', 80, 3350),\n]  # (name, mem_gb, bw_gbs)\n",
            [("h100", "mem_gb", "80"), ("h100", "bw_gbs", "3350")],
        ),
        (  # a comprehension over what is written out is worked out, on the lines of the figures
            "PEAK = {k: v * 1e12 for k, v in {'a100': 312, 'h100': 989}.items()}",
            [("a100", "PEAK", "3.12e+14"), ("h100", "PEAK", "9.89e+14")],
        ),
        ("BW = {name.lower(): gb * 1e9 for name, gb in [('H100', 3350)]}", [("H100", "BW", "3.35e+12")]),
        ("PEAK = {k: v for k, v in TABLE.items()}", []),
        ("PEAK = {k: 989e12 for k in ('h100',)}", []),
        ("MEM_GB = {**{'h100': 80}, 'a100': 40}", [("h100", "MEM_GB", "80"), ("a100", "MEM_GB", "40")]),
        ("MEM_GB = dict([('h100', 80)])", [("h100", "MEM_GB", "80")]),
        ("MEM_GB = dict(zip(['h100', 'a100'], (80, 40)))", [("h100", "MEM_GB", "80"), ("a100", "MEM_GB", "40")]),
        ("PEAKS.update({'h100': {'bf16': 989e12}})", [("h100", "PEAKS.bf16", "989e12")]),
        ("PEAKS.setdefault('h100', {'bf16': 989e12})", [("h100", "PEAKS.bf16", "989e12")]),
        ("PEAKS |= {'h100': 989e12}", [("h100", "PEAKS", "989e12")]),
        ("X.update()", []),
        (  # a value under any key may name the device, where no key around it does
            "X = [dict(part='h100', tflops=989)]\nY = {'a100': {'after': 'h100', 'tflops': 312}}",
            [("h100", "tflops", "989"), ("a100", "tflops", "312")],
        ),
        (  # a dict of columns, and rows below their header
            "X = DataFrame({'gpu': ['a100', 'h100'], 'tflops': [312, 989], 'n': 3})",
            [("a100", "tflops", "312"), ("h100", "tflops", "989")],
        ),
        (
            "X = [['gpu', 'tflops', 'mem_gb'], ['h100', 989, 80]]",
            [("h100", "tflops", "989"), ("h100", "mem_gb", "80")],
        ),
        ("X = {'gpu': ['a100', 'h100'], 'ids': [1, 2]}", []),
        (  # constants that one statement binds
            "GIGA, TERA = 1e9, 1e12\nH100_PEAK = 989 * TERA",
            [("H100", "PEAK", "9.89e+14")],
        ),
        (  # a flag for a precision, in whichever order
            "if args.fp8 and 'h100' in name:\n    peak = 1979\nelif 'h100' in name:\n    peak = 989",
            [("h100", "peak.fp8", "1979"), ("h100", "peak", "989")],
        ),
        (  # links are no board
            "H100_NVLINK_GB_S = 900",
            [("H100", "NVLINK GB S", "900")],
        ),
        (  # nothing says what is what, and 80 is no rate
            "PEAKS = {'h100': (989e12, 80)}",
            [("h100", "tuple without names", "(989e12, 80)")],
        ),
        (
            "PEAKS = [('h100', 989, 80)]",
            [("h100", "tuple without names", "('h100', 989, 80)")],
        ),
        (
            "PEAK_FLOPS = [('h100', 989, 80)]",
            [("h100", "tuple without names", "('h100', 989, 80)")],
        ),
        ("PEAKS = {'h100': 989e12}", [("h100", "PEAKS", "989e12")]),
        ("TFLOPS = {(8, 0): 312}", [("compute capability 8.0", "TFLOPS", "312")]),
        ("TPU_FLOPS = {'v4': 275e12}", [("TPU v4", "TPU_FLOPS", "275e12")]),
        ("A100_PEAK_FLOPS = 312e12", [("A100", "PEAK FLOPS", "312e12")]),
        ("class H100:\n    tflops: float = field(default=989)", [("H100", "tflops", "989")]),
        (
            "class H100:\n    peak: dict = field(default_factory=lambda: {'bf16': 989e12})",
            [("H100", "peak.bf16", "989e12")],
        ),
        ("class H100:\n    tflops = 989", [("H100", "tflops", "989")]),
        ("class Board:\n    name = 'h100'\n    tflops = 989", [("h100", "tflops", "989")]),
        ("specs['h100']['tflops'] = 989", [("h100", "tflops", "989")]),
        ("self.peak_flops = 312e12  # A100 bf16", [("A100", "peak_flops", "312e12")]),
        ("# H100, dense\npeak_flops = 989e12", [("H100", "peak_flops", "989e12")]),
        ("def mfu(n, flops=312e12):  # A100\n    pass", [("A100", "flops", "312e12")]),
        ("flops = 989e12 if 'h100' in name else 0", [("h100", "flops", "989e12")]),
        ("h100_tflops = a100_tflops = 500", [("h100", "tflops", "500"), ("a100", "tflops", "500")]),
        ("if (h100_tflops := 989) > 1:\n    pass", [("h100", "tflops", "989")]),
        ("use(0, tflops=(a100_tflops := 312))", [("a100", "tflops", "312")]),
        ("FLOPS = {'h100': (peak := 989e12)}", [("h100", "FLOPS", "989e12")]),
        ("h100_tflops, *rest, a100_tflops = 989, 1, 2, 312", [("h100", "tflops", "989"), ("a100", "tflops", "312")]),
        ("h100_tflops, v100, a100_tflops = 989, *rest, 312", [("h100", "tflops", "989"), ("a100", "tflops", "312")]),
        ("h100_tflops, a100_tflops, *rest = [989, 312]", [("h100", "tflops", "989"), ("a100", "tflops", "312")]),
    ],
)  # fmt: skip
def test_a_figure_is_found_where_people_write_it(source, wanted, tmp_path):
    assert [found[1:] for found in figures(source, tmp_path)] == wanted


CONDITIONS = """
def get_peak_flops(name):
    if "a100" in name or name == "v100":
        return 312e12
    elif "H100" in name:
        if "NVL" in name:
            return 835e12
        elif "PCIe" in name and dtype == "fp8":
            return 1513e12
        return 989e12
    match name:
        case "mi300x":
            return 1307e12
        case "mi999":
            return 1308e12
    return 1e12
"""


def test_a_condition_names_the_device_of_its_block(tmp_path):
    assert figures(CONDITIONS, tmp_path) == [
        (4, "a100", "get_peak_flops", "312e12"),
        (4, "v100", "get_peak_flops", "312e12"),
        (7, "H100 NVL", "get_peak_flops", "835e12"),
        (9, "H100 PCIe", "get_peak_flops.fp8", "1513e12"),
        (10, "H100", "get_peak_flops", "989e12"),
        (13, "mi300x", "get_peak_flops", "1307e12"),
        (15, "mi999", "get_peak_flops", "1308e12"),
    ]


def test_positions_of_a_call_are_the_fields_of_its_class(tmp_path):
    source = "class Gpu:\n    name: str\n    memory_gb: float\n    tflops: float\n\nX = Gpu('h100', 80, 989)"
    assert figures(source, tmp_path) == [(6, "h100", "memory_gb", "80"), (6, "h100", "tflops", "989")]


def test_a_class_that_is_private_names_its_positions_too(tmp_path):
    source = "class _Gpu(NamedTuple):\n    mem_gb: float\n    tflops: float\n\nX = {'h100': _Gpu(80, 989)}\n"
    assert figures(source, tmp_path) == [(5, "h100", "mem_gb", "80"), (5, "h100", "tflops", "989")]


def test_a_short_variable_of_a_result_is_no_device(audited):
    assert (
        audited("m1 = measured(peak_tflops=312, bandwidth_gbs=2039)\nt4 = Gpu(mem_gb=16)\n", "t.py")[0].device == "t4"
    )
    with pytest.raises(InputError, match="no key, name, condition or comment names a device"):
        audited("m1 = measured(peak_tflops=312, bandwidth_gbs=2039)\n", "t.py")


def test_a_field_of_a_device_is_no_part_of_its_name(audited):
    [finding] = audited('rtx_3090 = {"name": "NVIDIA GeForce RTX 3090", "memory": 24}\n', "t.py")
    assert (finding.device, finding.column, finding.status) == ("NVIDIA GeForce RTX 3090", "memory", "right")


def test_a_constant_that_is_bound_once_is_worked_out_and_another_is_not(tmp_path):
    once = "TERA = 1e12\nPEAK = {'h100': 989 * TERA}"
    assert figures(once, tmp_path) == [(2, "h100", "PEAK", "9.89e+14")]
    twice = "TERA = 1e12\nTERA = 2**40\nPEAK = {'h100': 989 * TERA}"
    assert figures(twice, tmp_path) == [(3, "h100", "PEAK", "989 × TERA")]


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        # the name of the figure is nearer to it than that of the function
        ("def compare_h100(a100_peak=312): pass", [("a100", "peak", "312")]),
        ("class H100:\n    a100_bf16_tflops = 312", [("a100", "bf16 tflops", "312")]),
        ("def h100_peaks():\n    peak_a100 = 312", [("a100", "peak", "312")]),
        ("class H100:\n    peak_vs_a100 = 3.2", [("H100", "peak_vs_a100", "3.2")]),  # of both, and a figure of neither
        ("class H100:\n    a100_days = 312", [("H100", "a100_days", "312")]),
        # pairs
        ("h100_peak, a100_peak = 989, 312", [("h100", "peak", "989"), ("a100", "peak", "312")]),
        ("h100_peak, (a100_peak, v100_peak) = 989, (312, 125)", [
            ("h100", "peak", "989"), ("a100", "peak", "312"), ("v100", "peak", "125"),
        ]),
        ("h100_peak, *a100_peak = 989, 312", [("h100", "peak", "989")]),  # the second is a list
        ("h100_peak, a100_peak = 989, 312, 125", []),
    ],
)  # fmt: skip
def test_a_figure_is_of_the_device_that_is_named_nearest_to_it(source, wanted, tmp_path):
    assert [found[1:] for found in figures(source, tmp_path)] == wanted


@pytest.mark.slow
def test_conditions_within_each_other_are_read_for_few_combinations_only(tmp_path):
    def nested(depth):
        tests = [f"{'    ' * level}if name in ('a100', 'h100', 'v100', 'mi300x'):\n" for level in range(depth)]
        return "".join(tests) + "    " * depth + "peak = 312"

    assert len(figures(nested(4), tmp_path)) == 4**4  # as many as are read
    for depth in (5, 40):
        found = figures(nested(depth), tmp_path)
        assert {device for _, device, _, _ in found} == {"one of more than 256 combinations of devices"}
        assert len(found) == 4**4
    joined = " and ".join(["name in ('a100', 'h100', 'v100', 'mi300x')"] * 5)
    found = figures(f"if {joined}:\n    peak = 312\nelse:\n    h100_peak = 989", tmp_path)
    assert [one[1:] for one in found] == [
        ("one of more than 256 combinations of devices", "peak", "312"),
        ("h100", "peak", "989"),
    ]


@pytest.mark.parametrize(
    "source",
    [
        "rtx_4090_laptop_tflops = 33",  # another product
        "tflops = 33  # RTX 4090 Laptop",
        "tflops = 312  # A100, and 989 on H100",  # two devices
        "steps = 3",
        "'''a100: 312e12'''",
    ],
)
def test_a_figure_without_a_device_of_its_own_is_left_out(source, tmp_path):
    assert figures(source, tmp_path) == []


def test_a_key_among_devices_is_a_device_that_is_not_known(tmp_path):
    found = figures("TFLOPS = {'h100': 989, 'h100 laptop': 12, 'default': 1}", tmp_path)
    assert [device for _, device, _, _ in found] == ["h100", "h100 laptop"]


@pytest.mark.parametrize("source", ["x = (", "x = '\0'", "def f(:\n", "a" + "[" * 3000 + "]" * 3000])
def test_what_is_not_python_is_refused(source, tmp_path):
    with pytest.raises(InputError, match=r"not valid Python|nested too deeply"):
        figures(source, tmp_path)


def test_source_is_read_and_not_run(tmp_path):
    trace = tmp_path / "trace"
    figures(f"open({str(trace)!r}, 'w')\nPEAK = {{'h100': 989e12}}", tmp_path)
    assert not trace.exists()


def test_the_table_of_a_counter_is_audited_with_line_and_cause(audited):
    source = (
        "# dense BF16\n"
        "def peak(name):\n"
        "    if 'H100 PCIe' in name:\n"
        "        return 989e12\n"
        "    if 'H100' in name:\n"
        "        return 1979e12 * 0.5\n"
        "    if 'A100' in name:\n"
        "        return 312e12\n"
    )
    findings = audited(source, "mfu.py")
    assert [(one.line, one.status) for one in findings] == [(4, "wrong"), (6, "right"), (8, "right")]
    assert findings[0].explanations[0].error == "another device"
    assert findings[0].quantity == "bf16 peak"


def test_a_function_that_is_named_by_a_quantity_is_checked_for_each_device_that_its_branches_name(audited):
    source = (
        "def hbm_gbps(name):\n"
        "    if 'v5e' in name:\n"
        "        return 819 * 8\n"
        "    if name.lower().startswith('v5p'):\n"
        "        return 2765\n"
        "    if 'v99' in name or 'pcie' in name or 'nvidia' in name:\n"
        "        return 1\n"
        "    return 2\n"
    )
    findings = audited(source, "hbm.py")
    assert [(one.line, one.device, one.status) for one in findings] == [
        (3, "v5e", "wrong"), (5, "v5p", "right"), (7, "v99", "unknown device"),
    ]  # fmt: skip
    assert findings[0].explanations[0].error == "bits for bytes"


@pytest.mark.parametrize(
    "source",
    [
        "def clock_mhz(mode):\n    if mode == 'boost2':\n        return 1980",  # not the name of a device
        "def tdp_w(name):\n    if name == 'default':\n        return 700",
        "def steps(name):\n    if name == 'v99':\n        return 700",
    ],
)
def test_no_branch_is_taken_for_one_of_a_device_without_its_name_or_a_quantity(source, tmp_path):
    assert figures(source, tmp_path) == []


@pytest.mark.parametrize(
    "source",
    [
        "def peak(name, flops):\n    if 'h100' in name:\n        return Result(peak_flops=flops)",
        "PEAK = {'h100': cfg.flops_of}\nflops_of = 312e12",
        "PEAK = {'h100': max(989e12, 312e12)}",
        "PEAK = {'h100': scaled(989e12, 8)}",
        "# MFU relative to A100\npeak_flops = 989e12",
        "peak_flops = 989e12  # 3.2x faster than A100",
        "peak_flops = 989e12  # see 4090",
        "def peak(name):\n    'The peak of an A100 by default.'\n    if name == foo():\n        return 989e12",
    ],
)
def test_no_figure_is_given_to_a_device_that_is_only_mentioned(source, tmp_path):
    assert figures(source, tmp_path) == []


def test_a_dictionary_may_be_looked_up_where_it_stands(tmp_path):
    assert figures("peak_flops = {'h100': 989e12}.get(name, 0)", tmp_path) == [(1, "h100", "peak_flops", "989e12")]
    assert figures("peak_flops = {'h100': 989e12}[name]  # noqa", tmp_path) == [(1, "h100", "peak_flops", "989e12")]


@pytest.mark.parametrize("column", ["peak_flops", "memory_bandwidth"])
def test_a_rate_in_a_unit_of_another_file_is_listed_with_its_text(column, tmp_path):
    found = figures(f"from units import TB_2_BYTE\nX = {{'h100': {{'{column}': 4.0 * TB_2_BYTE}}}}\n", tmp_path)
    assert [one[1:] for one in found] == [("h100", column, "4.0 × TB_2_BYTE")]


@pytest.mark.parametrize(
    "source",
    [
        "from units import TERA\nX = {'h100': {'flops': 989 * TERA}}",
        "from .units import TERA as T\nX = {'h100': {'flops': 989 * T}}",
        "from .units import *\nX = {'h100': {'flops': 989 * TERA}}",
        "import units as u\nX = {'h100': {'flops': 989 * u.TERA}}",
        "from . import units\nX = {'h100': {'flops': 989 * units.TERA}}",
        "from below.more import TERA\nX = {'h100': {'flops': 989 * TERA}}",
    ],
)
def test_a_constant_that_is_imported_from_a_file_beside_it_is_worked_out(source, tmp_path):
    (tmp_path / "below").mkdir()
    (tmp_path / "units.py").write_text("from below.more import KILO\nTERA = KILO ** 4\n", encoding="utf-8")
    (tmp_path / "below" / "more.py").write_text("KILO = 1000\nTERA = 1e12\n", encoding="utf-8")
    assert [one[3] for one in figures(source, tmp_path)] == ["9.89e+14"]


@pytest.mark.parametrize("text", ["TERA = (", "TERA = 1\nTERA = 2\n", "from mfu import TERA\n", "\0"])
def test_an_import_that_gives_no_constant_leaves_a_figure_unread(text, tmp_path):
    (tmp_path / "units.py").write_text(text, encoding="utf-8")
    source = "from units import TERA\nX = {'h100': {'peak_flops': 989 * TERA}}"
    assert [one[3] for one in figures(source, tmp_path)] == ["989 × TERA"]


def test_the_guard_of_a_case_names_the_device(tmp_path):
    source = """
def peak_flops(name):
    match name:
        case s if "h100" in s and "pcie" in s:
            return 756e12
        case s if s.startswith("a100"):
            return 312e12
        case _:
            return 1e12
"""
    assert [one[:2] for one in figures(source, tmp_path)] == [(5, "h100 pcie"), (7, "a100")]


@pytest.mark.parametrize(
    "source",
    [
        "def h100_peak(t):\n    return 989e12 if t == 'bf16' else 1979e12",
        "def h100_peak(t):\n    if t == 'bf16':\n        return 989e12\n    else:\n        return 1979e12",
        "def h100_peak(t):\n if t == 'fp8': return 1979e12\n elif t == 'bf16': return 989e12\n else: return 67e12",
    ],
)
def test_what_holds_for_other_precisions_is_of_a_column_of_its_own(source, tmp_path):
    columns = [column for _, _, column, _ in figures(source, tmp_path)]
    assert {*columns[:-1]} <= {"peak.bf16", "peak.fp8"}
    assert columns[-1] == "peak.otherwise"


def test_other_devices_are_no_other_precisions(tmp_path):
    source = "def peak_flops(name):\n    return 989e12 if name == 'h100' else 312e12  # A100"
    assert {column for _, _, column, _ in figures(source, tmp_path)} == {"peak_flops"}


# ---- names that stand apart from the figures


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        (  # columns apart from their rows
            "COLUMNS = ('name', 'bf16_tflops', 'mem_gb')\nROWS = [('h100', 989, 80)]",
            [("h100", "bf16_tflops", "989"), ("h100", "mem_gb", "80")],
        ),
        (
            "COLUMNS = ('name', 'bf16_tflops', 'mem_gb')\nROWS = {'h100': (989, 80)}",
            [("h100", "bf16_tflops", "989"), ("h100", "mem_gb", "80")],
        ),
        (  # which of two lists is meant cannot be told
            "A = ('bf16_tflops', 'mem_gb')\nB = ('mem_gb', 'bf16_tflops')\nROWS = {'h100': (989, 80)}",
            [("h100", "tuple without names", "(989, 80)")],
        ),
        (
            "Spec = namedtuple('Spec', 'name bf16_tflops')\nX = [Spec('h100', 989)]",
            [("h100", "bf16_tflops", "989")],
        ),
        (
            "Spec = NamedTuple('Spec', [('name', str), ('bf16_tflops', float)])\nX = Spec('h100', 989)",
            [("h100", "bf16_tflops", "989")],
        ),
        (
            "class Spec:\n    name = attr.ib()\n    tflops = attr.ib()\nX = Spec('h100', 989)",
            [("h100", "tflops", "989")],
        ),
        (  # fields that a class inherits come first
            "class A:\n    name: str\nclass B(A):\n    tflops: float\nX = B('h100', 989)",
            [("h100", "tflops", "989")],
        ),
        (
            "class Gpu(Enum):\n    H100 = ('h100', 989, 80)\n    def __init__(self, label, tflops, mem_gb): pass",
            [("h100", "tflops", "989"), ("h100", "mem_gb", "80")],
        ),
        (  # an option of a command line
            "p.add_argument('--peak-tflops', type=float, default=989, help='BF16 peak of an H100')",
            [("H100", "peak-tflops", "989")],
        ),
        (
            "@click.option('--bw-gbs', default=3350, help='bandwidth (H100)')\ndef main(bw_gbs): pass",
            [("H100", "bw-gbs", "3350")],
        ),
        # the docstring of a function and of a class, also where a condition asks for a precision
        (
            "def peak_flops(dtype):\n    '''Of an A100.'''\n    if dtype == torch.bfloat16:\n        return 312e12",
            [("A100", "bfloat16", "312e12")],
        ),
        ("class Spec:\n    '''An A100 card.'''\n    tflops = 312", [("A100", "tflops", "312")]),
        (  # a comment on a statement says nothing of the function below it
            "import x\n# H100\nX = 1\ndef peak_flops():\n    return 312e12",
            [],
        ),
        (  # the one device of the file, where nothing else names any
            "'''Roofline of an H100.'''\nPEAK_TFLOPS = 989\nBW_GBS = 3350\nN = 3\nmem_gb = 0",
            [("H100", "PEAK_TFLOPS", "989"), ("H100", "BW_GBS", "3350")],
        ),
        ("# SPDX\n# Peaks of an H100\n\nPEAK_TFLOPS = 989", [("H100", "PEAK_TFLOPS", "989")]),
        ("'''Of an H100.'''\ndef llama3_float8_tp():\n    return 8", []),  # which only mentions a precision
        ("'''Compares an H100 with an A100.'''\nPEAK_TFLOPS = 989", []),
        ("'''Of an H100.'''\nPEAK_TFLOPS = 989\nBW_GBS = 2039  # A100", [("A100", "BW_GBS", "2039")]),
        ("H100Tflops = 989", [("H100", "Tflops", "989")]),
        ("X = {'h100': {'bandwidth': [1319, 16308]}}", [("h100", "tuple without names", "(1319, 16308)")]),
    ],
)
def test_a_figure_is_of_what_stands_apart_from_it(source, wanted, tmp_path):
    assert [figure[1:] for figure in figures(source, tmp_path)] == wanted


def test_the_name_of_a_file_may_be_its_device(tmp_path):
    rows = list(read_python("PEAK_TFLOPS = 989", tmp_path / "h100_roofline.py", lambda name: name.lower() == "h100"))
    assert [(row["device"].text, row["PEAK_TFLOPS"].text) for row in rows] == [("h100", "989")]


def test_numbers_beside_a_figure_that_are_not_read_are_listed(audited):
    source = (
        'GPUS = {"H100 SXM5": {"bf16_tflops": 989, "warp_slots": 64, "launch_year": 2022}}\nretries = {"A100": 3}\n'
    )
    listed = [one for one in audited(source, "gpus.py") if one.quantity == "column"]
    assert [one.column for one in listed] == ["warp_slots"]


def test_records_that_say_that_they_were_measured_are_not_read(tmp_path):
    measured = "{'label': 'Achievable', 'tflops': {'bf16': 795}}"
    source = f"X = {{'h100': [{{'label': 'Peak', 'tflops': {{'bf16': 989}}}}, {measured}]}}"
    assert [text for *_, text in figures(source, tmp_path)] == ["989"]


# ---- what stands around a figure


def test_a_rate_below_a_condition_on_half_precision_is_of_16_bits(audited):
    source = """
        if using_half_precision:
            if "H100" in name:
                if "PCIe" in name:
                    self.device_peak_flops = int(1513e12 * 0.5)
                else:
                    self.device_peak_flops = 67e12
    """
    half, vector = audited(dedent(source), "monitor.py")
    assert (half.quantity, half.status) == ("fp16 peak", "right")
    assert (vector.quantity, vector.status) == ("fp16 peak", "wrong")


def test_a_former_number_behind_a_figure_leaves_the_unit_to_the_comment_above(audited):
    source = """
        class RTX3090:
            def __init__(self):
                # compute throughput in GFLOPS
                self.peak_fp32_flops = 28374 #14000
    """
    [finding] = audited(dedent(source), "arch.py")
    assert (finding.printed, finding.status) == ("28.37 TFLOP/s", "wrong")


@pytest.mark.parametrize(
    ("name", "status"), [("tensor_core_flops = 512", "not checked"), ("tensor_core_flops = 500", "wrong")]
)
def test_a_bare_power_of_two_of_one_core_is_not_read_as_the_peak(name, status, audited):
    [finding] = audited(f"class RTX4090:\n    {name}\n", "arch.py")
    assert finding.status == status
    assert (status == "wrong") != finding.note.startswith("not read: a power of two without a unit")


def test_classes_beside_those_of_devices_are_devices_without_a_spec(audited):
    source = """
        class T4(GPU):
            name: str = "T4"
            memory_gb: int = 16

        class GTX1050(GPU):
            name: str = "GTX 1050"
            memory_gb: int = 2

        class Net(Model):
            name: str = "resnet50"
            memory_gb: int = 2
    """
    found = [(one.device, one.status) for one in audited(dedent(source), "models.py") if one.device]
    assert found == [("T4", "right"), ("GTX 1050", "unknown device")]
