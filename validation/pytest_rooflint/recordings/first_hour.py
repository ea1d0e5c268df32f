"""The first hour with a device: what is checked and measured, and what it all says.

Figures are in the journal as soon as they are there; a run that was cut is resumed from it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_rooflint.golden import workloads
from pytest_rooflint.recordings import network_runs, runs
from pytest_rooflint.recordings.account import account, share
from pytest_rooflint.recordings.bounds import table_of
from pytest_rooflint.recordings.files import as_seen, identified, slice_of
from pytest_rooflint.recordings.journal import Journal
from pytest_rooflint.recordings.laws import LAWS, LawContext, findings
from pytest_rooflint.recordings.row import RecordedFile, Row, doubt
from rooflint.base.errors import shown
from rooflint.base.facts import Fact
from rooflint.base.text import counted
from rooflint.base.units import BYTES, HERTZ, SECONDS, WATTS, format_quantity, percent
from rooflint.hardware.device import Hardware
from rooflint.hardware.registry import Registry
from rooflint.output.answer import Answer
from rooflint.output.sections import Grid, Prose, Section, Table
from rooflint_measure.record import Gemm, Launch, State, Stream, Unavailable
from rooflint_measure.recording import Machine, Recording
from rooflint_measure.sensors.observer import Observer
from rooflint_measure.stopwatches import products
from rooflint_measure.stopwatches.products import Kernel

NETWORKS = (
    "resnet50", "bert-base", "vit_b_16", "mobilenet_v2", "llama-3.2-1b", "resnet18", "clip-vit-b-32", "swin_t",
    "convnext_tiny", "efficientnet_b0",
)  # fmt: skip
"""Ten: convolutions wide, deep and depthwise, attention over pictures and words, an encoder, a decoder."""
PROMPT = 128
"""New tokens of the language models. [1]"""
WAITS_S = (20e-6, 1e-3)
RESERVED = 0.05
"""Of the budget, for the checks and the account. [1]"""
GRACE_S = 10.0
"""A call that has not returned so long after the time for measuring never will; a product on a busy CPU does. [s]"""

# ---- Checks


@dataclass(frozen=True)
class Check:
    """Something that can spoil figures, and how it is."""

    name: str
    is_good: bool | None
    """None where it is not known."""
    text: str

    @property
    def cells(self) -> tuple[str, str, str]:
        """Of a table."""
        return self.name, {True: "good", False: "look", None: "not known"}[self.is_good], self.text


def checks(machine: Machine, state: State, others: str | Unavailable, old_driver: str = "") -> list[Check]:
    """What the driver and the system say before anything runs."""
    facts, found = machine.facts, [_others(others)]
    if machine.kind == "gpu":
        driver = next((f"{name} {value}" for name, value in machine.software.items() if "driver" in name), "")
        found.append(Check("driver", not old_driver if driver else None, old_driver or driver or "was not read"))
        found += [_limit(facts), _ecc(facts), _mig(facts), _persistence(facts)]
    return [*found, _throttle(state), _clock(facts, state), _heat(state)]


def _others(others: str | Unavailable) -> Check:
    if isinstance(others, Unavailable):
        return Check("neighbours", None, others.reason)
    return Check("neighbours", not others, others or "nothing else runs")


def _limit(facts: Mapping[str, Any]) -> Check:
    now, default = (facts.get(name) for name in ("power limit W", "default power limit W"))
    if not isinstance(now, float) or not isinstance(default, float):
        return Check("power limit", None, "was not read")
    if now < default:
        return Check("power limit", False, f"{now:g} W are set, and {default:g} W are the default: rates will be lower")
    return Check("power limit", True, f"{now:g} W")


def _ecc(facts: Mapping[str, Any]) -> Check:
    on = facts.get("ecc")
    text = {True: "on", False: "off: bandwidth on GDDR memory is higher than with it"}
    return Check("ECC", None if on is None else True, text.get(bool(on), "") if on is not None else "was not read")


def _mig(facts: Mapping[str, Any]) -> Check:
    part = facts.get("mig slice")
    if part:
        return Check("MIG", False, f"a slice, {part}: it has no meter, and peaks of the whole GPU do not apply")
    on = facts.get("mig")
    return Check("MIG", None if on is None else not on, "was not read" if on is None else "on" if on else "off")


def _persistence(facts: Mapping[str, Any]) -> Check:
    on = facts.get("persistence")
    text = "off: the first call waits for the driver, which is warm-up" if on is False else "on"
    return Check("persistence", None if on is None else True, "was not read" if on is None else text)


def _throttle(state: State) -> Check:
    if isinstance(state.throttle, Unavailable):
        return Check("throttling", None, state.throttle.reason)
    return Check("throttling", not state.throttle, ", ".join(state.throttle) or "nothing holds the clock back")


def _clock(facts: Mapping[str, Any], state: State) -> Check:
    if isinstance(state.clock_hz, Unavailable):
        return Check("clock", None, state.clock_hz.reason)
    most = facts.get("max SM clock MHz")
    upper = f" of at most {most} MHz" if most else ""
    return Check("clock", True, f"{format_quantity(state.clock_hz, HERTZ)}{upper} ({state.clock_source})")


def _heat(state: State) -> Check:
    if isinstance(state.temperature_c, Unavailable):
        return Check("temperature", None, state.temperature_c.reason)
    return Check("temperature", state.temperature_c < HOT_C, f"{state.temperature_c:g} °C")


HOT_C = 80.0
"""A device that is so hot before it does anything will throttle soon. [°C]"""


# ---- What is measured


def everything(request: runs.Request, results: runs.Results, names: Sequence[str] = NETWORKS) -> None:
    """All steps, what says most about a device first; networks get what is left of the budget."""
    each = replace(request, seconds=min(request.seconds, max(1.0, results.budget_s / 360)))
    steps: tuple[tuple[float, Callable[[], None]], ...] = (
        (0.05, lambda: runs.waits(each, WAITS_S, results)),
        (0.35, lambda: runs.gemms(each, results)),
        (0.45, lambda: runs.streams(each, results)),
        (0.5, lambda: runs.launches(each, results)),
        (0.6, lambda: runs.gpu_anchors(each, results)),
    )
    results.in_steps(steps)
    cuda = request.device.startswith("cuda")
    modes = ("eager", "graph", "channels_last", "compile") if cuda else ("eager", "channels_last", "compile")
    wanted = request.precisions or _multiplied(products.kernels(request.device), cuda=cuda)
    prompt = PROMPT if any(map(network_runs.is_text, names)) else None
    sweep = network_runs.Sweep(tuple(names), (1, 32) if cuda else (1, 8), modes, prompt=prompt)

    def run_networks() -> None:
        measured = [one.subject for one in results.measurements if isinstance(one.subject, Gemm)]
        is_open = request.precisions or results.counting
        chosen = wanted if is_open else _multiplied(measured, cuda=cuda)
        network_runs.networks(replace(each, precisions=chosen), sweep, results)
        for name in wanted:
            if name not in chosen:
                labels = [one.label for one in network_runs.cases(replace(each, precisions=(name,)), sweep)]
                results.leave_out(labels, f"no product in {name} was measured", f"networks in {name}")

    results.take(run_networks)


def _multiplied(found: Sequence[Gemm] | Sequence[Kernel], *, cuda: bool) -> tuple[str, ...]:
    """Precisions that there are products in, of those that networks run in, the widest first; fp32 without any."""
    wanted = ("tf32", "fp16", "bf16", "fp32") if cuda else ("fp32", "bf16")
    having = {one.precision for one in found}
    return tuple(name for name in wanted if name in having) or ("fp32",)


def watched(observer: Observer, tell: Callable[[str], None]) -> Callable[[str], None]:
    """Progress that also tells when others come onto the device, and when its power limit is changed."""
    neighbours, limit = "", observer.state().power_limit_w

    def look(name: str) -> None:
        nonlocal neighbours, limit
        found, now = observer.others(), observer.state().power_limit_w
        others = "" if isinstance(found, Unavailable) else found
        if bool(others) != bool(neighbours):
            tell(f"neighbours: {others or 'gone'} (before {name})")
        if not isinstance(now, Unavailable) and now != limit:
            tell(f"power limit: {format_quantity(now, WATTS)} (before {name})")
            limit = now
        neighbours = others

    return look


# ---- Facts that the registry lacks, or has otherwise


@dataclass(frozen=True)
class Proposal:
    """A fact as a spec would have it, of grade `device`."""

    path: str
    """`memories.hbm3.capacity`"""
    value: str
    where: str
    spec: Fact | None = None
    ratio: float | None = None
    """Measured over the spec's."""

    @property
    def line(self) -> str:
        """Of YAML."""
        return f'{self.path}: [{self.value}, device, "{self.where}"]'


