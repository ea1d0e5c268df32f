"""`rooflint.explore`: what it takes, what it gives back, and what it saves."""

import re

import numpy as np
import pytest

import rooflint as rl

BANDWIDTHS = {"memory.bandwidth": "2:8TB/s"}


@pytest.fixture(scope="module")
def found():
    return rl.explore(
        "h100-sxm5", BANDWIDTHS, "resnet18", minimise=["latency", "memory.bandwidth"], precision="fp16", cached=False
    )


def test_columns_are_variants_with_the_base_first(found):
    assert found.columns["memory.bandwidth"].tolist() == [3.35232e12, *(step * 1e12 for step in range(2, 9))]
    one = rl.predict("resnet18", "h100-sxm5", precision="fp16", cached=False)
    assert found.columns["latency_s"][0] == pytest.approx(one.latency_s, rel=1e-12)
    assert found.pareto["variant"].tolist() == [1, 2, 3, 4, 5, 6, 7]


def test_it_prints_as_the_command_does_and_has_a_short_name(found):
    assert str(found).startswith(
        "Hypothetical variants of nvidia/h100-sxm5-80gb on resnet18\n7 variants (grid), batch 1"
    )
    assert repr(found) == "<Exploration of 7 variants of nvidia/h100-sxm5-80gb: 7 in the Pareto set>"
    assert "<table>" in found._repr_html_()


def test_values_are_texts_numbers_or_lists_of_them():
    found = rl.explore("h100-sxm5", {"SM.groups": [64, 128]}, "resnet18", minimise="latency")
    assert found.columns["SM.groups"].tolist() == [132, 64, 128]


def test_numbers_and_arrays_are_in_si():
    text = rl.explore("h100-sxm5", {"memory.bandwidth": "2,4TB/s", "launch_overhead": "2.5us"}, "resnet18")
    numbers = {"memory.bandwidth": np.array([2e12, 4e12]), "launch_overhead": 2.5e-6}
    found = rl.explore("h100-sxm5", numbers, "resnet18")
    assert found.columns["memory.bandwidth"].tolist() == [3.35232e12, 2e12, 4e12]
    assert found.columns["latency_s"] == pytest.approx(text.columns["latency_s"], rel=1e-12)
    groups = rl.explore("h100-sxm5", {"SM.groups": np.arange(64, 66)}, "resnet18", minimise="latency")
    assert groups.columns["SM.groups"].tolist() == [132, 64, 65]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"memory.bandwidth": 4.0}, "'4 B/s' is 4 B/s, outside 100 MB/s … 1 PB/s; wrong unit or prefix?"),
        ({"units.tensor_core.macs_per_clock.fp16": 512}, "such as 512 MAC, found '512'; give a unit"),
        ({"price": [2.5, 3]}, "such as 3.22 USD/h, found '2.5'; give a unit"),
        ({"memory.bandwidth": float("nan")}, "want numbers with a unit"),
    ],
)
def test_a_number_that_si_does_not_settle_is_refused(values, message):
    with pytest.raises(rl.RooflintError, match=re.escape(message)):
        rl.explore("h100-sxm5", values, "resnet18")


@pytest.mark.slow
@pytest.mark.parametrize("batch", [np.int64(8), np.array([8]), np.array(8), [np.int32(8)], range(8, 9)])
def test_a_batch_may_be_a_number_of_numpy(batch):
    found = rl.explore("h100-sxm5", {"SM.groups": 64}, "resnet18", minimise="latency", batch=batch)
    plain = rl.explore("h100-sxm5", {"SM.groups": 64}, "resnet18", minimise="latency", batch=8)
    assert found.columns["latency_s"].tolist() == plain.columns["latency_s"].tolist()


def test_a_figure_that_no_variant_has_is_not_drawn():
    found = rl.explore("kpu-t256", {"memory.bandwidth": "x0.5:x2"}, "resnet18", precision="int8")
    known = "latency, energy, memory, power, balance, throughput, utilization, memory.bandwidth"
    with pytest.raises(rl.RooflintError, match=f"^plot: cost is not known for any variant: want {known}$"):
        found.answer("latency,cost")
    assert found.answer("latency,energy").sections


