"""Topics: the ops that were measured, each with its kernel model, its sizes, its regimes and its devices."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

import numpy as np

from rooflint.base.units import OPS_PER_MAC
from rooflint.coefficients.library import Coefficients
from rooflint.hardware.registry import Registry
from rooflint.kernels import attention, latent
from rooflint.kernels.chip import Chip, chip_of
from rooflint.kernels.collectives import Kind, Library, Messages
from rooflint.kernels.constants import OPS_GROUPS, Constants, constants_file
from rooflint.kernels.decode import Decode
from rooflint.kernels.dispatch import kernel_for
from rooflint.kernels.experts import Layers
from rooflint.kernels.kernel import Kernel, Terms, Work
from rooflint.kernels.products import Scale
from rooflint.kernels.routing import Kernels, Tokens
from rooflint.kernels.shapes import Numbers, Shapes, shapes
from rooflint.kernels.stream import Given
from rooflint.workloads.parallelism import Way
from rooflint_calibration import layers, package, rows
from rooflint_calibration.package import FAMILIES, devices
from rooflint_calibration.rows import Mask, Rows

PRODUCT = {"all": "all", "large": "> 20 GFLOP", "small": "< 1 GFLOP", "narrow": "m ≤ 16"}
PREFILL = {"all": "all", "large": "> 20 GFLOP", "small": "< 1 GFLOP", "short": "≤ 64 tokens"}
DECODE = {"all": "all", "large": "> 300 MB", "small": "< 10 MB"}
STREAM = {"all": "all", "large": "> 100 MB", "small": "< 1 MB"}
EXPERTS = {"all": "all", "large": "> 1024 tokens", "small": "≤ 64 tokens", "fewest": "≤ 4 tokens", "ranks": "> 1 rank"}
COLLECTIVE = {"all": "all", "large": "> 1 MB", "small": "< 64 kB", "pairs": "> 1 MB, 2 GPUs", "boxes": "> 1 MB, 8 GPUs"}
ROUTED = {"all": "all", "large": "> 512 tokens", "small": "≤ 64 tokens"}
"""Regimes by their word in a claim, with their label in the docs."""

WARM = 1.0
"""Benchmarks repeat an op on the same tensors."""

ON_PCIE = ("ada", "rtx_pro")
"""Families without NVLink: how their boxes are wired is not known, so that they are scored but not fitted to."""

NO_LATENTS = ("ada", "rtx_pro")
"""Families with other kernels for latents, of TensorRT-LLM and SGLang: scored, but not fitted to."""

ON_WARPS = ("nvidia/a100-sxm4-80gb", "nvidia/l40s", "nvidia/rtx-pro-6000-blackwell-server")
"""Devices on which TensorRT-LLM decodes latents without splitting caches; SGLang was not measured on the first."""

NO_FP8_LATENTS = ("nvidia/a100-sxm4-80gb", "nvidia/l40s")
"""Devices of which a cache in FP8 takes as long as one in bf16, so that it was none."""

NO_DEEPEP = ("nvidia/a100-sxm4-80gb", "nvidia/l40s", "nvidia/rtx-pro-6000-blackwell-server")
"""Measured devices without tables of tokens that go to experts on other devices."""

NO_FP8 = ("nvidia/a100-sxm4-80gb",)
"""Measured devices without FP8."""


@dataclass(frozen=True)
class Topic:
    """One op in one precision: its measured rows and its kernel model."""

    title: str
    """In the tables of `rooflint calibrate`."""
    op: str
    columns: tuple[str, ...]
    """Columns of its rows; `copies` is the number of sets of weights in rotation."""
    regimes: Mapping[str, str]
    """Parts of the data by their word in a claim, with their label in the docs."""
    read: Callable[[Path, str, Chip], Rows]
    """All rows of a device, from the folder of the package."""
    group: str
    """The group of its constants."""
    fits: bool = False
    """Whether they are fitted to it; otherwise it checks constants that were fitted to another topic."""
    precision: str = "bf16"
    copies: float = WARM
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the kernel model."""
    absent: tuple[str, ...] = ()
    """Measured devices without it."""
    only_scored: tuple[str, ...] = ()
    """Families to which nothing is fitted."""

    def kernel(self, chip: Chip) -> Kernel:
        """The kernel model that is shipped."""
        return kernel_for(self.op, self.precision, chip, **self.options)

    def work(self, sizes: Numbers, chip: Chip) -> Work:
        """Rows as the kernel model takes them."""
        named = dict(zip(self.columns, sizes.T, strict=True))
        return self.kernel(chip).work(**{"copies": self.copies, **named})

    def predict(self, sizes: Numbers, chip: Chip, constants: Constants) -> Numbers:
        """Time of each row. [s]"""
        return self.kernel(chip).predict(self.work(sizes, chip), chip, constants)

    def terms(self, sizes: Numbers, chip: Chip, constants: Constants) -> Terms:
        """Time of each row, by term. [s]"""
        return self.kernel(chip).terms(self.work(sizes, chip), chip, constants)

    def roofline(self, sizes: Numbers, chip: Chip) -> Numbers:
        """The roofline of each row. [s]"""
        return self.kernel(chip).floor_s(self.work(sizes, chip), chip)

    def alpha_beta(self, sizes: Numbers, chip: Chip, constants: Constants) -> Numbers | None:
        """Latency and bandwidth alone of each row; None of what sends nothing to other devices. [s]"""
        return self.kernel(chip).alpha_beta_s(self.work(sizes, chip), chip, constants)

    def inside(self, regime: str, sizes: Numbers) -> Mask:
        """Rows of these sizes in a regime."""
        columns = dict(zip(self.columns, sizes.T, strict=True))
        return np.asarray(_REGIMES[self.op](regime, columns, self.options))

    def chip(self, registry: Registry, device: str) -> Chip:
        """A device in the precision of the topic. Raises RooflintError."""
        return chip_of(registry.get(device), self.precision, Coefficients.of(registry).launches())


