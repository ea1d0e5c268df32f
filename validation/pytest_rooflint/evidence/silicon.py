"""Calibrated kernel times in the evidence: predicted against measured as bins, errors, the worst shapes, limitations.

Where the measurements are not installed, it lists the claims and says how to have them decided.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_rooflint.claims.prediction import parts
from pytest_rooflint.golden.kinds import Claim
from pytest_rooflint.suite.suite import Suite
from rooflint.answers.explain_gemm import WAITS
from rooflint.base.errors import RooflintError, shown
from rooflint.base.text import counted, grouped
from rooflint.base.units import SECONDS, format_quantity
from rooflint.hardware.device import Hardware
from rooflint_calibration import evaluation, generations, networks, package, powers, published, trainings
from rooflint_calibration.causes import Likeness, Worst, worst
from rooflint_calibration.evaluation import HeldOut
from rooflint_calibration.topics import PRODUCT, STREAM, TOPICS
from rooflint_report import findings
from rooflint_report.verdicts import Obtained, Prediction, Verdict, Why

KIND = "prediction"

PRODUCTS = "gemm"
"""The topic whose rows are drawn."""

HOW = "tox run -e silicon installs the measurements, decides these claims and draws this section."

TITLES = {
    "gemm": "matrix products",
    "fp8_tensor": "products with one scale per tensor, quantise kernel included",
    "fp8_block": "products with one scale per block of 128, quantise kernel included",
    "quantise_row": "quantise kernels that find a scale of each row",
    "quantise_tensor": "quantise kernels that find a scale of the tensor",
    "decode_fp8": "decode with a cache in FP8",
}
"""Labels of topics whose name is not clear by itself."""

NETWORKS = (networks.TOPIC, generations.TOPIC, trainings.TOPIC, powers.TOPIC)
"""What claims about whole networks are about."""

NEAR = 0.2
"""An error below this is a good prediction. [1]"""

MOST = 4
"""Worst shapes of a family."""

CAVEATS = (
    "each family is predicted by constants that were fitted without it; the structure of the model was chosen while "
    "looking at the errors of all of them",
    "the errors of a claim are those of its sample, chosen by a hash of the shapes; charts and worst shapes use all "
    "rows",
    "rooflint explain gemm uses constants fitted to all families, so its figure may differ slightly",
)


def silicon(suite: Suite, found: Sequence[Verdict], devices: Sequence[Hardware]) -> findings.Silicon:
    """The section on calibrated kernel times; `found` are the verdicts of the run."""
    claims = [claim for claim in suite.claims() if claim.kind == KIND]
    verdicts = [one for one in found if one.kind == KIND]
    decided = [one for one in verdicts if one.obtained]
    known, left_out = _held(suite, decided)
    return findings.Silicon(
        sentences=list(_said(verdicts, known)),
        how=HOW,
        why_not=list(dict.fromkeys(one.reason for one in verdicts if not one.obtained and one.reason)),
        claimed=[_claimed(claim) for claim in claims],
        measurements=package.label() if known else None,
        scores=list(_scores(decided)),
        published=list(_published(suite, decided)),
        whole=[_whole(one, one.obtained) for one in decided if one.obtained and not _is_of_kernels(one)],
        bins=findings.SiliconBins(
            per_decade=evaluation.PER_DECADE,
            ratio_per_decade=evaluation.RATIO_PER_DECADE,
            under_per_decade=evaluation.UNDER_PER_DECADE,
            farthest=evaluation.FARTHEST,
            near=NEAR,
        ),
        densities=[_density(one, family, suite) for family, several in known.items() for one in several],
        worst=[_worst(one, family) for family, several in known.items() for one in worst(several, MOST)],
        waits=dict(WAITS),
        left_out=left_out,
        not_known=_not_known(devices if claims else (), suite),
        caveats=list(CAVEATS),
    )


def _held(suite: Suite, decided: Sequence[Verdict]) -> tuple[dict[str, list[HeldOut]], list[Why]]:
    """Predicted and measured products of each family with decided claims, and families that could not be read."""
    known, left_out = dict[str, list[HeldOut]](), []
    products = (one.prediction for one in decided if one.prediction and one.prediction.topic == PRODUCTS)
    for family in dict.fromkeys(one.family for one in products if one.family):
        try:
            known[family] = evaluation.held_out(suite.registry, PRODUCTS, family)
        except RooflintError as error:
            left_out.append(Why(what=package.NAMES[family], why=str(error)))
    return known, left_out


# ---- claims


def _said(verdicts: Sequence[Verdict], known: Mapping[str, Sequence[HeldOut]]) -> Iterator[str]:
    if ran := [one for one in verdicts if one.outcome != "not validated here"]:
        holding = sum(one.outcome == "pass" for one in ran)
        left = len(verdicts) - len(ran)
        rest = f"; {left} more {'was' if left == 1 else 'were'} not validated here" if left else ""
        yield f"{holding} of {counted(len(ran), 'claim')} about calibrated kernel times hold{rest}"
    if several := [one for family in known.values() for one in family]:
        near, rows = [_near(one) for one in several], sum(len(one.rows) for one in several)
        ends = f"{100 * min(near):.0f} to {_percent(max(near), 0)}, by device,"
        yield f"of {grouped(rows)} measured products {ends} are predicted within {_percent(NEAR, 0)}"


def _claimed(claim: Claim) -> findings.SiliconClaim:
    bounds = [f"{name} up to {claim.option(name)}" for name in ("error", "bias") if claim.option(name)]
    least = [f"{claim.option(name)} or more {name}" for name in ("right",) if claim.option(name)]
    about, regime = parts(claim)
    return findings.SiliconClaim(
        subject=claim.subject,
        about=about,
        regime=regime,
        bound=", ".join(bounds + least),
        file=shown(claim.file),
        line=claim.line,
    )


def _scores(decided: Sequence[Verdict]) -> Iterator[findings.SiliconScore]:
    order = list(TOPICS)
    found = [(one, one.prediction) for one in decided if one.prediction and one.prediction.family]
    for one, prediction in sorted(found, key=lambda pair: order.index(pair[1].topic)):
        topic = TOPICS[prediction.topic]
        yield findings.SiliconScore(
            topic=TITLES.get(prediction.topic, prediction.topic),
            precision=topic.precision,
            family=package.NAMES[str(prediction.family)],
            devices=prediction.devices,
            regime=topic.regimes[prediction.regime],
            **_errors(one, prediction),
        )


def _published(suite: Suite, decided: Sequence[Verdict]) -> Iterator[findings.SiliconPublished]:
    for one in decided:
        prediction = one.prediction
        if prediction and prediction.table and _is_of_kernels(one):
            spec = published.find(prediction.table, suite.golden_roots).spec
            regimes = STREAM if spec.op in published.STREAMS else PRODUCT
            yield findings.SiliconPublished.from_object(
                spec,
                table=prediction.table,
                document=spec.source.document,
                regime=regimes[prediction.regime],
                **_errors(one, prediction),
            )


def _is_of_kernels(one: Verdict) -> bool:
    """Whether it was decided on times of single kernels, and not on those of whole networks or on an order."""
    return one.prediction is not None and one.prediction.topic not in NETWORKS


def _errors(one: Verdict, found: Prediction) -> dict[str, Any]:
    return {
        "rows": found.rows,
        "error": found.error,
        "error_display": _percent(found.error),
        "bias_display": _signed(found.bias),
        "roofline_display": _percent(found.roofline_error),
        "roofline_bias_display": _signed(found.roofline_bias),
        "bound_display": f"≤ {found.error_bound}, ± {found.bias_bound}",
        "outcome": one.outcome,
        "file": one.file,
        "line": one.line,
    }


def _whole(one: Verdict, obtained: Obtained) -> findings.SiliconWhole:
    """A claim about all devices, or about something else than products."""
    return findings.SiliconWhole(
        subject=one.subject,
        outcome=one.outcome,
        obtained=obtained.display,
        expected=one.expected.display if one.expected else "",
        formula=obtained.formula,
    )


# ---- rows


def _density(one: HeldOut, family: str, suite: Suite) -> findings.SiliconDensity:
    measured_s, predicted_s = one.rows.seconds, one.predicted_s()
    return findings.SiliconDensity(
        device=one.rows.device,
        name=suite.registry.get(one.rows.device).name,
        family=package.NAMES[family],
        rows=len(one.rows),
        near_display=_percent(_near(one), 0),
        times=_columns(evaluation.time_density(measured_s, predicted_s)),
        ratios=_columns(evaluation.ratio_density(measured_s, predicted_s)),
    )


def _columns(found: Iterable[evaluation.Column]) -> list[findings.SiliconColumn]:
    return [findings.SiliconColumn.from_object(column) for column in found]


def _near(one: HeldOut) -> float:
    """Share of the rows that are predicted well. [1]"""
    return float((abs(one.ratio() - 1) <= NEAR).mean())


def _worst(one: Worst, family: str) -> findings.SiliconWorst:
    m, n, k = (int(column.item()) for column in (one.case.work.sizes.m, one.case.work.sizes.n, one.case.work.sizes.k))
    kernel, short = one.breakdown, one.device.rpartition("/")[2]
    return findings.SiliconWorst(
        family=package.NAMES[family],
        device=one.device,
        shape=f"{m} × {n} × {k}",
        measured_display=_time(one.measured_s),
        predicted_display=_time(kernel.latency_s),
        ratio=one.ratio,
        ratio_display=f"{one.ratio:.2f}",
        bound=kernel.bound,
        kernel=f"tile {kernel.tile}, k {f'in {kernel.split}' if kernel.split > 1 else 'whole'}",
        around=one.around,
        around_display=_percent(one.around_error, 0),
        like=_like(one.likeness),
        try_=f"rooflint explain gemm {m} {n} {k} -d {short} --copies {one.case.work.copies:.0f}",
    )


def _like(found: Likeness | None) -> str:
    if found is None:
        return "no single change of the model explains it; a profiler would say which kernel ran"
    advice = f"; try {found.advice}" if found.advice else ""
    return f"as if {found.what} ({_time(found.seconds)}){advice}"


def _not_known(devices: Sequence[Hardware], suite: Suite) -> findings.SiliconNotKnown:
    gpus, others = ([one for one in devices if one.traits.has_kernel_models is has] for has in (True, False))
    tables = {**package.EXCLUDED, **{" ".join(table): why for table, why in package.SUPERSEDED.items()}}
    return findings.SiliconNotKnown(
        ops=[Why(what=what, why=why) for what, why in evaluation.uncalibrated_ops().items()],
        gpus=[
            findings.SiliconMissing(why=why, devices=list(names))
            for why, names in evaluation.uncalibrated_gpus(gpus, suite.registry).items()
        ],
        of=len(gpus),
        others=len(others),
        tables=[Why(what=what, why=why) for what, why in tables.items()],
    )


def _percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f} %"


def _signed(share: float) -> str:
    return f"{100 * share:+.1f} %".replace("-", "−")


def _time(seconds: float) -> str:
    return format_quantity(seconds, SECONDS)
