"""Networks, predictions and comparisons: the questions of `rooflint analyze` and `rooflint compare` as functions."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from rooflint.answers import compare as compare_answer
from rooflint.api.devices import Device, Specs, as_device, hardware_of, registry
from rooflint.base.errors import RooflintError
from rooflint.base.precision import POLICIES, named
from rooflint.base.precision import precision as precision_named
from rooflint.coefficients.library import FREE, MODES, Coefficients
from rooflint.energy.model import Energies
from rooflint.hardware.device import Hardware
from rooflint.hardware.names import select_devices
from rooflint.hardware.registry import Registry
from rooflint.output.answer import Answer
from rooflint.output.sections import Table
from rooflint.prediction import comparison
from rooflint.prediction import predict as prediction
from rooflint.prediction.predict import FIDELITIES, ROOFLINE, Setting
from rooflint.workloads import load
from rooflint.workloads.networks import PROMPT, network_names
from rooflint.workloads.ops import Tokens
from rooflint.workloads.tables import workload_ids
from rooflint.workloads.workload import Workload

DEFAULT_PRECISION, DEFAULT_LAUNCH = "bf16", "stream"

T = TypeVar("T")


def network(
    source: Any,
    inputs: Any = None,
    *,
    shape: Sequence[int] | Sequence[Sequence[int]] = (),
    fresh: bool = False,
    prompt: int | None = None,
    past: int = 0,
    specs: Specs = None,
) -> Workload:
    """A network as a table of ops.

    Args:
        source: a language model (`llama-3.1-8b`), a `config.json` of Hugging Face, a network of torchvision
            (`resnet18`), `package.module:factory`, `file.py:factory`, an `.onnx` or `.pt2` file, or a
            `torch.nn.Module`.
        inputs: what a module is called with, a tensor or a tuple of them; the first axis of the first is the batch.
        shape: of the input, batch first, instead of `inputs` or of the network's own; or of each of several inputs.
        fresh: capture again, whatever is cached.
        prompt: new tokens of each sequence, of a language model; 2048, or its context where that is shorter.
        past: tokens of each sequence that are in its cache already.
        specs: folders of specs, in front of the packaged ones, with networks of one's own in `networks/`.

    Raises RooflintError for a network that is unknown or cannot be captured, and where torch is needed but missing.
    """
    shapes = _shapes(shape)
    if inputs is not None and isinstance(source, str | Path | Workload):
        raise RooflintError(f"{getattr(source, 'name', source)}: inputs belong to a module; want shape=")
    if isinstance(source, Workload):
        return source
    if isinstance(source, str | Path):
        roots = registry(specs).roots
        return load.network(str(source), shapes, fresh=fresh, prompt=prompt, past=past, roots=roots)
    return load.module(source, inputs, shapes)


def _shapes(shape: Sequence[Any]) -> list[list[int]]:
    """Of each input, where one or several are given."""
    several = shape if len(shape) and isinstance(shape[0], Sequence) else [shape] if len(shape) else []
    return [list(one) for one in several]


def networks(specs: Specs = None) -> list[str]:
    """Networks that need no torch. Others are captured once and cached: `network` says what it takes."""
    return [*workload_ids(), *network_names(registry(specs).roots)]


class Columns(Mapping[str, NDArray[Any]]):
    """A table as named NumPy columns of one length."""

    def __init__(self, columns: Mapping[str, Sequence[Any]]) -> None:
        self._columns = {name: _array(values) for name, values in columns.items()}

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        rows = len(next(iter(self._columns.values()), ()))
        return f"<Columns of {rows} rows: {', '.join(self._columns)}>"

    def to_pandas(self) -> Any:
        """A `pandas.DataFrame`. Raises RooflintError where pandas is not installed."""
        try:
            import pandas as pd  # noqa: PLC0415  # optional
        except ImportError:
            raise RooflintError("to_pandas() needs pandas: python -m pip install pandas") from None
        return pd.DataFrame(self._columns)

    @classmethod
    def of(cls, table: Table) -> Self:
        """Of the rows of an answer; a value that is not known becomes NaN among numbers and None among texts."""
        return cls({name: [row[place] for row in table.rows] for place, name in enumerate(table.columns)})


def _array(values: Sequence[Any]) -> NDArray[Any]:
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, int | float) and not isinstance(value, bool) for value in known):
        return np.array([np.nan if value is None else value for value in values])
    return np.array(values, dtype=object if len(known) < len(values) else None)


@dataclass(frozen=True, eq=False)
class Prediction(prediction.Prediction):
    """One network on one device. Latency, energy, memory and bound are attributes; `print(p)` is `rooflint analyze`."""

    setting: Setting = field(default_factory=lambda: Setting(DEFAULT_PRECISION))

    @cached_property
    def kernels(self) -> Columns:
        """One row a kernel: ops, bytes_moved, compute_s, memory_s, launch_s, bound, energy_j, units and more."""
        return Columns.of(self.answer().listing)

    def answer(self, single: prediction.Prediction | None = None, amounts: Sequence[Any] = ()) -> Answer:
        """What `rooflint analyze` prints of it; `single` is the prediction of one sample, `amounts` its cost."""
        from rooflint.answers.analyze import answer  # noqa: PLC0415  # comparisons do without

        one = comparison.Contender(self.hardware, self)
        return answer(one, self.setting, single, amounts)

    def __str__(self) -> str:
        return str(self.answer())

    def __repr__(self) -> str:
        seconds = f"{self.latency_s:.4g} s"
        return f"<Prediction {self.network.name} on {self.hardware.label}: {seconds}, {self.bound}-bound>"

    def _repr_html_(self) -> str:
        return self.answer()._repr_html_()


@dataclass(frozen=True)
class Comparison(comparison.Comparison):
    """One network on several devices, each with a prediction or a reason; `print(c)` is `rooflint compare`."""

    question: compare_answer.Question = field(default_factory=compare_answer.Question)

    @property
    def columns(self) -> Columns:
        """One row a device: energy, latency, memory, power and more, in SI base units."""
        return Columns.of(self.answer().listing)

    def to_pandas(self) -> Any:
        """One row a device, as a `pandas.DataFrame`. Raises RooflintError where pandas is not installed."""
        return self.columns.to_pandas()

    def answer(self, question: compare_answer.Question | None = None) -> Answer:
        """What `rooflint compare` prints of it."""
        return compare_answer.answer(self, question or self.question)

    def __str__(self) -> str:
        return str(self.answer())

    def __repr__(self) -> str:
        return f"<Comparison of {self.network.name} on {', '.join(one.label for one in self.contenders)}>"

    def _repr_html_(self) -> str:
        return self.answer()._repr_html_()


def predict(
    source: Any,
    on: "str | Hardware",
    *,
    precision: str = DEFAULT_PRECISION,
    batch: int | None = None,
    storage: str | None = None,
    fuse: bool = False,
    launch: str = DEFAULT_LAUNCH,
    fidelity: str = ROOFLINE,
    cached: bool = True,
    at: str = "",
    specs: Specs = None,
) -> Prediction:
    """A network on a device.

    Args:
        source: a network, or what `network` takes.
        on: a device, or its name.
        precision: of the arithmetic, or a policy such as `w4a16`, which says what weights and cache are stored in.
        batch: samples that run together; if None, those that the network was made for, as an `.onnx` file for 8.
        storage: precision of what is moved; that of the arithmetic if None.
        fuse: run element-wise ops in the kernels of their producers.
        launch: how kernels are launched: `stream`, `graph`, or `free` for no overhead.
        fidelity: `roofline`, or `silicon` for calibrated kernel times where the GPU has the facts that they need.
        cached: let the largest cache keep what it can from op to op; otherwise every byte comes from memory.
        at: operating point, such as `30w`.
        specs: folders of specs, in front of the packaged ones.

    Raises RooflintError where the device does not compute in that precision, and for unknown names.
    """
    chosen = setting(precision, storage, fuse, launch, fidelity, cached)
    known, energies = context(specs)
    work = network(source)
    work = work if batch is None else work.at_batch(batch)
    found = prediction.predict(hardware_of(known, on, at), work, energies, chosen)
    return _as(Prediction, found, setting=chosen)


def compare(
    source: Any,
    on: "Iterable[str | Hardware] | None" = None,
    *,
    precision: str = DEFAULT_PRECISION,
    batch: int | None = None,
    storage: str | None = None,
    fuse: bool = False,
    launch: str = DEFAULT_LAUNCH,
    fidelity: str = ROOFLINE,
    cached: bool = True,
    at: str = "",
    specs: Specs = None,
) -> Comparison:
    """A network on several devices, by default one of each kind. Arguments are those of `predict`.

    A device that cannot run the network stays in the comparison, with the reason. Raises RooflintError for unknown
    names.
    """
    chosen = setting(precision, storage, fuse, launch, fidelity, cached)
    known, energies = context(specs)
    asked = all_hardware(known, on, at)
    work = network(source)
    work = work if batch is None else work.at_batch(batch)
    found = comparison.compare(asked, work, energies, chosen)
    typed = compare_answer.Question(options=repeated_options(work.batch, chosen, at, work.tokens))
    return _as(Comparison, found, question=typed)


# ---- what the command line shares


def setting(
    precision: str,
    storage: str | None = None,
    fuse: bool = False,
    launch: str = "stream",
    fidelity: str = ROOFLINE,
    cached: bool = True,
) -> Setting:
    """How a network runs, from names. Raises RooflintError for an unknown one."""
    if launch not in (*MODES, FREE):
        raise RooflintError(f"unknown launch mode '{launch}' (known: {', '.join((*MODES, FREE))})")
    if fidelity not in FIDELITIES:
        raise RooflintError(f"unknown fidelity '{fidelity}' (known: {', '.join(FIDELITIES)})")
    compute, kept = named(precision), precision_named(storage).name if storage else None
    if kept and compute in POLICIES:
        raise RooflintError(f"--storage {kept} cannot be used with the policy {compute}, which says what is stored")
    return Setting(compute, kept, fuse, launch, fidelity, cached)


def repeated_options(batch: int, chosen: Setting, at: str = "", tokens: Tokens | None = None) -> str:
    """The options of a run that differ from the defaults, as a user types them."""
    options = {
        "--prompt": str(tokens.new) if tokens and tokens != (PROMPT, 0, 1) else "",
        "--past": str(tokens.past) if tokens and tokens.past else "",
        "-b": str(batch) if batch > 1 else "",
        "-p": chosen.compute if chosen.compute != DEFAULT_PRECISION else "",
        "--storage": chosen.storage or "",
        "--launch": chosen.launch if chosen.launch != DEFAULT_LAUNCH else "",
        "--fidelity": chosen.fidelity if chosen.fidelity != ROOFLINE else "",
        "--at": at,
    }
    typed = "".join(f" {name} {value}" for name, value in options.items() if value)
    return typed + (" --fuse" if chosen.fuse else "") + ("" if chosen.cached else " --uncached")


def context(specs: Specs = None) -> tuple[Registry, Energies]:
    """The devices of some folders and the coefficients of energy; read again when a spec file changes."""
    found = registry(specs)
    stamp = tuple(file.stat().st_mtime_ns for root in found.roots for file in sorted(root.rglob("*.yaml")))
    return _context(found.roots, stamp)


@lru_cache(maxsize=8)
def _context(roots: tuple[Path, ...], stamp: tuple[int, ...]) -> tuple[Registry, Energies]:  # noqa: ARG001
    found = Registry(roots)
    return found, Energies(Coefficients(found))


def all_hardware(among: Registry, on: "Iterable[str | Hardware] | None", at: str) -> list[Device]:
    """Devices from names and devices, each once; those of the default kinds for None. Raises RooflintError."""
    if on is None:
        return [as_device(one) for one in select_devices(among, None, at)]
    listed = [on] if isinstance(on, str | Hardware) else list(on)
    if not listed:
        raise RooflintError("want at least one device, found none")
    found: list[Hardware] = []
    for one in listed:
        found += select_devices(among, [one], at) if isinstance(one, str) else [hardware_of(among, one, at)]
    return [as_device(one) for one in {one.label: one for one in found}.values()]


def _as(kind: type[T], one: Any, **more: Any) -> T:
    """The same value with the methods of the API."""
    return kind(**{each.name: getattr(one, each.name) for each in fields(one)}, **more)
