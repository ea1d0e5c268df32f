"""Layers of files: the first root that speaks of a thing, whatever the files are called."""

import math
import random
import shutil
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.base.errors import InputError, Problem
from rooflint.base.parsed import Parsed
from rooflint.cost.tables import Prices
from rooflint.hardware import registry as module
from rooflint.hardware.device import UndisclosedError
from rooflint.hardware.names import names_of
from rooflint.hardware.registry import PACKAGED, Registry, UnknownDeviceError


def test_files_of_a_root_are_its_own(economics):
    registry = economics.registry()
    assert [file.name for file in Prices(registry).layered.files(registry.roots[0])] == ["acme.yaml"]


def test_a_root_without_the_section_has_no_files(specs):
    registry = specs.registry()
    assert Prices(registry).layered.files(registry.roots[0]) == []


def test_a_file_that_is_no_mapping_is_refused_with_its_place(economics):
    economics.texts["prices/acme"] = "- a\n"
    with pytest.raises(InputError, match=r"acme\.yaml:1  want a mapping of keys"):
        economics.prices().rents("acme/one")


def test_a_name_that_is_no_id_is_refused(economics):
    economics.texts["prices/My Prices"] = economics.texts["prices/acme"]
    with pytest.raises(InputError, match="is not an id"):
        economics.prices().rents("acme/one")


# ---- The registry: finding devices, inheriting from architectures, and refusing what does not fit together

SHIPPED = Registry()
IDS = SHIPPED.ids()

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


# -------------------------------------------------------------------------------------------------------- shipped specs


def test_every_shipped_device_can_be_read():
    assert len(IDS) > 60
    for device in IDS:
        hardware = SHIPPED.get(device)
        assert hardware.id == device
        assert hardware.file == SHIPPED.files[device]


def test_every_shipped_architecture_can_be_read_and_is_used():
    used = {SHIPPED.get(device).architecture for device in IDS}
    assert set(SHIPPED.architecture_files) == used - {None}
    for name in SHIPPED.architecture_files:
        assert SHIPPED.architecture(name).id == name


@pytest.mark.slow
@pytest.mark.parametrize("device", IDS)
def test_every_fact_says_the_line_that_it_stands_in(device):
    hardware = SHIPPED.get(device)
    facts = [*hardware.facts.items(), *(pair for point in hardware.operating_points.values() for pair in point.items())]
    for path, fact in facts:
        lines = fact.file.read_text(encoding="utf-8").splitlines()
        assert fact.path == path
        # a fact may go on in the line below its key
        assert fact.display in " ".join(lines[fact.line - 1 : fact.line + 1])
        assert path.rsplit(".", 1)[-1] in lines[fact.line - 1]


def test_every_alias_leads_to_one_device():
    for device in IDS:
        hardware = SHIPPED.get(device)
        for alias in (device, hardware.name, *hardware.aliases, hardware.name.upper()):
            assert names_of(SHIPPED).meaning(alias).devices == (device,), alias


@pytest.mark.slow
@pytest.mark.parametrize("device", IDS)
def test_no_shipped_device_has_more_groups_than_its_silicon(device):
    hardware = SHIPPED.get(device)
    for unit in hardware.units.values():
        if (full := hardware.full_groups(unit.group)) and "groups" in unit.facts:
            assert unit.groups <= full.result


# -------------------------------------------------------------------------------------------------------------- finding


def test_an_unknown_device_is_refused_with_the_nearest_ids():
    with pytest.raises(UnknownDeviceError) as caught:
        SHIPPED.get("nvidia/h100-sxm5-81gb")
    assert str(caught.value).startswith("unknown device 'nvidia/h100-sxm5-81gb'; did you mean nvidia/h100-sxm5-80gb, ")
    with pytest.raises(UnknownDeviceError) as caught:
        SHIPPED.get("nvidia/t5")
    assert str(caught.value).startswith("unknown device 'nvidia/t5'; did you mean nvidia/t4")


def test_where_nothing_is_near_the_message_counts():
    with pytest.raises(UnknownDeviceError) as caught:
        SHIPPED.get("zzzzzzzz")
    assert str(caught.value) == f"unknown device 'zzzzzzzz' ({len(IDS)} are known)"


def test_an_id_is_exact_for_get():
    with pytest.raises(UnknownDeviceError):
        SHIPPED.get("NVIDIA/T4")
    with pytest.raises(UnknownDeviceError):
        SHIPPED.get("t4")


