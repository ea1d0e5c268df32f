"""Topics: the terms of a row add up to what is predicted of it; ops and GPUs without calibrated times have a reason."""

from dataclasses import replace

import numpy as np
import pytest

from rooflint.coefficients.library import Coefficients
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import chip_of
from rooflint.kernels.constants import constants_file
from rooflint.kernels.network import CALIBRATED, MODELS
from rooflint_calibration.evaluation import uncalibrated_gpus, uncalibrated_ops
from rooflint_calibration.topics import TOPICS

REGISTRY = Registry()
LAUNCHES = Coefficients(REGISTRY).launches()
CONSTANTS = constants_file(REGISTRY).constants


def drawn(topic, rows=60):
    """Sizes of a topic as tables have them, from the smallest to the largest."""
    draw = np.random.default_rng(4)
    if "tokens" not in TOPICS[topic].columns:
        sizes = 2.0 ** draw.integers(0, 15, (rows, 3))
        return {"gemm": np.column_stack([sizes, draw.integers(1, 7, rows)]), "quantise": sizes[:, :2]}.get(topic, sizes)
    kv = 2.0 ** draw.integers(0, 5, rows)
    batch, group, tokens = (2.0 ** draw.integers(0, high, rows) for high in (7, 4, 15))
    return np.stack([batch, kv * group, kv, tokens, np.full(rows, 128.0)], axis=1)


@pytest.mark.parametrize("device", ["nvidia/l40s", "nvidia/h100-sxm5-80gb"])  # warps that wait, and those that do not
@pytest.mark.parametrize("topic", TOPICS)
def test_terms_add_up_to_what_is_predicted(topic, device):
    chip, sizes = chip_of(REGISTRY.get(device), TOPICS[topic].precision, LAUNCHES), drawn(topic)
    terms = TOPICS[topic].terms(sizes, chip, CONSTANTS)
    assert np.sum(list(terms.values()), axis=0) == pytest.approx(
        TOPICS[topic].predict(sizes, chip, CONSTANTS), rel=1e-9
    )
    assert all((seconds >= -1e-15).all() for seconds in terms.values())


@pytest.mark.parametrize(
    ("device", "sizes", "called"),
    [
        ("nvidia/l40s", (16, 64, 2048), "step"),  # one of the smallest tiles, with a long k
        ("nvidia/l40s", (1024, 1024, 1024), "feed"),  # small tiles, whose operands are many for their arithmetic
        ("nvidia/h100-sxm5-80gb", (8192, 8192, 8192), "main loop"),
    ],
)
def test_the_main_loop_is_called_what_binds_it(device, sizes, called):
    chip = replace(chip_of(REGISTRY.get(device), "bf16", LAUNCHES), tdp_w=1e9)  # or power binds
    terms = TOPICS["gemm"].terms(np.array([[*sizes, 6.0]]), chip, CONSTANTS)
    assert {"main loop", "feed", "step"} & set(terms) == {called}


@pytest.mark.parametrize("topic", ["prefill", "decode"])
def test_to_fill_a_block_is_a_term_of_its_own(topic):
    chip, sizes = chip_of(REGISTRY.get("nvidia/l40s"), "bf16", LAUNCHES), np.array([[1.0, 8, 8, 128, 128]])
    assert TOPICS[topic].terms(sizes, chip, CONSTANTS)["fill"] > 0


def test_ops_whose_constants_were_fitted_to_others_are_named():
    found = uncalibrated_ops()
    assert len(found) == len(set(MODELS) - set(CALIBRATED))
    assert found["convolution"] == "takes the constants of matrix products"


def test_a_gpu_is_named_with_the_fact_that_it_lacks():
    found = uncalibrated_gpus(REGISTRY.readable(), REGISTRY)
    assert "nvidia/gh200-144gb" in found["lacks the fact 'tdp': rated power"]
    assert "nvidia/h20-96gb" in next(names for why, names in found.items() if "NVIDIA does not say what is cut" in why)


def test_a_gpu_is_either_known_or_named():
    named = [name for names in uncalibrated_gpus(REGISTRY.readable(), REGISTRY).values() for name in names]
    assert len(named) == len(set(named))
    launches = Coefficients(REGISTRY).launches()
    gpus = [device for device in REGISTRY.readable() if device.kind == "gpu"]
    for device in gpus:
        if device.id not in named:
            precision = "bf16" if any("bf16" in unit.precisions for unit in device.units.values()) else "fp16"
            assert chip_of(device, precision, launches).sms > 0
    assert set(named) < {device.id for device in gpus}
