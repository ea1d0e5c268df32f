"""One wrong number in a copy of the shipped suite: exactly the claims that rest on it are red, and say what to mend."""

import re
import shutil
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
ORIN = "golden/peaks/nvidia/jetson-agx-orin-64gb.yaml"
ORIN_SPEC = "specs/hardware/nvidia/jetson-agx-orin-64gb.yaml"
GA10B = "specs/architectures/nvidia/ampere-ga10b.yaml"
H100 = "golden/peaks/nvidia/h100-sxm5-80gb.yaml"
H100_SPEC = "specs/hardware/nvidia/h100-sxm5-80gb.yaml"
GA100 = "specs/architectures/nvidia/ampere-ga100.yaml"
T4 = "golden/peaks/nvidia/t4.yaml"
PER_WATT = "golden/energy/peak_per_w.yaml::"
CORES = "golden/silicon/cores.yaml"
PUBLISHED = "golden/silicon/published.yaml"
T4_SPEC = "specs/hardware/nvidia/t4.yaml"


def claims(file, *ids):
    return {f"{file}::{id}" for id in ids}


@pytest.fixture
def shipped(tiny):
    """A repository of the shipped specs and golden files; op tables are read where they lie."""
    for part in ("specs", "golden"):
        shutil.rmtree(tiny.root / part)
    shutil.copytree(ROOT / "model/rooflint/specs", tiny.root / "specs", ignore=shutil.ignore_patterns("workloads"))
    shutil.copytree(ROOT / "golden", tiny.root / "golden")
    return tiny


@pytest.fixture
def verdicts(shipped):
    """Red items of a run with the text of each, spaces and line breaks made one."""

    def run(*arguments):
        text = shipped.run("-v", *arguments).stdout.str()
        red = set(re.findall(r"^FAILED (\S+)", text, re.MULTILINE))
        pattern = r"^(golden/\S+?:\d+  .*?)^  rerun +pytest (\S+)$"
        blocks = re.findall(pattern, text, re.MULTILINE | re.DOTALL)
        message = {node: " ".join(block.split()) for block, node in blocks}
        assert red == set(message), text[-2000:]
        return message

    return run


def test_the_copy_is_green_before_an_error_is_planted(verdicts):
    assert verdicts() == {}


# ---- Orin: INT8 tensor rate

#: The modes of 15 W are expected failures with and without the error.
ORIN_INT8 = claims(
    ORIN,
    "peak-tensor_core-int8",
    "peak-tensor_core-int8-sparse",
    "peak-tensor_core-int8-and-dla-int8-sparse",
    "breakpoint-tensor_core-int8-per-lpddr5",
    "peak-tensor_core-int8-sparse-at-maxn-by-readme",
    "peak-tensor_core-int8-and-dla-int8-sparse-at-maxn-by-readme",
    "peak-tensor_core-int8-sparse-at-50w-by-readme",
    "peak-tensor_core-int8-and-dla-int8-sparse-at-50w-by-readme",
    "peak-tensor_core-int8-at-30w-by-readme",
    "peak-tensor_core-int8-sparse-at-30w-by-readme",
    # known to be off at 15 W, but by another factor
    "peak-tensor_core-int8-sparse-at-15w-by-readme",
    "peak-tensor_core-int8-and-dla-int8-sparse-at-15w-by-readme",
    "peak-tensor_core-int8-and-dla-int8-sparse-at-30w-by-readme",
)
#: With slower tensor cores ViT-B/16 no longer waits for the memory of its FP32 weights.
BOUND = claims("golden/orderings/vit-b-16.yaml", "bound-nvidia/jetson-agx-orin-64gb-in-int8-stored-fp32")
#: At a sixteenth not even two layers of 1024 at batch 16 do.
SMALL = claims("golden/orderings/mlp-1024-batch16.yaml", "bound-nvidia/jetson-agx-orin-64gb-in-int8")
#: The other modules with the same die.
SIBLINGS = {
    *(
        node
        for module in ("orin-nx-16gb", "orin-nano-8gb", "orin-nano-8gb-super")
        for node in claims(
            f"golden/peaks/nvidia/jetson-{module}.yaml",
            "peak-tensor_core-int8",
            "peak-tensor_core-int8-sparse",
            "breakpoint-tensor_core-int8-per-lpddr5",
        )
    ),
    *(
        node
        for module in ("orin-nx-16gb", "orin-nx-8gb", "agx-orin-32gb")
        for node in claims(f"golden/peaks/nvidia/jetson-{module}.yaml", "peak-tensor_core-int8-and-dla-int8-sparse")
    ),
    *(
        node
        for module in ("orin-nx-8gb", "orin-nano-4gb", "agx-orin-32gb")
        for node in claims(f"golden/peaks/nvidia/jetson-{module}.yaml", "peak-tensor_core-int8-sparse")
    ),
    *(
        node
        for module in ("orin-nx-8gb", "orin-nano-4gb")
        for node in claims(f"golden/peaks/nvidia/jetson-{module}.yaml", "breakpoint-tensor_core-int8-per-lpddr5")
    ),
}
RATIO = claims("golden/architectures/nvidia/ampere-ga10b.yaml", "ratio-tensor_core-int8-per-tensor_core-fp16")


