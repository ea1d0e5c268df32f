"""The answer for one network and device, worked out by hand, and its longest products taken apart."""

import numpy as np
import pytest

from rooflint.answers import analyze
from rooflint.coefficients.library import Coefficients
from rooflint.energy.model import Energies
from rooflint.hardware.registry import Registry
from rooflint.prediction.comparison import Contender
from rooflint.prediction.cost import Amount
from rooflint.prediction.predict import Setting, predict
from rooflint.workloads.builders import mlp
from rooflint.workloads.load import network
from rooflint.workloads.tables import load_workload

REGISTRY = Registry()
ENERGIES = Energies(Coefficients(REGISTRY))


def times(network="torchvision/vit_b_16", device="nvidia/h100-sxm5-80gb", compute="bf16"):
    work = load_workload(network)
    return predict(REGISTRY.get(device), work, ENERGIES, Setting(compute, fidelity="silicon")).silicon


@pytest.mark.slow
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


# ---- the answer


def answered(device="nvidia/t4", sizes=(1024, 1024, 1024), batch=256, single=None, spent=(), **setting):
    """A multilayer perceptron on a device at the roofline, by default in FP16."""
    hardware, chosen = REGISTRY.get(device), Setting(**{"compute": "fp16", "cached": False, **setting})
    runs = [predict(hardware, mlp(list(sizes)).at_batch(number), ENERGIES, chosen) for number in (batch, single or 1)]
    return analyze.answer(Contender(hardware, runs[0]), chosen, runs[1] if single else None, spent)


def rows(found, heading):
    (one,) = [section for section in found.sections if section.heading == heading]
    return one.table.rows


def row(found, heading, first):
    (one,) = [rest for name, *rest in rows(found, heading) if name == first]
    return one


def test_the_time_of_two_equal_layers_is_that_of_their_bytes_and_launches():
    # T4: 65.13 TFLOP/s, 320 GB/s, 2.1 µs a launch. A layer of 1024 × 1024 at batch 256:
    # 2 × 256 × 1024² op = 8.24 µs; 2 B × (1024² + 1024 + 2 × 256 × 1024) = 3.148 MB = 9.84 µs
    found = answered(single=1)
    assert found.title == "mlp-1024-1024-1024 on nvidia/t4"
    assert rows(found, "Time") == (
        ("batch latency", "23.87 µs", "2 kernels"),
        ("with active units only", "24.81 µs", "1.04 × as long: idle slots of waves and padding count"),
        ("throughput", "10,723,142/s", "batch 256"),
        ("batch efficiency", "72.7 %", "throughput over 256 × that of batch 1"),
        ("attained", "44.98 TFLOP/s", "69.1 % of 65.13 TFLOP/s"),
        ("bandwidth", "263.7 GB/s", "82.4 % of 320 GB/s"),
        ("intensity", "170.6 op/B", "left of the breakpoint at 203.5"),
    )
    assert found.record.waits_s.model_dump() == pytest.approx({"compute": 0, "memory": 19.6736e-6, "launch": 4.2e-6})
    assert found.record.batch_efficiency == pytest.approx(0.7266, abs=1e-4)


def test_one_sample_is_not_compared_with_itself():
    names = [name for name, *_ in rows(answered(batch=1, single=1), "Time")]
    assert "batch efficiency" not in names
    assert answered(batch=4).record.batch_efficiency is None


def test_a_network_of_many_samples_is_right_of_the_breakpoint():
    # 2 × 1024 × 4096² op over 2 B × (4096² + 4096 + 2 × 1024 × 4096) = 682.6 op/B
    found = answered(sizes=(4096, 4096), batch=1024)
    assert row(found, "Time", "intensity") == ["682.6 op/B", "right of the breakpoint at 203.5"]


