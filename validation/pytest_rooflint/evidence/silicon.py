"""Silicon in the evidence: predicted against measured as bins, errors as claims found them, the worst, the unknown.

Where the measurements are not installed, it says what is claimed and how to see it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pytest_rooflint.claims.predictions import published
from pytest_rooflint.claims.predictions.subject import rows_of
from pytest_rooflint.claims.predictions.unseen import scored
from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.suite.suite import Suite
from rooflint.answers.explain_gemm import WAITS
from rooflint.base.errors import RooflintError, shown
from rooflint.base.text import counted
from rooflint.base.units import SECONDS, format_quantity
from rooflint.devices.hardware import Hardware
from rooflint_calibration import against_published, density, held, not_known, package
from rooflint_calibration import package as systems
from rooflint_calibration.held import Held
from rooflint_calibration.plain import roofline_s
from rooflint_calibration.score import Score, score
from rooflint_calibration.tested import Tested, of_family
from rooflint_calibration.topics import PRODUCT, STREAM, TOPICS
from rooflint_calibration.worst import Likeness, Worst, worst

SCHEMA = "rooflint-silicon/1"

KIND = "prediction"

PRODUCTS = "gemm"
"""The topic that is drawn."""

HOW = "tox run -e silicon installs the measurements, decides these claims and draws this section."

TITLES = {
    "gemm": "matrix products",
    "fp8_tensor": "products, one scale a tensor, each after its quantise kernel",
    "fp8_block": "products, one scale a block of 128, each after its quantise kernel",
    "decode_fp8": "decode with a cache in FP8",
}
"""Topics whose own word says too little."""

NEAR = 0.2
"""What is predicted well: less than this is off. [1]"""

MOST = 4
"""Worst shapes of a family."""

CAVEATS = (
    "each family is predicted by constants that were fitted without it; the structure of the model was chosen while "
    "looking at the errors of all of them",
    "figures of a claim are those of its sample, which a hash of the shapes picks; pictures and worst shapes are of "
    "all rows",
    "rooflint explain gemm takes the constants that were fitted to all families: its figure may differ a little",
)

Row = Mapping[str, Any]
Place = tuple[str, int]


def silicon(suite: Suite, rows: Sequence[Row], devices: Sequence[Hardware]) -> dict[str, Any]:
    """What a run says of latencies on silicon; `rows` are its verdicts."""
    claims = {(shown(claim.file), claim.line): claim for claim in suite.claims() if claim.kind == KIND}
    verdicts = [row for row in rows if row["kind"] == KIND and (row["file"], row["line"]) in claims]
    decided = [row for row in verdicts if row["obtained"]]
    known, left_out = _held(suite, decided)
    return {
        "schema": SCHEMA,
        "said": list(_said(verdicts, known)),
        "how": HOW,
        "why_not": list(dict.fromkeys(row["reason"] for row in verdicts if not row["obtained"] and row["reason"])),
        "claimed": [_claimed(claim) for claim in claims.values()],
        "measurements": package.label() if known else None,
        "scores": list(_scores(suite, decided, claims)),
        "published": [_published(suite, row, claims) for row in decided if _slug(row)],
        "whole": [_whole(row) for row in decided if not (_words(row) or _slug(row))],
        "bins": {
            "per_decade": density.PER_DECADE,
            "ratio_per_decade": density.RATIO_PER_DECADE,
            "under_per_decade": density.UNDER_PER_DECADE,
            "farthest": density.FARTHEST,
            "near": NEAR,
        },
        "densities": [_density(one, family, suite) for family, several in known.items() for one in several],
        "worst": [_worst(one, family) for family, several in known.items() for one in worst(several, MOST)],
        "waits": WAITS,
        "left_out": left_out,
        "not_known": _not_known(devices if claims else (), suite),
        "caveats": list(CAVEATS),
    }


def _words(row: Row) -> tuple[str, str, str] | None:
    """Topic, family and regime of a verdict; None where it is about something else."""
    words = row["subject"].split()
    there = len(words) == 3 and words[0] in TOPICS and words[1] in systems.FAMILIES
    return (words[0], words[1], words[2]) if there else None


def _slug(row: Row) -> str | None:
    """The published table that a verdict is about; None where it is about something else."""
    words = row["subject"].split()
    return words[1] if words[0] == published.NAME else None


def _topic(row: Row) -> int:
    """Its place among all topics; what is none comes last."""
    words = _words(row)
    return list(TOPICS).index(words[0]) if words else len(TOPICS)


def _held(suite: Suite, decided: Sequence[Row]) -> tuple[dict[str, list[Held]], list[dict[str, str]]]:
    """Products of every family that something was decided of, and why those of some could not be read again."""
    known, left_out = dict[str, list[Held]](), []
    for family in dict.fromkeys(words[1] for words in map(_words, decided) if words and words[0] == PRODUCTS):
        try:
            known[family] = held.of_family(suite.registry, family)
        except RooflintError as error:
            left_out.append({"what": systems.NAMES[family], "why": str(error)})
    return known, left_out


# ---- claims


def _said(verdicts: Sequence[Row], known: Mapping[str, Sequence[Held]]) -> Iterator[str]:
    if ran := [row for row in verdicts if row["outcome"] != "not validated here"]:
        holding = sum(row["outcome"] == "pass" for row in ran)
        yield f"{holding} of {counted(len(ran), 'claim')} about latencies on silicon hold"
    if several := [one for family in known.values() for one in family]:
        near, rows = [_near(one) for one in several], sum(len(one.measured) for one in several)
        ends = f"{100 * min(near):.0f} to {_percent(max(near), 0)}, by device,"
        yield f"of {_grouped(rows)} measured products {ends} are predicted within {_percent(NEAR, 0)}"


def _claimed(claim: Claim) -> dict[str, Any]:
    bounds = [f"{name} up to {claim.option(name)}" for name in ("error", "bias") if claim.option(name)]
    least = [f"{claim.option(name)} or more {name}" for name in ("right",) if claim.option(name)]
    return {"subject": claim.subject, "bound": ", ".join(bounds + least), "file": shown(claim.file), "line": claim.line}


def _scores(suite: Suite, decided: Sequence[Row], claims: Mapping[Place, Claim]) -> Iterator[dict[str, Any]]:
    """Errors by topic, family and regime, on the rows that the claims were decided on."""
    for row in sorted(decided, key=_topic):
        if words := _words(row):
            claim = claims[row["file"], row["line"]]
            yield {**_score(suite, claim, words), "outcome": row["outcome"], "file": row["file"], "line": row["line"]}


def _score(suite: Suite, claim: Claim, words: tuple[str, str, str]) -> dict[str, Any]:
    topic, family, regime = words
    ones = of_family(suite.registry, topic, family, regime, rows_of(claim))
    ours, plain = scored(ones), _plain(ones)
    return {
        "topic": TITLES.get(topic, topic),
        "precision": TOPICS[topic].precision,
        "family": systems.NAMES[family],
        "devices": [one.rows.device for one in ones],
        "regime": TOPICS[topic].regimes[regime],
        **_errors(ours, plain, claim),
    }


def _errors(ours: Score, plain: Score, claim: Claim) -> dict[str, Any]:
    return {
        "rows": ours.rows,
        "error": ours.mape,
        "error_display": _percent(ours.mape),
        "lean_display": _signed(ours.bias),
        "roofline_display": _percent(plain.mape),
        "roofline_lean_display": _signed(plain.bias),
        "bound_display": f"≤ {claim.option('error')}, ± {claim.option('bias')}",
    }


def _plain(ones: Sequence[Tested]) -> Score:
    """What the roofline makes of the same rows."""
    return score(
        np.concatenate([roofline_s(one.rows.topic, one.rows.sizes, one.chip) for one in ones]),
        np.concatenate([one.rows.seconds for one in ones]),
    )


def _published(suite: Suite, row: Row, claims: Mapping[Place, Claim]) -> dict[str, Any]:
    """Errors on a table of others, on the rows that the claim was decided on."""
    claim = claims[row["file"], row["line"]]
    one = published.held(claim, suite.registry, suite.golden_roots)
    spec = one.table.spec
    return {
        "table": one.table.slug,
        "title": spec.title,
        "device": spec.device,
        "op": spec.op,
        "precision": spec.precision,
        "document": spec.source.document,
        "timing": spec.timing,
        "regime": (STREAM if spec.op in against_published.KERNELS else PRODUCT)[one.regime],
        **_errors(one.found, one.plain, claim),
        "outcome": row["outcome"],
        "file": row["file"],
        "line": row["line"],
    }


def _whole(row: Row) -> dict[str, Any]:
    """A claim of all devices, or of something else than products."""
    return {
        "subject": row["subject"],
        "outcome": row["outcome"],
        "obtained": row["obtained"]["display"],
        "expected": row["expected"]["display"],
        "formula": row["obtained"]["formula"],
    }


# ---- rows


def _density(one: Held, family: str, suite: Suite) -> dict[str, Any]:
    measured_s = one.measured.seconds
    return {
        "device": one.measured.device,
        "name": suite.registry.get(one.measured.device).name,
        "family": systems.NAMES[family],
        "rows": len(one.measured),
        "near_display": _percent(_near(one), 0),
        "times": list(map(_column, density.times(measured_s, one.predicted_s))),
        "ratios": list(map(_column, density.ratios(measured_s, one.predicted_s))),
    }


def _column(column: density.Column) -> dict[str, Any]:
    return {"x": column.x, "y": column.y, "counts": list(column.counts)}


def _near(one: Held) -> float:
    """Share of the rows that are predicted well. [1]"""
    return float((abs(one.ratio - 1) <= NEAR).mean())


def _worst(one: Worst, family: str) -> dict[str, Any]:
    m, n, k = (int(column.item()) for column in (one.case.shape.m, one.case.shape.n, one.case.shape.k))
    kernel, short = one.breakdown, one.device.rpartition("/")[2]
    return {
        "family": systems.NAMES[family],
        "device": one.device,
        "shape": f"{m} × {n} × {k}",
        "measured_display": _time(one.measured_s),
        "predicted_display": _time(kernel.latency_s),
        "ratio": one.ratio,
        "ratio_display": f"{one.ratio:.2f}",
        "bound": kernel.bound,
        "kernel": f"tile {kernel.tile}, k {f'in {kernel.split}' if kernel.split > 1 else 'whole'}",
        "around": one.around,
        "around_display": _percent(one.around_error, 0),
        "like": _like(one.likeness),
        "try": f"rooflint explain gemm {m} {n} {k} -d {short} --copies {one.case.copies:.0f}",
    }


def _like(found: Likeness | None) -> str:
    if found is None:
        return "no one change of the model explains it; a profiler would say which kernel ran"
    advice = f"; try {found.advice}" if found.advice else ""
    return f"as if {found.what} ({_time(found.seconds)}){advice}"


def _not_known(devices: Sequence[Hardware], suite: Suite) -> dict[str, Any]:
    gpus, others = [one for one in devices if one.kind == "gpu"], [one for one in devices if one.kind != "gpu"]
    return {
        "ops": [{"what": what, "why": why} for what, why in not_known.ops().items()],
        "gpus": [{"why": why, "devices": names} for why, names in not_known.gpus(gpus, suite.registry).items()],
        "of": len(gpus),
        "others": len(others),
        "tables": [
            *({"what": folder, "why": why} for folder, why in systems.EXCLUDED.items()),
            *({"what": " ".join(table), "why": why} for table, why in systems.SUPERSEDED.items()),
        ],
    }


def _percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f} %"


def _signed(share: float) -> str:
    return f"{100 * share:+.1f} %".replace("-", "−")


def _grouped(number: int) -> str:
    return f"{number:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def _time(seconds: float) -> str:
    return format_quantity(seconds, SECONDS)
