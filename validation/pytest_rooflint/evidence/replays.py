"""Replays in the evidence: each assumption beside the sourced fact, each figure as printed, replayed and sourced."""

from collections.abc import Iterator, Sequence

from pytest_rooflint.claims import figure
from pytest_rooflint.golden import replay
from pytest_rooflint.golden.kinds import Claim, Golden
from pytest_rooflint.golden.replay import Assumed, is_ratio, subject_of, uses
from pytest_rooflint.suite.suite import Suite
from rooflint.base.errors import RooflintError, shown
from rooflint.base.facts import Fact
from rooflint.base.precision import bytes_per_element, format_rate
from rooflint.base.units import OPS_PER_MAC, format_quantity
from rooflint.coefficients.library import Coefficients
from rooflint.diagnosis.causes import ratio_text
from rooflint.energy.model import Energies
from rooflint.hardware.device import Facts
from rooflint.mapping.allocate import LAYOUTS
from rooflint_report.evidence import Assumption, Figure, Replay, Underived
from rooflint_report.verdicts import Source, Verdict


def assumptions(assumed: Assumed, precision: str, storage: str, circuits: Facts | None = None) -> Iterator[Assumption]:
    """Each assumption beside the sourced fact, with the factor between them; last the peak, with the factor's parts.

    Factors of a formula stand beside those of `circuits`, where these are given.
    """
    parts = []
    for dotted in assumed.spec.facts:
        row = _row(assumed, dotted)
        if row.factor not in (None, 1) and dotted.startswith(tuple(f"units.{name}." for name in assumed.units)):
            parts.append(f"{row.factor_text} ({dotted.split('.', 2)[2]})")
        yield row
    for row in _conventions(assumed, precision, storage):
        if row.what == "ops_per_mac":
            parts.append(f"{row.factor_text} (a MAC counted as one op)")
        yield row
    for name, fact in assumed.formulas.facts.items():
        documented = (circuits or {}).get(_path_of_factor(assumed, name, precision))
        yield _beside_fact(assumed, name, fact, documented)
    yield _peak_row(assumed, precision, parts)


def _row(assumed: Assumed, dotted: str) -> Assumption:
    taken, documented = assumed.hardware.facts[dotted], assumed.sourced.facts.get(dotted)
    if dotted.endswith(".bandwidth") and documented is None:
        bandwidth = assumed.sourced.memory(dotted.split(".")[1]).derivation()
        shown = format_quantity(bandwidth.result, taken.quantity.dimension)
        return _beside(assumed, dotted, taken.display, shown, taken.value / bandwidth.result, bandwidth.facts[0])
    return _beside_fact(assumed, dotted, taken, documented)


def _beside_fact(assumed: Assumed, what: str, taken: Fact, documented: Fact | None) -> Assumption:
    if documented is None:
        return _beside(assumed, what, taken.display, None, None, None)
    return _beside(assumed, what, taken.display, documented.display, taken.value / documented.value, documented)


def _path_of_factor(assumed: Assumed, parameter: str, precision: str) -> str:
    """Where `circuits.yaml` has a parameter of a formula; empty for one that it does not know."""
    unit = assumed.sourced.unit(assumed.units[0])
    paths = {"circuit": f"factors.{unit.circuit}", "format": f"precisions.{precision}", "overhead": "overhead"}
    return paths.get(parameter.removeprefix("counted_power."), "")


def _beside(
    assumed: Assumed, what: str, taken: str, sourced: str | None, factor: float | None, fact: Fact | None = None
) -> Assumption:
    source = Source.from_object(fact.source, where=fact.where) if fact else None
    return Assumption(
        what=what,
        assumed=taken,
        sourced=sourced,
        factor=factor,
        factor_text=None if factor is None else ratio_text(factor),
        parts=[],
        source=source,
        why=assumed.spec.why.get(what),
    )


def _conventions(assumed: Assumed, precision: str, storage: str) -> Iterator[Assumption]:
    stated = assumed.conventions
    if "ops_per_mac" in stated:
        factor = assumed.ops_per_mac / OPS_PER_MAC
        yield _beside(assumed, "ops_per_mac", f"{assumed.ops_per_mac:g} op/MAC", f"{OPS_PER_MAC} op/MAC", factor)
    if "bandwidth_share" in stated:
        yield _beside(assumed, "bandwidth_share", str(stated["bandwidth_share"]), "1", assumed.bandwidth_share)
    if "layout" in stated:
        yield _beside(assumed, "layout", assumed.layout, LAYOUTS[0], None)
    meant, stored = assumed.precision(precision), str(stated.get("storage", storage))
    if meant != precision:
        yield _beside(assumed, "compute", f"{precision} at the rate of {meant}", meant, None)
    if stored != meant:
        taken_bytes, meant_bytes = bytes_per_element(stored), bytes_per_element(meant)
        taken, own = f"{stored}, {taken_bytes:g} B", f"{meant}, {meant_bytes:g} B"
        yield _beside(assumed, "storage", taken, own, taken_bytes / meant_bytes)


