"""Dispatch: which model an op has in a precision on a chip, what is asked of it, and what a reader is told with it."""

import numpy as np
import pytest

from rooflint.base.errors import InputError
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import MissingFactError
from rooflint.kernels.constants import constants_file
from rooflint.kernels.convolution import Convolution, WinogradConvolution
from rooflint.kernels.decode import Decode
from rooflint.kernels.dispatch import (
    FOR_MINUTES,
    IN_A_GRAPH,
    RESOURCES,
    KernelError,
    KernelTimes,
    kernel,
    kernel_for,
    with_more,
)
from rooflint.kernels.products import Gemm
from rooflint.kernels.shapes import COLD

from .conftest import CHIPS, ON_CORES, chips

REGISTRY = Registry()
FILE = constants_file(REGISTRY)
H100, V100 = "nvidia/h100-sxm5-80gb", "nvidia/v100-pcie-32gb"
UNITS, LANES = CHIPS[H100], ON_CORES[V100]


def asked(op="gemm", device=H100, **more):
    return kernel(op, REGISTRY.get(device), REGISTRY, **more)


# ----------------------------------------------------------------------------------------------- which model an op has


def test_each_precision_has_the_model_that_was_measured_in_it():
    in_fp8 = chips("fp8")[H100]
    assert kernel_for("gemm", "bf16", UNITS).topic == "gemm"
    assert kernel_for("gemm", "fp8", in_fp8).topic == "fp8_tensor"
    assert kernel_for("gemm", "fp8", in_fp8, scale="block").topic == "fp8_block"
    assert kernel_for("gemm", "fp8", in_fp8, carried=True) == Gemm("fp8")
    assert kernel_for("gemm", "fp32", LANES).topic == "fp32"
    assert kernel_for("gemm", "int8", UNITS).topic is None


def test_matrix_units_compute_convolutions_directly_and_cuda_cores_by_winograd():
    assert kernel_for("convolution", "fp16", CHIPS["nvidia/t4"]) == Convolution("fp16")
    assert kernel_for("convolution", "fp32", ON_CORES["nvidia/t4"]) == WinogradConvolution()


def test_options_go_to_the_model():
    assert kernel_for("decode", "bf16", UNITS, cache_bytes=1.0) == Decode(cache_bytes=1.0)


@pytest.mark.parametrize(
    ("op", "precision", "options", "message"),
    [
        ("gemv", "bf16", {}, "op: want one of gemm, convolution, attention, .*, other, found 'gemv'"),
        ("gemm", "bf16", {"scale": "tensor"}, r"gemm in bf16 has no option 'scale' \(known: none\)"),
        ("decode", "bf16", {"causal": True}, r"decode in bf16 has no option 'causal' \(known: cache_bytes\)"),
        ("gemm", "fp8", {"scale": "row"}, "scale: want one of tensor, block, found 'row'"),
    ],
)
def test_what_no_model_has_is_refused(op, precision, options, message):
    with pytest.raises(KernelError, match=f"^{message}$"):
        kernel_for(op, precision, UNITS, **options)


# ----------------------------------------------------------------------------------------------------------- questions


def test_a_question_is_answered_for_all_sizes_by_the_constants_that_ship():
    found = asked(m=4096, n=[1, 8, 64], k=8192)
    work = Gemm().work(4096, [1, 8, 64], 8192)
    assert (found.kernel, found.constants, found.chip) == (Gemm(), FILE.constants, UNITS)
    assert found.seconds.tolist() == Gemm().predict(work, UNITS, FILE.constants).tolist()
    assert found.floor_s.tolist() == Gemm().floor_s(work, UNITS).tolist()
    assert np.sum(list(found.terms.values()), axis=0) == pytest.approx(found.seconds, rel=1e-9)


def test_weights_are_in_memory_unless_it_is_said_how_many_come_in_turn():
    assert asked(m=8, n=64, k=64).work.copies == COLD
    warm = asked(m=8, n=64, k=64, copies=1)
    assert warm.work.copies == 1
    assert warm.seconds < asked(m=8, n=64, k=64).seconds


