"""Where an answer goes, and in which format."""

import io
import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest

from rooflint.output.answer import UnknownFormatError, write
from rooflint.output.deliver import OutputError, PlotError, deliver, draw
from rooflint.output.sections import Curve, Curves, Point, Roof, Rooflines


@pytest.mark.slow
@pytest.mark.parametrize(("suffix", "form"), [("json", "json"), ("csv", "csv"), ("MD", "md"), ("txt", "text")])
def test_the_suffix_says_the_format(resnet18, tmp_path, suffix, form):
    file = tmp_path / f"answer.{suffix}"
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


def test_a_folder_is_refused(resnet18, tmp_path):
    with pytest.raises(OutputError) as caught:
        deliver(resnet18, "md", tmp_path)
    assert str(caught.value) == f"{tmp_path}: want a file to write, found a folder"


@pytest.mark.parametrize("missing", ["absent", "file"])
def test_a_folder_that_is_not_there_is_refused_and_not_made(resnet18, tmp_path, missing):
    (tmp_path / "file").write_text("", encoding="utf-8")
    place = tmp_path / missing / "answer.md"
    with pytest.raises(OutputError) as caught:
        deliver(resnet18, None, place)
    assert str(caught.value) == f"{place}: want a file in a folder that is there, found no folder {place.parent}"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_place_that_cannot_be_written_is_one_sentence(resnet18, tmp_path):
    place = tmp_path / f"{'a' * 300}.md"  # longer than any file system takes
    with pytest.raises(OutputError, match=r"a\.md: cannot be written \(File name too long\)$"):
        deliver(resnet18, "md", place)


def test_a_file_is_replaced_whole(resnet18, tmp_path):
    file = tmp_path / "answer.md"
    file.write_text("old " * 10**5, encoding="utf-8")
    deliver(resnet18, None, file)
    assert file.read_text(encoding="utf-8") == write(resnet18, "md")
    assert [path.name for path in tmp_path.iterdir()] == ["answer.md"]


@pytest.mark.parametrize("known", [True, False], ids=["to-a-file", "to-nothing-yet"])
def test_a_symlink_stays_and_what_it_leads_to_is_written(resnet18, tmp_path, known):
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "target", tmp_path / "answer.md"
    if known:
        target.write_text("old", encoding="utf-8")
    link.symlink_to(target)
    deliver(resnet18, None, link)
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == write(resnet18, "md")


class Reader(Thread):
    """Reads in the background; a daemon, so that nobody waits for it where nothing is ever written."""

    def __init__(self, read):
        super().__init__(daemon=True)
        self.read, self.found = read, None
        self.start()

    def run(self):
        self.found = self.read()

    def result(self):
        self.join(timeout=20)
        return self.found


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize(("name", "form"), [("pipe.csv", "csv"), ("pipe", "text")])
def test_a_pipe_is_written_to_and_stays_one(resnet18, tmp_path, name, form):
    pipe = tmp_path / name
    os.mkfifo(pipe)
    reader = Reader(lambda: pipe.read_text(encoding="utf-8"))
    deliver(resnet18, None, pipe)
    assert pipe.is_fifo()
    assert reader.result() == write(resnet18, form)


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="this system has no terminals of its own")
def test_a_device_is_written_to_and_stays_one(resnet18):
    # a terminal of our own, which not even root can replace by a file: unlike /dev/null, it is safe where this fails
    tty = pytest.importorskip("tty")
    ours, theirs = os.openpty()
    tty.setraw(theirs)
    device, want = Path(os.ttyname(theirs)), write(resnet18, "md").encode()

    def read():
        found = b""
        while len(found) < len(want):
            found += os.read(ours, 4096)
        return found

    reader = Reader(read)
    deliver(resnet18, "md", device)
    assert reader.result() == want
    assert device.is_char_device()
    os.close(ours)
    os.close(theirs)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
@pytest.mark.parametrize(("form", "printed"), [(None, "text"), ("json", "json")])
def test_a_dash_is_standard_output(resnet18, capsys, tmp_path, monkeypatch, name, form, printed):
    monkeypatch.chdir(tmp_path)
    deliver(resnet18, form, Path(name))
    assert capsys.readouterr().out == write(resnet18, printed)
    assert list(tmp_path.iterdir()) == []


def test_without_a_file_it_is_printed_as_text(resnet18, capsys):
    deliver(resnet18, None, None)
    assert capsys.readouterr().out == write(resnet18, "text")


@pytest.mark.slow
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


# ---- drawings

#: Matplotlib opens its own cache of fonts without an encoding.


@pytest.fixture
def drawn():
    pytest.importorskip("matplotlib", reason="drawings need rooflint[plot]")


@pytest.fixture
def drawable(resnet18):
    return replace(resnet18, sections=tuple(one for one in resnet18.sections if one.kind in ("bars", "curves")))


