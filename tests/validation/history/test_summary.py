"""What moved, in words: factors, counts, knowledge, sentences, and the record as text and Markdown."""

from types import SimpleNamespace

import pytest

from pytest_rooflint.history import summary as module
from pytest_rooflint.history.changes import Change, FileChange
from pytest_rooflint.history.comparison import Effect, Move, PowerMove
from pytest_rooflint.history.summary import as_md, as_text, headline, knowledge, others, power_said, span
from rooflint_report import differences as records
from rooflint_report.findings import PowerLimit


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.5, 0.5, "×0.5"),
        (0.92, 1.07, "×0.92 … ×1.07"),
        (1.0001, 1.0001, "×1.0001"),  # as many digits as it takes to differ from 1
        (1.00004, 2.0, "×1 … ×2"),  # beside a change that counts
        (1.0, 1.0, "×1"),
        (1 + 1e-8, 1 + 1e-12, "×1.00000001 … ×1"),  # never more than nine digits
        (None, 2.0, ""),
        (2.0, None, ""),
        (None, None, ""),
    ],
)
def test_factors_have_three_digits_or_as_many_as_differ_from_1(low, high, text):
    assert span(low, high) == text


def test_knowledge_names_only_what_changed():
    assert knowledge(0, 0) == []
    assert knowledge(2, 0) == ["2 newly known"]
    assert knowledge(2, 3) == ["3 no longer known", "2 newly known"]


# ---- sentences

OLD, NEW = SimpleNamespace(label="HEAD^"), SimpleNamespace(label="the working tree")


def test_the_headline_counts_what_moved():
    none = records.MovedCounts(predictions=0, devices=0)
    some = records.MovedCounts(predictions=1200, devices=2)
    assert headline(OLD, NEW, 18480, none) == (
        "no prediction moved between HEAD^ and the working tree; 18 480 compared"
    )
    assert headline(OLD, NEW, 18480, some) == (
        "1200 of 18 480 predictions moved between HEAD^ and the working tree, on 2 devices"
    )


def load(verdict="sustains", ratio="0.50", precision="int4"):
    return records.PowerThen(
        unit="tensor_core",
        precision=precision,
        limit=PowerLimit(path="tdp", value=70.0, display="70 W"),
        verdict=verdict,
        ratio=float(ratio),
        ratio_display=ratio,
        ends_display="0.4 … 0.6",
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            load(),
            load("cannot sustain", "1.46"),
            "int4 needs 0.50 → 1.46 of its rated power, sustains → cannot sustain",
        ),
        (load(), load(ratio="0.60"), "int4 needs 0.50 → 0.60 of its rated power, sustains"),
        (load(), load(precision="int8"), "int4 → tensor_core int8 needs 0.50 → 0.50 of its rated power, sustains"),
        (None, load(), "int4 needs 0.50 of its rated power, sustains, newly known"),
        (load(), None, "int4 needs 0.50 of its rated power, sustains, no longer known"),
    ],
)
def test_a_power_is_told_on_both_sides(old, new, message):
    assert power_said("nvidia/t4", old, new) == f"nvidia/t4: tensor_core {message}"


def test_a_power_that_neither_side_knows_is_not_known():
    assert power_said("nvidia/t4 at low", None, None) == "nvidia/t4 at low: not known"


def power(old, new):
    return records.PowerMoved(device="nvidia/t4", at=None, old=old, new=new, alone=[], text="…")


def test_what_appeared_vanished_or_was_left_out_is_named():
    names = {
        "device": records.BothWays(appeared=["a", "b"], vanished=["c"]),
        "network": records.BothWays(appeared=[], vanished=[]),
    }
    left_out = [records.LeftOut(side="old", text="left out: d.yaml:1  broken")]
    other = [power(load(), load(ratio="0.60")), power(load(), load("undecided")), power(None, load())]
    assert list(others(names, other, 2, left_out)) == [
        "2 devices appeared: a, b",
        "1 device vanished: c",
        "power at the printed peak changed at 3 operating points, and 2 verdicts",
        "2 facts with the same value cited from another place",
        "left out: d.yaml:1  broken",
    ]
    assert list(others({}, other[:1], 0, [])) == [
        "power at the printed peak changed at 1 operating point, no verdict",
    ]


