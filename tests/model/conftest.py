"""Small specs folders for tests of the model, and what a refusal must say."""

import re
from collections.abc import Callable
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import pytest

from rooflint.base.errors import InputError
from rooflint.coefficients.library import Coefficients
from rooflint.cost.tables import Grid, Prices
from rooflint.hardware.registry import Registry


@pytest.fixture
def refused(specs: Any) -> Callable[..., list[str]]:
    """`refused(body)`: the sentences with which a device spec with that body is refused, in order.

    Each should name the line of the body that is marked `# here`; one that names another place comes with that place.
    """

    def sentences(body: str, *, head: str = specs.HEAD) -> list[str]:
        text = head + dedent(body)
        (line,) = [number for number, content in enumerate(text.splitlines(), start=1) if "# here" in content]
        file = specs.write("acme/one", text)
        with pytest.raises(InputError) as caught:
            specs.registry().get("acme/one")
        return sorted(
            problem.message if (problem.file, problem.line) == (file, line) else str(problem)
            for problem in caught.value.problems
        )

    return sentences


SOURCES = "sources:\n  a: {document: Paper A, grade: quoted}\n  b: {document: Paper B, grade: estimate}\n"
NODE = f"""\
name: 45 nm
{SOURCES}readings:
  one:
    add: {{fp16: [0.4 pJ/op, a, t. 1], int8: [0.03 pJ/op, a, t. 1]}}
    multiply: {{fp16: [1.1 pJ/op, a, t. 1]}}
    sram: {{kib8: {{capacity: [8 KiB, a, t. 1], read: [10/8 pJ/B, a, t. 1]}}}}
    wire: {{random_bit: [0.12 pJ/bit/mm, a, t. 2], transition: [0.24 pJ/bit/mm, a, t. 2]}}
    relative_power: {{28nm: [0.9, a, t. 3]}}
"""
MEMORY = f"""\
name: HBM9
{SOURCES}readings:
  guess: {{scope: device, low: [3 pJ/bit, b, p. 1], high: [5 pJ/bit, b, p. 1]}}
  paper: {{scope: device, typical: [4 pJ/bit, a, p. 2]}}
  activation: {{scope: activation, typical: [1.5 pJ/bit, a, p. 2]}}
  movement: {{scope: movement, typical: [2 pJ/bit, a, p. 2]}}
  io: {{scope: io, typical: [0.5 pJ/bit, a, p. 2]}}
  table: {{scope: unstated, low: [4 pJ/bit, a, p. 3], high: [7 pJ/bit, a, p. 3]}}
"""
EVENTS = f"""\
name: GPU
{SOURCES}events:
  instruction:
    what: All that one instruction of a lane costs beside its operation.
    per: lane_instruction
    covers: [fetch, decode, operands]
    readings:
      paper: {{node: 45nm, typical: [30 pJ, a, p. 1]}}
      guess: {{node: 45nm, low: [20 pJ, b, p. 1], high: [40 pJ, b, p. 1]}}
      young: {{node: 7nm, typical: [5 pJ, b, p. 2]}}
      loose: {{typical: [1 pJ, b, p. 3]}}
  fetch:
    what: The fetch of one instruction.
    per: lane_instruction
    covers: [fetch]
    readings: {{paper: {{node: 45nm, typical: [12 pJ, a, p. 1]}}}}
  operands:
    what: The operands of one instruction.
    per: lane_instruction
    covers: [operands]
    readings: {{paper: {{node: 45nm, typical: [9 pJ, a, p. 1]}}}}
  hop:
    what: One number to the next core.
    per: hop
    covers: [movement]
    readings: {{guess: {{typical: [3 pJ, b, p. 4]}}}}
idle:
  busy: {{state: context, low: [50/300, a, p. 5], high: [60/300, a, p. 5]}}
  bare: {{state: no_context, typical: [30/300, a, p. 5]}}
"""
LAUNCHES = f"""\
name: Launches
{SOURCES}launches:
  gpu:
    acme:
      stream:
        what: One kernel of many.
        readings: {{paper: {{typical: [2.5 µs, a, p. 1]}}, guess: {{low: [1 µs, b, p. 1], high: [4 µs, b, p. 1]}}}}
    any: {{graph: {{what: One kernel of a graph., readings: {{paper: {{typical: [500 ns, a, p. 2]}}}}}}}}
"""
CIRCUITS = f"name: Factors\n{SOURCES}factors: {{tensor_core: [0.85, b, p. 1]}}\noverhead: [1.4, b, p. 1]\n"


