"""Sides of a comparison: folders, revisions and ledgers, and what is refused or left out."""

import os
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_rooflint.history import side
from pytest_rooflint.history.side import opened
from rooflint.base.errors import RooflintError
from rooflint.base.git import RevisionError
from rooflint.base.shards import ClusterError, Workers
from rooflint.hardware import registry
from rooflint.prediction.ledger import as_bytes, write_ledger

X1 = "specs/hardware/acme/x1.yaml"
X2 = "specs/hardware/acme/x2.yaml"
A1 = "specs/architectures/acme/a1.yaml"
LAYER = "specs/workloads/layer.yaml"
ROWS = 2 * 2 * 3
"""Points × precisions that acme/x1 has × runs of the matrix."""


# ---- sides


@pytest.mark.slow
def test_two_folders_are_compared_without_git(small, diffed, of):
    shutil.copytree(small.root / "specs", small.root / "before")
    small.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    found = diffed(small, "before", "specs")
    assert (found["old"]["label"], found["new"]["label"]) == ("folder before", "folder specs")
    assert of(found)["low"] < 1
    assert [one["file"] for one in found["changes"]] == [X1]


def test_two_revisions_are_compared_whatever_the_working_tree_says(acme, git, diffed, of):
    acme.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    git(acme.root, "commit", "-q", "-am", "Faster")
    acme.write(X1, "broken: [")
    found = diffed(acme, "HEAD^", "HEAD")
    assert of(found)["low"] == 0.5
    head = git(acme.root, "rev-parse", "HEAD")
    assert found["new"] == {"label": f"revision HEAD ({head[:12]})", "commit": head}
    assert acme.read(X1) == "broken: ["
    assert git(acme.root, "status", "--porcelain") == f"M {X1}"


def test_packaged_specs_of_the_same_repository_are_those_of_the_revision(acme, git, monkeypatch):
    file = acme.write("model/specs/launches.yaml", "then\n")
    git(acme.root, "add", "-A")
    git(acme.root, "commit", "-q", "-m", "A package")
    file.write_text("now\n", encoding="utf-8")
    monkeypatch.setattr(registry, "PACKAGED", file.parent)
    with opened("HEAD", [(acme.root / "specs").resolve()], acme.root) as before:
        texts = [(root / "launches.yaml").read_text(encoding="utf-8") for root in before.registry.roots[1:]]
    assert texts == ["then\n"]


def test_sides_share_op_tables_with_the_same_text_and_no_others(acme, git, write_layer):
    write_table = acme.root / "specs" / "workloads" / "second.yaml"
    write_table.write_text(acme.read(LAYER).replace("name: layer", "name: second"), encoding="utf-8")
    git(acme.root, "add", "-A")
    git(acme.root, "commit", "-q", "-m", "Two")
    write_layer(acme, [1024, 2048])
    roots = [(acme.root / "specs").resolve()]
    with opened("HEAD", roots, acme.root) as before, opened(None, roots, acme.root) as after:
        after.take_tables(before)
        before.take_devices(after)
        assert after.networks["second"] is before.networks["second"]
        assert after.networks["layer"].total_macs != before.networks["layer"].total_macs
        works = {one.network: one.work for one in after.works}
        assert {one.network for one in before.works if one.work is works[one.network]} == {"second"}
        assert before.devices["acme/x1"] is after.devices["acme/x1"]


def test_a_ledger_may_be_a_side_and_lists_moves_only(acme, diffed, of):
    roots = [(acme.root / "specs").resolve()]
    with opened(None, roots, acme.root) as side:
        write_ledger(side.ledger(), acme.root / "old.csv.gz")
    acme.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    found = diffed(acme, "old.csv.gz")
    assert (of(found)["low"], of(found)["rows"]) == (0.5, ROWS)
    assert found["changes"] == []
    assert diffed(acme, "old.csv.gz", "old.csv.gz")["moves"] == []


