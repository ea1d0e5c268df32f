"""Networks by name: committed tables, torchvision's networks, user models and saved programs, with a capture cache.

A cache entry is JSON; its key has the network, its inputs, the versions of torch and torchvision and the text of the
modules that capture. It is valid while the files that it was made from are unchanged; an invalid one counts as missing.
"""

import difflib
import hashlib
import json
import logging
import os
import site
import sys
import sysconfig
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from platformdirs import user_cache_path

from rooflint.base.errors import MissingTorchError, RooflintError, extra
from rooflint.base.files import file_digest, write_atomically
from rooflint.base.suggestions import did_you_mean, nearest
from rooflint.hardware.registry import PACKAGED
from rooflint.hardware.vocabulary import squeezed
from rooflint.workloads.flow import Flow
from rooflint.workloads.huggingface_networks import network_of
from rooflint.workloads.networks import Network, find_network, network_named, network_names
from rooflint.workloads.ops import COLUMNS, Op
from rooflint.workloads.tables import UnknownNetworkError, load_workload, workload_ids
from rooflint.workloads.workload import Workload, WorkloadError

RULES = (
    "ops.py", "load.py", "capture/graph.py", "capture/torchvision_networks.py", "capture/trace.py",
    "capture/user_model.py", "scaling.py", "workload.py",
)  # fmt: skip
"""Modules that decide what is in a table; when one changes, no older entry is found."""

LIBRARIES = ("torch", "torchvision")
PROGRESS = logging.getLogger("rooflint")
"""What takes long; the program shows it on a terminal."""


trusted: ContextVar[bool] = ContextVar("trusted", default=False)
"""Whether a network's code may come from anywhere without a warning, as `rooflint --trust` has it."""


class ForeignCodeWarning(UserWarning):
    """Code is about to run that neither belongs to the project nor was installed."""


@dataclass(frozen=True)
class Entry:
    """Where the table of one network with one set of inputs is kept."""

    file: Path

    def read(self) -> Workload | None:
        """The table, or None where there is none that is still good."""
        try:
            found = json.loads(self.file.read_text(encoding="utf-8"))
            if digests(map(Path, found["files"])) != found["files"] or found["columns"] != list(COLUMNS):
                return None
            rows = [Op(*row) for row in found["ops"]]
            return Workload.from_ops(found["name"], rows, found["batch"], found["fixed_batch"], _flow(found["flow"]))
        except (OSError, ValueError, TypeError, KeyError, RecursionError, WorkloadError):
            return None

    def write(self, workload: Workload, files: Iterable[Path] = ()) -> None:
        """Keep a table that was made from those files."""
        kept: Mapping[str, Any] = {
            "name": workload.name,
            "batch": workload.batch,
            "fixed_batch": workload.fixed_batch,
            "files": digests(files),
            "columns": COLUMNS,
            "ops": list(workload.rows()),
            "flow": workload.flow and asdict(workload.flow),
        }
        write_atomically(self.file, json.dumps(kept, separators=(",", ":")) + "\n")


def _flow(kept: Mapping[str, Any] | None) -> Flow | None:
    if kept is None:
        return None
    reads, returns = tuple(map(tuple, kept["reads"])), tuple(kept["returns"])
    return Flow(reads, returns, kept["elements_input"], kept["elements_constant"])


def entry(network: str, inputs: Any, folder: Path) -> Entry:
    """The place for a network with inputs of those shapes.

    Raises MissingTorchError where torch or torchvision is not installed, because a capture is theirs.
    """
    parts = json.dumps([network, inputs, libraries(), rules()])
    name = "".join(letter if letter.isalnum() else "-" for letter in network)[-60:]
    return Entry(folder / f"{name}-{hashlib.sha256(parts.encode()).hexdigest()[:16]}.json")