def _peak_row(assumed: Assumed, precision: str, parts: list[str]) -> Assumption:
    peak, fact = assumed.peak_ops_per_s(precision), assumed.typed_peak
    documented, meant = assumed.sourced_peak(precision), assumed.precision(precision)
    taken = fact.display if fact else format_rate(peak, precision)
    row = _beside(assumed, "peak", taken, format_rate(documented, meant), peak / documented)
    return row.model_copy(update={"what": f"peak {assumed.spec.unit} {meant}", "parts": parts})


# ---- the replay with its figures


def replays(golden: Golden, suite: Suite, verdicts: Sequence[Verdict]) -> Iterator[Replay]:
    """Each assumed device of a golden file."""
    mine = {one.id: one for one in verdicts if one.file == shown(golden.file)}
    try:
        assumed = replay.assumed(golden.claims[0], suite)
    except RooflintError:
        return  # the claims of the file are red and say why
    for label, one in assumed.items():
        claims = [claim for claim in golden.claims if label in uses(claim)]
        yield Replay(
            id=f"{golden.file.stem}-{label}",
            title=f"{golden.title or golden.file.stem}: {label}",
            label=label,
            group=golden.title or golden.file.stem,
            file=shown(golden.file),
            line=golden.document.line(("given", label)),
            document=golden.spec.source.document if golden.spec.source else None,
            hardware=one.sourced.id,
            at=one.spec.at,
            assumptions=_assumptions(golden, one, suite),
            figures=[_figure(claim, mine[claim.id], one, suite) for claim in claims if claim.id in mine],
        )


def underived(golden: Golden) -> Iterator[Underived]:
    """Each figure that a golden file lists as printed and not derivable."""
    for position, one in enumerate(golden.spec.underived):
        document = golden.spec.sources[one.source] if one.source else golden.spec.source
        yield Underived(
            group=golden.title or golden.file.stem,
            printed=one.printed,
            document=document.document if document else None,
            where=one.where,
            why=one.why,
            file=shown(golden.file),
            line=golden.document.line(("underived", position)),
        )


def _assumptions(golden: Golden, one: Assumed, suite: Suite) -> list[Assumption]:
    compute = golden.spec.compute or "fp32"
    try:
        circuits = Coefficients(suite.registry).circuits()
        return list(assumptions(one, compute, golden.spec.storage or compute, circuits))
    except RooflintError as error:
        unknown = dict.fromkeys(("sourced", "factor", "factor_text", "source", "why"))
        return [Assumption(what="peak", assumed=str(error), parts=[], **unknown)]


def _figure(claim: Claim, verdict: Verdict, one: Assumed, suite: Suite) -> Figure:
    sourced, factor = _sourced_figure(claim, one, suite)
    expected, obtained = verdict.expected, verdict.obtained
    replayed = obtained.value if obtained else None
    return Figure(
        what=claim.subject,
        kind=verdict.kind,
        printed=expected.text if expected else "",
        replayed=obtained.display if obtained else verdict.reason,
        sourced=sourced,
        factor_text=ratio_text(replayed / factor) if factor and replayed is not None else None,
        outcome=verdict.outcome,
        file=verdict.file,
        line=verdict.line,
    )


def _sourced_figure(claim: Claim, one: Assumed, suite: Suite) -> tuple[str | None, float | None]:
    """The same figure by the documented facts, where it can be had."""
    name, labels = subject_of(claim)
    compute = claim.option("compute")
    if compute is None:
        return None, None
    energies = Energies(Coefficients(suite.registry))
    try:
        if is_ratio(claim):
            assumed = replay.assumed(claim, suite)
            return figure.sourced_ratio(name, labels, assumed, compute, lambda: suite.workload(claim), energies)
        if len(labels) > 1:
            assumed = replay.assumed(claim, suite)
            return figure.sourced_order(name, labels, assumed, compute, lambda: suite.workload(claim), energies), None
        return figure.sourced(name, one, compute, lambda: suite.workload(claim), energies)
    except RooflintError:
        return None, None
