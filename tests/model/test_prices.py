"""Prices of devices: newest first, layered over roots, and an error where nobody printed one."""

import datetime

import pytest

from rooflint.facts import GRADES
from rooflint.prices import NoPriceError, Prices
from rooflint.specs import PACKAGED, Registry, UnknownDeviceError

SHIPPED = Prices(Registry())


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
        SHIPPED.of("google/tpu-v44")


def test_a_product_that_is_no_one_device_answers_for_none(economics):
    (price,) = economics.prices().unassigned()
    assert (price.product, price.fact.display) == ("Acme", "4 USD/h")
    assert 4 not in [price.usd_per_h for price in economics.prices().of("acme/one")]


# ---- layers


def test_own_rents_hide_the_packaged_ones_of_that_device_and_of_no_other(economics):
    economics.texts["prices/nvidia"] = economics.texts.pop("prices/acme").replace("acme/one", "nvidia/t4")
    root = economics.registry().roots[0]
    layered = Prices(Registry((root, PACKAGED)))
    assert {price.provider for price in layered.of("nvidia/t4")} == {"Big Cloud", "Small Cloud"}
    assert layered.of("google/tpu-v4") == SHIPPED.of("google/tpu-v4")
    # a file of the same name hides nothing else, nor does a rent hide a purchase price
    assert layered.of("nvidia/l4") == SHIPPED.of("nvidia/l4")


def test_a_text_stands_in_for_its_file(economics):
    registry = economics.registry()
    file = registry.files_of("prices")["acme"]
    other = registry.with_texts({file: economics.texts["prices/acme"].replace("[1.5 USD/h", "[1.6 USD/h")})
    assert Prices(other).of("acme/one")[0].usd_per_h == pytest.approx(1.6)


# ---- what we ship


def test_every_shipped_file_reads_and_names_known_devices():
    files = SHIPPED.files(PACKAGED)
    assert len(files) >= 4
    for file in files:
        SHIPPED.check(file)
    assert set(SHIPPED.devices()) <= set(SHIPPED.registry.ids())
    assert len(SHIPPED.devices()) > 60


@pytest.mark.parametrize("device", SHIPPED.devices())
def test_every_shipped_row_is_dated_and_cited(device):
    rows = []
    for ask in (
        *(lambda terms=terms: SHIPPED.of(device, terms=terms) for terms in ("on_demand", "reserved_1y", "marketplace")),
        *(lambda part=part: SHIPPED.purchases(device, includes=part) for part in ("device", "kit", "server_share")),
        lambda: SHIPPED.embodied(device),
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
        prices = [SHIPPED.of(device, terms=one) for one in terms]
        provider = prices[1][0].provider
        now, year, three = (next(p.usd_per_h for p in found if p.provider == provider) for found in prices)
        assert now > year > three


def test_a_tpu_is_priced_by_the_chip():
    # a v2-8 board of four chips was 4.50 USD/h: 1.125, printed as 1.13
    assert SHIPPED.of("google/tpu-v2")[0].usd_per_h == pytest.approx(4.50 / 4, abs=0.006)


def test_an_instance_of_sixteen_chips_is_divided_by_sixteen():
    # 21.50 / 16 = 1.34375
    assert SHIPPED.of("aws/trainium1")[0].usd_per_h == pytest.approx(1.34375)


def test_products_whose_variant_is_not_said_are_kept_apart():
    names = {price.product for price in SHIPPED.unassigned()}
    assert {"NVIDIA A100", "NVIDIA V100", "NVIDIA GeForce RTX 3080"} <= names
    assert not names & set(SHIPPED.registry.ids())
