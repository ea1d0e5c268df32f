"""Hardware: derived figures by hand on shipped devices, then the shapes that hold for every device."""

from dataclasses import FrozenInstanceError, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.hardware.device import UndisclosedError, UnsupportedError, working_peak_ops_per_s, working_units
from rooflint.hardware.registry import Registry

REGISTRY = Registry()
DEVICES = {device: REGISTRY.get(device) for device in REGISTRY.ids()}
#: (device, unit, precision) of every peak that can be derived, (device, memory) of every bandwidth.
RATES = [
    (device, unit.name, precision)
    for device, hardware in DEVICES.items()
    for unit in hardware.units.values()
    for precision in unit.precisions
    if not unit.undisclosed
]
BANDWIDTHS = [
    (device, memory.name)
    for device, hardware in DEVICES.items()
    for memory in hardware.memories.values()
    if memory.has_bandwidth
]


def get(name):
    return REGISTRY.get(name)


H100, T4, ORIN = get("nvidia/h100-sxm5-80gb"), get("nvidia/t4"), get("nvidia/jetson-agx-orin-64gb")
MI250X, HAILO = get("amd/mi250x"), get("hailo/hailo-8")


def exactly(value):
    return pytest.approx(value, rel=1e-12, abs=0)


# -------------------------------------------------------------------------------------------------------------- by hand


@pytest.mark.parametrize(
    ("device", "unit", "precision", "ops_per_s"),
    [
        # 132 SM × 4 × 512 MAC × 2 × 1.83 GHz = 989.43 TFLOP/s
        ("nvidia/h100-sxm5-80gb", "tensor_core", "fp16", 989.42976e12),
        # 132 SM × 4 × 1024 MAC × 2 × 1.83 GHz = 1978.86 TOP/s
        ("nvidia/h100-sxm5-80gb", "tensor_core", "int8", 1978.85952e12),
        # FP64 runs at its own clock: 132 × 4 × 32 × 2 × 1.98 GHz = 66.91 TFLOP/s
        ("nvidia/h100-sxm5-80gb", "tensor_core", "fp64", 66.908160e12),
        # 132 × 128 × 1 × 2 × 1.98 GHz = 66.91 TFLOP/s
        ("nvidia/h100-sxm5-80gb", "cuda_core", "fp32", 66.908160e12),
        # 108 × 64 × 1 × 2 × 1.41 GHz = 19.49 TFLOP/s
        ("nvidia/a100-sxm4-80gb", "cuda_core", "fp32", 19.491840e12),
        # 40 × 8 × 128 × 2 × 1.59 GHz = 130.25 TOP/s
        ("nvidia/t4", "tensor_core", "int8", 130.2528e12),
        # 16 × 4 × 512 × 2 × 1.3005 GHz = 85.23 TOP/s
        ("nvidia/jetson-agx-orin-64gb", "tensor_core", "int8", 85.229568e12),
        # two engines: 2 × 1 × 8192 × 2 × 1.6 GHz = 52.43 TOP/s
        ("nvidia/jetson-agx-orin-64gb", "dla", "int8", 52.4288e12),
        # 220 × 4 × 128 × 2 × 1.7 GHz = 382.98 TFLOP/s
        ("amd/mi250x", "matrix_core", "fp16", 382.976e12),
        # 256 × 4 × 1024 × 2 × 2.4 GHz = 5033.16 TFLOP/s
        ("amd/mi355x", "matrix_core", "fp8", 5033.1648e12),
        # GeForce halves what accumulates in FP32: 76 × 4 × 64 × 2 × 2.505 GHz = 97.475 TFLOP/s
        ("nvidia/rtx-4080", "tensor_core", "fp16", 97.47456e12),
        # a workstation board of the same generation does not: 142 × 4 × 128 × 2 × 2.505 GHz = 364.24 TFLOP/s
        ("nvidia/rtx-6000-ada", "tensor_core", "fp16", 364.24704e12),
        # two FP64 lanes' worth: 132 × 64 × 1/32 × 2 × 1.98 GHz = 1.045 TFLOP/s
        ("nvidia/h800-sxm5-80gb", "fp64_core", "fp64", 1.04544e12),
        # four products a lane: 30 × 128 × 4 × 2 × 1.531 GHz = 47.03 TOP/s
        ("nvidia/p40", "cuda_core", "int8", 47.03232e12),
        # 2 × 4 × 128² × 2 × 1.05 GHz = 275.25 TFLOP/s
        ("google/tpu-v4", "mxu", "bf16", 275.2512e12),
    ],
)
def test_a_peak_is_groups_by_units_by_macs_by_two_by_the_clock(device, unit, precision, ops_per_s):
    assert get(device).unit(unit).peak_ops_per_s(precision) == exactly(ops_per_s)


