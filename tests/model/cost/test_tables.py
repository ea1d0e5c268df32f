"""Prices and places: the newest comes first, what cannot be true is refused, and what is not known is an error."""

import pytest

from rooflint.base.errors import InputError
from rooflint.base.facts import GRADES
from rooflint.cost.tables import Grid, NoPriceError, NoReadingError, Prices, UnknownPlaceError
from rooflint.hardware.registry import PACKAGED, Registry, UnknownDeviceError

SHIPPED = Prices(Registry())
DEVICES = sorted({device for layer in SHIPPED.layered.layers() for file in layer for device in file.spec.devices})
UNSOLD = {
    device
    for layer in SHIPPED.layered.layers()
    for file in layer
    for device, cost in file.spec.devices.items()
    if cost.unsold
}


def test_a_price_of_a_node_among_prices_of_chips_is_refused(economics):
    # eight of 2 USD/h are 16, inside the window, and 10.7 times the cheapest
    message = economics.refused("prices/acme", "[2 USD/h", "[16 USD/h")
    assert "acme/one: 16 USD/h is 10.7 times the 1.5 USD/h in line 10; a price of a node, or a wrong unit?" in message


def test_terms_are_compared_with_their_own_kind(economics):
    # 3 USD/h on demand and 0.5 in a market place are six times apart, and nothing is said
    economics.edit("prices/acme", "[0.5 USD/h", "[0.1 USD/h")
    assert len(economics.prices().rents("acme/one")) == 3


def test_a_price_may_fall_far_in_a_few_years(economics):
    economics.edit("prices/acme", "[8000 USD, a, row 5], date: 2024-01-01}", "[8000 USD, a, row 5], date: 2020-01-01}")
    economics.edit(
        "prices/acme",
        "18000 USD, a, row 6], date: 2024-01-02, includes: server_share",
        "900 USD, a, row 6], date: 2024-01-02",
    )
    assert [price.usd for price in economics.prices().purchases("acme/one")] == [900, 8000]


def test_a_day_that_is_given_twice_is_refused(economics):
    message = economics.refused("prices/acme", "us-one, date: 2024-03-01", "us-one, date: 2025-03-01")
    assert "devices.acme/one.rent: Big Cloud has a price of 2025-03-01 already, in line 8; keep one" in message


def test_a_device_that_nobody_knows_is_refused_with_the_nearest(economics):
    message = economics.refused("prices/acme", "  acme/one:", "  acme/onee:")
    assert "devices.acme/onee: unknown device 'acme/onee'; did you mean acme/one?" in message


@pytest.mark.slow
def test_the_newest_shipped_rent_of_a_device_times_eight_is_refused_wherever_another_one_is_near():
    caught, missed = set(), set()
    for device in DEVICES:
        if len(rents := _rents(device)) > 1:
            row = rents[0]
            (caught if _refused_times_eight(row) else missed).add(device)
    assert len(caught) > 15
    # eight of the newest are no more than six of the next: 8 × 0.77 / 1.03 = 5.98, 8 × 0.19 / 0.39 = 3.9
    assert missed == {"nvidia/rtx-6000-ada", "nvidia/v100-pcie-16gb"}


def _rents(device):
    try:
        return SHIPPED.rents(device)
    except NoPriceError:
        return []


def _refused_times_eight(row):
    lines = row.fact.file.read_text(encoding="utf-8").splitlines()
    line = lines[row.fact.line - 1]
    lines[row.fact.line - 1] = line.replace(f"[{row.fact.display},", f"[{8 * row.usd_per_h:.4f} USD/h,")
    registry = SHIPPED.registry.with_texts({row.fact.file: "\n".join(lines)})
    try:
        Prices(registry).layered.read(row.fact.file)
    except InputError:
        return True
    return False


# ---- Prices of devices: newest first, layered over roots, and an error where nobody printed one

# ---- lookup


def test_rents_come_newest_first_and_the_cheaper_of_a_day_first(economics):
    found = economics.prices().rents("acme/one")
    assert [(price.date, price.usd_per_h) for price in found] == [
        ("2025-03-01", pytest.approx(1.5)),
        ("2025-03-01", pytest.approx(2)),
        ("2024-03-01", pytest.approx(3)),
    ]
    assert found[0].citation == "1.5 USD/h, 2025-03-01, Paper B, row 3 (estimate)"


