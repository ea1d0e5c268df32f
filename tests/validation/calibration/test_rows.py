"""Reading tables of other ops: the best framework counts, and what is left out is counted once, with its reason."""

import numpy as np
import pytest

from rooflint.base.errors import RooflintError
from rooflint.coefficients.library import Coefficients
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import chip_of
from rooflint_calibration import tables as module
from rooflint_calibration.package import FAMILIES, devices
from rooflint_calibration.rows import Rows, together
from rooflint_calibration.tables import EARLIER, WRONG_TABLES, decode, encoder, prefill, quantise
from rooflint_calibration.topics import TOPICS

REGISTRY = Registry()
LAUNCHES = Coefficients(REGISTRY).launches()
MEASURED = [device for family in FAMILIES for device in devices(family)]
CHIPS = {device: chip_of(REGISTRY.get(device), "bf16", LAUNCHES) for device in MEASURED}
A100, H100, L40S = "nvidia/a100-sxm4-80gb", "nvidia/h100-sxm5-80gb", "nvidia/l40s"
BF16 = {"attn_dtype": "bfloat16", "kv_cache_dtype": "bfloat16", "window_size": 0.0}


@pytest.fixture
def tables(monkeypatch, tmp_path):
    """`tables({"l40s/attention/vllm/1/x.parquet": [row, …]})`: the package's folder with these files."""

    def say(files):
        for name, rows in files.items():
            file = tmp_path / name
            file.parent.mkdir(parents=True)
            file.touch()
            given[file] = rows
        return tmp_path

    def columns(file, table):
        wanted = (*table.sizes, *table.others, "latency")
        raw = {name: np.array([row.get(name) for row in given[file]]) for name in wanted}
        return raw | {name: of(raw[name]) for name, of in table.others.items()}

    given = {}
    monkeypatch.setattr(module, "_columns", columns)
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
    rows = [context(128, 0.01, window_size=None)]
    found = prefill(tables({"l40s/attention/vllm/1/context_attention_perf.parquet": rows}), L40S, CHIPS[L40S])
    assert len(found) == 1


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


def test_only_the_named_quantise_kernel_counts(tables):
    rows = [
        {"m": 16, "k": 1024, "latency": 0.002, "kernel_source": kernel}
        for kernel in ("static_scaled_fp8_quant", "sglang", "torch_ops")
    ]
    found = quantise(tables({"l40s/quantize/vllm/1/scale_matrix_perf.parquet": rows}), L40S, CHIPS[L40S])
    assert found.sizes.tolist() == [[16, 1024]]
    assert list(found.dropped.values()) == [1, 1]


def test_a_device_without_rows_is_an_error(tmp_path):
    with pytest.raises(RooflintError, match=r"want rows in quantize/.*/scale_matrix_perf\.parquet, found none$"):
        quantise(tmp_path, L40S, CHIPS[L40S])


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
    assert {device for one in TOPICS.values() for device in one.absent} < set(CHIPS)
