"""The first hour as a user runs it, in a process of its own on a FAKE of a GPU: killed, hung, cut by a driver."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.validation.recordings.rehearsal import ALL

from pytest_rooflint.recordings.journal import Journal
from rooflint_measure.recording import read

pytestmark = pytest.mark.slow  # an hour in seconds, but in seconds that pass

ROOT = Path(__file__).parents[3]


@pytest.fixture
def rehearse(tmp_path):
    """`rehearse("kill", "resnet18 b1")`: the command with a fault at a figure."""
    (tmp_path / "golden").mkdir()

    def run(fault="none", name="", *words):
        fixed = ["--golden", str(tmp_path / "golden"), "--journal", str(tmp_path / "hour.jsonl")]
        power = [] if "--energy" in words else ["--energy", "0"]
        command = [sys.executable, "-m", "tests.validation.recordings.rehearsal", fault, name, *fixed, *power, *words]
        return subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False, timeout=120)

    return run


def recorded(tmp_path):
    return [read(file) for file in (tmp_path / "golden/measured/unknown").glob("*.json")]


def test_kill_9_in_the_middle_loses_the_figure_of_that_moment_and_the_same_command_goes_on(rehearse, tmp_path):
    assert rehearse("kill", "resnet18 b1 graph").returncode == -9
    assert len(Journal.read(tmp_path / "hour.jsonl").measurements) == 16
    assert recorded(tmp_path) == []
    again = rehearse()
    assert again.returncode == 0, again.stderr
    # 12 figures of the steps before and two networks at both batches were there; the total is that of the first run
    assert f"[17/{ALL}] network resnet18 fp16 b1 graph: 1 ms" in again.stderr
    (found,) = recorded(tmp_path)
    assert (len(found.measurements), found.left_out) == (ALL, {})
    assert not (tmp_path / "hour.jsonl").exists()


def test_a_driver_that_fails_leaves_an_account_of_what_there_is_and_finish_makes_it_a_recording(rehearse, tmp_path):
    cut = rehearse("driver", "resnet18 b32", "--hardware", "nvidia/h100-sxm5-80gb")
    assert cut.returncode == 3, cut.stderr
    assert "The first hour with NVIDIA Fake 9000" in cut.stdout
    assert "Not complete: the device no longer answers: CUDA error" in " ".join(cut.stdout.split())
    assert "rate <= peak         holds" in cut.stdout
    assert "with --finish it writes the recording without the rest" in cut.stderr
    assert recorded(tmp_path) == []
    kept = len(Journal.read(tmp_path / "hour.jsonl").measurements)
    done = rehearse("none", "", "--finish")
    assert done.returncode == 0, done.stderr
    (found,) = recorded(tmp_path)
    assert (len(found.measurements), found.machine.device) == (kept, "NVIDIA Fake 9000")
    assert not (tmp_path / "hour.jsonl").exists()


def test_a_driver_that_does_not_return_ends_with_the_time_and_loses_nothing(rehearse, tmp_path):
    hung = rehearse("hang", "gemm", "--budget", "12s")
    assert hung.returncode == 3, hung.stderr
    assert "gemm fp16 cublas does not return" in hung.stderr
    assert "kept in" in hung.stderr
    assert len(Journal.read(tmp_path / "hour.jsonl").measurements) in (1, 2)  # the waits, as far as the load lets them


def test_what_changes_meanwhile_is_in_the_account(rehearse, tmp_path):
    found = rehearse("neighbour", "resnet18 b1")
    assert found.returncode == 0, found.stderr
    assert "Meanwhile" in found.stdout
    assert "neighbours: 1 other process on the GPU, with 5120 MiB (before network alexnet" in found.stdout


def test_power_is_metered_and_a_cap_below_it_breaks_a_law_with_the_reason(rehearse, tmp_path):
    device = ["--hardware", "nvidia/h100-sxm5-80gb", "--energy", "0.5"]
    whole = rehearse("none", "", *device)
    assert whole.returncode == 0, whole.stderr
    # the fake takes 400 W of 700, idle and at work alike
    assert re.search(r"gemm-fp16-\S+ +(39\d|40\d|4\d\d) W", whole.stdout)
    assert re.search(r"power <= limit +holds +1 +0", whole.stdout)
    capped = rehearse("cap", "gemm", *device)
    assert re.search(r"power <= limit +fails +0 +1", capped.stdout)
    assert "gemm-fp16-cublas-512x512x512" in capped.stdout.partition("Why they fail")[2]
    assert "power limit: 350 W (before stream triad torch)" in capped.stdout
    found = read(next((tmp_path / "golden/measured/nvidia/h100-sxm5-80gb").glob("*.json")))
    assert {one.energy.source for one in found.measurements if hasattr(one.energy, "source")} == {"nvml energy counter"}


def test_without_a_journal_there_is_nothing_to_finish(rehearse):
    found = rehearse("none", "", "--finish")
    assert found.returncode != 0
    assert "hour.jsonl" in "".join(found.stderr.split())  # wrapped
