"""What devices send one another in a run of a language model, as records and as rows of a table."""

from collections.abc import Iterator
from typing import Any

from rooflint.base.text import UNKNOWN
from rooflint.base.units import BYTES, format_quantity
from rooflint.hardware.schema import Strict
from rooflint.prediction.parallel import message_bytes, passes, sent_bytes
from rooflint.prediction.predict import Setting
from rooflint.prediction.run import ALONE, Run
from rooflint.workloads.parallelism import Exchange, Parallelism, titled

SENT = ("collective", "devices", "prefill", "sent by each", "decode", "sent by each")


class ExchangeRecord(Strict):
    """What each device sends to others, of one part of a batch."""

    name: str
    kind: str
    members: int
    prefill_times: int
    prefill_message_bytes: float
    prefill_sent_bytes: float
    """In one direction, by a ring."""
    decode_times: int
    decode_message_bytes: float
    decode_sent_bytes: float


def exchanged(run: Run, how: Parallelism, setting: Setting) -> Iterator[ExchangeRecord]:
    """All collectives, in prefill and in a pass of decode. Raises WorkloadError for what cannot be divided."""
    net = run.network.writer
    if how == ALONE:
        return
    first, then = (
        {one.title: one for one in passes(net, how, run.batch, new, together)}
        for new, together in ((run.prompt, run.together), (1, None))
    )
    for title in dict.fromkeys((*first, *then)):
        known = first.get(title) or then[title]
        yield ExchangeRecord(
            name=known.name,
            kind=known.kind,
            members=known.members,
            **_sizes("prefill", first.get(title), setting),
            **_sizes("decode", then.get(title), setting),
        )


def _sizes(phase: str, one: Exchange | None, setting: Setting) -> dict[str, Any]:
    """Fields of an ExchangeRecord; zeros where a phase does not have it."""
    return {
        f"{phase}_times": one.times if one else 0,
        f"{phase}_message_bytes": message_bytes(one, setting) if one else 0.0,
        f"{phase}_sent_bytes": sent_bytes(one, setting) if one else 0.0,
    }


def row_of(one: ExchangeRecord) -> tuple[str, ...]:
    """A row of a table with the columns SENT."""

    def shown(size: float, times: int) -> str:
        if not times:
            return UNKNOWN
        return f"{times} × {format_quantity(size, BYTES, digits=3)}"

    return (
        titled(one.kind, one.name),
        str(one.members),
        shown(one.prefill_message_bytes, one.prefill_times),
        format_quantity(one.prefill_sent_bytes * one.prefill_times, BYTES, digits=3),
        shown(one.decode_message_bytes, one.decode_times),
        format_quantity(one.decode_sent_bytes * one.decode_times, BYTES, digits=3),
    )