def test_a_device_is_read_once():
    assert SHIPPED.get("nvidia/t4") is SHIPPED.get("nvidia/t4")


# ---------------------------------------------------------------------------------------------------------------- roots


def test_the_first_root_that_has_an_id_wins(tmp_path):
    for name, root in (("First", tmp_path / "a"), ("Second", tmp_path / "b")):
        (root / "hardware").mkdir(parents=True)
        (root / "hardware" / "one.yaml").write_text(f"name: {name}\nkind: gpu\n", encoding="utf-8")
    assert Registry((tmp_path / "a", tmp_path / "b")).get("one").name == "First"
    assert Registry((tmp_path / "b", tmp_path / "a")).get("one").name == "Second"


def test_packaged_specs_stand_behind_the_given_ones(specs):
    specs.write("acme/one", DEVICE)
    specs.write("nvidia/t4", DEVICE)
    registry = Registry.of([specs.root])
    assert registry.get("nvidia/t4").name == "One"
    assert registry.get("nvidia/h100-sxm5-80gb") == SHIPPED.get("nvidia/h100-sxm5-80gb")
    assert set(registry.ids()) == {*IDS, "acme/one"}
    assert registry.ids(specs.root) == ["acme/one", "nvidia/t4"]


def test_a_device_of_another_root_inherits_from_a_packaged_architecture(specs):
    # 1 × 4 × 512 × 2 × 1e9 = 4.096e12
    body = "architecture: nvidia/hopper-gh100\nunits:\n"
    body += "".join(
        f"  {name}: {{groups: [1, wp, p], clock: [1 GHz, wp, p]}}\n"
        for name in ("tensor_core", "cuda_core", "fp64_core")
    )
    specs.write("acme/one", DEVICE + body)
    device = Registry.of([specs.root]).get("acme/one")
    assert device.unit("tensor_core").peak_ops_per_s("fp16") == 4.096e12


def test_a_root_given_twice_or_packaged_already_is_one_root(specs):
    assert Registry.of([specs.root, specs.root]).roots == (specs.root.resolve(), PACKAGED)
    assert Registry.of([PACKAGED]).roots == (PACKAGED.resolve(),)
    assert Registry.of([]).roots == (PACKAGED,)


def test_a_root_without_devices_is_empty(tmp_path):
    assert Registry((tmp_path / "nothing",)).ids() == []


def test_two_files_of_one_id_are_refused(specs):
    specs.write("acme/one", DEVICE)
    second = specs.write("acme/one", DEVICE, suffix=".yml")
    with pytest.raises(InputError) as caught:
        specs.registry().get("acme/one")
    assert caught.value.problems == (Problem(second, 1, "id 'acme/one' is ambiguous: one.yaml also defines it"),)


def test_two_architecture_files_of_one_id_are_refused(specs):
    specs.write("acme/arch", ARCHITECTURE, "architectures")
    second = specs.write("acme/arch", ARCHITECTURE, "architectures", suffix=".yml")
    with pytest.raises(InputError) as caught:
        specs.registry().architecture("acme/arch")
    assert caught.value.problems == (Problem(second, 1, "id 'acme/arch' is ambiguous: arch.yaml also defines it"),)


@pytest.mark.parametrize("name", ["acme/H100", "acme/h100 sxm", "acme/-h100", "acme/h_100"])
def test_a_file_whose_name_is_no_id_is_refused(specs, name):
    file = specs.write(name, DEVICE)
    with pytest.raises(InputError) as caught:
        specs.registry().ids()
    sentence = f"'{name}' is not an id: want lower-case words joined by '-' below hardware/"
    assert caught.value.problems == (Problem(file, 1, sentence),)


# ---------------------------------------------------------------------------------------------------------- inheritance


def test_a_device_inherits_what_it_does_not_say(specs):
    architecture = specs.write("acme/arch", ARCHITECTURE, "architectures")
    device = specs.device(OWN)
    # 2 × 4 × 8 × 2 × 1e9 = 128e9
    assert device.unit("tc").peak_ops_per_s("fp16") == 128e9
    rate, groups = device.facts["units.tc.macs_per_clock.fp16"], device.facts["units.tc.groups"]
    assert (rate.file, rate.line, rate.source.document, rate.source.grade) == (architecture, 8, "Book", "read")
    assert (groups.file, groups.line, groups.source.document) == (device.file, 5, "White paper")
    assert (device.unit("tc").group, device.unit("tc").circuit) == ("SM", "tensor_core")


