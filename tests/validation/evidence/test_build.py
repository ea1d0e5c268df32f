"""Evidence: one JSON document, with the keys of its schema version, whole or not at all."""

import datetime
import json
import math
import shutil
from pathlib import Path

import pytest

from pytest_rooflint.evidence import build
from pytest_rooflint.suite.suite import Suite
from rooflint.hardware.registry import PACKAGED
from rooflint_report.differences import Share
from rooflint_report.evidence import Evidence, plain
from rooflint_report.verdicts import Verdict, Why

TINY = Path(__file__).parents[1] / "tiny"
REPLAYS = Path(__file__).parents[3] / "golden" / "replays"

REPLAY = """\
title: An old log
source: {document: An old log, where: table 1, grade: read}
sources: {log: {document: An old log, grade: read}}
compute: int8
given:
  OLD: {hardware: acme/x1, unit: mac_array, facts: {units.mac_array.clock: [500 MHz, log, t. 1]}}
claims:
  - {figure: peak OLD, expect: 16.4 TOP/s}
"""


@pytest.fixture(scope="module")
def red_run(tmp_path_factory, script):
    """A red run with something under every key: half the INT8 rate, a broken file, an undisclosed unit, a replay."""
    root = tmp_path_factory.mktemp("red")
    shutil.copytree(TINY, root, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".pytest_cache"))
    spec = root / "specs/hardware/acme/x1.yaml"
    dsp = "  dsp: {group: core, groups: [4, brief, p. 2], per_group: [1, brief, p. 2], clock: [1 GHz, brief, p. 2]}\n"
    text = spec.read_text(encoding="utf-8").replace("int8: [4096 MAC", "int8: [2048 MAC")
    text = text.replace("memories:", f"{dsp}memories:") + "undisclosed: {units.dsp.macs_per_clock: Acme keeps it}\n"
    spec.write_text(text, encoding="utf-8")
    (root / "golden/old.yaml").write_text(REPLAY.replace("16.4", "8.19"), encoding="utf-8")
    (root / "golden/broken.yaml").write_text("claims: [\n", encoding="utf-8")
    script(root, "pytest", "-q", "--rooflint-evidence=evidence.json")
    return root


@pytest.fixture
def full(red_run):
    """Its evidence."""
    return json.loads((red_run / "evidence.json").read_text(encoding="utf-8"))


@pytest.mark.slow
def test_the_evidence_is_what_its_records_say(full):
    assert plain(Evidence.model_validate_json(json.dumps(full), strict=True)) == full


@pytest.mark.slow
def test_counts_are_those_of_the_verdicts(full):
    counts = full["counts"]
    outcomes = [row["outcome"] for row in full["verdicts"]]
    assert counts["claims"] == len(outcomes) == 9
    assert (counts["fail"], counts["pass"]) == (outcomes.count("fail"), outcomes.count("pass")) == (4, 5)
    assert (counts["devices"], counts["replays"], counts["problems"]) == (1, 1, len(full["problems"]))
    assert counts["uncorroborated"] == 1  # the bound: no document prints one
    assert full["run"]["exit_status"] == 1


@pytest.mark.slow
def test_replays_and_red_claims_are_not_counted_as_uncorroborated(tiny):
    tiny.edit("golden/x1.yaml", "Acme X1 product page, 2025", "Acme X1 architecture brief, 2025")
    tiny.edit("specs/hardware/acme/x1.yaml", "int8: [4096 MAC", "int8: [2048 MAC")
    tiny.write("golden/old.yaml", REPLAY.replace("16.4", "8.19"))
    # four of eight are red, the replay is history
    assert tiny.evidence()["counts"]["uncorroborated"] == 4


@pytest.mark.slow
def test_problems_name_file_and_line(full):
    assert {"golden/broken.yaml"} == {problem["file"] for problem in full["problems"]}
    assert full["problems"][0]["line"] == 2


def test_a_red_verdict_carries_all_that_its_text_says(full):
    row = next(row for row in full["verdicts"] if row["id"] == "peak-mac_array-int8")
    assert row["nodeid"] == "golden/x1.yaml::peak-mac_array-int8"
    assert (row["outcome"], row["ratio_text"], row["rerun"]) == ("fail", "1/2", f"pytest {row['nodeid']}")
    assert (row["file"], row["line"]) == ("golden/x1.yaml", 5)
    assert row["causes"] and all(cause["factor_text"] for cause in row["causes"])
    assert row["duration_s"] >= 0


