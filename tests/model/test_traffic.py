"""Traffic on the chip: its slow twins walk tile after tile and op after op."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.allocation import Allocation, Part
from rooflint.blocks import lines, output_tiles, products
from rooflint.mapping import allocate
from rooflint.specs import Registry
from rooflint.traffic import chip_bytes, issued, operand_bytes, operands_per_mac
from rooflint.unit_array import Pool, UnitArray
from rooflint.workload import Op, Workload, gemm, matrix_op


def near(value):
    """Energies of single events are far below the absolute tolerance that approx has by default."""
    return pytest.approx(value, rel=1e-9, abs=0)


REGISTRY = Registry()
ARRAY = UnitArray("SM", (Pool(4),))
sizes = st.integers(1, 40)
tiles = st.integers(1, 16)


def laid(work, rows, columns, *, systolic=False, noun="output tile"):
    """All ops of a workload in tiles of one size."""
    ops = np.arange(len(work))
    blocks = output_tiles(products(work, ops), rows, columns)
    if noun != "output tile":
        blocks = lines(work.elements_out, rows * columns, noun)
    part = Part(ops, blocks, ARRAY, fill_drain_clocks=3 * rows - 2 if systolic else 0)
    return Allocation("one", work.name, "fp16", work.op_names, (part,))


def product(m, n, k, groups=1):
    return Workload.from_ops(
        "one", [matrix_op("one", "matmul", (m, n, k, groups), (groups * m * k, groups * n * k, groups * m * n))]
    )


def walked(m, n, k, groups, rows, columns, systolic):
    """Slow twin: every tile reads the rows and columns that it covers; a systolic array keeps the columns it has."""
    read = 0
    for _ in range(groups):
        held = set()
        for top in range(0, m, rows):
            for left in range(0, n, columns):
                read += k * len(range(top, min(top + rows, m)))
                if not systolic or left not in held:
                    read += k * len(range(left, min(left + columns, n)))
                held.add(left)
    return read + groups * m * n


# ---- tiles


@given(sizes, sizes, sizes, st.integers(1, 3), tiles, tiles, st.booleans())
def test_every_tile_reads_its_rows_and_columns(m, n, k, groups, rows, columns, systolic):
    work = product(m, n, k, groups)
    found = chip_bytes(laid(work, rows, columns, systolic=systolic), work, "fp16")
    assert found.tolist() == [2 * walked(m, n, k, groups, rows, columns, systolic)]


def test_a_large_product_reads_each_operand_once_for_each_tile_along_it():
    # 8192 / 256 = 32 tiles down and 8192 / 128 = 64 across: (32 + 64 + 1) × 8192² × 2 B
    work = gemm(8192, 8192, 8192)
    allocation = allocate(REGISTRY.get("nvidia/a100-sxm4-80gb"), work, compute="fp16", tile=(256, 128))
    assert chip_bytes(allocation, work, "fp16").tolist() == [(32 + 64 + 1) * 8192**2 * 2]


def test_one_row_is_read_as_one_row_however_high_the_tile():
    # 1 × 4096 by 4096 × 4096 in tiles of 64 columns: 64 times the row, once the weights, once the result
    work = gemm(1, 4096, 4096)
    assert chip_bytes(laid(work, 64, 64), work, "int8").tolist() == [64 * 4096 + 4096 * 4096 + 4096]


def test_a_systolic_array_reads_its_weights_once_and_the_rows_for_each_of_its_columns():
    # TPU v4, 128 × 128: 8192 / 128 = 64 times the rows, once the weights and the result: (64 + 1 + 1) × 8192² × 2 B
    work = gemm(8192, 8192, 8192)
    allocation = allocate(REGISTRY.get("google/tpu-v4"), work, compute="bf16")
    assert chip_bytes(allocation, work, "bf16").tolist() == [66 * 8192**2 * 2]


def test_what_is_no_product_is_read_and_written_once():
    # 1000 in, 1000 out, 2 B each
    work = Workload.from_ops("one", [Op("relu", "relu", 0, 1000, 1000, 0, 1000)])
    assert chip_bytes(laid(work, 16, 1, noun="thread block"), work, "fp16").tolist() == [4000]


@given(sizes, sizes, sizes, tiles, tiles)
def test_no_less_goes_over_the_chip_than_comes_from_outside(m, n, k, rows, columns):
    work = product(m, n, k)
    assert (chip_bytes(laid(work, rows, columns), work, "fp16") >= work.bytes_moved("fp16")).all()


@given(sizes, sizes, sizes, tiles, st.integers(2, 4))
def test_larger_tiles_never_read_more(m, n, k, side, factor):
    work = product(m, n, k)
    small, large = (chip_bytes(laid(work, edge, edge), work, "fp16") for edge in (side, side * factor))
    assert (large <= small).all()


@given(sizes, sizes, sizes, tiles, tiles)
def test_bytes_follow_the_precision_in_storage(m, n, k, rows, columns):
    work = product(m, n, k)
    one, two, half = (chip_bytes(laid(work, rows, columns), work, name) for name in ("int8", "fp16", "int4"))
    assert (two == 2 * one).all()
    assert (half == one / 2).all()


# ---- operands and instructions


def test_a_core_reads_an_operand_for_each_mac_of_a_lane():
    # 6 MAC and 10 other ops, 4 B each
    work = Workload.from_ops("one", [Op("one", "linear", 6, 10, 3, 2, 6, 1, 2, 3, 1)])
    assert operand_bytes(work, "fp32", 1.0).tolist() == [64]
    assert operand_bytes(work, "fp32", 0.5).tolist() == [52]


def test_a_matrix_unit_reads_the_rows_and_columns_of_a_square():
    # AMX: 512 MAC of BF16 a clock, 2 · √512 = 45.3 operands
    xeon = REGISTRY.get("intel/xeon-8490h")
    assert operands_per_mac(xeon.units["amx"], "bf16") == near(2 / math.sqrt(512))
    assert operands_per_mac(xeon.units["simd"], "fp32") == 1


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 1000)), min_size=1, max_size=4),
    st.sampled_from((1, 4, 16)),
    st.sampled_from((1, 8)),
)
def test_an_op_takes_whole_instructions(rows, macs, others):
    ops = [
        Op(f"{place}", "any", side**3, other, 0, 0, 0, side, side, side, 1) for place, (side, other) in enumerate(rows)
    ]
    found = issued(Workload.from_ops("one", ops), macs, others)
    assert found.tolist() == [math.ceil(side**3 / macs) + math.ceil(other / others) for side, other in rows]
