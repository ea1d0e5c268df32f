"""Constant expressions of Python source, worked out by hand."""

import ast

import pytest

from pytest_rooflint.audit.arithmetic import Arithmetic, Number


def worked_out(text, **known):
    """The number of an expression, where some names are known constants."""
    constants = {name: Number(value, 0, str(value)) for name, value in known.items()}
    return Arithmetic([text.encode()], constants).number(ast.parse(text, mode="eval").body)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("312e12", "312e12"),  # a literal keeps the digits that it was written with
        ("989.40", "989.40"),
        ("16_896", "16896"),
        ("2 * 181e12", "3.62e+14"),
        ("312e12 * 0.5", "1.56e+14"),
        ("1.979e15 / 2", "9.895e+14"),
        ("67e12 * 2", "1.34e+14"),  # 134, not 130: two exact factors lose no digit
        ("80 * 2**30", "8.59e+10"),
        ("80 << 30", "8.59e+10"),
        ("(100 + 8) * 4", "432"),
        ("int(1671e12 * 0.5)", "8.355e+14"),
        ("float('989e12')", "989e12"),
        ("312 * TERA", "3.12e+14"),
        ("989 * TFLOPS", "989 TFLOPS"),
        ("80 * units.GB", "80 GB"),
        ("0x10", "16"),
    ],
)
def test_a_constant_expression_is_worked_out(text, written):
    assert worked_out(text, TERA=1e12).written == written


@pytest.mark.parametrize(
    "text",
    [
        "312e12 * n_gpus",
        "True",
        "'989'",
        "peak()",
        "int(peak)",
        "1e999",
        "1 / 0",
        "10 ** 10 ** 10",
        "9" * 400,
        "2 ** 100000",
        "(-8) ** 0.5",
        "TFLOPS / GB",
        "flops",
        "cfg.tflops",
        "len([1])",
    ],
)
def test_what_only_a_run_could_tell_or_no_float_holds_is_no_number(text):
    assert worked_out(text) is None


def test_a_number_over_several_lines_is_written_in_one():
    source = "(312e12\n  * 0.5)"
    node = ast.parse(source, mode="eval").body
    assert Arithmetic(source.encode().splitlines()).segment(node) == "312e12 * 0.5"
