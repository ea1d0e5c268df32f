"""Values in source code of languages with braces: numbers, texts, calls and what stands in brackets."""

import ast
import re
from dataclasses import dataclass, field
from typing import TypeVar

from pytest_rooflint.audit.tokens import Source, Token

Node = TypeVar("Node", bound=ast.stmt | ast.expr)
DEEPEST = 100
"""Brackets within brackets that are read."""
_WRAPPERS = frozenset(
    {"Some", "Ok", "Box", "Rc", "Arc", "freeze", "from", "into", "Number", "parseFloat", "String", "str", "float64"}
    | {"float32", "int64", "double", "float", "listOf", "of", "asList", "to_string", "new_const", "ref", "reactive"}
)
"""Calls that give what they take."""
_TABLES = frozenset({"Map", "HashMap", "BTreeMap", "mapOf", "hashMapOf", "mutableMapOf", "IndexMap", "unordered_map"})
_CASTS = frozenset({"as", "satisfies"})
CLOSING = {"(": ")", "[": "]", "{": "}"}
_NOTHING = frozenset({"null", "undefined", "nil", "None", "nullptr", "NULL"})
_ARITHMETIC: dict[str, tuple[int, type[ast.operator]]] = {
    "+": (1, ast.Add),
    "-": (1, ast.Sub),
    "*": (2, ast.Mult),
    "/": (2, ast.Div),
    "<<": (0, ast.LShift),
    "**": (3, ast.Pow),
}


