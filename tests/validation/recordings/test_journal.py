"""The journal of a first hour: what it survives, and which file it refuses."""

import json

import pytest
from tests.validation.recordings.rehearsal import ALL, Bench, install

from pytest_rooflint.recordings.journal import Journal
from rooflint.base.errors import RooflintError
from rooflint_measure.recording import Machine

MACHINE = Machine(device="NVIDIA Fake 9000", kind="gpu", count=1, facts={"ecc": True}, software={"NVIDIA driver": "5"})


@pytest.fixture
def bench(fakes, monkeypatch, tmp_path):
    found = Bench(fakes, tmp_path / "no proc")
    install(found, monkeypatch)
    return found


@pytest.fixture
def file(tmp_path):
    return tmp_path / "below" / "hour.jsonl"


def test_a_line_that_was_being_written_when_the_machine_went_down_is_measured_again(bench, file):
    bench.run(file)
    file.write_bytes(file.read_bytes()[:-200])
    assert len(Journal.read(file).measurements) == ALL - 1
    assert len(bench.run(file).measurements) == ALL
    assert len(Journal.read(file).measurements) == ALL


@pytest.mark.parametrize(
    ("device", "change", "message"),
    [
        ("cuda:1", {}, "begun with --device cuda, now cuda:1"),
        ("cuda", {"device": "Tesla T4"}, "begun with device NVIDIA Fake 9000, now Tesla T4"),
        ("cuda", {"facts": {"ecc": False}}, "begun with ecc True, now False"),
        ("cuda", {"software": {}}, "begun with NVIDIA driver 5, now none"),
    ],
)
def test_a_journal_of_another_machine_is_refused(file, device, change, message):
    Journal.of(file, "cuda", MACHINE)
    with pytest.raises(RooflintError, match=rf"hour.jsonl: {message}; name another --journal, or delete this file"):
        Journal.of(file, device, MACHINE.model_copy(update=change))


@pytest.mark.parametrize("text", ["", "no json\n", '{"schema": "rooflint-recording/2"}\n', "[]\n"])
def test_another_file_is_no_journal(tmp_path, text):
    file = tmp_path / "hour.jsonl"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(RooflintError, match=r"hour\.jsonl: want the journal of a first hour"):
        Journal.of(file, "cuda", MACHINE)
    assert file.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("change", [{"measurement": {}}, {"measurement": None}, {"name": 1, "other": 2}])
def test_a_figure_that_was_edited_is_refused_with_its_line(bench, file, change):
    bench.run(file)
    lines = file.read_text(encoding="utf-8").splitlines()
    place = next(number for number, line in enumerate(lines) if "measurement" in json.loads(line))
    row = {name: value for name, value in json.loads(lines[place]).items() if name not in change}
    lines[place] = json.dumps({**{name: value for name, value in row.items() if name != "measurement"}, **change})
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(RooflintError, match=rf"hour.jsonl:{place + 1}: want a figure of a journal; remove the line"):
        Journal.read(file)


def test_what_ended_two_runs_is_not_tried_again_and_what_a_person_cut_is(file):
    journal = Journal.of(file, "cuda", MACHINE)
    for _ in range(2):
        journal.begin("a")
        journal.begin("b")
    journal.keep("b", None)
    journal.begin("c")
    journal.keep("c", "out of memory")
    journal.begin("c")
    for found in (journal, Journal.read(file)):
        assert found.ended == {"a": "2 runs ended while it was measured"}
        assert (found.left_out, found.now) == ({"c": "out of memory"}, "c")


def test_a_journal_says_when_its_first_run_began_and_goes_away_with_the_recording(file):
    begun = Journal.of(file, "cuda", MACHINE).taken
    assert Journal.of(file, "cuda", MACHINE).taken == begun
    Journal.read(file).remove()
    assert not file.exists()
