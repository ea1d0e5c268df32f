"""Reading tables: the best framework counts, and what is left out is counted once, with its reason."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.base.errors import RooflintError
from rooflint.coefficients.library import Coefficients
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import chip_of
from rooflint_calibration import package as systems
from rooflint_calibration import rows as module
from rooflint_calibration.package import FAMILIES, devices
from rooflint_calibration.rows import (
    EARLIER,
    HOST_BOUND,
    NO_DIFFERENCE,
    WRONG_TABLES,
    Rows,
    decode,
    encoder,
    fp8_products,
    hashed,
    implausible,
    prefill,
    products,
    quantise,
    quantise_with,
    sets_of_weights,
    together,
)
from rooflint_calibration.topics import PRODUCT, TOPICS

REGISTRY = Registry()
LAUNCHES = Coefficients(REGISTRY).launches()
MEASURED = [device for family in FAMILIES for device in devices(family)]
CHIPS = {device: chip_of(REGISTRY.get(device), "bf16", LAUNCHES) for device in MEASURED}
A100, H100, L40S = "nvidia/a100-sxm4-80gb", "nvidia/h100-sxm5-80gb", "nvidia/l40s"
BF16 = {"attn_dtype": "bfloat16", "kv_cache_dtype": "bfloat16", "window_size": 0.0}


class ParquetInMemory:
    """Stands in for pyarrow.parquet, with rows by file."""

    def __init__(self):
        self.rows = {}

    def read_schema(self, file):
        return SimpleNamespace(names=list(self.rows[file][0]))

    def read_table(self, file, columns, filters):
        rows = [row for row in self.rows[file] if all(row[name] == value for name, _, value in filters or ())]
        return TableInMemory({name: np.array([row[name] for row in rows]) for name in columns}, len(rows))


class TableInMemory:
    def __init__(self, columns, rows):
        self.column_names, self._columns, self._rows = list(columns), columns, rows

    def __len__(self):
        return self._rows

    def __getitem__(self, name):
        return SimpleNamespace(to_numpy=lambda: self._columns[name])


@pytest.fixture
def tables(monkeypatch, tmp_path):
    """`tables({"l40s/attention/vllm/1/x.parquet": [row, …]})`: the package's folder with these files."""
    parquet = ParquetInMemory()
    monkeypatch.setitem(sys.modules, "pyarrow", SimpleNamespace(parquet=parquet))
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", parquet)

    def say(files):
        for name, rows in files.items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
            parquet.rows[file] = rows
        return tmp_path

    return say


def context(tokens, milliseconds, **other):
    sizes = {"batch_size": 1, "num_heads": 8, "num_key_value_heads": 2, "isl": tokens, "head_dim": 128}
    return sizes | BF16 | {"latency": milliseconds} | other


def generation(step, milliseconds, **other):
    row = context(1, milliseconds) | {"step": step}
    return row | other


def test_the_best_framework_counts(tables):
    data = tables(
        {
            "l40s/attention/sglang/1/context_attention_perf.parquet": [context(128, 0.03), context(256, 0.02)],
            "l40s/attention/vllm/2/context_attention_perf.parquet": [context(128, 0.01)],
        }
    )
    found = prefill(data, L40S, CHIPS[L40S])
    assert found.sizes.tolist() == [[1, 8, 2, 128, 128], [1, 8, 2, 256, 128]]
    assert found.seconds == pytest.approx([1e-5, 2e-5])


def test_what_is_another_op_is_left_out_and_counted_once(tables):
    rows = [
        context(128, 0.01),
        context(128, 0.01, window_size=1024.0, head_dim=192),
        context(128, 0.01, kv_cache_dtype="fp8"),
        context(128, 0.01, attn_dtype="fp8", kv_cache_dtype="fp8"),
        context(128, 0.01, head_dim=192),
        context(128, 0.01, head_dim=512),
        context(16384, 1e-6),
    ]
    found = prefill(tables({"l40s/attention/vllm/1/context_attention_perf.parquet": rows}), L40S, CHIPS[L40S])
    assert len(found) == 1
    assert list(found.dropped.values()) == [1, 2, 1, 1, 1]
    assert found.dropped["faster than the dense peak"] == 1


