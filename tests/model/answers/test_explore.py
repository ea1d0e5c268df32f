"""The answer to an exploration: what it says is what was found, and what is not modelled is said."""

import json

import numpy as np
import pytest

from rooflint.answers import explore as module
from rooflint.answers.explore import COLUMNS, ExploreRecord, explore_answer
from rooflint.api.exploration import explore
from rooflint.output.answer import write
from rooflint.output.sections import Curves
from rooflint.prediction.explore import OBJECTIVES
from rooflint.workloads.builders import mlp

#: 1024³ in FP16 on a T4: 33.0 µs of arithmetic, 19.7 µs of memory at 320 GB/s; as much as arithmetic at 190.8 GB/s.
SQUARE = mlp([1024, 1024], batch=1024, bias=False)


def explored(vary=None, *, work=SQUARE, minimise=("latency", "memory.bandwidth"), launch="free", **options):
    vary = vary or {"memory.bandwidth": "100:300GB/s:5"}
    batch = options.pop("batch", work.batch)
    return explore(
        "t4",
        vary,
        work,
        minimise=minimise,
        launch=launch,
        precision="fp16",
        batch=batch,
        **{"cached": False, **options},
    )


def section(answer, heading):
    return next(one for one in answer.sections if one.heading.startswith(heading))


def test_the_base_is_the_first_row_and_the_best_follows():
    grid = section(explore_answer(explored()), "Pareto set")
    assert [row[:4] for row in grid.table.rows] == [
        ("base", "320 GB/s", "32.97 µs", "1"),
        ("3", "200 GB/s", "32.97 µs", "1"),
        ("2", "150 GB/s", "41.94 µs", "1.27"),
        ("1", "100 GB/s", "62.91 µs", "1.91"),
    ]
    assert grid.strong == (0,)


def test_a_fact_alone_has_its_best_value_where_it_changes_anything():
    # 80 groups compute in 16.5 µs, and 6 MiB at 320 GB/s take 19.66: 0.596 of 32.97
    found = explored({"SM.groups": "20,80", "memory.bandwidth": "x1:x2:3"}, minimise="latency")
    assert section(explore_answer(found), "One fact alone").table.rows == (
        ("SM.groups", "20 … 80", "0.596 ×", "80"),
        ("memory.bandwidth", "320 GB/s … 640 GB/s", "1 ×", "—"),
    )


def test_a_long_set_is_shown_in_part(monkeypatch):
    monkeypatch.setattr(module, "SHOWN", 2)
    grid = section(explore_answer(explored()), "Pareto set")
    assert [row[0] for row in grid.table.rows] == ["base", "3", "1"]
    assert "2 of 3 are shown" in grid.note


def test_equal_variants_are_counted():
    grid = section(explore_answer(explored(minimise="latency")), "Pareto set")
    assert grid.table.columns[-1] == "alike"
    assert [row[-1] for row in grid.table.rows] == ["1", "3"]


def test_the_record_holds_the_set_and_the_base_in_base_units():
    record = json.loads(write(explore_answer(explored()), "json"))
    ExploreRecord.model_validate_json(json.dumps(record))
    assert record["hypothetical"] is True
    assert [one["variant"] for one in record["pareto"]] == [3, 2, 1]
    assert record["pareto"][2]["parameters"] == {"memory.bandwidth": 100e9}
    assert record["reference"]["alike"] == 1
    assert record["reference"]["latency_s"] == pytest.approx(32.97e-6, rel=1e-3)
    assert record["sensitivities"][0]["bounds"] == [
        {"value": 100e9, "bound": "memory"},
        {"value": 200e9, "bound": "compute"},
    ]


def test_the_listing_has_every_variant_and_says_which_are_best():
    listing = explore_answer(explored()).listing
    rows = [dict(zip(listing.columns, row, strict=True)) for row in listing.rows]
    assert [(row["variant"], row["pareto"]) for row in rows] == [
        (None, None), (1, True), (2, True), (3, True), (4, False), (5, False),
    ]  # fmt: skip
    assert [row["memory.bandwidth"] for row in rows[1:]] == [100e9, 150e9, 200e9, 250e9, 300e9]
    assert set(COLUMNS) == set(OBJECTIVES)


def test_the_charts_hold_the_set_the_base_and_the_others():
    answer = explore_answer(explored())
    chart, alone = (one for one in answer.sections if isinstance(one, Curves))
    assert {one.name: len(one.x) for one in chart.curves} == {"Pareto set": 3, "base": 1, "other variants": 2}
    assert [one.joined for one in chart.curves] == [True, False, False]
    assert chart.linear
    assert (chart.x_unit, chart.y_unit) == ("s", "B/s")
    (curve,) = alone.curves
    assert curve.x == pytest.approx([100 / 320, 150 / 320, 200 / 320, 250 / 320, 300 / 320])
    assert curve.y[2:] == pytest.approx([1, 1, 1])


def test_only_variants_that_are_left_out_of_a_chart_are_said_to_be_drawn_by_lot(monkeypatch):
    def drawn():
        return next(one for one in explore_answer(explored()).sections if isinstance(one, Curves))

    monkeypatch.setattr(module, "CLOUD", 2)
    assert drawn().note == ""
    monkeypatch.setattr(module, "CLOUD", 1)
    assert drawn().note == "1 of 2 other variants, drawn by lot"
    assert len(drawn().curves[-1].x) == 1


def test_a_chart_of_two_of_three_objectives_joins_nothing():
    answer = explore_answer(explored(minimise="latency,energy,memory.bandwidth"))
    chart = next(one for one in answer.sections if isinstance(one, Curves))
    assert not any(one.joined for one in chart.curves)


def test_a_wide_range_has_logarithmic_axes():
    answer = explore_answer(explored({"memory.bandwidth": "x0.01:x10"}))
    assert not any(one.linear for one in answer.sections if isinstance(one, Curves))


def test_prices_and_shares_have_axes_in_their_units():
    found = explored({"price": "1,2USD/h", "memory.bandwidth": "x0.5,x1"}, minimise="cost,price")
    chart = next(one for one in found.answer().sections if isinstance(one, Curves))
    assert (chart.x_label, chart.x_unit) == ("cost of 10⁶ inferences [USD]", "")
    assert (chart.y_label, chart.y_unit) == ("price [USD/h]", "")
    assert chart.curves[0].y[0] == pytest.approx(1)
    assert chart.curves[0].x[0] == pytest.approx(found.figures.of("cost")[found.front].min())


def test_several_runs_are_said_to_be_averaged():
    found = explored(batch=[1024, 2048])
    answer = explore_answer(found)
    assert "batch 1024, 2048" in answer.subtitle
    assert answer.subtitle.endswith("geometric means over 2 runs")
    assert np.isfinite(found.figures.of("latency")).all()
