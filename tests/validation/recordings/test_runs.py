"""Runs of stopwatches: what is asked for, what stands beside a network, and what one library's failure costs."""

import ast
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_rooflint.cli.recorder import budget_s
from pytest_rooflint.recordings import runs
from rooflint.base.errors import RooflintError
from rooflint_measure.record import Gemm
from rooflint_measure.stopwatches import anchors, gemm, network, numpy_process, products, stream, timing
from rooflint_measure.stopwatches.clocks import HostClock
from rooflint_measure.stopwatches.gemm import NotMeasuredError, Peak
from rooflint_measure.stopwatches.products import Kernel

PROBED = {"fp32 mkl": 100e9, "bf16 onednn": 1e9, "bf16 mkl": 300e9}
"""op/s of a small product: oneDNN converts here, MKL does not."""


@pytest.fixture
def libraries(monkeypatch):
    """`libraries("fp32 mkl", …)`: kernels of these names, of which one that has no rate cannot run."""

    def have(*names):
        kernels = [Kernel(*name.split(), "cpu", {"a way": None}) for name in names]
        monkeypatch.setattr(products, "kernels", lambda device: kernels)
        monkeypatch.setattr(gemm, "probe", probed)
        monkeypatch.setattr(gemm, "peak", peak)

    def probed(kernel):
        if kernel.name not in PROBED:
            raise NotMeasuredError(f"{kernel.name} does not run here")
        return PROBED[kernel.name]

    def peak(kernel, search_s):
        product = Gemm(precision=kernel.precision, library=kernel.library, m=64, n=64, k=64)
        return Peak(product, lambda: None, HostClock(), "a way", 1)

    return have


@pytest.mark.slow
def test_a_library_that_converts_leaves_the_reference_to_one_that_does_not(libraries):
    libraries("fp32 mkl", "bf16 onednn", "bf16 mkl")
    assert runs.reference(runs.Request(seconds=0.1), "bf16").subject.library == "mkl"


@pytest.mark.slow
def test_a_library_that_does_not_run_costs_no_other_its_reference(libraries):
    libraries("fp32 broken", "fp32 mkl")
    assert runs.reference(runs.Request(seconds=0.1), "fp32").subject.library == "mkl"


def test_without_a_native_product_all_reasons_are_said(libraries):
    libraries("fp32 mkl", "bf16 onednn", "bf16 broken")
    with pytest.raises(NotMeasuredError, match=r"bf16 broken does not run here; not native here"):
        runs.reference(runs.Request(seconds=0.1), "bf16")
    libraries("fp32 mkl")
    with pytest.raises(NotMeasuredError, match="no installed library multiplies in fp16 here"):
        runs.reference(runs.Request(seconds=0.1), "fp16")


def test_anchors_are_taken_in_each_precision_that_was_asked_for(monkeypatch, stand_in):
    asked = []

    def refused(shape, precision, **_):
        asked.append((shape, precision))
        raise NotMeasuredError("a fake has no graphs")

    monkeypatch.setattr(anchors, "measured", refused)
    results = runs.Results(stand_in())
    runs.gpu_anchors(runs.Request("cuda", ("fp16", "fp64")), results)
    assert asked == [(shape, "fp16") for shapes in anchors.ANCHORS.values() for shape in shapes]
    assert results.left_out["null fp16 256x256x256"] == "a fake has no graphs"
    assert results.left_out["anchors in fp64"] == "want bf16 or fp16, which kernel times are fitted to"
    monkeypatch.setattr(anchors, "native", lambda device: {"cuda:1": "bf16"}[device])
    runs.gpu_anchors(runs.Request("cuda:1"), results)
    assert asked[-1] == ((8, 16384, 16384), "bf16")


def test_a_cpu_has_no_anchors(stand_in):
    results = runs.Results(stand_in())
    runs.gpu_anchors(runs.Request("cpu"), results)
    assert (results.measurements, results.left_out) == ([], {})


# ---- requests


