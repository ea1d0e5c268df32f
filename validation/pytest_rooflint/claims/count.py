"""`count: SM` counts groups, `count: cuda_core` counts units (groups × units per group)."""

from pytest_rooflint.claims.peak import part_factor
from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import PER, Context, ContradictionError, Kind, Obtained
from rooflint.base.facts import Factor, Ladder
from rooflint.base.units import DIMENSIONLESS
from rooflint.diagnosis.candidate_causes import contradictions
from rooflint.hardware.device import Hardware, UnsupportedError


def obtain(claim: Claim, context: Context) -> Obtained:
    """The count, of one part where the claim says `per:`."""
    hardware = context.device(claim)
    ladder = _ladder(hardware, claim.subject)
    if part := claim.option("per"):
        ladder = ladder.times(part_factor(hardware, part))
    return Obtained(
        ladder.result, DIMENSIONLESS, ladder.formula, ladder.facts, ladder=ladder, hardware=hardware, unit=claim.subject
    )


def _ladder(hardware: Hardware, name: str) -> Ladder:
    if name in hardware.units:
        return hardware.units[name].count_ladder()
    grouped = [unit for unit in hardware.units.values() if unit.group == name and "groups" in unit.facts]
    if not grouped:
        known = dict.fromkeys((*hardware.units, *(unit.group for unit in hardware.units.values())))
        raise UnsupportedError(f"{hardware.id} has no units or groups named '{name}' (has: {', '.join(known)})")
    if len({unit.groups for unit in grouped}) > 1:
        said = ", ".join(f"{unit.name} {unit.groups}" for unit in grouped)
        facts = [unit.fact("groups") for unit in grouped]
        causes = [cause for fact in facts for cause in contradictions(hardware, fact)]
        raise ContradictionError(
            f"the units of {hardware.id} disagree on the number of '{name}': {said}; claim the count of a unit", causes
        )
    fact = grouped[0].fact("groups")
    return Ladder((Factor("groups", fact.value, f"{fact.display} {name}", fact),))


KIND = Kind("count", "how many groups or units of that name the device has", obtain, DIMENSIONLESS, options=PER)
