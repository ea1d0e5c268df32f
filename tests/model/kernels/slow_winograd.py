"""The latency of one 3 × 3 convolution by each of Winograd's algorithms, the obvious way, in plain floats."""

import math

from .slow_twin import slow_latency_s


def slow_cores(chip, products, cores):
    """(efficiency, pJ of an op) of CUDA cores: lanes, or slots of the schedulers; the root of the process."""
    instructions = chip.macs_per_clock / 32 * (1 + cores.other_instructions)
    return min(1, chip.cores.issued / instructions), cores.energy_pj * math.sqrt(chip.node_m / 10e-9)


def slow_launch_s(chip, c):
    """Between two kernels of a graph. [s]"""
    published = c.graph_launch_us * 1e-6 if chip.graph_launch_s is None else chip.graph_launch_s
    return published + c.start_clocks / chip.clock_hz


def slow_fused_s(batch, channels_in, channels_out, height, width, chip, c, element_bytes):
    """F(2 × 2, 3 × 3) in one kernel; `c` are the constants as they hold on the chip. [s]"""
    blocks = batch * math.ceil(height / 8) * math.ceil(width / 16) * math.ceil(channels_out / 32)
    steps = 8 * math.ceil(channels_in / 8)
    # 32 tiles × 32 channels × 16 points; 32 additions a tile, 28 a filter
    arithmetic = (32 * 32 * 16 + 32 * 32 + 28 * 32) / (chip.macs_per_clock * c.matrix_efficiency)
    ways = math.sqrt(chip.macs_per_clock * element_bytes / 2)
    feed = element_bytes * (10 * 18 + 32 * 9) / (c.sync_feed_bytes * ways)
    busy = (arithmetic**c.overlap + feed**c.overlap) ** (1 / c.overlap)
    once = steps * busy + 8 * 16 * 32 * element_bytes / (c.store_bytes * ways)
    compute = math.ceil(blocks / chip.sms) * once / chip.clock_hz
    tiles = batch * math.ceil(height / 2) * math.ceil(width / 2)
    power = 2 * 16 * tiles * channels_in * channels_out * c.energy_pj * 1e-12 / chip.tdp_w
    inputs = batch * channels_in * (height + 2) * (width + 2)
    moved = element_bytes * (inputs + 9 * channels_in * channels_out + batch * channels_out * height * width)
    memory = moved / (c.dram_efficiency * chip.bandwidth_bytes_per_s)
    power = min(power, compute * chip.clock_hz / (chip.cores.base_hz or 1e-9))
    together = (max(compute, power) ** c.overlap + memory**c.overlap) ** (1 / c.overlap)
    return together + 2 * slow_launch_s(chip, c)


def slow_transformed_s(batch, channels_in, channels_out, height, width, chip, c, streams, cores, element_bytes, sides):
    """F(4 × 4, 3 × 3) in four kernels, the products by tiles of these sides. [s]"""
    tiles = batch * math.ceil(height / 4) * math.ceil(width / 4)
    product = slow_latency_s(tiles, channels_out, channels_in, 36, chip, c, element_bytes, 1.0, sides, (1,))
    pixels = batch * height * width
    moved = (
        (pixels + 36 * tiles) * channels_in
        + (9 + 36) * channels_in * channels_out
        + (pixels + 36 * tiles) * channels_out
    )
    each_clock = cores.transform_bytes * math.sqrt(chip.macs_per_clock * element_bytes / 2)
    slower = min(streams.dram_efficiency * chip.bandwidth_bytes_per_s, each_clock * chip.sms * chip.clock_hz)
    return product + 3 * slow_launch_s(chip, c) + element_bytes * moved / slower
