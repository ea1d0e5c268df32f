"""Read Python source: figures of devices in literals, calls, conditions and defaults become rows of a table.

The syntax tree is read and nothing is run. A figure belongs to the device that a key, a keyword, a name, a condition
or, where none of them does, a comment on its line names; its column is the name that it is assigned to.
"""

import ast
import re
import tokenize
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, islice
from pathlib import Path
from textwrap import shorten

from pytest_rooflint.audit.arithmetic import Arithmetic, arithmetic_of
from pytest_rooflint.audit.column_words import OTHERWISE
from pytest_rooflint.audit.columns import (
    guessed,
    is_device_word,
    is_mere_precision,
)
from pytest_rooflint.audit.mentions import is_of_another, mentioned, within, words_in
from pytest_rooflint.audit.places import Place, says_figure
from pytest_rooflint.audit.rows import NAME, UNNAMED, Cell, IsDevice, Row, says_measured
from pytest_rooflint.audit.syntax import (
    OTHERS,
    SHORTEST_NAME,
    added,
    by_row,
    comments_of,
    entries_of,
    fields_by_class,
    headers_of,
    inner_assignments,
    is_of_row,
    is_result,
    leading_text,
    may_be_a_product,
    name_called,
    named_places,
    option_of,
    plain_text,
    target_of,
    texts_of,
    unpacked,
    variable_of,
    with_header,
)
from rooflint.base.errors import refuse
from rooflint.diagnosis.figures import QUANTITIES

LONGEST_TEXT = 40
"""Characters of a text that is taken for a cell; a longer one is prose."""
MOST_READINGS = 256
"""Combinations of devices for which a block below nested conditions is read; with more, its figures are not read."""
MOST_APART = 8
"""Factor between numbers of a tuple from which on they are of several quantities."""
_NUMBER = re.compile(r"\W{0,2}\d")
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_RATES = frozenset({"peak", "bandwidth"})
"""Quantities of which a figure that depends on a variable is listed."""


