"""Fusion: which ops run in one kernel, so that what they hand on never reaches memory.

An element-wise op joins the kernel of the latest result that it reads, if nobody else wants that result and both have
as many elements. What then stands in one kernel is one op again, to which the same rule applies, until nothing joins.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rooflint.flow import INPUT, Flow
from rooflint.op import Op

ELEMENTWISE: dict[str, str] = {
    **dict.fromkeys(
        ("add", "sub", "rsub", "mul", "div", "neg", "reciprocal", "pow", "abs", "sign", "remainder", "floor_divide"),
        "arithmetic on the elements of one place",
    ),
    **dict.fromkeys(("addcmul", "addcdiv", "lerp"), "arithmetic on three elements of one place"),
    **dict.fromkeys(
        ("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tan", "atan", "tanh", "erf"),
        "a function of one element",
    ),
    **dict.fromkeys(("floor", "ceil", "round", "trunc", "isnan"), "a function of one element"),
    **dict.fromkeys(
        ("relu", "relu6", "hardtanh", "leaky_relu", "prelu", "clamp", "clamp_min", "clamp_max", "sigmoid", "silu"),
        "an activation: a function of one element, PReLU with a constant of its channel",
    ),
    **dict.fromkeys(
        ("elu", "mish", "softplus", "hardsigmoid", "hardswish", "gelu"),
        "an activation: a function of one element",
    ),
    **dict.fromkeys(("maximum", "minimum", "where", "masked_fill"), "a choice between the elements of one place"),
    **dict.fromkeys(("eq", "ne", "gt", "ge", "lt", "le"), "a comparison of the elements of one place"),
    **dict.fromkeys(("and", "or", "xor"), "bits of the elements of one place"),
    **dict.fromkeys(
        (f"{way}_{word}" for way in ("logical", "bitwise") for word in ("and", "or", "xor", "not")),
        "bits of the elements of one place",
    ),
    "batch_norm": "at inference its mean and variance are constants: a scale and a shift of each channel",
    **dict.fromkeys(("quantize", "dequantize"), "a cast of one element"),
}
"""Kinds whose every element of the result needs only the elements of its own place, and why. All others start a kernel:
norms, softmax and reductions need elements of other places, pools a window, cat and pad change places."""


@dataclass(frozen=True)
class Fused:
    """The table of kernels, in the order of their last ops."""

    rows: tuple[Op, ...]
    flow: Flow
    heads: tuple[int, ...]
    """The row with which each kernel starts, in the table that was fused."""


def fused(rows: Sequence[Op], flow: Flow) -> Fused:
    """The kernels of a table: its ops as they are, its elements without those that never leave a kernel."""
    kernels = _Kernels(rows, flow)
    while sum(kernels.join(place) for place in range(len(rows))):  # any() would stop at the first that joins
        pass
    return kernels.table(flow)


class _Kernels:
    """Kernels while they grow. A kernel is known by the place of its last op, whose result is the only one it has."""

    def __init__(self, rows: Sequence[Op], flow: Flow) -> None:
        self.rows = dict(enumerate(rows))
        self.heads = {place: place for place in self.rows}
        self.reads = {place: set(read) for place, read in enumerate(flow.reads)}
        self.readers = dict(enumerate(flow.readers()))
        self.kept = set(flow.returns)
        self.streams = {place: self._stream(place, flow.elements_input) for place in self.rows}

    def _stream(self, place: int, elements_input: int) -> set[int]:
        """Results that an element-wise op goes through in step; a kernel reads them once, however many of it want them.

        Empty where the op reads fewer elements than its operands have: of one, nobody knows which, it reads a slice.
        """
        row = self.rows[place]
        sizes = {at: elements_input if at == INPUT else self.rows[at].elements_out for at in self.reads[place]}
        if row.kind not in ELEMENTWISE or row.elements_in < sum(sizes.values()):
            return set()
        return {at for at, size in sizes.items() if size == row.elements_out}

    def join(self, place: int) -> bool:
        """Let the kernel at that place join the one whose result it reads last, where it can."""
        last = max(self.reads.get(place, ()), default=INPUT)
        if last == INPUT or not self._fits(place, last):
            return False
        ahead, row = self.rows.pop(last), self.rows[place]
        streams, mine = self.streams.pop(last), self.streams[place]
        if last not in mine:  # of some it reads a slice, so nobody knows what it shares
            mine = set()
        self.rows[place] = _joined(ahead, row, saved=len(streams & mine) * row.elements_out)
        self.streams[place] = (streams | mine) - {last}
        self.heads[place] = self.heads.pop(last)
        for source in self.reads[last] - {INPUT}:
            self.readers[source] = self.readers[source] - {last} | {place}
        self.reads[place] = (self.reads.pop(last) | self.reads[place]) - {last}
        return True

    def _fits(self, place: int, last: int) -> bool:
        row, ahead = self.rows[place], self.rows[last]
        return (
            row.kind in ELEMENTWISE
            and last not in self.kept
            and self.readers[last] == {place}
            and row.elements_out == ahead.elements_out <= row.elements_in  # fewer in: it reads a slice, stretched
        )

    def table(self, flow: Flow) -> Fused:
        places = sorted(self.rows)
        now = {place: row for row, place in enumerate(places)} | {INPUT: INPUT}
        reads = tuple(tuple(sorted(now[at] for at in self.reads[place])) for place in places)
        returns = tuple(now[place] for place in flow.returns)
        rows = tuple(self.rows[place] for place in places)
        return Fused(rows, replace(flow, reads=reads, returns=returns), tuple(self.heads[place] for place in places))


def _joined(ahead: Op, row: Op, saved: int) -> Op:
    """The kernel of one and then the other: the shape of the first, `ahead`'s result neither written nor read."""
    _, plus, rest = row.name.partition(" + ")
    return ahead._replace(
        name=f"{ahead.name} + {row.kind}{plus}{rest}",
        other_ops=ahead.other_ops + row.other_ops,
        elements_in=ahead.elements_in + row.elements_in - ahead.elements_out - saved,
        elements_weight=ahead.elements_weight + row.elements_weight,
        elements_out=row.elements_out,
    )
