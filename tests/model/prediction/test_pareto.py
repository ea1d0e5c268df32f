"""The Pareto set is what its definition says, for few points and for many, with ties and with unknown figures."""

import numpy as np
import pytest

from rooflint.prediction import pareto
from rooflint.prediction.pareto import non_dominated


def dominates(one, other):
    return (one <= other).all() and (one < other).any()


def by_definition(values):
    known = [row for row in values if not np.isnan(row).any()]
    return [not np.isnan(row).any() and not any(dominates(other, row) for other in known) for row in values]


def test_a_point_stays_unless_another_is_nowhere_worse_and_somewhere_better():
    # (2, 2) is beaten by (1, 2), which is as good in the second quantity; (3, 1) is best there
    values = np.array([[2.0, 2.0], [1.0, 2.0], [3.0, 1.0], [3.0, 3.0]])
    assert non_dominated(values).tolist() == [False, True, True, False]


def test_equal_points_stay_together():
    values = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, 2.0, 4.0]])
    assert non_dominated(values).tolist() == [True, True, False]


def test_what_is_not_known_is_neither_in_the_set_nor_beats_anything():
    values = np.array([[0.0, np.nan], [1.0, 1.0], [np.nan, np.nan]])
    assert non_dominated(values).tolist() == [False, True, False]
    assert non_dominated(values[[0, 2]]).tolist() == [False, False]
    assert non_dominated(np.empty((0, 3))).tolist() == []


def test_of_one_quantity_the_least_are_the_set():
    assert non_dominated(np.array([[3.0], [1.0], [2.0], [1.0]])).tolist() == [False, True, False, True]


@pytest.mark.slow
@pytest.mark.parametrize("few", [1, 4, pareto.FEW])
@pytest.mark.parametrize("quantities", [1, 2, 3, 4, 5])
def test_points_by_lot_are_sorted_as_the_definition_sorts_them(quantities, few, monkeypatch):
    # `few` decides how soon halves are compared pair by pair; few distinct values make many ties
    monkeypatch.setattr(pareto, "FEW", few)
    draw = np.random.default_rng(quantities)
    for _ in range(60):
        values = draw.integers(0, draw.integers(1, 12), size=(draw.integers(0, 40), quantities)).astype(float)
        values[draw.random(values.shape) < 0.02] = np.nan
        assert non_dominated(values).tolist() == by_definition(values)


@pytest.mark.parametrize("quantities", [2, 3, 4])
def test_points_that_trade_one_quantity_for_another_all_stay(quantities):
    # the quantities of each point add up to 1, so that none beats another; and each doubled loses to itself
    values = np.random.default_rng(0).dirichlet(np.ones(quantities), 2000)
    assert non_dominated(values).all()
    assert non_dominated(np.concatenate([2 * values, values])).tolist() == [False] * 2000 + [True] * 2000
