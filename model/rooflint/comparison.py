"""Comparison: one network on several devices, each with a prediction or with the reason why there is none."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rooflint.basis import Energies
from rooflint.criteria import CRITERIA, Criterion, Requirement
from rooflint.errors import RooflintError
from rooflint.hardware import Hardware, UndisclosedError, UnsupportedError
from rooflint.prediction import Prediction, Setting, predict
from rooflint.workload import Workload

BALANCE = "balance"
"""Energy of an inference × latency, the energy-delay product. Gonzalez, Horowitz, IEEE JSSC 31(9), 1996."""

WINS = ("energy", "latency", "throughput", "memory", BALANCE)


@dataclass(frozen=True)
class Contender:
    """A device, and what the model says of the network on it."""

    hardware: Hardware
    found: Prediction | None
    refused: str = ""
    """Why there is no prediction."""

    @property
    def label(self) -> str:
        """`nvidia/t4`, `nvidia/jetson-agx-orin-64gb at 30w`."""
        return f"{self.hardware.id} at {self.hardware.mode}" if self.hardware.mode else self.hardware.id

    @property
    def short(self) -> str:
        """The label without its vendor."""
        return self.label.rpartition("/")[2]

    @property
    def prediction(self) -> Prediction:
        """Of a device that can run it. Raises RooflintError with the reason."""
        if self.found is None:
            raise RooflintError(self.refused)
        return self.found


@dataclass(frozen=True)
class Comparison:
    """Contenders in the order in which they were asked for."""

    network: Workload
    setting: Setting
    contenders: tuple[Contender, ...]

    @property
    def able(self) -> tuple[Contender, ...]:
        """Those that can run it."""
        return tuple(one for one in self.contenders if one.found)

    def winner(self, by: str) -> Contender | None:
        """The best by a criterion or by balance; the first of equals, None where it is known of nobody."""
        known = [(score, one) for one in self.able if (score := score_of(one.prediction, by)) is not None]
        return min(known, key=lambda pair: pair[0])[1] if known else None

    def winners(self) -> Mapping[str, Contender | None]:
        """By each of energy, latency, throughput, memory and balance."""
        return {by: self.winner(by) for by in WINS}

    def tied(self, by: str) -> bool:
        """Whether all that it is known of are equal by a criterion."""
        scores = [score for one in self.able if (score := score_of(one.prediction, by)) is not None]
        return len(scores) > 1 and math.isclose(min(scores), max(scores), rel_tol=1e-12)

    def meets(self, wanted: Sequence[Requirement]) -> tuple[Contender, ...]:
        """Those of which all requirements are known to hold."""
        return tuple(one for one in self.able if all(each.met(one.prediction) for each in wanted))


def compare(devices: Iterable[Hardware], work: Workload, energies: Energies, setting: Setting) -> Comparison:
    """Predictions of a network on devices. A device that cannot run it is kept with its reason; the others go on."""
    return Comparison(work, setting, tuple(contend(device, work, energies, setting) for device in devices))


def contend(device: Hardware, work: Workload, energies: Energies, setting: Setting) -> Contender:
    """One device, with a prediction or a reason."""
    try:
        return Contender(device, predict(device, work, energies, setting))
    except (UnsupportedError, UndisclosedError) as error:
        return Contender(device, None, str(error))


def score_of(prediction: Prediction, by: str) -> float | None:
    """A figure of which less is better, or None where it is not known."""
    if by == BALANCE:
        energy, latency = (CRITERIA[name].of(prediction) for name in ("energy", "latency"))
        return None if energy is None or latency is None else energy * latency
    return _lowered(CRITERIA[by], CRITERIA[by].of(prediction))


def _lowered(criterion: Criterion, value: float | None) -> float | None:
    return value if value is None or criterion.less_is_better else -value
