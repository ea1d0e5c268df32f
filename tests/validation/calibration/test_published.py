"""Published tables: what is refused, with its line, which claims they want, and how each op is predicted and timed."""

import re
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rooflint.golden import read
from pytest_rooflint.recordings.files import table_problems as problems
from pytest_rooflint.suite.suite import Suite
from rooflint.base.errors import InputError, RooflintError
from rooflint.hardware.registry import PACKAGED, Registry
from rooflint.kernels.constants import constants_file
from rooflint.kernels.convolution import Convolution
from rooflint.kernels.products import Gemm
from rooflint.kernels.stream import Stream
from rooflint_calibration import published
from rooflint_calibration.package import PUBLISHED, TOPICS
from rooflint_calibration.published import STREAMS, given_of, predicted_s, regimes, roofline_s

TABLE = """\
title: Two products on an A40
device: nvidia/a40
op: gemm
precision: fp16
source: {document: Some paper, where: table 3, grade: read}
why: a profiler's duration of the kernel alone
timing: kernel
columns: [m, n, k, us]
rows:
  - [1, 4096, 4096, 64]
  - [4096, 12288, 4096, 3755]
"""


@pytest.fixture
def table(tmp_path):
    """`table((old, new), …)`: the file with some texts replaced."""
    file = tmp_path / PUBLISHED / "paper-a40.yaml"
    file.parent.mkdir(parents=True)

    def write(*edits):
        text = TABLE
        for old, new in edits:
            assert text.count(old) == 1
            text = text.replace(old, new)
        file.write_text(text, encoding="utf-8")
        return file

    return write


def test_a_table_has_its_columns_by_name_its_times_in_seconds_and_a_line_for_each_row(table):
    found = published.read(table())
    assert found.slug == "paper-a40"
    assert list(found.sizes["n"]) == [4096, 12288]
    assert list(found.sizes["batch"]) == [1, 1]  # nobody said it
    assert found.seconds == pytest.approx([64e-6, 3755e-6])
    assert found.lines == (10, 11)
    assert found.comparable.all()


def test_rows_that_are_too_short_are_kept_and_not_compared(table):
    found = published.read(table(("timing: kernel", "timing: kernel\nfrom_us: 100")))
    assert len(found) == 2
    assert list(found.comparable) == [False, True]


@pytest.mark.parametrize(
    ("edit", "wish"),
    [
        (
            ("[m, n, k, us]", "[m, k, n, us]"),
            "8  columns: want m, n, k, us, and batch before the last where needed; fou",
        ),
        (("[m, n, k, us]", "[us, m, n, k]"), "8  columns: want m, n, k, us"),
        (("op: gemm", "op: softmax"), "8  columns: want m, n, us; found m, n, k, us"),
        (("op: gemm", "op: gem"), "3  op: want 'gemm', 'convolution', 'layernorm'"),
        (("precision: fp16", "precision: fp61"), "4  precision: want one of fp64, fp32"),
        (
            ("timing: kernel", "timing: host"),
            "7  timing: host needs 'floor: {us, where}': what a call takes besides its k",
        ),
        (("timing: kernel", "timing: kernel\nfloor: {us: 4, where: p. 3}"), "7  timing: kernel has no floor"),
        (("[1, 4096, 4096, 64]", "[1, 4096, 64]"), "10  row: want 4 numbers, one a column; found 3"),
        (("[1, 4096, 4096, 64]", "[1.5, 4096, 4096, 64]"), "10  row: want whole sizes, found 1.5, 4096, 4096"),
        (("[1, 4096, 4096, 64]", "[4096, 12288, 4096, 3700]"), "11  row: the same sizes are in line 10"),
        (("[1, 4096, 4096, 64]", "[1, 4096, 4096, 0]"), "10  rows.0.3: want greater than 0, found 0"),
        (("[1, 4096, 4096, 64]", "[1, 4096, 4096, fast]"), "10  rows.0.3: want a valid number, found 'fast'"),
        (("grade: read", "grade: seen"), "5  source.grade: want 'read', 'device', 'quoted', 'recalled' or 'estimate'"),
        (("why: a profiler's duration of the kernel alone\n", ""), "1  why: is missing"),
        (("why: a", "unit: ms\nwhy: a"), "6  unknown key 'unit'"),
    ],
)
def test_each_problem_is_reported_with_its_line(table, edit, wish):
    with pytest.raises(InputError, match=re.escape(f"paper-a40.yaml:{wish}")):
        published.read(table(edit))


