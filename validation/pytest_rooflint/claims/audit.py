"""`audit: ../tables/gpus.csv`: a table of published figures contains no wrong figure."""

from pathlib import Path

from pytest_rooflint.audit.account import as_text, sentence
from pytest_rooflint.audit.auditor import Auditor
from pytest_rooflint.golden.kinds import Claim, ClaimError, Context, Kind, Obtained, check_flag
from rooflint.base.units import DIMENSIONLESS

_MAP = {"type": "object", "additionalProperties": {"type": "string"}, "description": "meaning of columns by name"}

_STRICT = {"type": "boolean", "description": "also fail on unknown, ambiguous, unsupported or unchecked figures"}


def check_audit(claim: Claim) -> None:
    """Refuse a missing table and an invalid `map`."""
    if not table(claim).is_file():
        raise ClaimError(f"audit: want the path of a table relative to this file, found no file at {claim.subject}")
    check_flag(claim, "strict")
    mapping = claim.option("map", {})
    if not isinstance(mapping, dict) or not all(isinstance(role, str) for role in mapping.values()):
        raise ClaimError(f"map: want the meaning of columns, such as {{Dense: peak bf16 TFLOP/s}}, found {mapping}")


def table(claim: Claim) -> Path:
    """The audited table."""
    return (claim.file.parent / claim.subject).resolve()


def obtain_audit(claim: Claim, context: Context) -> Obtained:
    """Audit the table; it holds where at least one figure was checked and none is wrong."""
    auditor = Auditor(context.registry, context.golden_roots, claim.option("map", {}))
    findings = auditor.audit(table(claim))
    checked = [one for one in findings if one.is_checked]
    wrong = [one for one in findings if one.fails(strict=bool(claim.option("strict")))]
    facts = dict.fromkeys(fact for one in checked if one.expected for fact in one.expected.facts)
    return Obtained(
        value=float(len(wrong)),
        dimension=DIMENSIONLESS,
        formula="" if wrong or checked else "no figure could be checked",
        facts=tuple(facts) if not wrong else (),
        display=sentence(findings),
        holds=bool(checked) and not wrong,
        expected="no wrong figure",
        others=tuple(dict.fromkeys(one.expected.hardware.id for one in checked if one.expected)),
        details=as_text(wrong, everything=True) if wrong else "",
    )


AUDIT = Kind(
    "audit",
    "a table of published figures contains no wrong figure",
    obtain_audit,
    expects=lambda subject: False,
    options={"map": _MAP, "strict": _STRICT},
    check=check_audit,
    modes=False,
    inferred=True,
    foreign=True,
    scopes=(),
)
