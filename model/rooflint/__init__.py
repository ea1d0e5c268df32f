"""rooflint: the analytic performance model. Facts with sources in, derived peaks, bandwidths and latencies out."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("rooflint")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+unknown"