def test_a_device_is_bought_alone_or_as_a_share_of_a_server(economics):
    assert [price.usd for price in economics.prices().purchases("acme/one")] == [8000]
    assert [price.usd for price in economics.prices().known("acme/one", "purchase")] == [18_000, 8000]


def test_a_device_that_is_not_sold_alone_is_bought_in_a_kit_and_else_as_a_share_of_a_server(economics):
    alone = "[8000 USD, a, row 5], date: 2024-01-01"
    economics.edit("prices/acme", alone, "[8000 USD, a, row 5], includes: kit, date: 2024-01-01")
    (kit,) = economics.prices().purchases("acme/one")
    assert (kit.usd, kit.terms) == (8000, "kit")
    assert kit.citation == "8000 USD (kit), 2024-01-01, Paper A, row 5 (quoted)"
    economics.edit("prices/acme", "includes: kit", "includes: server_share")
    assert [price.usd for price in economics.prices().purchases("acme/one")] == [18_000, 8000]


def test_a_device_that_nobody_sells_has_its_reason(economics):
    economics.edit("prices/acme", "  acme/one:\n", "  acme/two: {unsold: rented only}\n  acme/one:\n")
    economics.texts["hardware/acme/two"] = economics.texts["hardware/acme/one"]
    with pytest.raises(NoPriceError, match=r"^no price known: purchase price of acme/two \(rented only\)$"):
        economics.prices().purchases("acme/two")


def test_no_price_is_an_error_that_says_what_there_is(economics):
    economics.texts["prices/acme"] = economics.texts["prices/acme"].replace(
        "2025-03-01}", "2025-03-01, terms: reserved_1y}"
    )
    economics.edit("prices/acme", "us-one, date: 2024-03-01", "us-one, terms: marketplace, date: 2024-03-01")
    with pytest.raises(NoPriceError) as caught:
        economics.prices().rents("acme/one")
    assert str(caught.value) == (
        "no price known: price per hour of acme/one, terms on demand"
        " (known: Big Cloud marketplace, Big Cloud reserved 1y, Small Cloud marketplace, Small Cloud reserved 1y)"
    )
    economics.texts["hardware/acme/two"] = economics.texts["hardware/acme/one"]
    with pytest.raises(NoPriceError, match=r"^no price known: purchase price of acme/two$"):
        economics.prices().purchases("acme/two")


def test_an_unknown_device_is_told_the_nearest():
    with pytest.raises(UnknownDeviceError, match="did you mean"):
        SHIPPED.rents("google/tpu-v44")


# ---- layers


def test_own_rents_hide_the_packaged_ones_of_that_device_and_of_no_other(economics):
    economics.texts["prices/nvidia"] = economics.texts.pop("prices/acme").replace("acme/one", "nvidia/t4")
    root = economics.registry().roots[0]
    layered = Prices(Registry((root, PACKAGED)))
    assert {price.provider for price in layered.rents("nvidia/t4")} == {"Big Cloud", "Small Cloud"}
    assert layered.rents("google/tpu-v4") == SHIPPED.rents("google/tpu-v4")
    # a file of the same name hides nothing else, nor does a rent hide a purchase price
    assert layered.rents("nvidia/l4") == SHIPPED.rents("nvidia/l4")


def test_a_text_stands_in_for_its_file(economics):
    registry = economics.registry()
    file = registry.files_of("prices")["acme"]
    other = registry.with_texts({file: economics.texts["prices/acme"].replace("[1.5 USD/h", "[1.6 USD/h")})
    assert Prices(other).rents("acme/one")[0].usd_per_h == pytest.approx(1.6)


# ---- what we ship


def test_every_shipped_file_reads_and_names_known_devices():
    files = SHIPPED.layered.files(PACKAGED)
    assert len(files) >= 4
    for file in files:
        SHIPPED.layered.read(file)
    assert set(DEVICES) <= set(SHIPPED.registry.ids())
    assert len(DEVICES) > 60


