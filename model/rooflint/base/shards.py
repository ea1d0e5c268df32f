"""Work in shards: one function called for each of them, in this process, on its cores, or on a cluster.

    for rows in results(rows_of, shards, Workers(jobs=8)): ...
    for rows in results(rows_of, shards, Workers(dask="tcp://scheduler:8786")): ...

joblib runs them; there is no engine of our own. Results come in the order of the shards, so they do not depend on where
a shard ran: one after the other, but for Ray all at the end. A shard whose worker dies is run again by Dask; on cores
it ends the run.
"""

import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

from rooflint.base.errors import RooflintError, extra
from rooflint.base.files import folders_digest

S = TypeVar("S")
R = TypeVar("R")

WAIT_S = 20
"""How long a scheduler, and then its first worker, may take to answer. [s]"""


class ClusterError(RooflintError):
    """Workers that cannot be reached, or that died; the message says which."""


@dataclass(frozen=True)
class Workers:
    """Where shards run."""

    jobs: int = 1
    """Processes on this machine; 0 is one a core."""
    dask: str = ""
    """Address of a Dask scheduler, `tcp://host:8786`, instead of this machine."""
    ray: str = ""
    """Address of a Ray cluster, `ray://host:10001` or `auto`, instead."""

    @property
    def count(self) -> int:
        """Processes on this machine."""
        return self.jobs or cores()

    @property
    def is_one(self) -> bool:
        """Whether shards run in this process, one after the other."""
        return self.count == 1 and not (self.dask or self.ray)


HERE = Workers()
"""This process alone."""


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def results(function: Callable[[S], R], shards: Sequence[S], workers: Workers = HERE) -> Iterator[R]:
    """The results of a pure function of a shard, in the order of the shards.

    Raises ClusterError where workers cannot be reached or die, or have other code, and what the function raises.
    """
    if workers.dask and workers.ray:
        raise ClusterError("want one cluster, of Dask or of Ray, found both")
    if workers.is_one or (len(shards) < 2 and not (workers.dask or workers.ray)):
        yield from map(function, shards)
        return
    joblib = _joblib()
    with _backend(workers):
        form = "list" if workers.ray else "generator"  # Ray's backend has no generator
        if workers.dask or workers.ray:
            # bytes travel with their task; other arguments joblib leaves with one worker of Dask, and they die with it
            calls = (joblib.delayed(partial(_checked, function, code()))(pickle.dumps(shard)) for shard in shards)
        else:
            calls = (joblib.delayed(function)(shard) for shard in shards)
        yield from joblib.Parallel(return_as=form, batch_size=1, pre_dispatch="all")(calls)


def _checked(function: Callable[[S], R], expected: str, pickled: bytes) -> R:
    """On a worker of a cluster. Raises ClusterError where its code is not that of the process that asks."""
    if code() != expected:
        raise ClusterError("a worker has another version of rooflint; install the same as here")
    return function(pickle.loads(pickled))


@cache
def code() -> str:
    """Digest of the code of the model, as this process found it."""
    return folders_digest([Path(__file__).parents[1]], ["*.py"])


def _joblib() -> Any:
    import joblib.externals.loky.process_executor  # noqa: PLC0415  # slow, and one process does not need it

    return joblib


@contextmanager
def _backend(workers: Workers) -> Iterator[Any]:
    joblib = _joblib()
    if workers.dask:
        with _client(workers.dask), joblib.parallel_config(backend="dask", wait_for_workers_timeout=WAIT_S):
            yield
        return
    if workers.ray:
        _join_ray(workers.ray)
        with joblib.parallel_config(backend="ray"):
            yield
        return
    try:
        with joblib.parallel_config(backend="loky", n_jobs=workers.count):
            yield
    except joblib.externals.loky.process_executor.TerminatedWorkerError as error:
        raise ClusterError(
            "a worker process was killed; is there enough memory for each of them? see --jobs"
        ) from error


@contextmanager
def _client(address: str) -> Iterator[None]:
    """A connection to a Dask scheduler. Raises ClusterError."""
    try:
        from dask.distributed import Client  # noqa: PLC0415  # an extra
    except ImportError:
        raise ClusterError(f"a Dask cluster needs dask, here and on its workers; {extra('cluster')}") from None
    try:
        client = Client(address, timeout=WAIT_S, set_as_default=True)
    except (OSError, ValueError) as error:
        raise ClusterError(f"{address}: no Dask scheduler answers") from error
    try:
        if not client.scheduler_info()["workers"]:
            client.wait_for_workers(1, timeout=WAIT_S)
        yield
    except TimeoutError as error:
        raise ClusterError(f"{address}: the Dask scheduler has no workers") from error
    finally:
        client.close()


def _join_ray(address: str) -> None:
    """Connect to a Ray cluster and make its backend known to joblib. Raises ClusterError."""
    try:
        import ray.util.joblib  # noqa: PLC0415  # an extra
    except ImportError:
        raise ClusterError("a Ray cluster needs the package ray, here and on its workers") from None
    try:
        ray.init(address=address, ignore_reinit_error=True, log_to_driver=False)
    except (ConnectionError, ValueError) as error:
        raise ClusterError(f"{address}: no Ray cluster answers") from error
    ray.util.joblib.register_ray()
