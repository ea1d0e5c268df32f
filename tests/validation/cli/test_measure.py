"""`rooflint measure` and `rooflint measure compare`: what they print, record and refuse, and which status they give."""

import json
import sys

import pytest
from rich.text import Text
from typer.testing import CliRunner

from pytest_rooflint.cli import recorder
from pytest_rooflint.cli.measure import app
from pytest_rooflint.recordings import network_runs, runs
from pytest_rooflint.recordings.account import account
from rooflint.base.errors import RooflintError
from rooflint.hardware.registry import Registry
from rooflint_measure.record import Gemm, Network, Stream, Wait
from rooflint_measure.recording import Machine, Recording, read, write
from rooflint_measure.stopwatches import gemm, products
from rooflint_measure.stopwatches.gemm import NotMeasuredError
from rooflint_measure.stopwatches.network import ATTENTION, DTYPES, MODES, QUANTIZED
from rooflint_measure.stopwatches.timing import Plan, measure

PLAN = Plan(sample_s=0.02, samples=3, warm_up_s=0.02, limit_s=100.0)
T4 = "nvidia/t4"


class FakeClock:
    def __init__(self, *costs_s):
        self.costs_s = costs_s

    def seconds(self, call, calls):
        return self.costs_s[call()] * calls


@pytest.fixture
def device(monkeypatch, stand_in):
    """`device("Tesla T4")`: what the driver says that the machine is, from now on."""

    def named(name):
        monkeypatch.setattr(recorder, "observer", lambda device="cpu": stand_in(device=name))

    named("a CPU")
    return named


@pytest.fixture
def rows(stand_in):
    """A product, a pass, a network with its reference, and a wait, at round times."""

    def row(subject, seconds, *, reference=None, **more):
        pair = (reference, lambda: 1) if reference else None
        clock = FakeClock(seconds, 0.05)
        return measure(subject, lambda: 0, observer=stand_in(), plan=PLAN, clock=clock, reference=pair, **more)

    product = Gemm(precision="fp16", library="cublas", m=1000, n=1000, k=1000)
    resnet = Network(name="resnet18", batch=1, precision="fp16", library="torch", macs=10**9)
    return {
        "gemm": row(product, 0.05),
        "stream": row(Stream(kernel="copy", library="torch", array_bytes=10**9), 0.01, bytes_moved=2e9),
        "network": row(resnet, 0.1, reference=product),
        "wait": row(Wait(wanted_s=0.02), 0.02, details={"waited_s": 0.02, "bias": 0.001}),
    }


@pytest.fixture
def stopwatches(monkeypatch, rows):
    """None of them runs: each brings the row of its kind, and something is left out."""
    for kind, name in (("wait", "waits"), ("gemm", "gemms"), ("stream", "streams"), ("network", "networks")):
        home = network_runs if kind == "network" else runs

        def bring(*arguments, kind=kind):
            results = next(one for one in arguments if isinstance(one, runs.Results))
            if results.counting:
                return
            results.measurements.append(rows[kind])
            results.left_out["gemm fp8"] = "a fake has no fp8"

        monkeypatch.setattr(home, name, bring)


