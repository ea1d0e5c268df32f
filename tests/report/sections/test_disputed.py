"""Disputed figures: replays by document, each with an anchor, and the documents that their sourced facts come from."""

from rooflint_report.evidence import Evidence
from rooflint_report.sections import disputed
from rooflint_report.sections.section import Page


def page(evidence, **more):
    return Page.of(Evidence.model_validate(evidence | more))


def test_without_replays_there_is_no_section(evidence):
    assert disputed.view(page(evidence, replays=[])) is None


def test_replays_of_a_group_stand_together_in_their_order(evidence):
    (found,) = disputed.view(page(evidence))
    assert found.title == "MLP 1024, batch 16, 30 W"
    assert [(anchor, replay.id) for anchor, replay in found.members] == [
        ("replay-001-GPU", "001-GPU"),
        ("replay-001-KPU", "001-KPU"),
    ]
    assert found.replayed == ["Latency sanity table"]  # once, although both replay it


def test_groups_stand_in_the_order_in_which_they_first_occur(evidence):
    one, two = evidence["replays"]
    three = one | {"id": "003", "group": "A later one", "document": None}
    found = disputed.view(page(evidence, replays=[three, two, one | {"id": "004", "group": "A later one"}]))
    assert [dispute.title for dispute in found] == ["A later one", "MLP 1024, batch 16, 30 W"]
    assert [replay.id for _, replay in found[0].members] == ["003", "004"]
    assert [dispute.replayed for dispute in found] == [["Latency sanity table"], ["Latency sanity table"]]


def test_documents_of_sourced_facts_are_numbered_from_one_and_listed_once(evidence):
    one, two = evidence["replays"]
    source = {"document": "A second data sheet", "where": None, "grade": "read"}
    second = two | {"assumptions": [two["assumptions"][0] | {"source": source}, two["assumptions"][0]]}
    (found,) = disputed.view(page(evidence, replays=[one, second]))
    assert found.documents == ["NVIDIA Jetson AGX Orin Series data sheet", "A second data sheet"]
    assert [found.number(document) for document in found.documents] == [1, 2]


def test_figures_that_do_not_follow_stand_below_the_replay_of_their_title(evidence):
    figure = {
        "printed": "12.6 op/B",
        "document": None,
        "where": "p. 1",
        "why": "31.2",
        "file": "golden/x.yaml",
        "line": 9,
    }
    mine, other = figure | {"group": "MLP 1024, batch 16, 30 W"}, figure | {"group": "Another"}
    (found,) = disputed.view(page(evidence, underived=[mine, other]))
    assert [one.group for one in found.underived] == ["MLP 1024, batch 16, 30 W"]
