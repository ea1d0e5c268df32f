"""Places of figures in source code: the device that names around a figure give it, and the name of its column."""

from dataclasses import dataclass, replace

from pytest_rooflint.audit.column_words import SAID
from pytest_rooflint.audit.columns import guessed, is_about_links, is_mere_precision
from pytest_rooflint.audit.mentions import LONGEST_NAME
from pytest_rooflint.audit.spelling import words_of
from rooflint.diagnosis.figures import QUANTITIES


@dataclass(frozen=True, slots=True)
class Place:
    """What is known of a figure by where it stands."""

    device: str = ""
    line: int = 0
    record: int = 0
    """Number of the record, which is a row of the table."""
    above: tuple[str, ...] = ()
    """Names around the device."""
    below: tuple[str, ...] = ()
    """Names between the device and the figure."""
    remark: str = ""
    """A comment on the whole statement."""
    is_conditional: bool = False
    """Whether a condition or a key of its own tells what the figure is of, so that `remark` does not."""
    readings: int = 1
    """How often the block around it is read, once for each combination that its conditions name."""

    def named(self, label: str) -> "Place":
        """The place below a further name."""
        if not label:
            return self
        return replace(self, below=(*self.below, label)) if self.device else replace(self, above=(*self.above, label))

    def computing(self, precision: str) -> "Place":
        """The place of the same figure in a precision that a condition names instead of the one that a key does."""
        if not precision or not self.device:
            return self
        return replace(self, below=(*(label for label in self.below if not is_mere_precision(label)), precision))

    @property
    def is_telling(self) -> bool:
        """Whether the names around the device say what the figures are: the name of a function, `hbm_gbps`."""
        return any((known := guessed(label)) and known.role in QUANTITIES for label in self.above)

    @property
    def column(self) -> str:
        """The names that say what the figure is; those around the device where the ones below it do not."""
        links = [label for label in self.above if is_about_links(label)][-1:]
        if self.below and not is_mere_precision(".".join(self.below)):
            known = guessed(self.below[-1])
            around = [label for label in self.above if is_mere_precision(label)][-1:]  # if fp8 and "h100" in name
            return ".".join(
                [*links, *self.below, *(around if known and known.role == "peak" and not known.precision else ())]
            )
        telling = [label for label in self.above if guessed(label)]
        return ".".join(dict.fromkeys([*links, *telling[-1:], *self.below])) or ".".join(self.above[-1:]) or "value"


def says_figure(column: str, text: str) -> bool:
    """Whether a column says by its words what its numbers are, and one is not the start of a sum or a switch."""
    known, words = guessed(column), words_of(column)
    is_said = known is not None and known.role in QUANTITIES and (known.unit or {*SAID, "bw"} & set(words))
    return bool(is_said) and len(words) <= LONGEST_NAME and text not in ("0", "0.0", "1", "1.0")
