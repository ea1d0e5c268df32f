"""Silicon in the evidence: figures are those of the claims, bins hold every row, and nothing where nothing was read."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pytest_rooflint.evidence import silicon as silicon_evidence
from pytest_rooflint.evidence.silicon import silicon
from pytest_rooflint.evidence.verdicts import record
from pytest_rooflint.golden import read
from pytest_rooflint.suite.judge import judge
from pytest_rooflint.suite.suite import Suite
from rooflint.base.errors import RooflintError
from rooflint.hardware.names import select_device
from rooflint.hardware.registry import Registry
from rooflint.kernels.constants import constants_file
from rooflint_calibration import package, topics
from rooflint_calibration.package import FAMILIES, NAMES, PUBLISHED, NotInstalledError, family_of
from rooflint_calibration.rows import Rows
from rooflint_report.evidence import plain

PROJECT = Path(__file__).parents[3]
CLAIMS = """source: {document: Some tables, where: all, grade: read}
claims:
  - {prediction: gemm hopper all, error: 10 %, bias: 9 %, rows: 100}
  - {prediction: gemm hopper narrow, error: 1 %, bias: 9 %}
  - {prediction: gemm ada all, error: 10 %, bias: 9 %}
  - {prediction: gemm peak}
"""
FILE = constants_file(Registry())


@pytest.fixture
def found(tmp_path):
    """`found(claims)`: what the evidence says of these claims, and their verdicts."""

    def told(text=CLAIMS):
        (tmp_path / "silicon.yaml").write_text(text, encoding="utf-8")
        suite = Suite((tmp_path,))
        verdicts = [record(judge(one, "", suite)) for one in read.load(tmp_path / "silicon.yaml").claims]
        devices = [suite.registry.get(name) for name in ("nvidia/gh200-144gb", "nvidia/l40s", "google/tpu-v4")]
        return plain(silicon(suite, verdicts, devices)), [plain(one) for one in verdicts]

    return told


@pytest.fixture
def machines(monkeypatch):
    """Every device took what is predicted by constants that have not seen it, times what chance says."""

    def measured(topic, device, chip):
        rng = np.random.default_rng(len(device))
        sizes = np.column_stack([*2.0 ** rng.integers(2, 15, (3, 400)), np.full(400, 6.0)])
        predicted = topics.TOPICS[topic].predict(sizes, chip, FILE.without(family_of(device)))
        seconds = predicted * 2 ** rng.normal(0, 0.1, 400)
        return Rows(device, topics.TOPICS[topic].columns, sizes, seconds, {"faster than the dense peak": 0})

    monkeypatch.setattr(topics, "measured", measured)
    monkeypatch.setattr(package, "label", lambda: "some-package 0.12.0")


@pytest.mark.slow
def test_the_figures_are_those_of_the_claims(machines, found):
    told, rows = found()
    verdicts = {(row["file"], row["line"]): row for row in rows}
    assert len(told["scores"]) == 3
    for one in told["scores"]:
        verdict = verdicts[one["file"], one["line"]]
        assert one["error"] == verdict["obtained"]["value"]
        error, lean = (one[name].replace(" %", "%").replace("−", "-") for name in ("error_display", "bias_display"))
        assert verdict["obtained"]["display"] == f"error {error}, bias {lean}"
        assert one["outcome"] == verdict["outcome"]
        assert f" {one['rows']} shapes of {', '.join(one['devices'])}" in verdict["obtained"]["formula"]
    assert [one["outcome"] for one in told["scores"]] == [
        "fail" if "narrow" in row["subject"] else "pass" for row in rows[:3]
    ]
    assert told["scores"][0]["rows"] == 200  # a hundred of each device, as the claim asks
    assert told["sentences"][0] == "3 of 4 claims about calibrated kernel times hold"


@pytest.mark.slow
def test_the_roofline_is_off_on_the_same_rows(machines, found):
    told, _ = found()
    for one in told["scores"]:
        assert float(one["roofline_display"].split()[0]) > 100 * one["error"]
        assert one["roofline_bias_display"].startswith("−")  # it is the least that a product can take


@pytest.mark.slow
def test_bins_hold_every_row_of_every_device_of_the_families_that_were_decided(machines, found):
    told, _ = found()
    assert [one["device"] for one in told["densities"]] == [*FAMILIES["hopper"].values(), *FAMILIES["ada"].values()]
    for one in told["densities"]:
        for name in ("times", "ratios"):
            assert sum(sum(column["counts"]) for column in one[name]) == one["rows"] == 400


def test_near_is_within_a_fifth_either_way():
    assert silicon_evidence._near(
        SimpleNamespace(ratio=lambda: np.array([0.5, 0.81, 1.0, 1.19, 1.3]))
    ) == pytest.approx(3 / 5)


@pytest.mark.slow
def test_each_family_has_its_worst_shapes_and_a_command_that_looks_closer(machines, found):
    told, _ = found()
    assert {one["family"] for one in told["worst"]} == {"Hopper", "Ada"}
    assert all(one["bound"] in told["waits"] for one in told["worst"])
    for one in told["worst"]:
        words = one["try"].split()
        assert " × ".join(words[3:6]) == one["shape"]
        assert select_device(Registry(), words[7]).id == one["device"]


@pytest.mark.slow
def test_claims_of_all_devices_together_are_told_as_they_were_decided(machines, found):
    told, rows = found()
    (one,) = told["whole"]
    assert (one["subject"], one["outcome"], one["obtained"]) == ("gemm peak", "pass", rows[3]["obtained"]["display"])


TABLE = """\
title: Some products
device: nvidia/a40
op: {op}
precision: fp16
source: {{document: Some paper, where: table 3, grade: read}}
why: nothing was left out
timing: kernel
columns: {columns}
rows:
{rows}
"""

OF_OTHERS = """source: {document: Some tables, where: all, grade: read}
claims:
  - {prediction: published some, error: 900 %, bias: 900 %}
  - {prediction: published some large, error: 1 %, bias: 1 %}
  - {prediction: published sums, error: 900 %, bias: 900 %}
  - {prediction: published absent, error: 1 %, bias: 1 %}