def plant(shipped, place, rate):
    """An INT8 rate as an override in the device file, or in the architecture; the file and line of it."""
    if place == "device":
        groups = "  tensor_core:\n    groups: [16, tb, 2048 CUDA cores]\n"
        shipped.edit(ORIN_SPEC, groups, f"{groups}    macs_per_clock: {{int8: [{rate} MAC, tb, a slip]}}\n")
        return f"{ORIN_SPEC}:{shipped.line(ORIN_SPEC, 'a slip')}"
    line = shipped.edit(GA10B, "int8: [512 MAC", f"int8: [{rate} MAC")
    return f"{GA10B}:{line}"


WIDTH = "golden/laws/units.yaml::monotone-peak-width"
"""The law that INT8 is no slower than FP16 on one unit."""


POWERS = claims("golden/silicon/powers.yaml", "prediction-power-mlperf-resnet50", "prediction-power-mlperf-bert")
"""The law that an Orin is not predicted to draw more than its system: it takes longer, and idles meanwhile."""


@pytest.mark.parametrize("place", ["device", "architecture"])
def test_an_eighth_of_orins_int8_rate_is_named_with_its_origin_file_and_line(shipped, verdicts, place):
    where = plant(shipped, place, 64)
    message = verdicts()
    expected = ORIN_INT8 | BOUND | (SIBLINGS | RATIO if place == "architecture" else set())
    assert set(message) == expected | {WIDTH} | POWERS
    assert where in message[WIDTH]
    # 16 × 4 × 64 × 2 × 1.3005 GHz = 10.65 TOP/s of 170 / 2
    dense = message[f"{ORIN}::peak-tensor_core-int8"]
    assert dense.startswith(f"{ORIN}:{shipped.line(ORIN, 'peak: tensor_core int8, expect: 170 TOP/s / 2')} ")
    assert "expected 85 TOP/s" in dense
    assert "obtained 10.65 TOP/s 16 SM × 4 tensor_core × 64 MAC/clock × 2 op/MAC × 1300.5 MHz" in dense
    assert "ratio 1/8 macs_per_clock 64 is 1/8 of" in dense
    assert re.search(r"it is the FP16 rate of [^;]*\bvolta-gv100\b", dense)
    assert f"{where} units.tensor_core.macs_per_clock.int8; write 512 MAC" in dense
    for node in expected - BOUND:
        assert where in message[node]
        assert "1/8" in message[node]


@pytest.mark.parametrize("place", ["device", "architecture"])
def test_a_sixteenth_is_an_eighth_and_a_mac_counted_as_one_op(shipped, verdicts, place):
    where = plant(shipped, place, 32)
    message = verdicts()
    expected = ORIN_INT8 | BOUND | SMALL | (SIBLINGS | RATIO if place == "architecture" else set())
    assert set(message) == expected | {WIDTH} | POWERS
    assert where in message[WIDTH]
    # 16 × 4 × 32 × 2 × 1.3005 GHz = 5.327 TOP/s: the seed documents' 5.3, which counted MAC
    dense = message[f"{ORIN}::peak-tensor_core-int8"]
    assert "obtained 5.327 TOP/s" in dense
    assert "ratio 1/16 = 1/8 × 1/2" in dense
    assert re.search(r"64 MAC/clock is 1/8 of [^;]*512[^;]*; it is the FP16 rate of [^;]*\bvolta-gv100\b", dense)
    assert "a MAC is counted as one op" in dense
    assert f"{where} units.tensor_core.macs_per_clock.int8; write 512 MAC" in dense
    for node in expected - BOUND - SMALL:
        assert where in message[node]
        assert "1/16" in message[node]


