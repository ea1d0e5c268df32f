"""Claims and their kinds: ids for a shell, how values are shown, what a diagnosis is given, how options are read."""

import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rooflint.golden import kinds
from pytest_rooflint.golden.kinds import (
    Claim,
    ClaimError,
    ClaimSource,
    Kind,
    Obtained,
    halves,
    slug,
    terms,
    unit_precision,
)
from rooflint.base.errors import InputError
from rooflint.base.facts import Factor, Ladder
from rooflint.base.units import DIMENSIONLESS, OPS_PER_S, WATTS

GEMM = "workload: {gemm: [8, 8, 8]}"


def product(value):
    return Ladder((Factor("a", value, f"{value} a"),))


@pytest.mark.parametrize(
    ("precision", "unit"), [("int8", "32.77 TOP/s"), ("fp16", "32.77 TFLOP/s"), (None, "32.77 TOP/s")]
)
def test_rates_are_shown_in_flop_where_the_precision_floats(precision, unit):
    obtained = Obtained(32.768e12, OPS_PER_S, "", precision=precision)
    assert obtained.shown() == unit
    assert Obtained(3.0, WATTS, "", precision=precision).shown() == "3 W"


def test_a_display_stands_for_the_obtained_value_alone_and_a_writer_for_any():
    assert Obtained(3.0, WATTS, "", display="three").shown() == "three"
    assert Obtained(3.0, WATTS, "", display="three").shown(2.0) == "2 W"
    assert Obtained(0.125, DIMENSIONLESS, "", written=lambda value: f"{100 * value:g} %").shown(0.5) == "50 %"
    assert Obtained(1.23456, WATTS, "").shown(digits=2) == "1.2 W"


def cases(obtained, low, high):
    return [(term, case.span.low, case.span.high) for term, case in obtained.cases(low, high, registry=None)]


def test_a_product_is_one_case_over_the_expected_interval():
    # 12 obtained, 3 … 4 expected: off by 3 to 4
    assert cases(Obtained(12.0, WATTS, "", ladder=product(12.0)), 3.0, 4.0) == [("", 3.0, 4.0)]
    assert cases(Obtained(12.0, WATTS, "", ladder=product(12.0)), 0.0, 4.0) == [("", 3.0, math.inf)]
    assert cases(Obtained(12.0, WATTS, ""), 3.0, 4.0) == []


def test_a_quotient_is_a_case_above_and_one_below_the_line():
    # 12 / 2 = 6 obtained, 3 … 4 expected: above it 12 instead of 6 … 8, below it 2 instead of 3 … 4
    quotient = Obtained(6.0, WATTS, "", ladder=product(12.0), divisor=product(2.0))
    assert cases(quotient, 3.0, 4.0) == [("", 1.5, 2.0), (kinds.DIVISOR, 0.5, 2 / 3)]
    assert cases(quotient, 0.0, 4.0) == [("", 1.5, math.inf)]


def test_the_higher_of_two_products_is_a_case_only_where_the_value_is_too_high():
    lower = Obtained(6.0, WATTS, "", ladder=product(6.0), higher=product(12.0))
    assert [span for _, *span in cases(lower, 3.0, 4.0)] == [[1.5, 2.0], [3.0, 4.0]]
    assert len(cases(lower, 6.0, 6.0)) == len(cases(lower, 8.0, 9.0)) == 1


def test_each_term_of_a_sum_is_a_case_as_if_the_others_were_right():
    # 6 + 2 = 8 obtained, 5 … 6 expected: 6 instead of 3 … 4; 2 cannot be less than nothing
    total = Obtained(8.0, WATTS, "", terms=((product(6.0), "a", "int8"), (product(2.0), "b", "fp16")))
    assert cases(total, 5.0, 6.0) == [("a int8", 1.5, 2.0)]
    assert [term for term, *_ in cases(total, 7.0, 9.0)] == ["a int8", "b fp16"]


def test_subjects_are_read():
    assert unit_precision("tensor_core INT8") == ("tensor_core", "int8")
    assert terms("tensor_core int8 + dla fp16") == [("tensor_core", "int8"), ("dla", "fp16")]
    assert halves("a b /  c") == ("a b", "c")
    for wrong, read in (("tensor_core", unit_precision), ("a b c", unit_precision), ("a int9", terms), ("a/b", halves)):
        with pytest.raises(ClaimError):
            read(wrong)


def test_every_installed_kind_loads_and_has_the_name_of_its_key():
    assert len(kinds.names()) >= 29 and kinds.names() == sorted(kinds.names())
    assert [kinds.kind(name).name for name in kinds.names()] == kinds.names()


class Entry:
    def __init__(self, load):
        self.load = load


def broken():
    raise ImportError("no module")


@pytest.mark.parametrize(
    ("load", "says"),
    [(broken, "cannot be loaded: ImportError: no module"), (lambda: 3, "its entry point is a int, not a Kind")],
)
def test_a_kind_that_cannot_be_loaded_is_told(monkeypatch, load, says):
    monkeypatch.setattr(kinds, "_entries", lambda: {"made_up": Entry(load)})
    kinds.kind.cache_clear()
    with pytest.raises(ClaimError, match=says):
        kinds.kind("made_up")
    kinds.kind.cache_clear()


