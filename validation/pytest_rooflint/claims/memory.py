"""Claims about memories, links and storage: bandwidth, capacity, and the bits of an element."""

from pytest_rooflint.claims.obtained import network_of, of_system, one_fact, product, together
from pytest_rooflint.golden.kinds import PER, Claim, ClaimError, Context, Kind, Obtained, check_precision
from rooflint.base.facts import Ladder
from rooflint.base.precision import precision
from rooflint.base.units import BYTES, BYTES_PER_S, format_number
from rooflint.hardware.device import DIRECTIONS, Hardware, UnsupportedError
from rooflint.hardware.system import System

# ---- `bandwidth: hbm3`


def obtain_bandwidth(claim: Claim, context: Context) -> Obtained:
    """Derive the bandwidth: of all devices of a system, of one part where the claim says `per:`. [B/s]"""
    hardware, system = of_system(claim, context)
    ladder = hardware.memory(claim.subject).derivation()
    return product(together(ladder, claim, hardware, system), BYTES_PER_S, hardware)


BANDWIDTH = Kind("bandwidth", "the bandwidth of a memory: bus × pin rate", obtain_bandwidth, BYTES_PER_S, options=PER)

# ---- `capacity: hbm3`, `capacity: l2`


def obtain_capacity(claim: Claim, context: Context) -> Obtained:
    """The capacity: of all devices of a system, of one part where the claim says `per:`. [B]"""
    hardware, system = of_system(claim, context)
    cache = hardware.caches.get(claim.subject)
    fact = cache or hardware.memory(claim.subject).fact("capacity")
    return product(together(one_fact("capacity", fact), claim, hardware, system), BYTES, hardware)


CAPACITY = Kind("capacity", "the size of a memory or a cache", obtain_capacity, BYTES, options=PER)

# ---- `link: nvlink`, `link: nvlink one-way`, and of a system `link: nvlink bisection`

ONE_WAY = "one-way"

PARTS = {"bisection": System.bisection, "pair": System.pair, "switch": System.switch, "switches": System.switches}
"""What can be claimed of the links of a system besides all of them."""


def check_link(claim: Claim) -> None:
    """Refuse other words than a part of a system and `one-way`. Raises ClaimError."""
    words = claim.subject.split()[1:]
    if words[-1:] == [ONE_WAY]:
        words.pop()
    if not claim.subject or len(words) > 1 or not PARTS.keys() >= set(words):
        parts = ", ".join(PARTS)
        raise ClaimError(
            f"want a link such as 'nvlink', or 'nvlink {ONE_WAY}', of a system one of {parts} between them, "
            f"found '{claim.subject}'"
        )


def obtain_link(claim: Claim, context: Context) -> Obtained:
    """Derive the bandwidth of all links of a kind, both directions together unless the claim says `one-way`. [B/s]

    Of a system: of all devices, of a part of PARTS, or of its network cards.
    """
    hardware, system = of_system(claim, context)
    name, *words = claim.subject.split()
    directions = 1 if ONE_WAY in words else DIRECTIONS
    return product(_link(claim, name, words, directions, hardware, system), BYTES_PER_S, hardware)


def _link(
    claim: Claim, name: str, words: list[str], directions: int, hardware: Hardware, system: System | None
) -> Ladder:
    part = next((PARTS[word] for word in words if word in PARTS), None)
    if system is None:
        if part:
            raise UnsupportedError(f"{hardware.id} is a device; want a system for '{claim.subject}'")
        return together(hardware.link(name).derivation(directions), claim, hardware, None)
    if part and name in system.cards:
        raise UnsupportedError(f"{name} are network cards; want '{system.joined.link}' for '{claim.subject}'")
    if part and claim.option("per") is not None:
        raise UnsupportedError(f"want '{claim.subject}' or 'per: {claim.option('per')}', not both")
    if name != system.joined.link:
        return network_of(claim, name, directions, system)
    if part:
        return part(system, directions)
    return together(system.link.derivation(directions), claim, hardware, system)


LINK = Kind(
    "link",
    "the bandwidth of the links to other devices: links × rate × 2 directions",
    obtain_link,
    BYTES_PER_S,
    options=PER,
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
