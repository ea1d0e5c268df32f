"""What we ship of events, idle power and launches: laws that tie it to other figures, and slips planted on each."""

from collections.abc import Iterator

import pytest

from rooflint.base.errors import InputError
from rooflint.base.facts import GRADES, Fact
from rooflint.coefficients.library import Coefficients, Events
from rooflint.coefficients.ranges import Range, UnknownCoefficientError, reading_of
from rooflint.hardware.device import KINDS as DEVICE_KINDS
from rooflint.hardware.registry import Registry

SHIPPED = Coefficients(Registry())
KINDS = SHIPPED.ids("events")
EVENTS = [(kind, name) for kind in KINDS for name in SHIPPED.events(kind).spec.events]
FACTS = [(kind, fact) for kind in KINDS for fact in SHIPPED.events(kind).facts.values()]
PUBLISHED = [
    (kind, fact) for kind, fact in FACTS if fact.path.startswith("events.") and fact.source.grade != "estimate"
]


def planted(fact: Fact, factor: float) -> Coefficients:
    """What we ship, with one fact of it that slipped."""
    lines = fact.file.read_text(encoding="utf-8").splitlines(keepends=True)
    old, new = f"[{fact.display},", f"[{fact.with_value(fact.value * factor).display},"
    assert lines[fact.line - 1].count(old) == 1
    lines[fact.line - 1] = lines[fact.line - 1].replace(old, new)
    return Coefficients(SHIPPED.registry.with_texts({fact.file: "".join(lines)}))


def at_45_nm(events: Events, name: str) -> Range:
    """What documents say of an event at 45 nm, whatever the node of its best reading."""
    at = f"events.{name}.readings"
    own = [one for one, reading in events.spec.events[name].readings.items() if reading.node == "45nm"]
    return Range(name, tuple(reading_of(one, events.facts, f"{at}.{one}") for one in own))


def laws(coefficients: Coefficients) -> Iterator[tuple[str, float, float, float]]:
    """A ratio that two documents, or two figures of one, tie down: what it is, its value, and between what."""
    node = coefficients.process("45nm")
    mac = {one: node.energy("multiply", one).typical + node.energy("add", one).typical for one in ("fp16", "fp32")}
    cpu, gpu = coefficients.events("cpu"), coefficients.events("gpu")
    at = {name: at_45_nm(cpu, name).typical for name in ("instruction", "fetch", "registers", "register")}
    # "FP is about a tenth of a simple instruction": 70 / 4.6 = 15
    yield "an instruction over an FP32 multiply and add", at["instruction"] / mac["fp32"], 8, 25
    # 25 pJ for an instruction, 20 for 64 bits of 32 KiB
    yield "a fetch over 64 bits of 32 KiB", at["fetch"] / (8 * node.energy("sram", "kib32").typical), 0.6, 2.5
    # two or three accesses of 1 pJ and more
    yield "registers of an instruction over an access", at["registers"] / at["register"], 2, 10
    retired = cpu.energy("retired")
    yield "the dearest light instruction over the cheapest", retired.high / retired.low, 1, 3
    lane = {name: at_45_nm(gpu, name).typical for name in ("instruction", "hfma", "hdp4a", "hmma", "imma")}
    # 1.1 + 0.4 = 1.5; four of them are 6; 64 are 96 and 512 of INT8, 0.2 + 0.1 each, are 154
    yield "HFMA over an FP16 multiply and add", lane["hfma"] / mac["fp16"], 0.95, 1.05
    yield "HDP4A over four of them", lane["hdp4a"] / (4 * mac["fp16"]), 0.95, 1.05
    yield "HMMA over 64 of them", lane["hmma"] / (64 * mac["fp16"]), 1, 1.3
    int8 = node.energy("multiply", "int8").typical + node.energy("add", "int32").typical
    yield "IMMA over 512 INT8 multiplies and adds", lane["imma"] / (512 * int8), 1, 1.3
    # printed beside them: 2000 %, 500 %, and of the sum 22 % and 16 %
    yield "overhead over HFMA", lane["instruction"] / lane["hfma"], 19.5, 20.5
    yield "overhead over HDP4A", lane["instruction"] / lane["hdp4a"], 4.9, 5.1
    for name, share in (("hmma", 0.22), ("imma", 0.16)):
        yield (
            f"overhead in {name}",
            lane["instruction"] / (lane["instruction"] + lane[name]),
            share - 0.01,
            share + 0.01,
        )
    yield "a register at 28 over one at 45 nm", gpu.energy("register").typical / at["register"], 0.4, 1.5
    yield "a register of a GPU over one of a CPU", at_45_nm(gpu, "register").typical / at["register"], 0.9, 1.1


