"""Systems: a card each, with its devices, its links, the bandwidths that follow, and the claims on them."""

from dataclasses import dataclass

from rooflint_report.evidence import System
from rooflint_report.sections.devices import Register, Row, others, place, rows
from rooflint_report.sections.section import Page, tally
from rooflint_report.verdicts import Verdict


@dataclass(frozen=True)
class Card:
    """What the page shows of one system."""

    system: System
    anchor: str
    register: Register
    tally: list[tuple[str, int]]
    facts: list[Row]
    others: list[Verdict]
    """Claims that do not stand beside a bandwidth."""

    def place(self, file: str | None, line: int | str | None) -> str:
        """`:14` in the system's own spec, `h100-sxm5-80gb:23` in another file."""
        return place(file, line, self.system.file)


def view(page: Page) -> list[Card] | None:
    """None where the evidence names no system."""
    cards = []
    for one in page.evidence.systems:
        verdicts = [verdict for verdict in page.evidence.verdicts if verdict.hardware == one.id and not verdict.replay]
        register = Register(one, verdicts)
        left = others(one, verdicts)
        cards.append(Card(one, page.devices[one.id], register, tally(verdicts), rows(one.facts), left))
    return cards or None