def test_a_table_without_windows_has_none(tables):
    unknown, without = context(128, 0.01, window_size=None), context(256, 0.01)
    del without["window_size"]
    data = tables(
        {
            "l40s/attention/vllm/1/context_attention_perf.parquet": [unknown],
            "l40s/attention/vllm/2/context_attention_perf.parquet": [without],
        }
    )
    assert prefill(data, L40S, CHIPS[L40S])["tokens"].tolist() == [128, 256]


def test_the_new_token_counts_to_its_cache(tables):
    data = tables({"l40s/attention/vllm/1/generation_attention_perf.parquet": [generation(1023, 0.01)]})
    assert decode(data, L40S, CHIPS[L40S]).sizes.tolist() == [[1, 8, 2, 1024, 128]]


def test_a_cache_that_is_read_faster_than_memory_allows_is_left_out(tables):
    # 2 · 256 · 2 · 65536 · 128 · 2 B = 17 GB in 1 ms, on a GPU with 864 GB/s
    rows = [generation(65535, 1.0, batch_size=256), generation(65535, 40.0, batch_size=255)]
    found = decode(tables({"l40s/attention/vllm/1/generation_attention_perf.parquet": rows}), L40S, CHIPS[L40S])
    assert (len(found), found.dropped["faster than memory"]) == (1, 1)


def test_a_table_that_contradicts_its_machine_is_left_out_whole(tables):
    data = tables(
        {
            "a100_sxm/attention/trtllm/1/generation_attention_perf.parquet": [generation(1023, 0.01)] * 3,
            "a100_sxm/attention/vllm/1/generation_attention_perf.parquet": [generation(1023, 0.02)],
        }
    )
    found = decode(data, A100, CHIPS[A100])
    assert found.seconds == pytest.approx([2e-5])
    (why,) = WRONG_TABLES.values()
    assert found.dropped[why] == 3


def test_a_version_that_was_measured_again_is_left_out(tables):
    data = tables(
        {
            "b200_sxm/attention/vllm/0.22.0/context_attention_perf.parquet": [context(128, 0.01)],
            "b200_sxm/attention/vllm/0.24.0/context_attention_perf.parquet": [context(128, 0.02)],
        }
    )
    found = prefill(data, "nvidia/b200-sxm", CHIPS["nvidia/b200-sxm"])
    assert found.seconds == pytest.approx([2e-5])
    (why,) = EARLIER.values()
    assert found.dropped[why] == 1


def test_every_head_of_an_encoder_has_keys(tables):
    row = {"batch_size": 2, "num_heads": 16, "isl": 256, "head_dim": 80, "attn_dtype": "bfloat16", "latency": 0.02}
    data = tables({"h100_sxm/encoder_attention/vllm/1/encoder_attention_perf.parquet": [row]})
    assert encoder(data, H100, CHIPS[H100]).sizes.tolist() == [[2, 16, 16, 256, 80]]


def fp8(m, milliseconds, dtype="fp8"):
    return {"gemm_dtype": dtype, "m": m, "n": 1024, "k": 2048, "latency": milliseconds}


def test_products_in_fp8_have_one_scale_a_tensor_or_one_a_block(tables):
    data = tables(
        {
            "l40s/gemm/sglang/1/gemm_perf.parquet": [fp8(16, 0.01), fp8(32, 0.02, "fp8_block"), fp8(64, 1, "bfloat16")],
            "l40s/gemm/vllm/1/gemm_perf.parquet": [fp8(128, 0.03), fp8(256, 0.04, "fp8_block")],
        }
    )
    chip = TOPICS["fp8_tensor"].chip(REGISTRY, L40S)
    found = fp8_products(data, L40S, chip, scale="tensor")
    assert found.sizes.tolist() == [[16, 1024, 2048, 6], [128, 1024, 2048, 6]]
    assert found.seconds == pytest.approx([1e-5, 3e-5])
    assert HOST_BOUND not in found.dropped
    found = fp8_products(data, L40S, chip, scale="block")
    assert found.sizes.tolist() == [[32, 1024, 2048, 6]]  # vLLM waits for its host
    assert found.dropped[HOST_BOUND] == 1


