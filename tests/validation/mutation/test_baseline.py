"""What a claim depends on is what it asks the registry for."""

import pytest

from pytest_rooflint.mutation.baseline import tracked
from rooflint.hardware.registry import UnknownDeviceError


@pytest.fixture
def tracking(small):
    """A registry that takes notes, and its notes."""
    suite, asked = tracked(small.suite())
    return suite.registry, asked


def test_devices_and_architectures_are_noted_apart(tracking):
    registry, asked = tracking
    for device in ("acme/x1", "google/tpu-v4"):
        registry.get(device)
    registry.architecture("google/tpu-v4")
    assert asked == {("device", "acme/x1"), ("device", "google/tpu-v4"), ("architecture", "google/tpu-v4")}


def test_a_name_is_looked_up_without_asking_the_devices_that_do_not_have_it(tracking):
    registry, asked = tracking
    assert registry.find("Acme X1").id == "acme/x1"
    assert asked == {("device", "acme/x1")}


def test_who_is_asked_for_in_vain_is_noted_too(tracking):
    registry, asked = tracking
    with pytest.raises(UnknownDeviceError):
        registry.get("acme/x9")
    assert asked == {("device", "acme/x9")}


def test_what_is_told_is_what_the_registry_says(small, tracking):
    assert tracking[0].get("acme/x1") == small.suite().registry.get("acme/x1")
    assert tracking[0].ids() == small.suite().registry.ids()
