"""What was parsed is taken from the folder for the same text and code, and from nothing else."""

import os
import stat
from pathlib import Path

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


def test_a_path_is_one_object_in_all_that_was_kept(parsed, tmp_path):
    def kept(file, *paths):
        return parsed().of(tmp_path / file, "", lambda: [*paths], lambda found: True)

    for _ in range(2):  # the first call parses
        one, other = kept("a.yaml", Path("x") / "y.yaml"), kept("b.yaml", Path("x/y.yaml"), Path("x/z.yaml"))
    assert one[0] is other[0]
    assert [str(path) for path in other] == [str(Path("x/y.yaml")), str(Path("x/z.yaml"))]


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
    yield tmp_path / "rooflint" / "parsed"
    module._below.cache_clear()


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


# ---- whose entries are read


SECRET = module._secret


@pytest.fixture
def user(tmp_path, monkeypatch):
    """A user's cache folder, for which this process has not asked yet."""
    monkeypatch.setattr(module, "_secret", SECRET)
    monkeypatch.setattr(module, "user_cache_path", lambda name: tmp_path / "home" / name)
    SECRET.cache_clear()
    yield tmp_path / "home" / "rooflint"
    SECRET.cache_clear()


def test_an_entry_that_another_user_signed_is_not_unpickled(parsed, tmp_path, calls, user):
    read(parsed(), tmp_path / "a.yaml", "a b", calls)
    read(parsed(), tmp_path / "a.yaml", "a b", calls)
    assert len(calls) == 1
    assert stat.S_IMODE((user / "key").stat().st_mode) == 0o600
    (user / "key").write_text("00" * 32, encoding="ascii")
    SECRET.cache_clear()
    read(parsed(), tmp_path / "a.yaml", "a b", calls)
    assert len(calls) == 2


@pytest.mark.parametrize("change", ["readable by others", "too short", "no hexadecimal"])
def test_a_key_that_is_no_secret_keeps_nothing(parsed, tmp_path, calls, user, change):
    user.mkdir(parents=True)
    (user / "key").write_text({"too short": "00", "no hexadecimal": "x" * 64}.get(change, "00" * 32), encoding="ascii")
    (user / "key").chmod(0o644 if change == "readable by others" else 0o600)
    for _ in range(2):
        read(parsed(), tmp_path / "a.yaml", "a b", calls)
    assert len(calls) == 2
    assert not (tmp_path / "kept").exists()


def test_a_user_without_a_home_parses_each_time(tmp_path, monkeypatch, calls, user):
    def homeless(name):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(module, "user_cache_path", homeless)
    for _ in range(2):
        kept("words", tmp_path / "a.yaml", "a b", lambda: calls.append(1))
    assert len(calls) == 2


def test_of_many_checkouts_the_oldest_entries_are_removed(user):
    folder = user / "parsed"
    for number in range(25):
        (folder / f"{number:02}").mkdir(parents=True)
        os.utime(folder / f"{number:02}", (number, number))
    module._forget(folder)
    assert sorted(one.name for one in folder.iterdir()) == [f"{number:02}" for number in range(5, 25)]
