"""`fidelity: silicon` of latencies and bounds: what the model says is judged, and no roofline takes its place."""

import os
from dataclasses import replace

import pytest

from pytest_rooflint.claims.latency import FILES, kept
from pytest_rooflint.golden import read
from pytest_rooflint.suite.judge import judge
from rooflint.base.errors import InputError
from rooflint.coefficients.library import Coefficients
from rooflint.devices.registry import PACKAGED, Registry
from rooflint.energy.model import Energies
from rooflint.networks.tables import load_workload
from rooflint.prediction.predict import Setting, predict

HEAD = (
    "workload: {network: torchvision/resnet18, batch: 1}\n"
    "source: {document: Some tables, where: all, grade: read}\nclaims:\n"
)
H100, T4, TPU = "nvidia/h100-sxm5-80gb", "nvidia/t4", "google/tpu-v4"


@pytest.fixture
def claim(tmp_path):
    """The only claim of a file with that line."""

    def load(line, head=HEAD):
        file = tmp_path / "silicon.yaml"
        file.write_text(f"{head}  - {{{line}}}\n", encoding="utf-8")
        (one,) = read.load(file).claims
        return one

    return load


@pytest.fixture
def verdict(claim, shipped_suite):
    return lambda line: judge(claim(line), "", shipped_suite)


def predicted_s(device, launch):
    registry = Registry.of(())
    setting = Setting("fp16", launch=launch, fidelity="silicon")
    found = predict(
        registry.get(device), load_workload("torchvision/resnet18"), Energies(Coefficients(registry)), setting
    )
    assert found.fidelity == "silicon"
    return found.latency_s


@pytest.mark.parametrize("launch", ["", "stream", "graph", "free", "framework"])
def test_a_claim_obtains_what_a_prediction_says(verdict, launch):
    words = f", launch: {launch}" if launch else ""
    found = verdict(f"latency: {H100}, compute: fp16, fidelity: silicon{words}, expect: 1.00 us")
    assert found.obtained.value == pytest.approx(predicted_s(H100, launch or "stream"))
    assert found.obtained.formula.startswith("Σ work of each kernel")


def test_the_roofline_is_what_is_meant_where_nothing_is_said(verdict):
    plain, said = (
        verdict(f"latency: {H100}, compute: fp16{words}, expect: 1.00 us").obtained
        for words in ("", ", fidelity: roofline")
    )
    assert plain.value == said.value < predicted_s(H100, "free")


def test_an_order_on_silicon_holds_or_does_not(verdict):
    assert verdict(f"latency: {H100} < {T4}, compute: fp16, fidelity: silicon, launch: graph").outcome == "pass"
    assert verdict(f"latency: {T4} < {H100}, compute: fp16, fidelity: silicon").outcome == "fail"


def test_a_bound_on_silicon_knows_of_launches(verdict):
    assert verdict(f"bound: {H100}, is: launch, compute: fp16, fidelity: silicon, launch: framework").outcome == "pass"
    assert verdict(f"bound: {H100}, is: launch, compute: fp16, fidelity: silicon, launch: free").outcome == "fail"


def test_it_rests_on_the_facts_of_the_chip(verdict):
    paths = {fact.path for fact in verdict(f"latency: {H100} < {T4}, compute: fp16, fidelity: silicon").obtained.facts}
    assert {"tdp", "caches.l2.capacity", "units.tensor_core.issue_threads"} < paths


def test_a_device_of_which_silicon_is_not_known_is_red_and_says_why(verdict):
    found = verdict(f"latency: {H100} < {TPU}, compute: bf16, fidelity: silicon")
    assert found.outcome == "fail"
    assert "google/tpu-v4 is a tpu, and silicon is known of GPUs alone" in found.reason


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (f"latency: {H100} < {T4}, compute: fp16, fidelity: gold", "fidelity: want roofline or silicon, found 'gold'"),
        (f"latency: {H100} < {T4}, compute: fp16, launch: graph", "launch: the roofline takes its launch overhead"),
        (
            f"latency: {H100} < {T4}, compute: fp16, fidelity: silicon, launch: rocket",
            "launch: want one of framework, synchronous, stream, graph, region, free; found 'rocket'",
        ),
        (f"bound: {H100}, is: memory, compute: fp16, launch: graph", "add 'fidelity: silicon'"),
        ("bandwidth: hbm3, fidelity: silicon, expect: 3.35 TB/s", "'fidelity' is an unknown option for a bandwidth"),
    ],
)
def test_what_means_nothing_is_refused(claim, line, says):
    with pytest.raises(InputError, match=says):
        claim(line)


def test_a_replay_is_no_silicon(claim):
    head = HEAD.replace("claims:", f"given: {{GPU: {{hardware: {T4}, unit: tensor_core, memory: gddr6}}}}\nclaims:")
    with pytest.raises(InputError, match=r"fidelity: silicon needs a documented device"):
        claim("latency: GPU, compute: fp16, fidelity: silicon, expect: 1.00 ms", head)


def test_constants_are_read_once_and_again_when_they_change(tmp_path):
    for name in FILES:
        (tmp_path / name).write_text((PACKAGED / name).read_text(encoding="utf-8"), encoding="utf-8")
    registry = Registry.of((tmp_path,))
    first = kept(registry)
    assert kept(Registry.of((tmp_path,))) is first
    products = tmp_path / "silicon.yaml"
    text = products.read_text(encoding="utf-8").replace("value: [1.3, choice", "value: [2.6, choice")
    tried = replace(registry, texts={products: text})
    assert kept(tried).silicon.products.graph_launch_us == 2 * first.silicon.products.graph_launch_us
    products.write_text(text, encoding="utf-8")
    os.utime(products, ns=(1, 1))
    assert kept(registry).silicon.products.graph_launch_us == 2 * first.silicon.products.graph_launch_us


def test_an_id_tells_fidelities_and_launches_apart(claim):
    names = [
        claim(f"latency: {H100} < {T4}, compute: fp16{words}").id
        for words in ("", ", fidelity: silicon", ", fidelity: silicon, launch: graph")
    ]
    assert len(set(names)) == 3
    assert names[-1].endswith("in-fp16-on-silicon-launched-graph")