def test_weights_in_fp8_fill_l2_half_as_fast(tables):
    # 96 MiB of an L40S hold 1.5 sets of 8192² B, and 48 of 1024 × 2048 B, of which TensorRT-LLM takes 5
    rows = [{**fp8(16, 0.1), "n": 8192, "k": 8192}, fp8(16, 0.01)]
    data = tables({"l40s/gemm/trtllm/1/gemm_perf.parquet": rows})
    found = fp8_products(data, L40S, TOPICS["fp8_tensor"].chip(REGISTRY, L40S), scale="tensor")
    assert found.sizes.tolist() == [[16, 1024, 2048, 5], [16, 8192, 8192, 2]]


def test_products_in_fp8_are_plausible_up_to_their_peak(tables):
    # 8192 · 1024 · 2048 MAC / (142 SMs · 1024 MAC · 2.52 GHz) = 46.9 µs
    rows = [fp8(8192, 0.0470), fp8(8193, 0.0468)]
    data = tables({"l40s/gemm/sglang/1/gemm_perf.parquet": rows})
    found = fp8_products(data, L40S, TOPICS["fp8_tensor"].chip(REGISTRY, L40S), scale="tensor")
    assert found["m"].tolist() == [8192]
    assert found.dropped["faster than the dense peak"] == 1


def test_products_in_bf16_are_read_from_tables_that_are_not_superseded(tables):
    def bf16(m, milliseconds, dtype="bfloat16"):
        return fp8(m, milliseconds, dtype)

    data = tables(
        {
            "h100_sxm/gemm/sglang/0.5.6.post2/gemm_perf.parquet": [bf16(16, 0.001)],
            "h100_sxm/gemm/sglang/0.5.14/gemm_perf.parquet": [bf16(16, 0.005), bf16(32, 0.001, "fp8")],
            "h100_sxm/gemm/trtllm/1/gemm_perf.parquet": [bf16(64, 0.007)],
        }
    )
    found = products(data, H100, CHIPS[H100])
    # six sets of SGLang; of TensorRT-LLM as many as fill 50 MB by 4 MB, at most 5
    assert found.sizes.tolist() == [[16, 1024, 2048, 6], [64, 1024, 2048, 5]]
    assert found.seconds == pytest.approx([5e-6, 7e-6])


def test_only_the_named_quantise_kernel_counts(tables):
    rows = [
        {"m": 16, "k": 1024, "latency": 0.002, "kernel_source": kernel}
        for kernel in ("static_scaled_fp8_quant", "sglang", "torch_ops")
    ]
    found = quantise(tables({"l40s/quantize/vllm/1/scale_matrix_perf.parquet": rows}), L40S, CHIPS[L40S])
    assert found.sizes.tolist() == [[16, 1024]]
    assert list(found.dropped.values()) == [1, 1]


def test_a_scale_that_is_found_adds_to_the_time_with_a_known_one(tables):
    told, added = "l40s/quantize/vllm/1/scale_matrix_perf.parquet", "l40s/quantize/vllm/1/computescale_perf.parquet"
    data = tables(
        {
            told: [{"m": m, "k": 1024, "latency": 0.002 * m} for m in (1, 2, 3)],
            added: [{"m": m, "k": 1024, "latency": latency} for m, latency in ((1, 0.001), (2, 0.0), (3, 0.004))],
            "l40s/quantize/trtllm/1/scale_matrix_perf.parquet": [{"m": 1, "k": 1024, "latency": 9.0}],
        }
    )
    found = quantise_with(data, L40S, CHIPS[L40S], framework="vllm")
    assert found.sizes.tolist() == [[1, 1024], [3, 1024]]
    assert found.seconds == pytest.approx([3e-6, 10e-6])
    assert found.dropped == {NO_DIFFERENCE: 1}


def test_a_device_without_rows_is_an_error(tmp_path):
    with pytest.raises(RooflintError, match=r"want rows in quantize/.*/scale_matrix_perf\.parquet, found none$"):
        quantise(tmp_path, L40S, CHIPS[L40S])


def test_a_row_has_its_sizes_by_name_and_a_label():
    rows = Rows("x", ("m", "n", "k", "copies"), np.array([[16.0, 4096, 1e3, 6], [1, 2, 3, 4]]), np.ones(2))
    assert {name: sizes.tolist() for name, sizes in rows.named.items()} == {
        "m": [16, 1],
        "n": [4096, 2],
        "k": [1000, 3],
        "copies": [6, 4],
    }
    assert rows.label(0) == "m 16, n 4096, k 1000, copies 6"


