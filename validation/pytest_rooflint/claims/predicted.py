"""`predicted: network resnet18 fp32 b1`: predicted over measured time, the error of the roofline."""

from pytest_rooflint.claims import efficiency, measured
from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import ClaimError, Context, Kind, Obtained
from pytest_rooflint.recordings.bounds import bounds
from pytest_rooflint.recordings.causes import causes, miscounted
from pytest_rooflint.recordings.files import MACHINE, rows_of
from pytest_rooflint.recordings.finding import DESPITE, LawContext, farthest
from pytest_rooflint.recordings.row import Row, selected
from rooflint.base.units import DIMENSIONLESS, SECONDS, format_number, format_quantity
from rooflint.diagnosis.causes import Cause
from rooflint_measure.record import Network


def obtain(claim: Claim, context: Context) -> Obtained:
    """Predicted over measured time; of several measurements the one farthest from the expectation."""
    known = measured.asked(claim, context)
    rows = selected(rows_of(claim, context), claim.subject)
    told = farthest(claim, ((one, _ratio(one, known)) for one in rows))
    row, ratio = told.row, told.value
    found = bounds(row, known.hardware, known.networks)
    assert found is not None  # there was a ratio
    best = format_quantity(row.measurement.samples.best_s, SECONDS)
    return Obtained(
        value=ratio,
        dimension=DIMENSIONLESS,
        formula=f"{format_quantity(found.roofline_s, SECONDS)} by the roofline ({found.bound}) / {best} measured",
        facts=found.facts,
        hardware=known.hardware,
        precision=row.precision,
        written=format_number,
        details=f"            {row.place}  {row.measurement.name}",
        doubt=told.doubt,
        causes=tuple(_causes(row, known, ratio)),
    )


def _ratio(row: Row, known: LawContext) -> float:
    found = bounds(row, known.hardware, known.networks)
    if found is None:
        raise ClaimError(f"{row.measurement.name} has no prediction: the recording counts neither ops nor bytes")
    return found.roofline_s / row.measurement.samples.best_s


def _causes(row: Row, known: LawContext, ratio: float) -> list[Cause]:
    """A miscount of ops; where the measurement is faster than the roofline, also the causes of a diagnosis."""
    several = []
    if isinstance(row.subject, Network):
        cause = miscounted(row, known.networks(row.subject.name, row.subject.batch).total_macs)
        several += [cause] if cause else []
    found = bounds(row, known.hardware, known.networks)
    if found is not None and ratio > 1:
        several += causes(row, found, ratio, known.hardware, known.registry)
    return several


KIND = Kind(
    "predicted",
    "predicted time (roofline) over measured time of a product, a stream or a network",
    obtain,
    DIMENSIONLESS,
    inferred=True,
    check=efficiency.check,
    options={**MACHINE, **measured.COMPUTE, **DESPITE},
)
