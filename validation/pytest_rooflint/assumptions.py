"""What a replay assumes, beside what is documented, with the factor between them: rows for the report."""

from collections.abc import Iterator
from typing import Any

from pytest_rooflint.replay import Assumed
from rooflint.diagnosis import ratio_text
from rooflint.facts import Fact
from rooflint.hardware import Facts
from rooflint.mapping import LAYOUTS
from rooflint.precision import bytes_per_element, rate_unit
from rooflint.units import OPS_PER_MAC, OPS_PER_S, format_quantity


def assumptions(
    assumed: Assumed, precision: str, storage: str, circuits: Facts | None = None
) -> Iterator[dict[str, Any]]:
    """Each assumption beside the sourced fact, with the factor between them; last the peak, with the factor's parts.

    Factors of a formula stand beside those of `circuits`, where these are given.
    """
    parts = []
    for dotted in assumed.spec.facts:
        row = _row(assumed, dotted)
        if row["factor"] not in (None, 1) and dotted.startswith(tuple(f"units.{name}." for name in assumed.units)):
            parts.append(f"{row['factor_text']} ({dotted.split('.', 2)[2]})")
        yield row
    for row in _conventions(assumed, precision, storage):
        if row["what"] == "ops_per_mac":
            parts.append(f"{row['factor_text']} (a MAC counted as one op)")
        yield row
    for name, fact in assumed.formulas.facts.items():
        documented = (circuits or {}).get(_path_of_factor(assumed, name, precision))
        yield _beside(
            assumed,
            name,
            fact.display,
            documented.display if documented else None,
            fact.value / documented.value if documented else None,
            documented,
        )
    yield _peak_row(assumed, precision, parts)


def _row(assumed: Assumed, dotted: str) -> dict[str, Any]:
    taken, documented = assumed.hardware.facts[dotted], assumed.sourced.facts.get(dotted)
    if dotted.endswith(".bandwidth") and documented is None:
        memory = assumed.sourced.memory(dotted.split(".")[1])
        shown = format_quantity(memory.bandwidth_bytes_per_s, taken.quantity.dimension)
        return _beside(
            assumed,
            dotted,
            taken.display,
            shown,
            taken.value / memory.bandwidth_bytes_per_s,
            memory.derivation().facts[0],
        )
    factor = taken.value / documented.value if documented else None
    return _beside(assumed, dotted, taken.display, documented.display if documented else None, factor, documented)


def _path_of_factor(assumed: Assumed, parameter: str, precision: str) -> str:
    """Where `circuits.yaml` has a parameter of a formula; empty for one that it does not know."""
    unit = assumed.sourced.unit(assumed.units[0])
    paths = {"circuit": f"factors.{unit.circuit}", "format": f"precisions.{precision}", "overhead": "overhead"}
    return paths.get(parameter.removeprefix("counted_power."), "")


def _beside(
    assumed: Assumed, what: str, taken: str, sourced: str | None, factor: float | None, fact: Fact | None
) -> dict[str, Any]:
    return {
        "what": what,
        "assumed": taken,
        "sourced": sourced,
        "factor": factor,
        "factor_text": None if factor is None else ratio_text(factor),
        "parts": [],
        "source": {"document": fact.source.document, "where": fact.where, "grade": fact.source.grade} if fact else None,
        "why": assumed.spec.why.get(what),
    }


def _conventions(assumed: Assumed, precision: str, storage: str) -> Iterator[dict[str, Any]]:
    if "ops_per_mac" in assumed.conventions:
        yield _beside(
            assumed,
            "ops_per_mac",
            f"{assumed.ops_per_mac:g} op/MAC",
            f"{OPS_PER_MAC} op/MAC",
            assumed.ops_per_mac / OPS_PER_MAC,
            None,
        )
    if "bandwidth_share" in assumed.conventions:
        yield _beside(
            assumed, "bandwidth_share", str(assumed.conventions["bandwidth_share"]), "1", assumed.bandwidth_share, None
        )
    if "layout" in assumed.conventions:
        yield _beside(assumed, "layout", assumed.layout, LAYOUTS[0], None, None)
    meant, stored = assumed.precision(precision), str(assumed.conventions.get("storage", storage))
    if meant != precision:
        yield _beside(assumed, "compute", f"{precision} at the rate of {meant}", meant, None, None)
    if stored != meant:
        yield _beside(
            assumed,
            "storage",
            f"{stored}, {bytes_per_element(stored):g} B",
            f"{meant}, {bytes_per_element(meant):g} B",
            bytes_per_element(stored) / bytes_per_element(meant),
            None,
        )


def _peak_row(assumed: Assumed, precision: str, parts: list[str]) -> dict[str, Any]:
    taken = assumed.peak_ops_per_s(precision)
    documented, meant = assumed.sourced_peak(precision), assumed.precision(precision)
    fact = assumed.typed_peak
    row = _beside(
        assumed,
        "peak",
        fact.display if fact else format_quantity(taken, OPS_PER_S, unit=rate_unit(precision)),
        format_quantity(documented, OPS_PER_S, unit=rate_unit(meant)),
        taken / documented,
        None,
    )
    return {**row, "what": f"peak {assumed.spec.unit} {meant}", "parts": parts, "why": assumed.spec.why.get("peak")}
