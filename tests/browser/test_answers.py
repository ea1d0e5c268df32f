"""Tables of answers in a browser: a click on a head sorts by the size of quantities, and keys do it, too."""

import pytest

from rooflint.output.sections import Table
from rooflint_report.table_page import as_html


@pytest.fixture
def table(view, tmp_path):
    """`table(column, …)`: the page of a table of named columns."""

    def show(**columns):
        file = tmp_path / "table.html"
        file.write_text(as_html(Table(tuple(columns), tuple(zip(*columns.values(), strict=True)))), encoding="utf-8")
        return view(file=file)

    return show


@pytest.mark.parametrize(
    "ordered",
    [
        ["890.2 µs", "1.2 ms", "13 ms", "2 s"],
        ["3.9 TFLOP/s", "67 TFLOP/s", "1.98 POP/s"],
        ["−5 %", "0.5 %", "7 %"],
        ["96 KiB", "1 MB", "4.5 MiB", "1 GiB"],
        ["3 GFLOPS", "989 TFLOPS", "2 PFLOPS"],
        ["≈ 2,331/s", "12,000/s"],
        ["t4", "v9", "v10"],
    ],
)
def test_a_column_sorts_up_and_down_and_back(table, ordered):
    mixed = [*ordered[1:], "—", ordered[0]]
    page = table(name=[f"row {number}" for number in range(len(mixed))], figure=mixed)
    head = page.get_by_role("button", name="figure")
    cells = page.locator("tbody td:nth-child(2)")
    head.click()
    assert cells.all_inner_texts() == [*ordered, "—"]
    head.press("Enter")
    assert cells.all_inner_texts() == [*ordered[::-1], "—"]
    assert page.locator("[aria-sort=descending]").inner_text() == "figure"
    head.press("Space")
    assert cells.all_inner_texts() == mixed


def test_a_table_of_one_row_has_nothing_to_sort(table):
    assert table(name=["a"], figure=["1 s"]).get_by_role("button").count() == 0
