"""`monotone`: laws as claims: every device of a glob, red ones with their numbers, excuses that must be needed."""

import pytest

from pytest_rooflint.claims.device_glob import MOST
from pytest_rooflint.claims.monotone import BATCHES
from pytest_rooflint.claims.roofline_laws import LAWS
from rooflint.base.errors import InputError
from rooflint.roofline import Estimate

HEAD = "workload: {gemm: [1, 64, 64]}\n"
SLOW_INT8 = ("int8: [1024 MAC, arch, p. 3]", "int8: [16 MAC, arch, p. 3]")


@pytest.fixture
def one(claims):
    """The verdict on one claim."""

    def judged(line, head=HEAD):
        (verdict,) = claims(line, head=head)
        return verdict

    return judged


@pytest.mark.parametrize("law", LAWS)
def test_every_law_can_be_claimed(one, law):
    verdict = one(f"monotone: {law}", head=HEAD if LAWS[law].of_networks else "")
    assert verdict.outcome == "pass"
    assert verdict.obtained_display == "holds on 1 device"
    assert verdict.expected_display == LAWS[law].promise


def test_a_red_law_names_the_device_and_its_numbers(acme, one):
    # 16 instead of 1024 MAC: 0.51 TOP/s of INT8 below 14.7 TFLOP/s of FP16
    line = acme.edit("specs/architectures/acme/a1.yaml", *SLOW_INT8)
    verdict = one("monotone: peak width", head="")
    assert verdict.outcome == "fail"
    assert verdict.obtained_display == "broken by 1 of 1 device"
    assert (
        f"acme/k1  mac_array: int8 512 GOP/s, fp16 14.75 TFLOP/s  specs/architectures/acme/a1.yaml:{line}"
        in verdict.text()
    )


def test_an_excused_device_may_break_it_and_must(acme, one):
    claim = "monotone: peak width, except: {acme/k1: a slip on purpose}"
    kept = one(claim, head="")
    assert kept.outcome == "fail"
    assert "acme/k1  obeys the law; remove it from 'except'" in kept.text()
    acme.edit("specs/architectures/acme/a1.yaml", *SLOW_INT8)
    excused = one(claim, head="")
    assert (excused.outcome, excused.obtained_display) == ("pass", "holds on 1 device, 1 of them excused")


def test_an_excuse_for_nobody_is_red(one):
    verdict = one("monotone: peak width, except: {acme/k9: gone}", head="")
    assert "acme/k9  was not tested; remove it from 'except'" in verdict.text()


@pytest.mark.parametrize(
    ("devices", "outcome", "says"),
    [
        ("acme/*", "pass", "holds on 1 device"),
        ("'*'", "pass", "holds on 1 device"),
        ("acme/k?", "pass", "holds on 1 device"),
        ("acme", "fail", "no device matches 'acme'"),
    ],
)
def test_devices_are_named_by_a_glob(one, devices, outcome, says):
    verdict = one(f"monotone: latency batch, devices: {devices}")
    assert verdict.outcome == outcome
    assert says in verdict.text()


def test_a_law_that_no_device_could_be_tried_by_is_red(one):
    verdict = one("monotone: latency batch, compute: fp64")
    assert verdict.outcome == "fail"
    assert "1 device not tested: too little is disclosed" in verdict.text()


def test_many_breaches_are_counted_and_not_listed(one, monkeypatch):
    monkeypatch.setattr(Estimate, "latency_s", property(lambda estimate: 1 / estimate.ops.sum()))
    batches = list(range(1, MOST + 9))
    verdict = one(f"monotone: latency batch, batches: {batches}")
    # more samples take less time: in each of three precisions
    assert verdict.obtained.value == 3 * (len(batches) - 1)
    assert f"and {3 * (len(batches) - 1) - MOST} more" in verdict.text()


def test_a_law_is_neither_corroboration_nor_coverage_nor_a_kill(acme, one):
    verdict = one("monotone: latency batch")
    assert not verdict.corroborated
    assert verdict.obtained.others == ()
    (problem,) = [str(problem) for problem in acme.suite().world_problems() if "acme/k1" in str(problem)]
    assert "has no claim in any golden file" in problem


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        ("monotone: latency batches", "want one of latency batch, bound batch"),
        ("monotone: latency batch, expect: 3 us", "takes no expectation here"),
        ("monotone: latency batch, batches: [1]", "batches: want two or more whole numbers"),
        ("monotone: latency batch, batches: [2, 1]", "batches: want two or more"),
        ("monotone: latency batch, batches: [0, 1]", "batches: want two or more"),
        ("monotone: latency batch, batches: [1, true]", "batches: want two or more"),
        ("monotone: latency batch, batches: many", "batches: want two or more"),
        ("monotone: latency precision, batches: [1, 2]", "batches: 'latency precision' does not use it"),
        ("monotone: peak width, storage: fp32", "storage: 'peak width' does not use it"),
        ("monotone: latency batch, devices: [acme/k1]", "devices: want a glob"),
        ("monotone: latency batch, except: [acme/k1]", "except: want a reason for each device"),
        ("monotone: latency batch, except: {acme/k1: 1}", "except: want a reason for each device"),
        ("monotone: latency batch, compute: int9", "compute: unknown precision 'int9'"),
        ("monotone: latency batch, at: low", "at: a monotone claim takes no operating point here"),
    ],
)
def test_what_a_law_cannot_mean_is_refused(one, claim, says):
    with pytest.raises(InputError, match=r"k1\.yaml:") as refused:
        one(claim)
    assert says in str(refused.value)


def test_claims_on_other_globs_are_other_claims(claims):
    first, second = claims("monotone: latency batch", "monotone: latency batch, devices: acme/*", head=HEAD)
    assert (first.claim.id, second.claim.id) == ("monotone-latency-batch", "monotone-latency-batch-on-acme/all")


def test_the_batches_of_a_law_grow():
    assert list(BATCHES) == sorted(set(BATCHES))
