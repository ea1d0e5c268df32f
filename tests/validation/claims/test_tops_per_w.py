"""`tops_per_w`: who is above the ceiling is named with both numbers, who cannot be tried with a reason."""

import pytest

from rooflint.base.errors import InputError
from rooflint.hardware.registry import PACKAGED

CLAIM = "tops_per_w: arithmetic"
K1 = "specs/hardware/acme/k1.yaml"


@pytest.fixture
def one(acme, claims):
    """The verdict on the claim, with a process node for acme/k1 unless said."""

    def judged(line=CLAIM, process="7 nm"):
        if process:
            acme.edit(K1, "tdp: [20 W, brief, p. 1]", f"process: [{process}, brief, p. 1]\ntdp: [20 W, brief, p. 1]")
        (verdict,) = claims(line, head="")
        return verdict

    return judged


def test_an_honest_device_stays_below(one):
    # INT8: 32.77 TOP/s + nothing else over 20 W = 1.638 TOP/s/W; (0.07 + 0.007) / 2 pJ/op at 7 nm allow 26
    verdict = one()
    assert (verdict.outcome, verdict.obtained_display) == ("pass", "holds on 1 device")


@pytest.mark.parametrize(("power", "said"), [("25 W", "40 TOP/s/W with 25 W")])
def test_a_petaop_at_25_watts_is_red_with_both_numbers(acme, one, power, said):
    # 8 × 2 × 31 250 MAC × 2 op/MAC × 1 GHz = 1 POP/s; over 25 W 40 TOP/s/W, where 1 / 0.0385 pJ are 25.97
    acme.edit("specs/architectures/acme/a1.yaml", "int8: [1024 MAC", "int8: [31250 MAC")
    acme.edit(K1, "tdp: [10 W, brief, p. 7]", "tdp: [25 W, brief, p. 7]")
    acme.edit(K1, "tdp: [20 W, brief, p. 1]", f"tdp: [{power}, brief, p. 1]\nprocess: [7 nm, brief, p. 1]")
    verdict = one(process=None)
    assert verdict.outcome == "fail"
    assert verdict.obtained_display == "broken by 1 of 1 device"
    text = " ".join(verdict.text().split())
    assert f"acme/k1 mac_array int8: {said}, where arithmetic alone at 7 nm allows 25.97 TOP/s/W" in text


def test_each_operating_point_has_its_own_power(acme, one):
    # 16.4 TOP/s at 0.5 W are 32.8 TOP/s/W
    acme.edit(K1, "tdp: [10 W, brief, p. 7]", "tdp: [0.5 W, brief, p. 7]")
    text = " ".join(one().text().split())
    assert "acme/k1 mac_array int8 at low: 32.77 TOP/s/W with 0.5 W" in text
    assert "mac_array int8: " not in text


def test_only_the_precision_that_is_asked_for_is_tried(acme, one):
    # INT8 is above, 27.3 of 26 TOP/s/W; FP32 is 0.614 TFLOP/s / 0.6 W = 1.02 of 1 / 0.845 pJ = 1.18 TOP/s/W
    acme.edit(K1, "tdp: [10 W, brief, p. 7]", "tdp: [0.6 W, brief, p. 7]")
    assert one(f"{CLAIM}, compute: fp32").outcome == "pass"
    assert one(f"{CLAIM}, compute: int8", process=None).outcome == "fail"


@pytest.mark.parametrize(
    ("process", "old", "says"),
    [
        ("7 nm", "tdp: [20 W, brief, p. 1]\n", "no rated power: acme/k1"),
        (None, None, "no process node: acme/k1"),
        ("9 nm", None, "9nm"),
    ],
)
def test_what_is_not_known_is_left_out_with_its_reason(acme, one, process, old, says):
    verdict = one(process=process)
    if old:
        acme.edit(K1, old, "")
        acme.edit(K1, "    tdp: [10 W, brief, p. 7]\n", "")
        verdict = one(process=None)
    assert verdict.outcome == "fail"  # nothing could be tried
    assert says in verdict.text()


def test_an_excused_device_must_be_above(acme, one):
    excuse = f"{CLAIM}, except: {{acme/k1: a slip on purpose}}"
    assert "acme/k1  obeys the law; remove it from 'except'" in one(excuse).text()
    acme.edit(K1, "tdp: [10 W, brief, p. 7]", "tdp: [0.5 W, brief, p. 7]")
    excused = one(excuse, process=None)
    assert (excused.outcome, excused.obtained_display) == ("pass", "holds on 1 device, 1 of them excused")


def test_a_glob_that_nobody_matches_is_red(one):
    verdict = one(f"{CLAIM}, devices: 'other/*'")
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
def test_what_a_ceiling_cannot_mean_is_refused(one, claim, says):
    with pytest.raises(InputError, match=r"k1\.yaml:") as refused:
        one(claim)
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
