"""Calibration: a machine's own figures in the place of what all GPUs share. The files here are invented."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.base.errors import InputError
from rooflint.coefficients.library import Coefficients
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import chip_of
from rooflint.kernels.constants import constants_file
from rooflint.kernels.device_calibration import Own, calibration
from rooflint.kernels.gemm import launch_s
from rooflint.kernels.products import Gemm

REGISTRY = Registry()
FILE = constants_file(REGISTRY)
L40S = chip_of(REGISTRY.get("nvidia/l40s"), "bf16", Coefficients(REGISTRY).launches())
SHARED = FILE.constants.products
FIT = FILE.fit()
TEXT = f"""\
name: "an invented L40S"
hardware: nvidia/l40s
precision: bf16
sources:
  recording: {{document: "an invented recording", grade: estimate}}
corrects: {{package: "{FIT.package}", day: "{FIT.day}"}}
launch: [1.5 µs, recording, "256×256×256"]
matrix_factor: [0.97, recording, "8192×8192×8192"]
dram_efficiency: [0.9, recording, "8×16384×16384"]
"""


@pytest.fixture
def mine(tmp_path):
    """`mine(old, new)`: the calibration of an L40S with one text replaced."""

    def read(old="", new="", hardware="nvidia/l40s", chip=L40S):
        file = tmp_path / "mine.yaml"
        file.write_text(TEXT.replace(old, new), encoding="utf-8")
        return calibration(file, hardware, chip, FILE)

    return read


def seconds(own, *sizes):
    chip, constants = own.of(L40S, FILE.constants)
    return Gemm().predict(Gemm().work(*sizes), chip, constants).item()


def test_a_file_says_three_figures(mine):
    assert mine().own == Own(pytest.approx(1.5e-6), 0.97, 0.9)


def test_what_was_not_measured_stays_shared(mine):
    own = mine('dram_efficiency: [0.9, recording, "8×16384×16384"]\n').own
    chip, constants = own.of(L40S, FILE.constants)
    assert own.dram_efficiency is None
    assert constants.products.dram_efficiency == SHARED.dram_efficiency
    assert chip.bandwidth_bytes_per_s == L40S.bandwidth_bytes_per_s


def test_nothing_measured_changes_nothing():
    assert Own().of(L40S, FILE.constants) == (L40S, FILE.constants)


def test_the_launch_is_all_that_lies_between_two_kernels():
    # 1.5 µs, and no clocks to start and drain beside them
    chip, constants = Own(launch_s=1.5e-6).of(L40S, FILE.constants)
    assert launch_s(chip, constants.products) == pytest.approx(1.5e-6)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "hardware: nvidia/l40s",
            "hardware: nvidia/l4",
            r"mine\.yaml:2  hardware: want nvidia/l40s, .* found nvidia/l4",
        ),
        (f'day: "{FIT.day}"', 'day: "2020-01-01"', r"mine\.yaml:6  corrects: want .* run rooflint calibrate device"),
        ("[0.97,", "[970,", r"mine\.yaml:8  matrix_factor: '970' is 970, outside 0.01 … 100"),
        ("[1.5 µs,", "[1.5,", r"mine\.yaml:7  launch: want a duration"),
        ("[0.9, recording,", "[0.9, rumour,", r"mine\.yaml:9  dram_efficiency: unknown source 'rumour'"),
        ("launch:", "lunch:", r"unknown key 'lunch'; did you mean 'launch'"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(mine, old, new, message):
    with pytest.raises(InputError, match=message):
        mine(old, new)


@given(
    st.sampled_from(["launch_s", "matrix_factor", "dram_efficiency"]),
    st.floats(0.5, 1.0),
    st.tuples(*[st.integers(1, 16384)] * 3),
)
def test_a_better_figure_never_takes_longer(name, share, sizes):
    shared = {
        "launch_s": launch_s(L40S, SHARED),
        "matrix_factor": 1.0,
        "dram_efficiency": SHARED.dram_efficiency,
    }
    best = 1.0 if name == "dram_efficiency" else 100.0
    better = shared[name] * share if name == "launch_s" else min(best, shared[name] / share)
    assert seconds(Own(**{name: better}), *sizes) <= seconds(Own(**{name: shared[name]}), *sizes) * (1 + 1e-12)


@given(st.tuples(*[st.integers(1, 16384)] * 3))
def test_the_shared_figures_as_own_change_no_latency(sizes):
    constants = SHARED
    own = Own(launch_s(L40S, constants), 1.0, constants.dram_efficiency)
    assert seconds(own, *sizes) == pytest.approx(seconds(Own(), *sizes), rel=1e-9)


def test_slower_matrix_units_draw_more_for_an_op():
    _, constants = Own(matrix_factor=0.5).of(L40S, FILE.constants)
    assert constants.products == replace(
        SHARED,
        matrix_efficiency=0.5 * SHARED.matrix_efficiency,
        energy_pj=pytest.approx(2 * SHARED.energy_pj),
    )


def test_what_is_faster_than_the_rate_of_the_units_is_of_power_alone():
    _, constants = Own(matrix_factor=1.25).of(L40S, FILE.constants)
    assert constants.products == replace(
        SHARED,
        matrix_efficiency=1.0,
        energy_pj=pytest.approx(SHARED.energy_pj / 1.25),
    )


@given(st.floats(0.01, 100), st.floats(0.01, 1), st.tuples(*[st.integers(1, 16384)] * 3))
def test_no_machine_is_faster_than_its_roofline(factor, dram, sizes):
    m, n, k = sizes
    compute = m * n * k / (L40S.sms * L40S.macs_per_clock * L40S.clock_hz)
    memory = 2 * (m * k + k * n + m * n) / L40S.bandwidth_bytes_per_s
    assert seconds(Own(1e-8, factor, dram), *sizes) >= max(compute, memory)


def test_cuda_cores_take_no_calibration_of_matrix_units(mine):
    on_cores = chip_of(REGISTRY.get("nvidia/l40s"), "fp32", Coefficients(REGISTRY).launches())
    with pytest.raises(
        InputError,
        match=r"mine\.yaml:3  precision: want a product on matrix units, where bf16 was measured, "
        r"found one on CUDA cores, to which it does not apply; omit the calibration",
    ):
        mine(chip=on_cores)
