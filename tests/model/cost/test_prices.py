"""What cannot be true in a file of prices, although each row alone could be."""

import datetime

import pytest

from rooflint.base.errors import InputError
from rooflint.base.facts import GRADES
from rooflint.cost.prices import NoPriceError, Prices
from rooflint.hardware.registry import PACKAGED, Registry, UnknownDeviceError

SHIPPED = Prices(Registry())


def test_a_price_of_a_node_among_prices_of_chips_is_refused(economics):
    # eight of 2 USD/h are 16, inside the window, and 10.7 times the cheapest
    said = economics.refused("prices/acme", "[2 USD/h", "[16 USD/h")
    assert "acme/one: 16 USD/h is 10.7 times the 1.5 USD/h in line 10; a price of a node, or a wrong unit?" in said


def test_terms_are_compared_with_their_own_kind(economics):
    # 3 USD/h on demand and 0.5 in a market place are six times apart, and nothing is said
    economics.edit("prices/acme", "[0.5 USD/h", "[0.1 USD/h")
    assert len(economics.prices().of("acme/one")) == 3


def test_a_price_may_fall_far_in_a_few_years(economics):
    economics.edit("prices/acme", "[8000 USD, a, row 5], date: 2024-01-01}", "[8000 USD, a, row 5], date: 2020-01-01}")
    economics.edit(
        "prices/acme",
        "18000 USD, a, row 6], date: 2024-01-02, includes: server_share",
        "900 USD, a, row 6], date: 2024-01-02",
    )
    assert [price.usd for price in economics.prices().purchases("acme/one")] == [900, 8000]


def test_a_day_that_is_given_twice_is_refused(economics):
    said = economics.refused("prices/acme", "us-one, date: 2024-03-01", "us-one, date: 2025-03-01")
    assert "devices.acme/one.rent: Big Cloud has a price of 2025-03-01 already, in line 8; keep one" in said


def test_a_device_that_nobody_knows_is_refused_with_the_nearest(economics):
    said = economics.refused("prices/acme", "  acme/one:", "  acme/onee:")
    assert "devices.acme/onee: unknown device 'acme/onee'; did you mean acme/one?" in said


def test_the_newest_shipped_rent_of_a_device_times_eight_is_refused_wherever_another_one_is_near():
    caught, missed = set(), set()
    for device in SHIPPED.devices():
        if len(rents := _rents(device)) > 1:
            row = rents[0]
            (caught if _refused_times_eight(row) else missed).add(device)
    assert len(caught) > 15
    # eight of the newest are no more than six of the next: 8 × 0.77 / 1.03 = 5.98, 8 × 0.19 / 0.39 = 3.9
    assert missed == {"nvidia/rtx-6000-ada", "nvidia/v100-pcie-16gb"}


def _rents(device):
    try:
        return SHIPPED.of(device)
    except NoPriceError:
        return []


def _refused_times_eight(row):
    lines = row.fact.file.read_text(encoding="utf-8").splitlines()
    line = lines[row.fact.line - 1]
    lines[row.fact.line - 1] = line.replace(f"[{row.fact.display},", f"[{8 * row.usd_per_h:.4f} USD/h,")
    registry = SHIPPED.registry.with_texts({row.fact.file: "\n".join(lines)})
    try:
        Prices(registry).check(row.fact.file)
    except InputError:
        return True
    return False


# ---- Prices of devices: newest first, layered over roots, and an error where nobody printed one

SHIPPED_PRICES = Prices(Registry())


# ---- lookup


def test_rents_come_newest_first_and_the_cheaper_of_a_day_first(economics):
    found = economics.prices().of("acme/one")
    assert [(price.when, price.usd_per_h) for price in found] == [
        ("2025-03-01", pytest.approx(1.5)),
        ("2025-03-01", pytest.approx(2)),
        ("2024-03-01", pytest.approx(3)),
    ]
    assert found[0].citation == "1.5 USD/h, 2025-03-01, Paper B, row 3 (estimate)"


@pytest.mark.parametrize(
    ("asked", "rents"),
    [
        ({"provider": "big"}, [2, 3]),
        ({"region": "US-One"}, [2, 3]),
        ({"date": "2024-12-31"}, [3]),
        ({"provider": "Big Cloud", "date": "2025-03-01"}, [2, 3]),
        ({"terms": "marketplace"}, [0.5]),
    ],
)
def test_rents_are_chosen_by_provider_region_day_and_terms(economics, asked, rents):
    assert [price.usd_per_h for price in economics.prices().of("acme/one", **asked)] == pytest.approx(rents)


