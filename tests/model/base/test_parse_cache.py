"""What files were read as is read again only where the text, the reader or the code is another."""

import os

import pytest

from rooflint.base import parse_cache
from rooflint.base.errors import InputError, refuse
from rooflint.base.parse_cache import VERSIONS_KEPT, folder, kept
from rooflint.base.strict_yaml import load


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(parse_cache, "user_cache_path", lambda name: tmp_path / name)
    return tmp_path


def must_not_read():
    raise AssertionError("was read again")


def test_a_text_is_read_once():
    assert kept("table", "a: 1", lambda: {"a": (1, 2.5)}) == {"a": (1, 2.5)}
    assert kept("table", "a: 1", must_not_read) == {"a": (1, 2.5)}


def test_another_text_and_another_reader_are_read():
    kept("table", "a: 1", lambda: 1)
    assert kept("table", "a: 2", lambda: 2) == 2
    assert kept("device", "a: 1", lambda: 3) == 3
    assert kept("tabl", "e\0a: 1", lambda: 4) == 4


def test_another_version_of_the_code_reads_again(monkeypatch):
    kept("table", "a: 1", lambda: 1)
    monkeypatch.setattr(parse_cache, "_version", lambda: "another")
    assert kept("table", "a: 1", lambda: 2) == 2


def test_a_version_is_the_code_and_the_libraries(monkeypatch):
    version = parse_cache._version.__wrapped__
    first = version()
    assert version() == first
    for name, value in (("code", lambda: "other code"), ("pydantic.VERSION", "0"), ("yaml.__version__", "0")):
        with monkeypatch.context() as patched:
            owner, _, attribute = name.rpartition(".")
            patched.setattr(getattr(parse_cache, owner) if owner else parse_cache, attribute, value)
            assert version() != first, name


def test_what_cannot_be_read_leaves_no_entry(tmp_path):
    def refused():
        raise refuse(tmp_path / "x.yaml", 3, "want a number")

    with pytest.raises(InputError):
        kept("table", "a: b", refused)
    assert not folder().exists()


@pytest.mark.parametrize("broken", [b"", b"no pickle", b"\x80\x05cmissing.module\nThing\n."])
def test_a_broken_entry_is_read_again_and_replaced(broken):
    kept("table", "a: 1", lambda: 1)
    (entry,) = folder().iterdir()
    entry.write_bytes(broken)
    assert kept("table", "a: 1", lambda: 1) == 1
    assert kept("table", "a: 1", must_not_read) == 1


def test_a_folder_that_cannot_be_written_costs_time_alone(cache):
    (cache / "rooflint").write_text("a file where the folder would be", encoding="utf-8")
    assert kept("table", "a: 1", lambda: 1) == 1
    assert kept("table", "a: 1", lambda: 2) == 2


def test_the_oldest_versions_make_room_for_a_new_one(cache):
    for age in range(VERSIONS_KEPT + 2):
        (old := cache / "rooflint" / "parsed" / f"v{age}").mkdir(parents=True)
        os.utime(old, (1e9 - age, 1e9 - age))
    kept("table", "a: 1", lambda: 1)
    left = sorted(one.name for one in folder().parent.iterdir() if one != folder())
    assert left == [f"v{age}" for age in range(VERSIONS_KEPT)]


def test_a_document_is_kept_whole(tmp_path):
    file = tmp_path / "x.yaml"
    file.write_text("a: [1.50, x]\nb:\n", encoding="utf-8")
    document = load(file)
    assert kept("document", "x", lambda: document) == kept("document", "x", must_not_read) == document
