"""From a claim to its verdict: what passes, fails or is excused; and repairs, tried on every other claim."""

import datetime
import json
import math
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_rooflint.evidence.verdicts import record
from pytest_rooflint.golden import kinds
from pytest_rooflint.golden.expect import parse_expectation
from pytest_rooflint.golden.kinds import Claim, ClaimSource, Kind, Obtained, Xfail
from pytest_rooflint.suite.judge import Trial, is_known_wrong, judge, key_of
from pytest_rooflint.suite.suite import Suite
from pytest_rooflint.suite.verdict import Verdict
from rooflint.base.units import BYTES_PER_S, OPS_PER_S, WATTS
from rooflint_report.evidence import as_json

TODAY = datetime.date(2026, 11, 20)
DOCUMENT = ClaimSource(None, "A data sheet", "read", "p. 1")


def claim(expect="100 GB/s", **more):
    expectation = parse_expectation(expect) if expect else None
    return Claim("made_up", "thing", "made_up-thing", Path("x.yaml"), 3, DOCUMENT, expectation, **more)


@pytest.fixture
def judged(monkeypatch):
    """A verdict on a claim whose kind obtains what it is told to."""

    def verdict(obtained, given=None, today=TODAY):
        def obtain(claim, context):
            if isinstance(obtained, Exception):
                raise obtained
            return obtained

        monkeypatch.setattr(kinds, "kind", lambda name: Kind(name, "what the test says", obtain))
        return judge(given or claim(), "x.yaml::made_up-thing", SimpleNamespace(registry=None), today=today)

    return verdict


def gigabytes(value):
    return Obtained(value * 1e9, BYTES_PER_S, f"{value} GB/s")


# ---- agreement


@pytest.mark.parametrize(
    ("obtained", "outcome"), [(100, "pass"), (100.5, "pass"), (99.5, "pass"), (100.51, "fail"), (99.49, "fail")]
)
def test_a_figure_agrees_within_the_printed_digits(judged, obtained, outcome):
    # 100 GB/s is printed for 99.5 … 100.5
    assert judged(gigabytes(obtained)).outcome == outcome


def test_the_ratio_is_obtained_over_expected_as_a_small_fraction(judged):
    verdict = judged(gigabytes(12.5))
    assert (verdict.ratio, verdict.ratio_text) == (0.125, "1/8")
    assert judged(gigabytes(200)).ratio_text == "2"
    assert judged(gigabytes(108.2)).ratio_text == "1.082"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_no_finite_number_is_red(judged, value):
    verdict = judged(gigabytes(value))
    assert verdict.outcome == "fail"
    assert "not a finite number" in verdict.reason
    assert "made_up thing" in verdict.text()


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_no_finite_number_still_makes_valid_json(judged, value):
    assert json.loads(as_json(record(judged(gigabytes(value)))))["outcome"] == "fail"


def test_a_zero_is_not_near_anything(judged):
    verdict = judged(gigabytes(0.0), claim("1.2 pB/s"))
    assert verdict.outcome == "fail"


def test_another_kind_of_unit_is_red_and_named(judged):
    verdict = judged(gigabytes(100), claim("100 W"))
    assert verdict.outcome == "fail"
    assert "'100 W' is in W" in verdict.reason
    assert "B/s" in verdict.reason


def test_a_claim_without_an_expectation_passes_where_it_holds(judged):
    assert judged(Obtained(1.0, WATTS, "", holds=True), claim(None)).outcome == "pass"
    assert judged(Obtained(1.0, WATTS, "", holds=False), claim(None)).outcome == "fail"
    assert judged(Obtained(1.0, WATTS, ""), claim(None)).outcome == "fail"


def test_causes_are_looked_for_only_where_it_fails(claims):
    good, bad = claims("peak: mac_array int8, expect: 32.77 TOP/s", "peak: mac_array fp16, expect: 29.49 TFLOP/s")
    assert good.causes == ()
    assert bad.causes