def test_a_device_shows_what_was_published_beside_what_was_derived(full):
    (device,) = full["devices"]
    int8 = next(peak for peak in device["peaks"] if peak["precision"] == "int8")
    # 4 × 1 × 2048 × 2 × 1 GHz
    assert (int8["value"], int8["display"]) == (16.384e12, "16.38 TOP/s")
    factors = [factor["display"] for factor in int8["factors"]]
    assert factors == ["4 core", "1 mac_array", "2048 MAC/clock", "2 op/MAC", "1000 MHz"]
    assert int8["factors"][3]["path"] is None
    (published,) = int8["published"]
    assert (published["display"], published["outcome"], published["ratio"]) == (
        "32.8 TOP/s",
        "fail",
        pytest.approx(16.384 / 32.8),
    )
    (memory,) = device["memories"]
    assert (memory["bandwidth_display"], memory["capacity_display"]) == ("102.4 GB/s", "8 GB")
    assert (device["process"], device["tdp"], device["launched"]) == ("7 nm", "15 W", None)
    assert {fact["path"] for fact in device["facts"]} == {
        "process", "tdp", "memories.lpddr5.capacity",
        "units.dsp.groups", "units.dsp.per_group", "units.dsp.clock",
    }  # fmt: skip
    (point,) = device["operating_points"]
    assert [(peak["precision"], peak["display"]) for peak in point["peaks"]] == [
        ("int8", "8.192 TOP/s"),
        ("fp16", "4.096 TFLOP/s"),
    ]


def test_every_source_key_of_a_device_is_listed_with_its_document(full):
    for device in full["devices"]:
        cited = [factor["source"] for part in (*device["peaks"], *device["memories"]) for factor in part["factors"]]
        cited += [fact["source"] for fact in device["facts"]]
        assert set(cited) - {None} <= set(device["sources"])


def test_two_documents_under_one_key_stay_two(acme):
    # the architecture and the device both call their document "ds"
    for name, text in [("specs/architectures/acme/a1.yaml", "arch"), ("specs/hardware/acme/k1.yaml", "brief")]:
        acme.write(name, acme.read(name).replace(f"{text}:", "ds:").replace(f", {text},", ", ds,"))
    built = build.build(
        acme.suite(), [], [], started=datetime.datetime.now(tz=datetime.UTC), duration_s=0, command="", exit_status=0
    )
    (device,) = built.devices
    factors = {factor.name: factor for factor in device.peaks[0].factors}
    documents = {name: device.sources[factors[name].source].document for name in ("groups", "macs_per_clock")}
    assert documents == {"groups": "Acme K1 brief", "macs_per_clock": "Acme A1 architecture manual"}


def test_coverage_counts_claims_by_device_precision_and_kind_with_the_worst_outcome(full):
    cells = {(cell["precision"], cell["kind"]): cell for cell in full["coverage"]}
    assert {cell["hardware"] for cell in full["coverage"]} == {"acme/x1"}
    # at both operating points
    assert (cells["int8", "peak"]["claims"], cells["int8", "peak"]["outcome"]) == (2, "fail")
    assert (cells["fp16", "peak"]["claims"], cells["fp16", "peak"]["outcome"]) == (1, "pass")
    assert cells["—", "bandwidth"]["corroborated"] == 1
    assert not any(kind == "figure" for _, kind in cells)


def test_an_order_covers_each_of_its_devices(tiny):
    tiny.write("specs/hardware/acme/x2.yaml", tiny.read("specs/hardware/acme/x1.yaml").replace("1000 MHz", "900 MHz"))
    tiny.write(
        "golden/order.yaml",
        "workload: {gemm: [1024, 1024, 1024]}\ncompute: int8\nsource: {document: D, grade: read}\n"
        "claims:\n  - {latency: acme/x1 < acme/x2 < acme/x2@low}\n",
    )
    cells = {(cell["hardware"], cell["kind"]) for cell in tiny.evidence("golden/order.yaml")["coverage"]}
    assert cells == {("acme/x1", "latency"), ("acme/x2", "latency")}