@dataclass
class _Reader:
    """Walks the statements of a file and collects rows."""

    file: Path
    is_device: IsDevice
    arithmetic: Arithmetic
    comments: dict[int, str]
    fields: dict[str, list[str]] = field(default_factory=dict)
    """Names of the fields of each class."""
    headers: list[list[str]] = field(default_factory=list)
    """Names of columns that the file lists apart from their rows."""
    bases: set[str] = field(default_factory=set)
    """Base classes of those that are devices; others of the same base are devices without a spec."""
    whole: str = ""
    """The device of the figures beside which none is named."""
    rows: dict[int, dict[str, Cell]] = field(default_factory=dict)
    records: Iterator[int] = field(default_factory=lambda: count(1))

    def statements(self, body: Iterable[ast.stmt], place: Place) -> None:
        """Read statements in their order."""
        above, end = "", 0
        for statement in body:  # a comment above some lines heads all of them
            own, line = self._remark(statement), statement.lineno
            above = self._heading(line) if line != end + 1 or -(line - 1) in self.comments else above
            if above and own and not within(own, self.is_device)[0] and within(above, self.is_device)[0]:
                self.comments[line] = f"{above}, {own}"  # the heading names the device
            heads = above and not own and not isinstance(statement, _DEFINITIONS)
            self.statement(statement, replace(place, remark=above) if heads else place)
            end = statement.end_lineno or 0

    def statement(self, node: ast.stmt, place: Place) -> None:
        """Read one statement and what is in it."""
        own = self._remark(node)
        place = replace(place, remark=own or place.remark, is_conditional=place.is_conditional and not own)
        for inner in inner_assignments(node):
            self.assigned(inner.target, inner.value, place)
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self.assigned(target, value, place)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.assigned(target, value, place)
            case ast.AugAssign(target=target, op=ast.BitOr(), value=value):
                self.assigned(target, value, place)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=target, attr="update" | "setdefault"), args=args)):
                self.assigned(*added(target, args), place)
            case ast.Return(value=ast.expr() as value) | ast.Expr(value=value):
                self.value(value, place)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.function(node, place)
            case ast.ClassDef(name=name, body=body):
                self.statements(
                    body, self._of_class(node, self.identified(name, node.lineno, self._documented(node, place)))
                )
            case _:
                self.compound(node, place)

    def compound(self, node: ast.stmt, place: Place) -> None:
        """Read the blocks of a statement; a condition or a pattern may name the device of its block."""
        match node:
            case ast.If(test=test, body=body, orelse=orelse):
                inner = replace(place, is_conditional=True)
                for one in self.readings(test, inner):
                    self.statements(body, self._unless_precision(one, place))
                is_last = not (len(orelse) == 1 and isinstance(orelse[0], ast.If))
                last = self._unless_precision(self._otherwise(test, inner), place)
                self.statements(orelse, last if is_last else inner)
            case ast.Match(subject=subject, cases=cases):
                for case in cases:
                    outer = self._alternatives(texts_of(case.pattern), case.pattern.lineno, place, subject)
                    guard = case.guard or ast.Constant(value=True)
                    found = (inner for one in outer for inner in self.conditions(guard, one))
                    for one in self._few(found, place):
                        self.statements(case.body, one)
            case _:
                for part in ("body", "orelse", "finalbody"):
                    self.statements(getattr(node, part, ()), place)
                for handler in getattr(node, "handlers", ()):
                    self.statements(handler.body, place)

    @staticmethod
    def _unless_precision(inner: Place, outer: Place) -> Place:
        """The place below a condition; one that only names a precision leaves the device to what is around it."""
        names = (inner.above + inner.below)[len(outer.above) + len(outer.below) :]
        is_precision = inner.device == outer.device and names and all(map(is_mere_precision, names))
        return replace(inner, is_conditional=outer.is_conditional) if is_precision else inner

    def assigned(self, target: ast.expr, value: ast.expr, place: Place) -> None:
        """Read `name = value`, `self.name = value`, `table["h100"]["bf16"] = value`, and pairs of them in tuples."""
        match target:
            case ast.Tuple(elts=names) | ast.List(elts=names):
                for name, one in unpacked(names, value.elts if isinstance(value, ast.Tuple | ast.List) else []):
                    self.assigned(name, one, place)
            case ast.Name(id=name) if len(name) < SHORTEST_NAME and is_result(value):
                self.value(value, place.named(name))
            case ast.Name(id=name) | ast.Attribute(attr=name):
                self.value(value, self.identified(name, target.lineno, place))
            case ast.Subscript():
                self.value(value, self._subscripted(target, place))

    def _subscripted(self, target: ast.expr, place: Place) -> Place:
        """The place of `table["h100"]["bf16"]`."""
        if isinstance(target, ast.Name):
            return self.identified(target.id, target.lineno, place)
        if isinstance(target, ast.Subscript):
            place = self._subscripted(target.value, place)
            for text in texts_of(target.slice):
                place = self.labelled(text, target.lineno, place)
        return place

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, place: Place) -> None:
        """Read the defaults and the body of a function; its docstring speaks for what it returns."""
        inner = self.identified(node.name, node.lineno, self._documented(node, place))
        for one in node.decorator_list:
            self.value(one, place)
        taken = [*node.args.posonlyargs, *node.args.args]
        defaults = list(zip(taken[len(taken) - len(node.args.defaults) :], node.args.defaults, strict=True))
        defaults += [
            (arg, default) for arg, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if default
        ]
        for arg, default in defaults:
            self.value(default, self.identified(arg.arg, default.lineno, inner))
        self.statements(node.body, inner)

    def _documented(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, place: Place) -> Place:
        """The place with the first line of a docstring as its remark, unless a comment on it says more."""
        said = (ast.get_docstring(node) or "").partition("\n")[0]
        return replace(place, remark=said) if within(said, self.is_device)[0] or not place.remark else place

    def _of_class(self, node: ast.ClassDef, place: Place) -> Place:
        named = [
            (key.id, value)
            for statement in node.body
            if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value
            for key, value in [(target_of(statement), statement.value)]
            if isinstance(key, ast.Name)
        ]
        found, bases = self._of_record(named, place), {ast.unparse(base) for base in node.bases}
        if found.device:
            self.bases |= bases
        called = next(
            (value for key, value in named if is_device_word(key) and may_be_a_product(plain_text(value))), None
        )
        is_unknown = called is not None and not found.device and bases & self.bases
        return self._of_device(plain_text(called), node.lineno, place) if called and is_unknown else found

    def value(self, node: ast.expr, place: Place) -> None:
        """Read a value: a number, a text, or a record or list of values."""
        if number := self.arithmetic.number(node):
            self.figure(number.written, node.lineno, place)
            return
        match node:
            case ast.Constant(value=str(text)):
                if place.device and len(text) <= LONGEST_TEXT and (_NUMBER.match(text) or is_of_row(place.column)):
                    self.figure(text, node.lineno, place)
            case ast.Dict() | ast.DictComp() | ast.Call(func=ast.Name(id="dict"), args=[_], keywords=[]):
                items = entries_of(node)
                headed = [self._heading(key.lineno) for key, _ in items[:1] if key.lineno > node.lineno]
                place = replace(place, remark=headed[0]) if headed and named_places(headed[0]) else place
                self.record([(" ".join(texts_of(key)), value) for key, value in items], place)
            case (
                ast.Call(func=ast.Name(id="int" | "float" | "round"), args=[inner, *_], keywords=[])
                | ast.NamedExpr(value=inner)
                | ast.Lambda(body=inner)
            ):
                self.value(inner, place)
            case (
                ast.Call(func=ast.Attribute(attr="get", value=ast.Dict() as table))
                | ast.Subscript(value=ast.Dict() as table)
            ):
                self.value(table, place)
            case ast.Call():
                self.called(node, place)
            case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
                self.record([("", one) for one in with_header(items) or items], place)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                for one in self.readings(test, place):
                    self.value(body, one)
                self.value(orelse, place if isinstance(orelse, ast.IfExp) else self._otherwise(test, place))
            case ast.BinOp() if place.device and (column := guessed(place.column)) and column.role in _RATES:
                text = self.arithmetic.segment(node).replace("**", "^").replace("*", "×")
                self.figure(text, node.lineno, place)

    def called(self, node: ast.Call, place: Place) -> None:
        """Read the arguments of a call, which are a record; `field` of a dataclass holds the value of the field."""
        if option := option_of(node):
            label, default, said = option
            self.value(default, replace(self.identified(label, default.lineno, place), remark=said))
            return
        name = name_called(node.func)
        named = [(word.arg, word.value) for word in node.keywords if word.arg]
        names = self.fields.get(name, [])
        held = [(names[position] if position < len(names) else "", one) for position, one in enumerate(node.args)]
        if not name.lstrip("_")[:1].isupper() and not self._naming(held, place):
            held = []  # what a function makes of its arguments only a run could tell
        for _, value in named if name == "field" else ():
            self.value(value, place)
        if name != "field":
            self.record([*held, *named], place)

    def record(self, items: list[tuple[str, ast.expr]], place: Place) -> None:
        """Read the entries of a dict, a call or a tuple; a text in it may name the device of the others."""
        if any(says_measured(key, plain_text(value)) for key, value in items):
            return  # no figures of a spec
        if rows := by_row(items, self.is_device):
            for row in rows:
                self.record(row, place)
            return
        name = self._naming(items, place)
        place = self._of_record(items, place)
        items = self._with_names(items, place)
        leading = [leading_text(value) for key, value in items if not key]
        is_table = any(self.is_device(text) for text in [*(key for key, _ in items), *leading])
        for key, value in items:
            if value is name:
                continue
            below = self.labelled(key, value.lineno, place)
            text = key or leading_text(value)
            if text and text.lower() in OTHERS:
                below = replace(below, is_conditional=True)
            if is_table and below.device == place.device and text.lower() not in OTHERS and not guessed(text):
                below = self._of_device(text, value.lineno, place)  # stands among devices and is none that we know
            self.value(value, below)

    def _with_names(self, items: list[tuple[str, ast.expr]], place: Place) -> list[tuple[str, ast.expr]]:
        """The entries of a tuple with the names that a comment lists for them: `# (cores, bandwidth_gbps, tdp)`."""
        if not place.device or len(items) < 2 or any(key for key, _ in items):  # a list of names
            return items
        for names in named_places(place.remark):
            held = items[len(items) - len(names) :]
            if len(names) in (len(items), len(items) - bool(plain_text(items[0][1]))):
                return [*items[: len(items) - len(names)], *zip(names, (value for _, value in held), strict=True)]
        for names in self._headers(len(items)):
            return list(zip(names, (value for _, value in items), strict=True))
        numbers = [number.value for _, value in items if (number := self.arithmetic.number(value))]
        known = guessed(place.column)
        is_mixed = len(numbers) > 1 and max(numbers) > MOST_APART * min(numbers)
        is_row = len(numbers) > 1 and bool(plain_text(items[0][1]))
        if is_mixed or is_row or (known and known.role == "number"):
            text = f"({', '.join(self.arithmetic.segment(value) for _, value in items)})"
            cell = Cell(shorten(text, LONGEST_TEXT, placeholder="…)"), items[0][1].lineno)
            self.rows[next(self.records)] = {NAME: Cell(place.device, place.line), UNNAMED: cell}
            return []
        return items

    def _headers(self, number: int) -> list[list[str]]:
        """The one list of names that rows of so many values have; with one more, it begins with the device."""
        alike = [names for names in self.headers if len(names) == number]
        alike += [names[1:] for names in self.headers if len(names) == number + 1 and is_device_word(names[0])]
        return alike if len(alike) == 1 else []

    def _of_record(self, items: Sequence[tuple[str, ast.expr]], place: Place) -> Place:
        """The place of a record, with the device that one of its texts names."""
        if name := self._naming(items, place):
            return self._of_device(plain_text(name), name.lineno, place)
        return replace(place, record=next(self.records)) if place.device else place

    def _naming(self, items: Iterable[tuple[str, ast.expr]], place: Place) -> ast.expr | None:
        """The value that names the device of a record: a text, or several that do it together (`["h100", "nvl"]`).

        Where no key around it names one, a value under any key may: `part="H100"`.
        """
        texts = [(key, value) for key, value in items if (text := plain_text(value)) and self.is_device(text)]
        named = [value for key, value in texts if not key or is_device_word(key)]
        others = [value for key, value in texts if len(plain_text(value)) >= SHORTEST_NAME and not guessed(key)]
        return next(iter(named or ([] if place.device else others)), None)

    def figure(self, text: str, line: int, place: Place) -> None:
        """Add a cell to the row of its record; a device that only the comment on its line names is taken from there."""
        remark = self.comments.get(line, "")
        if not place.device and (guessed(place.column) or _NUMBER.match(text) is None):
            place = self._mentioned(remark or ("" if place.is_conditional else place.remark), line, place)
        if not place.device and self.whole and not place.is_conditional and says_figure(place.column, text):
            place = replace(place, device=self.whole, line=1)
        if not place.device:
            return
        row = self.rows.setdefault(place.record, {NAME: Cell(place.device, place.line)})
        if place.column in row:
            row = self.rows.setdefault(next(self.records), {NAME: Cell(place.device, place.line)})
        row[place.column] = Cell(text, line, remark or place.remark)

    # ---- names

    def labelled(self, text: str, line: int, place: Place) -> Place:
        """The place below a text: of the device that it is, or of one that it names beside what a figure is."""
        if not text:
            return place
        series = [word for label in place.above[-1:] for word in words_in(label)]  # TPU_FLOPS = {"v4": ...}
        known = guessed(text)
        is_quantity = known is not None and known.role in QUANTITIES and text.isalpha()  # the memory of an RTX 3090
        for name in (text, f"{place.device} {text}", *(f"{word} {text}" for word in series)):
            if not is_quantity and self.is_device(name):
                return self._of_device(name, line, place)
        device, rest = within(text, self.is_device)
        if device and not place.device and (guessed(rest) or is_mere_precision(rest)):
            return self._of_device(device, line, place).named(rest)
        return place.named(text)

    def identified(self, name: str, line: int, place: Place) -> Place:
        """The place below an identifier: of the device that some of its words name, also within that of another."""
        device, rest = within(name, self.is_device)
        if not device or is_of_another(rest):
            return place.named(name)
        is_telling = bool(guessed(rest)) or is_mere_precision(rest) or (not rest and len(device) >= SHORTEST_NAME)
        if place.device and not is_telling:
            return place.named(name)
        return self._of_device(device, line, place).named(rest)

    def _otherwise(self, test: ast.expr, place: Place) -> Place:
        """The place of what holds where a condition does not: of another precision, where the condition names one."""
        if any(map(is_mere_precision, place.below)):  # a key says it
            return place
        named = [one for one in islice(self.conditions(test, place), MOST_READINGS) if one.below != place.below]
        is_of_precision = named and all(is_mere_precision(one.below[-1]) for one in named if one.below)
        return place.named(OTHERWISE) if is_of_precision and all(one.below for one in named) else place

    def readings(self, test: ast.expr, place: Place) -> list[Place]:
        """The places below a condition, or one of no known device where they are too many."""
        return self._few(self.conditions(test, place), place)

    @staticmethod
    def _few(found: Iterable[Place], place: Place) -> list[Place]:
        left = MOST_READINGS // place.readings
        kept = list(islice(found, left + 1))
        if len(kept) > left:
            several = f"one of more than {MOST_READINGS} combinations of devices"
            return [replace(place, device=several, is_conditional=True, readings=MOST_READINGS + 1)]
        return [replace(one, readings=place.readings * max(len(kept), 1)) for one in kept]

    def conditions(self, test: ast.expr, place: Place) -> Iterator[Place]:
        """The places below a condition: one for each alternative that it names, such as `"a100" in name`."""
        match test:
            case ast.BoolOp(op=ast.Or(), values=values):
                for one in values:
                    yield from self.conditions(one, place)
            case ast.BoolOp(op=ast.And(), values=values):
                found = [place]
                for one in values:
                    each = (inner for outer in found for inner in self.conditions(one, outer))
                    found = list(islice(each, MOST_READINGS + 1))
                yield from found
            case ast.Compare(left=left, ops=[ast.In() | ast.Eq()], comparators=[right]):
                texts = texts_of(left)
                yield from self._alternatives(texts or texts_of(right), test.lineno, place, right if texts else left)
            case ast.Call(func=ast.Attribute(value=subject, attr="startswith" | "endswith"), args=[text]):
                yield from self._alternatives(texts_of(text), test.lineno, place, subject)
            case ast.Call(func=ast.Name(id="any"), args=[ast.GeneratorExp(elt=inner, generators=[one])]):
                compared = inner.comparators[0] if isinstance(inner, ast.Compare) else None
                yield from self._alternatives(texts_of(one.iter), test.lineno, place, compared)
            case ast.Call() | ast.Name() | ast.Attribute():  # `if is_using_tf32():` says what is computed
                named = filter(is_mere_precision, words_in(ast.unparse(test).replace(".", " ")))
                said = (
                    one for one in named if re.search(r"\d", one) or one.lower() == "half"
                )  # and not `cuda` of `torch.cuda`
                yield place.computing(next(said, "")) if place.device else place.named(next(said, ""))
            case _:
                yield place

    def _alternatives(self, texts: list[str], line: int, place: Place, subject: ast.expr | None) -> Iterator[Place]:
        """The places below texts that something is compared with: the name of a device, where it is called so."""
        if not texts:
            yield place
        is_name = not place.device and place.is_telling and subject is not None and is_device_word(variable_of(subject))
        for text in texts:
            below = self.labelled(text, line, place)
            is_unknown = is_name and not below.device and may_be_a_product(text)
            yield self._of_device(text, line, place) if is_unknown else below

    def _of_device(self, device: str, line: int, place: Place) -> Place:
        return replace(
            place,
            device=device,
            line=line,
            record=next(self.records),
            above=(*place.above, *place.below),
            below=(),
        )

    def _mentioned(self, comment: str, line: int, place: Place) -> Place:
        """The place with the one device that a comment names; as it is where there are several or none."""
        device = mentioned(comment, self.is_device)
        return self._of_device(device, line, place) if device else place

    def named_whole(self, tree: ast.Module) -> str:
        """The one device that the docstring of a file, the comment at its head or its name names."""
        first = min((node.lineno for node in tree.body), default=1)
        head = " ".join(text for line, text in self.comments.items() if 0 < -line < first)
        texts = ((ast.get_docstring(tree) or "").partition("\n\n")[0], head, self.file.stem)
        return next(filter(None, (mentioned(text, self.is_device) for text in texts)), "")

    def _remark(self, node: ast.stmt) -> str:
        """The comment that stands on the first line of a statement, else those on the lines above it.

        The one on its last line counts where it names the places of tuples.
        """
        last = self.comments.get(node.end_lineno or 0, "") if isinstance(node, ast.Assign | ast.AnnAssign) else ""
        return last if named_places(last) else self.comments.get(node.lineno) or self._heading(node.lineno)

    def _heading(self, line: int) -> str:
        """The comments on the lines above one."""
        first = next(above for above in count(line - 1, -1) if -above not in self.comments) + 1
        return " ".join(self.comments[-above] for above in range(first, line))