# ---- expected failures

EXCUSE = Xfail("two sheets differ", datetime.date(2027, 11, 30))


def test_a_known_disagreement_is_an_expected_failure(judged):
    verdict = judged(gigabytes(50), claim(xfail=EXCUSE))
    assert (verdict.outcome, verdict.reason) == ("xfail", "two sheets differ")
    assert verdict.ratio_text == "1/2"


def test_an_expected_failure_that_passes_is_red(judged):
    verdict = judged(gigabytes(100), claim(xfail=EXCUSE))
    assert verdict.outcome == "fail"
    assert "remove 'xfail'" in verdict.reason and "two sheets differ" in verdict.reason


WRONG = "xfail: {ratio: 1/2, reason: an old sheet doubles it, until: 2999-01-01}"
TWICE = "peak: mac_array int8, expect: 65.54 TOP/s"


def test_a_spec_that_equals_a_figure_known_to_be_wrong_is_named_first(acme, claims):
    (before,) = claims(f"{TWICE}, {WRONG}")
    assert before.outcome == "xfail"
    acme.edit("specs/architectures/acme/a1.yaml", "int8: [1024 MAC", "int8: [2048 MAC")
    (verdict,) = claims(f"{TWICE}, {WRONG}")
    assert (verdict.outcome, verdict.corroborated) == ("fail", False)
    first, second = verdict.text().splitlines()[:2]
    assert "  peak mac_array int8 of acme/k1" in first
    assert second.startswith("  reason    specs/") and ".int8 2048 MAC (" in " ".join(verdict.reason.split())
    assert "your spec now equals a figure known to be wrong, 65.54 TOP/s of " in verdict.reason
    assert verdict.reason.endswith("an old sheet doubles it. Correct the spec and keep 'xfail'")
    assert "1024 MAC" in {cause.repair for cause in verdict.causes}


def test_a_figure_that_is_only_disputed_is_not_known_to_be_wrong(acme, claims):
    acme.edit("specs/architectures/acme/a1.yaml", "int8: [1024 MAC", "int8: [2048 MAC")
    (verdict,) = claims(f"{TWICE}, {WRONG.replace('2999-01-01', '2999-01-01, open: true')}")
    assert verdict.outcome == "fail"
    assert verdict.reason == "passes although it is expected to fail; remove 'xfail' (an old sheet doubles it)"


def test_no_figure_is_known_to_be_wrong_where_the_model_concludes_it():
    excuse = Xfail("a part is missing", datetime.date(2999, 1, 1), parse_expectation("1/2"))
    for kind, wrong in (("bandwidth", True), ("latency", False)):
        held = Verdict(replace(claim(xfail=excuse), kind=kind), "pass", "", gigabytes(100), ratio=1.0)
        assert is_known_wrong(held) is wrong


@pytest.mark.parametrize("obtained", [50, 100])
def test_an_expected_failure_ends_on_its_day(judged, obtained):
    last = judged(gigabytes(50), claim(xfail=EXCUSE), today=EXCUSE.until)
    after = judged(gigabytes(obtained), claim(xfail=EXCUSE), today=EXCUSE.until + datetime.timedelta(days=1))
    assert last.outcome == "xfail"
    assert after.outcome == "fail"
    assert "ended on 2027-11-30" in after.reason


def test_an_excuse_for_a_figure_does_not_excuse_that_there_is_none(judged):
    assert judged(gigabytes(math.nan), claim(xfail=EXCUSE)).outcome == "fail"
    assert judged(gigabytes(100), claim("100 W", xfail=EXCUSE)).outcome == "fail"


def test_an_excuse_does_not_excuse_a_vanished_subject(claims):
    excuse = "xfail: {ratio: 32.77, reason: two sheets differ, until: 2099-01-01}"
    gone, there = claims(
        f"peak: tensor_core int8, expect: 1.00 TOP/s, {excuse}", f"peak: mac_array int8, expect: 1.00 TOP/s, {excuse}"
    )
    assert gone.outcome == "fail"
    assert "has no unit 'tensor_core'" in gone.reason
    assert there.outcome == "xfail"


