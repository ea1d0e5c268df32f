"""The claim that would kill: what somebody has to find printed, and where not to look for it."""

from pytest_rooflint.mutation.baseline import Baseline
from pytest_rooflint.mutation.mutants import Subject
from pytest_rooflint.mutation.score import Row
from rooflint.errors import shown
from rooflint.facts import Fact


def wish(row: Row, baseline: Baseline) -> str:
    """The claim that would have killed a mutant."""
    witness = baseline.by_id.get(row.fate.witness or "")
    if witness is None or witness.printed is None or witness.claim.expectation is None:
        digits = ", printed with more digits" if row.fate.standing == "within-digits" else ""
        return f"{wanted(row.subject, row.mutant.fact)}{digits}"
    claim, stated = witness.claim, witness.claim.expectation.tolerance_text
    return (
        f"{claim.kind}: {claim.subject} at {shown(claim.file)}:{claim.line}, "
        f"if it allowed the {witness.printed.tolerance_text} of its printed digits and not {stated}"
    )


def wanted(subject: Subject, fact: Fact) -> str:
    """An independent claim about the figure that a fact moves most directly."""
    claim = _claim(subject, fact)
    if claim is None:
        return "no kind of claim that there is; an order of clocks bounds it"
    mode = subject.mode(fact)
    whose = f" at {mode} of {subject.id}" if mode else f" of {subject.id}"
    if subject.is_architecture and not claim.startswith(("ratio", "sparsity")):
        whose = f" of a device with {subject.id}"
    return f"{claim}{whose}, from a document other than '{fact.source.document}'"


def _claim(subject: Subject, fact: Fact) -> str | None:
    """`bandwidth: hbm3`; None where no kind of claim asks for the figure itself."""
    section, *rest = fact.path.split(".")
    if section == "units":
        return _of_unit(subject, *rest)
    if section == "memories":
        return f"{'capacity' if rest[1] == 'capacity' else 'bandwidth'}: {rest[0]}"
    if section == "caches":
        return f"capacity: {rest[0]}"
    if section in ("tdp", "powers"):
        return f"tdp: {rest[0] if rest else 'rated'}"
    if section in ("full_die", "dies"):
        return f"full_die: {rest[0] if rest else next(iter(_counted(subject)), 'SM')}"
    return f"a peak, count or capacity per {rest[0]}" if section == "parts" else None


def _counted(subject: Subject) -> list[str]:
    """Groups that a full die is known to have."""
    return [path.removeprefix("full_die.") for path in subject.hardware.facts if path.startswith("full_die.")]


def _of_unit(subject: Subject, name: str, field: str, precision: str | None = None) -> str:
    unit = subject.hardware.units[name]
    if field == "groups":
        return f"count: {unit.group}"
    if field == "per_group":
        return f"count: {name}"
    if field == "sparsity":
        return f"sparsity: {name} {precision}"
    return f"peak: {name} {precision or next(iter(unit.precisions), '')}".rstrip()
