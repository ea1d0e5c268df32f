"""`rooflint calibrate device`, `gemm`, `attention`, `cores`: what they print and write, and when a check fails."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from pytest_rooflint.cli import calibrate
from pytest_rooflint.cli.calibrate import app
from rooflint.base.errors import RooflintError
from rooflint.base.strict_yaml import with_value
from rooflint.cli.explain import app as explain
from rooflint.coefficients.library import Coefficients
from rooflint.hardware.registry import PACKAGED, Registry
from rooflint.kernels.chip import chip_of
from rooflint.kernels.constants import CORES as CORES_FILE
from rooflint.kernels.constants import PRODUCTS as FILE
from rooflint.kernels.constants import constants_file, read
from rooflint_calibration import anchors, fits, package
from rooflint_calibration.device_answer import DeviceCalibrationRecord
from rooflint_calibration.evaluation import Score
from rooflint_calibration.fits import Calibration, Fold
from rooflint_calibration.package import FAMILIES, NotInstalledError, devices
from rooflint_calibration.rows import Rows
from rooflint_calibration.topics import BESIDE_PRODUCTS, TOPICS
from rooflint_measure.record import Conditions, Gemm, Measurement, Samples, State, Unavailable
from rooflint_measure.recording import Machine, Recording, as_json
from rooflint_measure.stopwatches.anchors import ANCHORS, GRAPH

SHIPPED = constants_file(Registry())
FEW = ("dram_efficiency", "start_clocks")


@pytest.fixture
def specs(tmp_path):
    """A specs root with the shipped constants, of which two are fitted."""
    text = (PACKAGED / FILE).read_text(encoding="utf-8")
    lines, name = [], ""
    for line in text.splitlines():
        name = line.strip().removesuffix(":") if line.startswith("  ") and line.endswith(":") else name
        chosen = line == "    found: fitted" and name not in FEW
        lines.append("    found: chosen" if chosen else line)
    (tmp_path / FILE).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(monkeypatch, specs):
    """The command on GPUs that took what the shipped constants predict, times a factor."""

    def ran(*arguments, factor=1.0):
        def measured(topics, data, registry, progress=None):
            sizes = np.column_stack([*2.0 ** np.random.default_rng(3).integers(0, 15, (3, 200)), np.full(200, 6.0)])
            gemm, found = TOPICS["gemm"], {}
            for device in (name for family in FAMILIES for name in devices(family)):
                chip = gemm.chip(registry, device)
                seconds = factor * gemm.predict(sizes, chip, SHIPPED.constants)
                found[device] = Rows(device, gemm.columns, sizes, seconds, {"faster than light": 0}), chip
            return {"gemm": found}

        monkeypatch.setattr(fits, "measured", measured)
        monkeypatch.setattr(package, "data_folder", lambda: specs)
        monkeypatch.setattr(package, "label", lambda: "aiconfigurator-core 0.12.9")
        return CliRunner().invoke(app, ["gemm", "--specs", str(specs), *arguments], catch_exceptions=False)

    return ran


def test_a_check_reproduces_the_constants_and_writes_nothing(run, specs):
    pytest.importorskip("scipy")
    before = (specs / FILE).read_text(encoding="utf-8")
    result = run("--check", "-f", "csv")
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (0, "2 of 2 constants are reproduced within 2%")
    assert "gemm: 1800 rows; left out: none" in result.stderr
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [(row["left out"], row["regime"]) for row in rows] == [
        (family, regime) for family in FAMILIES for regime in TOPICS["gemm"].regimes
    ]
    assert {row["error %"] for row in rows} == {"0.0"}
    assert (specs / FILE).read_text(encoding="utf-8") == before


def test_a_check_fails_if_a_constant_changes(run):
    pytest.importorskip("scipy")
    result = run("--check", factor=1.3)
    assert result.exit_code == 1
    assert "products.start_clocks: the fit is +" in result.stderr
    assert result.stderr.splitlines()[-1] == "0 of 2 constants are reproduced within 2%"


def test_the_constants_and_their_folds_are_written(run, specs):
    pytest.importorskip("scipy")
    result = run(factor=1.1)
    assert result.exit_code == 0
    assert result.stderr.splitlines()[-1] == f"wrote 2 constants to {specs / FILE}"
    found = read(specs / FILE)
    values = {name: fact.value for name, fact in found.facts.items()}
    assert values["constants.dram_efficiency.value"] < SHIPPED.constants.products.dram_efficiency
    assert values["constants.overlap.value"] == SHIPPED.constants.products.overlap
    assert found.spec.constants["start_clocks"].folds["ada"] > SHIPPED.specs("products")["start_clocks"].folds["ada"]
    assert found.spec.fit.package == "aiconfigurator-core 0.12.9"
    assert [file.name for file in specs.iterdir()] == [FILE]  # nothing half-written beside it


def test_the_help_needs_no_measurements():
    result = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"}).invoke(app, ["gemm", "--help"])
    assert "score each fold on its family" in result.stdout


# ---- `rooflint calibrate cores`

GOLDEN = Path(__file__).parents[3] / "golden"


@pytest.fixture
def slow_specs(tmp_path):
    """A specs root whose ops take more energy than those of the shipped ones."""
    text = (PACKAGED / CORES_FILE).read_text(encoding="utf-8")
    changed = with_value(text, ("constants", "energy_pj", "value", 0), "30")
    (tmp_path / CORES_FILE).write_text(changed, encoding="utf-8")
    return tmp_path


def run_cores(*arguments):
    pytest.importorskip("scipy")
    return CliRunner(env={"COLUMNS": "120"}).invoke(
        app, ["cores", "--golden", str(GOLDEN), *arguments], catch_exceptions=False
    )


def test_the_shipped_constants_of_cores_are_reproduced():
    result = run_cores("--check", "-f", "csv")
    assert result.exit_code == 0, result.output
    assert "3 of 3 constants are reproduced within 2%" in result.output
    assert "volta,neusight-v100-linear,78," in result.output


def test_a_check_of_cores_names_the_constant_that_changes_and_writes_nothing(slow_specs):
    before = (slow_specs / CORES_FILE).read_text(encoding="utf-8")
    result = run_cores("--check", "--specs", str(slow_specs))
    assert result.exit_code == 1
    assert "cores.energy_pj: the fit is -37" in result.output
    assert (slow_specs / CORES_FILE).read_text(encoding="utf-8") == before


def test_without_a_check_the_file_of_cores_is_written(slow_specs):
    result = run_cores("--specs", str(slow_specs))
    assert result.exit_code == 0, result.output
    assert f"wrote 3 constants to {slow_specs / CORES_FILE}" in result.output.replace("\n", "")
    found, shipped = (read(root / CORES_FILE).spec.constants["energy_pj"] for root in (slow_specs, PACKAGED))
    assert found.folds.keys() == shipped.folds.keys()
    assert constants_file(Registry([slow_specs, PACKAGED])).constants.cores.energy_pj == pytest.approx(
        SHIPPED.constants.cores.energy_pj, rel=0.02
    )


def test_without_the_library_that_fits_it_is_said_how_to_install_it(monkeypatch):
    monkeypatch.setattr(package, "find_spec", lambda name: None)
    with pytest.raises(
        NotInstalledError,
        match=r"^scipy is not installed; in the clone of rooflint: ",
    ):
        CliRunner().invoke(app, ["cores", "--golden", str(GOLDEN), "--check"], catch_exceptions=False)


# ---- `rooflint calibrate attention`


@pytest.fixture
def run_attention(monkeypatch, tmp_path):
    """`run_attention(share, *arguments)`: the command, with a fit that finds longer launches by that share."""
    file = SHIPPED.file("stream").path
    (tmp_path / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")

    def command(share, *arguments):
        launch = SHIPPED.constants.stream.launch_clocks * (1 + share)
        constants = replace(SHIPPED.constants, stream=replace(SHIPPED.constants.stream, launch_clocks=launch))
        pair = Score(7, 0.236, -0.128), Score(7, 0.594, -0.574)
        found = Calibration(constants, {"ada": Fold(constants, {("prefill", "all"): pair})})
        monkeypatch.setattr(fits, "measured", lambda topics, *_: {topic: {} for topic in BESIDE_PRODUCTS})
        monkeypatch.setattr(calibrate, "calibrate", lambda *_, **__: found)
        monkeypatch.setattr(package, "data_folder", lambda: tmp_path)
        monkeypatch.setattr(package, "label", lambda: "aiconfigurator-core 0.12.9")
        return CliRunner().invoke(app, ["attention", *arguments, "--specs", str(tmp_path)], catch_exceptions=False)

    return command


def test_latency_and_bandwidth_alone_have_a_column_where_something_is_sent():
    pair = Score(7, 0.236, -0.128), Score(7, 0.594, -0.574)
    scores = {("all-reduce", "all"): pair, ("prefill", "all"): pair}
    fold = Fold(SHIPPED.constants, scores, alpha_beta={("all-reduce", "all"): Score(7, 0.3, 0.1)})
    found = calibrate.score_table(Calibration(SHIPPED.constants, {"ada": fold}), ("op", "left out", "part"))
    assert found.columns[-1] == "α–β error %"
    assert [(row[0], row[-1]) for row in found.rows] == [("all-reduce", "30.0"), ("prefill", "")]


def test_the_same_constants_are_reproduced_and_their_scores_printed(run_attention):
    found = run_attention(0.001, "--check", "-f", "csv")
    assert found.exit_code == 0
    assert "prefill,ada,all,7,23.6,-12.8,59.4,-57.4" in found.stdout
    assert "quantise: 0 rows; left out: none" in found.stderr
    assert "35 of 35 constants are reproduced within 2%" in found.stderr


def test_a_constant_of_a_stream_that_changes_is_named(run_attention):
    found = run_attention(0.1, "--check")
    assert found.exit_code == 1
    assert "stream.launch_clocks: the fit is +10.0% from the committed one" in found.stderr


@pytest.mark.slow
def test_the_file_is_written_only_from_the_package(run_attention, tmp_path):
    file = SHIPPED.file("stream").path
    assert run_attention(0.1, "--data", str(tmp_path)).exit_code == 0
    assert (tmp_path / file.name).read_text(encoding="utf-8") == file.read_text(encoding="utf-8")
    assert "wrote 35 constants" in run_attention(0.1).stderr
    assert "package: aiconfigurator-core 0.12.9" in (tmp_path / file.name).read_text(encoding="utf-8")


# ---- `rooflint calibrate device` on synthetic recordings: predictions times a factor


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
def record(tmp_path, published):
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


@pytest.fixture
def published(monkeypatch):
    """Rows that an L40S took according to the shared constants, times 1.2; no package is read."""

    def read(data, device, its_chip):
        sizes = np.array([*EVERY, *(2.0 ** np.random.default_rng(3).integers(0, 15, (200, 3)))], float)
        some = np.column_stack([sizes, np.full(len(sizes), 6.0)])
        return Rows(device, GEMM.columns, some, 1.2 * GEMM.predict(some, its_chip, CONSTANTS))

    monkeypatch.setattr(package, "data_folder", lambda: None)
    monkeypatch.setattr(anchors, "TOPICS", {"gemm": replace(GEMM, read=read)})


def calibrate_device(*arguments, command=app):
    words = ["device", *map(str, arguments)] if command is app else ["gemm", *map(str, arguments)]
    result = CliRunner(env={"COLUMNS": "100", "NO_COLOR": "1"}).invoke(command, words)
    if isinstance(result.exception, RooflintError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


def test_a_slower_machine_gets_slower_figures_and_less_error(record):
    found = json.loads(calibrate_device(record(1.2), "-f", "json").stdout)
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
    text = calibrate_device(record()).stdout
    for heading in ("Own figures", "Products", "Benefit", "Summary", "How to read it"):
        assert f"\n{heading} ─" in text
    assert "8 × 16384 × 16384" in text
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.slow
def test_explain_reads_the_saved_file(record, tmp_path):
    mine = tmp_path / "mine.yaml"
    found = json.loads(calibrate_device(record(1.2), "-f", "json", "--save", mine).stdout)
    example = next(one for one in found["products"] if one["measured_s"] is None)
    sizes = [example[name] for name in "mnk"]
    told = json.loads(calibrate_device(*sizes, "-d", L40S, "--calibration", mine, "-f", "json", command=explain).stdout)
    # the file keeps four digits
    assert told["latency_s"] == pytest.approx(example["after_s"], rel=1e-3)
    assert told["latency_low_s"] <= told["latency_s"] * (1 + 1e-9) <= told["latency_high_s"] * (1 + 2e-9)
    # a product that is nothing but its launch is of the machine's own, whatever the family left out
    tiny = json.loads(
        calibrate_device(1, 1, 1, "-d", L40S, "--calibration", mine, "-f", "json", command=explain).stdout
    )
    assert tiny["latency_high_s"] / tiny["latency_low_s"] < 1.01
    assert {"launch", "matrix_factor", "dram_efficiency"} < {fact["path"] for fact in told["facts"]}
    assert (
        "calibrated on NVIDIA L40S"
        in calibrate_device(*sizes, "-d", L40S, "--calibration", mine, command=explain).stdout
    )
    with pytest.raises(
        RooflintError, match=r"mine\.yaml:3  hardware: want nvidia/l4, which was asked for, found nvidia/l40s"
    ):
        calibrate_device(*sizes, "-d", L4, "--calibration", mine, command=explain)


def test_figures_outside_the_range_of_any_gpu_are_not_saved(record, tmp_path):
    mine = tmp_path / "mine.yaml"
    with pytest.raises(RooflintError, match=r"mine\.yaml: not written, because the figures are impossible for a GPU: "):
        calibrate_device(record(1e6), "--save", mine)
    assert not mine.exists()


@pytest.mark.slow
def test_figures_of_matrix_units_are_carried_over_with_a_word_and_never_to_cuda_cores(record, tmp_path):
    mine = tmp_path / "mine.yaml"
    calibrate_device(record(1.2), "--save", mine)
    explained = [
        " ".join(
            calibrate_device(
                256, 256, 256, "-d", L40S, "-p", name, "--calibration", mine, command=explain
            ).stdout.split()
        )
        for name in ("bf16", "fp16")
    ]
    word = "the machine was calibrated in bf16; its figures are used unchanged"
    assert [word in text for text in explained] == [False, True]
    with pytest.raises(RooflintError, match=r"mine\.yaml:4  precision: want a product on matrix units, .* CUDA cores"):
        calibrate_device(256, 256, 256, "-d", L40S, "-p", "fp32", "--calibration", mine, command=explain)


def test_a_missing_kind_is_listed_with_the_command_that_measures_it(record):
    file = record(sizes=ANCHORS["streaming"], left_out={"null bf16 256x256x256": "no graph here"})
    text = " ".join(calibrate_device(file).stdout.split())
    assert "null: no graph here; launch, kernel to kernel keeps the shared value" in text
    assert "peak: not recorded; factor on matrix units and power keeps the shared value" in text
    assert "rooflint measure anchors --device cuda" in text
    assert "streaming: " not in text


def test_a_recording_without_products_in_graphs_is_refused(record):
    alone = product((512, 512, 512), 1e-5).model_copy(update={"details": {}})
    with pytest.raises(
        RooflintError, match=r"json: want null, peak, streaming products in bf16 or fp16, .* found none"
    ):
        calibrate_device(record(rows=(alone,)))


def test_a_batch_of_products_is_not_an_anchor(record):
    one = product(EVERY[0], 3e-6)
    batched = one.model_copy(update={"subject": one.subject.model_copy(update={"batch": 8})})
    with pytest.raises(RooflintError, match="each a kernel of a graph, found none"):
        calibrate_device(record(rows=(batched,)))


def test_a_cpu_is_refused(record):
    with pytest.raises(
        RooflintError, match=r"want a recording of a GPU, found one of a cpu \(AMD EPYC\); kernel times"
    ):
        calibrate_device(record(name="AMD EPYC", kind="cpu"))


def test_a_machine_of_an_unknown_name_is_given_by_hand(record):
    file = record(name="a card without a name")
    with pytest.raises(RooflintError, match="cannot identify 'a card without a name'; add --hardware ID"):
        calibrate_device(file)
    assert "nvidia/l40s, bf16" in calibrate_device(file, "--hardware", L40S).stdout


def test_a_device_without_published_rows_is_reported(record):
    text = " ".join(calibrate_device(record(device=L4, name="NVIDIA L4")).stdout.split())
    assert "no bf16 products of nvidia/l4 are published; --published shows other GPUs" in text


def test_without_the_package_the_gpu_is_calibrated_without_a_benefit(record, monkeypatch):
    def missing():
        raise NotInstalledError("aiconfigurator-core 0.12 is not installed")

    monkeypatch.setattr(package, "data_folder", missing)
    assert "aiconfigurator-core 0.12 is not installed" in " ".join(calibrate_device(record()).stdout.split())


def test_a_product_with_disturbed_samples_only_is_listed(record):
    busy = product((8, 16384, 16384), 1e-3, throttled={0: ("sw_power_cap",), 1: ("sw_power_cap",)})
    text = " ".join(calibrate_device(record(rows=(busy,))).stdout.split())
    assert "gemm-bf16-synthetic-8x16384x16384-6w: every sample was disturbed" in text


@pytest.mark.slow
@pytest.mark.usefixtures("published")
def test_every_published_gpu_is_calibrated_by_its_own_rows():
    found = json.loads(calibrate_device("--published", "-f", "json").stdout)
    DeviceCalibrationRecord.model_validate_json(json.dumps(found))
    assert len({one["device"] for one in found["benefits"]}) == 9
    assert len(calibrate_device("--published", "-f", "csv").stdout.splitlines()) == 1 + 9 * 4


@pytest.mark.usefixtures("published")
@pytest.mark.parametrize("arguments", [(), ("--published", "x.json"), ("--published", "--save", "x.yaml")])
def test_a_recording_or_the_published_ones(arguments):
    with pytest.raises(RooflintError, match="want a recording of a GPU, or --published by itself"):
        calibrate_device(*arguments)


def test_a_file_that_cannot_be_written_is_one_sentence(record, tmp_path):
    with pytest.raises(RooflintError, match="cannot be written"):
        calibrate_device(record(), "--save", tmp_path)