def test_the_sets_of_weights_are_no_part_of_a_hash_and_other_sizes_are_taken_in_pairs():
    sizes = np.array([[3.0, 5, 7, 6]])
    product = Rows("x", ("m", "n", "k", "copies"), sizes, np.ones(1))
    assert product.hashes().tolist() == [slow_hash((3, 5, 7))]
    attention = Rows("x", ("batch", "heads", "kv_heads", "tokens", "width"), np.array([[3.0, 5, 7, 6, 2]]), np.ones(1))
    # b · 2²⁰ + h, and a sixth size of 0
    assert attention.hashes().tolist() == [slow_hash((3 * 2**20 + 5, 7 * 2**20 + 6, 2 * 2**20))]


def test_a_row_is_counted_under_its_first_reason():
    rows = Rows("x", ("m", "k"), np.arange(6.0).reshape(3, 2), np.ones(3), {"before": 4})
    found = rows.without({"one": np.array([True, False, False]), "other": np.array([True, True, False])})
    assert (len(found), found.dropped) == (1, {"before": 4, "one": 1, "other": 1})
    assert together([found.dropped, {"one": 2, "none": 0}]) == {"before": 4, "one": 3, "other": 1}


def test_a_sample_is_the_same_everywhere_and_a_larger_one_holds_it():
    sizes = np.stack(np.meshgrid(*[np.arange(1.0, 5)] * 5), axis=-1).reshape(-1, 5)
    rows = Rows("x", ("m", "k"), sizes, np.arange(len(sizes), dtype=float))
    few, more = rows.picked(20), rows.picked(50)
    assert (len(few), len(rows.picked(10**6))) == (20, len(sizes))
    assert set(few.seconds) < set(more.seconds)


def test_what_was_not_measured_is_said_of_measured_devices_only():
    assert {device for one in TOPICS.values() for device in one.absent} <= set(CHIPS)
    assert all(set(CHIPS) - set(one.absent) for one in TOPICS.values())


@pytest.fixture
def frameworks(monkeypatch, tmp_path):
    """`frameworks(framework=[(m, n, k, us), …])`: what an L40S is said to have measured."""

    def say(**rows):
        def given(folder, spelt):
            assert spelt == "bfloat16"
            assert folder == tmp_path / "l40s" / "gemm"
            for framework, lines in rows.items():
                found = np.array(lines, float)
                yield framework, found[:, :3].astype(int), found[:, 3] * 1e-6

        monkeypatch.setattr(module, "_tables", given)
        return products(tmp_path, L40S, CHIPS[L40S])

    return say


def test_the_best_framework_counts_for_products(frameworks):
    found = frameworks(vllm=[(8, 64, 64, 3.0), (16, 64, 64, 4.0)], sglang=[(16, 64, 64, 2.0), (8, 64, 64, 5.0)])
    assert found["m"].tolist() == [8, 16]
    assert found.seconds == pytest.approx([3e-6, 2e-6])
    assert found["copies"].tolist() == [6, 6]


def test_the_best_time_brings_its_own_sets_of_weights(frameworks):
    # 2 B × 4096² × 6 fill the L2 of an L40S twice over, × 3 just so: which framework won decides what was in L2
    found = frameworks(
        trtllm=[(8, 4096, 4096, 30.0), (16, 4096, 4096, 50.0), (32, 4096, 4096, 40.0)],
        vllm=[(8, 4096, 4096, 50.0), (16, 4096, 4096, 45.0), (32, 4096, 4096, 40.0)],
    )
    assert found["copies"].tolist() == [3, 6, 3]  # of equal times, the fewer


def test_a_shape_that_one_framework_has_is_kept(frameworks):
    found = frameworks(trtllm=[(8, 64, 64, 3.0)], vllm=[(16, 64, 64, 4.0)])
    assert found.seconds == pytest.approx([3e-6, 4e-6])
    assert found["copies"].tolist() == [5, 6]


