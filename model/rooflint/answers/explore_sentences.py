"""What an answer to `rooflint explore` says in sentences: what buys most, and what is not modelled or left out."""

from collections.abc import Iterator, Sequence

import numpy as np

from rooflint.answers.insights import caveats
from rooflint.base.text import counted
from rooflint.base.units import percent
from rooflint.hardware.device import Hardware
from rooflint.prediction.comparison import HOLDS
from rooflint.prediction.explore import BOUNDS, LAUNCH, NUDGE, PRICE, SAME, Design, Exploration, Objective, Sensitivity
from rooflint.prediction.space import Parameter, significant

NOTHING = 0.005
"""An elasticity below it is said to buy nothing: 1 % more of the fact moves the figure by less than 0.005 %."""

WAITED = {"compute": "arithmetic", "memory": "memory", "launch": "kernel launches"}


def change_text(slope: float) -> str:
    """`−0.71 %`: an elasticity as what 1 % more changes."""
    return f"{slope:+.2f} %".replace("-", "−") if abs(slope) >= NOTHING else "0 %"


def insights(found: Exploration) -> Iterator[str]:
    """What the base waits for, what each fact buys, where the bound turns, and how many variants are better."""
    yield _waits(found)
    for place, one in enumerate(found.sensitivities):
        if one.axis.parameter.name != PRICE or "cost" in one.elasticities:
            yield _buys(found, one, most=not place)
        if len(one.turns) > 1:
            yield _turns(one)
    yield from _of_set(found)


def _waits(found: Exploration) -> str:
    """What the base waits for, and whether anything that varies shortens it."""
    total = found.base.waits_s.sum(axis=(1, 2))
    shares = sorted(zip((total / total.sum()).tolist(), BOUNDS, strict=True), reverse=True)
    text = ", ".join(f"{percent(share)} for {WAITED[bound]}" for share, bound in shares if share > 0)
    launches = total[BOUNDS.index("launch")] / total.sum()
    helped = LAUNCH in [one.name for one in found.design.parameters]
    return f"The latency of the base waits {text}{_shorter(found) if launches > 0.5 and not helped else ''}"


def _shorter(found: Exploration) -> str:
    """What makes launches shorter or fewer, besides what is done already."""
    setting = found.design.runs[0].setting
    ways = [f"--vary {LAUNCH}", *["--launch graph"] * (setting.launch == "stream"), *["--fuse"] * (not setting.fuse)]
    return f"; what shortens launches: {', '.join([*ways, 'a larger batch'])}"


def _buys(found: Exploration, one: Sensitivity, *, most: bool) -> str:
    name, slopes = one.axis.parameter.name, one.elasticities
    felt = [each for each in found.design.figures if abs(np.nan_to_num(slopes[each.name])) >= NOTHING]
    unknown = _unknown(found, one)
    if not felt and not unknown:
        return f"{name} buys nothing at the base: 1 % more moves no figure by {NOTHING} % or more"
    if not felt:
        still = [each.name for each in found.design.figures if not np.isnan(slopes[each.name])]
        moved = f"; 1 % more moves {' and '.join(still)} by less than {NOTHING} %" if still else ""
        return f"{name}: {unknown}{moved}"
    moves = ", ".join(f"{each.name} by {change_text(slopes[each.name])}" for each in felt)
    first = found.design.figures[0]
    ranked = len(found.sensitivities) > 1 and not any(
        np.isnan(at.elasticities[first.name]) for at in found.sensitivities
    )
    lead = f"; no other fact here moves {first.name} more" if most and ranked and first in felt else ""
    return f"{name}: 1 % more changes {moves}{lead}{f'; {unknown}' if unknown else ''}"


def _unknown(found: Exploration, one: Sensitivity) -> str:
    """`what ±1 % does to energy is not known`; empty where all elasticities are known."""
    names = [each.name for each in found.design.figures if np.isnan(one.elasticities[each.name])]
    return f"what ±{_nudge(one.axis.parameter)} does to {' and '.join(names)} is not known" if names else ""


def _nudge(one: Parameter) -> str:
    """`1 %`; of a count at least `1`."""
    return f"{one.around(NUDGE)[1] - one.base:g}" if one.kind.whole else percent(NUDGE)


def _turns(one: Sensitivity) -> str:
    """`memory.bandwidth: memory-bound up to 4 TB/s, launch-bound from 5 TB/s on`."""
    show, values = one.axis.parameter.show, [value for value, _ in one.bounds]
    parts = []
    for place, (value, bound) in enumerate(one.turns):
        last = place + 1 == len(one.turns)
        end = "" if last else values[values.index(one.turns[place + 1][0]) - 1]
        parts.append(f"{bound}-bound from {show(value)} on" if last else f"{bound}-bound up to {show(float(end))}")
    return f"{one.axis.parameter.name}, while the others stay: {', '.join(parts)}"


