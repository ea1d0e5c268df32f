"""Written whole or not at all."""

import pytest

from rooflint.whole_file import write_whole


def test_a_file_is_replaced_and_its_folder_made(tmp_path):
    file = tmp_path / "deep" / "a.yaml"
    write_whole(file, "old")
    write_whole(file, "new ×\n")
    assert file.read_bytes() == "new ×\n".encode()
    assert [path.name for path in file.parent.iterdir()] == ["a.yaml"]


def test_a_failed_write_leaves_the_old_file_and_nothing_beside_it(tmp_path):
    file = tmp_path / "a.yaml"
    write_whole(file, "old")
    with pytest.raises(UnicodeEncodeError):
        write_whole(file, "new \ud800")
    assert file.read_text(encoding="utf-8") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.yaml"]
