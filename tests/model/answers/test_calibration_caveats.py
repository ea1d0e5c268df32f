"""Caveats of calibrated kernel times: what they say is what the predictions hold."""

from dataclasses import replace

import numpy as np

from rooflint.answers.insights import caveats
from rooflint.base.units import percent
from rooflint.coefficients.library import Coefficients
from rooflint.energy.model import Energies
from rooflint.hardware.registry import PACKAGED, Registry
from rooflint.kernels.constants import constants_file
from rooflint.kernels.convolution import MEASURED_RANGE
from rooflint.prediction.comparison import compare, contend
from rooflint.prediction.predict import Setting
from rooflint.workloads.builders import mlp
from rooflint.workloads.networks import network_named
from rooflint.workloads.tables import load_workload

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
    (_, first, measured, second) = caveats(found.contenders)
    assert measured == f"h100-sxm5-80gb: {MEASURED_RANGE}"
    assert first.startswith(f"h100-sxm5-80gb: {100 * share:.3g} % of its latency is not calibrated (convolution takes ")
    assert second == "h100-sxm5-80gb: kernel times are calibrated in bf16; in fp16 they use the same constants"


def test_winograd_is_told_with_what_it_does_to_counted_operations(comparison):
    measured = comparison("nvidia/t4", fidelity="silicon", compute="fp32")
    assert COUNTED in caveats(measured.contenders)
    times = measured.able[0].prediction.times
    square = [window[:3] == (3, 3, 1) for window in times.run.windows]
    share = times.kernel_s[(times.kernel_models != "product") & ~np.array(square)].sum() / times.latency_s
    assert caveats(measured.contenders)[1].startswith(f"t4: {100 * share:.3g} % of its latency is not calibrated (")


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
    _, constants, quantise = caveats([found])
    assert constants == (
        "h100-sxm5-80gb: kernel times are calibrated in bf16; in fp8 everything except streams uses the same constants"
    )
    assert f"a kernel quantises the activations to fp8 ({share} of the latency)" in quantise


# ---- the error to expect of the whole


def expected(device, precision, network=RESNET):
    one = contend(REGISTRY.get(device), network, ENERGIES, Setting(precision, fidelity="silicon"))
    return caveats([one])[0]


def off(slug, family=None):
    table = constants_file(REGISTRY).fit().networks[slug]
    one = table.families[family] if family else table
    return f"{one.error:g} % ({table.name} in {table.precision}, {one.rows} rows)"


def test_the_error_to_expect_is_that_of_published_networks_on_the_family():
    hopper = ", ".join(off(slug, "hopper") for slug in ("mlperf-bert", "mlperf-resnet50"))
    said = "error to expect of the throughput of a network on Hopper, by published ones: "
    assert expected("nvidia/h100-sxm5-80gb", "int8") == f"{said}{hopper}"
    tables = ("mlperf-bert-fp8", "mlperf-bert", "mlperf-resnet50", "mlperf-sdxl")
    every = ", ".join(off(slug, "hopper") for slug in tables)
    assert expected("nvidia/h100-sxm5-80gb", "bf16") == f"{said}{every}; none in bf16 was published"


def test_where_no_network_was_published_on_a_family_those_of_all_are_said():
    every = ", ".join(off(slug) for slug in ("mlperf-bert", "mlperf-resnet50"))
    assert expected("nvidia/b200-sxm", "int8") == (
        f"error to expect of the throughput of a network, by published ones: {every}; none on Blackwell was published"
    )
    assert expected("nvidia/v100-pcie-16gb", "fp16").endswith(
        f": {off('mlperf-bert-fp16')}; none on Volta was published"
    )
    assert expected("nvidia/v100-pcie-16gb", "fp32").endswith("; none on Volta or in fp32 was published")


def test_tokens_of_a_language_model_have_errors_of_their_own():
    net = network_named("llama-3.2-1b", (PACKAGED,)).workload()
    said = expected("nvidia/h100-sxm5-80gb", "fp8", net)
    assert said.startswith("error to expect of tokens per second on Hopper, by published ones: ")
    assert off("trtllm-fp8", "hopper") in said
    assert "fp4" not in said
    assert "ResNet" not in said


def test_one_sentence_stands_for_all_devices_of_a_family():
    both = [REGISTRY.get(name) for name in ("nvidia/h100-sxm5-80gb", "nvidia/h200-sxm-141gb")]
    told = caveats(compare(both, RESNET, ENERGIES, Setting("int8", fidelity="silicon")).contenders)
    assert sum(one.startswith("error to expect") for one in told) == 1


def test_constants_without_scored_networks_say_nothing_of_them():
    shared = replace(ENERGIES.silicon, networks=())
    found = contend(REGISTRY.get("nvidia/t4"), RESNET, ENERGIES.at(shared), Setting("int8", fidelity="silicon"))
    assert not any(one.startswith("error to expect") for one in caveats([found]))


def test_a_fused_network_in_fp8_says_that_no_kernel_quantises():
    products = mlp([1024, 1024, 1024]).at_batch(256)
    setting = Setting("fp8", fidelity="silicon", fuse=True)
    told = caveats([contend(REGISTRY.get("nvidia/h100-sxm5-80gb"), products, ENERGIES, setting)])
    fused = "h100-sxm5-80gb: fused kernels make activations fp8 themselves, of which nothing was measured"
    assert told[-1] == fused
    assert not any("quantises" in one for one in told)