def test_a_device_has_the_last_word(specs):
    specs.write("acme/arch", ARCHITECTURE + "die: Big\ncompute_capability: '9.0'\n", "architectures")
    body = OWN.replace("groups:", "group: CU, circuit: cuda_core, per_group: [1, wp, p], groups:") + "die: Small\n"
    device = specs.device(body)
    unit = device.unit("tc")
    assert (unit.group, unit.circuit, unit.per_group) == ("CU", "cuda_core", 1)
    assert (device.die, device.compute_capability) == ("Small", "9.0")
    # the architecture itself is as it was
    assert specs.registry().architecture("acme/arch").facts["units.tc.per_group"].value == 4


def test_a_device_adds_a_precision_to_those_that_it_inherits(specs):
    specs.write("acme/arch", ARCHITECTURE, "architectures")
    device = specs.device(OWN.replace("clock:", "macs_per_clock: {int8: [16 MAC, wp, p]}, clock:"))
    assert set(device.unit("tc").precisions) == {"fp16", "int8"}


def test_what_a_line_would_say_instead_is_so_for_all_who_read_it_and_only_in_the_copy(specs):
    specs.write("acme/arch", ARCHITECTURE, "architectures")
    specs.write("acme/two", DEVICE + OWN)
    specs.write("acme/three", DEVICE + OWN.replace("groups:", "macs_per_clock: {fp16: [16 MAC, wp, p]}, groups:"))
    device = specs.device(OWN)
    registry = specs.registry()
    rate = device.facts["units.tc.macs_per_clock.fp16"]
    assert registry.holders(rate) == ["acme/one", "acme/two"]
    twin = registry.with_fact(rate, rate.with_value(4))
    # 2 × 4 × 4 × 2 × 1e9 = 64e9 where the architecture is read, 2 × 4 × 16 × 2 × 1e9 = 256e9 where it is not
    peaks = [twin.get(f"acme/{name}").unit("tc").peak_ops_per_s("fp16") for name in ("one", "two", "three")]
    assert peaks == [64e9, 64e9, 256e9]
    assert twin.architecture("acme/arch").facts["units.tc.macs_per_clock.fp16"].value == 4
    assert registry.get("acme/one").unit("tc").peak_ops_per_s("fp16") == 128e9
    assert registry.architecture("acme/arch").facts["units.tc.macs_per_clock.fp16"].value == 8


def test_a_line_of_an_operating_point_is_changed_there(specs):
    specs.device(UNIT + "operating_points:\n  30w:\n    units.tc.clock: [500 MHz, wp, p]\n")
    registry = specs.registry()
    clock = registry.get("acme/one").operating_points["30w"]["units.tc.clock"]
    twin = registry.with_fact(clock, clock.with_value(250e6))
    # 2 × 4 × 8 × 2 × 250e6 = 32e9 at 30 W, 128e9 at the device's own clock
    assert twin.get("acme/one").at("30w").unit("tc").peak_ops_per_s("fp16") == 32e9
    assert twin.get("acme/one").unit("tc").peak_ops_per_s("fp16") == 128e9
    assert registry.get("acme/one").at("30w").unit("tc").peak_ops_per_s("fp16") == 64e9


def test_of_two_operating_points_on_one_line_only_one_is_changed(specs):
    points = "30w: {units.tc.clock: [500 MHz, wp, p]}, 50w: {units.tc.clock: [500 MHz, wp, p]}"
    specs.device(f"{UNIT}operating_points: {{{points}}}\n")
    registry = specs.registry()
    clock = registry.get("acme/one").operating_points["50w"]["units.tc.clock"]
    changed = registry.with_fact(clock, clock.with_value(250e6)).get("acme/one")
    # 2 × 4 × 8 × 2 × 500e6 = 64e9 at 30 W as before, × 250e6 = 32e9 at 50 W
    peaks = [changed.at(mode).unit("tc").peak_ops_per_s("fp16") for mode in ("30w", "50w")]
    assert peaks == [64e9, 32e9]


def test_an_architecture_can_be_asked_for_rates_and_not_for_peaks():
    hopper = SHIPPED.architecture("nvidia/hopper-gh100").as_hardware()
    assert hopper.unit("tensor_core").macs_per_clock("fp16") == 512
    with pytest.raises(Exception, match="tensor_core has no fact 'groups'"):
        hopper.unit("tensor_core").peak_ops_per_s("fp16")


