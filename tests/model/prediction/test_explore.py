"""Explorations: elasticities, the Pareto set and what is left out, by hand for one product on a T4."""

import math
from dataclasses import replace

import numpy as np
import pytest

from rooflint.base.errors import RooflintError
from rooflint.base.shards import Workers
from rooflint.coefficients.library import Coefficients
from rooflint.cost.schema import RENT
from rooflint.cost.tables import NoPriceError
from rooflint.energy.model import Energies
from rooflint.hardware.registry import Registry
from rooflint.prediction import explore as exploration
from rooflint.prediction.comparison import requirements
from rooflint.prediction.cost import CostTables, Tariff, tariff
from rooflint.prediction.explore import Design, Run, explore, objectives, parameters
from rooflint.prediction.predict import Setting, predict
from rooflint.prediction.space import VaryError, axis, grid
from rooflint.prediction.variants import with_values
from rooflint.workloads.builders import mlp

REGISTRY = Registry()
ENERGIES = Energies(Coefficients(REGISTRY))
T4 = REGISTRY.get("nvidia/t4")
BANDWIDTH, GROUPS = "memory.bandwidth", "units.tensor_core.groups"

#: 1024³ in FP16 on a T4: 2 × 1024³ op at 65.13 TFLOP/s take 33.0 µs; 3 × 2 MiB at 320 GB/s 19.7 µs, at 190.8 GB/s 33.0.
SQUARE = mlp([1024, 1024], batch=1024, bias=False)

#: 2 MiB of weights and 4 kB for 2 MiOp: bound by memory.
VECTOR = mlp([1024, 1024], batch=1, bias=False)

FREE = Setting("fp16", launch="free", cached=False)
STREAM = Setting("fp16", cached=False)


def design(vary, minimise=("latency",), works=(SQUARE,), settings=(FREE,), base=T4, wanted="", rate=None):
    known = list(parameters(base, list(vary), ENERGIES, settings[0].launch, rate))
    space = grid([axis(one, vary[one.name]) for one in known])
    runs = tuple(Run(work, setting) for work in works for setting in settings)
    return Design(base, ENERGIES, runs, space, objectives(minimise, known), requirements(wanted), rate)


def explored(vary, *arguments, **options):
    return explore(design(vary, *arguments, **options))


def sensitivity(found, name):
    return next(one for one in found.sensitivities if one.axis.parameter.name == name)


def front(found, name):
    """Values of a parameter in the Pareto set, ascending."""
    place = [one.name for one in found.design.parameters].index(name)
    return sorted(found.design.space.values[place, found.front].tolist())


# ---- elasticities


def test_what_waits_for_memory_gets_a_percent_faster_by_a_percent_of_bandwidth_and_not_by_more_units():
    found = explored({BANDWIDTH: "x0.5:x2", GROUPS: "20:80"}, works=[VECTOR])
    assert sensitivity(found, BANDWIDTH).elasticities["latency"] == pytest.approx(-1, abs=1e-9)
    assert sensitivity(found, GROUPS).elasticities["latency"] == pytest.approx(0, abs=1e-12)
    assert [one.axis.parameter.name for one in found.sensitivities] == [BANDWIDTH, GROUPS]


def test_what_waits_for_arithmetic_gets_faster_by_units_and_not_by_bandwidth():
    found = explored({BANDWIDTH: "x0.9:x2", GROUPS: "20:80"})
    assert sensitivity(found, BANDWIDTH).elasticities["latency"] == pytest.approx(0, abs=1e-12)
    # 41 groups against 39 of 40: the exact slope of 1/n
    assert sensitivity(found, GROUPS).elasticities["latency"] == pytest.approx(-1, abs=1e-9)
    assert [one.axis.parameter.name for one in found.sensitivities] == [GROUPS, BANDWIDTH]


def test_launches_take_their_share_of_the_latency():
    found = explored({"launch_overhead": "x0.5:x2"}, works=[VECTOR], settings=[STREAM])
    times = predict(T4, VECTOR, ENERGIES, STREAM).shares
    share = times["launch"] / sum(times.values())
    assert 0.1 < share < 0.9
    assert sensitivity(found, "launch_overhead").elasticities["latency"] == pytest.approx(share, rel=1e-4)


def test_over_several_runs_the_elasticity_is_their_mean():
    # the product of matrices waits for arithmetic (0), that of a vector for memory (−1)
    found = explored({BANDWIDTH: "x0.9:x2"}, works=[SQUARE, VECTOR])
    assert sensitivity(found, BANDWIDTH).elasticities["latency"] == pytest.approx(-0.5, abs=1e-9)
    each = [predict(T4, work, ENERGIES, FREE).latency_s for work in (SQUARE, VECTOR)]
    assert found.base.of("latency")[0] == pytest.approx(math.sqrt(each[0] * each[1]))


