"""The shape of specs/silicon_ops.yaml: constants of streams, of attention and of FP8, and what they were fitted on."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from pydantic import Field

from rooflint.base.facts import Fact
from rooflint.devices.registry import Registry
from rooflint.devices.schema import SourcedSpec, Word
from rooflint.devices.spec_files import flatten, read_spec
from rooflint.kernels.constants import Constants as constants_Constants
from rooflint.kernels.constants import (
    SiliconConstantSpec,
    SiliconFile,
    SiliconFitSpec,
    check_names,
    found,
    silicon_file,
)

Constants = Annotated[dict[Word, SiliconConstantSpec], Field(min_length=1)]


class SiliconOpsSpec(SourcedSpec):
    """specs/silicon_ops.yaml: constants of latencies on a GPU beyond those of a matrix product."""

    fit: SiliconFitSpec
    stream: Constants
    prefill: Constants
    decode: Constants
    quantised: Constants


# ---- The constants of streams, of attention and of FP8 that all GPUs share, read from specs/silicon_ops.yaml

FILE = "silicon_ops.yaml"


@dataclass(frozen=True)
class Stream:
    """Of a kernel that moves bytes."""

    launch_clocks: float
    """From one kernel of a graph to the next, beside its own work. [clock]"""
    dram_efficiency: float
    """Share of the bandwidth that a stream attains. [1]"""
    l2_bytes: float
    """What an SM reads and writes where L2 holds all of it. [B/clock/SM]"""
    l2_reach: float
    """Bytes over L2 capacity at which half of them miss. [1]"""
    l2_sharpness: float
    """How suddenly L2 overflows. [1]"""


@dataclass(frozen=True)
class Prefill:
    """Of attention over a whole sequence."""

    matrix_efficiency: float
    """Share of its rate that a matrix unit attains. [1]"""
    launch_clocks: float
    """Of the op, beside its work. [clock]"""
    block_clocks: float
    """To fill and empty a block of queries. [clock]"""
    sync_block: float
    """Share of block_clocks that is seen where warps wait, as two blocks share such an SM. [1]"""


@dataclass(frozen=True)
class Decode:
    """Of attention of one new token over a cache."""

    launch_clocks: float
    """Of the op, beside its work. [clock]"""
    block_clocks: float
    """To fill and empty a block of keys. [clock]"""
    reduction_clocks: float
    """To combine what parts of a cache found, beside the bytes. [clock]"""


@dataclass(frozen=True)
class Quantised:
    """Of a matrix product in FP8, where it differs from one in bf16."""

    energy_share: float
    """Energy of one op over that of one in bf16. [1]"""


Group = Stream | Prefill | Decode | Quantised

GROUPS: Mapping[str, type[Group]] = MappingProxyType(
    {"stream": Stream, "prefill": Prefill, "decode": Decode, "quantised": Quantised}
)


@dataclass(frozen=True)
class OpConstants:
    """All groups, and the constants of matrix products that they rest on."""

    stream: Stream
    prefill: Prefill
    decode: Decode
    quantised: Quantised
    products: constants_Constants


@dataclass(frozen=True)
class OpsFile:
    """The file, read and checked."""

    spec: SiliconOpsSpec
    file: Path
    facts: Mapping[str, Fact]
    products: SiliconFile
    """The file of matrix products."""

    @property
    def constants(self) -> OpConstants:
        """The values."""
        return OpConstants(
            Stream(**self._values("stream")),
            Prefill(**self._values("prefill")),
            Decode(**self._values("decode")),
            Quantised(**self._values("quantised")),
            self.products.constants,
        )

    def without(self, family: str) -> OpConstants:
        """The values as they were fitted without a family, which they have not seen."""
        seen = self.constants
        unseen = {
            group: replace(getattr(seen, group), **{name: self.specs(group)[name].folds[family] for name in names})
            for group, names in ((group, self.fitted(group)) for group in GROUPS)
        }
        return replace(seen, **unseen, products=self.products.without(family))

    def fact(self, group: str, name: str) -> Fact:
        """The value of a constant with its source and line."""
        return self.facts[f"{group}.{name}.value"]

    def specs(self, group: str) -> Mapping[str, SiliconConstantSpec]:
        """What the file says of each constant of a group."""
        found: Mapping[str, SiliconConstantSpec] = getattr(self.spec, group)
        return found

    def fitted(self, group: str) -> tuple[str, ...]:
        """Names of the constants of a group that a fit finds."""
        return tuple(name for name, one in self.specs(group).items() if one.found == "fitted")

    def _values(self, group: str) -> dict[str, float]:
        return {name: self.fact(group, name).value for name in names(group)}


def names(group: str) -> tuple[str, ...]:
    """The constants of a group."""
    return tuple(field.name for field in fields(GROUPS[group]))


def ops_file(registry: Registry) -> OpsFile:
    """The file of the first root that has one. Raises InputError, or RooflintError where no root has one."""
    file, text = found(registry, FILE)
    return read(file, silicon_file(registry), text)


def read(file: Path, products: SiliconFile, text: str | None = None) -> OpsFile:
    """A file of constants, or a text in its place. Raises InputError."""
    document, spec = read_spec(file, SiliconOpsSpec, text)
    for group in GROUPS:
        check_names(document, group, getattr(spec, group), names(group))
    return OpsFile(spec, file, flatten(spec, document), products)
