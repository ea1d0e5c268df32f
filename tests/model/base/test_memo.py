"""Memoised methods: once for each object and its arguments."""

from dataclasses import dataclass, field, replace

import pytest

from rooflint.base.memo import kept, known, memoised


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


def test_a_kept_function_forgets_the_result_that_was_asked_for_longest_ago():
    calls = []

    @kept(2)
    def times(owner, factor):
        calls.append(factor)
        return owner.factor * factor

    three = Doubles(3)
    assert [times(three, 1), times(three, 2), times(three, 1), times(three, 4)] == [3, 6, 3, 12]
    assert calls == [1, 2, 4]
    assert (times(three, 1), times(three, 2)) == (3, 6)  # 2 was asked for before 1
    assert calls == [1, 2, 4, 2]


def test_a_kept_function_keeps_results_of_each_object():
    @kept(1)
    def times(owner, factor=1, *, plus=0):
        return owner.factor * factor + plus

    assert (times(Doubles(3), 2), times(Doubles(5), 2), times(Doubles(5), 2, plus=1)) == (6, 10, 11)
