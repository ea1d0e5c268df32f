"""Words of the names of columns, by what they say of the figures below them."""

import re
from collections.abc import Set
from dataclasses import dataclass

DEVICE = {"device", "gpu", "name", "chip", "model", "accelerator", "hardware", "sku", "product", "card", "processor"}
OTHERWISE = "otherwise"
"""Name of what code has for all precisions but those that it asks for."""
SPELT_OUT = frozenset({"id", "display", "full", "short", "marketing", "official", "type", "kind"})
"""Words beside that of a device in the name of a column: `display_name`, `gpu id`."""
SEVERAL = frozenset({"gpus", "tpus", "npus", "accelerators", "devices", "cards", "chips"})
NUMBERED = frozenset({"num", "number", "no", "nr", "n", "of", "count", "qty", "quantity"})
"""Words of a column that gives the number of devices: `Num GPUs`, `number of devices`, `gpus`."""
COUNTED = {
    **dict.fromkeys(("cuda cores", "fp32 cores", "shading units", "shaders"), "cuda_core"),
    "stream processors": "stream_processor",
    "tensor cores": "tensor_core",
    "matrix cores": "matrix_core",
    **dict.fromkeys(("streaming multiprocessors", "multiprocessors", "sms", "sm"), "SM"),
    **dict.fromkeys(("compute units", "cus", "cu"), "CU"),
}
BANDWIDTHS = frozenset({"GB/s", "TB/s", "MB/s", "GiB/s", "TiB/s", "Gbit/s", "Tbit/s", "B/s"})
CAPACITIES = frozenset({"GB", "GiB", "TB"})
RATES = frozenset({"TFLOP/s", "GFLOP/s", "PFLOP/s", "TOP/s", "GOP/s", "POP/s", "FLOP/s"})
CACHES = frozenset(
    {"l1", "l2", "l3", "llc", "slc", "cache", "caches", "sram", "scratchpad"}
    | {"smem", "lds", "shared", "register", "registers"}
)
LINKS = frozenset(
    {"nvlink", "pcie", "interconnect", "interconnects", "network", "networks", "networking", "net", "nic"}
    | {"link", "ici", "fabric", "fabrics"}
    | {"infiniband", "ethernet", "ib", "egress", "ingress", "duplex", "bidirectional", "bidir", "p2p", "peer", "xgmi"}
)
LINK_WORDS = frozenset({"nvlink", "xgmi", "interconnect", "ici", "p2p"})
OTHER_LINKS = frozenset({"links", "lanes", "count", "pcie", "host", "network", "node", "internode"})
"""Words of numbers of links, and of links that are not between devices."""
PEER = re.compile(r"(?<![a-z])gpu[ _-]*(?:to|2|<->|↔)?[ _-]*gpu(?![a-z])", re.IGNORECASE)
"""What is between devices: `GPU-GPU`, `gpu_to_gpu`."""
SPEEDS = frozenset({"speed", "pin"})
"""Words of the rate of one pin of a memory: `Memory speed (Gbps)`."""
MEMORY = frozenset({"memory", "mem", "vram", "dram", "hbm", "hbm2", "hbm2e", "hbm3", "hbm3e", "gddr6", "gddr6x"})
OF_CLOCK = frozenset({"clock", "clocks", "clk", "speed", "freq", "frequency", "mclk", "memclk"})
MAY_BE_CLOCK = (
    MEMORY | OF_CLOCK | SPEEDS | frozenset({"rate", "data", "effective", "max", "boost", "gpu", "s", "t"})
) | frozenset({"gddr5", "gddr7", "type", "mhz", "ghz", "khz", "hz", "gbps", "gbit", "mt", "gt", "bit", "g", "mbps"})
"""Words of the clock of a memory, and beside it."""
LEVELS = {"l2": "l2", "l3": "l3", "infinity": "infinity_cache"}
MAY_BE_CACHE = frozenset(
    {*LEVELS, "cache", "caches", "size", "capacity", "total", "gpu", "mb", "mib", "kb", "kib", "bytes"}
)
"""Words of the size of a cache that specs have, and beside it."""
ONE_WAY = frozenset({"unidirectional", "uni", "unidir", "oneway", "direction", "way"})
PER = frozenset({"per", "efficiency", "w"})
CAPABILITY = frozenset({"capability", "capabilities", "cap", "cc"})
"""Words of a version of what a device can do: `compute_cap`."""
OPS = frozenset({"flop", "flops", "op", "ops", "mac", "macs", "fma"})
OF_COMPUTE = frozenset(
    {
        "compute",
        "computing",
        "performance",
        "perf",
        "throughput",
        "rate",
        "speed",
        "power",
        "capacity",
        "ai",
        "dense",
        "sparse",
    }
)
"""Words beside `compute` in the name of a peak; beside others it is a time or a share: `t_compute_cycles`."""
VECTOR = frozenset({"vector", "simd", "shader", "valu"})
MATRIX = frozenset({"tensor", "matrix", "tc", "mma", "wmma", "mfma"})
MEASURED = frozenset(
    {
        *("achieved", "measured", "actual", "mfu", "efficiency", "utilization", "utilisation", "util", "ratio"),
        *("factor", "speedup", "seconds", "ms", "us", "latency", "time", "throughput", "weights", "weight", "loss"),
        *(
            "stream",
            "sustained",
            "effective",
            "observed",
            "empirical",
            "practical",
            "realistic",
            "attained",
            "expected",
        ),
        *("idle", "avg", "average", "mean", "bench", "benchmark", "tokens", "score", "overhead"),
        *("flash", "attention", "attn", "flashattention", "flashattn", "fa1", "fa2", "fa3", "fa4", "sdpa"),
        *("gemm", "sgemm", "hgemm", "dgemm", "blas", "cublas", "cutlass", "triton", "hpl", "linpack", "mlperf"),
        *("tps", "tok", "exponent", "multiplier", "fraction", "achievable"),
        *("elbow", "knee", "expert", "ridge", "balance", "intensity"),
    }
)
"""Words of what is measured or of a share: figures that specs do not have."""
DIMENSIONS = frozenset(
    {"size", "width", "height", "depth", "length", "count", "num", "number", "registers", "register", "lanes"}
    | {"grid", "block", "blocks", "tile", "batch", "threads", "warps"}
)
"""Words of how units are built and programs are cut, beside names of precisions as well: `fp16.vector_width`."""
GENERIC = frozenset(
    {"value", "size", "peak", "max", "theoretical", "amount", "total", "spec", "nominal", "rated", "default"}
    | {"base", "boost", "turbo", "hbm", "vram", "device", "gpu"}
)
"""Words of a field that leaves to its record what it is: `memory.size`, `clock.boost`."""
NESTED = re.compile(r"(?<=[A-Za-z0-9_)])\.(?=[A-Za-z_])")
DESCRIBED = frozenset(
    {"generation", "gen", "version", "ver", "revision", "type", "vendor", "manufacturer", "support", "supported"}
)
"""Words of what describes a device without a figure: `tensor_cores_generation`, `memory_type`."""
PARTS = frozenset(
    {part for one in ("controller", "slice", "stack", "channel", "bank", "partition") for part in (one, f"{one}s")}
)
"""Words of parts whose number specs do not have: `Memory controllers`, `L2 slices`."""
OF_ONE = frozenset(
    {"warps", "threads", "blocks", "regs", "reg", "registers", "smem", "shmem", "shared", "l1", "size", "lanes"}
)
"""Words of what one multiprocessor holds: `max_warps_sm`, `reg_size_sm`."""
UNRATED = frozenset({"salu", "scalar", "sfu", "rt", "raytracing", "texture", "texel", "pixel"})
"""Words of units whose rates specs do not have: `peak_salu_gops`, `RT Core TFLOPS`."""
HOST = frozenset({"host", "system", "sys", "cpu", "storage", "nvme", "ssd", "disk"})
"""Words of the machine around a device: its memory is not the device's."""
RUNNING = frozenset(
    {"train", "training", "inference", "load", "sleep", "min", "minimum", "supply", "psu", "recommended"}
)
"""Words of a power that is not the one that a device is rated at."""
PARTLY = frozenset({"cooling", "memory", "mem", "hbm", "dram", "compute", "computing", "process", "processing"})
"""Words of what takes a part of the power, and of `processing power`, which is a rate."""
LEFT = frozenset(
    {
        "usable",
        "free",
        "available",
        "reserved",
        "used",
        "usage",
        "allocated",
        "footprint",
        "required",
        "requirement",
        "needed",
        "recommended",
    }
    | {"min", "minimum", "context", "ctx", "kv"}
)
"""Words of a part of the memory, or of what a program wants of it."""
WHOLE = frozenset({"gpu", "device", "chip", "accelerator", "card", "board"})
"""Words of what a spec is about: a figure per GPU is one of the GPU."""
INSTANCES = frozenset({"instance", "vcpu", "vcpus", "cpus", "vm", "flavor", "flavour"})
"""Words of what a cloud rents: the memory beside them is that of the machine."""
PER_PART = re.compile(r"/\s*(sms?|gpcs?|tpcs?|cus?|cores?|nodes?|servers?|racks?)\b", re.IGNORECASE)
SIZE = re.compile(r"(?<![A-Za-z0-9.])\d+[ _-]?[GT]i?B(?![A-Za-z0-9/])", re.IGNORECASE)
"""A size that tells devices apart, and is no unit of the column: `H100 96GB`."""
REPEATED = re.compile(r" \(column \d+\)$")


