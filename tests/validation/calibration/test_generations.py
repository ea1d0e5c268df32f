"""Tables of tokens a second: what is refused, times by hand, and baselines."""

import re

import numpy as np
import pytest

from pytest_rooflint.recordings.files import table_problems
from rooflint.base.errors import InputError, RooflintError
from rooflint.hardware.registry import Registry
from rooflint.prediction.predict import SILICON
from rooflint_calibration import generations

REGISTRY = Registry()

TABLE = """\
title: A model on two GPUs
precision: fp8
source: {document: Some paper, where: table 3, grade: read}
why: two rows
rows:
  - {network: llama/llama-3.1-8b, device: nvidia/h100-sxm5-80gb, tokens_per_s: 20000, devices: 2, prompt: 1000,
     generate: 1000}
  - {network: llama/llama-3.1-8b, device: nvidia/h200-sxm-141gb, tokens_per_s: 12000, prompt: 1000, generate: 1000}
"""

LENGTHS = """prompt: 1000,
     generate: 1000"""
"""Of the first row."""


@pytest.fixture
def table(write_table):
    return lambda text=TABLE: write_table(generations.FOLDER, text, "two")


def test_a_rate_is_of_all_devices(table):
    assert generations.read(table()).seconds.tolist() == [2 / 20000, 1 / 12000]


def test_what_is_no_row_is_refused_at_its_line(table):
    with pytest.raises(InputError, match=re.escape(":6  rows.0.prompt")):
        generations.read(table(TABLE.replace("prompt: 1000", "prompt: 0", 1)))


def test_the_same_row_twice_is_refused(table):
    twice = TABLE.replace("h200-sxm-141gb, tokens_per_s: 12000", "h100-sxm5-80gb, tokens_per_s: 12000")
    message = ":8  llama/llama-3.1-8b on nvidia/h100-sxm5-80gb, 1000 + 1000 tokens stands twice, also in line 6"
    with pytest.raises(InputError, match=re.escape(message)):
        generations.read(table(twice))


def test_a_table_wants_a_claim_and_known_devices(table, tmp_path):
    table(TABLE.replace("h200-sxm-141gb", "h201"))
    said = [str(problem) for problem in table_problems([tmp_path], REGISTRY, [])]
    assert any("device: is of a device without spec: nvidia/h201" in one for one in said)
    assert any("want 'prediction: generation two' in a golden file" in one for one in said)


def test_the_bound_is_below_the_prediction_and_more_bandwidth_and_room_are_faster(table):
    one = generations.read(table())
    bound, predicted = generations.bound_s(one, REGISTRY), generations.predicted_s(one, REGISTRY, SILICON)
    assert np.all(bound < predicted)
    assert bound[1] < bound[0]  # the H200 has the same peak, 4.8 for 3.35 TB/s, and 141 for 80 GB


def test_a_long_answer_to_a_short_prompt_waits_for_weights_and_cache(table):
    # 80 GB have room for N = (80 - 8.03) GB / (1 + 2048) tokens × 64 KiB sequences, which all of it is read for:
    # 2 × 32 layers × 8 heads × 128 × 1 B a token; N sequences take 80 GB / 3.35 TB/s at least
    text = TABLE.replace(LENGTHS, "prompt: 1, generate: 4096", 1)
    least = generations.bound_s(generations.read(table(text)), REGISTRY)[0]
    sequences = (80e9 - 8.03e9) // (2050 * 65536)
    assert 0.97 * 80e9 / 3.35e12 < least * sequences < 1.2 * 80e9 / 3.35e12


def test_no_engine_is_faster_than_the_bound_whatever_it_runs_together(table):
    # 8192 tokens are read for each that is written, so arithmetic takes longest: of all weights but embedding and
    # head, and of keys and values of half of the tokens, 2 × 32 layers × 32 heads × 128 × 8192 / 2 MAC
    one = generations.read(table(TABLE.replace(LENGTHS, "prompt: 8192, generate: 1")))
    bound, roofline = generations.bound_s(one, REGISTRY)[0], generations.predicted_s(one, REGISTRY, "roofline")[0]
    layers = 2 * 8192 * ((8.03e9 - 2 * 0.525e9) + 32 * 32 * 128 * 8192)
    assert layers / 1979e12 < bound < 1.02 * layers / 1979e12
    assert roofline > 1.02 * bound  # it waits for memory in turn


def test_a_network_that_does_not_fit_is_told(table):
    one = generations.read(table(TABLE.replace("llama/llama-3.1-8b", "llama/llama-3.1-405b", 1)))
    with pytest.raises(RooflintError, match=r"llama/llama-3.1-405b does not fit nvidia/h100-sxm5-80gb"):
        generations.bound_s(one, REGISTRY)


def test_a_device_without_kernel_models_is_told(table):
    one = generations.read(table(TABLE.replace("nvidia/h200-sxm-141gb", "amd/mi300x")))
    assert generations.bound_s(one, REGISTRY)[1] > 0
    with pytest.raises(RooflintError, match="its latency is that of the roofline"):
        generations.predicted_s(one, REGISTRY, SILICON)


def test_the_constant_of_a_baseline_is_that_of_the_other_row(table):
    one = generations.read(table())
    found = generations.baselines_s(one, REGISTRY)["bandwidth × constant"]
    h100, h200 = (REGISTRY.get(row.device).main_memory().bandwidth_bytes_per_s for row in one.spec.rows)
    assert found[0] == pytest.approx(h200 / h100 / 12000)


def test_groups_that_share_a_network_take_a_share_of_its_bytes(table):
    # two H100 have room for more than twice the sequences of one, and read half of the bytes each; sending is left out
    alone, shared = (
        generations.bound_s(generations.read(table(TABLE.replace("devices: 2", devices))), REGISTRY)[0]
        for devices in ("devices: 1", "tp: 2")
    )
    assert 0.4 * alone < shared < alone / 2
    assert "on nvidia/h100-sxm5-80gb tp 2, " in generations.read(table(TABLE.replace("devices: 2", "tp: 2"))).label(0)


def test_exchanges_take_time_in_a_prediction(table):
    one = generations.read(table(TABLE.replace("devices: 2", "tp: 2")))
    without = generations.bound_s(one, REGISTRY)[0]
    assert generations.predicted_s(one, REGISTRY, SILICON)[0] > 1.2 * without


def test_a_run_with_few_requests_has_no_more_of_them_at_once(table):
    # one request alone reads all weights, 8.03 GB less embedding, for each of its tokens
    one = generations.read(table(TABLE.replace("devices: 2", "requests: 1")))
    assert generations.bound_s(one, REGISTRY)[0] == pytest.approx(7.5e9 / 3.35e12, rel=0.05)


def test_requests_run_in_rounds_of_equal_size():
    assert generations._at_once(419, 1500) == 375  # 4 rounds
    assert generations._at_once(419, 400) == 400
    assert generations._at_once(419, None) == 419


def test_a_network_that_several_share_wants_a_system(table):
    text = TABLE.replace("devices: 2", "tp: 2").replace("nvidia/h100-sxm5-80gb", "nvidia/t4")
    with pytest.raises(RooflintError, match="want a system of such devices"):
        generations.bound_s(generations.read(table(text)), REGISTRY)
