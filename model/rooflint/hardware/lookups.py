"""Facts and devices that note which facts are looked up: a result depends on no others."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields

from rooflint.base.facts import Fact
from rooflint.hardware.device import Facts, Hardware

#: What is told of each fact that is looked up.
Note = Callable[[Fact], None]


class TrackedFacts(Mapping[str, Fact]):
    """Facts that note each one that is looked up, and apart from these each one that is only asked whether it is there.

    Listing the paths asks of every one whether it is there.
    """

    def __init__(self, facts: Facts, note: Note, there: Note = lambda _: None) -> None:
        self.unread = facts
        self._note = note
        self._there = there

    def __getitem__(self, path: str) -> Fact:
        fact = self.unread[path]
        self._note(fact)
        return fact

    def __contains__(self, path: object) -> bool:
        if not isinstance(path, str) or path not in self.unread:
            return False
        self._there(self.unread[path])
        return True

    def __iter__(self) -> Iterator[str]:
        for path, fact in self.unread.items():
            self._there(fact)
            yield path

    def __len__(self) -> int:
        for fact in self.unread.values():
            self._there(fact)
        return len(self.unread)


@dataclass(frozen=True)
class TrackedHardware(Hardware):
    """The same device with tracked facts."""

    note: Note = field(default=lambda _: None, repr=False, compare=False)
    there: Note = field(default=lambda _: None, repr=False, compare=False)

    @classmethod
    def of(cls, hardware: Hardware, note: Note, there: Note = lambda _: None) -> "TrackedHardware":
        """A device that notes what is looked up, and what is asked whether it is `there`."""
        own = {one.name: getattr(hardware, one.name) for one in fields(Hardware)}
        points = {mode: TrackedFacts(facts, note, there) for mode, facts in hardware.operating_points.items()}
        changed = {"facts": TrackedFacts(hardware.facts, note, there), "operating_points": points}
        return cls(**{**own, **changed}, note=note, there=there)

    @staticmethod
    def _plain(facts: Facts) -> Facts:
        """The facts without a note that they were looked up."""
        return facts.unread if isinstance(facts, TrackedFacts) else facts

    def _handed_out(self, facts: Facts) -> Facts:
        return TrackedFacts(facts, self.note, self.there)
