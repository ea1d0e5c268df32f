"""Summaries: what a command says of itself, read in the text of its module, which is not imported for it."""

import ast
from importlib.machinery import PathFinder
from importlib.metadata import EntryPoint
from pathlib import Path


def summary(entry: EntryPoint) -> str | None:
    """The help of a command, as Typer would take it from the module; None where only an import can tell.

    That is the `help` of a Typer app, else the docstring of its one command, else that of a function.
    """
    file = _file(entry.module)
    if file is None:
        return None
    body = ast.parse(file.read_bytes()).body
    app = next((node.value for node in body if isinstance(node, ast.Assign) and _assigns(node, entry.attr)), None)
    if given := _argument(app, "help"):
        return given
    functions = [node for node in body if isinstance(node, ast.FunctionDef)]
    name = f"{entry.attr}.command"
    wanted = [one for one in functions if one.name == entry.attr or name in map(_called, one.decorator_list)]
    return ast.get_docstring(wanted[0]) if len(wanted) == 1 else None


def _file(module: str) -> Path | None:
    """Where a module's text is, found without importing the packages that it is in."""
    spec, parts = None, module.split(".")
    for depth in range(1, len(parts) + 1):
        spec = PathFinder.find_spec(".".join(parts[:depth]), spec.submodule_search_locations if spec else None)
        if spec is None:
            return None
    file = Path(spec.origin or "") if spec else Path()
    return file if file.suffix == ".py" and file.is_file() else None


def _assigns(node: ast.Assign, name: str) -> bool:
    return [target.id for target in node.targets if isinstance(target, ast.Name)] == [name]


def _called(decorator: ast.expr) -> str:
    """`app.command` of `@app.command("list")`."""
    return ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)


def _argument(call: ast.expr | None, name: str) -> str | None:
    """The text that a call is given by that name."""
    given = call.keywords if isinstance(call, ast.Call) else []
    values = (one.value.value for one in given if one.arg == name and isinstance(one.value, ast.Constant))
    return next((value for value in values if isinstance(value, str)), None)
