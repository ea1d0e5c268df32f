"""Steps of denoising: products by hand, sides of each level, and the figures of papers."""

from dataclasses import replace

import pytest

from rooflint.base.errors import RooflintError
from rooflint.workloads.diffusion import DiffusionTransformer, UNet
from rooflint.workloads.networks import network_named

PATCHES = DiffusionTransformer(
    "patches", depth=3, hidden=8, heads=2, feed_forward=16, side=6, channels=4, out_channels=8, patch=2, classes=5,
    frequencies=10,
)  # fmt: skip
LEVELS = UNet(
    "levels", channels=8, multipliers=(1, 2), blocks=1, depths=(2,), head_size=4, latent=4, side=8, text=6,
    text_tokens=5, vector=30, sizes=2, frequencies=10,
)  # fmt: skip


def rows(work):
    return {row.name: row for row in work.rows()}


def test_a_latent_becomes_patches_and_patches_become_noise_and_its_variance():
    found = rows(PATCHES.table(2))
    assert found["patches"][7:11] == (2 * 9, 8, 16, 1)
    assert found["head"][7:10] == (2 * 9, 4 * 8, 8)
    assert found["attention"][7:11] == (9, 9, 8, 4) and found["attention"].repeats == 3


def test_shifts_are_made_once_for_a_sample_and_not_for_each_token():
    assert rows(PATCHES.table(2))["modulation"][7:10] == (2, 6 * 8, 8)


def test_the_work_of_a_step_is_what_the_paper_prints():
    # Peebles and Xie print 118.6 Gflops, and count a multiply-add as one
    assert network_named("dit-xl-2").workload().total_macs == pytest.approx(118.6e9, rel=5e-4)


def test_sides_halve_on_the_way_down_and_double_on_the_way_up():
    found = rows(LEVELS.table(2))
    assert [found[name].m for name in ("down0_0_conv1", "down0_halved", "down1_0_conv1")] == [128, 32, 32]
    assert [found[name].m for name in ("up1_1_conv1", "up1_doubled_conv", "up0_0_conv1")] == [32, 128, 128]


def test_what_was_left_on_the_way_down_is_joined_on_the_way_up():
    found = rows(LEVELS.table(1))
    # 16 of the middle and 16 of level 1; 16 and 8; then 16 and 8 of the halved, 8 and 8 of conv_in
    widths = [found[f"up{level}_{place}_conv1"].k // 9 for level in (1, 0) for place in (0, 1)]
    assert widths == [32, 24, 24, 16]


def test_the_lower_level_attends_to_itself_and_to_the_text():
    found = rows(LEVELS.table(2))
    assert found["down1_0_self_attention"][7:11] == (16, 16, 8, 8)
    assert found["down1_0_text_attention"][7:11] == (16, 5, 8, 8)
    assert found["down1_0_text_kv"][7:10] == (10, 32, 6) and found["down1_0_text_kv"].repeats == 2
    assert not [name for name in found if name.startswith(("down0", "up0")) and "attention" in name]


PLAIN_END = replace(
    LEVELS, multipliers=(1, 2, 2), depths=(1, 1), lowest=1, middle=1, head_size=0, heads=2, linear=False, vector=0,
    sizes=0, frequencies=0,
)  # fmt: skip


def test_the_first_stable_diffusion_attends_in_all_levels_but_the_last():
    found = rows(PLAIN_END.table(2))
    attending = {name.partition("_")[0] for name in found if "attention" in name}
    assert attending == {"down0", "down1", "middle", "up1", "up0"}
    # as many heads in each level, of other sizes: 2 of 4 and 8 elements for each of 2 latents
    assert found["down0_0_self_attention"][7:11] == (64, 64, 8, 4)
    assert found["middle_0_self_attention"][7:11] == (4, 4, 16, 4)
    # convolutions of 1 × 1 around its blocks, and nothing is told but time
    assert found["down0_0_in"].kind == "conv2d" and found["down0_0_in"][7:10] == (128, 8, 8)
    assert not [name for name in found if "vector" in name or name == "time_add"]


@pytest.mark.parametrize("net", [PATCHES, LEVELS, PLAIN_END])
def test_another_batch_is_the_same_as_one_made_for_it(net):
    assert net.table(2).at_batch(6) == net.table(6)


@pytest.mark.parametrize("net", [PATCHES, LEVELS])
def test_tokens_are_refused(net):
    with pytest.raises(RooflintError, match="takes no tokens; want no --prompt and no --past"):
        net.table(1, new=7)


@pytest.mark.parametrize(("name", "parameters"), [("dit-xl-2", 675_129_632), ("sdxl-unet", 2_567_463_684)])
def test_shipped_ones_have_the_parameters_of_their_checkpoints(name, parameters):
    assert network_named(name).configuration.parameters == parameters


@pytest.mark.parametrize(
    ("net", "other", "says"),
    [
        (PATCHES, {"heads": 3}, "patches: want heads that divide hidden"),
        (PATCHES, {"patch": 4}, "patches: want a patch that divides side"),
        (LEVELS, {"depths": (1, 1, 1)}, "levels: want no more depths than multipliers, and one at least"),
        (LEVELS, {"depths": (1, 1), "lowest": 1}, "levels: want no more depths than multipliers, and one at least"),
        (LEVELS, {"heads": 2}, "levels: want a head_size or heads, and not both"),
        (LEVELS, {"head_size": 0, "heads": 3}, "levels: want heads that divide channels with attention"),
        (LEVELS, {"side": 7}, "levels: want a side that each level can halve"),
        (LEVELS, {"head_size": 5}, "levels: want a head_size that divides channels with attention"),
        (LEVELS, {"vector": 19}, "levels: want a vector with room for all sizes"),
    ],
)
def test_facts_that_do_not_fit_are_refused(net, other, says):
    with pytest.raises(RooflintError) as refused:
        replace(net, **other)
    assert str(refused.value) == says
