"""Attention of one shape, the obvious way: every kind of block and every split, in plain floats."""

import math


def slow_bytes_s(moved, chip, c, warm, writes=False):
    """As rooflint.kernels.stream.bytes_s; `writes`: of a kernel that writes about as much as it reads. [s]"""
    dram = c.dram_efficiency * chip.bandwidth_bytes_per_s
    if writes and chip.ecc:
        dram *= c.ecc_left
    l2 = max(dram, c.l2_bytes * chip.sms * chip.clock_hz)
    miss = 1.0
    if warm:
        miss = 1 / (1 + min(c.l2_reach * chip.l2_bytes / moved, 64.0) ** c.l2_sharpness)
    return moved * (miss / dram + (1 - miss) / l2)


def slow_score_clocks(width, chip, c):
    padded = 16 * math.ceil(width / 16)
    matrix, softmax = 2 * padded / (chip.macs_per_clock * c.matrix_efficiency), 1 / chip.special_functions
    return math.sqrt(matrix**2 + softmax**2) if chip.asynchronous else matrix + softmax


def slow_prefill_s(batch, heads, kv_heads, tokens, width, chip, c, causal, element_bytes, append_bytes, warm):
    """As rooflint.kernels.prefill.latency_s. [s]"""
    best = math.inf
    score = slow_score_clocks(width, chip, c.prefill)
    every = math.ceil(tokens / 32)
    fill = c.prefill.block_clocks * (1.0 if chip.asynchronous else c.prefill.sync_block)
    for queries in (64, 128):
        blocks = math.ceil(tokens * heads / kv_heads / queries)
        steps = (blocks * every + max(blocks, every)) / 2 if causal else blocks * every
        step = queries * 32 * score
        even = batch * kv_heads * (steps * step + blocks * fill) / chip.sms
        best = min(best, even + every * step + fill)
    ops = 4 * batch * heads * tokens**2 * width * (0.5 if causal else 1)
    p = c.products
    power = ops * p.energy_pj * 1e-12 * (512 / chip.macs_per_clock) ** p.energy_exponent / chip.tdp_w
    power *= (chip.node_m / 5e-9) ** p.process_exponent if chip.sustained else 1
    compute = ((best / chip.clock_hz) ** p.overlap + power**p.overlap) ** (1 / p.overlap)
    queries, keys = batch * heads * tokens * width, batch * kv_heads * tokens * width
    moved = 2 * (queries + keys) * element_bytes
    if append_bytes:
        moved += 2 * keys * (element_bytes + append_bytes)
    seconds = math.hypot(compute, slow_bytes_s(moved, chip, c.stream, warm))
    return c.prefill.launch_clocks / chip.clock_hz + seconds


def slow_decode_s(batch, heads, kv_heads, tokens, width, chip, c, cache_bytes, warm):
    """As rooflint.kernels.decode.latency_s. [s]"""
    best = math.inf
    moved = 2 * batch * kv_heads * tokens * width * cache_bytes + 2 * batch * heads * width * 2.0
    memory = slow_bytes_s(moved, chip, c.stream, warm)
    l2 = max(c.stream.dram_efficiency * chip.bandwidth_bytes_per_s, c.stream.l2_bytes * chip.sms * chip.clock_hz)
    every = math.ceil(tokens / 64)
    step = 16 * math.ceil(heads / kv_heads / 16) * 64 * slow_score_clocks(width, chip, c.prefill)
    for split in (1, 4, 16, 64):
        waves = max(1.0, batch * kv_heads * min(split, every) / chip.sms)
        clocks = waves * (math.ceil(every / split) * step + c.decode.block_clocks)
        seconds = math.hypot(clocks / chip.clock_hz, memory)
        if split > 1:
            seconds += c.decode.reduction_clocks / chip.clock_hz + 8 * split * batch * heads * width / l2
        best = min(best, seconds)
    return c.decode.launch_clocks / chip.clock_hz + best
