"""Synthetic recordings of a synthetic device: acme/k1 never existed, and nobody measured it."""

import datetime
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pytest_rooflint.suite.verdict import Verdict
from rooflint_measure.record import recording
from rooflint_measure.record.measurement import (
    Conditions,
    Energy,
    Gemm,
    Measurement,
    Network,
    Samples,
    State,
    Stream,
    Unavailable,
)
from rooflint_measure.record.recording import Machine, Recording

SYNTHETIC = "Synthetic Acme K1"
NOWHERE = Unavailable(reason="a synthetic recording")
FOLDER = "golden/measured/acme/k1"
HEAD = f"""\
hardware: acme/k1
machine: {SYNTHETIC}
source: {{document: a synthetic recording of the tests, where: measurements, grade: estimate}}
claims:
"""

INT8_PEAK, FP32_PEAK = 32.768e12, 614.4e9
"""8 × 2 × 1024 MAC × 2 × 1 GHz and 8 × 16 × 2 MAC × 2 × 1.2 GHz. [op/s]"""
BANDWIDTH, CACHE = 256e9, 4 * 2**20
"""1024 bit × 2 Gbit/s [B/s], and the L2 [B]."""


def conditions(clock_hz=1e9, power_w=NOWHERE, limit_w=NOWHERE, load=NOWHERE) -> Conditions:
    def state(power):
        return State(clock_hz=clock_hz, clock_source="synthetic", power_w=power, power_limit_w=limit_w, load=load)

    around = state(NOWHERE)
    during = tuple(map(state, power_w)) if isinstance(power_w, tuple) else ()
    return Conditions(before=around, after=around, during=during, threads=1, affinity=(0,))


def timed(subject: Any, best_s: float, **more: Any) -> Measurement:
    """Five samples, the best of them so long; `stolen` and `throttled` disturb as many of the first."""
    stolen, throttled = more.pop("stolen", 0), more.pop("throttled", 0)
    seconds = tuple(best_s * (1 + number / 100) for number in range(5))
    asked = {key: more.pop(key) for key in ("clock_hz", "power_w", "limit_w", "load") if key in more}
    return Measurement(
        subject=subject,
        samples=Samples(
            seconds=seconds,
            calls=10,
            stolen_s=tuple(best_s if number < stolen else 0.0 for number in range(5)),
            throttled=dict.fromkeys(range(throttled), ("power cap",)),
        ),
        conditions=conditions(**asked),
        energy=more.pop("energy", NOWHERE),
        **more,
    )


def gemm(rate: float, precision="int8", shape=(4096, 4096, 4096), **more: Any) -> Measurement:
    """A product at a rate in op/s."""
    m, n, k = shape
    subject = Gemm(precision=precision, library="synthetic", m=m, n=n, k=k)
    return timed(subject, 2 * subject.macs / rate, **more)


def stream(rate: float, array_bytes=100_000_000, **more: Any) -> Measurement:
    """A copy at a rate in B/s."""
    subject = Stream(kernel="copy", library="synthetic", array_bytes=array_bytes)
    return timed(subject, 2 * array_bytes / rate, bytes_moved=2 * array_bytes, **more)


def network(best_s: float, name="resnet18", batch=1, macs=1_814_073_344, **more: Any) -> Measurement:
    """A network, with the MAC that its op table has unless said."""
    subject = Network(name=name, batch=batch, precision="fp32", library="synthetic", macs=macs * batch)
    return timed(subject, best_s, **more)


def energy(mean_w: float, seconds=2.0, idle_w=5.0, **more: Any) -> Energy:
    return Energy(source="synthetic", joules=mean_w * seconds, seconds=seconds, calls=100, idle_w=idle_w, **more)


def recorded(*rows: Measurement, hour=0, device=SYNTHETIC, kind="gpu", **facts: Any) -> Recording:
    """A recording of a machine that never was."""
    return Recording(
        taken=datetime.datetime(2026, 11, 20, hour, tzinfo=datetime.UTC),
        command="a synthetic recording",
        rooflint="0.1.0",
        machine=Machine(device=device, kind=kind, count=1, facts=facts),
        measurements=rows,
    )


@dataclass
class Bench:
    """A repository in which acme/k1 is described, with synthetic recordings of it."""

    repository: Any
    taken: list[Path] = field(default_factory=list)

    def record(self, *rows: Measurement, folder=FOLDER, device=SYNTHETIC, **facts: Any) -> Path:
        """Add a recording; each is an hour later than the one before."""
        one = recorded(*rows, hour=len(self.taken), device=device, **facts)
        self.taken.append(recording.write(self.repository.root / folder, one))
        return self.taken[-1]

    def claim(self, *lines: str, head: str = HEAD) -> Path:
        """Write claims over the recordings of acme/k1."""
        text = "".join(f"  - {{{line}}}\n" for line in lines)
        return self.repository.write(f"{FOLDER}.yaml", head + text)

    def verdict(self, line: str, head: str = HEAD) -> Verdict:
        """On one claim over them."""
        self.claim(line, head=head)
        (found,) = self.repository.verdicts(f"{FOLDER}.yaml").values()
        return found

    def problems(self) -> list[str]:
        """What is wrong with the world."""
        return [str(problem) for problem in self.repository.suite().world_problems()]


@pytest.fixture
def bench(acme) -> Bench:
    """No recording and no claim yet."""
    return Bench(acme)


@pytest.fixture
def said() -> Callable[[Verdict], str]:
    """The text of a verdict in one line, so that wrapping does not matter."""
    return lambda verdict: " ".join(verdict.text().split())


@pytest.fixture
def make() -> Any:
    """The builders of measurements: `make.gemm(…)`."""

    class Make:
        pass

    for builder in (gemm, stream, network, energy, timed, recorded, Bench):
        setattr(Make, builder.__name__, staticmethod(builder))
    return Make