AGREES = 0.1
"""A device's own figure confirms a fact within this; firmware keeps a share of a memory. [1]"""


def proposals(recording: Recording, properties: Mapping[str, float], hardware: Hardware | None) -> list[Proposal]:
    """Facts that the driver or a stopwatch reports: those that a spec lacks, and those that it has otherwise.

    `properties` by name: `memory`, `l2` [B], `groups`, `limit` [W], `clock` [Hz].
    """
    have: Mapping[str, Fact] = hardware.facts if hardware else {}
    found = []
    for name, value in {**properties, **_launch(recording)}.items():
        path, unit, where = _PATHS[name]
        fitting = [fact for key, fact in have.items() if _fits(key, path)]
        near = min(fitting, key=lambda fact: abs(fact.value / value - 1), default=None)
        text = f"{value:g}" if unit is None else format_quantity(value, unit)
        if near is None or abs(near.value / value - 1) > AGREES:
            found.append(Proposal(path, text, where, near, value / near.value if near and near.value else None))
    return found


_PATHS: Mapping[str, tuple[str, Any, str]] = {
    "memory": ("memories.*.capacity", BYTES, "total memory, as the driver reports it"),
    "l2": ("caches.l2.capacity", BYTES, "L2 cache, as the driver reports it"),
    "groups": ("units.*.groups", None, "multiprocessors, as the driver reports them"),
    "limit": ("tdp", WATTS, "default power limit, as the driver reports it"),
    "clock": ("clocks.boost", HERTZ, "highest clock, as the driver reports it"),
    "launch": ("launch_overhead", SECONDS, "time of an op on one element, one launch after the other"),
}


