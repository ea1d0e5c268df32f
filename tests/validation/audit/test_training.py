"""Tables of training runs: MFU, HFU and rates of a device, against each other and by definition."""

from pathlib import Path

import pytest

from pytest_rooflint.audit.training_columns import guessed
from pytest_rooflint.golden import read

HEAD = "GPU,Model,SeqLen,GPUs,Throughput (T/s),TFLOP/s/GPU,MFU,HFU\n"
GOLDEN = Path(__file__).parents[3] / "golden" / "training"


def one(found):
    (finding,) = found
    return finding


def causes(finding):
    return [one.error for one in finding.explanations]


def test_columns_of_training_runs_are_told_by_their_names():
    names = ["GPU", "Model Flops Utilization", "HFU (%)", "Model TFLOP / sec / GPU", "Tokens / sec / GPU", "seq_len"]
    roles = ["mfu", "hfu", "achieved", "tokens", "length"]
    assert list(guessed(names, [], bool, bool).values()) == roles
    assert guessed(["GPU", "tokens/s", "context"], [], bool, bool) == {}  # a table of inference
    assert guessed(["GPU", "BF16 TFLOPS", "peak TFLOP/s per GPU"], [], bool, bool) == {}


# 430 / 989.4 = 43.46 %, which Llama 3 prints as 43 %; 430 / 1978.9 = 21.73 %; 430 / 311.9 = 137.9 %


@pytest.mark.parametrize(
    ("share", "status", "error"),
    [
        ("43 %", "right", None),
        ("0.4346", "right", None),
        ("21.7 %", "wrong", "sparse for dense"),
        ("137.9 %", "wrong", "above the peak"),
        ("197e12", "not checked", None),  # a peak under the name of a share
        ("5.43 %", "wrong", "several devices"),
        ("57 %", "wrong", "another device"),  # 756 TFLOP/s are those of the PCIe board
    ],
)
def test_a_share_beside_its_rate_says_by_what_it_was_divided(audited, share, status, error):
    finding = one(audited(f"{HEAD}H100 SXM5,llama-3.1-405b,8192,8192,,430,{share},\n"))
    assert finding.status == status
    assert causes(finding)[:1] == ([error] if error else [])


# mpt-30b: 6 N + attention of 2048 tokens are 188.3 GFLOP; 7330 / 8 tokens/s of them are 172.5 TFLOP/s, 55.3 % of 311.9


@pytest.mark.parametrize(
    ("share", "error"),
    [
        ("55.30", None),
        ("73.74", "recomputation counted"),
        ("27.65", "sparse for dense"),
        ("18.44", "forward alone"),
        ("6.914", "several devices"),
    ],
)
def test_a_share_beside_tokens_is_compared_with_its_definition(audited, share, error):
    finding = one(audited(f"{HEAD}A100-SXM4-80GB,mpt-30b,2048,8,7330,,{share},\n"))
    assert finding.status == ("wrong" if error else "right")
    assert causes(finding)[:1] == ([error] if error else [])


def test_no_clock_or_other_device_explains_a_share_by_tokens_alone(audited):
    # 55.55 % by definition; 1.071 PFLOP/s, at the boost clock, would come near 48.5 by another definition
    finding = one(audited("GPU,Network,SeqLen,tokens/s/GPU,MFU\nH100 SXM5,llama-3.1-8b,8192,9000,48.5 %\n"))
    assert (finding.status, finding.note) == (
        *("not checked", "by definition it is 55.55 %; what was counted here is not said"),
    )
    half = one(audited("GPU,Network,SeqLen,tokens/s/GPU,MFU\nH100 SXM5,llama-3.1-8b,8192,9000,27.8 %\n"))
    assert causes(half)[0] == "sparse for dense"


def test_a_definition_without_attention_is_no_error_and_is_told(audited):
    # 6 × 29.975e9 × 916.25 / 311.9e12 = 52.8 %
    finding = one(audited(f"{HEAD}A100-SXM4-80GB,mpt-30b,2048,8,7330,,52.8,\n"))
    assert (finding.status, finding.note) == ("right", "attention is left out")


def test_all_experts_are_told_from_those_of_a_token(audited):
    # (6 × 46.70e9 + 6.44e9) × 2000 / 989.4e12 = 57.9 %, but 12.88e9 parameters of a token make 16.9 %
    table = "GPU,Model,SeqLen,tokens/s/GPU,MFU\nH100 SXM5,mixtral-8x7b,4096,2000,57.9 %\n"
    finding = one(audited(table))
    assert (finding.status, causes(finding)[0]) == ("wrong", "all experts")
    assert finding.expected.shown() == "16.92 %"


