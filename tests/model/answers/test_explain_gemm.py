"""A matrix product explained: its ladder, what binds it, what would change it, and the record of all of it."""

from functools import cache

import pytest

from rooflint.answers.explain_gemm import LISTING, OTHERS, WAITS, GemmRecord, answer, apart
from rooflint.api.kernels import kernel
from rooflint.base.errors import RooflintError
from rooflint.base.units import BYTES_PER_S, SECONDS, format_quantity
from rooflint.hardware.registry import Registry
from rooflint.kernels.constants import constants_file

QUESTIONS = {
    "large": ("h100-sxm5", "bf16", {"m": 4096, "n": 4096, "k": 4096}),
    "deep": ("t4", "fp16", {"m": 64, "n": 64, "k": 65536, "batch": 3, "copies": 2}),
    "quantised": ("h100-sxm5", "fp8", {"m": 8192, "n": 4096, "k": 8192}),
    "cores": ("p100-pcie-16gb", "fp32", {"m": 4096, "n": 4096, "k": 4096}),
}
"""Bound by power, by memory with k in parts, with a kernel that quantises, and on CUDA cores."""


@cache
def asked(name):
    device, precision, sizes = QUESTIONS[name]
    return kernel("gemm", device, precision=precision, **sizes)


@cache
def answered(name):
    return answer(asked(name))


def section(name, heading):
    (found,) = [one for one in answered(name).sections if one.heading == heading]
    return found


def ladder(name):
    return {row[0].strip(): row[1:] for row in section(name, "Ladder").table.rows}


def seconds(value):
    return format_quantity(value, SECONDS)


def answer_of(device, precision, **sizes):
    return answer(kernel("gemm", device, precision=precision, **sizes))


# ---- the whole


@pytest.mark.parametrize(
    ("name", "title", "subtitle"),
    [
        ("large", "GEMM 4096 × 4096 × 4096 on NVIDIA H100 SXM5 80GB",
         "nvidia/h100-sxm5-80gb, bf16, operands in memory"),
        ("deep", "GEMM 64 × 64 × 65536 × 3 on NVIDIA T4", "nvidia/t4, fp16, 2 sets of weights in rotation"),
        ("quantised", "GEMM 8192 × 4096 × 8192 on NVIDIA H100 SXM5 80GB",
         "nvidia/h100-sxm5-80gb, fp8 with one scale per tensor, operands in memory"),
    ],
)  # fmt: skip
def test_an_answer_is_headed_by_what_was_asked(name, title, subtitle):
    assert (answered(name).title, answered(name).subtitle) == (title, subtitle)


@pytest.mark.parametrize("name", QUESTIONS)
def test_sections_begin_with_the_latency_and_end_with_limitations(name):
    assert [one.heading for one in answered(name).sections] == [
        "Latency", "Ladder", "Latency by term", "Sensitivity to resources", "Tiles and splits", "Facts", "Limitations",
    ]  # fmt: skip
    assert section(name, "Limitations").sentences == tuple(answered(name).record.caveats)


def test_one_set_of_weights_is_one():
    assert answer_of("t4", "fp16", m=8, n=8, k=8, copies=1).subtitle.endswith("fp16, 1 set of weights in rotation")


# ---- the summary


@pytest.mark.parametrize(("name", "unit"), [("large", "FLOP/s"), ("deep", "FLOP/s"), ("cores", "FLOP/s")])
def test_a_latency_stands_with_its_rate_its_range_and_the_roofline(name, unit):
    record, (m, n, k, batch) = answered(name).record, (64, 64, 65536, 3) if name == "deep" else (4096, 4096, 4096, 1)
    first, second, third, _, last = section(name, "Latency").sentences
    # two ops for each of m × n × k MACs
    rate = 2 * m * n * k * batch / record.latency_s / 1e12
    ends = f"{seconds(record.latency_low_s)} to {seconds(record.latency_high_s)}"
    assert first == f"{seconds(record.latency_s)}, {rate:.4g} T{unit}"
    assert last.startswith(f"{ends} by constants fitted without one of the GPU families; ")
    times = record.latency_s / record.roofline_s
    assert second == f"{times:.3g} times the {seconds(record.roofline_s)} of the plain roofline"
    assert third.startswith("mostly limited by ")


def test_the_roofline_of_a_large_product_is_its_ops_at_the_peak():
    # 2 × 4096³ op at 132 × 4 × 512 × 2 × 1.83 GHz = 989.4 TFLOP/s
    assert answered("large").record.roofline_s == pytest.approx(2 * 4096**3 / 989.43e12, rel=1e-4)
    # T4: (3 × 2 × 64 × 65536 + 3 × 64 × 64) × 2 B at 320 GB/s
    assert answered("deep").record.roofline_s == pytest.approx((6 * 64 * 65536 + 3 * 64 * 64) * 2 / 320e9, rel=1e-6)


