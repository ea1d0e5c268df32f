"""`crossover`: the batch from which on a device is ahead, or waits for another term."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rooflint.claims.crossover import LARGEST, NoCrossingError, first_batch
from pytest_rooflint.suite.judge import judge
from pytest_rooflint.suite.suite import Suite
from rooflint.base.errors import InputError
from rooflint.hardware.registry import PACKAGED

HEAD = """\
workload: {gemm: [1, 4096, 4096]}
compute: fp16
source: {document: Data sheets, where: dense peaks and bandwidths, grade: quoted}
"""


@pytest.fixture
def one(repository):
    """The verdict on one claim about shipped devices."""

    def judged(line, head=HEAD):
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


def test_one_overtakes_the_other_where_that_one_turns_compute_bound(one):
    # n rows of 4096²: T4 computes n · 2 · 4096² op / 65.13 TFLOP/s; L4 moves 2 · (4096² + 2 · 4096 · n) B / 300.1 GB/s;
    # equal at n = 1 / (300.1e9 / 65.13e12 − 2 / 4096) ≈ 242.8
    verdict = one("crossover: nvidia/l4 overtakes nvidia/t4, is: compute")
    assert verdict.outcome == "pass"
    assert verdict.obtained.value == 243
    assert verdict.obtained_display == "from batch 243 on, where nvidia/t4 is compute-bound"
    assert "t4 104.9 us (memory" in verdict.obtained.formula
    assert not verdict.corroborated


def test_a_term_that_is_not_the_one_is_red(one):
    verdict = one("crossover: nvidia/l4 overtakes nvidia/t4, is: memory")
    assert verdict.outcome == "fail"
    assert "where nvidia/t4 is compute-bound" in verdict.text()


def test_a_network_turns_at_the_breakpoint(one):
    # 2 · 4096² · n / (2 · (4096² + 2 · 4096 · n)) op/B reaches 203.5 at n = 203.5 / (1 − 2 · 203.5 / 4096) = 226
    verdict = one("crossover: nvidia/t4 turns compute")
    assert (verdict.outcome, verdict.obtained.value) == ("pass", 226)


def test_an_operating_point_is_a_device_of_its_own(one):
    head = HEAD.replace("fp16", "int8")
    fast = one("crossover: nvidia/jetson-agx-orin-64gb@maxn turns compute", head)
    slow = one("crossover: nvidia/jetson-agx-orin-64gb@30w turns compute", head)
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
def test_what_does_not_cross_is_red_with_a_reason(one, claim, says):
    verdict = one(claim)
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
def test_what_a_crossover_cannot_mean_is_refused(one, claim, says):
    with pytest.raises(InputError, match=r"cross\.yaml:5") as refused:
        one(claim)
    assert says in str(refused.value)


def test_a_crossover_needs_a_precision(one):
    with pytest.raises(InputError, match="a crossover needs 'compute:'"):
        one("crossover: nvidia/t4 turns compute", HEAD.replace("compute: fp16\n", ""))