def test_an_order_may_be_expected_to_fail(judged):
    wrong = Obtained(1.0, WATTS, "", holds=False)
    right = Obtained(1.0, WATTS, "", holds=True)
    assert judged(wrong, claim(None, xfail=EXCUSE)).outcome == "xfail"
    assert judged(right, claim(None, xfail=EXCUSE)).outcome == "fail"


def test_what_is_undisclosed_stays_so_with_an_excuse(claims):
    (verdict,) = claims(
        "peak: secret int8, expect: 1.00 TOP/s, undisclosed: true, xfail: {ratio: 2, reason: r, until: 2099-01-01}"
    )
    assert verdict.outcome == "not validated here"


def test_what_is_disclosed_by_now_is_red_even_where_it_agrees(claims):
    (verdict,) = claims("peak: mac_array int8, expect: 32.77 TOP/s, undisclosed: true")
    assert (verdict.outcome, verdict.reason) == ("fail", "the facts are disclosed now; remove 'undisclosed'")


def test_a_figure_that_left_its_excuse_is_traced_to_the_excused_one(claims):
    # 32.77 TOP/s where twice 8.192 is excused: what remains to be explained is 2, not 4
    (verdict,) = claims("peak: mac_array int8, expect: 8.192 TOP/s, xfail: {ratio: 2.00, reason: r, until: 2099-01-01}")
    assert verdict.outcome == "fail"
    assert verdict.ratio_text == "4"
    assert any(cause.factor_text == "2" for cause in verdict.causes)


def test_a_verdict_without_a_day_uses_today(claims):
    over, not_yet = claims(
        "peak: mac_array int8, expect: 1.00 TOP/s, xfail: {ratio: 32.77, reason: r, until: 2020-01-01}",
        "peak: mac_array fp16, expect: 1.00 TFLOP/s, xfail: {ratio: 14.75, reason: r, until: 2999-01-01}",
    )
    assert (over.outcome, not_yet.outcome) == ("fail", "xfail")


# ---- corroboration


def test_a_second_document_corroborates(claims):
    (verdict,) = claims("peak: mac_array int8, expect: 32.77 TOP/s")
    assert verdict.corroborated


@pytest.mark.parametrize("title", ["Acme K1 brief", "acme  k1 BRIEF", "Brief, Acme K1.", "Acme A1 architecture manual"])
def test_the_document_of_any_fact_does_not_corroborate_it(claims, title):
    # the device's brief says clock and count, the architecture's manual the rate
    (verdict,) = claims(
        f"peak: mac_array int8, expect: 32.77 TOP/s, source: {{document: '{title}', where: p. 9, grade: read}}"
    )
    assert verdict.outcome == "pass"
    assert not verdict.corroborated


def test_only_documents_of_facts_that_the_figure_rests_on_matter(claims):
    # the manual says rates; the memory is the brief's
    (verdict,) = claims(
        "bandwidth: hbm, expect: 256 GB/s, source: {document: Acme A1 architecture manual, where: p. 9, grade: read}"
    )
    assert verdict.corroborated


def test_an_estimate_on_either_side_corroborates_nothing(claims):
    fact, quoted, fine = claims(
        "peak: vector int8, expect: 2.458 TOP/s",
        "peak: mac_array int8, expect: 32.77 TOP/s, source: {document: A guess, where: here, grade: estimate}",
        "peak: vector fp32, expect: 0.6144 TFLOP/s",
    )
    assert {fact.outcome, quoted.outcome, fine.outcome} == {"pass"}
    assert (fact.corroborated, quoted.corroborated, fine.corroborated) == (False, False, True)