@pytest.fixture
def recording(rows, stand_in):
    return Recording(
        taken="2026-11-20T14:00:00Z",
        command="rooflint measure record",
        rooflint="0.1.0",
        machine=Machine(device="Tesla T4", kind="gpu", count=1, software={"torch": "2.13.0"}),
        measurements=tuple(rows.values()),
        left_out={"gemm fp8": "a fake has no fp8"},
    )


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "80"})
    if isinstance(result.exception, RooflintError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def test_what_exceeds_the_peak_is_said_to_be_a_finding(recording):
    samples = recording.measurements[0].samples.model_copy(update={"seconds": (1e-9,)})
    fast = recording.measurements[0].model_copy(update={"samples": samples})
    found = account(recording.model_copy(update={"measurements": (fast,)}), Registry.of(()).get(T4))
    (above,) = [section for section in found.sections if section.heading == "Above what the spec derives"]
    assert "of nvidia/t4 is too low" in above.sentences[0]


# -------------------------------------------------------------------------------------------------------------- account


def test_a_recording_is_shown_in_eighty_columns_with_every_kind(tmp_path, recording):
    text = run("show", str(write(tmp_path, recording)))
    assert max(map(len, text.splitlines())) <= 80
    for heading in ("Matrix products", "Memory", "Networks", "Busy-waits", "Conditions", "Left out"):
        assert heading in text
    assert "compared with nvidia/t4" in text
    assert "gemm fp8: a fake has no fp8" in text


def test_a_device_that_nobody_knows_has_no_shares(tmp_path, recording):
    machine = recording.machine.model_copy(update={"device": "Tesla T5"})
    text = run("show", str(write(tmp_path, recording.model_copy(update={"machine": machine}))))
    assert "no device of exactly that name" in text
    assert "compared with" not in text


def test_a_device_is_stated_by_hand_and_by_its_exact_id(tmp_path, recording):
    file = str(write(tmp_path, recording))
    assert "compared with nvidia/l4" in run("show", file, "--hardware", "nvidia/l4")
    with pytest.raises(RooflintError, match=r"want the exact id of a device, such as .*, found 'l4'"):
        run("show", file, "--hardware", "l4")


def test_json_is_the_recording_itself(tmp_path, recording):
    file = write(tmp_path, recording)
    (tmp_path / "again.json").write_text(run("show", str(file), "-f", "json"), encoding="utf-8")
    assert read(tmp_path / "again.json") == recording


@pytest.mark.slow
@pytest.mark.parametrize("form", ["text", "json", "csv", "md", "html"])
def test_every_format_is_there(tmp_path, recording, form):
    assert "resnet18" in run("show", str(write(tmp_path, recording)), "-f", form)


def test_csv_has_a_row_a_measurement_in_base_units(tmp_path, recording):
    header, first, *_ = run("show", str(write(tmp_path, recording)), "-f", "csv").splitlines()
    row = dict(zip(header.split(","), first.split(","), strict=True))
    assert (row["name"], row["ops"], float(row["best_s"])) == ("gemm-fp16-cublas-1000x1000x1000", "2000000000", 0.05)


def test_a_machine_that_others_work_on_says_so(recording):
    # 13 runnable tasks on 2 CPUs
    recording = recording.model_copy(update={"machine": Machine(device="a CPU", kind="cpu", count=2)})
    row = recording.measurements[0]
    busy = row.conditions.before.model_copy(update={"load": 13.0})
    row = row.model_copy(update={"conditions": row.conditions.model_copy(update={"before": busy})})
    found = account(recording.model_copy(update={"measurements": (row,)}), None)
    (conditions,) = [section for section in found.sections if section.heading == "Conditions"]
    assert "up to 13 runnable tasks on 2 CPUs: other processes ran" in " ".join(conditions.sentences)


# -------------------------------------------------------------------------------------------------------------- measure


@pytest.mark.parametrize("command", [["wait"], ["gemm"], ["bandwidth"], ["network", "resnet18"]])
def test_every_command_measures_and_tells(device, stopwatches, command):
    assert "Measured on a CPU" in run(*command)


def test_a_device_that_is_not_there_is_told_before_an_hour_on_another(device, stopwatches, monkeypatch):
    monkeypatch.setattr(network_runs, "networks", lambda *_: pytest.fail("measured all the same"))
    monkeypatch.setattr(products, "has_torch", lambda: False)
    with pytest.raises(RooflintError, match="--device cuda: torch is not installed"):
        run("network", "resnet18", "--device", "cpu", "--device", "cuda")


def test_several_devices_share_the_budget_and_are_shown_side_by_side(tmp_path, device, rows, monkeypatch):
    asked = []

    def networks(request, sweep, results):
        if not results.counting:
            asked.append((request.device, request.budget_s))
            results.measurements.append(rows["network"])

    monkeypatch.setattr(network_runs, "networks", networks)
    monkeypatch.setattr(runs, "prepare", lambda request: None)
    devices = ("--device", "cuda:0", "--device", "cuda:1", "--device", "cuda:0")
    both = tmp_path / "both.json"
    run("network", "resnet18", *devices, "--budget", "10m", "-o", str(both))
    assert "Measured side by side" in run("show", str(both))
    # half of the ten minutes for the first, and what it leaves for the second
    (first, first_s), (second, second_s) = asked
    assert (first, second) == ("cuda:0", "cuda:1")
    assert first_s <= 300 < second_s <= 600


def test_a_record_is_added_below_the_device_that_it_is_of(tmp_path, device, stopwatches):
    device("Tesla T4")
    assert run("record", "--golden", str(tmp_path)).startswith("# Measured on Tesla T4")
    (file,) = (tmp_path / "measured" / T4).iterdir()
    assert len(read(file).measurements) == 4
    for _ in range(2):  # within the same second, or not
        run("record", "--golden", str(tmp_path))
    assert len([*(tmp_path / "measured" / T4).iterdir()]) == 3


def test_a_record_has_networks_in_every_mode_that_is_asked_for(tmp_path, device, stopwatches, monkeypatch):
    device("Tesla T4")
    asked = []
    monkeypatch.setattr(network_runs, "networks", lambda request, sweep, results: asked.append(sweep.modes))
    run("record", "--golden", str(tmp_path), "--mode", "eager", "--mode", "compile+channels_last")
    assert set(asked) == {("eager", "compile+channels_last")}


def test_a_record_of_a_slice_of_a_socket_goes_to_no_device(tmp_path, device, stopwatches):
    text = run("record", "--golden", str(tmp_path), "--hardware", "amd/epyc-9654")
    assert "of the 96 cores of amd/epyc-9654" in " ".join(text.split())
    assert len([*(tmp_path / "measured" / "unknown").iterdir()]) == 1


def test_a_folder_that_cannot_be_written_is_said_before_anything_is_measured(tmp_path, device, monkeypatch):
    (tmp_path / "golden").mkdir()
    (tmp_path / "golden" / "measured").write_text("a file in the place of the folder", encoding="utf-8")
    monkeypatch.setattr(runs, "waits", lambda *_: pytest.fail("measured all the same"))
    with pytest.raises(RooflintError, match="measured: cannot be written"):
        run("record", "--golden", str(tmp_path / "golden"))


def test_a_mistyped_golden_folder_is_refused_and_not_made(tmp_path, device):
    with pytest.raises(RooflintError, match="no such folder; create it, or name the folder of golden files"):
        run("record", "--golden", str(tmp_path / "gloden"))
    assert [*tmp_path.iterdir()] == []


def test_a_record_of_an_unknown_device_says_unknown(tmp_path, device, stopwatches):
    run("record", "--golden", str(tmp_path))
    assert len([*(tmp_path / "measured" / "unknown").iterdir()]) == 1


def test_a_wrong_id_is_said_before_anything_is_measured(tmp_path, device):
    with pytest.raises(RooflintError, match="want the exact id"):
        run("record", "--golden", str(tmp_path), "--hardware", "h100")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gemm", "--device", "gpu"], "--device: want cpu, cuda, cuda:1 or mps, found 'gpu'"),
        (["gemm", "-p", "fp31"], "unknown precision 'fp31'"),
        (["gemm", "--library", "atlas"], "nothing was measured"),
        (["wait", "0"], "want a wait above 0 and up to 60 s"),
        (["anchors", "--device", "cpu"], "anchors calibrate silicon, which is for GPUs"),
    ],
)
def test_what_cannot_be_measured_is_one_sentence(device, arguments, message):
    with pytest.raises(RooflintError, match=message) as caught:
        run(*arguments, "--seconds", "0.1")
    assert "\n" not in str(caught.value)


