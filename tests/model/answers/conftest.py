"""Comparisons that several answers tell about."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from rooflint.coefficients.library import Coefficients
from rooflint.energy.model import Energies
from rooflint.hardware.registry import Registry
from rooflint.prediction.comparison import Comparison, compare
from rooflint.prediction.predict import Setting
from rooflint.workloads.tables import load_workload

REGISTRY = Registry()
ENERGIES = Energies(Coefficients(REGISTRY))


@pytest.fixture(scope="session")
def comparison() -> Callable[..., Comparison]:
    """`comparison(*devices, batch=1, compute="bf16", work="resnet18", **setting)`: each asked for is computed once."""

    @cache
    def compared(
        *devices: str, batch: int = 1, compute: str = "bf16", work: str = "resnet18", **setting: Any
    ) -> Comparison:
        network = load_workload(f"torchvision/{work}").at_batch(batch)
        return compare(
            [REGISTRY.get(device) for device in devices],
            network,
            ENERGIES,
            Setting(compute, **{"cached": False, **setting}),
        )

    return compared
