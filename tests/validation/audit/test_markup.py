"""Tables in HTML, with the ways in which pages leave tags out and span cells."""

from pytest_rooflint.audit.markup import MOST_SPANNED, html_tables


def grids(text):
    return [grid.lines for grid in html_tables(text)]


def test_a_table_is_read_with_the_lines_of_its_rows():
    page = "<p>x</p>\n<table>\n<tr><th>GPU<th>BF16 <sup>1</sup></tr>\n<tr><td>A&amp;B</td>\n<td>312<br>TFLOPS</table>"
    assert grids(page) == [((3, ("GPU", "BF16")), (4, ("A&B", "312 TFLOPS")))]


def test_end_tags_may_be_missing():
    assert grids("<table><tr><td>a<td>b<tr><td>1<td>2") == [((1, ("a", "b")), (1, ("1", "2")))]


def test_a_cell_that_spans_others_stands_in_each():
    page = "<table><tr><th rowspan=2>GPU<th colspan=2>peak<tr><th>bf16<th>fp8<tr><td>x<td>1<td>2</table>"
    assert [texts for _, texts in grids(page)[0]] == [
        ("GPU", "peak", "peak"),
        ("GPU", "bf16", "fp8"),
        ("x", "1", "2"),
    ]


def test_a_subtitle_that_spans_more_than_the_table_ends_with_it(audited):
    header = "<table><tr><th>GPU<th>bf16 (TFLOPS)<th>tdp (W)"
    page = f"{header}<tr><td colspan=9>NVIDIA<tr><td>H100 SXM5<td>989<td>700<tr><td colspan=2>none<td>1</table>"
    assert [texts for _, texts in grids(page)[0]][1:] == [
        ("NVIDIA", "NVIDIA", "NVIDIA"),
        ("H100 SXM5", "989", "700"),
        ("none", "none", "1"),
    ]
    findings = [one for one in audited(page, "page.html") if one.device == "H100 SXM5"]
    assert [one.status for one in findings] == ["right", "right"]


def test_spans_are_bounded():
    [[(_, texts), _]] = grids("<table><tr><td colspan=1000000000>a<tr><td>b</table>")
    assert len(texts) == 1  # nine digits and more are no span
    [[(_, texts), _]] = grids("<table><tr><td colspan=5000>a<tr><td>b</table>")
    assert len(texts) == MOST_SPANNED


def test_a_table_inside_another_and_one_without_rows():
    page = "<table><tr><td>a<table><tr><td>b<tr><td>c</table></table><table></table>"
    assert [[texts for _, texts in lines] for lines in grids(page)] == [[("b",), ("c",)]]


def test_a_table_in_a_cell_leaves_the_others_of_its_row_where_they_are():
    page = "<table><tr><th>GPU<th>note<th>bf16<tr><td>x<td>see <table><tr><td>y</table><td>989</table>"
    assert grids(page)[-1] == ((1, ("GPU", "note", "bf16")), (1, ("x", "see", "989")))


def test_blocks_in_a_cell_are_apart_and_footnotes_are_no_digits():
    page = "<table><tr><th>a<th>b<tr><td>989<sup>1</sup><td><p>1979</p><p>3958</p></table>"
    assert grids(page)[0][1][1] == ("989", "1979 3958")


def test_html_inside_markdown_is_audited(audited):
    page = "# GPUs\n\n<table>\n<tr><th>GPU</th><th>BF16 (TFLOPS)</th></tr>\n<tr><td>H100 SXM5<td>1979\n</table>\n"
    [finding] = audited(page, "README.md")
    assert (finding.line, finding.status, finding.explanations[0].error) == (5, "wrong", "sparse for dense")
    [finding] = audited(page, "page.html")
    assert finding.status == "wrong"
