"""Not known: GPUs that stay at the roofline, each with its reason, and nobody else."""

from rooflint.coefficients.library import Coefficients
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import chip_of
from rooflint.kernels.network import CALIBRATED, MODELS
from rooflint_calibration import not_known

REGISTRY = Registry()


def test_ops_whose_constants_were_fitted_to_others_are_named():
    found = not_known.ops()
    assert len(found) == len(set(MODELS) - set(CALIBRATED))
    assert found["convolution"] == "takes the constants of matrix products"


def test_a_gpu_is_named_with_the_fact_that_it_lacks():
    found = not_known.gpus(REGISTRY.readable(), REGISTRY)
    assert "nvidia/gh200-144gb" in found["lacks the fact 'tdp': rated power"]
    assert "nvidia/h20-96gb" in next(names for why, names in found.items() if "NVIDIA does not say what is cut" in why)


def test_a_gpu_is_either_known_or_named():
    named = [name for names in not_known.gpus(REGISTRY.readable(), REGISTRY).values() for name in names]
    assert len(named) == len(set(named))
    launches = Coefficients(REGISTRY).launches()
    gpus = [device for device in REGISTRY.readable() if device.kind == "gpu"]
    for device in gpus:
        if device.id not in named:
            precision = "bf16" if any("bf16" in unit.precisions for unit in device.units.values()) else "fp16"
            assert chip_of(device, precision, launches).sms > 0
    assert set(named) < {device.id for device in gpus}
