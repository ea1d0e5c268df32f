"""Places: lines of a file that the run repaired on trial, and the reds that turned green."""

from dataclasses import dataclass

from rooflint_report.evidence import Place, Verdict
from rooflint_report.outcome import counted


@dataclass(frozen=True)
class Witness:
    """A device, or a golden file about none, whose red claims name a place; the anchor is that of the farthest."""

    name: str
    anchor: str | None
    reds: int


def witnesses(place: Place, fails: list[tuple[str, Verdict]]) -> list[Witness]:
    """Who names a place, most reds first; `fails` with their anchors, farthest first. An unknown id leads nowhere."""
    named, left, found = set(place["ids"]), set(place["ids"]), dict[str, Witness]()
    for anchor, verdict in fails:
        if verdict["nodeid"] in named:
            left.discard(verdict["nodeid"])
            name = verdict["hardware"] or verdict["file"]
            first = found.get(name, Witness(name, anchor, 0))
            found[name] = Witness(name, first.anchor, first.reds + 1)
    return sorted(found.values(), key=lambda w: -w.reds) + [Witness(name, None, 1) for name in sorted(left)]


def mended(mends: int, reds: int | None = None) -> str:
    """Say how many reds a repair turns green: `25 of 27 reds turn green`."""
    if not mends:
        return "no red turns green"
    if mends == reds:
        return "the one red turns green" if reds == 1 else f"all {counted(reds, 'red')} turn green"
    what = counted(mends, "red") if reds is None else f"{mends} of {counted(reds, 'red')}"
    return f"{what} {'turns' if mends == 1 else 'turn'} green"


def broken(breaks: int, mends: int | None) -> str:
    """Go on with what the repair costs: `and nothing turns red`, `but 3 greens turn red`."""
    if not breaks:
        return "and nothing turns red"
    return f"{'but' if mends else 'and'} {counted(breaks, 'green')} {'turns' if breaks == 1 else 'turn'} red"


def tried(mends: int | None, breaks: int | None) -> str:
    """Say what the repair of a cause did; nothing where it was not tried out."""
    if mends is None:
        return ""
    return mended(mends) if breaks is None else f"{mended(mends)} {broken(breaks, mends)}"