@pytest.mark.parametrize(
    ("precisions", "libraries", "wanted"),
    [
        ((), (), True),
        (("fp32",), (), True),
        (("bf16",), (), False),
        ((), ("mkl",), True),
        ((), ("numpy",), False),
        (("fp32", "bf16"), ("numpy", "mkl"), True),
        (("fp32",), ("numpy",), False),
        (("bf16",), ("mkl",), False),
    ],
)
def test_a_kernel_is_wanted_where_precision_and_library_are_asked_for_or_left_open(precisions, libraries, wanted):
    assert runs.Request(precisions=precisions, libraries=libraries).wants("fp32", "mkl") is wanted


@pytest.fixture
def torch(monkeypatch):
    """A stand-in for torch with two CUDA devices; what it is told is kept."""
    told = []
    cuda = SimpleNamespace(
        device_count=lambda: 2, is_available=lambda: True, set_device=lambda number: told.append(("device", number))
    )
    fake = SimpleNamespace(
        __version__="2.9",
        version=SimpleNamespace(cuda="12.8"),
        cuda=cuda,
        told=told,
        set_num_threads=lambda number: told.append(("threads", number)),
    )
    monkeypatch.setitem(sys.modules, "torch", fake)
    monkeypatch.setattr(products, "has_torch", lambda: True)
    return fake


@pytest.mark.parametrize("device", ["tpu", "cuda:x", "cuda:-1", "cpu:1"])
def test_a_device_that_is_no_cpu_and_no_cuda_is_refused(device):
    with pytest.raises(RooflintError, match=f"--device: want cpu, cuda, cuda:1 or mps, found '{device}'"):
        runs.prepare(runs.Request(device))


def test_without_torch_only_a_cpu_is_measured(monkeypatch):
    monkeypatch.setattr(products, "has_torch", lambda: False)
    runs.prepare(runs.Request("cpu", threads=4))
    with pytest.raises(RooflintError, match="--device cuda: torch is not installed"):
        runs.prepare(runs.Request("cuda"))


@pytest.mark.parametrize(
    ("device", "threads", "told"),
    [
        ("cpu", 0, []),
        ("cpu", 4, [("threads", 4)]),
        ("cuda", 0, [("device", 0)]),
        ("cuda:1", 3, [("device", 1), ("threads", 3)]),
    ],
)
def test_torch_is_told_the_device_and_the_threads_that_were_asked_for(torch, device, threads, told):
    runs.prepare(runs.Request(device, threads=threads))
    assert torch.told == told


def test_a_device_that_torch_does_not_see_is_refused_with_the_number_it_sees(torch):
    with pytest.raises(RooflintError, match=r"--device cuda:2: torch 2.9 sees 2 CUDA devices"):
        runs.prepare(runs.Request("cuda:2"))
    torch.cuda.is_available = lambda: False
    with pytest.raises(RooflintError, match=r"--device cuda: torch 2.9 sees no CUDA devices"):
        runs.prepare(runs.Request("cuda"))


def test_where_torch_sees_no_device_an_old_driver_is_the_reason(torch, monkeypatch):
    torch.cuda.is_available = lambda: False
    monkeypatch.setattr(runs, "driver_version", lambda: "470.82.01")
    with pytest.raises(RooflintError, match=r"sees no CUDA devices; driver 470\.82\.01 is older than 525, which"):
        runs.prepare(runs.Request("cuda"))


# ---- runs


@pytest.fixture
def results(stand_in):
    """Results that keep the names of which progress was told."""
    names = []
    found = runs.Results(stand_in(), names.append)
    found.names = names
    return found


def test_waits_are_named_in_microseconds_and_have_half_of_the_time(results, monkeypatch):
    monkeypatch.setattr(timing, "measured_wait", lambda seconds, observer, plan: (seconds, observer, plan))
    runs.waits(runs.Request(seconds=8), (1e-5, 2.5e-3), results)
    assert results.names == ["wait 10 µs", "wait 2500 µs"]
    assert results.measurements == [(s, results.observer, gemm.plan_of(4)) for s in (1e-5, 2.5e-3)]