def _fits(key: str, path: str) -> bool:
    """`memories.hbm3.capacity` fits `memories.*.capacity`."""
    parts, wanted = key.split("."), path.split(".")
    return len(parts) == len(wanted) and all(two in ("*", one) for one, two in zip(parts, wanted, strict=True))


def _launch(recording: Recording) -> dict[str, float]:
    times = [
        one.samples.best_s
        for one in recording.measurements
        if isinstance(one.subject, Launch) and one.subject.way == "stream"
    ]
    return {"launch": min(times)} if times and recording.machine.kind == "gpu" else {}


def properties(machine: Machine, device: str, torch: Any = None) -> dict[str, float]:
    """Sizes of a device as its driver reports them; for a CPU none, which specs describe by their own names."""
    found: dict[str, float] = {}
    if machine.kind != "gpu":
        return found
    if torch is not None and device.startswith("cuda"):
        told = torch.cuda.get_device_properties(device)
        names = {"memory": "total_memory", "l2": "L2_cache_size", "groups": "multi_processor_count"}
        found |= {name: float(value) for name, key in names.items() if (value := getattr(told, key, 0))}
    facts = machine.facts
    if isinstance(limit := facts.get("default power limit W"), float):
        found["limit"] = limit
    if isinstance(clock := facts.get("max SM clock MHz"), int):
        found["clock"] = clock * 1e6
    return found