def test_a_folder_is_no_part_of_the_command_that_is_kept(monkeypatch, device, stopwatches):
    monkeypatch.setattr(
        sys, "argv", ["rooflint", "measure", "wait", "-o", "/home/somebody/r.json", "--specs=/srv/me/s"]
    )
    assert json.loads(run("wait", "-f", "json"))["command"] == "rooflint measure wait -o r.json --specs=s"


def test_what_is_refused_is_left_out_with_its_reason(stand_in):
    def refused():
        raise NotMeasuredError("too slow")

    results = runs.Results(stand_in())
    results.add("gemm fp16", refused)
    assert (results.measurements, results.left_out) == ([], {"gemm fp16": "too slow"})


@pytest.mark.slow
def test_products_are_asked_for_by_precision_and_library(monkeypatch, stand_in, rows):
    def refused(shape):
        raise RuntimeError("no such kernel")

    kernels = [
        products.Kernel("fp32", "a", "cpu", {"mm": lambda shape: lambda: None}),
        products.Kernel("fp64", "a", "cpu", {"mm": lambda shape: lambda: None}),
        products.Kernel("fp64", "b", "cpu", {"mm": refused}),
        products.Kernel("int8", "b", "cpu", {"mm": refused}),
    ]
    monkeypatch.setattr(products, "kernels", lambda device: kernels)
    monkeypatch.setattr(products, "has_torch", lambda: True)
    asked = []
    monkeypatch.setattr(gemm, "peak", lambda kernel, search_s: None)
    monkeypatch.setattr(gemm, "measured", lambda kernel, **_: asked.append(kernel.name) or rows["gemm"])
    results = runs.Results(stand_in())
    runs.gemms(runs.Request(precisions=("fp64", "fp8")), results)
    assert asked == ["fp64 a"]
    assert results.left_out == {
        "gemm fp64 b": "no such kernel",
        "gemm fp8": "no installed library among the requested ones multiplies in it here",
    }


def test_a_run_without_any_figure_says_what_was_left_out_and_why():
    with pytest.raises(RooflintError, match=r"nothing was measured \(gemm fp16: too slow; stream: no memory\)"):
        recorder.measured(
            runs.Request(), lambda found: found.left_out.update({"gemm fp16": "too slow", "stream": "no memory"})
        )
    with pytest.raises(RooflintError, match=r"nothing was measured \(no installed library matches the options\)"):
        recorder.measured(runs.Request(), lambda found: None)


@pytest.mark.parametrize(
    ("arguments", "lengths"), [(("20", "2500"), [2e-5, 2.5e-3]), ((), [2e-5, 1e-3]), (("60000000",), [60.0])]
)
def test_waits_are_asked_for_in_microseconds(recording, monkeypatch, arguments, lengths):
    asked = []

    def waits(request, wanted_s, results):
        if results.counting:
            return
        asked.append((request.seconds, pytest.approx(wanted_s)))
        results.measurements.append(recording.measurements[0])

    monkeypatch.setattr(runs, "waits", waits)
    run("wait", *arguments, "--seconds", "3")
    assert asked == [(3.0, lengths)]


@pytest.mark.parametrize(
    "word", [*DTYPES, *QUANTIZED, *MODES, *ATTENTION, "inference mode", "mps", "--cpus", "--batch"]
)
def test_help_of_networks_names_every_way_to_run_one(word):
    found = CliRunner().invoke(app, ["network", "--help"], env={"COLUMNS": "400"})
    assert word in Text.from_ansi(found.stdout).plain  # in colour where GitHub runs