@pytest.mark.parametrize("device", DEVICES)
def test_every_shipped_row_is_dated_and_cited(device):
    rows = [*SHIPPED.known(device, "rent"), *SHIPPED.known(device, "purchase")]
    assert rows or device in UNSOLD
    for row in rows:
        assert row.fact.source.grade in GRADES
        assert "2012-01-01" < row.date < "2027-01-01"


def test_a_longer_commitment_costs_less():
    for device in ("google/tpu-v3", "google/tpu-v4", "nvidia/a100-sxm4-40gb", "nvidia/a100-sxm4-80gb"):
        known = SHIPPED.known(device, "rent")
        provider = next(one.provider for one in known if one.terms == "reserved 1y")
        now, year, three = (
            next(one.usd_per_h for one in known if (one.provider, one.terms) == (provider, terms))
            for terms in ("on demand", "reserved 1y", "reserved 3y")
        )
        assert now > year > three


def test_a_tpu_is_priced_by_the_chip():
    # a v2-8 board of four chips was 4.50 USD/h: 1.125, printed as 1.13
    assert SHIPPED.rents("google/tpu-v2")[0].usd_per_h == pytest.approx(4.50 / 4, abs=0.006)


def test_an_instance_of_sixteen_chips_is_divided_by_sixteen():
    # 21.50 / 16 = 1.34375
    assert SHIPPED.rents("aws/trainium1")[0].usd_per_h == pytest.approx(1.34375)


SHIPPED_GRID = Grid(Registry())


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
    message = economics.refused("grid/one", "year: 2022}", "year: 2023}")
    assert "places.one.carbon: 2023 is given already, in line 9; keep one" in message


def test_own_figures_hide_the_packaged_ones_of_that_kind_and_place(economics):
    economics.texts["grid/one"] = (
        economics.texts["grid/one"].replace("  one:", "  deu:").replace("within: one", "within: deu")
    )
    layered = Grid(Registry((economics.registry().roots[0], PACKAGED)))
    assert layered.carbon("deu")[0].g_per_kwh == pytest.approx(380)
    assert layered.carbon("fra") == SHIPPED_GRID.carbon("fra")


# ---- what we ship


def test_every_shipped_file_reads():
    for file in SHIPPED_GRID.layered.files(PACKAGED):
        SHIPPED_GRID.layered.read(file)
    places = SHIPPED_GRID.places()
    assert len([place for place in places if "/" not in place]) > 40
    assert len([place for place in places if place.startswith("gcp/")]) > 40


def test_every_shipped_place_lies_in_a_place():
    for place in SHIPPED_GRID.places():
        assert set(SHIPPED_GRID.around(place)) <= set(SHIPPED_GRID.places())


@pytest.mark.parametrize("place", [place for place in SHIPPED_GRID.places() if place.startswith("gcp/us-")])
def test_a_region_in_the_usa_has_carbon_and_mostly_electricity(place):
    assert 50 < SHIPPED_GRID.carbon(place)[0].g_per_kwh < 800
    if place != "gcp/us-east7":  # between two states
        assert all(0.05 < one.usd_per_kwh < 0.3 for one in SHIPPED_GRID.electricity(place))


def test_hydropower_and_coal_are_told_apart():
    # 30.1 in Norway, 707.7 in South Africa
    assert SHIPPED_GRID.carbon("nor")[0].g_per_kwh == pytest.approx(30.1)
    assert SHIPPED_GRID.carbon("zaf")[0].g_per_kwh == pytest.approx(707.7)
    assert SHIPPED_GRID.carbon("world")[0].year == 2018


def test_cents_are_dollars_by_the_hundred():
    # Iowa, industrial: 6.91 cents
    assert min(one.usd_per_kwh for one in SHIPPED_GRID.electricity("gcp/us-central1")) == pytest.approx(0.0691)


def test_a_fleet_of_a_provider_draws_less_than_the_average_of_all():
    industry = SHIPPED_GRID.pue("fleet/industry")[0].pue
    assert all(SHIPPED_GRID.pue(f"fleet/{name}")[0].pue < industry for name in ("aws", "azure", "google-cloud"))
