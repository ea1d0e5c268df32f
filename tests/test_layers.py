"""Layers: who may import whom, proved on the syntax trees, and what a start of the program does not import.

A room that is not placed in ROOMS fails here: add a new one where it stands in the order.
"""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

#: The rooms of each package, lowest first: a module imports only its own room and those that stand above it here.
ROOMS = {
    "rooflint": (
        "base", "hardware", "workloads", "mapping", "roofline", "coefficients", "kernels", "energy", "cost",
        "prediction", "diagnosis", "output", "answers", "api", "cli", "__main__",
    ),
    "rooflint_measure": ("record", "recording", "identity", "sensors", "stopwatches", "compare"),
    "pytest_rooflint": (
        "golden", "recordings", "suite", "audit", "claims", "mutation", "repair", "evidence", "history",
        "session", "api", "cli", "plugin",
    ),
}  # fmt: skip

#: Packages of ours that each package may import, besides itself.
BELOW = {
    "rooflint": set(),
    "rooflint_measure": {"rooflint"},
    "rooflint_calibration": {"rooflint", "rooflint_measure"},
    "rooflint_report": {"rooflint"},
    "pytest_rooflint": {"rooflint", "rooflint_measure", "rooflint_calibration", "rooflint_report"},
}

#: What a stopwatch may know of the model: how to write and to name, nothing of what a device should reach.
STOPWATCH = "rooflint.base"

#: What the report may know of the model: texts and charts, nothing of devices or predictions.
REPORT = ("rooflint.base", "rooflint.output")

#: Modules that need torch; nothing imports them at a start.
TORCH = {f"rooflint.workloads.capture.{name}" for name in (
    "graph", "libraries", "runnable", "torchvision_networks", "trace", "user_model", "write",
)}  # fmt: skip

#: What needs no third-party library at all, so that it can be read, and imported, alone.
BARE = {
    "rooflint",
    "rooflint.base.errors",
    "rooflint.base.units",
    "rooflint.base.precision",
    "rooflint.base.facts",
    "rooflint.hardware.device",
}

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FOLDERS = [ROOT / folder for folder in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]]


