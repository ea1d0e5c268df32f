"""Against published: each op by the formula of its kind, and by the clock of its table."""

import pytest

from rooflint.base.errors import InputError
from rooflint.hardware.registry import Registry
from rooflint.kernels.constants import constants_file
from rooflint.kernels.convolution import Convolution
from rooflint.kernels.products import Gemm
from rooflint.kernels.stream import Stream
from rooflint_calibration import against_published, published
from rooflint_calibration.against_published import STREAMS, counts, given_of, predicted_s, regimes, roofline_s

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
def table(tmp_path):
    """`table(op, *rows)`: a table of an A40, timed in some way."""

    def of(op, *rows, timing="graph", device="nvidia/a40", precision="fp16"):
        columns = f"{SIZES.get(op, 'm, n')}, us"
        text = HEAD.format(op=op, timing=timing, columns=columns, device=device, precision=precision)
        return published.read(tmp_path / "table.yaml", text + "".join(f"  - {list(row)}\n" for row in rows))

    return of


def test_a_product_is_predicted_as_one_kernel_of_a_graph(table):
    one = table("gemm", (256, 4096, 4096, 100), (1, 12288, 4096, 177))
    given = given_of(one, REGISTRY)
    # the slow twin: one row after the other
    for row, (m, n, k) in enumerate([(256, 4096, 4096), (1, 12288, 4096)]):
        expected = Gemm("fp16").predict(Gemm("fp16").work(m, n, k), given.chip, given.constants)
        assert predicted_s(one, given)[row] == pytest.approx(expected[0])


def test_a_profiler_does_not_see_the_gap_and_the_host_sees_its_floor_instead(table):
    # nobody published a launch in a graph of GA102: 1.3 us is taken
    row = (256, 4096, 4096, 100)
    given = given_of(table("gemm", row), REGISTRY)
    graph, kernel = (predicted_s(table("gemm", row, timing=timing), given)[0] for timing in ("graph", "kernel"))
    assert against_published.gap_s(given) == pytest.approx(1.3e-6)
    assert graph - kernel == pytest.approx(1.3e-6)
    host = predicted_s(table("gemm", row, timing="host\nfloor: {us: 21, where: p. 3}"), given)[0]
    assert host - kernel == pytest.approx(21e-6)


def test_where_the_same_operands_were_touched_just_before_l2_may_hold_them(table):
    # weights of 32 KB · 2 B lie in the 6 MiB of an A40
    row = (8, 256, 128, 5)
    given = given_of(table("gemm", row), REGISTRY)
    cold, warm = table("gemm", row), table("gemm", row, timing="graph\nwarm: true")
    assert predicted_s(warm, given)[0] < predicted_s(cold, given)[0]
    # 3 · 64 · 4096 · 2 B = 1.6 MB
    cold, warm = table("add", (64, 4096, 5)), table("add", (64, 4096, 5), timing="graph\nwarm: true")
    assert predicted_s(warm, given)[0] < predicted_s(cold, given)[0]


@pytest.mark.parametrize("op", STREAMS)
def test_a_stream_is_predicted_by_the_bytes_of_its_kernel(table, op):
    one = table(op, (4096, 4096, 172))
    given = given_of(one, REGISTRY)
    tensors = {"add": 3, "silu_mul": 3}.get(op, 2)
    assert counts(one).bytes_moved == pytest.approx(tensors * 4096 * 4096 * 2)
    kernel = Stream(reads=tensors - 1)
    expected = kernel.predict(kernel.work(4096, 4096), given.chip, given.constants)
    assert predicted_s(one, given) == pytest.approx(expected)


def test_the_plain_roofline_is_peak_or_bandwidth(table):
    given = given_of(table("gemm", (4096, 4096, 4096, 1300)), REGISTRY)
    # 2 · 4096³ op / 149.7 TFLOP/s = 918 us; 3 · 4096² · 2 B / 696 GB/s = 145 us
    assert roofline_s(table("gemm", (4096, 4096, 4096, 1300)), given)[0] == pytest.approx(918e-6, rel=1e-3)
    # 4096² · 2 B / 696 GB/s = 48.2 us
    assert roofline_s(table("gemm", (1, 4096, 4096, 64)), given)[0] == pytest.approx(48.2e-6, rel=1e-3)


def test_a_convolution_is_its_implicit_product_and_may_beat_the_peak_where_winograd_applies(table):
    one = table("convolution", (8, 64, 128, 56, 56, 3, 3, 100), (8, 64, 128, 56, 56, 1, 1, 100))
    given = given_of(one, REGISTRY)
    kernel = Convolution()
    expected = kernel.predict(kernel.work(8, 64, 128, 56, 56, [3, 1], [3, 1]), given.chip, given.constants)
    assert predicted_s(one, given) == pytest.approx(expected)
    assert list(counts(one).most) == [4, 1]
    # 1.85 and 0.206 GMAC at 149.7 TFLOP/s, the first in a quarter of its multiplications
    assert against_published.peak_s(counts(one), given.chip) == pytest.approx([24.7e-6 / 4, 2.75e-6], rel=2e-3)
    # 8 · 56² · 128 · 64 · 9 MAC = 1.85 GMAC, 3.7 GFLOP
    assert list(regimes(one)["small"]) == [False, True]


def test_cuda_cores_are_predicted_by_constants_that_have_not_seen_the_family(table):
    file = constants_file(REGISTRY)
    given = given_of(table("gemm", (256, 4096, 4096, 100), device="nvidia/l4", precision="fp32"), REGISTRY)
    assert given.constants.cores == file.without("ada").cores != file.constants.cores
    assert given.constants.products == file.constants.products


def test_regimes_of_products_go_by_work_and_those_of_streams_by_bytes(table):
    products = table("gemm", (4096, 4096, 4096, 1), (64, 1024, 1024, 1), (16, 8192, 8192, 1))
    assert {name: list(rows) for name, rows in regimes(products).items()} == {
        "all": [True, True, True],
        "large": [True, False, False],  # 137 GFLOP
        "small": [False, True, False],  # 0.13 and 2.1 GFLOP
        "narrow": [False, False, True],
    }
    streams = table("add", (4096, 8192, 1), (16, 4096, 1))
    assert {name: list(rows) for name, rows in regimes(streams).items()} == {
        "all": [True, True],
        "large": [True, False],  # 201 MB
        "small": [False, True],  # 0.39 MB
    }


@pytest.mark.parametrize(
    ("device", "wish"),
    [
        ("nvidia/a41", "unknown device 'nvidia/a41'; did you mean nvidia/a40"),
        ("google/tpu-v4", "google/tpu-v4 does not support fp16"),
        ("amd/mi300x", "amd/mi300x lacks the fact 'units.matrix_core.issue_threads'"),
    ],
)
def test_a_device_of_which_nothing_can_be_said_is_refused_with_its_line(table, device, wish):
    with pytest.raises(InputError, match=rf"table\.yaml:2  device: {wish}"):
        given_of(table("gemm", (1, 4096, 4096, 64), device=device), REGISTRY)


def test_a_row_is_named_by_its_sizes(table):
    assert against_published.label(table("gemm", (1, 4096, 512, 9)), 0) == "m 1, n 4096, k 512"
