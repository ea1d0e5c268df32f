"""Strict JSON: every number finite and of a size that Python reads, and every refusal with file and line."""

import json
import math
import re
from pathlib import Path
from typing import Any

from rooflint.base.errors import InputError, refuse

MAX_DIGITS = 4300
"""Of an integer: Python's own limit, beyond which the time to read one grows with the square of its length."""

#: Strings, and in a group of its own whatever stands outside of them and is taken for a number.
_NUMBERS = re.compile(r'"(?:[^"\\]|\\.)*"|(-?(?:NaN|Infinity|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?))')


def parse(text: str, file: Path, *, finite: bool = True) -> Any:
    """Plain data of a text that came from `file`; NaN and infinities only where `finite` is false.

    Raises InputError for what is not JSON, for nesting that is too deep and for a number out of range.
    """
    try:
        return json.loads(text, parse_float=_finite if finite else float, parse_constant=_finite if finite else float)
    except json.JSONDecodeError as error:
        raise refuse(file, error.lineno, f"is not JSON: {error.msg}") from None
    except RecursionError:
        raise refuse(file, 1, "is nested too deeply") from None
    except ValueError:
        raise _out_of_range(text, file) from None


def _finite(literal: str) -> float:
    value = float(literal)
    if not math.isfinite(value):
        raise ValueError(literal)
    return value


def _out_of_range(text: str, file: Path) -> InputError:
    """The error for the first number that is not finite, or that has too many digits."""
    for found in _NUMBERS.finditer(text):
        literal = found[1]
        if literal and (len(literal) > MAX_DIGITS or not math.isfinite(float(literal))):
            what = literal if len(literal) < 30 else f"one of {len(literal)} characters"
            return refuse(file, text.count("\n", 0, found.start()) + 1, f"want finite numbers, found {what}")
    return refuse(file, 1, "want finite numbers")