@pytest.mark.parametrize(
    ("device", "group", "formula", "groups"),
    [
        ("nvidia/h100-sxm5-80gb", "SM", "144 SM", 144),
        # two graphics compute dies: 112 × 2
        ("amd/mi250x", "CU", "112 CU × 2 die", 224),
        # eight accelerator complex dies: 40 × 8
        ("amd/mi300x", "CU", "40 CU × 8 die", 320),
    ],
)
def test_the_silicon_has_the_groups_of_a_full_die_on_each_of_its_dies(device, group, formula, groups):
    ladder = get(device).full_groups(group)
    assert (ladder.formula, ladder.result) == (formula, groups)


def test_where_nobody_says_what_a_full_die_has_there_is_no_count():
    assert H100.full_groups("CU") is None
    assert HAILO.full_groups("core") is None


def test_a_derivation_reads_as_one_multiplies():
    ladder = H100.unit("tensor_core").derivation("fp16")
    assert ladder.formula == "132 SM × 4 tensor_core × 512 MAC/clock × 2 op/MAC × 1830 MHz"
    assert [factor.name for factor in ladder.factors] == [
        "groups",
        "per_group",
        "macs_per_clock",
        "ops_per_mac",
        "clock",
    ]
    assert [fact.path for fact in ladder.facts] == [
        "units.tensor_core.groups",
        "units.tensor_core.per_group",
        "units.tensor_core.macs_per_clock.fp16",
        "units.tensor_core.clock",
    ]


def test_a_precision_with_its_own_clock_cites_that_clock():
    ladder = H100.unit("tensor_core").derivation("fp64")
    assert ladder.facts[-1].path == "units.tensor_core.clock_of.fp64"
    assert H100.unit("tensor_core").clock_hz("fp64") == 1.98e9
    assert H100.unit("tensor_core").clock_hz("fp16") == 1.83e9


def test_sparsity_is_one_more_factor():
    # 2 × 85.23 = 170.46 TOP/s, which the data sheet prints as 170
    sparse = ORIN.unit("tensor_core").derivation("int8", sparse=True)
    assert sparse.result == exactly(2 * 85.229568e12)
    assert sparse.formula.endswith(" × 2 (sparse)")
    assert sparse.factors[-1].value == 2


def test_orin_at_30_watts_has_half_its_sms_and_a_lower_clock():
    # 8 × 4 × 512 × 2 × 612 MHz = 20.05 TOP/s
    assert ORIN.at("30w").unit("tensor_core").peak_ops_per_s("int8") == exactly(20.054016e12)
    # 256 bit / 8 × 6.398 Gbit/s = 204.736 GB/s
    assert ORIN.at("30w").memory("lpddr5").bandwidth_bytes_per_s == exactly(204.736e9)


@pytest.mark.parametrize(
    ("device", "memory", "bytes_per_s"),
    [
        ("nvidia/t4", "gddr6", 320e9),  # 256 bit / 8 × 10 Gbit/s
        ("nvidia/h100-sxm5-80gb", "hbm3", 3352.32e9),  # 5120 / 8 × 5.238
        ("nvidia/jetson-agx-orin-64gb", "lpddr5", 204.8e9),  # 256 / 8 × 6.4
        ("amd/mi250x", "hbm2e", 3276.8e9),  # 8192 / 8 × 3.2
        ("google/tpu-v4", "hbm2", 1200e9),  # typed: bus and rate are not printed
    ],
)
def test_a_bandwidth_is_the_bus_by_the_rate_of_a_pin_over_eight(device, memory, bytes_per_s):
    assert get(device).memory(memory).bandwidth_bytes_per_s == exactly(bytes_per_s)


def test_a_bandwidth_reads_as_one_multiplies():
    assert T4.memory("gddr6").derivation().formula == "256 bit × 10.0 Gbit/s × 1/8 B/bit"
    assert get("google/tpu-v4").memory("hbm2").derivation().formula == "1200 GB/s"