@dataclass(frozen=True, slots=True)
class Rule:
    """A role, the words and units that indicate it, and the words that rule it out."""

    role: str
    words: frozenset[str]
    units: frozenset[str]
    spoilt: Set[str]


#: The first rule that fits decides.
RULES = (
    Rule(
        "clock",
        frozenset({"clock", "freq", "frequency"}),
        frozenset({"MHz", "GHz", "Hz"}),
        {"memory", "mem"} | PER | HOST,
    ),
    Rule("link", frozenset({"nvlink", "xgmi"}), frozenset(), ONE_WAY | {"links", "lanes"}),
    Rule("bandwidth", frozenset({"bw", "bandwidth", "bandwith"}), BANDWIDTHS, CACHES | LINKS | HOST | SPEEDS),
    Rule("bus", frozenset({"bus", "interface"}), frozenset({"bit"}), LINKS),
    Rule(
        "tdp",
        frozenset({"tdp", "tgp", "tbp", "power", "watt", "watts"}),
        frozenset({"W", "kW"}),
        PER - {"w"} | HOST | RUNNING | PARTLY,
    ),
    Rule(
        "capacity",
        frozenset({"vram", "memory", "mem", "capacity", "hbm", "dram"}),
        CAPACITIES,
        CACHES | HOST | LEFT | LINKS | SPEEDS | {"clock", "type", "compute", "bw", "bandwidth", "power"},
    ),
    Rule(
        "peak",
        frozenset({"peak", "peaks", "flops", "compute", "computing"}),
        RATES,
        PER | HOST | DIMENSIONS | CAPABILITY,
    ),
)


SAID = frozenset(word for rule in RULES for word in rule.words if len(word) > 2) - {"dram"}
"""Words of names that say what a figure is."""
