"""Benchmarks beside the baseline of the same machine, or of none."""

import json

import pytest
from typer.testing import CliRunner

from pytest_rooflint.cli.measure import app
from pytest_rooflint.recordings.baselines import baseline_of, compared, save
from rooflint.base.errors import InputError, RooflintError

MACHINE = {"cpu": {"brand_raw": "AMD EPYC", "count": 2}, "machine": "x86_64", "node": "secret-host"}


@pytest.fixture
def written(tmp_path):
    """`written("now.json", b=1.0)`: what pytest-benchmark writes of these least times."""

    def write(name, machine=MACHINE, **seconds):
        rows = [
            {"name": one, "stats": {"min": least, "median": 2 * least, "iqr": 0.1, "rounds": 30, "data": [least] * 30}}
            for one, least in seconds.items()
        ]
        content = {"machine_info": machine, "commit_info": {"id": "abc"}, "datetime": "2026", "benchmarks": rows}
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
        return tmp_path / name

    return write


def test_without_a_baseline_of_the_machine_nothing_is_validated(tmp_path, written):
    folder = tmp_path / "baselines"
    file = written("now.json", test_canary=1.0, b=2.0)
    for _ in range(2):  # no folder, and one with that of another machine
        found = compared(file, folder)
        assert found.text == "not validated here: no baseline of this machine (AMD EPYC, 2 × x86_64)"
        assert (found.baseline, found.is_red) == (None, False)
        assert {one.outcome for one in found.rows} == {"new"}
        other = MACHINE | {"cpu": {"brand_raw": "AMD EPYC", "count": 4}}
        save(written("other.json", other, test_canary=1.0, b=1.0), folder)


def test_a_baseline_has_no_samples_and_no_name_of_the_host(tmp_path, written):
    folder = tmp_path / "baselines"
    file = save(written("now.json", test_canary=1.0, b=2.0), folder)
    assert file.name == "amd-epyc-2-x86-64.json"
    text = file.read_text(encoding="utf-8")
    assert "secret-host" not in text and "data" not in text
    assert baseline_of("AMD EPYC, 2 × x86_64", folder) == file
    save(written("now.json", test_canary=1.0, b=3.0), folder)
    assert [one.name for one in folder.iterdir()] == [file.name]
    assert json.loads(file.read_text(encoding="utf-8"))["benchmarks"][1]["stats"]["min"] == 3.0


@pytest.mark.parametrize(
    ("now_s", "canary_s", "outcome"),
    [
        (1.0, 1.0, "same"),
        (1.24, 1.0, "same"),
        (1.25, 1.0, "slower"),
        (1.25, 1.25, "same"),  # the machine is slower, and the benchmark with it
        (1.0, 0.8, "slower"),  # the machine is faster, and the benchmark is not
        (0.8, 1.0, "faster"),
        (0.81, 1.0, "same"),
    ],
)
def test_a_benchmark_is_slower_beyond_what_the_machine_is(tmp_path, written, now_s, canary_s, outcome):
    save(written("base.json", test_canary=1.0, b=1.0), tmp_path / "baselines")
    found = compared(written("now.json", test_canary=canary_s, b=now_s), tmp_path / "baselines")
    (one,) = found.rows
    assert (one.name, one.outcome) == ("b", outcome)
    assert one.factor == pytest.approx(now_s / canary_s)
    assert found.canary == pytest.approx(canary_s)
    assert found.is_red == (outcome == "slower")


def test_slower_ones_come_first_and_what_is_gone_is_named(tmp_path, written):
    save(written("base.json", test_canary=1.0, a=1.0, b=1.0, c=1.0, d=1.0), tmp_path / "baselines")
    found = compared(written("now.json", test_canary=1.1, a=1.0, b=2.2, c=3.3, e=1.0), tmp_path / "baselines")
    assert [one.name for one in found.rows] == ["c", "b", "e", "a"]
    assert found.gone == ["d"]
    assert found.text == (
        "2 of 3 benchmarks slower than the baseline of AMD EPYC, 2 × x86_64: c ×3, b ×2; "
        "the canary takes ×1.1, which is divided by; not timed any more: d"
    )


def test_without_a_canary_nothing_is_divided(tmp_path, written):
    save(written("base.json", b=1.0), tmp_path / "baselines")
    found = compared(written("now.json", test_canary=2.0, b=1.5), tmp_path / "baselines")
    assert (found.canary, found.rows[0].factor) == (None, 1.5)
    assert "canary" not in found.text


def test_what_is_no_benchmark_is_refused(tmp_path, written):
    (tmp_path / "bad.json").write_text("[]", encoding="utf-8")
    with pytest.raises(InputError, match="want what --benchmark-json writes"):
        compared(tmp_path / "bad.json", tmp_path)
    with pytest.raises(InputError, match="want what --benchmark-json writes"):
        compared(written("now.json", b=1.0), tmp_path)  # bad.json lies among the baselines


def test_the_command_saves_compares_and_adds_to_the_evidence(tmp_path, written, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*arguments, status):
        result = CliRunner().invoke(app, ["baseline", *arguments, "--baselines", "kept"])
        if isinstance(result.exception, RooflintError):
            raise result.exception
        assert result.exit_code == status, result.output
        return result.stdout

    written("now.json", test_canary=1.0, b=1.0)
    assert run("now.json", status=0).startswith("not validated here: ")
    assert run("now.json", "--save", status=0) == "kept/amd-epyc-2-x86-64.json: written\n"
    written("now.json", test_canary=1.0, b=1.3)
    (tmp_path / "evidence.json").write_text("{}", encoding="utf-8")
    assert run("now.json", "--evidence", "evidence.json", status=1).startswith("1 of 1 benchmark slower than")
    assert run("now.json", "--threshold", "1.4", status=0).startswith("0 of 1 benchmark slower than")
    found = json.loads((tmp_path / "evidence.json").read_text(encoding="utf-8"))["benchmarks"]
    assert found["times"]["seconds"] == {"test_canary": 1.0, "b": 1.3}
    with pytest.raises(RooflintError, match="want the evidence of a run to add to"):
        run("now.json", "--evidence", "nowhere.json", status=2)
