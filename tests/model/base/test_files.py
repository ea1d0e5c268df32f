"""What a project configures, and what is said where it does so wrongly."""

import errno
import os
from pathlib import Path

import pytest

from rooflint.base.errors import InputError, Problem
from rooflint.base.files import (
    configured,
    create,
    file_digest,
    folders_digest,
    named,
    read_bytes,
    read_text,
    share,
    write_atomically,
    write_pieces_atomically,
)


@pytest.fixture
def project(tmp_path):
    """`project(text)` writes a pyproject.toml beside the folders `specs` and `more specs`."""
    for name in ("specs", "more specs"):
        (tmp_path / name).mkdir()

    def write(text: str | bytes) -> Path:
        file = tmp_path / "pyproject.toml"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    return write


HEAD = "[tool.pytest.ini_options]\nminversion = '9.0'\n"


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("['specs']", ["specs"]),
        ("['specs', 'more specs']", ["specs", "more specs"]),
        ("'specs'", ["specs"]),
        ("'''specs \"more specs\"'''", ["specs", "more specs"]),
        ("[]", []),
        ("''", []),
    ],
)
def test_folders_are_named_beside_the_project_as_a_list_or_as_words(project, value, names):
    file = project(f"{HEAD}rooflint_specs = {value}\n")
    assert configured("rooflint_specs", file) == [file.parent / name for name in names]


def test_options_are_apart(project):
    file = project(f"{HEAD}rooflint_specs = ['specs']\nrooflint_golden = ['more specs']\n")
    assert configured("rooflint_golden", file) == [file.parent / "more specs"]


@pytest.mark.parametrize("text", ["", "[project]\nname = 'x'\n", HEAD, "[tool.other]\nrooflint_specs = ['specs']\n"])
def test_a_project_that_names_none_has_none(project, text):
    assert configured("rooflint_specs", project(text)) == []


def test_where_there_is_no_project_there_is_none(tmp_path):
    assert configured("rooflint_specs", tmp_path / "pyproject.toml") == []


def test_a_folder_that_is_not_there_is_refused_with_the_line(project):
    file = project(f"{HEAD}rooflint_specs = ['specs', 'absent']\n")
    with pytest.raises(InputError) as caught:
        configured("rooflint_specs", file)
    sentence = f"rooflint_specs: want a folder, found nothing at {file.parent / 'absent'}"
    assert caught.value.problems == (Problem(file, 3, sentence),)


def test_folders_are_told_by_name_where_they_need_not_be_there(project):
    file = project(f"{HEAD}rooflint_specs = ['specs', 'absent']\n")
    assert named("rooflint_specs", file) == [file.parent / "specs", file.parent / "absent"]


@pytest.mark.parametrize("text", ["[tool\n", HEAD + "rooflint_specs = \n", b"name = '\xff'\n"])
def test_what_is_no_toml_is_refused(project, text):
    with pytest.raises(InputError, match=r"pyproject\.toml:1  (is not TOML|cannot be read as UTF-8): "):
        configured("rooflint_specs", project(text))


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "rooflint_specs = 5\n",
        HEAD + "rooflint_specs = [5]\n",
        HEAD + "rooflint_specs = {a = 1}\n",
        HEAD + "rooflint_specs = 'an \"open quote'\n",
        "[tool]\npytest = 1\n",
        "tool = 1\n",
        "[tool.pytest]\nini_options = []\n",
    ],
)
def test_what_is_not_a_list_of_folders_is_refused_in_a_sentence(project, text):
    try:
        assert configured("rooflint_specs", project(text)) == []  # a table of somebody else may be overlooked
    except InputError as error:
        assert error.problems


# ---- a share in per cent


@pytest.mark.parametrize(
    ("value", "floor"), [("99.5", 0.995), ("95", 0.95), ("'99.5'", 0.995), ("0", 0.0), ("100", 1.0)]
)
def test_a_share_is_written_in_per_cent(project, value, floor):
    assert share("rooflint_mutation_floor", project(f"{HEAD}rooflint_mutation_floor = {value}\n")) == floor


