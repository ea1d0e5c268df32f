"""The report: evidence.json in, one HTML page and one Markdown summary out.

The evidence file is the only input. Every physical quantity arrives as text, formatted by whoever wrote the evidence.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rooflint_report.evidence import Evidence, EvidenceError, load_evidence
    from rooflint_report.page import render_html
    from rooflint_report.summary import render_summary

__all__ = ["Evidence", "EvidenceError", "load_evidence", "render_html", "render_summary"]

_HOMES = {
    "Evidence": "evidence",
    "EvidenceError": "evidence",
    "load_evidence": "evidence",
    "render_html": "page",
    "render_summary": "summary",
}


def __getattr__(name: str) -> Any:
    """Import a part when it is first asked for: the command line lists this package without loading Jinja2."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