# ---- what one change does alone

WIDE = records.StatedValue(text="256 bit", file="x1.yaml", line=9, document="brief", where="p. 3", grade="read")
CHANGE = Change("memories.lpddr5.bus", None, None, WIDE)


def moves(*factors, quantity="latency_s", device="acme/x1"):
    return Move(device, quantity, rows=len(factors), of=10, low=min(factors), high=max(factors))


def difference(*found):
    return SimpleNamespace(predictions=sum(move.rows for move in found), moves=lambda: list(found))


def test_a_change_is_told_with_its_place_source_and_effect():
    found = difference(moves(0.5, 0.6), moves(0.4, device="acme/x2"), moves(2.0, quantity="energy_j"))
    told = module._effect(Effect(CHANGE, ("acme/x1", "acme/x2"), found, power=(object(),)))
    assert (told.what, told.path, told.file, told.line) == ("fact", "memories.lpddr5.bus", "x1.yaml", 9)
    assert (told.text, told.source) == ("memories.lpddr5.bus nothing → 256 bit", "brief, p. 3 (read)")
    assert [(one.word, one.rows, one.factor) for one in told.moves] == [
        ("latency", 3, "×0.4 … ×0.6"),
        ("energy", 1, "×2"),
    ]
    assert told.alone == (
        "alone moves 4 predictions of acme/x1, acme/x2: latency ×0.4 … ×0.6, energy ×2; "
        "changes the power at the printed peak at 1 operating point"
    )
    assert (told.predictions, told.powers, told.untried) == (4, 1, "")


def test_a_change_at_an_operating_point_a_trait_and_a_file_are_named_as_such():
    none = difference()
    narrow = WIDE.model_copy(update={"text": "128 bit", "line": 3})
    mode = module._effect(Effect(Change("tdp", "low", narrow, None), ("acme/x1",), none))
    assert (mode.text, mode.at, mode.line) == ("tdp at low 128 bit → nothing", "low", 3)
    assert mode.alone == "alone moves no prediction of acme/x1"
    bare = records.StatedValue(text="npu", file="x1.yaml", **dict.fromkeys(("line", "document", "where", "grade")))
    trait = module._effect(Effect(Change("kind", None, bare, bare, trait="kind"), (), none))
    assert (trait.what, trait.text, trait.source) == ("trait", "kind npu → npu", "")
    part = module._effect(Effect(Change("core", None, bare, bare, trait="circuits"), (), none))
    assert part.text == "circuits core npu → npu"
    file = module._effect(Effect(FileChange("launches.yaml", "changed", None, None), (), None, "too many"))
    assert (file.what, file.path, file.file, file.line) == ("file", "launches.yaml", "launches.yaml", None)
    assert (file.text, file.alone, file.predictions, file.untried) == (
        "launches.yaml changed",
        "not tried alone: too many",
        None,
        "too many",
    )


def test_six_devices_are_named_and_the_others_counted():
    names = tuple("abcdefgh")
    told = module._effect(Effect(CHANGE, names, difference()))
    assert told.alone == "alone moves no prediction of a, b, c, d, e, f and 2 more devices"
    assert module._effect(Effect(CHANGE, names[:6], difference())).alone.endswith("of a, b, c, d, e, f")


def test_figures_that_appear_and_vanish_are_counted_over_all_devices():
    gone = Move("acme/x1", "latency_s", rows=3, of=10, low=None, high=None, known=1, unknown=2)
    (shift,) = module._overall([gone, Move("acme/x2", "latency_s", 2, 10, 0.5, 0.7, known=1)])
    assert (shift.low, shift.high, shift.rows) == (0.5, 0.7, 5)
    assert shift.knowledge == ["2 no longer known", "2 newly known"]
    alone = module._effect(Effect(CHANGE, (), difference(Move("acme/x1", "power_w", 1, 2, None, None)))).alone
    assert alone == "alone moves 1 prediction: power from or to nothing"


# ---- moves, and how changes act together


