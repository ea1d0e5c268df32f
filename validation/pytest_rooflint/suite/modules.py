"""Which modules of ours a module may import, from their source, and digests that tell when one of them changed.

All imports count, also those inside functions; what only a type checker imports does not. A package that imports by a
computed name, as `rooflint` does for its API, may import whatever lies below it.
"""

import ast
import json
import platform
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, entry_points, packages_distributions, requires, version
from importlib.util import find_spec
from pathlib import Path
from re import split

from pydantic import TypeAdapter, ValidationError

from pytest_rooflint.suite import store
from rooflint.base.files import digest_of, file_digest
from rooflint.base.memo import memoised

OURS = ("rooflint", "pytest_rooflint", "rooflint_calibration", "rooflint_measure", "rooflint_report")
ALL = "*"
"""Stands for everything below a package."""


_parsed: dict[str, list[str]] = {}
"""Names that modules import, by the digest of the module."""
_PARSED = TypeAdapter(dict[str, list[str]])


@dataclass
class Modules:
    """The modules of our packages and of those that add kinds of claims."""

    file: Path | None = None
    """Where the imports of modules are kept by digest, because parsing takes long; None keeps nothing."""
    _digests: dict[str, str] = field(default_factory=dict)

    @cached_property
    def files(self) -> Mapping[str, Path]:
        """Files of all modules by name."""
        return {name: file for package in OURS for name, file in _modules(package)} | self._foreign[0]

    @cached_property
    def _foreign(self) -> tuple[dict[str, Path], frozenset[str]]:
        """Modules of other packages that add kinds of claims or are imported by these, and the installed packages.

        Installed packages are told apart by their version; others, such as those that somebody works on, by content.
        """
        left = sorted({entry.module.partition(".")[0] for entry in entry_points(group="rooflint.claims")} - {*OURS})
        files, seen, installed = dict[str, Path](), {*OURS, *sys.stdlib_module_names, ALL}, set[str]()
        while left:
            package = left.pop()
            new = dict(_modules(package))
            files |= new
            seen.add(package)
            imported = {one.partition(".")[0] for name, file in new.items() for one in _read_imports(file, name)} - seen
            installed |= set(filter(_is_installed, imported))
            left += sorted(imported - installed - set(left))
        return files, frozenset(installed)

    def keep(self) -> None:
        """Keep the imports of the modules that were asked for. Raises OSError."""
        if self.file:
            store.keep(self.file, json.dumps({key: _parsed[key] for key in sorted(set(self._digests.values()))}))

    @memoised
    def digest(self, *names: str) -> str:
        """What changes with any module that these may import, and with a library that they rest on."""
        wanted = sorted(frozenset().union(*map(self.closure, names)))
        return digest_of([*self.libraries, *(f"{name} {self._digest_of(name)}" for name in wanted)])

    def everything(self) -> str:
        """What changes with any of our modules, and with a library."""
        return digest_of([*self.libraries, *(f"{name} {file_digest(self.files[name])}" for name in sorted(self.files))])

    @cached_property
    def libraries(self) -> list[str]:
        """Python, libraries that we require or can use, and packages that add kinds of claims, with versions."""
        names = {split(r"[^A-Za-z0-9._-]", one, maxsplit=1)[0] for one in requires("rooflint") or ()}
        names |= {entry.dist.name for entry in entry_points(group="rooflint.claims") if entry.dist}
        if installed := self._foreign[1]:
            homes = packages_distributions()
            names |= {home for package in installed for home in homes.get(package, [package])}
        return [platform.python_version(), *(f"{name} {_version(name)}" for name in sorted(names))]

    @memoised
    def closure(self, name: str) -> frozenset[str]:
        """The module, whatever it may import, and the packages around them; nothing for a name that is none of ours."""
        found, left = set[str](), {name} & self.files.keys()
        while left:
            one = left.pop()
            found.add(one)
            left |= self._next(one) - found
        return frozenset(found)

    @memoised
    def _next(self, name: str) -> frozenset[str]:
        """Modules of ours that a module may import itself, and the package around it."""
        return frozenset({name.rpartition(".")[0], *self._imported(name)} & self.files.keys())

    def _imported(self, name: str) -> Iterator[str]:
        for one in self._names(name):
            above = one.rpartition(".")[0]
            yield from (one, above)
            package = one if one in self.files and "." not in one else above if one not in self.files else ""
            if package in self.files and ALL in self._names(package):  # a name of a package, or the package itself
                yield from (other for other in self.files if other.startswith(f"{package}."))

    def _names(self, name: str) -> list[str]:
        """Names that a module imports."""
        digest = self._digest_of(name)
        if digest not in _parsed:
            _parsed.update(self._kept)
        if digest not in _parsed:
            _parsed[digest] = sorted(set(_imports(self.files[name], name)))
        return _parsed[digest]

    @cached_property
    def _kept(self) -> dict[str, list[str]]:
        """What was kept; nothing where something else wrote it."""
        try:
            return _PARSED.validate_json(store.kept(self.file)) if self.file else {}
        except ValidationError:
            return {}

    def _digest_of(self, name: str) -> str:
        if name not in self._digests:
            self._digests[name] = digest_of([name, file_digest(self.files[name]), _reader()])
        return self._digests[name]


def _modules(package: str) -> Iterator[tuple[str, Path]]:
    """Modules of a package, or the one module of that name, with their files."""
    spec = find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for file in sorted(Path(folder).rglob("*.py")):
            parts = (package, *file.relative_to(folder).with_suffix("").parts)
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), file
    if spec and spec.origin and not spec.submodule_search_locations:
        yield package, Path(spec.origin)


def _imports(file: Path, module: str) -> Iterator[str]:
    """Dotted names that a file imports; ALL where it computes one."""
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    left: list[ast.AST] = [ast.parse(file.read_bytes())]
    while left:
        node = left.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
            base = ".".join((*above, *filter(None, [node.module])))
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and _is_import(node.func):
            name = node.args[0] if node.args else None
            yield str(name.value) if isinstance(name, ast.Constant) else ALL
        if isinstance(node, ast.If) and _is_of_types(node.test):
            left += node.orelse
        else:
            left += ast.iter_child_nodes(node)


def _read_imports(file: Path, module: str) -> list[str]:
    """The same; none of a file that is not Python."""
    try:
        return list(_imports(file, module))
    except (SyntaxError, ValueError):
        return []


def _is_installed(package: str) -> bool:
    """Whether a package lies where packages are installed."""
    spec = find_spec(package)
    places = [*(spec.submodule_search_locations or ()), spec.origin] if spec else []
    return any(Path(one).is_relative_to(sysconfig.get_path(kind)) for one in places if one for kind in _INSTALLED)


_INSTALLED = ("purelib", "platlib")


def _is_import(function: ast.expr) -> bool:
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in ("import_module", "__import__")


def _is_of_types(test: ast.expr) -> bool:
    return "TYPE_CHECKING" in (getattr(test, "id", ""), getattr(test, "attr", ""))


@cache
def _reader() -> str:
    """Digest of this module, which finds the imports that are kept."""
    return file_digest(Path(__file__))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