def test_an_mi250x_is_two_devices_to_a_program():
    # 382.976 TFLOP/s / 2 = 191.488 a GCD, and 3276.8 / 2 = 1638.4 GB/s
    parts = MI250X.facts["parts.gcd"].value
    assert MI250X.unit("matrix_core").peak_ops_per_s("fp16") / parts == exactly(191.488e12)
    assert MI250X.memory("hbm2e").bandwidth_bytes_per_s / parts == exactly(1638.4e9)


def test_units_are_counted():
    # 132 × 128 = 16 896 CUDA cores
    assert H100.unit("cuda_core").count == 16_896
    assert H100.unit("cuda_core").count_ladder().result == 16_896
    assert H100.unit("cuda_core").count_ladder().formula == "132 SM × 128 cuda_core"


def test_capacities_are_decimal_or_binary_as_their_source_prints_them():
    assert H100.memory("hbm3").capacity_bytes == 80e9
    assert get("google/tpu-v4").memory("hbm2").capacity_bytes == 32 * 2**30
    assert H100.caches["l2"].value == 50 * 2**20


def test_a_device_says_what_it_is():
    assert (H100.kind, H100.scope, H100.die, H100.compute_capability) == ("gpu", "package", "GH100", "9.0")
    assert H100.tdp_w == 700
    assert HAILO.tdp_w is None
    assert H100.unit("tensor_core").circuit == "tensor_core"
    assert H100.mode is None


# ------------------------------------------------------------------------------------------------ what a device has not


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda: T4.unit("dla"), "nvidia/t4 has no unit 'dla' (has: tensor_core, cuda_core, fp64_core)"),
        (lambda: T4.memory("hbm"), "nvidia/t4 has no memory 'hbm' (has: gddr6)"),
        (lambda: T4.at("30w"), "nvidia/t4 has no operating point '30w' (has: none)"),
        (lambda: ORIN.at("40w"), "nvidia/jetson-agx-orin-64gb has no operating point '40w' (has: maxn, 50w, 30w, 15w)"),
        (
            lambda: T4.unit("tensor_core").peak_ops_per_s("fp8"),
            "tensor_core does not support fp8 (has: fp16, int8, int4)",
        ),
        (
            lambda: T4.unit("tensor_core").derivation("fp16", sparse=True),
            "tensor_core has no structured sparsity in fp16 (has: none)",
        ),
        (
            lambda: H100.unit("tensor_core").derivation("fp64", sparse=True),
            "tensor_core has no structured sparsity in fp64 (has: tf32, bf16, fp16, fp8, int8)",
        ),
        (lambda: T4.unit("tensor_core").fact("bus"), "tensor_core has no fact 'bus'"),
        (lambda: T4.memory("gddr6").fact("clock"), "gddr6 has no fact 'clock' (has: capacity, bus, pin_rate, ecc)"),
        (lambda: T4.best_unit("fp8"), "nvidia/t4 does not support fp8 (has: fp16, fp32, fp64, int4, int8)"),
        (HAILO.main_memory, "hailo/hailo-8 has no memory with a known bandwidth"),
    ],
)
def test_what_a_device_does_not_have_is_said_with_what_it_has(ask, sentence):
    with pytest.raises(UnsupportedError) as caught:
        ask()
    assert str(caught.value) == sentence


REASON = "Hailo publishes neither MAC count nor clock; its 26 TOP/s cannot be derived"


@pytest.mark.parametrize(
    ("ask", "what"),
    [
        (lambda: HAILO.unit("nn_core").peak_ops_per_s("int8"), "macs_per_clock.int8"),
        (lambda: HAILO.unit("nn_core").groups, "groups"),
        (lambda: HAILO.unit("nn_core").clock_hz("int8"), "clock"),
        (lambda: HAILO.best_unit("int8"), "macs_per_clock.int8"),
    ],
)
def test_what_a_vendor_does_not_disclose_is_not_derived_and_says_why(ask, what):
    with pytest.raises(UndisclosedError) as caught:
        ask()
    assert str(caught.value) == f"nn_core.{what} is undisclosed: {REASON}"


def test_an_undisclosed_part_leaves_the_rest_alone():
    # Xavier's DLA clock is not printed; its tensor cores are: 8 × 8 × 128 × 2 × 1.377 GHz = 22.56 TOP/s
    xavier = get("nvidia/jetson-agx-xavier-32gb")
    assert xavier.best_unit("int8").name == "tensor_core"
    assert xavier.unit("tensor_core").peak_ops_per_s("int8") == exactly(22.560768e12)
    with pytest.raises(UndisclosedError, match=r"dla\.clock is undisclosed: no clock is printed"):
        xavier.unit("dla").fact("clock")


