"""Power of accelerators beside that of the systems that they are part of: docs/method-energy.md, and the claims."""

import re
from pathlib import Path

import pytest

from pytest_rooflint.golden import read
from pytest_rooflint.golden.workloads import build
from pytest_rooflint.suite.judge import judge
from pytest_rooflint.suite.suite import Suite
from rooflint.base.errors import InputError
from rooflint.hardware.registry import PACKAGED, Registry
from rooflint_calibration import powers

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/method-energy.md").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("file", sorted(powers.files([ROOT / "golden"])), ids=lambda file: file.stem)
def test_the_page_has_every_row_as_it_is_predicted(file):
    table, registry = powers.read(file), Registry()
    found = powers.drawn(table, build(table.spec.workload), registry)
    missing = [line for line in (*powers.header(), *powers.lines(table, found)) if line not in PAGE]
    assert not missing, "run python benchmarks/end_to_end.py power/" + file.stem
    assert (found.low_w < found.typical_w).all()
    assert (found.typical_w < found.high_w).all()


POWERS = """\
title: A layer on two systems
workload: {mlp: [4096, 4096]}
precision: int8
fuse: true
source: {document: Some paper, where: table 3, grade: read}
why: two rows
rows:
"""


@pytest.fixture
def on_systems(tmp_path):
    """`on_systems(claim, t4, l4)`: on a claim about a table of two systems, with what is said of each."""
    file, table = tmp_path / "claims.yaml", tmp_path / powers.FOLDER / "layer.yaml"
    table.parent.mkdir(parents=True)

    def judged(line="power layer", **said):
        rest = "accelerators: 2, batch: 8, launch: graph, round: v0, submitter: A, system: a"
        rows = "".join(f"  - {{device: nvidia/{name}, per_s: 100000, {rest}, {one}}}\n" for name, one in said.items())
        table.write_text(POWERS + rows, encoding="utf-8")
        file.write_text(
            f"source: {{document: Some paper, where: all, grade: read}}\nclaims:\n  - {{prediction: {line}}}\n",
            encoding="utf-8",
        )
        (claim,) = read.load(file).claims
        return judge(claim, "", Suite.of([tmp_path], [PACKAGED]))

    return judged


def test_power_is_the_energy_of_a_sample_times_the_rate_of_all_accelerators(tmp_path, on_systems):
    on_systems(t4="system_w: 900", l4="system_w: 900")
    table, registry = powers.read(tmp_path / powers.FOLDER / "layer.yaml"), Registry()
    work = build(table.spec.workload)
    once = powers.drawn(table, work, registry)
    # twice the rate is twice the power, whatever the number of accelerators: those of one row are half as busy
    twice = [row.model_copy(update={"per_s": 2 * row.per_s, "accelerators": 1}) for row in table.spec.rows]
    faster = powers.PowerTable(table.file, table.spec.model_copy(update={"rows": twice}), table.lines)
    assert powers.drawn(faster, work, registry).typical_w.tolist() == (2 * once.typical_w).tolist()
    steps = powers.PowerTable(table.file, table.spec.model_copy(update={"passes": 3}), table.lines)
    assert powers.drawn(steps, work, registry).low_w == pytest.approx(3 * once.low_w)


def test_accelerators_above_their_system_are_red_and_named(on_systems):
    found = on_systems(t4="system_w: 900", l4="system_w: 900")
    assert (found.outcome, found.obtained.value) == ("pass", 0)
    assert found.obtained.display == "predicted above their system: 0; with a reason: 0"
    found = on_systems(t4="system_w: 30", l4="system_w: 900")
    assert (found.outcome, found.obtained.value) == ("fail", 1)
    assert re.search(
        r"layer\.yaml:8  nvidia/t4, batch 8: 2 accelerators draw 46\.\d+ W, at least 43\.\d+ W; the whole system 30 W",
        found.obtained.details,
    )


def test_a_reason_excuses_neither_the_low_end_nor_a_row_that_needs_none(on_systems):
    reason = "above: the clock was lowered"
    assert on_systems(t4=f"system_w: 45, {reason}", l4="system_w: 900").outcome == "pass"
    assert on_systems(t4=f"system_w: 30, {reason}", l4="system_w: 900").outcome == "fail"
    found = on_systems(t4=f"system_w: 900, {reason}", l4="system_w: 900")
    assert found.outcome == "fail"
    assert "of 900 W; remove 'above'" in found.obtained.details


@pytest.mark.parametrize(
    ("line", "said", "wish"),
    [
        ("power layer bound", "system_w: 900", "found 'power layer bound'"),
        ("power layer, error: 1 %", "system_w: 900", "error: unknown option for 'power layer'"),
    ],
)
def test_unknown_words_about_powers_are_refused(on_systems, line, said, wish):
    with pytest.raises(InputError, match=wish):
        on_systems(line, t4=said, l4=said)


def test_a_system_without_power_is_refused_at_its_line(tmp_path, on_systems):
    on_systems(t4="system_w: 900", l4="system_w: 900")
    file = tmp_path / powers.FOLDER / "layer.yaml"
    head, _, tail = file.read_text(encoding="utf-8").rpartition(", system_w: 900")
    with pytest.raises(InputError, match=re.escape("layer.yaml:9  rows.1.system_w")):
        powers.read(file, head + tail)
