"""What laws have in common: the devices of a glob, those that are excused, and how the red ones are named."""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from pytest_rooflint.golden.claim import Claim, slug
from pytest_rooflint.golden.kinds import ClaimError, Context
from rooflint.base.errors import InputError
from rooflint.devices.hardware import Hardware

ALL = "*"
"""Every device of the suite."""

MOST = 12
"""Breaches that a verdict shows; the rest is counted."""


DEVICES: dict[str, dict[str, Any]] = {
    "devices": {"type": "string", "description": "a glob over ids such as nvidia/*; all unless said"},
    "except": {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "description": "devices that are known to break it, each with the reason",
    },
}


def check_devices(claim: Claim) -> None:
    """Refuse a glob and excuses that cannot mean anything. Raises ClaimError."""
    devices, excused = claim.option("devices", ALL), claim.option("except", {})
    if not isinstance(devices, str) or not devices:
        raise ClaimError(f"devices: want a glob such as 'nvidia/*', found {devices}")
    if not isinstance(excused, Mapping) or not all(isinstance(why, str) and why for why in excused.values()):
        raise ClaimError(f"except: want the reason for each device, such as {{nvidia/p40: …}}, found {excused}")


def matching_devices(context: Context, glob: str) -> Iterator[Hardware]:
    """Devices of the suite; a broken spec is red by itself."""
    for name in context.devices():
        try:
            if fnmatchcase(name, glob):
                yield context.registry.get(name)
        except InputError:
            continue


def wrong_devices(broken: Mapping[str, list[str]], excused: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Devices that break the law, and excused ones that do not: (device, what it says)."""
    for device, breaches in broken.items():
        if device not in excused:
            yield from ((device, breach) for breach in breaches)
    for device in excused:
        if not broken.get(device):
            state = "keeps the law" if device in broken else "is not among the devices that were tried"
            yield device, f"{state}; remove it from 'except'"


def shown_lines(wrong: list[tuple[str, str]]) -> Iterator[str]:
    """The breaches, a line each, as far as a verdict has room."""
    for device, breach in wrong[:MOST]:
        yield f"            {device}  {breach}"
    if len(wrong) > MOST:
        yield f"            and {len(wrong) - MOST} more"


def display_of_devices(tried: int, excused: Mapping[str, str], wrong: list[tuple[str, str]]) -> str:
    """How many devices keep the law, or break it."""
    devices = f"{tried} device" + ("s" if tried != 1 else "")
    if wrong:
        return f"broken by {len({device for device, _ in wrong})} of {devices}"
    return f"holds on {devices}" + (f", {len(excused)} of them excused" if excused else "")


def slug_of_devices(claim: Claim) -> str:
    """The id of a law, with the glob where it is not every device."""
    devices = claim.option("devices", ALL)
    return slug(claim.subject if devices == ALL else f"{claim.subject} on {devices.replace('*', 'all')}")
