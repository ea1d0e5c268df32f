"""Spending: by hand, from the facts that the answer cites."""

import pytest

from rooflint.base.errors import InputError
from rooflint.coefficients.library import Coefficients
from rooflint.cost.economics import HOURS_PER_YEAR
from rooflint.cost.grid import UnknownPlaceError
from rooflint.energy.model import Energies, idle_w
from rooflint.hardware.registry import Registry
from rooflint.prediction.cost import CostTables, Place, cost_of
from rooflint.prediction.predict import Setting, predict
from rooflint.workloads.tables import load_workload

REGISTRY = Registry()
BOOKS = CostTables.of(REGISTRY)
ENERGIES = Energies(Coefficients(REGISTRY))


def predicted(device, compute="fp16"):
    work = load_workload("torchvision/resnet18").at_batch(32)
    return predict(REGISTRY.get(device), work, ENERGIES, Setting(compute))


def spent(device, compute="fp16", **place):
    found = predicted(device, compute)
    return found, {one.name: one for one in cost_of(found, BOOKS, Place(**place))}


def test_rent_is_price_over_throughput():
    found, figures = spent("nvidia/h100-sxm5-80gb")
    price = BOOKS.prices.of("nvidia/h100-sxm5-80gb")[0]
    expected = price.usd_per_h / 3600 / found.throughput_per_s * 1e6
    assert figures["rent of 10⁶ inferences"].value == pytest.approx(expected, rel=1e-9)
    assert price.citation in figures["rent of 10⁶ inferences"].said


def test_carbon_is_energy_times_pue_times_intensity():
    found, figures = spent("nvidia/h100-sxm5-80gb", carbon="fra")
    intensity, pue = BOOKS.grid.carbon("fra")[0].g_per_kwh, BOOKS.grid.pue("fleet/industry")[0].pue
    expected = found.energy_per_sample_j * 1e6 / 3.6e6 * intensity * pue
    assert figures["carbon of 10⁶ inferences"].value == pytest.approx(expected, rel=1e-9)


def test_a_cleaner_grid_emits_less():
    emitted = [spent("nvidia/t4", carbon=place)[1]["carbon of 10⁶ inferences"].value for place in ("fra", "pol")]
    assert emitted[0] < emitted[1]


def test_ownership_is_purchase_and_electricity_over_the_inferences_of_the_years():
    device = next(name for name in BOOKS.prices.devices() if owned(name))
    found, figures = spent(device, years=2.0, load_share=0.5)
    purchase = BOOKS.prices.purchases(device)[0].usd
    idle = sum(term.each.typical for term in found.energy.terms if term.group == "static")
    power = 0.5 * found.power_w + 0.5 * idle
    electricity = BOOKS.grid.electricity("usa/virginia")[0].usd_per_kwh * BOOKS.grid.pue("fleet/industry")[0].pue
    total = purchase + power / 1000 * electricity * 2 * HOURS_PER_YEAR
    made = found.throughput_per_s * 3600 * HOURS_PER_YEAR * 2 * 0.5
    assert figures["ownership of 10⁶ inferences"].value == pytest.approx(total / made * 1e6, rel=1e-9)


def owned(name):
    """Whether it is a device that runs FP16 here and has a price to buy it."""
    try:
        _, figures = spent(name)
    except Exception:  # not supported
        return False
    return figures["ownership of 10⁶ inferences"].value is not None


def test_what_nobody_priced_is_said_and_never_zero():
    _, figures = spent("nvidia/gb200-gpu")
    rent = figures["rent of 10⁶ inferences"]
    assert rent.value is None
    assert "no price known" in rent.said


@pytest.mark.parametrize("place", ["carbon", "electricity", "pue"])
def test_an_unknown_place_is_an_error_with_the_nearest_ones(place):
    # of a T4 no purchase price is known, so its electricity would never be looked up
    with pytest.raises(UnknownPlaceError, match=r"^unknown place 'usa/virgina'; nearest: usa/virginia"):
        spent("nvidia/t4", **{place: "usa/virgina"})


def test_a_reading_that_nobody_printed_is_a_reason(own):
    amounts = own.spent(electricity="fra")
    assert (amounts[OWNED].value, amounts[EVEN].value) == (None, None)
    assert amounts[OWNED].said == "no electricity known of fra"
    assert amounts[CARBON].value > 0


def test_a_broken_file_of_prices_is_an_error(own):
    own.write("prices", "name: Broken\nsources: {}\ndevices: {nvidia/t4: {rent: [5]}}\n")
    with pytest.raises(InputError, match=r"own\.yaml:3"):
        own.spent()


# ------------------------------------------------------------------------------------------------- by hand, own figures

