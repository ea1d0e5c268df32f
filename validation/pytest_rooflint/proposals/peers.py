"""Peers of a fact: what other devices say under the same key, so that a value nobody else has looks odd."""

from collections.abc import Iterator

from rooflint.facts import Fact, leading_number
from rooflint.specs import Registry
from rooflint.suspects import FEWEST_PEERS


def is_odd(registry: Registry, fact: Fact, text: str) -> bool:
    """Whether no other device says a value as small or as large: of that path, or of that key where few have it."""
    others = list(_others(registry, fact))
    peers = [one.value for one in others if one.path == fact.path]
    if len(peers) < FEWEST_PEERS:
        peers = [one.value for one in others]
    value = fact.value * leading_number(text) / leading_number(fact.display)
    return bool(peers) and not min(peers) <= value <= max(peers)


def _others(registry: Registry, fact: Fact) -> Iterator[Fact]:
    """What other lines say under the same key, whatever the unit or memory is called."""
    for device in registry.readable():
        facts = device.facts.values()
        yield from (one for one in facts if _key(one) == _key(fact) and (one.file, one.line) != (fact.file, fact.line))


def _key(fact: Fact) -> tuple[str, ...]:
    """A path without the name of its unit or memory."""
    return tuple(word for place, word in enumerate(fact.path.split(".")) if place != 1)
