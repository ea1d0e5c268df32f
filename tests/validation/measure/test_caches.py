"""Caches as the system names them, and calls that start without them."""

import pytest

from rooflint_measure.record.measurement import Unavailable
from rooflint_measure.stopwatches import caches
from rooflint_measure.stopwatches.caches import FlushedHostClock, flusher, last_level_bytes


def plant(root, cpu, index, kind, level, shared, size):
    folder = root / f"cpu{cpu}" / "cache" / f"index{index}"
    folder.mkdir(parents=True)
    for name, text in (("type", kind), ("level", level), ("shared_cpu_list", shared), ("size", size)):
        (folder / name).write_text(f"{text}\n", encoding="utf-8")


def test_a_cache_that_cpus_share_counts_once_and_two_of_them_twice(tmp_path):
    # two complexes of two cores, 32 MiB each: 2 × 32 × 2²⁰ B
    for cpu in range(4):
        plant(tmp_path, cpu, 0, "Data", 1, cpu, "48K")
        plant(tmp_path, cpu, 3, "Unified", 3, "0-1" if cpu < 2 else "2-3", "32768K")
    assert last_level_bytes(tmp_path) == 2 * 32 * 2**20


def test_instructions_are_no_data(tmp_path):
    plant(tmp_path, 0, 0, "Data", 1, 0, "32K")
    plant(tmp_path, 0, 1, "Instruction", 2, 0, "1M")
    assert last_level_bytes(tmp_path) == 32 * 2**10


def test_a_system_that_names_no_cache_says_so(tmp_path):
    assert isinstance(last_level_bytes(tmp_path / "none"), Unavailable)
    plant(tmp_path, 0, 0, "Data", "?", 0, "?")
    assert isinstance(last_level_bytes(tmp_path), Unavailable)


def test_a_flush_touches_twice_the_cache():
    assert flusher(4096)().nbytes == 2 * 4096


def test_the_flush_lies_outside_of_the_time(monkeypatch):
    # the flush costs 1000 ns, the call 10 ns
    now = [0]
    monkeypatch.setattr(caches.time, "perf_counter_ns", lambda: now[0])

    def spend(ns):
        now[0] += ns

    clock = FlushedHostClock(lambda: spend(1000))
    assert clock.seconds(lambda: spend(10), 3) == pytest.approx(30e-9, rel=1e-12, abs=0)
