"""Runs of networks: which cases, in which order and time, beside which product, and what a name means."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from pytest_rooflint.recordings import network_runs, runs
from pytest_rooflint.recordings.network_runs import Case, Costs, Sweep, Work, cases, plan, short
from rooflint.base.errors import MissingTorchError, RooflintError
from rooflint.workloads.tables import UnknownNetworkError
from rooflint.workloads.workload import WorkloadError
from rooflint_measure.record import Gemm, Unavailable
from rooflint_measure.stopwatches import gemm, network, products, stream
from rooflint_measure.stopwatches.clocks import HostClock
from rooflint_measure.stopwatches.gemm import NoTimeError, NotMeasuredError, Peak
from rooflint_measure.stopwatches.network import Model, Setting

MACS = 1000
NOTHING = SimpleNamespace(total_macs=0, batch=1, weight_bytes=lambda precision: np.zeros(1))
"""A table of a network without work."""


def product(precision):
    return Peak(Gemm(precision=precision, library="mkl", m=64, n=64, k=64), lambda: None, HostClock(), "a way", 1)


@pytest.fixture
def results(stand_in):
    """Results that keep the names of which progress was told."""
    names = []
    found = runs.Results(stand_in(), names.append)
    found.names = names
    return found


@pytest.fixture
def stubs(monkeypatch):
    """Networks, products and passes that are not run: how each network would have been."""

    def reference(request, precision):
        if precision == "fp16":
            raise NotMeasuredError("no installed library multiplies in fp16 here")
        return product(precision)

    monkeypatch.setattr(products, "has_torch", lambda: True)
    monkeypatch.setattr(network_runs, "reference", reference)
    monkeypatch.setattr(network_runs, "reference_s", lambda request, precision: request.seconds)
    monkeypatch.setattr(network_runs, "_table", lambda name, sweep: NOTHING)
    monkeypatch.setattr(network_runs, "_import_libraries", lambda names: None)
    monkeypatch.setattr(network_runs, "fp32_ops_per_s", lambda request, measured: math.inf)
    network_runs._works.cache_clear()
    monkeypatch.setattr(network_runs, "model", lambda name, batch, sweep: Model(name, None, (), MACS * batch))
    monkeypatch.setattr(network, "measured", lambda *what, **how: (what, how))
    monkeypatch.setattr(stream, "passes", lambda device: [])


def take(monkeypatch, seconds):
    """Let every run of a network take so long, and nothing else any time. [s]"""
    now = [0.0]
    monkeypatch.setattr(runs.Results, "spent_s", property(lambda _: now[0]))

    def measured(*what, **how):
        now[0] += seconds
        return what, how

    monkeypatch.setattr(network, "measured", measured)


def test_networks_run_at_every_batch_and_the_first_choice_of_each_comes_first(stubs, results):
    sweep = Sweep(("resnet18", "alexnet"), batches=(1, 8), modes=("channels_last",))
    network_runs.networks(runs.Request(precisions=("bf16",), seconds=0.1, energy_s=2), sweep, results)
    assert [name for name in results.names if name.startswith("network")] == [
        "network resnet18 bf16 b1 channels_last",
        "network alexnet bf16 b1 channels_last",
        "network resnet18 bf16 b8 channels_last",
        "network alexnet bf16 b8 channels_last",
    ]
    (model, setting), how = results.measurements[2]
    assert (model.name, model.macs) == ("resnet18", 8 * MACS)
    assert setting == Setting(precision="bf16", batch=8, channels_last=True)
    assert (how["plan"], how["energy_s"], how["reference"].subject.precision) == (gemm.plan_of(0.1), 2, "bf16")


def test_the_product_is_searched_for_once_a_precision(stubs, results):
    network_runs.networks(runs.Request(seconds=0.1), Sweep(("resnet18", "alexnet")), results)
    assert results.names.count("the fastest product in fp32") == 1
    assert results.measurements[0][1]["reference"] is results.measurements[1][1]["reference"]


def test_none_is_timed_without_a_product_to_stand_beside(stubs, results):
    network_runs.networks(runs.Request(precisions=("fp16",), seconds=0.1), Sweep(("resnet18", "alexnet")), results)
    reason = "no installed library multiplies in fp16 here"
    assert results.left_out == {"network resnet18 fp16 b1": reason, "network alexnet fp16 b1": reason}


def test_weights_of_4_bit_stand_beside_the_product_that_they_are_multiplied_in(stubs, results):
    network_runs.networks(runs.Request(precisions=("int4",), seconds=0.1), Sweep(("resnet18",)), results)
    assert results.measurements[0][1]["reference"].subject.precision == "bf16"


def test_what_is_quantized_stands_beside_fp32_where_its_products_are_not_native(stubs, results, monkeypatch):
    # a CPU without VNNI quantizes linear layers all the same; nobody multiplies in fp16 there
    def fp32_alone(request, precision):
        if precision != "fp32":
            raise NotMeasuredError("not native here")
        return product(precision)

    monkeypatch.setattr(network_runs, "reference", fp32_alone)
    network_runs.networks(runs.Request(precisions=("int8", "int4", "fp16")), Sweep(("resnet18",)), results)
    found = {what[1].precision: how["reference"].subject.precision for what, how in results.measurements}
    assert found == {"int8": "fp32", "int4": "fp32"}
    assert results.left_out == {"network resnet18 fp16 b1": "not native here"}
    results.measurements.clear()
    network_runs.networks(runs.Request("cuda", precisions=("int4",)), Sweep(("resnet18",)), results)
    assert results.measurements == []  # a GPU before Ampere would convert bf16, without a word


@pytest.mark.parametrize(("metered", "kept"), [(True, 2), (False, 8)])
def test_a_metered_run_takes_time_of_a_plan_only_where_there_is_a_meter(stubs, results, monkeypatch, metered, kept):
    # a search and a pass of 1 s, and 2.5 s each, with 5 s more for the meter; 0.8 × 30 s
    take(monkeypatch, 11.0 if metered else 2.5)
    if metered:
        results.observer.source = "a meter"
    results.budget_s = 30.0
    network_runs.networks(runs.Request(energy_s=5.0), Sweep(tuple("abcdefgh")), results)
    assert len(results.measurements) == kept


def test_without_torch_every_network_is_left_out_in_words(results, monkeypatch):
    monkeypatch.setattr(products, "has_torch", lambda: False)
    network_runs.networks(runs.Request(), Sweep(("resnet18", "alexnet")), results)
    assert results.left_out == {"network resnet18": runs.NO_TORCH, "network alexnet": runs.NO_TORCH}


def test_the_cache_is_flushed_by_its_own_size_and_only_where_asked(stubs, results, monkeypatch):
    monkeypatch.setattr(network_runs, "last_level_bytes", lambda: 32 * 2**20)
    monkeypatch.setattr(stream, "cache_bytes", lambda device: Unavailable(reason="not known"))
    network_runs.networks(runs.Request(seconds=0.1), Sweep(("resnet18",), flush=True), results)
    assert results.measurements[0][0][-1].flush_bytes == 32 * 2**20
    with pytest.raises(RooflintError, match="--flush: the size of the last-level cache is "):
        network_runs.networks(runs.Request("cuda"), Sweep(("resnet18",), flush=True), results)


def test_a_wrong_mode_is_refused_before_anything_is_measured(stubs, results):
    with pytest.raises(NotMeasuredError, match="found 'fast'"):
        network_runs.networks(runs.Request(), Sweep(("resnet18",), modes=("fast",)), results)
    assert results.names == []


def test_tokens_are_refused_where_no_network_takes_them(stubs, results):
    with pytest.raises(RooflintError, match="--prompt and --past are for language models, which resnet18 is not"):
        network_runs.networks(runs.Request(), Sweep(("resnet18",), prompt=8), results)
    network_runs.networks(runs.Request(seconds=0.1), Sweep(("resnet18", "bert-base"), prompt=8), results)
    assert len(results.measurements) == 2


# ---- cases and budgets


def test_all_modes_are_those_of_the_device():
    words = [one.mode for one in cases(runs.Request("cuda"), Sweep(("resnet18",), modes=("all",)))]
    assert words == [*network.modes("cuda")]
    assert words[0] == "eager"


def test_cases_that_differ_in_more_ways_come_later():
    request, sweep = runs.Request(precisions=("fp32", "bf16")), Sweep(("a", "b"), (1, 8), ("eager", "compile"))
    found = cases(request, sweep)
    assert len(found) == 2 * 2 * 2 * 2
    assert [one.rank for one in found] == sorted(one.rank for one in found)
    assert found[:2] == [Case("a", "fp32", 1, "eager", 0), Case("b", "fp32", 1, "eager", 0)]
    assert found[-1] == Case("b", "bf16", 8, "compile", 3)


EIGHT = cases(runs.Request(), Sweep(tuple("abcdefgh")))


@pytest.mark.parametrize(
    ("left_s", "seconds", "chosen"),  # four fifths of the time are planned
    [
        (math.inf, 10.0, 8),
        # one search of 10 s, eight of 10 + 1.5, one pass of 2
        (104.0 / 0.8, 10.0, 8),
        # (59 - 8 × 1.5 - 2) / (1 + 8), in steps of 5 %
        (59.0 / 0.8, 10 * 0.95**14, 8),
        # one search and one pass of 1 s, (17 - 2) / (1 + 1.5)
        (17.0 / 0.8, 1.0, 6),
        # one at least
        (0.5, 1.0, 1),
    ],
)
def test_figures_get_shorter_before_one_is_dropped(stubs, left_s, seconds, chosen):
    found = plan(EIGHT, runs.Request(seconds=10), left_s, Costs())
    assert (found.seconds, len(found.chosen)) == (pytest.approx(seconds), chosen)
    assert (*found.chosen, *found.dropped) == tuple(EIGHT)


def test_a_slow_network_makes_room_for_those_behind_it(stubs):
    # a and c: 1.5 + 1 s each. b: 1.5 s, 25 M weights of 40 ns, 9 calls of 2 × 0.5 G op at 1 Gop/s: 11.5 s
    works = {"b": Work(macs=0.5e9, weights=25e6)}
    found = plan(cases(runs.Request(), Sweep(tuple("abc"))), runs.Request(seconds=1), 10.0, Costs(works, 1e9))
    assert [one.name for one in found.chosen] == ["a", "c"]
    # one search and one pass of 1 s, a and b, over four fifths
    assert {one.name: needs_s for one, needs_s in found.dropped.items()} == {"b": pytest.approx((2 + 2.5 + 11.5) / 0.8)}


def test_a_compiled_network_has_time_to_be_compiled():
    (case,) = cases(runs.Request(), Sweep(("a",), modes=("compile+channels_last",)))
    # 1.5 s around it, 15 s of the compiler, 2 s of samples and a metered run of 3 s
    assert Costs(energy_s=3.0).of(case, 2.0) == pytest.approx(1.5 + 15 + 2 + 3)


def test_samples_take_longer_with_the_batch():
    one, eight = cases(runs.Request(), Sweep(("a",), (1, 8)))
    # 9 calls of 0.5 and of 4 s
    costs = Costs({"a": Work(macs=0.25e9)}, 1e9)
    assert (costs.of(one, 1.0), costs.of(eight, 1.0)) == pytest.approx((1.5 + 4.5, 1.5 + 36))


def test_what_a_budget_drops_is_left_out_by_name_with_the_budget_that_it_needs(stubs, results, monkeypatch):
    monkeypatch.setattr(runs, "figure", lambda _: "1 ms")
    take(monkeypatch, 3.2)  # where 2.5 s were expected, so that no time is left for the seventh
    lines = []
    results.budget_s, results.tell = 21.8, lines.append
    network_runs.networks(runs.Request(), Sweep(tuple("abcdefgh")), results)
    assert len(results.measurements) == 6
    # one search and one pass of 1 s, seven or eight runs of 2.5 s, over four fifths: 24.4 and 27.5 s
    why = "does not fit the budget; want --budget 30s"
    assert results.left_out == {"network g fp32 b1": why, "network h fp32 b1": why}
    assert lines[0] == "plan: 6 of 8 network runs, 1 s of samples each, about 17 s; more if they are faster"
    assert lines[-1] == f"network g fp32 b1, network h fp32 b1: {why}"


def test_what_a_plan_had_no_room_for_is_measured_in_the_time_that_is_left(stubs, results, monkeypatch):
    take(monkeypatch, 2.0)  # where 2.5 s were expected: 12 s for the six that were planned
    results.budget_s = 21.8
    network_runs.networks(runs.Request(), Sweep(tuple("abcdefghijklmnop")), results)
    # four fifths of the 9.8, 7.8, 5.8 and 3.8 s that are left have room for another 2 s; 1.8 s have not
    assert [what[0].name for what, _ in results.measurements] == list("abcdefghij")
    assert list(results.left_out) == [f"network {name} fp32 b1" for name in "klmnop"]


def test_what_needs_a_search_that_was_not_planned_has_to_have_room_for_it(stubs, results, monkeypatch):
    take(monkeypatch, 2.5)
    monkeypatch.setattr(network_runs, "reference_s", lambda request, precision: 9.0 if precision == "bf16" else 1.0)
    results.budget_s = 17.0  # the searches are never made here, so that 14.5 s are left after one run
    network_runs.networks(runs.Request(precisions=("fp32", "bf16")), Sweep(("a",)), results)
    assert [one.split()[2] for one in results.names if one.startswith("network")] == ["fp32", "bf16"]
    results.measurements.clear()
    results.names.clear()
    results.budget_s = results.spent_s + 16.0  # four fifths of 13.5 s are less than 2.5 + 9
    network_runs.networks(runs.Request(precisions=("fp32", "bf16")), Sweep(("a",)), results)
    assert [one.split()[2] for one in results.names if one.startswith("network")] == ["fp32"]


def test_another_precision_comes_before_another_batch_and_that_before_another_mode():
    found = cases(runs.Request(precisions=("fp32", "bf16")), Sweep(("a",), (1, 8), ("eager", "compile")))
    labels = [one.label.removeprefix("network a ") for one in found]
    assert labels[:4] == ["fp32 b1", "bf16 b1", "fp32 b8", "fp32 b1 compile"]
    assert labels[-1] == "bf16 b8 compile"


def test_what_takes_longer_than_expected_is_left_out_while_others_go_on(stubs, results, monkeypatch):
    # each run takes 10 s where 2.5 were expected, so that the third has no room in the 25 s
    now = [0.0]
    monkeypatch.setattr(runs.Results, "spent_s", property(lambda _: now[0]))

    def slow(*what, **how):
        now[0] += 10.0
        return what, how

    monkeypatch.setattr(network, "measured", slow)
    results.budget_s = 25.0
    network_runs.networks(runs.Request(), Sweep(tuple("abc")), results)
    assert len(results.measurements) == 2
    # 20 s were spent, and it takes 4 × 2.5 s: 30 s over four fifths
    assert results.left_out == {"network c fp32 b1": "does not fit the 3 s that are left; want --budget 40s"}


def test_a_call_that_is_too_long_names_the_budget_that_it_needs(stubs, results, monkeypatch):
    def too_long(*_, **__):
        raise NoTimeError("a call takes 9 s, and 9 do not fit the 20 s that are left", 81.0)

    monkeypatch.setattr(network, "measured", too_long)
    network_runs.networks(runs.Request(seconds=0.1), Sweep(("a",)), results)
    (why,) = results.left_out.values()
    # 81 s over four fifths, to the next 10 s
    assert why == "a call takes 9 s, and 9 do not fit the 20 s that are left; want --budget 110s"


def test_an_unknown_name_is_refused_before_anything_is_measured(results, monkeypatch):
    def table(name, sweep):
        if name == "resnt18":
            raise WorkloadError(f"unknown network '{name}'") from UnknownNetworkError(name, ())
        raise MissingTorchError("needs transformers")

    monkeypatch.setattr(products, "has_torch", lambda: True)
    monkeypatch.setattr(network_runs, "_table", table)
    with pytest.raises(RooflintError, match="unknown network 'resnt18'"):
        results.count(lambda: network_runs.networks(runs.Request(), Sweep(("bert-base", "resnt18")), results))
    # what a library lacks is told in the place of the run
    results.count(lambda: network_runs.networks(runs.Request(), Sweep(("bert-base",)), results))
    assert results.tried == 0


def test_a_file_that_is_not_run_is_refused_before_anything_is_measured(stubs, results):
    sentence = r"^net\.onnx: torch runs no \.onnx file; name the module that it was exported from$"
    with pytest.raises(RooflintError, match=sentence):
        network_runs.networks(runs.Request(), Sweep(("resnet18", "net.onnx")), results)
    assert results.tried == 0


def test_where_no_network_can_be_captured_nothing_is_measured(stubs, results, monkeypatch):
    def table(name, sweep):
        if name == "resnet18":
            return NOTHING
        raise WorkloadError(f"{name}: want the shape of its input")

    monkeypatch.setattr(network_runs, "_table", table)
    with pytest.raises(RooflintError, match=r"^nets:one: want the shape of its input$"):
        network_runs.networks(runs.Request(), Sweep(("nets:one", "nets:two")), results)
    assert results.tried == 0
    # beside one that can, the run goes on, and says why in the place of the other
    network_runs.networks(runs.Request(seconds=0.1), Sweep(("nets:one", "resnet18")), results)
    assert "network resnet18 fp32 b1" in results.names


def test_what_does_not_fit_the_memory_takes_no_time_of_a_plan(stubs, monkeypatch):
    monkeypatch.setattr(network, "lacking_memory", lambda weights: "its weights take 32 GB")
    assert network_runs._works(Sweep(("llama-3.1-8b",))) == {}


def test_work_and_weights_are_those_of_the_table():
    # ResNet-18: 1.814 GMAC and 11.69 M weights, of a sample
    network_runs._works.cache_clear()
    work = network_runs._works(Sweep(("resnet18",), batches=(8,)))["resnet18"]
    assert (work.macs, work.weights) == (1_814_073_344, pytest.approx(11.69e6, rel=1e-3))


def test_the_total_is_known_before_anything_is_measured_and_what_is_dropped_counts_as_done(stubs, results, monkeypatch):
    monkeypatch.setattr(stream, "passes", lambda device: [SimpleNamespace(name="triad torch")])
    monkeypatch.setattr(stream, "measured", lambda *what, **how: (what, how))
    monkeypatch.setattr(runs, "figure", lambda _: "1 ms")
    take(monkeypatch, 3.2)
    lines, request, sweep = [], runs.Request(seconds=0.1), Sweep(tuple("abcdefgh"))
    results.budget_s, results.tell = 21.8, lines.append
    results.count(lambda: network_runs.networks(request, sweep, results))
    assert (len(results.expected), results.tried, results.measurements, results.ahead_s) == (9, 0, [], 0.0)
    network_runs.networks(replace(request, seconds=10.0), sweep, results)
    assert lines[0].startswith("plan: 6 of 8 network runs")
    assert [line.split()[0] for line in lines[1:]] == [*(f"[{number}/9]" for number in range(1, 8)), "[9/9]"]
    assert lines[-1].startswith("[9/9] network g fp32 b1, network h fp32 b1: does not fit")


def test_the_pass_through_memory_comes_before_other_ways_to_run_a_network(stubs, results, monkeypatch):
    monkeypatch.setattr(stream, "passes", lambda device: [SimpleNamespace(name="triad torch")])
    monkeypatch.setattr(stream, "measured", lambda *what, **how: (what, how))
    network_runs.networks(runs.Request(seconds=0.5), Sweep(("a", "b"), (1, 8)), results)
    found = [name for name in results.names if not name.startswith("the ")]
    assert found[1:3] == ["network b fp32 b1", "stream triad torch"]
    assert len(found) == 5


def test_the_pass_through_memory_comes_last(stubs, results, monkeypatch):
    one_pass = SimpleNamespace(name="triad torch")
    monkeypatch.setattr(stream, "passes", lambda device: [one_pass])
    monkeypatch.setattr(stream, "measured", lambda *what, **how: (what, how))
    network_runs.networks(runs.Request(seconds=0.5), Sweep(("resnet18",)), results)
    assert results.names[-3:] == ["network resnet18 fp32 b1", "the fastest product in fp32", "stream triad torch"]


# ---- names


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("resnet18", "resnet18"),
        ("torchvision/resnet18", "torchvision/resnet18"),
        ("/home/me/nets.py:small", "nets.py:small"),
        ("llama/config.json", "config.json"),
        ("out/net.pt2", "net.pt2"),
    ],
)
def test_a_folder_is_no_part_of_a_name_that_is_kept(name, told):
    assert short(name) == told
    assert replace(EIGHT[0], name=name).label == f"network {told} fp32 b1"
