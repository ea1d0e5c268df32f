"""Fuzzing: broken files and command lines are refused in sentences, without a traceback, a hang or status 0.

Valid seeds are mutated by a seeded generator: in their structure (keys, values, subtrees of other seeds), in their
text, and in ways that no strict reader may accept. As a script it runs more inputs of one target:

    python tests/test_fuzzing.py recordings 100000 --seed 7
"""

import argparse
import contextlib
import copy
import gzip
import io
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_rooflint.audit.auditor import Auditor
from pytest_rooflint.golden.expect import ExpectationError, parse_expectation
from pytest_rooflint.suite.judge import brief
from pytest_rooflint.suite.suite import Suite
from rooflint.base.errors import InputError, RooflintError
from rooflint.base.text import HIDDEN, sanitized
from rooflint.base.units import UnitError
from rooflint.cli import main as program
from rooflint.coefficients.library import Coefficients
from rooflint.cost.tables import Grid, Prices
from rooflint.hardware.registry import Registry
from rooflint.prediction.ledger import COLUMNS, read_ledger
from rooflint.prediction.ledger import SCHEMA as LEDGER
from rooflint.workloads.tables import read_table
from rooflint_measure import record
from rooflint_report.evidence import load_evidence

TINY = Path(__file__).parent / "validation/tiny"
SPECS = Path(record.__file__).parents[2] / "model/rooflint/specs"
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
    ".csv": ('\n"', "\n" + "1,;\t" * 99, "\n\x80"),
    ".md": ("\n|" + "1|" * 99, "\n\x80"),
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


# ---- the generator


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


# ---- targets


def in_file(folder: Path, suffix: str, read: Callable[[Path], object]) -> Callable[[bytes], object]:
    """Read bytes by way of a file."""

    def of(content: bytes) -> object:
        file = folder / f"x{suffix}"
        file.write_bytes(content)
        return read(file)

    return of


def texts(folder: Path, pattern: str, most: int = 4) -> list[str]:
    """The shortest files of a folder."""
    files = sorted(folder.glob(pattern), key=lambda file: (file.stat().st_size, file))
    return [file.read_text(encoding="utf-8") for file in files[:most]]