@pytest.mark.parametrize(("devices", "marked"), [(3, ["fail"] * 3), (4, [])])
def test_a_failing_claim_about_many_devices_marks_none_of_them(devices, marked):
    brief = build._Brief(
        place=("golden/x.yaml", 1, "median"), position=0, outcome="fail", kind="prediction", precision="fp16",
        devices=tuple(f"acme/x{number}" for number in range(devices)), hardware=None, corroborated=False,
        uncorroborated=False, replay=False, loose=False, stale=False,
    )  # fmt: skip
    assert [cell.outcome for cell in build._coverage([brief])] == marked


def test_a_replay_sets_each_assumption_beside_the_fact(full):
    (replay,) = full["replays"]
    assert (replay["id"], replay["title"], replay["document"]) == ("old-OLD", "An old log: OLD", "An old log")
    clock, peak = replay["assumptions"]
    assert (clock["assumed"], clock["sourced"], clock["factor_text"]) == ("500 MHz", "1000 MHz", "1/2")
    assert (peak["what"], peak["factor_text"], peak["parts"]) == ("peak mac_array int8", "1/2", ["1/2 (clock)"])
    (figure,) = replay["figures"]
    # 4 × 2048 × 2 × 0.5 GHz under the assumption, at 1 GHz by the facts
    assert (figure["printed"], figure["replayed"], figure["sourced"], figure["factor_text"]) == (
        "8.19 TOP/s",
        "8.192 TOP/s",
        "16.38 TOP/s",
        "1/2",
    )


@pytest.mark.slow
def test_the_shipped_replays_have_a_row_for_each_label(repository):
    shutil.copytree(REPLAYS, repository.root / "golden")
    suite = Suite.of([repository.root / "golden"], [PACKAGED])
    labels = {label for one in suite.goldens() for label in one.spec.given}
    built = build.build(
        suite, [], [], started=datetime.datetime.now(tz=datetime.UTC), duration_s=0, command="", exit_status=0
    )
    assert {replay.label for replay in built.replays} == labels
    assert labels >= {"CPU", "GPU", "TPU", "KPU", "GPU-before", "TPU-before"}
    assert all(row.what for replay in built.replays for row in replay.assumptions)


# ---- conditions


@pytest.mark.slow
def test_the_run_says_what_was_run_with_which_versions(tiny, monkeypatch):
    document = tiny.evidence("-k", "count")
    assert document["run"]["command"].startswith("pytest ")
    assert document["run"]["command"].endswith("-k count")
    started = datetime.datetime.fromisoformat(document["run"]["started"])
    assert started.tzinfo is not None
    assert document["run"]["git"] is None  # a copy outside of any checkout
    assert document["run"]["ci"] is None
    assert document["run"]["versions"]["pytest"] == pytest.__version__
    monkeypatch.setenv("GITHUB_RUN_ID", "4711")
    assert tiny.evidence()["run"]["ci"] == {"GITHUB_RUN_ID": "4711"}


def test_a_selection_is_evidence_of_what_it_selected(tiny):
    document = tiny.evidence("-k", "count")
    assert [row["id"] for row in document["verdicts"]] == ["count-core"]
    assert document["counts"]["claims"] == 1


# ---- with xdist


def test_the_order_in_which_workers_report_does_not_matter(full, red_run, monkeypatch):
    # the same figure from a second document, so that one peak has two published ones
    monkeypatch.chdir(red_run)
    rows = full["verdicts"]
    peak = next(row for row in rows if row["id"] == "peak-mac_array-int8")
    rows = [*rows, {**peak, "id": f"{peak['id']}-by-db", "nodeid": f"{peak['nodeid']}-by-db", "line": 99}]
    suite = Suite.of([red_run / "golden"], [red_run / "specs"])
    now = datetime.datetime.now(tz=datetime.UTC)

    def built(rows):
        verdicts = [Verdict.model_validate(row) for row in rows]
        return build.build(suite, verdicts, full["problems"], started=now, duration_s=0, command="", exit_status=1)

    assert built(rows).places
    assert built(rows) == built(rows[::-1])


