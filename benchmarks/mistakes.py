"""What the tests beside a module see: random mistakes in the source, each judged by the mirrored test file alone.

`python benchmarks/mistakes.py --count 30 --seed 1` works in a temporary copy of the repository. A mistake is a flipped
comparison, a swapped operator, a changed constant, a lost `not`, a swapped pair of arguments or a value returned
as None. Modules are drawn in proportion to their code, and each package is drawn at least once.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from copy import deepcopy
from importlib.util import find_spec
from pathlib import Path
from typing import Any

Change = Callable[[Any], object]
"""What a mistake does to a node of a syntax tree."""
PACKAGES = {
    "model/rooflint": "tests/model",
    "validation/pytest_rooflint": "tests/validation",
    "validation/rooflint_calibration": "tests/validation/calibration",
    "validation/rooflint_measure": "tests/validation/measure",
    "reports/rooflint_report": "tests/report",
}
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
}
NEEDS_TORCH = "model/rooflint/workloads/capture"
TIMEOUT_S = 180


def mistakes_at(node: ast.AST) -> Iterator[tuple[str, Change]]:
    """Mistakes that can be made at a node, each with what it does to a copy of the node."""
    match node:
        case ast.Compare(ops=[compared]) if type(compared) in COMPARISONS:
            yield "comparison", lambda at: setattr(at, "ops", [COMPARISONS[type(compared)]()])
        case ast.BinOp(op=sign) if type(sign) in OPERATORS and not _is_text(node):
            yield "operator", lambda at: setattr(at, "op", OPERATORS[type(sign)]())
        case ast.BoolOp(op=joint):
            yield "and/or", lambda at: setattr(at, "op", ast.Or() if isinstance(joint, ast.And) else ast.And())
        case ast.Constant(value=bool() as flag):
            yield "constant", lambda at: setattr(at, "value", not flag)
        case ast.Constant(value=int() | float() as number):
            yield "constant", lambda at: setattr(at, "value", number + 1 if number < 2 else number * 2)
        case ast.Call(args=[ast.expr(), ast.expr(), *_]) if not any(isinstance(one, ast.Starred) for one in node.args):
            yield "arguments", lambda at: at.args.insert(0, at.args.pop(1))
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield "return", lambda at: setattr(at, "value", ast.Constant(None))
        case ast.UnaryOp(op=ast.Not()):
            yield "not", lambda at: setattr(at, "operand", ast.UnaryOp(ast.Not(), at.operand))


def _is_text(node: ast.AST) -> bool:
    return any(isinstance(one, ast.JoinedStr) or isinstance(getattr(one, "value", None), str) for one in ast.walk(node))


def places(tree: ast.Module) -> list[tuple[Any, str, Change]]:
    """All mistakes that can be made in the bodies of functions, but for annotations and `__repr__`."""
    found = []
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and function.name != "__repr__":
            skipped = {id(one) for arg in ast.walk(function.args) for one in ast.walk(arg)}
            for statement in function.body:
                for node in ast.walk(statement):
                    if isinstance(node, ast.AnnAssign):
                        skipped |= {id(one) for one in ast.walk(node.annotation)}
                    if id(node) not in skipped:
                        found += [(node, kind, change) for kind, change in mistakes_at(node)]
                        skipped.add(id(node))
    return found


def plant(source: str, random_: random.Random) -> tuple[str, int, str, str]:
    """The source with one mistake, its line, and that line before and after."""
    tree = ast.parse(source)
    node, kind, change = random_.choice(places(tree))
    before = ast.get_source_segment(source, node) or ""
    changed = deepcopy(node)
    change(changed)
    after = ast.unparse(changed)
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))
    raw = source.encode()
    first, last = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
    wrapped = after if isinstance(node, ast.stmt) else f"({after})"
    return (raw[:first] + wrapped.encode() + raw[last:]).decode(), node.lineno, f"{kind}: {before}", after


def mirrored(root: Path, module: Path) -> Path | None:
    """The test file of a module: `room/name.py` is tested by `room/test_name.py`, or by that name in a flat folder."""
    package = next(one for one in PACKAGES if module.is_relative_to(one))
    inside, tests = module.relative_to(package), root / PACKAGES[package]
    folders = [tests / inside.parent, tests, root / "tests/torch"]
    name = inside.parent.name if inside.name == "__init__.py" else inside.stem
    candidates = [folder / f"test_{name}.py" for folder in folders]
    return next((one for one in candidates if one.is_file()), None)


def judge(root: Path, module: Path) -> str:
    """Whether the mirrored tests fail, with the module as it stands now."""
    test = mirrored(root, module)
    if test is None:
        return "NO TEST FILE"
    env = os.environ | {"PYTHONPATH": os.pathsep.join(str(root / one) for one in ("model", "validation", "reports"))}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--no-header", str(test)]
    try:
        ran = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return "caught (never ended)"
    return (
        "caught" if ran.returncode == 1 else "SURVIVED" if ran.returncode == 0 else f"caught (status {ran.returncode})"
    )


def drawn(root: Path, count: int, below: str, random_: random.Random) -> list[Path]:
    """Modules to plant a mistake in: one of each package, then as often as there are places for a mistake."""
    modules = [path.relative_to(root) for one in PACKAGES for path in sorted((root / one).rglob("*.py"))]
    modules = [module for module in modules if module.is_relative_to(below)]
    if find_spec("torch") is None:
        modules = [module for module in modules if not module.is_relative_to(NEEDS_TORCH)]
    sizes = {module: len(places(ast.parse((root / module).read_text("utf-8")))) for module in modules}
    chosen = []
    for package in PACKAGES:
        inside = [module for module in modules if module.is_relative_to(package)]
        chosen += random_.choices(inside, [sizes[one] for one in inside]) if inside else []
    return [*chosen, *random_.choices(modules, list(sizes.values()), k=count)][:count]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--below", default=".", help="only modules below this folder, such as model/rooflint/answers")
    options = parser.parse_args()
    random_ = random.Random(options.seed)
    caught = 0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "copy"
        shutil.copytree(
            Path(__file__).parents[1], root, ignore=shutil.ignore_patterns(".git", ".tox", "out", "__pycache__")
        )
        for module in drawn(root, options.count, options.below, random_):
            source = (root / module).read_text("utf-8")
            changed, line, before, after = plant(source, random_)
            (root / module).write_text(changed, "utf-8")
            verdict = judge(root, module)
            (root / module).write_text(source, "utf-8")
            caught += verdict.startswith("caught")
            print(f"{verdict:>16}  {module}:{line}  {before}  ->  {after}", flush=True)
    print(f"{caught} of {options.count} caught")


if __name__ == "__main__":
    main()
