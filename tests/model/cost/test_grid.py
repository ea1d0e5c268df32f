"""Carbon, price of electricity and PUE of places: newest first, of the place around where a place has none."""

import pytest

from rooflint.cost.grid import Grid, NoReadingError, UnknownPlaceError
from rooflint.hardware.registry import PACKAGED, Registry

SHIPPED = Grid(Registry())


def test_the_newest_year_comes_first(economics):
    found = economics.grid().carbon("one")
    assert [one.year for one in found] == [2023, 2022]
    assert [one.g_per_kwh for one in found] == pytest.approx([380, 400])
    assert found[0].citation == "380 g/kWh, one 2023, Paper A, row 2 (quoted)"


def test_electricity_has_a_price_for_each_kind_of_customer(economics):
    assert [one.usd_per_kwh for one in economics.grid().electricity("one")] == pytest.approx([0.10, 0.07])


def test_a_region_without_a_figure_answers_with_the_place_that_it_lies_in_and_says_so(economics):
    grid = economics.grid()
    (own,), around = grid.pue("big/us-one"), grid.carbon("big/us-one")[0]
    assert (own.place, own.pue) == ("big/us-one", 1.1)
    assert around.place == "one"


def test_what_is_not_known_is_an_error_that_names_where_it_looked(economics):
    grid = economics.grid()
    text = economics.texts["grid/one"]
    economics.texts["grid/one"] = "".join(line for line in text.splitlines(keepends=True) if "g/kWh" not in line)
    economics.edit("grid/one", "    carbon:\n", "")
    with pytest.raises(NoReadingError, match=r"^no carbon known of big/us-one, nor of one$"):
        economics.grid().carbon("big/us-one")
    with pytest.raises(NoReadingError, match=r"^no PUE known of one$"):
        grid.pue("one")
    with pytest.raises(UnknownPlaceError, match=r"^unknown place 'big/us-on'; nearest: big/us-one"):
        grid.pue("big/us-on")


def test_places_that_lie_in_each_other_end(economics):
    economics.edit("grid/one", "name: Country One", "name: Country One\n    within: big/us-one")
    assert economics.grid().around("big/us-one") == ["big/us-one", "one"]


def test_a_year_that_is_given_twice_is_refused(economics):
    said = economics.refused("grid/one", "year: 2022}", "year: 2023}")
    assert "places.one.carbon: 2023 is given already, in line 9; keep one" in said


def test_own_figures_hide_the_packaged_ones_of_that_kind_and_place(economics):
    economics.texts["grid/one"] = (
        economics.texts["grid/one"].replace("  one:", "  deu:").replace("within: one", "within: deu")
    )
    layered = Grid(Registry((economics.registry().roots[0], PACKAGED)))
    assert layered.carbon("deu")[0].g_per_kwh == pytest.approx(380)
    assert layered.carbon("fra") == SHIPPED.carbon("fra")


# ---- what we ship


def test_every_shipped_file_reads():
    for file in SHIPPED.files(PACKAGED):
        SHIPPED.check(file)
    places = SHIPPED.places()
    assert len([place for place in places if "/" not in place]) > 40
    assert len([place for place in places if place.startswith("gcp/")]) > 40


def test_every_shipped_place_lies_in_a_place():
    for place in SHIPPED.places():
        assert set(SHIPPED.around(place)) <= set(SHIPPED.places())


@pytest.mark.parametrize("place", [place for place in SHIPPED.places() if place.startswith("gcp/us-")])
def test_a_region_in_the_usa_has_carbon_and_mostly_electricity(place):
    assert 50 < SHIPPED.carbon(place)[0].g_per_kwh < 800
    if place != "gcp/us-east7":  # between two states
        assert all(0.05 < one.usd_per_kwh < 0.3 for one in SHIPPED.electricity(place))


def test_hydropower_and_coal_are_told_apart():
    # 30.1 in Norway, 707.7 in South Africa
    assert SHIPPED.carbon("nor")[0].g_per_kwh == pytest.approx(30.1)
    assert SHIPPED.carbon("zaf")[0].g_per_kwh == pytest.approx(707.7)
    assert SHIPPED.carbon("world")[0].year == 2018


def test_cents_are_dollars_by_the_hundred():
    # Iowa, industrial: 6.91 cents
    assert min(one.usd_per_kwh for one in SHIPPED.electricity("gcp/us-central1")) == pytest.approx(0.0691)


def test_a_fleet_of_a_provider_draws_less_than_the_average_of_all():
    industry = SHIPPED.pue("fleet/industry")[0].pue
    assert all(SHIPPED.pue(f"fleet/{name}")[0].pue < industry for name in ("aws", "azure", "google-cloud"))
