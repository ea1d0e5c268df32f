"""Factors of the estimate: facts of `specs/process` and `specs/circuits.yaml`, by the names that people type."""

import difflib
from dataclasses import dataclass
from functools import cached_property

from rooflint.coefficients import Coefficients
from rooflint.energy_checks import size_of
from rooflint.errors import RooflintError
from rooflint.facts import Fact
from rooflint.hardware import Facts
from rooflint.precision import PRECISIONS


class UnknownFactorError(RooflintError):
    """A node, a circuit or a precision that the estimate has no factor for; the message names the nearest."""


@dataclass(frozen=True)
class Factors:
    """What an estimate is multiplied of. Names are read in any case."""

    coefficients: Coefficients

    @cached_property
    def bases(self) -> dict[str, Fact]:
        """Energy of an FP32 op by node, smallest first. [J/op]"""
        processes = [self.coefficients.process(node) for node in self.coefficients.ids("process")]
        having = [process for process in processes if "op fp32" in process.energies()]
        having.sort(key=lambda process: _metres(process.id) or 0.0)
        return {process.id: process.energy("op", "fp32").best.low for process in having}

    @cached_property
    def circuits(self) -> dict[str, Fact]:
        """Factor by circuit, highest first. [1]"""
        found = _below("factors.", self._facts)
        return dict(sorted(found.items(), key=lambda one: -one[1].value))

    @cached_property
    def precisions(self) -> dict[str, Fact]:
        """Factor by precision, widest first. [1]"""
        found = _below("precisions.", self._facts)
        return {name: found[name] for name in PRECISIONS if name in found}

    @property
    def overhead(self) -> Fact:
        """Factor for the datapath around a unit. [1]"""
        return self._facts["overhead"]

    @property
    def _facts(self) -> Facts:
        return self.coefficients.circuits().facts

    def node(self, text: str) -> str:
        """`4nm` of `4 nm` or `4NM`. Raises UnknownFactorError with the nearest nodes."""
        name, size = "".join(text.lower().split()), _metres(text)
        if name in self.bases:
            return name
        if size is None:
            raise UnknownFactorError(f"unknown process '{text}'; want one of {', '.join(self.bases)}")
        near = sorted(self.bases, key=lambda node: abs((_metres(node) or 0.0) - size))[:2]
        nearest = ", ".join(node for node in self.bases if node in near)
        raise UnknownFactorError(f"no energy of an op is known at process '{text}'; nearest: {nearest}")

    def circuit(self, text: str) -> str:
        """`tensor_core` of `Tensor-Core`. Raises UnknownFactorError with the nearest."""
        name = "_".join(text.lower().replace("-", " ").split())
        if name in self.circuits:
            return name
        near = difflib.get_close_matches(name, self.circuits, n=1, cutoff=0.5)
        meant = f"did you mean {near[0]}? " if near else ""
        raise UnknownFactorError(f"unknown circuit '{text}'; {meant}known: {', '.join(self.circuits)}")

    def precision(self, text: str) -> str:
        """`fp16` of `FP16`. Raises UnknownFactorError."""
        name = text.strip().lower()
        if name not in self.precisions:
            raise UnknownFactorError(
                f"no factor of precision '{text}' is known; want one of {', '.join(self.precisions)}"
            )
        return name


def _metres(text: str) -> float | None:
    """Size of a node in any spelling; None for what is none. [m]"""
    return size_of("".join(text.lower().split()))


def _below(prefix: str, facts: Facts) -> dict[str, Fact]:
    return {path.removeprefix(prefix): fact for path, fact in facts.items() if path.startswith(prefix)}
