"""A replay in the evidence: every assumption beside the sourced fact, every figure as printed, replayed and sourced."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_rooflint.assumptions import assumptions
from pytest_rooflint.claim import Claim
from pytest_rooflint.golden_schema import Golden
from pytest_rooflint.replay import Assumed, subject_of, uses
from pytest_rooflint.suite import Suite
from rooflint.basis import Energies
from rooflint.coefficients import Coefficients
from rooflint.diagnosis import ratio_text
from rooflint.errors import RooflintError, shown

Row = Mapping[str, Any]


def replays(golden: Golden, suite: Suite, rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """Each assumed device of a golden file."""
    mine = {row["id"]: row for row in rows if row["file"] == shown(golden.file)}
    try:
        assumed = suite.assumed(golden.claims[0])
    except RooflintError:
        return  # the claims of the file are red and say why
    for label, one in assumed.items():
        claims = [claim for claim in golden.claims if label in uses(claim)]
        yield {
            "id": f"{golden.file.stem}-{label}",
            "title": f"{golden.title or golden.file.stem}: {label}",
            "label": label,
            "group": golden.title or golden.file.stem,
            "file": shown(golden.file),
            "line": golden.document.line(("given", label)),
            "document": golden.spec.source.document if golden.spec.source else None,
            "hardware": one.sourced.id,
            "at": one.spec.at,
            "assumptions": _assumptions(golden, one, suite),
            "figures": [_figure(claim, mine[claim.id], one, suite) for claim in claims if claim.id in mine],
        }


def _assumptions(golden: Golden, one: Assumed, suite: Suite) -> list[dict[str, Any]]:
    compute = golden.spec.compute or "fp32"
    try:
        circuits = Coefficients(suite.registry).circuits().facts
        return list(assumptions(one, compute, golden.spec.storage or compute, circuits))
    except RooflintError as error:
        return [
            {
                "what": "peak",
                "assumed": str(error),
                "sourced": None,
                "factor": None,
                "factor_text": None,
                "parts": [],
                "source": None,
                "why": None,
            }
        ]


def _figure(claim: Claim, row: Row, one: Assumed, suite: Suite) -> dict[str, Any]:
    sourced, factor = _sourced_figure(claim, one, suite)
    obtained = row["obtained"]
    return {
        "what": claim.subject,
        "kind": row["kind"],
        "printed": row["expected"]["text"],
        "replayed": obtained["display"] if obtained else row["reason"],
        "sourced": sourced,
        "factor_text": ratio_text(obtained["value"] / factor) if factor and obtained else None,
        "outcome": row["outcome"],
        "file": row["file"],
        "line": row["line"],
    }


def _sourced_figure(claim: Claim, one: Assumed, suite: Suite) -> tuple[str | None, float | None]:
    """The same figure by the documented facts, where it can be had."""
    from pytest_rooflint.claims import figure  # noqa: PLC0415  # a kind, imported when its claims are there

    name, labels = subject_of(claim)
    compute = claim.option("compute")
    if compute is None:
        return None, None
    energies = Energies(Coefficients(suite.registry))
    try:
        if len(labels) > 1:
            assumed = suite.assumed(claim)
            return figure.sourced_order(name, labels, assumed, compute, lambda: suite.workload(claim), energies), None
        return figure.sourced(name, one, compute, lambda: suite.workload(claim), energies)
    except RooflintError:
        return None, None
