"""Which op of a workload a figure means."""

import pytest

from pytest_rooflint.laid_out import FIGURES, WhichOpError, op_of
from rooflint.mapping import allocate
from rooflint.specs import Registry
from rooflint.workload import mlp

H100 = Registry().get("nvidia/h100-sxm5-80gb")
#: 8 → 128 → 8: two tiles of 64 outputs, then one.
UNEQUAL = allocate(H100, mlp([8, 128, 8]), compute="fp16")
EQUAL = allocate(H100, mlp([128, 128, 128]), compute="fp16")


def test_any_op_stands_for_ops_that_are_alike():
    assert op_of(EQUAL, EQUAL.units) == 0


def test_a_named_op_is_found():
    assert op_of(UNEQUAL, UNEQUAL.units, "fc2") == 1


def test_ops_that_differ_are_both_shown():
    with pytest.raises(WhichOpError, match=r"fc1 2/132 SM, fc2 1/132 SM; say 'op:'"):
        op_of(UNEQUAL, UNEQUAL.units)


def test_a_name_that_no_op_has_is_said_with_those_that_are():
    with pytest.raises(WhichOpError, match=r"has no op 'fc3' \(has: fc1, fc2"):
        op_of(UNEQUAL, UNEQUAL.units, "fc3")


def test_every_figure_has_one_value_an_op():
    assert {name: len(figure(UNEQUAL)) for name, figure in FIGURES.items()} == dict.fromkeys(FIGURES, 2)
