"""What a device must say, so that nothing of it is silently underivable, and no override silently without effect."""

from collections.abc import Iterator

from rooflint.errors import Problem
from rooflint.hardware import Facts, Hardware, Memory
from rooflint.schema import READERS
from rooflint.strict_yaml import Document

SECTIONS = ("units", "memories", "caches")

#: Facts that are said of a group, by its name.
PER_GROUP = ("full_die", "resident_warps", "warp_threads", "warp_schedulers", "special_function_units")


def incomplete(hardware: Hardware, declared: set[str], document: Document) -> Iterator[Problem]:
    """Units that nobody can derive or whose silicon has fewer groups, memories with half a bandwidth, idle modes."""
    modes = (hardware.at(mode) for mode in hardware.operating_points)
    yield from dict.fromkeys(problem for device in (hardware, *modes) for problem in _crowded(device))
    yield from _uncounted(hardware)
    for name, unit in hardware.units.items():
        for key in ("groups", "per_group", "clock", "macs_per_clock"):
            hidden = any(_covers(path, f"units.{name}.{key}") for path in hardware.undisclosed)
            if not hidden and not any(path.split(".")[0] == key for path in unit.facts):
                who = (
                    "neither the device nor its architecture says it"
                    if hardware.architecture
                    else "the file does not say it"
                )
                yield document.problem(
                    ("units", name),
                    f"units.{name}.{key}: is missing: {who}; add the fact, or say under 'undisclosed' why nobody can",
                )
        for path in unit.facts:
            key, _, precision = path.partition(".")
            if key in ("clock_of", "sparsity") and f"macs_per_clock.{precision}" not in unit.facts:
                yield document.problem(("units", name, key), f"units.{name}.{path}: but no macs_per_clock.{precision}")
    for name, memory in hardware.memories.items():
        if wrong := _wrong_bandwidth(memory):
            yield document.problem(("memories", name), f"memories.{name}: {wrong}")
    for path in hardware.undisclosed:
        if not _leads_somewhere(path, declared):
            yield document.problem(("undisclosed", path), f"undisclosed: '{path}' is no path of this device")
    for mode, overlay in hardware.operating_points.items():
        for path, message in _idle(hardware, declared, mode, overlay):
            yield document.problem(("operating_points", mode, path), f"operating point '{mode}' {message}")


def _crowded(hardware: Hardware) -> Iterator[Problem]:
    """Units with more groups than the silicon has."""
    for name, unit in hardware.units.items():
        full, groups = hardware.full_groups(unit.group), unit.facts.get("groups")
        if full and groups and groups.value > full.result:
            yield Problem(
                groups.file,
                groups.line,
                f"units.{name}.groups: {groups.display} {unit.group}, more than the silicon has: {full.formula}",
            )


def _uncounted(hardware: Hardware) -> Iterator[Problem]:
    """A full die, or warps, of what no unit is grouped in."""
    known = dict.fromkeys(unit.group for unit in hardware.units.values())
    for path, fact in hardware.facts.items():
        section, _, group = path.partition(".")
        if section in PER_GROUP and group not in known:
            yield Problem(fact.file, fact.line, f"{path}: no unit is grouped in '{group}' (groups: {', '.join(known)})")


def empty(declared: set[str], hardware: Hardware, document: Document) -> Iterator[Problem]:
    """Memories and caches that are named and say nothing; units are told what they lack."""
    for path in sorted(declared):
        section, name = path.split(".")
        hidden = any(_covers(other, path) for other in hardware.undisclosed)
        if section != "units" and not hidden and not any(fact.startswith(f"{path}.") for fact in hardware.facts):
            yield document.problem((section, name), f"{path}: has no fact; say something of it or remove it")


def _covers(path: str, whole: str) -> bool:
    """Whether a dotted path is, or is above, another one."""
    return f"{whole}.".startswith(f"{path}.")


def _wrong_bandwidth(memory: Memory) -> str | None:
    keys = set(memory.facts)
    if "bandwidth" in keys and keys & {"bus", "pin_rate"}:
        return "says bandwidth and bus or pin_rate; keep bus and pin_rate, the bandwidth follows from them"
    if keys & {"bus", "pin_rate"} and not memory.has_bandwidth:
        return "want bus and pin_rate together"
    return None


def _idle(hardware: Hardware, declared: set[str], mode: str, overlay: Facts) -> Iterator[tuple[str, str]]:
    """(path, message) of overrides that would not do what they say."""
    there = hardware.at(mode)
    for path in overlay:
        words = path.split(".")
        section = ".".join(words[:2])
        if words[0] in SECTIONS and section not in declared:
            yield path, f"sets {path}, which this device does not have"
        elif words[0] == "memories" and (wrong := _wrong_bandwidth(there.memories[words[1]])):
            yield path, f"sets {path}: {section}: {wrong}"
        elif words[0] == "units" and words[2:] == ["clock"]:
            own = [other for other in hardware.facts if other.startswith(f"{section}.clock_of.")]
            left = [other.rpartition(".")[2] for other in own if other not in overlay]
            if left:
                yield path, f"sets {path}, but {', '.join(left)} has a clock of its own there; set that, too"


def _leads_somewhere(path: str, declared: set[str]) -> bool:
    """Whether a fact may stand at a dotted path, or below it, and its unit or memory exists."""
    words = path.split(".")
    known = any(
        len(words) <= len(parts) and all(part in ("*", word) for part, word in zip(parts, words, strict=False))
        for parts in (pattern.split(".") for pattern in READERS)
    )
    return known and (words[0] not in SECTIONS or len(words) < 2 or ".".join(words[:2]) in declared)
