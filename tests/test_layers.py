"""Layers: who may import whom, proved on the syntax trees, and what a start of the program does not import.

A module that is not placed in MODEL fails here: whoever adds one says where in the order it stands.
"""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

#: The model, lowest first: a module imports only what stands above it in this list.
MODEL = (
    "rooflint",  # the version and nothing else
    "rooflint.errors",
    "rooflint.names",
    "rooflint.project",
    "rooflint.whole_file",
    "rooflint.units",
    "rooflint.precision",
    "rooflint.facts",
    "rooflint.strict_yaml",
    "rooflint.yaml_text",
    "rooflint.schema",
    "rooflint.energy_schema",
    "rooflint.answers.schema",
    "rooflint.answers.tdp_schema",
    "rooflint.answers.tdp_registry_schema",
    "rooflint.answers.gemm_schema",
    "rooflint.event_schema",
    "rooflint.economics_schema",
    "rooflint.silicon_schema",
    "rooflint.silicon_ops_schema",
    "rooflint.device_calibration_schema",
    "rooflint.hardware",
    "rooflint.spec_files",
    "rooflint.completeness",
    "rooflint.specs",
    "rooflint.spread",
    "rooflint.energies",
    "rooflint.energy_checks",
    "rooflint.events",
    "rooflint.event_checks",
    "rooflint.launches",
    "rooflint.coefficients",
    "rooflint.layered_files",
    "rooflint.price_checks",
    "rooflint.prices",
    "rooflint.grid",
    "rooflint.economics",
    "rooflint.quantities",
    "rooflint.slips",
    "rooflint.op",
    "rooflint.flow",
    "rooflint.aten",
    "rooflint.fusion",
    "rooflint.workload",
    "rooflint.footprint",
    "rooflint.workload_tables",
    "rooflint.processor",
    "rooflint.roofline",
    "rooflint.silicon",
    "rooflint.silicon.shapes",
    "rooflint.silicon.constants",
    "rooflint.silicon.chip",
    "rooflint.silicon.residency",
    "rooflint.silicon.overlap",
    "rooflint.silicon.tile",
    "rooflint.silicon.gemm",
    "rooflint.silicon.cuda_cores",
    "rooflint.silicon.breakdown",
    "rooflint.silicon.calibration",
    "rooflint.silicon.op_constants",
    "rooflint.silicon.stream",
    "rooflint.silicon.pointwise",
    "rooflint.silicon.attention",
    "rooflint.silicon.prefill",
    "rooflint.silicon.decode",
    "rooflint.silicon.quantised",
    "rooflint.silicon.convolution",
    "rooflint.silicon.winograd",
    "rooflint.silicon.ways",
    "rooflint.silicon.network",
    "rooflint.unit_array",
    "rooflint.blocks",
    "rooflint.allocation",
    "rooflint.layouts",
    "rooflint.mapping",
    "rooflint.coefficient",
    "rooflint.node_energy",
    "rooflint.tdp",
    "rooflint.tdp.factors",
    "rooflint.tdp.widths",
    "rooflint.tdp.ladder",
    "rooflint.tdp.estimate",
    "rooflint.tdp.ranges",
    "rooflint.launching",
    "rooflint.basis",
    "rooflint.terms",
    "rooflint.traffic",
    "rooflint.control",
    "rooflint.energy",
    "rooflint.sustained",
    "rooflint.draw",
    "rooflint.prediction",
    "rooflint.metrics",
    "rooflint.latency_table",
    "rooflint.table",
    "rooflint.criteria",
    "rooflint.comparison",
    "rooflint.batch_sweep",
    "rooflint.spending",
    "rooflint.causes",
    "rooflint.conventions",
    "rooflint.suspects",
    "rooflint.designation",
    "rooflint.figures",
    "rooflint.readings",
    "rooflint.ledger",
    "rooflint.ledger_file",
    "rooflint.moves",
    "rooflint.refactored",
    "rooflint.recognise",
    "rooflint.diagnosis",
    "rooflint.answer",
    "rooflint.writing",
    "rooflint.writing.tables",
    "rooflint.writing.data",
    "rooflint.writing.plot",
    "rooflint.output",
    "rooflint.writing.log_axis",
    "rooflint.writing.columns",
    "rooflint.writing.chart",
    "rooflint.writing.bars",
    "rooflint.writing.heat",
    "rooflint.writing.rooflines",
    "rooflint.writing.curves",
    "rooflint.writing.text",
    "rooflint.scaling",
    "rooflint.torchvision_import",
    "rooflint.graph",
    "rooflint.trace",
    "rooflint.candidates",
    "rooflint.quantized",
    "rooflint.torchvision_networks",
    "rooflint.own_module",
    "rooflint.capture",
    "rooflint.capture_cache",
    "rooflint.networks",
    "rooflint.answers",
    "rooflint.answers.record",
    "rooflint.answers.explanation",
    "rooflint.answers.caveats",
    "rooflint.answers.insights",
    "rooflint.answers.overview",
    "rooflint.answers.breakdown",
    "rooflint.answers.kernel_map",
    "rooflint.answers.compare",
    "rooflint.answers.products",
    "rooflint.answers.analyze",
    "rooflint.answers.models",
    "rooflint.answers.sweep",
    "rooflint.answers.tdp_estimate",
    "rooflint.answers.tdp_registry_record",
    "rooflint.answers.tdp_registry_detail",
    "rooflint.answers.tdp_registry",
    "rooflint.answers.explain_gemm",
    "rooflint.commands",
    "rooflint.commands.options",
    "rooflint.commands.hardware",
    "rooflint.commands.peaks",
    "rooflint.commands.asked",
    "rooflint.commands.compare",
    "rooflint.commands.analyze",
    "rooflint.commands.models",
    "rooflint.commands.sweep",
    "rooflint.commands.tdp_estimate",
    "rooflint.commands.tdp_registry",
    "rooflint.commands.tdp",
    "rooflint.commands.explain",
    "rooflint.summaries",
    "rooflint.cli",
    "rooflint.__main__",
)

