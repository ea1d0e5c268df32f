"""`latency`: the roofline by hand; with `fidelity: silicon` what a prediction says, and never the roofline instead."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rooflint.claims import latency as module
from pytest_rooflint.claims.latency import LARGEST, NoCrossingError, first_batch, obtain_latency
from pytest_rooflint.golden import read
from pytest_rooflint.suite.judge import judge
from pytest_rooflint.suite.suite import Suite
from rooflint.base.errors import InputError
from rooflint.coefficients.library import Coefficients
from rooflint.energy.model import Energies
from rooflint.hardware.registry import PACKAGED, Registry
from rooflint.prediction.predict import Setting, predict, silicon_times
from rooflint.workloads.tables import load_workload

# ---- `latency`


MLP = "workload: {mlp: [64, 64], batch: 2}"
GEMM = "workload: {gemm: [1024, 1024, 1024]}"
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


# ---- by the roofline


@pytest.mark.parametrize(
    ("claim", "workload", "latency_s"),
    [
        # memory: 4416 B / 256 GB/s = 17.25 ns; compute: 16384 op / 32.768 TOP/s = 0.5 ns; one launch of 1 µs
        ("latency: acme/k1, compute: int8, expect: 1.01725 µs", MLP, 1.01725e-6),
        # stored in FP32: 4 × 17.25 ns = 69 ns
        ("latency: acme/k1, compute: int8, storage: fp32, expect: 1.069 µs", MLP, 1.069e-6),
        # 2^31 op / 32.768 TOP/s = 65.536 µs, 3 · 2^20 B / 256 GB/s = 12.3 µs
        ("latency: acme/k1, compute: int8, expect: 66.536 µs", GEMM, 66.536e-6),
        # the low point halves the peak: 131.072 µs
        ("latency: acme/k1, at: low, compute: int8, expect: 132.072 µs", GEMM, 132.072e-6),
        ("latency: acme/k1@low, compute: int8, expect: 132.072 µs", GEMM, 132.072e-6),
        ("latency: acme/k1, at: {acme/k1: low}, compute: int8, expect: 132.072 µs", GEMM, 132.072e-6),
    ],
)
def test_latency_is_the_roofline_by_hand(one, claim, workload, latency_s):
    verdict = one(claim, head=f"{workload}\n")
    assert verdict.outcome == "pass"
    assert verdict.obtained.value == pytest.approx(latency_s, rel=1e-6)


@pytest.mark.parametrize(
    ("claim", "outcome"),
    [
        ("latency: acme/k1 < acme/k1@low, compute: int8", "pass"),
        ("latency: acme/k1@low < acme/k1, compute: int8", "fail"),
        ("latency: acme/k1@low < acme/k1, compute: int8, refuted: true", "pass"),
        ("latency: acme/k1 < acme/k1@low, compute: int8, refuted: true", "fail"),
        ("latency: acme/k1@low < acme/k1, compute: int8, refuted: false", "fail"),
    ],
)
def test_an_order_holds_or_is_refuted(one, claim, outcome):
    verdict = one(claim, head=f"{GEMM}\n")
    assert verdict.outcome == outcome


def test_an_order_that_fails_says_what_the_slower_device_lacks(shipped_suite, claim):
    # ResNet-18 in FP16 waits for memory on both: 320 GB/s are a tenth of 3.352 TB/s
    obtained = obtain_latency(claim(f"latency: {T4} < {H100}, compute: fp16"), shipped_suite)
    (cause,) = obtained.causes
    assert cause.text.endswith(f"memory-bound: its bandwidth is 320 GB/s, that of {H100} 3.352 TB/s")
    assert not obtain_latency(claim(f"latency: {H100} < {T4}, compute: fp16"), shipped_suite).causes


def test_two_devices_that_are_equally_fast_are_in_no_order(one):
    # both wait for the same memory, and 1 µs for the launch
    verdict = one("latency: acme/k1 < acme/k1@low, compute: int8", head=f"{MLP}\n")
    assert verdict.outcome == "fail"


def test_an_order_names_its_devices_with_their_times_and_bounds(one):
    verdict = one("latency: acme/k1@low < acme/k1, compute: int8", head=f"{GEMM}\n")
    assert verdict.obtained.shown() == "k1@low 132.1 µs (compute), k1 66.54 µs (compute)"
    assert verdict.expected_display == "acme/k1@low < acme/k1"
    assert verdict.obtained.others == ("acme/k1@low", "acme/k1")


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        (f"latency: acme/k2, compute: int8, expect: 1.00 µs, {MLP}", "unknown device 'acme/k2'; did you mean"),
        (f"latency: acme/k1 < acme/k2, compute: int8, {MLP}", "unknown device 'acme/k2'; did you mean"),
        (f"latency: acme/k1 < nvidia/t4, at: low, compute: int8, {MLP}", "nvidia/t4 has no operating point 'low'"),
        (f"latency: acme/k1@turbo, compute: int8, expect: 1.00 µs, {MLP}", "no operating point 'turbo'"),
        (f"latency: nvidia/t4, compute: fp4, expect: 1.00 µs, {MLP}", "nvidia/t4 does not support fp4"),
        (f"latency: nvidia/t4 < acme/k1, compute: fp4, {MLP}", "nvidia/t4 does not support fp4"),
        ("latency: acme/k1, compute: int8, expect: 1.00 µs", "no workload given"),
    ],
)
def test_a_latency_of_what_is_not_there_fails(one, claim, says):
    verdict = one(claim)
    assert (verdict.outcome, verdict.obtained) == ("fail", None)
    assert says in verdict.reason


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        ("latency: acme/k1 < acme/k1, compute: int8", "each once; found 'acme/k1 < acme/k1'"),
        ("latency: acme/k1 <, compute: int8", "want devices with '<' between them"),
        ("latency: acme/k1, expect: 1.00 µs", "a latency needs 'compute:'"),
        ("latency: acme/k1, compute: int9, expect: 1.00 µs", "compute: unknown precision 'int9'"),
        ("latency: acme/k1, compute: int8, expect: 1.00 µs, refuted: true", "only an order can be refuted"),
        ("latency: acme/k1 < nvidia/t4, compute: int8, refuted: 1", "refuted: want true or false"),
        ("latency: acme/k1, compute: int8, expect: 1.00 W", "a latency is in s"),
    ],
)
def test_an_invalid_latency_is_refused(refusal, claim, says):
    assert says in refusal(claim, head=f"{MLP}\n")


def test_a_latency_has_the_facts_of_peak_and_bandwidth_and_no_corroboration(one, paths):
    verdict = one("latency: acme/k1, compute: int8, expect: 1.01725 µs", head=f"{MLP}\n")
    assert {"units.mac_array.clock", "memories.hbm.pin_rate"} <= paths(verdict)
    assert (verdict.outcome, verdict.corroborated, verdict.obtained.precision) == ("pass", False, "int8")
    assert verdict.obtained.formula == "Σ max(ops / peak, bytes / bandwidth) + launches"
    assert one("latency: acme/k1 < acme/k1@low, compute: int8", head=f"{GEMM}\n").obtained.formula == ""


# ---- on silicon


def predicted_s(device, launch, storage=None):
    registry = Registry.of(())
    setting = Setting("fp16", storage, launch=launch, fidelity="silicon")
    found = predict(
        registry.get(device), load_workload("torchvision/resnet18"), Energies(Coefficients(registry)), setting
    )
    assert found.fidelity == "silicon"
    return found.latency_s


@pytest.mark.parametrize("launch", ["", "stream", "graph", "free", "framework"])
def test_a_claim_obtains_what_a_prediction_says(verdict, launch):
    words = f", launch: {launch}" if launch else ""
    found = verdict(f"latency: {H100}, compute: fp16, fidelity: silicon{words}, expect: 1.00 µs")
    assert found.obtained.value == pytest.approx(predicted_s(H100, launch or "stream"))
    assert found.obtained.formula.startswith("Σ work of each kernel")


def test_data_may_be_stored_wider_than_it_is_computed_on_silicon(verdict):
    found = verdict(f"latency: {H100}, compute: fp16, storage: fp32, fidelity: silicon, expect: 1.00 µs")
    assert found.obtained.value == pytest.approx(predicted_s(H100, "stream", "fp32"))
    assert found.obtained.value > predicted_s(H100, "stream")


def test_the_roofline_is_what_is_meant_where_nothing_is_said(verdict):
    plain, message = (
        verdict(f"latency: {H100}, compute: fp16{words}, expect: 1.00 µs").obtained
        for words in ("", ", fidelity: roofline")
    )
    assert plain.value == message.value < predicted_s(H100, "free")


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
    assert "google/tpu-v4 is a tpu, and kernel times are calibrated for GPUs only" in found.reason


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


@pytest.mark.slow
def test_an_order_asks_again_of_the_changed_device_alone(shipped_suite, monkeypatch):
    orders = (one for one in shipped_suite.claims() if one.kind == "latency" and one.option("fidelity") == "silicon")
    claim = next(one for one in orders if "<" in one.subject)
    names = claim.subject.split(" < ")
    asked = []

    def counted(hardware, *arguments):
        asked.append(hardware.id)
        return silicon_times(hardware, *arguments)

    monkeypatch.setattr(module, "silicon_times", counted)
    suite = replace(shipped_suite, registry=Registry.of(shipped_suite.spec_roots))
    first = obtain_latency(claim, suite)
    assert asked == names
    fact = suite.registry.get(names[0]).facts["tdp"]
    changed = replace(suite, registry=suite.registry.with_fact(fact, fact.with_value(2 * fact.value)))
    assert obtain_latency(claim, changed).facts[-1] == first.facts[-1]
    assert asked == [*names, names[0]]


def test_an_id_tells_fidelities_and_launches_apart(claim):
    names = [
        claim(f"latency: {H100} < {T4}, compute: fp16{words}").id
        for words in ("", ", fidelity: silicon", ", fidelity: silicon, launch: graph")
    ]
    assert len(set(names)) == 3
    assert names[-1].endswith("in-fp16-on-silicon-launched-graph")


# ---- `bound`


@pytest.mark.parametrize(
    ("options", "workload", "bound"),
    [
        ("compute: int8", GEMM, "compute"),
        ("compute: int8", MLP, "launch"),
        # an MLP of 4096: 4096² B of weights take 65.5 µs, the launch 1 µs
        ("compute: int8", "workload: {mlp: [4096, 4096]}", "memory"),
        # stored in FP64 the product moves 3 · 2^20 · 8 B = 98.3 µs > 65.5 µs
        ("compute: int8, storage: fp64", GEMM, "memory"),
    ],
)
def test_a_bound_is_what_most_of_the_time_waits_for(one, options, workload, bound):
    right = one(f"bound: acme/k1, is: {bound}, {options}", head=f"{workload}\n")
    assert right.outcome == "pass"
    for other in {"compute", "memory", "launch"} - {bound}:
        wrong = one(f"bound: acme/k1, is: {other}, {options}", head=f"{workload}\n")
        assert wrong.outcome == "fail"
        assert wrong.obtained.shown().startswith(f"{bound}-bound")


def test_a_bound_shows_intensity_and_breakpoint(one, paths):
    verdict = one("bound: acme/k1, is: compute, compute: int8", head=f"{GEMM}\n")
    # 2 · 1024 / 3 op/B; the array's 32.768 TOP/s over 256 GB/s
    assert verdict.obtained.shown() == "compute-bound: 682.7 op/B, breakpoint 128 op/B"
    assert verdict.obtained.value == pytest.approx(2048 / 3)
    assert (verdict.expected_display, verdict.corroborated) == ("compute-bound", False)
    assert "memories.hbm.pin_rate" in paths(verdict)
    assert (verdict.obtained.others, verdict.obtained.precision) == (("acme/k1",), "int8")


def test_invalid_bounds(one, refusal):
    assert "is: want one of compute, memory, launch, found 'luck'" in refusal(
        f"bound: acme/k1, is: luck, compute: int8, {MLP}"
    )
    assert "a bound claim takes no expectation here" in refusal(
        f"bound: acme/k1, is: memory, compute: int8, expect: 1 op/B, {MLP}"
    )
    assert "a latency needs 'compute:'" in refusal(f"bound: acme/k1, is: memory, {MLP}")
    assert "does not support fp4" in one(f"bound: nvidia/t4, is: memory, compute: fp4, {MLP}").reason
    # whether the secret unit computes in FP64 is undisclosed
    undisclosed = one(f"bound: acme/k1, is: memory, compute: fp64, undisclosed: true, {MLP}")
    assert undisclosed.outcome == "not validated here"


# ---- `crossover`


CROSSING = """\
workload: {gemm: [1, 4096, 4096]}
compute: fp16
source: {document: Data sheets, where: dense peaks and bandwidths, grade: quoted}
"""


@pytest.fixture
def crossing(repository):
    """The verdict on one claim about shipped devices."""

    def judged(line, head=CROSSING):
        repository.write("golden/cross.yaml", f"{head}claims:\n  - {{{line}}}\n")
        suite = Suite.of([repository.root / "golden"], [PACKAGED])
        (claim,) = suite.read(repository.root / "golden/cross.yaml").claims
        return judge(claim, claim.id, suite)

    return judged


# ---- finding it


@given(st.integers(2, LARGEST))
def test_the_first_batch_is_found_wherever_it_is(begin):
    assert first_batch(lambda batch: batch >= begin, "so") == begin


@pytest.mark.parametrize(
    ("holds", "says"),
    [
        (lambda batch: True, "so already at batch 1"),
        (lambda batch: False, f"so at no batch up to {LARGEST}"),
        (lambda batch: batch == 64, "so at batch 64, but no longer at 128"),
    ],
)
def test_what_does_not_begin_once_is_no_crossing(holds, says):
    with pytest.raises(NoCrossingError, match=says):
        first_batch(holds, "so")


# ---- claims


def test_one_overtakes_the_other_where_that_one_turns_compute_bound(crossing):
    # n rows of 4096²: T4 computes n · 2 · 4096² op / 65.13 TFLOP/s; L4 moves 2 · (4096² + 2 · 4096 · n) B / 300.1 GB/s;
    # equal at n = 1 / (300.1e9 / 65.13e12 − 2 / 4096) ≈ 242.8
    verdict = crossing("crossover: nvidia/l4 overtakes nvidia/t4, is: compute")
    assert verdict.outcome == "pass"
    assert verdict.obtained.value == 243
    assert verdict.obtained_display == "from batch 243 on, where nvidia/t4 is compute-bound"
    assert "t4 104.9 µs (memory" in verdict.obtained.formula
    assert not verdict.corroborated


def test_a_term_that_is_not_the_one_is_red(crossing):
    verdict = crossing("crossover: nvidia/l4 overtakes nvidia/t4, is: memory")
    assert verdict.outcome == "fail"
    assert "where nvidia/t4 is compute-bound" in verdict.text()


def test_a_network_turns_at_the_breakpoint(crossing):
    # 2 · 4096² · n / (2 · (4096² + 2 · 4096 · n)) op/B reaches 203.5 at n = 203.5 / (1 − 2 · 203.5 / 4096) = 226
    verdict = crossing("crossover: nvidia/t4 turns compute")
    assert (verdict.outcome, verdict.obtained.value) == ("pass", 226)


def test_an_operating_point_is_a_device_of_its_own(crossing):
    head = CROSSING.replace("fp16", "int8")
    fast = crossing("crossover: nvidia/jetson-agx-orin-64gb@maxn turns compute", head)
    slow = crossing("crossover: nvidia/jetson-agx-orin-64gb@30w turns compute", head)
    # the 30 W mode gates SMs and keeps the memory: it waits for arithmetic sooner
    assert slow.obtained.value < fast.obtained.value


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        ("crossover: nvidia/t4 overtakes nvidia/l4, is: compute", "nvidia/t4 ahead of nvidia/l4 already at batch 1"),
        ("crossover: nvidia/t4 overtakes nvidia/h100-sxm5-80gb, is: compute", "at no batch up to 65536"),
        ("crossover: nvidia/t4 turns launch", "nvidia/t4 launch-bound at no batch"),
        ("crossover: nvidia/t4 turns memory", "nvidia/t4 memory-bound already at batch 1"),
        ("crossover: acme/k9 turns compute", "unknown device 'acme/k9'"),
    ],
)
def test_what_does_not_cross_is_red_with_a_reason(crossing, claim, says):
    verdict = crossing(claim)
    assert verdict.outcome == "fail"
    assert says in verdict.reason


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        ("crossover: nvidia/t4", "want 'A overtakes B' or 'A turns compute', found 'nvidia/t4'"),
        ("crossover: nvidia/t4 overtakes nvidia/t4, is: compute", "want 'A overtakes B'"),
        ("crossover: nvidia/t4 turns green", "want a device that turns compute, memory, launch, found 'green'"),
        ("crossover: nvidia/t4 turns compute, is: compute", "is: the subject already names the bound"),
        ("crossover: nvidia/l4 overtakes nvidia/t4", "is: want the bound of the overtaken device"),
        ("crossover: nvidia/l4 overtakes nvidia/t4, is: luck", "is: want the bound of the overtaken device"),
        ("crossover: nvidia/t4 turns compute, expect: 226", "takes no expectation here"),
        ("crossover: nvidia/t4 turns compute, compute: int9", "compute: unknown precision 'int9'"),
    ],
)
def test_what_a_crossover_cannot_mean_is_refused(crossing, claim, says):
    with pytest.raises(InputError, match=r"cross\.yaml:5") as refused:
        crossing(claim)
    assert says in str(refused.value)


def test_a_crossover_needs_a_precision(crossing):
    with pytest.raises(InputError, match="a crossover needs 'compute:'"):
        crossing("crossover: nvidia/t4 turns compute", CROSSING.replace("compute: fp16\n", ""))
