"""Names of devices: the one place that says which device a name means.

The command line, the Python API, the audit of tables and the messages of the registry all ask here. A name is compared
by whole words and never by parts of them: `l4` is not the L40S, `a100` not the A1000, `m3` not a V100 SXM3. It may say
less than an id does (no form factor, no memory size); then it means several devices. What words mean, and which of them
describe only, is in `vocabulary`.
"""

import fnmatch
import re
import warnings
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from rooflint.base.errors import ExpandedNameWarning, RooflintError
from rooflint.base.memo import memoised
from rooflint.base.suggestions import did_you_mean
from rooflint.hardware import vocabulary
from rooflint.hardware.device import KINDS, Hardware
from rooflint.hardware.registry import Registry, UnknownDeviceError
from rooflint.hardware.system import System
from rooflint.hardware.vocabulary import (
    MODIFIERS,
    MOST_WORDS,
    OF_CARDS,
    cores,
    gigabytes,
    is_form,
    required,
    squeezed,
    tells,
    words,
)

EXAMPLES = {name: kind.example for name, kind in KINDS.items() if kind.example}
"""The device that stands for a kind."""

DEFAULTS = [name for name, kind in KINDS.items() if kind.is_default]
"""Kinds that are compared where no device is named."""

MOST_LISTED = 4
"""Slashes of a name that lists devices."""

SHORTEST = 3
"""Letters by which a name may begin like another one: `MI300` for the MI300X and the MI300A."""


MOST_OF_SERIES = 64
"""Names that are looked at for those of a series."""
FEWEST_DIGITS = 3
"""Digits of a number that may stand for a product by itself."""

_COMMA = re.compile(r",(?![^()\[\]]*[)\]])")
"""A comma between names, not one within brackets: `V100 (SXM2, 32 GB)`."""


class AmbiguousDeviceError(RooflintError):
    """A name that several devices answer to; the message names them."""


def select_devices(registry: Registry, names: Iterable[str] | None, at: str = "") -> list[Hardware]:
    """Devices in the order of their names, each once; those of the default kinds where no name is given.

    Args:
        registry: the devices there are.
        names: `t4`, `nvidia/l*`, `gpu`, `agx-orin-64@30w`; one text may hold several, with commas between them.
        at: operating point of all devices whose name says none.

    Warns ExpandedNameWarning of an abbreviation. Raises RooflintError for a name that no device has, and for one that
    several have.
    """
    given = [word.strip() for text in names or () for word in _COMMA.split(text) if word.strip()]
    return _selected(registry, given or DEFAULTS, at)


def _selected(registry: Registry, given: Iterable[str], at: str) -> list[Hardware]:
    found: dict[tuple[str, str | None], Hardware] = {}
    for word in given:
        name, _, mode = word.partition("@")
        for hardware in _named(registry, name):
            placed = hardware.at(mode or at) if mode or at else hardware
            found.setdefault((placed.id, placed.mode), placed)
    return list(found.values())


def select_device(registry: Registry, name: str, at: str = "") -> Hardware:
    """The one device of a name. Warns ExpandedNameWarning; raises RooflintError where there is none or several."""
    parts = _COMMA.split(name)
    several = len(parts) > 1 and all(names_of(registry).meaning(part).devices for part in parts)
    found = _selected(registry, parts if several else [name], at)  # else a comma belongs to the name
    if len(found) != 1:
        raise RooflintError(f"'{name}' names {len(found)} devices; want one")
    return found[0]


def listed(registry: Registry, pattern: str) -> list[str]:
    """Ids that a glob matches, that are declared by that name, or whose names have all words of a text.

    Raises UnknownDeviceError where there is none.
    """
    names = names_of(registry)
    if is_glob(pattern):
        found = fnmatch.filter(registry.files, pattern.strip().lower())
    else:
        meaning = names.meaning(pattern)
        found = list(meaning.devices) if meaning.is_declared else names.having(pattern)
    if not found:
        raise UnknownDeviceError(f"no device matches '{pattern}'{names.hint(pattern)}")
    return found