def name_of(file: Path, folder: Path) -> str:
    """`model/rooflint/cli/hardware.py` is `rooflint.cli.hardware`."""
    parts = file.relative_to(folder.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {name_of(file, folder): file for folder in FOLDERS for file in sorted(folder.rglob("*.py"))}


@cache
def imports(module: str, *, at_start: bool = False) -> list[tuple[int, str]]:
    """(line, module) of every import, also of those inside functions and under TYPE_CHECKING.

    With `at_start` only of those that run when the module is imported.
    """
    text = _text(FILES[module])
    by_name = any(name in text for name in BY_NAME)
    return list(imports_in(_tree(FILES[module]), module, at_start=at_start, by_name=by_name))


BY_NAME = ("import_module", "__import__")
"""Functions that import what a text names; where a file has neither, only statements are looked at."""


@cache
def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")


@cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(_text(file), str(file))


def imports_in(
    tree: ast.Module, module: str, *, at_start: bool = False, by_name: bool = True
) -> Iterator[tuple[int, str]]:
    for node in _nodes(tree, at_start=at_start, by_name=by_name):
        for name in _imported(node, module):
            yield node.lineno, name


def _nodes(tree: ast.AST, *, at_start: bool, by_name: bool) -> Iterator[ast.AST]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if at_start and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if at_start and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        inner = ast.iter_child_nodes(node)
        waiting += reversed(
            [one for one in inner if by_name or isinstance(one, ast.stmt | ast.excepthandler | ast.match_case)]
        )


def _imported(node: ast.AST, module: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            parts = module.split(".") + (["__init__"] if FILES[module].name == "__init__.py" else [])
            base = ".".join([*parts[: -node.level], *([node.module] if node.module else [])])
        for alias in node.names:
            whole = f"{base}.{alias.name}"
            yield whole if whole in FILES else base
    if isinstance(node, ast.Call) and _last_name(node.func) in BY_NAME:
        (first, *_) = node.args
        if isinstance(first, ast.Constant):
            yield str(first.value)


def _last_name(node: ast.expr) -> str:
    """`import_module` of `importlib.import_module`."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def package(module: str) -> str:
    return module.partition(".")[0]


def places(found: Iterator[tuple[str, int, str]]) -> list[str]:
    return [f"{FILES[module].relative_to(ROOT).as_posix()}:{line} imports {name}" for module, line, name in found]


def every(*, at_start: bool = False) -> Iterator[tuple[str, int, str]]:
    for module in FILES:
        for line, name in imports(module, at_start=at_start):
            yield module, line, name


# ----------------------------------------------------------------------------------------------------------- the walker


def test_the_walker_sees_the_imports_that_are_there():
    # from rooflint.base import strict_yaml
    assert "rooflint.base.strict_yaml" in [name for _, name in imports("rooflint.hardware.registry")]
    # import_module("torchvision")
    assert "torchvision" in [name for _, name in imports("rooflint.workloads.capture.torchvision_networks")]
    assert "torch" in [name for _, name in imports("rooflint.workloads.capture.write", at_start=True)]
    # inside a function: an import, and not one at the start
    assert "rooflint.output.text" in [name for _, name in imports("rooflint.output.answer")]
    assert "rooflint.output.text" not in [name for _, name in imports("rooflint.output.answer", at_start=True)]


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("import a.b, c", ["a.b", "c"]),
        ("from rooflint.base import units, nothing", ["rooflint.base.units", "rooflint.base"]),
        ("from . import options", ["rooflint.cli.options"]),
        ("from .options import Format", ["rooflint.cli.options"]),
        ("from ..base.units import OPS", ["rooflint.base.units"]),
        ("def f():\n    import torch", ["torch"]),
        ("try:\n    import torch\nexcept ImportError:\n    torch = None", ["torch"]),
        ("importlib.import_module('torch')", ["torch"]),
    ],
)
def test_the_walker_resolves_every_way_to_import(code, names):
    assert [name for _, name in imports_in(ast.parse(code), "rooflint.cli.hardware")] == names


# ------------------------------------------------------------------------------------------------------------- packages


def test_every_folder_of_code_is_a_package_that_is_built():
    found = {file.parent for part in ("model", "validation", "reports") for file in (ROOT / part).glob("*/__init__.py")}
    assert found == set(FOLDERS)
    assert set(BELOW) == {folder.name for folder in FOLDERS}


def test_imports_between_packages_point_one_way():
    wrong = (
        (module, line, name)
        for module, line, name in every()
        if package(name) in BELOW and package(name) not in {package(module), *BELOW[package(module)]}
    )
    assert places(wrong) == []


def test_a_stopwatch_knows_no_peak():
    wrong = (
        (module, line, name)
        for module, line, name in every()
        if package(module) == "rooflint_measure" and package(name) == "rooflint" and not name.startswith(STOPWATCH)
    )
    assert places(wrong) == []


def test_the_report_knows_no_device():
    wrong = (
        (module, line, name)
        for module, line, name in every()
        if package(module) == "rooflint_report" and package(name) == "rooflint" and not name.startswith(REPORT)
    )
    assert places(wrong) == []


def test_only_the_harness_knows_pytest():
    wrong = (
        (module, line, name)
        for module, line, name in every()
        if package(name) in ("pytest", "_pytest", "pluggy") and package(module) != "pytest_rooflint"
    )
    assert places(wrong) == []


def test_no_module_imports_the_tests():
    assert places(found for found in every() if package(found[2]) in ("tests", "conftest", "golden")) == []


# ---------------------------------------------------------------------------------------------------------------- rooms


def room(module: str) -> str:
    """`rooflint.energy.terms` is in the room `energy`; a package itself is in the room ``."""
    return module.split(".")[1] if "." in module else ""


@pytest.mark.parametrize("name", ROOMS)
def test_every_room_has_its_place_in_the_order(name):
    rooms = {room(module) for module in FILES if package(module) == name} - {""}
    assert rooms - set(ROOMS[name]) == set(), "place the new room in ROOMS, above all that may import it"
    assert set(ROOMS[name]) - rooms == set(), "the room is gone; remove it from ROOMS"
    assert len(ROOMS[name]) == len(set(ROOMS[name]))


@pytest.mark.parametrize("name", ROOMS)
def test_imports_between_rooms_point_down(name):
    order = ("", *ROOMS[name])
    wrong = (
        (module, line, target)
        for module, line, target in every()
        if package(module) == package(target) == name
        and (room(target) not in order or order.index(room(target)) > order.index(room(module)))
    )
    assert places(wrong) == []


def test_the_lowest_modules_need_no_library():
    wrong = (
        (module, line, name)
        for module, line, name in every()
        if module in BARE and package(name) not in {"rooflint", *sys.stdlib_module_names}
    )
    assert places(wrong) == []


def test_the_program_imports_no_command():
    assert [name for _, name in imports("rooflint.cli.main") if name.startswith("rooflint.cli")] == []


def test_no_module_imports_itself_through_others():
    # imports inside functions count; a cycle is what stays when modules without unvisited imports are removed
    edges = {module: {name for _, name in imports(module) if name in FILES} - {module} for module in FILES}
    while free := [module for module, needed in edges.items() if not needed & set(edges)]:
        for module in free:
            del edges[module]
    assert sorted(edges) == []


# ---------------------------------------------------------------------------------------------------------------- torch


def test_torch_is_imported_at_the_top_only_where_torch_is_the_business():
    wrong = (
        (module, line, name)
        for module, line, name in every(at_start=True)
        if package(name) in ("torch", "torchvision") and module not in TORCH
    )
    assert places(wrong) == []


def test_what_needs_torch_is_imported_by_nothing_else_at_its_start():
    wrong = (found for found in every(at_start=True) if found[2] in TORCH and found[0] not in TORCH)
    assert places(wrong) == []
    assert set(FILES) > TORCH


SPY = """
import sys
class Spy:
    asked = []
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in ('torch', 'torchvision', 'pytest', '_pytest'):
            self.asked.append(name)
sys.meta_path.insert(0, Spy())
sys.argv = ['rooflint', *sys.argv[1:]]
try:
    {code}
except SystemExit as leaving:
    assert not leaving.code, leaving.code
print('asked for:', *Spy.asked)
"""


def asked_for(code: str, *arguments: str) -> str:
    """What of torch and pytest a fresh interpreter looks for, also where a missing one would be forgiven."""
    command = [sys.executable, "-c", SPY.format(code=code), *arguments]
    result = subprocess.run(command, capture_output=True, encoding="utf-8", check=False, cwd=ROOT)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()[-1]


MAIN = "from rooflint.cli.main import main; main()"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        ("import rooflint", ()),
        (MAIN, ("--help",)),
        (MAIN, ("peaks", "nvidia/t4")),
        (
            "import rooflint.roofline, rooflint.diagnosis.diagnose, rooflint.workloads.tables, rooflint.workloads.load",
            (),
        ),
        ("from rooflint_measure.stopwatches import network, numpy_process, stream, timing", ()),
        ("from pytest_rooflint.cli.measure import app; app()", ("--help",)),
    ],
    ids=["import", "help", "peaks", "model", "stopwatches", "measure"],
)
def test_a_start_imports_neither_torch_nor_pytest(code, arguments):
    assert asked_for(code, *arguments) == "asked for:"


def test_the_spy_sees_what_is_asked_for_and_forgiven():
    assert asked_for("exec('try: import torch.nowhere, pytest\\nexcept ImportError: pass')").startswith(
        "asked for: torch"
    )


def test_import_rooflint_imports_nothing_but_itself():
    code = "import sys, rooflint; print(*sorted(name for name in sys.modules if name.startswith('rooflint')))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert result.stdout == "rooflint\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "absent"),
    [
        (("--help",), ("numpy", "pydantic", "yaml", "rooflint.api", "rooflint.hardware")),
        (
            ("compare", "resnet18"),
            ("rooflint.kernels.network", "rooflint.kernels.constants", "rooflint.cost", "rooflint.answers.analyze",
             "rooflint.answers.sweep", "plotille", "typer.rich_utils"),
        ),
    ],
    ids=["help", "compare"],
)  # fmt: skip
def test_a_command_imports_only_what_it_uses(arguments, absent):
    code = f"import sys; sys.argv = ['rooflint', *{arguments!r}]\ntry:\n    {MAIN}\nfinally:\n    "
    code += "print(*sys.modules, file=sys.stderr)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True, cwd=ROOT)
    imported = result.stderr.split()
    assert "typer" in imported
    assert [name for name in absent if name in imported] == []


# ---------------------------------------------------------------------------------------------------------------- files


def test_no_test_sits_inside_a_package():
    stray = [
        file.relative_to(ROOT).as_posix()
        for folder in FOLDERS
        for pattern in ("test_*.py", "*_test.py", "conftest.py")
        for file in folder.rglob(pattern)
    ]
    assert stray == []


def test_every_package_is_typed():
    assert [folder.name for folder in FOLDERS if not (folder / "py.typed").is_file()] == []
