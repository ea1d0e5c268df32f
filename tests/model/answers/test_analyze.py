"""Products: what each of the longest waits for, taken apart so that it adds up to what the network takes."""

import numpy as np
import pytest

from rooflint.answers import analyze
from rooflint.coefficients.library import Coefficients
from rooflint.energy.model import Energies
from rooflint.hardware.registry import Registry
from rooflint.prediction.predict import Setting, predict
from rooflint.workloads.tables import load_workload

REGISTRY = Registry()
ENERGIES = Energies(Coefficients(REGISTRY))


def times(network="torchvision/vit_b_16", device="nvidia/h100-sxm5-80gb", compute="bf16"):
    work = load_workload(network)
    return predict(REGISTRY.get(device), work, ENERGIES, Setting(compute, fidelity="silicon")).silicon


@pytest.mark.parametrize("compute", ["bf16", "fp32"])  # matrix units, and CUDA cores
@pytest.mark.parametrize("device", ["nvidia/l40s", "nvidia/h100-sxm5-80gb", "nvidia/b200-sxm"])
@pytest.mark.parametrize("network", ["torchvision/vit_b_16", "torchvision/resnet18"])
def test_a_product_taken_apart_takes_what_its_kernel_takes(network, device, compute):
    found = times(network, device, compute)
    ops = np.flatnonzero(np.isin(found.kernel_models, analyze.PRODUCTS) & (found.algorithms == "direct"))
    assert ops.size
    apart = [analyze.taken_apart(found, op).latency_s for op in ops.tolist()]
    assert apart == pytest.approx(found.kernel_s[ops].tolist(), rel=1e-9)


def test_the_shape_that_takes_longest_in_all_its_kernels_comes_first():
    found = times()
    rows = list(analyze.longest(found))
    # 12 layers of 197 tokens: 768 wide, 3072 inside
    assert rows[0][0].endswith(" and 11 identical")
    assert rows[0][1] == "197 × 768 × 3072"
    assert len(rows) <= analyze.MOST


def test_only_products_are_among_them():
    found = times()
    names = {name.partition(" and ")[0] for name, *_ in analyze.longest(found)}
    ways = dict(zip(found.run.op_names.tolist(), found.kernel_models.tolist(), strict=True))
    assert {ways[name] for name in names} <= set(analyze.PRODUCTS)


def test_a_convolution_with_fewer_multiplications_names_its_algorithm_in_place_of_a_tile():
    rows = analyze.longest(times("torchvision/vgg16", "nvidia/t4", "fp32"))
    tiles = {name.partition(" and ")[0]: tile for name, _, _, tile, _ in rows}
    assert tiles["features.2"].startswith("Winograd, ")
    assert "×" in tiles["classifier.0"]