def _of_set(found: Exploration) -> Iterator[str]:
    design = found.design
    better = found.eligible.copy()
    for one in design.objectives:
        sign = 1 if one.less_is_better else -1
        figures, base = (significant(of.of(one.name), SAME) for of in (found.figures, found.base))
        better &= sign * figures < sign * base
    count = int(better.sum())
    if len(design.objectives) > 1 and design.objectives == design.figures and found.eligible.any():
        all_of = counted(int(found.eligible.sum()), "eligible variant")
        yield f"{count} of {all_of} {'is' if count == 1 else 'are'} better than the base in every objective"
    if len(found.front) == 1 and design.objectives == design.figures and len(design.space) > 1:
        alike = found.alike[0]
        best = "One variant is" if alike == 1 else f"{alike} equal variants are"
        yield f"{best} best in every objective{_to_trade(found)}"


def _to_trade(found: Exploration) -> str:
    """What to minimise besides, where more of a fact is better: it costs nothing here."""
    first = found.design.figures[0]
    sign = 1 if first.less_is_better else -1
    useful = [one.axis.parameter.name for one in found.sensitivities if sign * one.elasticities[first.name] < -NOTHING]
    if not useful:
        return ""
    why = "because more of a fact costs nothing here. To see what it buys, minimise the fact as well"
    less, more = ([one.name for one in found.design.objectives if one.less_is_better is way] for way in (True, False))
    maximise = f"--maximise {','.join(more)} " if more else ""
    return f", {why}: {maximise}--minimise {','.join([*less, useful[0]])}"


# ---- limitations


def cost_basis(design: Design) -> str | None:
    """What costs are of, and at which price; None where no price is known."""
    if design.tariff is None:
        return None
    varies = any(one.name == PRICE for one in design.parameters)
    return design.tariff.says_of_variants if varies else design.tariff.says


def limitations(found: Exploration, plotted: Sequence[Objective] = ()) -> Iterator[str]:
    """What stays although facts vary, what moves with them, what is left out, and the caveats of the base."""
    design = found.design
    yield _unmodelled(design.base, {one.name for one in design.parameters})
    yield from (one.note for one in design.parameters if one.note)
    yield from _left_behind(found)
    yield from _larger_dies(found)
    if design.tariff and any(one.name == "cost" for one in (*design.objectives, *plotted)):
        yield f"cost: {cost_basis(design)}"
    for why, count in found.excluded.items():
        yield f"{count} of {counted(len(design.space), 'variant')} left out: {why}"
    yield from _misses(found)
    if any(one.prediction.silicon for one in design.predictions):
        yield "kernel times are fitted to GPUs that exist; how well they hold for others is not known"
    yield from caveats(design.predictions)


def _misses(found: Exploration) -> Iterator[str]:
    """How close a variant comes to each requirement that none meets."""
    for each in found.design.wanted:
        values = found.figures.columns[each.criterion.name]
        worst = values.max(axis=0) if each.sign.startswith("<") else values.min(axis=0)
        if not HOLDS[each.sign](worst, each.limit).any() and not np.isnan(worst).all():
            best = np.nanmin(worst) if each.sign.startswith("<") else np.nanmax(worst)
            known = f" whose {each.criterion.name} is known" if np.isnan(worst).any() else ""
            yield f"no variant{known} has {each.text} in every run; the closest has {each.criterion.shown(float(best))}"


def _unmodelled(base: Hardware, varied: set[str]) -> str:
    stays = ["die area", "yield", *["price"] * (PRICE not in varied), *["rated power (TDP)"] * ("tdp" not in varied)]
    share_of_rated = "tdp" in varied and "powers.idle" not in base.facts
    more = ["idle power"] * ("powers.idle" not in varied and not share_of_rated)
    stays += [*more, "voltage", *["the energies of an operation and of a byte"] * ("process" not in varied)]
    what = f"{', '.join(stays[:-1])} and {stays[-1]} stay as they are"
    return f"These devices do not exist. Only the varied facts differ from {base.label}: {what}"


def _left_behind(found: Exploration) -> Iterator[str]:
    """Counts and clocks of units in the same groups that do not move with those that do."""
    base, read = found.design.base, found.design.all_read
    moved = dict.fromkeys(path for one in found.design.parameters for path in one.shares)
    for path in moved:
        _, _, rest = path.partition("units.")
        unit, _, key = rest.partition(".")
        if key not in ("groups", "clock"):
            continue
        group = base.unit_groups[unit]
        others = [f"units.{name}.{key}" for name, its in base.unit_groups.items() if its == group]
        left = [other for other in others if other in read and other not in moved]
        if left:
            stays = " and ".join(f"{other} stays {base.facts[other].display}" for other in left)
            yield f"{path} varies alone: {stays}; {group}.{key} varies them together"


def _larger_dies(found: Exploration) -> Iterator[str]:
    base = found.design.base
    for axis in found.design.space.axes:
        for path, share in axis.parameter.shares.items():
            _, _, rest = path.partition("units.")
            full = base.full_groups(base.unit_groups[rest.partition(".")[0]]) if rest.endswith(".groups") else None
            if full and axis.values[-1] * share > full.result:
                most = f"{axis.values[-1] * share:g} {base.unit_groups[rest.partition('.')[0]]}"
                yield f"{most} take a larger die than that of the base, which has {full.formula}"
                break
