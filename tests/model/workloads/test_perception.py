"""Windows of an image and samples of a recording: shapes by hand, and parameters of checkpoints."""

from dataclasses import replace

import pytest

from rooflint.base.errors import RooflintError
from rooflint.workloads.networks import network_named
from rooflint.workloads.perception import ImageEncoder, Recording

WINDOWS = ImageEncoder(
    "windows", depth=3, hidden=8, heads=2, feed_forward=16, size=24, patch=4, channels=3, window=4, global_layers=1,
    out_channels=5,
)  # fmt: skip
HEARD = Recording(
    "heard", samples=100, conv_width=6, conv_kernels=(10, 3), conv_strides=(5, 2), depth=2, hidden=8, heads=2,
    feed_forward=16, position_kernel=4, position_groups=2,
)  # fmt: skip


def rows(work):
    return {row.name: row for row in work.rows()}


def test_an_image_is_padded_to_whole_windows():
    found = rows(WINDOWS.table(2))
    # 6 × 6 patches are 2 × 2 windows of 4 × 4: 64 tokens instead of 36
    assert found["window_qkv"].m == 2 * 64
    assert found["window_attention"][7:11] == (16, 16, 8, 2 * 4 * 2) and found["window_attention"].repeats == 2
    assert found["window_up"].m == 2 * 36


def test_global_layers_see_the_whole_image_without_padding():
    found = rows(WINDOWS.table(2))
    assert found["global_attention"][7:11] == (36, 36, 8, 4)
    assert "global_pad" not in found


def test_a_bias_of_distances_is_made_of_queries_and_two_tables():
    found = rows(WINDOWS.table(1))
    # each of 2 heads and 36 queries: 6 distances along one axis, on 4 elements
    assert found["global_distance_height"].macs == 2 * 36 * 6 * 4
    assert found["global_distance_add"].other_ops == 2 * 36 * 36


def test_convolutions_shorten_a_recording():
    found = rows(HEARD.table(2))
    # (100 − 10) / 5 + 1 = 19 frames, (19 − 3) / 2 + 1 = 9
    assert (found["conv0"].m, found["conv1"].m, found["qkv"].m) == (2 * 19, 2 * 9, 2 * 9)
    assert found["conv1"].elements_in == 2 * 19 * 6


def test_an_even_window_has_a_frame_more():
    found = rows(HEARD.table(1))
    assert (found["positions"].m, found["positions_gelu"].elements_out) == (10, 9 * 8)
    assert (found["positions"].k, found["positions"].groups) == (4 * 4, 2)


@pytest.mark.parametrize("net", [WINDOWS, HEARD])
def test_another_batch_is_the_same_as_one_made_for_it(net):
    assert net.table(2).at_batch(6) == net.table(6)


def test_tokens_are_refused():
    with pytest.raises(RooflintError) as refused:
        HEARD.table(1, past=3)
    assert str(refused.value) == "heard: reads a recording; want no --prompt and no --past"


@pytest.mark.parametrize(("name", "parameters"), [("sam-vit-h", 637_026_048), ("wav2vec2-base", 94_371_712)])
def test_shipped_ones_have_the_parameters_of_their_checkpoints(name, parameters):
    assert network_named(name).configuration.parameters == parameters


@pytest.mark.parametrize(
    ("net", "other", "says"),
    [
        (WINDOWS, {"heads": 3}, "windows: want heads that divide hidden"),
        (WINDOWS, {"patch": 5}, "windows: want a patch that divides size"),
        (WINDOWS, {"global_layers": 3}, "windows: want fewer global_layers than depth"),
        (HEARD, {"conv_strides": (5,)}, "heard: want as many conv_strides as conv_kernels"),
        (HEARD, {"samples": 19}, "heard: want samples for one frame at least"),
        (HEARD, {"position_groups": 3}, "heard: want position_groups that divide hidden"),
    ],
)
def test_facts_that_do_not_fit_are_refused(net, other, says):
    with pytest.raises(RooflintError) as refused:
        replace(net, **other)
    assert str(refused.value) == says