def test_a_sum_is_as_uncorroborated_as_its_weakest_term(claims):
    (verdict,) = claims("peak: mac_array int8 + vector int8, expect: 35.23 TOP/s")
    assert not verdict.corroborated


def test_a_document_that_contradicts_corroborates_nothing(claims):
    (verdict,) = claims("peak: mac_array int8, expect: 1.00 TOP/s")
    assert (verdict.outcome, verdict.corroborated) == ("fail", False)


def test_what_was_counted_by_us_and_printed_by_others_is_corroborated(claims):
    (verdict,) = claims("flops: macs, expect: 16384 op", head="workload: {mlp: [64, 64], batch: 2}\n")
    assert verdict.facts == ()
    assert verdict.corroborated


# ---- never a traceback


def test_a_broken_architecture_that_a_device_does_not_use_spoils_no_other_verdict(acme, claims):
    acme.write("specs/architectures/acme/broken.yaml", "name: [\n")
    good, bad = claims("peak: mac_array int8, expect: 32.77 TOP/s", "peak: mac_array fp16, expect: 29.49 TFLOP/s")
    assert (good.outcome, bad.outcome) == ("pass", "fail")
    assert bad.ratio_text == "1/2"


def test_the_divisor_of_a_ratio_is_mended_in_its_own_direction(acme, claims):
    # fp16 halved to 256 MAC makes 1024 / 256 = 4 where 2 is expected: it needs 512 again, not 128
    acme.edit("specs/architectures/acme/a1.yaml", "fp16: [512 MAC", "fp16: [256 MAC")
    (verdict,) = claims("ratio: mac_array int8 / mac_array fp16, expect: 2")
    repairs = {cause.fact.path: cause.repair for cause in verdict.causes if cause.fact}
    assert repairs.get("units.mac_array.macs_per_clock.fp16", "512 MAC") == "512 MAC"


def test_the_bandwidth_below_a_breakpoint_is_mended_in_its_own_direction(acme, claims):
    # 2.6 instead of 2 Gbit/s makes 128 / 1.3 = 98.5 op/B: the pins need 2 Gbit/s again, not 3.38
    acme.edit("specs/hardware/acme/k1.yaml", "pin_rate: [2 Gbit/s", "pin_rate: [2.6 Gbit/s")
    secret = "per_group: [1, brief, p. 2], clock: "
    acme.edit("specs/hardware/acme/k1.yaml", f"{secret}[1000 MHz", f"{secret}[1010 MHz")
    (verdict,) = claims("breakpoint: mac_array int8 / hbm, expect: 128 op/B")
    repairs = {cause.fact.path: cause.repair for cause in verdict.causes if cause.fact}
    assert repairs["memories.hbm.pin_rate"] == "2 Gbit/s"


def test_rates_of_another_kind_of_unit_are_another_dimension(judged):
    verdict = judged(Obtained(1e11, OPS_PER_S, ""), claim("100 GB/s"))
    assert (verdict.outcome, verdict.ratio) == ("fail", None)


# ---- Repairs are tried: a cause says how many red claims its repair turns green, and how many green ones red

SPEC = "specs/hardware/acme/x1.yaml"


@pytest.fixture
def message(tiny):
    """Text of each red claim of a run by its id, spaces made one, and the whole output."""

    def run(*arguments):
        text = tiny.run("-v", *arguments).stdout.str()
        blocks = re.findall(r"^(golden/\S+?:\d+  .*?)^  rerun +pytest \S+::(\S+)$", text, re.MULTILINE | re.DOTALL)
        return {id: " ".join(block.split()) for block, id in blocks}, text

    return run