@pytest.fixture
def products_measured(monkeypatch):
    """Products that are not multiplied: what each would be measured with."""
    monkeypatch.setattr(gemm, "measured", lambda kernel, **how: (kernel.name, how["found"], how["plan"]))
    monkeypatch.setattr(numpy_process, "measured", lambda precision, **how: (precision, how))
    monkeypatch.setattr(products, "has_torch", lambda: True)


def test_every_library_is_measured_that_multiplies_natively(libraries, results, products_measured):
    libraries("fp32 mkl", "bf16 onednn", "bf16 mkl", "fp64 broken")
    runs.gemms(runs.Request(seconds=8), results)
    assert [name for name, *_ in results.measurements] == ["fp32 mkl", "bf16 mkl"]
    assert {plan for *_, plan in results.measurements} == {gemm.plan_of(4)}
    assert results.names == ["gemm fp32 mkl", "gemm bf16 onednn", "gemm bf16 mkl", "gemm fp64 broken"]
    assert results.left_out["gemm fp64 broken"] == "fp64 broken does not run here"
    assert "not native here" in results.left_out["gemm bf16 onednn"]


def test_fp32_is_the_reference_also_where_nobody_asks_for_it(libraries, results, products_measured):
    # 1 GFLOP/s in bf16 is a conversion beside 100 in fp32
    libraries("fp32 mkl", "fp32 broken", "bf16 onednn")
    runs.gemms(runs.Request(precisions=("bf16", "fp16"), seconds=8), results)
    assert results.measurements == []
    assert results.names == ["gemm bf16 onednn"]
    assert "not native here" in results.left_out["gemm bf16 onednn"]
    assert results.left_out["gemm fp16"] == "no installed library among the requested ones multiplies in it here"
    assert "gemm bf16" not in results.left_out


def test_a_library_that_needs_a_process_of_its_own_gets_it(libraries, results, products_measured, monkeypatch):
    libraries("fp32 mkl")
    (kernel,) = products.kernels("cpu")
    monkeypatch.setattr(Kernel, "own_process", property(lambda one: one.library == "mkl"))
    assert kernel.own_process
    runs.gemms(runs.Request(seconds=8, energy_s=3, threads=2), results)
    how = {"plan": gemm.plan_of(4), "search_s": 4, "energy_s": 3, "threads": 2}
    assert results.measurements == [("fp32", how)]


def test_what_torch_would_have_measured_is_left_out_in_words(libraries, results, products_measured, monkeypatch):
    monkeypatch.setattr(products, "has_torch", lambda: False)
    libraries("fp32 mkl")
    runs.gemms(runs.Request(seconds=8), results)
    assert results.left_out == {"gemm of torch": runs.NO_TORCH}


@pytest.mark.parametrize(
    ("device", "libraries_", "has_torch", "measured", "left_out"),
    [
        ("cpu", (), True, ["stream copy numpy", "stream copy torch"], set(stream.LEFT_OUT)),
        ("cpu", ("numpy",), True, ["stream copy numpy"], set(stream.LEFT_OUT)),
        ("cuda", (), True, ["stream copy numpy", "stream copy torch"], set()),
        ("cpu", (), False, ["stream copy numpy", "stream copy torch"], {*stream.LEFT_OUT, "of torch"}),
    ],
)
def test_every_pass_of_the_libraries_that_were_asked_for_is_streamed(
    results, monkeypatch, device, libraries_, has_torch, measured, left_out
):
    passes = [SimpleNamespace(name=f"copy {name}", library=name) for name in ("numpy", "torch")]
    monkeypatch.setattr(stream, "passes", lambda device: passes)
    monkeypatch.setattr(stream, "measured", lambda one, **how: (one.library, how["plan"], how["cache"]))
    monkeypatch.setattr(products, "has_torch", lambda: has_torch)
    runs.streams(runs.Request(device, libraries=libraries_, seconds=8), results, 2**20)
    assert results.names == measured
    assert results.measurements == [(name.split()[-1], gemm.plan_of(4), 2**20) for name in measured]
    assert set(results.left_out) == {f"stream {name}" for name in left_out}


