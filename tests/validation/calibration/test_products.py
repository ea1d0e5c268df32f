"""Reading products: the best framework counts, and impossible times do not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.base.errors import RooflintError
from rooflint.coefficients.library import Coefficients
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import chip_of
from rooflint_calibration import package
from rooflint_calibration import package as systems
from rooflint_calibration import tables as module
from rooflint_calibration.package import NotInstalledError
from rooflint_calibration.rows import Rows, hashed
from rooflint_calibration.tables import implausible, products, sets_of_weights
from rooflint_calibration.topics import PRODUCT, TOPICS

REGISTRY = Registry()
LAUNCHES = Coefficients(REGISTRY).launches()
L40S = chip_of(REGISTRY.get("nvidia/l40s"), "bf16", LAUNCHES)


@pytest.fixture
def tables(monkeypatch, tmp_path):
    """`tables(framework=[(m, n, k, us), …])`: what an L40S is said to have measured."""

    def say(**rows):
        def given(folder):
            assert folder == tmp_path / "l40s" / "gemm"
            for framework, lines in rows.items():
                found = np.array(lines, float)
                yield framework, found[:, :3].astype(int), found[:, 3] * 1e-6

        monkeypatch.setattr(module, "_tables", given)
        return products(tmp_path, "nvidia/l40s", L40S)

    return say


def test_the_best_framework_counts(tables):
    found = tables(vllm=[(8, 64, 64, 3.0), (16, 64, 64, 4.0)], sglang=[(16, 64, 64, 2.0), (8, 64, 64, 5.0)])
    assert found["m"].tolist() == [8, 16]
    assert found.seconds == pytest.approx([3e-6, 2e-6])
    assert found["copies"].tolist() == [6, 6]


def test_the_best_time_brings_its_own_sets_of_weights(tables):
    # 2 B × 4096² × 6 fill the L2 of an L40S twice over, × 3 just so: which framework won decides what was in L2
    found = tables(
        trtllm=[(8, 4096, 4096, 30.0), (16, 4096, 4096, 50.0), (32, 4096, 4096, 40.0)],
        vllm=[(8, 4096, 4096, 50.0), (16, 4096, 4096, 45.0), (32, 4096, 4096, 40.0)],
    )
    assert found["copies"].tolist() == [3, 6, 3]  # of equal times, the fewer


def test_a_shape_that_one_framework_has_is_kept(tables):
    found = tables(trtllm=[(8, 64, 64, 3.0)], vllm=[(16, 64, 64, 4.0)])
    assert found.seconds == pytest.approx([3e-6, 4e-6])
    assert found["copies"].tolist() == [5, 6]


def test_frameworks_rotate_different_numbers_of_sets_of_weights():
    # L2 of 96 MiB over 2 B × n × k: 24, 3, 1.5, 0.19
    sizes = np.array([(1, 2048, 1024), (1, 4096, 4096), (1, 8192, 4096), (1, 16384, 16384)])
    assert sets_of_weights("trtllm", sizes, L40S).tolist() == [5, 3, 2, 1]
    assert sets_of_weights("vllm", sizes, L40S).tolist() == [6, 6, 6, 6]


def test_impossible_times_are_left_out_and_counted(tables):
    # 8192³ × 2 / 366 TFLOP/s = 3.0 ms; 2 B × 2 × 1024² in 0.1 us are 42 TB/s, 117 B a clock and SM
    found = tables(vllm=[(64, 64, 64, 3.0), (8192, 8192, 8192, 2000.0), (1024, 32, 1024, 0.01), (1, 64, 64, 0.0)])
    assert found["m"].tolist() == [64]
    assert found.dropped == {
        "the same shape twice in one table": 0,
        "no time above zero": 1,
        "faster than the dense peak": 3,  # no time is faster than any peak, too
        "operands faster than 64 B a clock and SM": 2,
    }


def test_a_shape_that_stands_twice_in_a_table_is_counted(tables):
    found = tables(vllm=[(8, 64, 64, 3.0), (8, 64, 64, 2.0)])
    assert (len(found), found.dropped["the same shape twice in one table"]) == (1, 1)


def test_a_device_without_tables_is_an_error(tables):
    with pytest.raises(RooflintError, match=r"want tables gemm_perf\.parquet with bfloat16 rows, found none"):
        tables()


def test_a_row_is_plausible_up_to_the_peak():
    least = 2 * 4096**3 / (142 * 512 * 2 * 2.52e9)
    sizes = np.array([[4096.0, 4096.0, 4096.0, 6.0]] * 2)
    one = Rows("nvidia/l40s", ("m", "n", "k", "copies"), sizes, np.array([least * 1.001, least * 0.999]))
    assert implausible(one, L40S)["faster than the dense peak"].tolist() == [False, True]


def test_every_measured_machine_is_one_device_of_the_registry():
    folders = [folder for members in systems.FAMILIES.values() for folder in members]
    names = [device for family in systems.FAMILIES for device in systems.devices(family)]
    assert len(set(folders)) == len(folders) == len(set(names)) == 9
    for device in names:
        assert chip_of(REGISTRY.get(device), "bf16", LAUNCHES)
        assert device in systems.devices(systems.family_of(device))
    assert all(systems.EXCLUDED.values())
    assert all(systems.SUPERSEDED.values())


def test_a_larger_sample_holds_a_smaller_one(tables):
    found = tables(vllm=[(m, n, 64, 50.0) for m in range(1, 40) for n in (64, 128, 256)])
    few, more = found.picked(20), found.picked(50)
    assert len(few) == 20
    pairs = {(m, n) for m, n in zip(few["m"], few["n"], strict=True)}
    assert pairs < {(m, n) for m, n in zip(more["m"], more["n"], strict=True)}


@given(st.tuples(*[st.integers(1, 2**17)] * 3))
def test_the_hash_is_that_of_whole_numbers(sizes):
    assert hashed(*np.array([sizes], float).T).tolist() == [slow_hash(sizes)]


def slow_hash(sizes):
    found, whole = 0, 2**64
    for size in sizes:
        found = (found + 0x9E3779B97F4A7C15 + size) % whole
        found = (found ^ found >> 30) * 0xBF58476D1CE4E5B9 % whole
        found = (found ^ found >> 27) * 0x94D049BB133111EB % whole
        found ^= found >> 31
    return found


def test_regimes_are_parts_of_the_data(tables):
    found = tables(vllm=[(1, 64, 64, 3.0), (4096, 4096, 4096, 900.0), (512, 1024, 4096, 60.0)])
    inside = {name: TOPICS["gemm"].inside(name, found.sizes).tolist() for name in PRODUCT}
    # 8 kFLOP, 137 GFLOP, 4.3 GFLOP; rows in the order of m
    assert inside["small"] == [True, False, False]
    assert inside["large"] == [False, False, True]
    assert inside["narrow"] == [True, False, False]


def test_without_the_package_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(package, "find_spec", lambda name: None)
    with pytest.raises(NotInstalledError, match=r"pyarrow is not installed; pip install 'rooflint\[silicon\]'"):
        package.data_folder()


def test_another_version_of_the_package_is_refused(monkeypatch):
    monkeypatch.setattr(package, "find_spec", lambda name: object())
    monkeypatch.setattr(package, "version", lambda name: "0.13.1")
    with pytest.raises(NotInstalledError, match=r"want aiconfigurator-core 0\.12, found 0\.13\.1"):
        package.data_folder()