def targets(folder: Path) -> dict[str, Target]:
    """Every reader, with its files below a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    root = folder / "specs"
    suite = Suite.of([TINY / "golden"], [TINY / "specs"])

    def of_spec(place: str, read: Callable[[Registry, Path], object]) -> Callable[[bytes], object]:
        file = root / place
        file.parent.mkdir(parents=True, exist_ok=True)

        def of(content: bytes) -> object:
            file.write_bytes(content)
            return read(Registry((root,)), file)

        return of

    def golden(content: bytes) -> object:
        file = TINY / "golden/x1.yaml"
        here = suite.with_text(file, content.decode("utf-8", "replace"))
        found = here.read(file)
        return [brief(claim, here) for claim in found.claims]

    def coefficients(registry: Registry, file: Path) -> object:
        return Coefficients(registry).check(file)

    hardware = [
        (TINY / "specs/hardware/acme/x1.yaml").read_text(encoding="utf-8"),
        *texts(SPECS, "hardware/*/*.yaml", 2),
    ]
    tables = [{"device": "acme/x1", "int8 TOP/s": 32.8, "TDP (W)": 15}, {"device": "x1", "int8 TOP/s": 16.4}]
    nested = [json.dumps(tables), json.dumps({"acme/x1": {"peaks": {"int8": 32.8e12}, "tdp": "15 W"}})]
    comma = ["device,int8 TOP/s,TDP (W)\nacme/x1,32.8,15\nx1,16.4,7\n", 'device;"unit";peak\n"acme/x1";int8;32\n']
    prices = [text.replace("amd/mi300x", "acme/x1").split("  amd/")[0] for text in texts(SPECS, "prices/amd.yaml")]
    devices = Registry((TINY / "specs", root))
    marks = ["| device | int8 TOP/s | TDP (W) |\n|---|---|---|\n| **acme/x1** | 32.8 | [15](x) |\n"]
    auditor = Auditor(suite.registry, (TINY / "golden",), {})
    return {
        "hardware": Target(".yaml", hardware, of_spec("hardware/acme/x1.yaml", lambda r, _: r.get("acme/x1"))),
        "architectures": Target(
            ".yaml",
            texts(SPECS, "architectures/*/*.yaml"),
            of_spec("architectures/acme/a1.yaml", lambda r, _: r.architecture("acme/a1").as_hardware()),
        ),
        "process": Target(".yaml", texts(SPECS, "process/*.yaml"), of_spec("process/7nm.yaml", coefficients)),
        "memory": Target(".yaml", texts(SPECS, "memory/*.yaml"), of_spec("memory/hbm3.yaml", coefficients)),
        "events": Target(".yaml", texts(SPECS, "events/*.yaml", 1), of_spec("events/npu.yaml", coefficients)),
        "launches": Target(".yaml", texts(SPECS, "launches.yaml"), of_spec("launches.yaml", coefficients)),
        "prices": Target(".yaml", prices, of_spec("prices/x.yaml", lambda _, f: Prices(devices).layered.read(f))),
        "grid": Target(
            ".yaml", texts(SPECS, "grid/*.yaml", 1), of_spec("grid/x.yaml", lambda r, f: Grid(r).layered.read(f))
        ),
        "workloads": Target(".yaml", [workload()], in_file(folder, ".yaml", read_table)),
        "goldens": Target(".yaml", [(TINY / "golden/x1.yaml").read_text(encoding="utf-8"), GOLDEN], golden),
        "recordings": Target(".json", [recording()], in_file(folder, ".json", record.read)),
        "evidence": Target(".json", [evidence(folder)], in_file(folder, ".json", load_evidence)),
        "audit csv": Target(".csv", comma, in_file(folder, ".csv", auditor.audit), is_data=False),
        "audit md": Target(".md", marks, in_file(folder, ".md", auditor.audit), is_data=False),
        "audit json": Target(".json", nested, in_file(folder, ".json", auditor.audit)),
        "audit yaml": Target(".yaml", nested, in_file(folder, ".yaml", auditor.audit)),
        "ledgers": Target(".csv", [ledger()], in_file(folder, ".csv.gz", packed), is_data=False),
        "expectations": Target(".csv", EXPECTATIONS, expectation, is_data=False),
    }


def packed(file: Path) -> object:
    """The ledger of a text."""
    file.write_bytes(gzip.compress(file.read_bytes(), 1))
    return read_ledger(file)


def expectation(content: bytes) -> object:
    """An expectation, whose reader names no file."""
    try:
        return parse_expectation(content.decode("utf-8", "replace"))
    except (ExpectationError, UnitError) as error:
        raise RooflintError(str(error)) from error


EXPECTATIONS = (
    "32.8 TOP/s",
    "5 J ± 2 %",
    "1.2e-12 J",
    "32.8 TOP/s / 102.4 GB/s",
    "1/3 MAC",
    "5 W + 3 W",
    "(1 GB + 2 GB)",
)
GOLDEN = """\
hardware: acme/x1
source: {document: Another page, where: here, grade: read}
claims:
  - {latency: acme/x1, expect: 1.2 us, compute: int8, workload: {gemm: [64, 64, 64]}}
  - {count: core, expect: 5, xfail: {ratio: 0.80, reason: two sheets differ, until: 2999-01-01}}
  - {capacity: lpddr5, expect: 8.0 GB}
  - {tdp: rated, expect: 15.0 W}