def test_frameworks_rotate_different_numbers_of_sets_of_weights():
    # L2 of 96 MiB over 2 B × n × k: 24, 3, 1.5, 0.19
    sizes = np.array([(1, 2048, 1024), (1, 4096, 4096), (1, 8192, 4096), (1, 16384, 16384)])
    assert sets_of_weights("trtllm", sizes, CHIPS[L40S]).tolist() == [5, 3, 2, 1]
    assert sets_of_weights("vllm", sizes, CHIPS[L40S]).tolist() == [6, 6, 6, 6]


def test_impossible_times_are_left_out_and_counted(frameworks):
    # 8192³ × 2 / 366 TFLOP/s = 3.0 ms; 2 B × 2 × 1024² in 0.1 µs are 42 TB/s, 117 B a clock and SM
    found = frameworks(vllm=[(64, 64, 64, 3.0), (8192, 8192, 8192, 2000.0), (1024, 32, 1024, 0.01), (1, 64, 64, 0.0)])
    assert found["m"].tolist() == [64]
    assert found.dropped == {
        "the same shape twice in one table": 0,
        "no time above zero": 1,
        "faster than the dense peak": 3,  # no time is faster than any peak, too
        "operands faster than 64 B a clock and SM": 2,
    }


def test_a_shape_that_stands_twice_in_a_table_is_counted(frameworks):
    found = frameworks(vllm=[(8, 64, 64, 3.0), (8, 64, 64, 2.0)])
    assert (len(found), found.dropped["the same shape twice in one table"]) == (1, 1)


def test_a_device_without_tables_is_an_error(frameworks):
    with pytest.raises(RooflintError, match=r"want tables gemm_perf\.parquet with bfloat16 rows, found none"):
        frameworks()


def test_a_row_is_plausible_up_to_the_peak():
    least = 2 * 4096**3 / (142 * 512 * 2 * 2.52e9)
    sizes = np.array([[4096.0, 4096.0, 4096.0, 6.0]] * 2)
    one = Rows(L40S, ("m", "n", "k", "copies"), sizes, np.array([least * 1.001, least * 0.999]))
    assert implausible(one, CHIPS[L40S])["faster than the dense peak"].tolist() == [False, True]


def test_operands_are_plausible_up_to_64_bytes_a_clock_and_sm():
    # 2 B · (1 · 4096 + 8192 · 4096) = 67.1 MB, at 64 B · 142 SMs · 2.52 GHz = 22.9 TB/s: 2.93 µs
    sizes = np.array([[1.0, 8192, 4096, 6]] * 2 + [[8192.0, 1, 4096, 6]] * 2)
    one = Rows(L40S, ("m", "n", "k", "copies"), sizes, np.array([2.94e-6, 2.92e-6] * 2))
    assert implausible(one, CHIPS[L40S])["operands faster than 64 B a clock and SM"].tolist() == [False, True] * 2


def test_a_time_is_finite_and_above_zero():
    sizes = np.ones((5, 4))
    one = Rows(L40S, ("m", "n", "k", "copies"), sizes, np.array([1.0, 0.0, -1.0, np.inf, np.nan]))
    assert implausible(one, CHIPS[L40S])["no time above zero"].tolist() == [False, True, True, True, True]


def test_every_measured_machine_is_one_device_of_the_registry():
    folders = [folder for members in systems.FAMILIES.values() for folder in members]
    names = [device for family in systems.FAMILIES for device in systems.devices(family)]
    assert len(set(folders)) == len(folders) == len(set(names)) == 9
    for device in names:
        assert chip_of(REGISTRY.get(device), "bf16", LAUNCHES)
        assert device in systems.devices(systems.family_of(device))
    assert all(systems.EXCLUDED.values())
    assert all(systems.SUPERSEDED.values())


def test_a_larger_sample_holds_a_smaller_one(frameworks):
    found = frameworks(vllm=[(m, n, 64, 50.0) for m in range(1, 40) for n in (64, 128, 256)])
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


def test_regimes_are_parts_of_the_data(frameworks):
    found = frameworks(vllm=[(1, 64, 64, 3.0), (4096, 4096, 4096, 900.0), (512, 1024, 4096, 60.0)])
    inside = {name: TOPICS["gemm"].inside(name, found.sizes).tolist() for name in PRODUCT}
    # 8 kFLOP, 137 GFLOP, 4.3 GFLOP; rows in the order of m
    assert inside["small"] == [True, False, False]
    assert inside["large"] == [False, False, True]
    assert inside["narrow"] == [True, False, False]