# ------------------------------------------------------------------------------------------------------------ best unit


@pytest.mark.parametrize(
    ("device", "precision", "unit"),
    [
        (H100, "fp64", "tensor_core"),  # 66.9 against 33.5 TFLOP/s of the FP64 lanes
        (H100, "fp32", "cuda_core"),
        (ORIN, "int8", "tensor_core"),  # 85.2 against 52.4 TOP/s of the DLAs
        (T4, "fp64", "fp64_core"),
        (MI250X, "fp64", "matrix_core"),
    ],
)
def test_the_best_unit_is_the_one_with_the_highest_peak(device, precision, unit):
    assert device.best_unit(precision).name == unit


def test_the_best_unit_follows_the_operating_point():
    # at 30 W 8 × 4 × 512 × 2 × 612 MHz = 20.05 TOP/s, and the DLAs 2 × 8192 × 2 × 1369.6 MHz = 44.88
    assert ORIN.at("30w").best_unit("int8").name == "dla"


def test_no_unit_stands_in_for_a_precision_that_none_has():
    for device in DEVICES.values():
        able = {precision for unit in device.units.values() for precision in unit.precisions}
        for precision in {"fp4", "int1", "fp8"} - able:
            with pytest.raises((UnsupportedError, UndisclosedError)):
                device.best_unit(precision)


def test_a_hidden_clock_of_one_unit_does_not_hide_what_the_device_cannot_do(specs):
    # tc's clock is undisclosed, cc is complete: neither computes fp64, and the message must count both
    device = specs.device(
        "units:\n"
        "  tc: {group: SM, groups: [2, wp, p], per_group: [4, wp, p], macs_per_clock: {fp16: [8 MAC, wp, p]}}\n"
        "  cc: {group: SM, groups: [2, wp, p], per_group: [4, wp, p], clock: [1 GHz, wp, p],"
        " macs_per_clock: {fp32: [1 MAC, wp, p]}}\n"
        "undisclosed: {units.tc.clock: no clock is printed}\n"
    )
    with pytest.raises(UnsupportedError) as caught:
        device.best_unit("fp64")
    assert str(caught.value) == "acme/one does not support fp64 (has: fp16, fp32)"


def test_a_hidden_rate_is_found_behind_a_hidden_clock(specs):
    # nobody can tell whether nn computes int8, whatever is hidden of tc
    device = specs.device(
        "units:\n"
        "  tc: {group: SM, groups: [2, wp, p], per_group: [4, wp, p], macs_per_clock: {fp16: [8 MAC, wp, p]}}\n"
        "  nn: {group: chip}\n"
        "undisclosed: {units.tc.clock: no clock is printed, units.nn: nothing is printed}\n"
    )
    with pytest.raises(UndisclosedError) as caught:
        device.best_unit("int8")
    assert str(caught.value) == "nn.macs_per_clock.int8 is undisclosed: nothing is printed"


def test_the_main_memory_is_the_one_with_most_bandwidth(specs):
    device = specs.device(
        "memories:\n"
        "  ddr5: {bandwidth: [90 GB/s, wp, p]}\n"
        "  hbm: {bandwidth: [900 GB/s, wp, p]}\n"
        "  flash: {capacity: [1 TB, wp, p]}\n"
    )
    assert device.main_memory().name == "hbm"


# ---------------------------------------------------------------------------------------- frozen values and new devices


def test_an_operating_point_is_a_new_device():
    slow = ORIN.at("30w")
    assert (slow.mode, ORIN.mode) == ("30w", None)
    assert (slow.tdp_w, ORIN.tdp_w) == (30, 60)
    assert (slow.unit("tensor_core").groups, ORIN.unit("tensor_core").groups) == (8, 16)
    assert slow.id == ORIN.id
    assert slow.facts["units.tensor_core.clock"].where == "GPU MAX_FREQ"


def test_an_operating_point_keeps_what_it_does_not_set():
    assert ORIN.at("30w").memory("lpddr5").capacity_bytes == 64e9


def test_an_operating_point_replaces_the_one_before_it():
    # MAXN sets no TDP, so a device at MAXN has that of the module and not the 30 W of the mode that it left
    watts = [ORIN.at("maxn").tdp_w, ORIN.at("30w").at("maxn").tdp_w]
    assert watts == [60, 60]