def compared(*shares, whole=True):
    files = [FileChange(f"{name}.yaml", "changed", None, None) for name in "abcdef"]
    effects = [Effect(CHANGE, (), None), *(Effect(file, (), None) for file in files)]
    found = [records.Share(change=number, low=factor, high=factor) for number, factor in shares]
    return SimpleNamespace(shares=lambda move: found, multiplies=lambda move: whole, effects=effects)


@pytest.mark.parametrize(
    ("comparison", "together"),
    [
        (compared(), ""),
        (compared((0, 0.5)), ""),
        (compared((0, 0.5), whole=False), "together ×0.5, alone ×0.5 (memories.lpddr5.bus); the rest is interaction"),
        (compared((0, 0.25), (1, 2.0)), "together ×0.5, alone ×0.25 (memories.lpddr5.bus) and ×2 (a.yaml)"),
        (
            compared(*((number, 2.0) for number in range(1, 6))),
            "together ×0.5, alone ×2 (a.yaml) and ×2 (b.yaml) and ×2 (c.yaml) and ×2 (d.yaml) and 1 more",
        ),
    ],
)
def test_a_move_says_how_changes_act_together(comparison, together):
    told = module._move(comparison, Move("acme/x1", "energy_j", 3, 10, 0.5, 0.5, known=1))
    assert told.together == together
    assert (told.device, told.word, told.rows, told.of, told.factor) == ("acme/x1", "energy", 3, 10, "×0.5")
    assert (told.known, told.knowledge) == (1, ["1 newly known"])


def test_a_point_names_its_mode_and_the_changes_that_move_its_power_alone():
    low, own = (PowerMove(("acme/x1", at), None, None) for at in ("low", ""))
    found = SimpleNamespace(effects=[Effect(CHANGE, (), None, power=(own,)), Effect(CHANGE, (), None, power=(low,))])
    told = module._power(found, low)
    assert (told.device, told.at, told.text) == ("acme/x1", "low", "acme/x1 at low: not known")
    assert [one.change for one in told.alone] == [1]
    told = module._power(found, own)
    assert (told.at, told.text, [one.change for one in told.alone]) == (None, "acme/x1: not known", [0])


# ---- text and Markdown


def moved(quantity="latency_s", together="", **more):
    return records.Moved(
        **{
            **{"device": "acme/x1", "quantity": quantity, "word": module.WORDS[quantity], "rows": 3, "of": 10},
            **{"low": 0.5, "high": 0.5, "factor": "×0.5", "known": 0, "unknown": 0, "knowledge": [], "alone": []},
            **{"together": together, **more},
        }
    )


@pytest.fixture
def delta():
    """Two moves of one device, one of which has figures no more, and one power."""
    effect = module._effect(Effect(CHANGE, ("acme/x1",), difference(moves(0.5))))
    both = records.BothWays(appeared=[], vanished=[])
    return records.Delta(
        old=records.Compared(label="HEAD^", commit=None),
        new=records.Compared(label="the working tree", commit=None),
        matrix=records.Matrix(predictions=20, devices=1, networks=[], precisions=[], runs=[]),
        moved=records.MovedCounts(predictions=3, devices=1),
        devices=both,
        points=both,
        networks=both,
        citations_changed=0,
        left_out=[],
        changes=[effect],
        moves=[
            moved(together="together ×0.5, alone ×0.25 (a) and ×2 (b)"),
            moved("power_w", "together nothing", factor="", rows=2, knowledge=["2 no longer known"]),
        ],
        power=[power(load(), None).model_copy(update={"text": "acme/x1: another power"})],
        text="3 of 20 predictions moved",
        also=["1 device appeared: acme/x2"],
    )


def test_the_text_has_changes_moves_powers_and_how_they_act_together(delta):
    assert as_text(delta).splitlines() == [
        "3 of 20 predictions moved",
        "1 device appeared: acme/x2",
        "",
        "x1.yaml:9",
        "  memories.lpddr5.bus nothing → 256 bit",
        "  brief, p. 3 (read)",
        "  alone moves 1 prediction of acme/x1: latency ×0.5",
        "",
        "device   quantity  moved  factor",
        "acme/x1  latency    3/10  ×0.5",
        "acme/x1  power      2/10  2 no longer known",
        "",
        "power at the printed peak",
        "  acme/x1: another power",
        "",
        "acme/x1 latency: together ×0.5, alone ×0.25 (a) and ×2 (b)",  # the power only follows from the rest
    ]