@dataclass
class Values:
    """Walks the tokens of a file and builds trees of values."""

    source: Source
    tokens: list[Token]
    place: int = 0
    depth: int = 0
    inner: list[ast.stmt] = field(default_factory=list)
    """Statements of functions among the values of the present statement."""
    pairs: dict[int, int] = field(default_factory=dict)
    """Places of brackets with those that close them."""

    def __post_init__(self) -> None:
        opened: list[int] = []
        for place, token in enumerate(self.tokens):
            if token.is_sign(*CLOSING):
                opened.append(place)
            elif token.is_sign(*CLOSING.values()):
                while opened and CLOSING[self.tokens[opened[-1]].text] != token.text:
                    opened.pop()
                if opened:
                    self.pairs[opened.pop()] = place

    # ---- tokens

    def at(self, *signs: str, ahead: int = 0) -> bool:
        """Whether the next token is one of some signs."""
        place = self.place + ahead
        return place < len(self.tokens) and self.tokens[place].is_sign(*signs)

    def word(self, ahead: int = 0) -> str:
        """The name at the next place; empty where there is none."""
        place = self.place + ahead
        return self.tokens[place].text if place < len(self.tokens) and self.tokens[place].kind == "name" else ""

    def taken(self, *signs: str) -> bool:
        """Whether the next token is one of some signs, which is passed."""
        if found := self.at(*signs):
            self.place += 1
        return found

    def closing(self, place: int) -> int:
        """Where the bracket at a place is closed; the end of the file where it is not."""
        return self.pairs.get(place, len(self.tokens))

    def is_below(self, place: int) -> bool:
        """Whether a token begins a line."""
        return 0 < place < len(self.tokens) and self.tokens[place].line > self.tokens[place - 1].line

    def skipped(self, *ends: str, lines: bool = False) -> int:
        """Pass everything to one of some signs outside of brackets, or to the end of a line; where that is."""
        first = self.place
        while self.place < len(self.tokens) and not self.at(*ends):
            if lines and self.place > first and self.is_below(self.place) and not self.at(".", "?", ":", "?."):
                break
            self.place = self.closing(self.place) + 1 if self.at(*CLOSING) else self.place + 1
        return self.place

    def inside(self, end: int) -> list[ast.stmt]:
        """The statements within braces, such as those of a function among values."""
        raise NotImplementedError

    def asked(self, first: int, last: int, subject: str = "") -> ast.expr:
        """What the tokens from one place to another ask."""
        raise NotImplementedError

    def put(self, node: Node, first: int) -> Node:
        """A node with the place of the tokens from one to the last that was passed."""
        last = self.tokens[min(max(self.place - 1, first), len(self.tokens) - 1)]
        start = self.tokens[min(first, len(self.tokens) - 1)]
        node.lineno, node.col_offset = start.line, self.source.column(start.start)
        node.end_lineno = self.source.line(last.end - 1)
        node.end_col_offset = self.source.column(last.end)
        return node

    # ---- values

    def value(self) -> ast.expr:
        """A value up to the comma, bracket or line that ends it; nothing where it is of a kind that is not read."""
        first = self.place
        self.depth += 1
        found = self.sum(0) if self.depth < DEEPEST else nothing()
        self.depth -= 1
        while self.word() in _CASTS:
            self.place += 1
            self.skipped(",", ";", ")", "]", "}", lines=True)
        if self.at("?") and not self.is_below(self.place + 1):
            return self.chosen(first)
        if self.at("=>") and self.at("{", ahead=1):
            self.place += 1
            self.inner += self.inside(len(self.tokens))
        goes_on = not self.is_below(self.place) or self.at("?", "&&", "||", ".", "?.", "=>")
        if not goes_on or self.place >= len(self.tokens) or self.at(",", ";", ")", "]", "}", ":"):
            return found
        compared = self.place
        self.skipped(",", ";", ")", "]", "}", "?", lines=True)
        if self.at("?"):
            return self.chosen(first)
        return nothing() if self.place > compared else found

    def chosen(self, first: int) -> ast.expr:
        """`test ? one : other`, from the question mark on."""
        test = self.asked(first, self.place)
        self.place += 1
        body = self.value()
        orelse = self.value() if self.taken(":") else nothing()
        return self.put(ast.IfExp(test, body, orelse), first)

    def sum(self, least: int) -> ast.expr:
        """Values that are added, multiplied and shifted."""
        first, left = self.place, self.single()
        while self.at(*_ARITHMETIC) and not self.is_below(self.place):
            strength, sign = _ARITHMETIC[self.tokens[self.place].text]
            if strength < least:
                break
            self.place += 1
            right = self.sum(strength + 1)
            left = self.put(ast.BinOp(left, sign(), right), first)
        return left

    def single(self) -> ast.expr:
        """One number, text, name, call or bracket."""
        first = self.place
        while self.at("&", "*", "!", "-", "+") or self.word() in ("new", "await", "mut"):
            self.place += 1
        if self.place >= len(self.tokens):
            return nothing()
        is_plain, token = (
            first == self.place or self.word(-1) in ("new", "await", "mut") or self.at("&", ahead=-1),
            self.tokens[self.place],
        )
        if token.kind in ("number", "text"):
            self.place += 1
            held = _number(token.text) if token.kind == "number" else token.text
            node = self.put(ast.Constant(value=held), self.place - 1)
            return self.after(node) if is_plain else nothing()
        if self.at("(", "[", "{"):
            return self.bracket(first)
        return self.named(first) if token.kind == "name" else nothing()

    def after(self, node: ast.expr) -> ast.expr:
        """A value past what is done to it: `"H100".to_string()`, `Spec(...).rounded()`."""
        while self.at(".", "?.") and self.word(1):
            self.place += 2
            if self.at("("):
                self.place = self.closing(self.place) + 1
        return node

    def bracket(self, first: int) -> ast.expr:
        """What stands in brackets: a record, a list, or one value in parentheses."""
        opening = self.place
        close = self.closing(opening)
        if self.at("[") and close + 1 < len(self.tokens) and not self.is_below(close + 1):
            after = self.tokens[close + 1]
            if after.kind == "name" and after.text not in _CASTS:  # []Spec{...} of Go
                self.place = close + 1
                self.skipped("{", ",", ";", ")", "]", "}", lines=True)
                return self.bracket(first) if self.at("{") else nothing()
        is_record, is_single = self.at("{"), self.at("(")
        self.place += 1
        keys, values = self.entries(close)
        self.place = close + 1
        if is_record and any(keys):
            named = [(key, one) for key, one in zip(keys, values, strict=True) if key]
            node: ast.expr = ast.Dict(keys=[key for key, _ in named], values=[one for _, one in named])
        elif is_single and len(values) == 1:
            return values[0]
        else:
            node = ast.List(elts=values, ctx=ast.Load())
        return self.after(self.put(node, opening))

    def entries(self, close: int) -> tuple[list[ast.expr | None], list[ast.expr]]:
        """Keys and values up to the end of a bracket; no key where a value stands alone."""
        keys: list[ast.expr | None] = []
        values: list[ast.expr] = []
        while self.place < close:
            first = self.place
            while self.taken(".", ",", ";", "...", "#"):
                pass
            if self.place >= close:
                break
            keys.append(self.key(close))
            values.append(self.value())
            self.place = max(self.place, first + 1)
            self.skipped(",", ";", "}", ")", "]", lines=True)
        return keys, values

    def key(self, close: int) -> ast.expr | None:
        """The key of an entry: a name, a text or a name in brackets, and a sign behind it."""
        token = self.tokens[self.place]
        past = self.closing(self.place) + 1 if self.at("[") else self.place + 1
        signs = ("=>", "->", ":", "=") if token.kind == "text" or self.at("[") else (":", "=")
        if self.at("[") and past < close and self.tokens[past].is_sign(":", "="):
            token = self.tokens[past - 2]
        elif token.kind not in ("name", "text", "number"):
            return None
        optional = past + bool(past < close and self.tokens[past].is_sign("?"))
        if not (optional < close and self.tokens[optional].is_sign(*signs)):
            if token.kind == "text" and past < close and self.tokens[past].text == "to":  # of Kotlin
                optional = past
            else:
                return None
        self.place = optional + 1
        return self.put(ast.Constant(value=token.text), self.place - 2)

    def named(self, first: int) -> ast.expr:
        """A name, a call, or a record with the name of its type."""
        path = [self.word()]
        self.place += 1
        while True:
            if self.at("::", ".", "->", "?.", "!") and (self.word(1) or self.at("[", "(", "<", ahead=1)):
                self.place += 1
                if self.word():
                    path.append(self.word())
                    self.place += 1
            elif self.at("<") and (end := self.generic()):
                self.place = end
            elif self.at("[") and path == ["map"]:
                self.place = self.closing(self.place) + 1
                self.skipped("{", ",", ";", ")", "]", "}", lines=True)
            else:
                break
        if self.at("(", "[") and self.tokens[self.place - 1].is_sign("!"):
            return self.bracket(first)
        if self.at("(") and not self.is_below(self.place):
            return self.called(path, first)
        if self.at("{") and not self.is_below(self.place):
            return self.called(path, first)
        if path[-1] in _NOTHING | {"true", "false"}:
            return nothing()
        return self.put(_name(path), first)

    def generic(self) -> int:
        """Where a list of types in angle brackets ends; 0 where there is none."""
        place, open_ones = self.place, 0
        while place < len(self.tokens):
            token = self.tokens[place]
            open_ones += token.is_sign("<") - token.is_sign(">")
            if not open_ones:
                return place + 1
            if not (token.kind == "name" or token.is_sign("<", ">", ",", ".", "::", "[", "]", "|", "&", "?")):
                return 0
            place += 1
        return 0

    def called(self, path: list[str], first: int) -> ast.expr:
        """A call or a record with a name: its positions and its fields."""
        opening = self.place
        close = self.closing(opening)
        self.place += 1
        keys, values = self.entries(close)
        self.place = close + 1
        args = [one for key, one in zip(keys, values, strict=True) if key is None]
        named = [(key.value, one) for key, one in zip(keys, values, strict=True) if isinstance(key, ast.Constant)]
        told = [part for part in path if part not in ("new", "make", "create", "std", "self", "this")]
        name = next((part for part in reversed(told) if part[:1].isupper()), told[-1] if told else path[-1])
        if _TABLES & set(path) or (path[-1] == "map" and self.tokens[opening].text == "{"):
            if named:
                node: ast.expr = ast.Dict(keys=[k for k in keys if k], values=[one for _, one in named])
            else:
                pairs = args[0].elts if len(args) == 1 and isinstance(args[0], ast.List) else args
                pairs = [ast.Tuple(one.elts, ast.Load()) if isinstance(one, ast.List) else one for one in pairs]
                node = ast.Call(ast.Name("dict", ast.Load()), [ast.List(pairs, ast.Load())], [])
        elif len(args) == 1 and not named and path[-1] in _WRAPPERS:
            return self.after(args[0])
        else:
            keywords = [ast.keyword(arg=str(key), value=one) for key, one in named]
            node = ast.Call(ast.Name(name, ast.Load()), args, keywords)
        return self.after(self.put(node, first))


def nothing() -> ast.Constant:
    """The value of what is not read."""
    return ast.Constant(value=None, lineno=1, col_offset=0, end_lineno=1, end_col_offset=0)


def _name(path: list[str]) -> ast.expr:
    return ast.Name(path[0], ast.Load()) if len(path) == 1 else ast.Attribute(ast.Name(path[-2], ast.Load()), path[-1])


def _number(text: str) -> float:
    plain = text.replace("_", "")
    return int(plain, 16) if plain[:2].lower() == "0x" else float(plain) if re.search("[.eE]", plain) else int(plain)