RENT, OWNED, EVEN, CARBON = (
    "rent of 10⁶ inferences",
    "ownership of 10⁶ inferences",
    "buying repays renting after",
    "carbon of 10⁶ inferences",
)
PRICES = """
name: Prices
sources: {bill: {document: A bill, grade: read}}
devices:
  nvidia/t4:
    rent: [{price: [0.50 USD/h, bill, row 1], provider: Someone, date: 2025-01-01}]
    purchase: [{price: [1000 USD, bill, row 2], date: 2025-01-01}]
  apple/m2:
    purchase: [{price: [1000 USD, bill, row 3], date: 2025-01-01}]
"""
PLACES = """
name: Places
sources: {bill: {document: A bill, grade: read}}
places:
  home:
    name: Home
    carbon: [{intensity: [100 g/kWh, bill, row 4], year: 2025}]
    electricity: [{price: [0.30 USD/kWh, bill, row 5], year: 2025, sector: commercial}]
    pue: [{factor: [2, bill, row 6], year: 2025}]
"""
HOME = {"carbon": "home", "electricity": "home", "pue": "home"}


class Own:
    """A folder of specs with one bill."""

    def __init__(self, root):
        self.root = root
        self.write("prices", PRICES)
        self.write("grid", PLACES)

    def write(self, section, text):
        (self.root / section).mkdir(exist_ok=True)
        (self.root / section / "own.yaml").write_text(text, encoding="utf-8")

    def edit(self, section, old, new):
        text = (self.root / section / "own.yaml").read_text(encoding="utf-8")
        assert old in text
        self.write(section, text.replace(old, new))

    def spent(self, device="nvidia/t4", compute="fp16", **place):
        books = CostTables.of(Registry.of([self.root]))
        found = cost_of(predicted(device, compute), books, Place(**{**HOME, **place}))
        return {one.name: one for one in found}


@pytest.fixture
def own(tmp_path):
    return Own(tmp_path)


def powers(found):
    """Working and idle. [W]"""
    return found.power_w, idle_w(found.hardware, ENERGIES.coefficients).typical


def test_buying_repays_when_the_rent_that_is_saved_less_electricity_has_paid_for_it(own):
    power, _ = powers(predicted("nvidia/t4"))
    running = power / 1000 * 2 * 0.30  # W → kW, PUE 2, 0.30 USD/kWh: some cents
    assert 0.01 < running < 0.1
    even = own.spent()[EVEN]
    assert even.value == pytest.approx(1000 / (0.50 - running), rel=1e-9)
    assert even.said.endswith(f"electricity {running:.3g} USD/h")


def test_a_device_that_waits_draws_less_and_repays_sooner_by_the_clock(own):
    power, idle = powers(predicted("nvidia/t4"))
    running = (0.25 * power + 0.75 * idle) / 1000 * 2 * 0.30
    assert own.spent(load_share=0.25)[EVEN].value == pytest.approx(1000 / (0.50 - running), rel=1e-9)
    assert own.spent(load_share=0.25)[EVEN].value < own.spent()[EVEN].value


def test_where_electricity_costs_more_than_the_rent_buying_never_repays_and_that_is_said(own):
    own.edit("prices", "0.50 USD/h", "0.01 USD/h")
    even = own.spent()[EVEN]
    assert even.value is None
    assert even.said.startswith("buying never repays: an hour's electricity costs more than the rent of 0.01 USD/h, ")


def test_carbon_counts_what_is_drawn_between_two_inferences(own):
    found = predicted("nvidia/t4")
    power, idle = powers(found)
    # at 25 % load three hours of waiting go with each hour of work
    energy_j = (power + 3 * idle) / found.throughput_per_s
    amount = own.spent(load_share=0.25)[CARBON]
    assert amount.value == pytest.approx(energy_j * 1e6 / 3.6e6 * 2 * 100, rel=1e-9)
    assert "25 % load" in amount.said
    whole = own.spent()[CARBON]
    assert whole.value == pytest.approx(found.energy_per_sample_j * 1e6 / 3.6e6 * 2 * 100, rel=1e-9)
    assert "load" not in whole.said


def test_energy_with_terms_left_out_is_said_to_be(own):
    amounts = own.spent("apple/m2", "fp32")
    for name in (OWNED, CARBON):
        assert amounts[name].value > 0
        assert amounts[name].said.endswith(
            "idle power is not counted: apple/m2 has no rated power, so its idle power is not known"
        )
    assert "not counted" not in own.spent()[OWNED].said


def test_a_device_whose_energy_is_not_known_says_why(own):
    own.edit("prices", "  apple/m2:", "  apple/m1:")
    amounts = own.spent("apple/m1", "fp32")
    assert (amounts[OWNED].value, amounts[CARBON].value) == (None, None)
    assert "unknown memory 'lpddr4x'" in amounts[CARBON].said
