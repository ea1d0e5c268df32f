"""Which devices were measured, and when the package of measurements counts as installed."""

from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace

import pytest

from rooflint.hardware.registry import Registry
from rooflint.kernels.products import Gemm
from rooflint_calibration import package
from rooflint_calibration.package import FAMILIES, NotInstalledError

PLACE = SimpleNamespace(origin="/site/aiconfigurator_core/__init__.py")


@pytest.fixture
def installed(monkeypatch):
    """`installed("0.12.3", pyarrow=None)`: the version of the package, and what is found of some modules."""

    def say(version, **specs):
        def version_of(name):
            if version is None:
                raise PackageNotFoundError(name)
            return version

        monkeypatch.setattr(package, "find_spec", lambda name: specs.get(name, PLACE))
        monkeypatch.setattr(package, "version", version_of)

    return say


def test_the_measured_architectures_are_those_of_the_measured_devices():
    registry = Registry()
    found = {registry.get(name).architecture for members in FAMILIES.values() for name in members.values()}
    assert found == set(Gemm.measured_on)


def test_a_measured_device_has_a_family_and_a_folder():
    assert package.devices("hopper") == ("nvidia/h100-sxm5-80gb", "nvidia/h200-sxm-141gb")
    assert package.family_of("nvidia/h200-sxm-141gb") == "hopper"
    assert package.folder_of("nvidia/h200-sxm-141gb") == "h200_sxm"
    assert package.folder_of("nvidia/gb300-gpu") == "gb300"
    with pytest.raises(KeyError):
        package.folder_of("nvidia/a40")


def test_the_files_are_read_where_the_package_is_installed(installed):
    installed("0.12.3")
    assert package.data_folder() == Path("/site/aiconfigurator_core/systems/data")
    assert package.label() == "aiconfigurator-core 0.12.3"


@pytest.mark.parametrize(
    ("missing", "first"),
    [({"pyarrow": None, "scipy": None}, "pyarrow"), ({"scipy": None}, "scipy")],
)
def test_the_first_missing_library_is_named_with_how_to_install_it(installed, missing, first):
    installed("0.12.3", **missing)
    with pytest.raises(
        NotInstalledError,
        match=rf"^{first} is not installed; in the clone of rooflint: ",
    ):
        package.data_folder()


def test_without_the_package_the_error_says_how_to_install_it(installed):
    installed(None)
    with pytest.raises(NotInstalledError, match=r"^aiconfigurator-core 0\.12 is not installed; in the clone"):
        package.data_folder()


@pytest.mark.parametrize(
    ("version", "spec"),
    [("0.13.1", PLACE), ("0.120.1", PLACE), ("0.12.3", None), ("0.12.3", SimpleNamespace(origin=None))],
)
def test_another_series_of_the_package_or_one_without_files_is_refused(installed, version, spec):
    installed(version, aiconfigurator_core=spec)
    with pytest.raises(NotInstalledError, match=rf"^want aiconfigurator-core 0\.12, found {version}; in the clone"):
        package.label()