def test_the_text_is_cut_to_as_many_moves_as_asked_for(delta):
    text = as_text(delta, 1)
    assert "x1  power " not in text
    assert "×0.5\n… and 1 more (rooflint diff --all)\n" in text
    assert "more" not in as_text(delta, None)
    assert "printed peak" not in as_text(delta, 0)
    assert "… and 2 more (rooflint diff --all)" in as_text(delta, 0)


def test_changes_of_less_than_a_thousandth_are_counted_and_not_listed(delta):
    near = {"low": 0.9995, "high": 1.0002, "factor": "×0.9995 … ×1.0002"}
    one, other = moved("energy_j", **near), moved("power_w", **near | {"knowledge": ["1 newly known"]})
    both = delta.model_copy(update={"moves": [*delta.moves, one, other]})
    assert "… and 1 more, 1 of them by less than 0.1 % (rooflint diff --all)" in as_text(both)
    assert "1 newly known" in as_text(both)  # some are no small change
    assert "| energy |" not in as_md(both)
    assert "x1  energy " in as_text(both, None)
    small = {"low": 0.9995, "high": 1.0, "rows": 1}
    alone = difference(moves(0.5), Move("acme/x1", "energy_j", of=10, **small))
    assert module._effect(Effect(CHANGE, (), alone)).alone == "alone moves 2 predictions: latency ×0.5"


def test_a_long_word_keeps_its_column_and_waits_are_explained(delta):
    both = delta.model_copy(update={"moves": [moved(), moved("compute_wait_s", rows=17, of=60)]})
    head, first, second, _, wait, *_ = as_text(both).splitlines()[8:]
    assert head.index("factor") == first.index("×0.5") == second.index("×0.5")
    assert wait.startswith("Compute-bound time is the time of all kernels whose slowest part is compute")
    assert "Compute-bound" not in as_text(delta)


def test_a_second_line_of_a_move_stands_below_the_factor(delta):
    both = delta.model_copy(update={"moves": [moved(knowledge=["1 newly known"])]})
    first, second = as_text(both).splitlines()[9:11]
    assert second == " " * first.index("×0.5") + "1 newly known"


def test_a_file_has_no_line(delta):
    file = module._effect(Effect(FileChange("launches.yaml", "vanished", None, None), (), difference()))
    text = as_text(delta.model_copy(update={"changes": [file], "moves": [], "power": None}))
    assert "\nlaunches.yaml\n  launches.yaml vanished\n  alone moves no prediction\n" in text
    assert "quantity" not in text


def test_long_sentences_are_wrapped_to_80_columns(delta):
    text = as_text(delta.model_copy(update={"text": "word " * 30}))
    assert max(map(len, text.splitlines()[:2])) <= 80
    assert text.splitlines()[1].startswith("word")


def test_markdown_has_the_same_as_tables(delta):
    assert as_md(delta).split("\n\n") == [
        "## What moved",
        "- 3 of 20 predictions moved\n- 1 device appeared: acme/x2",
        "| where | change | source | alone |\n| --- | --- | --- | --- |\n"
        "| x1.yaml:9 | memories.lpddr5.bus nothing → 256 bit | brief, p. 3 (read) | "
        "alone moves 1 prediction of acme/x1: latency ×0.5 |",
        "| device | quantity | moved | of | factor | together |\n| --- | --- | --- | --- | --- | --- |\n"
        "| acme/x1 | latency | 3 | 10 | ×0.5 | together ×0.5, alone ×0.25 (a) and ×2 (b) |\n"
        "| acme/x1 | power | 2 | 10 | 2 no longer known | together nothing |",
        "Power at the printed peak:",
        "- acme/x1: another power\n",
    ]
    assert as_md(delta.model_copy(update={"changes": [], "moves": [], "power": []})).split("\n\n") == [
        "## What moved",
        "- 3 of 20 predictions moved\n- 1 device appeared: acme/x2\n",
    ]
    assert "… and 1 more (rooflint diff --all)" in as_md(delta, 1)