def test_a_name_that_no_file_has_is_told_the_names_that_there_are(table, tmp_path):
    table()
    with pytest.raises(
        RooflintError, match=re.escape("no table silicon/published/paper-a10.yaml (there are: paper-a40)")
    ):
        published.find("paper-a10", [tmp_path])
    assert published.find("paper-a40", [tmp_path]).slug == "paper-a40"


def test_without_any_table_a_name_has_none_to_choose_from(tmp_path):
    with pytest.raises(RooflintError, match=r"paper-a40\.yaml \(there are: none\)$"):
        published.find("paper-a40", [tmp_path])


def test_tables_are_no_golden_files(table, tmp_path):
    file = table()
    suite = Suite.of([tmp_path], [PACKAGED])
    assert not suite.owns(file)
    assert suite.files == ()
    assert suite.owns(tmp_path / "silicon" / "published.yaml")  # the claims about them are


def claims_of(tmp_path, *subjects):
    lines = "".join(f"  - {{prediction: published {subject}, error: 9 %, bias: 9 %}}\n" for subject in subjects)
    file = tmp_path / "claims.yaml"
    file.write_text("source: {document: Some paper, where: all, grade: read}\nclaims:\n" + lines, encoding="utf-8")
    return read.load(file).claims


def told(tmp_path, claims=()):
    return [problem.message for problem in problems([tmp_path], Registry(), claims)]


def test_a_table_that_no_claim_is_about_is_a_problem(table, tmp_path):
    table()
    assert told(tmp_path, claims_of(tmp_path, "paper-a40 large")) == []
    (message,) = told(tmp_path, claims_of(tmp_path, "paper-a10"))
    assert "want 'prediction: published paper-a40'" in message


def test_a_table_of_no_device_and_one_that_cannot_be_read_are_problems(table, tmp_path):
    table(("device: nvidia/a40", "device: nvidia/a41"))
    claims = claims_of(tmp_path, "paper-a40")
    (message,) = told(tmp_path, claims)
    assert message.startswith("device: is of a device without spec: ")
    assert [problem.line for problem in problems([tmp_path], Registry(), claims)] == [2]
    table(("[1, 4096, 4096, 64]", "[1, 4096, 64]"))
    assert told(tmp_path, claims) == ["row: want 4 numbers, one a column; found 3"]


@given(
    rows=st.lists(
        st.tuples(*[st.integers(1, 2**20)] * 3, st.floats(1e-3, 1e8)),
        min_size=1,
        max_size=20,
        unique_by=lambda row: row[:3],
    )
)
def test_what_is_written_is_what_is_read(rows, tmp_path_factory):
    text = TABLE.partition("  - ")[0] + "".join(f"  - [{m}, {n}, {k}, {us!r}]\n" for m, n, k, us in rows)
    found = published.read(tmp_path_factory.getbasetemp() / "table.yaml", text)
    assert np.array_equal(np.stack([found.sizes[name] for name in ("m", "n", "k")], axis=1), [row[:3] for row in rows])
    assert found.seconds * 1e6 == pytest.approx([row[3] for row in rows])


REGISTRY = Registry()

HEAD = """\
title: Some rows
device: {device}
op: {op}
precision: {precision}
source: {{document: Some paper, where: table 3, grade: read}}
why: nothing was left out
timing: {timing}
columns: [{columns}]
rows:
"""

SIZES = {
    "gemm": "m, n, k",
    "convolution": "batch, channels_in, channels_out, height, width, kernel_height, kernel_width",
}


@pytest.fixture
def rows_of(tmp_path):
    """`rows_of(op, *rows)`: a table of an A40, timed in some way."""

    def of(op, *rows, timing="graph", device="nvidia/a40", precision="fp16"):
        columns = f"{SIZES.get(op, 'm, n')}, us"
        text = HEAD.format(op=op, timing=timing, columns=columns, device=device, precision=precision)
        return published.read(tmp_path / "table.yaml", text + "".join(f"  - {list(row)}\n" for row in rows))

    return of


