"""Every reader of a format, with valid texts, and what is wrong with what one of them did."""

import gzip
import json
import random
import shutil
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from pytest_rooflint.audit.auditor import Auditor
from pytest_rooflint.golden.expect import ExpectationError, parse_expectation
from pytest_rooflint.suite.judge import brief
from pytest_rooflint.suite.suite import Suite
from rooflint.base.errors import InputError, RooflintError
from rooflint.base.text import HIDDEN, sanitized
from rooflint.base.units import UnitError
from rooflint.coefficients.library import Coefficients
from rooflint.cost.tables import Grid, Prices
from rooflint.hardware.registry import Registry
from rooflint.prediction.ledger import COLUMNS, read_ledger
from rooflint.prediction.ledger import SCHEMA as LEDGER
from rooflint.workloads.tables import read_table
from rooflint_measure import record
from rooflint_measure.recording import content_digest, read
from rooflint_report.evidence import load_evidence

from .generator import TINY, Run, Target, inputs, run

SPECS = Path(record.__file__).parents[2] / "model/rooflint/specs"
NAMES = (
    "hardware", "architectures", "systems", "process", "memory", "events", "launches", "prices", "grid", "workloads",
    "goldens", "recordings", "evidence", "audit csv", "audit md", "audit html", "audit py", "audit json", "audit yaml",
    "ledgers", "expectations",
)  # fmt: skip


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
    comma += [
        "GPU,precision,Model,SeqLen,GPUs,tokens/s,TFLOP/s/GPU,MFU\nacme/x1,fp16,llama-3.1-8b,4096,8,800,,36 %\n"
        "acme/x1,fp16,llama-3.1-8b,4096,8,800,5.3,36 %\nacme/x1,fp16,mpt-7b,2048,1,30,0.35,\n"
    ]
    prices = [text.replace("amd/mi300x", "acme/x1").split("  amd/")[0] for text in texts(SPECS, "prices/amd.yaml")]
    devices = Registry((TINY / "specs", root))
    marks = ["| device | int8 TOP/s | TDP (W) |\n|---|---|---|\n| **acme/x1** | 32.8 | [15](x) |\n"]
    markup = [
        "<table><tr><th>device<th>int8 TOP/s<th>TDP (W)<tr><td rowspan=2>acme/x1<td>32.8<td>15<tr><td>16.4<td>7</table>"
    ]
    source = [
        "TOPS = 1e12\nPEAK = {'acme/x1': {'int8': 32.8 * TOPS, 'tdp': 15}, (9, 0): 1e12}\n",
        "def peak(name):\n    if 'acme' in name and 'x1' in name:  # int8\n        return 2 * 16.4e12\n    return 0\n",
    ]
    auditor = Auditor(suite.registry, (TINY / "golden",), {})
    return {
        "hardware": Target(".yaml", hardware, of_spec("hardware/acme/x1.yaml", lambda r, _: r.get("acme/x1"))),
        "architectures": Target(
            ".yaml",
            texts(SPECS, "architectures/*/*.yaml"),
            of_spec("architectures/acme/a1.yaml", lambda r, _: r.architecture("acme/a1").as_hardware()),
        ),
        "systems": Target(
            ".yaml", texts(SPECS, "systems/**/*.yaml"), of_spec("systems/acme/x1.yaml", lambda r, _: r.get("acme/x1"))
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
        "recordings": Target(".json", [recording()], in_file(folder, ".json", read)),
        "evidence": Target(".json", [evidence(folder)], in_file(folder, ".json", load_evidence)),
        "audit csv": Target(".csv", comma, in_file(folder, ".csv", auditor.audit), is_data=False),
        "audit md": Target(".md", marks, in_file(folder, ".md", auditor.audit), is_data=False),
        "audit html": Target(".html", markup, in_file(folder, ".html", auditor.audit), is_data=False),
        "audit py": Target(".py", source, in_file(folder, ".py", auditor.audit), is_data=False),
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
    return json.dumps({"digest": content_digest(document), **document})


def ledger() -> str:
    """Three rows of a ledger."""
    figures = ["1.5"] * (len(COLUMNS) - 9)
    rows = [[LEDGER, f"acme/x{number}", "", "n", "int8", "1", "true", *figures, "", ""] for number in range(3)]
    return "\n".join(map(",".join, [COLUMNS, *rows])) + "\n"


# ---- what is wrong with an outcome


def fault(target: Target, content: bytes, must_fail: bool) -> str | None:
    """What the reader did wrong with an input; None where it read it or refused it in a sentence."""
    refused = None
    try:
        target.read(content)
    except RooflintError as error:
        refused = error
    except (Exception, RecursionError) as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno}: {str(error)[:100]}"
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


def run_reader(target: Target, number: int, seed: int) -> Run:
    """Put some inputs to a reader."""
    return run(
        lambda content, must_fail: fault(target, content, must_fail), inputs(target, random.Random(seed)), number
    )
