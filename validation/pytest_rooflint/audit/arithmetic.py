"""Numbers of Python source: constant expressions are worked out from the syntax tree, never run."""

import ast
import math
import operator
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from pytest_rooflint.audit.spelling import UNIT_WORDS

MOST_DIGITS = 15
LARGEST_POWER = 128
"""Largest exponent that is worked out; a figure of hardware needs 2**80 at most."""
EXACT = 64
"""Integers up to this one are counts or factors, and do not limit the digits of a product."""

DEEPEST = 2
"""Files that import from one another and that are read for the constants of one."""
NEAREST = 4
"""Folders above a file in which a module is looked for that it imports by its whole name."""
LARGEST_FILE = 1_000_000
"""Size of a file from which constants are taken. [B]"""

_SIGNS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
    ast.LShift: lambda one, other: one * 2.0**other,
}
_CONVERSIONS = frozenset({"int", "float", "round"})


@dataclass(frozen=True, slots=True)
class Number:
    """The value of a constant expression."""

    value: float
    digits: int
    """Significant digits as written; 0 for a factor that is exact, such as 2 or 1e12."""
    text: str
    """As written for a plain literal, else the value in its digits."""
    unit: str = ""
    """A unit that the expression multiplies by and that the source does not define: `989 * TFLOPS`."""

    @property
    def written(self) -> str:
        """The number with its unit, as a cell of a table."""
        return f"{self.text} {self.unit}".strip()


@dataclass(frozen=True)
class Arithmetic:
    """Works out the constant expressions of one source file."""

    lines: Sequence[bytes]
    """The source in UTF-8, which is what the columns of syntax trees count in."""
    known: dict[str, Number] = field(default_factory=dict)
    """Constants that the file defines, by name."""
    bound: Collection[str] = ()
    """Names that the file binds: variables, arguments."""

    def number(self, node: ast.expr) -> Number | None:
        """The number that an expression is; None where it has variables or anything else that only a run could tell."""
        match node:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                return _literal(value, self.segment(node))
            case ast.Name() | ast.Attribute(value=ast.Name()):
                return self.known.get(ast.unparse(node))
            case ast.UnaryOp(op=ast.UAdd(), operand=inner):
                return self.number(inner)
            case ast.Call(func=ast.Name(id=name), args=[inner, *_], keywords=[]) if name in _CONVERSIONS:
                return self.number(inner) or _quoted(inner)
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _SIGNS:
                one, other = self.number(left), self.number(right)
                if isinstance(sign, ast.Mult) and (one or other):
                    one, other = one or self._unit(left), other or self._unit(right)
                return _combined(one, sign, other) if one and other else None
        return None

    def _unit(self, node: ast.expr) -> Number | None:
        """A factor that is a unit and that the file does not bind itself: `TFLOPS`, `units.GB`."""
        match node:
            case ast.Name(id=name) if name not in self.bound:
                pass
            case ast.Attribute(attr=name):
                pass
            case _:
                return None
        return Number(1.0, 0, "1", name) if name.lower() in UNIT_WORDS and len(name) > 1 else None

    def segment(self, node: ast.expr) -> str:
        """An expression as it is written, on one line."""
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        cut = list(self.lines[first : last + 1])
        cut[-1] = cut[-1][: node.end_col_offset]
        cut[0] = cut[0][node.col_offset :]
        return " ".join(b" ".join(cut).decode("utf-8", "replace").split())


def _literal(value: float, text: str) -> Number | None:
    if not _is_finite(value):
        return None
    mantissa = text.lower().partition("e")[0].replace("_", "")
    whole, _, decimals = mantissa.partition(".")
    if text[:2].lower() in ("0x", "0o", "0b"):
        text = whole = str(value)
    digits = (whole + decimals.rstrip("0")).lstrip("0")
    is_exact = (float(value).is_integer() and abs(value) <= EXACT) or digits.rstrip("0") in ("", "1")
    return Number(float(value), 0 if is_exact else len(digits), text.replace("_", ""))


