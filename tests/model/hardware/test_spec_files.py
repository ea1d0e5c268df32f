"""Spec files: what a device must state, what contradicts, and operating points."""

from random import Random

import pytest

from rooflint.base import parsed, strict_yaml
from rooflint.base.errors import InputError
from rooflint.base.precision import PRECISIONS
from rooflint.coefficients.library import Coefficients
from rooflint.hardware import spec_files
from rooflint.hardware.device import UndisclosedError
from rooflint.hardware.registry import PACKAGED, Registry

DEVICE = """\
name: One
kind: gpu
sources: {wp: {document: White paper, grade: quoted}}
"""
ARCHITECTURE = """\
name: Arch
kind: gpu
sources: {book: {document: Book, grade: read}}
units:
  tc:
    group: SM
    per_group: [4, book, p. 1]
    macs_per_clock: {fp16: [8 MAC, book, p. 2]}
    circuit: tensor_core
"""
OWN = "architecture: acme/arch\nunits: {tc: {groups: [2, wp, p], clock: [1 GHz, wp, p]}}\n"
UNIT = """\
units:
  tc: {group: SM, groups: [2, wp, p], per_group: [4, wp, p], clock: [1 GHz, wp, p],
       macs_per_clock: {fp16: [8 MAC, wp, p]}}
"""


ADD = "add the fact, or give the reason under 'undisclosed'"
FACTS = {
    "groups": "[2, wp, p]",
    "per_group": "[4, wp, p]",
    "clock": "[1 GHz, wp, p]",
    "macs_per_clock": "{fp16: [8 MAC, wp, p]}",
}


@pytest.mark.parametrize("key", FACTS)
def test_a_unit_without_one_of_its_factors_is_refused(refused, key):
    others = ", ".join(f"{name}: {fact}" for name, fact in FACTS.items() if name != key)
    assert refused(f"units:\n  tc: {{group: SM, {others}}}  # here\n") == [
        f"units.tc.{key}: is missing: the file does not state it; {ADD}"
    ]


def test_a_unit_is_refused_where_neither_device_nor_architecture_completes_it(specs, refused):
    specs.write("acme/arch", ARCHITECTURE, "architectures")
    assert refused("architecture: acme/arch\nunits:\n  tc: {groups: [2, wp, p]}  # here\n") == [
        f"units.tc.clock: is missing: neither the device nor its architecture states it; {ADD}"
    ]


def test_a_unit_that_only_the_architecture_names_must_be_completed_too(specs):
    specs.write("acme/arch", ARCHITECTURE, "architectures")
    with pytest.raises(InputError) as caught:
        specs.device("architecture: acme/arch\n")
    assert [problem.message.split(":")[0] for problem in caught.value.problems] == ["units.tc.clock", "units.tc.groups"]


@pytest.mark.parametrize("unit", ["{}", "{circuit: tensor_core}", "{group: SM}"])
def test_a_unit_without_any_fact_is_refused_and_does_not_vanish(refused, unit):
    sentences = [f"units.tc.{key}: is missing: the file does not state it; {ADD}" for key in FACTS]
    assert refused(f"units:\n  tc: {unit}  # here\n") == sorted([*sentences])


FULL = ARCHITECTURE + "full_die: {SM: [3, book, p. 3]}\n"


def test_a_device_may_use_all_that_its_silicon_has(specs):
    # 3 SM on a die, 2 dies: 6 SM
    specs.write("acme/arch", FULL, "architectures")
    device = specs.device(
        "architecture: acme/arch\ndies: [2, wp, p]\n" + OWN.partition("\n")[2].replace("2, wp", "6, wp")
    )
    assert device.unit("tc").groups == 6


def test_more_groups_than_the_silicon_has_are_refused_where_they_stand(specs, refused):
    specs.write("acme/arch", FULL, "architectures")
    assert refused("architecture: acme/arch\nunits: {tc: {groups: [4, wp, p], clock: [1 GHz, wp, p]}}  # here\n") == [
        "units.tc.groups: 4 SM, more than the silicon has: 3 SM"
    ]


def test_more_groups_than_all_dies_have_are_refused(specs, refused):
    specs.write("acme/arch", FULL, "architectures")
    assert refused(
        "architecture: acme/arch\ndies: [2, wp, p]\nunits: {tc: {groups: [7, wp, p], clock: [1 GHz, wp, p]}}  # here\n"
    ) == ["units.tc.groups: 7 SM, more than the silicon has: 3 SM × 2 die"]


def test_an_operating_point_has_no_more_groups_than_the_silicon_either(specs, refused):
    specs.write("acme/arch", FULL, "architectures")
    assert refused(OWN + "operating_points: {max: {units.tc.groups: [5, wp, p]}}  # here\n") == [
        "units.tc.groups: 5 SM, more than the silicon has: 3 SM"
    ]


