"""Peaks with structured sparsity for dense ones: what a column or a name has in common tells them from other errors."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from pytest_rooflint.audit.account import Finding
from pytest_rooflint.audit.findings import SETTLED, SPARSE, errors_of, ranked
from rooflint.diagnosis.explanations import Explanation
from rooflint.diagnosis.figures import COARSE
from rooflint.diagnosis.identify import Identifier

FEWEST = 3
"""Number of sparse figures that tell of the others beside them."""
_LIKE_SPARSE = frozenset({SPARSE, "another precision", "op counted twice", "another rate"})
"""Causes that a doubled peak may have, too."""


def sparse_first(findings: Sequence[Finding], identifier: Identifier) -> list[Finding]:
    """The findings, with sparsity first where a column or a name has no dense figure of what has a sparse one."""
    columns, names = _by(findings, lambda one: one.column), _by(findings, lambda one: one.device)
    columns = {name: found for name, found in columns.items() if _is_throughout(found, identifier)}
    sparse = {name: text for name, found in columns.items() if (text := _said(found, identifier))}
    throughout = {name for name, found in names.items() if _is_throughout(found, identifier)}
    listed = [_of_name(one, identifier) if one.device in throughout else one for one in findings]
    return [_of_column(one, sparse[one.column]) if one.column in sparse else one for one in listed]


def _by(findings: Iterable[Finding], key: Callable[[Finding], str]) -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = defaultdict(list)
    for one in findings:
        found[key(one)].append(one)
    return found


def _told(findings: Iterable[Finding], identifier: Identifier) -> list[Finding]:
    """Dense peaks of devices that have them with sparsity, too."""
    told = [one for one in findings if one.expected and (one.is_wrong or one.status in SETTLED)]
    return [one for one in told if one.quantity.endswith("peak") and _has_sparse(one, identifier)]


def _has_sparse(finding: Finding, identifier: Identifier) -> bool:
    """Whether the device of a dense peak has that peak with sparsity, too."""
    right = finding.expected
    others = identifier.of(right.hardware.id) if right and not right.sparse else ()
    return any(one.sparse and right and (one.precision, one.unit) == (right.precision, right.unit) for one in others)


def _is_sparse(finding: Finding) -> bool:
    return finding.is_wrong and SPARSE in errors_of(finding)


def _is_throughout(findings: Iterable[Finding], identifier: Identifier) -> bool:
    """Whether the most of what has a sparse figure is sparse, and none of it dense."""
    told = _told(findings, identifier)
    sparse = sum(map(_is_sparse, told))
    return sparse >= FEWEST and 2 * sparse > len(told) and all(one.is_wrong for one in told)


def _said(column: Sequence[Finding], identifier: Identifier) -> str:
    """What to say of a column in which no device that has sparsity has its dense figure."""
    told = _told(column, identifier)
    sparse = sum(map(_is_sparse, told))
    number = f"all {sparse}" if sparse == len(told) else f"{sparse} of {len(told)}"
    return f"column '{column[0].column}': {number} figures of devices with sparsity are sparse, and none is dense"


def _of_column(finding: Finding, text: str) -> Finding:
    return replace(ranked(finding, {SPARSE}), shared=text) if _is_sparse(finding) else finding


def _of_name(finding: Finding, identifier: Identifier) -> Finding:
    """A peak of a name all of whose peaks are sparse; one of FP32 may be that of TF32."""
    first = finding.explanations[0] if finding.is_wrong and finding.explanations else None
    if first is None or first.error not in _LIKE_SPARSE:
        return finding
    if _is_sparse(finding):
        return ranked(finding, {SPARSE})
    cause = _sparse_tf32(finding, identifier)
    return replace(finding, explanations=(cause, *finding.explanations)) if cause else finding


def _sparse_tf32(finding: Finding, identifier: Identifier) -> Explanation | None:
    right = finding.expected
    if right is None or finding.ratio is None or finding.quantity != "fp32 peak":
        return None
    value = finding.ratio * right.value
    tf32 = [one for one in identifier.of(right.hardware.id) if one.sparse and one.precision == "tf32"]
    figure = next((one for one in tf32 if abs(value / one.value - 1) <= COARSE), None)
    if figure is None:
        return None
    text = f"is the {figure.says}, {figure.shown()}, as the other peaks of this name are sparse"
    return Explanation(f"another precision + {SPARSE}", text, figure.value, 1.0, figure)
