"""Columns that do not say all of what they are: the precision, or the unit, that most of their figures have.

A column of peaks without a precision is of that; else of the field's usual one. `cores` are CUDA cores where most are.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from pytest_rooflint.audit.columns import Column
from pytest_rooflint.audit.rows import Row
from pytest_rooflint.audit.spelling import words_of
from rooflint.diagnosis.figures import Printed
from rooflint.diagnosis.identify import Identifier
from rooflint.diagnosis.labels import Asked

USUAL = ("bf16", "fp16")
"""What the field means by the peak of an accelerator where it says no more: 16 bits, dense."""
FLOATING = ("fp32", "fp8", "fp64", "tf32", "fp4")
INTEGERS = ("int8", "int4")
ADVERTISED = ("fp4", "int4", "fp8", "int8")
"""What vendors may mean by `AI TOPS`: the fastest precision of a device, often with sparsity."""
CORES = "cuda_core"
_COUNTING = frozenset({"gpu", "num", "number", "of", "n", "total", "count"})


def cores(
    names: Iterable[str], rows: Sequence[Row], devices_of: Callable[[str], Iterable[str]], identifier: Identifier
) -> dict[str, str]:
    """Roles of columns such as `cores`, most of whose figures are the CUDA cores of their devices."""
    roles = {}
    for name in names:
        if set(words_of(name)) - _COUNTING != {"cores"}:
            continue
        hits = []
        for row in rows:
            devices = next((found for cell in row.values() if (found := devices_of(cell.text))), ())
            figures = [one for device in devices for one in identifier.of(device) if one.unit == CORES]
            counts = {f"{one.value:g}" for one in figures if one.quantity == "count"}
            hits += [row[name].text.replace(",", "") in counts] if name in row and counts else []
        if 2 * sum(hits) > len(hits) > 1:
            roles[name] = f"count {CORES}"
    return roles


def presumed(
    figures: Iterable[tuple[Printed, tuple[str, ...]]], identifier: Identifier, unit: str, vector: bool | None = None
) -> tuple[str, ...]:
    """The precision of a column by its figures, each with the devices that its name may mean; two where both fit.

    The precision of more than half of the figures counts, and where none has so many that of 16 bits, or of FP32 for
    vector lanes and devices without matrix units. Empty for operations (`AI TOPS`) of which none has so many, and
    where a single figure is right in another precision only, since chance would decide. Integers come first for a
    unit of operations (`TOPS`), and are left out for one of floating-point operations.
    """
    known = [(number, devices) for number, devices in figures if devices]
    if not known:
        return ()
    choices: list[tuple[str, ...]] = [USUAL, *((name,) for name in FLOATING)]
    fitting = [one for _, devices in known for device in devices for one in identifier.of(device)]
    has_matrix = any(one.precision in USUAL and one.is_matrix for one in fitting)
    usual = (FLOATING[0],) if vector or not has_matrix else USUAL  # FP16 of a GTX 1080 is what nobody means
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
        return () if unit.endswith("OP/s") and "FLOP" not in unit else usual  # TOPS are of any precision and sparsity
    return best if len(known) > 1 or best == choices[0] else ()


def of_two(asked: Asked, either: str, number: Printed, devices: Sequence[str], identifier: Identifier) -> Asked:
    """A figure of two precisions (`FP16/BF16`), as the second where it alone fits, or where no device has the first."""
    other = replace(asked, precision=either)
    own = any(identifier.agreeing(number, asked, device) for device in devices)
    fits = not own and any(identifier.agreeing(number, other, device) for device in devices)
    lacks = not any(identifier.fitting(asked, device) for device in devices) and any(
        identifier.fitting(other, device) for device in devices
    )
    return other if fits or lacks else asked


def says_ai(column: Column) -> bool:
    """Whether a column has what vendors advertise, of which neither precision nor sparsity is said: `AI TOPS`."""
    return column.role == "peak" and not column.precision and "ai" in words_of(column.name)


def of_ai(asked: Asked, number: Printed, devices: Sequence[str], identifier: Identifier) -> Asked:
    """An advertised figure in the precision and sparsity in which it is right; without a precision where in none."""
    choices = [replace(asked, precision=name, sparse=sparse) for sparse in (True, None) for name in ADVERTISED]
    choices += [replace(asked, precision=name) for name in USUAL]
    fitting = (one for one in choices if any(identifier.agreeing(number, one, device) for device in devices))
    return next(fitting, asked)
