"""One dispatch: command, function, network and prediction claim give the same seconds for the same op.

No measurement is read: a claim is asked for real, on rows that took what the function says, so it must find no error.
"""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import rooflint as rl
from pytest_rooflint.golden import read
from pytest_rooflint.suite.judge import judge
from rooflint.cli.explain import app
from rooflint.cli.networks import app as networks_app
from rooflint.coefficients.library import Coefficients
from rooflint.energy.model import Energies
from rooflint.hardware.registry import Registry
from rooflint.kernels.constants import ConstantsFile
from rooflint.kernels.dispatch import kernel
from rooflint.kernels.shapes import COLD
from rooflint.prediction.predict import Setting, predict
from rooflint.workloads.builders import conv2d, matrix_op
from rooflint.workloads.ops import Op
from rooflint.workloads.workload import Workload
from rooflint_calibration import evaluation, published
from rooflint_calibration.package import FAMILIES, family_of
from rooflint_calibration.rows import Rows
from rooflint_calibration.topics import TOPICS

REGISTRY = Registry()
ENERGIES = Energies(Coefficients(REGISTRY))
DEVICES = tuple(next(iter(members.values())) for members in FAMILIES.values())
"""One of each family."""
CORES = (
    "nvidia/v100-pcie-32gb",
    "nvidia/t4",
    "nvidia/p100-pcie-16gb",
    "nvidia/a100-pcie-80gb",
    "nvidia/h100-sxm5-80gb",
)

PRODUCTS = [(8192, 8192, 8192), (16, 8192, 8192), (64, 1024, 1024), (65, 1024, 1024), (129, 4096, 512)]
ROTATED = [(*sizes, copies) for sizes in PRODUCTS for copies in (1, 6)]
SEQUENCES = [(1, 32, 8, 4096, 128), (8, 16, 16, 64, 64)]
MESSAGES = [(1024, 2), (2**20, 8), (2**24, 4), (2**24 + 2, 4), (2**30, 8)]
COLLECTIVES = tuple(topic for topic in TOPICS if TOPICS[topic].op == "collective")
ROUTED = tuple(topic for topic in TOPICS if TOPICS[topic].op == "expert_exchange")
FROM_HOST = ("dispatch_from_host", "combine_from_host")
TOKENS = [(1, 7168, 8, 256, 8, 20), (512, 4096, 8, 128, 4, 20), (16384, 2048, 2, 8, 8, 24)]
EXPERTS = tuple(topic for topic in TOPICS if TOPICS[topic].op == "expert_layer")
LAYERS = [(1, 4096, 14336, 8, 2, 1), (64, 2048, 768, 128, 8, 1), (4096, 7168, 2048, 256, 8, 8)]
LATENTS = tuple(topic for topic in TOPICS if TOPICS[topic].op.startswith("latent"))
ACTIVATIONS = [(8192, 8192), (1, 128)]
QUANTISED = tuple(topic for topic in TOPICS if TOPICS[topic].op == "quantise")
SIZES = {
    **dict.fromkeys(("gemm", "fp8_tensor", "fp8_block"), ROTATED),
    **dict.fromkeys(QUANTISED, ACTIVATIONS),
    "prefill": SEQUENCES,
    "encoder": [(1, 12, 12, 197, 64), (8, 16, 16, 64, 64)],
    "decode": [(16, 8, 8, 4096, 128), (1, 32, 32, 65536, 128)],
    "decode_fp8": [(16, 8, 8, 4096, 128), (1, 32, 32, 65536, 128)],
    **{topic: [(1, 128, 4096), (128, 16, 1024)] for topic in LATENTS},
    **dict.fromkeys(EXPERTS, LAYERS),
    **dict.fromkeys(COLLECTIVES, MESSAGES),
    **dict.fromkeys(ROUTED, TOKENS),
}
"""Rows of each topic. A new topic must be added here."""

NO_TABLE = (
    "quantise_row",
    "quantise_tensor",
    "fp8_block",
    "prefill",
    "mla_prefill",
    "mla_decode_fp8",
    "mla_decode_whole",
    "mla_decode_parts",
    *EXPERTS,
    *COLLECTIVES,
    *ROUTED,
)
"""What no op table can say: networks have one scale a tensor, found before a product alone, no mask and no cache that
is appended to.

A layer of experts is several ops, and collectives need a second device.
"""


