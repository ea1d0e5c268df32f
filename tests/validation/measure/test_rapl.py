"""RAPL through a fake powercap tree: which counters add up, wraps, and who may read them."""

import os

import pytest

from rooflint_measure.record.measurement import Unavailable
from rooflint_measure.sensors import rapl

ZONES = "sys/class/powercap"


def zone(path, name, microjoules, range_uj=262_143_328_850):
    return {
        f"{ZONES}/{path}/name": f"{name}\n",
        f"{ZONES}/{path}/energy_uj": f"{microjoules}\n",
        f"{ZONES}/{path}/max_energy_range_uj": f"{range_uj}\n",
    }


def test_packages_and_their_memory_add_up_and_parts_of_a_package_are_not_counted_again(tree):
    root = tree(
        {
            **zone("intel-rapl:0", "package-0", 1_000_000),
            **zone("intel-rapl:0:0", "core", 5_000),
            **zone("intel-rapl:0:1", "dram", 2_000_000),
            **zone("intel-rapl:1", "package-1", 3_000_000),
            **zone("intel-rapl:2", "psys", 9_000_000),
        }
    )
    source = rapl.source(root)
    assert source.name == "rapl package + dram"

    def run():
        tree({f"{ZONES}/intel-rapl:0/energy_uj": "11000000", f"{ZONES}/intel-rapl:0:1/energy_uj": "3000000"})
        tree({f"{ZONES}/intel-rapl:1/energy_uj": "5500000", f"{ZONES}/intel-rapl:0:0/energy_uj": "9999999"})
        return 1

    # 10 J of one package, 2.5 of the other and 1 of DRAM
    assert source.metered(run, 0.0).joules == pytest.approx(13.5)


def test_a_counter_that_wraps_during_the_run_loses_nothing(tree):
    # counts 0 … 65 532 610 µJ; from 10 µJ below the end to 5 µJ: 10 + 1 + 5 = 16 µJ
    root = tree(zone("intel-rapl:0", "package-0", 65_532_600, range_uj=65_532_610))
    source = rapl.source(root)

    def run():
        tree({f"{ZONES}/intel-rapl:0/energy_uj": "5"})
        return 1

    assert source.metered(run, 0.0).joules == pytest.approx(16e-6)


def test_a_counter_without_a_range_is_not_trusted(tree):
    # whoever guesses the range is off by the rest of it at the first wrap
    root = tree(zone("intel-rapl:0", "package-0", 5))
    (root / ZONES / "intel-rapl:0/max_energy_range_uj").unlink()
    found = rapl.source(root)
    assert found == Unavailable(reason="RAPL counter package-0 does not say where it starts again from zero")


def test_a_counter_that_goes_away_is_said(tree):
    root = tree(zone("intel-rapl:0", "package-0", 5))
    source = rapl.source(root)

    def run():
        (root / ZONES / "intel-rapl:0/energy_uj").unlink()
        return 1

    found = source.metered(run, 0.0)
    assert isinstance(found, Unavailable)
    assert found.reason.startswith("rapl: package-0 cannot be read any more (No such file")


def test_without_powercap_there_is_no_energy_and_a_reason(tmp_path):
    assert "no RAPL counter below /sys/class/powercap" in rapl.source(tmp_path).reason


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_a_counter_for_root_only_says_how_to_open_it(tree):
    root = tree(zone("intel-rapl:0", "package-0", 5))
    (root / ZONES / "intel-rapl:0/energy_uj").chmod(0)
    assert "readable by root only" in rapl.source(root).reason


def test_a_refused_counter_says_how_to_open_it(tree, monkeypatch):
    root = tree(zone("intel-rapl:0", "package-0", 5))
    monkeypatch.setattr(rapl.Path, "read_text", refuse_energy(rapl.Path.read_text))
    assert "readable by root only" in rapl.source(root).reason


def refuse_energy(read_text):
    def refusing(file, **settings):
        if file.name == "energy_uj":
            raise PermissionError(13, "Permission denied")
        return read_text(file, **settings)

    return refusing