def test_what_is_wrong_in_every_mode_is_said_once(specs, refused):
    specs.write("acme/arch", FULL, "architectures")
    assert refused(
        "architecture: acme/arch\nunits: {tc: {groups: [4, wp, p], clock: [1 GHz, wp, p]}}  # here\n"
        "operating_points: {slow: {units.tc.clock: [1 GHz, wp, p]}}\n"
    ) == ["units.tc.groups: 4 SM, more than the silicon has: 3 SM"]


def test_a_full_die_counts_what_units_are_grouped_in(refused):
    assert refused("full_die: {SMs: [3, wp, p]}  # here\n" + UNIT) == [
        "full_die.SMs: no unit is grouped in 'SMs' (groups: SM)"
    ]


@pytest.mark.parametrize("section", ["memories", "caches"])
def test_a_memory_or_cache_without_any_fact_is_refused_and_does_not_vanish(refused, section):
    assert refused(f"{section}:\n  m: {{}}  # here\n") == [f"{section}.m: has no fact; add one or remove it"]


def test_what_a_vendor_does_not_disclose_need_not_be_there(specs):
    device = specs.device(
        "units: {tc: {group: SM, groups: [2, wp, p], per_group: [4, wp, p]}}\n"
        "undisclosed: {units.tc.clock: no clock is printed, units.tc.macs_per_clock: no rate is printed}\n"
    )
    assert device.unit("tc").count == 8
    with pytest.raises(UndisclosedError) as caught:
        device.unit("tc").peak_ops_per_s("fp16")
    assert str(caught.value) == "tc.macs_per_clock.fp16 is undisclosed: no rate is printed"


def test_a_whole_unit_can_be_undisclosed(specs):
    device = specs.device("units: {tc: {group: chip}}\nundisclosed: {units.tc: nothing is printed}\n")
    with pytest.raises(UndisclosedError) as caught:
        device.unit("tc").derivation("int8")
    assert str(caught.value) == "tc.macs_per_clock.int8 is undisclosed: nothing is printed"


@pytest.mark.parametrize("path", ["units.tc.cl", "units.t", "units.tc_old", "unit"])
def test_an_undisclosed_path_hides_itself_and_not_what_begins_with_its_letters(specs, path):
    # 'units.t' is not a part of 'units.tc.clock': paths end at dots
    with pytest.raises(InputError):
        specs.device(UNIT.replace(" clock: [1 GHz, wp, p],", "") + f"undisclosed: {{{path}: because}}\n")


@pytest.mark.parametrize("path", ["units.tc.clok", "units.tpu.clock", "frobnicate"])
def test_an_undisclosed_path_that_leads_nowhere_is_refused(refused, path):
    assert refused(UNIT + f"undisclosed:\n  {path}: because  # here\n") == [
        f"undisclosed: '{path}' is not a path of this device"
    ]


def test_a_whole_memory_can_be_undisclosed(specs):
    device = specs.device("memories: {dram: {}}\nundisclosed: {memories.dram: nothing is printed}\n")
    assert device.undisclosed == {"memories.dram": "nothing is printed"}


def test_what_an_architecture_says_is_undisclosed_is_so_when_it_is_asked_itself(specs):
    text = ARCHITECTURE.replace("macs_per_clock: {fp16: [8 MAC, book, p. 2]}\n    ", "")
    specs.write("acme/arch", text + "undisclosed: {units.tc.macs_per_clock: no rate is printed}\n", "architectures")
    with pytest.raises(UndisclosedError, match=r"tc\.macs_per_clock\.fp16 is undisclosed: no rate is printed"):
        specs.registry().architecture("acme/arch").as_hardware().unit("tc").macs_per_clock("fp16")


def test_whatever_path_the_door_takes_as_an_excuse_is_the_reason_that_a_reader_gets(specs):
    try:
        device = specs.device("units: {tc: {group: SM}}\nundisclosed: {units: nothing is printed}\n")
    except InputError:
        return  # refused is as good
    with pytest.raises(UndisclosedError):
        device.unit("tc").derivation("fp16")


@pytest.mark.parametrize("half", ["bus: [256 bit, wp, p]", "pin_rate: [5 Gbit/s, wp, p]"])
def test_half_a_bandwidth_is_refused(refused, half):
    assert refused(f"memories:\n  m: {{capacity: [8 GB, wp, p], {half}}}  # here\n") == [
        "memories.m: want bus and pin_rate together"
    ]


