"""What is said of calibrated kernel times that a reader should not trust as far as the others."""

from collections.abc import Iterator

import numpy as np

from rooflint.base.text import counted
from rooflint.base.units import percent
from rooflint.kernels.constants import NetworkErrorsSpec
from rooflint.kernels.convolution import MEASURED_RANGE, WinogradConvolution
from rooflint.kernels.dispatch import family_of, family_title
from rooflint.kernels.kernel import FITTED_IN
from rooflint.kernels.network import MODELS, SiliconEstimate, rests_on
from rooflint.kernels.products import Fp8Gemm
from rooflint.prediction.comparison import Contender

WRITING = ("causal_attention", "decode", "latent_decode")
"""Kinds of ops and kernel models that only language models have."""


def of_silicon(one: Contender, times: SiliconEstimate) -> Iterator[str]:
    """Warnings on calibration: what share of a latency uses constants of another precision, and unusual counting."""
    yield from _of_networks(one, times)
    found = one.prediction
    carried = {name: float(times.kernel_s[(times.kernel_models == name) & ~times.calibrated].sum()) for name in MODELS}
    share = sum(carried.values()) / found.latency_s
    if share:
        names = [name for name, seconds in carried.items() if seconds]
        kinds = "; ".join(f"{name} {rests_on(times, name).removeprefix('not calibrated: ')}" for name in names)
        yield f"{one.short}: {percent(share)} of its latency is not calibrated ({kinds})"
    if carried["convolution"] and not times.chip.cores:
        yield f"{one.short}: {MEASURED_RANGE}"
    if times.chip.cores:
        yield f"{one.short}: runs on CUDA cores, for which only issue slots and energy are fitted"
    elif found.compute != FITTED_IN:
        yield from _of_precision(one, times)
    yield from _of_winograd(one, times)


def _of_networks(one: Contender, times: SiliconEstimate) -> Iterator[str]:
    """The error to expect of the whole: on tables of its family and precision, otherwise on those that there are."""
    writes = bool(np.isin(times.run.kinds, WRITING).any() or np.isin(times.kernel_models, WRITING).any())
    what = "tokens per second" if writes else "the throughput of a network"
    tables = [table for table in times.shared.networks if table.writes == writes]
    if not tables:
        return
    missing = []
    family = family_of(one.hardware.architecture or "")
    if here := [table for table in tables if family in table.families]:
        tables = here
    else:
        missing.append(f"on {family_title(family)}")
    if same := [table for table in tables if table.precision == times.compute]:
        tables = same
    else:
        missing.append(f"in {times.compute}")
    each = ", ".join(_off(table, family) for table in tables)
    place = f" on {family_title(family)}" if here else ""
    none = f"; none {' or '.join(missing)} was published" if missing else ""
    yield f"error to expect of {what}{place}, by published ones: {each}{none}"


def _off(table: NetworkErrorsSpec, family: str) -> str:
    """`11.2 % (ResNet-50 in int8, 5 rows)`."""
    of = table.families.get(family, table)
    return f"{of.error:g} % ({table.name} in {table.precision}, {counted(of.rows, 'row')})"


def _of_winograd(one: Contender, times: SiliconEstimate) -> Iterator[str]:
    """Warnings on counted operations, on GPUs without measured convolutions, and on old op tables."""
    if (times.algorithms != "direct").any():
        yield f"{one.short}: {WinogradConvolution().caveats[0]}"
        if one.hardware.architecture not in WinogradConvolution.measured_on:
            yield f"{one.short}: Winograd was not measured on {one.hardware.architecture}: its error is not known"
    if times.without_window:
        yield (
            f"{one.short}: the op table has no window for {times.without_window} convolutions, so they are timed "
            "without Winograd; capture the network again"
        )


def _of_precision(one: Contender, times: SiliconEstimate) -> Iterator[str]:
    """Warnings on constants reused from bf16, and on the quantise kernels of FP8."""
    own = sum(float(times.kernel_s[rows.ops].sum()) for rows in times.rows if isinstance(rows.kernel, Fp8Gemm))
    rest = " everything except streams" if own else ""
    yield (
        f"{one.short}: kernel times are calibrated in {FITTED_IN}; in {times.compute}{rest} "
        f"{'uses' if rest else 'they use'} the same constants"
    )
    if own and not times.quantise_s:
        yield f"{one.short}: fused kernels make activations {times.compute} themselves, of which nothing was measured"
    elif own:
        share = percent(times.quantise_s / float(times.kernel_s.sum()))
        yield (
            f"{one.short}: before each product with weights a kernel quantises the activations to {times.compute} "
            f"({share} of the latency), so small batches may be slower than in {FITTED_IN}; fusing it into the "
            "producer saves most of that time"
        )
