"""Recordings and published tables as files: which device they are of, and the claims about them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from pytest_rooflint.golden.kinds import MEASURED, Claim, ClaimError, Context
from pytest_rooflint.recordings.row import RecordedFile, Row, mode_of
from rooflint.base.errors import InputError, Problem, RooflintError, shown
from rooflint.base.files import read_text
from rooflint.hardware.device import Hardware
from rooflint.hardware.registry import Registry, UnknownDeviceError
from rooflint_calibration.package import PUBLISHED, TOPICS, tables_in
from rooflint_measure.recording import Machine, Recording, read

UNKNOWN = "unknown"
"""Folder of recordings of devices that the registry does not know by that name."""


def identified(machine: Machine, registry: Registry) -> Hardware | None:
    """The one device whose name is exactly that of system or driver, in its mode; None for none and for several.

    A near name is another device, with another peak. So is a slice of a CPU: its name goes with its cores, as in
    `2 × AMD EPYC, family 26 model 2 stepping 1`, and without them it means a device that has just as many.
    """
    found = [one for one in registry.readable() if answers(one, machine)]
    if len(found) != 1:
        return None
    (device,), mode = found, mode_of(machine)
    return device.at(mode) if mode and mode in device.operating_points else device


def stated(name: str, registry: Registry) -> Hardware:
    """The device of --hardware, at an operating point after `@`. Raises RooflintError."""
    device, _, mode = name.partition("@")
    if device not in registry.ids():
        raise RooflintError(f"--hardware: want the exact id of a device, such as nvidia/h100-sxm5-80gb, found '{name}'")
    hardware = registry.get(device)
    return hardware.at(mode) if mode else hardware


NEWS = 0.05
"""Best times that differ by less are no news: the same device differs so much from day to day. [1]"""


def news(found: Recording, folder: Path) -> str:
    """What a recording says that the newest one of the same machine in a folder does not; empty for nothing."""
    earlier = sorted(folder.glob(f"*-{found.machine.digest}.json"))
    if not earlier:
        return "the first recording of this machine with this software"
    before = {one.name: one.samples.best_s for one in read(earlier[-1]).measurements}
    now = {one.name: one.samples.best_s for one in found.measurements}
    if changed := sorted(set(before) ^ set(now)):
        return f"measured in one of both alone: {', '.join(changed)}"
    moved = {name: now[name] / before[name] for name in now if abs(now[name] / before[name] - 1) > NEWS}
    return ", ".join(f"{name} takes {ratio:.3g} times as long" for name, ratio in moved.items())


DRIVER_NAMES = {
    "nvidia/gb200-gpu": "NVIDIA GB200",
    "nvidia/h800-sxm5-80gb": "NVIDIA H800",
}
"""Names that a driver gives to one device, and that people also use for its variants, so that no spec has them.

