"""Replays in the evidence: what an old log assumed of acme/k1, beside what the spec has."""

import pytest

from pytest_rooflint.evidence.replays import replays, underived
from pytest_rooflint.evidence.verdicts import record
from pytest_rooflint.suite.judge import brief

LOG = """\
title: An old log
source: {document: An old log, where: p. 1, grade: read}
sources: {log: {document: An old log, grade: read}}
workload: {mlp: [64, 64], batch: 16}
compute: int8
storage: fp32
given:
  OLD:
    hardware: acme/k1
    at: low
    unit: mac_array
    facts:
      units.mac_array.clock: [1000 MHz, log, p. 2]
      memories.hbm.bandwidth: [128 GB/s, log, p. 3]
      units.mac_array.groups: [8, log, p. 2]
    conventions: {ops_per_mac: 1, storage: fp32, bandwidth_share: 1/2, layout: packed}
    why:
      units.mac_array.clock: it read the clock of another mode
      peak: it forgot a factor
  NEW:
    hardware: acme/k1
    unit: mac_array
    peak: [20 TOP/s, log, p. 4]
claims:
  - {figure: peak OLD, expect: 16.38 TOP/s}
  - {figure: peak NEW, expect: 20 TOP/s}
  - {figure: latency OLD, expect: 1.00 µs}
  - {latency: OLD < NEW}
"""


@pytest.fixture
def replayed(acme):
    def found(text=LOG):
        file = acme.write("golden/old.yaml", text)
        suite = acme.suite()
        golden = suite.read(file)
        verdicts = [record(brief(claim, suite)) for claim in golden.claims]
        return {one.label: one for one in replays(golden, suite, verdicts)}

    return found


def test_a_replay_is_named_after_its_document_and_label(replayed):
    found = replayed()
    old, new = found["OLD"], found["NEW"]
    assert (old.id, old.title, old.group, old.label) == ("old-OLD", "An old log: OLD", "An old log", "OLD")
    assert (old.file, old.line, old.document, old.hardware, old.at) == (
        *("golden/old.yaml", 8, "An old log"),
        *("acme/k1", "low"),
    )
    assert (new.line, new.at) == (20, None)
    untitled = replayed(LOG.replace("title: An old log\n", ""))["OLD"]
    assert (untitled.title, untitled.group) == ("old: OLD", "old")


def test_each_assumption_stands_beside_the_spec_with_the_factor(replayed):
    rows = {row.what: row for row in replayed()["OLD"].assumptions}
    assert {what: (row.assumed, row.sourced, row.factor, row.factor_text) for what, row in rows.items()} == {
        "units.mac_array.clock": ("1000 MHz", "500 MHz", 2.0, "2"),  # at the operating point
        "memories.hbm.bandwidth": ("128 GB/s", "256 GB/s", 0.5, "1/2"),  # derived from bus and pin rate
        "units.mac_array.groups": ("8", "8", 1.0, "1"),
        "ops_per_mac": ("1 op/MAC", "2 op/MAC", 0.5, "1/2"),
        "bandwidth_share": ("1/2", "1", 0.5, "1/2"),
        "layout": ("packed", "spread", None, None),
        "storage": ("fp32, 4 B", "int8, 1 B", 4.0, "4"),
        "peak mac_array int8": ("16.38 TOP/s", "16.38 TOP/s", 1.0, "1"),
    }
    clock = rows["units.mac_array.clock"]
    assert clock.source.model_dump() == {"document": "Acme K1 brief", "where": "p. 7", "grade": "read"}
    assert rows["memories.hbm.bandwidth"].source.where == "p. 5"
    assert {what for what, row in rows.items() if row.source is None} == {
        *("ops_per_mac", "bandwidth_share", "layout", "storage", "peak mac_array int8"),
    }
    assert {what: row.why for what, row in rows.items() if row.why} == {
        "units.mac_array.clock": "it read the clock of another mode",
        "peak mac_array int8": "it forgot a factor",
    }


def test_the_peak_lists_the_factors_that_it_is_off_by(replayed):
    # twice the clock, half the op; the number of groups is right
    parts = {label: one.assumptions[-1].parts for label, one in replayed().items()}
    assert parts == {"OLD": ["2 (clock)", "1/2 (a MAC counted as one op)"], "NEW": []}


def test_an_assumed_peak_stands_beside_the_derived_one(replayed):
    peak = replayed()["NEW"].assumptions[-1]
    assert (peak.what, peak.assumed, peak.sourced, peak.factor_text) == (
        *("peak mac_array int8", "20 TOP/s"),
        *("32.77 TOP/s", "0.6104"),
    )


def test_an_assumed_fact_that_the_spec_has_not_has_no_factor(replayed):
    text = LOG.replace("units.mac_array.groups: [8, log, p. 2]", "resident_warps.tile: [48, log, p. 2]")
    rows = {row.what: row for row in replayed(text)["OLD"].assumptions}
    row = rows["resident_warps.tile"]
    assert (row.assumed, row.sourced, row.factor, row.source) == ("48", None, None, None)


def test_storage_is_named_where_it_is_not_that_of_the_precision(replayed):
    text = LOG.replace("storage: fp32\n", "storage: int8\n", 1).replace("storage: fp32, bandwidth", "bandwidth")
    for one in replayed(text).values():
        assert "storage" not in [row.what for row in one.assumptions]


def test_each_figure_stands_as_printed_replayed_and_sourced(replayed):
    found = replayed()
    figures = {one.what: one for one in found["OLD"].figures}
    peak, latency, order = figures.values()
    assert list(figures) == ["peak OLD", "latency OLD", "OLD < NEW"]
    assert (peak.kind, peak.printed, peak.replayed, peak.sourced) == ("figure", *("16.38 TOP/s",) * 3)
    assert (peak.factor_text, peak.outcome, peak.file, peak.line) == ("1", "pass", "golden/old.yaml", 25)
    assert (latency.printed, latency.replayed, latency.sourced) == ("1.00 µs", "1.388 µs", "1.024 µs")
    assert (latency.factor_text, latency.outcome) == ("1.355", "fail")
    assert (order.kind, order.printed, order.sourced) == ("latency", "OLD < NEW", "NEW 1.024 µs < OLD 1.024 µs")
    assert (order.replayed, order.factor_text) == ("OLD 1.388 µs (launch), NEW 1.097 µs (launch)", None)
    # the order is a figure of both
    assert [one.what for one in found["NEW"].figures] == ["peak NEW", "OLD < NEW"]


def test_what_cannot_be_assumed_is_a_row_with_the_reason(replayed):
    text = LOG.replace("compute: int8\n", "compute: fp64\n").replace("{figure: latency OLD, expect: 1.00 µs}", "")
    (row,) = replayed(text.replace("  - \n", ""))["NEW"].assumptions
    assert (row.what, row.sourced, row.parts) == ("peak", None, [])
    assert "fp64" in row.assumed


def test_a_file_whose_device_is_gone_has_no_replays(replayed):
    assert replayed(LOG.replace("acme/k1", "acme/k9")) == {}


def test_a_figure_that_does_not_follow_names_its_document_its_place_and_the_reason(acme):
    listed = (
        "underived:\n  - {printed: 9 µs, where: p. 7, why: no rule}\n  - {printed: 8 µs, source: log, why: chosen}\n"
    )
    acme.write("golden/old.yaml", LOG + listed)
    (golden,) = acme.suite().goldens()
    first, second = underived(golden)
    assert (first.group, first.printed, first.document, first.where, first.why) == (
        "An old log",
        "9 µs",
        "An old log",
        "p. 7",
        "no rule",
    )
    assert second.line == first.line + 1
