"""What the label of a number asks for: the figures of a device that fit it, and those it may be confused with."""

from dataclasses import dataclass

from rooflint.diagnosis.figures import Figure
from rooflint.hardware.device import Hardware, UnsupportedError

#: Precisions that vendors quote for vector lanes and for matrix units side by side; either may stand in a table.
WIDE = frozenset({"fp64", "fp32", "int32", "int16"})

#: Peaks that are printed under the plain name: FP16 of a GeForce may accumulate in FP16.
ALSO = {"fp16": ("fp16", "fp16_acc16"), "fp8": ("fp8", "fp8_acc16")}


@dataclass(frozen=True, slots=True)
class Asked:
    """The label of a number: what it claims to be."""

    quantity: str
    """A key of `rooflint.diagnosis.figures.QUANTITIES`."""
    precision: str | None = None
    subject: str | None = None
    """A group or unit that is counted, a clock; None where the quantity says it all."""
    vector: bool | None = None
    """Whether it is labelled as of vector lanes (True) or matrix units (False)."""
    sparse: bool | None = None
    """Whether it is labelled as sparse; None without a label, which means dense."""
    part: str | None = None
    times: int = 1
    """How many devices it is of."""


def peaks(asked: Asked, alike: list[Figure]) -> list[Figure]:
    """Peaks of a precision: of all units where the field quotes them side by side, else of the fastest."""
    names = ALSO.get(str(asked.precision), (asked.precision,))
    sparse = bool(asked.sparse)
    found = [one for one in alike if one.precision in names and one.sparse == sparse]
    if asked.vector is not None:
        found = [one for one in found if one.is_matrix != asked.vector]
    if asked.subject:
        found = [one for one in found if one.unit == asked.subject]
    if asked.vector is not None or asked.precision in WIDE or asked.quantity == "rate":
        return found
    matrix = [one for one in found if one.is_matrix and " + " not in str(one.unit)]
    if matrix:
        return [
            *sorted(matrix, key=lambda one: (one.printed is not None, -one.value)),
            *(one for one in found if " + " in str(one.unit)),
        ]
    best = max((one.value for one in found), default=0.0)
    return [one for one in found if one.value == best]


def of_main_memory(alike: list[Figure], hardware: Hardware) -> list[Figure]:
    """Figures of the memory that a network streams from; of any memory where none has a bandwidth."""
    try:
        memory = hardware.main_memory().name
    except UnsupportedError:
        return alike
    return [one for one in alike if one.subject == memory]


def relation(asked: Asked, figure: Figure) -> tuple[str, float] | None:
    """The error by which another figure of the same device stands for what was asked, and its cost."""
    if figure.quantity != asked.quantity or (figure.mode and figure.part):
        return None
    if figure.mode:
        same = figure.precision == asked.precision and not figure.sparse
        return ("another mode", 1.6) if same or asked.quantity != "peak" else None
    if figure.part != asked.part:
        return _of_other_part(asked, figure)
    if asked.quantity not in ("peak", "rate"):
        return _other_subject(asked)
    if figure.precision in ALSO.get(str(asked.precision), (asked.precision,)):
        return _same_precision(asked, figure)
    return _other_precision(asked, figure)


def _other_subject(asked: Asked) -> tuple[str, float]:
    if asked.quantity == "clock":
        return "another clock", 1.2
    return ("another mode", 1.5) if asked.quantity == "tdp" else ("another unit", 1.6)


def _same_precision(asked: Asked, figure: Figure) -> tuple[str, float]:
    if figure.sparse != bool(asked.sparse):
        labelled = asked.sparse is not None  # a table with the label distinguishes them
        return ("sparse for dense", 1.25 if labelled else 1.0) if figure.sparse else ("dense for sparse", 1.0)
    return ("platform total", 1.3) if " + " in str(figure.unit) else ("another unit", 1.2)


def _other_precision(asked: Asked, figure: Figure) -> tuple[str, float]:
    if (asked.precision, figure.precision) == ("bf16", "fp16_acc16") and figure.sparse > bool(asked.sparse):
        return "sparse for dense + half-rate accumulation", 1.3  # what is advertised for a GeForce, without a precision
    far = 0.0 if figure.is_matrix else 0.1
    return "another precision", (1.9 if figure.sparse and not asked.sparse else 1.5) + far


def _of_other_part(asked: Asked, figure: Figure) -> tuple[str, float] | None:
    if asked.quantity == "peak" and (figure.precision != asked.precision or figure.sparse != bool(asked.sparse)):
        return None
    return ("part for whole", 1.2) if figure.part else ("whole for part", 1.2)
