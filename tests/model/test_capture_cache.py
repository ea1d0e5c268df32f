"""Kept captures: found by what went in, gone when anything of it changed."""

import json

import pytest

from rooflint import capture_cache
from rooflint.capture_cache import COLUMNS, RULES, entry, libraries, rules
from rooflint.errors import RooflintError
from rooflint.workload import mlp

TABLE = mlp([4, 2], batch=3)


@pytest.fixture(autouse=True)
def _versions(monkeypatch):
    monkeypatch.setattr(capture_cache, "libraries", lambda: ["2.0", "1.0"])


def test_what_was_written_is_read_again(tmp_path):
    place = entry("net", [[3, 4]], tmp_path / "deep" / "down")
    assert place.read() is None
    place.write(TABLE)
    assert entry("net", [[3, 4]], tmp_path / "deep" / "down").read() == TABLE
    assert place.read().flow == TABLE.flow is not None
    assert [file.name for file in place.file.parent.iterdir()] == [place.file.name]


def test_a_batch_that_cannot_change_is_kept_with_its_reason(tmp_path):
    place = entry("net", [], tmp_path)
    place.write(type(TABLE).from_ops("net", TABLE.rows(), 3, "it mixes its samples"))
    assert place.read().fixed_batch == "it mixes its samples"
    assert place.read().flow is None


def test_another_network_input_version_or_rule_is_another_entry(tmp_path, monkeypatch):
    files = {entry(network, shapes, tmp_path).file for network in "ab" for shapes in ([], [[1, 3]], [[2, 3]])}
    monkeypatch.setattr(capture_cache, "libraries", lambda: ["2.1", "1.0"])
    files.add(entry("a", [], tmp_path).file)
    monkeypatch.setattr(capture_cache, "rules", lambda: "another digest")
    files.add(entry("a", [], tmp_path).file)
    assert len(files) == 8


def test_the_rules_are_the_text_of_modules_that_are_there():
    assert len(rules()) == 64
    assert {"aten", "graph", "trace", "candidates"} <= set(RULES)


def test_an_entry_is_good_while_its_files_hold_what_they_held(tmp_path):
    source = tmp_path / "nets.py"
    source.write_text("one", encoding="utf-8")
    place = entry("nets:make", [], tmp_path)
    place.write(TABLE, [source])
    assert place.read() == TABLE
    source.write_text("two", encoding="utf-8")
    assert place.read() is None
    source.unlink()
    assert place.read() is None


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-20],
        lambda text: "[]",
        lambda text: json.dumps(json.loads(text) | {"columns": COLUMNS[:-1]}),
        lambda text: json.dumps(json.loads(text) | {"ops": [["fc", "linear", -1, 0, 0, 0, 0, 0, 0, 0, 0]]}),
        lambda text: json.dumps(json.loads(text) | {"ops": [["fc"]]}),
        lambda text: text.replace('"batch"', '"bunch"'),
        lambda text: text.replace('"flow"', '"flaw"'),
        lambda text: text.replace('"elements_constant"', '"constants"'),
        lambda text: text.replace('"reads":[[-1]]', '"reads":[[0]]'),
        lambda text: text.replace('"reads":[[-1]]', '"reads":[-1]'),
        lambda text: text.replace('"elements_input":12', '"elements_input":"12"'),
    ],
)
def test_an_entry_that_is_damaged_is_as_if_it_were_not_there(tmp_path, change):
    place = entry("net", [], tmp_path)
    place.write(TABLE)
    place.file.write_text(change(place.file.read_text(encoding="utf-8")), encoding="utf-8")
    assert place.read() is None


def test_a_library_that_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(capture_cache, "LIBRARIES", ("nonesuch-library",))
    with pytest.raises(RooflintError, match=r"needs nonesuch-library: install rooflint\[torch\]$"):
        libraries()
