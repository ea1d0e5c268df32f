"""What tests of every part share."""

import gc
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from rooflint.base import parsed
from rooflint.base.memo import memoised
from rooflint.base.units import JOULES, OPS_PER_S, SECONDS, format_number, format_quantity
from rooflint.hardware import registry
from rooflint.hardware.device import Hardware
from rooflint.hardware.registry import PACKAGED, Architecture, Registry
from rooflint.output.answer import Answer
from rooflint.output.sections import Bar, Bars, Curve, Curves, Grid, Heat, Part, Point, Prose, Roof, Rooflines, Table
from rooflint.roofline import Estimate, estimate
from rooflint.workloads.tables import load_workload
from rooflint.workloads.workload import Workload

pytest_plugins = ["pytester"]

if find_spec("hypothesis"):  # pytest also reads this file for the golden suite, which runs without hypothesis
    from hypothesis import HealthCheck, settings

    # a slow or busy machine is no bug
    any_machine = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile("quick", any_machine, max_examples=20)
    settings.register_profile("thorough", any_machine, max_examples=150)  # tox run -e slow
    settings.load_profile("quick")


class Specs:
    """A specs root below tmp_path."""

    HEAD = """\
name: One
kind: gpu
sources: {wp: {document: White paper, grade: quoted}}
"""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, name: str, text: str | bytes, section: str = "hardware", suffix: str = ".yaml") -> Path:
        """A spec file of that id."""
        file = self.root / section / f"{name}{suffix}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def registry(self) -> Registry:
        """This root alone, without the packaged specs."""
        return Registry((self.root,))

    def device(self, body: str, name: str = "acme/one", *, head: str = HEAD) -> Hardware:
        """A device with one source `wp`, written and read."""
        self.write(name, head + dedent(body))
        return self.registry().get(name)


@pytest.fixture(scope="session", autouse=True)
def nothing_kept() -> Iterator[None]:
    """Tests read every file, and what they read with patched readers stays out of the user's cache folder."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(parsed, "user_cache_path", lambda name: Path(os.devnull) / name)
        patched.setattr(parsed, "_secret", lambda: bytes(parsed.SIGNATURE_BYTES))
        yield


def pytest_pycollect_makemodule() -> None:
    """Before a test module is imported, many of which read devices for their parameters."""
    gc.disable()  # what is collected stays: searching thousands of tests for cycles finds nothing
    share_shipped_files()


def pytest_collection_finish() -> None:
    """Leave the collected tests out of all later searches."""
    gc.freeze()
    gc.enable()


@cache
def share_shipped_files() -> None:
    """From now on registries share what one of them read of the shipped files, not what they work out from that."""
    shipped = Registry()
    ids_below, read_architecture, load = registry._ids_below, Registry.architecture, Registry._load
    shipped_ids = cache(ids_below)

    def shared_ids(folder: Path) -> dict[str, Path]:
        return dict(shipped_ids(folder)) if folder.parent == PACKAGED else ids_below(folder)

    def is_shipped(self: Registry, file: Path | None, files: Mapping[str, Path], name: str) -> bool:
        return type(self) is Registry and self is not shipped and file == files.get(name) and file not in self.texts

    @memoised
    def architecture(self: Registry, name: str) -> Architecture:
        file = self.architecture_files.get(name)
        if file and is_shipped(self, file, shipped.architecture_files, name):
            return shipped.architecture(name)
        return read_architecture(self, name)

    def shared_device(self: Registry, device: str, file: Path) -> Hardware:
        if is_shipped(self, file, shipped.files, device):
            found = shipped.get(device)
            base = found.architecture or ""
            if is_shipped(self, self.architecture_files.get(base), shipped.architecture_files, base):
                return replace(found)
        return load(self, device, file)

    registry._ids_below = shared_ids
    Registry.architecture = architecture
    Registry._load = shared_device


@pytest.fixture
def specs(tmp_path: Path) -> Specs:
    """An empty specs root."""
    return Specs(tmp_path)


DEVICES = (
    "nvidia/h100-sxm5-80gb",
    "google/tpu-v4",
    "nvidia/jetson-agx-orin-64gb",
    "intel/xeon-8490h",
    "stillwater/kpu-t256",
)
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
JOULES_PER_OP, JOULES_PER_BYTE, IDLE_W = 0.4e-12, 30e-12, 20.0
"""A sample's round figures, not claims."""


