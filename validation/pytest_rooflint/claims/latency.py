"""`latency: a < b < c` orders devices, `latency: a` with an `expect` claims a time.

By the plain roofline, or with `fidelity: silicon` by the calibrated kernel models. Their constants are cached, because
mutation testing asks for the same files thousands of times.
"""

import re
from functools import lru_cache
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import (
    FIDELITY,
    STORAGE,
    WORKLOAD,
    ClaimError,
    Context,
    Kind,
    Obtained,
    check_fidelity,
    check_flag,
    check_precisions,
)
from rooflint.base.facts import Fact
from rooflint.base.units import SECONDS, format_quantity
from rooflint.coefficients.library import Coefficients
from rooflint.energy.model import Energies
from rooflint.hardware.device import Hardware, working_units
from rooflint.hardware.registry import Registry
from rooflint.kernels import constants
from rooflint.roofline import Estimate, estimate

FILES = (*constants.FILES, "launches.yaml")
"""Files of constants in each specs folder."""

Texts = tuple[tuple[Path, str], ...]
Stamps = tuple[tuple[Path, int], ...]


def kept(registry: Registry) -> Energies:
    """The constants of a registry's folders, cached by path, text and time of change.

    Raises InputError, or RooflintError where no folder has them.
    """
    places = [root / name for root in registry.roots for name in FILES]
    stamps = tuple((file, file.stat().st_mtime_ns) for file in places if file.is_file())
    texts = tuple((file, registry.texts[file]) for file in places if file in registry.texts)
    return _read(registry.roots, texts, stamps)


@lru_cache(maxsize=8)
def _read(roots: tuple[Path, ...], texts: Texts, stamps: Stamps) -> Energies:  # noqa: ARG001  # stamps are of the key
    return Energies(Coefficients(Registry(roots, dict(texts))))


# ---- the claim

if TYPE_CHECKING:
    from rooflint.workloads.workload import Workload

FORMULAS = {
    "roofline": "Σ max(ops / peak, bytes / bandwidth) + launches",
    "silicon": "Σ work of each kernel + launches, docs/method-silicon-ops.md",
}

_SIGN = re.compile(r"\s*<\s*")


def check(claim: Claim) -> None:
    """Refuse a subject other than devices with '<' between them, and invalid options."""
    check_flag(claim, "refuted")
    if claim.expectation and claim.option("refuted"):
        raise ClaimError("refuted: only an order can be refuted")
    names = _SIGN.split(claim.subject)
    if not all(names) or len(set(names)) < len(names):
        raise ClaimError(f"want devices with '<' between them, each once; found '{claim.subject}'")
    check_precisions(claim)
    check_fidelity(claim)
    if claim.option("compute") is None:
        raise ClaimError("a latency needs 'compute:', the precision of the arithmetic")


def obtain(claim: Claim, context: Context) -> Obtained:
    """Estimate each device and compare each with the next."""
    names = _SIGN.split(claim.subject)
    estimates = [estimated(claim, context, name) for name in names]
    times = [one.latency_s for one in estimates]
    rising = all(low < high for low, high in pairwise(times))
    cited = (
        ()
        if claim.given
        else tuple(
            fact for name, one in zip(names, estimates, strict=True) for fact in facts(claim, context, name, one)
        )
    )
    shown = " < " if rising else ", "
    return Obtained(
        value=times[0],
        dimension=SECONDS,
        display=shown.join(
            f"{name.rpartition('/')[2]} {format_quantity(one.latency_s, SECONDS)} ({one.bound})"
            for name, one in zip(names, estimates, strict=True)
        ),
        formula="" if len(names) > 1 else FORMULAS[str(claim.option("fidelity", "roofline"))],
        facts=cited,
        holds=None if claim.expectation else rising is not bool(claim.option("refuted")),
        expected=f"not {claim.subject}" if claim.option("refuted") else claim.subject,
        others=tuple(names),
        precision=str(claim.option("compute")),
    )


def estimated(claim: Claim, context: Context, name: str) -> Estimate:
    """The estimate of the claim's workload on one device, documented or assumed, with the claim's fidelity.

    Raises MissingFactError where the kernel models do not cover the device; the roofline is no substitute.
    """
    compute = str(claim.option("compute"))
    storage = str(claim.option("storage", compute))
    workload = context.workload(claim)
    if claim.option("fidelity") == "silicon":
        return _on_silicon(context.device(claim, name), workload, compute, storage, claim, context)
    if claim.given:
        if name not in claim.given:
            raise ClaimError(f"unknown label '{name}' (given: {', '.join(claim.given)})")
        return context.assumed(claim)[name].estimate(workload, compute, storage)
    return estimate(context.device(claim, name), workload, compute=compute, storage=storage)


def _on_silicon(
    device: Hardware, workload: "Workload", compute: str, storage: str, claim: Claim, context: Context
) -> Estimate:
    # gone  # most claims ask for no silicon
    from rooflint.prediction.predict import (  # noqa: PLC0415
        Setting,
        silicon_times,
    )

    setting = Setting(compute, storage, launch=str(claim.option("launch", "stream")))
    return silicon_times(device, workload, kept(context.registry), setting)


def facts(claim: Claim, context: Context, name: str, one: Estimate) -> tuple[Fact, ...]:
    """The facts behind an estimate."""
    if claim.option("fidelity") == "silicon":
        return _silicon_facts(one)
    return rests_on(context.device(claim, name), one.compute)


def _silicon_facts(one: Estimate) -> tuple[Fact, ...]:
    """Facts of the chip; the calibrated constants are not facts of a device."""
    from rooflint.kernels.network import SiliconEstimate  # noqa: PLC0415

    assert isinstance(one, SiliconEstimate)
    return one.chip.facts


def rests_on(hardware: Hardware, precision: str) -> tuple[Fact, ...]:
    """Facts of the peak and the bandwidth that a roofline estimate uses."""
    peaks = (unit.derivation(precision).facts for unit in working_units(hardware, precision))
    return (*chain.from_iterable(peaks), *hardware.main_memory().derivation().facts)


KIND = Kind(
    "latency",
    "time of a workload on a device by the plain roofline or on silicon, or the order of several devices",
    obtain,
    SECONDS,
    expects=lambda subject: "<" not in subject,
    scopes=(),
    inferred=True,
    check=check,
    options={
        **STORAGE,
        **FIDELITY,
        **WORKLOAD,
        "refuted": {"type": "boolean", "description": "the order must not hold"},
    },
)
