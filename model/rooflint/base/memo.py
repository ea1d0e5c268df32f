"""Results of methods and functions, worked out once for each object and its arguments."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

S = TypeVar("S")
P = ParamSpec("P")
R = TypeVar("R")

_MISSING = object()


def known(owner: object, method: str) -> dict[tuple[Any, ...], Any]:
    """Results of a memoised method by its arguments; a copy of an object starts with none."""
    found: dict[tuple[Any, ...], Any] = vars(owner).setdefault(_place(method), {})
    return found


def _place(method: str) -> str:
    return f"_known_{method}"


def memoised(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """A method of a frozen dataclass that keeps its results; arguments are hashable."""
    name = method.__name__
    place = _place(name)

    @wraps(method)
    def once(self: S, /, *arguments: P.args, **named: P.kwargs) -> R:
        results = vars(self).get(place)
        if results is None:
            results = known(self, name)
        key = (*arguments, *named.items()) if named else arguments
        result = results.get(key, _MISSING)
        if result is _MISSING:
            result = results[key] = method(self, *arguments, **named)
        return cast(R, result)

    return once


def kept(last: int) -> Callable[[Callable[Concatenate[S, P], R]], Callable[Concatenate[S, P], R]]:
    """A function of an object that keeps its last results for it, those that were asked for last; for large results."""

    def decorated(function: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
        @wraps(function)
        def once(owner: S, /, *arguments: P.args, **named: P.kwargs) -> R:
            results = known(owner, function.__qualname__)
            key = (*arguments, *named.items())
            result = results.pop(key, _MISSING)
            if result is _MISSING:
                result = function(owner, *arguments, **named)
                while len(results) >= last:
                    results.pop(next(iter(results)))
            results[key] = result
            return cast(R, result)

        return once

    return decorated
