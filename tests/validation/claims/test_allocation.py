"""The kinds `allocation` and `resident_warps`: what they obtain by hand, what an order compares, what is refused.

The device is a GPU of 4 SMs that hold 8 warps of 32 threads each; its low mode gates two of them.
"""

import pytest

from rooflint.base.errors import InputError

G1 = """\
name: Acme G1
kind: gpu
sources: {brief: {document: Acme G1 brief, grade: read}}
resident_warps: {SM: [8, brief, p. 1]}
warp_threads: {SM: [32, brief, p. 1]}
units:
  cuda_core:
    group: SM
    groups: [4, brief, p. 1]
    per_group: [64, brief, p. 1]
    clock: [1 GHz, brief, p. 1]
    macs_per_clock: {fp32: [1 MAC, brief, p. 2]}
    circuit: cuda_core
memories: {hbm: {bandwidth: [100 GB/s, brief, p. 3]}}
operating_points: {low: {units.cuda_core.groups: [2, brief, p. 4]}}
"""
GEMM = "workload: {gemm: [128, 64, 8]}, compute: fp32"


@pytest.fixture
def judged(repository):
    """Verdicts on claims about acme/g1."""
    repository.write("specs/hardware/acme/g1.yaml", G1)

    def verdicts(*lines, head=""):
        source = "source: {document: Acme data sheet, where: p. 1, grade: read}\n"
        text = "".join(f"  - {{{line}}}\n" for line in lines)
        repository.write("golden/g1.yaml", f"{head}{source}claims:\n{text}")
        return list(repository.verdicts("golden/g1.yaml").values())

    return verdicts


@pytest.mark.parametrize(
    "claim",
    [
        # a 128 × 64 result: 64 × 64 is 2 tiles, 64 × 32 is 4, one to each SM
        f"allocation: acme/g1, {GEMM}, expect: 4 / 4",
        f"allocation: acme/g1, of: blocks, {GEMM}, expect: 4",
        f"allocation: acme/g1, of: units, tile: 64x64, {GEMM}, expect: 2",
        # 128 × 64 / 32 = 256 warps; 8 to an SM would need 32 SMs: 8 waves of 32 warps
        f"allocation: acme/g1, of: waves, layout: packed, {GEMM}, expect: 8",
        # in the low mode 4 tiles of 64 × 32 are two waves of 2; 2 of 64 × 64 are as long in one, and are chosen
        f"allocation: acme/g1, of: waves, at: low, tile: 64x32, {GEMM}, expect: 2",
        f"allocation: acme/g1, of: waves, at: low, {GEMM}, expect: 1",
        f"allocation: acme/g1@low, of: last_units, {GEMM}, expect: 2",
        # of two layers each alone: 1 × 40 outputs are one tile of 32 × 64, 1 × 128 outputs are two
        "allocation: acme/g1, op: fc2, workload: {mlp: [8, 128, 40]}, compute: fp32, of: units, expect: 1",
        "allocation: acme/g1, op: fc1, workload: {mlp: [8, 128, 40]}, compute: FP32, of: units, expect: 2",
    ],
)
def test_a_figure_is_what_the_layout_says(judged, claim):
    (verdict,) = judged(claim)
    assert verdict.outcome == "pass", verdict.text()


def test_a_wrong_figure_is_red_and_says_which_quantity_decides(judged):
    (verdict,) = judged(f"allocation: acme/g1, {GEMM}, expect: 2 / 4")
    assert (verdict.outcome, verdict.ratio_text) == ("fail", "2")
    assert "4/4 SM: 4 output tiles of 64 × 32" in verdict.text()
    assert {fact.path for fact in verdict.facts} == {
        "units.cuda_core.groups",
        "resident_warps.SM",
        "warp_threads.SM",
    }


def test_an_order_holds_for_each_op(judged):
    modes = "workload: {mlp: [8, 128, 40]}, compute: fp32"
    rising, share = judged(
        f"allocation: acme/g1@low <= acme/g1, of: units, {modes}", f"allocation: acme/g1 <= acme/g1@low, {modes}"
    )
    # fc1: 2 of 2 and 2 of 4; fc2: 1 of 2 and 1 of 4
    assert (rising.outcome, share.outcome) == ("pass", "pass")


def test_a_broken_order_names_the_op_that_breaks_it(judged):
    # fc1 on 2 of 4 and 2 of 2 SMs: the share falls
    (verdict,) = judged("allocation: acme/g1@low <= acme/g1, workload: {mlp: [8, 128, 40]}, compute: fp32")
    assert verdict.outcome == "fail"
    assert "fc1: g1@low 2/2 SM, g1 2/4 SM" in verdict.text()


def test_a_figure_of_ops_that_differ_asks_which(judged):
    (verdict,) = judged("allocation: acme/g1, of: units, workload: {mlp: [8, 128, 40]}, compute: fp32, expect: 2")
    assert verdict.outcome == "fail"
    assert "fc1 2/4 SM, fc2 1/4 SM; add 'op:'" in verdict.text()


def test_an_op_that_is_not_there_is_red(judged):
    (verdict,) = judged(f"allocation: acme/g1, op: fc9, {GEMM}, expect: 1")
    assert "has no op 'fc9' (has: gemm" in verdict.text()


def test_a_precision_that_the_device_lacks_is_red_with_what_it_has(judged):
    (verdict,) = judged("allocation: acme/g1, workload: {gemm: [8, 8, 8]}, compute: int8, expect: 1")
    assert verdict.outcome == "fail"
    assert "acme/g1 does not support int8 (has: fp32)" in verdict.text()


def test_an_allocation_corroborates_nothing(judged):
    (verdict,) = judged(f"allocation: acme/g1, {GEMM}, expect: 4 / 4")
    assert not verdict.corroborated


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        (f"allocation: acme/g1 <= acme/g1, {GEMM}", "each once; found"),
        (f"allocation: acme/g1 <=, {GEMM}", "want devices with '<=' between them"),
        ("allocation: acme/g1, workload: {gemm: [8, 8, 8]}, expect: 1", "needs 'compute:'"),
        ("allocation: acme/g1, workload: {gemm: [8, 8, 8]}, compute: fp9, expect: 1", "unknown precision 'fp9'"),
        (f"allocation: acme/g1, of: cores, {GEMM}, expect: 1", "of: want one of utilization, units, blocks"),
        (f"allocation: acme/g1, layout: dense, {GEMM}, expect: 1", "layout: want one of spread, packed, found 'dense'"),
        (f"allocation: acme/g1, tile: 64, {GEMM}, expect: 1", "tile: want rows x columns such as 256x128, found '64'"),
        (f"allocation: acme/g1, {GEMM}", "needs 'expect'"),
        (f"allocation: acme/g1, {GEMM}, expect: 4 MHz", "an allocation is a bare number"),
    ],
)
def test_an_allocation_that_cannot_mean_anything_is_refused(judged, claim, says):
    with pytest.raises(InputError, match=says):
        judged(claim)


def test_warps_of_a_group_are_claimed(judged):
    lines = ("resident_warps: SM, expect: 8", "resident_warps: SM, expect: 16", "resident_warps: CU, expect: 8")
    right, wrong, missing = (judged(line, head="hardware: acme/g1\n")[0] for line in lines)
    assert (right.outcome, wrong.outcome, missing.outcome) == ("pass", "fail", "fail")
    assert wrong.ratio_text == "1/2"
    assert "does not give the number of warps in a 'CU'" in missing.text()
