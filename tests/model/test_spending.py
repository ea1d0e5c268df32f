"""Spending: by hand, from the facts that the answer cites."""

import pytest

from rooflint.basis import Energies
from rooflint.coefficients import Coefficients
from rooflint.economics import HOURS_PER_YEAR
from rooflint.prediction import Setting, predict
from rooflint.specs import Registry
from rooflint.spending import Ledgers, Place, spending
from rooflint.workload_tables import load_workload

REGISTRY = Registry()
BOOKS = Ledgers.of(REGISTRY)
ENERGIES = Energies(Coefficients(REGISTRY))


def spent(device, compute="fp16", **place):
    work = load_workload("torchvision/resnet18").at_batch(32)
    found = predict(REGISTRY.get(device), work, ENERGIES, Setting(compute))
    return found, {one.name: one for one in spending(found, BOOKS, Place(**place))}


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


def test_an_unknown_place_is_said():
    _, figures = spent("nvidia/t4", carbon="atlantis")
    assert figures["carbon of 10⁶ inferences"].value is None
    assert "unknown place 'atlantis'" in figures["carbon of 10⁶ inferences"].said
