"""Names of devices: those that people type, and those that tables print.

`select_devices` reads what is typed: an id, an alias, a unique part, a glob or a kind, and `@` an operating point. The
command line and the Python API both ask here. `Designations` reads what is printed, by whole words and never by parts
of them: `l4` is not the L40S and `a100` not the A1000. A printed name may say less than an id does (no form factor, no
memory size); then it means several devices.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property

from rooflint.base.errors import RooflintError
from rooflint.base.memo import memoised
from rooflint.hardware.device import KINDS, Hardware
from rooflint.hardware.registry import Registry

EXAMPLES = {name: kind.example for name, kind in KINDS.items() if kind.example}
"""The device that stands for a kind."""

DEFAULTS = [name for name, kind in KINDS.items() if kind.is_default]
"""Kinds that are compared where no device is named."""


def select_devices(registry: Registry, names: Iterable[str] | None, at: str = "") -> list[Hardware]:
    """Devices in the order of their names, each once; those of the default kinds where no name is given.

    Args:
        registry: the devices there are.
        names: `t4`, `nvidia/l*`, `gpu`, `agx-orin-64@30w`; one text may hold several, with commas.
        at: operating point of all devices whose name says none.

    Raises RooflintError for a name that no device has, and for a part that is not unique.
    """
    words = [word.strip() for text in names or () for word in text.split(",") if word.strip()] or DEFAULTS
    found: dict[tuple[str, str | None], Hardware] = {}
    for word in words:
        name, _, mode = word.partition("@")
        for hardware in _named(registry, name):
            placed = hardware.at(mode or at) if mode or at else hardware
            found.setdefault((placed.id, placed.mode), placed)
    return list(found.values())


def select_device(registry: Registry, name: str, at: str = "") -> Hardware:
    """The one device of a name. Raises RooflintError where there is none or several."""
    found = select_devices(registry, [name], at)
    if len(found) != 1:
        raise RooflintError(f"'{name}' names {len(found)} devices; want one")
    return found[0]


def _named(registry: Registry, name: str) -> Iterator[Hardware]:
    if name.lower() in EXAMPLES:
        yield registry.get(EXAMPLES[name.lower()])
    elif any(sign in name for sign in "*?["):
        yield from registry.matching(name)
    else:
        yield registry.find(name)


#: Words around a product's name that do not tell two devices apart.
_NOISE = frozenset(
    {
        *("nvidia", "amd", "intel", "google", "apple", "aws", "amazon", "huawei", "qualcomm", "stillwater", "hailo"),
        *("ampere", "cloud", "tesla", "geforce", "rtx", "gtx", "quadro", "instinct", "radeon", "xeon", "platinum"),
        *("core", "epyc", "accelerator", "graphics", "card", "module", "board", "tensor", "corporation", "r", "tm"),
        *("single", "per", "device", "chip"),
    }
)
MOST_WORDS = 40
"""Words of a name that are read; no product name has more."""
SHORTEST = 3
"""Letters by which a name may begin like another one: `MI300` for the MI300X and the MI300A."""
_FORM = re.compile(r"sxm\d*|pcie|nvl|oam")
_SIZE = re.compile(r"(\d{1,6})(?:gb|gib|g)")
_TIMES = re.compile(r"x(\d{1,6})|(\d{1,6})x")
_FOOTNOTE = re.compile(r"\(\d\)|\[\d\]|\*+$")
_WORD = re.compile(r"[a-z0-9]+(?:\.[0-9]+)?\+?")


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a name means: no device, one, or several that it does not tell apart."""

    name: str
    devices: tuple[str, ...]
    part: str | None = None
    """The part of each device that is meant, where the name says one: `gcd`."""
    times: int = 1
    """How many of them the name speaks of: `x4`."""
    near: tuple[str, ...] = ()
    """Where no device is meant: ids of what has most words of the name."""


def words(name: str) -> tuple[str, ...]:
    """`NVIDIA A100-SXM4-80GB` → nvidia, a100, sxm4, 80gb."""
    plain = _FOOTNOTE.sub(" ", name.lower().strip())
    return tuple(_WORD.findall(plain.replace("®", " ").replace("™", " ")))


@cache
def required(device: str) -> tuple[str, ...]:
    """The words of an id without which a name does not mean it; variants of one product share them."""
    own = words(device.rpartition("/")[2].replace("plus", "+"))
    return tuple(word for word in own if _tells(word)) or tuple(own)


def squeezed(name: str) -> str:
    """A name without what spellings differ in: case, spaces, hyphens, brackets."""
    return re.sub(r"[^a-z0-9+.]", "", _FOOTNOTE.sub(" ", name.lower()))