def test_a_product_is_predicted_as_one_kernel_of_a_graph(rows_of):
    one = rows_of("gemm", (256, 4096, 4096, 100), (1, 12288, 4096, 177))
    given = given_of(one, REGISTRY)
    # the slow twin: one row after the other
    for row, (m, n, k) in enumerate([(256, 4096, 4096), (1, 12288, 4096)]):
        expected = Gemm("fp16").predict(Gemm("fp16").work(m, n, k), given.chip, given.constants)
        assert predicted_s(one, given)[row] == pytest.approx(expected[0])


def test_a_profiler_does_not_see_the_gap_and_the_host_sees_its_floor_instead(rows_of):
    # nobody published a launch in a graph of GA102: 1.3 µs is taken
    row = (256, 4096, 4096, 100)
    given = given_of(rows_of("gemm", row), REGISTRY)
    graph, kernel = (predicted_s(rows_of("gemm", row, timing=timing), given)[0] for timing in ("graph", "kernel"))
    assert published.gap_s(given) == pytest.approx(1.3e-6)
    assert graph - kernel == pytest.approx(1.3e-6)
    host = predicted_s(rows_of("gemm", row, timing="host\nfloor: {us: 21, where: p. 3}"), given)[0]
    assert host - kernel == pytest.approx(21e-6)


def test_a_kernel_takes_its_work_where_a_wrong_clock_makes_its_launch_shorter_than_the_gap(rows_of):
    table = rows_of("silu_mul", (1, 64, 5), timing="kernel")
    given = given_of(table, REGISTRY)
    faster = given._replace(chip=replace(given.chip, clock_hz=100 * given.chip.clock_hz))
    assert 0 < predicted_s(table, faster)[0] < predicted_s(table, given)[0]


def test_where_the_same_operands_were_touched_just_before_l2_may_hold_them(rows_of):
    # weights of 32 KB · 2 B lie in the 6 MiB of an A40
    row = (8, 256, 128, 5)
    given = given_of(rows_of("gemm", row), REGISTRY)
    cold, warm = rows_of("gemm", row), rows_of("gemm", row, timing="graph\nwarm: true")
    assert predicted_s(warm, given)[0] < predicted_s(cold, given)[0]
    # 3 · 64 · 4096 · 2 B = 1.6 MB
    cold, warm = rows_of("add", (64, 4096, 5)), rows_of("add", (64, 4096, 5), timing="graph\nwarm: true")
    assert predicted_s(warm, given)[0] < predicted_s(cold, given)[0]


@pytest.mark.parametrize("op", STREAMS)
def test_a_stream_is_predicted_by_the_bytes_of_its_kernel(rows_of, op):
    one = rows_of(op, (4096, 4096, 172))
    given = given_of(one, REGISTRY)
    kernel = Stream(reads={"add": 2, "silu_mul": 2}.get(op, 1))
    expected = kernel.predict(kernel.work(4096, 4096), given.chip, given.constants)
    assert predicted_s(one, given) == pytest.approx(expected)


def test_the_plain_roofline_is_peak_or_bandwidth(rows_of):
    given = given_of(rows_of("gemm", (4096, 4096, 4096, 1300)), REGISTRY)
    # 2 · 4096³ op / 149.7 TFLOP/s = 918 µs; 3 · 4096² · 2 B / 696 GB/s = 145 µs
    assert roofline_s(rows_of("gemm", (4096, 4096, 4096, 1300)), given)[0] == pytest.approx(918e-6, rel=1e-3)
    # 4096² · 2 B / 696 GB/s = 48.2 µs
    assert roofline_s(rows_of("gemm", (1, 4096, 4096, 64)), given)[0] == pytest.approx(48.2e-6, rel=1e-3)


def test_a_convolution_is_its_implicit_product_and_may_beat_the_peak_where_winograd_applies(rows_of):
    one = rows_of("convolution", (8, 64, 128, 56, 56, 3, 3, 100), (8, 64, 128, 56, 56, 1, 1, 100))
    given = given_of(one, REGISTRY)
    kernel = Convolution()
    expected = kernel.predict(kernel.work(8, 64, 128, 56, 56, [3, 1], [3, 1]), given.chip, given.constants)
    assert predicted_s(one, given) == pytest.approx(expected)
    # 1.85 and 0.206 GMAC at 149.7 TFLOP/s, the first in a quarter of its multiplications
    assert published.peak_s(one, given.chip) == pytest.approx([24.7e-6 / 4, 2.75e-6], rel=2e-3)
    # 8 · 56² · 128 · 64 · 9 MAC = 1.85 GMAC, 3.7 GFLOP
    assert list(regimes(one)["small"]) == [False, True]