def test_a_repair_that_mends_every_red_claim_comes_first_and_says_so(tiny, message):
    # half of INT8: two peaks, a breakpoint and a ratio
    line = tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    verdicts, text = message()
    assert len(verdicts) == 4
    repair = f"{SPEC}:{line} units.mac_array.macs_per_clock.int8; write 4096 MAC"
    for verdict in verdicts.values():
        assert f"{repair} (fixes 4 failures, breaks nothing)" in verdict
    place = f"4096 MAC instead of 2048 MAC at {SPEC}:{line}  units.mac_array.macs_per_clock.int8"
    assert f"A single change fixes 4 of 4 failures and breaks nothing: write {place}" in text


def test_the_repair_of_a_clock_comes_before_that_of_each_rate(tiny, message):
    # 500 MHz halve both precisions and the breakpoint; at the low point the clock is 500 MHz anyway
    line = tiny.edit(SPEC, "clock: [1000 MHz", "clock: [500 MHz")
    verdicts, text = message()
    assert set(verdicts) == {"peak-mac_array-int8", "peak-mac_array-fp16", "breakpoint-mac_array-int8-per-lpddr5"}
    place = f"1000 MHz instead of 500 MHz at {SPEC}:{line}  units.mac_array.clock"
    assert f"A single change fixes 3 of 3 failures and breaks nothing: write {place}" in text
    for verdict in verdicts.values():
        assert f"{SPEC}:{line} units.mac_array.clock; write 1000 MHz" in verdict


def test_a_wrong_claim_is_not_mended_by_a_fact_that_others_rest_on(tiny, message):
    # five cores would mend the count, and break three peaks and a breakpoint
    line = tiny.edit("golden/x1.yaml", "count: core, expect: 4", "count: core, expect: 5")
    verdicts, text = message()
    assert set(verdicts) == {"count-core"}
    assert "A single change" not in text
    first, _, second = verdicts["count-core"].partition(" or ")
    assert "the expectation is the outlier: groups 5 would break 4 claims" in first
    assert f"golden/x1.yaml:{line} expect" in first
    assert "write 5 (fixes 1 failure, breaks 4)" in second
    assert text.rstrip().splitlines()[-1].startswith(f"Likeliest cause: golden/x1.yaml:{line}  the expectation is ")


def test_a_repair_is_tried_on_all_claims_although_few_are_run(tiny, message):
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    verdicts, _ = message("golden/x1.yaml::peak-mac_array-int8")
    assert list(verdicts) == ["peak-mac_array-int8"]
    assert "4096 MAC (fixes at least 4 failures of all claims, breaks nothing)" in verdicts["peak-mac_array-int8"]


@pytest.mark.slow
def test_what_was_tried_leaves_no_trace(tiny, message):
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    before = tiny.read(SPEC)
    first, _ = message()
    second, _ = message()
    assert first == second
    assert tiny.read(SPEC) == before


def test_an_expected_failure_is_neither_mended_nor_broken(tiny, message):
    # the sheet's 16.4 TOP/s at full clock is excused; half the rate would make it come true
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    excuse = "xfail: {ratio: 1.004, reason: an old sheet, until: 2999-01-01}"
    sheet = "source: {document: An old sheet, where: p. 1, grade: read}"
    tiny.write(
        "golden/old.yaml",
        f"hardware: acme/x1\n{sheet}\nclaims:\n  - {{bandwidth: lpddr5, expect: 51 GB/s, {excuse}}}\n",
    )
    verdicts, _ = message()
    assert "(fixes 4 failures, breaks nothing)" in verdicts["peak-mac_array-int8"]


@pytest.mark.slow
def test_a_broken_spec_elsewhere_does_not_stop_a_trial(tiny, message):
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    tiny.write("specs/architectures/acme/a1.yaml", "name: [\n")
    tiny.write("specs/hardware/acme/x2.yaml", "name: [\n")
    verdicts, text = message()
    assert "write 4096 MAC (fixes 4 failures, breaks nothing)" in verdicts["peak-mac_array-int8"]
    assert "Traceback" not in text