@pytest.mark.parametrize(
    "facts",
    ["bus: [256 bit, wp, p], pin_rate: [5 Gbit/s, wp, p]", "bus: [256 bit, wp, p]", "pin_rate: [5 Gbit/s, wp, p]"],
)
def test_a_bandwidth_that_is_said_and_derived_is_refused(refused, facts):
    assert refused(f"memories:\n  m: {{bandwidth: [160 GB/s, wp, p], {facts}}}  # here\n") == [
        "memories.m: states bandwidth and bus or pin_rate; keep bus and pin_rate, the bandwidth follows from them"
    ]


@pytest.mark.parametrize(("half", "missing"), [("count: [6, wp, p]", "rate"), ("rate: [25 GB/s, wp, p]", "count")])
def test_half_a_link_is_refused(refused, half, missing):
    assert refused(f"links:\n  ring: {{{half}}}  # here\n") == [
        f"links.ring: want count and rate, {missing} is missing"
    ]


def test_a_link_without_facts_and_a_wrong_rate_are_refused(refused):
    assert "links.ring: has no fact; add one or remove it" in refused("links:\n  ring: {}  # here\n")
    (said,) = refused("links:\n  ring: {count: [6, wp, p], rate: [25 GB, wp, p]}  # here\n")
    assert "want a rate of one link in one direction in B/s such as 25 GB/s, found '25 GB'" in said


def test_a_memory_may_have_a_capacity_alone_or_a_bandwidth_alone(specs):
    device = specs.device("memories: {a: {capacity: [8 GB, wp, p]}, b: {bandwidth: [160 GB/s, wp, p]}}\n")
    assert not device.memory("a").has_bandwidth
    assert device.memory("b").bandwidth_bytes_per_s == 160e9


# ----------------------------------------------------------------------------------------------------- operating points


def test_an_operating_point_is_facts_by_path_with_their_own_lines(specs):
    device = specs.device(
        UNIT + "operating_points:\n  30w:\n    units.tc.clock: [500 MHz, wp, p]\n    tdp: [30 W, wp, p]\n"
    )
    assert [(path, fact.value, fact.line) for path, fact in device.operating_points["30w"].items()] == [
        ("units.tc.clock", 500e6, 9),
        ("tdp", 30, 10),
    ]


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("units.tc.clok: [1 GHz, wp, p]", "'units.tc.clok' is not the path of a fact, such as units.tensor_core.clock"),
        ("units.tc: {}", "'units.tc' is not the path of a fact, such as units.tensor_core.clock"),
        ("name: Two", "'name' is not the path of a fact, such as units.tensor_core.clock"),
        ("peak_tops: 85", "'peak_tops' is not the path of a fact, such as units.tensor_core.clock"),
        (
            "units.cc.clock: [1 GHz, wp, p]",
            "operating point '30w' sets units.cc.clock, which this device does not have",
        ),
        (
            "memories.m.bus: [64 bit, wp, p]",
            "operating point '30w' sets memories.m.bus, which this device does not have",
        ),
        (
            "caches.l9.capacity: [8 MB, wp, p]",
            "operating point '30w' sets caches.l9.capacity, which this device does not have",
        ),
        (
            "units.tc.macs_per_clock.fp17: [8 MAC, wp, p]",
            f"units.tc.macs_per_clock.fp17: unknown precision 'fp17' (known: {', '.join(PRECISIONS)})",
        ),
        ("units.tc.clock: [1 GHz, ds, p]", "operating_points.30w.units.tc.clock: unknown source 'ds' (listed: wp)"),
        ("units.tc.clock: 1 GHz", "units.tc.clock: want [value, source, where], found '1 GHz'"),
        ("units.tc.clock: [1 GB, wp, p]", "units.tc.clock: want a clock in Hz such as 1830 MHz, found '1 GB'"),
        (
            "units.tc.clock: [612 mHz, wp, p]",
            "units.tc.clock: '612 mHz' is 612 mHz, outside 1 MHz … 20 GHz; wrong unit or prefix?",
        ),
        ("tdp: '{message}'", "tdp: want [value, source, where], found '{message}'"),
    ],
)
def test_an_operating_point_sets_facts_that_the_device_has(refused, override, sentence):
    assert refused(f"{UNIT}operating_points:\n  30w:\n    {override}  # here\n") == [sentence]


def test_an_operating_point_of_an_inherited_unit_is_taken(specs):
    specs.write("acme/arch", ARCHITECTURE, "architectures")
    device = specs.device(OWN + "operating_points: {30w: {units.tc.clock: [500 MHz, wp, p]}}\n")
    assert device.at("30w").unit("tc").peak_ops_per_s("fp16") == 64e9