def pairs(*topics):
    """Topics and devices that were measured."""
    return [(topic, device) for topic in topics for device in DEVICES if device not in TOPICS[topic].absent]


def asked(topic, device, row, **residency):
    """What the function says of one row."""
    one = TOPICS[topic]
    given = {"copies": one.copies, **dict(zip(one.columns, row, strict=True)), **residency}
    hardware = REGISTRY.get(device)
    return kernel(one.op, hardware, REGISTRY, precision=one.precision, **one.options, **given)


def explained(m, n, k, device, *options):
    """What the command says."""
    result = CliRunner().invoke(app, ["gemm", *map(str, (m, n, k)), "-d", device, "-f", "json", *map(str, options)])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["latency_s"]


def networked(op, device, precision, storage=None):
    """What a network of one op takes in a graph."""
    setting = Setting(precision, storage, launch="graph", fidelity="silicon", cached=False)
    found = predict(REGISTRY.get(device), Workload.from_ops("one", [op]), ENERGIES, setting)
    assert found.fidelity == "silicon"
    return found.latency_s


def test_no_topic_is_forgotten():
    assert set(SIZES) == set(TOPICS)
    assert set(TABLE_OF) == set(TOPICS) - set(NO_TABLE)


@pytest.fixture
def claim(tmp_path, monkeypatch, shipped_suite):
    """`claim(line, topic, device, seconds)`: the verdict where the rows of a topic took so long on one device."""

    def judged(line, topic, device, seconds):
        rows = Rows(device, TOPICS[topic].columns, np.array(SIZES[topic], float), seconds)
        monkeypatch.setattr(evaluation, "measured_devices", lambda name: {family_of(device): [device]})
        chip = asked(topic, device, SIZES[topic][0]).chip
        monkeypatch.setattr(evaluation, "sample", lambda *_: (rows, chip))
        # a claim leaves a family out; here all are asked with the same constants
        monkeypatch.setattr(ConstantsFile, "without", lambda file, family, groups=(): file.constants)
        file = tmp_path / "one.yaml"
        source = "source: {document: Some tables, where: all, grade: read}"
        file.write_text(f"{source}\nclaims:\n  - {{{line}}}\n", encoding="utf-8")
        (one,) = read.load(file).claims
        return judge(one, "", shipped_suite)

    return judged


@pytest.mark.slow
@pytest.mark.parametrize(("topic", "device"), pairs(*TOPICS))
def test_a_claim_finds_no_error_in_what_the_function_says(topic, device, claim):
    seconds = np.concatenate([asked(topic, device, row).seconds for row in SIZES[topic]])
    line = f"prediction: {topic} {family_of(device)} all, error: 1 %, bias: 1 %"
    found = claim(line, topic, device, seconds)
    assert (found.outcome, found.obtained.value) == ("pass", pytest.approx(0, abs=1e-12))


@pytest.mark.slow
def test_a_claim_finds_the_error_of_another_model(claim):
    # the plant that this file is for: products in FP8 by the constants of bf16
    device = "nvidia/h100-sxm5-80gb"
    carried = [explained(*row[:3], device, "-p", "int8") for row in SIZES["fp8_tensor"]]
    found = claim("prediction: fp8_tensor hopper all, error: 1 %, bias: 1 %", "fp8_tensor", device, np.array(carried))
    assert found.outcome == "fail"


@pytest.mark.slow
@pytest.mark.parametrize(("topic", "device"), pairs("gemm", "fp8_tensor", "fp8_block"))
@pytest.mark.parametrize("copies", [0, 1, 6])
def test_the_command_says_what_the_function_says(topic, device, copies):
    one = TOPICS[topic]
    scale = [option for name, value in one.options.items() for option in (f"--{name}", value)]
    for row in SIZES[topic][::2]:
        told = explained(*row[:3], device, "-p", one.precision, "--copies", copies, *scale)
        assert told == pytest.approx(asked(topic, device, row, copies=copies or COLD).seconds[0], rel=1e-12)


def product(m, n, k, *_):
    return matrix_op("one", "linear", (m, n, k, 1), (m * k, n * k, m * n))


def sequence(batch, heads, _, tokens, width, queries=None, bytes_each=1):
    queries, keys = tokens if queries is None else queries, 2 * batch * heads * tokens * width
    asks = batch * heads * queries * width
    return matrix_op("one", "attention", (queries, tokens, 2 * width, batch * heads), (asks + keys, 0, asks))