@pytest.mark.slow
def test_without_excuses_what_was_excused_is_counted_as_red(tiny):
    # 51.2 GB/s is excused at 102.4 / 51.2 = 2; half the rate would break bandwidth and breakpoint
    sheet = "source: {document: An old sheet, where: p. 1, grade: read}"
    excuse = "xfail: {ratio: 2, reason: an old sheet, until: 2999-01-01}"
    claim = f"{{bandwidth: lpddr5, expect: 51.2 GB/s, {excuse}}}"
    tiny.write("golden/old.yaml", f"hardware: acme/x1\n{sheet}\nclaims:\n  - {claim}\n")
    assert tiny.run().ret == 0
    output = tiny.run("--runxfail").stdout.str()
    assert "fixes 1 failure, breaks 2" in " ".join(output.split())


# ---- An order or a bound has no figure; the failing figure of a device that it names tells which fact is wrong

ORDER = """\
workload: {mlp: [1024, 1024, 1024], batch: 16}
source: {document: Acme X1 product page, where: p. 2, grade: read}
claims:
  - {latency: %s, compute: int8}
"""
T4_FIRST = "latency-nvidia/t4-lt-acme/x1-in-int8"


def test_an_order_names_the_line_and_the_value_that_settle_it(tiny, message):
    # 2 164 736 B: 6.8 µs at 320 GB/s of a T4, 21.1 µs at 102.4 GB/s; at 1024 GB/s 2.1 µs, so that the X1 is ahead
    tiny.write("golden/order.yaml", ORDER % "nvidia/t4 < acme/x1")
    line = tiny.edit(SPEC, "pin_rate: [6.4 Gbit/s", "pin_rate: [64 Gbit/s")
    verdicts, _ = message()
    assert set(verdicts) == {"bandwidth-lpddr5", "breakpoint-mac_array-int8-per-lpddr5", T4_FIRST}
    repair = f"{SPEC}:{line} memories.lpddr5.pin_rate; write 6.4 Gbit/s (fixes 3 failures, breaks nothing)"
    assert repair in verdicts[T4_FIRST]


def test_a_bound_names_the_line_and_the_value_that_settle_it(tiny, message):
    # 31 op/B; with 256 MAC the breakpoint is 4 × 256 × 2 × 1e9 / 102.4e9 = 20 op/B, below it
    line = tiny.edit(SPEC, "int8: [4096 MAC", "int8: [256 MAC")
    verdicts, _ = message()
    repair = f"{SPEC}:{line} units.mac_array.macs_per_clock.int8; write 4096 MAC (fixes 5 failures, breaks nothing)"
    assert repair in verdicts["bound-acme/x1-of-mlp-1024-1024-1024-batch-16-in-int8"]


def test_a_repair_that_breaks_a_claim_is_not_the_cause_of_a_bound(tiny, message):
    # a clock is not mistaken by a factor of 11; what the breakpoint asks for instead breaks the bandwidth
    tiny.edit(SPEC, "clock: [1000 MHz", "clock: [90 MHz")
    verdicts, _ = message()
    assert "write 0.575 Gbit/s (fixes 2 failures, breaks 1)" in verdicts["breakpoint-mac_array-int8-per-lpddr5"]
    assert " because " not in verdicts["bound-acme/x1-of-mlp-1024-1024-1024-batch-16-in-int8"]


LAW = """\
source: {document: A law of widths, grade: quoted}
why: a lane that multiplies in a wide format has room for a narrow one
claims:
  - {monotone: peak width}
"""


