"""The HTML page: one file, nothing fetched, readable without JavaScript."""

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from rooflint_report import log_chart, outcome
from rooflint_report.evidence import Evidence
from rooflint_report.sections import SECTIONS, Page, coverage, failures, mutation


def render_html(evidence: Evidence | Mapping[str, Any]) -> str:
    """Render the whole report as one self-contained HTML document; evidence as loaded, or as JSON data."""
    page = Page.of(Evidence.model_validate(evidence))
    views = [(section, section.view(page)) for section in SECTIONS]
    text = (
        environment()
        .get_template("page.html.j2")
        .render(
            page=page,
            evidence=page.evidence,
            headline=outcome.headline(page.evidence),
            sections=[pair for pair in views if pair[1] is not None],
            blind=coverage.blind(page.evidence),
            script=_script(),
            script_hash=_script_hash(),
        )
    )
    lines = (line.strip() for line in text.splitlines())
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
    environment.filters |= FILTERS | {
        "ruler_x": failures.ruler_x,
        "tied": outcome.tied,
        "tied_factors": outcome.tied_factors,
    }
    environment.globals |= GLOBALS | {"short": outcome.SHORT, "shapes": log_chart.SHAPES}
    return environment


#: What the templates of the page and of the summary share.
FILTERS: dict[str, Any] = {
    "claimed": outcome.claimed,
    "grouped": outcome.grouped,
    "ratio": outcome.ratio_text,
    "deviation": outcome.deviation,
    "mended": failures.mended,
    "broken": failures.broken,
    "percent": mutation.percent,
    "share_of": mutation.share_of,
}
GLOBALS: dict[str, Any] = {"marks": outcome.MARKS, "tried": failures.tried}


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