def test_an_operating_point_that_would_change_nothing_is_refused(specs):
    # the bandwidth is typed, so a rate per pin has no effect on it: the mode would keep the full 160 GB/s
    body = "memories: {m: {bandwidth: [160 GB/s, wp, p]}}\n"
    with pytest.raises(InputError):
        specs.device(body + "operating_points: {30w: {memories.m.pin_rate: [5 Gbit/s, wp, p]}}\n")


def test_an_operating_point_does_not_make_half_a_bandwidth(specs):
    body = "memories: {m: {capacity: [8 GB, wp, p]}}\n"
    with pytest.raises(InputError):
        specs.device(body + "operating_points: {30w: {memories.m.pin_rate: [5 Gbit/s, wp, p]}}\n")


def test_an_operating_point_with_a_slower_clock_slows_every_precision(specs):
    # FP16 has its own 2 GHz; a mode that sets the unit to 500 MHz must not leave it there: refused, or slower
    body = UNIT.replace("clock: [1 GHz", "clock_of: {fp16: [2 GHz, wp, p]}, clock: [1 GHz")
    try:
        device = specs.device(body + "operating_points: {30w: {units.tc.clock: [500 MHz, wp, p]}}\n")
    except InputError:
        return
    assert device.at("30w").unit("tc").clock_hz("fp16") < device.unit("tc").clock_hz("fp16")


def test_registries_parse_a_file_once_until_its_text_changes(specs, monkeypatch):
    texts = []
    parse = strict_yaml.parse
    monkeypatch.setattr(strict_yaml, "parse", lambda text, file: texts.append(text) or parse(text, file))
    file = specs.write("acme/one", DEVICE + UNIT)
    assert specs.registry().get("acme/one") == specs.registry().get("acme/one")
    assert len(texts) == 1
    file.write_text((DEVICE + UNIT).replace("1 GHz", "2 GHz"), encoding="utf-8")  # as many bytes as before
    assert specs.registry().get("acme/one").unit("tc").clock_hz("fp16") == 2e9
    assert len(texts) == 2


# ------------------------------------------------------------------------------------------- kept from another process


@pytest.fixture
def as_new_process(tmp_path, monkeypatch):
    """Called before what another process would read; it has what the one before has kept."""
    monkeypatch.setattr(parsed, "user_cache_path", lambda name: tmp_path / "cache" / name)
    return spec_files._parsed.cache_clear


def test_shipped_files_kept_from_another_process_are_what_the_files_say(as_new_process, monkeypatch):
    drawn = Random(15).sample(Registry().ids(), 12)
    coefficients = Random(15).sample(Coefficients(Registry()).files(PACKAGED), 8)
    as_new_process()
    first = [Registry().get(name) for name in drawn], [Coefficients(Registry()).facts(file) for file in coefficients]
    as_new_process()
    monkeypatch.setattr(strict_yaml, "parse", None)  # nothing is parsed again
    again = [Registry().get(name) for name in drawn], [Coefficients(Registry()).facts(file) for file in coefficients]
    assert again == first


def test_a_file_with_the_same_text_elsewhere_keeps_its_own_places(specs, as_new_process):
    for name in ("acme/one", "acme/two"):
        file = specs.write(name, DEVICE + UNIT)
        as_new_process()
        device = specs.registry().get(name)
        assert device.file == file
        assert {fact.file for fact in device.facts.values()} == {file}


def test_a_changed_file_is_read_again_and_a_wrong_one_is_refused_each_time(specs, as_new_process):
    specs.write("acme/one", DEVICE + UNIT)
    assert specs.registry().get("acme/one").unit("tc").clock_hz("fp16") == 1e9
    as_new_process()
    specs.write("acme/one", (DEVICE + UNIT).replace("1 GHz", "2 GHz"))
    assert specs.registry().get("acme/one").unit("tc").clock_hz("fp16") == 2e9
    specs.write("acme/one", (DEVICE + UNIT).replace("1 GHz", "2 W"))
    for _ in range(2):
        as_new_process()
        with pytest.raises(InputError, match="found '2 W'"):
            specs.registry().get("acme/one")


def test_a_text_in_place_of_a_file_is_not_kept(specs, tmp_path, as_new_process):
    file = specs.write("acme/one", DEVICE + UNIT)
    as_new_process()
    other = specs.registry().with_texts({file: (DEVICE + UNIT).replace("1 GHz", "2 GHz")})
    assert other.get("acme/one").unit("tc").clock_hz("fp16") == 2e9
    assert not (tmp_path / "cache").exists()
    specs.registry().get("acme/one")
    assert len(list((tmp_path / "cache" / "rooflint" / "parsed").rglob("*.pickle"))) == 1
