"""The latency of one product in FP8, the obvious way: the twin of bf16 with the constants as they hold in FP8."""

import math


def slow_product_s(m, n, k, chip, constants, scale, copies):
    """The product of `Fp8Gemm` alone, without its quantise kernel. [s]"""
    c, clock_s = constants.products, 1 / chip.clock_hz
    dram = c.dram_efficiency * chip.bandwidth_bytes_per_s
    slices, sms = c.l2_ratio * dram, c.l2_bytes * chip.sms * chip.clock_hz
    l2 = max(dram, (slices**-c.overlap + sms**-c.overlap) ** (-1 / c.overlap))
    width = math.sqrt(chip.macs_per_clock / 2)
    room = c.l2_reach * chip.l2_bytes / (copies * n * k + m * k + 2 * m * n)
    miss = 1 / (1 + min(room, 4.0) ** c.l2_sharpness)
    memory = (n * k + m * k + 2 * m * n) * (miss / dram + (1 - miss) / l2)
    in_bf16 = c.energy_pj * 1e-12 * (512 / (chip.macs_per_clock / 2)) ** c.energy_exponent
    in_bf16 *= (chip.node_m / 5e-9) ** c.process_exponent if chip.sustained else 1
    power = 2 * m * n * k * in_bf16 * constants.quantised.energy_share / chip.tdp_w
    sizes = ((256, 128), (128, 256), (128, 128), (128, 64), (64, 128), (64, 64), (32, 64), (64, 32), (16, 64), (64, 16))
    splits = (1, 4, 16) if chip.asynchronous else (1, 2, 3, 4, 6, 8, 16, 32)
    best = math.inf
    for a, b in sizes[:3] if m > 64 and scale == "tensor" else sizes:
        for split in splits if scale == "tensor" else (1,):
            tiles_per_sm = math.ceil(m / a) * math.ceil(n / b) * split / chip.sms
            arithmetic = a * b / (chip.macs_per_clock * c.matrix_efficiency)
            store = a * b * 2 / (c.store_bytes * width)
            if chip.asynchronous:
                waves = max(1.0, tiles_per_sm)
                busy = max(arithmetic, (a + b) / (c.async_feed_bytes * width))
                main = k / split * max(waves * busy, c.step_clocks / c.async_step_bytes)
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
