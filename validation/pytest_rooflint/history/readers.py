"""Devices that read a file of coefficients: the others need not be predicted again when it changes."""

from collections.abc import Collection, Iterator, Sequence

from pytest_rooflint.history.side import Specs
from rooflint.coefficients.library import Coefficients
from rooflint.coefficients.nodes import OLDER, PRINTED
from rooflint.coefficients.ranges import UnknownCoefficientError
from rooflint.hardware.device import Hardware


def readers(side: Specs, devices: Sequence[str], files: Collection[str]) -> Iterator[str]:
    """Those of the devices that may read one of the files, which are called as below their root: `process/12nm.yaml`.

    A memory is read by devices that have it and events by processors of their kind. A process node is read by devices
    that are made in it; by all if other nodes are carried over from it, or by those whose events were printed for it.
    Whatever is in no folder is read by all.
    """
    coefficients = side.energies.coefficients
    read = [name.removesuffix(".yaml") for name in files]
    for device in devices:
        if any(_reads(side.devices[device], file, coefficients) for file in read):
            yield device


def _reads(device: Hardware, file: str, coefficients: Coefficients) -> bool:
    section, _, name = file.rpartition("/")
    if section == "memory":
        return name in device.memories
    if section == "events":
        return name == device.kind
    if section == "process":
        own = "".join(device.facts["process"].display.split()) if "process" in device.facts else ""
        return name in (own, PRINTED, OLDER) or name in _nodes_of_events(device.kind, coefficients)
    return True


def _nodes_of_events(kind: str, coefficients: Coefficients) -> set[str | None]:
    try:
        events = coefficients.events(kind).spec.events
    except UnknownCoefficientError:
        return set()
    return {reading.node for event in events.values() for reading in event.readings.values()}
