"""From an evidence file to the two files of a report."""

from pathlib import Path

from rooflint_report.atomic import write_atomically
from rooflint_report.evidence import EvidenceError, load_evidence
from rooflint_report.page import render_html
from rooflint_report.summary import render_summary

__all__ = ["EvidenceError", "render"]


def render(evidence: Path, html: Path, summary: Path) -> list[tuple[Path, int]]:
    """Write both, and return each with its size in bytes."""
    content = load_evidence(evidence)
    texts = {html: render_html(content), summary: render_summary(content)}
    for path, text in texts.items():
        write_atomically(path, text)
    return [(path, len(text.encode())) for path, text in texts.items()]