def test_options_are_told_from_sizes():
    sizes = {"batch": 16, "heads": 8, "kv_heads": 8, "tokens": 4096, "width": 128}
    assert asked("decode", cache_bytes=1.0, **sizes).kernel == Decode(cache_bytes=1.0)
    with pytest.raises(KernelError, match=r"^gemm in bf16 has no option 'cache_bytes'"):
        asked(m=1, n=1, k=1, cache_bytes=1.0)


@pytest.mark.parametrize("copies", [0.5, [6, 0.5]])
def test_less_than_one_set_of_weights_is_refused(copies):
    with pytest.raises(KernelError, match=r"^copies: want 1 or more, found 0\.5$"):
        asked(m=1, n=1, k=1, copies=copies)


def test_an_op_without_sizes_cannot_be_timed_by_itself():
    with pytest.raises(KernelError, match=r"^op: 'other' has no sizes, so it cannot be timed by itself$"):
        asked("other")


def test_a_device_that_lacks_a_fact_is_told_which():
    with pytest.raises(MissingFactError, match="nvidia/gh200-144gb lacks the fact 'tdp'"):
        asked(device="nvidia/gh200-144gb", m=1, n=1, k=1)


def test_twice_of_what_binds_helps_most():
    one = KernelTimes(Gemm(), Gemm().work(8, 16384, 16384), UNITS, FILE.constants)
    found = dict(with_more(one, 2.0))
    assert list(found) == list(RESOURCES)
    assert min(found, key=found.get) == "bandwidth_bytes_per_s"
    assert found["bandwidth_bytes_per_s"] < 0.6 * one.seconds.item()


# ------------------------------------------------------------------------------------------------ what a reader is told


def test_mean_errors_on_unseen_families_are_a_band():
    found = asked(m=1, n=1, k=1)
    assert found.errors == FILE.errors("gemm")
    assert found.error_band == (min(found.errors.values()), max(found.errors.values()))
    assert found.error_band[0] < found.error_band[1]
    carried = asked(m=1, n=1, k=1, precision="int8")
    assert (carried.errors, carried.error_band) == ({}, None)


def test_the_error_of_a_regime_is_that_of_its_limit_and_its_rows():
    found = asked(m=[8, 8, 4096], n=[64, 16384, 8192], k=[64, 16384, 8192])
    # 8 kB wait for the launch, 512 MB for memory, 550 GFLOP for the matrix units
    assert [found.regimes.limit.tolist(), found.regimes.band.tolist()] == [[2, 1, 0], [0, 0, 3]]
    known = FILE.regimes("gemm")
    assert list(found.regime_errors) == list(FILE.errors("gemm"))
    for family, errors in found.regime_errors.items():
        one = known[family]
        assert errors.tolist() == [one.launch[0], one.memory[0], one.compute[3]], family
    assert found.regime_notes == (
        f"compute-bound ones with more than 1024 rows are {known['hopper'].compute[3]:g} % off on Hopper",
        f"memory-bound ones with up to 16 rows are {known['hopper'].memory[0]:g} % off on Hopper",
        f"launch-bound ones with up to 16 rows are {known['hopper'].launch[0]:g} % off on Hopper",
    )


def test_a_regime_that_was_hardly_measured_is_named():
    known = [one.memory[2] for one in FILE.regimes("gemm").values() if one.memory[2] != "unknown"]
    assert len(known) == 4
    wide = {"m": 1000, "n": 16, "k": 100000}
    (note,) = asked(device="nvidia/a100-sxm4-80gb", **wide).regime_notes
    others = f"{min(known):g} to {max(known):g} % off on 4 measured families"
    assert note == f"fewer than 20 memory-bound ones with 129 to 1024 rows were measured on Ampere; they are {others}"
    (note,) = asked(device="nvidia/a40", **wide).regime_notes
    assert note == f"memory-bound ones with 129 to 1024 rows are {others}"


def test_a_regime_that_no_family_knows_is_named():
    (note,) = asked(device=V100, precision="fp32", m=1, n=64, k=64).regime_notes
    assert note == (
        "fewer than 20 launch-bound ones with up to 16 rows were measured on Volta, so their error is not known"
    )
    (note,) = asked(device="nvidia/gtx-1080", precision="fp32", m=1, n=64, k=64).regime_notes
    assert note == "fewer than 20 launch-bound ones with up to 16 rows were measured, so their error is not known"
    assert asked(m=1, n=64, k=64, precision="fp16").regime_notes == ()