def test_the_units_are_those_of_the_allocation_or_the_reason_why_none_is_known():
    # 256 × 2048 in tiles of 64 × 128: 64 on 40 SM; 256 × 64 in tiles of 64 × 64: 4 for 24 % of the time
    found = answered(sizes=(1024, 2048, 64))
    assert row(found, "Units", "active") == ["31.4/40 SM", "78.6 % on average, in kernels with 100 % of the latency"]
    assert row(found, "Units", "waves") == ["2", "maximum over kernels"]
    assert row(found, "Units", "padding") == ["0 %", "of the computed work, time-weighted"]
    # 1 of 16 rows of a tile is filled
    one = answered("stillwater/kpu-t256", (1024, 1024), 1, compute="int8")
    assert row(one, "Units", "padding")[0] == "93.8 %"


def test_the_slowest_kernels_come_first_with_their_share_of_the_time():
    # 18.04 and 4.20 µs in memory, 2.1 µs each to launch
    assert rows(answered(sizes=(1024, 2048, 64)), "Where the time goes") == (
        ("fc1 (linear)", "20.14 µs", "76.2 %", "memory", "40/40 SM",
         "64 output tiles of 64 × 128 in 2 waves of 40, 24 SM in the last"),
        ("fc2 (linear)", "6.299 µs", "23.8 %", "memory", "4/40 SM", "4 output tiles of 64 × 64"),
    )  # fmt: skip
    ((name, seconds, share, *_),) = rows(answered(), "Where the time goes")
    assert (name, seconds, share) == ("fc1 (linear) and 1 identical", "11.94 µs", "100 %")


def test_no_more_than_ten_kinds_of_kernels_are_listed():
    found = answered(sizes=[64 * number for number in range(1, 14)])
    assert len(rows(found, "Where the time goes")) == 10


def test_energy_is_told_per_inference_with_its_range_and_beside_the_tdp():
    # 4.194 Mop × (0.3472 + 1.1403 pJ) are 6.24 µJ of an inference; 36 W × 23.87 µs / 256 = 3.357 µJ
    found = answered()
    assert row(found, "Energy", "per inference") == ["12.01 µJ", "7.045 µJ … 13.28 µJ over the range of the sources"]
    assert row(found, "Energy", "per batch") == ["3.074 mJ", "256 inferences"]
    assert row(found, "Energy", "power") == ["128.8 W", "184 % of its 70 W (TDP)"]
    product = "69.1 % of the peak (sweet spot 40 to 80); × op/J = 241.2 GOP/s/W"  # 0.6906 × 349.3
    assert row(found, "Energy", "zone") == ["sweet spot", product]
    assert row(found, "Terms", "arithmetic")[:4] == ["1.456 µJ", "4.194e+06 op", "0.3472 pJ", ""]
    assert row(found, "Terms", "datapath")[:4] == ["4.783 µJ", "4.194e+06 op", "1.14 pJ", "0 J … 1.14 pJ"]
    assert row(found, "Terms", "idle power")[:4] == ["3.357 µJ", "9.326e-08 s", "36 W", ""]
    assert found.record.power_efficiency_ops_per_j == pytest.approx(0.690597 * 349.2536e9, rel=1e-5)


def test_what_a_device_does_not_tell_is_left_out_of_its_answer():
    without_power, without_node = answered("apple/m2", compute="fp32"), answered("google/tpu-v5e", compute="int8")
    assert row(without_power, "Energy", "power")[1] == "TDP not known"
    assert "Energy" not in [one.heading for one in without_node.sections]
    assert without_node.record.power_efficiency_ops_per_j is None
    assert [one.energy_j for one in without_node.record.per_kernel] == [None, None]


def test_memory_is_what_weights_and_the_largest_activations_take():
    # 2 B × 2 × (1024² + 1024) of weights; 2 B × 256 × 2048 of activations; a T4 has 16 GB
    assert rows(answered(), "Memory") == (
        ("peak", "5.247 MB", "weights and peak activations"),
        ("activations", "1.049 MB", "at fc1"),
        ("weights", "4.198 MB", "read once per batch"),
        ("gddr6", "16 GB", "0.0328 % used"),
    )
    # 2 × 65536² + 32768 × 65536 weights are 21.5 GB
    large = answered(sizes=(65536, 65536, 65536, 32768), batch=1)
    assert row(large, "Memory", "gddr6") == ["16 GB", "does NOT fit: needs 1.34 × as much"]


