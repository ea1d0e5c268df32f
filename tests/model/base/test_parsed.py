"""What was parsed is taken from the folder for the same text and code, and from nothing else."""

import pytest

from rooflint.base.errors import InputError, refuse
from rooflint.base.parsed import Parsed


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
