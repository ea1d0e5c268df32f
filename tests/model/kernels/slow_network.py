"""The slow twin of `rooflint.kernels.network`: one op at a time, by the formulas of docs/method-silicon-ops.md."""

from rooflint.base.precision import bytes_per_element
from rooflint.kernels import attention, decode, gemm
from rooflint.kernels.shapes import shapes
from rooflint.kernels.tile import menu
from rooflint.workloads.ops import FUSES

STREAMED = {*FUSES, "layer_norm", "softmax", "max_pool", "avg_pool", "cat"}


def slow_network_s(work, chip, shared, products, storage, element_bytes, gap_s):
    """(work, launch) of each op, `gap_s` None where launches are free; `products` hold in the precision. [s]"""
    width = bytes_per_element(storage)
    return [_op_s(op, chip, shared, products, width, element_bytes, gap_s) for op in work.rows()]


def _op_s(op, chip, shared, products, stored_bytes, element_bytes, gap_s):
    peak = 2 * chip.sms * chip.macs_per_clock * chip.clock_hz
    moved = (op.elements_in + op.elements_weight + op.elements_out) * stored_bytes
    computed = (2 * op.macs + op.other_ops) / peak
    streamed = moved / (shared.stream.dram_efficiency * chip.bandwidth_bytes_per_s)
    sequences = op.kind == "attention" and op.macs
    if sequences and op.m == op.n:
        heads = attention.sequences(1, op.groups, op.groups, op.n, max(op.k / 2, 1))
        blocks = attention.computed_s(heads, chip, shared, causal=False)[0]
        work, clocks = (blocks**2 + streamed**2) ** 0.5, shared.prefill.launch_clocks
    elif sequences and op.m == 1:
        heads = attention.sequences(1, op.groups, op.groups, op.n, max(op.k / 2, 1))
        caches = decode.Decode().caches(heads, chip, shared)
        work = decode.work_s(caches, streamed, chip, shared.decode, shared.stream)[0]
        clocks = shared.decode.launch_clocks
    elif sequences or (not op.macs and op.kind not in STREAMED):
        work, clocks = moved / chip.bandwidth_bytes_per_s, shared.stream.launch_clocks
    elif not op.macs or (op.kind.startswith("conv") and op.n == 1 and op.groups > 1):
        left = shared.stream.ecc_left if chip.ecc else 1.0
        work, clocks = streamed / left, shared.stream.launch_clocks
    else:
        memory = moved / (shared.products.dram_efficiency * chip.bandwidth_bytes_per_s)
        size = shapes(op.m, op.n, op.k, op.groups)
        work = gemm.work_s(size, memory + size.m * 0, chip, products, element_bytes, menu(chip))[0]
        clocks = None
    launch = gemm.launch_s(chip, shared.products) if clocks is None else clocks / chip.clock_hz
    return max(work, computed), 0.0 if gap_s is None else max(launch, gap_s)
