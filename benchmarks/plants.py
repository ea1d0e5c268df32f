"""What the golden suite sees: random mistakes in energies, powers and times of the specs, each planted on disk.

`python benchmarks/plants.py --count 300 --seed 16` works in a temporary copy of the specs. A plant multiplies one
figure in pJ, W or µs (or a share of idle power) by 16, 1/16 or 1.5; then the claims are judged. A plant is caught where
a claim turns red, or where its file is refused on reading. It is caught by a second document where that claim is
corroborated; the others repeat the document of the spec, or compare estimates.
"""

import argparse
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_rooflint.golden.kinds import Claim
from pytest_rooflint.suite import world
from pytest_rooflint.suite.judge import brief, caught
from pytest_rooflint.suite.suite import Suite
from pytest_rooflint.suite.verdict import Verdict
from rooflint.base.facts import Fact
from rooflint.base.units import JOULES, JOULES_PER_BYTE, JOULES_PER_BYTE_M, JOULES_PER_OP, SECONDS, WATTS
from rooflint.coefficients.library import Coefficients

ROOT = Path(__file__).parents[1]
FACTORS = {"x16": 16.0, "/16": 1 / 16, "x1.5": 1.5}
UNITS = (JOULES, JOULES_PER_OP, JOULES_PER_BYTE, JOULES_PER_BYTE_M, SECONDS, WATTS)
SLOW = ("monotone", "prediction", "measured", "crossover")
"""Kinds that are judged last, because they take longest."""
FIRST = ("energ", "idle", "launch", "power", "sustained", "tdp")
"""Kinds that are judged first, because they are about such figures."""
ENDS = {
    "second": "by a second document",
    "claim": "by another claim",
    "refused": "refused on reading",
    "silent": "silent",
}


@dataclass(frozen=True)
class Plant:
    """One figure of one file, with a factor."""

    fact: Fact
    factor: str

    @property
    def where(self) -> str:
        """`events/gpu`, `process/7nm`, `hardware`: the file, or all devices."""
        folder = self.fact.file.parent.name
        inside = folder in ("events", "process", "memory")
        return f"{folder}/{self.fact.file.stem}" if inside else self.fact.file.stem if folder == "specs" else "hardware"

    def text(self, source: str) -> str:
        """The text of the file with the mistake; the value is written as its quotient where it is one."""
        lines = source.splitlines(keepends=True)
        number, space, unit = self.fact.display.partition(" ")
        above, slash, below = number.partition("/")
        wrong = f"{float(above) * FACTORS[self.factor]:.9g}{slash}{below}{space}{unit}"
        line = lines[self.fact.line - 1]
        if line.count(f"[{self.fact.display},") != 1:
            raise SystemExit(f"{self.fact.file}:{self.fact.line}: '{self.fact.display}' does not stand there once")
        lines[self.fact.line - 1] = line.replace(f"[{self.fact.display},", f"[{wrong},")
        return "".join(lines)


def facts(suite: Suite) -> Iterator[Fact]:
    """Figures in pJ, W and µs, and shares of idle power, each once."""
    coefficients = Coefficients(suite.registry)
    files = [file for root in suite.spec_roots for file in coefficients.files(root)]
    found = [fact for file in files for fact in coefficients.facts(file).values()]
    found += [fact for device in suite.devices() for fact in suite.registry.get(device).facts.values()]
    seen = set()
    for fact in found:
        wanted = fact.quantity.dimension in UNITS or fact.path.startswith("idle.")
        if wanted and fact.place not in seen:
            seen.add(fact.place)
            yield fact


def backed(suite: Suite) -> set[str]:
    """Ids of the claims that are corroborated on the specs as they are."""
    return {_id(claim) for claim in suite.claims() if _brief(claim, suite).corroborated}


def judged(suite: Suite, second: set[str]) -> tuple[str, str]:
    """How a plant ends, and the claim that shows it: `refused`, `second` document, `claim`, `silent`."""
    if world.problems(suite):
        return "refused", ""
    found = ("silent", "")
    for claim in sorted(suite.claims(), key=_order):
        if found[0] == "claim" and claim.kind in SLOW:
            return found
        if _brief(claim, suite).outcome == "fail":
            if _id(claim) in second:
                return "second", _id(claim)
            found = ("claim", found[1] or _id(claim))
    return found


def _brief(claim: Claim, suite: Suite) -> Verdict:
    return caught(claim, claim.id, lambda: brief(claim, suite))


def _id(claim: Claim) -> str:
    return f"{claim.file.relative_to(ROOT)}::{claim.id}"


def _order(claim: Claim) -> int:
    return (claim.kind in SLOW) + (not claim.kind.startswith(FIRST))


def copied(folder: Path) -> Suite:
    """The suite on a copy of the specs."""
    specs = folder / "specs"
    shutil.copytree(ROOT / "model/rooflint/specs", specs)
    return Suite.of([ROOT / "golden"], [specs])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=16)
    parser.add_argument("--all", action="store_true", help="every figure with every factor, not a sample")
    parser.add_argument("--below", default="", help="only files such as events/gpu, process, hardware")
    options = parser.parse_args()
    ends: dict[str, Counter[str]] = {name: Counter() for name in FACTORS}
    with tempfile.TemporaryDirectory() as folder:
        suite = copied(Path(folder))
        second = backed(suite)
        every = [Plant(fact, name) for fact in facts(suite) for name in FACTORS]
        every = [one for one in every if one.where.startswith(options.below)]
        drawn = every if options.all else random.Random(options.seed).sample(every, min(options.count, len(every)))
        for one in drawn:
            source = one.fact.file.read_text("utf-8")
            one.fact.file.write_text(one.text(source), "utf-8")
            end, by = judged(suite.reread({one.fact.file}), second)
            one.fact.file.write_text(source, "utf-8")
            ends[one.factor][end] += 1
            print(f"{end:<8} {one.where}  {one.fact.path}  {one.fact.display}  {one.factor}  {by}", flush=True)
    for name, found in ends.items():
        total = found.total() or 1
        shares = ", ".join(f"{found[end]} {text}" for end, text in ENDS.items())
        print(f"{name:>5}: {1 - found['silent'] / total:.1%} of {total} caught: {shares}")


if __name__ == "__main__":
    main()
