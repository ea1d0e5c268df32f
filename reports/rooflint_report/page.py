"""The HTML page: one file, nothing fetched, readable without JavaScript."""

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from rooflint_report import axis, log_chart, measured, moved, mutation, outcome, power, silicon
from rooflint_report import outcome as place
from rooflint_report.disputes import disagreements, disputes
from rooflint_report.evidence import Evidence, Verdict
from rooflint_report.html import Anchors
from rooflint_report.matrix import coverage_matrix, is_blind
from rooflint_report.sheet import homeless, sheets
from rooflint_report.slack import slack_of

MOST_LINES = 16
"""Of the details of a red verdict."""


def render_html(evidence: Evidence) -> str:
    """Render the whole report as one self-contained HTML document."""
    page = environment().get_template("page.html.j2").render(_view(evidence))
    lines = (line.strip() for line in page.splitlines())
    return "\n".join(line for line in lines if line) + "\n"


@cache
def environment() -> Environment:
    """Autoescape is on: whatever the evidence says is text."""
    environment = Environment(
        loader=PackageLoader("rooflint_report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "claimed": outcome.claimed,
        "grouped": outcome.grouped,
        "ratio": outcome.ratio_text,
        "deviation": outcome.deviation,
        "ruler_x": axis.ruler_x,
        "extent": moved.extent,
    }
    environment.filters |= {"tied": outcome.tied, "tied_factors": outcome.tied_factors}
    environment.filters |= {"mended": place.mended, "broken": place.broken}
    environment.filters |= {
        "mutant_parts": mutation.parts,
        "percent": mutation.percent,
        "share_of": mutation.share_of,
    }
    environment.filters |= {"disturbed": measured.disturbed}
    environment.tests |= {"blind": is_blind}
    environment.globals |= {"marks": outcome.MARKS, "short": outcome.SHORT, "ruler_ticks": axis.ruler_ticks()}
    environment.globals |= {"tried": place.tried, "mutant_names": mutation.PARTS}
    environment.globals |= {"shapes": log_chart.SHAPES, "most_lines": MOST_LINES}
    environment.globals |= {"power_marks": power.MARKS, "power_class": power.CLASSES}
    return environment


def _view(evidence: Evidence) -> dict[str, Any]:
    """Gather what the templates need beyond the evidence: order, groups, anchors."""
    anchors = Anchors()
    by_outcome = {name: [v for v in evidence["verdicts"] if v["outcome"] == name] for name in outcome.WORST_FIRST}
    fails = [(anchors.new("fail", v["nodeid"]), v) for v in outcome.worst_first(by_outcome["fail"])]
    device_sheets = sheets(evidence, anchors)
    return evidence | {
        "headline": outcome.headline(evidence),
        "fails": fails,
        "fail_cells": {(v["hardware"], v["kind"], v["precision"] or "—"): anchor for anchor, v in reversed(fails)},
        "places": [(one, place.witnesses(one, fails)) for one in evidence.get("places", [])],
        "undecided": by_outcome["undecided"],
        "xfails": disagreements(by_outcome["xfail"]),
        "slack": slack_of(evidence["verdicts"]),
        "unvalidated": _by_reason(by_outcome["not validated here"]),
        "matrix": coverage_matrix(evidence),
        "sheet_anchors": {sheet.device["id"]: sheet.anchor for sheet in device_sheets},
        "sheets": device_sheets,
        "homeless": homeless(evidence),
        "moved": moved.moves_of(evidence),
        "powers": power.powers_of(evidence),
        "benches": measured.benches_of(evidence),
        "silicon_view": silicon.silicon_of(evidence),
        "slipping": mutation.slipping(evidence),
        "disputes": disputes(evidence["replays"], anchors),
        "decades": axis.decade_axis(p["value"] for d in evidence["devices"] for p in d["peaks"]),
        "script": _script(),
        "script_hash": _script_hash(),
    }


def _by_reason(verdicts: list[Verdict]) -> list[tuple[str, list[Verdict]]]:
    """Claims that could not be checked here, by the reason why."""
    groups: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        groups.setdefault(verdict["reason"] or "no reason given", []).append(verdict)
    return sorted(groups.items(), key=lambda item: -len(item[1]))


@cache
def _script() -> str:
    """Read the script as it will stand in the page, its lines stripped like all others."""
    source = files(__package__).joinpath("templates/page.js").read_text(encoding="utf-8")
    return "\n".join(line for line in map(str.strip, source.splitlines()) if line)


@cache
def _script_hash() -> str:
    """Content-Security-Policy source: this script runs, and no other."""
    digest = hashlib.sha256(_script().encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
