"""The engine and its store: the same result in any order, nothing found out twice, nothing stale."""

import datetime
import json
import os
import pickle
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_rooflint.mutation import engine
from pytest_rooflint.mutation.engine import FailingSuiteError, baseline_of, run
from pytest_rooflint.mutation.outcome import groups
from pytest_rooflint.mutation.store import Store, StoreError
from pytest_rooflint.suite import modules
from rooflint.base.shards import ClusterError, Workers

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
        store = Store(three.root / folder, three.suite())
        baseline = baseline_of(store.suite, store)
        all_groups = [store.group(subject) for subject in store.subjects]
        assert all_groups == list(groups(three.suite()))
        new = {group.subject.id for group in all_groups if None in store.known(group, baseline)}
        result = run(baseline, all_groups, range(len(all_groups)), store=store, **options)
        return {all_groups[position].subject.id: outcomes for position, outcomes in result.items()}, new

    return ask


ALL = {"acme/x1", "acme/x2", "acme/x3", "acme/die"}


@pytest.mark.slow
def test_a_second_run_finds_nothing_out_and_says_the_same(found):
    first, new = found()
    assert new == ALL == set(first)
    again, new = found()
    assert (again, new) == (first, set())


@pytest.mark.slow
def test_what_was_not_kept_is_the_same(found):
    assert found("here")[0] == found("there")[0]


@pytest.mark.slow
def test_a_changed_spec_is_asked_again_with_what_depends_on_it_alone(found, three):
    found()
    three.edit(SPEC.format(1), "capacity: [8 GB", "capacity: [16 GB")
    assert found()[1] == {"acme/x1"}
    three.edit("specs/architectures/acme/die.yaml", "Acme die brief", "Acme die manual")
    assert found()[1] == {"acme/die", "acme/x3"}
    three.edit(SPEC.format(3), "capacity: [8 GB", "capacity: [16 GB")
    assert found()[1] == {"acme/x3"}  # claims about X3 judge the rates of the die, and read no capacity for that
    three.edit(SPEC.format(3), "clock: [1000 MHz", "clock: [1000.0 MHz")
    assert found()[1] == {"acme/die", "acme/x3"}


@pytest.mark.slow
def test_a_line_more_changes_no_outcome(found, three):
    first, _ = found()
    for name in (SPEC.format(1), "specs/architectures/acme/die.yaml"):
        three.write(name, f"# a line more\n{three.read(name)}")
    assert found() == (first, set())


@pytest.mark.slow
def test_what_a_claim_did_not_read_leaves_its_outcomes(three, found):
    found()
    three.edit(SPEC.format(1), "capacity: [8 GB", "capacity: [16 GB")
    store = Store(three.root / ".rooflint", three.suite())
    group, baseline = store.group(store.subjects[0]), baseline_of(store.suite, store)
    known = zip(group.mutants, store.known(group, baseline), strict=True)
    new = {mutant.fact.path for mutant, one in known if one is None}
    assert "memories.lpddr5.capacity" in new
    assert new.isdisjoint({"units.mac_array.groups", "units.mac_array.clock", "memories.lpddr5.bus"})


@pytest.mark.slow
def test_a_fact_that_is_read_only_in_place_of_another_is_a_dependency(found, three):
    # X3 states the INT8 rate of its die again: only where its own is removed is that of the die read
    own = "    macs_per_clock: {int8: [4096 MAC, brief, p. 2]}\n"
    three.edit(SPEC.format(3), "    circuit: systolic_mac\n", f"    circuit: systolic_mac\n{own}")
    first, _ = found()
    three.edit("specs/architectures/acme/die.yaml", "int8: [4096 MAC", "int8: [2048 MAC")
    second, _ = found()
    assert second == found("elsewhere")[0]
    assert first["acme/x3"] != second["acme/x3"]