#: Packages of ours that each package may import, besides itself.
BELOW = {
    "rooflint": set(),
    "rooflint_measure": {"rooflint"},
    "pytest_rooflint": {"rooflint", "rooflint_measure"},
    "rooflint_report": set(),
}

#: What a stopwatch may know of the model: how to write and to name, nothing of what a device should reach.
STOPWATCH = {"rooflint.errors", "rooflint.units", "rooflint.precision", "rooflint.whole_file"}

#: Modules whose business is torch; nothing imports them at a start.
TORCH = {
    "rooflint.candidates",
    "rooflint.capture",
    "rooflint.graph",
    "rooflint.own_module",
    "rooflint.quantized",
    "rooflint.torchvision_import",
    "rooflint.torchvision_networks",
    "rooflint.trace",
}

#: What needs no third-party library at all, so that it can be read, and imported, alone.
BARE = {"rooflint", "rooflint.errors", "rooflint.units", "rooflint.precision", "rooflint.facts", "rooflint.hardware"}

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FOLDERS = [ROOT / folder for folder in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]]


def name_of(file: Path, folder: Path) -> str:
    """`model/rooflint/commands/peaks.py` is `rooflint.commands.peaks`."""
    parts = file.relative_to(folder.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {name_of(file, folder): file for folder in FOLDERS for file in sorted(folder.rglob("*.py"))}
TREES = {name: ast.parse(file.read_text(encoding="utf-8"), str(file)) for name, file in FILES.items()}


def imports(module: str, *, at_start: bool = False) -> Iterator[tuple[int, str]]:
    """(line, module) of every import, also of those inside functions and under TYPE_CHECKING.

    With `at_start` only of those that run when the module is imported.
    """
    for node in _nodes(TREES[module], at_start=at_start):
        for name in _imported(node, module):
            yield node.lineno, name


def _nodes(node: ast.AST, *, at_start: bool) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if at_start and isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if at_start and isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from _nodes(child, at_start=at_start)


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
    if isinstance(node, ast.Call) and ast.unparse(node.func).rsplit(".", 1)[-1] in ("import_module", "__import__"):
        (first, *_) = node.args
        if isinstance(first, ast.Constant):
            yield str(first.value)


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
    assert "rooflint.strict_yaml" in [name for _, name in imports("rooflint.specs")]  # from rooflint import strict_yaml
    assert "torchvision" in [name for _, name in imports("rooflint.torchvision_import")]  # import_module("torchvision")
    assert "torch" in [name for _, name in imports("rooflint.capture", at_start=True)]
    # inside a function: an import, and not one at the start
    assert "rich.table" in [name for _, name in imports("rooflint.table")]
    assert "rich.table" not in [name for _, name in imports("rooflint.table", at_start=True)]


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("import a.b, c", ["a.b", "c"]),
        ("from rooflint import units, nothing", ["rooflint.units", "rooflint"]),
        ("from . import options", ["rooflint.commands.options"]),
        ("from .options import Format", ["rooflint.commands.options"]),
        ("from ..units import OPS", ["rooflint.units"]),
        ("def f():\n    import torch", ["torch"]),
        ("try:\n    import torch\nexcept ImportError:\n    torch = None", ["torch"]),
        ("importlib.import_module('torch')", ["torch"]),
    ],
)
def test_the_walker_resolves_every_way_to_import(monkeypatch, code, names):
    monkeypatch.setitem(TREES, "rooflint.commands.peaks", ast.parse(code))
    assert [name for _, name in imports("rooflint.commands.peaks")] == names


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
        if package(module) == "rooflint_measure" and package(name) == "rooflint" and name not in STOPWATCH
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


# ----------------------------------------------------------------------------------------------------- inside the model


def test_every_module_of_the_model_has_its_place_in_the_order():
    modules = {module for module in FILES if package(module) == "rooflint"}
    assert modules - set(MODEL) == set(), "place the new module in MODEL, above all that may import it"
    assert set(MODEL) - modules == set(), "the module is gone; remove it from MODEL"
    assert len(MODEL) == len(set(MODEL))


def test_imports_inside_the_model_point_one_way():
    wrong = (
        (module, line, name)
        for module, line, name in every()
        if package(module) == package(name) == "rooflint" and module in MODEL
        # what is no module of ours is refused, too
        if name not in MODEL[: MODEL.index(module)]
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
    commands = [name for _, name in imports("rooflint.cli") if ".commands" in name]
    assert commands == []


def test_no_package_imports_in_circles():
    # a circle shows as a module that stays when modules without unvisited imports are taken away one by one
    edges = {
        module: {name for _, name in imports(module, at_start=True) if name in FILES} - {module} for module in FILES
    }
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


MAIN = "from rooflint.cli import main; main()"


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        ("import rooflint", ()),
        (MAIN, ("--help",)),
        (MAIN, ("peaks", "nvidia/t4")),
        ("import rooflint.roofline, rooflint.diagnosis, rooflint.workload_tables, rooflint.networks", ()),
        ("import rooflint_measure.apart, rooflint_measure.network, rooflint_measure.stream, rooflint_measure.wait", ()),
        ("from pytest_rooflint.commands.measure import app; app()", ("--help",)),
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