def libraries() -> list[str]:
    """Versions of torch and torchvision, read without importing them."""
    try:
        return [version(library) for library in LIBRARIES]
    except PackageNotFoundError as error:
        raise MissingTorchError(f"capturing a network needs {error.name}; {extra('torch')}") from error


def rules() -> str:
    """Digest of the modules that capture."""
    here = Path(__file__).parent
    return hashlib.sha256(b"".join((here / module).read_bytes() for module in RULES)).hexdigest()


def digests(files: Iterable[Path]) -> dict[str, str]:
    """Digest of each file, by its path. Raises OSError for one that cannot be read."""
    return {str(file): file_digest(file) for file in sorted(files)}


Shapes = Sequence[Sequence[int]]
WEIGHTS = (".pt", ".pth", ".safetensors")
"""Suffixes of files from which no network can be read without the code that made it."""


def network(
    name: str,
    shapes: Shapes = (),
    folder: Path | None = None,
    fresh: bool = False,
    prompt: int | None = None,
    past: int = 0,
    roots: Sequence[Path] = (PACKAGED,),
) -> Workload:
    """The table of a network, for inputs of those shapes or of its own.

    Args:
        name: a language model (`llama-3.1-8b`), a `config.json` of Hugging Face, a network of torchvision (`resnet18`,
            `torchvision/resnet18`), `package.module:factory`, `file.py:factory`, a `.pt2` or an `.onnx` file.
        shapes: one for each input, batch first. torchvision's networks take one, saved programs and language models
            none; of an `.onnx` file as many as it leaves open.
        folder: where captures are kept; the user's cache folder if None.
        fresh: capture again, whatever is kept.
        prompt: new tokens of each sequence, of a language model alone.
        past: tokens of each sequence that it has in its cache.
        roots: folders of specs whose networks are known by their names.

    A factory and a `.pt2` file run code: warns where it lies outside of the project and of what is installed, and where
    a capture cannot be kept. Raises RooflintError for a network that is unknown or cannot be captured,
    and where torch is needed but missing.
    """
    if configured := configured_network(name, roots):
        if shapes:
            other = "tokens, such as --prompt 2048" if configured.workload().tokens else "a batch, such as -b 8"
            raise RooflintError(f"{name}: want no shape but {other}")
        return configured.workload(new=prompt, past=past)
    if prompt is not None or past:
        raise RooflintError(f"{name}: is not a language model, which --prompt and --past are for{_like(name, roots)}")
    graph, program, factory = name.endswith(".onnx"), name.endswith(".pt2"), ":" in name
    whole = _checked(name, shapes, 0 if program else None if factory or graph else 1)
    if graph:
        return _onnx(Path(name), whole)
    where = folder or user_cache_path("rooflint") / "captures"
    if program:
        return _program(Path(name), where, fresh)
    if Path(name).suffix == ".py":
        raise RooflintError(f"{name}: want the function or class in it that makes the network, such as {name}:make")
    if Path(name).suffix in WEIGHTS:
        raise RooflintError(f"{name}: holds weights, not ops; want FILE.py:FACTORY, or the .pt2 of torch.export.save")
    if factory:  # what a name means depends on where one stands
        here = [str(Path.cwd()), whole]
        return _kept(name, here, where, fresh, lambda: _captured(name, whole), _sources)
    return _torchvision(name.removeprefix("torchvision/"), whole, where, fresh, roots)


def module(source: Any, inputs: Any = None, shapes: Shapes = ()) -> Workload:
    """The table of a `torch.nn.Module`, for those inputs or inputs of those shapes. Nothing is cached.

    Raises RooflintError for a module that cannot be captured, and where torch is missing.
    """
    libraries()  # raises where torch is missing
    found: Workload = _user_model().capture_module(source, inputs, shapes)
    return found