@pytest.mark.slow
def test_a_changed_golden_file_is_asked_again_with_the_devices_that_it_speaks_of(found, three):
    found()
    three.edit(GOLDEN.format(2), "bandwidth: lpddr5, expect: 102.4 GB/s", "bandwidth: lpddr5, expect: 102.40 GB/s")
    assert found()[1] == {"acme/x2"}


@pytest.mark.slow
def test_an_order_ties_its_devices_together(found, three):
    order = "  - {latency: acme/x1 < acme/x3, refuted: true, workload: {mlp: [64, 64], batch: 1}, compute: int8}\n"
    three.write(GOLDEN.format(1), three.read(GOLDEN.format(1)) + order)
    found()
    three.edit(SPEC.format(3), "pin_rate: [6.4 ", "pin_rate: [6.40 ")
    assert found()[1] == {"acme/x1", "acme/die", "acme/x3"}


@pytest.mark.slow
def test_a_value_that_slips_are_taken_from_is_a_dependency(found, three):
    # X2 becomes a sibling of X3 and its figures mutations of X3
    text = three.read(SPEC.format(2)).replace("kind: npu\n", "kind: npu\narchitecture: acme/die\n")
    three.write(SPEC.format(2), text)
    found()
    three.edit(SPEC.format(2), "tdp: [15 W", "tdp: [16 W")
    assert "acme/x3" in found()[1]


@pytest.fixture
def changed_module(monkeypatch):
    """`changed_module(name)`: what a run finds when that module has another source."""

    def change(name):
        plain = modules.Modules._digest_of
        monkeypatch.setattr(modules.Modules, "_digest_of", lambda self, one: plain(self, one) + "*" * (one == name))

    return change


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "pytest_rooflint.claims.compute_units",  # a kind that every device here is asked with
        "pytest_rooflint.suite.judge",
        "rooflint.hardware.device",
        "rooflint.base.units",  # far below
        "pytest_rooflint.mutation.outcome",
        "pytest_rooflint.mutation.baseline",  # makes what is kept
        "pytest_rooflint.mutation.store",
        "rooflint",
    ],
)
def test_a_changed_module_that_judges_finds_everything_out_anew(found, changed_module, name):
    found()
    changed_module(name)
    assert found()[1] == ALL


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["pytest_rooflint.claims.audit", "pytest_rooflint.evidence.build", "rooflint.cli.tdp", "rooflint_report.report"],
)
def test_a_changed_module_that_no_claim_here_imports_changes_nothing(found, changed_module, name):
    found()
    changed_module(name)
    assert found()[1] == set()


@pytest.mark.slow
def test_a_module_of_claims_about_memories_is_none_that_rates_rest_on(found, changed_module):
    found()
    changed_module("pytest_rooflint.claims.memory")
    assert found()[1] == ALL - {"acme/die"}


@pytest.mark.slow
def test_the_module_of_a_kind_finds_out_anew_where_that_kind_is_asked(found, three, changed_module):
    bound = "  - {bound: acme/x2, is: memory, workload: {mlp: [64, 64], batch: 1}, compute: int8}\n"
    lines = [line for line in three.read(GOLDEN.format(2)).splitlines(keepends=True) if "bound" not in line]
    three.write(GOLDEN.format(2), "".join(lines))
    for number in (1, 3):
        lines = [line for line in three.read(GOLDEN.format(number)).splitlines(keepends=True) if "bound" not in line]
        three.write(GOLDEN.format(number), "".join(lines))
    three.write(GOLDEN.format(2), three.read(GOLDEN.format(2)).rstrip("\n") + f"\n{bound}")
    found()
    changed_module("pytest_rooflint.claims.latency")
    assert found()[1] == {"acme/x2"}


@pytest.mark.slow
def test_other_versions_of_libraries_find_everything_out_anew(found, monkeypatch):
    found()
    plain = modules.version
    monkeypatch.setattr(modules, "version", lambda name: "0.0" if name == "numpy" else plain(name))
    assert found()[1] == ALL


