"""Systems: how many devices, how they are joined, and the bandwidths that follow, by hand."""

import pytest
from typer.testing import CliRunner

from rooflint.base.errors import InputError
from rooflint.cli.hardware import app
from rooflint.hardware.device import UnsupportedError
from rooflint.hardware.names import system_named, systems_of
from rooflint.hardware.registry import PACKAGED, Registry

REGISTRY = Registry()

H100, MI300X, V5E, L40S = "hgx-h100", "mi300x-platform", "tpu-v5e-pod", "pcie-l40s-8"


def shipped(name):
    return system_named(REGISTRY, name)


@pytest.mark.parametrize(
    ("name", "devices", "both_gb_s", "pair_gb_s"),
    [
        (H100, 8, 8 * 18 * 25 * 2, 18 * 25 * 2),  # any two send over all links, through switches
        (MI300X, 8, 8 * 7 * 64 * 2, 64 * 2),  # seven links, one to each other device
        (V5E, 256, 256 * 4 * 50 * 2, 50 * 2),  # 400 Gbit/s a link, one to either neighbour
        (L40S, 8, 8 * 16 * 2 * 2, 16 * 2 * 2),
    ],
)
def test_bandwidths_of_a_system_are_those_of_its_devices_links(name, devices, both_gb_s, pair_gb_s):
    system = shipped(name)
    assert system.count == devices
    assert system.total().result == pytest.approx(both_gb_s * 1e9, rel=1e-12)
    assert system.total(1).result == pytest.approx(both_gb_s * 1e9 / 2, rel=1e-12)
    assert system.pair().result == pytest.approx(pair_gb_s * 1e9, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "tb_s"),
    [
        (H100, 4 * 18 * 25 / 1e3),  # four devices of either half, all links
        (MI300X, 4 * 4 * 64 / 1e3),  # sixteen pairs
        (V5E, 2 * 16 * 50 / 1e3),  # two cuts of sixteen links
    ],
)
def test_bisection_is_what_crosses_between_the_halves(name, tb_s):
    assert shipped(name).bisection(1).result == pytest.approx(tb_s * 1e12, rel=1e-12)


def test_a_host_says_nothing_of_what_is_between_its_slots():
    with pytest.raises(UnsupportedError, match="pcie-l40s-8 has no known bisection: its devices meet at the host"):
        shipped(L40S).bisection()


@pytest.mark.parametrize(
    ("name", "members", "gb_s"),
    [
        (H100, 2, 450),
        (H100, 8, 450),
        (MI300X, 2, 64),  # one of seven links
        (MI300X, 4, 192),
        (MI300X, 8, 448),
        (V5E, 8, 100),  # a ring: two links
        (V5E, 256, 200),
        (L40S, 4, 32),
    ],
)
def test_what_a_device_sends_depends_on_how_many_take_part(name, members, gb_s):
    assert shipped(name).among(members) == pytest.approx(gb_s * 1e9, rel=1e-12)


@pytest.mark.parametrize("name", sorted(Registry().system_files))
def test_more_members_never_get_less_bandwidth(name):
    system = shipped(name)
    found = [system.among(members) for members in range(2, min(system.count, 16) + 1)]
    assert found == sorted(found)


def test_network_cards_are_shared_by_all_devices():
    system = shipped(H100)
    assert system.network("connectx7", 1).result == pytest.approx(8 * 400e9 / 8)
    assert system.outside() == pytest.approx(50e9)
    with pytest.raises(UnsupportedError, match=r"hgx-h100 has no link 'ib' \(has: nvlink, connectx7\)"):
        system.network("ib")
    with pytest.raises(UnsupportedError, match="pcie-l40s-8 has no network cards"):
        shipped(L40S).outside()


def test_a_system_is_found_by_id_name_and_alias():
    ids = {shipped(name).id for name in ("nvidia/hgx-h100", "HGX-H100", "DGX H100", "NVIDIA HGX H100 8-GPU")}
    assert ids == {"nvidia/hgx-h100"}
    assert shipped("h100") is None
    assert [one.short for one in systems_of(REGISTRY, REGISTRY.get("amd/mi300x"))] == ["mi300x-platform"]


def test_no_system_is_called_as_a_device_is():
    assert not set(REGISTRY.system_files) & set(REGISTRY.files)
    assert not any(one.joined for one in REGISTRY.readable())


SPEC = (PACKAGED / "systems/nvidia/hgx-h100.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("device: nvidia/h100-sxm5-80gb", "device: nvidia/h1000", "4  device: unknown device 'nvidia/h1000'"),
        ("link: nvlink", "link: ici", "5  link: nvidia/h100-sxm5-80gb has no links 'ici' (has: nvlink)"),
        ("topology: switch", "topology: mesh", "6  topology: want 'switches' with switch, and only then"),
        ("topology: switch", "topology: torus", "6  topology: torus wants 'axes', and no 'devices'"),
        ("ports: [64", "ports: [32", "switches: want a port for each of 8 × 18 links, found 128"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_line(tmp_path, old, new, problem):
    assert old in SPEC
    file = tmp_path / "systems/acme/box.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(SPEC.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        Registry.of([tmp_path]).get("acme/box")
    assert problem in str(caught.value)
    with pytest.raises(InputError) as caught:
        CliRunner().invoke(app, ["hardware", "systems", "--specs", str(tmp_path)], catch_exceptions=False)
    assert problem in str(caught.value)


def test_links_of_a_mesh_must_reach_each_device_alike(tmp_path):
    text = (PACKAGED / "systems/amd/mi300x-platform.yaml").read_text(encoding="utf-8")
    file = tmp_path / "systems/acme/box.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(text.replace("devices: [8", "devices: [6"), encoding="utf-8")
    with pytest.raises(InputError, match="7 links do not join each of 6 to the 5 others alike"):
        Registry.of([tmp_path]).get("acme/box")
