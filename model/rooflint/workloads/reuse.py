"""Reuse: which reads of a network a cache can answer, from its data flow, its batch and the capacity.

    bytes_from_memory(resnet50.at_batch(32), "int8", 48 * 2**20)        the least that memory must move, by kernel

Kernels run one after the other, each on the whole batch, and the network runs again and again. A cache that drops what
was used least recently has nearly all of what comes again within its capacity, and nearly nothing beyond.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rooflint.base.memo import kept
from rooflint.base.precision import POLICIES, tensor_bytes
from rooflint.workloads.flow import INPUT, Flow
from rooflint.workloads.workload import Workload, read_only

Numbers = NDArray[np.float64]

Positions = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Reuse:
    """Reads of results, ordered by the op that wrote them; elements, not bytes, so that they hold of any storage."""

    writer: Positions
    """Shape (reads,), as all that is said of reads."""
    reader: Positions
    elements: Numbers
    distance: Numbers
    """Elements touched since the result was written, or read the last time."""
    handed_on: Numbers
    """Of each op: its result, where others read all that becomes of it; 0 for what the network returns. Shape (ops,)"""
    of_pass: Numbers
    """Of each op: what its whole network touches, before a weight is read again. Shape (ops,)"""
    weights: Numbers
    """Of each op: the weights of its whole network. Shape (ops,)"""

    def read(self, ops: int, share: Numbers | float = 1.0) -> Numbers:
        """What each op reads of results, or that share of every read. Shape (ops,)"""
        return np.bincount(self.reader, self.elements * share, minlength=ops).astype(np.float64)


@kept(1)
def reuse(work: Workload) -> Reuse:
    """Of a network, or of every network of a stack. A table without data flow reads everything from memory."""
    tables = work.tables or (work,)
    starts = np.cumsum([0, *map(len, tables[:-1])])
    parts = [*map(_reuse, tables)]
    return Reuse(
        *(np.concatenate([getattr(one, name) + start for one, start in zip(parts, starts, strict=True)])
          for name in ("writer", "reader")),
        *(np.concatenate([getattr(one, name) for one in parts])
          for name in ("elements", "distance", "handed_on", "of_pass", "weights")),
    )  # fmt: skip


@kept(1)
def _reuse(table: Workload) -> Reuse:
    touched = np.asarray(table.elements_in + table.elements_weight + table.elements_out, np.float64)
    same = np.ones(len(table))
    of_pass, weights = same * touched.sum(), same * float(table.elements_weight.sum())
    if table.flow is None:
        nothing, nowhere = np.zeros(0), np.zeros(0, np.intp)
        return Reuse(nowhere, nowhere, nothing, nothing, np.zeros(len(table)), of_pass, weights)
    writer, reader, elements = _reads(table, table.flow)
    first = np.diff(writer, prepend=-1) != 0
    before = np.where(first, writer, np.roll(reader, 1))  # the op that touched the result the last time
    once = touched / table.repeats  # the repeats of some ops follow one another together
    until = np.cumsum(once)
    # a kernel touches an element halfway through, on average
    distance = until[reader] - until[before] + (once[before] - once[reader]) / 2
    handed_on = np.zeros(len(table))
    handed_on[writer] = table.elements_out[writer]
    handed_on[[row for row in table.flow.returns if row != INPUT]] = 0.0
    return Reuse(*map(read_only, (writer, reader, elements, distance, handed_on, of_pass, weights)))


def _reads(table: Workload, flow: Flow) -> tuple[Positions, Positions, Numbers]:
    """Writer, reader and elements of each read of a result, by writer; an op that reads slices reads alike of all."""
    places = [(at, row) for row, read in enumerate(flow.reads) for at in read]
    at, row = np.array(places, np.intp).reshape(-1, 2).T
    # an op that runs less often than the one it reads, as attention on one length of a cache, reads those results alone
    runs = np.where(at == INPUT, 1.0, np.minimum(table.repeats[row] / table.repeats[at], 1.0))
    size = np.where(at == INPUT, flow.elements_input, table.elements_out[at]) * runs
    whole = np.bincount(row, size, minlength=len(table))[row]
    share = np.divide(table.elements_in[row], whole, out=np.ones_like(size), where=whole > 0)
    size, known = size * np.minimum(share, 1.0), at != INPUT
    order = np.lexsort((row[known], at[known]))
    return at[known][order], row[known][order], size[known][order]


def bytes_from_memory(work: Workload, storage: str, cache_bytes: float | Numbers) -> Numbers:
    """The least that memory must move, where a cache of that capacity keeps all that it has room for. [B]

    A result stays from op to op if it fits whole, as what is longer than a cache is gone from it when it comes again;
    the weights stay from one run of the network to the next if all of them fit. An op finds no more than the capacity.
    Shape (ops,); (variants, ops) where the capacity is a column of variants.
    """
    if isinstance(cache_bytes, np.ndarray) and cache_bytes.ndim:
        each, of_variant = np.unique(cache_bytes, return_inverse=True)
        rows = np.stack([_bytes_from_memory(work, storage, float(one)) for one in each])
        return np.asarray(rows[of_variant.ravel()])
    return _bytes_on(work, storage, float(cache_bytes))


@kept(4)
def _bytes_on(work: Workload, storage: str, cache_bytes: float) -> Numbers:
    return read_only(_bytes_from_memory(work, storage, cache_bytes))


def _bytes_from_memory(work: Workload, storage: str, cache_bytes: float) -> Numbers:
    moved = work.bytes_moved(storage)
    if not cache_bytes:
        return moved.copy()
    found, written = reuse(work), work.written_bytes(storage)
    whole = written / work.repeats <= cache_bytes
    handed = _read_results(work, found, storage)
    read = np.minimum(np.bincount(found.reader, handed * whole[found.writer], len(work)), work.read_bytes(storage))
    fit = _weights_of_pass(work, found, storage) <= cache_bytes
    again = read + np.where(fit, work.weight_bytes(storage), 0.0)
    handed_on = np.where(whole & (found.handed_on > 0), written, 0.0)
    return np.asarray(moved - np.minimum(again, work.repeats * cache_bytes) - handed_on)


def _read_results(work: Workload, found: Reuse, storage: str) -> Numbers:
    """Bytes of each read of a result, which is as wide as its reader takes it. Shape (reads,)"""
    if storage not in POLICIES:
        return np.asarray(tensor_bytes(found.elements, storage))
    elements = work.column("elements_in")
    width = np.divide(work.read_bytes(storage), elements, out=np.zeros_like(elements), where=elements > 0)
    return np.asarray(found.elements * width[found.reader])


def _weights_of_pass(work: Workload, found: Reuse, storage: str) -> Numbers:
    """Weights of the whole network of each op. [B], shape (ops,)"""
    if storage not in POLICIES:
        return np.asarray(tensor_bytes(found.weights, storage))
    sizes = [float(table.weight_bytes(storage).sum()) for table in work.tables or (work,)]
    return np.repeat(sizes, [len(table) for table in work.tables or (work,)])


def kept_elements(work: Workload, missed_of_reads: Numbers, missed_of_weights: Numbers) -> Numbers:
    """What a cache answers or saves of each op, where it misses these shares of reads and of weights. Shape (ops,)

    A result that every reader finds is not written to memory, as another one takes its place.
    """
    found = reuse(work)
    missed = np.zeros(len(work))
    np.maximum.at(missed, found.writer, missed_of_reads)
    read = found.read(len(work), 1 - missed_of_reads)
    elements: Numbers = read + found.handed_on * (1 - missed) + work.column("elements_weight") * (1 - missed_of_weights)
    return elements