@pytest.mark.slow
@pytest.mark.parametrize("name", ["specs/process/7nm.yaml", "golden/measured/acme/x1/run.json", "specs/silicon.yaml"])
def test_a_file_that_any_claim_may_read_finds_everything_out_anew(found, three, monkeypatch, name):
    monkeypatch.setattr(engine.world, "problems", lambda suite: [])
    found()
    three.write(name, "{}\n")
    assert found()[1] == ALL


@pytest.mark.slow
def test_an_expired_excuse_is_judged_again(found, three, monkeypatch):
    xfail = "xfail: {reason: counts a spare one, ratio: 4/5, until: 2199-01-01}"
    three.edit(GOLDEN.format(2), "count: core, expect: 4}", f"count: core, expect: 5, {xfail}}}")
    found()

    class Later(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.datetime(2200, 1, 1, tzinfo=tz)

    monkeypatch.setattr(datetime, "datetime", Later)
    with pytest.raises(FailingSuiteError, match=r"first fix golden/x2\.yaml"):
        found()


@pytest.mark.slow
def test_of_a_changed_sibling_only_the_new_mutants_are_found_out(found, three):
    # X2 becomes a sibling of X3; its TDP is a mutation of that of X3
    text = three.read(SPEC.format(2)).replace("kind: npu\n", "kind: npu\narchitecture: acme/die\n")
    three.write(SPEC.format(2), text)
    found()
    three.edit(SPEC.format(2), "tdp: [15 W", "tdp: [16 W")
    store = Store(three.root / ".rooflint", three.suite())
    baseline = baseline_of(store.suite, store)
    (group,) = [store.group(subject) for subject in store.subjects if subject.id == "acme/x3"]
    new = [mutant for mutant, one in zip(group.mutants, store.known(group, baseline), strict=True) if one is None]
    assert {mutant.fact.path for mutant in new} == {"tdp"}
    assert 0 < len(new) < len(group.mutants) / 10


@pytest.mark.slow
def test_the_store_is_none_of_gits_business(found, three):
    found()
    assert three.read(".rooflint/.gitignore") == "*\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"made": 1, "judged": 2, "mutants": [{"a": 1}]}', '{"made": 1, "mutants": 3}']
)
def test_a_file_that_is_none_of_ours_is_found_out_anew(found, three, text):
    first, _ = found()
    three.write(".rooflint/device/acme/x1.json", text)
    again, new = found()
    assert new == {"acme/x1"}
    assert again == first


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"places": [], "names": [], "claims": {"a": 3}}', '{"claims": 3}']
)
def test_verdicts_that_something_else_wrote_are_judged_anew(found, three, text):
    first, _ = found()
    kept = three.read(".rooflint/claims.json")
    three.write(".rooflint/claims.json", text)
    assert found() == (first, set())
    assert json.loads(three.read(".rooflint/claims.json")) == json.loads(kept)


@pytest.mark.slow
def test_imports_that_something_else_kept_are_read_anew(found, three):
    first, _ = found()
    for text in ("", "[]", '{"a": 3}', '{"a": [3]}'):
        three.write(".rooflint/modules.json", text)
        assert found() == (first, set())


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


@pytest.mark.slow
def test_progress_counts_every_mutant_once_known_or_not(found):
    first, second = [], []
    result, _ = found(progress=first.append)
    found(progress=second.append)
    assert sum(first) == sum(second) == sum(map(len, result.values()))


def test_a_folder_that_cannot_be_written_is_one_sentence(found, three):
    three.write(".rooflint", "a file")
    with pytest.raises(StoreError, match=r"\.rooflint: cannot keep results: .*; run with --no-cache$"):
        found()


# ---- in shards


def outcomes_of(suite, **options):
    baseline = baseline_of(suite)
    all_groups = list(groups(suite))
    return run(baseline, all_groups, range(len(all_groups)), **options)


