"""Peaks with structured sparsity for dense ones: what a column or a name has in common tells them from other errors."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from pytest_rooflint.audit.account import Finding
from pytest_rooflint.audit.findings import SETTLED, SPARSE, FigureOfTable, errors_of, ranked
from rooflint.diagnosis.explanations import Explanation
from rooflint.diagnosis.figures import COARSE
from rooflint.diagnosis.identify import Identifier

FEWEST = 3
"""Number of sparse figures that tell of the others beside them."""
_LIKE_SPARSE = frozenset({SPARSE, "another precision", "op counted twice", "another rate"})
"""Causes that a doubled peak may have, too."""
_COMMENT = re.compile(r"\s*(?://+|#|/?\*+)(.*)")
_WITH_SPARSITY = re.compile(r"(?<!without )(?<!w/o )(?:\bwith |w/ ?)(?:structured |2:4 )?sparsity\b", re.IGNORECASE)
_FIELD = re.compile(  # `pub fp16_tflops: Option<f64>,`, `fp16Tflops?: number;`, `fp16: float = 0.0`, `double fp16;`
    r"\s*(?:pub |public |readonly |final |double |float )*(\w+)\??\s*(?::\s*[A-Za-z][^={}()]*|;\s*)(?:=.*)?"
)

_DECLARED = "declared with sparsity in line {}"


def fields_with_sparsity(text: str) -> dict[str, int]:
    """Fields that code declares below a comment such as `TFLOPS, with sparsity`, each with the line of the comment.

    The next comment, or a line that declares nothing, ends them.
    """
    found: dict[str, int] = {}
    said = 0
    for number, line in enumerate(text.splitlines(), 1):
        if comment := _COMMENT.fullmatch(line):
            said = number if _WITH_SPARSITY.search(comment[1]) else 0
        elif said and (declared := _FIELD.fullmatch(line.partition("//")[0].partition(" #")[0])):
            found[declared[1]] = said
        else:
            said = 0
    return found


def as_declared(
    figures: Sequence[FigureOfTable], fields: Mapping[str, int], identifier: Identifier
) -> list[FigureOfTable]:
    """The figures; peaks of fields that are declared with sparsity are sparse where the device has that.

    So they are only where more of them are the sparse peak than the dense one, as a comment may mean something else.
    """
    meant = {
        place: replace(one, asked=replace(one.asked, sparse=True), note=_DECLARED.format(fields[one.column]))
        for place, one in enumerate(figures)
        if one.column in fields and one.asked.quantity == "peak" and one.asked.sparse is None
    }
    agreeing = Counter[bool]()
    for place, one in [*meant.items()]:
        peaks = [peak for device in one.meaning.devices for peak in identifier.of(device)]
        same = [peak for peak in peaks if peak.quantity == "peak" and peak.precision == one.asked.precision]
        if any(peak.sparse for peak in same):
            agreeing.update({bool(peak.sparse) for peak in same if one.number.is_near(peak.value, COARSE)})
        else:
            del meant[place]
    if agreeing[True] <= agreeing[False]:
        return list(figures)
    return [meant.get(place, one) for place, one in enumerate(figures)]


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
