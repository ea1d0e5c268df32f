"""A table as a page: self-contained, escaped, and readable on a phone."""

from types import SimpleNamespace

from rooflint_report.table_page import as_html


def page(*rows, columns=("place", "status"), title="One"):
    return as_html(SimpleNamespace(columns=columns, rows=rows, title=title))


def test_a_page_has_its_title_its_columns_and_its_cells():
    text = page(("a.csv:1", "wrong"))
    assert "<title>One</title>" in text
    assert '<th scope="col">place</th>' in text
    assert '<td data-column="place">a.csv:1</td>' in text


def test_a_status_is_marked_by_what_it_says():
    text = page(("a", "wrong"), ("b", "right"), ("c", "something else"))
    assert '<td data-column="status" class="b no">wrong</td>' in text
    assert '<td data-column="status" class="b ok">right</td>' in text
    assert '<td data-column="status" class="b ">something else</td>' in text


def test_cells_are_text_and_paths_may_wrap():
    text = page(("docs/<script>", None))
    assert "docs/<wbr>&lt;script&gt;" in text
    assert '<td data-column="status" class="b "></td>' in text


def test_a_table_without_a_status_or_a_title_is_a_page_too():
    text = page((1,), columns=("n",), title="")
    assert "<title>rooflint</title>" in text
    assert '<td data-column="n">1</td>' in text


def test_nothing_is_fetched():
    text = page(("a", "wrong"))
    assert "default-src 'none'" in text
    assert "://" not in text
