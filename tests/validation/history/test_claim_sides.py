"""Two sides of claims: equal inputs are judged once, with the verdicts that judging twice gives."""

import pytest

from pytest_rooflint.history import claim_sides
from pytest_rooflint.history.claim_sides import ClaimSide, judged, sides
from pytest_rooflint.history.side import opened
from rooflint.hardware.registry import PACKAGED

X1 = "specs/hardware/acme/x1.yaml"
X2 = "specs/hardware/acme/x2.yaml"


@pytest.fixture
def two(guarded, git):
    """A second device with a claim of its own, and a claim that names both."""
    guarded.write(X2, guarded.read(X1).replace("Acme X1", "Acme X2"))
    head = 'source: {document: "Acme X2 page", where: p. 1, grade: read}\nclaims:\n'
    guarded.write("golden/x2.yaml", f"hardware: acme/x2\n{head}  - {{count: core, expect: 4}}\n")
    order = "  - {latency: acme/x1 < acme/x2, workload: {mlp: [64, 64]}, compute: int8, refuted: true}\n"
    guarded.write("golden/both.yaml", f"{head}{order}")
    git(guarded.root, "add", "-A")
    git(guarded.root, "commit", "-qm", "Acme X2")
    return guarded


@pytest.fixture
def counted(monkeypatch):
    """Claims that the base judged itself, after `both(repository)`; and the verdicts of both sides."""

    def both(repository):
        asked = []
        judge = ClaimSide.judge
        monkeypatch.setattr(
            ClaimSide, "judge", lambda side, claim: asked.append((side, claim.id)) or judge(side, claim)
        )
        roots = [(repository.root / "specs").resolve()]
        with opened("HEAD", roots, repository.root) as old, opened(None, roots, repository.root) as new:
            before, after = sides(old, new, (), repository.root)
            then, now = judged(before, after)
        monkeypatch.undo()
        return [claim for side, claim in asked if side is before], then, now

    return both


def test_equal_files_are_judged_once(two, counted):
    again, then, now = counted(two)
    assert again == []
    assert [(one.id, one.outcome) for one in then] == [(one.id, one.outcome) for one in now]
    assert {one.outcome for one in now} == {"pass"}


def test_it_is_said_how_far_the_judging_is(two, monkeypatch):
    monkeypatch.setattr(claim_sides, "STEP", 4)
    said, roots = [], [(two.root / "specs").resolve()]
    with opened("HEAD", roots, two.root) as old, opened(None, roots, two.root) as new:
        _, now = judged(*sides(old, new, (), two.root), say=said.append)
    assert said == [f"judging claims: {number} of {len(now)}" for number in range(0, len(now), 4)]


def test_claims_on_a_changed_device_are_judged_twice_and_no_others(two, counted):
    two.edit(X2, "groups: [4,", "groups: [8,")
    again, then, now = counted(two)
    assert again == ["latency-acme/x1-lt-acme/x2-of-mlp-64-64-refuted", "count-core"] or len(again) == 2
    outcomes = {one.id: one.outcome for one in now}
    assert outcomes["golden/x2.yaml::count-core"] == "fail"
    assert {one.outcome for one in then} == {"pass"}


def test_a_file_that_any_claim_may_read_makes_all_judged_twice(two, counted):
    two.write("specs/process/7nm.yaml", (PACKAGED / "process/7nm.yaml").read_text(encoding="utf-8"))
    again, then, _ = counted(two)
    assert len(again) == len(then) == 12


@pytest.mark.slow
@pytest.mark.parametrize("edit", [(X1, "6.4 Gbit/s", "12.8 Gbit/s"), (X2, "groups: [4,", "groups: [8,")])
def test_shared_verdicts_are_those_of_judging_everything_twice(edit, two, counted, monkeypatch):
    two.edit(*edit)
    _, shared, _ = counted(two)
    monkeypatch.setattr(claim_sides, "_moved", lambda before, after: None)
    again, alone, _ = counted(two)
    assert len(again) == len(alone) == 12
    assert [(one.id, one.outcome, one.independent) for one in shared] == [
        (one.id, one.outcome, one.independent) for one in alone
    ]


@pytest.mark.slow
def test_tables_beside_the_golden_folder_are_there_in_the_base_too(two, git, counted):
    two.write("tables/gpus.csv", "device,INT8 TOP/s\nacme/x1,32.8\n")
    head = 'source: {document: "A list", where: p. 1, grade: read}\nclaims:\n'
    two.write("golden/list.yaml", f"{head}  - {{audit: ../tables/gpus.csv}}\n")
    git(two.root, "add", "-A")
    git(two.root, "commit", "-qm", "A table")
    (two.root / "golden/list.yaml").unlink()
    _, then, _ = counted(two)
    (audit,) = [one for one in then if one.file == "golden/list.yaml"]
    assert audit.outcome == "pass"