# ---- H100: tensor clock


def test_h100s_tensor_cores_at_the_boost_clock_are_red_wherever_that_clock_counts(shipped, verdicts):
    line = shipped.edit(H100_SPEC, "clock: [1830 MHz", "clock: [1980 MHz")
    message = verdicts()
    peaks = {"tf32": "wp", "fp16": "wp", "fp8": "wp stas", "int8": "wp stas", "bf16": "stas titan llmc"}
    figures = {
        *claims(H100, *(f"peak-tensor_core-{name}{sparse}" for name in peaks for sparse in ("", "-sparse"))),
        *claims(H100, *(f"peak-tensor_core-{name}-by-{key}" for name, keys in peaks.items() for key in keys.split())),
        *claims(H100, "peak-tensor_core-fp16-sparse-by-wp", "peak-tensor_core-fp8-sparse-by-wp"),
        *claims(H100, "breakpoint-tensor_core-fp16-per-hbm3"),
    }
    orders = claims(H100, "clocks-base-le-tensor_core-lt-boost", "clocks-tensor_core-lt-cuda_core-le-boost")
    # times that others measured of products on an H100 are no longer those of the model either
    published = "golden/silicon/published.yaml::prediction-published-vidur-h100"
    # of other kernels, where the extra `silicon` is installed
    measured = re.compile(r"golden/silicon/\w+\.yaml::prediction-\w+-hopper-")
    timed = {node for node in message if node.startswith(published) or measured.match(node)}
    assert any(node.startswith(published) for node in timed)
    per_watt = {node for node in message if node.startswith(PER_WATT)}
    assert per_watt and all("h100-sxm5-80gb" in node for node in per_watt)
    clock = claims(H100, "clock-tensor_core-by-wiki")
    eight = claims("golden/systems/nvidia/hgx-h100.yaml", "peak-tensor_core-fp8-sparse")
    trained = {node for node in message if node.startswith("golden/training/h100")}  # utilization of the peak
    # runs of MLPerf on H100 and H200, which change places
    ranked = claims("golden/silicon/trainings.yaml", "prediction-training-mlperf-llama-405b-fp8-order-by-mlperf")
    # FP64 has the boost clock anyway
    assert set(message) == figures | clock | orders | timed | per_watt | eight | trained | ranked
    for node in figures | orders:
        text = message[node]
        assert f"{H100_SPEC}:{line}" in text
        # 1980 / 1830 = 1.082, a little beside it where the expectation is rounded
        assert node in orders or re.search(r"ratio 1\.08[123] clock 1980 MHz would have to be 18[23]\d MHz", text)
    dense = message[f"{H100}::peak-tensor_core-fp16"]
    assert "1980 MHz is that of the boost clock" in dense
    assert f"{H100_SPEC}:{line} units.tensor_core.clock; write 1830 MHz" in dense


# ---- A100: lanes


