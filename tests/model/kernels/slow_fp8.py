"""The latency of one product in FP8, the obvious way: the twin of bf16 with the constants as they hold in FP8."""

import math

from .slow_attention import slow_bytes_s

SIZES = ((256, 128), (128, 256), (128, 128), (128, 64), (64, 128), (64, 64), (32, 64), (64, 32), (16, 64), (64, 16))


def slow_quantise_s(m, k, chip, constants, given):
    """As `Quantise` on tensors that were touched just before. [s]"""
    stream, scales, p = constants.stream, constants.scales, constants.products.overlap
    moved = slow_bytes_s(3 * m * k, chip, stream, warm=True, writes=True)
    if given == "tensor":
        return scales.tensor_launch_us * 1e-6 + moved * 5 / 3
    if given in ("known", "block"):
        if given == "block" and chip.tma and not chip.asynchronous:
            turns = math.ceil(m / 64) * 4 * constants.latent_parts.read_clocks / chip.clock_hz
            moved = (moved**p + turns**p) ** (1 / p)
        return stream.launch_clocks / chip.clock_hz + moved
    blocks = max(k * scales.row_element_clocks, m * scales.row_clocks + m * k * scales.row_sm_clocks / chip.sms)
    return scales.row_launch_clocks / chip.clock_hz + (moved**p + (blocks / chip.clock_hz) ** p) ** (1 / p)


def slow_fp8_s(m, n, k, chip, constants, scale, copies):
    """As `Fp8Gemm`: quantise kernels, then the product, by the faster of the ways of libraries. [s]"""
    every, split = SIZES, (1, 4, 16) if chip.asynchronous else (1, 2, 3, 4, 6, 8, 16, 32)
    if scale == "block":
        menu = every if chip.asynchronous else [(32, 128)]
        return slow_quantise_s(m, k, chip, constants, "block") + slow_product_s(
            m, n, k, chip, constants, copies, menu, (1,), by_block=True
        )
    return min(
        slow_quantise_s(m, k, chip, constants, given)
        + slow_product_s(m, n, k, chip, constants, copies, every[:3] if m > few else every, splits)
        for given, few, splits in (("row", 256, (1,)), ("tensor", 64, split))
    )


def slow_product_s(m, n, k, chip, constants, copies, sizes, splits, *, by_block=False):
    """The product of `Fp8Gemm` alone, without its quantise kernels. [s]"""
    c, clock_s = constants.products, 1 / chip.clock_hz
    dram = c.dram_efficiency * chip.bandwidth_bytes_per_s
    slices, sms = c.l2_ratio * dram, c.l2_bytes * chip.sms * chip.clock_hz
    l2 = max(dram, (slices**-c.overlap + sms**-c.overlap) ** (-1 / c.overlap))
    width = math.sqrt(chip.macs_per_clock / 2)
    room = c.l2_reach * chip.l2_bytes / (copies * n * k + m * k + 2 * m * n)
    miss = 1 / (1 + min(room, 4.0) ** c.l2_sharpness)
    memory = (n * k + m * k + 2 * m * n) * (miss / dram + (1 - miss) / l2)
    if by_block and not chip.tma:
        copied = math.ceil(m / 32) * math.ceil(n / 128) * k * (32 + 128) / (c.l2_bytes * chip.sms * chip.clock_hz)
        memory = (memory**c.overlap + copied**c.overlap) ** (1 / c.overlap)
    step = c.step_clocks * (2 if by_block else 1)
    in_bf16 = c.energy_pj * 1e-12 * (512 / (chip.macs_per_clock / 2)) ** c.energy_exponent
    in_bf16 *= (chip.node_m / 5e-9) ** c.process_exponent if chip.sustained else 1
    power = 2 * m * n * k * in_bf16 * constants.quantised.energy_share / chip.tdp_w
    best = math.inf
    for a, b in sizes:
        for split in splits:
            tiles_per_sm = math.ceil(m / a) * math.ceil(n / b) * split / chip.sms
            arithmetic = a * b / (chip.macs_per_clock * c.matrix_efficiency)
            store = a * b * 2 / (c.store_bytes * width)
            if chip.asynchronous:
                waves = max(1.0, tiles_per_sm)
                busy = max(arithmetic, (a + b) / (c.async_feed_bytes * width))
                main = k / split * max(waves * busy, step / c.async_step_bytes)
                clocks = math.hypot(main, waves * store)
            else:
                waves = math.ceil(tiles_per_sm)
                feed = (a + b) / (c.sync_feed_bytes * width)
                busy = (arithmetic**c.overlap + feed**c.overlap) ** (1 / c.overlap)
                clocks = k / split * max(waves * busy, c.step_clocks / c.sync_step_bytes) + waves * store
            compute = max(clocks * clock_s, power)
            seconds = (compute**c.overlap + memory**c.overlap) ** (1 / c.overlap)
            if split > 1:
                parts = 8 * split * m * n / (c.reduction_bytes * chip.sms)
                seconds += (c.reduction_clocks + parts) * clock_s
            best = min(best, seconds)
    published = c.graph_launch_us * 1e-6 if chip.graph_launch_s is None else chip.graph_launch_s
    return best + published + c.start_clocks * clock_s