@pytest.mark.parametrize("name", QUESTIONS)
def test_what_limits_a_product_is_its_largest_term(name):
    record = answered(name).record
    wanted = {"large": "power", "deep": "memory", "quantised": "power", "cores": "arithmetic"}[name]
    assert record.kernel.bound == wanted
    said = WAITS[wanted].replace("matrix units", "CUDA cores") if name == "cores" else WAITS[wanted]
    assert section(name, "Latency").sentences[2] == f"mostly limited by {said}"
    assert ladder(name)["= latency"] == (seconds(record.latency_s), f"most of it: {wanted}")


def test_matrix_units_are_named_where_they_compute():
    bound = answer_of("t4", "fp16", m=64, n=64, k=128)
    assert "CUDA cores" not in bound.sections[0].sentences[2]


def test_the_range_of_the_fits_is_told_apart_from_the_error():
    *_, error, fits = section("large", "Latency").sentences
    assert error.startswith("mean error of bf16 products on GPU families left out of the fit: ")
    assert fits.endswith("; a range of fits, not a confidence interval")
    *_, error, fits = section("deep", "Latency").sentences
    assert error == "error not known: no product in fp16 was measured"
    assert fits.endswith("; a range of fits, not a confidence interval")


def test_the_error_of_the_own_family_stands_before_those_of_all():
    errors = constants_file(Registry()).errors("gemm")
    every = f"({min(errors.values()):g} to {max(errors.values()):g} % on all)"
    for device, family, name in (
        ("h200-sxm-141gb", "hopper", "Hopper"),
        ("rtx-pro-6000-blackwell-server", "rtx_pro", "RTX PRO"),
    ):
        found = answer_of(device, "bf16", m=64, n=4096, k=4096)
        (regime,) = found.record.regime
        assert regime.startswith("memory-bound ones with 17 to 128 rows are ")
        assert found.sections[0].sentences[3].endswith(f": {errors[family]:g} % on {name} {every}; {regime}")
    # GA102 is another die of the generation of the A100
    a40 = answer_of("a40", "bf16", m=64, n=4096, k=4096).sections[0].sentences[3]
    assert f": not measured on its architecture {every}; memory-bound ones with 17 to 128 rows are " in a40
    assert a40.endswith(" % off on 5 measured families")


def test_wider_matrix_units_are_said_to_save_energy_and_cuda_cores_are_not():
    # energy per op falls with the width to the power of the fitted exponent
    saved = 1 - 2 ** -constants_file(Registry()).constants.products.energy_exponent
    note = f"twice the MAC/clock of an SM also saves {saved:.0%} of the energy of an op"
    assert section("large", "Sensitivity to resources").note == note
    assert section("cores", "Sensitivity to resources").note == ""


# ---- the ladder


@pytest.mark.parametrize("name", QUESTIONS)
def test_each_rung_of_the_ladder_is_a_field_of_the_fastest_kernel(name):
    one, rungs = apart(asked(name))[0], ladder(name)
    assert {rung: shown for rung, (shown, _) in rungs.items() if rung != "= latency"} == {
        "main loop": seconds(one.main_s),
        "store": seconds(one.store_s),
        "kernel": seconds(one.kernel_s),
        "power": seconds(one.power_s),
        "memory": seconds(one.memory_s),
        "together": seconds(one.overlapped_s),
        "+ reduction": seconds(one.reduction_s),
        "+ launch": seconds(one.launch_s),
    } | ({"+ quantise": seconds(one.quantise_s)} if name == "quantised" else {})
    assert section(name, "Ladder").strong == (len(rungs) - 1,)
    assert list(rungs)[-1] == "= latency"


@pytest.mark.parametrize(
    ("name", "rungs"),
    [
        ("large", {
            "store": "beside the main loop",  # Hopper: asynchronous matrix units, no waves
            "kernel": "tile 256×128, k in 1, 3.88 tiles per SM",  # 16 × 32 tiles on 132 SM
            "power": "all ops at 700 W",
            "together": "they overlap: (power^p + memory^p)^(1/p), p = 3.03",
            "+ reduction": "k is not split",
            "+ launch": "kernel to kernel in a graph (fitted; includes the start and end of a kernel)",
        }),
        ("deep", {
            "store": "after the main loop",
            "kernel": "tile 32×64, k in 6, 0.9 tiles per SM in 1 wave",  # 3 × 2 tiles × 6 parts on 40 SM
            "power": "all ops at 70 W",
            "+ reduction": "6 parts of k",
        }),
        ("cores", {
            "power": "all ops at 250 W",
            "kernel": "tile 128×128, k in 3, 54.9 tiles per SM in 55 waves",  # 32 × 32 × 3 tiles on 56 SM
        }),
        ("quantised", {"+ quantise": "scales of the activations are found and used before it, launches included"}),
    ],
)  # fmt: skip
def test_the_ladder_says_how_each_rung_comes_about(name, rungs):
    assert {rung: ladder(name)[rung][1] for rung in rungs} == rungs


