"""Caveats of calibrated kernel times: what they say is what the predictions hold."""

from dataclasses import replace

import numpy as np

from rooflint.answers.insights import caveats
from rooflint.base.units import percent
from rooflint.coefficients.library import Coefficients
from rooflint.energy.model import Energies
from rooflint.hardware.registry import Registry
from rooflint.kernels.convolution import MEASURED_RANGE
from rooflint.prediction.comparison import compare, contend
from rooflint.prediction.predict import Setting
from rooflint.workloads.tables import load_workload
from rooflint.workloads.workload import mlp

REGISTRY = Registry()
ENERGIES = Energies(Coefficients(REGISTRY))
RESNET = load_workload("torchvision/resnet18")
COUNTED = (
    "t4: operations are counted as in a direct convolution: Winograd needs 2.25 to 4 times fewer, so the attained rate "
    "may exceed the peak, and the energy is too high"
)


def test_what_is_not_calibrated_is_told_with_its_share(comparison):
    found = comparison("nvidia/h100-sxm5-80gb", fidelity="silicon", compute="fp16")
    times = found.able[0].prediction.times
    share = times.kernel_s[times.kernel_models != "product"].sum() / times.latency_s
    (first, measured, second) = caveats(found.contenders)
    assert measured == f"h100-sxm5-80gb: {MEASURED_RANGE}"
    assert first.startswith(f"h100-sxm5-80gb: {100 * share:.3g} % of its latency is not calibrated (convolution takes ")
    assert second == "h100-sxm5-80gb: kernel times are calibrated in bf16; in fp16 they use the same constants"


def test_winograd_is_told_with_what_it_does_to_counted_operations(comparison):
    measured = comparison("nvidia/t4", fidelity="silicon", compute="fp32")
    assert COUNTED in caveats(measured.contenders)
    times = measured.able[0].prediction.times
    square = [window[:3] == (3, 3, 1) for window in times.run.windows]
    share = times.kernel_s[(times.kernel_models != "product") & ~np.array(square)].sum() / times.latency_s
    assert caveats(measured.contenders)[0].startswith(f"t4: {100 * share:.3g} % of its latency is not calibrated (")


def test_winograd_on_a_gpu_without_measured_convolutions_is_told(comparison):
    told = caveats(comparison("nvidia/l40s", fidelity="silicon", compute="fp32", batch=32).contenders)
    assert "l40s: Winograd was not measured on nvidia/ada-ad102: its error is not known" in told


def test_an_old_op_table_is_told_to_be_timed_without_winograd():
    older = replace(RESNET, windows=())
    found = compare([REGISTRY.get("nvidia/t4")], older, ENERGIES, Setting("fp32", fidelity="silicon"))
    told = caveats(found.contenders)
    assert told[-1] == (
        "t4: the op table has no window for 20 convolutions, so they are timed without Winograd; "
        "capture the network again"
    )
    assert COUNTED not in told


def test_products_in_fp8_say_what_quantising_takes():
    products = mlp([1024, 1024, 1024]).at_batch(256)
    found = contend(REGISTRY.get("nvidia/h100-sxm5-80gb"), products, ENERGIES, Setting("fp8", fidelity="silicon"))
    times = found.prediction.silicon
    share = percent(times.quantise_s / float(times.kernel_s.sum()))
    constants, quantise = caveats([found])
    assert constants == (
        "h100-sxm5-80gb: kernel times are calibrated in bf16; in fp8 everything except streams uses the same constants"
    )
    assert f"a kernel quantises the activations to fp8 ({share} of the latency)" in quantise
