"""A variant that is written as a spec is read back: what was changed is changed, and all else is as it was."""

import re

import pytest
import yaml

from rooflint.base.errors import InputError, RooflintError
from rooflint.hardware.registry import PACKAGED, Registry
from rooflint.hardware.schema import kind_of
from rooflint.hardware.variant_spec import KEY, save_variant, spec_text

REGISTRY = Registry()
H100 = REGISTRY.get("nvidia/h100-sxm5-80gb")
ORIN = REGISTRY.get("nvidia/jetson-agx-orin-64gb")
RATE, GROUPS, MACS = "memories.hbm3.pin_rate", "units.tensor_core.groups", "units.tensor_core.macs_per_clock.bf16"


def saved(tmp_path, base, values, name="acme/one"):
    assert save_variant(base, values, "faster", tmp_path / f"hardware/{name}.yaml", (PACKAGED,)) == name
    return Registry.of([tmp_path]).get(name)


def test_changed_facts_cite_that_they_are_hypothetical_and_the_base(tmp_path):
    found = saved(tmp_path, H100, {RATE: 12.5e9 / 8, MACS: 1024.0})
    assert found.name == "NVIDIA H100 SXM5 80GB, hypothetical: faster"
    for path, text, base in ((RATE, "12.5 Gbit/s", "base 5.238 Gbit/s"), (MACS, "1024 MAC", "base 512 MAC")):
        fact = found.facts[path]
        assert (fact.display, fact.where, fact.source.grade) == (text, base, "estimate")
        assert fact.source.document == "rooflint explore, from nvidia/h100-sxm5-80gb: faster"
    # 5120 bit × 12.5 Gbit/s = 8 TB/s
    assert found.main_memory().bandwidth_bytes_per_s == 8e12


def test_all_other_facts_are_those_of_the_base(tmp_path):
    found = saved(tmp_path, H100, {RATE: 12.5e9 / 8})
    assert set(found.facts) == set(H100.facts)
    for path, fact in H100.facts.items():
        if path != RATE:
            assert (found.facts[path].value, found.facts[path].where) == (fact.value, fact.where), path
    assert found.architecture == H100.architecture
    assert not found.aliases  # they name the base


@pytest.mark.parametrize("mode", [None, "30w"])
def test_a_base_at_an_operating_point_is_written_as_it_is_there(mode, tmp_path):
    base = ORIN.at(mode) if mode else ORIN
    found = saved(tmp_path, base, {"memories.lpddr5.pin_rate": 1e9})
    assert found.facts[GROUPS].value == base.facts[GROUPS].value
    assert found.facts["tdp"].value == base.facts["tdp"].value
    assert not found.operating_points


def test_a_fact_that_the_base_does_not_state_is_added(tmp_path):
    found = saved(tmp_path, H100, {"launch_overhead": 1.05e-6})
    assert found.facts["launch_overhead"].display == "1.05 µs"
    assert found.facts["launch_overhead"].where == "not stated by the base"


def test_more_groups_than_the_die_has_take_a_larger_die(tmp_path):
    # the GH100 has 144 SM
    assert KEY not in spec_text(H100, {GROUPS: 140.0}, "").partition("full_die")[2]
    found = saved(tmp_path, H100, {GROUPS: 256.0})
    assert found.facts["full_die.SM"].value == 256
    # an MI300X has 8 dies of 40 CU: 328 are 41 on each
    mi300x = REGISTRY.get("amd/mi300x")
    found = saved(tmp_path, mi300x, {"units.matrix_core.groups": 328.0}, "acme/two")
    assert found.facts["full_die.CU"].value == 41


def test_a_number_is_written_so_that_it_is_read_back(tmp_path):
    # a seventh of a rate has no short text; ten digits stand for it
    seventh = H100.facts[RATE].value / 7
    assert saved(tmp_path, H100, {RATE: seventh}).facts[RATE].value == pytest.approx(seventh, rel=1e-9)


def test_the_text_has_the_one_form_of_yaml():
    text = spec_text(ORIN, {"memories.lpddr5.pin_rate": 1e9}, "memory.bandwidth 256 GB/s")
    assert text.startswith("# A hypothetical device: facts that cite 'hypothetical' differ from nvidia/jetson-agx")
    assert "'" not in text.partition("\n")[2]
    assert "    groups: [16, tb, 2048 CUDA cores]\n" in text
    assert "url: https://docs.aws.amazon.com/" in spec_text(H100, {RATE: 1e9}, "")
    assert yaml.safe_load(text)["sources"][KEY]["grade"] == "estimate"


@pytest.mark.parametrize("place", ["one.yaml", "hardware/acme/one.json", "specs/one.yaml"])
def test_a_spec_stands_below_a_folder_hardware(place, tmp_path):
    with pytest.raises(RooflintError, match="want a file below a folder hardware, such as specs/hardware/acme"):
        save_variant(H100, {RATE: 1e9}, "", tmp_path / place, ())


def test_a_file_that_is_there_stays(tmp_path):
    saved(tmp_path, H100, {RATE: 1e9})
    with pytest.raises(RooflintError, match="is there already; choose another name"):
        saved(tmp_path, H100, {RATE: 2e9})


def test_what_the_registry_refuses_is_not_left_behind(tmp_path):
    # 10 Tbit/s a pin are outside the window of a rate
    with pytest.raises(InputError, match=re.escape("outside 10 Mbit/s … 1 Tbit/s")):
        saved(tmp_path, H100, {RATE: 1e13 / 8})
    assert not (tmp_path / "hardware/acme/one.yaml").exists()


@pytest.mark.slow
def test_every_device_can_be_written_and_read_back(tmp_path):
    for number, name in enumerate(REGISTRY.ids()):
        for base in REGISTRY.get(name).points():
            rates = {path: fact for path, fact in base.facts.items() if path.startswith(("units.", "memories."))}
            values = {path: fact.value * 1.0625 for path, fact in rates.items() if not kind_of(path).whole}
            found = saved(tmp_path, base, values, f"acme/v{number}{base.mode or ''}")
            others = {path: fact.value for path, fact in base.facts.items() if path not in values}
            assert {path: found.facts[path].value for path in others} == others
