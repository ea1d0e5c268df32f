"""`flops: conv2d + linear`: ops of a workload, of all its kernels or of some kinds; `flops: macs` counts MACs only."""

from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import WORKLOAD, ClaimError, Context, Kind, Obtained
from rooflint.base.units import OPS, OPS_PER_MAC


def obtain(claim: Claim, context: Context) -> Obtained:
    """Sum of the ops."""
    workload = context.workload(claim)
    if claim.subject == "macs":
        return Obtained(
            OPS_PER_MAC * float(workload.macs.sum()),
            OPS,
            f"{OPS_PER_MAC} × {workload.total_macs} MAC of {workload.name}",
        )
    wanted = claim.subject.split(" + ")
    unknown = [kind for kind in wanted if kind != "all" and kind not in set(workload.kinds)]
    if unknown:
        having = ", ".join(dict.fromkeys(map(str, workload.kinds)))
        raise ClaimError(f"{workload.name} has no ops of kind {', '.join(unknown)} (has: {having})")
    chosen = [wanted == ["all"] or str(kind) in wanted for kind in workload.kinds]
    return Obtained(
        float(workload.ops[chosen].sum()), OPS, f"2 × MACs + other ops of {sum(chosen)} kernels of {workload.name}"
    )


KIND = Kind(
    "flops",
    "ops of a workload: `all`, `macs` at 2 op each, or kinds of kernels joined by '+'",
    obtain,
    OPS,
    scopes=(),
    modes=False,
    options=WORKLOAD,
)
