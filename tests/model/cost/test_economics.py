"""Money and carbon of inferences: by hand, then their laws."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.cost import economics as e

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


def test_a_dearer_and_more_efficient_device():
    # (20 − 5) mJ × 1000 /s = 15 W saved, × 1.2 = 18 W, × 0.10 USD/kWh = 0.0018 USD/h; 18 USD dearer: 10 000 h
    saving = e.saving_usd_per_h(5e-3, 20e-3, 1000, 0.10, 1.2)
    assert saving == about(0.0018)
    assert e.repay_hours(18, saving) == about(10_000)
    assert math.isinf(e.repay_hours(18, -saving))
    assert e.repay_hours(0, saving) == e.repay_hours(-5, saving) == 0


def test_making_a_device_is_spread_over_its_life():
    # 164 kg over four years at 1000 /s, half of the time: 164 000 g / (4 × 8766 × 3600 × 500) = 2.598e-6 g
    own = e.embodied_g_per_inference(164_000, 1000, 4, 0.5)
    assert own == about(164_000 / 6.31152e10)
    # 0.5 J × 380 g/kWh / 3.6e6 J/kWh = 5.278e-5 g
    assert e.carbon_g_per_inference(0.5, 380, embodied_g_per_inference=own) == about(0.5 * 380 / 3.6e6 + own)


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
