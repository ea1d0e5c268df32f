"""Single rows of prices and places."""

import pytest

from rooflint.cost.rows import NoRowError, Rows
from rooflint.hardware.registry import Registry


def test_the_row_of_a_day_is_found_among_the_shipped_ones():
    rows = Rows.of(Registry())
    assert rows.price("nvidia/rtx-5090", "purchase", date="2025-01-06").display == "1999 USD"
    assert rows.reading("deu", "carbon", year=2023).display == "380.9 g/kWh"


def test_no_place_takes_the_figure_of_the_one_around_it():
    with pytest.raises(NoRowError, match=r"want one row of usa/iowa carbon, year 2023; found 0 \(rows: none\)"):
        Rows.of(Registry()).reading("usa/iowa", "carbon", year=2023)


def test_rows_of_the_first_root_that_has_any_stand_for_those_of_the_others(tmp_path):
    file = tmp_path / "grid/own.yaml"
    file.parent.mkdir()
    file.write_text(
        "name: Own\nsources: {own: {document: A meter, grade: read}}\nplaces:\n  deu:\n    name: Germany\n"
        "    carbon:\n      - {intensity: [300 g/kWh, own, row 1], year: 2023}\n",
        encoding="utf-8",
    )
    rows = Rows.of(Registry.of([tmp_path]))
    assert rows.reading("deu", "carbon", year=2023).display == "300 g/kWh"
    assert rows.reading("fra", "carbon", year=2023).display == "56.0 g/kWh"


def test_every_lookup_is_told_once():
    told = []
    rows = Rows.of(Registry()).tracked(told.append)
    found = rows.reading("deu", "carbon", year=2023)
    assert told == [found]


def test_the_rows_of_a_registry_are_read_once():
    registry = Registry()
    assert Rows.of(registry) is Rows.of(registry)