def test_rows_of_attention_are_its_tokens_and_those_of_a_convolution_its_outputs():
    heads = {"batch": 64, "heads": 32, "kv_heads": 8, "width": 128}
    (note,) = asked("decode", **heads, tokens=4096).regime_notes
    error = FILE.regimes("decode")["hopper"].memory[3]
    assert note == f"memory-bound ones with more than 1024 tokens are {error:g} % off on Hopper"
    one = Convolution("fp16")
    assert one.rows(one.work(2, 64, 64, 28, 28, 3, 3)).tolist() == [2 * 28 * 28]


def test_each_family_left_out_says_how_long_it_takes():
    found = asked(m=1024, n=1024, k=1024).over_folds
    assert [one.tolist() for one in found] == [
        Gemm().predict(Gemm().work(1024, 1024, 1024), UNITS, FILE.without(family)).tolist()
        for family in FILE.families()
    ]
    assert len({one.item() for one in found}) == len(FILE.families()) > 1


def test_cuda_cores_are_also_asked_without_the_families_of_their_own_tables():
    found = asked(device=V100, precision="fp32", m=1024, n=1024, k=1024)
    assert len(found.over_folds) == len(FILE.families()) + len(FILE.families("cores"))
    # constants that only cores have decide, so what was left out of these moves the time
    assert len({one.item() for one in found.over_folds[len(FILE.families()) :]}) > 1


def test_a_measured_architecture_has_no_caveat_but_the_graph():
    assert asked(m=1, n=1, k=1).caveats == (IN_A_GRAPH,)
    assert asked(m=1, n=1, k=1, sustained=True).caveats == (FOR_MINUTES,)


def test_an_architecture_that_nobody_measured_comes_first():
    first, last = asked(device="nvidia/rtx-3090", m=1, n=1, k=1).caveats
    assert first.startswith("no GPU of nvidia/ampere-ga102 is among the measurements: its error is not known")
    assert last == IN_A_GRAPH


def test_facts_are_those_of_the_device():
    assert asked(m=1, n=1, k=1).facts == UNITS.facts


# ----------------------------------------------------------------------------------------- a machine's own calibration


@pytest.fixture
def mine(tmp_path):
    """The file of an invented H100 whose launches take 3 µs."""
    fit = FILE.fit()
    file = tmp_path / "mine.yaml"
    file.write_text(
        f"""\
name: "an invented H100"
hardware: {H100}
precision: bf16
sources: {{recording: {{document: "an invented recording", grade: estimate}}}}
corrects: {{package: "{fit.package}", day: "{fit.day}"}}
launch: [3 µs, recording, "256×256×256"]
""",
        encoding="utf-8",
    )
    return file


def test_a_machine_takes_its_own_figures_also_where_a_family_is_left_out(mine):
    shared, own = asked(m=1, n=1, k=1), asked(m=1, n=1, k=1, calibration=mine)
    assert own.seconds > 3e-6 > shared.seconds
    assert all(one > 3e-6 for one in own.over_folds)
    assert all(one < 3e-6 for one in shared.over_folds)


def test_its_figures_are_facts_beside_those_of_the_device(mine):
    found = asked(m=1, n=1, k=1, calibration=mine)
    assert found.facts[: len(UNITS.facts)] == UNITS.facts
    assert [fact.path for fact in found.facts[len(UNITS.facts) :]] == ["launch"]


def test_figures_that_were_measured_in_another_precision_are_used_with_a_word(mine):
    message = "the machine was calibrated in bf16; its figures are used unchanged"
    assert message not in asked(m=1, n=1, k=1, calibration=mine).caveats
    assert message in asked(m=1, n=1, k=1, precision="fp16", calibration=mine).caveats


def test_the_figures_of_another_device_are_refused(mine):
    with pytest.raises(InputError, match=f"hardware: want nvidia/l40s, which was asked for, found {H100}"):
        asked(device="nvidia/l40s", m=1, n=1, k=1, calibration=mine)