def narrow_cache(batch, heads, _, tokens, width):
    """In elements of 1 B: the cache, and Q and the output of 2 B."""
    one = sequence(batch, heads, _, tokens, width, 1)
    asks = batch * heads * width
    return one._replace(elements_in=2 * batch * heads * tokens * width + 2 * asks, elements_out=2 * asks)


def on_latents(batch, heads, tokens):
    """Latents of 576 elements, of which 512 are values."""
    one = matrix_op("one", "latent_attention", (1, tokens, 576 + 512, batch * heads), (0, 0, batch * heads * 512))
    return one._replace(elements_in=batch * (heads + tokens) * 576)


TABLE_OF = {
    "gemm": product,
    "fp8_tensor": product,
    "quantise": lambda m, k: Op("one", "relu", elements_in=2 * m * k, elements_out=m * k),
    "encoder": sequence,
    "decode": lambda *row: sequence(*row, queries=1),
    "decode_fp8": narrow_cache,
    "mla_decode": on_latents,
}
"""The op of a row, as a network's table has it."""

STORAGE = {"quantise": "int8", "decode_fp8": "int8"}
"""Tables of these count elements of 1 B."""


@pytest.mark.slow
@pytest.mark.parametrize(("topic", "device"), pairs(*TABLE_OF))
def test_a_network_of_that_op_alone_takes_as_long(topic, device):
    for row in SIZES[topic]:
        told = networked(TABLE_OF[topic](*row), device, TOPICS[topic].precision, STORAGE.get(topic))
        assert told == pytest.approx(asked(topic, device, row, copies=COLD, sustained=True).seconds[0], rel=1e-9)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("tokens", [1, 64, 4096])
def test_a_network_of_a_layer_of_experts_takes_as_long_as_the_function_says(device, tokens):
    hidden, width, count, top_k = 4096, 14336, 8, 2
    hit, rows, both = min(count, tokens * top_k), tokens * top_k, 2 * width
    ops = [
        matrix_op("up", "experts", (rows, both, hidden, 1), (rows * hidden, hit * both * hidden, rows * both)),
        Op("activation", "glu", elements_in=rows * both, elements_out=rows * width),
        matrix_op("down", "experts", (rows, hidden, width, 1), (rows * width, hit * width * hidden, rows * hidden)),
        Op("sum", "sum", elements_in=rows * hidden, elements_out=tokens * hidden),
    ]
    setting = Setting("bf16", launch="graph", fidelity="silicon", cached=False)
    found = predict(REGISTRY.get(device), Workload.from_ops("layer", ops), ENERGIES, setting)
    told = asked("moe_balanced", device, (tokens, hidden, width, count, top_k, 1), copies=COLD, sustained=True)
    assert found.latency_s == pytest.approx(told.seconds[0], rel=1e-9)


# ---------------------------------------------------------------------------------------------------------- CUDA cores

CONVOLUTIONS = [
    (32, 64, 64, 56, 56, 3, 3),
    (8, 512, 512, 28, 28, 3, 3),
    (1, 64, 64, 56, 56, 3, 3),
    (8, 64, 64, 28, 28, 1, 1),
]
STRIDED = [*((*sizes, 1) for sizes in CONVOLUTIONS), (8, 64, 128, 28, 28, 3, 3, 2), (8, 3, 64, 112, 112, 7, 7, 2)]
TOO_SMALL = [("resnet18", 1, "nvidia/a100-pcie-80gb"), ("resnet18", 1, "nvidia/h100-sxm5-80gb")]
"""Where launches of more kernels would take longer than what Winograd saves."""
HEAD = """title: Some rows
device: {device}
op: {op}
precision: fp32
source: {{document: Some paper, where: table 3, grade: read}}
why: nothing was left out
timing: graph
columns: [{columns}, us]
rows:
"""


