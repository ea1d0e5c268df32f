"""The door: what is refused, and in which words."""

import json
from pathlib import Path

import pytest

from rooflint.base.errors import RooflintError
from rooflint_report.evidence import Counts, Evidence, EvidenceError, add, as_json, load_evidence, plain
from rooflint_report.verdicts import Each, Record, Why


@pytest.fixture
def refusal(tmp_path):
    """The sentence that a text is refused with, without the path."""

    def refuse(text):
        file = tmp_path / "evidence.json"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(EvidenceError) as caught:
            load_evidence(file)
        path, sentence = str(caught.value).split(": ", 1)
        assert path == str(file)
        assert "\n" not in sentence
        return sentence

    return refuse


def test_a_run_is_read_as_written(tmp_path, evidence):
    file = tmp_path / "evidence.json"
    file.write_text(json.dumps(evidence), encoding="utf-8")
    assert load_evidence(file) == Evidence.model_validate(evidence)


def test_a_record_that_was_never_read_is_written_with_the_keys_of_json():
    class Late(Record):
        schema_: str

    assert as_json(Late.model_construct(schema_="x/1")) == '{\n "schema": "x/1"\n}\n'


def test_what_is_read_is_written_with_the_same_keys(evidence):
    def lost(before, after):
        if isinstance(before, dict):
            return before.keys() - after.keys() or [found for key in before if (found := lost(before[key], after[key]))]
        if isinstance(before, list):
            return [found for pair in zip(before, after, strict=True) if (found := lost(*pair))]
        return [] if before == after else [before]

    assert not lost(evidence, plain(Evidence.model_validate(evidence)))


@pytest.mark.slow
def test_a_newer_writer_may_say_more(tmp_path, evidence):
    file = tmp_path / "evidence.json"
    file.write_text(json.dumps(evidence | {"ledger": {"moved": 1}}), encoding="utf-8")
    assert load_evidence(file) == Evidence.model_validate(evidence)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(EvidenceError, match=r"nowhere\.json: cannot be read"):
        load_evidence(tmp_path / "nowhere.json")


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(EvidenceError, match="cannot be read"):
        load_evidence(tmp_path)


def test_an_older_writer_need_not_know_places(tmp_path, evidence, without):
    older = without(evidence, "places")
    for verdict in older["verdicts"]:
        for cause in verdict["causes"]:
            cause.pop("fixes", None)
            cause.pop("breaks", None)
    file = tmp_path / "evidence.json"
    file.write_text(json.dumps(older), encoding="utf-8")
    assert load_evidence(file) == Evidence.model_validate(older)


@pytest.mark.parametrize("text", ["", "{", "[1, 2", "pass", b"\xff\xfe{}", '{"a": "\\ud800"}'])
def test_malformed_json_is_refused(refusal, text):
    assert refusal(text).startswith("not JSON: ")


@pytest.mark.parametrize(
    ("number", "says"),
    [
        ("1e999", "want finite numbers, found 1e999"),
        ("NaN", "want finite numbers, found NaN"),
        ("9" * 5000, "not JSON"),
    ],
)
def test_a_number_that_no_run_writes_is_refused(refusal, evidence, number, says):
    assert says in refusal(json.dumps({**evidence, "more": "here"}).replace('"here"', number))


def test_what_is_nested_too_deeply_or_never_ends_is_refused(refusal):
    assert refusal("[" * 200_000).startswith("not JSON: ")
    with pytest.raises(EvidenceError, match="want a regular file, found a pipe or a device"):
        load_evidence(Path("/dev/zero"))


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a": 1e999}', '{"a": ' + "9" * 5000 + "}", "[]", ""])
def test_nothing_is_added_to_what_is_not_evidence(tmp_path, evidence, text):
    file = tmp_path / "evidence.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(RooflintError, match=r"evidence\.json: want the evidence of a run to add to: "):
        add(file, delta=Evidence.model_validate(evidence).run)
    assert file.read_text(encoding="utf-8") == text


def test_another_schema_version_is_refused_before_all_else(refusal):
    sentence = refusal('{"schema": "rooflint-evidence/2", "rows": []}')
    assert sentence == "schema 'rooflint-evidence/2' cannot be read here, want 'rooflint-evidence/3'"


