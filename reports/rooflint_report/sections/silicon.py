"""Silicon: calibrated kernel times beside measurements: charts, errors by regime, the worst shapes."""

from collections.abc import Sequence
from dataclasses import dataclass

from rooflint_report.density_chart import Frame, Picture, frame_of, picture, steps
from rooflint_report.findings import Silicon, SiliconPublished, SiliconScore, SiliconWorst
from rooflint_report.sections.section import Page


@dataclass(frozen=True)
class Family:
    """Errors of a family, one a regime of the topic; None where nothing is claimed."""

    name: str
    devices: Sequence[str]
    scores: Sequence[SiliconScore | SiliconPublished | None]
    source: str = ""
    """The document, and what its clock saw; nothing where the family is one of a package."""


@dataclass(frozen=True)
class Topic:
    """What was predicted, with its regimes and its families."""

    title: str
    precision: str
    regimes: Sequence[str]
    families: Sequence[Family]

    @property
    def ends(self) -> str:
        """The least and the greatest error of the first regime: `10.2 % to 23.8 %`."""
        known = sorted((one.scores[0] for one in self.families if one.scores[0]), key=lambda score: score.error)
        return " to ".join(dict.fromkeys(one.error_display for one in (known[0], known[-1]))) if known else ""


@dataclass(frozen=True)
class View:
    """The section."""

    silicon: Silicon
    topics: Sequence[Topic]
    published: Sequence[Topic]
    """Tables of others, by op and precision."""
    frame: Frame
    pictures: Sequence[Picture]
    worst: Sequence[tuple[str, Sequence[SiliconWorst]]]
    """By family."""
    steps: Sequence[str]

    @property
    def decided(self) -> bool:
        """Whether a claim was compared with a measurement."""
        return bool(self.silicon.scores or self.silicon.published or self.silicon.whole)

    @property
    def products(self) -> Sequence[Topic]:
        """Published tables of matrix products; the summary has room for these only."""
        return tables([one for one in self.silicon.published if one.op == "gemm"])

    @property
    def claimed(self) -> list[tuple[str, list[str]]]:
        """Bounds by topic and family, each after its regime; those of other claims by their subject."""
        found: dict[str, list[str]] = {}
        for one in self.silicon.claimed:
            bound = one.bound or "no exception"
            found.setdefault(one.about or one.subject, []).append(f"{one.regime}: {bound}" if one.regime else bound)
        return list(found.items())

    @property
    def waits(self) -> list[tuple[str, str]]:
        """Terms that bind one of the worst shapes, with what they wait for."""
        binding = {one.bound for _, several in self.worst for one in several}
        return [(term, what) for term, what in self.silicon.waits.items() if term in binding]


def view(page: Page) -> View | None:
    """None where nothing is claimed of kernel times, or an older run has no such evidence."""
    found = page.evidence.silicon
    if found is None or not found.claimed:
        return None
    frame = frame_of(found.densities, found.bins)
    families = dict.fromkeys(one.family for one in found.worst)
    return View(
        found,
        topics(found.scores),
        tables(found.published),
        frame,
        [picture(one, frame) for one in found.densities],
        [(name, [one for one in found.worst if one.family == name]) for name in families],
        steps(),
    )


def topics(scores: Sequence[SiliconScore]) -> list[Topic]:
    """Scores as tables, in the order in which they come."""
    return [
        _topic(title, [one for one in scores if one.topic == title])
        for title in dict.fromkeys(one.topic for one in scores)
    ]


CLOCKS = {"graph": "kernels of a graph", "kernel": "one kernel", "host": "a call until its end"}
"""What a published table timed."""

WORDS = {
    "gemm": "matrix products",
    "convolution": "convolutions",
    "layernorm": "layer norms",
    "rmsnorm": "RMS norms",
    "add": "additions",
    "gelu": "GELU",
    "silu": "SiLU",
    "silu_mul": "SiLU times gate",
}
"""Ops whose own word says too little."""


def tables(scores: Sequence[SiliconPublished]) -> list[Topic]:
    """Published tables by op and precision, each a row: matrix products first, of each op the narrowest precision."""
    kinds = sorted({(one.op, one.precision) for one in scores}, key=_place)
    return [_tables(kind, [one for one in scores if (one.op, one.precision) == kind]) for kind in kinds]


def _place(kind: tuple[str, str]) -> tuple[int, str, int, str]:
    op, precision = kind
    bits = "".join(filter(str.isdigit, precision))
    return (list(WORDS).index(op) if op in WORDS else len(WORDS)), op, int(bits or 0), precision


def _tables(kind: tuple[str, str], scores: Sequence[SiliconPublished]) -> Topic:
    regimes = list(dict.fromkeys(one.regime for one in scores))
    places = {(one.table, one.regime): one for one in scores}
    heads = {one.table: one for one in scores}
    return Topic(
        WORDS.get(kind[0], kind[0]),
        kind[1],
        regimes,
        [
            Family(
                one.title,
                [one.device],
                [places.get((name, regime)) for regime in regimes],
                f"{one.document}; timed: {CLOCKS.get(one.timing, one.timing)}",
            )
            for name, one in heads.items()
        ],
    )


def _topic(title: str, scores: Sequence[SiliconScore]) -> Topic:
    regimes = list(dict.fromkeys(one.regime for one in scores))
    places = {(one.family, one.regime): one for one in scores}
    families = {one.family: one.devices for one in scores}
    return Topic(
        title,
        scores[0].precision,
        regimes,
        [Family(name, devices, [places.get((name, one)) for one in regimes]) for name, devices in families.items()],
    )