@pytest.mark.parametrize("device", CORES)
@pytest.mark.parametrize(
    ("op", "columns", "rows"),
    [
        ("gemm", ("m", "n", "k"), PRODUCTS),
        (
            "convolution",
            ("batch", "channels_in", "channels_out", "height", "width", "kernel_height", "kernel_width"),
            CONVOLUTIONS,
        ),
    ],
)
def test_a_published_table_in_fp32_is_predicted_as_the_function_says(op, columns, rows, device, tmp_path, monkeypatch):
    monkeypatch.setattr(ConstantsFile, "without", lambda file, family, groups=(): file.constants)
    text = HEAD.format(device=device, op=op, columns=", ".join(columns))
    text += "".join(f"  - {[*row, 100]}\n" for row in rows)
    table = published.read(tmp_path / "table.yaml", text)
    told = published.predicted_s(table, published.given_of(table, REGISTRY))
    sizes = dict(zip(columns, np.array(rows, float).T, strict=True))
    found = kernel(op, REGISTRY.get(device), REGISTRY, precision="fp32", **sizes)
    assert told == pytest.approx(found.seconds, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("device", CORES)
def test_products_in_fp32_take_as_long_by_command_and_in_a_network(device):
    for m, n, k in PRODUCTS:
        found = kernel("gemm", REGISTRY.get(device), REGISTRY, precision="fp32", m=m, n=n, k=k)
        assert explained(m, n, k, device, "-p", "fp32") == pytest.approx(found.seconds[0], rel=1e-12)
        assert networked(product(m, n, k), device, "fp32") == pytest.approx(found.seconds[0], rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("device", CORES)
def test_a_network_of_one_convolution_in_fp32_takes_as_long_as_the_function_says(device):
    # without padding, so that the op table counts the bytes that the function counts
    for batch, channels_in, channels_out, height, width, side, _, stride in STRIDED:
        high, wide = ((out - 1) * stride + side for out in (height, width))
        work = conv2d(
            n=batch, c_in=channels_in, h=high, w=wide, c_out=channels_out, kernel=side, stride=stride, bias=False
        )
        sizes = (batch, channels_in, channels_out, height, width, side, side, stride)
        columns = ("batch", "channels_in", "channels_out", "height", "width", "kernel_height", "kernel_width", "stride")
        found = kernel(
            "convolution", REGISTRY.get(device), REGISTRY, precision="fp32", **dict(zip(columns, sizes, strict=True))
        )
        (op,) = work.rows()
        assert networked(op, device, "fp32") == pytest.approx(found.seconds[0], rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("device", CORES)
@pytest.mark.parametrize(("network", "batch"), [("resnet18", 1), ("resnet18", 32), ("vgg16", 8)])
def test_command_api_and_claim_take_as_long_for_a_network_in_fp32(network, batch, device, tmp_path, shipped_suite):
    told = rl.predict(network, device, precision="fp32", batch=batch, fidelity="silicon")
    options = ["-p", "fp32", "--batch", str(batch), "--fidelity", "silicon", "-f", "json"]
    result = CliRunner().invoke(networks_app, ["compare", network, "-d", device, *options])
    assert result.exit_code == 0, result.output
    (shown,) = json.loads(result.stdout)["devices"]
    claim = (
        f"{{latency: {device}, expect: 1 ms ± 1 %, workload: {{network: torchvision/{network}, batch: {batch}}}, "
        "compute: fp32, fidelity: silicon}"
    )
    source = "source: {document: Some paper, where: table 3, grade: read}"
    file = tmp_path / "one.yaml"
    file.write_text(f"{source}\nclaims:\n  - {claim}\n", encoding="utf-8")
    (one,) = read.load(file).claims
    claimed = judge(one, "", shipped_suite).obtained.value
    assert shown["latency_s"] == claimed == told.latency_s
    assert (told.silicon.algorithms != "direct").any() == ((network, batch, device) not in TOO_SMALL)


# -------------------------------------------------------------------------------------------------------------- answers


@pytest.mark.slow
@pytest.mark.parametrize(("topic", "device"), pairs(*TOPICS))
def test_terms_add_up_and_errors_are_known(topic, device):
    for row in SIZES[topic]:
        one = asked(topic, device, row)
        assert np.sum(list(one.terms.values()), axis=0) == pytest.approx(one.seconds, rel=1e-9)
        assert one.kernel.topic == (topic if topic not in FROM_HOST else None)  # scored only: no kernel is asked for so
        assert topic in FROM_HOST or family_of(device) in one.errors


@pytest.mark.slow
def test_nothing_cold_beats_its_roofline():
    for topic, device in pairs(*TOPICS):
        for row in SIZES[topic]:
            one = asked(topic, device, row, copies=COLD)
            assert one.seconds >= one.floor_s
