"""Dispatch: the kernel model of an op in a precision on a chip, and what it says of ops of any sizes.

    kernel("gemm", device, registry, m=4096, n=[1, 8, 64], k=8192, precision="fp8").seconds

All callers use this function: `rooflint explain gemm`, networks, claims and calibration.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

import numpy as np

from rooflint.base.errors import RooflintError
from rooflint.base.facts import Fact
from rooflint.coefficients.library import Coefficients
from rooflint.hardware.device import Hardware
from rooflint.hardware.registry import Registry
from rooflint.kernels.attention import Attention
from rooflint.kernels.chip import Chip, chip_of, generation_of
from rooflint.kernels.collectives import Collective
from rooflint.kernels.constants import (
    BANDS,
    LEAST_ROWS,
    LIMITS,
    OPS_GROUPS,
    Constants,
    ConstantsFile,
    constants_file,
)
from rooflint.kernels.convolution import Convolution, WinogradConvolution
from rooflint.kernels.decode import Decode
from rooflint.kernels.device_calibration import Calibration
from rooflint.kernels.device_calibration import calibration as read_calibration
from rooflint.kernels.experts import ExpertLayer, Experts
from rooflint.kernels.kernel import Kernel, Regimes, Terms, Work
from rooflint.kernels.latent import LatentAttention, LatentDecode
from rooflint.kernels.products import CoresGemm, Fp8Gemm, Gemm, Scale
from rooflint.kernels.routing import ExpertExchange
from rooflint.kernels.shapes import COLD, Numbers
from rooflint.kernels.stream import QUANTISE, Dequantise, Other, Stream

ON_CORES: Mapping[str, type[Kernel]] = MappingProxyType({"gemm": CoresGemm, "convolution": WinogradConvolution})
"""Where CUDA cores compute."""

BY_PRECISION: Mapping[tuple[str, str], type[Kernel]] = MappingProxyType({("gemm", "fp8"): Fp8Gemm})
"""Measured in a precision of their own, on matrix units."""

OPS: Mapping[str, type[Kernel]] = MappingProxyType(
    {
        "gemm": Gemm,
        "convolution": Convolution,
        "attention": Attention,
        "decode": Decode,
        "latent_attention": LatentAttention,
        "latent_decode": LatentDecode,
        "stream": Stream,
        "quantise": type(QUANTISE),
        "dequantise": Dequantise,
        "experts": Experts,
        "expert_layer": ExpertLayer,
        "collective": Collective,
        "expert_exchange": ExpertExchange,
        "other": Other,
    }
)
"""All others, whose constants are carried over from the precision in which they were measured."""


class KernelError(RooflintError):
    """An op without a model, or an option or a size that its model does not have."""


def kernel_for(op: str, precision: str, chip: Chip, *, carried: bool = False, **options: Any) -> Kernel:
    """The model of an op; `carried`: the one of bf16, where what was measured in the precision is something else.

    Raises KernelError.
    """
    if op not in OPS:
        raise KernelError(f"op: want one of {', '.join(OPS)}, found '{op}'")
    found = OPS[op]
    if chip.cores is not None:
        found = ON_CORES.get(op, found)
    elif not carried:
        found = BY_PRECISION.get((op, precision), found)
    known = [field.name for field in fields(found) if field.name != "precision"]
    wrong = [name for name in options if name not in known]
    if wrong:
        raise KernelError(f"{op} in {precision} has no option '{wrong[0]}' (known: {', '.join(known) or 'none'})")
    if (scale := options.get("scale", "tensor")) not in get_args(Scale):
        raise KernelError(f"scale: want one of {', '.join(get_args(Scale))}, found '{scale}'")
    return found(precision=precision, **options)


def family_of(architecture: str) -> str:
    """The family that an architecture is fitted and scored in: its generation, and workstation Blackwell apart."""
    return "rtx_pro" if architecture.endswith("-gb202") else generation_of(architecture)


def family_title(family: str) -> str:
    """`Hopper`."""
    return {"rtx_pro": "RTX PRO"}.get(family, family.title())


def band_text(band: int) -> str:
    """`17 to 128`."""
    ends = (0, *BANDS)
    if band == 0:
        return f"up to {ends[1]}"
    return f"{ends[band] + 1} to {ends[band + 1]}" if band < len(BANDS) else f"more than {ends[band]}"


@dataclass(frozen=True)
class KernelTimes:
    """Ops of one kind on one chip, and what its model says of them."""

    kernel: Kernel
    work: Work
    chip: Chip
    constants: Constants

    @property
    def seconds(self) -> Numbers:
        """Of each op, as kernels of a CUDA graph. [s]"""
        return self.kernel.predict(self.work, self.chip, self.constants)

    @property
    def terms(self) -> Terms:
        """The same by term. [s]"""
        return self.kernel.terms(self.work, self.chip, self.constants)

    @property
    def floor_s(self) -> Numbers:
        """By the roofline. [s]"""
        return self.kernel.floor_s(self.work, self.chip)


RESOURCES = {
    "sms": "SMs",
    "macs_per_clock": "MAC/clock of an SM",
    "clock_hz": "clock",
    "l2_bytes": "L2 capacity",
    "bandwidth_bytes_per_s": "bandwidth",
    "tdp_w": "rated power",
}
"""Inputs of a chip by what a reader calls them."""


def with_more(times: KernelTimes, factor: float, names: Iterable[str] = RESOURCES) -> Iterator[tuple[str, float]]:
    """(resource, time of the one op) where a chip had so much more of it, one at a time. [s]"""
    for name in names:
        more = replace(times.chip, **{name: getattr(times.chip, name) * factor})
        yield name, replace(times, chip=more).seconds.item()


@dataclass(frozen=True)
class DeviceKernel(KernelTimes):
    """The same on a device, with what a reader must know of it."""

    hardware: Hardware
    file: ConstantsFile
    own: Calibration | None = None
    """What its owner measured of the machine; chip and constants have it."""

    def __repr__(self) -> str:
        name = type(self.kernel).__name__.lower()
        times = ", ".join(f"{one:.4g}" for one in self.seconds.ravel()[:3])
        return f"<DeviceKernel {name} on {self.hardware.label}: {times}{', …' if self.seconds.size > 3 else ''} s>"

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Of the device, then those of the machine's own calibration."""
        return (*self.chip.facts, *(self.own.facts.values() if self.own else ()))

    @property
    def errors(self) -> Mapping[str, float]:
        """Mean errors on families of GPUs that constants had not seen, by family; empty where not measured. [%]"""
        return self.file.errors(self.kernel.topic)

    @property
    def own_error(self) -> tuple[str, float] | None:
        """The family of the device and its held-out mean error; None where its architecture was not measured. [%]"""
        family = family_of(self.hardware.architecture or "")
        measured = self.hardware.architecture in self.kernel.measured_on and family in self.errors
        return (family, self.errors[family]) if measured else None

    @property
    def regimes(self) -> Regimes:
        """What limits each op, and in which band its rows are."""
        return self.kernel.regimes(self.work, self.chip, self.constants)

    @property
    def regime_errors(self) -> Mapping[str, Numbers]:
        """Mean error in the regime of each op by family; NaN where it was measured too rarely or never. [%]"""
        limit, band = self.regimes
        return {family: one.in_percent()[limit, band] for family, one in self.file.regimes(self.kernel.topic).items()}

    @property
    def regime_notes(self) -> tuple[str, ...]:
        """What is known of the error in each regime that the ops are in, in sentences; none where nothing is known."""
        if not self.file.regimes(self.kernel.topic):
            return ()
        places = sorted(set(zip(*map(np.ndarray.tolist, self.regimes), strict=True)))
        return tuple(self._regime_note(*place) for place in places)

    def _regime_note(self, limit: int, band: int) -> str:
        found = {name: one.in_percent()[limit, band] for name, one in self.file.regimes(self.kernel.topic).items()}
        known = [error for error in found.values() if not np.isnan(error)]
        what = f"{LIMITS[limit]}-bound ones with {band_text(band)} {self.kernel.counted}"
        own = self.own_error
        if own and not np.isnan(error := found.get(own[0], np.nan)):
            return f"{what} are {error:g} % off on {family_title(own[0])}"
        lacking = f"fewer than {LEAST_ROWS} {what} were measured on {family_title(own[0])}" if own else ""
        if not known:
            return f"{lacking or f'fewer than {LEAST_ROWS} {what} were measured'}, so their error is not known"
        others = f"{min(known):g} to {max(known):g} % off on {len(known)} measured families"
        return f"{lacking}; they are {others}" if own else f"{what} are {others}"

    @property
    def error_band(self) -> tuple[float, float] | None:
        """Lowest and highest mean error of a held-out family; None where not measured. [%]"""
        found = self.errors.values()
        return (min(found), max(found)) if found else None

    @property
    def over_folds(self) -> Sequence[Numbers]:
        """Seconds by the constants of each family left out. [s]"""
        groups = ["products", *OPS_GROUPS]
        unseen = [self.file.without(family, groups) for family in self.file.families()]
        if self.chip.cores:
            unseen += [self.file.without(family, ["cores"]) for family in self.file.families("cores")]
        return [replace(self, chip=chip, constants=one).seconds for chip, one in map(self._owned, unseen)]

    @property
    def caveats(self) -> tuple[str, ...]:
        """In sentences."""
        first = []
        if self.kernel.measured_on and self.hardware.architecture not in self.kernel.measured_on:
            first.append(f"no GPU of {self.hardware.architecture} is among the measurements: its error is not known")
        if self.own and self.own.spec.precision != self.kernel.precision:
            first.append(f"the machine was calibrated in {self.own.spec.precision}; its figures are used unchanged")
        return (*first, *self.kernel.caveats, FOR_MINUTES if self.chip.sustained else IN_A_GRAPH)

    def _owned(self, constants: Constants) -> tuple[Chip, Constants]:
        return self.own.own.of(self.chip, constants) if self.own else (self.chip, constants)


