"""The sentences of an exploration: what buys most, what stays, and what is left out, with the figures found."""

from dataclasses import replace

import pytest

from rooflint.answers.explore import explore_answer
from rooflint.answers.explore_sentences import insights
from rooflint.api.exploration import explore
from rooflint.workloads.builders import mlp

#: 1024³ in FP16 on a T4: 33.0 µs of arithmetic, 19.7 µs of memory at 320 GB/s; as much as arithmetic at 190.8 GB/s.
SQUARE = mlp([1024, 1024], batch=1024, bias=False)


def explored(vary=None, *, work=SQUARE, minimise=("latency", "memory.bandwidth"), launch="free", **options):
    vary = vary or {"memory.bandwidth": "100:300GB/s:5"}
    batch = options.pop("batch", work.batch)
    return explore(
        "t4",
        vary,
        work,
        minimise=minimise,
        launch=launch,
        precision="fp16",
        batch=batch,
        **{"cached": False, **options},
    )


def section(answer, heading):
    return next(one for one in answer.sections if one.heading.startswith(heading))


def sentences(answer, heading):
    return "\n".join(section(answer, heading).sentences)


def test_it_says_that_no_such_device_exists_and_what_stays():
    answer = explore_answer(explored())
    assert answer.title.startswith("Hypothetical variants of nvidia/t4 on ")
    said = sentences(answer, "Limitations")
    assert (
        "These devices do not exist. Only the varied facts differ from nvidia/t4: die area, yield, price, rated" in said
    )
    assert "memory.bandwidth moves memories.gddr6.pin_rate; the bus stays 256 bit" in said


def test_what_varies_is_not_said_to_stay():
    said = sentences(explore_answer(explored({"price": "x0.5,x2", "memory.bandwidth": "x1,x2"})), "Limitations")
    assert "price" not in said.partition("stay as they are")[0].partition("differ from")[2]


def test_units_that_stay_behind_are_named_with_what_moves_all():
    said = sentences(explore_answer(explored({"units.tensor_core.groups": "20:80"}, minimise="latency")), "Limitations")
    assert (
        "units.tensor_core.groups varies alone: units.cuda_core.groups stays 40; SM.groups varies them together" in said
    )
    # the TU104 has 48 SM
    assert "80 SM take a larger die than that of the base, which has 48 SM" in said
    both = sentences(explore_answer(explored({"SM.groups": "20:40"}, minimise="latency")), "Limitations")
    assert "varies alone" not in both
    assert "larger die" not in both


def test_a_fact_that_buys_nothing_is_said_to():
    said = sentences(explore_answer(explored({"memory.bandwidth": "x1:x2", "SM.groups": "x1:x2"})), "Insights")
    assert "SM.groups: 1 % more changes latency by −1.00 %; no other fact here moves latency more" in said
    assert "memory.bandwidth buys nothing at the base: 1 % more moves no figure by 0.005 % or more" in said
    assert said.count("no other fact here") == 1
    alone = sentences(explore_answer(explored({"SM.groups": "x1:x2"}, minimise="latency")), "Insights")
    assert "no other fact here" not in alone


def test_the_turn_of_the_bound_stands_between_two_values():
    said = sentences(explore_answer(explored()), "Insights")
    assert (
        "memory.bandwidth, while the others stay: memory-bound up to 150 GB/s, compute-bound from 200 GB/s on" in said
    )


def test_launches_that_nothing_shortens_are_said():
    small = mlp([64, 64], batch=1, bias=False)
    said = sentences(explore_answer(explored(work=small, launch="stream")), "Insights")
    assert "for kernel launches" in said
    assert "what shortens launches: --vary launch_overhead, --launch graph, --fuse, a larger batch" in said
    fused = sentences(explore_answer(explored(work=small, launch="graph", fuse=True)), "Insights")
    assert "what shortens launches: --vary launch_overhead, a larger batch" in fused
    shortened = explored({"launch_overhead": "x0.5:x2"}, work=small, launch="stream", minimise="latency")
    assert "what shortens launches" not in sentences(explore_answer(shortened), "Insights")


def test_one_variant_that_is_best_in_everything_asks_for_an_objective_that_costs():
    said = sentences(explore_answer(explored({"SM.groups": "20:80"}, minimise="latency,energy")), "Insights")
    assert "To see what it buys, minimise the fact as well: --minimise latency,energy,SM.groups" in said
    assert "One variant is best" not in sentences(explore_answer(explored()), "Insights")
    # arithmetic takes longer than 320 GB/s, so that more bandwidth buys nothing
    nothing = sentences(explore_answer(explored({"memory.bandwidth": "x1:x2"}, minimise="latency")), "Insights")
    assert nothing.endswith("7 equal variants are best in every objective")


def test_equal_variants_are_not_called_one():
    # 200, 250 and 300 GB/s all wait for 33.0 µs of arithmetic
    said = sentences(explore_answer(explored(minimise="latency")), "Insights")
    assert "3 equal variants are best in every objective, because" not in said
    assert said.endswith("3 equal variants are best in every objective")
    alone = sentences(explore_answer(explored({"SM.groups": "20,30"}, minimise="latency")), "Insights")
    assert "One variant is best in every objective, because" in alone


def test_the_command_that_is_suggested_can_be_typed():
    work = mlp([1024, 1024], batch=1, bias=False)  # waits for memory
    more = explored(work=work, minimise=(), maximise="throughput")
    said = sentences(explore_answer(more), "Insights")
    assert said.endswith("minimise the fact as well: --maximise throughput --minimise memory.bandwidth")
    again = explored(work=work, minimise="memory.bandwidth", maximise="throughput")
    assert len(again.front) == 5
    both = sentences(explore_answer(explored(work=work, minimise="energy", maximise="throughput")), "Insights")
    assert both.endswith("--maximise throughput --minimise energy,memory.bandwidth")


