"""rooflint: the analytic performance model. Facts with sources in, derived peaks, bandwidths and latencies out."""

from typing import Any


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415  # slower than all else here

        try:
            return version("rooflint")
        except PackageNotFoundError:  # a source tree that was never installed
            return "0+unknown"
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
