"""From the red claims of a run to a plan: repairs of specs that were tried, then golden files, then refusals."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_rooflint.proposals import golden_repair
from pytest_rooflint.proposals.proposal import Plan, Proposal, Refusal
from pytest_rooflint.proposals.reds import Key, State
from pytest_rooflint.proposals.spec_repair import Repairs
from pytest_rooflint.suite import Suite


def plan(suite: Suite, ids: Mapping[Key, str], root: Path, *, excuses: bool = True) -> Plan:
    """What to do about red claims, given by their places with the ids that pytest knows them by.

    Only files below the root of the project are touched.
    """
    before = State.of(suite, excuses=excuses)
    wanted = {key: name for key, name in ids.items() if key in before.reds}
    repairs = Repairs(suite, before, wanted, root.resolve(), excuses=excuses)
    of_specs = tuple(repairs.proposals())
    quotes = _Quotes(repairs)
    quotes.propose()
    after = State.of(quotes.suite, excuses=excuses)
    if quotes.proposals and (objection := after.objection(repairs.state)):
        quotes.refuse_all(objection)
        after = repairs.state
    mended = sum(key not in after.reds for key in before.reds)
    return Plan((*of_specs, *quotes.proposals), tuple(quotes.refusals.items()), mended, len(wanted))


@dataclass
class _Quotes:
    """Golden files, one after the other, on top of the specs as they were repaired."""

    repairs: Repairs
    proposals: list[Proposal] = field(default_factory=list)
    refusals: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.suite = self.repairs.suite

    def propose(self) -> None:
        """What each claim that is still red should quote, or why nobody says so."""
        for key, name in self.repairs.wanted.items():
            if key not in self.repairs.state.reds:
                continue
            try:
                found, self.suite = golden_repair.proposal(self.suite, key, name, self.repairs)
                self.proposals.append(found)
            except Refusal as refusal:
                tried = self.repairs.objections.get(name)
                self.refusals[name] = f"{refusal}; {tried}" if tried else str(refusal)

    def refuse_all(self, objection: str) -> None:
        """Together they break what each of them keeps."""
        self.refusals |= {name: objection for found in self.proposals for name in found.mends}
        self.proposals.clear()
        self.suite = self.repairs.suite
