"""The coverage matrix: its order, and the blind spots in it."""

import pytest
from tests.report.pages import render_html

from rooflint_report.evidence import Cell, Device, Evidence
from rooflint_report.sections import coverage
from rooflint_report.sections.section import Page


def matrix(record):
    return coverage.view(Page.of(Evidence.model_validate(record)))


def test_columns_go_by_kind_then_precision(evidence):
    columns = matrix(evidence).vendors[0].columns
    assert [kind for kind, _ in columns] == ["peak", "bandwidth", "capacity", "breakpoint", "count", "tdp"]
    peaks = dict(columns)["peak"]
    assert peaks[:5] == ["fp64", "fp32", "tf32", "bf16", "fp16"]
    assert peaks[-2:] == ["int4", "int1"]


@pytest.mark.slow
def test_rows_follow_the_devices_by_vendor(evidence):
    vendors = matrix(evidence).vendors
    assert [vendor.name for vendor in vendors][:3] == ["nvidia", "amd", "google"]
    assert [row.id for vendor in vendors for row in vendor.rows] == [device["id"] for device in evidence["devices"]]


def test_every_row_has_every_column_of_its_vendor_and_no_column_is_empty(evidence):
    for vendor in matrix(evidence).vendors:
        width = sum(len(precisions) for _, precisions in vendor.columns)
        assert {len(row.cells) for row in vendor.rows} == {width}
        assert all(any(cells) for cells in zip(*(row.cells for row in vendor.rows), strict=True))


def test_the_cells_of_a_vendor_are_counted(evidence):
    nvidia, amd, *_ = matrix(evidence).vendors
    blind = sum(len(set(coverage.blind_spots(Device(**one)))) for one in evidence["devices"] if "nvidia" in one["id"])
    assert nvidia.blind == blind > 0
    assert (amd.fails, dict(amd.tally)["fail"] > 0) == (True, True)
    for vendor in (nvidia, amd):
        cells = [cell for cell in evidence["coverage"] if cell["hardware"].startswith(vendor.name)]
        assert sum(count for _, count in vendor.tally) == len(cells)
        lonely = [one for one in cells if one["outcome"] == "pass" and not one["corroborated"]]
        assert vendor.uncorroborated == len(lonely)


def test_neighbours_with_nothing_to_claim_are_one_blank(evidence):
    cell = Cell(**evidence["coverage"][0])
    row = coverage.Row("acme/x1", None, [None, None, cell, cell, None])
    assert row.runs == [(None, 2), (cell, 1), (cell, 1), (None, 1)]
    for vendor in matrix(evidence).vendors:
        width = sum(len(precisions) for _, precisions in vendor.columns)
        assert {sum(wide for _, wide in row.runs) for row in vendor.rows} == {width}


def test_a_claimed_name_without_a_device_still_has_a_row(evidence):
    evidence["coverage"].append(evidence["coverage"][0] | {"hardware": "nvidia/unknown"})
    last = matrix(evidence).vendors[0].rows[-1]
    assert (last.id, last.device) == ("nvidia/unknown", None)


def test_an_unknown_kind_and_precision_go_last(evidence):
    evidence["coverage"].append(evidence["coverage"][0] | {"kind": "zeal", "precision": "fp3"})
    assert matrix(evidence).vendors[0].columns[-1] == ("zeal", ["fp3"])


def test_a_peak_without_a_claim_is_a_blind_spot(evidence):
    # both of the H100's bf16 rates are derived; no published figure is compared with them
    assert coverage.blind_spots(Device(**evidence["devices"][0])) == [("peak", "bf16"), ("peak", "bf16")]


def test_a_capacity_does_not_vouch_for_a_bandwidth(evidence):
    device = evidence["devices"][2]
    memory = device["memories"][0]
    memory["published"] = [p for p in memory["published"] if p["kind"] == "capacity"]
    assert memory["published"]
    assert coverage.blind_spots(Device(**device)) == [("bandwidth", "—")]


def test_no_devices_is_an_empty_matrix(empty):
    assert matrix(empty).vendors == []


def test_blind_spots_of_all_devices_are_counted(evidence, empty):
    each = [len(coverage.blind_spots(Device(**device))) for device in evidence["devices"]]
    assert each[0] == 2
    assert coverage.blind(Evidence.model_validate(evidence)) == sum(each) > 2
    assert coverage.blind(Evidence.model_validate(empty)) == 0


def test_a_cell_without_claims_or_outcome_is_blind():
    cell = Cell(hardware="x", kind="peak", precision="fp8", claims=1, corroborated=0, outcome="pass")
    assert not coverage.is_blind(cell)
    assert coverage.is_blind(cell.model_copy(update={"claims": 0}))
    assert coverage.is_blind(cell.model_copy(update={"outcome": "none"}))


@pytest.mark.parametrize(("devices", "open_"), [(10, 2), (66, 1)])  # 4 and 60 of one vendor, 1 of the other that fails
def test_a_vendor_with_failures_is_open_unless_its_matrix_is_long(make_evidence, devices, open_):
    page = render_html(make_evidence(devices=devices))
    section = page[page.index('<section id="coverage"') : page.index('<section id="mutation"')]
    assert section.count('<details class="rest" open>') == open_
    assert section.count('<details class="rest"') == 7
