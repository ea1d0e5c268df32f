"""Work in shards: in order on any number of processes, and one sentence where workers cannot be used."""

import math
import os
import signal
import sys
import time
from functools import partial

import numpy as np
import pytest

from rooflint.base import strict_yaml
from rooflint.base.errors import InputError
from rooflint.base.shards import ClusterError, Workers, cores, results


@pytest.mark.parametrize("jobs", [0, 1, 2])
def test_results_come_in_the_order_of_the_shards(jobs):
    assert list(results(math.factorial, range(20), Workers(jobs))) == [math.factorial(n) for n in range(20)]


def test_one_process_begins_before_all_shards_are_known_and_needs_no_other():
    assert next(results(lambda shard: (shard, os.getpid()), [7, 8])) == (7, os.getpid())


def test_no_jobs_is_one_a_core():
    assert Workers(0).count == cores() >= 1
    assert Workers(3).count == 3


@pytest.mark.slow
def test_an_error_of_a_shard_keeps_its_problems(tmp_path):
    # as a worker process sends it back
    files = [tmp_path / "one.yaml", tmp_path / "two.yaml"]
    for file in files:
        file.write_text("a: 1\na: 2\n", encoding="utf-8")
    with pytest.raises(InputError, match="'a' is written twice") as caught:
        list(results(strict_yaml.load, files, Workers(2)))
    (problem,) = caught.value.problems  # of the shard that failed first
    assert problem.file in files
    assert problem.line == 2


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes are killed otherwise on Windows")
def test_a_killed_process_ends_the_run_with_a_sentence():
    kill = partial(signal.raise_signal)
    with pytest.raises(ClusterError, match=r"^a worker process was killed; is there enough memory"):
        list(results(kill, [signal.SIGKILL] * 2, Workers(2)))


@pytest.mark.slow
def test_a_killed_worker_of_a_cluster_takes_no_shard_with_it():
    # more than a kilobyte each: joblib scatters such arguments, one copy to one worker
    distributed = pytest.importorskip("distributed")
    shards = [np.full(1000, n) for n in range(40)]

    def slow_sum(shard):
        time.sleep(0.05)
        return int(shard.sum())

    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        first, *_ = client.run(os.getpid).values()
        found = results(slow_sum, shards, Workers(dask=cluster.scheduler_address))
        sums = [next(found)]
        os.kill(first, signal.SIGKILL)
        assert [*sums, *found] == [1000 * n for n in range(40)]


@pytest.mark.slow
def test_an_address_where_no_scheduler_listens_is_a_sentence(monkeypatch):
    monkeypatch.setattr("rooflint.base.shards.WAIT_S", 1)
    with pytest.raises(ClusterError, match=r"^tcp://127\.0\.0\.1:9: no Dask scheduler answers$"):
        list(results(abs, [1, 2], Workers(dask="tcp://127.0.0.1:9")))


@pytest.mark.parametrize(
    ("missing", "workers", "sentence"),
    [
        ("dask.distributed", Workers(dask="tcp://here:1"), r"^a Dask cluster needs dask, here and on"),
        ("ray", Workers(ray="auto"), r"^a Ray cluster needs the package ray, here and on its workers$"),
    ],
)
def test_a_library_that_is_not_installed_is_named(monkeypatch, missing, workers, sentence):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ClusterError, match=sentence):
        list(results(abs, [1, 2], workers))
