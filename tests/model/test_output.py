"""Where an answer goes, and in which format."""

import io
import sys

import pytest

from rooflint.answer import write
from rooflint.output import OutputError, deliver
from rooflint.table import UnknownFormatError


@pytest.mark.parametrize(("suffix", "form"), [("json", "json"), ("csv", "csv"), ("MD", "md"), ("txt", "text")])
def test_the_suffix_says_the_format(resnet18, tmp_path, suffix, form):
    file = tmp_path / "new" / f"answer.{suffix}"
    deliver(resnet18, None, file)
    assert file.read_text(encoding="utf-8") == write(resnet18, form)


def test_a_named_format_comes_before_the_suffix(resnet18, tmp_path):
    deliver(resnet18, "json", tmp_path / "answer.data")
    assert (tmp_path / "answer.data").read_text(encoding="utf-8").startswith("{\n")


def test_an_unknown_suffix_is_refused_with_those_that_are_known(resnet18, tmp_path):
    file = tmp_path / "answer.pdf"
    with pytest.raises(OutputError) as caught:
        deliver(resnet18, None, file)
    assert str(caught.value) == (
        f"{file}: want a suffix that names a format (.txt, .json, .csv, .md, .html), or --format"
    )
    assert not file.exists()


def test_an_unknown_format_writes_nothing(resnet18, tmp_path):
    with pytest.raises(UnknownFormatError, match="unknown format 'pdf'"):
        deliver(resnet18, "pdf", tmp_path / "answer.md")
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_one_sentence(resnet18, tmp_path):
    with pytest.raises(OutputError, match=r"cannot be written \(Is a directory\)$"):
        deliver(resnet18, "md", tmp_path)
    with pytest.raises(OutputError, match=r"cannot be written"):
        (tmp_path / "file").write_text("", encoding="utf-8")
        deliver(resnet18, "md", tmp_path / "file" / "answer.md")


def test_without_a_file_it_is_printed_as_text(resnet18, capsys):
    deliver(resnet18, None, None)
    assert capsys.readouterr().out == write(resnet18, "text")


def test_a_file_gets_no_colour_even_from_a_terminal(resnet18, tmp_path, monkeypatch):
    want = write(resnet18, "text")
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys, "stdout", terminal)
    deliver(resnet18, None, tmp_path / "answer.txt")
    text = (tmp_path / "answer.txt").read_text(encoding="utf-8")
    assert "\x1b" not in text
    assert [line.rstrip() for line in text.splitlines()] == want.splitlines()
