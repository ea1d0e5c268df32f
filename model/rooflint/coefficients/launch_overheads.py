"""Launch overheads: time before the first useful clock, as published, by kind of device, vendor and launch mode."""

from dataclasses import dataclass
from typing import get_args

from rooflint.base.strict_yaml import Document
from rooflint.coefficients.ranges import Range, Reading, UnknownCoefficientError, reading_of
from rooflint.coefficients.schema import LaunchesSpec, LaunchSpec, Mode
from rooflint.hardware.device import Facts, Hardware

MODES: tuple[Mode, ...] = get_args(Mode)

FREE = "free"
"""A launch that costs nothing, as in the plain roofline; besides MODES."""

ANY = "any"
"""The vendor of what no vendor decides: a parallel region of threads."""


@dataclass(frozen=True)
class LaunchOverheads:
    """Launch overheads by document."""

    spec: LaunchesSpec
    document: Document
    facts: Facts

    def overhead(self, kind: str, vendor: str, mode: str) -> Range | None:
        """What documents say of a vendor's devices, else of any vendor's; None where nothing is published. [s]

        Raises UnknownCoefficientError for an unknown mode.
        """
        name = mode_of(mode)
        for owner in (vendor, ANY):
            if one := self._launch(kind, owner, name):
                path = f"launches.{kind}.{owner}.{name}.readings"
                ranges = tuple(reading_of(reading, self.facts, f"{path}.{reading}") for reading in one.readings)
                return Range(f"{owner} {kind} {name} launch", ranges)
        return None

    def of_kind(self, kind: str, mode: str) -> Range | None:
        """What documents say of any vendor's devices of a kind, the first that the file lists; None without one. [s]

        Raises UnknownCoefficientError for an unknown mode.
        """
        owners = next((owners for name, owners in self.spec.launches.items() if name == kind), {})
        found = (self.overhead(kind, vendor, mode) for vendor in owners)
        return next(filter(None, found), None)

    def taken_for(self, hardware: Hardware, mode: str) -> Reading | None:
        """What a document says of a device's own architecture; None where none does. [s]

        Raises UnknownCoefficientError for an unknown mode.
        """
        vendor, name = hardware.id.partition("/")[0], mode_of(mode)
        one = self._launch(hardware.kind, vendor, name)
        for reading, said in one.readings.items() if one else ():
            if hardware.architecture in said.architectures:
                path = f"launches.{hardware.kind}.{vendor}.{name}.readings.{reading}"
                return reading_of(reading, self.facts, path)
        return None

    def what(self, kind: str, vendor: str, mode: str) -> str | None:
        """What is launched and timed, in a sentence; None where nothing is published.

        Raises UnknownCoefficientError for an unknown mode.
        """
        name = mode_of(mode)
        found = self._launch(kind, vendor, name) or self._launch(kind, ANY, name)
        return found.what if found else None

    def _launch(self, kind: str, vendor: str, mode: Mode) -> LaunchSpec | None:
        owners = next((owners for name, owners in self.spec.launches.items() if name == kind), {})
        return owners.get(vendor, {}).get(mode)


def own_overhead(hardware: Hardware) -> Range | None:
    """The launch overhead that a device's own spec states; it goes before any of its vendor's. [s]"""
    fact = hardware.facts.get("launch_overhead")
    return Range(f"{hardware.id} launch", (Reading("own", fact, fact, fact),)) if fact else None


def mode_of(text: str) -> Mode:
    """The mode of that name. Raises UnknownCoefficientError."""
    for mode in MODES:
        if mode == text:
            return mode
    raise UnknownCoefficientError(f"unknown launch mode '{text}' (known: {', '.join(MODES)})")
