"""Workloads: the work of a network as a table, one row an op and one column a quantity.

The table stores elements, not bytes: bytes need a precision, and the precision in storage is another choice than the
one that computes. It stores multiply-accumulates and all other arithmetic apart, and says once how they become ops.
"""

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from rooflint.base.errors import RooflintError
from rooflint.base.memo import memoised
from rooflint.base.precision import POLICIES, WIDE, Policy, bytes_per_element, tensor_bytes
from rooflint.base.units import OPS_PER_MAC
from rooflint.workloads.flow import Flow, RoleColumns, Roles, fused
from rooflint.workloads.ops import ATTENTIONS, QUANTITIES, TABLE, Op, Tokens, Window

Counts = NDArray[np.int64]

T = TypeVar("T", bound=np.generic)

LARGEST = 2**53
"""Beyond it a float no longer counts one by one, so no quantity of one run of an op may be larger."""

MOST = 2**59
"""Of all runs of an op together: so many that those of a network can be added up."""


SCALED = ("macs", "other_ops", "elements_in", "elements_out", "m", "groups")
"""Columns that may grow with the batch."""


class WorkloadError(RooflintError, ValueError):
    """An impossible workload; `row` is the op of the message, where there is one."""

    def __init__(self, message: str, row: int | None = None) -> None:
        super().__init__(message)
        self.row = row