def read_python(text: str, file: Path, is_device: IsDevice) -> Iterator[Row]:
    """Rows of the devices in a Python file. Raises InputError for invalid Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes and the like are not ours to report
            tree = ast.parse(text)
        comments = dict(comments_of(text))
    except (SyntaxError, ValueError, tokenize.TokenError) as error:
        raise refuse(file, getattr(error, "lineno", None) or 1, f"is not valid Python: {error}") from error
    except (RecursionError, MemoryError) as error:
        raise refuse(file, 1, "is nested too deeply") from error
    yield from rows_of_tree(tree, comments, arithmetic_of(tree, text, file), file, is_device)


def rows_of_tree(
    tree: ast.Module, comments: dict[int, str], arithmetic: Arithmetic, file: Path, is_device: IsDevice
) -> Iterator[Row]:
    """Rows of a syntax tree. Where it names no device, its figures are of the one that its head or its file names."""
    fields = fields_by_class(tree)
    reader = _Reader(file, is_device, arithmetic, comments, fields, headers_of(tree, fields))
    try:
        reader.statements(tree.body, Place())
        if not any(len(row) > 1 for row in reader.rows.values()):
            reader.whole = reader.named_whole(tree)
            reader.statements(tree.body if reader.whole else [], Place())
    except RecursionError as error:
        raise refuse(file, 1, "is nested too deeply") from error
    yield from (row for row in reader.rows.values() if len(row) > 1)
