"""NumPy in a process of its own: what its environment is, and what is said where it fails."""

import subprocess

import pytest

from rooflint_measure.stopwatches import gemm, numpy_process
from rooflint_measure.stopwatches.gemm import NotMeasuredError
from rooflint_measure.stopwatches.numpy_process import Request, answer, corename, environment, measured
from rooflint_measure.stopwatches.timing import Plan

PLAN = Plan(sample_s=0.0, samples=2, warm_up_s=0.0, limit_s=0.0, least=2)


def test_nothing_holds_the_library_and_threads_are_those_that_were_asked_for():
    given = {"OPENBLAS_CORETYPE": "Haswell", "OMP_NUM_THREADS": "7", "HOME": "h"}
    free = environment(given)
    assert "OPENBLAS_CORETYPE" not in free
    assert (free["OMP_NUM_THREADS"], free["HOME"]) == ("7", "h")
    assert environment(given, 2)["OMP_NUM_THREADS"] == environment(given, 2)["OPENBLAS_NUM_THREADS"] == "2"


def test_where_no_openblas_is_loaded_there_is_no_core(tmp_path):
    (tmp_path / "maps").write_text("00-01 r--p 00 00:00 0 /lib/libc.so.6\n", encoding="utf-8")
    assert corename(tmp_path / "maps") == corename(tmp_path / "none") == ""


@pytest.mark.slow
def test_what_was_unset_stands_in_the_details(monkeypatch, stand_in):
    monkeypatch.setattr(gemm, "TRIAL_LIMIT_S", 0.001)
    request = Request(precision="fp32", plan=PLAN, search_s=0.02, energy_s=0.0, unset={"OPENBLAS_CORETYPE": "Haswell"})
    found = answer(request, stand_in())
    assert found.subject.precision == "fp32"
    assert found.details["unset OPENBLAS_CORETYPE"] == "Haswell"
    assert found.details["core"]


def test_a_process_that_ends_badly_leaves_its_last_word(monkeypatch):
    def run(command, **_):
        return subprocess.CompletedProcess(command, 1, "", "Traceback\nImportError: no BLAS\n")

    monkeypatch.setattr(numpy_process.subprocess, "run", run)
    with pytest.raises(NotMeasuredError, match="ended with: ImportError: no BLAS"):
        measured("fp32")


def test_a_process_may_take_what_it_was_asked_to_take(monkeypatch):
    # ten minutes of search, as long again for samples, and as much metered: more than any fixed limit
    def run(command, timeout, **_):
        assert timeout > 3 * 600
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(numpy_process.subprocess, "run", run)
    with pytest.raises(NotMeasuredError, match="took more than 3720 s"):
        measured("fp32", plan=Plan(limit_s=600.0), search_s=600.0, energy_s=600.0)


def test_a_process_that_prints_something_else_is_left_out(monkeypatch):
    def run(command, **_):
        return subprocess.CompletedProcess(command, 0, "hello from a library\n{}", "")

    monkeypatch.setattr(numpy_process.subprocess, "run", run)
    with pytest.raises(NotMeasuredError, match="printed something besides its measurement"):
        measured("fp32")
