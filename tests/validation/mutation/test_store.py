"""What is kept of verdicts and mutants is what was worked out; when it is worked out anew, `test_engine.py` says."""

import random
import shutil
from pathlib import Path

import pytest

from pytest_rooflint.mutation.engine import baseline_of, run
from pytest_rooflint.mutation.outcome import Outcome, groups
from pytest_rooflint.mutation.store import Store
from pytest_rooflint.suite.suite import Suite
from rooflint.hardware.registry import PACKAGED

ROOT = Path(__file__).parents[3]


@pytest.mark.slow
def test_verdicts_and_mutants_of_the_shipped_specs_are_kept_as_they_are(shipped_suite, tmp_path):
    first = Store(tmp_path, shipped_suite)
    baseline, made = first.baseline(), [first.group(subject) for subject in first.subjects]
    assert made == list(groups(shipped_suite))
    for group in made:
        first.put(group, [Outcome("equivalent")] * len(group.mutants), {}, baseline)
    second = Store(tmp_path, shipped_suite)
    assert second.baseline() == baseline
    assert [second.group(subject) for subject in second.subjects] == made
    assert all(None not in second.known(group, baseline) for group in made)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("device", "old", "new"),
    [
        ("nvidia/t4", "name:", "# a line more\nname:"),
        ("amd/mi250x", "name:", "# a line more\nname:"),
        ("nvidia/t4", "tdp: [70 W,", "tdp: [70.001 W,"),  # which orders of many devices read
        ("nvidia/t4", "pin_rate: [10.0 ", "pin_rate: [10.00001 "),
        ("seed/tpu-edge-pro", "tdp: [30 W,", "tdp: [29 W,"),  # which no claim is about
    ],
)
def test_after_a_changed_spec_the_outcomes_are_those_of_a_run_without_a_store(tmp_path, device, old, new):
    for part, source in (("golden", ROOT / "golden"), ("specs", PACKAGED)):
        shutil.copytree(source, tmp_path / part)

    def suite():
        return Suite.of([tmp_path / "golden"], [tmp_path / "specs"])

    chance = random.Random(1)
    all_groups = list(groups(suite()))
    chosen = sorted({*chance.sample(range(len(all_groups)), 8), *_named(all_groups, device)})

    def kept():
        store = Store(tmp_path / "kept", suite())
        return run(
            baseline_of(store.suite, store), [store.group(subject) for subject in store.subjects], chosen, store=store
        )

    kept()
    file = tmp_path / "specs/hardware" / f"{device}.yaml"
    before = file.read_text(encoding="utf-8")
    assert before.count(old) == 1
    file.write_text(before.replace(old, new), encoding="utf-8")
    assert kept() == run(baseline_of(suite()), list(groups(suite())), chosen)


def _named(all_groups, device):
    return [position for position, group in enumerate(all_groups) if group.subject.id == device]
