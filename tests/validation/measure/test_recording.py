"""Recordings: written once, read back equal, refused with one sentence."""

import datetime
import errno
import json
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rooflint.base.errors import InputError
from rooflint_measure.record import (
    Conditions,
    Gemm,
    Measurement,
    Samples,
    State,
    Unavailable,
    Wait,
)
from rooflint_measure.recording import Machine, Recording, RecordingError, as_json, read, read_all, write

UNKNOWN = Unavailable(reason="a virtual machine")
STATE = State(clock_hz=UNKNOWN)


def timed(subject, seconds=(2.0, 3.0), **more) -> Measurement:
    return Measurement(
        subject=subject,
        samples=Samples(seconds=seconds, calls=1, **more),
        conditions=Conditions(before=STATE, after=STATE, threads=1, affinity=(0,)),
        energy=UNKNOWN,
    )


def recorded(*rows, minute=0, **machine) -> Recording:
    return Recording(
        taken=datetime.datetime(2026, 11, 20, 14, minute, tzinfo=datetime.UTC),
        command="rooflint measure gemm",
        rooflint="0.1.0",
        machine=Machine(**{"device": "a CPU", "kind": "cpu", "count": 2, **machine}),
        measurements=rows or (timed(Wait(wanted_s=1e-3)),),
    )


def test_a_recording_is_read_back_as_it_was_written(tmp_path):
    ours = recorded(timed(Gemm(precision="fp32", library="mkl", m=2, n=3, k=4), stolen_s=(0.0, 0.5)))
    assert read(write(tmp_path, ours)) == ours


def test_a_recording_never_replaces_another(tmp_path):
    one, other = recorded(), recorded(timed(Wait(wanted_s=5.0)))
    first, second = write(tmp_path, one), write(tmp_path, other)
    assert (read(first), read(second)) == (one, other)
    assert second.name == f"{first.stem}_2.json"
    assert {*tmp_path.iterdir()} == {first, second}


def test_of_writers_at_the_same_time_each_keeps_its_recording(tmp_path):
    ours = [recorded(timed(Wait(wanted_s=float(number)))) for number in range(1, 9)]
    with ThreadPoolExecutor(8) as pool:
        files = [*pool.map(lambda one: write(tmp_path, one), ours)]
    assert [read(file) for file in files] == ours


def test_where_the_folder_cannot_be_written_the_recording_is_kept_and_found(tmp_path, monkeypatch):
    (tmp_path / "taken").write_text("a file in the place of the folder", encoding="utf-8")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "kept"))
    with pytest.raises(RecordingError, match=r"taken: cannot be written \(.*\); the recording is kept as ") as caught:
        write(tmp_path / "taken", recorded())
    assert read(Path(str(caught.value).rpartition(" ")[2])) == recorded()


def test_a_full_disk_leaves_no_half_of_a_recording(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(RecordingError, match=r"No space left on device\), nor can ") as caught:
        write(tmp_path, recorded())
    assert str(caught.value).endswith(as_json(recorded()))
    assert [*tmp_path.iterdir()] == []


def test_an_edited_recording_is_refused_and_one_in_another_layout_is_not(tmp_path):
    file = write(tmp_path, recorded())
    text = file.read_text(encoding="utf-8")
    file.write_text(json.dumps(json.loads(text), sort_keys=True), encoding="utf-8")
    assert read(file) == recorded()
    file.write_text(text.replace("2.0", "2.5"), encoding="utf-8")
    with pytest.raises(InputError, match="was edited after it was written"):
        read(file)
    document = json.loads(text)
    del document["digest"]
    file.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError, match="want the digest of its content as 'digest', found none"):
        read(file)


def test_two_machines_differ_in_their_digest():
    one, other = recorded(software={"torch": "2.13.0"}), recorded(software={"torch": "2.12.0"})
    assert one.machine.digest != other.machine.digest


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"r\.json:1  is not JSON: "),
        ('{"schema": "other"}', r"want a recording \(rooflint-recording/2\); schema: "),
        (None, "cannot be read"),
    ],
)
def test_what_is_no_recording_is_refused_with_its_place(tmp_path, text, message):
    file = tmp_path / "r.json"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read(file)


def test_a_time_of_zero_is_no_time(tmp_path):
    document = json.loads(write(tmp_path, recorded()).read_text(encoding="utf-8"))
    document["measurements"][0]["samples"]["seconds"][1] = 0.0
    (tmp_path / "r.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError, match=r"measurements\.0\.samples\.seconds\.1: .*greater than 0"):
        read(tmp_path / "r.json")


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_what_is_no_number_is_refused_with_its_line_and_may_be_a_word(tmp_path, constant):
    text = write(tmp_path, recorded(device='an "Infinity, NaN" fabric')).read_text(encoding="utf-8")
    (tmp_path / "r.json").write_text(text.replace("2.0", constant), encoding="utf-8")
    line = 1 + text.split("2.0")[0].count("\n")
    with pytest.raises(InputError, match=rf"r\.json:{line}  want finite numbers, found {constant}$"):
        read(tmp_path / "r.json")


def test_a_file_is_called_by_universal_time_and_a_time_without_zone_is_none(tmp_path):
    east = datetime.timezone(datetime.timedelta(hours=2))
    ours = recorded().model_copy(update={"taken": datetime.datetime(2026, 11, 20, 1, 30, tzinfo=east)})
    assert ours.file_name.startswith("2026-11-19T233000-")
    text = write(tmp_path, recorded()).read_text(encoding="utf-8")
    (tmp_path / "r.json").write_text(text.replace("14:00:00Z", "14:00:00"), encoding="utf-8")
    with pytest.raises(InputError, match=r"taken: .*timezone"):
        read(tmp_path / "r.json")


def test_recordings_of_several_devices_are_read_from_one_file(tmp_path):
    recordings = [recorded(timed(Wait(wanted_s=1e-3)), device=name) for name in ("one", "another")]
    file = tmp_path / "both.json"
    file.write_text(json.dumps({"recordings": [json.loads(as_json(one)) for one in recordings]}), encoding="utf-8")
    assert read_all(file) == recordings
    assert read_all(write(tmp_path, recordings[0])) == recordings[:1]
    file.write_text(file.read_text(encoding="utf-8").replace("another", "a third"), encoding="utf-8")
    with pytest.raises(InputError, match="was edited after it was written"):
        read_all(file)