# ---- Claims: the laws, and the figures that would be reviewed


@dataclass(frozen=True)
class Held:
    """A law on the recording."""

    law: str
    kept: int
    broken: tuple[str, ...]
    """`name: reason`"""
    silent: int
    disturbed: int

    @property
    def cells(self) -> tuple[str, str, str, str, str]:
        """Of a table."""
        state = "fails" if self.broken else "holds" if self.kept else "undecided" if self.disturbed else "silent"
        return self.law, state, str(self.kept), str(len(self.broken)), str(self.silent + self.disturbed)


def laws(recording: Recording, hardware: Hardware, registry: Registry) -> list[Held]:
    """Each law that no stopwatch can contradict, on every measurement."""
    rows = recorded_rows(recording)
    context = LawContext(
        hardware=hardware,
        registry=registry,
        networks=lambda one: table_of(
            one, lambda name, batch: workloads.build({"network": f"torchvision/{name}", "batch": batch})
        ),
    )
    found = []
    for name, law in LAWS.items():
        if law.compares:  # wants a tolerance that a person states
            continue
        looked = [*findings(rows, law, context)]
        broken = tuple(_broken(one) for one in looked if one.state == "breaks")
        counts = {state: sum(one.state == state for one in looked) for state in ("keeps", "silent", "disturbed")}
        found.append(Held(name, counts["keeps"], broken, counts["silent"], counts["disturbed"]))
    return found


def _broken(one: Any) -> str:
    cause = f"; {one.causes[0].text}" if one.causes and one.causes[0].text != one.text else ""
    return f"{one.row.measurement.name}: {one.text}{cause}"


def claims(recording: Recording, hardware: Hardware) -> list[str]:
    """Claims of a golden file over the recording, for a person to review; bands of undisturbed figures alone."""
    lines = [f"{{measured: {name}}}" for name, law in LAWS.items() if not law.compares]
    best: dict[str, float] = {}
    for one in recorded_rows(recording):
        row = one.measurement
        if isinstance(row.subject, Gemm | Stream) and (attained := share(row, hardware)) and not doubt(one):
            words = f"gemm {row.subject.precision}" if isinstance(row.subject, Gemm) else f"stream {row.subject.kernel}"
            best[words] = max(best.get(words, 0.0), attained)
    lines += [f"{{efficiency: {words}, expect: {percent(attained)}}}" for words, attained in best.items()]
    return lines if best else [*lines, "no efficiency: every product and pass was disturbed; measure again"]


def recorded_rows(recording: Recording) -> tuple[Row, ...]:
    """Its measurements, before it is a file."""
    return tuple(RecordedFile(Path("this recording"), recording, (1,) * len(recording.measurements)).rows())


# ---- The account


def told(
    recording: Recording,
    hardware: Hardware | None,
    registry: Registry,
    checked: Sequence[Check],
    proposed: Sequence[Proposal],
    events: Sequence[str] = (),
    stopped: str = "",
) -> Answer:
    """Everything that the first hour says, also of one that stopped early, for a reason."""
    whole = account(recording, hardware, drawn=True)
    rehearsed = recording.machine.kind == "cpu"
    listed = {
        "checked": [one.cells for one in checked],
        "proposed": [one.line for one in proposed],
        "events": [*events],
        "stopped": stopped,
    }
    title = f"The first hour with {recording.machine.device}"
    note = "A rehearsal on a CPU: no GPU was asked for anything. " if rehearsed else ""
    note += f"Not complete: {stopped}. " if stopped else ""
    return replace(
        whole,
        title=f"{title}{' (a rehearsal on a CPU)' if rehearsed else ''}",
        subtitle=f"{note}{whole.subtitle}",
        sections=(
            *(
                [Grid("Checks", Table(("what", "state", "found"), tuple(one.cells for one in checked)))]
                if checked
                else []
            ),
            *([Prose("Meanwhile", tuple(events))] if events else []),
            *_of_laws(recording, hardware, registry),
            *_of_facts(proposed, hardware, recording),
            *whole.sections,
        ),
        record={**whole.record, "first_hour": listed} if isinstance(whole.record, dict) else whole.record,
    )