def broken(coefficients: Coefficients) -> list[str]:
    return [what for what, ratio, low, high in laws(coefficients) if not low <= ratio <= high]


# ---- laws


def test_what_is_published_bears_itself_out():
    assert broken(SHIPPED) == []


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "fact"), PUBLISHED, ids=[fact.path for _, fact in PUBLISHED])
@pytest.mark.parametrize("factor", [8, 1 / 8, 16, 1 / 16])
def test_a_slip_of_a_published_energy_is_refused_or_breaks_a_law(kind, fact, factor):
    twin = planted(fact, factor)
    try:
        assert broken(twin) != []
    except InputError as error:
        assert {problem.file for problem in error.problems} == {fact.file}


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "fact"), FACTS, ids=[f"{kind}.{fact.path}" for kind, fact in FACTS])
def test_no_figure_is_believed_a_thousand_times_over(kind, fact):
    with pytest.raises(InputError):
        planted(fact, 1000).events(kind)


def test_no_launch_of_several_documents_is_believed_at_eight_times_the_highest():
    launches = SHIPPED.launches()
    seen = 0
    for path, fact in launches.facts.items():
        kind, vendor, mode = path.split(".")[1:4]
        found = launches.overhead(kind, vendor, mode)
        if len(found.readings) > 1:
            seen += 1
            with pytest.raises(InputError):
                planted(fact, 8 * found.high / fact.value).launches()
    assert seen == 6


@pytest.mark.parametrize(("kind", "name"), EVENTS)
def test_an_event_lies_within_its_ends_and_says_what_it_is(kind, name):
    events = SHIPPED.events(kind)
    found = events.energy(name)
    assert found.low <= found.typical <= found.high
    assert events.spec.events[name].what.endswith(".")


# ---- what there is


def test_every_kind_whose_control_is_modelled_has_its_events():
    assert {name for name, kind in DEVICE_KINDS.items() if kind.control} <= set(KINDS) <= set(DEVICE_KINDS)


def test_idle_power_is_known_by_state_of_all_kinds_but_one():
    # of an NPU nobody printed any
    with pytest.raises(UnknownCoefficientError, match=r"no idle power of the kind npu is known in any state"):
        SHIPPED.events("npu").idle_share()
    bare, held = SHIPPED.events("gpu").idle_share("no_context"), SHIPPED.events("gpu").idle_share("context")
    assert bare.high < held.low
    assert 0.15 < held.typical < 0.25
    assert SHIPPED.events("cpu").idle_share("no_load").high < 0.25


def test_a_device_of_our_own_idles_as_the_share_of_its_kind_says():
    # the same readings in both places, in W there and over TDP here
    for device, name in (
        ("nvidia/v100-sxm2-32gb", "v100_sxm2_32gb"),
        ("nvidia/rtx-a4000", "rtx_a4000"),
        ("nvidia/a40", "a40"),
        ("nvidia/h100-sxm5-80gb", "h100_sxm"),
        ("nvidia/t4", "t4"),
        ("google/tpu-v1", "tpu_v1"),
        ("google/tpu-v3", "tpu_v3"),
        ("google/tpu-v4i", "tpu_v4i"),
    ):
        hardware = SHIPPED.registry.get(device)
        share = hardware.facts["powers.idle"].value / hardware.facts["tdp"].value
        assert share == pytest.approx(SHIPPED.events(hardware.kind).idle_share().only(name).high)


def test_a_gpu_is_launched_faster_the_less_the_host_does():
    # 5 … 25 µs of a framework, 6.7 waited for, 0.9 … 3.8 queued, 0.5 … 1.3 of a graph
    hardware = SHIPPED.registry.get("nvidia/h100-sxm5-80gb")
    framework, waited, stream, graph = (
        SHIPPED.launch_overhead(hardware, mode).typical for mode in ("framework", "synchronous", "stream", "graph")
    )
    assert framework > waited > stream > graph


def test_nothing_of_kpu_and_npu_is_more_than_an_estimate():
    grades = {fact.source.grade for kind, fact in FACTS if kind in ("kpu", "npu")}
    assert grades == {GRADES[-1]}
