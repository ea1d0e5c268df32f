"""The answer to `rooflint tdp registry`: which devices can run at their printed peak within their printed power."""

from collections.abc import Iterator, Sequence

from rooflint.answer import Answer, Bars, Grid, Prose, Section
from rooflint.answers.tdp_registry_detail import detail, ends, hardest, interval_bar, ratio_shown, watts
from rooflint.answers.tdp_registry_record import LISTING, counted, listed, record
from rooflint.hardware import UnsupportedError
from rooflint.processor import working_units
from rooflint.sustained import VERDICTS, NotKnown, Sustained
from rooflint.table import Table

SCHEMA = "rooflint.tdp.registry/1"
COLUMNS = ("device", "precision", "limit", "typical", "ratio", "low … high", "verdict")
MOST_BARS = 12
"""More would be a wall."""
MOST_NAMES = 8
"""Of loads that are not known; devices of which nothing is known are all named."""

CAVEATS = (
    "Low: published arithmetic alone, memory and idle power at their lowest; high: the whole datapath, all at its "
    "highest",
    "Not counted: instructions, memory on the chip, links, fans; lanes with instructions of their own are never said "
    "to sustain",
    "Units compute one kind at a time, at their dense peak; memory streams at its full bandwidth",
    "Power goes with the clock; voltage is not modelled",
)

Found = Sustained | NotKnown


def answer(found: Sequence[Found], precision: str = "", unit: str = "") -> Answer:
    """Loads with what they take, and those of which nobody can tell, with reasons."""
    able = [one for one in found if isinstance(one, Sustained)]
    missing = [one for one in found if isinstance(one, NotKnown)]
    worst = hardest_loads(able)
    return Answer(
        title=_title(worst, found),
        subtitle=f"the printed peak within the printed power{f', {precision}' if precision else ''}",
        sections=tuple(_sections(able, worst, missing)),
        record={
            "schema": SCHEMA,
            "precision": precision or None,
            "unit": unit or None,
            "verdicts": counted(able),
            "loads": [record(one) for one in able],
            "not_known": [record(one) for one in missing],
            "caveats": list(CAVEATS),
        },
        listing=Table(LISTING, tuple(listed(one) for one in found)),
    )


def hardest_loads(able: Sequence[Sustained]) -> list[Sustained]:
    """Of each device at each point the load that is hardest to sustain; highest typical ratio first."""
    by_device: dict[str, list[Sustained]] = {}
    for one in able:
        by_device.setdefault(one.load.device, []).append(one)
    return sorted((hardest(several) for several in by_device.values()), key=lambda one: -one.ratio)


def _title(worst: Sequence[Sustained], found: Sequence[Found]) -> str:
    points = len({one.load.device if isinstance(one, Sustained) else one.device for one in found})
    if points > 1 or not worst:
        return f"Power of {len(worst)} of {points} device{'' if points == 1 else 's'}"
    return f"Power of {worst[0].load.device}"


def _sections(able: Sequence[Sustained], worst: Sequence[Sustained], missing: Sequence[NotKnown]) -> Iterator[Section]:
    if len(worst) == 1:
        yield Prose("Verdict", (said(worst[0]), lowest(worst[0])))
        yield from detail(able)
    elif worst:
        yield Prose("Verdicts", tuple(told(worst)))
        yield _table(worst)
        bars = tuple(interval_bar(one.load.device, one) for one in worst[:MOST_BARS])
        yield Bars("Power over the limit", bars, "1 is the limit; the highest typical ratios")
    if unknown := (*_grouped(missing), *_left_out(worst)):
        yield Prose("Not known", unknown)
    yield Prose("How to read it", CAVEATS)


def said(one: Sustained) -> str:
    """The verdict in a sentence."""
    subject = f"{one.load.unit} {one.load.precision} of {one.load.device}"
    return (
        f"{subject}: {one.verdict} at its peak; typically {watts(one.typical_w)} of {watts(one.limit_w)}, "
        f"{ratio_shown(one.ratio)} of the limit ({ends(one)})"
    )


def lowest(one: Sustained) -> str:
    """What its lowest power is made of, so that a reader sees what a verdict hangs on."""
    parts = [f"{power.name} {watts(power.low_w)} ({power.each.grade})" for power in one.powers if power.low_w]
    return f"At the least {watts(one.low_w)}: {', '.join(parts)}"


def told(worst: Sequence[Sustained]) -> Iterator[str]:
    """How often each verdict was given, and how many of the undecided are typically above the limit."""
    count = counted(worst)
    of_all = ", ".join(f"{verdict} {count[verdict]}" for verdict in VERDICTS)
    yield f"Of the hardest loads of {len(worst)} devices and modes: {of_all}"
    above = sum(one.ratio > 1 for one in worst if one.verdict == "undecided")
    if count["undecided"]:
        yield f"Of the {count['undecided']} undecided the typical power of {above} is above the limit"


def _table(worst: Sequence[Sustained]) -> Grid:
    rows = tuple(
        (
            one.load.device,
            _precision(one),
            watts(one.limit_w),
            watts(one.typical_w),
            ratio_shown(one.ratio),
            ends(one),
            one.verdict,
        )
        for one in worst
    )
    note = "of each device the load that is hardest to sustain; csv and json have all"
    return Grid("Devices", Table(COLUMNS, rows), note)


def _precision(one: Sustained) -> str:
    """With the unit where a network would not run on it: another processor of a module."""
    try:
        own = {unit.name for unit in working_units(one.load.hardware, one.load.precision)}
    except UnsupportedError:
        own = set()
    names = {unit.name for unit in one.load.units}
    return one.load.precision if names <= own else f"{one.load.precision} {one.load.unit}"


def _grouped(missing: Sequence[NotKnown]) -> Iterator[str]:
    """Equal reasons once, with all devices that they are given for; of loads of many devices their number."""
    for reason, of_load in dict.fromkeys((one.reason, one.load is not None) for one in missing):
        names = dict.fromkeys(one.device for one in missing if (one.reason, one.load is not None) == (reason, of_load))
        counted_only = of_load and len(names) > MOST_NAMES
        yield f"{reason}: {f'{len(names)} devices' if counted_only else ', '.join(names)}"


def _left_out(worst: Sequence[Sustained]) -> Iterator[str]:
    for reason in dict.fromkeys(reason for one in worst for reason in one.left_out):
        yield f"{reason}: {', '.join(one.load.device for one in worst if reason in one.left_out)}"
