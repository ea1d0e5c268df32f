"""Memoised methods: once for each object and its arguments."""

from dataclasses import dataclass, field, replace

import pytest

from rooflint.base.memo import known, memoised


@dataclass(frozen=True)
class Doubles:
    factor: int
    calls: list[int] = field(default_factory=list, compare=False)

    @memoised
    def of(self, number):
        """So many times a number."""
        self.calls.append(number)
        return self.factor * number

    @memoised
    def broken(self):
        self.calls.append(0)
        raise ValueError


def test_a_result_is_worked_out_once_for_the_same_arguments():
    two = Doubles(2)
    assert [two.of(3), two.of(3), two.of(4)] == [6, 6, 8]
    assert two.calls == [3, 4]


def test_another_object_and_a_copy_start_anew():
    two = Doubles(2)
    assert (two.of(3), Doubles(3).of(3), replace(two, factor=5).of(3)) == (6, 9, 15)


def test_results_do_not_make_objects_differ():
    two = Doubles(2)
    two.of(3)
    assert two == Doubles(2)
    assert known(two, "of") == {(3,): 6}


def test_an_error_is_not_kept():
    two = Doubles(2)
    for _ in range(2):
        with pytest.raises(ValueError):
            two.broken()
    assert two.calls == [0, 0]


def test_a_memoised_method_keeps_its_name_and_docstring():
    assert (Doubles.of.__name__, Doubles.of.__doc__) == ("of", "So many times a number.")
