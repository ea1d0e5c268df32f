"""Terms: what is said of an energy is said of its terms, and they add up to it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.coefficient import Coefficient, of_fact
from rooflint.coefficients import Coefficients
from rooflint.specs import Registry
from rooflint.terms import GROUPS, Energy, Term


def near(value):
    """Energies of single events are far below the absolute tolerance that approx has by default."""
    return pytest.approx(value, rel=1e-9, abs=0)


(QUOTED,) = Coefficients(Registry()).memory("hbm2").energy("device").best.facts
(ESTIMATE,) = Coefficients(Registry()).process("7nm").energy("op", "fp32").best.facts


def term(name, group, counts, *ends, facts=()):
    low, typical, high = ends if len(ends) == 3 else ends * 3
    return Term(name, group, np.array(counts, dtype=np.float64), "op", Coefficient(low, typical, high, name, facts))


ENERGY = Energy(
    (
        term("arithmetic", "compute", [10, 20], 1, 2, 3, facts=(QUOTED,)),
        term("datapath", "compute", [10, 20], 0, 1, 2, facts=(ESTIMATE, QUOTED)),
        term("idle power", "static", [5, 0], 4),
    )
)


@st.composite
def energies(draw):
    ops = draw(st.integers(1, 5))
    counts = st.lists(st.floats(0, 1e15), min_size=ops, max_size=ops)
    ends = st.lists(st.floats(1e-15, 1e3), min_size=3, max_size=3).map(sorted)
    group = st.sampled_from(GROUPS)
    chosen = draw(st.lists(st.tuples(group, counts, ends), min_size=1, max_size=6))
    return Energy(tuple(term(str(place), *one[:2], *one[2]) for place, one in enumerate(chosen)))


def test_a_term_is_its_count_times_what_one_costs():
    (arithmetic, _, _) = ENERGY.terms
    assert arithmetic.energy_j.tolist() == [20, 40]
    assert arithmetic.total_j == 60


def test_terms_add_up_per_op_per_group_and_in_all():
    # first op: 10 × 2 + 10 × 1 + 5 × 4 = 50; second: 20 × 2 + 20 × 1 = 60
    assert ENERGY.energy_j.tolist() == [50, 60]
    assert ENERGY.total_j == 110
    assert ENERGY.groups() == {"compute": 90, "static": 20}
    assert ENERGY.of_group("control") == 0


def test_its_ends_are_all_terms_at_one_end():
    # 30 × 1 + 30 × 0 + 20 and 30 × 3 + 30 × 2 + 20
    assert ENERGY.ends_j == (50, 170)


def test_it_rests_on_each_fact_once_and_is_as_good_as_the_weakest():
    assert ENERGY.facts == (QUOTED, ESTIMATE)
    assert ENERGY.grade == "estimate"
    assert Energy((Term("one", "memory", np.ones(1), "B", of_fact(QUOTED, "one")),)).grade == "quoted"


@given(energies())
def test_parts_sum_to_the_whole_however_one_adds(energy):
    slow = sum(count * one.each.typical for one in energy.terms for count in one.counts.tolist())
    assert energy.total_j == near(slow)
    assert energy.energy_j.sum() == near(slow)
    assert sum(energy.groups().values()) == near(slow)
    assert sum(map(energy.of_group, GROUPS)) == near(slow)


@given(energies())
def test_the_whole_lies_between_its_ends(energy):
    low, high = energy.ends_j
    assert 0 <= low <= energy.total_j * (1 + 1e-12)
    assert energy.total_j <= high * (1 + 1e-12)
