"""`peak: tensor_core int8`: the highest rate of a unit in a precision, or of several units together."""

from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import PER, SPARSE, Context, Kind, Obtained, check_flag, terms
from rooflint.base.facts import Factor
from rooflint.base.units import OPS_PER_S
from rooflint.hardware.device import Hardware, UnsupportedError


def check(claim: Claim) -> None:
    """Refuse a subject other than `unit precision [+ unit precision …]`."""
    terms(claim.subject)
    check_flag(claim, "sparse")


def part_factor(hardware: Hardware, part: str) -> Factor:
    """1 / number of such parts. Raises UnsupportedError where the device has no parts with that name."""
    fact = hardware.facts.get(f"parts.{part}")
    if fact is None:
        having = [path.removeprefix("parts.") for path in hardware.facts if path.startswith("parts.")]
        raise UnsupportedError(f"{hardware.id} has no parts named '{part}' (has: {', '.join(having) or 'none'})")
    return Factor("parts", 1 / fact.value, f"1/{fact.display} ({part})", fact, inverse=True)


def obtain(claim: Claim, context: Context) -> Obtained:
    """Derive the peak of each unit and add them up."""
    hardware = context.device(claim)
    sparse = bool(claim.option("sparse"))
    units = [(hardware.unit(unit), precision) for unit, precision in terms(claim.subject)]
    ladders = [unit.derivation(precision, sparse=sparse) for unit, precision in units]
    if part := claim.option("per"):
        ladders = [ladder.times(part_factor(hardware, part)) for ladder in ladders]
    unit, precision = terms(claim.subject)[0]
    return Obtained(
        value=sum(ladder.result for ladder in ladders),
        dimension=OPS_PER_S,
        formula=" + ".join(ladder.formula for ladder in ladders),
        facts=tuple(fact for ladder in ladders for fact in ladder.facts),
        ladder=ladders[0] if len(ladders) == 1 else None,
        terms=()
        if len(ladders) == 1
        else tuple((ladder, *term) for ladder, term in zip(ladders, terms(claim.subject), strict=True)),
        hardware=hardware,
        unit=unit,
        precision=precision,
        sparse=sparse,
    )


KIND = Kind(
    "peak",
    "the highest rate of a unit in a precision, dense unless `sparse`",
    obtain,
    OPS_PER_S,
    options={**SPARSE, **PER},
    check=check,
)
