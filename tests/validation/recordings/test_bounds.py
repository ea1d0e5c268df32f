"""Bounds of a measured time, by hand and as laws over the shipped devices; causes of times below them."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_rooflint.golden import workloads
from pytest_rooflint.recordings.bounds import (
    WINOGRAD,
    bandwidth,
    best_rate,
    bounds,
    cached_bytes,
    causes,
    clock_ratio,
    gemm_bytes,
    miscounted,
    of_ladder,
    table_of,
    uncertainty,
)
from pytest_rooflint.recordings.row import RecordedFile, Row
from rooflint.base.errors import RooflintError
from rooflint.hardware.registry import Registry
from rooflint_measure.record import Unavailable, Wait

REGISTRY = Registry()
DEVICES = ("nvidia/t4", "nvidia/h100-sxm5-80gb", "intel/xeon-8490h", "amd/mi300x", "google/tpu-v4", "apple/m2")
SIZES = st.integers(1, 8192)
IN_PROCESS = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def of_subject(one):
    return table_of(one, networks)


def networks(name, batch):
    return workloads.build({"network": f"torchvision/{name}", "batch": batch})


def of(make, measurement, device):
    row = Row(RecordedFile(Path("synthetic.json"), make.recorded(measurement), (1,)), 0)
    return bounds(row, REGISTRY.get(device), of_subject)


@IN_PROCESS
@given(
    device=st.sampled_from(DEVICES),
    precision=st.sampled_from(["fp32", "fp16", "bf16", "int8"]),
    shape=st.tuples(SIZES, SIZES, SIZES),
)
def test_the_floor_of_a_product_is_never_above_its_roofline(make, device, precision, shape):
    try:
        found = of(make, make.gemm(1e9, precision, shape), device)
    except RooflintError:
        return  # it does not compute in that precision
    assert 0 < found.floor_s <= found.roofline_s * (1 + 1e-12)
    assert found.allowances or found.floor_s == found.roofline_s


@IN_PROCESS
@given(device=st.sampled_from(DEVICES), array_bytes=st.integers(1, 10**10))
def test_the_floor_of_a_stream_is_never_above_its_roofline(make, device, array_bytes):
    found = of(make, make.stream(1e9, array_bytes), device)
    assert 0 <= found.floor_s <= found.roofline_s


@pytest.mark.parametrize("name", ["resnet18", "resnet50", "mobilenet_v2", "vit_b_16", "vgg16", "swin_t"])
@pytest.mark.parametrize("batch", [1, 64])
def test_the_floor_of_a_network_is_never_above_its_roofline(make, name, batch):
    found = of(make, make.network(1.0, name=name, batch=batch), "nvidia/h100-sxm5-80gb")
    assert 0 < found.floor_s <= found.roofline_s


def test_winograd_takes_a_quarter_where_all_convolutions_are_of_nine_taps(make):
    # VGG-16 is 3 × 3 but for its three linear layers: 123.6 of 15 470 MMAC; k of the linear layers is 25088 and 4096
    table = networks("vgg16", 64)
    linear = int(table.macs[table.kinds == "linear"].sum())
    least = (table.total_macs - linear) / WINOGRAD + linear
    found = of(make, make.network(1.0, name="vgg16", batch=64), "intel/xeon-8490h")
    peak = REGISTRY.get("intel/xeon-8490h").best_unit("fp32").peak_ops_per_s("fp32")
    assert found.floor_s == pytest.approx(2 * least / peak)


def test_a_product_moves_each_of_its_three_matrices_once(make):
    # 100 × 10 + 10 × 1000 + 100 × 1000 = 111 000 elements of 4 B
    row = Row(RecordedFile(Path("synthetic.json"), make.recorded(make.gemm(1e9, "fp32", (100, 1000, 10))), (1,)), 0)
    assert gemm_bytes(row.measurement) == 444_000


def test_a_wait_has_no_bounds(make):
    assert of(make, make.timed(Wait(wanted_s=1e-3), 1e-3), "nvidia/t4") is None


def test_every_law_is_written_down():
    from pytest_rooflint.recordings.laws import LAWS  # noqa: PLC0415

    text = (Path(__file__).parents[3] / "docs" / "recordings.md").read_text(encoding="utf-8")
    assert [law for law in LAWS if f"| `{law}` |" not in text] == []


def test_a_network_on_a_device_whose_memory_nobody_tells_is_bound_by_its_arithmetic(make):
    found = of(make, make.network(0.1), "amd/epyc-zen5-2vcpu")
    # 2 × 1 814 073 344 op over (2 cores × 64 FLOP/clock × 4.18 GHz = 535.04 GFLOP/s)
    assert found.roofline_s == pytest.approx(2 * 1_814_073_344 / (2 * 64 * 4.18e9))
    assert found.bound == "compute"
    assert found.floor_s < found.roofline_s  # Winograd


# ---- bounds on acme/k1, by hand: 614.4 GFLOP/s in FP32, 256 GB/s, 4 MiB of cache


@pytest.fixture
def k1(acme):
    return acme.suite().registry.get("acme/k1")


@pytest.fixture
def row(make):
    """The first of some measurements, in one recording."""
    return lambda *measurements: Row(RecordedFile(Path("k1.json"), make.recorded(*measurements), (1, 2)), 0)


def test_a_product_waits_for_its_bytes_or_computes(k1, row, make):
    # 3 × 1024² elements × 4 B = 12.58 MB in 49.15 µs; 2 × 1024³ op in 3.495 ms
    found = bounds(row(make.gemm(1e9, "fp32", (1024, 1024, 1024))), k1, of_subject)
    assert (found.bound, found.allowances, found.unit) == ("compute", (), "vector")
    assert found.roofline_s == found.floor_s == pytest.approx(2 * 1024**3 / 614.4e9)
    assert [ladder.result for ladder in found.binding] == pytest.approx([614.4e9])
    # one row: 2 × 4096² op in 54.6 µs; (4096² + 2 × 4096) × 4 B in 262.3 µs, of which 4 MiB may be cached
    found = bounds(row(make.gemm(1e9, "fp32", (1, 4096, 4096))), k1, of_subject)
    moved = 4 * (4096**2 + 2 * 4096)
    assert found.bound == "memory"
    assert found.roofline_s == pytest.approx(moved / 256e9)
    assert found.floor_s == pytest.approx((moved - 4 * 2**20) / 256e9)
    assert found.allowances == ("caches of 4.194 MB may hold data",)
    assert [ladder.result for ladder in found.binding] == [256e9]
    assert {fact.path for fact in found.facts} > {"memories.hbm.bus", "units.vector.clock"}


def test_a_pass_below_the_size_of_the_caches_has_no_floor(k1, row, make):
    found = bounds(row(make.stream(1e9, array_bytes=2**20)), k1, of_subject)
    assert (found.roofline_s, found.floor_s, found.bound) == (2 * 2**20 / 256e9, 0.0, "memory")
    found = bounds(row(make.stream(1e9, array_bytes=2**22)), k1, of_subject)
    assert found.floor_s == pytest.approx(2**22 / 256e9)  # two arrays, one of which is cached


def test_a_network_may_fuse_cache_and_save_multiplications(k1, row, make):
    found = bounds(row(make.network(1.0)), k1, of_subject)
    assert found.allowances == (
        "Winograd may save multiplications of 3 × 3 convolutions",
        "caches of 4.194 MB may hold data",
        "ops may be fused",
    )
    assert found.floor_s < found.roofline_s


def test_what_caches_hold_is_of_the_spec_or_else_of_the_recording(k1, row, make):
    product = make.gemm(1e9)
    assert cached_bytes(row(product), k1) == 4 * 2**20
    bare = replace(k1, facts={path: fact for path, fact in k1.facts.items() if not path.startswith("caches.")})
    assert cached_bytes(row(product), bare) is None
    streams = [make.stream(1e9) for _ in range(2)]
    sized = [
        one.model_copy(update={"subject": one.subject.model_copy(update={"cache_bytes": size})})
        for one, size in zip(streams, (1000, 2000), strict=True)
    ]
    assert cached_bytes(row(product, *sized), bare) == 2000


def test_bytes_are_those_that_were_recorded_if_there_are_any(make):
    product = make.gemm(1e9, "fp32", (2, 3, 5))
    assert gemm_bytes(product) == 4 * (10 + 15 + 6)
    assert gemm_bytes(product.model_copy(update={"bytes_moved": 7.0})) == 7
    twice = product.model_copy(update={"subject": product.subject.model_copy(update={"batch": 2})})
    assert gemm_bytes(twice) == 4 * 2 * (10 + 15 + 6)


def test_the_best_rate_is_a_peak_a_bandwidth_or_nothing(k1, make):
    assert [ladder.result for ladder in best_rate(make.gemm(1e9, "int8"), k1)] == [32.768e12]
    assert [ladder.result for ladder in best_rate(make.stream(1e9), k1)] == [256e9] == [bandwidth(k1).result]
    assert best_rate(make.timed(Wait(wanted_s=1e-3), 1e-3), k1) == ()


# ---- causes


def fp32(row, make, clock_hz):
    return row(make.gemm(900e9, "fp32", clock_hz=clock_hz))


@pytest.mark.parametrize(
    # the spec has 1200 MHz; no boost of more than 10 % is believed
    ("clock_hz", "excess"),
    [(600e6, 0.0), (1.2e9, 0.0), (1.26e9, 0.05), (1.32e9, 0.1), (2.4e9, 0.1)],
)
def test_a_faster_clock_explains_a_tenth_at_most(k1, row, make, clock_hz, excess):
    one = fp32(row, make, clock_hz)
    ladders = best_rate(one.measurement, k1)
    assert uncertainty(one, ladders) == pytest.approx(excess)
    assert clock_ratio(one, ladders[0]).ratio == pytest.approx(clock_hz / 1.2e9)


def test_without_a_clock_on_both_sides_there_is_no_ratio(k1, row, make):
    one = fp32(row, make, 1.3e9)
    assert clock_ratio(one, bandwidth(k1)) is None
    blind = row(make.gemm(900e9, "fp32", clock_hz=Unavailable(reason="not read")))
    assert clock_ratio(blind, best_rate(blind.measurement, k1)[0]) is None
    assert uncertainty(blind, best_rate(blind.measurement, k1)) == 0
    assert str(clock_ratio(one, best_rate(one.measurement, k1)[0])) == (
        "recorded at 1.3 GHz (synthetic), the spec has 1200 MHz"
    )


def test_a_recorded_clock_is_a_cause_if_it_explains_the_whole_factor(acme, k1, row, make):
    registry = acme.suite().registry
    one = fp32(row, make, 1.8e9)
    (ladder,) = best_rate(one.measurement, k1)
    first = next(of_ladder(one, ladder, 1.5, k1, registry, "vector"))
    assert first.text == "the clock is too low: recorded at 1.8 GHz (synthetic), the spec has 1200 MHz"
    assert (first.factor, first.cost, first.fact.path) == (pytest.approx(1 / 1.5), 0.2, "units.vector.clock")
    assert first.repair == "1800 MHz"
    assert "the clock is too low" not in [cause.text[:20] for cause in of_ladder(one, ladder, 1.51, k1, registry)]


def test_causes_end_with_a_factor_of_what_binds(acme, k1, row, make):
    registry = acme.suite().registry
    product = row(make.gemm(50e12))
    *known, last = causes(product, bounds(product, k1, of_subject), 50 / 32.768, k1, registry)
    assert last.text == "no known error: a factor of the peak is too low, or too many ops are counted"
    assert (last.factor, last.cost) == (pytest.approx(32.768 / 50), 3.0)
    # 50 / 32.768 is 1.526; a MAC that is counted as one op halves the peak
    (half,) = [cause for cause in known if "a MAC is counted as one op" in cause.text]
    assert half.fact.path == "units.mac_array.macs_per_clock.int8"
    assert all("expectation" not in cause.text for cause in known)
    copy = row(make.stream(300e9))
    *_, last = causes(copy, bounds(copy, k1, of_subject), 1.2, k1, registry)
    assert last.text == "no known error: a factor of the bandwidth is too low, or too many bytes are counted"


@pytest.mark.parametrize(
    ("table", "text"),
    [
        (1_000_000, "the recording counts 0.5 GMAC, the op table has 0.001 GMAC"),
        (10**9, "the recording counts 0.5 GMAC, the op table has 1 GMAC, as if a MAC were one op"),
        (500_400_000, None),  # 0.08 %
        (500_600_000, "the recording counts 0.5 GMAC, the op table has 0.5006 GMAC"),
    ],
)
def test_another_count_than_that_of_the_op_table_is_named(row, make, table, text):
    cause = miscounted(row(make.network(1.0, macs=500_000_000)), table)
    assert (cause.text if cause else None) == text
    assert cause is None or (cause.factor, cause.cost) == (pytest.approx(5e8 / table), 0.1)