def test_weights_that_a_cache_keeps_are_not_said_to_be_read():
    # 4.2 MB fit the 50 MB of the L2 of an H100, and not the 4 MiB of a T4
    kept = answered("nvidia/h100-sxm5-80gb", cached=True)
    assert row(kept, "Memory", "weights")[1].startswith("kept in a cache between batches")
    assert row(answered("nvidia/h100-sxm5-80gb"), "Memory", "weights")[1] == "read once per batch"
    assert row(answered(cached=True), "Memory", "weights")[1] == "read once per batch"


def test_experts_that_are_not_asked_are_not_said_to_be_kept():
    net = network("mixtral-8x7b", prompt=1, past=64)  # two of eight experts are read
    chosen = Setting(compute="bf16")
    found = predict(REGISTRY.get("amd/mi300x"), net, ENERGIES, chosen)
    told = analyze.answer(Contender(found.hardware, found), chosen, None, ())
    assert row(told, "Memory", "weights")[1] == "read once per batch"


def test_amounts_of_money_are_told_where_they_are_known():
    spent = [Amount("power bill", 12.5, "USD", "0.1 USD/kWh"), Amount("carbon", None, "kg", "no grid given")]
    assert rows(answered(spent=spent), "Money and carbon") == (
        ("power bill", "12.5 USD", "0.1 USD/kWh"),
        ("carbon", "—", "no grid given"),
    )
    assert "Money and carbon" not in [one.heading for one in answered().sections]


def test_every_kernel_is_a_point_under_the_roof_launches_included():
    (roofline,) = [one for one in answered(sizes=(1024, 2048, 64)).sections if one.heading == "Roofline"]
    # 2 × 256 × 2048 × 64 op = 67.1 Mop over 1.3436 MB: 49.95 op/B; in 6.299 µs 10.65 TOP/s
    second = roofline.points[1]
    assert (second.label, second.roof) == ("fc2", "t4")
    assert second.intensity_ops_per_byte == pytest.approx(49.946, abs=1e-3)
    assert second.attained_ops_per_s == pytest.approx(10.654e12, rel=1e-4)
    assert second.weight == pytest.approx(0.2383, abs=1e-4)


def test_the_record_has_a_row_for_each_kernel():
    first, second = answered(sizes=(1024, 2048, 64)).record.per_kernel
    assert (first.kernel, first.kind, first.model, first.ops) == ("fc1", "linear", "roofline", 2 * 256 * 1024 * 2048)
    assert second.bytes_moved == 2 * (2048 * 64 + 64 + 256 * (2048 + 64))
    assert (second.compute_s, second.memory_s) == pytest.approx((67.1e6 / 65.1264e12, 1.3436e6 / 320e9), rel=1e-3)
    assert (second.launch_s, second.bound) == (pytest.approx(2.1e-6), "memory")
    assert (second.units, second.total_units, second.unit, second.blocks, second.waves) == (4, 40, "SM", 4, 1)


def test_calibrated_times_are_listed_by_the_model_that_gives_them():
    # on an L40S 2 × 3.148 MB take 7.286 µs at 864 GB/s and half as long in arithmetic
    found = answered("nvidia/l40s", compute="bf16", fidelity="silicon")
    silicon = predict(REGISTRY.get("nvidia/l40s"), mlp([1024] * 3).at_batch(256), ENERGIES,
                      Setting("bf16", fidelity="silicon", cached=False)).silicon  # fmt: skip
    (model, kernels, seconds, share, longer, basis) = rows(found, "Kernel models")[0]
    assert (model, kernels, share) == ("product", "2", "100 %")
    assert seconds == f"{found.record.latency_s * 1e6:.2f} µs"
    assert float(longer) == pytest.approx(silicon.work_s.sum() / (2 * 3147776 / 864e9), rel=5e-3)
    assert basis.startswith("calibrated on bf16 products")
    ((name, shape, each, _, _),) = rows(found, "Slowest matrix products")
    assert (name, shape) == ("fc1 and 1 identical", "256 × 1024 × 1024")
    assert float(each.removesuffix(" µs")) == pytest.approx(found.record.latency_s / 2 * 1e6, rel=1e-3)
    assert "with active units only" not in [name for name, *_ in rows(found, "Time")]