# ---- one fact alone


def test_the_bound_turns_where_the_memory_is_as_fast_as_the_arithmetic():
    # 6 MiB in 33.0 µs are 190.8 GB/s
    one = sensitivity(explored({BANDWIDTH: "100:300GB/s:5"}), BANDWIDTH)
    assert one.turns == ((100e9, "memory"), (200e9, "compute"))
    # at 100 GB/s 62.9 µs, 1.908 times the 33.0 of the base
    assert one.along["latency"].tolist() == pytest.approx([1.9076, 1.2717, 1, 1, 1], rel=1e-3)


def test_alone_is_the_best_over_the_range_while_all_else_stays():
    found = explored({GROUPS: "20,80,160", BANDWIDTH: "100:300GB/s:5"})
    # 80 groups compute in 16.5 µs, and 6 MiB at the 320 GB/s of the base take 19.66
    alone = sensitivity(found, GROUPS).alone["latency"]
    assert (alone.value, alone.figure) == (80, pytest.approx(19.66e-6, rel=1e-3))
    assert alone.ratio == pytest.approx(19.66 / 32.97, rel=1e-3)


# ---- the Pareto set


def test_less_bandwidth_for_the_same_latency_is_better():
    found = explored({BANDWIDTH: "100:300GB/s:5"}, ["latency", BANDWIDTH])
    assert front(found, BANDWIDTH) == [100e9, 150e9, 200e9]
    assert found.alike == (1, 1, 1)
    # the fastest first
    assert found.design.space.values[0, found.front].tolist() == [200e9, 150e9, 100e9]


def test_the_least_facts_that_meet_a_requirement_are_the_set():
    # 40 groups need 33.0 µs and 20 need 65.9; 6 MiB at 100 GB/s take 62.9 µs, at 150 and above at most 41.9
    found = explored({BANDWIDTH: "100:300GB/s:5", GROUPS: "20,40,80"}, [BANDWIDTH, GROUPS], wanted="latency<65us")
    assert found.design.space.values[:, found.front].T.tolist() == [[100e9, 40]]
    found = explored({BANDWIDTH: "100:300GB/s:5", GROUPS: "20,40,80"}, [BANDWIDTH, GROUPS], wanted="latency<66us")
    assert found.design.space.values[:, found.front].T.tolist() == [[100e9, 20]]
    assert sensitivity(found, GROUPS).elasticities == {"latency": pytest.approx(-1)}


def test_of_equal_variants_the_one_closest_to_the_base_stands_for_all():
    found = explored({BANDWIDTH: "100:300GB/s:5"})
    assert front(found, BANDWIDTH) == [300e9]
    assert found.alike == (3,)


def test_more_may_be_better():
    known = design({BANDWIDTH: "100:300GB/s:5"})
    (throughput,) = objectives(["throughput"], less_is_better=False)
    (least,) = objectives([BANDWIDTH], known.parameters)
    found = explore(replace(known, objectives=(throughput, least)))
    assert front(found, BANDWIDTH) == [100e9, 150e9, 200e9]
    # 1024 samples in 33.0 µs
    assert found.figures.of("throughput")[2:].tolist() == pytest.approx([1024 / 32.97e-6] * 3, rel=1e-3)


def test_figures_of_a_variant_are_those_of_such_a_device():
    found = explored({BANDWIDTH: "x0.5,x2", GROUPS: "20,80"}, ["latency", "energy"], settings=[STREAM])
    device = with_values(T4, {"memories.gddr6.pin_rate": 2 * T4.facts["memories.gddr6.pin_rate"].value, GROUPS: 80})
    one = predict(device, SQUARE, ENERGIES, STREAM)
    got = {name: found.figures.of(name)[-1] for name in ("latency", "energy", "power", "memory", "balance")}
    assert got == pytest.approx(
        {
            "latency": one.latency_s,
            "energy": one.energy_per_sample_j,
            "power": one.power_w,
            "memory": one.peak_bytes,
            "balance": one.energy_per_sample_j * one.latency_s,
        }
    )
    assert found.figures.bounds[-1] == one.bound


def test_runs_in_several_settings_each_vary_what_they_read():
    # INT8 reads the INT8 rate alone; FP16 then stays as it is
    settings = [FREE, replace(FREE, compute="int8")]
    found = explored({"units.tensor_core.macs_per_clock.int8": "x1,x2"}, settings=settings)
    fp16, int8 = found.figures.columns["latency"]
    assert fp16.tolist() == pytest.approx([predict(T4, SQUARE, ENERGIES, FREE).latency_s] * 2, rel=1e-12)
    assert int8[1] < int8[0]


# ---- what is left out


