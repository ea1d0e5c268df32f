"""The slow twin of `rooflint.workloads.reuse`: one op after another, one read after another."""

from rooflint.base.precision import tensor_bytes
from rooflint.workloads.flow import INPUT


def slow_reads(table):
    """For each op the results that it reads as (writer, elements); one that reads slices reads alike of all."""
    rows, found = list(table.rows()), []
    for row, sources in zip(rows, table.flow.reads if table.flow else [()] * len(rows), strict=True):
        sizes = [(at, table.flow.elements_input if at == INPUT else rows[at].elements_out) for at in sources]
        whole = sum(size for _, size in sizes)
        share = min(1, row.elements_in / whole) if whole else 1
        found.append([(at, size * share) for at, size in sizes if at != INPUT])
    return found


def slow_bytes(table, storage, cache_bytes):
    """What memory must move for each op, where a cache keeps each result, and all weights, that fit whole. [B]"""
    rows, reads = list(table.rows()), slow_reads(table)

    def width(elements):
        return float(tensor_bytes(elements, storage))

    all_weights = width(sum(row.elements_weight for row in rows))
    found = []
    for place, row in enumerate(rows):
        moved = sum(map(width, (row.elements_in, row.elements_weight, row.elements_out)))
        again = sum(
            width(size) for at, size in reads[place] if width(rows[at].elements_out) / rows[at].repeats <= cache_bytes
        )
        again = min(again, width(row.elements_in))
        again += width(row.elements_weight) if all_weights <= cache_bytes else 0
        moved -= min(again, row.repeats * cache_bytes)
        handed_on = any(place == at for read in reads for at, _ in read) and place not in table.flow.returns
        if handed_on and width(row.elements_out) / row.repeats <= cache_bytes:
            moved -= width(row.elements_out)
        found.append(moved)
    return found


def slow_kept(table, capacity):
    """Elements of each op that a cache answers or saves, if it has what was touched within its capacity and no more."""
    rows, reads = list(table.rows()), slow_reads(table)
    touched = [row.elements_in + row.elements_weight + row.elements_out for row in rows]
    kept = [row.elements_weight if sum(touched) <= capacity else 0 for row in rows]
    once = [elements / row.repeats for elements, row in zip(touched, rows, strict=True)]
    for place, row in enumerate(rows):
        readers = [(at, size) for at, read in enumerate(reads) for one, size in read if one == place]
        before, hits = place, []
        for at, size in readers:
            between = sum(once[before + 1 : at]) + (once[before] + once[at]) / 2
            hits.append(between <= capacity)
            kept[at] += size if hits[-1] else 0
            before = at
        if hits and all(hits) and place not in table.flow.returns:
            kept[place] += row.elements_out
    return kept
