"""Names: they mean a device by whole words, several where they do not say which, none where it is another."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.base.errors import ExpandedNameWarning, InputError, RooflintError
from rooflint.hardware.names import AmbiguousDeviceError, Names, listed, names_of, select_device, select_devices
from rooflint.hardware.registry import Registry, UnknownDeviceError
from rooflint.hardware.vocabulary import squeezed, words

REGISTRY = Registry()
NAMES = names_of(REGISTRY)
ACME = "name: One\nkind: gpu\nsources: {wp: {document: White paper, grade: quoted}}\n"


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
        # sizes
        ("A100 40 GB SXM4", "a100-sxm4-40gb"),
        ("A100 PCIe (80 GB)", "a100-pcie-80gb"),
        ("GH200 480GB", "gh200-96gb"),  # of its CPU, as the driver calls it
        # remarks
        ("H100 SXM5 (Hopper)", "h100-sxm5-80gb"),
        ("B200 (Blackwell, dual-die)", "b200-sxm"),  # though Blackwell tells an RTX PRO 6000 apart
        ("AWS Trainium2 (96GB HBM3, cloud-only)", "trainium2"),
        ("NVIDIA B300 (Blackwell Ultra, 288GB)", "b300-sxm"),
        ("GH200 (HBM3)", "gh200-96gb"),  # the memory of a remark counts where it tells two apart
        ("H100 SXM5 (preliminary)", "h100-sxm5-80gb"),
        ("NVIDIA L40S [Ada Lovelace]", "l40s"),
        ("NVIDIA RTX 4090 (24GB VRAM)", "rtx-4090"),
        ("AMD MI200 (MI250X)", "mi250x"),
        ("NVIDIA H200 (PCIe, NVLink)", "h200-nvl-141gb"),  # by the form of an alias
        # brands and code names
        ("Habana Gaudi2", "gaudi-2"),
        ("Google TPU v7 Ironwood", "tpu-v7x"),
        ("TPU v6e Trillium", "tpu-v6e"),
        ("grace blackwell", "gb200-gpu"),
        ("EPYC 9654 (Genoa)", "epyc-9654"),
        # forms with a suffix
        ("H100 PCIe 5.0 x16", "h100-pcie-80gb"),
        ("A100 PCIe Gen4 80GB", "a100-pcie-80gb"),
        ("H200 SXM5", "h200-sxm-141gb"),
        # editions and names of markets
        ("RTX 3090 Founders Edition", "rtx-3090"),
        ("RTX 2080 Ti FE", "rtx-2080-ti"),
        ("NVIDIA_GeForce_RTX_4090_24GB", "rtx-4090"),
        ("RTX 4090 GPU", "rtx-4090"),
        # as an operating system prints them
        ("Intel(R) Xeon(R) Platinum 8490H CPU @ 1.90GHz", "xeon-8490h"),
        ("AMD EPYC 9654 96-Core Processor", "epyc-9654"),
        ("12th Gen Intel(R) Core(TM) i7-12700K @ 3.60GHz", "i7-12700k"),
        ("M1 Max (32-core GPU)", "m1-max"),
        # cards of players
        ("AMD Radeon RX 6800", "rx-6800"),
        ("RX6800XT", "rx-6800-xt"),
        ("Radeon PRO W7900", "pro-w7900"),
        ("GTX 1060", "gtx-1060-6gb"),
        ("Intel Arc A770", "arc-a770-16gb"),
    ],
)
def test_a_name_means_the_device_whose_words_it_has(name, device):
    assert short(name) == {device}


@pytest.mark.parametrize(
    "name",
    [
        *("A100X", "A1001", "RTX 4090 Laptop", "RTX 4090 (Laptop)", "RTX 4090 (mobile)", "V1000", "H10", "MI30", "m5"),
        *("", "   ", "GPU", "NVIDIA", "SXM5", "80GB", "x8", "DGX", "Titan", "Orin", "Gaudi", "Xavier NX", "TPU v4 pod"),
        *("A100 MIG 3g.20gb", "AMD EPYC 9654 64-Core Processor", "M1 Max (24-core GPU)", "TPU v3-8", "Trainium 3"),
    ],
)
def test_a_part_of_a_word_or_a_word_too_many_means_nothing(name):
    assert short(name) == set()


def test_a_name_that_leaves_out_form_and_size_means_every_variant():
    assert short("A100") == {"a100-sxm4-40gb", "a100-sxm4-80gb", "a100-pcie-40gb", "a100-pcie-80gb"}
    assert short("A100 80GB") == {"a100-sxm4-80gb", "a100-pcie-80gb"}
    assert short("A100 SXM") == {"a100-sxm4-40gb", "a100-sxm4-80gb"}
    assert short("V100 SXM2") == {"v100-sxm2-16gb", "v100-sxm2-32gb"}
    assert short("A100 40 GB") == {"a100-sxm4-40gb", "a100-pcie-40gb"}
    assert short("A100 PCIe 40/80 GB") == {"a100-pcie-40gb", "a100-pcie-80gb"}


def test_a_form_or_a_size_that_the_device_does_not_have_is_another_device():
    assert short("L4 80GB") == set()
    assert short("V100 SXM5") == set()
    assert short("H100 SXM4") == short("A100 SXM5 80GB") == set()  # though both are declared as `SXM`, too
    assert short("H100 SXM 94GB") == set()


def test_a_size_may_be_said_of_a_device_whose_id_does_not_say_it():
    assert short("NVIDIA L4 24GB") == {"l4"}
    assert short("T4 16G") == {"t4"}


@pytest.mark.parametrize("name", ["RX 6700", "RX 7900", "GTX 1050", "GTX 1060 3GB", "RX 6600 XT", "Arc A770 8GB"])
def test_another_card_of_a_number_is_not_taken_for_it(name):
    meaning = NAMES.meaning(name)
    assert (meaning.devices, meaning.shortened) == ((), ())


def test_the_host_of_a_module_is_another_device():
    assert short("Jetson AGX Orin 64GB (CPU)") == set()
    assert short("Jetson AGX Orin 64GB (GPU)") == {"jetson-agx-orin-64gb"}


def test_a_name_may_speak_of_a_part_or_of_several():
    assert NAMES.meaning("MI250X (per GCD)").part == "gcd"
    assert NAMES.meaning("MI250X").part is None
    node = NAMES.meaning("NVIDIA A100(80GB)x4")
    assert node.times == 4
    assert short("NVIDIA A100(80GB)x4") == {"a100-sxm4-80gb", "a100-pcie-80gb"}


@pytest.mark.parametrize(
    ("name", "devices", "times"),
    [
        ("DGX H100", {"h100-sxm5-80gb"}, 8),
        ("HGX B200", {"b200-sxm"}, 8),
        ("HGX H100 4-GPU", {"h100-sxm5-80gb"}, 4),
        ("DGX-1 V100 32GB", {"v100-sxm2-32gb", "v100-sxm3-32gb"}, 8),
        ("DGX A100 (8x A100 80GB)", {"a100-sxm4-80gb"}, 8),
        ("DGX H100 (per GPU)", {"h100-sxm5-80gb"}, 1),
        ("8 × H100 SXM", {"h100-sxm5-80gb"}, 8),
        ("H100 SXM (8 GPUs)", {"h100-sxm5-80gb"}, 8),
        ("GB200 NVL72", {"gb200-gpu"}, 72),
        ("Dual RTX 4090", {"rtx-4090"}, 2),
        ("H100 NVL", {"h100-nvl-94gb"}, 1),
        ("H100 PCIe x16", {"h100-pcie-80gb"}, 1),  # lanes
        ("Ryzen 9 7900X", set(), 1),
    ],
)
def test_a_system_is_so_many_devices(name, devices, times):
    assert (short(name), NAMES.meaning(name).times) == (devices, times)


def test_a_name_that_is_read_as_a_device_may_be_an_abbreviation_or_declared():
    assert NAMES.meaning("h100-sxm5-80gb").is_declared
    assert NAMES.meaning("H100 SXM").is_declared  # an alias
    assert not NAMES.meaning("H100 SXM4 80GB HBM3").is_declared
    assert NAMES.meaning("t5000").shortened == ()
    assert NAMES.meaning("rtx pro 6000").devices == ()
    assert {one.rpartition("/")[2] for one in NAMES.meaning("rtx pro 6000").shortened} == {
        "rtx-pro-6000-blackwell", "rtx-pro-6000-blackwell-max-q", "rtx-pro-6000-blackwell-server",
    }  # fmt: skip


# ---- what is typed


@pytest.mark.parametrize(
    "name",
    ["nvidia/h100-sxm5-80gb", "H100-SXM5-80GB", "H100 SXM5", " nvidia h100 80gb hbm3 ", "h100-sxm", "Tesla H100 SXM5"],
)
def test_a_declared_name_is_taken_without_a_word(name):
    assert select_device(REGISTRY, name).id == "nvidia/h100-sxm5-80gb"  # warnings are errors here


@pytest.mark.parametrize(
    ("name", "device"),
    [
        ("orin-nx-16", "nvidia/jetson-orin-nx-16gb"),
        ("h100 pcie hbm2e", "nvidia/h100-pcie-80gb"),
        ("xavier", "nvidia/jetson-agx-xavier-32gb"),
        ("v1", "google/tpu-v1"),
        ("coral", "google/coral-edge-tpu"),
    ],
)
def test_an_abbreviation_is_expanded_and_said(name, device):
    with pytest.warns(ExpandedNameWarning, match=f"^'{name}' is read as {device}$"):
        assert select_device(REGISTRY, name).id == device


def test_a_name_of_several_devices_is_ambiguous_and_the_message_names_them():
    with pytest.raises(AmbiguousDeviceError) as caught:
        select_device(REGISTRY, "h100")
    assert str(caught.value) == (
        "'h100' is ambiguous: nvidia/h100-nvl-94gb, nvidia/h100-pcie-80gb, nvidia/h100-sxm5-80gb"
    )
    with pytest.raises(AmbiguousDeviceError, match=r"nvidia/a100-pcie-40gb, nvidia/a100-sxm4-40gb$"):
        select_device(REGISTRY, "A100 40 GB")


@pytest.mark.parametrize("name", ["T4 (SM75)", "T4 sm_75", "T4 (CC 7.5)", "Tesla T4, compute capability 7.5"])
def test_a_compute_capability_beside_a_name_must_be_that_of_the_device(name):
    assert names_of(REGISTRY).meaning(name).devices == ("nvidia/t4",)
    assert not names_of(REGISTRY).meaning(name.replace("7", "8")).devices


def test_a_name_with_slashes_means_each_of_its_devices():
    names = names_of(REGISTRY)
    both = names.meaning("A100").devices + names.meaning("A800").devices
    assert names.meaning("A100/A800").devices == both
    assert (
        names.meaning("A100 / A800 80GB").devices == names.meaning("A100").devices + names.meaning("A800 80GB").devices
    )
    assert not names.meaning("A100/zzzz").devices
    assert not names.meaning("/".join(["A100", "A800"] * 5000)).devices
    with pytest.raises(AmbiguousDeviceError, match=r"^'H200/L4' is ambiguous: nvidia/h200-nvl-141gb, .*nvidia/l4$"):
        select_device(REGISTRY, "H200/L4")


@pytest.mark.parametrize(
    ("name", "devices"),
    [
        ("Ascend 910B", {"ascend-910b2", "ascend-910b3", "ascend-910b4"}),
        ("AMD Instinct MI300", {"mi300a", "mi300x"}),
        ("TPU v5", {"tpu-v5e", "tpu-v5p"}),
        ("MI300 192GB", {"mi300x"}),
        ("A10", {"a10"}),  # a product itself, beside the A10G
        ("7900 XT", {"rx-7900-xt"}),  # and no series with the XTX
        ("GTX 1080", {"gtx-1080"}),
        ("MI30", set()),  # no series of the MI300
        ("910", {"ascend-910"}),
    ],
)
def test_a_series_is_the_devices_that_differ_in_a_last_sign(name, devices):
    assert short(name) == devices


def test_boards_that_are_sold_in_pairs_may_be_named_by_the_memory_of_both():
    pair = NAMES.meaning("NVIDIA H100 NVL 188GB")
    assert (pair.devices, pair.times) == (("nvidia/h100-nvl-94gb",), 2)
    assert not NAMES.meaning("H100 NVL 190GB").devices
    assert not NAMES.meaning("H100 SXM 160GB").devices


@pytest.mark.parametrize("name", ["RTX6000_BLACKWELL", "RTX 6000 Blackwell", "RTX PRO 6000 Blackwell"])
def test_the_rtx_pro_6000_is_known_without_its_pro(name):
    assert names_of(REGISTRY).meaning(name).devices == ("nvidia/rtx-pro-6000-blackwell",)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("m5", "apple/m1, apple/m2 or apple/m3?"),
        ("h1000", "nvidia/h100-"),
        ("nvidia/h100-sxm5-81gb", "nvidia/h100-sxm5-80gb, "),
        ("mi308x", "amd/mi300x"),
        ("rtx 4009", "nvidia/rtx-4090"),
        ("rtx-30", "nvidia/rtx-30"),  # not the 30 of an Altra M128-30
    ],
)
def test_what_is_mistyped_is_not_guessed_but_suggested(name, near):
    with pytest.raises(UnknownDeviceError) as caught:
        select_device(REGISTRY, name)
    assert str(caught.value).startswith(f"unknown device '{name}'; did you mean {near}")


@pytest.mark.parametrize("name", ["", " ", "/", "zzzzzzzz", "i9-13900K", "DGX-1", "9800X3D"])
def test_where_nothing_is_near_the_message_says_how_to_list_devices(name):
    with pytest.raises(UnknownDeviceError) as caught:
        names_of(REGISTRY).device(name)
    count = len(REGISTRY.ids())
    assert str(caught.value) == f"unknown device '{name}' ({count} are known; 'rooflint hardware' lists them)"


@pytest.mark.parametrize("name", ["Tesla V100 (SXM2, 32 GB)", "Tesla V100-SXM2, 32 GB"])
def test_a_comma_may_belong_to_a_name(name):
    assert select_device(REGISTRY, name).id == "nvidia/v100-sxm2-32gb"


def test_a_comma_in_brackets_does_not_part_names():
    found = select_devices(REGISTRY, ["T4, V100 (SXM2, 32 GB)"])
    assert [one.id for one in found] == ["nvidia/t4", "nvidia/v100-sxm2-32gb"]
    with pytest.raises(RooflintError, match="'t4, l4' names 2 devices; want one"):
        select_device(REGISTRY, "t4, l4")


def test_several_devices_and_parts_are_no_device():
    with pytest.raises(RooflintError, match="'dgx h100' is 8 devices; want one device, such as nvidia/h100-sxm5-80gb"):
        select_device(REGISTRY, "dgx h100")
    with pytest.raises(RooflintError, match=r"is a part \(gcd\); want one device, such as amd/mi250x"):
        select_device(REGISTRY, "mi250x gcd")


def test_a_last_word_of_two_vendors_is_ambiguous(specs):
    specs.write("acme/one", ACME)
    specs.write("other/one", ACME)
    with pytest.raises(AmbiguousDeviceError) as caught:
        select_device(specs.registry(), "one")
    assert str(caught.value) == "'one' is ambiguous: acme/one, other/one"


def test_an_alias_of_two_devices_is_ambiguous(specs):
    specs.write("acme/one", ACME + "aliases: [Turbo]\n")
    specs.write("acme/two", ACME + "aliases: [turbo]\n")
    with pytest.raises(AmbiguousDeviceError) as caught:
        select_device(specs.registry(), "TURBO")
    assert str(caught.value) == "'TURBO' is ambiguous: acme/one, acme/two"


def test_a_broken_neighbour_does_not_keep_others_from_being_found(specs):
    specs.write("acme/broken", "name: [\n")
    specs.write("acme/one", ACME + "aliases: [Turbo]\n")
    assert select_device(specs.registry(), "turbo").id == "acme/one"
    with pytest.raises(InputError, match="is not YAML"):
        select_device(specs.registry(), "broken")


def test_globs_and_whole_words_list_devices():
    assert listed(REGISTRY, "nvidia/h100-*") == [
        "nvidia/h100-nvl-94gb", "nvidia/h100-pcie-80gb", "nvidia/h100-sxm5-80gb",
    ]  # fmt: skip
    assert [one.id for one in select_devices(REGISTRY, ["nvidia/t?"])] == ["nvidia/t4"]
    assert listed(REGISTRY, "a100 40gb") == ["nvidia/a100-pcie-40gb", "nvidia/a100-sxm4-40gb"]
    assert listed(REGISTRY, "l4") == ["nvidia/l4"]
    assert len(listed(REGISTRY, "jetson orin")) == 7
    for pattern in ("*nothing*", "pcie h10", "m5"):
        with pytest.raises(UnknownDeviceError, match="no device matches"):
            listed(REGISTRY, pattern)


# ---- what is unknown


def test_what_is_unknown_is_told_what_is_near():
    assert "nvidia/h100-pcie-80gb" in NAMES.meaning("H100 Ultra").near
    assert NAMES.meaning("Frobnicator").near == ()


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
    is_count = re.fullmatch(r"[1-9]\d*x", piece) is not None  # 8xh100
    known = {squeezed(name) for name in _names(device)}
    is_whole = squeezed(f"{piece}{last}") in known or squeezed(last.partition("-")[2]) in known  # v5e of 0tpu-v5e
    assert device not in glued or is_count or is_whole


def _names(device):
    hardware = REGISTRY.get(device)
    joined = "".join(words(hardware.name))
    return (hardware.name, *hardware.aliases, device, device.replace("/", ""), joined)


@pytest.mark.slow
@given(
    st.lists(st.sampled_from([*{word for one in REGISTRY.ids() for word in words(one)}, "x4", "laptop"]), max_size=5)
)
def test_a_name_is_compared_with_all_devices_that_it_may_mean(given_words):
    name = " ".join(given_words)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Names, "_candidates", lambda self, given: list(range(len(self._devices))))
        slow = Names(REGISTRY).meaning(name)
    assert NAMES.meaning(name) == slow