def test_a_requirement_holds_in_every_run():
    # 6 MiB at 150 GB/s take 41.9 µs; the vector is faster everywhere
    found = explored(
        {BANDWIDTH: "100:300GB/s:5"}, ["latency", BANDWIDTH], works=[SQUARE, VECTOR], wanted="latency<40us"
    )
    assert found.excluded == {"latency<40us does not hold": 2}
    assert found.eligible.tolist() == [False, False, True, True, True]
    assert front(found, BANDWIDTH)[0] == 200e9


def test_a_memory_that_is_too_small_is_left_out():
    # weights and activations take 6 MiB = 6.29 MB
    found = explored({"memory.capacity": "6,7MB"})
    assert found.excluded == {"the memory is too small": 1}
    assert found.eligible.tolist() == [False, True]


def test_nothing_eligible_is_an_empty_set():
    found = explored({BANDWIDTH: "100:300GB/s:5"}, wanted="latency<1us")
    assert found.front.tolist() == []
    assert found.excluded == {"latency<1us does not hold": 5}


def test_an_objective_that_is_not_known_of_the_base_has_its_reason():
    bare = replace(T4, facts={path: fact for path, fact in T4.facts.items() if path != "process"})
    with pytest.raises(RooflintError, match=r"energy of nvidia/t4 is not known: .*no process node"):
        explored({BANDWIDTH: "x0.5,x2"}, ["latency", "energy"], base=bare)
    with pytest.raises(RooflintError, match="no price of the device is known; give one"):
        explored({BANDWIDTH: "x0.5,x2"}, ["cost"])


def test_a_price_that_is_given_is_not_the_reason_why_a_cost_is_not_known():
    # ownership pays for electricity, and without a process node no energy is known
    bare = replace(T4, facts={path: fact for path, fact in T4.facts.items() if path != "process"})
    own = tariff("nvidia/t4", CostTables.of(REGISTRY), "1500 USD")
    with pytest.raises(RooflintError, match=r"cost of nvidia/t4 is not known: .*no process node"):
        explored({BANDWIDTH: "x0.5,x2"}, ["cost"], base=bare, rate=own)


def test_a_requirement_on_what_is_not_known_is_not_said_to_fail():
    bare = replace(T4, facts={path: fact for path, fact in T4.facts.items() if path != "process"})
    found = explored({BANDWIDTH: "150,300GB/s"}, base=bare, wanted="power<10W")
    ((why, count),) = found.excluded.items()
    assert why.startswith("whether power<10W holds is not known: ")
    assert "no process node" in why
    assert count == 2
    assert not found.eligible.any()
    # at 150 GB/s the latency is 41.9 µs: what is known to fail is said first
    both = explored({BANDWIDTH: "150,300GB/s"}, base=bare, wanted="latency<40us,power<10W")
    assert both.excluded == {"latency<40us does not hold": 1, why: 1}


def test_reasons_have_no_notes_and_name_the_device_once():
    m1 = REGISTRY.get("apple/m1")
    with pytest.raises(RooflintError) as caught:
        explored({BANDWIDTH: "x1,x2"}, ["energy"], base=m1, settings=[Setting("fp32")])
    assert str(caught.value).startswith("energy of apple/m1 is not known: unknown memory 'lpddr4x'")
    assert str(caught.value).count("apple/m1") == 1
    assert "launch" not in str(caught.value)


def test_alone_is_a_value_of_which_all_objectives_are_known():
    # 1.5 × 16384 MAC are no square array, so that their energy is not known
    tpu, path = REGISTRY.get("google/tpu-v4"), "units.mxu.macs_per_clock.bf16"
    bf16 = [Setting("bf16", launch="free")]
    found = explored({path: "x1,x3/2"}, ["latency", "energy"], base=tpu, settings=bf16)
    (one,) = found.sensitivities
    assert one.along["latency"][1] < 1
    assert {name: (best.value, best.ratio) for name, best in one.alone.items()} == {
        "latency": (16384, 1), "energy": (16384, 1),
    }  # fmt: skip
    (latency,) = explored({path: "x1,x3/2"}, base=tpu, settings=bf16).sensitivities
    assert latency.alone["latency"].value == 24576


def test_a_fact_that_nothing_depends_on_is_refused():
    with pytest.raises(VaryError, match=r"caches\.l2\.capacity: nothing that is predicted in fp16 depends on"):
        explored({"caches.l2.capacity": "x0.5,x2"})


def test_a_fact_varies_once():
    with pytest.raises(VaryError, match=r"both move memories\.gddr6\.pin_rate"):
        explored({BANDWIDTH: "x0.5,x2", "memories.gddr6.pin_rate": "x0.5,x2"})


