"""Files are read within bounds, and written whole or not at all."""

import errno
import os
from pathlib import Path

import pytest

from rooflint.base.errors import InputError
from rooflint.base.files import (
    create,
    file_digest,
    folders_digest,
    read_bytes,
    read_text,
    write_atomically,
    write_pieces_atomically,
)

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
