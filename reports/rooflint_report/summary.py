"""The Markdown summary: what a reader of a pull request needs before opening the page."""

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from rooflint_report import mutation, outcome, silicon
from rooflint_report import outcome as place
from rooflint_report.evidence import Evidence
from rooflint_report.html import code, escaped
from rooflint_report.matrix import coverage_matrix

LIMIT_BYTES = 60_000


def render_summary(evidence: Evidence) -> str:
    """Markdown below 60 kB; the worst reds first, as many as fit."""
    fails = outcome.worst_first(v for v in evidence["verdicts"] if v["outcome"] == "fail")
    view = {
        "headline": outcome.headline(evidence),
        "fails": fails,
        "places": evidence.get("places", []),
        "blind": coverage_matrix(evidence).blind,
        "silicon_topics": silicon.topics(evidence["silicon"]["scores"]) if "silicon" in evidence else [],
        "silicon_tables": _products(evidence),
    }
    template = _environment().get_template("summary.md.j2")
    for shown in (40, 20, 10, 5, 2, 0):
        text = template.render(evidence | view, shown=shown)
        if len(text.encode()) < LIMIT_BYTES:
            break
    return text


def _products(evidence: Evidence) -> list[silicon.Topic]:
    """Tables of matrix products that others published; the page has the other ops, too."""
    if "silicon" not in evidence:
        return []
    return silicon.tables([one for one in evidence["silicon"]["published"] if one["op"] == "gemm"])


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
    environment.filters |= {
        "claimed": outcome.claimed,
        "code": code,
        "grouped": outcome.grouped,
        "ratio": outcome.ratio_text,
        "deviation": outcome.deviation,
        "mended": place.mended,
        "broken": place.broken,
        "percent": mutation.percent,
        "share_of": mutation.share_of,
    }
    environment.globals |= {"marks": outcome.MARKS, "tried": place.tried}
    return environment