def test_twice_a100s_lanes_are_red_on_every_device_of_the_die(shipped, verdicts):
    line = shipped.edit(GA100, "per_group: [64, wp, table 4]", "per_group: [128, wp, table 4]")
    message = verdicts()
    expected = claims(
        "golden/architectures/nvidia/ampere-ga100.yaml",
        "ratio-tensor_core-fp16-per-cuda_core-fp32",
        "ratio-fp64_core-fp64-per-cuda_core-fp32",
    )
    lanes = {"peak-cuda_core-fp32", "peak-cuda_core-fp16-by-wp", "peak-cuda_core-bf16-by-wp", "count-cuda_core-by-db"}
    measured = {"peak-cuda_core-fp32-by-db", "peak-cuda_core-fp16-by-db"}
    for device, ids in {
        "a100-sxm4-80gb": lanes | measured,
        "a100-sxm4-40gb": lanes | measured,
        "a100-pcie-80gb": lanes | measured,
        "a100-pcie-40gb": lanes,
        "a30": {"peak-cuda_core-fp32", "peak-cuda_core-fp32-by-db", "count-cuda_core-by-db"},
        "a800-sxm4-80gb": {"peak-cuda_core-fp32", "peak-cuda_core-fp32-by-db", "count-cuda_core-by-db"},
        "a800-pcie-80gb": {"peak-cuda_core-fp32", "peak-cuda_core-fp32-by-db", "count-cuda_core-by-db"},
    }.items():
        expected |= claims(f"golden/peaks/nvidia/{device}.yaml", *ids)
    # latencies with twice the lanes are too short; those of linear layers stay within their claims
    timed = ("batched", "convolution")
    per_watt = {f"{PER_WATT}peak_per_w-nvidia/h100-sxm5-80gb-per-nvidia/a100-sxm4-80gb-cuda_core-fp32-by-db"}
    timed = claims(CORES, *(f"prediction-published-neusight-a100-{what}" for what in timed))
    assert set(message) == expected | per_watt | timed
    for node in expected:
        text = message[node]
        assert f"{GA100}:{line}" in text
        assert ("ratio 1/2 " if "::ratio-" in node else "ratio 2 ") in text
        if "::ratio-" not in node:
            assert "per_group 128 would have to be 64; 128 is that of ada-ad102" in text
            assert f"{GA100}:{line} units.cuda_core.per_group; write 64" in text


# ---- T4: bus


def test_twice_t4s_bus_is_red_in_bandwidth_and_breakpoint(shipped, verdicts):
    line = shipped.edit(T4_SPEC, "bus: [256 bit", "bus: [512 bit")
    message = verdicts()
    timed = ("products", "convolutions", "convolutions-large")
    # the later data sheet's 300 GB/s is excused for 1.067, not for 2.13; orders are far enough apart
    assert set(message) == {
        *claims(T4, "bandwidth-gddr6", "bandwidth-gddr6-by-later", "breakpoint-tensor_core-int8-per-gddr6"),
        *claims(CORES, *(f"prediction-published-neusight-t4-{op}" for op in ("linear", "softmax"))),
        *claims(PUBLISHED, *(f"prediction-published-deepbench-t4-{op}-by-deepbench" for op in timed)),
    }
    bandwidth, breakpoint = message[f"{T4}::bandwidth-gddr6"], message[f"{T4}::breakpoint-tensor_core-int8-per-gddr6"]
    assert "obtained 640 GB/s 512 bit × 10.0 Gbit/s × 1/8 B/bit" in bandwidth
    assert "ratio 2 " in bandwidth
    assert "ratio 1/2 " in breakpoint
    assert f"{T4_SPEC}:{line} memories.gddr6.bus; write 256 bit" in bandwidth
    assert f"{T4_SPEC}:{line}" in breakpoint
    # half a breakpoint may be half a peak, but here it is twice a bandwidth: the bus, or the rate of its pins
    assert re.search(r"memories\.gddr6\.(bus; write 256 bit|pin_rate; write 5 Gbit/s)", breakpoint)


# ---- a claim: GiB/s


def test_gib_for_gb_in_a_claim_is_red_alone_and_named(shipped, verdicts):
    line = shipped.edit(T4, "{bandwidth: gddr6, expect: 320 GB/s, note", "{bandwidth: gddr6, expect: 320 GiB/s, note")
    message = verdicts()
    assert set(message) == claims(T4, "bandwidth-gddr6")
    (text,) = message.values()
    # 10^9 / 2^30
    assert text.startswith(f"{T4}:{line} ")
    assert "ratio 0.9313 the expectation counts in GiB, the figure is in GB (10^9 / 2^30)" in text


# ---- the text alone is enough


def test_what_the_text_says_to_write_makes_the_suite_green_again(shipped, verdicts):
    plant(shipped, "device", 64)
    id = f"{ORIN}::peak-tensor_core-int8"
    (text,) = verdicts(id).values()
    pattern = r"(\S+\.yaml):(\d+) units\.tensor_core\.macs_per_clock\.int8; write (\d+ MAC)"
    file, line, value = re.search(pattern, text).groups()
    lines = shipped.read(file).splitlines(keepends=True)
    lines[int(line) - 1] = re.sub(r"\d+ MAC", value, lines[int(line) - 1])
    shipped.write(file, "".join(lines))
    assert verdicts(ORIN) == {}