@pytest.mark.parametrize("text", ["[]", "null", "3"])
def test_what_is_no_record_is_refused(refusal, text):
    assert refusal(text).startswith("the file: ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("schema", "schema"),
        ("run.exit_status", "run.exit_status"),
        ("counts.not validated here", "counts.not validated here"),
        ("verdicts.3.outcome", "verdicts[3].outcome"),
        ("devices.0.peaks.1.factors.2.display", "devices[0].peaks[1].factors[2].display"),
        ("replays.0.assumptions.0.parts", "replays[0].assumptions[0].parts"),
        ("places.0.to", "places[0].to"),
    ],
)
def test_a_missing_key_is_named_by_its_place(refusal, evidence, without, path, place):
    assert refusal(json.dumps(without(evidence, path))) == f"{place} is missing"


def test_a_wrong_type_is_named_with_what_was_found(refusal, evidence):
    evidence["counts"]["pass"] = "many"
    assert refusal(json.dumps(evidence)) == "counts.pass: input should be a valid integer, found 'many'"


def test_an_unknown_outcome_is_refused(refusal, evidence):
    evidence["verdicts"][0]["outcome"] = "maybe"
    assert refusal(json.dumps(evidence)).startswith("verdicts[0].outcome: ")


def test_a_long_value_does_not_flood_the_sentence(refusal, evidence):
    evidence["devices"] = "x" * 10_000
    assert len(refusal(json.dumps(evidence))) < 200


def test_a_document_has_one_key_a_line_and_no_section_that_the_run_has_not(evidence):
    found = Evidence.model_validate(evidence)
    text = as_json(found)
    assert text.startswith('{\n "schema": "rooflint-evidence/3",\n "run": {\n  "started": ')
    assert text.endswith("\n}\n")
    for one in (found, found.counts, found.devices[0], found.verdicts[0]):
        assert as_json(one) == json.dumps(plain(one), ensure_ascii=False, indent=1) + "\n"
    assert not {"mutation", "delta"} & set(json.loads(text))


def test_records_that_are_made_when_asked_for_are_written_as_a_list_of_them(evidence):
    found, made = Evidence.model_validate(evidence), []

    def verdict(number):
        made.append(number)
        return found.verdicts[number]

    lazy = found.model_copy(update={"verdicts": Each(len(found.verdicts), verdict), "devices": Each(0, verdict)})
    assert not made
    text = as_json(lazy)
    assert made == [*range(len(found.verdicts))]
    assert text == as_json(found.model_copy(update={"devices": []}))


def test_records_that_are_made_when_asked_for_are_a_sequence():
    each = Each(3, lambda number: Why(what=str(number), why=""))
    assert [one.what for one in each] == ["0", "1", "2"]
    assert (each[-1].what, [one.what for one in each[1:]]) == ("2", ["1", "2"])
    assert each == [*each] and each != [*each][:2] and each != Each(3, lambda number: Why(what="0", why=""))
    with pytest.raises(IndexError):
        each[3]


@pytest.mark.slow
def test_letters_are_written_as_they_are_and_numbers_that_json_lacks_are_an_error(evidence):
    evidence["machine"]["cpu"] = "Xeon × 2"
    assert "Xeon × 2" in as_json(Evidence.model_validate(evidence))
    found = Evidence.model_validate(evidence)
    endless = found.model_copy(update={"run": found.run.model_copy(update={"duration_s": float("inf")})})
    with pytest.raises(ValueError, match="JSON"):
        as_json(endless)


def test_claims_are_counted_by_outcome_in_its_own_words():
    counts = Counts.model_validate(
        {
            **{"pass": 5, "fail": 4, "xfail": 3, "not validated here": 2, "undecided": 1},
            **{"uncorroborated": 0, "claims": 15, "devices": 1},
        }
    )
    outcomes = ("pass", "fail", "xfail", "not validated here", "undecided")
    assert [counts.of(outcome) for outcome in outcomes] == [5, 4, 3, 2, 1]
