"""Design spaces: which fact a name moves, which values a text means, and which variants a grid or a sample has."""

import re

import numpy as np
import pytest

from rooflint.cost.schema import RENT
from rooflint.hardware.registry import Registry
from rooflint.prediction import space
from rooflint.prediction.space import VaryError, axis, grid, latin_hypercube, parameter, significant

REGISTRY = Registry()
H100 = REGISTRY.get("nvidia/h100-sxm5-80gb")
TPU = REGISTRY.get("google/tpu-v4")
BANDWIDTH = parameter(H100, "memory.bandwidth")
GROUPS = parameter(H100, "SM.groups")


def values(of, text):
    return axis(of, text).values.tolist()


# ---- names


def test_a_fact_is_named_by_its_path_or_by_the_end_of_one_path():
    assert parameter(H100, "units.tensor_core.groups").shares == {"units.tensor_core.groups": 1.0}
    short = parameter(H100, "l2.capacity")
    assert (short.name, short.shares) == ("l2.capacity", {"caches.l2.capacity": 1.0})
    assert short.note == "l2.capacity is caches.l2.capacity"
    assert parameter(H100, "tdp").base == 700


def test_a_bandwidth_that_follows_from_the_bus_moves_the_rate_per_pin():
    # 5120 bit × 5.238 Gbit/s = 3.35232 TB/s; 8 TB/s over 5120 bit are 12.5 Gbit/s a pin
    assert BANDWIDTH.base == pytest.approx(3.35232e12)
    (path, rates) = next(iter(BANDWIDTH.facts(np.array([8e12])).items()))
    assert path == "memories.hbm3.pin_rate"
    assert rates * 8 == pytest.approx([12.5e9])
    assert "the bus stays 5120 bit" in BANDWIDTH.note


def test_a_stated_bandwidth_moves_itself():
    stated = parameter(TPU, "memory.bandwidth")
    assert (stated.name, stated.shares) == ("memory.bandwidth", {"memories.hbm2.bandwidth": 1.0})
    assert stated.show(stated.base) == "1.2 TB/s"
    assert parameter(TPU, "memories.hbm2.bandwidth").shares == {"memories.hbm2.bandwidth": 1.0}


def test_a_group_moves_all_units_in_it():
    paths = [f"units.{unit}.groups" for unit in ("tensor_core", "cuda_core", "fp64_core")]
    assert GROUPS.shares == dict.fromkeys(paths, 1.0)
    assert GROUPS.base == 132


def test_clocks_of_a_group_move_in_proportion():
    # tensor cores run at 1830 MHz, CUDA cores at 1980
    clock = parameter(H100, "sm.clock")
    assert clock.base == 1.83e9
    assert clock.shares["units.cuda_core.clock"] == pytest.approx(1980 / 1830)
    assert clock.shares["units.tensor_core.clock_of.fp64"] == pytest.approx(1980 / 1830)
    assert clock.note == (
        "sm.clock stands for units.tensor_core.clock; units.tensor_core.clock_of.fp64, units.cuda_core.clock, "
        "units.fp64_core.clock move in proportion"
    )
    assert GROUPS.note == f"SM.groups moves {', '.join(GROUPS.shares)}"


def test_counts_stay_whole():
    assert GROUPS.facts(np.array([65.9999999]))["units.cuda_core.groups"].tolist() == [66.0]
    assert GROUPS.around(0.001) == (131, 133)
    assert parameter(H100, "units.tensor_core.per_group").around(0.01) == (3, 5)
    assert BANDWIDTH.around(0.01) == pytest.approx((0.99 * BANDWIDTH.base, 1.01 * BANDWIDTH.base))
    assert parameter(TPU, "units.mxu.groups").around(0.01) == (1, 3)


def test_a_count_of_one_has_no_neighbour_below():
    one = space.Parameter("dies", GROUPS.kind, 1.0, {"dies": 1.0})
    assert one.around(0.01) == (1, 2)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("memory.bandwith", "did you mean memory.bandwidth?"),
        ("units.tensor_core.group", "did you mean units.tensor_core.groups"),
        ("groups", "'groups' is ambiguous: units.tensor_core.groups, units.cuda_core.groups, units.fp64_core.groups; "
         "SM.groups moves those of the SM"),
        ("peak", "a peak is derived, and follows from facts: vary units.tensor_core.groups, units.tensor_core.clock"),
        ("tensor_core.tops", "a peak is derived"),
        ("nothing.like.it", "rooflint hardware show nvidia/h100-sxm5-80gb lists its facts"),
    ],
)  # fmt: skip
def test_a_name_that_moves_nothing_is_refused_with_what_does(name, message):
    with pytest.raises(VaryError, match=re.escape(message)):
        parameter(H100, name)


def test_an_undisclosed_fact_has_its_reason():
    hailo = REGISTRY.get("hailo/hailo-8")
    path = next(iter(hailo.undisclosed))
    with pytest.raises(VaryError, match=f"{path}.clock is undisclosed: "):
        parameter(hailo, f"{path}.clock")


# ---- values


def test_a_range_has_equal_steps_and_its_unit_at_the_end():
    assert values(BANDWIDTH, "2:8TB/s") == [2e12, 3e12, 4e12, 5e12, 6e12, 7e12, 8e12]
    assert values(BANDWIDTH, "500 GB/s : 8 TB/s : 4") == [0.5e12, 3e12, 5.5e12, 8e12]
    assert values(GROUPS, "64:256") == [64, 96, 128, 160, 192, 224, 256]