def _checked(name: str, shapes: Shapes, most: int | None) -> list[list[int]]:
    """Shapes as lists. Raises RooflintError for one that no tensor has, and for more than `most` of them."""
    if most is not None and len(shapes) > most:
        expected = "one shape" if most else "no shape: it has its own"
        raise RooflintError(f"{name}: want {expected}, found {len(shapes)}")
    for shape in shapes:
        if not shape or any(not isinstance(size, int) or size < 1 for size in shape):
            raise RooflintError(f"{name}: want a shape of whole numbers such as 1, 3, 224, 224, found {list(shape)}")
    return [list(shape) for shape in shapes]


def _torchvision(name: str, shapes: Shapes, folder: Path, fresh: bool, roots: Sequence[Path]) -> Workload:
    committed = f"torchvision/{name}"
    if not shapes and not fresh and committed in workload_ids():
        return load_workload(committed)

    def captured() -> Workload:
        from rooflint.workloads.capture.torchvision_networks import capture_torchvision  # noqa: PLC0415  # torch only where it is needed

        return capture_torchvision(name, tuple(shapes[0]) if shapes else None)

    having = [committed.rpartition("/")[2] for committed in workload_ids()] + network_names(roots)
    try:
        return _kept(committed, shapes, folder, fresh, captured)
    except UnknownNetworkError as error:
        several = [*dict.fromkeys([*having, *error.known])]
        if meant := _begun(name, several) or difflib.get_close_matches(name.lower(), several, n=1):
            lists = "'rooflint networks' lists those that need no torchvision"
            raise WorkloadError(f"unknown network '{name}'{did_you_mean(meant)} {lists}") from error
        raise
    except MissingTorchError as error:
        if name in having:
            raise MissingTorchError(f"{name}: to capture it anew, or for another input, {error}") from error
        if begun := _begun(name, having):
            raise WorkloadError(
                f"unknown network '{name}'{did_you_mean(begun)} 'rooflint networks' lists all"
            ) from error
        near = did_you_mean(difflib.get_close_matches(name.lower(), having, n=1)) or ";"
        raise MissingTorchError(
            f"unknown network '{name}'{near} 'rooflint networks' lists those that need no torch; {error}"
        ) from error


def _begun(name: str, having: Iterable[str]) -> list[str]:
    """Names that begin as one does, whatever its hyphens."""
    return [one for one in having if squeezed(one).startswith(squeezed(name))]


def configured_network(name: str, roots: Sequence[Path] = (PACKAGED,)) -> Network | None:
    """A network by its configuration: a name, or the path of a `config.json` of Hugging Face; None for others.

    Raises InputError for another file, WorkloadError for a model type that is not known.
    """
    if name.endswith(".json") and not Path(name).exists():
        raise WorkloadError(f"{name}: no such file")
    return network_of(Path(name)) if name.endswith(".json") else find_network(name, roots)


def language_model(name: str, options: str, roots: Sequence[Path] = (PACKAGED,)) -> Network:
    """A network by its configuration, as those `options` need it. Raises WorkloadError for any other."""
    if configured := configured_network(name, roots):
        return configured
    needs = f"{options} a language model by name, or a config.json"
    is_capture = ":" in name or name.endswith((".pt2", ".onnx"))
    if is_capture or f"torchvision/{name.removeprefix('torchvision/')}" in workload_ids():
        raise WorkloadError(f"{name}: {needs}")
    try:
        return network_named(name, roots)
    except WorkloadError as error:
        raise WorkloadError(f"{error}; {needs}") from None


def want_module(name: str) -> None:
    """Raises WorkloadError for a network that has no module to be timed, whatever is installed."""
    if name.endswith(".onnx"):
        raise WorkloadError(f"{name}: torch runs no .onnx file; name the module that it was exported from")


def _like(name: str, roots: Sequence[Path]) -> str:
    return did_you_mean(nearest(name.lower(), network_names(roots), cutoff=0.7))