@pytest.fixture(scope="session")
def resnet18() -> Answer:
    """ResNet-18 in INT8 on five devices, with a section of every kind; a launch costs 2 µs everywhere."""
    registry, workload = Registry.of(()), load_workload("torchvision/resnet18")
    found = [_estimate(registry, device, workload) for device in DEVICES]
    order = sorted(found, key=lambda one: one.latency_s)
    heavy = list(np.argsort(-found[0].kernel_s)[:12])
    return Answer(
        title="ResNet-18 on five devices",
        subtitle="batch 1, INT8 arithmetic and storage, plain roofline with 2 µs a launch",
        sections=(
            _findings(order),
            _latencies(order),
            Bars("Energy by cause", tuple(map(_bar, order)), "Per inference; coefficients of a sample."),
            _heat(found, workload, heavy),
            _rooflines(found),
            _ops(found[0], workload),
            _curves(registry, workload),
        ),
        record={"schema": "rooflint/compare/1", "devices": [_record(one) for one in order]},
        listing=Table(
            ("device", "latency_s", "attained_ops_per_s"),
            tuple((one.hardware, one.latency_s, one.ops.sum() / one.latency_s) for one in order),
        ),
    )


def _estimate(registry: Registry, device: str, workload: Workload) -> Estimate:
    return replace(estimate(registry.get(device), workload, compute="int8"), overhead_s=2e-6)


def _record(one: Estimate) -> dict[str, object]:
    return {"device": one.hardware, "latency_s": one.latency_s, "bound": one.bound}


def _findings(order: Sequence[Estimate]) -> Prose:
    first, last = order[0], order[-1]
    return Prose(
        "What decides",
        (
            f"{first.hardware} is fastest, {format_number(last.latency_s / first.latency_s, 3)} × {last.hardware}.",
            f"At batch 1 most devices wait for launches and memory: {first.hardware} attains "
            f"{format_number(100 * first.efficiency, 2)} % of its peak, because no op has work for all of its SMs.",
        ),
    )


def _latencies(order: Sequence[Estimate]) -> Grid:
    rows = [
        (
            one.hardware,
            format_quantity(one.latency_s, SECONDS, digits=3),
            format_quantity(one.ops.sum() / one.latency_s, OPS_PER_S, digits=3),
            f"{format_number(100 * one.efficiency, 2)} %",
            one.bound,
        )
        for one in order
    ]
    columns = ("device", "latency", "attained", "of peak", "bound by")
    return Grid("Latency", Table(columns, tuple(rows)), "Fastest first.", strong=(0,))


def _bar(one: Estimate) -> Bar:
    causes = {
        "arithmetic": one.ops.sum() * JOULES_PER_OP,
        "memory": one.bytes_moved.sum() * JOULES_PER_BYTE,
        "idle": one.latency_s * IDLE_W,
    }
    parts = tuple(Part(name, value, format_quantity(value, JOULES, digits=3)) for name, value in causes.items())
    return Bar(one.hardware, parts, format_quantity(sum(causes.values()), JOULES, digits=3))


def _heat(found: Sequence[Estimate], workload: Workload, heavy: Sequence[int]) -> Heat:
    values = tuple(tuple(float(one.kernel_s[op]) for one in found) for op in heavy)
    shown = tuple(tuple(format_quantity(value, SECONDS, digits=3) for value in row) for row in values)
    names = tuple(workload.op_names[op] for op in heavy)
    return Heat("Latency of the heaviest ops", names, DEVICES, values, shown, "The twelve that take longest.")


def _rooflines(found: Sequence[Estimate]) -> Rooflines:
    roofs = tuple(Roof(one.hardware, one.peak_ops_per_s, one.bandwidth_bytes_per_s) for one in found)
    points = tuple(
        Point("torchvision/resnet18", one.hardware, one.intensity_ops_per_byte, one.ops.sum() / one.latency_s)
        for one in found
    )
    return Rooflines("Roofline", roofs, points)


def _ops(one: Estimate, workload: Workload) -> Rooflines:
    roof = Roof(one.hardware, one.peak_ops_per_s, one.bandwidth_bytes_per_s)
    points = tuple(
        Point(name, one.hardware, float(ops / moved), float(ops / took), float(took / one.latency_s))
        for name, ops, moved, took in zip(workload.op_names, one.ops, one.bytes_moved, one.kernel_s, strict=True)
    )
    return Rooflines("Ops under the roof of the fastest", (roof,), points, "The size of a point is its share of time.")


def _curves(registry: Registry, workload: Workload) -> Curves:
    curves = tuple(
        Curve(device, tuple(map(float, BATCHES)), tuple(_per_s(registry, device, workload, n) for n in BATCHES))
        for device in DEVICES
    )
    return Curves("Throughput over batch", "batch", "images per second", curves, y_unit="/s")


def _per_s(registry: Registry, device: str, workload: Workload, batch: int) -> float:
    return batch / _estimate(registry, device, workload.at_batch(batch)).latency_s
