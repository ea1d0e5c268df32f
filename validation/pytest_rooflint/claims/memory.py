"""Claims about memories, links and storage: bandwidth, capacity, and the bits of an element."""

from pytest_rooflint.claims.obtained import one_fact, per_part, product
from pytest_rooflint.golden.kinds import PER, Claim, ClaimError, Context, Kind, Obtained, check_precision
from rooflint.base.precision import precision
from rooflint.base.units import BYTES, BYTES_PER_S, format_number
from rooflint.hardware.device import DIRECTIONS

# ---- `bandwidth: hbm3`


def obtain_bandwidth(claim: Claim, context: Context) -> Obtained:
    """Derive the bandwidth, of one part where the claim says `per:`. [B/s]"""
    hardware = context.device(claim)
    return product(per_part(hardware.memory(claim.subject).derivation(), claim, hardware), BYTES_PER_S, hardware)


BANDWIDTH = Kind("bandwidth", "the bandwidth of a memory: bus × pin rate", obtain_bandwidth, BYTES_PER_S, options=PER)

# ---- `capacity: hbm3`, `capacity: l2`


def obtain_capacity(claim: Claim, context: Context) -> Obtained:
    """The capacity, of one part where the claim says `per:`. [B]"""
    hardware = context.device(claim)
    cache = hardware.caches.get(claim.subject)
    fact = cache or hardware.memory(claim.subject).fact("capacity")
    return product(per_part(one_fact("capacity", fact), claim, hardware), BYTES, hardware)


CAPACITY = Kind("capacity", "the size of a memory or a cache", obtain_capacity, BYTES, options=PER)

# ---- `link: nvlink`, `link: nvlink one-way`

ONE_WAY = "one-way"


def check_link(claim: Claim) -> None:
    """Refuse further words than `one-way`. Raises ClaimError."""
    words = claim.subject.split()
    if len(words) != 1 and words[1:] != [ONE_WAY]:
        raise ClaimError(f"want a link such as 'nvlink', or 'nvlink {ONE_WAY}', found '{claim.subject}'")


def obtain_link(claim: Claim, context: Context) -> Obtained:
    """Derive the bandwidth of all links of a kind, both directions together unless the claim says `one-way`. [B/s]"""
    hardware = context.device(claim)
    name, *one_way = claim.subject.split()
    return product(hardware.link(name).derivation(1 if one_way else DIRECTIONS), BYTES_PER_S, hardware)


LINK = Kind(
    "link",
    "the bandwidth of the links to other devices: links × rate × 2 directions",
    obtain_link,
    BYTES_PER_S,
    check=check_link,
)

# ---- `bits: mxfp6`


def obtain_bits(claim: Claim, context: Context) -> Obtained:  # noqa: ARG001
    """The bits of an element and its share of the scale, by the table of precisions. [B]"""
    form = precision(claim.subject)
    share = f" + {form.scale_bits} bit / {form.block}" if form.scale_bits else ""
    return Obtained(
        form.stored_bits / 8,
        BYTES,
        f"{form.bits} bit{share}",
        precision=form.name,
        written=lambda value: f"{format_number(8 * value)} bit",
    )


BITS = Kind(
    "bits",
    "storage of an element of a precision, its share of a block's scale included",
    obtain_bits,
    BYTES,
    check=check_precision,
    modes=False,
    foreign=True,
    scopes=(),
)
