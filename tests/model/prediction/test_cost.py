"""Cost of a prediction: by hand, from the facts that the answer cites; and the laws of its formulas."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.base.errors import InputError
from rooflint.coefficients.library import Coefficients
from rooflint.cost.tables import UnknownPlaceError
from rooflint.energy.model import Energies, idle_w
from rooflint.hardware.registry import Registry
from rooflint.prediction import cost as e
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
    price = BOOKS.prices.rents("nvidia/h100-sxm5-80gb")[0]
    expected = price.usd_per_h / 3600 / found.throughput_per_s * 1e6
    assert figures["rent of 10⁶ inferences"].value == pytest.approx(expected, rel=1e-9)
    assert price.citation in figures["rent of 10⁶ inferences"].basis


def test_carbon_is_energy_times_pue_times_intensity():
    found, figures = spent("nvidia/h100-sxm5-80gb", carbon="fra")
    intensity, pue = BOOKS.grid.carbon("fra")[0].g_per_kwh, BOOKS.grid.pue("fleet/industry")[0].pue
    expected = found.energy_per_sample_j * 1e6 / 3.6e6 * intensity * pue
    assert figures["carbon of 10⁶ inferences"].value == pytest.approx(expected, rel=1e-9)


def test_a_cleaner_grid_emits_less():
    emitted = [spent("nvidia/t4", carbon=place)[1]["carbon of 10⁶ inferences"].value for place in ("fra", "pol")]
    assert emitted[0] < emitted[1]


@pytest.mark.slow
def test_ownership_is_purchase_and_electricity_over_the_inferences_of_the_years():
    device = next(name for name in REGISTRY.ids() if owned(name))
    found, figures = spent(device, years=2.0, load_share=0.5)
    purchase = BOOKS.prices.purchases(device)[0].usd
    idle = sum(term.each.typical for term in found.energy.terms if term.group == "static")
    power = 0.5 * found.power_w + 0.5 * idle
    electricity = BOOKS.grid.electricity("usa/virginia")[0].usd_per_kwh * BOOKS.grid.pue("fleet/industry")[0].pue
    total = purchase + power / 1000 * electricity * 2 * e.HOURS_PER_YEAR
    made = found.throughput_per_s * 3600 * e.HOURS_PER_YEAR * 2 * 0.5
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
    assert "no price known" in rent.basis


@pytest.mark.parametrize("place", ["carbon", "electricity", "pue"])
def test_an_unknown_place_is_an_error_with_the_nearest_ones(place):
    # of a T4 no purchase price is known, so its electricity would never be looked up
    with pytest.raises(UnknownPlaceError, match=r"^unknown place 'usa/virgina'; nearest: usa/virginia"):
        spent("nvidia/t4", **{place: "usa/virgina"})


def test_a_reading_that_nobody_printed_is_a_reason(own):
    amounts = own.spent(electricity="fra")
    assert (amounts[OWNED].value, amounts[EVEN].value) == (None, None)
    assert amounts[OWNED].basis == "no electricity known of fra"
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
    assert even.basis.endswith(f"electricity {running:.3g} USD/h")


def test_a_device_that_waits_draws_less_and_repays_sooner_by_the_clock(own):
    power, idle = powers(predicted("nvidia/t4"))
    running = (0.25 * power + 0.75 * idle) / 1000 * 2 * 0.30
    assert own.spent(load_share=0.25)[EVEN].value == pytest.approx(1000 / (0.50 - running), rel=1e-9)
    assert own.spent(load_share=0.25)[EVEN].value < own.spent()[EVEN].value


def test_where_electricity_costs_more_than_the_rent_buying_never_repays_and_that_is_said(own):
    own.edit("prices", "0.50 USD/h", "0.01 USD/h")
    even = own.spent()[EVEN]
    assert even.value is None
    assert even.basis.startswith("buying never repays: an hour's electricity costs more than the rent of 0.01 USD/h, ")


def test_carbon_counts_what_is_drawn_between_two_inferences(own):
    found = predicted("nvidia/t4")
    power, idle = powers(found)
    # at 25 % load three hours of waiting go with each hour of work
    energy_j = (power + 3 * idle) / found.throughput_per_s
    amount = own.spent(load_share=0.25)[CARBON]
    assert amount.value == pytest.approx(energy_j * 1e6 / 3.6e6 * 2 * 100, rel=1e-9)
    assert "25 % load" in amount.basis
    whole = own.spent()[CARBON]
    assert whole.value == pytest.approx(found.energy_per_sample_j * 1e6 / 3.6e6 * 2 * 100, rel=1e-9)
    assert "load" not in whole.basis


def test_energy_with_terms_left_out_is_said_to_be(own):
    amounts = own.spent("apple/m2", "fp32")
    for name in (OWNED, CARBON):
        assert amounts[name].value > 0
        assert amounts[name].basis.endswith(
            "idle power is not counted: apple/m2 has no rated power, so its idle power is not known"
        )
    assert "not counted" not in own.spent()[OWNED].basis


def test_a_device_whose_energy_is_not_known_says_why(own):
    own.edit("prices", "  apple/m2:", "  apple/m1:")
    amounts = own.spent("apple/m1", "fp32")
    assert (amounts[OWNED].value, amounts[CARBON].value) == (None, None)
    assert "unknown memory 'lpddr4x'" in amounts[CARBON].basis


positive = st.floats(1e-3, 1e6)
share = st.floats(0.01, 1)


def about(value, rel=1e-9):
    return pytest.approx(value, rel=rel, abs=0)


# ---- by hand


def test_a_gpu_at_2_50_and_a_tpu_at_4_50_an_hour():
    # 2.50 USD/h / 3600 s/h / 1000 /s × 10⁶ = 0.6944 USD; at 4.50 the TPU must be 1.8 times as fast to cost the same
    assert e.cost_per_million_usd(2.50, 1000) == about(0.694444444)
    assert e.cost_per_million_usd(4.50, 1000) == about(1.25)
    assert e.cost_per_inference_usd(4.50, 1800) == about(e.cost_per_inference_usd(2.50, 1000))


def test_a_kilowatt_hour_is_3_6_megajoules():
    # 1.8 MJ = 0.5 kWh, × 1.1 = 0.55 kWh at the meter, × 0.08 USD/kWh = 0.044 USD, × 400 g/kWh = 220 g
    assert e.facility_energy_kwh(1.8e6, 1.1) == about(0.55)
    assert e.energy_cost_usd(1.8e6, 0.08, 1.1) == about(0.044)
    assert e.carbon_g_per_inference(1.8e6, 400, 1.1) == about(220)


def test_an_hour_of_700_watts():
    # 0.7 kW × 1.58 × 0.09 USD/kWh = 0.09954 USD
    assert e.running_cost_usd_per_h(700, 0.09, 1.58) == about(0.09954)
    # a quarter of the time at 700 W, the rest at 100 W: 175 + 75 = 250 W
    assert e.mean_power_w(700, 0.25, 100) == about(250)


def test_three_years_of_a_card():
    # 12 500 USD + 0.05 USD/h × 3 × 8766 h = 13 814.90 USD
    total = e.total_cost_usd(12_500, 0.05, 3)
    assert total == about(13_814.9)
    # half the time at 100 /s: 3 × 8766 × 3600 × 50 = 4.733 64e9 inferences
    assert e.lifetime_inferences(100, 3, 0.5) == about(4.73364e9)
    assert e.total_cost_per_inference_usd(total, 100, 3, 0.5) == about(13_814.9 / 4.73364e9)


def test_buying_against_renting():
    # 12 500 USD / (2.60 − 0.10) USD/h = 5000 h; in seconds 18 000 000
    assert e.break_even_hours(12_500, 2.60, 0.10) == about(5000)


def test_where_power_costs_the_rent_buying_never_pays():
    assert math.isinf(e.break_even_hours(12_500, 0.10, 0.10))
    assert math.isinf(e.break_even_hours(12_500, 0.05, 0.10))


# ---- laws


@given(positive, positive, positive)
def test_cost_is_linear_in_price_and_inverse_to_throughput(price, throughput, factor):
    one = e.cost_per_inference_usd(price, throughput)
    assert e.cost_per_inference_usd(price * factor, throughput) == about(one * factor)
    assert e.cost_per_inference_usd(price, throughput * factor) == about(one / factor)


@given(positive, positive, positive, st.floats(1, 10))
def test_break_even_comes_later_for_a_dearer_device_and_sooner_for_a_dearer_rent(purchase, rent, running, more):
    hours = e.break_even_hours(purchase, rent, running)
    assert e.break_even_hours(purchase * more, rent, running) >= hours
    assert e.break_even_hours(purchase, rent * more, running) <= hours
    assert e.break_even_hours(purchase, rent, running * more) >= hours


@given(positive, positive, positive)
def test_at_break_even_both_have_cost_the_same(purchase, rent, running):
    hours = e.break_even_hours(purchase, rent, running)
    if rent > 1.001 * running:
        assert e.total_cost_usd(purchase, running, hours / e.HOURS_PER_YEAR) == about(rent * hours, rel=1e-6)
    if rent <= running:
        assert math.isinf(hours)


@given(positive, positive, positive, share, st.floats(1, 3))
def test_a_total_cost_is_never_below_its_purchase_and_falls_with_use(purchase, power, throughput, load, pue):
    running = e.running_cost_usd_per_h(e.mean_power_w(power, load), 0.1, pue)
    total = e.total_cost_usd(purchase, running, 3)
    assert total >= purchase
    full = e.total_cost_usd(purchase, e.running_cost_usd_per_h(power, 0.1, pue), 3)
    some = e.total_cost_per_inference_usd(total, throughput, 3, load)
    assert some >= e.total_cost_per_inference_usd(full, throughput, 3) * (1 - 1e-9)


@given(positive, st.floats(1, 1500), st.floats(1, 3))
def test_carbon_is_linear_in_energy_grid_and_pue(energy, grid, pue):
    one = e.carbon_g_per_inference(energy, grid, pue)
    for twice in ((2 * energy, grid, pue), (energy, 2 * grid, pue), (energy, grid, 2 * pue)):
        assert e.carbon_g_per_inference(*twice) == about(2 * one)


@given(st.lists(st.tuples(positive, positive, positive), min_size=1, max_size=6))
def test_arrays_are_what_their_scalars_are(rows):
    purchase, rent, running = (np.array(column) for column in zip(*rows, strict=True))
    # the slow twin: one row at a time
    assert e.break_even_hours(purchase, rent, running).tolist() == [e.break_even_hours(*row) for row in rows]
    costs = [e.cost_per_inference_usd(one, two) for one, two, _ in rows]
    assert e.cost_per_inference_usd(purchase, rent).tolist() == pytest.approx(costs)