def _onnx(file: Path, shapes: Shapes) -> Workload:
    """Read in a fraction of a second, so that nothing is kept."""
    if not file.exists():
        raise WorkloadError(f"{file}: no such file")
    if find_spec("onnx") is None:
        raise RooflintError(f"{file}: reading it needs onnx; {extra('onnx')}")
    from rooflint.workloads.onnx_graph import read_onnx  # noqa: PLC0415  # onnx only where it is needed

    return read_onnx(file, shapes)


def _program(file: Path, folder: Path, fresh: bool) -> Workload:
    whole = Path(os.path.realpath(file))
    return _kept(str(whole), (), folder, fresh, lambda: _captured(file), lambda: [whole])


def _captured(source: str | Path, shapes: Shapes = ()) -> Workload:
    capture = _user_model()
    _warn_of_foreign_code(source)
    found: Workload = (
        capture.capture_program(source) if isinstance(source, Path) else capture.capture_factory(source, shapes)
    )
    return found


def _user_model() -> ModuleType:
    from rooflint.workloads.capture import user_model  # noqa: PLC0415  # torch only where it is needed

    return user_model


def _warn_of_foreign_code(source: str | Path) -> None:
    """Warn before code runs that is neither the project's nor installed; nothing of it is imported to find out."""
    files = [source] if isinstance(source, Path) else _homes(source.rpartition(":")[0])
    places = [Path(os.path.realpath(file)) for file in files if file.exists()]
    project = _project(Path(os.path.realpath(Path.cwd())))
    foreign = [place for place in places if not any(map(place.is_relative_to, (project, *_installed())))]
    if foreign and not trusted.get():
        place = foreign[0]
        message = (
            f"{source} runs code of {place}, outside of {project}; 'rooflint --trust' runs it without this warning"
        )
        warnings.warn(message, ForeignCodeWarning, stacklevel=2)


def _homes(module: str) -> list[Path]:
    """Where its file or top-level package is, each part of a namespace; nothing is imported."""
    if module.endswith(".py"):
        return [Path(module)]
    with suppress(ImportError, ValueError):
        found = find_spec(module.partition(".")[0])
        places = [found.origin, *(found.submodule_search_locations or ())] if found else []
        return [Path(place) for place in places if place]
    return []


def _project(folder: Path) -> Path:
    """The nearest folder above with a pyproject.toml or a repository, but for a home and the root; or the folder."""
    marks = ("pyproject.toml", ".git")
    above = (one for one in (folder, *folder.parents[:-1]) if one != Path(os.path.expanduser("~")))  # noqa: PTH111
    return next((one for one in above if any((one / mark).exists() for mark in marks)), folder)


def _installed() -> list[Path]:
    parts = [sysconfig.get_path(part) for part in ("stdlib", "platstdlib", "purelib", "platlib")]
    return [Path(os.path.realpath(part)) for part in (*parts, site.getusersitepackages())]


def _kept(
    name: str,
    inputs: Sequence[Any],
    folder: Path,
    fresh: bool,
    captured: Callable[[], Workload],
    sources: Callable[[], Iterable[Path]] = tuple,
) -> Workload:
    """The kept table, or the captured one, which is then kept with what it was made from."""
    place = entry(name, inputs, folder)
    found = None if fresh else place.read()
    if found is None:
        if find_spec("torch"):  # else the capture says what is missing
            PROGRESS.info("capturing %s with torch, which takes up to a minute", name)
        found = captured()
        try:
            place.write(found, sources())
        except OSError as error:  # a home that is read-only costs the next capture, not this one
            warnings.warn(f"{folder}: cannot keep the capture of {name}: {error.strerror}", stacklevel=2)
    return found


def _sources() -> list[Path]:
    """Python files that are loaded now and not installed: what a user model may depend on."""
    ours = Path(__file__).parents[1].resolve()
    files = {Path(file).resolve() for module in [*sys.modules.values()] if (file := getattr(module, "__file__", None))}
    return sorted(
        file
        for file in files
        if file.suffix == ".py" and file.is_file() and not any(map(file.is_relative_to, (*_installed(), ours)))
    )
