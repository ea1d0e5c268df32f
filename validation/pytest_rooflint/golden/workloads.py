"""Workloads that golden files name: committed networks by id, and gemm / conv2d / mlp by parameters."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pytest_rooflint.golden.kinds import ClaimError
from rooflint.base.errors import RooflintError
from rooflint.hardware.registry import PACKAGED
from rooflint.workloads import load, tables
from rooflint.workloads.builders import conv2d, gemm, mlp
from rooflint.workloads.networks import find_network, network_named
from rooflint.workloads.workload import Workload, WorkloadError

LONGEST = 200

_PARAMETERS = {
    "network": "{network: torchvision/resnet50, batch: 8} or {network: llama-3.1-8b, prompt: 1, past: 2048}",
    "mlp": "{mlp: [widths], batch: 16, bias: true}",
    "gemm": "{gemm: [m, n, k], batch: 1}",
    "conv2d": "{conv2d: {c_in: 64, h: 56, w: 56, c_out: 64, kernel: 3}, batch: 1}",
}


def build(text: Any, roots: tuple[Path, ...] = ()) -> Workload:
    """Build `torchvision/resnet18`, `{network: torchvision/resnet18, batch: 8}`, `{mlp: [1024, 1024], batch: 16}`, …

    Raises ClaimError for anything else, and for invalid parameters.
    """
    if text is None:
        raise ClaimError("no workload given; add 'workload:' to the claim or to the file")
    return _build(json.dumps(text, sort_keys=True), roots)


def forget() -> None:
    """Read the tables of networks again when they are named next."""
    _build.cache_clear()


@cache
def _build(text: str, roots: tuple[Path, ...]) -> Workload:
    given = json.loads(text)
    try:
        return _network(given, roots) if isinstance(given, str) else _parametric(given, roots)
    except (WorkloadError, TypeError) as error:
        raise ClaimError(f"workload: {error}") from error


def _network(name: str, roots: tuple[Path, ...]) -> Workload:
    if len(name) > LONGEST:
        raise ClaimError(f"workload: want a name of at most {LONGEST} characters")
    if configured := find_network(name, (*roots, PACKAGED)):
        return configured.workload()
    if name.endswith((".onnx", ".json")):
        try:
            return load.network(name)
        except RooflintError as error:
            raise ClaimError(f"workload: {error}") from error
    for root in roots:
        if (root / "workloads" / f"{name}.yaml").is_file():
            return tables.load_workload(name, root / "workloads")
    return tables.load_workload(name)


def _parametric(given: Any, roots: tuple[Path, ...]) -> Workload:
    if not isinstance(given, Mapping):
        raise ClaimError(f"workload: want a name or a mapping such as {{mlp: [1024, 1024], batch: 16}}, found {given}")
    rest = dict(given)
    batch = rest.pop("batch", 1)
    match rest:
        case {"network": str(name), **more} if not more:
            return _network(name, roots).at_batch(batch)
        case {"network": str(name), **more} if set(more) <= {"prompt", "past"}:
            return network_named(name, (*roots, PACKAGED)).workload(batch, more.get("prompt"), more.get("past", 0))
        case {"mlp": [*widths], **more} if set(more) <= {"bias"}:
            return mlp(widths, batch=batch, **more)
        case {"gemm": [m, n, k], **more} if not more:
            return gemm(m, n, k, batch=batch)
        case {"conv2d": dict(shape), **more} if not more:
            return conv2d(**{"n": batch, **shape})
    for name, parameters in _PARAMETERS.items():
        if name in rest:
            found = ", ".join(rest) if len(rest) > 1 else f"{name}: {rest[name]}"
            raise ClaimError(f"workload: want {parameters}, found {found}")
    raise ClaimError(
        f"workload: want network, mlp, gemm or conv2d with their parameters, found {', '.join(rest) or 'none'}"
    )
