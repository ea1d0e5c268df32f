"""Tables of training: times by hand, what is refused, and baselines."""

import re

import numpy as np
import pytest

from pytest_rooflint.recordings.files import table_problems
from rooflint.base.errors import InputError, RooflintError
from rooflint.hardware.registry import Registry
from rooflint_calibration import trainings

REGISTRY = Registry()

TABLE = """\
title: A model on eight GPUs
precision: bf16
source: {document: Some paper, where: table 3, grade: read}
why: two rows
rows:
  - {network: mpt/mpt-7b, device: nvidia/h100-sxm5-80gb, tokens_per_s: 80000, devices: 8, length: 2048, batch: 4,
     recompute: none}
  - {network: mpt/mpt-7b, device: nvidia/a100-sxm4-80gb, tokens_per_s: 37000, devices: 8, length: 2048, batch: 4,
     recompute: full}
"""


@pytest.fixture
def table(write_table):
    return lambda text=TABLE: trainings.read(write_table(trainings.FOLDER, text, "two"))


def test_a_rate_is_of_all_devices(table):
    assert table().seconds.tolist() == [8 / 80000, 8 / 37000]


def test_the_bound_is_what_is_computed_at_the_peak(table):
    # 6 × (6.658859e9 - 2048 positions × 4096) and, of causal attention, 6 × 32 layers × 2 × 4096 × 2049 / 2 keys, over
    # 989.4 TFLOP/s; with full recomputation another third, but for the head, which is 6 × 50432 × 4096 of it
    products = 6 * (6_658_859_008 - 2048 * 4096)
    attention = 6 * 32 * 4096 * 2049
    head = 6 * 50432 * 4096
    none, full = trainings.bound_s(table(), REGISTRY)
    assert none == pytest.approx((products + attention) / 989.4e12, rel=0.01)
    assert full == pytest.approx((products + attention + (products + attention - head) / 3) / 311.9e12, rel=0.01)


def test_a_step_takes_longer_than_its_bound_and_less_than_was_measured(table):
    one = table()
    assert np.all(trainings.bound_s(one, REGISTRY) < trainings.predicted_s(one, REGISTRY))
    assert np.all(trainings.predicted_s(one, REGISTRY) < one.seconds)


SHARED = """\
title: A model on sixteen GPUs
precision: bf16
source: {document: Some paper, where: table 3, grade: read}
why: three rows
rows:
  - {network: mpt/mpt-7b, device: nvidia/h100-sxm5-80gb, tokens_per_s: 80000, devices: 16, length: 2048, batch: 4,
     recompute: none}
  - {network: mpt/mpt-7b, device: nvidia/h100-sxm5-80gb, tokens_per_s: 80000, devices: 16, length: 2048, batch: 4,
     recompute: none, system: nvidia/hgx-h100, tp: 8, micro_batches: 2}
  - {network: mpt/mpt-7b, device: nvidia/h100-sxm5-80gb, tokens_per_s: 80000, devices: 16, length: 2048, batch: 2,
     recompute: none, system: nvidia/hgx-h100, zero: 3}
"""


def test_devices_of_a_system_wait_for_one_another_and_compute_as_much(table):
    one = table(SHARED)
    alone, shared, zero = trainings.bound_s(one, REGISTRY)
    assert (shared, zero) == (pytest.approx(alone, rel=1e-3), pytest.approx(alone))
    _, together, _ = trainings._steps(one, REGISTRY)
    assert (together.run.batch, together.place.how.dp, together.run.micro_batches) == (2 * 4 * 2, 2, 2)
    seconds = trainings.predicted_s(one, REGISTRY)
    assert seconds[1] == pytest.approx(together.step_s * 16 / together.run.tokens)
    assert np.all(seconds[1:] > seconds[0])


def test_a_system_is_one_that_is_known(table):
    with pytest.raises(RooflintError, match="unknown device 'nvidia/hgx-x'"):
        trainings.bound_s(table(SHARED.replace("nvidia/hgx-h100, zero", "nvidia/hgx-x, zero")), REGISTRY)


def test_a_network_has_positions_for_the_sequences_it_was_built_for(table):
    longer = table(TABLE.replace("length: 2048", "length: 65536"))
    assert trainings.bound_s(longer, REGISTRY)[0] > 2 * trainings.bound_s(table(), REGISTRY)[0]


def test_a_baseline_divides_the_peak_by_the_parameters(table):
    # each constant is that of the other row alone: H100 and A100 compute 3.172 and 1 times as much
    one = table()
    peaks = np.array([989.43e12, 311.87e12])
    (found, _) = trainings.baselines_s(one, REGISTRY).values()
    assert found == pytest.approx((one.seconds * peaks)[::-1] / peaks, rel=1e-4)


def test_a_table_wants_a_claim_and_another_way_to_run_again_is_refused(table, write_table, tmp_path):
    table()
    said = [str(problem) for problem in table_problems([tmp_path], REGISTRY, [])]
    assert any("want 'prediction: training two' in a golden file" in one for one in said)
    with pytest.raises(InputError, match=re.escape(":7  rows.0.recompute")):
        table(TABLE.replace("recompute: none", "recompute: half"))