class Energies:
    """A specs root with one node, one memory, one kind of processor, circuit factors and launches, to be edited."""

    def __init__(self, specs: Any) -> None:
        self.specs = specs
        self.texts = {
            "process/45nm": NODE,
            "memory/hbm9": MEMORY,
            "events/gpu": EVENTS,
            "circuits": CIRCUITS,
            "launches": LAUNCHES,
        }

    def edit(self, name: str, old: str, new: str) -> int:
        """Replace a text that the file has exactly once; its line."""
        text = self.texts[name]
        assert text.count(old) == 1, f"'{old}' is {text.count(old)} times in {name}"
        self.texts[name] = text.replace(old, new)
        return text[: text.index(old)].count("\n") + 1

    def read(self) -> Coefficients:
        """The files as they are now, without the packaged ones."""
        for name, text in self.texts.items():
            section, _, file = name.rpartition("/")
            self.specs.write(file, text, section)
        return Coefficients(self.specs.registry())

    def refused(self, name: str, old: str, new: str) -> str:
        """What is said of a file with one change; it names the line that was changed."""
        line = self.edit(name, old, new)
        coefficients = self.read()
        with pytest.raises(InputError) as caught:
            coefficients.check(self.specs.root / f"{name}.yaml")
        message = "\n".join(f"{problem.message} (line {problem.line})" for problem in caught.value.problems)
        assert re.search(rf"\bline {line}\b", message), message
        return message


@pytest.fixture
def energies(specs: Any) -> Energies:
    """One node, one memory, one kind of processor, one circuit factor, two launches."""
    return Energies(specs)


DEVICE = """\
name: Acme One
kind: gpu
sources: {wp: {document: White paper, grade: quoted}}
tdp: [100 W, wp, p. 1]
"""
PRICES = f"""\
name: Prices
{SOURCES}devices:
  acme/one:
    rent:
      - {{price: [2 USD/h, a, row 1], provider: Big Cloud, region: us-one, date: 2025-03-01}}
      - {{price: [3 USD/h, a, row 2], provider: Big Cloud, region: us-one, date: 2024-03-01}}
      - {{price: [1.5 USD/h, b, row 3], provider: Small Cloud, date: 2025-03-01}}
      - {{price: [0.5 USD/h, b, row 4], provider: Small Cloud, terms: marketplace, date: 2025-06-01}}
    purchase:
      - {{price: [8000 USD, a, row 5], date: 2024-01-01}}
      - {{price: [18000 USD, a, row 6], date: 2024-01-02, includes: server_share}}
    embodied:
      - {{carbon: [160 kg, a, row 7], year: 2024}}
products:
  Acme:
    rent:
      - {{price: [4 USD/h, a, row 8], provider: Big Cloud, date: 2025-03-01}}
"""
GRID = f"""\
name: Grid
{SOURCES}places:
  one:
    name: Country One
    carbon:
      - {{intensity: [400 g/kWh, a, row 1], year: 2022}}
      - {{intensity: [380 g/kWh, a, row 2], year: 2023}}
    electricity:
      - {{price: [10/100 USD/kWh, a, row 3], year: 2023, sector: commercial}}
      - {{price: [7/100 USD/kWh, a, row 4], year: 2023, sector: industrial}}
  big/us-one:
    name: Region of Big Cloud
    within: one
    pue:
      - {{factor: [1.1, b, row 5], year: 2025}}
"""


class Economics(Energies):
    """A specs root with a device, its prices and two places, to be edited."""

    def __init__(self, specs: Any) -> None:
        self.specs = specs
        self.texts = {"hardware/acme/one": DEVICE, "prices/acme": PRICES, "grid/one": GRID}

    def registry(self) -> Registry:
        """The files as they are now, without the packaged ones."""
        for name, text in self.texts.items():
            section, _, file = name.partition("/")
            self.specs.write(file, text, section)
        return self.specs.registry()

    def prices(self) -> Prices:
        """Prices of this root alone."""
        return Prices(self.registry())

    def grid(self) -> Grid:
        """Places of this root alone."""
        return Grid(self.registry())

    def read(self) -> Any:
        """What checks any of the files."""
        registry = self.registry()
        kinds = {"prices": Prices(registry), "grid": Grid(registry)}
        return SimpleNamespace(check=lambda file: kinds[file.parent.name].layered.read(file))


@pytest.fixture
def economics(specs: Any) -> Economics:
    """A device with prices, and two places."""
    return Economics(specs)