def test_the_reference_is_the_fastest_of_the_native_products(libraries, monkeypatch):
    libraries("fp32 mkl", "fp32 other", "fp32 own")
    monkeypatch.setitem(PROBED, "fp32 other", 99e9)
    monkeypatch.setattr(Kernel, "own_process", property(lambda one: one.library == "own"))
    turns = [SimpleNamespace(best_s=2e-3), SimpleNamespace(best_s=1e-3)]
    monkeypatch.setattr(timing, "take_in_turn", lambda calls, clock, plan: turns[: len(calls)])
    assert runs.reference(runs.Request(seconds=0.1), "fp32").subject.library == "other"


def test_what_the_measured_suite_calls_is_there():
    # it runs with torch only, in an environment of its own
    file = Path(__file__).parents[3] / "validation/test_measured.py"
    modules = {"runs": runs, "gemm": gemm, "network": network, "products": products, "stream": stream}
    nodes = [one for one in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(one, ast.Attribute)]
    called = {(one.value.id, one.attr) for one in nodes if isinstance(one.value, ast.Name) and one.value.id in modules}
    assert len(called) > 10
    assert [one for one in sorted(called) if not hasattr(modules[one[0]], one[1])] == []


def test_what_is_measured_in_the_end_is_no_longer_left_out(results):
    results.left_out["stream a"] = "the 20 s for measuring were spent"
    results._keep("stream a", "measured")
    assert "stream a" in results.left_out
    measured = object()
    results._keep("stream a", measured)
    assert (results.left_out, results.measurements) == ({}, [measured])


def test_the_time_left_counts_shared_work_once(results):
    lines = []
    results.tell, results.expected, results.budget_s = lines.append, {"a", "b", "c"}, 1000.0
    results.began_s -= 100.0
    results.shared_s, results.ahead_s = 80.0, 30.0
    results.tried, results.settled = 1, {"a"}
    assert results._left == "; 70 s left"  # 30 s of shared work, two figures of 20 s


def test_the_total_stays_that_of_the_beginning_whatever_is_left_out(libraries, results, products_measured, monkeypatch):
    libraries("fp32 mkl", "bf16 onednn", "fp64 broken")
    monkeypatch.setattr(runs, "figure", lambda _: "1 ms")
    lines = []
    results.tell, results.done = lines.append, ("gemm fp32 mkl",)
    results.count(lambda: runs.gemms(runs.Request(seconds=8), results))
    assert (results.names, results.measurements) == ([], [])
    runs.gemms(runs.Request(seconds=8), results)
    assert [line.partition(":")[0] for line in lines] == ["[2/3] gemm bf16 onednn", "[3/3] gemm fp64 broken"]


def test_what_fails_while_figures_are_counted_is_told_when_they_are_measured(results):
    def fails():
        raise RuntimeError("no context")

    results.count(lambda: results.take(fails))
    assert results.left_out == {}
    results.take(fails)
    assert results.left_out == {"a step after 0 figures": "RuntimeError: no context"}


def test_no_product_is_begun_that_cannot_end_in_time():
    begun = []

    def make(shape):
        begun.append(shape)
        return lambda: time.sleep(0.001 * shape[0] / 64)

    rate = gemm._rate(make, HostClock(), 0.5)
    assert rate((64, 64, 64)) and rate((128, 128, 128))
    assert rate((64 * 2**10, 64, 64 * 2**10)) is None
    assert begun == [(64, 64, 64), (128, 128, 128)]


# ---- the end of a budget


def test_a_figure_that_takes_longer_than_the_budget_is_cut_and_the_rest_left_out(stand_in):
    results = runs.Results(stand_in(), budget_s=0.2)
    with runs.deadline(0.2):
        results.take(lambda: [results.add(name, lambda: time.sleep(30)) for name in ("a", "b")])
    assert results.left_out == dict.fromkeys(("a", "b"), "the 200 ms for measuring were spent")


def test_what_is_cut_outside_of_a_figure_is_left_out_as_the_rest(stand_in):
    results = runs.Results(stand_in(), budget_s=0.1)
    with runs.deadline(0.1):
        results.take(lambda: time.sleep(30))
    assert results.left_out == {"the rest": "the 100 ms for measuring were spent"}


