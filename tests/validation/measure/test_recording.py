"""Recordings: written once, read back equal, merged only on equal machines, refused with one sentence."""

import datetime
import json

import pytest

from rooflint_measure.record.measurement import Conditions, Gemm, Measurement, Samples, State, Unavailable, Wait, label
from rooflint_measure.record.recording import Machine, Recording, RecordingError, merged, read, write

UNKNOWN = Unavailable(reason="a virtual machine")
STATE = State(clock_hz=UNKNOWN)


def measured(subject, seconds=(2.0, 3.0), **more) -> Measurement:
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
        measurements=rows or (measured(Wait(wanted_s=1e-3)),),
    )


def test_a_recording_is_read_back_as_it_was_written(tmp_path):
    ours = recorded(measured(Gemm(precision="fp32", library="mkl", m=2, n=3, k=4), stolen_s=(0.0, 0.5)))
    assert read(write(tmp_path, ours)) == ours


def test_recordings_are_append_only(tmp_path):
    file = write(tmp_path, recorded())
    before = file.read_bytes()
    with pytest.raises(RecordingError, match="recordings are append-only"):
        write(tmp_path, recorded(measured(Wait(wanted_s=5.0))))
    assert file.read_bytes() == before
    assert [*tmp_path.iterdir()] == [file]


def test_recordings_of_one_machine_merge_in_the_order_of_time():
    late, early = recorded(measured(Wait(wanted_s=2.0)), minute=9), recorded(measured(Wait(wanted_s=1.0)), minute=1)
    both = merged([late, early])
    assert [row.subject.wanted_s for row in both.measurements] == [1.0, 2.0]
    assert both.taken == early.taken


def test_recordings_of_two_machines_do_not_merge_and_say_what_differs():
    one, other = recorded(software={"torch": "2.13.0"}), recorded(software={"torch": "2.12.0"})
    assert one.machine.digest != other.machine.digest
    with pytest.raises(
        RecordingError, match=r"want recordings of one machine; they differ in torch 2\.13\.0 or 2\.12\.0"
    ):
        merged([one, other])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", r"r\.json:1: want a recording in JSON"),
        ('{"schema": "other"}', r"want a recording \(rooflint-recording/1\); schema: "),
        (None, "cannot be read"),
    ],
)
def test_what_is_no_recording_is_refused_with_its_place(tmp_path, text, said):
    file = tmp_path / "r.json"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    with pytest.raises(RecordingError, match=said):
        read(file)


def test_a_time_of_zero_is_no_time(tmp_path):
    document = json.loads(write(tmp_path, recorded()).read_text(encoding="utf-8"))
    document["measurements"][0]["samples"]["seconds"][1] = 0.0
    (tmp_path / "r.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(RecordingError, match=r"measurements\.0\.samples\.seconds\.1: .*greater than 0"):
        read(tmp_path / "r.json")


def test_disturbed_samples_are_kept_and_marked():
    # of 1 s × 1 call 0.05 s is 5 % stolen, 0.005 s is 0.5 %; the limit is 1 %
    # of 1 s × 1 call 0.06 s is 6 % without a core, of 2 s 3 %; the limit is 5 %
    samples = Samples(
        seconds=(1.0, 1.0, 2.0, 1.0),
        calls=1,
        stolen_s=(0.05, 0.005, 0.0, 0.0),
        queued_s=(0.0, 0.0, 0.06, 0.06),
        throttled={2: ("sw_power_cap",)},
    )
    assert [samples.disturbance(number) for number in range(4)] == [("stolen",), (), ("sw_power_cap",), ("queued",)]
    assert samples.disturbed == (0, 2, 3)
    assert samples.quiet_s == (1.0,)
    assert samples.best_s == 1.0


def test_a_product_counts_two_ops_a_mac():
    # 2 × (2 × 3 × 4) = 48 op in 2 s
    row = measured(Gemm(precision="fp32", library="mkl", m=2, n=3, k=4))
    assert (row.ops, row.ops_per_s) == (48, 24.0)
    assert row.name == "gemm-fp32-mkl-2x3x4"
    assert label(Wait(wanted_s=2e-5)) == "wait-20us"


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_number_is_refused_with_its_line_and_may_be_a_word(tmp_path, constant):
    text = write(tmp_path, recorded(device='an "Infinity, NaN" fabric')).read_text(encoding="utf-8")
    (tmp_path / "r.json").write_text(text.replace("2.0", constant), encoding="utf-8")
    line = 1 + text.split("2.0")[0].count("\n")
    with pytest.raises(RecordingError, match=rf"r\.json:{line}: want finite numbers, found {constant}$"):
        read(tmp_path / "r.json")


def test_a_file_is_called_by_universal_time_and_a_time_without_zone_is_none(tmp_path):
    east = datetime.timezone(datetime.timedelta(hours=2))
    ours = recorded().model_copy(update={"taken": datetime.datetime(2026, 11, 20, 1, 30, tzinfo=east)})
    assert ours.file_name.startswith("2026-11-19T2330-")
    text = write(tmp_path, recorded()).read_text(encoding="utf-8")
    (tmp_path / "r.json").write_text(text.replace("14:00:00Z", "14:00:00"), encoding="utf-8")
    with pytest.raises(RecordingError, match=r"taken: .*timezone"):
        read(tmp_path / "r.json")
