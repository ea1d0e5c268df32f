"""What wrong figures have in common: one cause for those of a name, of a column, or of a row copied from another."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from itertools import pairwise

from pytest_rooflint.audit.account import Finding
from pytest_rooflint.audit.columns import (
    guessed,
    is_of_device,
    is_of_links,
    is_of_tpus,
    is_total,
    says_which_links,
)
from pytest_rooflint.audit.findings import SETTLED, SPARSE, FigureOfTable, errors_of, parts_of, ranked, share
from pytest_rooflint.audit.sparse import sparse_first
from pytest_rooflint.audit.spelling import words_of
from rooflint.diagnosis.explanations import Explanation
from rooflint.diagnosis.figures import COARSEST, FLOOR, Figure, Printed
from rooflint.diagnosis.identify import Identifier
from rooflint.hardware.device import DIRECTIONS, Hardware
from rooflint.hardware.vocabulary import without_size

MANY = 3
"""Number of wrong figures that are explained together."""
MOST_ALIKE = 50
"""Devices with the same right figure that a row is compared with."""
_POINT_ZERO = re.compile(r"(\d+)\.(0+)(?:\s*[A-Za-z][A-Za-z/]*)?")
"""A number without decimals, as programs write it, and its unit."""
SEVERAL = "several devices"
_OF_PARTS = frozenset({"peak", "bandwidth", "capacity"})
"""Quantities that parts share; a count of units and a clock need not tell."""
FAR = 32
"""Factor from which on a figure without a known cause is not one of the device."""
TWO = 2
"""Devices that a total is of at least."""
FEWEST_MEASURED = 6
"""Figures without a right one among them from which on a table may be one of measurements."""
MOST_SHORT = 0.75
"""Share of its figures that are below the spec at least; some specs are too low for what a board does."""
LEAST_REACHED = 0.2
"""Share of a peak that programs reach at least where somebody prints it in such a table."""
SHORT_OF_LINKS = 0.12
"""Share of the bandwidth of links by which a book of their vendor prints less than the vendor does."""
LONG = 3
"""Digits before the point with which `.0` does not count by itself."""


# ---- of a name


def consistent(findings: Iterable[Finding]) -> list[Finding]:
    """The findings of one name, with the explanation that fits all of its wrong figures first."""
    listed = _pairs_together(_sparse_together(_repeated(_told_from_half_rate(list(findings)))))
    wrong = [finding for finding in listed if finding.is_wrong]
    if len(wrong) < MANY:
        return _halved_together(listed)
    told = [one for one in wrong if one.expected] or wrong  # a precision that a device lacks has one cause only
    shared = set.intersection(*(errors_of(one) for one in told))
    return _halved_together([_explained_alike(one, shared, wrong) if one.is_wrong else one for one in listed])


def _explained_alike(finding: Finding, shared: set[str], wrong: Sequence[Finding]) -> Finding:
    sparse = sum(one.explanations[0].error == SPARSE for one in wrong if one.explanations)
    if sparse >= MANY and 2 * sparse > len(wrong) and shared <= {"another rate"}:
        return finding  # a rate can be borrowed from some chip wherever one is doubled
    if shared:
        first = finding.explanations[0]
        other = next((one for one in finding.explanations if one.error == SPARSE), None)
        # twice as much is sparse where a unit has sparsity, whatever else of the device is doubled
        is_double = "op counted twice" in shared and first.error in (SPARSE, "op counted twice")
        return ranked(finding, {SPARSE} if is_double and other and other.error not in shared else shared)
    ratios = (other.ratio / finding.ratio for other in wrong if other.ratio and finding.ratio)
    alike = sum(abs(ratio - 1) <= FLOOR for ratio in ratios)
    if finding.explanations or alike < MANY:
        return finding
    note = f"{alike} figures of this device are off by the same factor, such as a clock, a count or a width"
    return replace(finding, note=note)


def _told_from_half_rate(findings: list[Finding]) -> list[Finding]:
    """A BF16 peak that repeats the right FP16 peak beside it is that of boards at full rate, and not sparse."""
    beside = {one.printed for one in findings if one.status == "right" and one.quantity == "fp16 peak"}
    return [
        ranked(one, {"half-rate accumulation"})
        if one.is_wrong and one.quantity == "bf16 peak" and one.printed in beside
        else one
        for one in findings
    ]


def _repeated(findings: list[Finding]) -> list[Finding]:
    """Integers with the right figure of 16 bits beside them were not doubled: INT8 of 65 and INT4 of 130 of a T4."""
    right = [one for one in findings if one.status == "right" and one.quantity.endswith("peak")]
    beside = {one.printed.split()[0] for one in right}
    integers = [one for one in findings if one.is_wrong and one.quantity.startswith("int")]
    told = any("another precision" in errors_of(one) and one.printed.split()[0] in beside for one in integers)
    return [ranked(one, {"another precision"}) if told and one in integers else one for one in findings]


def _halved_together(findings: list[Finding]) -> list[Finding]:
    """Half the peak of integers is halved as that of floating-point numbers beside it, and counts no MACs."""
    halved = "halved twice"
    told = any(one.is_wrong and one.explanations and one.explanations[0].error == halved for one in findings)
    return [ranked(one, {halved}) if told and one.is_wrong and halved in errors_of(one) else one for one in findings]


def _sparse_together(findings: list[Finding]) -> list[Finding]:
    """Doubled peaks of one name are sparse where one of them is: FP8 of 10.1 PFLOP/s says what 5 of BF16 are."""
    doubled = [one for one in findings if one.is_wrong and SPARSE in errors_of(one)]
    told = any(SPARSE in parts_of(one.explanations[0]) for one in doubled)
    known = (SPARSE, "another precision", "op counted twice")
    return [
        ranked(one, {SPARSE}) if told and one in doubled and one.explanations[0].error in known else one
        for one in findings
    ]


def _pairs_together(findings: list[Finding]) -> list[Finding]:
    """Peaks that may be of several devices are, where a memory of the same name is: 384 GB are two GPUs of a GB200."""
    several = [one for one in findings if one.is_wrong and SEVERAL in errors_of(one)]
    memories = (one.explanations[0] for one in several if one.quantity == "capacity")
    if len(several) < MANY or not any(SEVERAL in parts_of(first) for first in memories):
        return findings
    return [ranked(one, {SEVERAL}) if one in several else one for one in findings]


def of_other_device(
    group: Sequence[FigureOfTable], findings: Sequence[Finding], identifier: Identifier, devices: Iterable[str]
) -> list[Finding]:
    """The findings of one name; where most of its wrong figures are those of one other device, that is the cause."""
    wrong = [place for place, one in enumerate(findings) if one.is_wrong]
    unknown = [place for place in wrong if not findings[place].explanations]
    if len(wrong) < MANY or not unknown:
        return list(findings)
    vendor = findings[wrong[0]].hardware[0].partition("/")[0]
    of_each = {
        (device, times): {
            place: figure
            for place in wrong
            if (figure := identifier.agreeing(share(group[place].number, times), group[place].asked, device))
        }
        for times in (1, TWO)
        for device in devices
        if device.partition("/")[0] == vendor and device not in findings[wrong[0]].hardware
    }
    source = max(of_each, key=lambda one: len(of_each[one]), default=("", 1))
    found = of_each.get(source, {})
    quantities = {group[place].asked.quantity for place in found}
    if len(found) < MANY or 2 * len(found) <= len(wrong) or len(quantities) < 2 or not found.keys() & set(unknown):
        return list(findings)
    device, times = source
    shared = f"{group[0].name}: {len(found)} figures are those of {'two ' if times > 1 else ''}{device}"
    return [
        _led(one, found[place], times, len(found), shared) if place in found else one
        for place, one in enumerate(findings)
    ]


def _led(finding: Finding, figure: Figure, times: int, number: int, shared: str) -> Finding:
    whose = f"the {figure.says} of {figure.hardware.id}, {figure.shown()}, as are {number} figures of this name"
    error = f"another device + {SEVERAL}" if times > 1 else "another device"
    text = f"is twice {whose}" if times > 1 else f"is {whose}"
    cause = Explanation(error, text, figure.value * times, 1.0, figure)
    others = tuple(one for one in finding.explanations if one.error != error)
    return replace(finding, explanations=(cause, *others), shared=shared)


# ---- of a table


def table_wide(findings: Iterable[Finding], identifier: Identifier) -> list[Finding]:
    """The findings of a table, with what a column or a row has in common as the first cause of its wrong figures."""
    listed = _with_base_clocks(sparse_first(list(findings), identifier))
    copied = dict(_copied(listed))
    return [copied.get(position, one) for position, one in enumerate(listed)]


def _with_base_clocks(findings: list[Finding]) -> list[Finding]:
    """The findings; peaks at the base clock are ambiguous where a column has several, as in tables of lasting rates."""
    at_base = [one.is_wrong and bool(one.explanations) and _is_at_base(one.explanations[0]) for one in findings]
    number = Counter(one.column for one, is_at_base in zip(findings, at_base, strict=True) if is_at_base)
    return [
        replace(one, status="ambiguous", note=f"{one.explanations[0].text}; name the clock", explanations=())
        if is_at_base and number[one.column] >= MANY
        else one
        for one, is_at_base in zip(findings, at_base, strict=True)
    ]


def _is_at_base(first: Explanation) -> bool:
    return first.error == "another clock" and "base clock" in first.text


# ---- of parts


def of_parts(findings: Iterable[Finding]) -> list[Finding]:
    """The findings; those of a part that drivers list as a device, such as a GCD, are right for it.

    They are wrong where another figure of the same name is that of the whole.
    """
    listed = list(findings)
    settled = [one for one in listed if one.status in SETTLED and one.expected]
    whole = {one.device for one in settled if one.expected and one.expected.quantity in _OF_PARTS}
    return [
        replace(one, status="ambiguous", note=f"{one.explanations[0].text}; name the part", explanations=())
        if _is_of_part(one) and one.device not in whole
        else one
        for one in listed
    ]


def _is_of_part(finding: Finding) -> bool:
    first = finding.explanations[0] if finding.is_wrong and finding.explanations else None
    figure = first.figure if first and first.error == "part for whole" else None
    return figure is not None and figure.part is not None and figure.dispute is None


def of_modes(findings: Iterable[Finding]) -> list[Finding]:
    """The findings; a power that a device can be set to, and the clock that its peaks are of, are right for a mode."""
    return [
        replace(one, status="ambiguous", note=f"{one.explanations[0].text}; name it", explanations=())
        if one.is_wrong and one.explanations and _is_of_mode(one.quantity, one.explanations[0])
        else one
        for one in findings
    ]


def _is_of_mode(quantity: str, first: Explanation) -> bool:
    is_peaks = first.figure is not None and first.figure.subject in first.figure.hardware.units
    is_limit = quantity == "tdp" and first.error == "another mode"
    return is_limit or (quantity.startswith("clock") and first.error == "another clock" and is_peaks)


def _copied(findings: Sequence[Finding]) -> Iterator[tuple[int, Finding]]:
    """Position and new finding of each figure in a block of a row that repeats the right figures of another row."""
    right: dict[tuple[str, str], dict[str, Finding]] = defaultdict(dict)
    wrong: dict[str, list[int]] = defaultdict(list)
    for position, one in enumerate(findings):
        if one.is_wrong:
            wrong[one.device].append(position)
        elif one.status == "right" and len(right[one.quantity, one.printed]) < MOST_ALIKE:
            right[one.quantity, one.printed].setdefault(one.device, one)
    for device, positions in wrong.items():
        if len(positions) < MANY:
            continue
        like = {
            position: right.get((findings[position].quantity, findings[position].printed), {}) for position in positions
        }
        times = Counter(other for found in like.values() for other in found if other != device)
        source = max(times, key=times.__getitem__, default="")
        block = {position: found[source] for position, found in like.items() if source in found}
        if len({findings[position].printed for position in block}) >= MANY:
            yield from ((position, _copy(findings[position], of, len(block))) for position, of in block.items())


def _copy(finding: Finding, of: Finding, number: int) -> Finding:
    assert of.expected is not None
    text = f"is that of {of.device} in line {of.line}, as are {number} figures of {finding.device}"
    cause = Explanation("another device", text, of.expected.value, 1.0, of.expected)
    others = tuple(one for one in finding.explanations if one.error != "another device")
    shared = f"{finding.device}: {number} figures are copied from {of.device} in line {of.line}"
    return replace(finding, explanations=(cause, *others), shared=shared)


# ---- digits of a column


def with_digits_of_columns(found: Iterable[FigureOfTable]) -> list[FigureOfTable]:
    """The figures with the digits that count: `.0` is from a program where every number of a column ends with it."""
    listed = list(found)
    texts: dict[str, list[str]] = defaultdict(list)
    for one in listed:
        texts[one.column].append(one.number.text.strip())
    written = {
        name for name, all_of in texts.items() if len(all_of) >= MANY and all(map(_POINT_ZERO.fullmatch, all_of))
    }
    return [_without_zeros(one) if one.column in written else one for one in listed]


def _without_zeros(one: FigureOfTable) -> FigureOfTable:
    zeros = _POINT_ZERO.fullmatch(one.number.text.strip())
    if not zeros or len(zeros[1]) >= LONG:
        return one
    step = one.number.step * 10 ** len(zeros[2])
    return replace(one, number=Printed(one.number.value, step, one.number.text))


# ---- of links


def of_links(findings: Iterable[Finding]) -> list[Finding]:
    """The findings; figures of a column that is of any links are wrong only where the column tells that they are.

    It may be of one direction throughout, or of PCIe or a network in some rows. One direction is wrong beside a right
    figure of the same links.
    """
    listed = list(findings)
    right = [one for one in listed if one.status == "right" and one.quantity == "link"]
    both = {(one.column, one.expected.subject) for one in right if one.expected}
    note = "may be of one direction or of other links; name them in the column, such as 'NVLink (GB/s)'"
    return [
        replace(one, status="not checked", note=note, explanations=())
        if one.is_wrong
        and one.quantity == "link"
        and is_of_links(one.column)
        and not says_which_links(one.column)
        and not _is_told(one, both)
        else one
        for one in listed
    ]


def _is_told(finding: Finding, both: Set[tuple[str, str]]) -> bool:
    """Whether a wrong figure can only be of the links of its device, such as one in binary units."""
    first = finding.explanations[0].error if finding.explanations else ""
    if first == "tebi for tera":
        return True
    if finding.expected and (finding.column, finding.expected.subject) in both:
        return first in ("one direction", "direction counted twice", "another device")
    return is_of_tpus(finding.column) and not _is_share(finding)


def _is_share(finding: Finding) -> bool:
    """Whether a figure may be of some links of a TPU, of one direction, or in bits; programs reach a tenth less.

    One in B/s is not in bits: `ici_bandwidth = 1.6e12`.
    """
    count = finding.expected.ladders[0].factors[0].value if finding.expected else 1.0
    shares = [1.0, 1 / count, 1 / DIRECTIONS, 1 / DIRECTIONS / count]
    shares += [] if finding.note.endswith("taken as B/s") else [8 / DIRECTIONS]
    return any(1 - SHORT_OF_LINKS <= (finding.ratio or 1.0) / share <= 1 + FLOOR for share in shares)


# ---- of whole chips


def of_whole_chips(findings: Iterable[Finding]) -> list[Finding]:
    """The findings; of a chip with CPU cores, a clock is wrong only where it is said to be the GPU's.

    A smaller memory is wrong only where the name of the device states one, as chips are sold with several; a smaller
    cache only where the spec of the device itself states one, as boards have less than their die.
    """
    clock = "may be the clock of its CPU cores; name the column 'GPU clock' if it is not"
    memory = "less than the largest memory that the chip is sold with"
    cache = "less than the die has; the spec does not say what the board has of it"
    excuses = {clock: _may_be_of_cpu, memory: _may_be_smaller, cache: _may_be_cut}
    return [
        replace(one, status="not checked", note=note, explanations=())
        if one.is_wrong and (note := next((text for text, applies in excuses.items() if applies(one)), ""))
        else one
        for one in findings
    ]


def _may_be_cut(finding: Finding) -> bool:
    right, ratio = finding.expected, finding.ratio
    if right is None or right.quantity != "cache" or ratio is None or ratio >= 1:
        return False
    return any(fact.file != right.hardware.file for fact in right.facts)


def _may_be_of_cpu(finding: Finding) -> bool:
    is_clock = finding.quantity.startswith("clock") and "gpu" not in words_of(finding.column)
    return is_clock and finding.expected is not None and _has_cpu_cores(finding.expected.hardware)


def _may_be_smaller(finding: Finding) -> bool:
    right, ratio = finding.expected, finding.ratio
    if right is None or right.quantity != "capacity" or ratio is None or ratio >= 1:
        return False
    return _has_cpu_cores(right.hardware) and without_size(right.hardware.id)[1] is None


def _has_cpu_cores(hardware: Hardware) -> bool:
    """Whether a GPU shares its chip with CPU cores, as those do whose memory is the LPDDR of a whole system."""
    return hardware.kind == "gpu" and any(name.startswith("lpddr") for name in hardware.memories)


# ---- of something else


def of_something_else(findings: Iterable[Finding]) -> list[Finding]:
    """The findings; a wrong figure that is hardly one of the device is not checked.

    These are columns with many figures of one device, which are measurements, totals of several devices, and
    figures without a unit that are far from any of the device for no known cause.
    """
    listed = list(findings)
    if _are_measured(listed):
        note = "no figure of this table is of a spec, and most are below it; taken for measurements"
        return [
            replace(one, status="not checked", note=note, explanations=()) if one.is_wrong else one for one in listed
        ]
    listed = _without_columns_of_others(listed)
    columns: dict[tuple[str, str, str], list[Finding]] = defaultdict(list)
    for one in listed:
        columns[one.device, one.quantity, one.column].append(one)
    measured = {
        key: f"{len({one.printed for one in found})} figures of one device in this column; taken for measurements"
        for key, found in columns.items()
        if len({one.printed for one in found}) > MANY
        and MANY * sum(one.status in SETTLED for one in found) < len(found)
    }
    return [
        replace(one, status="not checked", note=note, explanations=())
        if one.is_wrong and (note := measured.get((one.device, one.quantity, one.column)) or _is_far(one))
        else one
        for one in listed
    ]


def _without_columns_of_others(findings: Sequence[Finding]) -> list[Finding]:
    """The findings; a column of plain bandwidths or memories in which no device has its own is of something else.

    These are links, caches and networks under a name such as `GBps` or `Capacity`.
    """
    columns: dict[str, list[Finding]] = defaultdict(list)
    for one in findings:
        if one.quantity in ("bandwidth", "capacity") and (one.is_wrong or one.status in SETTLED):
            columns[one.column].append(one)
    others = {
        name
        for name, found in columns.items()
        if all(one.is_wrong for one in found)
        and len({one.device for one in found}) >= MANY
        and not is_of_device(name)
        and 2 * sum(not one.explanations for one in found) > len(found)
    }
    note = "no device has its own figure in this column; taken for something else, such as links or caches"
    return [
        replace(one, status="not checked", note=note, explanations=()) if one.column in others and one.is_wrong else one
        for one in findings
    ]


def _are_measured(findings: Iterable[Finding]) -> bool:
    """Whether a table holds measurements: none of a spec, most short of it, by shares that hardly repeat."""
    judged = [one for one in findings if one.is_wrong or one.status in SETTLED]
    ratios = sorted(one.ratio for one in judged if one.is_wrong and one.ratio and one.ratio < 1)
    if any(not one.is_wrong for one in judged) or len(ratios) < max(MOST_SHORT * len(judged), FEWEST_MEASURED):
        return False
    apart = sum(other / one - 1 > FLOOR for one, other in pairwise(ratios))
    return 2 * apart >= len(ratios) and ratios[0] > LEAST_REACHED


def _is_far(finding: Finding) -> str:
    """Why a wrong figure is taken for one of something else; empty where it is not."""
    ratio = finding.ratio or 1.0
    if is_total(finding.column) and ratio > TWO - FLOOR and abs(ratio / round(ratio) - 1) <= FLOOR:
        return f"a total of {round(ratio)} devices"
    thousands = math.log(ratio, 1000)
    is_prefixed = round(thousands) and abs(1000 ** (thousands - round(thousands)) - 1) <= COARSEST
    known = guessed(finding.column)
    is_plain = finding.quantity == "bandwidth" and known is not None and not known.unit
    is_vague = is_plain or "no unit given" in finding.note
    is_guess = not finding.explanations and is_vague and "tdp" not in finding.quantity
    if finding.quantity == "capacity" and not (finding.explanations or is_of_device(finding.column)) and ratio >= TWO:
        return f"{finding.ratio_text} of the device's memory for no known cause; it may be the memory of a machine"
    if finding.quantity == "capacity" and not finding.explanations and ratio < 1 / FAR and not is_prefixed:
        return f"{finding.ratio_text} of the device's memory for no known cause; taken for a cache"
    if is_guess and not is_prefixed and not 1 / FAR < ratio < FAR:
        return f"{finding.ratio_text} of the device's figure for no known cause; taken for a figure of something else"
    return ""