@pytest.mark.slow
@pytest.mark.parametrize("few", [0, 10**6])
def test_two_processes_find_what_one_finds(three, monkeypatch, few):
    monkeypatch.setattr(engine, "FEW", few)
    assert outcomes_of(three.suite(), workers=Workers(2)) == outcomes_of(three.suite())


@pytest.mark.slow
def test_a_shard_is_judged_by_a_suite_that_the_worker_reads(three, monkeypatch):
    sent = []
    monkeypatch.setattr(engine, "FEW", 0)
    monkeypatch.setattr(
        engine, "results", lambda function, shards, workers: sent.extend(shards) or map(function, shards)
    )
    shards = pickle.loads(pickle.dumps((outcomes_of(three.suite(), workers=Workers(2)), sent)))[1]
    with monkeypatch.context() as elsewhere:
        elsewhere.chdir("/")  # as a worker of a cluster may be
        found = {shard.subject[1]: tuple(one for one, _ in engine.judge_shard(shard)) for shard in shards}
    ids = [group.subject.id for group in groups(three.suite())]
    assert found == {ids[position]: one for position, one in outcomes_of(three.suite()).items()}
    assert {shard.subject[0] for shard in shards} == {"device", "architecture"}
    asked = {shard.subject[1]: {claim.claim.hardware for claim in shard.claims} for shard in shards}
    assert asked == {"acme/x1": {"acme/x1"}, "acme/x2": {"acme/x2"}, "acme/x3": {"acme/x3"}, "acme/die": {"acme/x3"}}


@pytest.mark.slow
def test_a_worker_with_other_files_is_told_apart(three):
    suite = three.suite()
    (_, _, _, group), baseline = groups(suite), baseline_of(suite)
    (shard,) = engine._shards([group], baseline)
    assert len(engine.judge_shard(shard)) == len(group.mutants)
    with pytest.raises(ClusterError, match=r"^a worker has another version of rooflint, of the specs or of the golden"):
        engine.judge_shard(replace(shard, digest="0"))
    with pytest.raises(ClusterError, match=r"^a worker has no folder /nowhere; give it the same folders as here$"):
        engine.judge_shard(replace(shard, golden_roots=(Path("/nowhere"),)))


@pytest.mark.slow
@pytest.mark.parametrize("name", [GOLDEN.format(1), SPEC.format(1), "golden/measured/acme/x1/run.json"])
def test_the_digest_of_a_suite_changes_with_each_of_its_files(three, name):
    before = engine.suite_digest(three.suite())
    assert engine.suite_digest(three.suite()) == before
    three.write(name, f"{three.read(name)}\n" if (three.root / name).exists() else "{}")
    assert engine.suite_digest(three.suite()) != before


def test_the_digest_of_a_suite_changes_with_the_code_that_judges(three, monkeypatch):
    before, plain = engine.suite_digest(three.suite()), modules.file_digest
    monkeypatch.setattr(modules, "file_digest", lambda file: plain(file) + "*" * (file.name == "compute_units.py"))
    assert engine.suite_digest(three.suite()) != before


@pytest.mark.slow
def test_a_dask_worker_that_is_killed_loses_nothing(three):
    distributed = pytest.importorskip("distributed")
    for number in range(4, 24):
        for name in (GOLDEN, SPEC):
            text = three.read(name.format(1)).replace("acme/x1", f"acme/x{number}").replace("X1", f"X{number}")
            three.write(name.format(number), text)
    suite, done = three.suite(), []
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        first, *_ = client.run(os.getpid).values()

        def kill_one(mutants):
            if not done:
                os.kill(first, signal.SIGKILL)
            done.append(mutants)

        found = outcomes_of(suite, workers=Workers(dask=cluster.scheduler_address), progress=kill_one)
        assert found == outcomes_of(suite)
        assert sum(done) == sum(map(len, found.values()))
        assert first not in client.run(os.getpid).values()
