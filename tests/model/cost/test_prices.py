"""What cannot be true in a file of prices, although each row alone could be."""

import pytest

from rooflint.base.errors import InputError
from rooflint.base.facts import GRADES
from rooflint.cost.prices import NoPriceError, Prices
from rooflint.hardware.registry import PACKAGED, Registry, UnknownDeviceError

SHIPPED = Prices(Registry())
DEVICES = sorted({device for layer in SHIPPED._files.layers() for file in layer for device in file.spec.devices})


def test_a_price_of_a_node_among_prices_of_chips_is_refused(economics):
    # eight of 2 USD/h are 16, inside the window, and 10.7 times the cheapest
    said = economics.refused("prices/acme", "[2 USD/h", "[16 USD/h")
    assert "acme/one: 16 USD/h is 10.7 times the 1.5 USD/h in line 10; a price of a node, or a wrong unit?" in said


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
    said = economics.refused("prices/acme", "us-one, date: 2024-03-01", "us-one, date: 2025-03-01")
    assert "devices.acme/one.rent: Big Cloud has a price of 2025-03-01 already, in line 8; keep one" in said


def test_a_device_that_nobody_knows_is_refused_with_the_nearest(economics):
    said = economics.refused("prices/acme", "  acme/one:", "  acme/onee:")
    assert "devices.acme/onee: unknown device 'acme/onee'; did you mean acme/one?" in said


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
        Prices(registry).check(row.fact.file)
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
    economics.edit(
        "prices/acme", "[8000 USD, a, row 5], date: 2024-01-01", "[8000 USD, a, row 5], includes: kit, date: 2024-01-01"
    )
    with pytest.raises(NoPriceError, match=r"purchase price of acme/one, as device \(known: kit, server share\)$"):
        economics.prices().purchases("acme/one")
    economics.texts["hardware/acme/two"] = economics.texts["hardware/acme/one"]
    with pytest.raises(NoPriceError, match=r"^no price known: purchase price of acme/two, as device$"):
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
    files = SHIPPED.files(PACKAGED)
    assert len(files) >= 4
    for file in files:
        SHIPPED.check(file)
    assert set(DEVICES) <= set(SHIPPED.registry.ids())
    assert len(DEVICES) > 60


@pytest.mark.parametrize("device", DEVICES)
def test_every_shipped_row_is_dated_and_cited(device):
    rows = [*SHIPPED.known(device, "rent"), *SHIPPED.known(device, "purchase")]
    assert rows
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