def test_a_share_that_nobody_says_is_none(project, tmp_path):
    assert share("rooflint_mutation_floor", project(HEAD)) is None
    assert share("rooflint_mutation_floor", tmp_path / "nowhere.toml") is None


@pytest.mark.parametrize("value", ["101", "-1", "true", "'most'", "[95]", "nan"])
def test_what_is_no_share_is_refused_with_its_line(project, value):
    file = project(f"{HEAD}rooflint_mutation_floor = {value}\n")
    with pytest.raises(InputError) as caught:
        share("rooflint_mutation_floor", file)
    (problem,) = caught.value.problems
    assert (problem.file, problem.line) == (file, 3)
    assert problem.message.startswith("rooflint_mutation_floor: want per cent between 0 and 100, found ")


# ---- Written whole or not at all


def test_a_file_is_replaced_and_its_folder_made(tmp_path):
    file = tmp_path / "deep" / "a.yaml"
    write_atomically(file, "old")
    write_atomically(file, "new ×\n")
    assert file.read_bytes() == "new ×\n".encode()
    assert [path.name for path in file.parent.iterdir()] == ["a.yaml"]


def test_a_failed_write_leaves_the_old_file_and_nothing_beside_it(tmp_path):
    file = tmp_path / "a.yaml"
    write_atomically(file, "old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(file, "new \ud800")
    assert file.read_text(encoding="utf-8") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.yaml"]


# ---- Files that are read and created


def test_a_new_file_is_whole_and_never_takes_the_place_of_another(tmp_path):
    create(tmp_path / "one.txt", "first")
    with pytest.raises(FileExistsError):
        create(tmp_path / "one.txt", "second")
    assert [(file.name, file.read_text(encoding="utf-8")) for file in tmp_path.iterdir()] == [("one.txt", "first")]


def test_without_hard_links_a_name_is_still_given_once(tmp_path, monkeypatch):
    def unsupported(*_):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", unsupported)
    create(tmp_path / "one.txt", "first")
    with pytest.raises(FileExistsError):
        create(tmp_path / "one.txt", "second")
    assert (tmp_path / "one.txt").read_text(encoding="utf-8") == "first"


def test_a_pipe_and_a_device_are_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for file in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(InputError, match="want a regular file, found a pipe or a device"):
            read_bytes(file, 100)


def test_a_loop_of_links_and_a_folder_are_refused_with_the_reason(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for file, reason in ((tmp_path / "loop", "symbolic links"), (tmp_path, "directory")):
        with pytest.raises(InputError, match=rf"cannot be read: .*{reason}"):
            read_text(file)


def test_a_file_of_the_largest_size_is_read_and_one_byte_more_is_refused(tmp_path):
    (tmp_path / "a").write_bytes(b"x" * 10)
    assert read_text(tmp_path / "a", 10) == "x" * 10
    with pytest.raises(InputError, match="is larger than"):
        read_text(tmp_path / "a", 9)


def test_pieces_that_break_off_leave_the_old_file(tmp_path):
    def pieces():
        yield b"new"
        raise ValueError("no such number")

    file = tmp_path / "a.json"
    write_pieces_atomically(file, [b"o", b"ld"])
    with pytest.raises(ValueError, match="no such number"):
        write_pieces_atomically(file, pieces())
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


def test_digests_tell_contents_and_names_apart(tmp_path):
    for name, text in (("a/one.yaml", "1"), ("b/one.yaml", "1"), ("c/two.yaml", "1"), ("d/one.yaml", "2")):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "b" / "notes.md").write_text("not asked for", encoding="utf-8")
    a, b, c, d = (folders_digest([tmp_path / name], ["*.yaml"]) for name in "abcd")
    assert a == b
    assert len({a, c, d}) == 3
    assert file_digest(tmp_path / "a/one.yaml") == file_digest(tmp_path / "c/two.yaml")
    assert file_digest(tmp_path / "a/one.yaml") != file_digest(tmp_path / "d/one.yaml")
