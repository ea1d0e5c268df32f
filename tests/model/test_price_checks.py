"""What cannot be true in a file of prices, although each row alone could be."""

from rooflint.errors import InputError
from rooflint.prices import NoPriceError, Prices
from rooflint.specs import Registry

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