@pytest.mark.slow
def test_two_workers_leave_the_evidence_of_one_process_but_for_times(tiny):
    tiny.edit("specs/hardware/acme/x1.yaml", "int8: [4096 MAC", "int8: [2048 MAC")
    tiny.write("specs/hardware/acme/x2.yaml", tiny.read("specs/hardware/acme/x1.yaml"))
    tiny.write("golden/broken.yaml", "claims: [\n")
    tiny.write("golden/old.yaml", REPLAY)
    alone = tiny.script("pytest", "-q", "--rooflint-evidence=alone.json")
    both = tiny.script("pytest", "-q", "-n", "2", "--rooflint-evidence=both.json")
    assert alone.returncode == both.returncode == 1
    assert "2 workers" in both.stdout or "[gw" in both.stdout or "bringing up nodes" in both.stdout
    one, two = (json.loads(tiny.read(name)) for name in ("alone.json", "both.json"))
    for document in (one, two):
        for row in document["verdicts"]:
            del row["duration_s"]
        del document["run"]["started"], document["run"]["duration_s"], document["run"]["command"]
        document["problems"].sort(key=lambda problem: problem["file"])
    # whether X2 has claims is not known while a golden file cannot be read
    assert one["counts"]["fail"] == 5 and one["counts"]["problems"] == 1
    assert one == two


@pytest.mark.slow
def test_a_run_with_a_worker_in_which_everything_was_skipped_is_red(tiny):
    text = tiny.read("specs/hardware/acme/x1.yaml")
    rates = "    macs_per_clock: {int8: [4096 MAC, brief, p. 2], fp16: [1024 MAC, brief, p. 2]}\n"
    assert rates in text
    tiny.write("specs/hardware/acme/x1.yaml", text.replace(rates, "") + "undisclosed: {units.mac_array: secret}\n")
    tiny.write("golden/x1.yaml", tiny.read("golden/x1.yaml").split("  - {peak: mac_array int8, at")[0])
    tiny.edit("golden/x1.yaml", "expect: 32.8 TOP/s", "expect: 32.8 TOP/s, undisclosed: true")
    result = tiny.script("pytest", "-q", "-n", "1", "golden/x1.yaml")
    assert result.returncode == 1
    assert "every claim was skipped" in result.stdout


def test_a_unit_whose_clock_nobody_discloses_has_no_peak_and_is_listed(tiny):
    dsp = "  dsp: {group: core, groups: [4, brief, p. 2], per_group: [1, brief, p. 2], "
    dsp += "macs_per_clock: {int8: [8 MAC, brief, p. 2]}}\n"
    text = tiny.read("specs/hardware/acme/x1.yaml").replace("memories:", f"{dsp}memories:")
    tiny.write("specs/hardware/acme/x1.yaml", text + "undisclosed: {units.dsp.clock: Acme keeps it}\n")
    (device,) = tiny.evidence()["devices"]
    assert "dsp" not in {peak["unit"] for peak in device["peaks"]}
    assert device["undisclosed"] == [{"path": "units.dsp.clock", "reason": "Acme keeps it"}]


# ---- written whole or not at all


def test_evidence_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    file = tmp_path / "deep" / "evidence.json"
    build.write(file, Why(what="first", why=""))

    def breaks(self, target):
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", breaks)
        with pytest.raises(OSError, match="disk full"):
            build.write(file, Why(what="second", why=""))
    assert json.loads(file.read_text(encoding="utf-8")) == {"what": "first", "why": ""}
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_evidence_is_never_json_that_a_browser_cannot_read(tmp_path, value):
    file = tmp_path / "evidence.json"
    with pytest.raises(ValueError, match="not JSON compliant"):
        build.write(file, Share(change=0, low=value, high=None))
    assert list(tmp_path.iterdir()) == []


def test_a_figure_that_is_no_number_is_red_and_the_evidence_is_written(tiny):
    tiny.write("golden/old.yaml", REPLAY.replace("facts:", "conventions: {bandwidth_share: 0}, facts:").replace(
        "figure: peak OLD, expect: 16.4 TOP/s", "figure: breakpoint OLD, expect: 16.4 op/B"))  # fmt: skip
    document = tiny.evidence()
    row = next(row for row in document["verdicts"] if row["replay"])
    assert row["outcome"] == "fail"
    assert document["counts"]["fail"] == 1


def test_the_evidence_of_a_world_with_a_misnamed_spec_is_written(tiny):
    tiny.write("specs/hardware/acme/X2.yaml", tiny.read("specs/hardware/acme/x1.yaml"))
    document = tiny.evidence("golden/x1.yaml")
    assert document["counts"]["claims"] == 8


@pytest.mark.slow
def test_the_shipped_renderer_reads_it(red_run, script):
    result = script(red_run, "rooflint", "report", "evidence.json")
    assert result.returncode == 0, result.stderr
    assert "peak-mac_array-int8" in (red_run / "report.html").read_text(encoding="utf-8")
