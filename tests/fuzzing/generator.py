"""A seeded generator: valid texts mutated in their structure, in their text, and in ways that no reader may accept."""

import copy
import json
import random
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import yaml

TINY = Path(__file__).parents[1] / "validation/tiny"
SEED = 20261122
MOST_S = 2.0
"""CPU time of one input."""

#: Values that somebody has put where another one belonged.
HOSTILE: tuple[Any, ...] = (
    "", " ", "~", None, True, False, 0, -1, 1, 0.0, -0.0, 1e-300, 1e300, 1e40, 1e41, 2**63, 10**29, 10**400, "1e999",
    "-1e999", "9" * 400, "1/0", "1/3 MAC", "1/999999999", "0x10", "1_000", ".nan", ".inf", "nan", "inf", "NaN", "²",
    "٣", "٣ GHz", "² W", "1²", "0 GHz", "-5 W", "1e-40 J", "1e40 B", "1e-300 s", "5 TOP/s ± 1 %", "5 ± 500 %", "5 ± 0",
    "± 1 %", "> 5", "1 .. 2", "5 W/", "5 /s", "5 kkB", "5 GB/s/s/s", "\x1b[31mred", "\u202eabc", "::error::x",
    "##[error]x", "nowhere/../x", "a" * 5000, "2999-01-01", "2026-02-30", "0000-00-00", [], {}, [[]], [None], {"": ""},
    {"a": {"b": 1}}, "[", "{", "a: b", "acme/x1", "acme/x1@low", "@", "/", "int8", "low", "mac_array int8", "x" * 300,
)  # fmt: skip
TEXTS = ("", " ", "\t", "\n", "\r", "\x00", "\x1b[2J", "\u202e", "\ufeff", "&a ", "*a", "!!python/object:os.system ",
         "---\n", "...\n", ": ", "- ", "? ", "#", "|", ">", "%", "'", '"', ",", "[", "]", "{", "}", "\\", "\ud800", "é",
         "\u2028", "9" * 50, "e999", "-", ".", "/0", "::", "##[", "NaN", "Infinity", "<<: ", "0" * 100)  # fmt: skip
#: What may stand at the end of no file of that format.
BREAKS = {
    ".yaml": ("\n}", "\n]: [", "\n'", "\n\t- x", "\n&a b: c", "\n!t x: y", "\n---\na: 1\n", "\n\x00", "\n{" + "[" * 50),
    ".json": ("}", "]", ",", "\x00", '{"a": 1}', "NaN", "[" * 100_000),
    ".csv": ('\n"', "\n" + "1,;\t" * 99),
    ".md": ("\n|" + "1|" * 99,),
    ".html": ("<table><tr><th>device<th>int8 TOP/s<tr><td>t4<td>130<td>70</table>",),
    ".py": ("\n(", '\n"""', "\nx = = 1", "\n\x00", "\nx = " + "(" * 1000, "\n\x80"),
}


@dataclass(frozen=True)
class Target:
    """A reader: valid texts, the name of the file that it reads, and how."""

    suffix: str
    seeds: Sequence[str]
    read: Callable[[bytes], object]
    """Raises RooflintError for what it refuses."""
    is_data: bool = True
    """Whether the text is JSON or YAML, whose tree can be mutated."""


def inputs(target: Target, chosen: random.Random) -> Iterator[tuple[bytes, bool]]:
    """Inputs without end, and whether each is one that must be refused."""
    trees = [yaml.safe_load(seed) for seed in target.seeds] if target.is_data else []
    while True:
        kind = chosen.random()
        if kind < 0.6 and trees:
            tree = mutated(json.loads(json.dumps(chosen.choice(trees), default=str)), trees, chosen)
            yield (
                json.dumps(tree, ensure_ascii=False, indent=chosen.choice((None, 1))).encode("utf-8", "replace"),
                False,
            )
        elif kind < 0.9:
            yield garbled(chosen.choice(target.seeds), chosen).encode("utf-8", "surrogatepass"), False
        else:
            text = chosen.choice(target.seeds).rstrip() + chosen.choice(BREAKS[target.suffix])
            yield text.encode("latin-1" if "\x80" in text else "utf-8", "replace"), True


def mutated(tree: Any, others: Sequence[Any], chosen: random.Random) -> Any:
    """A tree with one to three values replaced, removed, doubled, renamed, or taken from another one."""
    for _ in range(chosen.choice((1, 1, 1, 2, 3))):
        places = list(_places(tree))
        if not places:
            return copy.deepcopy(chosen.choice(HOSTILE))
        above, key = chosen.choice(places)
        match chosen.randrange(6):
            case 0 | 1:
                above[key] = copy.deepcopy(chosen.choice(HOSTILE))
            case 2:
                del above[key]
            case 3:
                there, other = chosen.choice([*_places(chosen.choice(others))] or [([0], 0)])
                above[key] = json.loads(json.dumps(there[other], default=str))
            case 4 if isinstance(above, dict):
                above[str(chosen.choice(HOSTILE))] = above.pop(key)
            case 5 if isinstance(above[key], str):
                above[key] = garbled(above[key], chosen)
            case _:
                above[key] = [copy.deepcopy(above[key]) for _ in range(chosen.choice((1, 2, 40)))]
    return tree


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    left = [tree]
    while left:
        one = left.pop()
        children = list(one.items()) if isinstance(one, dict) else list(enumerate(one)) if isinstance(one, list) else []
        for key, child in children:
            yield one, key
            if isinstance(child, dict | list):
                left.append(child)


def garbled(text: str, chosen: random.Random) -> str:
    """A text with one to three pieces replaced, removed, doubled or moved."""
    for _ in range(chosen.choice((1, 1, 2, 3))):
        start = chosen.randrange(len(text) + 1)
        end = min(len(text), start + chosen.choice((0, 0, 1, 1, 2, 5, 20)))
        match chosen.randrange(4):
            case 0 | 1:
                text = text[:start] + chosen.choice(TEXTS) + text[end:]
            case 2:
                text = text[:start] + text[start:end] * chosen.choice((0, 2, 30)) + text[end:]
            case 3:
                lines = text.splitlines(keepends=True) or [""]
                lines.insert(chosen.randrange(len(lines) + 1), lines.pop(chosen.randrange(len(lines))))
                text = "".join(lines)
    return text


# ---- what was tried


@dataclass
class Run:
    """What came of some inputs."""

    faults: dict[str, Any] = field(default_factory=dict)
    """Each kind of fault with the first input that shows it."""
    slowest_s: float = 0.0
    """CPU time of the slowest input."""


def run(judge: Callable[[Any, bool], str | None], tried: Iterable[tuple[Any, bool]], number: int) -> Run:
    """Put some inputs to a judge, which says what was done wrong with one of them; warnings are errors."""
    found = Run()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for one, must_fail in islice(tried, number):
            began = time.process_time()
            what = judge(one, must_fail)
            took_s = time.process_time() - began
            if what is None and took_s > MOST_S:
                what = f"takes more than {MOST_S} s"
            found.slowest_s = max(found.slowest_s, took_s)
            if what:
                found.faults.setdefault(what, one)
    return found