@dataclass(frozen=True, eq=False)
class Workload:
    """A table of ops in the order of execution. Columns are read-only arrays, one element an op; rows are `Op`s."""

    name: str
    batch: int
    op_names: NDArray[np.str_]
    kinds: NDArray[np.str_]
    macs: Counts
    other_ops: Counts
    elements_in: Counts
    elements_weight: Counts
    elements_out: Counts
    m: Counts
    n: Counts
    k: Counts
    groups: Counts
    repeats: Counts
    windows: tuple[tuple[int, ...], ...] = ()
    """`Window` of each 2-D convolution, as in `Op`; empty where the table has no such column."""
    fixed_batch: str = ""
    """Why `at_batch` refuses another batch; empty for a workload that scales, as nearly all do."""
    flow: Flow | None = None
    """Which op reads the result of which; None where it is not known."""
    stacks_rows: tuple[bool, ...] | None = None
    """`gets_rows`, where it does not follow from the weights: a product between activations goes on to get groups
    when an op with constants has joined its kernel."""
    is_fused: bool = False
    """Whether each row is a kernel, with the element-wise ops that run in it."""
    tokens: Tokens | None = None
    """Of a network that works on sequences, and was made for so many."""
    remake: Callable[[int], "Workload"] | None = None
    """Makes the table for another batch, where it is more than this one scaled: more tokens hit more experts."""
    tables: "tuple[Workload, ...]" = ()
    """Whose rows these are, in a stack; empty for a network."""

    def __post_init__(self) -> None:
        columns = {quantity: _counts(quantity, getattr(self, quantity)) for quantity in QUANTITIES}
        columns |= {text: np.array(getattr(self, text), dtype=np.str_) for text in ("op_names", "kinds")}
        for name, column in columns.items():
            object.__setattr__(self, name, read_only(column))
        object.__setattr__(self, "batch", whole_number("batch", self.batch))
        object.__setattr__(self, "windows", tuple(map(tuple, self.windows)) or ((),) * len(self.op_names))
        _check(self)

    def unchecked(self, **changed: Any) -> Self:
        """This table with other values of some fields, which follow from checked ones and are not checked again."""
        twin = object.__new__(type(self))
        mine = self.__dict__
        twin.__dict__.update({name: mine[name] for name in _FIELDS}, **changed)
        return twin

    @classmethod
    def from_ops(
        cls,
        name: str,
        ops: Iterable[Op],
        batch: int = 1,
        fixed_batch: str = "",
        flow: Flow | None = None,
        **more: Any,
    ) -> Self:
        """The workload of these rows, whose counts are for `batch` samples."""
        rows = list(ops)
        if not rows:
            raise WorkloadError(f"{name} has no ops")
        return cls(name, batch, **_columns(rows), fixed_batch=fixed_batch, flow=flow, **more)

    def __getstate__(self) -> dict[str, Any]:
        """What goes to another process: the table, without what is kept beside it."""
        return {name: self.__dict__[name] for name in _FIELDS}

    def rows(self) -> Iterator[Op]:
        """The table, op by op: for files and readers. Arithmetic takes the columns."""
        columns = (getattr(self, name) for name in TABLE)
        yield from map(Op, *(column if isinstance(column, tuple) else column.tolist() for column in columns))

    def __len__(self) -> int:
        return len(self.macs)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Workload):
            return NotImplemented
        return self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self._content())

    def _content(self) -> tuple[object, ...]:
        """All that two workloads are compared by."""
        return (self.name, self.batch, self.flow, *self.gets_rows.tolist(), *self.rows())

    @cached_property
    def gets_rows(self) -> NDArray[np.bool_]:
        """Whether more samples are more rows m of an op; else they are more groups. Shape [ops]."""
        if self.stacks_rows is not None:
            return read_only(np.array(self.stacks_rows, dtype=np.bool_))
        # a constant of attention is a mask or a bias of its scores: more samples are more heads all the same
        return read_only((self.elements_weight > 0) & ~np.isin(self.kinds, [*ATTENTIONS]))

    @cached_property
    def in_fused(self) -> NDArray[np.bool_]:
        """Whether each op is of a fused network. Shape [ops]."""
        if self.tables:
            return read_only(np.concatenate([table.in_fused for table in self.tables]))
        return read_only(np.full(len(self), self.is_fused))

    @cached_property
    def is_product(self) -> NDArray[np.bool_]:
        """Which ops are matrix products: linear layers, convolutions, matmul, attention. Shape [ops]."""
        return read_only(self.macs > 0)

    @cached_property
    def is_depthwise(self) -> NDArray[np.bool_]:
        """Which ops are convolutions with one output channel a group. Shape [ops]."""
        return read_only((self.n == 1) & np.char.startswith(self.kinds, "conv"))

    @cached_property
    def ops(self) -> Counts:
        """Arithmetic of each op. [op], shape [ops]."""
        return read_only(OPS_PER_MAC * self.macs + self.other_ops)

    @memoised
    def column(self, quantity: str) -> NDArray[np.float64]:
        """A column of numbers as floats, which count as far as LARGEST. Shape [ops]"""
        return read_only(np.asarray(getattr(self, quantity), dtype=np.float64))

    @memoised
    def weight_bytes(self, storage: str) -> NDArray[np.float64]:
        """Weights that each row reads, in a format or under a policy. [B], shape [ops]"""
        if storage not in POLICIES or self.roles is None:
            return _bytes(self.elements_weight, storage)
        policy, columns = POLICIES[storage], self.roles.columns
        narrow = np.isin(columns.part, policy.parts(self.roles.has_experts))
        return read_only(
            weight_bytes(policy, self.elements_weight, columns.elements * narrow, columns.channels * narrow)
        )

    @memoised
    def read_bytes(self, storage: str) -> NDArray[np.float64]:
        """What each row reads beside its weights: activations, and keys and values. [B], shape [ops]"""
        if storage not in POLICIES or self.roles is None:
            return _bytes(self.elements_in, storage)
        policy, cached = POLICIES[storage], self.roles.columns.cache_in
        form = np.where(self.narrow(storage), bytes_per_element(policy.activations), bytes_per_element(WIDE[0]))
        return read_only(form * (self.elements_in - cached) + tensor_bytes(cached, policy.cache))

    @memoised
    def written_bytes(self, storage: str) -> NDArray[np.float64]:
        """The result of each row. [B], shape [ops]"""
        if storage not in POLICIES or self.roles is None:
            return _bytes(self.elements_out, storage)
        cached = self.roles.columns.cache_out
        wide = tensor_bytes(self.elements_out - cached, WIDE[0])
        return read_only(wide + tensor_bytes(cached, POLICIES[storage].cache))

    @memoised
    def bytes_moved(self, storage: str) -> NDArray[np.float64]:
        """Traffic of each row, an op or (`fused`) a kernel: operands read once, result written once. [B], shape [ops].

        `storage` is the name of a precision or of a policy.
        """
        return read_only(self.read_bytes(storage) + self.written_bytes(storage) + self.weight_bytes(storage))

    @memoised
    def element_bytes(self, storage: str) -> NDArray[np.float64] | float:
        """An element of each row on average, of shape [ops], where a policy makes them differ. [B]"""
        if storage not in POLICIES:
            return bytes_per_element(storage)
        touched = self.column("elements_in") + self.column("elements_weight") + self.column("elements_out")
        return read_only(np.divide(self.bytes_moved(storage), touched, out=np.zeros_like(touched), where=touched > 0))

    @memoised
    def narrow(self, storage: str) -> NDArray[np.bool_]:
        """Products whose weights a policy makes narrow; none under a plain precision. Shape [ops]."""
        if storage not in POLICIES or self.roles is None:
            return read_only(np.zeros(len(self), dtype=np.bool_))
        return read_only(np.isin(self.roles.columns.part, POLICIES[storage].parts(self.roles.has_experts)))

    @cached_property
    def roles(self) -> Roles | None:
        """Which weights and which activations a policy tells apart; None where the table does not say."""
        if not self.tables:
            return self.flow.roles if self.flow else None
        each = [table.roles for table in self.tables]
        known = [one for one in each if one is not None]
        if len(known) < len(each):
            return None
        columns = zip(*(one.columns for one in known), strict=True)
        return Roles(RoleColumns(*map(np.concatenate, columns)), known[0].constant)

    @property
    def total_macs(self) -> int:
        """Multiply-accumulates of the whole network. [MAC]"""
        return int(self.macs.sum())

    @property
    def total_ops(self) -> int:
        """Arithmetic of the whole network. [op]"""
        return int(self.ops.sum())

    def total_bytes(self, storage: str) -> float:
        """Traffic of the whole network. [B]"""
        return float(self.bytes_moved(storage).sum())

    def intensity_ops_per_byte(self, storage: str) -> float:
        """Arithmetic intensity of the whole network. [op/B]

        Williams, Waterman, Patterson, "Roofline", CACM 52(4), 2009. doi:10.1145/1498765.1498785
        """
        return self.total_ops / self.total_bytes(storage)

    def at_batch(self, batch: int) -> "Workload":
        """The same network on another number of samples; weights are read once, however many there are.

        Ops with weights get more rows m; ops between activations (attention) get more groups. Raises WorkloadError
        where `fixed_batch` says why not, and for so many samples that a float would not count them one by one.
        """
        samples = whole_number("batch", batch)
        if samples == self.batch:
            return self
        if self.fixed_batch:
            raise WorkloadError(f"{self.name} has batch {self.batch} and no other: {self.fixed_batch}")
        if self.remake is not None:
            return self.remake(samples)
        if samples > self._most_samples:
            why = f"want a batch of at most {self._most_samples}, beyond which counts pass 2^53"
            raise WorkloadError(f"{self.name}: {why}")
        each, same = self._of_samples
        counts = read_only(each * samples + same)
        flow = self.flow and self.flow.scaled(samples, self.batch)
        return self.unchecked(batch=samples, flow=flow, **dict(zip(SCALED, counts, strict=True)))

    @cached_property
    def _of_samples(self) -> tuple[Counts, Counts]:
        """Of the columns that may grow with the batch: what each sample adds, and what stays. Shape (columns, ops)"""
        counts = np.array([getattr(self, name) for name in SCALED])
        grows = np.ones(counts.shape, dtype=np.bool_)
        grows[SCALED.index("m")], grows[SCALED.index("groups")] = self.gets_rows, ~self.gets_rows
        return np.where(grows, counts // self.batch, 0), np.where(grows, 0, counts)

    @cached_property
    def _most_samples(self) -> int:
        """The largest batch of which no count of a run passes LARGEST, and none of all runs MOST."""
        each, _ = self._of_samples
        of_run = np.where(np.isin(SCALED, ("m", "groups"))[:, None], each, each // self.repeats)
        given = self.flow.elements_input // self.batch if self.flow else 0
        return min(LARGEST // max(int(of_run.max()), given, 1), MOST // max(int(each.max()), 1))

    def fused(self) -> Self:
        """The same network with one row a kernel; `rooflint.workloads.flow` says what runs in one.

        Arithmetic and weights are those of the rows; what stays inside of a kernel is neither written nor read. Raises
        WorkloadError for a table that does not know its data flow.
        """
        if self.flow is None:
            raise WorkloadError(f"{self.name} cannot be fused: its table does not say which op reads which result")
        kernels = fused(list(self.rows()), self.flow)
        stacks_rows = tuple(self.gets_rows[list(kernels.heads)].tolist())
        remake = self.remake and partial(_fused_at, self.remake)
        more: dict[str, Any] = {"flow": kernels.flow, "stacks_rows": stacks_rows, "remake": remake, "is_fused": True}
        return replace(self, **_columns(kernels.rows), **more)


_FIELDS = tuple(one.name for one in fields(Workload))


def _bytes(elements: Counts, storage: str) -> NDArray[np.float64]:
    return read_only(np.asarray(tensor_bytes(elements, storage), dtype=np.float64))


def weight_bytes(policy: Policy, elements: Counts | int, narrow: Counts | int, channels: Counts | int) -> Any:
    """Weights under a policy, of which some elements in so many output channels are narrow. [B]"""
    scales = channels * (policy.channel_scale_bits / 8)
    return tensor_bytes(elements - narrow, WIDE[0]) + tensor_bytes(narrow, policy.weights) + scales


def _fused_at(remake: Callable[[int], Workload], batch: int) -> Workload:
    return remake(batch).fused()


def _columns(rows: Sequence[Op]) -> dict[str, Any]:
    """The columns of a table as a Workload calls them; its __post_init__ makes them arrays."""
    return dict(zip(TABLE, zip(*rows, strict=True), strict=True))


def read_only(column: NDArray[T]) -> NDArray[T]:
    """The column, read-only from now on."""
    column.setflags(write=False)
    return column


def _counts(quantity: str, values: Sequence[int] | Counts) -> Counts:
    column = np.array(values)
    if column.dtype.kind not in "iu" or column.ndim != 1:
        raise WorkloadError(f"{quantity}: want a column of whole numbers no larger than 2^53")
    return column.astype(np.int64)


def _check(workload: Workload) -> None:
    """Refuse a table that is impossible for a network."""
    if len({len(getattr(workload, column)) for column in TABLE}) > 1:
        raise WorkloadError(f"{workload.name}: want columns of one length")
    table = np.stack([getattr(workload, quantity) for quantity in QUANTITIES])
    _refuse_rows(workload, table.min(axis=0) < 0, "want no negative numbers")
    _refuse_rows(workload, workload.repeats < 1, "want it to run once at least")
    too_large = (table // workload.repeats > LARGEST) | (table > MOST)
    _refuse_rows(workload, np.asarray(too_large.any(axis=0)), "want numbers no larger than 2^53")
    once = np.prod([workload.m, workload.n, workload.k, workload.groups], axis=0, dtype=np.float64)
    wrong = (once != workload.macs // workload.repeats) | (workload.macs % workload.repeats != 0)
    _refuse_rows(workload, wrong, "want macs = m·n·k·groups·repeats")
    _refuse_rows(workload, _not_per_repeat(workload), "want amounts that are a multiple of its repeats")
    _refuse_rows(workload, _ill_fitting(workload), f"want a window ({', '.join(Window._fields)}) that fits m and k")
    if not workload.fixed_batch and workload.remake is None:
        _refuse_rows(workload, _not_per_sample(workload), "want multiples of the batch")
    _, first = np.unique(workload.op_names, return_index=True)
    _refuse_rows(workload, ~np.isin(np.arange(len(workload)), first), "want a name that no op above has")
    if workload.flow is not None:
        _check_flow(workload, workload.flow)


def _check_flow(workload: Workload, flow: Flow) -> None:
    for message, row in flow.misfits(len(workload)):
        raise WorkloadError(f"{workload.name if row is None else workload.op_names[row]}: {message}", row)
    if max(flow.elements_input, flow.elements_constant or 0) > LARGEST:
        raise WorkloadError(f"{workload.name}: want numbers no larger than 2^53")
    if not workload.fixed_batch and flow.elements_input % workload.batch:
        raise WorkloadError(f"{workload.name}: want an input whose elements are a multiple of the batch")


def _ill_fitting(workload: Workload) -> NDArray[np.bool_]:
    """Where a window is not that of an op with whole images of m positions and whole channels of sums of length k.

    A sample has whole images, so that the same holds of every batch.
    """

    def fits(m: int, k: int, window: tuple[int, ...]) -> bool:
        if len(window) != len(Window._fields) or min(window) < 1:
            return not window
        one = Window(*window)
        return m > 0 and not m % (one.height * one.width) and not k % (one.kernel_height * one.kernel_width)

    samples = 1 if workload.fixed_batch else workload.batch
    columns = zip((workload.m // samples).tolist(), workload.k.tolist(), workload.windows, strict=True)
    return np.array([not fits(*row) for row in columns])


def _not_per_repeat(workload: Workload) -> NDArray[np.bool_]:
    """Where the repeats of an op would not be alike."""
    amounts = (workload.other_ops, workload.elements_in, workload.elements_weight, workload.elements_out)
    wrong: NDArray[np.bool_] = (np.stack(amounts) % np.maximum(workload.repeats, 1)).max(axis=0) > 0
    return wrong


def _not_per_sample(workload: Workload) -> NDArray[np.bool_]:
    """Where `at_batch` could not tell what one sample costs."""
    grows = np.where(workload.gets_rows, workload.m, workload.groups)
    columns = (grows, workload.macs, workload.other_ops, workload.elements_in, workload.elements_out)
    wrong: NDArray[np.bool_] = (np.stack(columns) % workload.batch).max(axis=0) > 0
    return wrong


def _refuse_rows(workload: Workload, wrong: NDArray[np.bool_], message: str) -> None:
    if wrong.any():
        row = int(wrong.argmax())
        raise WorkloadError(f"{workload.op_names[row]}: {message}", row)


def whole_number(what: str, value: object, least: int = 1) -> int:
    """A count from a caller. Raises WorkloadError."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]  # what is no integer is refused below
    except TypeError:
        number = least - 1
    if number < least or isinstance(value, bool):
        raise WorkloadError(f"{what}: want a whole number of at least {least}, found {value}")
    return number