def test_objectives_have_a_direction_and_a_name():
    with pytest.raises(RooflintError, match="throughput: more is better; maximise it"):
        objectives(["throughput"])
    with pytest.raises(RooflintError, match="latency: less is better; minimise it"):
        objectives(["latency"], less_is_better=False)
    with pytest.raises(RooflintError, match="'speed': want latency, energy, cost, memory, power, balance"):
        objectives(["speed"])
    with pytest.raises(RooflintError, match="variants have no efficiency"):
        explored({BANDWIDTH: "x0.5,x2"}, wanted="efficiency>50%")


# ---- money


def test_a_rent_costs_the_time_of_an_inference():
    # 3.6 USD/h are 1 mUSD a second: 10⁶ inferences at 1024 in 33.0 µs take 32.2 ms
    rate = Tariff(RENT, 0.001, "as given", 0.1, 1.0, 4.0)
    found = explored({BANDWIDTH: "100:300GB/s:5", "price": "3.6,7.2USD/h"}, ["cost"], rate=rate)
    assert found.base.of("cost")[0] == pytest.approx(1e-3 * 32.97e-6 / 1024 * 1e6, rel=1e-3)
    assert sensitivity(found, "price").elasticities["cost"] == pytest.approx(1)
    assert found.figures.of("cost")[-1] == pytest.approx(2 * found.base.of("cost")[0])


def test_an_owned_device_pays_for_its_electricity():
    # 1500 USD and 36 W × 8766 h × 4 years × 0.1 USD/kWh = 126.2 USD for 10⁶/s × 4 years
    found = tariff("nvidia/t4", CostTables.of(REGISTRY), "1500 USD")
    own = replace(found, electricity_usd_per_kwh=0.1, pue=1.0, years=4.0)
    seconds = 4 * 8766 * 3600
    assert own.usd_per_million(1500.0, 1e6, 36.0) == pytest.approx((1500 + 126.23) / seconds, rel=1e-4)
    assert tariff("nvidia/t4", CostTables.of(REGISTRY), "1500USD").price == 1500
    assert own.says == "ownership over 4 years at full load of 10⁶ inferences at 1500 USD; as given"


def test_the_price_of_a_device_is_its_rent_else_its_purchase():
    tables = CostTables.of(REGISTRY)
    assert tariff("nvidia/t4", tables).says.startswith("rent of 10⁶ inferences at ")
    assert tariff("nvidia/jetson-agx-orin-64gb", tables).price == 1599
    with pytest.raises(NoPriceError):
        tariff("stillwater/kpu-t256", tables)
    with pytest.raises(
        RooflintError,
        match=r"price: .cheap. is not a number with a unit; want a price of one device in USD .*; a rent is in USD/h",
    ):
        tariff("nvidia/t4", tables, "cheap")


def test_a_price_that_nobody_knows_cannot_vary():
    with pytest.raises(VaryError, match="price: no price of nvidia/t4 is known to vary; give the base's with --price"):
        explored({"price": "1,2USD/h"})


def test_free_launches_cannot_vary():
    with pytest.raises(VaryError, match="launch_overhead: there is none to vary: launches are free"):
        explored({"launch_overhead": "x0.5,x2"})


def test_variants_by_lot_are_what_the_reference_predicts_of_such_a_device():
    # a seeded sample of the grid, each variant built and predicted on its own
    found = explored({BANDWIDTH: "x0.5:x2", GROUPS: "20:80"}, ["latency", "energy"], settings=[STREAM])
    facts = found.design.facts(found.design.space.values)
    for place in np.random.default_rng(5).choice(len(found.design.space), 8, replace=False):
        device = with_values(T4, {path: float(fact[place]) for path, fact in facts.items()})
        one = predict(device, SQUARE, ENERGIES, STREAM)
        got = [found.figures.of(name)[place] for name in ("latency", "energy")]
        assert got == pytest.approx([one.latency_s, one.energy_per_sample_j], rel=1e-12)


# ---- several processes


@pytest.mark.slow
def test_two_processes_find_what_one_does_to_the_bit(monkeypatch):
    monkeypatch.setattr(exploration, "SHARD_S", 1e-5)  # seven shards of three variants
    rate = tariff(T4.id, CostTables.of(REGISTRY), "2 USD/h")
    varied = {BANDWIDTH: "100:800GB/s:5", GROUPS: "10,20,40"}
    asked = design(varied, ["latency", "energy", "cost"], settings=(STREAM,), rate=rate)
    one, two = explore(asked), explore(asked, Workers(2))
    assert two.front.tolist() == one.front.tolist()
    for name, values in one.figures.columns.items():
        np.testing.assert_array_equal(two.figures.columns[name], values)
    assert two.figures.not_known == one.figures.not_known
    assert [each.elasticities for each in two.sensitivities] == [each.elasticities for each in one.sensitivities]
