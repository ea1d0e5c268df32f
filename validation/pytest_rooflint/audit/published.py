"""Figures from golden files: what documents print of each device, disputed figures and known errors.

An expected failure is a disagreement that was looked into. If its document is the vendor's, or nobody knows who is
right, a table that repeats the figure is disputed rather than wrong; if not, the table repeats a known error.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import pytest_rooflint
from pytest_rooflint.golden.kinds import Claim, terms
from pytest_rooflint.suite.suite import Suite
from rooflint.base.errors import RooflintError
from rooflint.base.facts import Factor, Ladder
from rooflint.diagnosis.figures import QUANTITIES, Figure
from rooflint.hardware.registry import Registry

_KINDS = {"peak", "bandwidth", "capacity", "tdp", "count", "clock"}


@dataclass(frozen=True)
class Published:
    """Printed figures by device."""

    printed: dict[str, list[Figure]] = field(default_factory=dict)
    """Figures that agree with the facts, those of the vendor that do not, and those of an open disagreement."""
    refuted: dict[str, list[Figure]] = field(default_factory=dict)
    """Known errors in documents of others."""


def shipped() -> Path:
    """The folder of golden peaks that is shipped: inside a wheel, or beside the package in a checkout."""
    inside = Path(pytest_rooflint.__file__).parent / "published"
    return inside if inside.is_dir() else Path(pytest_rooflint.__file__).parents[2] / "golden" / "peaks"


def published(golden: tuple[Path, ...], registry: Registry) -> Published:
    """Printed figures by device, from the golden files of some folders and those shipped with the package."""
    return _published(golden, registry.roots)


def forget() -> None:
    """Read the golden files again when their figures are asked for next."""
    _published.cache_clear()


@cache
def _published(golden: tuple[Path, ...], roots: tuple[Path, ...]) -> Published:
    """Cached by folders, because a registry with a changed fact has the same golden files."""
    found, registry = Published(), Registry(roots)
    for claim in Suite(golden_roots=(*golden, shipped()), registry=registry).claims():
        if claim.kind in _KINDS and claim.expectation and claim.hardware and not claim.at and not claim.is_replay:
            for figure in _figures(claim, registry):
                wrong = claim.xfail and not (claim.xfail.open or figure.is_vendors)
                side = found.refuted if wrong else found.printed
                side.setdefault(claim.hardware, []).append(figure)
    for device, figures in found.refuted.items():
        figures[:] = [one for one in figures if not _is_vendors_too(one, found.printed.get(device, ()))]
    return found


def _is_vendors_too(figure: Figure, printed: Sequence[Figure]) -> bool:
    """Whether the vendor prints the same figure, so that others merely repeat it."""
    about = (figure.subject, figure.sparse, figure.part, figure.value)
    return any((one.subject, one.sparse, one.part, one.value) == about for one in printed)


def _figures(claim: Claim, registry: Registry) -> Iterator[Figure]:
    try:
        hardware = registry.get(str(claim.hardware))
    except RooflintError:
        return
    assert claim.expectation is not None
    if claim.expectation.dimension != QUANTITIES[claim.kind]:
        return
    units = terms(claim.subject) if claim.kind == "peak" else []
    figure = Figure(
        hardware,
        claim.kind,
        claim.subject,
        (Ladder((Factor("printed", claim.expectation.value, claim.expectation.text),)),),
        unit=" + ".join(unit for unit, _ in units) or None,
        precision=units[0][1] if units else None,
        sparse=bool(claim.option("sparse")),
        part=claim.option("per"),
        printed=claim.source.document if claim.source else None,
        dispute=claim.xfail.reason if claim.xfail else None,
    )
    yield figure
    parts = hardware.parts.get(str(figure.part))
    if figure.dispute and parts:  # tables give four times what is printed of one of four
        whole = Factor("parts", parts.value, f"{parts.display} {figure.part}", parts)
        ladders = tuple(ladder.times(whole) for ladder in figure.ladders)
        yield replace(figure, ladders=ladders, part=None, printed=f"{figure.printed} (per {figure.part})")
