"""The plain twin of vectorised predictions: one op after another, in the arithmetic of Python."""

from math import ceil, isqrt, prod, sqrt

from tests.model.workloads.slow_reuse import slow_bytes

from rooflint.base.precision import bytes_per_element, precision
from rooflint.hardware.device import working_units

TENSOR_TILES = [(256, 128), (128, 128), (128, 64), (64, 64)]
VECTOR_TILES = [(128, 128), (128, 64), (64, 64), (64, 32)]


def plain(hardware, table, compute, storage, overhead_s, each, *, cached):
    """Figures of one table by name; `each` has the energy of an event by the name of its term. [J]"""
    units = working_units(hardware, compute)
    peak = sum(
        unit.groups * unit.per_group * unit.macs_per_clock(compute) * 2 * unit.clock_hz(compute) for unit in units
    )
    bandwidth = max(one.bandwidth_bytes_per_s for one in hardware.memories.values() if one.has_bandwidth)
    found = dict.fromkeys(("latency_s", "compute_wait_s", "memory_wait_s", "launch_wait_s", "energy_j", "busy_s"), 0.0)
    cache = max((fact.value for fact in hardware.caches.values()), default=0) if cached else 0
    for op, moved in zip(table.rows(), slow_bytes(table, storage, cache), strict=True):
        compute_s = (2 * op.macs + op.other_ops) / peak
        kernel_s = max(compute_s, moved / bandwidth) + overhead_s
        found["compute_wait_s" if compute_s >= moved / bandwidth else "memory_wait_s"] += kernel_s - overhead_s
        found["launch_wait_s"] += overhead_s
        found["latency_s"] += kernel_s
        active, total, elements = laid(hardware, units, compute, op)
        found["busy_s"] += kernel_s * active / total
        counted = {**events(hardware, units[0], compute, storage, op, elements), "off-chip memory": moved}
        counted |= {"idle power": kernel_s}
        found["energy_j"] += sum(energy * counted[name] for name, energy in each.items())
    return found


def laid(hardware, units, compute, op):
    """Units that hold work, units that there are, and elements that they exchange with the memory of the chip."""
    unit, outside = units[0], op.elements_in + op.elements_weight + op.elements_out
    if f"resident_warps.{unit.group}" in hardware.facts:
        return on_gpu(hardware, unit, compute, op, outside)
    if unit.circuit == "domain_flow":
        return on_tiles(units, compute, op, outside)
    if unit.circuit == "systolic_mac" and not hardware.traits.is_cores:
        side = isqrt(int(min(unit.macs_per_clock(one) for one in unit.precisions)))
        if not op.macs:
            return min(lines(op, 1024), unit.groups), unit.groups, outside
        tiles = ceil(op.m / side) * ceil(op.n / side) * op.groups
        read = op.groups * op.k * (op.m * ceil(op.n / side) + op.n)
        return min(tiles, unit.count), unit.count, max(outside, read + op.elements_out)
    lanes = max(1, int(unit.per_group * unit.macs_per_clock(compute)))
    return min(lines(op, lanes), unit.groups), unit.groups, outside


def on_gpu(hardware, unit, compute, op, outside):
    width = int(hardware.facts[f"warp_threads.{unit.group}"].value)
    if not op.macs or (op.n == 1 and op.kind.startswith("conv")):
        sums = not op.macs and op.elements_in >= width * max(op.elements_out, 1)
        return min(lines(op, 4 if sums else 16 * width), unit.groups), unit.groups, outside
    attends = op.kind == "attention"
    across = 1 if attends else op.n
    least = None
    for long, short in menu(unit, compute):
        rows, columns = (short, long) if across > op.m else (long, short)
        columns = op.n if attends else columns
        tiles = ceil(op.m / rows) * (1 if attends else ceil(op.n / columns)) * op.groups
        outputs = ceil(tiles / unit.groups) * rows * columns
        if tiles >= unit.groups and (least is None or outputs < least[0]):
            least = outputs, tiles, rows, columns
        last = 0, tiles, rows, columns
    _, tiles, rows, columns = least or last
    read = op.groups * op.k * (op.m * ceil(op.n / columns) + op.n * ceil(op.m / rows))
    return min(tiles, unit.groups), unit.groups, max(outside, read + op.elements_out)


def menu(unit, compute):
    tiles = TENSOR_TILES if unit.circuit == "tensor_core" else VECTOR_TILES
    return [tile for tile in tiles if prod(tile) * max(4, bytes_per_element(compute)) <= 128 * 1024]


def on_tiles(units, compute, op, outside):
    """The largest tiles are filled first, each with as many blocks as it has the smallest tile's array."""
    rates = sorted(((int(unit.macs_per_clock(compute)), unit.groups) for unit in units), reverse=True)
    smallest = rates[-1][0]
    blocks, elements = lines(op, smallest), outside
    if op.macs:
        columns = max(side for side in range(1, isqrt(smallest) + 1) if smallest % side == 0)
        rows = smallest // columns
        blocks = ceil(op.m / rows) * ceil(op.n / columns) * op.groups
        read = op.groups * op.k * (op.m * ceil(op.n / columns) + op.n * ceil(op.m / rows))
        elements = max(outside, read + op.elements_out)
    active = 0
    for rate, groups in rates:
        active += min(groups, ceil(blocks / (rate // smallest)))
        blocks = max(0, blocks - groups * (rate // smallest))
    return active, sum(groups for _, groups in rates), elements


def lines(op, length):
    return max(1, ceil(op.elements_out / length))


def events(hardware, unit, compute, storage, op, elements):
    """Events of one op by the names of all terms that there are."""
    width_bytes, rate = bytes_per_element(storage), unit.macs_per_clock(compute)
    ops, lane = 2 * op.macs + op.other_ops, max(1.0, rate)
    operands = min(1, 2 / sqrt(rate)) if unit.circuit == "systolic_mac" else 1
    found = {
        **dict.fromkeys(("arithmetic", "datapath", "domain tracking"), ops),
        "on-chip memory": elements * width_bytes,
        "L1": (op.macs * operands + op.other_ops) * width_bytes,
        "injection": elements - op.elements_out,
        "extraction": op.elements_out,
        **dict.fromkeys(("weights into the array", "rows into the array", "accumulators"), 0),
    }
    if hardware.kind == "gpu":
        return found | warps(hardware, unit, compute, op, lane, elements * width_bytes)
    found["instructions"] = ceil(op.macs / lane) + ceil(op.other_ops / lane)
    if hardware.kind == "tpu" and op.macs:
        side = isqrt(int(min(unit.macs_per_clock(one) for one in unit.precisions)))
        found["weights into the array"] = op.groups * op.n * op.k
        found["rows into the array"] = op.groups * op.m * op.k * ceil(op.n / side)
        found["accumulators"] = op.groups * op.m * op.n * ceil(op.k / side)
    return found


def warps(hardware, unit, compute, op, lane, inside):
    width = hardware.facts[f"warp_threads.{unit.group}"].value
    steps, lanes = 0, ceil(op.macs / lane) + op.other_ops
    if unit.circuit == "tensor_core":
        steps, lanes = ceil(op.macs / max(lane, 64 if precision(compute).bits > 8 else 512)), op.other_ops
    return {
        "instructions": steps + lanes,
        "warp scheduling": ceil(lanes / width) + ceil(8 * steps / width),
        "coherence": ceil(inside / (4 * width)),
    }