def test_what_is_cut_during_an_import_says_so_names_the_figures_and_loses_none_before(stand_in, monkeypatch):
    # a machine under load: the import of torch takes longer than all that is left of the budget
    monkeypatch.setattr(runs, "figure", lambda _: "1 ms")
    lines, measurement = [], object()
    results = runs.Results(stand_in(), tell=lines.append, budget_s=0.2)
    results.expected |= {"a", "network c", "network b"}

    def step():
        results.add("a", lambda: measurement)
        with results.during("the import of torch"):
            time.sleep(30)
        results.add("network b", lambda: pytest.fail("the time is over"))

    def again():
        raise RuntimeError("a library that was cut while it was imported cannot be imported again")

    with runs.deadline(0.2):
        results.take(step)
    results.take(again)
    results.tell_rest()
    why = "the 200 ms for measuring were spent, the last of them on the import of torch"
    assert results.measurements == [measurement]
    assert results.left_out == dict.fromkeys(("network b", "network c", "the rest"), why)
    assert lines[-1] == f"3 figures left out (network b, network c, the rest): {why}"


def test_what_is_over_before_a_figure_is_cut_is_not_told_of_it(stand_in):
    results = runs.Results(stand_in(), budget_s=0.1)

    def step():
        with results.during("the import of torch"):
            pass
        time.sleep(30)

    with runs.deadline(0.1):
        results.take(step)
    assert results.left_out == {"the rest": "the 100 ms for measuring were spent"}


def test_a_call_that_does_not_return_is_told_after_the_grace_and_a_run_that_ends_is_not():
    heard = []
    with runs.deadline(0.05, lambda: heard.append("hung"), 0.5), suppress(runs.TimeOver):
        time.sleep(5)
    assert heard == []
    with runs.deadline(5.0, lambda: heard.append("hung"), -4.9):
        time.sleep(0.5)
    assert heard == ["hung"]


# ---- steps of a budget


def test_a_step_ends_with_its_share_of_the_budget_and_what_it_left_out_is_told(stand_in, monkeypatch):
    now, lines = [0.0], []
    monkeypatch.setattr(runs.Results, "spent_s", property(lambda _: now[0]))
    results = runs.Results(stand_in(), tell=lines.append, budget_s=10.0)

    def slow():
        now[0] += 4.0
        raise NotMeasuredError("not native here")

    def step(*names):
        return lambda: [results.add(name, slow) for name in names]

    # the first step has 3 s, of which one figure takes 4; the second has all 10
    results.in_steps(((0.3, step("a", "b")), (1.0, step("c"))))
    results.tell_rest()
    assert results.left_out == {"a": "not native here", "b": runs.STEP_SPENT, "c": "not native here"}
    assert lines[-1] == "1 figure left out (b): the time for this step was spent"


def test_figures_are_as_short_as_the_budget_of_all_of_them_asks(stand_in):
    results = runs.Results(stand_in(), budget_s=120.0, expected={"a", "b", "c", "d", "e", "f"})
    # half of 120 s for six figures
    assert runs.shared(runs.Request(seconds=15.0), results).seconds == 10.0
    assert runs.shared(runs.Request(seconds=5.0), results).seconds == 5.0
    assert runs.shared(runs.Request(seconds=15.0), replace(results, budget_s=1.0)).seconds == 1.0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(1.0, "10s"), (24.4, "30s"), (120.0, "120s"), (121.0, "3m"), (1200.0, "20m"), (1201.0, "30m"), (3599.0, "60m")],
)
def test_a_budget_is_rounded_up_to_what_can_be_typed(seconds, text):
    assert runs.budget_text(seconds) == text
    assert budget_s(text) >= seconds


def test_a_plan_reckons_with_the_fastest_small_product_where_none_was_measured(libraries):
    libraries("fp32 mkl", "fp32 onednn", "bf16 mkl")
    assert runs.fp32_ops_per_s(runs.Request(), ()) == PROBED["fp32 mkl"]
    product = Gemm(precision="fp32", library="mkl", m=500, n=1000, k=1000)
    measured = SimpleNamespace(subject=product, ops_per_s=4e9)
    assert runs.fp32_ops_per_s(runs.Request(), [measured]) == 4e9
