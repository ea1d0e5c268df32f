"""A table as an HTML page of its own: what `--format html` writes. One file, nothing fetched."""

from markupsafe import Markup

from rooflint.output.sections import Cell, Table, cell_text
from rooflint_report.report import environment, script

#: Cells of a column called `status` are marked by what they say.
STATUS_CLASSES = {
    "wrong": "no",
    "unsupported": "un",
    "ambiguous": "un",
    "disputed": "xf",
    "rounded": "nv",
    "unknown device": "nv",
    "not checked": "nv",
    "right": "ok",
}


def as_html(table: Table) -> str:
    """The table as one self-contained HTML document."""
    status = list(table.columns).index("status") if "status" in table.columns else None
    page = environment().get_template("table.html.j2")
    rows = [[_breakable(cell) for cell in row] for row in table.rows]
    return (
        page.render(table=table, rows=rows, status=status, classes=STATUS_CLASSES, script=script("sortable.js")) + "\n"
    )


def _breakable(cell: Cell) -> Markup:
    """A cell that may wrap after each slash: paths and ids are long."""
    return Markup("/<wbr>").join(cell_text(cell).split("/"))
