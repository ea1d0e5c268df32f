"""Launch overheads: a device's own fact, else its vendor's, else anybody's, else none."""

import pytest

from rooflint.base.units import SECONDS
from rooflint.coefficients.launch_overheads import MODES
from rooflint.coefficients.library import Coefficients
from rooflint.coefficients.ranges import UnknownCoefficientError
from rooflint.hardware.registry import Registry

DEVICE = """name: Acme One
kind: gpu
sources: {a: {document: Paper A, grade: quoted}}
tdp: [15 W, a, t. 1]
"""


@pytest.fixture
def asked(energies):
    """A device of a vendor, asked for its launch overhead."""

    def ask(mode, vendor="acme", extra=""):
        coefficients = energies.read()
        energies.specs.write(f"{vendor}/one", DEVICE + extra)
        return coefficients.launch_overhead(energies.specs.registry().get(f"{vendor}/one"), mode)

    return ask


def test_what_is_published_of_a_vendor_goes_before_what_is_of_any(asked):
    spread = asked("stream")
    assert (spread.low, spread.typical, spread.high) == pytest.approx((1e-6, 2.5e-6, 4e-6))
    assert spread.dimension == SECONDS
    assert asked("graph").typical == pytest.approx(0.5e-6)
    assert asked("graph", vendor="other").best.facts[0].where == "p. 2"


def test_the_fact_of_a_device_goes_before_all(asked):
    spread = asked("stream", extra="launch_overhead: [7 us, a, p. 9]\n")
    assert spread.low == spread.typical == spread.high == pytest.approx(7e-6)
    assert spread.best.facts[0].where == "p. 9"


def test_nothing_is_made_up_where_nothing_is_published(asked):
    assert asked("synchronous") is None
    assert asked("stream", vendor="other") is None


def test_an_unknown_way_of_launching_is_refused_even_where_the_device_has_its_own(asked):
    for extra in ("", "launch_overhead: [7 us, a, p. 9]\n"):
        with pytest.raises(UnknownCoefficientError, match=rf"unknown launch mode 'lazy' \(known: {', '.join(MODES)}\)"):
            asked("lazy", extra=extra)


def test_a_launch_says_what_was_timed(energies):
    launches = energies.read().launches()
    assert launches.what("gpu", "acme", "stream") == "One kernel of many."
    assert launches.what("gpu", "other", "graph") == "One kernel of a graph."
    assert launches.what("cpu", "acme", "region") is None


def test_a_root_without_launches_says_so(specs):
    with pytest.raises(UnknownCoefficientError, match=r"no launches\.yaml in "):
        Coefficients(specs.registry()).launches()


def test_what_is_asked_of_one_architecture_is_not_answered_with_its_vendors(energies):
    launches = energies.read().launches()
    energies.specs.write("acme/one", DEVICE.replace("kind: gpu\n", "kind: gpu\narchitecture: acme/a1\n"))
    energies.specs.write("acme/a1", "name: A1\nkind: gpu\n", section="architectures")
    assert launches.taken_for(energies.specs.registry().get("acme/one"), "graph") is None
    shipped = Coefficients(Registry()).launches()
    found = shipped.taken_for(Registry().get("nvidia/h200-sxm-141gb"), "graph")
    assert (found.name, found.value) == ("bubbles", pytest.approx(1.3e-6))
    assert shipped.taken_for(Registry().get("nvidia/h200-sxm-141gb"), "stream") is None
    assert shipped.taken_for(Registry().get("google/tpu-v4"), "graph") is None


def test_architectures_that_a_launch_is_taken_for_exist():
    registry = Registry()
    spec = Coefficients(registry).launches().spec
    named = {
        architecture
        for owners in spec.launches.values()
        for modes in owners.values()
        for launch in modes.values()
        for reading in launch.readings.values()
        for architecture in reading.architectures
    }
    assert named
    assert named <= set(registry.architecture_files)
