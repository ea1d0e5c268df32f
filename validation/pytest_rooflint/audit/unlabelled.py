"""Columns of peaks that name no precision: the one that most of their figures have, or the field's usual one."""

from collections.abc import Iterable

from rooflint.diagnosis.figures import Printed
from rooflint.diagnosis.identify import Identifier
from rooflint.diagnosis.labels import Asked

USUAL = ("bf16", "fp16")
"""What the field means by the peak of an accelerator where it says no more: 16 bits, dense."""
FLOATING = ("fp32", "fp8", "fp64", "tf32", "fp4")
INTEGERS = ("int8", "int4")


def presumed(
    figures: Iterable[tuple[Printed, tuple[str, ...]]], identifier: Identifier, unit: str, vector: bool | None = None
) -> tuple[str, ...]:
    """The precision of a column by its figures, each with the devices that its name may mean; two where both fit.

    The precision of more than half of the figures counts, and where none has so many that of 16 bits, or of FP32 for
    a column of vector lanes. Empty where a single
    figure is right in another precision only, since chance would decide. Integers come first for a unit of operations
    (`TOPS`), and are left out for one of floating-point operations.
    """
    known = [(number, devices) for number, devices in figures if devices]
    if not known:
        return ()
    choices: list[tuple[str, ...]] = [USUAL, *((name,) for name in FLOATING)]
    usual = (FLOATING[0],) if vector else USUAL
    choices.sort(key=lambda names: names != usual)
    if "FLOP" not in unit:
        integers = [(name,) for name in INTEGERS]
        choices = [*integers, *choices] if unit else [*choices, *integers]

    def hits(names: tuple[str, ...]) -> int:
        asked = [Asked("peak", name, vector=vector) for name in names]
        return sum(
            any(identifier.agreeing(number, one, device) for one in asked for device in devices)
            for number, devices in known
        )

    scores = {names: hits(names) for names in choices}
    best = max(choices, key=scores.__getitem__)
    if 2 * scores[best] <= len(known):
        return usual
    return best if len(known) > 1 or best == choices[0] else ()