IN_A_GRAPH = (
    "kernels of a CUDA graph, in a short burst: a long run that heats up is slower, and launches from the host take "
    "longer"
)
FOR_MINUTES = (
    "kernels of a CUDA graph, in a run of minutes: errors are those of short bursts, and launches from the host take "
    "longer"
)


def kernel(
    op: str,
    hardware: Hardware,
    registry: Registry,
    *,
    precision: str = "bf16",
    copies: Numbers | float = COLD,
    calibration: Path | None = None,
    sustained: bool = False,
    **sizes_and_options: Any,
) -> DeviceKernel:
    """Ops of one kind on a device, by the constants that ship; sizes are broadcast against one another.

    `sustained`: as kernels of a run of minutes, whose power is held, and not of a burst.
    `calibration`: the file of figures of one machine that `rooflint calibrate device --save` writes.

    Raises KernelError, InputError, RooflintError, or MissingFactError for a device of which silicon is not known.
    """
    chip = chip_of(hardware, precision, Coefficients.of(registry).launches(), sustained=sustained)
    file = constants_file(registry)
    names = {field.name for one in OPS.values() for field in fields(one)} | {"scale"}
    options = {name: value for name, value in sizes_and_options.items() if name in names}
    model = kernel_for(op, precision, chip, **options)
    if not model.columns:
        raise KernelError(f"op: '{op}' has no sizes, so it cannot be timed by itself")
    if not np.all(np.asarray(copies) >= 1):
        raise KernelError(f"copies: want 1 or more, found {np.min(copies):g}")
    work = model.work(copies=copies, **{name: one for name, one in sizes_and_options.items() if name not in options})
    constants = file.constants
    own = read_calibration(calibration, hardware.id, chip, file) if calibration else None
    if own:
        chip, constants = own.own.of(chip, constants)
    return DeviceKernel(model, work, chip, constants, hardware, file, own)
