"""A small family of made-up devices with round numbers, so that each cause can be worked out by hand."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from rooflint.diagnosis.causes import Case, Span
from rooflint.hardware.device import Hardware
from rooflint.hardware.registry import Registry

SOURCES = "kind: gpu\nsources: {wp: {document: White paper, grade: quoted}}\n"


def architecture(name: str, per_group: int, fp16: int, int8: int, lanes: int, more: str = "") -> str:
    return f"""\
name: {name}
{SOURCES}{more}units:
  tensor_core:
    group: SM
    circuit: tensor_core
    per_group: [{per_group}, wp, p]
    macs_per_clock: {{fp16: [{fp16} MAC, wp, p], int8: [{int8} MAC, wp, p]}}
    sparsity: {{fp16: [2, wp, p], int8: [2, wp, p]}}
  cuda_core: {{group: SM, circuit: cuda_core, per_group: [{lanes}, wp, p], macs_per_clock: {{fp32: [1 MAC, wp, p]}}}}
"""


def device(of: str, groups: int, clocks: tuple[int, int, int], bus: int, pin_rate: float, more: str = "") -> str:
    base, boost, lanes = clocks
    return f"""\
name: {of} {groups}
architecture: {of}
{SOURCES}clocks: {{base: [{base} MHz, wp, p], boost: [{boost} MHz, wp, p]}}
units:
  tensor_core: {{groups: [{groups}, wp, p], clock: [{boost} MHz, wp, p]}}
  cuda_core: {{groups: [{groups}, wp, p], clock: [{lanes} MHz, wp, p]}}
memories: {{hbm: {{capacity: [16 GB, wp, p], bus: [{bus} bit, wp, p], pin_rate: [{pin_rate} Gbit/s, wp, p]}}}}
{more}
"""


FILES = {
    "architectures/acme/new": architecture("New", 4, 256, 512, 128, "full_die: {SM: [20, wp, p]}\n"),
    "architectures/acme/old": architecture("Old", 8, 64, 128, 64),
    "architectures/rival/far": architecture("Far", 8, 1024, 96, 64),
    "hardware/acme/big": device(
        "acme/new", 16, (1000, 1500, 1600), 256, 8,
        "operating_points: {slow: {units.tensor_core.clock: [750 MHz, wp, p]}}",
    ),
    "hardware/acme/small": device("acme/new", 10, (900, 1300, 1300), 256, 6),
    "hardware/acme/elder": device("acme/old", 12, (800, 1100, 1100), 128, 4),
    "hardware/acme/eldest": device("acme/old", 6, (700, 1050, 1050), 128, 4),
    "hardware/rival/one": device("rival/far", 40, (1200, 1400, 1400), 192, 7),
}  # fmt: skip


class Family(SimpleNamespace):
    """The registry of the family, and cases of its largest device, with or without an error planted in it."""

    registry: Registry
    big: Hardware

    def planted(self, path: str, value: float, *, above: bool = False) -> Hardware:
        """The largest device with another value of a fact: of its own, or of its architecture above it."""
        wrong = self.big.facts[path].with_value(value)
        return self.big.with_facts({path: wrong if above else replace(wrong, file=self.big.file)})

    def peak(self, device: Hardware, expected: float | None = None, *, sparse: bool = False) -> Case:
        """Its INT8 peak, by default against the right one of the largest device, printed with four digits."""
        ladder = device.unit("tensor_core").derivation("int8", sparse=sparse)
        right = expected or self.big.unit("tensor_core").derivation("int8", sparse=sparse).result
        return Case(ladder, within(ladder.result, right), device, self.registry, "tensor_core", "int8", sparse)

    def bandwidth(self, device: Hardware, expected: float | None = None) -> Case:
        """Its bandwidth, by default against the right one of the largest device, 256 / 8 × 8 Gbit/s = 256 GB/s."""
        ladder = device.memory("hbm").derivation()
        return Case(ladder, within(ladder.result, expected or 256e9), device, self.registry)


def within(obtained: float, expected: float) -> Span:
    ratio = obtained / expected
    return Span(ratio / (1 + 5e-4), ratio / (1 - 5e-4))


@pytest.fixture(scope="session")
def family(tmp_path_factory: pytest.TempPathFactory) -> Family:
    """Two devices of acme/new, two of acme/old and one of another vendor."""
    root: Path = tmp_path_factory.mktemp("family")
    for name, text in FILES.items():
        file = root / f"{name}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    registry = Registry((root,))
    return Family(registry=registry, big=registry.get("acme/big"))