def test_devices_are_frozen():
    with pytest.raises(FrozenInstanceError):
        H100.name = "other"
    with pytest.raises(FrozenInstanceError):
        H100.unit("tensor_core").group = "CU"


@given(st.sampled_from(sorted(DEVICES)), st.data(), st.floats(0.01, 100))
def test_facts_on_a_copy_leave_the_device_alone(name, data, factor):
    device = DEVICES[name]
    path = data.draw(st.sampled_from(sorted(device.facts)))
    before = dict(device.facts)
    copy = device.with_facts({path: device.facts[path].with_value(device.facts[path].value * factor)})
    assert dict(device.facts) == before
    assert copy.facts[path].value == exactly(before[path].value * factor)
    assert {other: fact for other, fact in copy.facts.items() if other != path} == {
        other: fact for other, fact in before.items() if other != path
    }
    assert replace(copy, facts=device.facts) == device


def test_units_of_a_copy_are_computed_anew():
    # the original's units were asked for, and cached, before
    assert H100.unit("tensor_core").groups == 132
    copy = H100.with_facts({"units.tensor_core.groups": H100.facts["units.tensor_core.groups"].with_value(66)})
    assert copy.unit("tensor_core").peak_ops_per_s("fp16") == exactly(
        H100.unit("tensor_core").peak_ops_per_s("fp16") / 2
    )
    assert H100.unit("tensor_core").groups == 132


# ---------------------------------------------------------------------------------------- what holds for every device


@given(st.sampled_from(RATES))
def test_a_peak_is_the_product_of_its_facts_and_two(rate):
    device, unit, precision = DEVICES[rate[0]], DEVICES[rate[0]].unit(rate[1]), rate[2]
    facts = device.facts
    clock = facts.get(f"units.{unit.name}.clock_of.{precision}", facts.get(f"units.{unit.name}.clock"))
    by_hand = facts[f"units.{unit.name}.groups"].value * facts[f"units.{unit.name}.per_group"].value
    by_hand *= facts[f"units.{unit.name}.macs_per_clock.{precision}"].value * 2 * clock.value
    assert unit.peak_ops_per_s(precision) == unit.derivation(precision).result == exactly(by_hand)


@given(st.sampled_from(RATES), st.floats(0.5, 2), st.data())
def test_a_peak_is_proportional_to_each_of_its_facts(rate, factor, data):
    device, unit, precision = DEVICES[rate[0]], DEVICES[rate[0]].unit(rate[1]), rate[2]
    fact = data.draw(st.sampled_from(unit.derivation(precision).facts))
    scaled = device.with_facts({fact.path: fact.with_value(fact.value * factor)})
    assert scaled.unit(unit.name).peak_ops_per_s(precision) == exactly(unit.peak_ops_per_s(precision) * factor)


@given(st.sampled_from(RATES))
def test_sparsity_never_lowers_a_peak(rate):
    unit, precision = DEVICES[rate[0]].unit(rate[1]), rate[2]
    if f"sparsity.{precision}" in unit.facts:
        sparse = unit.derivation(precision, sparse=True).result
        assert sparse == exactly(unit.peak_ops_per_s(precision) * unit.fact(f"sparsity.{precision}").value)
        assert sparse >= unit.peak_ops_per_s(precision)
    else:
        with pytest.raises(UnsupportedError):
            unit.derivation(precision, sparse=True)


@given(st.sampled_from(RATES))
def test_every_peak_is_physical(rate):
    # from a lane of a small core to a rack's worth in one package; a slip of a prefix leaves it
    unit, precision = DEVICES[rate[0]].unit(rate[1]), rate[2]
    assert 1e8 < unit.peak_ops_per_s(precision) < 1e17
    assert unit.count == unit.groups * unit.per_group == unit.count_ladder().result


@given(st.sampled_from(BANDWIDTHS))
def test_a_bandwidth_is_bits_by_rate_over_eight_or_the_one_fact(pair):
    memory = DEVICES[pair[0]].memory(pair[1])
    ladder = memory.derivation()
    if "bus" in memory.facts:
        bits, rate = memory.fact("bus").value * 8, memory.fact("pin_rate").value * 8
        assert memory.bandwidth_bytes_per_s == exactly(bits * rate / 8)
    else:
        assert memory.bandwidth_bytes_per_s == memory.fact("bandwidth").value
    assert ladder.result == memory.bandwidth_bytes_per_s