def _quoted(node: ast.expr) -> Number | None:
    """The number in `float("989e12")`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            return _literal(float(node.value), node.value.strip())
        except ValueError:
            return None
    return None


def _combined(one: Number, sign: ast.operator, other: Number) -> Number | None:
    if isinstance(sign, ast.Pow | ast.LShift) and not abs(other.value) <= LARGEST_POWER:
        return None
    if other.unit and (one.unit or not isinstance(sign, ast.Mult)):
        return None
    try:
        value = _SIGNS[type(sign)](one.value, other.value)
    except (ArithmeticError, ValueError):
        return None
    if isinstance(value, complex) or not _is_finite(value):
        return None
    digits = max(one.digits, other.digits)
    digits += bool(digits)  # a factor may take a figure across a power of ten
    return Number(value, digits, _shown(value, digits), one.unit or other.unit)


def _shown(value: float, digits: int) -> str:
    """A value with its significant digits; exact factors give all that a float has."""
    return f"{value:.{digits or MOST_DIGITS}g}"


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond all floats
        return False


# ---- constants of a file, and those that it imports from files beside it


def arithmetic_of(tree: ast.Module, text: str, file: Path, depth: int = 0) -> Arithmetic:
    """The arithmetic of a file, with the constants that it binds once or imports."""
    stored = (node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    bound = Counter(stored) + Counter(node.arg for node in ast.walk(tree) if isinstance(node, ast.arg))
    found = Arithmetic(text.encode().splitlines(), bound=bound)
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom() | ast.Import() if depth < DEEPEST:
                found.known.update((name, one) for name, one in _imported(node, file, depth) if not bound[name])
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if bound[name] == 1:
                if number := found.number(value):
                    found.known[name] = number
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if len(names) == len(values):
                for one, held in zip(names, values, strict=True):
                    if isinstance(one, ast.Name) and bound[one.id] == 1 and (number := found.number(held)):
                        found.known[one.id] = number
    return found


def _imported(node: ast.ImportFrom | ast.Import, file: Path, depth: int) -> Iterator[tuple[str, Number]]:
    """Constants that a statement imports: `TERA` of `from units import TERA`, `units.TERA` of `import units`."""
    for one in node.names:
        called = one.asname or one.name
        if isinstance(node, ast.ImportFrom) and node.module:
            constants = _constants_of(node.module, node.level, file, depth)
            names = constants if one.name == "*" else {one.name}
            yield from ((called if one.name != "*" else name, constants[name]) for name in names if name in constants)
        else:
            level = node.level if isinstance(node, ast.ImportFrom) else 0
            constants = _constants_of(one.name, level, file, depth)
            yield from ((f"{called}.{name}", number) for name, number in constants.items())


def _constants_of(module: str, level: int, file: Path, depth: int) -> Mapping[str, Number]:
    """The constants of a module that lies beside a file or above it; none where it is not found or cannot be read."""
    folders = file.parents[level - 1 : level] if level else file.parents[:NEAREST]
    paths = [folder.joinpath(*module.split(".")) for folder in folders]
    for path in (one for base in paths for one in (base.with_suffix(".py"), base / "__init__.py")):
        with suppress(OSError, ValueError, SyntaxError, RecursionError, MemoryError):
            if path.is_file() and path != file and path.stat().st_size <= LARGEST_FILE:
                return _constants_in(path, path.stat().st_mtime_ns, depth + 1)
    return {}


@lru_cache(maxsize=512)
def _constants_in(path: Path, _: int, depth: int) -> Mapping[str, Number]:
    """The constants of a file as it was changed last; files of a project import the same modules."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = path.read_text(encoding="utf-8")
        known = arithmetic_of(ast.parse(text), text, path, depth).known
    return {name: number for name, number in known.items() if "." not in name}
