"""Results of methods, worked out once for each object and its arguments."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

S = TypeVar("S")
P = ParamSpec("P")
R = TypeVar("R")

_MISSING = object()


def known(owner: object, method: str) -> dict[tuple[Any, ...], Any]:
    """Results of a memoised method by its arguments; a copy of an object starts with none."""
    found: dict[tuple[Any, ...], Any] = vars(owner).setdefault(f"_known_{method}", {})
    return found


def memoised(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """A method of a frozen dataclass that keeps its results; arguments are hashable."""

    @wraps(method)
    def once(self: S, /, *arguments: P.args, **named: P.kwargs) -> R:
        results = known(self, method.__name__)
        key = (*arguments, *named.items())
        result = results.get(key, _MISSING)
        if result is _MISSING:
            result = results[key] = method(self, *arguments, **named)
        return cast(R, result)

    return once