ALL = 10**9
"""More rows than any device has."""


def sample(registry: Registry, topic: str, device: str, regime: str = "all", count: int = ALL) -> tuple[Rows, Chip]:
    """`count` rows of a regime on a device, the same on every machine, and its chip.

    Raises NotInstalledError or RooflintError.
    """
    chip = TOPICS[topic].chip(registry, device)
    every = measured(topic, device, chip)
    return every.only(TOPICS[topic].inside(regime, every.sizes)).picked(count), chip


@cache
def measured(topic: str, device: str, chip: Chip) -> Rows:
    """All rows of a device. Raises NotInstalledError or RooflintError."""
    return TOPICS[topic].read(package.data_folder(), device, chip)


def unseen(registry: Registry, family: str) -> Constants:
    """All constants fitted without a family. Raises InputError, RooflintError, or KeyError for an unknown family."""
    file = constants_file(registry)
    if family not in file.families():
        raise KeyError(family)
    return file.without(family)


def measured_devices(topic: str) -> dict[str, tuple[str, ...]]:
    """The devices of each family on which a topic was measured."""
    found = {family: tuple(name for name in devices(family) if name not in TOPICS[topic].absent) for family in FAMILIES}
    return {family: names for family, names in found.items() if names}


# ---- Regimes, from the sizes of rows by name

Columns = Mapping[str, Numbers]


def product_regime(regime: str, products: Shapes) -> Mask:
    """Products in a regime."""
    return _by_size(regime, OPS_PER_MAC * products.macs / 1e9, 20, 1, narrow=products.m <= 16)


def _sequences(regime: str, columns: Columns, options: Mapping[str, Any]) -> Mask:
    sizes = attention.Sequences(*columns.values())
    gflop = attention.ops(sizes, causal=options.get("causal", False)) / 1e9
    return _by_size(regime, gflop, 20, 1, short=sizes.tokens <= 64)


def _caches(regime: str, columns: Columns, options: Mapping[str, Any]) -> Mask:
    model = Decode(**options)
    return _by_size(regime, model.bytes_moved(model.work(**columns)) / 1e6, 300, 10)


def _latents(regime: str, columns: Columns, options: Mapping[str, Any]) -> Mask:
    model = latent.LatentAttention(**options)
    work = model.work(**columns)
    return _by_size(regime, OPS_PER_MAC * model.macs(work) / 1e9, 20, 1, short=columns["tokens"] <= 64)


