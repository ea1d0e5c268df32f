"""Which devices were measured, as everybody who speaks of it has it."""

from rooflint.hardware.registry import Registry
from rooflint.kernels.products import Gemm
from rooflint_calibration.package import FAMILIES


def test_the_measured_architectures_are_those_of_the_measured_devices():
    registry = Registry()
    found = {registry.get(name).architecture for members in FAMILIES.values() for name in members.values()}
    assert found == set(Gemm.measured_on)