def test_an_architecture_that_is_not_there_is_refused_with_the_nearest(specs, refused):
    specs.write("acme/arch", ARCHITECTURE, "architectures")
    assert refused("architecture: acme/arc  # here\n") == ["unknown architecture 'acme/arc'; did you mean acme/arch?"]


def test_an_architecture_is_refused_where_there_is_none(refused):
    assert refused("architecture: zzz  # here\n") == ["unknown architecture 'zzz' (0 are known)"]


def test_what_is_wrong_in_an_architecture_is_said_of_its_file(specs):
    file = specs.write("acme/arch", ARCHITECTURE.replace("p. 1]", "p. 1, x]"), "architectures")
    with pytest.raises(InputError) as caught:
        specs.device(OWN)
    sentence = "units.tc.per_group: want [value, source, where], found [4, 'book', 'p. 1', 'x']"
    assert caught.value.problems == (Problem(file, 7, sentence),)


# -------------------------------------------------------------------------------------------------- the door, once more


def test_what_yaml_refuses_is_refused_with_the_file_of_the_device(specs):
    file = specs.write("acme/one", DEVICE + "tdp: [700 W, wp, p]\ntdp: [600 W, wp, p]\n")
    with pytest.raises(InputError) as caught:
        specs.registry().get("acme/one")
    assert caught.value.problems == (Problem(file, 5, "'tdp' is written twice (first in line 4); keep one"),)


def test_a_refusal_is_printed_as_file_line_and_wish(specs, monkeypatch):
    specs.write("acme/one", DEVICE + "tdp: 700 W\n")
    monkeypatch.chdir(specs.root)
    with pytest.raises(InputError) as caught:
        specs.registry().get("acme/one")
    assert str(caught.value) == "hardware/acme/one.yaml:4  tdp: want [value, source, where], found '700 W'"


TEXTS = {device: SHIPPED.files[device].read_text(encoding="utf-8") for device in IDS}
SCRAPS = (
    "",
    " ",
    "\n",
    ":",
    "- ",
    "[",
    "]",
    "{",
    "}",
    "'",
    '"',
    "#",
    "&a",
    "*a",
    "!x ",
    "~",
    ".nan",
    "0",
    "-1",
    "9" * 12,
)
SCRAPS += (
    "GHz",
    "%",
    "1/0 ",
    "wp",
    "units",
    "tdp: ",
    "null",
    "\t",
    "\u00a0",
    "\ufeff",
    "\x00",
    "---\n",
    "|",
    ">",
    ", ",
    "½",
)


@given(st.sampled_from(IDS), st.data())
def test_whatever_is_done_to_a_spec_it_is_a_device_or_sentences_with_lines(tmp_path_factory, device, data):
    text = TEXTS[device]
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.sampled_from([0, 0, 1, 3, 10, 40, 200])))
        text = text[:start] + data.draw(st.sampled_from(SCRAPS)) + text[end:]
    file = tmp_path_factory.getbasetemp() / "edited" / "hardware" / "one.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    registry = Registry((file.parents[1], PACKAGED))
    try:
        hardware = registry.get("one")
        for mode in (None, *hardware.operating_points):
            _ask_everything(hardware.at(mode) if mode else hardware)
    except InputError as error:
        assert all(1 <= problem.line <= text.count("\n") + 2 for problem in error.problems)


def _ask_everything(hardware):
    """Every figure is a finite number above zero, or a sentence says why there is none."""
    for unit in hardware.units.values():
        for precision in unit.precisions:
            with suppress(UndisclosedError):
                assert 0 < unit.peak_ops_per_s(precision) < math.inf
                assert hardware.best_unit(precision).peak_ops_per_s(precision) >= unit.peak_ops_per_s(precision)
    for memory in hardware.memories.values():
        assert not memory.has_bandwidth or 0 < memory.bandwidth_bytes_per_s < math.inf
    assert all(math.isfinite(fact.with_value(fact.value * 2).value) for fact in hardware.facts.values())


def test_packaged_specs_travel_with_the_package():
    assert Path(SHIPPED.get("nvidia/t4").file).is_relative_to(PACKAGED)


# ---- devices that an earlier process read


