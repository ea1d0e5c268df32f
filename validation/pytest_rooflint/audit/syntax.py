"""Parts of syntax trees that the reader of Python source asks for: texts, names, fields and pairs."""

import ast
import copy
import io
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from pytest_rooflint.audit.columns import guessed
from rooflint.diagnosis.figures import QUANTITIES
from rooflint.hardware.device import KINDS
from rooflint.hardware.vocabulary import MODIFIERS, tells, words

OTHERS = frozenset({"default", "unknown", "other", "others", "none", "fallback", "any", "*", ""})
"""Keys of what is not in a table."""
SHORTEST_NAME = 3
"""Characters of a name that is a device by itself within what is about another; `t4` and `m1` are variables too."""
_URL = re.compile(r"https?://\S+")
_FOR_TOOLS = re.compile(r"#\s*(noqa|type:|pragma|pylint|fmt:|isort)", re.IGNORECASE)
_LIST = re.compile(r"[(\[]([^()\[\]]+,[^()\[\]]+)[)\]]")


def plain_text(node: ast.expr) -> str:
    """A text, or the texts of a list that has nothing else; empty for anything else."""
    parts = node.elts if isinstance(node, ast.Tuple | ast.List) else [node]
    texts = [one.value for one in parts if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return " ".join(texts) if len(texts) == len(parts) else ""


def leading_text(node: ast.expr) -> str:
    """The text with which an entry of a list of tuples begins."""
    return plain_text(node.elts[0]) if isinstance(node, ast.Tuple | ast.List) and node.elts else ""


_FIELDS = frozenset({"attrib", "ib", "field", "Field"})
"""What declares a field of a class that has no annotation: `bandwidth = attr.ib()`."""
_OPTIONS = frozenset({"add_argument", "option", "add_option"})
_NAMED_TUPLES = frozenset({"namedtuple", "NamedTuple", "make_dataclass"})


def fields_by_class(tree: ast.Module) -> dict[str, list[str]]:
    """The names that the positions of a call have: of classes, with what they inherit, and of named tuples."""
    found: dict[str, list[str]] = {}
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name=name, bases=bases):
                inherited = [one for base in bases for one in found.get(name_called(base), ())]
                own = _taken_by_init(node) or [*inherited, *_fields_of(node)]
                found[name] = list(dict.fromkeys(own)) or found.get(name, [])  # an `impl` of Rust declares none
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=func, args=[_, listed, *_])):
                if name_called(func) in _NAMED_TUPLES:
                    found[name] = _names_listed(listed)
    return found


def _taken_by_init(node: ast.ClassDef) -> list[str]:
    inits = (one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__")
    return [arg.arg for one in inits for arg in one.args.args[1:]]


def _fields_of(node: ast.ClassDef) -> Iterator[str]:
    for statement in node.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=func)) if name_called(func) in _FIELDS:
                yield name


def _names_listed(node: ast.expr) -> list[str]:
    """The names in `"name tflops"` or in a list of names, or of names with their types."""
    if isinstance(node, ast.List | ast.Tuple):
        return [plain_text(one) or leading_text(one) for one in node.elts]
    return plain_text(node).replace(",", " ").split()


