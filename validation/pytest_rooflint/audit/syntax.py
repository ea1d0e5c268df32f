"""Parts of syntax trees that the reader of Python source asks for: texts, names, fields and pairs."""

import ast
import re
from collections.abc import Iterator, Sequence

from pytest_rooflint.audit.columns import guessed


def plain_text(node: ast.expr) -> str:
    """A text, or the texts of a list that has nothing else; empty for anything else."""
    parts = node.elts if isinstance(node, ast.Tuple | ast.List) else [node]
    texts = [one.value for one in parts if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return " ".join(texts) if len(texts) == len(parts) else ""


def leading_text(node: ast.expr) -> str:
    """The text with which an entry of a list of tuples begins."""
    return plain_text(node.elts[0]) if isinstance(node, ast.Tuple | ast.List) and node.elts else ""


def fields_of(node: ast.ClassDef) -> Iterator[str]:
    """The names that the positions of a call of a class have."""
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id
        if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
            yield from (arg.arg for arg in statement.args.args[1:])


def inner_assignments(node: ast.stmt) -> Iterator[ast.NamedExpr]:
    """`name := value` in the expressions of a statement, not in the statements below it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield from (one for one in ast.walk(child) if isinstance(one, ast.NamedExpr))


def unpacked(names: Sequence[ast.expr], values: Sequence[ast.expr]) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Names of a tuple with their values, counted from both ends where one is starred; what it may hold is left out."""
    starred = [[isinstance(one, ast.Starred) for one in side] for side in (names, values)]
    if not any(map(any, starred)):
        yield from zip(names, values, strict=False) if len(names) == len(values) else ()
        return
    if len(values) < len(names) - 1 and not any(starred[1]):  # which Python refuses
        return
    first = min(side.index(True) for side in starred if any(side))
    last = min(side[::-1].index(True) for side in starred if any(side))
    yield from zip(names[:first], values[:first], strict=False)
    yield from zip(names[len(names) - last :], values[len(values) - last :], strict=False)


def target_of(statement: ast.Assign | ast.AnnAssign) -> ast.expr:
    """What an assignment binds; the first of several."""
    return statement.targets[0] if isinstance(statement, ast.Assign) else statement.target


def is_of_row(column: str) -> bool:
    """Whether a column says in which precision, unit or sparsity its row is."""
    known = guessed(column)
    return known is not None and known.role in ("precision", "unit", "sparsity")


def name_called(func: ast.expr) -> str:
    """The last name of what is called; empty where it has none."""
    return func.id if isinstance(func, ast.Name) else func.attr if isinstance(func, ast.Attribute) else ""


def variable_of(node: ast.expr) -> str:
    """The variable or field that an expression asks: `name` of `name.lower()` and of `device.name`."""
    match node:
        case ast.Call(func=ast.Attribute(value=inner)):
            return variable_of(inner)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def texts_of(node: ast.AST) -> list[str]:
    """The texts of a key, a comparison or a pattern: strings, `torch.bfloat16`, `GPU.H100`, capabilities."""
    found: list[str] = []
    match node:
        case ast.Constant(value=str(text)):
            found = [text]
        case ast.Attribute(attr=name) if guessed(name) or re.search(r"\d", name):
            found = [name]
        case ast.Tuple(elts=[ast.Constant(value=int(major)), ast.Constant(value=int(minor))]):
            found = [f"compute capability {major}.{minor}"]
        case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items) | ast.MatchOr(patterns=items):
            found = [text for item in items for text in texts_of(item)]
        case ast.MatchValue(value=value):
            found = texts_of(value)
    return found
