"""Chip: the facts of a GPU that latencies of kernels follow from, on matrix units or on CUDA cores."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, Self

from rooflint.base.facts import Fact
from rooflint.coefficients.library import LaunchOverheads
from rooflint.hardware.device import ComputeUnit, Hardware, UnsupportedError, working_units

WARP = 32
"""Threads of a warp: a matrix instruction that they issue together is waited for by them."""

CUDA_CORE = "cuda_core"
"""The circuit of units that compute one element a lane."""

MEASURED_ON_CORES = "fp32"
"""What CUDA cores were measured in."""


IN_SWITCH = ("nvidia/hopper-gh100",)
"""Architectures whose switches add up for NCCL.

With 8 H100 or H200 sums in half precision take three quarters of the time of those of one byte, which switches cannot
add; with 2 and 4 of them, and with A100 and Blackwell, both take as long to 10 %. Chosen by looking at the tables.
"""


EXPERTS_IN_PLACE = ("nvidia/blackwell-gb100", "nvidia/blackwell-gb110")
"""Architectures for which FlashInfer has kernels of experts that read rows where they lie.

vllm/model_executor/layers/fused_moe: only device capability 10.x supports TensorRT-LLM's experts.
"""


FIRST_WITH_TMA = 9
"""Compute capability from which on SMs have a Tensor Memory Accelerator. CUDA C++ Programming Guide, appendix."""


FINEST_NODE_M = 5e-9
"""The class of TSMC's 4N, in which Hopper, Ada and Blackwell are made: databases name it 4 or 5 nm. [m]"""


class MissingFactError(UnsupportedError):
    """A device whose spec lacks an input; the message names the fact."""


class Cores(NamedTuple):
    """What the speed of CUDA cores depends on beside their rate."""

    issued: float
    """Instructions that the schedulers of an SM issue. [1/clock]"""
    generation: str = ""
    """Of the architecture, for which libraries build their kernels: `pascal`, `volta`."""
    base_hz: float = 0.0
    """The clock that its maker promises under load, 0 where no document says it. [Hz]"""


COUNTED_ON = 20.0 / 25.0
"""Share of the bandwidth of NVLink that NCCL counts on, of Ampere and where it says nothing.

Rates of a link in NCCL, src/graph/topo.h at 069a3d4, ncclTopoNVLinkBw, over those of data sheets. [1]
"""
COUNTED: Mapping[str, float] = MappingProxyType({"hopper": 20.6 / 25.0, "blackwell": 40.1 / 50.0})
"""By generation, where it is another. [1]"""


class Link(NamedTuple):
    """What the time of a collective depends on: how a device is joined to the others that take part."""

    bandwidth_bytes_per_s: float
    """Of all links of a device, in one direction. [B/s]"""
    latency_s: float = 0.0
    """Of each step, beside that of links within a box, which is a constant of all GPUs. [s]"""
    reduces: bool = False
    """Whether switches add up what devices send."""
    counted: float = COUNTED_ON
    """Share of the bandwidth that NCCL counts on. [1]"""

    @property
    def attained_bytes_per_s(self) -> float:
        """By NCCL. [B/s]"""
        return self.counted * self.bandwidth_bytes_per_s

    @classmethod
    def of(cls, hardware: Hardware, bandwidth_bytes_per_s: float, *, switched: bool = True) -> Self:
        """Links of a device at a bandwidth, behind switches or not."""
        counted = COUNTED.get(generation_of(hardware.architecture or ""), COUNTED_ON)
        return cls(bandwidth_bytes_per_s, reduces=switched and hardware.architecture in IN_SWITCH, counted=counted)


@dataclass(frozen=True)
class Chip:
    """The inputs of kernel times for a GPU in one precision."""

    sms: float
    """Groups that tiles are handed to. [1]"""
    macs_per_clock: float
    """Dense, of one SM. [MAC]"""
    clock_hz: float
    """Of the matrix units. [Hz]"""
    l2_bytes: float
    bandwidth_bytes_per_s: float
    tdp_w: float
    special_functions: float
    """Exponentials that an SM finds. [1/clock]"""
    asynchronous: bool
    """Whether matrix instructions run beside the warps that issue them."""
    node_m: float = 0.0
    """What its process is named after, 5 nm for TSMC's 4N; 0 where no document says it. [m]"""
    sustained: bool = False
    """Whether it runs for minutes, as networks do, and not in a burst, which ends before its power is held."""
    graph_launch_s: float | None = None
    """What a document says that a launch in a graph costs on its architecture; None where none does. [s]"""
    cores: Cores | None = None
    """Where CUDA cores compute in the precision; None where matrix units do."""
    ecc: float = 0.0
    """Share of its memory that holds error correction, 0 where that has chips or bits of its own. [1]"""
    link: Link | None = None
    """Its fastest links to others of its kind; None where its spec has none."""
    reads_in_place: bool = False
    """Whether libraries have kernels of experts for it that read rows where they lie."""
    tma: bool = False
    """Whether its SMs have a Tensor Memory Accelerator, which copies tiles for the warps."""
    facts: tuple[Fact, ...] = ()

    @property
    def clock_s(self) -> float:
        """One clock. [s]"""
        return 1 / self.clock_hz

    @property
    def macs_per_s(self) -> float:
        """Dense peak. [MAC/s]"""
        return self.sms * self.macs_per_clock * self.clock_hz