def _latent_caches(regime: str, columns: Columns, options: Mapping[str, Any]) -> Mask:
    model = latent.LatentDecode(**options)
    return _by_size(regime, model.bytes_moved(model.work(**columns)) / 1e6, 300, 10)


def _by_size(regime: str, size: Numbers, large: float, small: float, **others: Mask) -> Mask:
    masks = {"all": np.ones(len(size), bool), "large": size > large, "small": size < small, **others}
    return masks[regime]


def _layers_of_experts(regime: str, columns: Columns, _: Mapping[str, Any]) -> Mask:
    tokens = columns["tokens"]
    few = {"small": tokens <= 64, "fewest": tokens <= 4, "ranks": columns["ranks"] > 1}
    return few[regime] if regime in few else _by_size(regime, tokens, 1024, 0)


def _messages(regime: str, columns: Columns, _: Mapping[str, Any]) -> Mask:
    size, members = columns["message_bytes"], columns["members"]
    others = {"pairs": (size > 1e6) & (members == 2), "boxes": (size > 1e6) & (members == 8)}
    return _by_size(regime, size, 1e6, 64e3, **others)


_REGIMES: Mapping[str, Callable[[str, Columns, Mapping[str, Any]], Mask]] = MappingProxyType(
    {
        "gemm": lambda regime, row, _: product_regime(regime, shapes(row["m"], row["n"], row["k"])),
        "attention": _sequences,
        "decode": _caches,
        "collective": _messages,
        "expert_layer": _layers_of_experts,
        "expert_exchange": lambda regime, row, _: _by_size(regime, row["tokens"], 512, 65),
        "latent_attention": _latents,
        "latent_decode": _latent_caches,
        "quantise": lambda regime, row, _: _by_size(regime, 3 * row["m"] * row["k"], 1e8, 1e6),
    }
)


ATTENTION = attention.Sequences._fields
PREFILLED = {"causal": True, "append_bytes": 2.0}
"""Prefill was measured with the step that appends K and V to a cache in bf16."""


def _experts(title: str, skew: float) -> Topic:
    return Topic(
        title,
        "expert_layer",
        Layers._fields,
        EXPERTS,
        partial(layers.experts, skew=skew),
        "experts",
        fits=True,
        options={"skew": skew},
    )


def _scaled(title: str, given: Given, framework: str) -> Topic:
    return Topic(
        title,
        "quantise",
        ("m", "k"),
        STREAM,
        partial(rows.quantise_with, framework=framework),
        "scales",
        fits=True,
        options={"given": given},
        absent=NO_FP8,
    )


def _collective(title: str, kind: Kind, library: Library) -> Topic:
    return Topic(
        title,
        "collective",
        Messages._fields,
        COLLECTIVE,
        partial(layers.collective, kind=kind, library=library),
        "collectives",
        fits=True,
        options={"kind": kind, "library": library},
        only_scored=ON_PCIE,
    )


def _routed(title: str, way: Way, kernels: Kernels) -> Topic:
    return Topic(
        title,
        "expert_exchange",
        Tokens._fields,
        ROUTED,
        partial(layers.routed, way=way, kernels=kernels),
        "routing",
        fits=True,
        precision="fp8" if way == "dispatch" else "bf16",
        options={"way": way, "kernels": kernels},
        absent=NO_DEEPEP,
    )


def _from_host(title: str, way: Way) -> Topic:
    return Topic(
        title,
        "expert_exchange",
        Tokens._fields,
        ROUTED,
        partial(layers.routed_from_host, way=way),
        "routing",
        options={"way": way},
        absent=NO_DEEPEP,
    )