"""


def workload() -> str:
    """The first layers of a network."""
    lines = (SPECS / "workloads/torchvision/vgg16.yaml").read_text(encoding="utf-8").splitlines()
    end = next(number for number, line in enumerate(lines) if "features.3" in line)
    return "\n".join(lines[:end]).replace("[classifier.6]", "[features.2]") + "\n"


def evidence(folder: Path) -> str:
    """What a run of the tiny repository writes."""
    shutil.copytree(TINY, folder / "tiny")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rooflint-evidence=../x.json"]
    subprocess.run(command, cwd=folder / "tiny", check=True, capture_output=True)
    return (folder / "x.json").read_text(encoding="utf-8")


def recording() -> str:
    """A recording with its digest."""
    file = min((TINY.parents[2] / "golden/measured").rglob("*.json"), key=lambda one: one.stat().st_size)
    document = json.loads(file.read_text(encoding="utf-8"))
    document["measurements"] = document["measurements"][:1]
    document.pop("digest", None)
    return json.dumps({"digest": record.content_digest(document), **document})


def ledger() -> str:
    """Three rows of a ledger."""
    figures = ["1.5"] * (len(COLUMNS) - 9)
    rows = [[LEDGER, f"acme/x{number}", "", "n", "int8", "1", "true", *figures, "", ""] for number in range(3)]
    return "\n".join(map(",".join, [COLUMNS, *rows])) + "\n"


# ---- what is wrong with an outcome


def fault(target: Target, content: bytes, must_fail: bool) -> str | None:
    """What the reader did wrong with an input; None where it read it or refused it in a sentence."""
    began, refused = time.process_time(), None
    try:
        target.read(content)
    except RooflintError as error:
        refused = error
    except (Exception, RecursionError) as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno}: {str(error)[:100]}"
    if time.process_time() - began > MOST_S:
        return f"takes more than {MOST_S} s"
    if refused is None:
        return "accepts what must be refused" if must_fail else None
    return _fault_of(sanitized(str(refused)), refused)


def _fault_of(text: str, refused: Exception) -> str | None:
    if HIDDEN.search(text):
        return "prints control characters"
    if len(text) > 50_000:
        return f"prints {len(text)} characters"
    if isinstance(refused, InputError) and any("\n" in one.message or one.line < 1 for one in refused.problems):
        return f"names no line, or needs several: {text[:100]}"
    return None if text.strip() else "says nothing"


def faults(target: Target, number: int, seed: int) -> dict[str, bytes]:
    """Faults of a reader over some inputs, each with the first input that shows it."""
    found: dict[str, bytes] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for (content, must_fail), _ in zip(inputs(target, random.Random(seed)), range(number), strict=False):
            if (what := fault(target, content, must_fail)) and what not in found:
                found[what] = content
    return found


# ---- command lines

#: Commands that write no file, about the devices and the files that the script finds where it runs.
COMMANDS = (
    "hardware show acme/x1", "hardware list tesla", "peaks acme/x1 --format json", "peaks acme/x1 --at low",
    "compare resnet18 -d t4,h100", "analyze resnet18 -d t4 --batch 4 -p int8", "models -d t4 --batch 2",
    "sweep resnet18 -d t4,h100", "explain gemm -m 64 -n 64 -k 64 -d h100 -p fp16", "audit x.csv --all --strict",
    "audit x.json -f json", "audit x.md --map Dense=device", "tdp estimate t4", "report x.evidence", "--version", "",
)  # fmt: skip
WORDS = (
    *(str(value) for value in HOSTILE if isinstance(value, str | int | float)), "--help", "-d", "-p", "--format",
    "json", "--batch", "--at", "--specs", "--golden", "specs", "golden", "x.csv", "x.json", "--", "-", "resnet18",
    "h100@low",
)  # fmt: skip
BROKEN = "--no-such-option"


def lines(chosen: random.Random) -> Iterator[tuple[list[str], bool]]:
    """Command lines without end, and whether each must be refused."""
    while True:
        words = chosen.choice(COMMANDS).split()
        for _ in range(chosen.choice((0, 1, 1, 2, 3))):
            place = chosen.randrange(len(words) + 1)
            end = place + chosen.choice((0, 1))
            words[place:end] = chosen.choice(([], [chosen.choice(WORDS)], [chosen.choice(WORDS)], words[place:end] * 2))
        must_fail = not {"--help", "--version", "--"} & set(words) and chosen.random() < 0.1
        yield ([BROKEN, *words] if must_fail else words), must_fail


def outcome(words: Sequence[str]) -> tuple[int, str]:
    """Exit status of a command line in this process, and all that it prints."""
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape", write_through=True)
    status: Any = 0
    with (
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
        pytest.MonkeyPatch.context() as patched,
    ):
        patched.setattr(sys, "argv", ["rooflint", *words])
        try:
            program.main()
        except SystemExit as ended:
            status = ended.code
        text = printed.buffer.getvalue().decode("utf-8", "replace")  # type: ignore[attr-defined]
    return int(status or 0), text


def fault_of_line(words: Sequence[str], must_fail: bool) -> str | None:
    """What the program did wrong with a command line."""
    began = time.process_time()
    try:
        status, printed = outcome(words)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno}: {str(error)[:100]}"
    if time.process_time() - began > MOST_S:
        return f"takes more than {MOST_S} s"
    if (must_fail and status == 0) or status not in (0, 1, 2):
        return f"ends with status {status}"
    if "Traceback" in printed:
        return "prints a traceback"
    if found := HIDDEN.search(printed):
        return f"prints U+{ord(found[0]):04X}"
    return None if status == 0 or printed.strip() else "fails and says nothing"


def faults_of_lines(number: int, seed: int) -> dict[str, Sequence[str]]:
    """Faults over some command lines in the folder where this runs, each with the first that shows it."""
    found: dict[str, Sequence[str]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for (words, must_fail), _ in zip(lines(random.Random(seed)), range(number), strict=False):
            if (what := fault_of_line(words, must_fail)) and what not in found:
                found[what] = words
    return found


def fill(folder: Path) -> None:
    """The files that command lines name."""
    shutil.copytree(TINY, folder, dirs_exist_ok=True)
    every = targets(folder / "seeds")
    for name in ("audit csv", "audit json", "audit md"):
        (folder / f"x{every[name].suffix}").write_text(every[name].seeds[0], encoding="utf-8")
    (folder / "x.evidence").write_text(every["evidence"].seeds[0], encoding="utf-8")


# ---- tests


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Target]:
    return targets(tmp_path_factory.mktemp("fuzz"))


NAMES = (
    "hardware", "architectures", "process", "memory", "events", "launches", "prices", "grid", "workloads", "goldens",
    "recordings", "evidence", "audit csv", "audit md", "audit json", "audit yaml", "ledgers", "expectations",
)  # fmt: skip
INPUTS = 1100
"""Of each reader: 20 000 of all, with the command lines."""
LINES = 300


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_what_a_reader_cannot_use_it_refuses_in_sentences(readers, name):
    assert faults(readers[name], INPUTS, SEED) == {}


@pytest.mark.slow
def test_what_a_command_cannot_use_it_refuses_in_sentences(tmp_path, monkeypatch):
    fill(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert faults_of_lines(LINES, SEED) == {}


@pytest.mark.parametrize("name", NAMES)
def test_the_seeds_are_valid(readers, name):
    refused = []
    for seed in readers[name].seeds:
        try:
            readers[name].read(seed.encode())
        except RooflintError as error:
            refused.append(str(error))
    assert readers[name].seeds and refused == []


def _main() -> None:
    parser = argparse.ArgumentParser(description="Fuzz one reader, all of them, or the command line.")
    parser.add_argument("name", choices=[*NAMES, "all", "commands"])
    parser.add_argument("number", type=int)
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    os.environ["XDG_CACHE_HOME"] = os.devnull  # nothing is kept
    names = NAMES if given.name == "all" else (given.name,)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        every = targets(Path(folder) / "fuzz")
        fill(Path(folder))
        for name in names:
            began = time.process_time()
            of = every.get(name)
            found = faults(of, given.number, given.seed) if of else faults_of_lines(given.number, given.seed)
            took = f"{time.process_time() - began:.1f} CPU s"
            print(f"{name}: {given.number} inputs, {took}, {len(found)} kinds of faults", flush=True)
            for what, shown in found.items():
                print(f"  {what}\n    {str(shown[:300] if of else shown)!r}", flush=True)


if __name__ == "__main__":
    _main()