def is_glob(name: str) -> bool:
    """Whether a name is a pattern: `nvidia/l*`."""
    return any(sign in name for sign in "*?[")


def _named(registry: Registry, name: str) -> Iterator[Hardware]:
    if name.lower() in EXAMPLES:
        yield registry.get(EXAMPLES[name.lower()])
    elif is_glob(name):
        yield from map(registry.get, listed(registry, name))
    else:
        yield names_of(registry).device(name)


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a name means: no device, one, or several that it does not tell apart."""

    name: str
    devices: tuple[str, ...]
    part: str | None = None
    """The part of each device that is meant, where the name says one: `gcd`."""
    times: int = 1
    """How many of them the name speaks of: `x4`, `DGX`."""
    near: tuple[str, ...] = ()
    """Where no device is meant: ids of what has most words of the name, or is spelt like it."""
    is_declared: bool = False
    """Whether it is an id, a name or an alias as a spec declares it."""
    is_system: bool = False
    """Whether it is the name of a system such as a DGX, which draws more than its devices."""
    shortened: tuple[str, ...] = ()
    """Where no device is meant: ids that have all words of the name, and more that tell products apart."""


@memoised
def names_of(registry: Registry) -> "Names":
    """The names of a registry's devices, worked out once."""
    return Names(registry)