@given(st.sampled_from(sorted(DEVICES)))
def test_the_best_unit_of_a_precision_beats_all_others(name):
    device = DEVICES[name]
    for precision in {precision for unit in device.units.values() for precision in unit.precisions}:
        able = [unit for unit in device.units.values() if precision in unit.precisions]
        if any(f"units.{unit.name}.clock" in device.undisclosed for unit in able):
            with pytest.raises(UndisclosedError, match="clock is undisclosed"):
                device.best_unit(precision)
            continue
        assert device.best_unit(precision).peak_ops_per_s(precision) == max(u.peak_ops_per_s(precision) for u in able)


@given(st.sampled_from([(name, mode) for name, device in DEVICES.items() for mode in device.operating_points]))
def test_every_operating_point_is_the_device_with_the_facts_of_the_point(point):
    device, mode = DEVICES[point[0]], point[1]
    assert device.at(mode) == replace(device.with_facts(device.operating_points[mode]), mode=mode)
    assert device.mode is None


# ---- Processor: which units of a device a network's arithmetic runs on


def names(device, compute):
    return [unit.name for unit in working_units(REGISTRY.get(device), compute)]


def test_a_gpu_works_with_its_matrix_units_where_they_compute_in_the_precision():
    assert names("nvidia/a100-sxm4-80gb", "fp16") == ["tensor_core"]
    assert names("nvidia/a100-sxm4-80gb", "fp32") == ["cuda_core"]


def test_the_accelerators_of_a_module_are_other_processors():
    # at 30 W the two DLAs have the higher INT8 peak, but the device of that name is its GPU
    orin = REGISTRY.get("nvidia/jetson-agx-orin-64gb").at("30w")
    assert orin.best_unit("int8").name == "dla"
    assert [unit.name for unit in working_units(orin, "int8")] == ["tensor_core"]


def test_the_tiles_of_an_array_work_together():
    # KPU-T256 at 1.4 GHz: (26 × 4096 + 179 × 256) MAC × 2 × 1.4 GHz = 426.5 TOP/s
    kpu = REGISTRY.get("stillwater/kpu-t256")
    assert [unit.name for unit in working_units(kpu, "int8")] == ["matrix_tile", "int8_tile"]
    assert working_peak_ops_per_s(kpu, "int8") == pytest.approx((26 * 4096 + 179 * 256) * 2 * 1.4e9, rel=1e-12, abs=0)


def test_the_peak_of_one_kind_of_unit_is_its_own():
    t4 = REGISTRY.get("nvidia/t4")
    assert working_peak_ops_per_s(t4, "int8") == t4.unit("tensor_core").peak_ops_per_s("int8")


def test_what_the_device_cannot_is_refused_with_what_it_can():
    with pytest.raises(
        UnsupportedError, match=r"^nvidia/t4 does not support fp8 \(has: fp16, fp32, fp64, int4, int8\)$"
    ):
        working_units(REGISTRY.get("nvidia/t4"), "fp8")


def test_what_another_processor_of_the_module_can_is_refused_with_its_place():
    orin = REGISTRY.get("nvidia/jetson-agx-orin-64gb")
    others = {name for unit in orin.units.values() for name in unit.precisions}
    own = {name for unit in orin.units.values() if unit.group == "SM" for name in unit.precisions}
    for precision in others - own:
        with pytest.raises(UnsupportedError, match=f"does not support {precision} on its SM"):
            working_units(orin, precision)


def test_what_nobody_can_know_is_said():
    with pytest.raises(UndisclosedError):
        working_units(REGISTRY.get("hailo/hailo-8"), "int8")


@pytest.mark.slow
@pytest.mark.parametrize("device", REGISTRY.ids())
def test_working_units_compute_in_the_precision_on_every_device(device):
    hardware = REGISTRY.get(device)
    for precision in {name for unit in hardware.units.values() for name in unit.precisions}:
        try:
            found = working_units(hardware, precision)
        except (UnsupportedError, UndisclosedError):
            continue
        assert all(precision in unit.precisions for unit in found)
        assert max(found, key=lambda unit: unit.peak_ops_per_s(precision)) is found[0]


def test_a_gpu_whose_thread_groups_are_not_stated_takes_its_fastest_unit():
    t4 = REGISTRY.get("nvidia/t4")
    plain = replace(t4, facts={path: fact for path, fact in t4.facts.items() if not path.startswith("resident_warps.")})
    assert working_units(plain, "fp16") == (plain.units["tensor_core"],)
