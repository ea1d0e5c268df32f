"""Drawings: the curves and bars of an answer as SVG or PNG, and what is said where there can be none."""

import sys
from dataclasses import replace

import pytest

from rooflint.output.deliver import deliver
from rooflint.output.plot import PlotError, draw

#: Matplotlib opens its own cache of fonts without an encoding.
pytestmark = pytest.mark.filterwarnings(r"ignore::EncodingWarning:matplotlib\..*")


@pytest.fixture
def drawn():
    pytest.importorskip("matplotlib", reason="drawings need rooflint[plot]")


@pytest.fixture
def drawable(resnet18):
    return replace(resnet18, sections=tuple(one for one in resnet18.sections if one.kind in ("bars", "curves")))


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


@pytest.mark.parametrize(("suffix", "head"), [("svg", b"<?xml"), ("PNG", b"\x89PNG")])
def test_the_suffix_says_what_is_drawn(drawn, drawable, tmp_path, suffix, head):
    file = tmp_path / f"answer.{suffix}"
    deliver(drawable, None, file)
    assert file.read_bytes().startswith(head)


def test_without_matplotlib_it_says_what_to_install(drawable, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(PlotError, match=r"^a drawing needs matplotlib; install rooflint\[plot\], or write .html"):
        deliver(drawable, None, tmp_path / "answer.svg")
    assert list(tmp_path.iterdir()) == []


def test_an_answer_of_words_is_not_drawn(resnet18, tmp_path):
    words = replace(resnet18, sections=resnet18.sections[:1])
    with pytest.raises(PlotError, match="nothing to draw"):
        deliver(words, None, tmp_path / "answer.svg")
    assert list(tmp_path.iterdir()) == []