def test_without_an_objective_latency_and_energy_are_minimised_where_they_are_known():
    assert [one.name for one in rl.explore("h100-sxm5", BANDWIDTHS, "resnet18").design.objectives] == [
        "latency",
        "energy",
    ]
    bare = rl.device("h100-sxm5")
    bare = type(bare)(**{**vars(bare), "facts": {path: one for path, one in bare.facts.items() if path != "process"}})
    assert [one.name for one in rl.explore(bare, BANDWIDTHS, "resnet18").design.objectives] == ["latency"]


def test_samples_are_drawn_instead_of_a_grid():
    said = []
    found = rl.explore("h100-sxm5", BANDWIDTHS, ["resnet18", "vgg16"], samples=20, seed=4, announce=said.append)
    assert len(found.design.space) == 20
    assert said == ["20 variants (Latin hypercube, seed 4) × 2 runs"]


def test_a_saved_variant_is_predicted_as_it_was(found, tmp_path):
    assert found.save(7, tmp_path / "hardware/acme/eight.yaml") == "acme/eight"
    eight = rl.device("acme/eight", specs=[tmp_path])
    assert str(eight.bandwidth()) == "8 TB/s"
    again = rl.predict("resnet18", eight, precision="fp16", cached=False, specs=[tmp_path])
    assert again.latency_s == pytest.approx(found.columns["latency_s"][7], rel=1e-9)
    assert eight.name == "NVIDIA H100 SXM5 80GB, hypothetical: memory.bandwidth 8 TB/s"


def test_the_best_by_an_objective_is_saved_by_its_name(found, tmp_path):
    found.save("latency", tmp_path / "hardware/acme/fast.yaml")
    found.save("memory.bandwidth", tmp_path / "hardware/acme/narrow.yaml")
    assert str(rl.device("acme/fast", specs=[tmp_path]).bandwidth()) == "8 TB/s"
    assert str(rl.device("acme/narrow", specs=[tmp_path]).bandwidth()) == "2 TB/s"


def test_the_base_may_be_at_an_operating_point(tmp_path):
    found = rl.explore("agx-orin-64@30w", {"memory.bandwidth": "x1,x2"}, "resnet18", precision="fp16")
    assert found.columns["latency_s"][1] == pytest.approx(found.columns["latency_s"][0], rel=1e-12)
    found.save(1, tmp_path / "hardware/acme/same.yaml")
    same = rl.predict("resnet18", "acme/same", precision="fp16", specs=[tmp_path])
    # ids of other vendors take the launches of no vendor: compare what does not depend on them
    assert same.times.memory_s == pytest.approx(
        rl.predict("resnet18", "agx-orin-64@30w", precision="fp16").times.memory_s
    )


@pytest.mark.parametrize("variant", [0, 8, "energy", "x"])
def test_a_variant_that_is_not_there_is_refused(found, variant, tmp_path):
    with pytest.raises(rl.RooflintError, match=r"want a number from 1 to 7 or the best by latency, memory\.bandwidth"):
        found.save(variant, tmp_path / "hardware/acme/one.yaml")


def test_a_chart_has_two_quantities(found):
    assert "Pareto set: power over energy" in [one.heading for one in found.answer("energy,power").sections]
    with pytest.raises(rl.RooflintError, match="plot: want two quantities, such as latency,energy, found 'energy'"):
        found.answer("energy")
    with pytest.raises(rl.RooflintError, match="plot: 'speed': want latency, energy"):
        found.answer("energy,speed")


@pytest.mark.parametrize(
    ("vary", "networks", "options"),
    [({}, "resnet18", {}), (BANDWIDTHS, [], {}), (BANDWIDTHS, "resnet18", {"batch": []})],
)
def test_something_must_vary_and_run(vary, networks, options):
    with pytest.raises(
        rl.RooflintError, match="want at least one fact to vary, one network, one precision and one batch"
    ):
        rl.explore("h100-sxm5", vary, networks, **options)