def test_a_rate_follows_from_tokens_and_network(audited):
    # NVIDIA prints 4035 tokens/s and 1943 TFLOP/s of each GB200
    table = "GPU,Model,SeqLen,tokens/s/GPU,Model TFLOP/s/GPU\nGB200,llama-3.1-70b,8192,4035,{}\n"
    assert one(audited(table.format(1943))).status == "right"
    wrong = one(audited(table.format(2591)))
    assert (wrong.status, causes(wrong)) == ("wrong", ["recomputation counted"])


def test_what_is_missing_is_told(audited):
    table = "GPU,Model,SeqLen,tokens/s,MFU\nA100-SXM4-80GB,mpt-30b,2048,7330,55.3 %\n"
    assert one(audited(table)).note == "no column gives its number of devices; name it with --map COLUMN=number"
    assert one(audited("GPU,MFU\nA100 SXM,55.3 %\n")).note.startswith("no column gives its tokens a second and network")


@pytest.mark.parametrize("length", ["0.4", "900000"])
def test_a_length_that_the_network_does_not_have_is_told(audited, length):
    table = f"GPU,Model,SeqLen,GPUs,tokens/s,MFU\nH100 SXM5,llama-3.1-8b,{length},8,800,36 %\n"
    finding = one(audited(table))
    assert (finding.status, finding.note[:37]) == ("not checked", "llama-3.1-8b: want 1 to 131072 tokens")


def test_models_beside_devices_are_networks_even_if_none_is_known(audited):
    # as MosaicML prints it: 4.346371E+14 / 989.4e12 = 43.93 %
    table = (
        "Model,SeqLen (T),# GPUs,GPU,MFU,Model TFLOP,Throughput (T/s)\n30b,2048,32,h100_80gb,{},4.346371E+14,73860\n"
    )
    assert one(audited(table.format(43.92))).status == "right"
    assert causes(one(audited(table.format(21.96))))[0] == "sparse for dense"


def test_mapped_columns_are_taken_as_they_are_said(audited):
    mapping = {"Rate": "achieved TFLOP/s", "Share": "mfu"}
    table = "GPU,Rate,Share\nH100 SXM5,430,21.7 %\n"
    assert causes(one(audited(table, **mapping)))[0] == "sparse for dense"


# ---- Every printed figure of the golden files, and the classic errors planted into each


PRINTED = [
    claim
    for file in sorted(GOLDEN.glob("*.yaml"))
    for claim in read.load(file).claims
    if claim.xfail is None and claim.option("tokens_per_s")
]


def table(factor=1.0):
    """One row for each claim with its figure times a factor."""
    yield "GPU,Model,SeqLen,GPUs,tokens/s,TFLOP/s/GPU,MFU,HFU"
    for claim in PRINTED:
        number, unit = claim.expectation.text.split()[:2]
        place = {"mfu": 1, "hfu": 2}[claim.kind] if unit == "%" else 0
        cells = ["", "", ""]
        cells[place] = number if factor == 1 else f"{float(number) * factor:.6g}"
        given = [claim.option(name, 1) for name in ("length", "devices", "tokens_per_s")]
        yield ",".join([claim.hardware, claim.subject, *map(str, given), *cells])


def of_golden(audited, factor=1.0):
    return audited("\n".join(table(factor)))


def test_no_printed_figure_is_accused(audited):
    found = of_golden(audited)
    assert len(found) == len(PRINTED) >= 25
    assert {one.status for one in found} == {"right"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("factor", "kinds", "error"),
    [
        (1 / 2, ("mfu", "hfu"), "sparse for dense"),
        (1 / 3, ("mfu", "hfu", "achieved"), "forward alone"),
        (4 / 3, ("mfu", "achieved"), "recomputation counted"),
        (3 / 4, ("hfu",), "recomputation left out"),
        (1 / 8, ("mfu", "hfu", "achieved"), "several devices"),
    ],
)
def test_planted_errors_are_found_with_their_cause(audited, factor, kinds, error):
    found = [one for one in of_golden(audited, factor) if one.quantity in kinds]
    found = [one for one in found if "tpu" not in one.device or error != "sparse for dense"]  # TPUs have no sparsity
    assert len(found) >= 5
    assert {one.status for one in found} == {"wrong"}
    assert [one.headline for one in found if error not in causes(one)] == []
