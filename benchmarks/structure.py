"""How the source is organised: sizes of files and functions, imports, levels and cycles of the import graph.

`python benchmarks/structure.py` measures the packages that pyproject.toml builds, with NAME=FOLDER other packages
instead. `--root` takes another checkout of this project, `--peers` adds four packages from the package index, `--md`
prints the table as Markdown, `--worst 20` lists what is longest, imports most or is in a cycle.

Tests are left out. Lines are physical lines, with blank lines and comments. A function runs from its `def`, without
decorators, to its last line; a nested function counts by itself and in the outer one. p50 and p90 are nearest ranks.

The import graph has *all* imports: also those inside functions, those under TYPE_CHECKING, and
`import_module("literal")`. `from package import submodule` imports the submodule, and `from package.sub import x`
imports `package.sub` and not `package`. There are two graphs: one of modules, and a top-level one, whose nodes are the
direct children of the package (a subpackage with all its modules is one node). Modules in a cycle share a level; any
other module is above everything that it imports.
"""

import argparse
import ast
import math
import os
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import distributions
from pathlib import Path
from typing import NamedTuple

PEERS = ("archspec", "pyperf", "pvlib", "pyhf")
LONG_FILE = 500
LONG_FUNCTION = 60
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
IMPORT = (ast.Import, ast.ImportFrom)


@dataclass(frozen=True)
class Module:
    """What is counted of one file."""

    name: str
    file: Path
    lines: int
    functions: list[tuple[int, str]]
    """(lines, place and name)"""
    imports: list[tuple[int, str]]
    """(line, dotted name); the name may end in something that the module defines."""
    import_lines: int
    local_imports: list[int]
    """Lines of the import statements inside functions."""
    computed_imports: int
    """Calls of import_module whose argument is not a literal; the graph lacks them."""


# ---- one file


def read(file: Path, folder: Path) -> Module | None:
    """The module in a file, or None for a test."""
    path = Path(folder.resolve().name, file.relative_to(folder))
    source = file.read_bytes()
    nodes = list(ast.walk(ast.parse(source, str(file))))
    functions = [node for node in nodes if isinstance(node, FUNCTION)]
    if is_test(path, functions):
        return None
    package = path.parts[:-1]
    shown = Path(os.path.relpath(file))
    statements = [node for node in nodes if isinstance(node, IMPORT)]
    calls = [node for node in nodes if isinstance(node, ast.Call) and is_import(node)]
    literals = [(node.lineno, name) for node in calls if (name := literal(node, package))]
    local = {node: node.lineno for one in functions for node in ast.walk(one) if isinstance(node, IMPORT)}
    return Module(
        name=".".join(package if path.stem == "__init__" else (*package, path.stem)),
        file=shown,
        lines=len(source.splitlines()),
        functions=[(len(lines(node)), f"{shown}:{node.lineno} {node.name}") for node in functions],
        imports=[(node.lineno, name) for node in statements for name in names(node, package)] + literals,
        import_lines=len({line for node in statements for line in lines(node)}),
        local_imports=sorted(local.values()),
        computed_imports=len(calls) - len(literals),
    )


def is_test(path: Path, functions: list[ast.FunctionDef | ast.AsyncFunctionDef]) -> bool:
    """A conftest, a file below tests/, or a test_*.py with tests in it (pyhf's test_statistics.py has none)."""
    tests = path.name.startswith("test_") and any(one.name.startswith("test_") for one in functions)
    return tests or path.name == "conftest.py" or bool({"test", "tests"} & set(path.parts[:-1]))