def chip_of(hardware: Hardware, precision: str, launches: LaunchOverheads, *, sustained: bool = False) -> Chip:
    """The chip that a device is in a precision; `launches` are what documents say of launching kernels.

    Raises MissingFactError with all facts that its spec lacks, and for CUDA cores in a precision in which nobody
    measured them; UnsupportedError or UndisclosedError as `working_units`.
    """
    unit = working_units(hardware, precision)[0]
    wanted = {
        f"units.{unit.name}.issue_threads": "threads that issue an instruction together",
        f"special_function_units.{unit.group}": "units that find the exponentials of a softmax",
        "caches.l2.capacity": "capacity of the L2 cache",
        "tdp": "rated power",
        **(_of_cores(hardware, unit, precision) if unit.circuit == CUDA_CORE else {}),
    }
    threads, special, l2, tdp, *on_cores = _facts(hardware, wanted)
    base = [hardware.facts["clocks.base"]] if on_cores and "clocks.base" in hardware.facts else []
    process = [hardware.facts["process"]] if "process" in hardware.facts else []
    main = hardware.main_memory()
    memory, ecc = main.derivation(), [main.facts["ecc"]] if "ecc" in main.facts else []
    launch = launches.taken_for(hardware, "graph")
    generation = generation_of(hardware.architecture or "")
    return Chip(
        sms=unit.groups,
        macs_per_clock=unit.per_group * unit.macs_per_clock(precision),
        clock_hz=unit.clock_hz(precision),
        l2_bytes=l2.value,
        bandwidth_bytes_per_s=memory.result,
        tdp_w=tdp.value,
        special_functions=special.value,
        asynchronous=threads.value != WARP,
        graph_launch_s=launch.value if launch else None,
        node_m=max(FINEST_NODE_M, process[0].value) if process else 0.0,
        sustained=sustained,
        cores=Cores(on_cores[0].value, generation, *(one.value for one in base)) if on_cores else None,
        ecc=ecc[0].value if ecc else 0.0,
        link=device_link(hardware),
        reads_in_place=hardware.architecture in EXPERTS_IN_PLACE,
        tma=int((hardware.compute_capability or "0").partition(".")[0]) >= FIRST_WITH_TMA,
        facts=tuple(
            dict.fromkeys(
                (
                    *unit.derivation(precision).facts,
                    *(threads, special, *on_cores, *base, *process, l2, tdp, *memory.facts, *ecc),
                    *(launch.facts if launch else ()),
                )
            )
        ),
    )


def generation_of(architecture: str) -> str:
    """`volta` of nvidia/volta-gv100."""
    return architecture.rpartition("/")[2].partition("-")[0]


def device_link(hardware: Hardware) -> Link | None:
    """The fastest links of a device in one direction; None where its spec has none."""
    one_way = [link.derivation(1).result for link in hardware.links.values()]
    return Link.of(hardware, max(one_way)) if one_way else None


def _of_cores(hardware: Hardware, unit: ComputeUnit, precision: str) -> dict[str, str]:
    """What issues instructions, and the process, with what they are. Raises MissingFactError."""
    if precision != MEASURED_ON_CORES:
        raise MissingFactError(
            f"{hardware.label} computes {precision} on its {unit.name}, measured only in {MEASURED_ON_CORES}; "
            "this precision has no calibrated latency"
        )
    several = f"dispatch_units.{unit.group}"  # where a scheduler has more than one
    issuing = several if several in hardware.facts else f"warp_schedulers.{unit.group}"
    return {
        issuing: "schedulers that issue to its CUDA cores",
        "process": "process, which sets the energy of an op",
    }


def _facts(hardware: Hardware, wanted: Mapping[str, str]) -> list[Fact]:
    """The facts at some paths. Raises MissingFactError with all that the spec lacks, and what they are."""
    lacking = [f"'{path}': {what}" for path, what in wanted.items() if path not in hardware.facts]
    if lacking:
        fact, them = ("fact", "it") if len(lacking) == 1 else ("facts", "them")
        raise MissingFactError(
            f"{hardware.label} lacks the {fact} {', '.join(lacking)}; "
            f"silicon latencies need {them}, and are calibrated on NVIDIA's GPUs"
        )
    return [hardware.facts[path] for path in wanted]
