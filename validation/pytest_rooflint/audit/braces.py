"""Read source code of languages with braces: what it assigns, calls and asks becomes a syntax tree of Python's.

TypeScript, JavaScript, Go, Rust, C++, Java and their like write tables of devices in much the same way: names, texts
and numbers in brackets of three kinds. The reader keeps these and skips whatever else it meets, so that it needs no
grammar of any of them; the tree is then read as that of a Python file.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_rooflint.audit.arithmetic import arithmetic_of
from pytest_rooflint.audit.brackets import DEEPEST, Values, nothing
from pytest_rooflint.audit.rows import IsDevice, Row
from pytest_rooflint.audit.source import rows_of_tree
from pytest_rooflint.audit.tokens import Source, Token
from rooflint.base.errors import refuse

_MODIFIERS = frozenset(
    {"export", "pub", "public", "private", "protected", "internal", "static", "const", "let", "var", "val", "final"}
    | {
        "readonly",
        "default",
        "auto",
        "constexpr",
        "inline",
        "mut",
        "unsafe",
        "async",
        "abstract",
        "override",
        "declare",
    }
    | {"data", "sealed", "open", "lazy", "extern", "type", "typedef", "pragma", "register", "volatile"}
)
_FUNCTIONS = frozenset({"function", "fn", "func", "fun", "def"})
_CLASSES = frozenset({"class", "struct", "enum", "interface", "impl", "trait", "namespace", "mod", "object", "record"})
_BLOCKS = frozenset({"for", "while", "try", "else", "do", "loop", "finally", "catch", "unsafe", "defer", "go"})
_SWITCHES = frozenset({"switch", "match", "when"})
_TYPES = frozenset(
    {
        "float64",
        "float32",
        "int",
        "int64",
        "uint64",
        "string",
        "double",
        "float",
        "long",
        "bool",
        "size_t",
        "f64",
        "u64",
    }
)


@dataclass
class _Parser(Values):
    """Walks the statements of a file and builds a tree."""

    def statements(self, end: int) -> list[ast.stmt]:
        """The statements up to a place."""
        found: list[ast.stmt] = []
        self.depth += 1
        while self.place < end and self.depth < DEEPEST:
            first = self.place
            found += self.statement(end)
            found, self.inner = [*found, *self.inner], []
            self.place = max(self.place, first + 1)
        self.depth -= 1
        self.place = end
        return found

    def statement(self, end: int) -> list[ast.stmt]:
        """One statement, which may be none that matters, or several."""
        while self.word() in _MODIFIERS and not self.at("=", ":", ahead=1):
            self.place += 1
            if self.at("("):  # pub(crate), and the constants of Go
                if self.tokens[self.place - 1].text in ("const", "var"):
                    close, self.place = self.closing(self.place), self.place + 1
                    return self.statements(close)
                self.place = self.closing(self.place) + 1
        word = self.word()
        if word == "return":
            first, self.place = self.place, self.place + 1
            return [self.put(ast.Return(value=self.value()), first)]
        if self.at("(") and self.word(1) in ("function", "async"):  # called where it stands, as scripts of a page are
            self.place += 1
            return self.block(self.closing(self.place - 1))
        if word in _BLOCKS or self.at("{", "#", "@"):
            return self.block(end)
        if word in _CLASSES and not self.word(1):
            return self.assignment(end)
        kinds = {"if": self.condition, **dict.fromkeys(_SWITCHES, self.switch)}
        kinds |= {**dict.fromkeys(_FUNCTIONS, self.function), **dict.fromkeys(_CLASSES, self.definition)}
        return kinds.get(word, self.assignment)(end)

    def block(self, end: int) -> list[ast.stmt]:
        """The statements of a loop or of a mere block; a mark such as `#[derive(Debug)]` has none."""
        if self.at("#", "@"):
            self.place += 1
            self.place += bool(self.at("!"))
            self.place = self.closing(self.place) + 1 if self.at("[") else self.place + 1
            if self.at("(") and not self.is_below(self.place):
                self.place = self.closing(self.place) + 1
            return []
        while self.place < end and not self.at("{", ";"):
            self.place = self.closing(self.place) + 1 if self.at("(", "[") else self.place + 1
        return self.inside(end)

    def inside(self, end: int) -> list[ast.stmt]:
        """The statements within braces."""
        if not self.at("{"):
            return []
        close = min(self.closing(self.place), end)
        self.place += 1
        found = self.statements(close)
        self.place = close + 1
        return found

    def function(self, end: int) -> list[ast.stmt]:
        """A function with its name and its block."""
        first, name = self.place, ""
        while self.place < end and not self.at("(", "{", ";"):
            name, self.place = self.word() or name, self.place + 1
        return self.body(first, name, end)

    def body(self, first: int, name: str, end: int) -> list[ast.stmt]:
        """The rest of a function, from its arguments on."""
        if self.at("("):
            self.place = self.closing(self.place) + 1
            if self.at("(") and not self.is_below(self.place):
                self.place = self.closing(self.place) + 1  # the results of Go
        if self.word() and self.at("(", ahead=1) and not self.is_below(self.place):  # a method of Go
            name, self.place = self.word(), self.closing(self.place + 1) + 1
        self.skipped("{", ";", "=", "}")
        if not self.at("{"):
            return []
        node = ast.FunctionDef(name=name or "_", args=_no_arguments(), body=self.inside(end), decorator_list=[])
        return [self.put(node, first)]

    def definition(self, end: int) -> list[ast.stmt]:
        """A class or a namespace with its statements; of a mere structure, the names of its fields."""
        first, kind, name = self.place, self.word(), self.word(1)
        self.place += 2
        while kind == "impl" and not self.at("{", ";") and self.place < end:
            name, self.place = self.word() or name, self.place + 1
        fields = self.skipped("{", ";", "=")
        if not self.at("{"):
            return []
        names = _fields_of(self.tokens[fields + 1 : self.closing(fields)]) if kind == "struct" else []
        body: list[ast.stmt] = [self.put(ast.AnnAssign(_stored(one), nothing(), None, 1), first) for one in names]
        body += self.inside(end) if kind != "struct" or not names else self.passed(end)
        bases: list[ast.expr] = [ast.Name(id="Enum", ctx=ast.Load())] if kind == "struct" else []
        node = ast.ClassDef(name=name, bases=bases, keywords=[], body=body, decorator_list=[])
        return [self.put(node, first)]

    def passed(self, end: int) -> list[ast.stmt]:
        """No statements, past the braces."""
        self.place = min(self.closing(self.place), end) + 1
        return []

    def condition(self, end: int) -> list[ast.stmt]:
        """`if` with its blocks."""
        first, self.place = self.place, self.place + 1
        asked = self.place
        if self.at("("):
            self.place = self.closing(self.place) + 1
        if not self.at("{") and not (asked < self.place and self.word() in ("return", "throw")):
            self.skipped("{", ";")
        test = self.asked(asked, self.place)
        body = self.inside(end) if self.at("{") else self.statement(end)
        orelse: list[ast.stmt] = []
        self.taken(";")
        if self.word() == "else":
            self.place += 1
            orelse = self.condition(end) if self.word() == "if" else self.inside(end) or self.statement(end)
        return [self.put(ast.If(test=test, body=body, orelse=orelse), first)]

    def switch(self, end: int) -> list[ast.stmt]:
        """`switch` and `match` as conditions, one for each case."""
        self.place += 1
        subject = self.place
        self.skipped("{", ";")
        if not self.at("{"):
            return []
        asked = [token.text for token in self.tokens[subject : self.place] if token.kind == "name"]
        found: list[ast.stmt] = []
        close = min(self.closing(self.place), end)
        self.place += 1
        while self.place < close:
            start = self.place
            self.skipped("=>", "->") if self.word() not in ("case", "default") else self.skipped("=>", "->", ":")
            while self.at(":") and self.word(1) == "case":
                self.place += 1
                self.skipped(":")
            test = self.asked(start, self.place, next(iter(asked), ""))
            is_arm = self.taken("=>", "->")
            self.place += bool(not is_arm and self.at(":"))
            found.append(self.put(ast.If(test=test, body=self.case(close, is_arm), orelse=[]), start))
            self.place = max(self.place, start + 1)
        self.place = close + 1
        return found

    def case(self, close: int, is_arm: bool) -> list[ast.stmt]:
        """What stands below one case, up to the next one."""
        if is_arm:
            first = self.place
            body = self.inside(close) or [self.put(ast.Return(value=self.value()), first)]
            self.taken(",")
            return body
        body = []
        while self.place < close and self.word() not in ("case", "default"):
            start = self.place
            body += self.statement(close)
            self.place = max(self.place, start + 1)
        return body

    def asked(self, first: int, last: int, subject: str = "") -> ast.expr:
        """A condition: the texts with which something is compared, in alternatives joined by `||`."""
        last = min(last, len(self.tokens))
        alternatives: list[list[ast.expr]] = [[]]
        inner = self.tokens[first:last]
        name = subject or next((one.text for one in inner if one.kind == "name" and one.text not in ("case", "if")), "")
        for token in inner:
            if token.is_sign("||", ",", "|") or token.text == "case":
                alternatives.append([])
            elif token.kind == "text" or (token.kind == "name" and re.search(r"\d", token.text)):
                compared = ast.Compare(ast.Constant(token.text), [ast.In()], [ast.Name(id=name, ctx=ast.Load())])
                alternatives[-1].append(self.put(compared, first))
        if any(token.is_sign("!", "!=", "!==") for token in inner):
            alternatives = [[]]
        either = [ast.BoolOp(ast.And(), one) if len(one) > 1 else one[0] for one in alternatives if one]
        node = ast.BoolOp(ast.Or(), either) if len(either) > 1 else next(iter(either), ast.Constant(value=True))
        return self.put(node, first)

    def assignment(self, end: int) -> list[ast.stmt]:
        """`const NAME: type = value`, `self.name = value`, `type name(...) {`, or a value by itself."""
        first = self.place
        names: list[str] = []
        is_typed = is_called = False
        while self.place < end and not self.at("=", ":=", ";", "{", "}", ",", "=>", "->"):
            if self.place > first and self.is_below(self.place) and not self.at(".", "(", "[") and not is_typed:
                break
            if self.word() and not is_typed and not is_called:
                names.append(self.word())
            is_typed = is_typed or self.at(":") or self.at("?")
            is_called = is_called or self.at("(")
            if self.at("<") and (past := self.generic()):
                self.place = past
                continue
            self.place = self.closing(self.place) + 1 if self.at("(", "[") else self.place + 1
        told = [name for name in names if name not in _TYPES] or names
        if self.at("=", ":=") and told:
            self.place += 1
            return self.bound(told[-1], first, end)
        if self.at("{") and is_called and told:
            self.skipped("{")
            node = ast.FunctionDef(name=told[-1], args=_no_arguments(), body=self.inside(end), decorator_list=[])
            return [self.put(node, first)]
        if self.at("{") and len(told) > 1:
            return [self.put(ast.Assign([_stored(told[-1])], self.value()), first)]
        stop, self.place = self.place, first
        value = self.value()
        self.place = max(self.place, stop)
        return [self.put(ast.Expr(value=value), first)]

    def bound(self, name: str, first: int, end: int) -> list[ast.stmt]:
        """What a name is bound to: a value, or an arrow function."""
        start = self.place
        if self.word() == "async":
            self.place += 1
        if self.at("(") or (self.word() and self.at("=>", ahead=1)):
            self.place = self.closing(self.place) + 1 if self.at("(") else self.place + 1
            if self.at(":"):
                self.skipped("=>", ";", "}", lines=True)
            if self.taken("=>"):
                body = self.inside(end) or [self.put(ast.Return(value=self.value()), first)]
                node = ast.FunctionDef(name=name, args=_no_arguments(), body=body, decorator_list=[])
                return [self.put(node, first)]
            self.place = start
        return [self.put(ast.Assign([_stored(name)], self.value()), first)]


def _stored(name: str) -> ast.Name:
    return ast.Name(id=name, ctx=ast.Store())


def _no_arguments() -> ast.arguments:
    return ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])


def _fields_of(tokens: list[Token]) -> list[str]:
    """Names of the fields of a structure: `double peak;`, `peak: f64,`, `Peak float64`."""
    lines: dict[int, list[Token]] = {}
    for token in tokens:
        lines.setdefault(token.line, []).append(token)
    names = []
    for line in lines.values():
        if any(token.is_sign("(", "{", "}", "#", "@") for token in line):
            continue
        words = [token.text for token in line if token.kind == "name" and token.text not in _MODIFIERS]
        is_typed = next((token.is_sign(":") for token in line[1:] if token.kind == "sign"), False)
        is_closed = line[-1].is_sign(";")
        cut = next((place for place, token in enumerate(line) if token.is_sign("=", "[")), len(line))
        own = [token.text for token in line[:cut] if token.kind == "name"]
        if words and own:
            names.append(words[0] if is_typed or not is_closed else own[-1])
    return names


#: What is read, by the end of a file's name.
SUFFIXES = (
    *(".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".go", ".rs", ".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".cu"),
    *(".cuh", ".java", ".kt", ".cs", ".swift", ".scala", ".dart", ".vue", ".svelte"),
)
_SCRIPT = re.compile(r"<script[^>]*>(.*?)</script>", re.DOTALL | re.IGNORECASE)
_PAGES = frozenset({".html", ".htm", ".vue", ".svelte"})


def scripts_of(text: str) -> str:
    """The scripts of a page on their own lines, with nothing else."""
    kept, last = [], 0
    for match in _SCRIPT.finditer(text):
        kept += [re.sub(r"[^\n]", " ", text[last : match.start(1)]), match[1]]
        last = match.end(1)
    return "".join(kept)


def read_braces(text: str, file: Path, is_device: IsDevice) -> Iterator[Row]:
    """Rows of the devices in a file of a language with braces, or in the scripts of a page."""
    if file.suffix.lower() in _PAGES:
        text = scripts_of(text)
    source = Source(text)
    parser = _Parser(source, source.tokens())
    try:
        tree = ast.Module(body=parser.statements(len(parser.tokens)), type_ignores=[])
        ast.fix_missing_locations(tree)
        yield from rows_of_tree(tree, dict(source.comments()), arithmetic_of(tree, text, file), file, is_device)
    except RecursionError as error:
        raise refuse(file, 1, "is nested too deeply") from error
