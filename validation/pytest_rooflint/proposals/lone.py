"""A fact that one claim alone asks to change: which of the two is wrong, the figures cannot say."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from pytest_rooflint.proposals.peers import is_odd
from pytest_rooflint.proposals.proposal import Refusal
from pytest_rooflint.proposals.reds import Key
from pytest_rooflint.proposals.reprint import is_misnamed, reprint
from pytest_rooflint.suite import Suite
from pytest_rooflint.verdict import Verdict
from rooflint import yaml_text
from rooflint.errors import shown
from rooflint.facts import Fact

FEWEST_DIGITS = 4
"""Digits that any source may print."""


@dataclass(frozen=True)
class Lone:
    """The claim, as it stands in a suite, with its verdict."""

    suite: Suite
    verdict: Verdict
    key: Key
    excuses: bool

    @cached_property
    def written(self) -> str:
        """The text of its expectation; empty where it has none. Raises PlaceError."""
        if self.verdict.claim.expectation is None:
            return ""
        return yaml_text.value_at(self.suite.text(self.key[0]), ("claims", self.key[1], "expect"))

    def refuse_guess(self, fact: Fact, new: str) -> None:
        """Do not change a fact that looks right for one that looks wrong. Raises Refusal, PlaceError."""
        claim, registry = self.verdict.claim, self.suite.registry
        if self.written and is_misnamed(claim, self.verdict, self.suite, self.written, excuses=self.excuses):
            raise Refusal("only one claim asks for it, and that holds with another prefix, or sparse for dense")
        if is_odd(registry, fact, new) > is_odd(registry, fact, fact.display):
            raise Refusal("only one claim asks for it, and no other device has the like")
        if digits(new) > max(digits(fact.display), FEWEST_DIGITS):
            raise Refusal("only one claim asks for it, and nobody prints such a figure")

    def remarks(self) -> Iterator[str]:
        """That it stands alone, and what it would quote instead. Raises PlaceError."""
        yield "only one claim asks for it; read both documents before you choose"
        claim = self.verdict.claim
        try:
            other = reprint(claim, self.verdict, self.suite, self.written, excuses=self.excuses)
        except Refusal:
            return
        yield f"instead of this one: {shown(claim.file)}:{claim.line} expect {self.written} → {other.expect}"


def digits(text: str) -> int:
    """Significant digits of a quantity as it is written: 4 of `1.300 GHz`, 2 of `1300`."""
    number = text.partition(" ")[0]
    return len(number.replace(".", "").lstrip("0") if "." in number else number.strip("0"))