def test_a_device_is_bought_alone_or_as_a_share_of_a_server(economics):
    prices = economics.prices()
    assert prices.purchases("acme/one")[0].usd == 8000
    assert prices.purchases("acme/one", includes="server_share")[0].usd == 18_000
    with pytest.raises(NoPriceError, match=r"purchase price of acme/one, as kit \(known: device, server share\)"):
        prices.purchases("acme/one", includes="kit")


def test_carbon_of_making_a_device_is_in_grams(economics):
    assert economics.prices().embodied("acme/one")[0].carbon_g == 160_000


def test_no_price_is_an_error_that_says_what_there_is(economics):
    with pytest.raises(NoPriceError) as caught:
        economics.prices().of("acme/one", provider="tiny", date="2025-01-01")
    assert str(caught.value) == (
        "no price known: price per hour of acme/one, terms on demand, at tiny, until 2025-01-01"
        " (known: Big Cloud on demand, Small Cloud marketplace, Small Cloud on demand)"
    )
    economics.texts["hardware/acme/two"] = economics.texts["hardware/acme/one"]
    with pytest.raises(NoPriceError, match=r"^no price known: embodied carbon of acme/two$"):
        economics.prices().embodied("acme/two")


def test_an_unknown_device_is_told_the_nearest():
    with pytest.raises(UnknownDeviceError, match="did you mean"):
        SHIPPED_PRICES.of("google/tpu-v44")


# ---- layers


def test_own_rents_hide_the_packaged_ones_of_that_device_and_of_no_other(economics):
    economics.texts["prices/nvidia"] = economics.texts.pop("prices/acme").replace("acme/one", "nvidia/t4")
    root = economics.registry().roots[0]
    layered = Prices(Registry((root, PACKAGED)))
    assert {price.provider for price in layered.of("nvidia/t4")} == {"Big Cloud", "Small Cloud"}
    assert layered.of("google/tpu-v4") == SHIPPED_PRICES.of("google/tpu-v4")
    # a file of the same name hides nothing else, nor does a rent hide a purchase price
    assert layered.of("nvidia/l4") == SHIPPED_PRICES.of("nvidia/l4")


def test_a_text_stands_in_for_its_file(economics):
    registry = economics.registry()
    file = registry.files_of("prices")["acme"]
    other = registry.with_texts({file: economics.texts["prices/acme"].replace("[1.5 USD/h", "[1.6 USD/h")})
    assert Prices(other).of("acme/one")[0].usd_per_h == pytest.approx(1.6)


# ---- what we ship


def test_every_shipped_file_reads_and_names_known_devices():
    files = SHIPPED_PRICES.files(PACKAGED)
    assert len(files) >= 4
    for file in files:
        SHIPPED_PRICES.check(file)
    assert set(SHIPPED_PRICES.devices()) <= set(SHIPPED_PRICES.registry.ids())
    assert len(SHIPPED_PRICES.devices()) > 60


@pytest.mark.parametrize("device", SHIPPED_PRICES.devices())
def test_every_shipped_row_is_dated_and_cited(device):
    rows = []
    for ask in (
        *(
            lambda terms=terms: SHIPPED_PRICES.of(device, terms=terms)
            for terms in ("on_demand", "reserved_1y", "marketplace")
        ),
        *(
            lambda part=part: SHIPPED_PRICES.purchases(device, includes=part)
            for part in ("device", "kit", "server_share")
        ),
        lambda: SHIPPED_PRICES.embodied(device),
    ):
        try:
            rows += ask()
        except NoPriceError:
            continue
    assert rows
    for row in rows:
        assert row.fact.source.grade in GRADES
        assert datetime.date(2012, 1, 1) < _day(row.when) < datetime.date(2027, 1, 1)


def _day(when):
    return datetime.date.fromisoformat(when if "-" in when else f"{when}-01-01")


def test_a_longer_commitment_costs_less():
    for device in ("google/tpu-v3", "google/tpu-v4", "nvidia/a100-sxm4-40gb", "nvidia/a100-sxm4-80gb"):
        terms = ("on_demand", "reserved_1y", "reserved_3y")
        prices = [SHIPPED_PRICES.of(device, terms=one) for one in terms]
        provider = prices[1][0].provider
        now, year, three = (next(p.usd_per_h for p in found if p.provider == provider) for found in prices)
        assert now > year > three


def test_a_tpu_is_priced_by_the_chip():
    # a v2-8 board of four chips was 4.50 USD/h: 1.125, printed as 1.13
    assert SHIPPED_PRICES.of("google/tpu-v2")[0].usd_per_h == pytest.approx(4.50 / 4, abs=0.006)


def test_an_instance_of_sixteen_chips_is_divided_by_sixteen():
    # 21.50 / 16 = 1.34375
    assert SHIPPED_PRICES.of("aws/trainium1")[0].usd_per_h == pytest.approx(1.34375)
