"""`rooflint calibrate device` on synthetic recordings: predictions times a factor."""

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from pytest_rooflint.cli.calibrate import app
from rooflint.base.errors import RooflintError
from rooflint.cli.explain import app as explain
from rooflint.coefficients.library import Coefficients
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import chip_of
from rooflint.kernels.constants import constants_file
from rooflint_calibration import anchors, package
from rooflint_calibration.device_answer import DeviceCalibrationRecord
from rooflint_calibration.package import NotInstalledError
from rooflint_calibration.rows import Rows
from rooflint_calibration.topics import TOPICS
from rooflint_measure.record import (
    Conditions,
    Gemm,
    Machine,
    Measurement,
    Recording,
    Samples,
    State,
    Unavailable,
    as_json,
)
from rooflint_measure.stopwatches.anchors import ANCHORS, GRAPH

L40S, L4 = "nvidia/l40s", "nvidia/l4"
NOBODY = Unavailable(reason="a synthetic recording")
EVERY = [shape for of_kind in ANCHORS.values() for shape in of_kind]
REGISTRY = Registry()
GEMM = TOPICS["gemm"]
CONSTANTS = constants_file(REGISTRY).constants


def chip(device, precision="bf16"):
    return chip_of(REGISTRY.get(device), precision, Coefficients(REGISTRY).launches())


def product(shape, seconds, precision="bf16", **more):
    m, n, k = shape
    state = State(clock_hz=1e9, clock_source="synthetic")
    return Measurement(
        subject=Gemm(precision=precision, library="synthetic", m=m, n=n, k=k, weight_copies=6),
        samples=Samples(seconds=(1.1 * seconds, seconds), calls=10, **more),
        conditions=Conditions(before=state, after=state, threads=1, affinity=(0,)),
        energy=NOBODY,
        details={GRAPH: 6},
    )


@pytest.fixture
def record(tmp_path):
    """`record(factor, shapes, …)`: a file in which a machine took so many times what is predicted."""

    def write(factor=1.1, sizes=EVERY, device=L40S, name="NVIDIA L40S", kind="gpu", rows=None, **more):
        some = np.column_stack([np.array(sizes, float), np.full(len(sizes), 6.0)])
        seconds = factor * GEMM.predict(some, chip(device), CONSTANTS)
        found = rows or tuple(product(*one) for one in zip(sizes, seconds.tolist(), strict=True))
        recording = Recording(
            taken="2026-11-20T14:00:00Z",
            command="a synthetic recording",
            rooflint="0.1.0",
            machine=Machine(device=name, kind=kind, count=1),
            measurements=found,
            **more,
        )
        file = tmp_path / recording.file_name
        file.write_text(as_json(recording), encoding="utf-8")
        return file

    return write


@pytest.fixture(autouse=True)
def published(monkeypatch):
    """Rows that an L40S took according to the shared constants, times 1.2; no package is read."""

    def read(data, device, its_chip):
        sizes = np.array([*EVERY, *(2.0 ** np.random.default_rng(3).integers(0, 15, (200, 3)))], float)
        some = np.column_stack([sizes, np.full(len(sizes), 6.0)])
        return Rows(device, GEMM.columns, some, 1.2 * GEMM.predict(some, its_chip, CONSTANTS))

    monkeypatch.setattr(package, "data_folder", lambda: None)
    monkeypatch.setattr(anchors, "TOPICS", {"gemm": replace(GEMM, read=read)})


