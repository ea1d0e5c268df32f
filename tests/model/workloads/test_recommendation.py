"""Tables and crosses: what a sample reads and computes, by hand."""

from dataclasses import replace

import pytest

from rooflint.base.errors import RooflintError
from rooflint.workloads.networks import network_named
from rooflint.workloads.recommendation import Recommender

NET = Recommender(
    "net", dense=3, bottom=(6, 4), tables=(100, 10), picked=(5, 1), crosses=2, rank=3, top=(8, 1)
)  # fmt: skip


def rows(work):
    return {row.name: row for row in work.rows()}


def test_a_sample_reads_the_rows_that_it_picks_and_adds_them_up():
    found = rows(NET.table(7))["tables"]
    # 6 rows of 4 and their places; 5 of them become one
    assert (found.elements_in, found.elements_out, found.other_ops) == (7 * (24 + 6), 7 * 8, 7 * 16)
    assert found.elements_weight == 0


def test_a_cross_is_two_products_of_low_rank():
    found = rows(NET.table(7))
    # dense features and two tables, each 4 wide
    assert found["cross1_down"][7:10] == (7, 3, 12)
    assert found["cross1_up"][7:10] == (7, 12, 3)
    names = NET.table(7).op_names.tolist()
    joined = names.index("joined")
    assert all(joined in NET.table(7).flow.reads[names.index(f"cross{place}_mul")] for place in range(2))


def test_the_last_product_has_no_activation():
    found = rows(NET.table(7))
    assert "top0_relu" in found and "top1_relu" not in found


def test_parameters_are_tables_and_products():
    # bottom 3·6 + 6 + 6·4 + 4, crosses 2 · (2·12·3 + 12), top 12·8 + 8 + 8 + 1
    assert NET.parameters == 110 * 4 + 52 + 2 * 84 + 113
    assert NET.active_parameters == 52 + 2 * 84 + 113


def test_tables_fill_memory_whoever_reads_them():
    work = NET.table(7)
    assert work.flow.elements_constant == NET.parameters
    assert work.elements_weight.sum() == NET.active_parameters


def test_another_batch_is_the_same_as_one_made_for_it():
    assert NET.table(2).at_batch(6) == NET.table(6)


def test_tokens_are_refused():
    with pytest.raises(RooflintError, match="net: takes no tokens"):
        NET.table(1, new=3)


def test_the_shipped_one_has_two_hundred_million_rows():
    net = network_named("dlrm-v2").configuration
    assert sum(net.tables) == 204_184_588 and sum(net.picked) == 214
    assert net.embedding_parameters == 204_184_588 * 128


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ({"picked": (5,)}, "net: want as many numbers picked as tables"),
        ({"top": (8,)}, "net: want a top whose last width is 1"),
        ({"bottom": ()}, "net: want widths of bottom, and tables"),
    ],
)
def test_facts_that_do_not_fit_are_refused(other, says):
    with pytest.raises(RooflintError) as refused:
        replace(NET, **other)
    assert str(refused.value) == says