def test_better_variants_are_counted_among_those_that_are_eligible():
    # 20 groups take 65.9 µs, 40 are the base, and 60 and 80 are faster
    options = {"minimise": "latency,balance", "require": "latency<40us"}
    said = sentences(explore_answer(explored({"SM.groups": "20,40,80"}, **options)), "Insights")
    assert "1 of 2 eligible variants is better than the base in every objective" in said
    said = sentences(explore_answer(explored({"SM.groups": "20,60,80"}, **options)), "Insights")
    assert "2 of 2 eligible variants are better than the base in every objective" in said


def test_a_rounding_error_makes_no_variant_better():
    found = explored({"memory.bandwidth": "x1,x2"}, minimise="latency,balance")
    columns = {name: values * (1 - 1e-15) for name, values in found.figures.columns.items()}
    shifted = replace(found, figures=replace(found.figures, columns=columns))
    assert (shifted.figures.of("latency") < found.base.of("latency")).all()
    assert "0 of 2 eligible variants are better" in "\n".join(insights(shifted))


def test_an_elasticity_that_is_not_known_is_not_called_nothing():
    # the energies of an operation are known at 7 and 12 nm, and not at 1 % more or less
    said = sentences(explore_answer(explored({"process": "7,12nm"}, minimise="latency,energy")), "Insights")
    assert "process: what ±1 % does to energy is not known; 1 % more moves latency by less than 0.005 %" in said
    assert "buys nothing" not in said
    only = sentences(explore_answer(explored({"process": "7,12nm"}, minimise="energy")), "Insights")
    assert "process: what ±1 % does to energy is not known\n" in only


def test_what_is_known_of_a_fact_stands_before_what_is_not():
    # a grid of 128 × 128 that has 1 % more is no square
    vary = {"mxu.macs_per_clock.bf16": "x1/4,x1"}
    found = explore("tpu-v4", vary, SQUARE, precision="bf16", batch=1024, launch="free", minimise="latency,energy")
    said = sentences(explore_answer(found), "Insights")
    assert "mxu.macs_per_clock.bf16: 1 % more changes latency by −" in said
    assert "%; what ±1 % does to energy is not known" in said


@pytest.mark.parametrize("turn", [1, -1])
def test_units_that_stay_behind_stand_in_the_order_of_what_varies(turn):
    names = ["units.tensor_core.groups", "units.tensor_core.clock"][::turn]
    said = sentences(explore_answer(explored(dict.fromkeys(names, "x1,x2"), minimise="latency")), "Limitations")
    first, second = (said.index(f"{name} varies alone") for name in names)
    assert first < second


def test_variants_that_are_left_out_are_counted_with_the_reason():
    answer = explore_answer(explored(require="latency<40us"))
    assert "2 of 5 variants left out: latency<40us does not hold" in sentences(answer, "Limitations")
    nothing = explore_answer(explored(require="latency<30us"))
    said = sentences(nothing, "Limitations")
    assert "no variant has latency<30us in every run; the closest has 32.97 µs" in said
    assert "no variant is eligible" in section(nothing, "Pareto set").note
    assert [row[0] for row in section(nothing, "Pareto set").table.rows] == ["base"]


def test_a_requirement_that_none_is_known_to_meet_counts_those_that_are_known():
    # 1.5 × 16384 MAC are no square array, so that their power is not known
    vary = {"mxu.macs_per_clock.bf16": "x1,x3/2"}
    found = explore("tpu-v4", vary, SQUARE, precision="bf16", batch=1024, minimise="latency", require="power<1W")
    said = sentences(explore_answer(found), "Limitations")
    assert "1 of 2 variants left out: power<1W does not hold" in said
    assert "1 of 2 variants left out: whether power<1W holds is not known: mxu is not a square array" in said
    assert "no variant whose power is known has power<1W in every run; the closest has " in said


def test_a_price_buys_nothing_and_only_a_cost_depends_on_it():
    vary = {"price": "x0.5,x2", "memory.bandwidth": "x0.5,x1"}
    assert "price" not in sentences(explore_answer(explored(vary, minimise="latency")), "Insights")
    said = sentences(explore_answer(explored(vary, minimise="latency,cost")), "Insights")
    assert "price: 1 % more changes cost by +1.00 %" in said


def test_kernel_times_of_devices_that_do_not_exist_are_doubted():
    said = sentences(explore_answer(explored(fidelity="silicon")), "Limitations")
    assert "kernel times are fitted to GPUs that exist; how well they hold for others is not known" in said
    assert "fitted to GPUs" not in sentences(explore_answer(explored()), "Limitations")


def test_the_cost_says_what_it_is():
    said = sentences(explore_answer(explored(minimise="latency,cost", price="2 USD/h")), "Limitations")
    assert "cost: rent of 10⁶ inferences at 2 USD/h; as given" in said


def test_a_cost_that_is_only_drawn_says_what_it_is():
    found = explored(price="2 USD/h")
    assert "cost: rent of" not in sentences(found.answer(), "Limitations")
    assert "cost: rent of 10⁶ inferences at 2 USD/h; as given" in sentences(found.answer("latency,cost"), "Limitations")


def test_a_price_that_varies_is_not_said_to_be_that_of_all():
    answer = explored({"price": "1,2USD/h"}, minimise="cost", price="2 USD/h").answer()
    says = "rent of 10⁶ inferences at the price of each variant; that of the base is 2 USD/h; as given"
    assert f"cost: {says}" in sentences(answer, "Limitations")
    assert answer.record.dump()["cost_basis"] == says
