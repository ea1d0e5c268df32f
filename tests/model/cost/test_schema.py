"""The shape of prices and places: every row is dated, units are as they are spelt, and other orders are refused."""

import pytest


@pytest.mark.parametrize(
    ("file", "old", "new", "sentence"),
    [
        ("prices/acme", "[2 USD/h", "[2 USD", "want a price per hour of one device in USD/h such as 3.22 USD/h, found"),
        ("prices/acme", "[2 USD/h", "[2", "want a price per hour of one device in USD/h"),
        ("prices/acme", "[2 USD/h", "[0.0005 USD/s", "want a price per hour of one device in USD/h"),
        ("prices/acme", "[2 USD/h", "[2 $/h", "unknown unit '$/h'; write USD/h"),
        ("prices/acme", "[8000 USD", "[8000 USD/h", "want a price of one device in USD such as 12500 USD"),
        ("prices/acme", "[160 kg", "[160000 g", "want the carbon of making one device in kg such as 164 kg"),
        ("grid/one", "[380 g/kWh", "[380 kg/MWh", "want a carbon intensity in g/kWh such as 380.9 g/kWh"),
        ("grid/one", "[380 g/kWh", "[380 gCO2/kWh", "unknown unit 'gCO2/kWh'; write g/kWh"),
        ("grid/one", "[7/100 USD/kWh", "[70 USD/MWh", "want a price of electricity in USD/kWh such as 0.0892 USD/kWh"),
    ],
)
def test_a_price_has_the_unit_of_its_kind(economics, file, old, new, sentence):
    assert sentence in economics.refused(file, old, new)


@pytest.mark.parametrize(
    ("file", "old", "new", "sentence"),
    [
        # eight of 12.29 USD/h: the price of a node
        (
            "prices/acme",
            "[2 USD/h",
            "[98.32 USD/h",
            "'98.32 USD/h' is 98.32 USD/h, outside 0.005 USD/h … 20 USD/h; wrong unit or prefix?",
        ),
        ("prices/acme", "[8000 USD", "[199000 USD", "outside 10 USD … 60000 USD"),  # a server of eight
        ("prices/acme", "[160 kg", "[1312 kg", "outside 0.05 kg … 1000 kg"),  # a board of eight
        # Wh for kWh, kg for g, cents for dollars
        ("grid/one", "[380 g/kWh", "[0.38 g/kWh", "outside 0.5 g/kWh … 1500 g/kWh"),
        ("grid/one", "[7/100 USD/kWh", "[7 USD/kWh", "outside 0.01 USD/kWh … 1 USD/kWh"),
        ("grid/one", "[1.1,", "[11,", "outside 1 … 3"),
        ("grid/one", "[1.1,", "[0.1,", "outside 1 … 3"),
    ],
)
def test_a_price_of_another_order_is_refused(economics, file, old, new, sentence):
    assert sentence in economics.refused(file, old, new)


def test_a_watt_hour_for_a_kilowatt_hour_is_refused(economics):
    # 380 g/Wh would be 380 000 g/kWh; the spelling is refused before the size
    assert "in g/kWh such as 380.9 g/kWh, found '380 g/Wh'" in economics.refused("grid/one", "[380 g/kWh", "[380 g/Wh")


@pytest.mark.parametrize(
    ("file", "old", "new", "sentence"),
    [
        (
            "prices/acme",
            "region: us-one, date: 2025-03-01",
            "region: us-one",
            "devices.acme/one.rent.0.date: is missing",
        ),
        ("prices/acme", "2024-03-01", "2024-02-30", "want a date such as 2025-03-03, found '2024-02-30'"),
        ("prices/acme", "2024-03-01", "1.3.2024", "want a date such as 2025-03-03, found '1.3.2024'"),
        ("prices/acme", "2024-03-01", "20240301", "date"),
        ("prices/acme", "2024-03-01", "0024-03-01", "want a date such as 2025-03-03"),
        ("prices/acme", "terms: marketplace", "terms: spot", "want 'on_demand', 'reserved_1y'"),
        ("prices/acme", "provider: Small Cloud, date", "vendor: Small Cloud, date", "vendor"),
        ("prices/acme", "[3 USD/h, a", "[3 USD/h, c", "rent.1.price: unknown source 'c' (listed: a, b)"),
        ("prices/acme", "includes: server_share", "includes: rack", "want 'device', 'kit' or 'server_share'"),
        ("grid/one", "year: 2022", "year: 22", "places.one.carbon.0.year"),
        ("grid/one", ", sector: industrial", "", "places.one.electricity.1.sector: is missing"),
        ("grid/one", "big/us-one:", "Big Region:", "places.Big Region"),
    ],
)
def test_what_no_row_may_say_is_refused(economics, file, old, new, sentence):
    assert sentence in economics.refused(file, old, new)
