"""What makes a suite worse, and what a golden file should quote instead of what it has; on acme/k1, without a run."""

from pathlib import Path

import pytest

from pytest_rooflint.repair.proposal import (
    Refusal,
    Reprint,
    State,
    is_misnamed,
    passes_otherwise,
    refuse_outside,
    reprint,
)
from pytest_rooflint.suite.judge import brief

ONE, TWO = Path("golden/one.yaml"), Path("golden/two.yaml")


# ---- states of a suite


def test_a_state_is_no_worse_if_nothing_new_fails():
    before = State({(ONE, 0): "a", (ONE, 1): "b"}, frozenset({(ONE, "no source")}))
    assert State({(ONE, 1): "b"}, frozenset()).objection(before) is None
    assert before.objection(before) is None


def test_a_state_with_new_failures_names_the_first_and_counts_the_others():
    before = State({(ONE, 0): "a"}, frozenset())
    assert State({(ONE, 0): "a", (TWO, 0): "b"}, frozenset()).objection(before) == "would turn b red"
    assert State(dict.fromkeys([(TWO, 0), (TWO, 1), (TWO, 2)], "b"), frozenset()).objection(before) == (
        "would turn b and 2 more red"
    )


def test_a_new_problem_of_a_file_goes_before_new_failures():
    before = State({}, frozenset({(TWO, "no source")}))
    after = State({(ONE, 0): "a"}, frozenset({(TWO, "no source"), (TWO, "half an SM"), (TWO, "no unit")}))
    assert after.objection(before) == "half an SM"


@pytest.fixture
def judged(acme):
    """`judged("count: vector, expect: 127")`: verdicts on claims about acme/k1, without a search for causes."""

    def found(*lines, document="Acme data sheet"):
        text = "".join(f"  - {{{line}}}\n" for line in lines)
        source = f"source: {{document: {document}, where: p. 1, grade: read}}\n"
        file = acme.write("golden/k1.yaml", f"hardware: acme/k1\n{source}claims:\n{text}")
        suite = acme.suite()
        return [brief(claim, suite) for claim in suite.read(file).claims]

    return found


def test_the_state_of_a_suite_has_failures_by_place_and_problems_of_files(acme, judged):
    judged("count: vector, expect: 128", "count: tile, expect: 7")
    broken = acme.write("golden/broken.yaml", "hardware: acme/k1\nclaims: 3\n")
    state = State.of(acme.suite(), excuses=True)
    assert state.failures == {(acme.root / "golden/k1.yaml", 1): "count-tile"}
    assert {file for file, _ in state.problems} >= {broken}


def test_a_file_outside_of_the_project_is_not_changed(tmp_path):
    refuse_outside(tmp_path / "golden/one.yaml", tmp_path)
    with pytest.raises(Refusal, match=r"one\.yaml is not a file of this project"):
        refuse_outside(tmp_path / "one.yaml", tmp_path / "golden")


# ---- quotes


@pytest.fixture
def quoted(acme, judged):
    """`quoted("bandwidth: hbm", "25.6 GB/s", "more: …")`: what to quote instead, or why nothing."""

    def found(subject, expect, *more, excuses=True):
        (verdict,) = judged(", ".join((subject, f'expect: "{expect}"', *more)))
        try:
            return reprint(verdict.claim, verdict, acme.suite(), expect, excuses=excuses)
        except Refusal as refusal:
            return str(refusal)

    return found


PEAK = "peak: mac_array int8"
"""32.768 TOP/s, by 8 × 2 × 1024 MAC × 2 op/MAC × 1 GHz."""


@pytest.mark.parametrize(
    ("subject", "expect", "instead", "more"),
    [
        (PEAK, "29.1 TOP/s", "32.8 TOP/s", ()),
        (PEAK, "29.10 TOP/s", "32.77 TOP/s", ()),
        (PEAK, "29.1 TOP/s", "32.7 TOP/s", ("rounding: truncated",)),
        (PEAK, "27 TOP/s ± 4 %", "33 TOP/s ± 4 %", ("why: they round",)),
        (PEAK, "9.1 TOP/s ± 6 %", "33 TOP/s ± 6 %", ("why: they round",)),
        (PEAK, "58.2 TOP/s / 2", "65.5 TOP/s / 2", ()),
        (PEAK, "2 * 14.5 TOP/s", "2 * 16.4 TOP/s", ()),
        (PEAK, "2.91e1 TOP/s", "32.8 TOP/s", ()),
        ("count: vector", "127", "128", ()),  # 8 × 16; a count keeps no decimals
        ("breakpoint: mac_array int8 / hbm", "100.0 OP/B", "128.0 OP/B", ()),
    ],
)
def test_the_one_printed_value_is_scaled_in_as_many_digits(quoted, subject, expect, instead, more):
    assert quoted(subject, expect, *more) == Reprint(instead)