def test_a_device_that_was_kept_is_the_one_that_its_files_state(tmp_path, monkeypatch):
    parsed = Parsed(tmp_path, ("rooflint",))
    sample = random.Random(15).sample(IDS, 20)
    for name in sample:
        Registry(parsed=parsed).get(name)
    shipped = {name: SHIPPED.get(name) for name in sample}
    monkeypatch.setattr(module, "read_spec", None)  # nothing is parsed from here on
    for name, plain in shipped.items():
        kept = Registry(parsed=parsed).get(name)
        assert kept == plain
        assert [str(mode) for mode in kept.points()] == [str(mode) for mode in plain.points()]
        assert kept.units == plain.units and kept.memories == plain.memories


def test_a_kept_device_is_read_again_where_its_own_file_or_its_architecture_changed(tmp_path):
    files = {name: tmp_path / f"specs/{name}.yaml" for name in ("hardware/one", "architectures/arch")}
    texts = {"hardware/one": f"{DEVICE}architecture: arch\n", "architectures/arch": DEVICE.replace("One", "Arch")}

    def one(**changed):
        for name, file in files.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(changed.get(file.stem, texts[name]), encoding="utf-8")
        return Registry.of([tmp_path / "specs"], parsed).get("one")

    parsed = Parsed(tmp_path / "kept", ("rooflint",))
    assert (one().name, one().die) == ("One", None)
    assert one(arch=texts["architectures/arch"] + "die: A1\n").die == "A1"
    assert one(one=texts["hardware/one"].replace("One", "Two")).name == "Two"
    assert (one().name, one().die) == ("One", None)


def test_an_equal_architecture_in_another_folder_is_where_facts_of_a_kept_device_stand(tmp_path):
    root = tmp_path / "specs"
    (root / "hardware" / "amd").mkdir(parents=True)
    shutil.copy(SHIPPED.files["amd/epyc-9654"], root / "hardware" / "amd")
    parsed = Parsed(tmp_path / "kept", ("rooflint",))
    shipped = SHIPPED.architecture_files["amd/zen4"]
    own = root / "architectures" / "amd" / shipped.name
    for place in (shipped, own):
        if place == own:
            own.parent.mkdir(parents=True)
            shutil.copy(shipped, own)
        device = Registry.of([root], parsed).get("amd/epyc-9654")
        assert place in {fact.file for fact in device.facts.values()}


def test_a_text_in_place_of_a_file_is_not_kept(tmp_path):
    parsed, file = Parsed(tmp_path / "kept", ("rooflint",)), SHIPPED.files["nvidia/t4"]
    plain = Registry(parsed=parsed)
    text = file.read_text(encoding="utf-8")
    other = plain.with_texts({file: text.replace("name: ", "name: Other ", 1)})
    assert other.get("nvidia/t4").name.startswith("Other ")
    assert not (tmp_path / "kept").exists()
    assert plain.get("nvidia/t4").name == SHIPPED.get("nvidia/t4").name


def test_a_registry_takes_the_devices_of_which_every_file_is_the_same(tmp_path):
    for side in ("here", "there"):
        texts = {
            "hardware/one": f"{DEVICE}architecture: arch\n",
            "hardware/own": DEVICE,
            "hardware/broken": "name: [\n",
        }
        texts |= {"hardware/other": DEVICE + f"die: {side}\n", "architectures/arch": DEVICE.replace("One", "Arch")}
        for name, text in texts.items():
            file = tmp_path / side / f"{name}.yaml"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    here, there = (Registry((tmp_path / side,)) for side in ("here", "there"))
    here.take(there, lambda one, other: one.read_bytes() == other.read_bytes())
    assert here.get("one") is there.get("one") and here.get("own") is there.get("own")
    assert (here.get("other").die, there.get("other").die) == ("here", "there")
    with pytest.raises(InputError, match="here/hardware/broken"):
        here.get("broken")


def test_a_registry_does_not_take_a_device_of_another_architecture(tmp_path):
    for side in ("here", "there"):
        for name, text in (("hardware/one", f"{DEVICE}architecture: arch\n"), ("architectures/arch", DEVICE)):
            file = tmp_path / side / f"{name}.yaml"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text + (f"die: {side}\n" if "arch" in file.stem else ""), encoding="utf-8")
    here, there = (Registry((tmp_path / side,)) for side in ("here", "there"))
    here.take(there, lambda one, other: one.read_bytes() == other.read_bytes())
    assert (here.get("one").die, there.get("one").die) == ("here", "there")