def test_cuda_cores_are_predicted_by_constants_that_have_not_seen_the_family(rows_of):
    file = constants_file(REGISTRY)
    given = given_of(rows_of("gemm", (256, 4096, 4096, 100), device="nvidia/l4", precision="fp32"), REGISTRY)
    assert given.constants.cores == file.without("ada").cores != file.constants.cores
    assert given.constants.products == file.constants.products


def test_regimes_of_products_go_by_work_and_those_of_streams_by_bytes(rows_of):
    products = rows_of("gemm", (4096, 4096, 4096, 1), (64, 1024, 1024, 1), (16, 8192, 8192, 1))
    assert {name: list(rows) for name, rows in regimes(products).items()} == {
        "all": [True, True, True],
        "large": [True, False, False],  # 137 GFLOP
        "small": [False, True, False],  # 0.13 and 2.1 GFLOP
        "narrow": [False, False, True],
    }
    streams = rows_of("add", (4096, 8192, 1), (16, 4096, 1))
    assert {name: list(rows) for name, rows in regimes(streams).items()} == {
        "all": [True, True],
        "large": [True, False],  # 201 MB
        "small": [False, True],  # 0.39 MB
    }


@pytest.mark.parametrize(
    ("device", "wish"),
    [
        ("nvidia/a41", "unknown device 'nvidia/a41'; did you mean nvidia/a"),
        ("google/tpu-v4", "google/tpu-v4 does not support fp16"),
        ("amd/mi300x", "amd/mi300x lacks the facts 'units.matrix_core.issue_threads'"),
    ],
)
def test_a_device_of_which_nothing_can_be_said_is_refused_with_its_line(rows_of, device, wish):
    with pytest.raises(InputError, match=rf"table\.yaml:2  device: {wish}"):
        given_of(rows_of("gemm", (1, 4096, 4096, 64), device=device), REGISTRY)


def test_no_row_is_faster_than_its_multiplications_at_the_dense_peak_and_streams_have_none(rows_of):
    products = rows_of("gemm", (4096, 4096, 4096, 1300), (1, 4096, 4096, 64))
    chip = given_of(products, REGISTRY).chip
    # 4096³ and 4096² MAC at 74.85 TMAC/s
    assert published.peak_s(products, chip) == pytest.approx([918e-6, 0.2241e-6], rel=1e-3)
    assert published.peak_s(rows_of("softmax", (64, 64, 5), (64, 128, 5)), chip).tolist() == [0, 0]


def test_a_row_is_named_by_its_sizes_and_by_options_above_one(rows_of, table):
    assert published.label(rows_of("gemm", (1, 4096, 512, 9)), 0) == "m 1, n 4096, k 512"
    found = published.read(
        table(
            ("[m, n, k, us]", "[m, n, k, batch, us]"),
            ("[1, 4096, 4096, 64]", "[1, 4096, 4096, 1, 64]"),
            ("[4096, 12288, 4096, 3755]", "[4096, 12288, 4096, 12, 3755]"),
        )
    )
    assert [published.label(found, row) for row in (0, 1)] == [
        "m 1, n 4096, k 4096",
        "batch 12, m 4096, n 12288, k 4096",
    ]


@pytest.mark.parametrize("gpu", ["v100", "t4"])
def test_the_range_is_that_of_the_published_rows(gpu):
    table = published.find(f"deepbench-{gpu}-convolutions", [Path(__file__).parents[3] / "golden"])
    longer = table.seconds / published.predicted_s(table, published.given_of(table, Registry()))
    even = (table.sizes["channels_in"] % 8 == 0) & (table.sizes["channels_out"] % 8 == 0)
    low, high = np.quantile(longer[even & table.comparable], [0.05, 0.95])
    assert 0.95 < low < 1.15
    assert 2.1 < high < 2.25
    assert longer[~even & table.comparable].min() > 2.15
    assert 24 < longer[~even & table.comparable].max() < 31.5


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_names_its_folder_and_the_module_that_reads_it(topic):
    module = import_module(f"rooflint_calibration.{topic}s")
    assert (topic, f"{PUBLISHED}/{topic}s") == (module.TOPIC, module.FOLDER)
    assert callable(module.read)