NVIDIA/open-gpu-kernel-modules at df1c9a3de2be (595.45.04), README.md, "Compatible GPUs".
"""

WITHIN_MEMORY = 0.1
"""Memory that a driver reports differs so far from the capacity in the spec: ECC and firmware take a share. [1]"""

_SIZE = re.compile(r"[ -]\d+ ?GB$", re.IGNORECASE)


def answers(hardware: Hardware, machine: Machine) -> bool:
    """Whether a device has exactly the name of a machine as id, name or alias; a CPU must have as many cores.

    A driver leaves out how much memory a GPU has where that is the only difference: `NVIDIA GeForce RTX 4060 Ti`. Then
    the memory that it reports decides.
    """
    known = [hardware.id, hardware.name, *hardware.aliases]
    names = {_plain(name) for name in (*known, DRIVER_NAMES.get(hardware.id, hardware.id))}
    if machine.kind != "cpu":
        short = {_plain(_SIZE.sub("", name)) for name in known}
        return _plain(machine.device) in names or (_plain(machine.device) in short and _has_memory(hardware, machine))
    if _plain(f"{machine.count} × {machine.device}") in names:
        return True
    return _plain(machine.device) in names and machine.facts.get("cores", machine.count) in [*_cores(hardware)]


def _has_memory(hardware: Hardware, machine: Machine) -> bool:
    """Whether the memory that the driver reports is that of the spec."""
    reported = machine.facts.get("memory MiB")
    if not isinstance(reported, int | float):
        return False
    capacities = [memory.capacity_bytes for memory in hardware.memories.values() if "capacity" in memory.facts]
    return any(abs(reported * 2**20 / capacity - 1) <= WITHIN_MEMORY for capacity in capacities)


def _cores(hardware: Hardware) -> Iterator[int]:
    """Groups of its units, which are the cores of a CPU."""
    for unit in hardware.units.values():
        if "groups" in unit.facts:
            yield unit.groups


def slice_of(hardware: Hardware, machine: Machine) -> tuple[int, int] | None:
    """(cores that a machine may use, cores of the spec) where those are fewer, as in a virtual machine; else None."""
    cores = machine.facts.get("cores", machine.count)
    whole = max(_cores(hardware), default=0)
    if hardware.kind != "cpu" or machine.kind != "cpu" or not isinstance(cores, int):
        return None
    seen = min(cores, machine.count)
    return (seen, whole) if 0 < seen < whole else None


def as_seen(hardware: Hardware, machine: Machine) -> Hardware:
    """A CPU with the cores that a machine may use, whose peaks are those of these cores; memory and caches stay."""
    part = slice_of(hardware, machine)
    if part is None:
        return hardware
    paths = (f"units.{name}.groups" for name, unit in hardware.units.items() if "groups" in unit.facts)
    counts = {path: hardware.facts[path] for path in paths}
    return hardware.with_facts({path: fact.with_value(min(fact.value, part[0])) for path, fact in counts.items()})


def _plain(name: str) -> str:
    """A name without case and repeated blanks, which depend on the driver."""
    return " ".join(name.casefold().split())


# ---- Recording files: golden/measured/VENDOR/DEVICE/*.json, with the claims over them in VENDOR/DEVICE.yaml beside

MACHINE = {
    "machine": {"type": "string", "description": "what the recorded machine calls itself: exactly this, and no other"}
}


def recorded_file(file: Path) -> RecordedFile:
    """A recording, read once as long as its file stays the same. Raises InputError."""
    try:
        status = file.stat()
    except OSError:
        return RecordedFile(file, read(file), ())  # which raises with the reason
    return _recorded_file(file, (status.st_mtime_ns, status.st_size))


@lru_cache(maxsize=256)
def _recorded_file(file: Path, _state: tuple[int, int]) -> RecordedFile:
    found = read(file)
    starts = [
        number
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if re.match(r'\s*\{.*"subject":', line)
    ]
    count = len(found.measurements)
    return RecordedFile(file, found, tuple(starts) if len(starts) == count else (1,) * count)


def recordings_below(root: Path) -> Iterator[tuple[str, Path]]:
    """(device id by its path, file) of every recording of a golden folder."""
    for file in sorted((root / MEASURED).rglob("*.json")):
        inside = file.relative_to(root / MEASURED)
        if not any(part.startswith(".") for part in inside.parts):
            yield inside.parent.as_posix(), file


def claims_file(file: Path) -> Path:
    """The golden file whose claims are about a recording."""
    return file.parent.parent / f"{file.parent.name}.yaml"


def recordings_of(claim: Claim, context: Context) -> tuple[RecordedFile, ...]:
    """The recordings that a claim is about, of its operating point, oldest first.

    Raises ClaimError where there is none, RooflintError for one that is of something else.
    """
    folder = claim.file.parent / claim.file.stem
    _placed(claim, context.golden_roots)
    found = [recorded_file(file) for file in sorted(folder.glob("*.json"))]
    if not found:
        raise ClaimError(f"no recording in {shown(folder)}; rooflint measure record writes one")
    hardware = context.registry.get(str(claim.hardware))
    for one in found:
        if complaint := machine_mismatch(one, hardware, claim.option("machine")):
            raise RooflintError(f"{shown(one.file)}: {complaint}")
    return of_mode(found, hardware, claim.mode_of(hardware.id))


def of_mode(found: Iterable[RecordedFile], hardware: Hardware, mode: str | None) -> tuple[RecordedFile, ...]:
    """Recordings at an operating point. Raises ClaimError if there is none."""
    several = list(found)
    chosen = tuple(one for one in several if not hardware.operating_points or one.mode == mode)
    if not chosen:
        modes = ", ".join(sorted({one.mode or "none" for one in several}))
        raise ClaimError(f"no recording is of the operating point {mode or 'none'} (recorded: {modes})")
    return chosen


def machine_mismatch(one: RecordedFile, hardware: Hardware, machine: Any) -> str:
    """How the machine of a recording differs from the named one; empty where it is exactly that.

    That is `machine` of the golden file, or else id, name and aliases of the spec. A near name is another device.
    """
    device = one.recording.machine.device
    if machine is not None:
        return "" if device == machine else f"was made on '{device}', and the golden file is about '{machine}'"
    if answers(hardware, one.recording.machine):
        return ""
    return (
        f"was made on '{device}', which is not a name of {hardware.id}; "
        f"if it is this device, add 'machine: {device}' at the top of the golden file"
    )


def _placed(claim: Claim, roots: tuple[Path, ...]) -> None:
    """The device given by the path of a recording. Raises ClaimError."""
    homes = [root / MEASURED for root in roots if claim.file.is_relative_to(root / MEASURED)]
    wanted = homes[0] / f"{claim.hardware}.yaml" if homes else None
    if wanted != claim.file:
        raise ClaimError(
            f"a claim over recordings of {claim.hardware} stands in {MEASURED}/{claim.hardware}.yaml, "
            f"beside the folder {MEASURED}/{claim.hardware}"
        )


def rows_of(claim: Claim, context: Context) -> tuple[Row, ...]:
    """Every measurement that a claim may be about, in the precision that it names."""
    rows = (row for one in recordings_of(claim, context) for row in one.rows())
    wanted = claim.option("compute")
    return tuple(row for row in rows if wanted in (None, row.precision))


# ---- Recordings: each can be read, is of a known device, and has a claim about it

KINDS = ("measured", "efficiency", "predicted")
"""Kinds of claims that are about recordings."""


def problems(roots: Iterable[Path], registry: Registry, claims: Iterable[Claim]) -> Iterator[Problem]:
    """Problems of the recordings of some golden folders."""
    about: dict[Path, list[Claim]] = {}
    for claim in claims:
        if claim.kind in KINDS:
            about.setdefault(claim.file, []).append(claim)
    for root in roots:
        for device, file in recordings_below(root):
            yield from _problems(device, file, registry, about.get(claims_file(file), []))


def _problems(device: str, file: Path, registry: Registry, claims: list[Claim]) -> Iterator[Problem]:
    hardware = None
    try:
        one = recorded_file(file)
    except InputError as error:
        yield from error.problems
        return
    try:
        hardware = registry.get(device)
    except UnknownDeviceError as error:
        yield Problem(file, 1, f"lies in the folder of a device without spec: {error}")
        return
    except InputError:
        pass  # a broken spec fails by itself
    modes = hardware.operating_points if hardware else {}
    if modes and one.mode is not None and one.mode not in modes:
        has = f"which {device} does not have (has: {', '.join(modes)})"
        yield Problem(file, 1, f"was made in the mode '{one.mode}', {has}")
        return
    beside = claims_file(file)
    if not any(not modes or claim.mode_of(device) == one.mode for claim in claims):
        mode = f" at {one.mode}" if one.mode else ""
        yield Problem(file, 1, f"no claim{mode} in {shown(beside)} is about it; without a claim it checks nothing")
    for claim in claims[:1]:
        if claim.hardware != device:
            yield Problem(file, 1, f"lies in the folder of {device}, and {shown(beside)} is about {claim.hardware}")
        elif hardware and (complaint := machine_mismatch(one, hardware, claim.option("machine"))):
            yield Problem(file, 1, complaint)


# ---- Published tables: each can be read, is of a known device, and has a claim about it

TABLE_KIND, TABLE_SUBJECT = "prediction", "published"
"""Claims that are about tables: `prediction: published <slug>`, and those of TOPICS: `prediction: network <slug>`."""


def table_problems(roots: Iterable[Path], registry: Registry, claims: Iterable[Claim]) -> Iterator[Problem]:
    """Problems of the published tables of some golden folders."""
    subjects = [claim.subject.split()[:2] for claim in claims if claim.kind == TABLE_KIND]
    folders = list(roots)
    subject_of = {PUBLISHED: TABLE_SUBJECT, **{f"{PUBLISHED}/{topic}s": topic for topic in TOPICS}}
    for folder, subject in subject_of.items():
        for file in tables_in(folder, folders):
            yield from _unreadable(file, registry)
            yield from _unclaimed(file, subject, subjects)


def _unreadable(file: Path, registry: Registry) -> Iterator[Problem]:
    """Problems of a table, and devices of it without a spec."""
    try:
        parsed = registry.source.parsed
        found = parsed.of(file, read_text(file), lambda: _devices(file)) if parsed else _devices(file)
        for device, line in found:
            if device not in registry.ids():
                yield Problem(file, line, f"device: is of a device without spec: {device}")
    except InputError as error:
        yield from error.problems


def _devices(file: Path) -> list[tuple[str, int]]:
    """The devices of a table with their lines. Raises InputError."""
    name = file.parent.name
    table = import_module(f"rooflint_calibration.{name}").read(file)  # only for a file that is not kept: it takes long
    if name == Path(PUBLISHED).name:
        return [(table.spec.device, table.device_line)]
    return [(row.device, line) for row, line in zip(table.spec.rows, table.lines, strict=True)]


def _unclaimed(file: Path, subject: str, subjects: Iterable[Sequence[str]]) -> Iterator[Problem]:
    if [subject, file.stem] not in subjects:
        wanted = f"want '{TABLE_KIND}: {subject} {file.stem}' in a golden file"
        yield Problem(file, 1, f"no claim is about it; without a claim it checks nothing; {wanted}")