TOPICS: Mapping[str, Topic] = MappingProxyType(
    {
        "gemm": Topic("gemm", "gemm", ("m", "n", "k", "copies"), PRODUCT, rows.products, "products", fits=True),
        **{
            f"fp8_{scale}": Topic(
                f"fp8 by {scale}",
                "gemm",
                ("m", "n", "k", "copies"),
                PRODUCT,
                partial(rows.fp8_products, scale=scale),
                "quantised",
                precision="fp8",
                options={"scale": scale},
                absent=NO_FP8,
            )
            for scale in get_args(Scale)
        },
        "quantise": Topic(
            "quantise",
            "quantise",
            ("m", "k"),
            STREAM,
            rows.quantise,
            "stream",
            fits=True,
            absent=NO_FP8,
        ),
        "quantise_row": _scaled("quantise, a scale of each row", "row", "vllm"),
        "quantise_tensor": _scaled("quantise, a scale of the tensor", "tensor", "trtllm"),
        "prefill": Topic(
            "prefill", "attention", ATTENTION, PREFILL, rows.prefill, "prefill", fits=True, options=PREFILLED
        ),
        "encoder": Topic("encoder", "attention", ATTENTION, PREFILL, rows.encoder, "prefill", absent=NO_FP8),
        "decode": Topic("decode", "decode", ATTENTION, DECODE, rows.decode, "decode", fits=True),
        "decode_fp8": Topic(
            "decode, fp8 cache",
            "decode",
            ATTENTION,
            DECODE,
            partial(rows.decode, cache="fp8"),
            "decode",
            options={"cache_bytes": 1.0},
            absent=NO_FP8,
        ),
        "mla_prefill": Topic(
            "MLA prefill", "latent_attention", latent.Latents._fields, PREFILL, layers.latent_prefill, "prefill"
        ),
        "mla_decode": Topic(
            "MLA decode",
            "latent_decode",
            latent.Latents._fields,
            DECODE,
            layers.latent_decode,
            "latent",
            fits=True,
            absent=ON_WARPS[:1],
            only_scored=NO_LATENTS,
        ),
        "mla_decode_whole": Topic(
            "MLA decode, whole caches",
            "latent_decode",
            latent.Latents._fields,
            DECODE,
            partial(layers.latent_decode, library="trtllm"),
            "latent",
            options={"split": False},
            absent=tuple(name for name in package.FAMILY_OF if name not in ON_WARPS),
        ),
        "mla_decode_parts": Topic(
            "MLA decode, parts of caches",
            "latent_decode",
            latent.Latents._fields,
            DECODE,
            partial(layers.latent_decode, library="sglang"),
            "latent_parts",
            fits=True,
            options={"whole": False},
            absent=tuple(name for name in package.FAMILY_OF if name not in ON_WARPS[1:]),
        ),
        "mla_decode_fp8": Topic(
            "MLA decode, fp8 cache",
            "latent_decode",
            latent.Latents._fields,
            DECODE,
            partial(layers.latent_decode, cache="fp8"),
            "latent",
            options={"cache_bytes": 1.0},
            absent=NO_FP8_LATENTS,
        ),
        "moe_balanced": _experts("MoE, balanced", 0.0),
        "moe_skewed": _experts("MoE, power law 1.01", 1.01),
        "moe_very_skewed": _experts("MoE, power law 1.2", 1.2),
        "all_reduce": _collective("all-reduce", "all_reduce", "framework"),
        "nccl_all_reduce": _collective("NCCL all-reduce", "all_reduce", "nccl"),
        "nccl_all_gather": _collective("NCCL all-gather", "all_gather", "nccl"),
        "nccl_reduce_scatter": _collective("NCCL reduce-scatter", "reduce_scatter", "nccl"),
        "nccl_all_to_all": _collective("NCCL all-to-all", "all_to_all", "nccl"),
        "dispatch_normal": _routed("dispatch", "dispatch", "normal"),
        "combine_normal": _routed("combine", "combine", "normal"),
        "dispatch_low_latency": _routed("dispatch, low latency", "dispatch", "low_latency"),
        "combine_low_latency": _routed("combine, low latency", "combine", "low_latency"),
        "dispatch_from_host": _from_host("dispatch from the host", "dispatch"),
        "combine_from_host": _from_host("combine from the host", "combine"),
    }
)
"""Topics by their word in a claim; FP8 products have one scale a tensor, or one a block of 128."""

BESIDE_PRODUCTS = tuple(name for group in OPS_GROUPS for name in TOPICS if TOPICS[name].group == group)
"""Topics of `rooflint calibrate attention` in the order of the fit: attention reads bytes as quantise kernels do."""
