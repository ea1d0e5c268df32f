"""Claims about single rows of prices and places, by hand."""

import pytest

from pytest_rooflint.mutation import tables
from pytest_rooflint.suite.dependencies import tracked
from rooflint.cost.rows import NoRowError, Rows

PRICES = """\
name: A list
sources: {list: {document: A price list, grade: read}}
devices:
  acme/k1:
    rent:
      - {price: [2.00 USD/h, list, row 1], provider: Cloud, date: 2025-03-03}
      - {price: [1.20 USD/h, list, row 2], provider: Cloud, date: 2025-03-03, terms: reserved_3y}
      - {price: [2.40 USD/h, list, row 3], provider: Cloud, date: 2024-03-03}
    purchase:
      - {price: [1000 USD, list, row 4], date: 2025-01-01}
    embodied:
      - {carbon: [164 kg, list, row 5], year: 2025}
"""
PLACES = """\
name: Places
sources: {table: {document: A table, grade: read}}
places:
  here:
    name: Here
    carbon:
      - {intensity: [400 g/kWh, table, row 1], year: 2023}
      - {intensity: [360 g/kWh, table, row 2], year: 2024}
    electricity:
      - {price: [12/100 USD/kWh, table, row 3], year: 2023, sector: industrial}
      - {price: [15/100 USD/kWh, table, row 4], year: 2023, sector: commercial}
    pue:
      - {factor: [1.10, table, row 5], year: 2024}
"""


@pytest.fixture
def costs(acme):
    acme.write("specs/prices/list.yaml", PRICES)
    acme.write("specs/grid/places.yaml", PLACES)
    return acme


@pytest.mark.parametrize(
    ("claim", "value"),
    [
        # 2.00 and 1.20 USD in 3600 s
        ("price: acme/k1 rent, date: 2025-03-03, terms: on_demand, expect: 2.00 USD/h", 2.00 / 3600),
        ("price: acme/k1 rent, date: 2025-03-03, terms: reserved_3y, expect: 1.20 USD/h", 1.20 / 3600),
        ("price: acme/k1 rent, date: 2024-03-03, provider: Cloud, expect: 19.20 USD/h / 8", 2.40 / 3600),
        ("price: acme/k1 purchase, date: 2025-01-01, expect: 1000 USD", 1000),
        ("price: acme/k1 embodied, year: 2025, expect: 164 kg", 164e3),
        # 3.6 MJ are a kWh
        ("grid: here carbon, year: 2023, expect: 400 g/kWh", 400 / 3.6e6),
        ("grid: here electricity, year: 2023, sector: industrial, expect: 0.12 USD/kWh", 0.12 / 3.6e6),
        ("grid: here pue, year: 2024, expect: 1.10", 1.1),
    ],
)
def test_a_claim_is_about_the_row_that_it_names(costs, one, claim, value):
    verdict = one(claim)
    assert (verdict.outcome, verdict.corroborated) == ("pass", True)
    assert verdict.obtained.value == pytest.approx(value, rel=1e-12)


def test_another_row_is_not_taken_for_it(costs, one):
    assert one("price: acme/k1 rent, date: 2024-03-03, expect: 2.00 USD/h").outcome == "fail"
    assert one("grid: here carbon, year: 2024, expect: 400 g/kWh").outcome == "fail"


def test_no_row_and_several_rows_are_told(costs, one):
    several = one("price: acme/k1 rent, date: 2025-03-03, expect: 2.00 USD/h")
    assert several.reason == "want one row of acme/k1 rent, date 2025-03-03; found 2 (rows: row 1, row 2)"
    none = one("grid: here carbon, year: 2022, expect: 400 g/kWh")
    assert none.reason == "want one row of here carbon, year 2022; found 0 (rows: row 1, row 2)"
    assert one("price: acme/k9 purchase, date: 2025-01-01, expect: 10.0 USD").reason == "unknown device 'acme/k9'"


def test_invalid_claims_about_costs_are_refused(refusal):
    assert "want a name and one of rent, purchase, embodied" in refusal(
        "price: acme/k1, date: 2025-01-01, expect: 900 USD"
    )
    assert "want 'date:'" in refusal("price: acme/k1 purchase, expect: 100 USD")
    assert "want 'year:'" in refusal("grid: here carbon, expect: 100 g/kWh")
    assert "is in USD/s, '100 USD' is in USD" in refusal("price: acme/k1 rent, date: 2025-01-01, expect: 100 USD")


def test_a_claim_reads_its_own_row_only_and_sees_it_changed(costs):
    suite = costs.suite()
    registry = suite.registry
    facts = tables.facts_of("grid", tables.files(suite)["grid", "grid/places"], registry)
    first = facts["places.here.carbon.0.intensity"]
    context = tracked(suite)
    Rows.of(context.registry).reading("here", "carbon", year=2023)
    assert context.dependencies.places == {first.place}
    wrong = Rows.of(tables.registry_with(first, first.with_value(1.0), registry, "grid"))
    assert wrong.reading("here", "carbon", year=2023).value == 1.0
    assert wrong.reading("here", "carbon", year=2024).display == "360 g/kWh"
    gone = Rows.of(tables.registry_with(first, None, registry, "grid"))
    with pytest.raises(NoRowError, match="here carbon, year 2023 is not known"):
        gone.reading("here", "carbon", year=2023)
