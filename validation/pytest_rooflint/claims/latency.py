"""`latency: a < b < c` orders devices, `latency: a` with an `expect` claims a time.

Both by the plain roofline, or with `fidelity: silicon` by what kernels take on GPUs.
"""

import re
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from pytest_rooflint.claim import Claim
from pytest_rooflint.claims.subjects import FIDELITY, STORAGE, WORKLOAD, check_fidelity, check_flag, check_precisions
from pytest_rooflint.kinds import ClaimError, Context, Kind, Obtained
from rooflint.facts import Fact
from rooflint.hardware import Hardware
from rooflint.processor import working_units
from rooflint.roofline import Estimate, estimate
from rooflint.units import SECONDS, format_quantity

if TYPE_CHECKING:
    from rooflint.workload import Workload

FORMULAS = {
    "roofline": "Σ max(ops / peak, bytes / bandwidth) + launches",
    "silicon": "Σ work of each kernel + launches, docs/method-silicon-ops.md",
}

_SIGN = re.compile(r"\s*<\s*")


def check(claim: Claim) -> None:
    """Refuse what is not a device or several with '<' between them, and precisions that do not exist."""
    check_flag(claim, "refuted")
    if claim.expectation and claim.option("refuted"):
        raise ClaimError("refuted: is for orders; a time is claimed as it is")
    names = _SIGN.split(claim.subject)
    if not all(names) or len(set(names)) < len(names):
        raise ClaimError(f"want devices with '<' between them, each once; found '{claim.subject}'")
    check_precisions(claim)
    check_fidelity(claim)
    if claim.option("compute") is None:
        raise ClaimError("a latency needs 'compute:', the precision of the arithmetic")


def obtain(claim: Claim, context: Context) -> Obtained:
    """Estimate each device, and compare neighbours."""
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
    """The estimate of the claim's workload on one device, documented or assumed, by the claim's fidelity.

    Raises MissingFactError where silicon is asked of a device of which it is not known: no roofline takes its place.
    """
    compute = str(claim.option("compute"))
    storage = str(claim.option("storage", compute))
    workload = context.workload(claim)
    if claim.option("fidelity") == "silicon":
        return _on_silicon(context.device(claim, name), workload, compute, storage, claim, context)
    if claim.given:
        if name not in claim.given:
            raise ClaimError(f"'{name}' is none of the labels under 'given' ({', '.join(claim.given)})")
        return context.assumed(claim)[name].estimate(workload, compute, storage)
    return estimate(context.device(claim, name), workload, compute=compute, storage=storage)


def _on_silicon(
    device: Hardware, workload: "Workload", compute: str, storage: str, claim: Claim, context: Context
) -> Estimate:
    from pytest_rooflint.kept_constants import kept  # noqa: PLC0415  # most claims ask for no silicon
    from rooflint.prediction import Setting, silicon_times  # noqa: PLC0415

    setting = Setting(compute, storage, launch=str(claim.option("launch", "stream")))
    return silicon_times(device, workload, kept(context.registry), setting)


def facts(claim: Claim, context: Context, name: str, one: Estimate) -> tuple[Fact, ...]:
    """What such an estimate rests on."""
    if claim.option("fidelity") == "silicon":
        return _silicon_facts(one)
    return rests_on(context.device(claim, name), one.compute)


def _silicon_facts(one: Estimate) -> tuple[Fact, ...]:
    """Of the chip; the constants are no facts of a device."""
    from rooflint.silicon.network import SiliconEstimate  # noqa: PLC0415

    assert isinstance(one, SiliconEstimate)
    return one.chip.facts


def rests_on(hardware: Hardware, precision: str) -> tuple[Fact, ...]:
    """Facts of the peak and of the bandwidth that an estimate uses."""
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
