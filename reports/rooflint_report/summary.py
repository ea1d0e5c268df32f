"""The Markdown summary: what a reader of a pull request needs before opening the page."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from rooflint_report import outcome
from rooflint_report.evidence import Evidence
from rooflint_report.html import code, escaped
from rooflint_report.page import FILTERS, GLOBALS
from rooflint_report.sections import SECTIONS, Page, coverage

LIMIT_BYTES = 60_000


def render_summary(evidence: Evidence | Mapping[str, Any]) -> str:
    """Markdown below 60 kB; the farthest failures first, as many as fit."""
    page = Page.of(Evidence.model_validate(evidence))
    failures, *others = [(section, section.view(page)) for section in SECTIONS]
    template = _environment().get_template("summary.md.j2")
    for shown in (40, 20, 10, 5, 2, 0):
        text = template.render(
            page=page,
            evidence=page.evidence,
            headline=outcome.headline(page.evidence),
            blind=coverage.blind(page.evidence),
            sections=[pair for pair in (*others, failures) if pair[1] is not None],
            shown=shown,
        )
        if len(text.encode()) < LIMIT_BYTES:
            break
    return text


@cache
def _environment() -> Environment:
    """Every expression is escaped for Markdown on its way out; HTML escaping is part of that."""
    environment = Environment(
        loader=PackageLoader("rooflint_report"),
        autoescape=False,
        finalize=escaped,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= FILTERS | {"code": code}
    environment.globals |= GLOBALS
    return environment