def test_power_holds_no_kernel_of_cuda_cores_below_the_base_clock():
    (grid,) = [
        one for one in answer_of("nvidia/p4", "fp32", m=4096, n=4096, k=4096).sections if one.heading == "Ladder"
    ]
    said = {row[0].strip(): row[2] for row in grid.table.rows}
    assert said["power"] == "at the base clock, 810 MHz, where 75 W allow less"


def test_bytes_are_moved_once_at_the_rate_that_the_memory_sustains():
    # a, b and the result: 3 × 4096² × 2 B = 100.7 MB
    one = apart(asked("large"))[0]
    rate = format_quantity(3 * 4096**2 * 2 / one.memory_s, BYTES_PER_S)
    assert ladder("large")["memory"][1] == f"100.7 MB at {rate}, 0% from L2"


def test_clocks_per_k_are_of_all_that_may_bind():
    one = apart(asked("large"))[0]
    clocks = {name.removesuffix("s"): f"{value:.3g}" for name, value in one.clocks_per_k.items()}
    said = ", ".join(f"{name} {value}" for name, value in clocks.items())
    assert list(clocks) == ["arithmetic", "feed", "step"]
    # a tile of 256 × 128 takes 256 × 128 / (4 × 512) clocks for each k, and there are 3.88 for each SM
    assert one.clocks_per_k["arithmetic"] == pytest.approx(16 * 16 * 32 / 132)
    assert ladder("large")["main loop"][1] == f"clocks per k: {said}"


# ---- what would change it


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_bar_has_the_terms_that_add_up_to_the_latency(name):
    (bar,) = section(name, "Latency by term").bars
    one = apart(asked(name))[0]
    terms = {"compute and memory": one.overlapped_s, "reduction": one.reduction_s, "launch": one.launch_s,
             "quantise": one.quantise_s}  # fmt: skip
    assert [(part.name, part.value, part.shown) for part in bar.parts] == [
        (term, value, seconds(value)) for term, value in terms.items() if value
    ]
    assert (bar.label, bar.value, bar.shown) == ("latency", pytest.approx(one.latency_s), seconds(one.latency_s))


@pytest.mark.parametrize("name", QUESTIONS)
def test_resources_stand_from_the_one_that_helps_most(name):
    record = answered(name).record
    twice = {one.resource: one.latency_s for one in record.twice}
    rows = section(name, "Sensitivity to resources").table.rows
    assert [row[1] for row in rows] == [seconds(value) for value in sorted(twice.values())]
    gains = [value / record.latency_s - 1 for value in sorted(twice.values())]
    assert [row[2] for row in rows] == [f"{gain:+.0%}" if gain < -0.005 else "no change" for gain in gains]
    most = {"large": "MAC/clock of an SM", "deep": "bandwidth", "quantised": "rated power", "cores": "SMs"}
    assert rows[0][0] == most.get(name, "clock")


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_fastest_tiles_are_shown_and_all_are_recorded(name):
    grid, ones = section(name, "Tiles and splits"), apart(asked(name))
    assert (len(grid.table.rows), grid.strong, OTHERS) == (7, (0,), 6)
    for row, one in zip(grid.table.rows, ones, strict=False):
        assert row == (str(one.tile), str(one.split), f"{one.waves:.3g}", seconds(one.latency_s), one.bound)
    record = answered(name).record
    latencies = [one.latency_s for one in (record.kernel, *record.alternatives)]
    assert latencies == [one.latency_s for one in ones] == sorted(latencies)


@pytest.mark.parametrize(
    ("name", "packages"),
    [
        ("large", "constants: aiconfigurator-core 0.12.0"),
        ("cores", "constants: aiconfigurator-core 0.12.0; trsharm25/NeuSight at bca31fb, sampled"),
    ],
)
def test_facts_stand_with_their_grade_and_constants_with_their_package(name, packages):
    grid = section(name, "Facts")
    assert grid.note == packages
    assert grid.table.rows == tuple((fact.path, fact.display, fact.source.grade) for fact in asked(name).facts)


