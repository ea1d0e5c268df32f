"""What the registry of powers says in a row: ratios beside the limit, and the clock that fits."""

from rooflint.answers.tdp_registry import fitting_clock, ratio_shown
from rooflint.coefficients.library import Coefficients
from rooflint.energy.model import Energies
from rooflint.energy.power import survey
from rooflint.hardware.registry import Registry

REGISTRY = Registry()


def tensor_core(device):
    found = survey(REGISTRY.get(device), Energies(Coefficients(REGISTRY)), "fp16", "tensor_core")
    return found[0]


def test_a_ratio_beside_the_limit_shows_its_side():
    assert [ratio_shown(ratio) for ratio in (0.85, 1, 1.003, 0.9968, 1.46)] == [
        "0.85",
        "1.00",
        "1.003",
        "0.9968",
        "1.46",
    ]


def test_a_load_that_fits_keeps_its_clock_and_another_gets_the_one_that_would():
    v100, t4 = tensor_core("nvidia/v100-sxm2-32gb"), tensor_core("nvidia/t4")
    assert v100.ratio < 1 < t4.ratio
    assert fitting_clock(v100) == "nominal"
    assert fitting_clock(t4) == "243 MHz"
