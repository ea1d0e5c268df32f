"""What a claim reads is noted as it looks facts up, and nothing else counts as read."""

import pytest

from pytest_rooflint.suite.dependencies import Changed, Dependencies, NotedRegistry, tracked
from pytest_rooflint.suite.suite import Suite
from rooflint.hardware.names import select_device
from rooflint.hardware.registry import PACKAGED, UnknownDeviceError


@pytest.fixture
def tracking(small):
    """A registry that notes what is read, and its notes."""
    context = tracked(small.suite())
    return context.registry, context.dependencies


def paths(dependencies):
    return {place[1] for place in dependencies.places}


def test_devices_and_architectures_are_noted_apart(tracking):
    registry, noted = tracking
    for device in ("acme/x1", "google/tpu-v4"):
        registry.get(device)
    registry.architecture("google/tpu-v4")
    assert noted.names == {("device", "acme/x1"), ("device", "google/tpu-v4"), ("architecture", "google/tpu-v4")}


def test_an_id_is_found_without_a_note_of_other_devices(tracking):
    registry, noted = tracking
    assert select_device(registry, "acme/x1").id == "acme/x1"
    assert noted.names == {("device", "acme/x1")}


def test_a_device_that_does_not_exist_is_noted_too(tracking):
    registry, noted = tracking
    with pytest.raises(UnknownDeviceError):
        registry.get("acme/x9")
    assert noted.names == {("device", "acme/x9")}


def test_a_tracked_device_says_what_the_device_says(small, tracking):
    plain, noted = small.suite().registry.get("acme/x1"), tracking[0].get("acme/x1")
    assert dict(noted.facts) == dict(plain.facts)
    assert noted.unit("mac_array").derivation("int8") == plain.unit("mac_array").derivation("int8")
    assert tracking[0].ids() == small.suite().registry.ids()


def test_no_fact_is_read_before_it_is_looked_up(tracking):
    registry, noted = tracking
    device = registry.get("acme/x1")
    assert "tdp" in device.facts
    assert len(list(device.facts)) > 5
    assert device.unit("mac_array").precisions
    assert not noted.places


def test_a_peak_reads_its_factors_alone(tracking):
    registry, noted = tracking
    registry.get("acme/x1").unit("mac_array").peak_ops_per_s("int8")
    unit = "units.mac_array"
    assert paths(noted) == {f"{unit}.groups", f"{unit}.per_group", f"{unit}.macs_per_clock.int8", f"{unit}.clock"}


def test_facts_of_an_operating_point_are_read_where_they_are_stated():
    context = tracked(Suite.of([], [PACKAGED]))
    noted = context.dependencies
    device = context.registry.get("nvidia/jetson-agx-orin-64gb").at("30w")
    assert not noted.places
    overlay = device.operating_points["30w"]
    device.unit("tensor_core").peak_ops_per_s("int8")
    assert overlay.unread["units.tensor_core.clock"].place in noted.places
    assert (str(device.file), "units.tensor_core.clock", "") not in noted.places
    assert "tdp" not in paths(noted)


def test_a_changed_copy_reads_nothing_that_it_does_not_look_up(tracking):
    registry, noted = tracking
    device = registry.get("acme/x1")
    copy = device.with_facts({"tdp": device.facts["tdp"]})
    assert paths(noted) == {"tdp"}
    assert copy.main_memory().bandwidth_bytes_per_s > 0
    assert all(path == "tdp" or path.startswith("memories.") for path in paths(noted))


def test_a_walk_over_the_values_reads_all(tracking):
    registry, noted = tracking
    device = registry.get("acme/x1")
    assert {fact.path for fact in device.facts.values()} == paths(noted)


def test_an_architecture_notes_its_facts_too(tracking):
    registry, noted = tracking
    architecture = registry.architecture("google/tpu-v4")
    path = next(iter(architecture.facts))
    _ = architecture.facts[path]
    assert paths(noted) == {path}


# ---- names alone


@pytest.fixture
def noting(small):
    return NotedRegistry.over(small.suite().registry, Dependencies())


def test_devices_come_as_they_are_with_a_note_of_their_names(small, noting):
    assert noting.get("acme/x1") is noting.origin.get("acme/x1")
    assert noting.architecture("google/tpu-v4") is noting.origin.architecture("google/tpu-v4")
    assert noting.dependencies.names == {("device", "acme/x1"), ("architecture", "google/tpu-v4")}
    assert not noting.dependencies.places


def test_a_name_may_mean_any_device(noting):
    with pytest.raises(UnknownDeviceError):
        select_device(noting, "nameless")
    assert noting.dependencies.names == {("device", device) for device in noting.ids()}


@pytest.mark.parametrize(
    ("read", "moved"),
    [
        ({}, False),
        ({"file": "b"}, True),
        ({"goldens": ["c", "b"]}, True),
        ({"any_golden": True}, True),
        ({"names": ["t4", "a100"]}, True),
        ({"goldens": ["c"], "names": ["a100"]}, False),
    ],
)
def test_what_changed_concerns_a_claim_that_read_it(read, moved):
    changed = Changed({"b"}, {"t4"})
    assert changed.concern(**{"file": "a", "goldens": [], "any_golden": False, "names": [], **read}) is moved


def test_a_claim_that_may_read_any_golden_file_is_not_moved_by_a_device():
    assert not Changed(set(), {"t4"}).concern("a", goldens=[], any_golden=True, names=[])


def test_whether_a_fact_is_there_is_noted_apart_from_its_value(tracking):
    registry, noted = tracking
    facts = registry.get("acme/x1").facts
    assert "tdp" in facts
    assert "no_such_fact" not in facts
    assert {place[1] for place in noted.present} == {"tdp"}
    assert len(list(facts)) == len({place[1] for place in noted.present})
    assert not noted.places