def test_a_kind_is_about_hardware_takes_modes_and_needs_an_expectation_by_default(claims):
    kind = Kind("made_up", "nothing", obtain=lambda claim, context: None)
    assert (kind.scopes, kind.modes, kind.inferred, kind.foreign) == (("hardware",), True, False, False)
    assert kind.expects("anything") and kind.check(None) is None


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("fidelity: gold", "fidelity: want roofline or silicon, found 'gold'"),
        ("launch: graph", "add 'fidelity: silicon'"),
        ("fidelity: silicon, launch: rocket", "launch: want one of "),
        ("storage: int9", "storage: unknown precision 'int9'"),
        ("refuted: 1", "refuted: want true or false, found '1'"),
    ],
)
def test_shared_options_are_checked(claims, option, says):
    line = f"latency: acme/k1 < nvidia/t4, compute: int8, workload: {{gemm: [8, 8, 8]}}, {option}"
    with pytest.raises(InputError, match=says):
        claims(line)


def test_each_launch_mode_is_accepted_with_silicon(claims):
    for mode in ("stream", "graph", "free", "framework"):
        assert claims(f"bound: nvidia/t4, is: launch, compute: fp16, fidelity: silicon, launch: {mode}, {GEMM}")


# ---- claims


@pytest.mark.parametrize(
    ("text", "id"),
    [
        ("tensor_core int8", "tensor_core-int8"),
        ("tensor_core int8 / lpddr5", "tensor_core-int8-per-lpddr5"),
        ("tensor_core int8 + dla int8", "tensor_core-int8-and-dla-int8"),
        ("base <= tensor_core <= boost", "base-le-tensor_core-le-boost"),
        ("a>=b", "a-ge-b"),
        ("nvidia/t4 < nvidia/l4", "nvidia/t4-lt-nvidia/l4"),
        ("nvidia/t4@a < nvidia/t4@b < nvidia/l4", "nvidia/t4-a-lt-t4-b-lt-l4"),
        ("nvidia/t4@a <= nvidia/t4@b <= nvidia/t4@c", "nvidia/t4-a-le-b-le-c"),
        ("7nm add int8 <= 7nm add int16 <= 7nm add fp32", "7nm-add-int8-le-int16-le-fp32"),
        ("nvidia/t4 < acme/x1 < nvidia/l4", "nvidia/t4-lt-acme/x1-lt-nvidia/l4"),
        ("nvidia/x@30w", "nvidia/x-30w"),
        ("  spaces  ", "spaces"),
    ],
)
def test_signs_become_words(text, id):
    assert slug(text) == id


@given(st.text())
def test_only_characters_that_a_shell_leaves_alone_remain(text):
    assert re.fullmatch(r"[A-Za-z0-9._/-]*", slug(text))


@given(st.text())
def test_a_slug_of_a_slug_is_itself(text):
    assert slug(slug(text)) == slug(text)


def test_a_source_reads_as_a_citation():
    assert str(ClaimSource("ds", "Data sheet", "quoted", "p. 7")) == "Data sheet, p. 7 (quoted)"
    assert str(ClaimSource(None, "Data sheet", "read")) == "Data sheet (read)"


def test_an_operating_point_is_one_for_all_devices_or_one_a_device():
    common = Claim("latency", "a < b", "id", Path("x.yaml"), 1, None, at="30w")
    own = Claim("latency", "a < b", "id", Path("x.yaml"), 1, None, at={"a": "30w"})
    assert (common.mode_of("a"), common.mode_of("b")) == ("30w", "30w")
    assert (own.mode_of("a"), own.mode_of("b")) == ("30w", None)


@pytest.mark.parametrize(
    ("kind", "subject", "about"),
    [
        ("energy_per", "45nm add int8", ["45nm"]),
        ("energies", "45nm add int8 <= 7nm add int8 + hbm2 io / 7nm mac fp16", ["45nm", "7nm", "hbm2"]),
        ("idle_share", "gpu context", ["gpu"]),
        ("launch_overhead", "gpu nvidia stream", ["gpu"]),
        ("monotone", "peak mode", ["every device"]),
        ("tops_per_w", "arithmetic", ["every device"]),
        ("price", "nvidia/t4 purchase", ["nvidia/t4"]),
        ("peak_per_w", "nvidia/t4 / nvidia/l4", ["nvidia/t4", "nvidia/l4"]),
        ("latency", "nvidia/t4@70w < amd/mi250x", ["nvidia/t4", "amd/mi250x"]),
        ("parameters", "total", []),
    ],
)
def test_a_claim_without_a_device_says_what_it_is_about(kind, subject, about):
    claim = Claim(kind, subject, "id", Path("x.yaml"), 3, ClaimSource(None, "A data sheet", "read", "p. 1"), None)
    assert [*kinds.kind(kind).about(claim)] == about