def headers_of(tree: ast.Module, fields: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Names of columns that stand apart from their rows: `COLUMNS = ("name", "bf16_tflops")`, `__init__` of an enum."""
    found = []
    for node in ast.walk(tree):
        match node:
            case ast.Assign(value=ast.List(elts=items) | ast.Tuple(elts=items)):
                names = [plain_text(one) for one in items]
                if all(names) and sum(bool(guessed(name)) for name in names) > 1:
                    found.append(names)
            case ast.ClassDef(name=name, bases=bases) if any(name_called(base).endswith("Enum") for base in bases):
                found.append(list(fields[name]))
    return found


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


def entries_of(node: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """Keys and values of a dict: of a literal, of literals in it or in a call, and of a comprehension over literals."""
    found: Iterable[tuple[ast.expr, ast.expr]] = ()
    match node:
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            found = (one for key, value in pairs for one in (entries_of(value) if key is None else [(key, value)]))
        case (
            ast.Call(func=ast.Name(id="dict"), args=[inner], keywords=[])
            | ast.Call(func=ast.Attribute(value=inner, attr="items"), args=[], keywords=[])
        ):
            found = entries_of(inner)
        case ast.Call(func=ast.Name(id="zip"), args=[ast.List(elts=names) | ast.Tuple(elts=names), second]):
            found = zip(names, getattr(second, "elts", ()), strict=False)
        case ast.List(elts=items) | ast.Tuple(elts=items):
            found = ((one.elts[0], one.elts[1]) for one in items if isinstance(one, ast.Tuple) and len(one.elts) == 2)
        case ast.DictComp(key=key, value=value, generators=[ast.comprehension(target=target, iter=inner, ifs=[])]):
            found = _comprehended(key, value, target, entries_of(inner))
    return list(found)


def _comprehended(
    key: ast.expr, value: ast.expr, target: ast.expr, entries: Iterable[tuple[ast.expr, ast.expr]]
) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What `{key: value for name, number in entries}` holds, on the lines of the entries."""
    match target:
        case ast.Tuple(elts=[ast.Name(id=name), ast.Name(id=number)]):
            for first, second in entries:
                held = _Put({name: first, number: second})
                names = [one for one in ast.walk(key) if isinstance(one, ast.Name) and one.id == name]
                if names:  # also `name.lower()`
                    yield first, ast.copy_location(held.visit(copy.deepcopy(value)), second)


class _Put(ast.NodeTransformer):
    """Puts values in the place of names."""

    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """The value of a name."""
        return self.values.get(node.id, node)


def by_row(items: Sequence[tuple[str, ast.expr]], is_device: Callable[[str], bool]) -> list[list[tuple[str, ast.expr]]]:
    """The rows of a dict of columns: `{"gpu": ["T4", "L4"], "tflops": [65, 121]}`; none of anything else."""
    columns = [(key, value.elts) for key, value in items if key and isinstance(value, ast.List | ast.Tuple)]
    texts = [[plain_text(one) for one in held] for _, held in columns]
    place = next((n for n, listed in enumerate(texts) if len(listed) > 1 and all(map(is_device, listed))), None)
    if place is None or not any((known := guessed(key)) and known.role in QUANTITIES for key, _ in columns):
        return []
    alike = [(key, held) for key, held in columns if len(held) == len(texts[place])]
    named = [("", one) for one in columns[place][1]]
    others = [[(key, held[row]) for key, held in alike if held is not columns[place][1]] for row in range(len(named))]
    return [[name, *row] for name, row in zip(named, others, strict=True)]


def with_header(items: Sequence[ast.expr]) -> list[ast.expr]:
    """The rows of a list of lists of which the first names the columns, each as a dict; none of anything else."""
    rows = [one.elts for one in items if isinstance(one, ast.List | ast.Tuple)]
    names = [plain_text(one) for one in rows[0]] if rows else []
    is_header = all(names) and sum(bool(guessed(name)) for name in names) > 1
    if not is_header or len(rows) < len(items) or any(len(row) != len(names) for row in rows):
        return []
    return [
        ast.copy_location(ast.Dict(keys=list(rows[0]), values=list(row)), one)
        for one, row in zip(items[1:], rows[1:], strict=True)
    ]


def added(target: ast.expr, args: Sequence[ast.expr]) -> tuple[ast.expr, ast.expr]:
    """What `table.update({...})` and `table.setdefault(key, value)` bind, as if they were assignments."""
    if len(args) == 2:
        place = ast.Subscript(value=target, slice=args[0], ctx=ast.Store())
        return ast.copy_location(place, args[0]), args[1]
    return target, args[0] if args else ast.copy_location(ast.Constant(value=None), target)


def named_places(remark: str) -> list[list[str]]:
    """The names that a comment lists for the places of tuples: `(bf16_tflops, tdp)`, `bf16 TF  |  HBM GB/s`."""
    lists = [re.split(r"\s*,\s*", listed.strip()) for listed in _LIST.findall(remark)]
    lists = [names for names in lists if any(map(guessed, names))]
    if not lists:
        apart = re.split(r"\s*[,|]\s*|\s{2,}", re.split(r"->|→|[:=]", remark)[-1].strip(" |"))
        lists = [apart] if sum(map(bool, map(guessed, apart))) > 1 else []
    return lists


def target_of(statement: ast.Assign | ast.AnnAssign) -> ast.expr:
    """What an assignment binds; the first of several."""
    return statement.targets[0] if isinstance(statement, ast.Assign) else statement.target


def is_of_row(column: str) -> bool:
    """Whether a column says in which precision, unit or sparsity its row is."""
    known = guessed(column)
    return known is not None and known.role in ("precision", "unit", "sparsity")


def option_of(node: ast.Call) -> tuple[str, ast.expr, str] | None:
    """Name, default and help of an option of a command line: `add_argument("--peak-tflops", default=312, help=...)`."""
    given = {one.arg: one.value for one in node.keywords}
    names = [text for one in node.args if (text := plain_text(one)).startswith("--")]
    if name_called(node.func) not in _OPTIONS or not names or "default" not in given:
        return None
    said = given.get("help")
    return names[0].lstrip("-"), given["default"], plain_text(said) if said else ""


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


def is_result(value: ast.expr) -> bool:
    """Whether a value is what a function makes of something: `m1 = measured(...)` is no Apple M1."""
    return isinstance(value, ast.Call) and not name_called(value.func).lstrip("_")[:1].isupper()


def may_be_a_product(text: str) -> bool:
    """Whether a text may be the name of a device that is not known: neither `nvidia` nor `sxm` nor `gpu` nor `bf16`."""
    telling = (word for word in words(text) if tells(word) and word not in MODIFIERS and word not in KINDS)
    return len(text) >= SHORTEST_NAME and text.lower() not in OTHERS and any(telling) and not guessed(text)


def comments_of(text: str) -> Iterator[tuple[int, str]]:
    """Comments by line; those that have a line of their own by its negative.

    A number behind a figure is one that stood there before, and says nothing of it.
    """
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not _FOR_TOOLS.match(token.string):
            alone = not token.line[: token.start[1]].strip()
            if alone or re.search(r"[^\W\d_]", token.string):
                yield (-token.start[0] if alone else token.start[0]), _URL.sub("", token.string.lstrip("#: "))
