"""Strict JSON: finite numbers of a size that Python reads, each key once, and every refusal with file and line."""

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rooflint.base.errors import InputError, refuse

MAX_DIGITS = 4300
"""Of an integer: Python's own limit, beyond which the time to read one grows with the square of its length."""

#: Strings, and in a group of its own whatever stands outside of them and is taken for a number.
_NUMBERS = re.compile(r'"(?:[^"\\]|\\.)*"|(-?(?:NaN|Infinity|\d[\d.eE+-]*))')
_SURROGATE = re.compile("[\ud800-\udfff]")


class _NumberError(ValueError):
    """A number that is not finite, or has too many digits."""


def parse(text: str, file: Path, *, finite: bool = True) -> Any:
    """Plain data of a text that came from `file`; NaN and infinities only where `finite` is false.

    Raises InputError for what is not JSON, for nesting that is too deep, for a number out of range, for a key that
    stands twice in an object and for half of a surrogate pair, which no file can hold.
    """
    take: Callable[[str], float] = _finite if finite else float
    try:
        found = json.loads(text, parse_float=take, parse_constant=take, parse_int=_integer, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise refuse(file, error.lineno, f"is not JSON: {error.msg}") from None
    except RecursionError:
        raise refuse(file, 1, "is nested too deeply") from None
    except _NumberError as error:
        raise _out_of_range(text, file, str(error)) from None
    except ValueError as error:
        raise refuse(file, 1, str(error)) from None
    if "\\u" in text and _SURROGATE.search(json.dumps(found, ensure_ascii=False)):
        raise refuse(file, 1, "want characters, found half of a surrogate pair such as \\ud800")
    return found


def _finite(literal: str) -> float:
    value = float(literal)
    if not math.isfinite(value):
        raise _NumberError(literal)
    return value


def _integer(literal: str) -> int:
    if len(literal) > MAX_DIGITS:
        raise _NumberError(literal)
    return int(literal)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"'{next(name for name in names if names.count(name) > 1)}' is written twice; keep one")
    return found


def _out_of_range(text: str, file: Path, literal: str) -> InputError:
    """The error for a number, at the first place where it stands outside of strings."""
    starts = (found.start() for found in _NUMBERS.finditer(text) if (found[1] or "").startswith(literal))
    what = literal if len(literal) < 30 else f"one of {len(literal)} characters"
    return refuse(file, text.count("\n", 0, next(starts, 0)) + 1, f"want finite numbers, found {what}")