def run(*arguments, command=app):
    words = ["device", *map(str, arguments)] if command is app else ["gemm", *map(str, arguments)]
    result = CliRunner(env={"COLUMNS": "100", "NO_COLOR": "1"}).invoke(command, words)
    if isinstance(result.exception, RooflintError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


def test_a_slower_machine_gets_slower_figures_and_less_error(record):
    found = json.loads(run(record(1.2), "-f", "json").stdout)
    DeviceCalibrationRecord.model_validate_json(json.dumps(found))
    own = {one["quantity"]: one for one in found["own"]}
    assert own["launch_s"]["own"] > own["launch_s"]["shared"]
    assert own["matrix_factor"]["own"] < own["matrix_factor"]["shared"] == 1
    assert own["dram_efficiency"]["own"] < own["dram_efficiency"]["shared"]
    assert {one["regime"]: one["error_after"] < one["error_before"] for one in found["benefits"]} == dict.fromkeys(
        ("all", "large", "small", "narrow"), True
    )
    assert all(one["after_s"] > one["before_s"] for one in found["products"])


def test_text_shows_figures_products_and_benefit(record):
    text = run(record()).stdout
    for heading in ("Own figures", "Products", "Benefit", "Summary", "How to read it"):
        assert f"\n{heading} ─" in text
    assert "8 × 16384 × 16384" in text
    assert max(map(len, text.splitlines())) <= 100


def test_explain_reads_the_saved_file(record, tmp_path):
    mine = tmp_path / "mine.yaml"
    found = json.loads(run(record(1.2), "-f", "json", "--save", mine).stdout)
    example = next(one for one in found["products"] if one["measured_s"] is None)
    sizes = [example[name] for name in "mnk"]
    told = json.loads(run(*sizes, "-d", L40S, "--calibration", mine, "-f", "json", command=explain).stdout)
    # the file keeps four digits
    assert told["latency_s"] == pytest.approx(example["after_s"], rel=1e-3)
    assert told["latency_low_s"] <= told["latency_s"] * (1 + 1e-9) <= told["latency_high_s"] * (1 + 2e-9)
    # a product that is nothing but its launch is of the machine's own, whatever the family left out
    tiny = json.loads(run(1, 1, 1, "-d", L40S, "--calibration", mine, "-f", "json", command=explain).stdout)
    assert tiny["latency_high_s"] / tiny["latency_low_s"] < 1.01
    assert {"launch", "matrix_factor", "dram_efficiency"} < {fact["path"] for fact in told["facts"]}
    assert "calibrated on NVIDIA L40S" in run(*sizes, "-d", L40S, "--calibration", mine, command=explain).stdout
    with pytest.raises(
        RooflintError, match=r"mine\.yaml:3  hardware: want nvidia/l4, which was asked for, found nvidia/l40s"
    ):
        run(*sizes, "-d", L4, "--calibration", mine, command=explain)


def test_figures_outside_the_range_of_any_gpu_are_not_saved(record, tmp_path):
    mine = tmp_path / "mine.yaml"
    with pytest.raises(RooflintError, match=r"mine\.yaml: not written, because the figures are impossible for a GPU: "):
        run(record(1e6), "--save", mine)
    assert not mine.exists()


def test_figures_of_matrix_units_are_carried_over_with_a_word_and_never_to_cuda_cores(record, tmp_path):
    mine = tmp_path / "mine.yaml"
    run(record(1.2), "--save", mine)
    explained = [
        " ".join(run(256, 256, 256, "-d", L40S, "-p", name, "--calibration", mine, command=explain).stdout.split())
        for name in ("bf16", "fp16")
    ]
    word = "the machine was calibrated in bf16; its figures are used unchanged"
    assert [word in text for text in explained] == [False, True]
    with pytest.raises(RooflintError, match=r"mine\.yaml:4  precision: want a product on matrix units, .* CUDA cores"):
        run(256, 256, 256, "-d", L40S, "-p", "fp32", "--calibration", mine, command=explain)


def test_a_missing_kind_is_listed_with_the_command_that_measures_it(record):
    file = record(sizes=ANCHORS["streaming"], left_out={"null bf16 256x256x256": "no graph here"})
    text = " ".join(run(file).stdout.split())
    assert "null: no graph here; launch, kernel to kernel keeps the shared value" in text
    assert "peak: not recorded; factor on matrix units and power keeps the shared value" in text
    assert "rooflint measure anchors --device cuda" in text
    assert "streaming: " not in text


def test_a_recording_without_products_in_graphs_is_refused(record):
    alone = product((512, 512, 512), 1e-5).model_copy(update={"details": {}})
    with pytest.raises(
        RooflintError, match=r"json: want null, peak, streaming products in bf16 or fp16, .* found none"
    ):
        run(record(rows=(alone,)))


def test_a_batch_of_products_is_not_an_anchor(record):
    one = product(EVERY[0], 3e-6)
    batched = one.model_copy(update={"subject": one.subject.model_copy(update={"batch": 8})})
    with pytest.raises(RooflintError, match="each a kernel of a graph, found none"):
        run(record(rows=(batched,)))


def test_a_cpu_is_refused(record):
    with pytest.raises(
        RooflintError, match=r"want a recording of a GPU, found one of a cpu \(AMD EPYC\); kernel times"
    ):
        run(record(name="AMD EPYC", kind="cpu"))


def test_a_machine_of_an_unknown_name_is_given_by_hand(record):
    file = record(name="a card without a name")
    with pytest.raises(RooflintError, match="cannot identify 'a card without a name'; add --hardware ID"):
        run(file)
    assert "nvidia/l40s, bf16" in run(file, "--hardware", L40S).stdout


def test_a_device_without_published_rows_is_reported(record):
    text = " ".join(run(record(device=L4, name="NVIDIA L4")).stdout.split())
    assert "no bf16 products of nvidia/l4 are published; --published shows other GPUs" in text


def test_without_the_package_the_gpu_is_calibrated_without_a_benefit(record, monkeypatch):
    def missing():
        raise NotInstalledError("aiconfigurator-core 0.12 is not installed")

    monkeypatch.setattr(package, "data_folder", missing)
    assert "aiconfigurator-core 0.12 is not installed" in " ".join(run(record()).stdout.split())


def test_a_product_with_disturbed_samples_only_is_listed(record):
    busy = product((8, 16384, 16384), 1e-3, throttled={0: ("sw_power_cap",), 1: ("sw_power_cap",)})
    text = " ".join(run(record(rows=(busy,))).stdout.split())
    assert "gemm-bf16-synthetic-8x16384x16384-6w: every sample was disturbed" in text


def test_every_published_gpu_is_calibrated_by_its_own_rows():
    found = json.loads(run("--published", "-f", "json").stdout)
    DeviceCalibrationRecord.model_validate_json(json.dumps(found))
    assert len({one["device"] for one in found["benefits"]}) == 9
    assert len(run("--published", "-f", "csv").stdout.splitlines()) == 1 + 9 * 4


@pytest.mark.parametrize("arguments", [(), ("--published", "x.json"), ("--published", "--save", "x.yaml")])
def test_a_recording_or_the_published_ones(arguments):
    with pytest.raises(RooflintError, match="want a recording of a GPU, or --published by itself"):
        run(*arguments)


def test_a_file_that_cannot_be_written_is_one_sentence(record, tmp_path):
    with pytest.raises(RooflintError, match="cannot be written"):
        run(record(), "--save", tmp_path)
