"""What every kernel model is asked and answers: some of the ops, their launches, and two things beside each other."""

import numpy as np
import pytest

from rooflint.hardware.registry import Registry
from rooflint.kernels.constants import constants_file
from rooflint.kernels.kernel import Times, Work, beside, peak_ops_per_s
from rooflint.kernels.shapes import COLD
from rooflint.kernels.stream import Elements, Other, Stream

from .conftest import CHIPS

CONSTANTS = constants_file(Registry()).constants
H100 = CHIPS["nvidia/h100-sxm5-80gb"]
TIMES = Times(np.array([1.0, 2.0]), np.array([3.0, 1.0]), np.array([3.5, 2.5]), np.array([[0.5, 0.5], [0.25, 0.0]]))
"""Two ops; the first is two kernels, the second one."""


def test_work_is_warm_only_where_all_of_it_was_touched_just_before():
    assert not Work(None, 2.0).warm
    assert Work(None, 2.0, copies=6.0).warm
    assert Work(None, 2.0, copies=np.array([1.0, 6.0])).warm
    assert not Work(None, 2.0, copies=np.array([1.0, COLD])).warm


def test_some_of_the_ops_keep_all_that_is_known_of_them():
    sizes = Elements(np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]))
    some = Work(sizes, 2.0, np.array([1.0, 6.0, COLD]), np.array([10.0, 20.0, 30.0]), 1.0, np.array([7.0, 8.0, 9.0]))
    for rows in (np.array([2, 0]), np.array([True, False, True])):
        found, order = some.part(rows), sorted([0, 2], reverse=rows.dtype != bool)
        assert isinstance(found.sizes, Elements)
        assert [column.tolist() for column in found.sizes] == [sizes.m[order].tolist(), sizes.n[order].tolist()]
        assert found.copies.tolist() == some.copies[order].tolist()
        assert found.bytes_moved.tolist() == some.bytes_moved[order].tolist()
        assert found.ops.tolist() == some.ops[order].tolist()
        assert (found.element_bytes, found.stored_bytes) == (2.0, 1.0)


def test_what_is_not_known_of_the_ops_is_not_known_of_some_of_them():
    found = Work(None, 2.0, 6.0).part(np.array([0]))
    assert (found.sizes, found.copies, found.bytes_moved, found.ops) == (None, 6.0, None, None)


def test_an_op_in_a_graph_takes_its_work_and_all_its_launches():
    assert TIMES.launch_s().tolist() == [0.75, 0.5]
    assert TIMES.seconds.tolist() == [4.25, 3.0]


def test_a_longer_gap_takes_the_place_of_each_launch_that_there_is():
    assert TIMES.launch_s(0.4).tolist() == [0.5 + 0.4, 0.5]
    assert TIMES.launch_s(1.0).tolist() == [2.0, 1.0]


def test_launches_that_are_free_take_nothing():
    assert TIMES.launch_s(None).tolist() == [0.0, 0.0]


def test_of_two_beside_each_other_the_shorter_one_counts_for_what_it_adds():
    # 3 beside 4 take √(9 + 16) = 5: the 4 is whole, and the 3 adds 1, of which a third part is a third
    one, other = {"a": np.array([1.0]), "b": np.array([2.0])}, {"c": np.array([4.0])}
    found = beside(one, other, np.array([5.0]))
    assert {name: seconds.item() for name, seconds in found.items()} == pytest.approx({"a": 1 / 3, "b": 2 / 3, "c": 4})
    assert beside(other, one, np.array([5.0]))["c"].item() == 4


def test_of_two_that_are_as_long_the_first_is_whole():
    found = beside({"a": np.array([2.0, 0.0])}, {"b": np.array([2.0, 0.0])}, np.array([3.0, 0.0]))
    assert {name: seconds.tolist() for name, seconds in found.items()} == {"a": [2.0, 0.0], "b": [1.0, 0.0]}


def test_a_kernel_is_asked_by_position_or_by_name_in_the_precision_that_it_computes_in():
    kernel = Stream("fp8")
    work = kernel.work(3, n=[4, 5])
    assert [column.tolist() for column in work.sizes] == [[3.0, 3.0], [4.0, 5.0]]
    assert (work.element_bytes, work.copies) == (1.0, COLD)
    assert kernel.at("bf16") == Stream("bf16")
    assert kernel.at("fp32").work(3, 4).element_bytes == 4.0


def test_a_kernel_that_says_nothing_of_it_has_no_topic_and_no_caveat():
    assert (Stream().topic, Stream().caveats, Stream.measured_on) == (None, (), ())


def test_what_is_predicted_is_the_time_in_a_graph():
    kernel = Stream()
    work = kernel.work(512, [512, 1024])
    found = kernel.time(work, H100, CONSTANTS)
    assert kernel.predict(work, H100, CONSTANTS).tolist() == found.seconds.tolist()
    assert (found.seconds > found.together_s).all()


def test_no_op_is_done_faster_than_at_the_peak():
    # 132 SMs · 2048 MAC · 2 op · 1.83 GHz
    assert peak_ops_per_s(H100) == pytest.approx(2 * 132 * 2048 * 1.83e9)
    kernel = Other()
    known = Work(None, 2.0, bytes_moved=np.array([0.0]), ops=np.array([1e12]))
    assert kernel.least_s(known, H100) == pytest.approx(1e12 / (2 * 132 * 2048 * 1.83e9))
    assert kernel.least_s(Work(None, 2.0), H100).tolist() == [0.0]