def test_a_revision_that_does_not_exist_is_one_sentence(acme, diffed):
    with pytest.raises(RevisionError, match=r"^'nowhere' is not a revision, a folder of specs or a ledger$"):
        diffed(acme, "nowhere")
    with pytest.raises(RevisionError, match="is not a revision"):
        diffed(acme, "--output=x")


def test_outside_of_git_is_one_sentence(small, diffed):
    with pytest.raises(RevisionError, match=r"not a git repository.*; without git, name two folders") as refused:
        diffed(small, "HEAD")
    assert "\n" not in str(refused.value)


def test_a_broken_device_is_left_out_and_named_with_its_revision(acme, git, diffed):
    acme.write(X2, acme.read(X1).replace("Acme X1", "Acme X2"))
    line = acme.edit(X1, "tdp: [15 W, brief, p. 1]", "tdp: 15 W")
    git(acme.root, "add", "-A")
    git(acme.root, "commit", "-q", "-m", "Broken")
    commit = git(acme.root, "rev-parse", "HEAD")[:12]
    acme.edit(X1, "tdp: 15 W", "tdp: [15 W, brief, p. 1]")
    fixed = diffed(acme, "HEAD")
    (left_out,) = fixed["left_out"]
    assert left_out["side"] == "old"
    assert left_out["text"].startswith(f"left out: {commit}:{X1}:{line}  tdp: want [value, source, where]")
    assert fixed["devices"]["appeared"] == []  # its file was there
    broken = diffed(acme, "HEAD^", "HEAD")
    assert [one["side"] for one in broken["left_out"]] == ["new"]
    assert broken["devices"]["vanished"] == []


def test_a_broken_file_that_all_rest_on_is_refused_with_its_revision(acme, git, diffed):
    acme.write("specs/process/7nm.yaml", "nothing: of this\n")
    git(acme.root, "add", "-A")
    git(acme.root, "commit", "-q", "-m", "Broken")
    commit = git(acme.root, "rev-parse", "HEAD")[:12]
    (acme.root / "specs/process/7nm.yaml").unlink()
    acme.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    with pytest.raises(RooflintError, match=rf"^{commit}:specs/process/7nm\.yaml:1  "):
        diffed(acme)


# ---- on several processes


def _many(acme, count):
    """The repository with so many devices: its first under other names."""
    for number in range(3, count + 2):
        acme.write(f"specs/hardware/acme/x{number}.yaml", acme.read(X1).replace("Acme X1", f"Acme X{number}"))
    return [(acme.root / "specs").resolve()]


def test_a_ledger_by_two_processes_is_that_of_one(acme, monkeypatch):
    monkeypatch.setattr(side, "OF_SHARD", 1)
    done = []
    with opened(None, _many(acme, 3), acme.root) as here:
        assert as_bytes(here.ledger_by(Workers(2), done.append)) == as_bytes(here.ledger())
    assert done == [1, 1, 1]


def test_a_worker_with_other_files_is_told_apart(acme):
    with opened(None, _many(acme, 1), acme.root) as here:
        shard = side.Shard(tuple(here.registry.roots), here.digest, ("acme/x1",))
        assert side.predict_shard(shard).keys == here.ledger().keys
        with pytest.raises(ClusterError, match=r"^a worker has another version of rooflint or of the specs"):
            side.predict_shard(replace(shard, digest="0"))
        with pytest.raises(ClusterError, match=r"^a worker has no folder /nowhere; give it the same"):
            side.predict_shard(replace(shard, roots=(Path("/nowhere"), None)))


@pytest.mark.slow
def test_a_dask_worker_that_is_killed_loses_nothing(acme, monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(side, "OF_SHARD", 1)
    roots, done = _many(acme, 24), []
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        opened(None, roots, acme.root) as here,
    ):
        first, *_ = client.run(os.getpid).values()

        def kill_one(devices):
            if not done:
                os.kill(first, signal.SIGKILL)
            done.append(devices)

        found = here.ledger_by(Workers(dask=cluster.scheduler_address), kill_one)
        assert as_bytes(found) == as_bytes(here.ledger())
        assert sum(done) == 24
        assert first not in client.run(os.getpid).values()
