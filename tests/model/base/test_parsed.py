"""What was parsed is taken from the folder for the same text and code, and from nothing else."""

import pytest

from rooflint.base import parsed as module
from rooflint.base.errors import InputError, refuse
from rooflint.base.parsed import Parsed, kept


@pytest.fixture
def calls():
    return []


@pytest.fixture
def parsed(tmp_path, monkeypatch):
    """`parsed()`: a folder as a new process sees it; the code that parses is a package of one module."""
    package = tmp_path / "code" / "some_reader"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("A = 1\n", encoding="utf-8")
    monkeypatch.syspath_prepend(package.parent)
    return lambda: Parsed(tmp_path / "kept", ("some_reader",))


def read(parsed, file, text, calls, holds=lambda found: True):
    """The words of a text; each parse is noted."""

    def parse():
        calls.append(text)
        return text.split()

    return parsed.of(file, text, parse, holds)


def test_a_text_is_parsed_once_and_another_text_of_the_same_file_again(parsed, tmp_path, calls):
    file = tmp_path / "a.yaml"
    assert [read(parsed(), file, text, calls) for text in ("a b", "a b", "a c", "a b")] == [
        ["a", "b"],
        ["a", "b"],
        ["a", "c"],
        ["a", "b"],
    ]
    assert calls == ["a b", "a c", "a b"]


def test_two_files_with_one_text_are_two(parsed, tmp_path, calls):
    for name in ("a.yaml", "b.yaml", "a.yaml", "b.yaml"):
        read(parsed(), tmp_path / name, "a b", calls)
    assert calls == ["a b", "a b"]


def test_what_no_longer_holds_is_parsed_again(parsed, tmp_path, calls):
    for holds in (True, True, False, True):
        read(parsed(), tmp_path / "a.yaml", "a b", calls, lambda found, holds=holds: holds and found == ["a", "b"])
    assert len(calls) == 2


def test_another_state_of_the_code_parses_again(parsed, tmp_path, calls):
    file, module = tmp_path / "a.yaml", tmp_path / "code" / "some_reader" / "other.py"
    read(parsed(), file, "a b", calls)
    module.write_text("B = 2\n", encoding="utf-8")
    read(parsed(), file, "a b", calls)
    module.write_text("B = 22\n", encoding="utf-8")
    read(parsed(), file, "a b", calls)
    read(parsed(), file, "a b", calls)
    assert len(calls) == 3


@pytest.mark.parametrize("keep", [0, 10, 40])
def test_a_damaged_file_is_parsed_again_and_replaced(parsed, tmp_path, calls, keep):
    file = tmp_path / "a.yaml"
    read(parsed(), file, "a b", calls)
    (kept,) = (tmp_path / "kept").iterdir()
    kept.write_bytes(kept.read_bytes()[:keep])
    assert [read(parsed(), file, "a b", calls) for _ in range(2)] == [["a", "b"], ["a", "b"]]
    assert len(calls) == 2


def test_what_is_refused_is_refused_each_time(parsed, tmp_path):
    def parse():
        raise refuse(tmp_path / "a.yaml", 3, "is not a text")

    for _ in range(2):
        with pytest.raises(InputError, match=r"a\.yaml:3"):
            parsed().of(tmp_path / "a.yaml", "a b", parse)


def test_what_cannot_be_pickled_or_written_is_still_handed_out(parsed, tmp_path):
    assert parsed().of(tmp_path / "a.yaml", "a b", lambda: lambda: 3)() == 3
    (tmp_path / "kept").write_text("not a folder", encoding="utf-8")
    assert parsed().of(tmp_path / "b.yaml", "a b", lambda: 4) == 4


# ------------------------------------------------------------------------------------------------- in the user's folder


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "user_cache_path", lambda name: tmp_path / name)
    module._below.cache_clear()
    return tmp_path / "rooflint" / "parsed"


def kept_words(file, text, calls, reader="words"):
    def parse():
        calls.append((reader, text))
        return text.split()

    return kept(reader, file, text, parse)


def test_a_file_is_parsed_once_for_all_checkouts_that_have_the_same_text(home, tmp_path, calls):
    for checkout in ("here", "there"):
        file = tmp_path / checkout / "specs" / "hardware" / "acme" / "one.yaml"
        assert kept_words(file, "a b", calls) == ["a", "b"]
    assert calls == [("words", "a b")]
    assert kept_words(file, "a c", calls) == ["a", "c"]
    assert len(list(home.rglob("*.pickle"))) == 1  # one entry for a file, whatever it said before


def test_another_reader_of_the_same_file_parses_it_too(home, tmp_path, calls):
    for reader in ("words", "texts", "words"):
        kept_words(tmp_path / "one.yaml", "a b", calls, reader)
    assert [reader for reader, _ in calls] == ["words", "texts"]


def test_a_home_that_cannot_be_written_costs_time_alone(home, tmp_path, calls):
    (tmp_path / "rooflint").write_text("a file where the folder would be", encoding="utf-8")
    for _ in range(2):
        assert kept_words(tmp_path / "one.yaml", "a b", calls) == ["a", "b"]
    assert len(calls) == 2