@dataclass(frozen=True)
class Names:
    """The names of every device of a registry."""

    registry: Registry

    def device(self, name: str) -> Hardware:
        """The one device that a name or an abbreviation means.

        Warns ExpandedNameWarning of an abbreviation. Raises AmbiguousDeviceError or UnknownDeviceError.
        """
        meaning = self.meaning(name)
        found = meaning.devices or meaning.shortened
        if len(found) > 1:
            raise AmbiguousDeviceError(f"'{name}' is ambiguous: {', '.join(found)}")
        if not found:
            raise UnknownDeviceError(f"unknown device '{name}'{self.hint(name)}")
        if meaning.times > 1 or meaning.part:
            what = f"{meaning.times} devices" if meaning.times > 1 else f"a part ({meaning.part})"
            raise RooflintError(f"'{name}' is {what}; want one device, such as {found[0]}")
        if not meaning.is_declared and not self._is_spelt_out(name, found[0]):
            warnings.warn(f"'{name}' is read as {found[0]}", ExpandedNameWarning, stacklevel=2)
        return self.registry.get(found[0])

    def _is_spelt_out(self, name: str, device: str) -> bool:
        """Whether a name has the words of the id, the name or an alias of a device, but for makers and series."""
        hardware = self.registry.get(device)
        said = set(words(name)) - vocabulary.NOISE
        return any(said == set(words(one)) - vocabulary.NOISE for one in (device, hardware.name, *hardware.aliases))

    def hint(self, name: str) -> str:
        """`; did you mean …?` for a name that means no device, or how many are known."""
        near = self.meaning(name).near
        return did_you_mean(near) or f" ({len(self.registry.files)} are known; 'rooflint hardware' lists them)"

    @memoised
    def meaning(self, name: str) -> Meaning:
        """Which devices a name means: its id or a declared name exactly, else the words that tell products apart."""
        plain = squeezed(name)
        if plain in self._ids:  # no other file is read
            return Meaning(name, self._ids[plain], is_declared=True)
        if declared := self._declared.get(plain, ()):
            return Meaning(name, declared, is_declared=True)
        meant = self._of_words(name, words(vocabulary.without_remarks(name, self._telling))[:MOST_WORDS])
        bare = vocabulary.without_series(name)
        return meant if meant.devices or bare == name else self._of_words(name, words(bare)[:MOST_WORDS], meant)

    def _of_words(self, name: str, said: tuple[str, ...], otherwise: Meaning | None = None) -> Meaning:
        """Which devices the words of a name mean; the other meaning where they mean none."""
        given, times = vocabulary.counted(said)
        for own, number in ((given, times), (vocabulary.of_pair(given), 2 * times)):
            for part, devices in self._matching(own).items():
                return Meaning(name, tuple(devices), part, number, is_system=vocabulary.is_system(said))
        if several := self._listed(name) or self._series(given):
            return Meaning(name, several, times=times)
        if otherwise:
            return otherwise
        short = tuple(self._shortened(given))
        return Meaning(name, (), None, times, tuple(short or self._near(name, given)), shortened=short)

    def _matching(self, given: tuple[str, ...]) -> dict[str | None, list[str]]:
        """Ids of the devices whose name the words are, by the part of them that is meant."""
        by_part: dict[str | None, list[str]] = {}
        for place in self._candidates(given):
            matched, part = self._matches(given, place)
            if matched:
                by_part.setdefault(part, []).append(self._devices[place].id)
        return by_part

    def _series(self, given: tuple[str, ...]) -> tuple[str, ...]:
        """The devices of a series that differ in a last sign: `Ascend 910B` is the 910B2, 910B3 and 910B4.

        The sign is a digit behind a letter or a letter behind a digit, as `MI30` is no series of the MI300.
        """
        telling = "".join(word for word in given if tells(word))
        if len(telling) < SHORTEST - 1 or not any(map(str.isdigit, telling)):
            return ()
        begun = self._joined[bisect_left(self._joined, (telling,)) :]
        begun = [(joined, place) for joined, place in begun[:MOST_OF_SERIES] if joined[:-1] == telling]
        if len({joined for joined, _ in begun if joined[-1].isdigit() != telling[-1].isdigit()}) < 2:
            return ()
        left = tuple(word for word in given if not tells(word))
        places = dict.fromkeys(place for joined, place in begun if joined[-1].isdigit() != telling[-1].isdigit())
        return tuple(one.id for one in map(self._devices.__getitem__, places) if _describe(left, one, None))

    def _listed(self, name: str) -> tuple[str, ...]:
        """The devices of a name that lists several with slashes, `A100/A800`; none unless each of them is one."""
        each = [self.meaning(part) for part in name.split("/")] if 0 < name.count("/") <= MOST_LISTED else []
        if not all(one.devices and one.times == 1 and not one.part for one in each):
            return ()
        return tuple(dict.fromkeys(device for one in each for device in one.devices))

    def having(self, text: str) -> list[str]:
        """Ids of the devices in whose id, name or aliases each word of a text stands whole: `jetson orin`, `sxm`."""
        wanted = words(text)
        return [
            hardware.id
            for hardware, own in zip(self._devices, self._words, strict=True)
            if wanted and all(word in own or (is_form(word) and _fits(word, hardware)) for word in wanted)
        ]

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of all devices that can be read."""
        return tuple(hardware.id for hardware in self._devices)

    @cached_property
    def _ids(self) -> Mapping[str, tuple[str, ...]]:
        """Ids by their spelling, whole or without the vendor."""
        found: dict[str, tuple[str, ...]] = {}
        for device in self.registry.files:
            for name in dict.fromkeys((squeezed(device), squeezed(device.rpartition("/")[2]))):
                found[name] = (*found.get(name, ()), device)
        return found

    @cached_property
    def _devices(self) -> tuple[Hardware, ...]:
        return tuple(self.registry.readable())

    @cached_property
    def _declared(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, dict[str, None]] = {}
        for hardware in self._devices:
            for name in (hardware.name, *hardware.aliases):
                found.setdefault(squeezed(name), {})[hardware.id] = None
            if capability := hardware.compute_capability:
                for name in (f"compute capability {capability}", f"sm{capability.replace('.', '')}"):
                    found.setdefault(squeezed(name), {})[hardware.id] = None
        return {name: tuple(devices) for name, devices in found.items()}

    @cached_property
    def _required(self) -> tuple[tuple[tuple[str, ...], int], ...]:
        """The words without which a device is not meant, each with its place: of its id, its name, each alias."""
        found: dict[tuple[tuple[str, ...], int], None] = {}
        for place, hardware in enumerate(self._devices):
            for name in (hardware.id, hardware.name, *hardware.aliases):
                own = required(name)
                if name == hardware.id or all(map(tells, own)):
                    found[own, place] = None
        return tuple(found)

    @cached_property
    def _designations(self) -> tuple[list[tuple[str, ...]], ...]:
        """The required words of each name, for each device."""
        found: tuple[list[tuple[str, ...]], ...] = tuple([] for _ in self._devices)
        for own, place in self._required:
            found[place].append(own)
        return found

    @cached_property
    def _words(self) -> tuple[frozenset[str], ...]:
        """All words of the id, the name and the aliases, for each device."""
        named = ((one.id, one.name, *one.aliases) for one in self._devices)
        return tuple(frozenset(word for name in names for word in words(name)) for names in named)

    @cached_property
    def _every_word(self) -> frozenset[str]:
        return frozenset().union(*self._words)

    @cached_property
    def _telling(self) -> frozenset[str]:
        """Every word that tells products apart."""
        return frozenset(word for own, _ in self._required for word in own)

    @cached_property
    def _by_word(self) -> Mapping[str, list[int]]:
        """Positions in `_required` by word."""
        found: dict[str, list[int]] = {}
        for position, (own, _) in enumerate(self._required):
            for word in set(own):
                found.setdefault(word, []).append(position)
        return found

    @cached_property
    def _joined(self) -> list[tuple[str, int]]:
        """Required words in one with the place of their device, in the order of the words."""
        return sorted(("".join(own), place) for own, place in self._required)

    @cached_property
    def _by_joined(self) -> Mapping[str, list[int]]:
        """Places of the devices whose required words are these in one."""
        found: dict[str, list[int]] = {}
        for joined, place in self._joined:
            found.setdefault(joined, []).append(place)
        return found

    @cached_property
    def _longest(self) -> int:
        return max((len(own) for own, _ in self._required), default=0) + 1

    def _candidates(self, given: tuple[str, ...]) -> list[int]:
        """Places of the devices whose required words are among those of a name, apart or joined; no other matches."""
        known = frozenset(given)
        joined = {
            "".join(given[start:end])
            for start in range(len(given))
            for end in range(start + 1, min(len(given), start + self._longest) + 1)
        }
        found = {place for text in joined for place in self._by_joined.get(text, ())}
        apart = (self._required[position] for word in known for position in self._by_word.get(word, ()))
        found.update(place for own, place in apart if known.issuperset(own))
        return sorted(found)

    def _matches(self, given: tuple[str, ...], place: int) -> tuple[bool, str | None]:
        """Whether the words of a name are those of a device, and the part of it that they mean."""
        hardware = self._devices[place]
        for own in self._designations[place]:
            left = _without(given, own)
            if len(left) < len(given):
                part = next((name for name in hardware.parts if name in left), None)
                if _describe(left, hardware, part):
                    return True, part
        return False, None

    def _shortened(self, given: tuple[str, ...]) -> Iterator[str]:
        """Devices that have all words of a name, of which one tells products apart by itself: `orin`, `gaudi`.

        None that has more behind it which makes another card: a GTX 1050 is no GTX 1050 Ti.
        """
        needed = {word for word in given if not (is_form(word) or gigabytes(word) or word in KINDS)}
        if not any(map(_is_name, given)) or not needed <= self._every_word:
            return
        for hardware, own in zip(self._devices, self._words, strict=True):
            if not needed <= own or not any(word in own and _is_name(word) for word in given):
                continue
            if own & OF_CARDS - needed:
                continue
            if _describe(tuple(word for word in given if word not in own), hardware, None):
                yield hardware.id

    def _near(self, name: str, given: Iterable[str]) -> list[str]:
        """Devices that begin like a name, else those that share words with it, else those that are spelt like it."""
        telling = [word for word in given if tells(word)]
        whole = "".join(telling)
        found = set(self._begun(whole)) if len(whole) >= SHORTEST else set()
        named = filter(_is_name, telling)
        found = found or {self._required[position][1] for word in named for position in self._by_word.get(word, ())}
        ids = [self._devices[place].id for place in sorted(found)]
        return vocabulary.near_ids(name, ids) or ids or vocabulary.mistyped_ids(name, self.registry.files)

    def _begun(self, whole: str) -> Iterator[int]:
        """Places of the devices whose required words begin like a text."""
        for joined, place in self._joined[bisect_left(self._joined, (whole,)) :]:
            if not joined.startswith(whole):
                return
            yield place


def _is_name(word: str) -> bool:
    """Whether a word may stand for a product by itself: neither `super` nor `ti` nor a small number."""
    return (
        tells(word) and word not in MODIFIERS and len(word) > 1 and not (word.isdigit() and len(word) < FEWEST_DIGITS)
    )


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


def _describe(left: tuple[str, ...], hardware: Hardware, part: str | None) -> bool:
    """Whether words beside a product's name are all true of a device: its form, its sizes, its memory, plain nouns.

    Where several forms or sizes are named, one of them must fit: `40/80 GB`.
    """
    if "cpu" in left and hardware.kind != "cpu":  # the host of a module is another device
        return False
    allowed = {part, *_own_words(hardware), *KINDS, *vocabulary.NOISE}
    rest = [word for word in left if word not in allowed]
    forms = [word for word in rest if is_form(word)]
    sizes = [word for word in rest if not is_form(word)]
    if not all(gigabytes(word) or cores(word) for word in sizes):
        return False
    return all(not alike or any(_fits(word, hardware) for word in alike) for alike in (forms, sizes))


def _fits(word: str, hardware: Hardware) -> bool:
    own = words(hardware.id)
    if is_form(word):
        having = [form for form in own if is_form(form)]
        having += [form for name in hardware.aliases if having for form in words(name) if is_form(form)]  # H200 PCIe
        alike = {form for form in having if form.rstrip("0123456789") == word.rstrip("0123456789")}
        numbered = {form for form in alike if form[-1].isdigit()}  # an H100 is an SXM and an SXM5, and no SXM4
        return not having or (word in numbered if numbered and word[-1].isdigit() else bool(alike))
    if (size := gigabytes(word)) is not None:
        declared = (words(name) for name in hardware.aliases)  # GH200 480GB: the memory of its CPU
        return any(_gigabytes(hardware, name) == size for name in hardware.memories) or any(
            word in own for own in declared
        )
    return any(unit.groups == cores(word) for unit in hardware.units.values() if "groups" in unit.facts)


def _gigabytes(hardware: Hardware, memory: str) -> float | None:
    fact = hardware.memories[memory].facts.get("capacity")
    return None if fact is None else round(fact.value / (2**30 if "GiB" in fact.display else 1e9))


def _own_words(hardware: Hardware) -> set[str]:
    """Words that may stand beside the name: the memory's, the architecture's, the die's, `sm75`."""
    named = (*words(hardware.architecture or ""), *words(hardware.die or ""), *words(hardware.name))
    described = {word for word in named if is_form(word) or (gigabytes(word) and not word.isdigit())}
    capability = f"sm{hardware.compute_capability.replace('.', '')}" if hardware.compute_capability else ""
    return {*hardware.memories, *named, capability} - described


# ---- Systems


def system_named(registry: Registry, name: str) -> System | None:
    """The system of an id, with its vendor or without, a name or an alias, whatever its case, or None."""
    wanted = name.lower().strip()
    for one in registry.system_files:
        if wanted in (one, one.rpartition("/")[2]):
            return system_of(registry, registry.get(one))
    spelt = (one for one in registry.readable_systems() if wanted in map(str.lower, (one.name, *one.aliases)))
    return next((system_of(registry, one) for one in spelt), None)


def systems_of(registry: Registry, device: Hardware) -> list[System]:
    """The systems that hold a device."""
    found = (one for one in registry.readable_systems() if one.joined and one.joined.device == device.id)
    return [system_of(registry, one) for one in found]


def system_of(registry: Registry, hardware: Hardware) -> System:
    """A system with its device."""
    assert hardware.joined
    return System(hardware, registry.get(hardware.joined.device))
