"""Reuse: what a cache keeps between ops, by hand, beside its slow twin, and its laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.workloads.builders import mlp
from rooflint.workloads.ops import Op
from rooflint.workloads.reuse import bytes_from_memory, kept_elements, reuse
from rooflint.workloads.stack import stacked
from rooflint.workloads.tables import load_workload, workload_ids
from rooflint.workloads.workload import Workload

from .slow_reuse import slow_bytes, slow_kept

NETWORKS = {name: load_workload(name) for name in workload_ids()}
TABLES = st.builds(
    lambda name, batch, fuse: NETWORKS[name].at_batch(batch).fused() if fuse else NETWORKS[name].at_batch(batch),
    st.sampled_from(sorted(NETWORKS)),
    st.sampled_from([1, 3, 64]),
    st.booleans(),
)
CAPACITIES = st.sampled_from([0, 1, 2**18, 2**22, 4 * 2**20, 48 * 2**20, 2**28, 2**34])

#: Two layers of 1024: 1 MiB of weights each in INT8, and 16 × 1024 elements in, between and out.
LAYERS = mlp([1024, 1024, 1024], batch=16, bias=False)
ROWS, SQUARE = 16 * 1024, 1024**2


def test_without_a_cache_every_byte_comes_from_memory():
    assert bytes_from_memory(LAYERS, "int8", 0).tolist() == [SQUARE + 2 * ROWS] * 2


def test_a_result_that_fits_is_neither_written_nor_read_and_weights_stay_only_together():
    # the result between the layers fits in 16 KiB, one layer's weights in 1 MiB, all weights only in 2 MiB
    assert bytes_from_memory(LAYERS, "int8", ROWS - 1).tolist() == [SQUARE + 2 * ROWS] * 2
    assert bytes_from_memory(LAYERS, "int8", ROWS).tolist() == [SQUARE + ROWS] * 2
    assert bytes_from_memory(LAYERS, "int8", SQUARE).tolist() == [SQUARE + ROWS] * 2
    assert bytes_from_memory(LAYERS, "int8", 2 * SQUARE).tolist() == [ROWS] * 2


def test_an_op_finds_no_more_than_the_capacity():
    # two results of 10 that are added: both fit, but not both at once
    ops = [Op(name, "relu", 0, 10, 10, 0, 10) for name in "ab"] + [Op("c", "add", 0, 10, 20, 0, 10)]
    flow = NETWORKS["torchvision/resnet18"].flow.chain(3, 10)
    work = Workload.from_ops("any", ops, flow=type(flow)(((-1,), (-1,), (0, 1)), (2,), 10))
    assert bytes_from_memory(work, "int8", 15).tolist() == [10, 10, 30 - 15]
    assert bytes_from_memory(work, "int8", 20).tolist() == [10, 10, 10]


def test_a_larger_batch_does_not_fit_any_more():
    resnet = NETWORKS["torchvision/resnet50"].fused()
    each = [bytes_from_memory(resnet.at_batch(batch), "int8", 48 * 2**20).sum() / batch for batch in (32, 2048)]
    assert each[1] > 3 * each[0]


@given(TABLES, CAPACITIES, st.sampled_from(["int8", "fp16", "mxfp6"]))
def test_it_is_its_slow_twin(work, capacity, storage):
    assert bytes_from_memory(work, storage, capacity) == pytest.approx(slow_bytes(work, storage, capacity))


@given(TABLES, st.sampled_from([10**4, 10**6, 10**7, 10**8, 10**9]))
def test_what_was_touched_within_the_capacity_is_kept_as_its_slow_twin_has_it(work, capacity):
    found = reuse(work)
    missed = [(since > capacity).astype(float) for since in (found.distance, found.of_pass)]
    assert kept_elements(work, *missed) == pytest.approx(slow_kept(work, capacity))


@given(TABLES, CAPACITIES, CAPACITIES)
def test_more_capacity_never_moves_more(work, one, other):
    less, more = (bytes_from_memory(work, "fp16", capacity) for capacity in sorted([one, other]))
    assert (more <= less).all()
    assert (more >= 0).all()


def test_a_table_of_a_stack_is_as_it_is_alone():
    tables = [
        NETWORKS[name].at_batch(batch) for name in ("torchvision/resnet18", "torchvision/vit_b_16") for batch in (1, 8)
    ]
    together = bytes_from_memory(stacked(tables).work, "fp16", 2**25)
    assert together.tolist() == np.concatenate([bytes_from_memory(one, "fp16", 2**25) for one in tables]).tolist()


def test_a_column_of_capacities_has_a_row_for_each():
    capacities = np.array([[2.0**22], [0.0], [2.0**22], [2.0**30]])
    found = bytes_from_memory(LAYERS, "fp16", capacities)
    assert found.tolist() == [bytes_from_memory(LAYERS, "fp16", float(one)).tolist() for one in capacities.ravel()]


def test_a_table_without_data_flow_keeps_its_weights_alone():
    work = Workload.from_ops("any", list(LAYERS.rows()), 16)
    assert bytes_from_memory(work, "int8", 2 * SQUARE).tolist() == [2 * ROWS] * 2
