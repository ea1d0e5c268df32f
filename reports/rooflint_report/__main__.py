"""`python -m rooflint_report evidence.json`, for a machine that only renders."""

import typer

from rooflint_report.cli import report

typer.run(report)
