"""The engine and its store: the same result in any order, nothing found out twice, nothing stale."""

import json
import os

import pytest

from pytest_rooflint.mutation import engine
from pytest_rooflint.mutation import engine as store_module
from pytest_rooflint.mutation.engine import EngineError, Store, StoreError, run
from pytest_rooflint.mutation.outcome import Baseline, groups

GOLDEN, SPEC = "golden/x{}.yaml", "specs/hardware/acme/x{}.yaml"


@pytest.fixture
def three(small):
    """Three devices of one make, each with its golden file; X3 has the rates of an architecture."""
    for number in (2, 3):
        for name in (GOLDEN, SPEC):
            text = small.read(name.format(1)).replace("acme/x1", f"acme/x{number}").replace("X1", f"X{number}")
            small.write(name.format(number), text)
    rates = "    macs_per_clock: {int8: [4096 MAC, brief, p. 2], fp16: [1024 MAC, brief, p. 2]}\n"
    small.edit(SPEC.format(3), rates, "")
    small.edit(SPEC.format(3), "kind: npu\n", "kind: npu\narchitecture: acme/die\n")
    die = "name: Acme die\nkind: npu\nsources: {brief: {document: Acme die brief, grade: read}}\nunits:\n  mac_array:\n"
    small.write("specs/architectures/acme/die.yaml", f"{die}{rates}")
    return small


@pytest.fixture
def found(three):
    """`found(**options)`: what a run finds in the three as they now are, by id, and which it had to find out."""

    def ask(folder=".rooflint", **options):
        baseline = Baseline.of(three.suite())
        all_groups = list(groups(baseline.suite))
        store = Store(three.root / folder, baseline)
        new = {group.subject.id for group in all_groups if store.get(group) is None}
        result = run(baseline, all_groups, range(len(all_groups)), store=store, **options)
        return {all_groups[position].subject.id: outcomes for position, outcomes in result.items()}, new

    return ask


ALL = {"acme/x1", "acme/x2", "acme/x3", "acme/die"}


def test_a_second_run_finds_nothing_out_and_says_the_same(found):
    first, new = found()
    assert new == ALL == set(first)
    again, new = found()
    assert (again, new) == (first, set())


def test_what_was_not_kept_is_the_same(found):
    assert found("here")[0] == found("there")[0]


def test_a_changed_spec_is_asked_again_with_what_depends_on_it_alone(found, three):
    found()
    three.edit(SPEC.format(1), "capacity: [8 GB", "capacity: [16 GB")
    assert found()[1] == {"acme/x1"}
    three.edit("specs/architectures/acme/die.yaml", "Acme die brief", "Acme die manual")
    assert found()[1] == {"acme/die", "acme/x3"}
    three.edit(SPEC.format(3), "capacity: [8 GB", "capacity: [16 GB")
    assert found()[1] == {"acme/die", "acme/x3"}  # claims about X3 judge the rates of the die


def test_a_changed_golden_file_is_asked_again_with_the_devices_that_it_speaks_of(found, three):
    found()
    three.edit(GOLDEN.format(2), "bandwidth: lpddr5, expect: 102.4 GB/s", "bandwidth: lpddr5, expect: 102.40 GB/s")
    assert found()[1] == {"acme/x2"}


def test_an_order_ties_its_devices_together(found, three):
    order = "  - {latency: acme/x1 < acme/x3, refuted: true, workload: {mlp: [64, 64], batch: 1}, compute: int8}\n"
    three.write(GOLDEN.format(1), three.read(GOLDEN.format(1)) + order)
    found()
    three.edit(SPEC.format(3), "capacity: [8 GB", "capacity: [16 GB")
    assert found()[1] == {"acme/x1", "acme/die", "acme/x3"}


def test_a_value_that_slips_are_taken_from_is_a_dependency(found, three):
    # X2 becomes a sibling of X3 and its figures mutations of X3
    text = three.read(SPEC.format(2)).replace("kind: npu\n", "kind: npu\narchitecture: acme/die\n")
    three.write(SPEC.format(2), text)
    found()
    three.edit(SPEC.format(2), "tdp: [15 W", "tdp: [16 W")
    assert "acme/x3" in found()[1]


def test_changed_code_finds_everything_out_anew(found, three, monkeypatch):
    found()
    module = three.write("new_kind.py", "# a kind of claim\n")
    monkeypatch.setattr(store_module, "_code", lambda: (module,))
    assert found()[1] == ALL


def test_the_store_is_none_of_gits_business(found, three):
    found()
    assert three.read(".rooflint/.gitignore") == "*\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"key": 1, "outcomes": [{"a": 1}]}', '{"key": 1, "outcomes": 3}']
)
def test_a_file_that_is_none_of_ours_is_found_out_anew(found, three, text):
    first, _ = found()
    three.write(".rooflint/device/acme/x1.json", text)
    again, new = found()
    assert new == {"acme/x1"}
    assert again == first


def test_a_store_of_the_right_key_and_another_length_is_not_believed(found, three):
    found()
    content = json.loads(three.read(".rooflint/device/acme/x1.json"))
    content["outcomes"].pop()
    three.write(".rooflint/device/acme/x1.json", json.dumps(content))
    assert found()[1] == {"acme/x1"}


@pytest.mark.slow
def test_an_interrupted_run_goes_on_where_it_stopped(found):
    done = []

    def interrupt(count):
        done.append(count)
        if len(done) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        found(progress=interrupt)
    result, new = found()
    assert len(new) == len(ALL) - 2
    assert result == found("elsewhere")[0]


def test_progress_counts_every_mutant_once_known_or_not(found):
    first, second = [], []
    result, _ = found(progress=first.append)
    found(progress=second.append)
    assert sum(first) == sum(second) == sum(map(len, result.values()))


def test_a_folder_that_cannot_be_written_is_one_sentence(found, three):
    three.write(".rooflint", "a file")
    with pytest.raises(StoreError, match=r"\.rooflint: cannot keep results: .*; run with --no-cache$"):
        found()


def test_a_process_that_is_ended_from_outside_is_one_sentence_and_the_rest_is_kept(three, monkeypatch):
    monkeypatch.setattr(engine, "_one", end_process)
    baseline = Baseline.of(three.suite())
    all_groups = list(groups(baseline.suite))
    with pytest.raises(
        EngineError, match="a worker process was killed; the results so far are kept, so run the command again"
    ):
        run(baseline, all_groups, range(4), jobs=2)
    assert engine._shared == []


def end_process(position):
    os._exit(9)


def test_cores_are_those_that_this_process_may_use():
    assert engine.cores() >= 1


def test_a_process_that_was_not_forked_reads_the_suite_itself(three, monkeypatch):
    suite = three.suite()
    monkeypatch.setattr(engine, "_shared", [])
    monkeypatch.setattr(engine.signal, "signal", lambda *_: None)  # this process still wants to be interrupted
    engine._prepare(suite.golden_roots, suite.spec_roots)
    baseline = Baseline.of(suite)
    all_groups = list(groups(suite))
    assert dict(engine._one(position) for position in range(4)) == run(baseline, all_groups, range(4))


def test_kinds_of_claims_of_other_packages_are_part_of_the_code():
    names = {file.name for file in store_module._code()}
    assert {"operators.py", "memory.py", "outcome.py"} <= names
