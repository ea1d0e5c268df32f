"""`prediction: gemm hopper large`: kernel times beside measurements that the constants were not fitted to.

A subject is a topic of the calibration (`held_out`), whose measurements are in an optional package
(rooflint[silicon]): without it, its claims are not validated. Or it is a published table, which needs no package,
because it is a file of the goldens:

    prediction: published vidur-a40-llama2-7b        the whole table; with a regime only its rows
    prediction: network mlperf-resnet50              a table of whole networks; `order` and `bound` are about all rows
    prediction: generation trtllm-fp8                the same of language models that write tokens
    prediction: training foundry-mpt order           the same of training, by the roofline
    prediction: power mlperf-resnet50                no accelerators draw more than the system that they are part of
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from pytest_rooflint.claims import held_out
from pytest_rooflint.claims.held_out import ROWS, SCORES, Subject, rows_of, scored, share
from pytest_rooflint.golden.kinds import Claim, ClaimError, Context, Kind, Obtained, UnavailableError
from pytest_rooflint.golden.workloads import build
from rooflint.base.errors import shown
from rooflint.base.text import counted
from rooflint.base.units import DIMENSIONLESS, SECONDS, WATTS, format_quantity
from rooflint.kernels.shapes import Numbers
from rooflint.prediction.predict import ROOFLINE, SILICON
from rooflint_calibration import generations, networks, powers, published, trainings
from rooflint_calibration.evaluation import score
from rooflint_calibration.package import PUBLISHED, NotInstalledError
from rooflint_calibration.published import Given, Published
from rooflint_calibration.rows import Mask
from rooflint_calibration.topics import PRODUCT, TOPICS

BOUNDS = ("error", "bias", "right")
"""Bounds of a claim; each subject needs some of them."""


@cache
def subjects() -> Mapping[str, Subject]:
    """Every subject by the first word of its claims."""
    known = f"a table of {PUBLISHED} and perhaps a regime ({', '.join(PRODUCT)})"
    tables = Subject(known, _table_and_regime, obtain_published, sampled=False)
    known = f"a table of {networks.FOLDER}, and perhaps {' or '.join(WHOLE)}"
    whole = Subject(known, _network_and_part, obtain_network, sampled=False)
    known = f"a table of {generations.FOLDER}, and perhaps {' or '.join(WHOLE)}"
    written = Subject(known, _network_and_part, obtain_generation, sampled=False)
    known = f"a table of {trainings.FOLDER}, and perhaps {' or '.join(WHOLE)}"
    trained = Subject(known, _network_and_part, obtain_training, sampled=False)
    drawing = Subject(f"a table of {powers.FOLDER}", _table_alone, obtain_power, sampled=False)
    found = {
        "published": tables,
        networks.TOPIC: whole,
        generations.TOPIC: written,
        trainings.TOPIC: trained,
        powers.TOPIC: drawing,
    }
    return {name: held_out.subject(name) for name in TOPICS} | found


def parts(claim: Claim) -> tuple[str, str | None]:
    """What a claim is about and its regime: `gemm hopper` and `large`; None where it names no regime."""
    about, _, last = claim.subject.rpartition(" ")
    return (about, last) if " " in about else (claim.subject, None)


def check_prediction(claim: Claim) -> None:
    """Refuse unknown words, and missing or unknown bounds. Raises ClaimError."""
    name, _, words = claim.subject.partition(" ")
    if name not in subjects():
        raise ClaimError(f"want a subject that begins with one of {', '.join(subjects())}; found '{claim.subject}'")
    subject = subjects()[name]
    needed = subject.needs(words.split())
    if needed is None:
        raise ClaimError(f"want {name} and {subject.known}; found '{claim.subject}'")
    for option in BOUNDS:
        if option in needed and claim.option(option) is None:
            raise ClaimError(f"{option}: is missing; want a share such as 12 %")
        if option not in needed and claim.option(option) is not None:
            raise ClaimError(f"{option}: unknown option for '{claim.subject}'")
        if option in needed:
            share(claim, option)
    if claim.option("rows") is not None:
        if not (needed and subject.sampled):
            raise ClaimError(f"rows: unknown option for '{claim.subject}', which uses all rows")
        rows_of(claim)


def obtain_prediction(claim: Claim, context: Context) -> Obtained:
    """Predict the measured rows. Raises UnavailableError if the measurements are not installed."""
    try:
        return subjects()[claim.subject.split()[0]].obtain(claim, context)
    except NotInstalledError as error:
        raise UnavailableError(str(error)) from error


# ---- published tables

WORST = 3
"""Rows that a failed verdict lists."""


def _table_and_regime(words: Sequence[str]) -> Sequence[str] | None:
    """Both bounds, of a table and perhaps a regime of it."""
    there = len(words) == 1 or (len(words) == 2 and words[1] in PRODUCT)
    return SCORES if there else None


def obtain_published(claim: Claim, context: Context) -> Obtained:
    """Error and bias on the table; no row may be faster than the dense peak.

    Raises RooflintError, InputError or ClaimError.
    """
    slug, regime = (*claim.subject.split()[1:], "all")[:2]
    table = published.find(slug, context.golden_roots)
    given = published.given_of(table, context.registry)
    rows = _rows(table, regime)
    predicted_s = published.predicted_s(table, given)
    found = score(predicted_s[rows], table.seconds[rows])
    baseline = score(published.roofline_s(table, given)[rows], table.seconds[rows])
    impossible = np.flatnonzero(rows & _too_fast(table, given)).tolist()
    obtained = scored(
        claim,
        found,
        baseline,
        f"{found.rows} rows of {shown(table.file)}; "
        f"the plain roofline: error {baseline.mape:.1%}, bias {baseline.bias:+.1%}",
        topic=table.spec.op,
        regime=regime,
        precision=table.spec.precision,
        devices=[table.spec.device],
        table=table.slug,
    )
    details = ["            the plain roofline is nearer to these rows"] if baseline.mape < found.mape else []
    details += [f"{_place(table, row)} is faster than the dense peak" for row in impossible[:WORST]]
    details += _worst(table, predicted_s, rows)
    return replace(obtained, holds=bool(obtained.holds) and not impossible, details="\n".join(details))


def _too_fast(table: Published, given: Given) -> Mask:
    """Rows faster than the dense peak, unless the table says why. Shape (rows,)"""
    least = published.peak_s(table, given.chip)
    return np.asarray((table.seconds < least) & (table.spec.beats_peak is None))


def _rows(table: Published, regime: str) -> Mask:
    """The rows that a claim is about. Raises ClaimError if there are none."""
    parts = published.regimes(table)
    if regime not in parts:
        raise ClaimError(f"{table.spec.op} has the regimes {', '.join(parts)}; found '{regime}'")
    rows = parts[regime] & table.comparable
    if not rows.any():
        raise ClaimError(f"{shown(table.file)} has no row to compare that is '{regime}'")
    return rows


def _worst(table: Published, predicted_s: Numbers, rows: Mask) -> list[str]:
    ratio = predicted_s / table.seconds
    off = np.where(rows, np.abs(np.log(ratio)), -1.0)
    farthest = np.argsort(-off, kind="stable")[: min(WORST, int(rows.sum()))].tolist()
    return [
        f"{_place(table, row)} is predicted at {ratio[row]:.2f} of its time: {_us(predicted_s, row)}, "
        f"measured {_us(table.seconds, row)}"
        for row in farthest
    ]


def _us(seconds: Numbers, row: int) -> str:
    return format_quantity(float(seconds[row]), SECONDS)


def _place(table: Published, row: int) -> str:
    return f"            {shown(table.file)}:{table.lines[row]}  {published.label(table, row)}"


# ---- whole networks

WHOLE: Mapping[str, Sequence[str]] = {"order": ("right",), "bound": ()}
"""What may be claimed of all rows of a table of networks, with the bounds that it needs."""


def _network_and_part(words: Sequence[str]) -> Sequence[str] | None:
    """Both bounds of a table, or those of a part of what is claimed of it."""
    if len(words) == 1:
        return SCORES
    return WHOLE.get(words[1]) if len(words) == 2 else None


def obtain_network(claim: Claim, context: Context) -> Obtained:
    """Predictions of whole networks beside published rates. Raises RooflintError, InputError or ClaimError."""
    table = networks.find(claim.subject.split()[1], context.golden_roots)
    work = build(table.spec.workload, context.registry.roots)
    return _of_table(
        claim,
        table,
        lambda: networks.bound_s(table, work, context.registry),
        lambda by: networks.predicted_s(table, work, context.registry, by),
    )


def obtain_generation(claim: Claim, context: Context) -> Obtained:
    """Predictions of tokens that are written beside published rates. Raises RooflintError or InputError."""
    table = generations.find(claim.subject.split()[1], context.golden_roots)
    return _of_table(
        claim,
        table,
        lambda: generations.bound_s(table, context.registry),
        lambda by: generations.predicted_s(table, context.registry, by),
    )


def obtain_training(claim: Claim, context: Context) -> Obtained:
    """Steps of training beside published rates. Raises RooflintError or InputError."""
    table = trainings.find(claim.subject.split()[1], context.golden_roots)
    return _of_table(
        claim,
        table,
        lambda: trainings.bound_s(table, context.registry),
        lambda _: trainings.predicted_s(table, context.registry),
    )


Table = networks.NetworkTable | generations.GenerationTable | trainings.TrainingTable


def _of_table(claim: Claim, table: Table, bound: Callable[[], Numbers], predict: Callable[[str], Numbers]) -> Obtained:
    topic, slug, part = (*claim.subject.split(), "")[:3]
    if part == "bound":
        return _within_bound(table, bound())
    predicted = predict(SILICON)
    if part == "order":
        return _ordered(claim, table, predicted)
    obtained = scored(
        claim,
        score(predicted, table.seconds),
        score(predict(ROOFLINE), table.seconds),
        f"{len(table.seconds)} rows of {shown(table.file)}",
        topic=topic,
        regime="all",
        precision=table.spec.precision,
        devices=[row.device for row in table.spec.rows],
        table=slug,
    )
    worst = np.argsort(-np.abs(np.log(predicted / table.seconds)), kind="stable")[:WORST].tolist()
    return replace(obtained, details="\n".join(_of_network(table, row, predicted) for row in worst))


def _within_bound(table: Table, bound_s: Numbers) -> Obtained:
    """No published result is faster than its bound."""
    share = bound_s / table.seconds
    beaten = np.flatnonzero(share > 1).tolist()
    return Obtained(
        value=float(len(beaten)),
        dimension=DIMENSIONLESS,
        formula=f"{len(share)} rows of {shown(table.file)}; measured over bound: median {np.median(share):.1%}",
        display=f"results faster than the bound: {len(beaten)}; the fastest attains {share.max():.1%} of it",
        holds=not beaten,
        expected="no result faster than the bound",
        precision=table.spec.precision,
        others=tuple(row.device for row in table.spec.rows),
        details="\n".join(_of_network(table, row, bound_s) for row in beaten),
    )


def _ordered(claim: Claim, table: Table, predicted_s: Numbers) -> Obtained:
    """Pairs of rows with the faster one predicted."""
    found, wanted = networks.order(predicted_s, table.seconds), share(claim, "right")
    right = found.right / found.pairs
    return Obtained(
        value=right,
        dimension=DIMENSIONLESS,
        formula=f"{found.pairs} pairs of rows of {shown(table.file)}; Spearman {found.spearman:.3f}",
        display=f"{right:.1%} of the faster rows predicted",
        holds=right >= wanted,
        expected=f"{wanted:.1%} or more of the faster rows predicted",
        precision=table.spec.precision,
        others=tuple(row.device for row in table.spec.rows),
    )


def _table_alone(words: Sequence[str]) -> Sequence[str] | None:
    return () if len(words) == 1 else None


def obtain_power(claim: Claim, context: Context) -> Obtained:
    """No accelerators are predicted to draw more than their system did, unless its row says why.

    A reason does not excuse the low end of a prediction, nor a row that needs none. Raises RooflintError or InputError.
    """
    table = powers.find(claim.subject.split()[1], context.golden_roots)
    found = powers.drawn(table, build(table.spec.workload, context.registry.roots), context.registry)
    share, explained = found.typical_w / table.system_w, np.array(table.explained)
    wrong = np.flatnonzero(((share > 1) != explained) | (found.low_w > table.system_w)).tolist()
    above = int((share > 1).sum())
    return Obtained(
        value=float(len(wrong)),
        dimension=DIMENSIONLESS,
        formula=f"{len(share)} rows of {shown(table.file)}; accelerators, predicted, over the whole system, published: "
        f"median {np.median(share):.2f}, {share.min():.2f} to {share.max():.2f}",
        display=f"predicted above their system: {above}; with a reason: {explained.sum()}",
        holds=not wrong,
        expected="accelerators draw no more than their system, or a reason why they are predicted to",
        precision=table.spec.precision,
        others=tuple(row.device for row in table.spec.rows),
        details="\n".join(_of_power(table, row, found) for row in wrong),
    )


def _of_power(table: powers.PowerTable, row: int, found: powers.Drawn) -> str:
    spec, place = table.spec.rows[row], f"            {shown(table.file)}:{table.lines[row]}  {table.label(row)}: "
    low, typical, system = (
        format_quantity(float(one), WATTS) for one in (found.low_w[row], found.typical_w[row], spec.system_w)
    )
    draw = "draws" if spec.accelerators == 1 else "draw"
    drawn = f"{place}{counted(spec.accelerators, 'accelerator')} {draw} {typical}"
    if spec.above and found.typical_w[row] <= spec.system_w:
        return f"{drawn} of {system}; remove 'above'"
    return f"{drawn}, at least {low}; the whole system {system}"


def _of_network(table: Table, row: int, seconds: Numbers) -> str:
    label, each = table.label(row), table.each
    return (
        f"            {shown(table.file)}:{table.lines[row]}  {label}: "
        f"{_us(seconds, row)} a {each}, published {_us(table.seconds, row)}"
    )


# ---- the kind

_BOUND = {"type": "string", "pattern": r"^\d+(\.\d+)? %$"}

PREDICTION = Kind(
    "prediction",
    "kernel times beside measurements: error and bias on a family that was left out or on a published table; order, "
    "peak, roofline",
    obtain_prediction,
    expects=lambda subject: False,
    options={
        "error": {**_BOUND, "description": "the largest mean error of predictions"},
        "bias": {**_BOUND, "description": "the largest bias to one side, as a geometric mean"},
        "right": {**_BOUND, "description": "the least share of shapes with the faster device predicted"},
        "rows": {"type": "integer", "minimum": 1, "description": f"shapes of each device; {ROWS} by default"},
    },
    check=check_prediction,
    modes=False,
    inferred=True,
    foreign=True,
    scopes=(),
    rows_alone=True,
)