def test_a_repair_is_tried_on_failing_laws_too(tiny, message):
    tiny.write("golden/law.yaml", LAW)
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [256 MAC")  # narrower than the 1024 of fp16, and slower
    verdicts, text = message()
    assert "monotone-peak-width" in verdicts
    assert "4096 MAC (fixes 6 failures, breaks nothing)" in verdicts["peak-mac_array-int8"]
    assert "A single change fixes 6 of 6 failures and breaks nothing" in text


def test_a_search_says_what_it_is_at_and_nothing_at_its_end(tiny):
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    suite, told = tiny.suite(), []
    peak = next(claim for claim in suite.claims() if claim.id == "peak-mac_array-int8")
    Trial(suite, say=told.append).verdict(peak, "x")
    assert told[:2] == ["searching for causes", f"trying repair 1 of {len(told) - 2}"]
    assert told[-1] == ""


def test_a_run_of_one_file_tries_no_laws_of_other_files(tiny):
    tiny.write("golden/law.yaml", LAW)
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [256 MAC")
    suite = tiny.suite()
    claims = {claim.id: claim for claim in suite.claims()}
    peak, law = claims["peak-mac_array-int8"], claims["monotone-peak-width"]
    judged = []

    def noting(judging, claim, suite):
        judged.append(claim.id)
        return judging(suite), None

    Trial(suite, laws=True, judged={key_of(peak)}, noting=noting).verdict(peak, "x")
    assert law.id not in judged
    Trial(suite, laws=True, noting=noting).verdict(peak, "x")
    assert law.id in judged


def test_an_order_alone_says_what_its_devices_lack_and_changes_nothing(tiny, message):
    # no figure expects the bandwidth, so that any from 0.1 to 320 GB/s would do
    text = tiny.read("golden/x1.yaml")
    tiny.write("golden/x1.yaml", re.sub(r"^  - \{b(andwidth|reakpoint).*\n", "", text, flags=re.MULTILINE))
    tiny.write("golden/order.yaml", ORDER % "nvidia/t4 < acme/x1")
    tiny.edit(SPEC, "pin_rate: [6.4 Gbit/s", "pin_rate: [64 Gbit/s")
    verdicts, _ = message()
    assert "memory-bound: its bandwidth is 320 GB/s, that of" in " ".join(verdicts[T4_FIRST].split())
    assert "write " not in verdicts[T4_FIRST]


def test_a_repair_that_leaves_an_order_failing_is_not_its_cause(tiny, message):
    # the order is stated the wrong way round: memory is the bound, and a clock does not move it
    tiny.write("golden/order.yaml", ORDER % "acme/x1 < nvidia/t4")
    tiny.edit(SPEC, "clock: [1000 MHz", "clock: [500 MHz")
    verdicts, _ = message()
    assert "write 1000 MHz" in verdicts["peak-mac_array-int8"]
    order = " ".join(verdicts["latency-acme/x1-lt-nvidia/t4-in-int8"].split())
    assert "acme/x1 takes" in order
    assert "write " not in order


def test_what_a_search_for_causes_judged_is_not_judged_again(acme):
    # an eighth of INT8 fails; whether its repair breaks the bandwidth, which comes later, must be known by then
    acme.write(
        "golden/k1.yaml",
        "hardware: acme/k1\nsource: {document: Acme data sheet, where: p. 1, grade: read}\nclaims:\n"
        "  - {peak: mac_array int8, expect: 4.096 TOP/s, why: an eighth}\n  - {bandwidth: hbm, expect: 256 GB/s}\n",
    )
    suite = Suite.of([acme.root / "golden"], [acme.root / "specs"])
    asked = Counter()

    def noting(judged, claim, suite):
        asked[claim.id] += 1
        return judged(suite), {"claim": claim.id}

    trial = Trial(suite, noting=noting)
    found = {claim.id: trial.verdict(claim, f"x::{claim.id}") for claim in suite.claims()}
    peak, bandwidth = found
    assert found[peak][0].outcome == "fail"
    assert any(cause.breaks is not None for cause in found[peak][0].causes)
    assert found[bandwidth][0].outcome == "pass"
    assert found[bandwidth][0].nodeid == f"x::{bandwidth}"
    assert [noted for _, noted in found.values()] == [{"claim": peak}, {"claim": bandwidth}]
    assert asked == {peak: 2, bandwidth: 1}  # the failing claim itself is one of those that its repair may fix