def test_where_cuda_cores_compute_it_says_so():
    paths = [row[0] for row in section("cores", "Facts").table.rows]
    assert {"dispatch_units.SM", "clocks.base"} < set(paths)
    assert answered("cores").record.caveats[0] == (
        "issue slots and energy are fitted to linear layers in fp32; other constants are those of bf16 products"
    )
    errors = constants_file(Registry()).errors("fp32").values()
    error = section("cores", "Latency").sentences[3]
    assert error.startswith("mean error of fp32 products on CUDA cores on GPU families left out of the fit: ")
    assert f"({min(errors):g} to {max(errors):g} % on all)" in error


# ---- the record and its rows


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_record_holds_what_was_asked_and_adds_up(name):
    record = answered(name).record
    device, precision, sizes = QUESTIONS[name]
    assert device in record.hardware
    assert record.precision == precision
    assert (record.m, record.n, record.k, record.batch) == (sizes["m"], sizes["n"], sizes["k"], sizes.get("batch", 1))
    assert record.copies == sizes.get("copies")
    assert record.latency_low_s <= record.latency_high_s
    one = record.kernel
    assert one.overlapped_s + one.reduction_s + one.launch_s + one.quantise_s == pytest.approx(record.latency_s)
    assert GemmRecord.model_validate_json(record.model_dump_json(by_alias=True)) == record


def test_a_fact_is_recorded_with_its_source():
    fact = answered("large").record.facts[0]
    assert (fact.path, fact.value, fact.shown, fact.grade) == ("units.tensor_core.groups", 132.0, "132", "quoted")
    assert fact.document.startswith("NVIDIA H100 Tensor Core GPU Architecture")
    assert fact.where == "table 3"


def test_a_tile_is_recorded_by_its_sides_and_its_misses():
    one, tile = answered("large").record.kernel, apart(asked("large"))[0]
    assert (one.tile_m, one.tile_n, one.split) == (256, 128, 1)
    assert one.l2_miss_share == tile.miss_share == 1.0
    assert one.waves == pytest.approx(16 * 32 / 132)


def test_the_listing_has_a_row_for_each_tile():
    table, record = answered("deep").listing, answered("deep").record
    assert table.columns == LISTING
    assert len(table.rows) == 1 + len(record.alternatives)
    first = dict(zip(table.columns, table.rows[0], strict=True))
    assert [first[name] for name in ("hardware", "precision", "m", "n", "k", "batch")] == [
        "nvidia/t4", "fp16", 64, 64, 65536, 3,
    ]  # fmt: skip
    assert {name: first[name] for name in type(record.kernel).model_fields} == dict(record.kernel)


# ---- cases


def test_weights_that_come_again_are_found_in_l2():
    cold, warm = (answer_of("l40s", "bf16", m=8, n=4096, k=4096, **copies).record for copies in ({}, {"copies": 1}))
    assert (cold.copies, warm.copies) == (None, 1)
    assert warm.latency_s < cold.latency_s
    assert warm.kernel.l2_miss_share < 0.01
    assert cold.kernel.l2_miss_share > 0.99


def test_a_product_in_fp8_has_errors_and_a_caveat_of_its_own():
    errors = constants_file(Registry()).errors("fp8_tensor").values()
    error = section("quantised", "Latency").sentences[3]
    assert "quantise kernel included, on GPU families left out of the fit: " in error
    assert f"({min(errors):g} to {max(errors):g} % on all)" in error
    (caveat,) = [one for one in answered("quantised").record.caveats if "quantises" in one]
    assert "a separate kernel quantises the activations to FP8 before the product" in caveat
    assert "small products are slower in fp8 than in bf16" in caveat
    assert "+ quantise" not in ladder("large")


def test_scales_of_blocks_are_asked_for_and_only_in_fp8():
    by_block = answer_of("h100-sxm5", "fp8", m=8192, n=8192, k=8192, scale="block")
    assert "fp8 with one scale per block" in by_block.subtitle
    record = by_block.record
    assert {one.split for one in (record.kernel, *record.alternatives)} == {1}  # k is left whole
    with pytest.raises(RooflintError, match="gemm in bf16 has no option 'scale'"):
        kernel("gemm", "h100-sxm5", m=8, n=8, k=8, scale="block")


def test_a_large_product_in_fp8_on_an_h100_is_the_calibrated_one():
    # a quantise kernel of 86.1 µs, which finds a scale of each row, and the product of 897.7 µs
    record = answer_of("h100-sxm5", "fp8", m=8192, n=8192, k=8192).record
    assert record.latency_s == pytest.approx(983.7e-6, rel=1e-4)
    assert record.kernel.quantise_s == pytest.approx(86.05e-6, rel=1e-3)


def test_an_architecture_that_nobody_measured_is_said_to_be_one():
    unseen = "no GPU of nvidia/turing-tu104 is among the measurements"
    assert unseen in answered("deep").record.caveats[0]
    assert not any("among the measurements" in one for one in answered("large").record.caveats)