def test_factors_have_equal_ratios():
    # 132 × 2^(-1, -2/3, … 1) = 66, 83.2, 104.8, 132, 166.3, 209.5, 264
    assert values(GROUPS, "x0.5:x2") == [66, 83, 105, 132, 166, 210, 264]
    assert values(BANDWIDTH, "x0.5:x2:3") == pytest.approx([1.67616e12, 3.35232e12, 6.70464e12])


def test_a_value_has_as_many_digits_as_a_fact_has_in_its_unit():
    # half of 2.99 USD/h, which is no short number of USD/s
    price = space.Parameter("price", RENT, 2.99 / 3600, {})
    assert [price.show(value) for value in axis(price, "x0.5:x2:3").values] == [
        "1.495 USD/h",
        "2.99 USD/h",
        "5.98 USD/h",
    ]
    assert axis(price, "x0.5:x2:3").values * 3600 == pytest.approx([1.495, 2.99, 5.98], rel=1e-15)


def test_a_list_is_sorted_and_says_each_value_once():
    assert values(BANDWIDTH, "4,2,4,8 TB/s") == [2e12, 4e12, 8e12]
    assert values(BANDWIDTH, "900GB/s,2TB/s") == [0.9e12, 2e12]
    assert values(GROUPS, "x1,x2,x1/2") == [66, 132, 264]
    assert values(parameter(H100, "units.cuda_core.macs_per_clock.fp32"), "1/2,1,2MAC") == [0.5, 1, 2]


def test_steps_of_a_count_that_fall_together_are_one():
    assert values(GROUPS, "1:4") == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2:8", "want a bandwidth in B/s such as 3.35 TB/s, found '2'; give a unit, or factors such as x0.5:x2"),
        ("2:8GHz", "want a bandwidth in B/s"),
        ("2:8tbps", "write TB/s or Tbit/s"),
        ("2:9000TB/s", "outside 100 MB/s … 1 PB/s"),
        ("x0.5:2TB/s", "want values or factors, and not both"),
        ("x1000", "x1000 of 3.352 TB/s is 3.352 PB/s, outside"),
        ("x2TB/s", "a factor has no unit"),
        ("x1/0", "'x1/0' divides by zero"),
        ("x0", "x0 of 3.352 TB/s is 0 B/s, outside"),
        ("0:8TB/s", "above zero"),
        ("2:8TB/s:1", "want at least 2 steps"),
        ("2:4:6:8TB/s", "want a range or a list"),
        ("2,,8TB/s", "want a range or a list"),
        ("fast", "want numbers with a unit"),
    ],
)
def test_values_that_a_fact_cannot_have_are_refused_with_its_name(text, message):
    with pytest.raises(VaryError, match=re.escape(message)) as caught:
        axis(BANDWIDTH, text)
    assert str(caught.value).startswith("memory.bandwidth: ")


def test_a_count_is_a_whole_number():
    with pytest.raises(VaryError, match=r"want a whole number, found '64\.5'"):
        axis(GROUPS, "64.5")


# ---- variants


def test_a_grid_has_every_pair_the_last_axis_first():
    found = grid([axis(BANDWIDTH, "2,4TB/s"), axis(GROUPS, "64,128,256")])
    assert found.values.tolist() == [[2e12] * 3 + [4e12] * 3, [64, 128, 256] * 2]
    assert (len(found), found.how) == (6, "grid")


def test_a_grid_that_is_too_large_asks_for_a_sample(monkeypatch):
    monkeypatch.setattr(space, "MOST", 5)
    with pytest.raises(
        VaryError, match="the grid has 6 variants, more than 5: want fewer values, or a number of samples"
    ):
        grid([axis(BANDWIDTH, "2,4TB/s"), axis(GROUPS, "64,128,256")])


def test_a_sample_draws_once_from_each_part_of_each_axis():
    axes = [axis(BANDWIDTH, "2:8TB/s"), axis(GROUPS, "1:100"), axis(BANDWIDTH, "x0.5:x2")]
    found = latin_hypercube(axes, 50, seed=3)
    parts = np.floor((found.values[0] - 2e12) / 6e12 * 50)
    assert sorted(parts.tolist()) == list(range(50))
    # 50 samples of 100 counts: one of each two
    assert sorted(np.floor((found.values[1] - 1) / 2).tolist()) == list(range(50))
    # factors are drawn by their logarithm: half of them lie below the base
    assert (found.values[2] < BANDWIDTH.base).sum() == 25
    assert found.how == "Latin hypercube, seed 3"


def test_a_sample_of_a_list_has_its_values_alike_often():
    found = latin_hypercube([axis(GROUPS, "64,128,256")], 300)
    assert np.unique(found.values, return_counts=True)[1].tolist() == [100, 100, 100]


def test_a_seed_draws_the_same_again_and_another_does_not():
    axes = [axis(BANDWIDTH, "2:8TB/s")]
    again = [latin_hypercube(axes, 20, seed).values.tolist() for seed in (1, 1, 2)]
    assert again[0] == again[1] != again[2]


@pytest.mark.parametrize("samples", [0, space.MOST + 1])
def test_a_number_of_samples_has_ends(samples):
    with pytest.raises(VaryError, match="samples, found"):
        latin_hypercube([axis(GROUPS, "1:100")], samples)


def test_significant_digits_keep_zero_and_what_is_not_known():
    assert significant(np.array([123456.7, 0.00123456, 0.0]), 3).tolist() == [123000.0, 0.00123, 0.0]
    assert np.isnan(significant(np.array([np.nan]), 3)).all()
