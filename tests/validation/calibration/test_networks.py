"""Tables of whole networks: what is refused, baselines by hand, and what their claims say."""

import re
from pathlib import Path

import numpy as np
import pytest

from pytest_rooflint.golden.workloads import build
from pytest_rooflint.recordings.files import table_problems
from rooflint.base.errors import InputError, RooflintError
from rooflint.hardware.registry import Registry
from rooflint.prediction.predict import SILICON
from rooflint_calibration import networks

REGISTRY = Registry()
ROOT = Path(__file__).parents[3]

TABLE = """\
title: A layer on two GPUs
workload: {mlp: [4096, 4096]}
precision: int8
fuse: true
source: {document: Some paper, where: table 3, grade: read}
why: two rows
rows:
  - {device: nvidia/t4, per_s: 2000, accelerators: 2, batch: 8, launch: graph, round: v0, submitter: A, system: a}
  - {device: nvidia/l4, per_s: 4000, accelerators: 1, batch: 8, launch: stream, round: v0, submitter: B, system: b}
  - {device: nvidia/a40, per_s: 8000, accelerators: 1, batch: 8, launch: stream, round: v0, submitter: B, system: c}
"""


@pytest.fixture
def table(write_table):
    return lambda text=TABLE: write_table(networks.FOLDER, text, "layer")


def test_a_rate_is_of_all_accelerators(table):
    assert networks.read(table()).seconds.tolist() == [2 / 2000, 1 / 4000, 1 / 8000]
    # an image of 20 steps with guidance is 40 samples of the network
    steps = networks.read(table(TABLE.replace("fuse: true", "fuse: true\npasses: 40")))
    assert steps.seconds.tolist() == [2 / 2000 / 40, 1 / 4000 / 40, 1 / 8000 / 40]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (("device: nvidia/l4", "device: nvidia/t4"), ":9  nvidia/t4 stands twice, also in line 8"),
        (("launch: graph", "launch: framework"), ":8  rows.0.launch"),
        (("batch: 8, launch: graph", "batch: 0, launch: graph"), ":8  rows.0.batch"),
        (("system: a", "system: a, why: it"), ":8"),
    ],
)
def test_what_is_no_row_is_refused_at_its_line(table, edit, message):
    with pytest.raises(InputError, match=re.escape(message)):
        networks.read(table(TABLE.replace(*edit)))


def test_a_table_is_found_by_its_name(table, tmp_path):
    table()
    assert networks.find("layer", [tmp_path]).slug == "layer"
    with pytest.raises(
        RooflintError, match=re.escape("no table silicon/published/networks/net.yaml (there are: layer)")
    ):
        networks.find("net", [tmp_path])


def test_a_table_wants_a_claim_and_known_devices(table, tmp_path):
    table(TABLE.replace("nvidia/a40", "nvidia/a41"))
    said = [str(problem) for problem in table_problems([tmp_path], REGISTRY, [])]
    assert any("device: is of a device without spec: nvidia/a41" in one for one in said)
    assert any("want 'prediction: network layer' in a golden file" in one for one in said)


def test_the_constant_of_a_baseline_is_that_of_the_other_rows(table):
    one = networks.read(table())
    found = networks.baselines_s(one, REGISTRY)["bandwidth × constant"]
    bandwidths = np.array([REGISTRY.get(row.device).main_memory().bandwidth_bytes_per_s for row in one.spec.rows])
    moved = one.seconds * bandwidths
    assert found[0] == pytest.approx(np.sqrt(moved[1] * moved[2]) / bandwidths[0])


@pytest.mark.parametrize("file", sorted(networks.files([ROOT / "golden"])), ids=lambda file: file.stem)
def test_the_page_names_every_row_where_a_baseline_is_nearer(file):
    one = networks.read(file)
    expected = networks.predicted_s(one, build(one.spec.workload), REGISTRY, SILICON)
    names = networks.nearer(one, expected, networks.baselines_s(one, REGISTRY).values())
    page = (ROOT / "docs/method-silicon-ops.md").read_text(encoding="utf-8").splitlines()
    assert networks.nearer_line(one, names) in page


def test_a_baseline_is_nearer_by_the_ratio_of_times(table):
    one = networks.read(table())
    twice, half = 2 * one.seconds, one.seconds * [0.49, 0.6, 0.4]
    # of 2 and 0.6 the second is nearer to 1; 2 is nearer than 0.49 and 0.4
    assert networks.nearer(one, twice, [half]) == ["l4"]


def test_predictions_are_of_one_sample_and_above_the_bound(table):
    one = networks.read(table())
    work = build(one.spec.workload)
    expected, bound = networks.predicted_s(one, work, REGISTRY, SILICON), networks.bound_s(one, work, REGISTRY)
    assert (expected > bound).all()
    # 8 × 4096² × 2 op at 130 TOP/s take 2 µs; 16 MiB of weights do not fit in 4 MiB and take 52.6 µs of 320 GB/s
    assert bound[0] == pytest.approx((4096**2 + 4096 + 2 * 8 * 4096) / 320e9 / 8, rel=1e-3)


def test_an_order_counts_pairs_and_equal_predictions_are_wrong():
    measured = np.array([1.0, 2.0, 3.0])
    assert networks.order(measured, measured) == (pytest.approx(1.0), 3, 3)
    assert networks.order(np.array([2.0, 1.0, 3.0]), measured) == (pytest.approx(0.5), 2, 3)
    assert networks.order(np.array([1.0, 1.0, 3.0]), measured)[1:] == (2, 3)