@pytest.mark.slow
def test_an_svg_has_every_curve_and_bar_and_is_the_same_each_time(drawn, drawable, monkeypatch):
    import matplotlib  # noqa: PLC0415  # an extra

    monkeypatch.setitem(matplotlib.rcParams, "svg.fonttype", "none")  # text as text
    text = draw(drawable, "svg").decode()
    assert text.startswith("<?xml")
    for section in drawable.sections:
        assert section.heading in text
        for name in [one.label if section.kind == "bars" else one.name for one in getattr(section, section.kind)]:
            assert name in text
    assert draw(drawable, "svg").decode() == text


@pytest.mark.slow
def test_points_that_are_not_joined_are_drawn_without_a_line(drawn, resnet18):
    def paths(joined):
        section = Curves("C", "x", "y", (Curve("one", (1.0, 2.0), (3.0, 4.0), joined),), linear=True)
        return draw(replace(resnet18, sections=(section,)), "svg").count(b"<path")

    # the line, and the same in the legend
    assert paths(True) == paths(False) + 2


@pytest.mark.slow
def test_axes_of_a_drawing_have_figures_with_units_and_the_legend_covers_no_line(drawn, resnet18, monkeypatch):
    import matplotlib  # noqa: PLC0415  # an extra

    monkeypatch.setitem(matplotlib.rcParams, "svg.fonttype", "none")  # text as text
    curves = tuple(Curve(f"curve {number}", (0.02, 0.2), (5.0, 100.0)) for number in range(12))
    section = Curves("Shares", "latency", "samples", curves, "", "s", "%", linear_y=True)
    roof, point = Roof("a roof", 1e12, 1e11), Point("a point", "a roof", 2.0, 1e11)
    text = draw(replace(resnet18, sections=(section, Rooflines("R", (roof,), (point,)))), "svg").decode()
    for figure in ("20 ms", "50 ms", "200 ms", "20 %", "60 %", "100 %", "10 op/B", "500 Gop/s"):
        assert f">{figure}<" in text
    legend, tick = (float(re.search(rf'x="([0-9.]+)"[^>]*>{name}<', text)[1]) for name in ("curve 11", "200 ms"))
    assert legend > tick


@pytest.mark.slow
def test_a_roofline_is_drawn_with_its_roofs_and_the_labels_of_its_points(drawn, resnet18):
    roof, point = Roof("a roof", 1e12, 1e11), Point("a point", "a roof", 2.0, 1e11)
    section = Rooflines("Roofline", (roof,), (point, replace(point, label="of another", roof="unknown")))
    picture = draw(replace(resnet18, sections=(section,)), "svg").decode()
    assert "a roof" in picture
    assert "a point" in picture
    assert "of another" not in picture


@pytest.mark.slow
def test_many_points_are_numbered_and_named_in_a_legend_that_fits(drawn, resnet18, monkeypatch):
    import matplotlib  # noqa: PLC0415  # an extra

    monkeypatch.setitem(matplotlib.rcParams, "svg.fonttype", "none")  # text as text

    def picture(count):
        points = tuple(Point(f"point of {name}", "a roof", 2.0 + name, 1e11) for name in range(count))
        section = Rooflines("Roofline", (Roof("a roof", 1e12, 1e11),), points)
        return draw(replace(resnet18, sections=(section,)), "svg").decode()

    few, many = picture(12), picture(60)
    assert ">point of 11<" in few
    assert ">60  point of 59<" in many
    assert ">60<" in many
    # 61 entries and 4 of spare of 0.19 inch are 12.35 inch, 889.2 points; a few have 5 inch
    heights = [float(re.search(r'<svg [^>]*height="([0-9.]+)pt"', text)[1]) for text in (few, many)]
    assert heights == [pytest.approx(360.0), pytest.approx(889.2)]


@pytest.mark.slow
@pytest.mark.parametrize(("suffix", "head"), [("svg", b"<?xml"), ("PNG", b"\x89PNG")])
def test_the_suffix_says_what_is_drawn(drawn, drawable, tmp_path, suffix, head):
    file = tmp_path / f"answer.{suffix}"
    deliver(drawable, None, file)
    assert file.read_bytes().startswith(head)


def test_without_matplotlib_it_says_what_to_install(drawable, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(PlotError, match=r"^a drawing needs matplotlib, else write .html, .*'\.\[plot\]'$"):
        deliver(drawable, None, tmp_path / "answer.svg")
    assert list(tmp_path.iterdir()) == []


def test_an_answer_of_words_is_not_drawn(resnet18, tmp_path):
    words = replace(resnet18, sections=resnet18.sections[:1])
    with pytest.raises(PlotError, match="nothing to draw"):
        deliver(words, None, tmp_path / "answer.svg")
    assert list(tmp_path.iterdir()) == []
