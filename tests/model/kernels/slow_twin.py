"""The latency of one product, the obvious way: every tile with every split, one after the other, in plain floats."""

import math

TILES = ((256, 128), (128, 256), (128, 128), (128, 64), (64, 128), (64, 64), (32, 64), (64, 32), (16, 64), (64, 16))


def slow_latency_s(m, n, k, batch, chip, c, element_bytes, copies, tiles=TILES, splits=()):
    """As rooflint.kernels.gemm.latency_s of one shape, by every tile and split unless some are given. [s]"""
    splits = splits or ((1, 4, 16) if chip.asynchronous else (1, 2, 3, 4, 6, 8, 16, 32))
    clock_s = 1 / chip.clock_hz
    dram = c.dram_efficiency * chip.bandwidth_bytes_per_s
    slices, sms = c.l2_ratio * dram, c.l2_bytes * chip.sms * chip.clock_hz
    l2 = max(dram, (slices**-c.overlap + sms**-c.overlap) ** (-1 / c.overlap))
    width = math.sqrt(chip.macs_per_clock * element_bytes / 2)
    room = c.l2_reach * chip.l2_bytes / (element_bytes * batch * (copies * n * k + m * k + m * n))
    miss = 1 / (1 + min(room, 4.0) ** c.l2_sharpness)
    memory = element_bytes * batch * (n * k + m * k + m * n) * (miss / dram + (1 - miss) / l2)
    joules_per_op = c.energy_pj * 1e-12 * (512 / chip.macs_per_clock) ** c.energy_exponent
    joules_per_op *= (chip.node_m / 5e-9) ** c.process_exponent if chip.sustained and not chip.cores else 1
    best = math.inf
    for a, b in tiles:
        for split in splits:
            tiles_per_sm = batch * math.ceil(m / a) * math.ceil(n / b) * split / chip.sms
            arithmetic = a * b / (chip.macs_per_clock * c.matrix_efficiency)
            store = a * b * element_bytes / (c.store_bytes * width)
            if chip.asynchronous:
                waves = max(1.0, tiles_per_sm)
                busy = max(arithmetic, element_bytes * (a + b) / (c.async_feed_bytes * width))
                step = c.step_clocks * element_bytes / c.async_step_bytes
            else:
                waves = math.ceil(tiles_per_sm)
                feed = element_bytes * (a + b) / (c.sync_feed_bytes * width)
                busy = (arithmetic**c.overlap + feed**c.overlap) ** (1 / c.overlap)
                step = c.step_clocks * element_bytes / c.sync_step_bytes
            main = k / split * max(waves * busy, step)
            clocks = math.hypot(main, waves * store) if chip.asynchronous else main + waves * store
            # CUDA cores issue what lies beyond the edge of the result as well
            rows, columns = (math.ceil(m / a) * a, math.ceil(n / b) * b) if chip.cores else (m, n)
            power = 2 * batch * rows * columns * k * joules_per_op / chip.tdp_w
            # which never makes their clock less than the base clock
            if chip.cores and chip.cores.base_hz:
                power = min(power, clocks / chip.cores.base_hz)
            compute = max(clocks * clock_s, power)
            seconds = (compute**c.overlap + memory**c.overlap) ** (1 / c.overlap)
            if split > 1:
                seconds += (
                    c.reduction_clocks * clock_s + 8 * split * batch * m * n / (c.reduction_bytes * chip.sms) * clock_s
                )
            best = min(best, seconds)
    published = c.graph_launch_us * 1e-6 if chip.graph_launch_s is None else chip.graph_launch_s
    return best + published + c.start_clocks * clock_s
