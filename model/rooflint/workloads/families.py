"""Families: tables of one network for any batch and any tokens, from one run of its formulas.

Each count of a row is a sum of products of amounts, such as the batch and its new tokens, with whole coefficients. A
run of the formulas on powers of a large number in place of the amounts has the coefficients as its digits (Kronecker's
substitution). So formulas stand once, for numbers, and a table of other amounts is a product of two arrays.

    batch, new = symbols(2)
    polynomials(rows, roles, 2)          # of rows that were counted with these for amounts
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from operator import mul
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rooflint.workloads.flow import Flow, Role, RoleColumns, Roles
from rooflint.workloads.layers import Layers
from rooflint.workloads.ops import QUANTITIES, Op
from rooflint.workloads.workload import LARGEST, Workload, read_only

DIGIT_BYTES = 8
"""Of a coefficient."""

FEW = 4
"""Rows of which numbers are multiplied faster one by one than as columns."""


def symbols(count: int) -> list[int]:
    """Numbers whose products, each of them once at the most, are all different powers of 2^64."""
    return [1 << (8 * DIGIT_BYTES << place) for place in range(count)]


class Polynomials(NamedTuple):
    """Counts as sums of products of amounts."""

    terms: tuple[tuple[int, ...], ...]
    """Of each product, the places of its amounts."""
    coefficients: NDArray[np.int64]
    """Shape (terms, columns, rows)"""


def polynomials(ops: Sequence[Op], roles: Sequence[Role], amounts: int) -> Polynomials:
    """Of rows that were counted on so many `symbols`: their quantities, and then those of their roles."""
    counts = _counts_of(ops, roles)
    bytes_each = DIGIT_BYTES << amounts
    digits = np.frombuffer(b"".join(one.to_bytes(bytes_each, "little") for row in counts for one in row), "<i8")
    digits = digits.reshape(len(counts), len(ops), -1)
    used = np.flatnonzero(digits.any(axis=(0, 1)))
    terms = tuple(tuple(place for place in range(amounts) if power >> place & 1) for power in used.tolist())
    return Polynomials(terms, np.ascontiguousarray(np.moveaxis(digits[:, :, used], 2, 0)))


def _counts_of(ops: Sequence[Op], roles: Sequence[Role]) -> list[list[int]]:
    counts = [[getattr(op, name) for op in ops] for name in QUANTITIES]
    of_roles = [(*one.weights[1:], one.cache_in, one.cache_out) for one in roles]
    return [*counts, *(list(column) for column in zip(*of_roles, strict=True))]


def behind(found: Polynomials, one: Layers, two: Layers) -> Polynomials:
    """The same with rows in front that depend on the first amount alone, of which these are for one sample and for two.

    What each sample adds is the difference of both, as no count of them is more than a number and a number for each.
    """
    first, second = (np.array(_counts_of(layers.ops, layers.roles), dtype=np.int64) for layers in (one, two))
    terms = ((), (0,), *(term for term in found.terms if term not in ((), (0,))))
    coefficients = np.zeros((len(terms), first.shape[0], first.shape[1] + found.coefficients.shape[2]), dtype=np.int64)
    coefficients[0, :, : first.shape[1]], coefficients[1, :, : first.shape[1]] = 2 * first - second, second - first
    for term, own in zip(found.terms, found.coefficients, strict=True):
        coefficients[terms.index(term), :, first.shape[1] :] = own
    return Polynomials(terms, coefficients)


@dataclass(frozen=True, eq=False)
class Family:
    """All tables with the rows of one of them."""

    member: Workload
    """One of them, whose names and data flow all have."""
    found: Polynomials
    places: tuple[int, ...]
    """Of each row, which of the amounts that a table is asked for with are its own."""

    @cached_property
    def _largest(self) -> list[int]:
        """Coefficient of each term in any row."""
        return [int(one.max()) for one in self.found.coefficients]

    @cached_property
    def _flat(self) -> NDArray[np.int64]:
        return self.found.coefficients.reshape(len(self.found.terms), -1)

    @cached_property
    def _names(self) -> list[tuple[str, str]]:
        """Of each row: what stands before and after the `@` of a step."""
        return [(name, step) for name, _, step in (one.partition("@") for one in self.member.op_names.tolist())]

    def table(
        self, batch: int, past: Sequence[int], amounts: Sequence[tuple[int, ...]], given: int, cache: int, **more: Any
    ) -> Workload | None:
        """The one with those amounts in each place; None where counts may become too large for a table.

        The first amounts are the largest, and those of all rows with no place of their own. `past` is that of each
        step, `given` are the elements of its input, `cache` those of its cache.
        """
        counts = self._counts(amounts)
        if counts is None:
            return None
        flow = self.member.flow
        assert flow is not None and flow.roles is not None
        roles = Roles(RoleColumns(flow.roles.columns.part, *counts[len(QUANTITIES) :]), flow.roles.constant)
        flow = Flow(flow.reads, flow.returns, given, flow.elements_constant, cache, roles)
        if len(past) > 1:
            names = [f"{name}@{past[int(step)]}" if step else name for name, step in self._names]
            more["op_names"] = read_only(np.array(names, dtype=np.str_))
        return self.member.unchecked(batch=batch, flow=flow, **dict(zip(QUANTITIES, counts, strict=False)), **more)

    def _counts(self, amounts: Sequence[tuple[int, ...]]) -> NDArray[np.int64] | None:
        """Shape (columns, rows)"""
        first, *others = amounts
        found = self._terms(first)
        if sum(map(mul, found, self._largest)) > LARGEST:
            return None
        counts = (np.array(found) @ self._flat).reshape(self.found.coefficients.shape[1:])
        if others:  # rows that see other keys than those of the first place
            rows, coefficients = self._elsewhere
            at = [others[place - 1] for place in self.places if place]
            if len(at) <= FEW:
                terms = np.array([*map(self._terms, at)]).T
            else:
                terms = np.stack(np.broadcast_arrays(*self._terms(np.array(at).T)))
            counts[:, rows] = np.einsum("tr,tcr->cr", terms, coefficients)
        return read_only(counts)

    def _terms(self, amounts: Any) -> list[Any]:
        """Products of amounts, each a number or a column."""
        return [prod([amounts[place] for place in term]) for term in self.found.terms]

    @cached_property
    def _elsewhere(self) -> tuple[list[int], NDArray[np.int64]]:
        """Rows whose amounts are not those of the first place, and their coefficients."""
        rows = [row for row, place in enumerate(self.places) if place]
        return rows, np.ascontiguousarray(self.found.coefficients[:, :, rows])
