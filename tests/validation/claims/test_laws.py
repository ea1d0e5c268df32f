"""Laws as claims: every device of a glob, failures with their numbers, excuses that must be needed."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from pytest_rooflint.claims.laws import BATCHES, MOST, display_of_devices, matching_devices, shown_lines, wrong_devices
from pytest_rooflint.suite import world
from pytest_rooflint.suite.judge import brief
from pytest_rooflint.suite.roofline_laws import LAWS
from rooflint.base.errors import InputError
from rooflint.hardware.registry import PACKAGED
from rooflint.roofline import Estimate

# ---- devices of a glob


def test_breaches_are_listed_unless_excused_and_excuses_must_be_needed():
    broken = {"a/1": ["too slow", "too hot"], "a/2": [], "a/3": ["too slow"]}
    assert list(wrong_devices(broken, {"a/3": "known"})) == [("a/1", "too slow"), ("a/1", "too hot")]
    excused = {"a/1": "known", "a/2": "known", "a/9": "known", "a/3": "known"}
    assert list(wrong_devices(broken, excused)) == [
        ("a/2", "obeys the law; remove it from 'except'"),
        ("a/9", "was not tested; remove it from 'except'"),
    ]


def test_twelve_breaches_are_shown_and_the_rest_is_counted():
    twelve = [(f"a/{number}", "slow") for number in range(12)]
    assert [line.split() for line in shown_lines(twelve)] == [[device, "slow"] for device, _ in twelve]
    assert [line.strip() for line in shown_lines([*twelve, ("a/12", "slow"), ("a/13", "slow")])][12:] == ["and 2 more"]


def test_devices_are_counted_not_breaches():
    assert display_of_devices(1, {}, []) == "holds on 1 device"
    assert display_of_devices(3, {"a/1": "known"}, []) == "holds on 3 devices, 1 of them excused"
    assert display_of_devices(3, {}, [("a/1", "slow"), ("a/1", "hot"), ("a/2", "hot")]) == "broken by 2 of 3 devices"
    unused = [("compute capability 6.1", "was not tested; remove it from 'except'")]
    assert display_of_devices(3, {"compute capability 6.1": "Pascal"}, unused) == (
        "holds on 3 devices; an exception is not needed"
    )


def test_a_glob_matches_ids_and_passes_over_an_invalid_spec(acme):
    acme.write("specs/hardware/acme/k2.yaml", "name: [\n")
    suite = acme.suite()

    def matching(glob):
        claim = SimpleNamespace(option={"devices": glob}.get)
        return [device.id for device in matching_devices(claim, suite)]

    assert matching("acme/*") == ["acme/k1"]
    assert matching("other/*") == []


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("devices: 3", "devices: want a glob"),
        ("devices: ''", "devices: want a glob"),
        ("except: {acme/k1: ''}", "except: want a reason for each device"),
        ("except: [acme/k1]", "except: want a reason for each device"),
    ],
)
def test_invalid_globs_and_excuses_are_refused(refusal, option, says):
    assert says in refusal(f"monotone: peak width, {option}")


def test_the_id_has_the_glob_where_it_is_not_every_device(one):
    assert one("monotone: peak width").claim.id == "monotone-peak-width"
    assert one("monotone: peak width, devices: 'acme/*'").claim.id == "monotone-peak-width-on-acme/all"


# ---- `monotone`


HEAD = "workload: {gemm: [1, 64, 64]}\n"
SLOW_INT8 = ("int8: [1024 MAC, arch, p. 3]", "int8: [16 MAC, arch, p. 3]")


@pytest.fixture
def monotone(claims):
    """The verdict on one claim about a law of the roofline."""

    def judged(line, head=HEAD):
        (verdict,) = claims(line, head=head)
        return verdict

    return judged


@pytest.mark.parametrize("law", LAWS)
def test_every_law_can_be_claimed(monotone, law):
    verdict = monotone(f"monotone: {law}", head=HEAD if LAWS[law].of_networks else "")
    assert verdict.outcome == "pass"
    assert verdict.obtained_display == "holds on 1 device"
    assert verdict.headline.startswith(f"law: {LAWS[law].promise}")
    assert verdict.expected_display == "no device that breaks it"


def test_a_red_law_names_the_device_and_its_numbers(acme, monotone):
    # 16 instead of 1024 MAC: 0.51 TOP/s of INT8 below 14.7 TFLOP/s of FP16
    line = acme.edit("specs/architectures/acme/a1.yaml", *SLOW_INT8)
    verdict = monotone("monotone: peak width", head="")
    assert verdict.outcome == "fail"
    assert verdict.obtained_display == "broken by 1 of 1 device"
    assert (
        f"acme/k1  mac_array: int8 512 GOP/s, fp16 14.75 TFLOP/s  specs/architectures/acme/a1.yaml:{line}"
        in verdict.text()
    )


def test_an_excused_device_may_break_it_and_must(acme, monotone):
    claim = "monotone: peak width, except: {acme/k1: a slip on purpose}"
    kept = monotone(claim, head="")
    assert kept.outcome == "fail"
    assert "acme/k1  obeys the law; remove it from 'except'" in kept.text()
    acme.edit("specs/architectures/acme/a1.yaml", *SLOW_INT8)
    excused = monotone(claim, head="")
    assert (excused.outcome, excused.obtained_display) == ("pass", "holds on 1 device, 1 of them excused")


def test_a_class_is_excused_as_a_whole_and_a_broken_law_says_how(acme, monotone):
    acme.edit("specs/architectures/acme/a1.yaml", "kind: npu", 'kind: npu\ncompute_capability: "6.1"')
    claim = "monotone: peak width, except: {compute capability 6.1: built so}"
    assert "compute capability 6.1  was not tested; remove it from 'except'" in monotone(claim, head="").text()
    acme.edit("specs/architectures/acme/a1.yaml", *SLOW_INT8)
    how = "excuse it in the claim: 'except: {acme/k1: reason}' or 'except: {compute capability 6.1: reason}'"
    assert how in monotone("monotone: peak width", head="").text()
    excused = monotone(claim, head="")
    assert (excused.outcome, excused.obtained_display) == ("pass", "holds on 1 device, 1 of them excused")
    other = monotone(claim.replace("6.1", "6.0"), head="")
    assert (other.outcome, "compute capability 6.0  was not tested" in other.text()) == ("fail", True)


def test_an_excuse_for_nobody_is_red(monotone):
    verdict = monotone("monotone: peak width, except: {acme/k9: gone}", head="")
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
def test_devices_are_named_by_a_glob(monotone, devices, outcome, says):
    verdict = monotone(f"monotone: latency batch, devices: {devices}")
    assert verdict.outcome == outcome
    assert says in verdict.text()


def test_a_law_that_no_device_could_be_tried_by_is_red(monotone):
    verdict = monotone("monotone: latency batch, compute: fp64")
    assert verdict.outcome == "fail"
    assert "1 device not tested: too little is disclosed" in verdict.text()


def test_devices_without_two_powers_are_counted_as_untested(acme, monotone):
    spec = (acme.root / K1).read_text(encoding="utf-8")
    acme.write("specs/hardware/acme/k2.yaml", spec.replace("powers: {typical: [12 W, brief, p. 1]}\n", ""))
    verdict = monotone("monotone: power order", head="")
    assert (verdict.outcome, verdict.obtained_display) == ("pass", "holds on 1 device")
    assert "1 device not tested: no two powers to compare" in verdict.text()


def test_many_breaches_are_counted_and_not_listed(monotone, monkeypatch):
    monkeypatch.setattr(Estimate, "latency_s", property(lambda estimate: 1 / estimate.ops.sum()))
    batches = list(range(1, MOST + 9))
    verdict = monotone(f"monotone: latency batch, batches: {batches}")
    # more samples take less time: in each of three precisions
    assert verdict.obtained.value == 3 * (len(batches) - 1)
    assert f"and {3 * (len(batches) - 1) - MOST} more" in verdict.text()


def test_a_law_is_neither_corroboration_nor_coverage_nor_a_kill(acme, monotone):
    verdict = monotone("monotone: latency batch")
    assert not verdict.corroborated
    assert verdict.obtained.others == ()
    (problem,) = [str(problem) for problem in world.problems(acme.suite()) if "acme/k1" in str(problem)]
    assert "has no claim in any golden file" in problem


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        ("monotone: latency batches", "want one of latency batch, bound batch"),
        ("monotone: latency batch, expect: 3 µs", "takes no expectation here"),
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
def test_what_a_law_cannot_mean_is_refused(monotone, claim, says):
    with pytest.raises(InputError, match=r"k1\.yaml:") as refused:
        monotone(claim)
    assert says in str(refused.value)


def test_claims_on_other_globs_are_other_claims(claims):
    first, second = claims("monotone: latency batch", "monotone: latency batch, devices: acme/*", head=HEAD)
    assert (first.claim.id, second.claim.id) == ("monotone-latency-batch", "monotone-latency-batch-on-acme/all")


def test_the_batches_of_a_law_grow():
    assert list(BATCHES) == sorted(set(BATCHES))


# ---- `tops_per_w`


CLAIM = "tops_per_w: arithmetic"
K1 = "specs/hardware/acme/k1.yaml"


@pytest.fixture
def ceiling(acme, claims):
    """The verdict on the claim, with a process node for acme/k1 unless said."""

    def judged(line=CLAIM, process="7 nm"):
        if process:
            acme.edit(K1, "tdp: [20 W, brief, p. 1]", f"process: [{process}, brief, p. 1]\ntdp: [20 W, brief, p. 1]")
        (verdict,) = claims(line, head="")
        return verdict

    return judged


def test_an_honest_device_stays_below(ceiling):
    # INT8: 32.77 TOP/s + nothing else over 20 W = 1.638 TOP/s/W; (0.07 + 0.007) / 2 pJ/op at 7 nm allow 26
    verdict = ceiling()
    assert (verdict.outcome, verdict.obtained_display) == ("pass", "holds on 1 device")


@pytest.mark.parametrize(("power", "message"), [("25 W", "40 TOP/s/W with 25 W")])
def test_a_petaop_at_25_watts_is_red_with_both_numbers(acme, ceiling, power, message):
    # 8 × 2 × 31 250 MAC × 2 op/MAC × 1 GHz = 1 POP/s; over 25 W 40 TOP/s/W, where 1 / 0.0385 pJ are 25.97
    acme.edit("specs/architectures/acme/a1.yaml", "int8: [1024 MAC", "int8: [31250 MAC")
    acme.edit(K1, "tdp: [10 W, brief, p. 7]", "tdp: [25 W, brief, p. 7]")
    acme.edit(K1, "tdp: [20 W, brief, p. 1]", f"tdp: [{power}, brief, p. 1]\nprocess: [7 nm, brief, p. 1]")
    verdict = ceiling(process=None)
    assert verdict.outcome == "fail"
    assert verdict.obtained_display == "broken by 1 of 1 device"
    text = " ".join(verdict.text().split())
    assert f"acme/k1 mac_array int8: {message}, where arithmetic alone at 7 nm allows 25.97 TOP/s/W" in text


def test_each_operating_point_has_its_own_power(acme, ceiling):
    # 16.4 TOP/s at 0.5 W are 32.8 TOP/s/W
    acme.edit(K1, "tdp: [10 W, brief, p. 7]", "tdp: [0.5 W, brief, p. 7]")
    text = " ".join(ceiling().text().split())
    assert "acme/k1 mac_array int8 at low: 32.77 TOP/s/W with 0.5 W" in text
    assert "mac_array int8: " not in text


def test_only_the_precision_that_is_asked_for_is_tried(acme, ceiling):
    # INT8 is above, 27.3 of 26 TOP/s/W; FP32 is 0.614 TFLOP/s / 0.6 W = 1.02 of 1 / 0.845 pJ = 1.18 TOP/s/W
    acme.edit(K1, "tdp: [10 W, brief, p. 7]", "tdp: [0.6 W, brief, p. 7]")
    assert ceiling(f"{CLAIM}, compute: fp32").outcome == "pass"
    assert ceiling(f"{CLAIM}, compute: int8", process=None).outcome == "fail"


@pytest.mark.parametrize(
    ("process", "old", "says"),
    [
        ("7 nm", "tdp: [20 W, brief, p. 1]\n", "no rated power: acme/k1"),
        (None, None, "no process node: acme/k1"),
        ("9 nm", None, "9nm"),
    ],
)
def test_what_is_not_known_is_left_out_with_its_reason(acme, ceiling, process, old, says):
    verdict = ceiling(process=process)
    if old:
        acme.edit(K1, old, "")
        acme.edit(K1, "    tdp: [10 W, brief, p. 7]\n", "")
        verdict = ceiling(process=None)
    assert verdict.outcome == "fail"  # nothing could be tried
    assert says in verdict.text()


def test_an_excused_device_must_be_above(acme, ceiling):
    excuse = f"{CLAIM}, except: {{acme/k1: a slip on purpose}}"
    assert "acme/k1  obeys the law; remove it from 'except'" in ceiling(excuse).text()
    acme.edit(K1, "tdp: [10 W, brief, p. 7]", "tdp: [0.5 W, brief, p. 7]")
    excused = ceiling(excuse, process=None)
    assert (excused.outcome, excused.obtained_display) == ("pass", "holds on 1 device, 1 of them excused")


def test_a_glob_that_nobody_matches_is_red(ceiling):
    verdict = ceiling(f"{CLAIM}, devices: 'other/*'")
    assert verdict.outcome == "fail"
    assert "no device matches 'other/*'" in verdict.text()


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        ("tops_per_w: datapath", "want 'arithmetic'"),
        (f"{CLAIM}, expect: 3 TOP/s/W", "takes no expectation here"),
        (f"{CLAIM}, compute: int9", "compute: unknown precision 'int9'"),
        (f"{CLAIM}, devices: [acme/k1]", "devices: want a glob"),
        (f"{CLAIM}, except: [acme/k1]", "except: want a reason for each device"),
        (f"{CLAIM}, at: low", "at: a tops_per_w claim takes no operating point here"),
    ],
)
def test_what_a_ceiling_cannot_mean_is_refused(ceiling, claim, says):
    with pytest.raises(InputError, match=r"k1\.yaml:") as refused:
        ceiling(claim)
    assert says in str(refused.value)


# ---- a slip in a shipped device

H100 = "specs/hardware/nvidia/h100-sxm5-80gb.yaml"
GH100 = "specs/architectures/nvidia/hopper-gh100.yaml"


@pytest.fixture
def h100(repository):
    """A repository of the shipped H100 alone; its verdict on the claim."""
    for name in (H100, GH100):
        repository.write(name, (PACKAGED / name.removeprefix("specs/")).read_text(encoding="utf-8"))
    source = "source: {document: A law, where: p. 1, grade: read}\n"
    repository.write("golden/law.yaml", f"{source}claims:\n  - {{{CLAIM}}}\n")
    repository.verdict = lambda: next(iter(repository.verdicts("golden/law.yaml").values()))
    return repository


def test_the_shipped_h100_stays_below(h100):
    # 989.4 TFLOP/s / 700 W = 1.41 TOP/s/W of 1 / (0.25 pJ × 0.65) = 6.2
    assert h100.verdict().outcome == "pass"


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (H100, "tdp: [700 W", "tdp: [70 W"),
        (H100, "process: [4 nm", "process: [45 nm"),  # 0.75 pJ × 989.4 TFLOP/s = 742 W
        (GH100, "fp16: [512 MAC, wp, fourth", "fp16: [4096 MAC, wp, fourth"),
    ],
    ids=["tdp", "node", "rate"],
)
def test_a_slip_of_power_node_or_rate_breaks_the_ceiling(h100, file, old, new):
    h100.edit(file, old, new)
    verdict = h100.verdict()
    assert verdict.outcome == "fail"
    assert "nvidia/h100-sxm5-80gb  tensor_core fp16: " in verdict.text()


def test_a_law_is_tested_again_only_on_devices_that_were_read_again(acme, monkeypatch):
    asked = []
    law = LAWS["peak width"]
    monkeypatch.setitem(LAWS, "peak width", replace(law, breaches=lambda one, _: iter(asked.append(one.id) or ())))
    acme.write("specs/hardware/acme/k2.yaml", acme.read("specs/hardware/acme/k1.yaml"))
    acme.write(
        "golden/laws.yaml", "source: {document: a law, where: p. 1, grade: read}\nclaims:\n  - monotone: peak width\n"
    )
    suite = acme.suite()
    (claim,) = suite.claims()
    for _ in range(2):
        assert brief(claim, suite).obtained.display == "holds on 2 devices"
    assert asked == ["acme/k1", "acme/k2"]
    brief(claim, suite.reread({(acme.root / "specs/hardware/acme/k2.yaml").resolve()}))
    assert asked == ["acme/k1", "acme/k2", "acme/k2"]
