"""Sequences of any size, which tests of attention share."""

from hypothesis import strategies as st

from rooflint.kernels.attention import Sequences, sequences

from .conftest import CHIPS

ROUNDING = 1e-12  # of sums and powers taken in another order
RESOURCES = ("sms", "macs_per_clock", "clock_hz", "l2_bytes", "bandwidth_bytes_per_s", "tdp_w", "special_functions")
ANY_CHIP = st.sampled_from(sorted(CHIPS)).map(CHIPS.get)
TOKENS = st.integers(1, 2**17) | st.sampled_from([2**power for power in range(18)])
WIDTHS = st.sampled_from([64, 72, 80, 128, 192, 256])
SHAPE = st.tuples(st.integers(1, 2048), st.integers(1, 16), st.integers(1, 96), TOKENS, WIDTHS)
"""Batch, heads that share keys, heads of keys, tokens, width."""


def shape(batch, group, kv_heads, tokens, width) -> Sequences:
    return sequences(batch, group * kv_heads, kv_heads, tokens, width)


def work(kernel, sizes, *, warm=False):
    return kernel.work(*shape(*sizes), copies=1.0 if warm else float("inf"))