@pytest.mark.parametrize(
    ("subject", "expect", "instead"),
    [
        (PEAK, "32.77 GOP/s", "32.77 TOP/s"),
        (PEAK, "32.77 OP/s", "32.77 TOP/s"),
        ("bandwidth: hbm", "256 MB/s", "256 GB/s"),
        ("capacity: hbm", "16 GB", "16 GiB"),
        ("capacity: hbm", "16 MiB", "16 GiB"),
    ],
)
def test_the_same_digits_with_another_prefix_go_before_other_digits(quoted, subject, expect, instead):
    remark = f"the model obtains the same digits with another prefix: {instead}"
    assert quoted(subject, expect) == Reprint(instead, remarks=(remark,))


def test_a_sparse_figure_is_called_sparse_and_a_dense_one_is_left_to_a_person(quoted):
    # twice 32.768
    found = quoted(PEAK, "65.54 TOP/s")
    assert (found.expect, found.entry) == (None, "sparse: true")
    assert found.remarks == (
        "65.54 TOP/s is the figure with sparsity; "
        "if only that is printed, '65.54 TOP/s / 2' with a note is an alternative",
    )
    assert quoted(PEAK, "32.77 TOP/s", "sparse: true") == (
        "quotes the dense figure, 32.77 TOP/s; remove 'sparse: true', or quote the sparse one"
    )


@pytest.mark.parametrize(
    ("expect", "text"),
    [
        # 614.4 GFLOP/s in FP32, which has no sparsity
        ("307.2 GFLOP/s", "is off by 2, a convention (the rate is in op already"),
        ("1.229 TFLOP/s", "is off by 1/2, a convention (a MAC is counted as one op); quote 1.229 TFLOP/s"),
        # twice 614.4 is 1228.8; half a per cent more or less may be rounding
        ("1.234 TFLOP/s", "is off by 1/2, a convention"),
        ("1.223 TFLOP/s", "is off by 1/2, a convention"),
    ],
)
def test_a_convention_is_not_divided_away(quoted, expect, text):
    assert text in quoted("peak: vector fp32", expect)


@pytest.mark.parametrize("expect", ["1.236 TFLOP/s", "1.221 TFLOP/s", "305.0 GFLOP/s", "309.4 GFLOP/s"])
def test_what_is_near_a_convention_is_not_one(quoted, expect):
    assert quoted("peak: vector fp32", expect).expect.startswith(("0.6144 ", "614.4 "))


def test_a_quotient_of_two_printed_values_is_not_changed(quoted):
    assert quoted("breakpoint: mac_array int8 / hbm", "27.9 TOP/s / 256 GB/s") == (
        "rests on 2 printed values; the figures do not say which one is misprinted"
    )


def test_a_claim_on_the_document_of_its_facts_would_repeat_the_model(acme, judged):
    for document in ("Acme data sheet", "Acme K1 brief"):
        (verdict,) = judged("count: vector, expect: 127", document=document)
        if document == "Acme data sheet":
            assert reprint(verdict.claim, verdict, acme.suite(), "127", excuses=True) == Reprint("128")
            continue
        with pytest.raises(Refusal, match="has no document of its own"):
            reprint(verdict.claim, verdict, acme.suite(), "127", excuses=True)


def test_a_known_disagreement_is_resolved_by_hand_unless_excuses_do_not_count(quoted):
    excuse = "xfail: {ratio: 3, reason: r, until: 2999-01-01}"
    assert quoted("count: vector", "127", excuse).startswith("is a known disagreement that changed")
    assert quoted("count: vector", "127", excuse, excuses=False) == Reprint("128")


def test_an_excuse_is_not_removed_where_the_spec_equals_a_figure_known_to_be_wrong(quoted):
    # 1024 MAC make 32.77 TOP/s, which this claim holds to be wrong
    excuse = "xfail: {ratio: 1/2, reason: r, until: 2999-01-01}"
    assert quoted("peak: mac_array int8", "32.77 TOP/s", excuse) == (
        "equals a figure known to be wrong; correct the spec, and keep 'xfail'"
    )


def test_a_claim_without_a_figure_has_none_to_replace(quoted):
    assert quoted("peak: mac_aray int8", "29.1 TOP/s").startswith("has no figure to replace it with: acme/k1 has no")


def test_a_single_claim_may_be_misnamed(acme, judged):
    def misnamed(line, written):
        (verdict,) = judged(line)
        return is_misnamed(verdict.claim, verdict, acme.suite(), written, excuses=True)

    assert misnamed(f"{PEAK}, expect: 65.54 TOP/s", "65.54 TOP/s")
    assert misnamed("bandwidth: hbm, expect: 256 MB/s", "256 MB/s")
    assert not misnamed(f"{PEAK}, expect: 29.1 TOP/s", "29.1 TOP/s")
    assert not misnamed("peak: mac_aray int8, expect: 29.1 TOP/s", "29.1 TOP/s")


def test_only_kinds_that_know_sparsity_pass_otherwise(acme, judged):
    one, two, three = judged(
        f"{PEAK}, expect: 65.54 TOP/s",
        f"{PEAK}, expect: 32.77 TOP/s, sparse: true",
        "count: vector, expect: 128",
    )
    suite = acme.suite()
    assert passes_otherwise(one.claim, suite, excuses=True)
    assert passes_otherwise(two.claim, suite, excuses=True)
    assert not passes_otherwise(three.claim, suite, excuses=True)