"""


def test_tables_of_others_are_told_without_any_package(monkeypatch, found, tmp_path):
    def absent():
        raise NotInstalledError("pyarrow is not installed")

    monkeypatch.setattr(package, "data_folder", absent)
    folder = tmp_path / PUBLISHED
    folder.mkdir(parents=True)
    rows = "  - [256, 4096, 4096, 100]\n  - [4096, 4096, 4096, 1300]"
    (folder / "some.yaml").write_text(TABLE.format(op="gemm", columns="[m, n, k, us]", rows=rows), encoding="utf-8")
    sums = TABLE.format(op="add", columns="[m, n, us]", rows="  - [4096, 4096, 172]")
    (folder / "sums.yaml").write_text(sums, encoding="utf-8")
    told, verdicts = found(OF_OTHERS)
    whole, large, streams = told["published"]  # a table that is not there has no figures
    assert (whole["table"], whole["regime"], whole["rows"], whole["outcome"]) == ("some", "all", 2, "pass")
    assert (large["regime"], large["rows"], large["outcome"]) == ("> 20 GFLOP", 1, "fail")
    assert (streams["op"], streams["regime"]) == ("add", "all")
    for one, verdict in zip(told["published"], verdicts[:3], strict=True):
        assert one["error"] == verdict["obtained"]["value"]
        assert one["roofline_display"].replace(" %", "%") in verdict["obtained"]["formula"]
    assert told["whole"] == []
    assert told["densities"] == []


@pytest.mark.slow
@pytest.mark.parametrize("file", ["networks", "generations", "trainings"])
def test_claims_about_whole_networks_are_told_beside_those_of_kernels(file):
    suite = Suite.of_project([PROJECT / "golden"], None)
    claims = read.load(PROJECT / f"golden/silicon/{file}.yaml").claims
    verdicts = [record(judge(one, "", suite)) for one in claims]
    told = plain(silicon(suite, verdicts, []))
    assert [one["subject"] for one in told["whole"]] == [one.subject for one in claims]
    assert told["published"] == []


def test_where_the_measurements_are_not_installed_only_the_claims_are_told(monkeypatch, found):
    def absent():
        raise NotInstalledError("pyarrow is not installed")

    monkeypatch.setattr(package, "data_folder", absent)
    topics.measured.cache_clear()
    told, _ = found()
    assert (told["scores"], told["whole"], told["densities"], told["worst"], told["sentences"]) == ([], [], [], [], [])
    assert told["measurements"] is None
    assert told["why_not"] == ["pyarrow is not installed"]
    assert "tox run -e silicon" in told["how"]
    assert [(one["subject"], one["bound"]) for one in told["claimed"]] == [
        ("gemm hopper all", "error up to 10 %, bias up to 9 %"),
        ("gemm hopper narrow", "error up to 1 %, bias up to 9 %"),
        ("gemm ada all", "error up to 10 %, bias up to 9 %"),
        ("gemm peak", ""),
    ]


def test_a_claim_that_fails_without_a_figure_is_counted_as_one_that_does_not_hold(machines, found, monkeypatch):
    def broken(topic, device, chip):
        raise RooflintError(f"{device}: want tables")

    monkeypatch.setattr(topics, "measured", broken)
    told, _ = found()
    assert told["sentences"] == ["0 of 4 claims about calibrated kernel times hold"]
    assert told["why_not"][0] == "nvidia/h100-sxm5-80gb: want tables"
    assert (told["scores"], told["densities"]) == ([], [])


@pytest.mark.slow
def test_what_is_not_known_speaks_of_the_devices_of_the_suite(machines, found):
    unknown = found()[0]["not_known"]
    assert unknown["gpus"] == [{"why": "lacks the fact 'tdp': rated power", "devices": ["nvidia/gh200-144gb"]}]
    assert (unknown["of"], unknown["others"]) == (2, 1)


def test_a_suite_without_such_claims_is_told_nothing(tiny):
    told = tiny.evidence("-k", "count")["silicon"]
    assert (told["claimed"], told["scores"], told["not_known"]["gpus"]) == ([], [], [])


def test_every_family_has_a_name():
    assert set(NAMES) == set(FAMILIES)
