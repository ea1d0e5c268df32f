"""Systems: devices of one kind, how they are joined, and the bandwidths that follow.

The facts of a link are those of its device; a system says how many devices there are, in which topology, and which
network cards join it to others. docs/method-systems.md has the formulas.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from rooflint.base.errors import Problem
from rooflint.base.facts import Fact, Factor, Ladder
from rooflint.base.strict_yaml import Document
from rooflint.hardware.device import DIRECTIONS, Hardware, Joined, Link, UnsupportedError

TO_NEIGHBOURS = 2
"""Links of a device along an axis of a torus: one to either neighbour."""


@dataclass(frozen=True)
class System:
    """A system with its device."""

    hardware: Hardware
    """Its facts: devices or axes, switches, network cards."""
    device: Hardware

    @property
    def id(self) -> str:
        """`nvidia/hgx-h100`"""
        return self.hardware.id

    @property
    def short(self) -> str:
        """The id without its vendor."""
        return self.id.rpartition("/")[2]

    @property
    def joined(self) -> Joined:
        """The device, its links, and the topology."""
        assert self.hardware.joined
        return self.hardware.joined

    @property
    def link(self) -> Link:
        """The links of a device to the others."""
        return self.device.link(self.joined.link)

    @property
    def count(self) -> int:
        """Devices."""
        return round(self.devices().result)

    def devices(self) -> Ladder:
        """How many there are, as factors: one, or one for each axis. [1]"""
        own = self.hardware.facts
        if "devices" in own:
            return Ladder((_factor("devices", own["devices"], "devices"),))
        return Ladder(tuple(self._axes().values()))

    def _axes(self) -> dict[str, Factor]:
        facts = {path.removeprefix("axes."): one for path, one in self.hardware.facts.items() if path[:5] == "axes."}
        return {name: _factor("devices", fact, f"along {name}") for name, fact in facts.items()}

    def total(self, directions: int = DIRECTIONS) -> Ladder:
        """Of the links of all devices together. [B/s]"""
        return self.devices().times(*self.link.derivation(directions).factors)

    def pair(self, directions: int = DIRECTIONS) -> Ladder:
        """Between two devices that send to no other, neighbours in a torus. [B/s]"""
        whole = self.link.derivation(directions)
        if self.joined.topology == "torus":
            return Ladder(tuple(one for one in whole.factors if one.name != "links"))
        if self.joined.topology == "mesh":
            return whole.times(self._share_of_one())
        return whole

    def _share_of_one(self) -> Factor:
        """Of the links in a mesh those to one other device."""
        others = self.count - 1
        return Factor("others", 1 / others, f"1/{others} (others)")

    def bisection(self, directions: int = DIRECTIONS) -> Ladder:
        """Between the halves of the system, cut where least links join them. [B/s]

        Switches let each device of a half send all that it can. A mesh has a pair for each device of one half and
        each of the other. A torus is cut twice across its longest axis. Raises UnsupportedError for devices that meet
        at a host, whose switches are not known.
        """
        if self.joined.topology == "host":
            raise UnsupportedError(f"{self.id} has no known bisection: its devices meet at the host")
        half = Factor("halves", 1 / 2, "1/2")
        if self.joined.topology == "switch":
            return self.total(directions).times(half)
        if self.joined.topology == "mesh":
            opposite = Factor("opposite", self.count / 2, f"{self.count / 2:g} in the other half")
            return self.devices().times(half, opposite, *self.pair(directions).factors)
        axes = self._axes()
        longest = max(axes, key=lambda name: axes[name].value)
        across = (one for name, one in axes.items() if name != longest)
        return Ladder((Factor("cuts", 2, "2 cuts"), *across)).times(*self.pair(directions).factors)

    def switch(self, directions: int = DIRECTIONS) -> Ladder:
        """Of all ports of one switch. [B/s]. Raises UnsupportedError where there is none."""
        ports = self.hardware.facts.get("switches.ports")
        if ports is None:
            raise UnsupportedError(f"{self.id} has no switches")
        per_link = (one for one in self.link.derivation(directions).factors if one.name != "links")
        return Ladder((_factor("ports", ports, "ports"), *per_link))

    def switches(self, directions: int = DIRECTIONS) -> Ladder:
        """Of all ports of all switches. [B/s]. Raises UnsupportedError where there is none."""
        one = self.switch(directions)
        return Ladder((_factor("switches", self.hardware.facts["switches.count"], "switches"), *one.factors))

    @property
    def cards(self) -> tuple[str, ...]:
        """Names of its network cards."""
        return tuple(dict.fromkeys(path.split(".")[1] for path in self.hardware.facts if path.startswith("nics.")))

    def network(self, name: str, directions: int = DIRECTIONS) -> Ladder:
        """Of all network cards of a name. [B/s]. Raises UnsupportedError with the names there are."""
        if name not in self.cards:
            having = ", ".join((self.joined.link, *self.cards))
            raise UnsupportedError(f"{self.id} has no link '{name}' (has: {having})")
        facts = {key: self.hardware.facts[f"nics.{name}.{key}"] for key in ("count", "rate")}
        return Link(name, facts).derivation(directions)

    def per_device(self, whole: Ladder) -> Ladder:
        """A share of what all devices have together."""
        shares = (
            Factor("per_device", 1 / one.value, f"1/{one.display}", one.fact, inverse=True)
            for one in self.devices().factors
        )
        return whole.times(*shares)

    def bandwidths(self) -> dict[str, Ladder]:
        """All that can be claimed, by what a claim says. [B/s]"""
        name, one = self.joined.link, self.link.derivation
        found = {f"{name}, per device": one(), f"{name} one-way, per device": one(1), name: self.total()}
        found[f"{name} pair"] = self.pair()
        if self.joined.topology != "host":
            found[f"{name} bisection"] = self.bisection()
        if self.joined.topology == "switch":
            found |= {f"{name} switch": self.switch(), f"{name} switches": self.switches()}
        for card in self.cards:
            found |= {card: self.network(card), f"{card}, per device": self.per_device(self.network(card))}
        return found

    def among(self, members: int) -> float:
        """What a device can send in one direction to `members` - 1 others that send as much. [B/s]

        Through switches and at a host over all its links. In a mesh over its links to them. Around a ring in a torus
        over two links, and over all of them where all devices take part.
        """
        all_links, one = self.link.derivation(1).result, self.pair(1).result
        if self.joined.topology == "mesh":
            return one * (members - 1) if members > 1 else all_links
        if self.joined.topology == "torus" and members < self.count:
            return min(TO_NEIGHBOURS * one, all_links)
        return all_links

    def outside(self) -> float:
        """What a device can send in one direction to another system: its share of all network cards. [B/s]

        Raises UnsupportedError where there are none.
        """
        if not self.cards:
            raise UnsupportedError(f"{self.id} has no network cards, which join it to others")
        return max(self.per_device(self.network(name, 1)).result for name in self.cards)


def _factor(name: str, fact: Fact, what: str) -> Factor:
    return Factor(name, fact.value, f"{fact.display} {what}", fact)


def wrongly_joined(system: Hardware, device: Hardware | None, document: Document) -> Iterator[Problem]:
    """What contradicts in a system: an unknown device or link, sizes that do not fit its topology, too few ports."""
    joined = system.joined
    assert joined
    if device is None:
        yield document.problem(("device",), f"device: unknown device '{joined.device}'")
        return
    if joined.link not in device.links:
        having = ", ".join(device.links) or "none"
        yield document.problem(("link",), f"link: {device.id} has no links '{joined.link}' (has: {having})")
        return
    axes = [path for path in system.facts if path.startswith("axes.")]
    wanted, found = ("axes", "devices") if joined.topology == "torus" else ("devices", "axes")
    has = {"axes": bool(axes), "devices": "devices" in system.facts}
    if has[found] or not has[wanted]:
        yield document.problem(("topology",), f"topology: {joined.topology} wants '{wanted}', and no '{found}'")
        return
    if ("switches.ports" in system.facts) != (joined.topology == "switch"):
        yield document.problem(("topology",), "topology: want 'switches' with switch, and only then")
        return
    yield from _wrong_links(System(system, device), len(axes), document)


def _wrong_links(system: System, axes: int, document: Document) -> Iterator[Problem]:
    links, topology, count = system.link.facts["count"].value, system.joined.topology, system.count
    if topology == "torus" and links != TO_NEIGHBOURS * axes:
        yield document.problem(("axes",), f"axes: {links:g} links are those of {links / 2:g} axes, found {axes}")
    if topology == "mesh" and links % (count - 1):
        yield document.problem(
            ("devices",), f"devices: {links:g} links do not join each of {count} to the {count - 1} others alike"
        )
    if topology == "switch":
        ports = math.prod(system.hardware.facts[f"switches.{key}"].value for key in ("count", "ports"))
        if ports < count * links:
            wanted = f"want a port for each of {count} × {links:g} links, found {ports:g}"
            yield document.problem(("switches",), f"switches: {wanted}")