def lines(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def names(node: ast.Import | ast.ImportFrom, package: tuple[str, ...]) -> list[str]:
    """Dotted names that a statement imports, relative ones made absolute."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = absolute("." * node.level + (node.module or ""), package)
    return [f"{base}.{alias.name}" for alias in node.names]


def absolute(name: str, package: tuple[str, ...]) -> str:
    bare = name.lstrip(".")
    above = package[: len(package) + 1 - (len(name) - len(bare))] if bare != name else ()
    return ".".join([*above, *filter(None, [bare])])


def is_import(node: ast.Call) -> bool:
    return ast.unparse(node.func).rpartition(".")[2] in ("import_module", "__import__")


def literal(node: ast.Call, package: tuple[str, ...]) -> str | None:
    """The module that `import_module("literal")` imports."""
    constant = node.args and isinstance(node.args[0], ast.Constant) and node.args[0].value
    return absolute(constant, package) if isinstance(constant, str) else None


# ---- the import graph


class Graph:
    """Nodes, the imports between them, the level of each, and the cycles (Tarjan's strongly connected components)."""

    def __init__(self, modules: list[Module], node_of: Callable[[str], str]) -> None:
        known = {module.name: node_of(module.name) for module in modules}
        self.edges: dict[str, dict[str, list[str]]] = {node: defaultdict(list) for node in known.values()}
        """Importer, imported, and where it says so."""
        for module in modules:
            for line, name in module.imports:
                target = known_prefix(name, known)
                if target and known[target] != known[module.name]:
                    self.edges[known[module.name]][known[target]].append(f"{module.file}:{line} imports {target}")
        self.level: dict[str, int] = {}
        self.cycles: list[list[str]] = []
        self._order: dict[str, int] = {}
        self._stack: list[str] = []
        for node in self.edges:
            if node not in self._order:
                self._visit(node)

    def _visit(self, node: str) -> int:
        """The earliest node on the stack that can be reached from this one."""
        lowest = self._order[node] = len(self._order)
        self._stack.append(node)
        for target in self.edges[node]:
            if target not in self._order:
                lowest = min(lowest, self._visit(target))
            elif target not in self.level:
                lowest = min(lowest, self._order[target])
        if lowest == self._order[node]:
            start = self._stack.index(node)
            together, self._stack = sorted(self._stack[start:]), self._stack[:start]
            below = (self.level[target] for one in together for target in self.edges[one] if target not in together)
            self.level |= dict.fromkeys(together, 1 + max(below, default=0))
            if len(together) > 1:
                self.cycles.append(together)
        return lowest

    def chain(self) -> Iterator[str]:
        """One of the longest chains, from the top level to the bottom."""
        reachable = set(self.edges)
        for level in range(max(self.level.values()), 0, -1):
            node = min(node for node in reachable if self.level[node] == level)
            yield node
            together = next((cycle for cycle in self.cycles if node in cycle), [node])
            reachable = {target for one in together for target in self.edges[one]}


def known_prefix(name: str, known: Container[str]) -> str | None:
    while name and name not in known:
        name = name.rpartition(".")[0]
    return name or None


def top_level(module: str) -> str:
    """The direct child of its package that a module belongs to; the package's own `__init__` is a node of its own."""
    return ".".join(module.split(".")[:2])


# ---- packages


@dataclass(frozen=True)
class Part:
    """A package, or all packages of the project together."""

    name: str
    modules: list[Module]

    @cached_property
    def top(self) -> Graph:
        return Graph(self.modules, top_level)

    @cached_property
    def graph(self) -> Graph:
        return Graph(self.modules, str)

    @cached_property
    def functions(self) -> list[tuple[int, str]]:
        return [function for module in self.modules for function in module.functions]

    @property
    def file_lines(self) -> list[int]:
        return [module.lines for module in self.modules]

    @property
    def function_lines(self) -> list[int]:
        return [length for length, _ in self.functions]

    @property
    def local_imports(self) -> int:
        return sum(len(module.local_imports) for module in self.modules)

    @property
    def import_percent(self) -> float:
        return round(100 * sum(module.import_lines for module in self.modules) / max(sum(self.file_lines), 1), 1)


def package(name: str, folder: Path) -> Part:
    found = [module for file in sorted(folder.rglob("*.py")) if (module := read(file, folder))]
    return Part(name, found) if found else sys.exit(f"{folder}: no modules")


def project(root: Path) -> list[Part]:
    built = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    parts = [package(Path(one).name, root / one) for one in built["targets"]["wheel"]["packages"]]
    return [*parts, Part("project", [module for part in parts for module in part.modules])]


def peers() -> list[Part]:
    """The latest version of each from the package index; it is read, not imported."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "install", "-qq", "--no-deps", "--no-compile", "--target", folder]
        subprocess.run([*pip, *PEERS], check=True)
        versions = {found.name: found.version for found in distributions(path=[folder])}
        return [package(f"{name} {versions[name]}", Path(folder, name)) for name in PEERS]


# ---- the table


def spread(lengths: list[int]) -> str:
    """p50 / p90 / max."""
    ranked = sorted(lengths) or [0]
    return " / ".join(str(ranked[math.ceil(share * len(ranked)) - 1]) for share in (0.5, 0.9, 1))


def over(lengths: list[int], limit: int) -> int:
    return sum(length > limit for length in lengths)


def fullest(part: Part) -> str:
    """The folder with the most modules directly in it."""
    ((folder, count),) = Counter(module.file.parent for module in part.modules).most_common(1)
    return f"{folder.name}: {count}"


def cycles(graph: Graph) -> str:
    sizes = sorted(map(len, graph.cycles), reverse=True)
    return f"{len(sizes)} (of {', '.join(map(str, sizes))})" if sizes else "0"


def edges(graph: Graph) -> int:
    return sum(map(len, graph.edges.values()))


class Row(NamedTuple):
    """A line of the table; a figure is a number where a target bounds it."""

    label: str
    figure: Callable[[Part], float | str]
    target: float | None = None
    show: Callable[[Part], str] | None = None
    each: bool = False
    """Whether the target is for each package and not for the project."""

    def met(self, part: Part) -> bool:
        bounded = self.target is not None and not (self.each and part.name == "project")
        return not bounded or float(self.figure(part)) <= float(self.target or 0)

    def cell(self, part: Part) -> str:
        return self.show(part) if self.show else number(self.figure(part))


def number(value: float | str | None) -> str:
    return "" if value is None else value if isinstance(value, str) else f"{value:,}".replace(",", " ")


ROWS = (
    Row("modules", lambda part: len(part.modules), 260),
    Row("lines", lambda part: sum(part.file_lines), 45_000),
    Row("file length, p50 / p90 / max", lambda part: spread(part.file_lines)),
    Row(f"modules over {LONG_FILE} lines", lambda part: over(part.file_lines, LONG_FILE), 0),
    Row("functions", lambda part: len(part.functions)),
    Row("function length, p50 / p90 / max", lambda part: spread(part.function_lines)),
    Row(f"functions over {LONG_FUNCTION} lines", lambda part: over(part.function_lines, LONG_FUNCTION), 0),
    Row("import lines, %", lambda part: part.import_percent, 6),
    Row("imports inside functions", lambda part: part.local_imports, 40),
    Row("imports by a computed name", lambda part: sum(module.computed_imports for module in part.modules)),
    Row("fullest folder", fullest),
    Row("top-level graph: nodes", lambda part: len(part.top.edges)),
    Row("top-level graph: levels", lambda part: max(part.top.level.values()), 10, each=True),
    Row("top-level graph: edges", lambda part: edges(part.top)),
    Row("top-level graph: cycles", lambda part: len(part.top.cycles), 0, lambda part: cycles(part.top)),
    Row("module graph: levels", lambda part: max(part.graph.level.values())),
    Row("module graph: edges", lambda part: edges(part.graph)),
    Row("module graph: cycles", lambda part: len(part.graph.cycles), 0, lambda part: cycles(part.graph)),
)


def table(ours: list[Part], others: list[Part], *, markdown: bool) -> None:
    """Figures of ours that miss their target are bold in Markdown and have an exclamation mark in text."""
    missed = "**{}**" if markdown else "{} !"
    cells = [["", *(part.name for part in ours), "target", *(part.name for part in others)]]
    for row in ROWS:
        own = [("{}" if row.met(part) else missed).format(row.cell(part)) for part in ours]
        cells.append([row.label, *own, number(row.target), *map(row.cell, others)])
    if markdown:
        cells.insert(1, ["---", *["---:"] * (len(cells[0]) - 1)])
        print("\n".join(f"| {' | '.join(line)} |" for line in cells))
        return
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for first, *rest in cells:
        print(first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)))


# ---- the worst of each kind


def worst(part: Part, count: int) -> None:
    def most(key: Callable[[Module], float]) -> list[Module]:
        return sorted(part.modules, key=key, reverse=True)[:count]

    functions = sorted(part.functions, reverse=True)[: max(count, over(part.function_lines, LONG_FUNCTION))]
    heading("longest files", (f"{one.lines:5} {one.file}" for one in most(lambda one: one.lines)))
    heading("longest functions", (f"{length:5} {place}" for length, place in functions))
    heading(
        "largest share of import lines",
        (f"{one.import_lines:4} of {one.lines:3} {one.file}" for one in most(share)),
    )
    local = [one for one in most(lambda one: len(one.local_imports)) if one.local_imports]
    heading(
        "imports inside functions",
        (f"{len(one.local_imports):3} {one.file}, lines {', '.join(map(str, one.local_imports))}" for one in local),
    )
    for name, graph in (("top-level graph", part.top), ("module graph", part.graph)):
        heading(f"longest chain of the {name}", graph.chain())
        for cycle in graph.cycles:
            heading(f"cycle in the {name}: {', '.join(cycle)}", rarest(graph, cycle, count))


def share(module: Module) -> float:
    return module.import_lines / max(module.lines, 1)


def rarest(graph: Graph, cycle: list[str], count: int) -> Iterator[str]:
    """Edges of a cycle; those with the fewest imports, the cheapest to cut, come first."""
    inside = [(places, one, other) for one in cycle for other, places in graph.edges[one].items() if other in cycle]
    for places, one, other in sorted(inside, key=lambda edge: len(edge[0]))[:count]:
        yield f"{len(places):3} {one} > {other}: {places[0]}"


def heading(title: str, found: Iterable[str]) -> None:
    print(title, *found, sep="\n  ", end="\n\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", metavar="NAME=FOLDER", help="packages to measure instead of the project")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="a checkout of the project")
    parser.add_argument("--peers", action="store_true", help=f"add {', '.join(PEERS)}, downloaded by pip")
    parser.add_argument("--md", action="store_true", help="print the table as Markdown")
    parser.add_argument("--worst", type=int, default=0, metavar="N", help="list the N worst of each kind, and cycles")
    options = parser.parse_args()
    if wrong := [one for one in options.packages if not all(one.partition("="))]:
        parser.error(f"want NAME=FOLDER, found '{wrong[0]}'")
    named = [package(name, Path(folder)) for name, _, folder in (one.partition("=") for one in options.packages)]
    ours = named or project(options.root)
    if options.worst:
        for part in named or ours[-1:]:
            worst(part, options.worst)
    table(ours, peers() if options.peers else [], markdown=options.md)


if __name__ == "__main__":
    main()