def _of_laws(recording: Recording, hardware: Hardware | None, registry: Registry) -> Iterator[Section]:
    if hardware is None:
        yield Prose(
            "Claims",
            (
                f"The registry has no device named '{recording.machine.device}', so no claim can be judged",
                "Describe it first: docs/adding-hardware.md; the facts below are a beginning",
            ),
        )
        return
    held = laws(recording, as_seen(hardware, recording.machine), registry)
    columns = ("law", "state", "kept by", "broken by", "undecided")
    yield Grid("Claims", Table(columns, tuple(one.cells for one in held)), f"judged on {hardware.id}")
    if reasons := [reason for one in held for reason in one.broken]:
        yield Prose("Why they fail", tuple(dict.fromkeys(reasons)))
    if part := slice_of(hardware, recording.machine):
        what = f"These are {part[0]} of its {counted(part[1], 'core')}: describe them as a device of their own first"
        yield Prose("Claims to propose", (what, "As amd/epyc-zen5-2vcpu is described; see docs/adding-hardware.md"))
        return
    named = identified(recording.machine, registry) is not None
    machine = () if named else (f"machine: {recording.machine.device}",)
    text = (f"For golden/measured/{hardware.id}.yaml, after a review:", *machine, *claims(recording, hardware))
    yield Prose("Claims to propose", text)


def _of_facts(proposed: Sequence[Proposal], hardware: Hardware | None, recording: Recording) -> Iterator[Section]:
    name, taken = recording.machine.device, recording.taken
    if not proposed:
        known = hardware.id if hardware else "this kind of device"
        yield Prose("Facts to propose", (f"Nothing that the driver reports is missing in {known} or contradicts it",))
        return
    lines = []
    for one in proposed:
        other = (
            f" (the spec has {one.spec.display}, and this is {one.ratio:.3g} times as much)"
            if one.spec and one.ratio
            else ""
        )
        lines.append(f"{one.line}{other}")
    what = f"{counted(len(proposed), 'fact')} of grade device, for {hardware.id if hardware else 'a new spec'}:"
    source = f'sources: {{device: {{document: "Driver and stopwatches of one {name}, {taken:%B %Y}", grade: device}}}}'
    yield Prose("Facts to propose", (what, source, *lines))


def lost(results: runs.Results, journal: Journal) -> str:
    """What to do after a run that stopped early; empty where it did not."""
    if not results.stopped or "for measuring were spent" in results.stopped:
        return ""
    return f"{results.stopped}; {kept(journal)}"


def kept(journal: Journal) -> str:
    """`12 figures are kept in first-hour-cuda.jsonl: the same command goes on from there`, and the other way."""
    count = len(journal.measurements)
    figures = f"{counted(count, 'figure')} {'is' if count == 1 else 'are'} kept in {shown(journal.file)}"
    return f"{figures}: the same command goes on from there, and with --finish it writes the recording without the rest"


def resumed(
    results: runs.Results, journal: Journal, progress: Callable[[str], None], tell: Callable[[str], None]
) -> None:
    """Take over what a journal has, and keep in it what follows."""
    for name, why in journal.ended.items():
        journal.keep(name, why)
    results.measurements += journal.measurements.values()
    results.left_out |= journal.left_out
    results.done = frozenset(journal.measurements) | frozenset(journal.left_out)
    results.keep = journal.keep

    def changed(event: str) -> None:
        journal.tell(event)
        tell(event)

    look = watched(results.observer, changed)

    def begun(name: str) -> None:
        look(name)
        progress(name)

    results.progress, results.begin = begun, journal.begin
