"""Watched predictions: figures that a project wants to see after each run, and what they were in a base.

    [tool.pytest.ini_options]
    rooflint_watch = ["resnet50 int8 b1 @ jetson-agx-orin-64gb"]

A prediction is made as `rooflint compare resnet50 -p int8 -b 1 -d jetson-agx-orin-64gb` makes it.
"""

import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_rooflint.history.side import Specs
from pytest_rooflint.history.summary import span
from rooflint.api.predictions import setting
from rooflint.base.errors import ExpandedNameWarning, InputError, Problem, RooflintError
from rooflint.base.precision import precision
from rooflint.base.project import project, texts
from rooflint.base.suggestions import did_you_mean, nearest
from rooflint.base.text import workflow_command
from rooflint.base.units import SECONDS, format_quantity
from rooflint.hardware.names import select_device
from rooflint.prediction.comparison import compare
from rooflint.prediction.predict import Prediction
from rooflint.workloads.tables import load_workload, workload_ids
from rooflint_report.differences import Watched

OPTION = "rooflint_watch"
NOTABLE = 0.1
"""Move from which a CI run notifies of it. [1]"""

_FORM = re.compile(r"(?P<network>\S+)\s+(?P<precision>\S+)\s+b(?P<batch>[1-9]\d{0,5})\s+@\s*(?P<device>\S.*)")
_EXAMPLE = "NETWORK PRECISION bBATCH @ DEVICE, such as 'resnet50 int8 b1 @ jetson-agx-orin-64gb'"
_VISION = "torchvision/"


@dataclass(frozen=True)
class Watch:
    """A prediction that a project asks for, with the names that it has in the specs."""

    network: str
    precision: str
    batch: int
    device: str
    at: str | None

    def __str__(self) -> str:
        """`resnet50 int8 b1 @ nvidia/jetson-agx-orin-64gb@30w`."""
        at = f"@{self.at}" if self.at else ""
        return f"{self.network.removeprefix(_VISION)} {self.precision} b{self.batch} @ {self.device}{at}"

    def predicted(self, side: Specs) -> Prediction:
        """The prediction of the batch in some specs. Raises RooflintError where they do not know it."""
        hardware = side.registry.get(self.device)
        work = load_workload(self.network, side.tables).at_batch(self.batch)
        placed = hardware.at(self.at) if self.at else hardware
        (one,) = compare([placed], work, side.energies, setting(self.precision)).contenders
        return one.prediction


def watched(head: Specs, base: Specs | None = None, file: Path | None = None) -> list[Watched]:
    """The predictions that a project asks for, in its order; `file` is the one that configures pytest.

    Raises InputError with file and line for what cannot be read and for names that the head does not know.
    """
    return [_record(one, head, base) for one in watches(head, file)]


def watches(side: Specs, file: Path | None = None) -> list[Watch]:
    """What `rooflint_watch` asks for, each once. Raises InputError with every problem."""
    file = file or project()
    found: dict[Watch, None] = {}
    problems = []
    for text, line in texts(OPTION, file):
        try:
            found[_parsed(text, side)] = None
        except InputError:  # of a spec that cannot be read, which is told without this
            continue
        except RooflintError as error:
            problems.append(Problem(file, line, f"{OPTION}: {error}"))
    if problems:
        raise InputError(problems)
    return list(found)


def _parsed(text: str, side: Specs) -> Watch:
    words = _FORM.fullmatch(text.strip())
    if words is None:
        raise RooflintError(f"want {_EXAMPLE}, found '{text}'")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExpandedNameWarning)  # the id is shown
        hardware = select_device(side.registry, words["device"].strip())
    name = precision(words["precision"]).name
    return Watch(_network(words["network"], side), name, int(words["batch"]), hardware.id, hardware.mode)


def _network(name: str, side: Specs) -> str:
    """The id of an op table. Raises RooflintError with what is spelt like it."""
    known = workload_ids(side.tables)
    wanted = name if name in known else f"{_VISION}{name}"
    if wanted not in known:
        names = [one.removeprefix(_VISION) for one in known]
        near = did_you_mean(nearest(name, names)) or f" (known: {', '.join(names)})"
        raise RooflintError(f"unknown network '{name}'{near}")
    return wanted


def _record(one: Watch, head: Specs, base: Specs | None) -> Watched:
    found, why = _predicted(one, head)
    then, _ = _predicted(one, base) if base else (None, None)
    now, before = (prediction.latency_s if prediction else None for prediction in (found, then))
    ratio = now / before if now and before else None
    return Watched(
        watch=str(one),
        network=one.network,
        precision=one.precision,
        batch=one.batch,
        device=one.device,
        at=one.at,
        base=before,
        base_display=_display(before) if base else None,
        head=now,
        head_display=_display(now),
        ratio=ratio,
        factor=span(ratio, ratio),
        intensity=found.intensity_ops_per_byte if found else None,
        attained=found.attained_ops_per_s if found else None,
        why=why,
    )


def _predicted(one: Watch, side: Specs) -> tuple[Prediction | None, str | None]:
    """The prediction, or why there is none."""
    try:
        return one.predicted(side), None
    except RooflintError as error:
        return None, " ".join(str(error).split())


def _display(latency_s: float | None) -> str:
    return "not known" if latency_s is None else format_quantity(latency_s, SECONDS)


def notices(found: Sequence[Watched]) -> Iterator[str]:
    """A workflow command of GitHub for each prediction that moved by NOTABLE or more, or is known on one side only."""
    for one in found:
        far = one.ratio is None or max(one.ratio, 1 / one.ratio) - 1 > NOTABLE - 1e-9
        if one.has_moved and far:
            factor = f" ({one.factor})" if one.factor else ""
            yield workflow_command("notice", one.watch, f"{one.base_display} → {one.head_display}{factor}")