@dataclass(frozen=True)
class Designations:
    """The names of every device of a registry."""

    registry: Registry

    @memoised
    def meaning(self, name: str) -> Meaning:
        """Which devices a name means: its id or a declared alias exactly, else the words of an id."""
        declared = self._declared.get(squeezed(name), ())
        if declared:
            return Meaning(name, declared)
        given, times = _counted(words(name)[:MOST_WORDS])
        by_part: dict[str | None, list[str]] = {}
        for hardware in self._candidates(given):
            matched, part = _matches(given, hardware)
            if matched:
                by_part.setdefault(part, []).append(hardware.id)
        for part, devices in by_part.items():
            return Meaning(name, tuple(devices), part, times)
        return Meaning(name, (), None, times, tuple(self._near(given)))

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of all devices that can be read."""
        return tuple(hardware.id for hardware in self._devices)

    @cached_property
    def _devices(self) -> tuple[Hardware, ...]:
        return tuple(self.registry.readable())

    @cached_property
    def _declared(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, dict[str, None]] = {}
        for hardware in self._devices:
            for name in (hardware.id, hardware.id.rpartition("/")[2], hardware.name, *hardware.aliases):
                found.setdefault(squeezed(name), {})[hardware.id] = None
            if capability := hardware.compute_capability:
                for name in (f"compute capability {capability}", f"sm{capability.replace('.', '')}"):
                    found.setdefault(squeezed(name), {})[hardware.id] = None
        return {name: tuple(devices) for name, devices in found.items()}

    @cached_property
    def _required(self) -> tuple[frozenset[str], ...]:
        """The required words of each device."""
        return tuple(frozenset(required(hardware.id)) for hardware in self._devices)

    @cached_property
    def _by_word(self) -> Mapping[str, list[int]]:
        """Places of the devices that require a word."""
        found: dict[str, list[int]] = {}
        for place, own in enumerate(self._required):
            for word in own:
                found.setdefault(word, []).append(place)
        return found

    @cached_property
    def _joined(self) -> list[tuple[str, int]]:
        """The required words of each device in one, with its place, in the order of the words."""
        return sorted(("".join(required(hardware.id)), place) for place, hardware in enumerate(self._devices))

    @cached_property
    def _by_joined(self) -> Mapping[str, list[int]]:
        """Places of the devices whose required words are these in one."""
        found: dict[str, list[int]] = {}
        for joined, place in self._joined:
            found.setdefault(joined, []).append(place)
        return found

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self._required), default=0) + 1

    def _candidates(self, given: tuple[str, ...]) -> list[Hardware]:
        """Devices whose required words are among the words of a name, apart or joined; the others do not match."""
        known = frozenset(given)
        joined = {
            "".join(given[start:end])
            for start in range(len(given))
            for end in range(start + 1, min(len(given), start + self._longest) + 1)
        }
        found = {place for text in joined for place in self._by_joined.get(text, ())}
        apart = (place for word in known for place in self._by_word.get(word, ()))
        found.update(place for place in apart if self._required[place] <= known)
        return [self._devices[place] for place in sorted(found)]

    def _near(self, given: Iterable[str]) -> list[str]:
        telling = [word for word in given if _tells(word)]
        whole = "".join(telling)
        found = set(self._begun(whole)) if len(whole) >= SHORTEST else set()
        found = found or {place for word in telling for place in self._by_word.get(word, ())}
        return [self._devices[place].id for place in sorted(found)]

    def _begun(self, whole: str) -> Iterator[int]:
        """Places of the devices whose required words begin like a text."""
        for joined, place in self._joined[bisect_left(self._joined, (whole,)) :]:
            if not joined.startswith(whole):
                return
            yield place


def _counted(given: tuple[str, ...]) -> tuple[tuple[str, ...], int]:
    """The words without a multiplier, and the multiplier."""
    times, left = 1, []
    for position, word in enumerate(given):
        match = _TIMES.fullmatch(word)
        if match and (position in (0, len(given) - 1)):
            times *= int(match[1] or match[2])
        else:
            left.append(word)
    return tuple(left), times


def _tells(word: str) -> bool:
    """Whether a word tells one product from another: neither form factor nor size nor series."""
    return not _FORM.fullmatch(word) and not _SIZE.fullmatch(word) and word not in _NOISE and word != "gpu"


def _matches(given: tuple[str, ...], hardware: Hardware) -> tuple[bool, str | None]:
    left = list(_without(given, required(hardware.id)))
    if len(left) == len(given):
        return False, None
    part = next((name for name in hardware.parts if name in left), None)
    allowed = {part, *_own_words(hardware)}
    if "cpu" in left and hardware.kind != "cpu":  # the host of a module is another device
        return False, None
    allowed |= {*KINDS, "soc"}
    return all(word in allowed or word in _NOISE or _fits(word, hardware) for word in left), part


def _without(given: tuple[str, ...], wanted: tuple[str, ...]) -> tuple[str, ...]:
    """What is left once the required words are found, apart or joined (`tpuv5e`, `mi 300 x`); else all of them."""
    joined = "".join(wanted)
    for start in range(len(given)):
        for end in range(start + 1, min(len(given), start + len(wanted) + 2) + 1):
            if "".join(given[start:end]) == joined:
                return given[:start] + given[end:]
    if set(wanted) <= set(given):
        return tuple(word for word in given if word not in wanted)
    return given


def _fits(word: str, hardware: Hardware) -> bool:
    own = words(hardware.id)
    if _FORM.fullmatch(word):
        having = [form for form in own if _FORM.fullmatch(form)]
        return not having or any(form.startswith(word) or word == form for form in having)
    if size := _SIZE.fullmatch(word) or re.fullmatch(r"(\d{1,6})", word):
        return any(_gigabytes(hardware, name) == int(size[1]) for name in hardware.memories)
    return False


def _gigabytes(hardware: Hardware, memory: str) -> float | None:
    fact = hardware.memories[memory].facts.get("capacity")
    return None if fact is None else round(fact.value / (2**30 if "GiB" in fact.display else 1e9))


def _own_words(hardware: Hardware) -> set[str]:
    """Words that may stand beside the name: the memory's, the architecture's, the die's."""
    named = (*words(hardware.architecture or ""), *words(hardware.die or ""), *words(hardware.name))
    return {word for word in (*hardware.memories, *named) if not _FORM.fullmatch(word) and not _SIZE.fullmatch(word)}
