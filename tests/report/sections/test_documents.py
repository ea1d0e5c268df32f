"""The documents that facts rest on: what counts once, and in which order they stand."""

import pytest

from rooflint_report.sections.documents import documents, view


def fact(source, line, path, grade="read", file="specs/a.yaml"):
    return {"path": path, "source": source, "grade": grade, "file": file, "line": line}


def device(name, *facts, overrides=()):
    return {
        "id": name,
        "peaks": [{"factors": list(facts)}],
        "memories": [],
        "facts": [],
        "operating_points": [{"overrides": list(overrides)}],
    }


@pytest.fixture
def cited(objects):
    """`cited(device, …, quoted=titles)`: documents of such evidence."""

    def make(*devices, quoted=()):
        known = objects({"db": {"document": "Database"}, "wp": {"document": "White paper"}})
        verdicts = [{"expected": {"source": {"document": one}}} for one in quoted]
        evidence = objects({"devices": list(devices), "verdicts": [*verdicts, {"expected": None}]})
        for one in evidence.devices:
            one.sources = vars(known)
        return documents(evidence)

    return make


def test_a_shared_fact_counts_once_and_each_device_that_rests_on_it(cited):
    shared = fact("wp", 7, "per_group", file="specs/die.yaml")
    (one,) = cited(device("x", shared, shared), device("y", shared))
    assert (one.document, len(one.places), one.devices) == ("White paper", 1, {"x", "y"})


def test_the_document_of_most_facts_comes_first_with_its_grades_and_claims(cited):
    rows = (fact("wp", 1, "tdp"), fact("db", 2, "bus"), fact("db", 2, "pin_rate", grade="recalled"))
    first, second = cited(device("x", *rows), quoted=("Database", "Database", "Elsewhere"))
    assert (first.document, len(first.places), first.grades, first.claims) == ("Database", 2, {"read", "recalled"}, 2)
    assert (second.document, second.claims) == ("White paper", 0)


def test_a_convention_has_no_document_and_an_operating_point_has(cited):
    found = cited(device("x", fact(None, None, None, None), overrides=[fact("wp", 3, "clock")]))
    assert [one.document for one in found] == ["White paper"]


def test_without_a_cited_document_there_is_no_section(objects):
    assert view(objects({"evidence": {"devices": [], "verdicts": []}})) is None
