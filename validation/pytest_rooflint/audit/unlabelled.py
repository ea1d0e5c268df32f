"""Columns that do not say all of what they are: the precision, or the unit, that most of their figures have.

A column of peaks without a precision is of that; else of the field's usual one. `cores` are CUDA cores where most are.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from pytest_rooflint.audit.cells import NumberError, printed, unit_of_remark
from pytest_rooflint.audit.columns import Column
from pytest_rooflint.audit.rows import Row, merged_with, named_by, remarked, stated_by
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
MANY = 3
"""Times as many figures of a column that are right in FP32 as in 16 bits, from which on they are of FP32."""
UNSTATED = ("TFLOP/s", "GFLOP/s")
"""Units of a column of peaks that names none."""
#: The ids of the devices that a name may mean.
DevicesOf = Callable[[str], tuple[str, ...]]
CORES = "cuda_core"
_COUNTING = frozenset({"gpu", "num", "number", "of", "n", "total", "count"})


def cores(names: Iterable[str], rows: Sequence[Row], devices_of: DevicesOf, identifier: Identifier) -> dict[str, str]:
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
        if unit.endswith("OP/s") and "FLOP" not in unit:  # TOPS are of any precision and sparsity
            return ()
        return best if best == FLOATING[:1] and scores[best] >= MANY * max(1, scores[usual]) else usual
    return best if len(known) > 1 or best == choices[0] else ()


def with_precision(
    column: Column, rows: Sequence[Row], known: Mapping[str, Column], devices_of: DevicesOf, identifier: Identifier
) -> Column:
    """A column of peaks with the precision that it is presumed to have where its cells say none."""
    if column.role != "peak" or column.precision or says_ai(column):
        return column
    figures = []
    for row in rows:
        cell, named = row.get(column.name), named_by(row, known)
        context = stated_by(row, known)
        if cell and named and not remarked(merged_with(column, context), cell.remark).precision:
            with suppress(NumberError):
                number, _ = printed(cell.text, column, context.unit)
                figures.append((number, devices_of(named.text)))
    return replace(column, presumed=presumed(figures, identifier, column.unit or "", column.vector))


def with_unit(
    column: Column, rows: Sequence[Row], known: Mapping[str, Column], devices_of: DevicesOf, identifier: Identifier
) -> Column:
    """A column of peaks that names no unit, with giga where more of its figures are right in giga than in tera."""
    if column.role != "peak" or column.unit not in (None, "FLOP/s"):
        return column
    hits: Counter[str] = Counter()
    for row in rows:
        cell, named = row.get(column.name), named_by(row, known)
        context = stated_by(row, known)
        stated = merged_with(column, context)
        if cell is None or named is None or context.unit or unit_of_remark(cell.remark, column.role):
            continue
        precisions = (stated.precision,) if stated.precision else column.presumed
        asked = [Asked("peak", precision, None, stated.vector, stated.sparse) for precision in precisions]
        for unit in UNSTATED:
            with suppress(NumberError):
                number, _ = printed(cell.text, replace(stated, unit=unit))
                devices = devices_of(named.text)
                hits[unit] += any(identifier.agreeing(number, one, device) for one in asked for device in devices)
    return replace(column, unit=UNSTATED[1]) if hits[UNSTATED[1]] > hits[UNSTATED[0]] else column


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
