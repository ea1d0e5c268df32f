"""Money and carbon of inferences: renting, buying, powering, and when one repays the other.

Prices come in as people print them, in USD/h and USD/kWh, and carbon intensity in g/kWh; energies in J, times in s.
docs/method-economics.md lists what is left out (people, networks, discounts, interest).
"""

from typing import Any

import numpy as np

from rooflint.base.units import JOULES_PER_KWH, SECONDS_PER_HOUR

#: A scalar or an array of them: every formula here works on both.
Numbers = Any

HOURS_PER_YEAR = 365.25 * 24
MILLION = 1e6


def cost_per_inference_usd(price_usd_per_h: Numbers, throughput_per_s: Numbers) -> Numbers:
    """Rent of the time that one inference takes. [USD]"""
    return price_usd_per_h / SECONDS_PER_HOUR / throughput_per_s


def cost_per_million_usd(price_usd_per_h: Numbers, throughput_per_s: Numbers) -> Numbers:
    """Rent of the time that a million inferences take. [USD]"""
    return MILLION * cost_per_inference_usd(price_usd_per_h, throughput_per_s)


def facility_energy_kwh(energy_j: Numbers, pue: Numbers = 1.0) -> Numbers:
    """Energy at the meter of the building, for energy at the plug of the computer. [kWh]

    PUE is the first over the second, ISO/IEC 30134-2.
    """
    return energy_j * pue / JOULES_PER_KWH


def energy_cost_usd(energy_j: Numbers, electricity_usd_per_kwh: Numbers, pue: Numbers = 1.0) -> Numbers:
    """What energy at the plug costs at the meter. [USD]"""
    return facility_energy_kwh(energy_j, pue) * electricity_usd_per_kwh


def mean_power_w(power_w: Numbers, load_share: Numbers = 1.0, idle_power_w: Numbers = 0.0) -> Numbers:
    """Power over a time of which a share is work and the rest is waiting. [W]"""
    return power_w * load_share + idle_power_w * (1 - load_share)


def running_cost_usd_per_h(power_w: Numbers, electricity_usd_per_kwh: Numbers, pue: Numbers = 1.0) -> Numbers:
    """Electricity of an hour at a mean power. [USD/h]"""
    return energy_cost_usd(power_w * SECONDS_PER_HOUR, electricity_usd_per_kwh, pue)


def total_cost_usd(purchase_usd: Numbers, running_usd_per_h: Numbers, years: Numbers) -> Numbers:
    """Total cost of ownership: purchase and electricity over some years. [USD]"""
    return purchase_usd + running_usd_per_h * years * HOURS_PER_YEAR


def lifetime_inferences(throughput_per_s: Numbers, years: Numbers, load_share: Numbers = 1.0) -> Numbers:
    """Inferences of a device that works a share of some years. [1]"""
    return throughput_per_s * load_share * years * HOURS_PER_YEAR * SECONDS_PER_HOUR


def total_cost_per_inference_usd(
    total_usd: Numbers, throughput_per_s: Numbers, years: Numbers, load_share: Numbers = 1.0
) -> Numbers:
    """Total cost of ownership over the inferences of those years. [USD]"""
    return total_usd / lifetime_inferences(throughput_per_s, years, load_share)


def saving_usd_per_h(
    energy_j: Numbers,
    other_energy_j: Numbers,
    inferences_per_s: Numbers,
    electricity_usd_per_kwh: Numbers,
    pue: Numbers = 1.0,
) -> Numbers:
    """Electricity that an hour of the same work saves on a device, against another one, per inference. [USD/h]"""
    saved_w = (other_energy_j - energy_j) * inferences_per_s
    return running_cost_usd_per_h(saved_w, electricity_usd_per_kwh, pue)


def repay_hours(extra_purchase_usd: Numbers, saving_usd_per_h: Numbers) -> Numbers:
    """Hours until savings repay what was paid more; 0 where nothing was, infinite where nothing is saved. [h]"""
    extra, saving = np.broadcast_arrays(
        np.asarray(extra_purchase_usd, dtype=float), np.asarray(saving_usd_per_h, dtype=float)
    )
    hours = np.divide(extra, saving, out=np.full(extra.shape, np.inf), where=saving > 0)
    return np.where(extra <= 0, 0.0, hours)[()]


def break_even_hours(purchase_usd: Numbers, rent_usd_per_h: Numbers, running_usd_per_h: Numbers = 0.0) -> Numbers:
    """Hours of use after which buying costs less than renting; infinite where an hour's power costs the rent. [h]"""
    return repay_hours(purchase_usd, rent_usd_per_h - running_usd_per_h)


def embodied_g_per_inference(
    embodied_g: Numbers, throughput_per_s: Numbers, lifetime_years: Numbers, load_share: Numbers = 1.0
) -> Numbers:
    """Carbon of making a device, spread over the inferences of its life. [g CO2e]

    M = TE × TS × RS of ISO/IEC 21031, Software Carbon Intensity, for a device that serves nothing else.
    """
    return embodied_g / lifetime_inferences(throughput_per_s, lifetime_years, load_share)


def carbon_g_per_inference(
    energy_j: Numbers, grid_g_per_kwh: Numbers, pue: Numbers = 1.0, embodied_g_per_inference: Numbers = 0.0
) -> Numbers:
    """Carbon of the electricity of one inference, with its share of making the device where that is given. [g CO2e]

    ISO/IEC 21031, Software Carbon Intensity: E × I + M, with the building's share in E.
    """
    return facility_energy_kwh(energy_j, pue) * grid_g_per_kwh + embodied_g_per_inference
