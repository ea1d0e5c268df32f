"""Designations: a name means a device by whole words, several where it does not say which, none where it is another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.hardware.names import Designations, squeezed, words
from rooflint.hardware.registry import Registry

REGISTRY = Registry()
NAMES = Designations(REGISTRY)


def short(name):
    """Ids that a name means, without their vendors."""
    return {device.rpartition("/")[2] for device in NAMES.meaning(name).devices}


@pytest.mark.parametrize(
    ("name", "device"),
    [
        ("nvidia/l4", "l4"),
        ("NVIDIA L4", "l4"),
        ("L40-S", "l40s"),
        ("l40 s", "l40s"),
        ("Tesla V100-SXM2-16GB", "v100-sxm2-16gb"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm5-80gb"),
        ("h100-sxm", "h100-sxm5-80gb"),
        ("A100 PCIe 80GB", "a100-pcie-80gb"),
        ("4090", "rtx-4090"),
        ("GB200", "gb200-gpu"),
        ("NVIDIA GeForce RTX 4090", "rtx-4090"),
        ("TPUv5e", "tpu-v5e"),
        ("tpu v5e", "tpu-v5e"),
        ("AMD Instinct MI300X", "mi300x"),
        ("Xeon Platinum 8592+", "xeon-8592plus"),
        ("NVIDIA GH100 (1) H100 PCIe", "h100-pcie-80gb"),
    ],
)
def test_a_name_means_the_device_whose_words_it_has(name, device):
    assert short(name) == {device}


@pytest.mark.parametrize(
    "name",
    ["A1000", "A100X", "RTX 4090 Laptop", "RTX A6000 Ada", "V1000", "H10", "MI300", "", "   ", "GPU", "NVIDIA", "SXM5"],
)
def test_a_part_of_a_word_or_a_word_too_many_means_nothing(name):
    assert short(name) == set()


def test_a_name_that_leaves_out_form_and_size_means_every_variant():
    assert short("A100") == {"a100-sxm4-40gb", "a100-sxm4-80gb", "a100-pcie-40gb", "a100-pcie-80gb"}
    assert short("A100 80GB") == {"a100-sxm4-80gb", "a100-pcie-80gb"}
    assert short("A100 SXM") == {"a100-sxm4-40gb", "a100-sxm4-80gb"}
    assert short("V100 SXM2") == {"v100-sxm2-16gb", "v100-sxm2-32gb"}


def test_a_form_or_a_size_that_the_device_does_not_have_is_another_device():
    assert short("L4 80GB") == set()
    assert short("V100 SXM5") == set()
    assert short("H100 SXM 94GB") == set()


def test_a_size_may_be_said_of_a_device_whose_id_does_not_say_it():
    assert short("NVIDIA L4 24GB") == {"l4"}
    assert short("T4 16G") == {"t4"}


def test_the_host_of_a_module_is_another_device():
    assert short("Jetson AGX Orin 64GB (CPU)") == set()
    assert short("Jetson AGX Orin 64GB (GPU)") == {"jetson-agx-orin-64gb"}


def test_a_name_may_speak_of_a_part_or_of_several():
    assert NAMES.meaning("MI250X (per GCD)").part == "gcd"
    assert NAMES.meaning("MI250X").part is None
    node = NAMES.meaning("NVIDIA A100(80GB)x4")
    assert node.times == 4
    assert short("NVIDIA A100(80GB)x4") == {"a100-sxm4-80gb", "a100-pcie-80gb"}


def test_what_is_unknown_is_told_what_is_near():
    assert "nvidia/h100-pcie-80gb" in NAMES.meaning("H100 Ultra").near
    assert NAMES.meaning("Frobnicator 3000").near == ()


def test_words_and_spelling_are_separated():
    assert words("NVIDIA A100-SXM4-80GB (2)") == ("nvidia", "a100", "sxm4", "80gb")
    assert squeezed("TPU v5e") == squeezed("tpu-V5E") == "tpuv5e"


@given(st.sampled_from(REGISTRY.ids()))
def test_every_device_is_found_by_its_id_its_name_and_each_alias(device):
    hardware = REGISTRY.get(device)
    for name in (device, hardware.name, *hardware.aliases):
        assert device in NAMES.meaning(name).devices


@given(
    st.sampled_from(REGISTRY.ids()), st.text(alphabet="abcdefghijklmnopqrstuvwxyz0123456789", min_size=1, max_size=4)
)
def test_no_id_is_found_by_a_piece_that_is_glued_to_it(device, piece):
    last = device.rpartition("/")[2]
    glued = NAMES.meaning(f"{piece}{last}").devices
    assert device not in glued or squeezed(f"{piece}{last}") in {squeezed(name) for name in _names(device)}


def _names(device):
    hardware = REGISTRY.get(device)
    joined = "".join(words(hardware.name))
    return (hardware.name, *hardware.aliases, device, device.replace("/", ""), joined)


@given(
    st.lists(st.sampled_from([*{word for one in REGISTRY.ids() for word in words(one)}, "x4", "laptop"]), max_size=5)
)
def test_a_name_is_compared_with_all_devices_that_it_may_mean(given_words):
    name = " ".join(given_words)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Designations, "_candidates", lambda self, given: list(self._devices))
        slow = Designations(REGISTRY).meaning(name)
    assert NAMES.meaning(name) == slow
