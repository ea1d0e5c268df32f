"""Shared by the laws: the devices of a glob, excused devices, and how breaches are listed."""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from pytest_rooflint.golden.claim import Claim, slug
from pytest_rooflint.golden.kinds import ClaimError, Context
from rooflint.base.errors import InputError
from rooflint.base.text import counted
from rooflint.hardware.device import Hardware

ALL = "*"
"""The glob of every device in the suite."""

MOST = 12
"""Breaches that a verdict lists; the rest are counted."""

DEVICES: dict[str, dict[str, Any]] = {
    "devices": {"type": "string", "description": "a glob over ids such as nvidia/*; all by default"},
    "except": {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "description": "devices that are known to break it, each with the reason",
    },
}


def check_devices(claim: Claim) -> None:
    """Refuse an invalid glob, and excuses without a reason. Raises ClaimError."""
    devices, excused = claim.option("devices", ALL), claim.option("except", {})
    if not isinstance(devices, str) or not devices:
        raise ClaimError(f"devices: want a glob such as 'nvidia/*', found {devices}")
    if not isinstance(excused, Mapping) or not all(isinstance(why, str) and why for why in excused.values()):
        raise ClaimError(f"except: want a reason for each device, such as {{nvidia/p40: …}}, found {excused}")


def matching_devices(context: Context, glob: str) -> Iterator[Hardware]:
    """Devices of the suite that match; an invalid spec fails elsewhere."""
    for name in context.devices():
        try:
            if fnmatchcase(name, glob):
                yield context.registry.get(name)
        except InputError:
            continue


def wrong_devices(broken: Mapping[str, list[str]], excused: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(device, message) of each breach, and of each excused device that obeys the law."""
    for device, breaches in broken.items():
        if device not in excused:
            yield from ((device, breach) for breach in breaches)
    for device in excused:
        if not broken.get(device):
            state = "obeys the law" if device in broken else "was not tested"
            yield device, f"{state}; remove it from 'except'"


def shown_lines(wrong: list[tuple[str, str]]) -> Iterator[str]:
    """The first breaches, one line each."""
    for device, breach in wrong[:MOST]:
        yield f"            {device}  {breach}"
    if len(wrong) > MOST:
        yield f"            and {len(wrong) - MOST} more"


def display_of_devices(tried: int, excused: Mapping[str, str], wrong: list[tuple[str, str]]) -> str:
    """How many devices obey or break the law."""
    devices = counted(tried, "device")
    if wrong:
        return f"broken by {len({device for device, _ in wrong})} of {devices}"
    return f"holds on {devices}" + (f", {len(excused)} of them excused" if excused else "")


def slug_of_devices(claim: Claim) -> str:
    """The id of a law, with the glob where it is not every device."""
    devices = claim.option("devices", ALL)
    return slug(claim.subject if devices == ALL else f"{claim.subject} on {devices.replace('*', 'all')}")
