"""Facts and devices that note which facts are looked up: a result depends on no others."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields

from rooflint.base.facts import Fact
from rooflint.hardware.device import Facts, Hardware

#: What is told of each fact that is looked up.
Note = Callable[[Fact], None]


class TrackedFacts(Mapping[str, Fact]):
    """Facts that note each one that is looked up; their paths can be read without a note."""

    def __init__(self, facts: Facts, note: Note) -> None:
        self.unread = facts
        self._note = note

    def __getitem__(self, path: str) -> Fact:
        fact = self.unread[path]
        self._note(fact)
        return fact

    def __contains__(self, path: object) -> bool:
        return path in self.unread

    def __iter__(self) -> Iterator[str]:
        return iter(self.unread)

    def __len__(self) -> int:
        return len(self.unread)


@dataclass(frozen=True)
class TrackedHardware(Hardware):
    """The same device with tracked facts."""

    note: Note = field(default=lambda _: None, repr=False, compare=False)

    @classmethod
    def of(cls, hardware: Hardware, note: Note) -> "TrackedHardware":
        """A device that notes what is looked up."""
        own = {one.name: getattr(hardware, one.name) for one in fields(Hardware)}
        points = {mode: TrackedFacts(facts, note) for mode, facts in hardware.operating_points.items()}
        changed = {"facts": TrackedFacts(hardware.facts, note), "operating_points": points}
        return cls(**{**own, **changed}, note=note)

    @staticmethod
    def _plain(facts: Facts) -> Facts:
        """The facts without a note that they were looked up."""
        return facts.unread if isinstance(facts, TrackedFacts) else facts

    def _handed_out(self, facts: Facts) -> Facts:
        return TrackedFacts(facts, self.note)
