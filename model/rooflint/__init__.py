"""rooflint: performance models of hardware. Facts with sources in, derived peaks, latencies and energies out.

    import rooflint as rl

    rl.device("h100-sxm5").peak("bf16")
    rl.compare("resnet18", ["h100-sxm5", "t4"])

Names are imported when they are first used, so that `import rooflint` costs next to nothing; `docs/api.md` lists them.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "Columns": "rooflint.api.predictions",
    "Comparison": "rooflint.api.predictions",
    "Device": "rooflint.api.devices",
    "Exploration": "rooflint.api.exploration",
    "Generations": "rooflint.api.generation",
    "Prediction": "rooflint.api.predictions",
    "Quantity": "rooflint.api.devices",
    "RooflintError": "rooflint.base.errors",
    "TrainingStep": "rooflint.api.training",
    "Workers": "rooflint.base.shards",
    "compare": "rooflint.api.predictions",
    "device": "rooflint.api.devices",
    "devices": "rooflint.api.devices",
    "explore": "rooflint.api.exploration",
    "generate": "rooflint.api.generation",
    "kernel": "rooflint.api.kernels",
    "network": "rooflint.api.predictions",
    "networks": "rooflint.api.predictions",
    "predict": "rooflint.api.predictions",
    "train": "rooflint.api.training",
}
_HARNESS = ("audit", "check")
"""What the harness brings, by entry points of the group `rooflint.api`; the model imports nothing above it."""

__all__ = sorted([*_HOMES, *_HARNESS, "__version__"])  # noqa: PLE0605  # the stub beside it is what tools read


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        found = getattr(import_module(_HOMES[name]), name)
    elif name in _HARNESS:
        found = _from_harness(name)
    elif name == "__version__":
        found = _version()
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__


def _from_harness(name: str) -> Any:
    for entry in _metadata().entry_points(group="rooflint.api", name=name):
        return entry.load()
    raise AttributeError(f"rooflint.{name} belongs to the test harness, which is not installed")


def _version() -> str:
    metadata = _metadata()
    try:
        return str(metadata.version("rooflint"))
    except metadata.PackageNotFoundError:  # a source tree that was never installed
        return "0+unknown"


def _metadata() -> Any:
    import importlib.metadata  # noqa: PLC0415  # slow to import

    return importlib.metadata
