"""Lists of names, counts, and lines of three columns."""

import json
import textwrap

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rooflint.base.text import (
    article,
    changed,
    counted,
    fail_text,
    grouped,
    row,
    sanitized,
    short_id,
    some,
    visible,
    without_commands,
    workflow_command,
    wrapped,
)


@pytest.mark.parametrize(
    ("names", "message"),
    [("", ""), ("a", "a"), ("abc", "a, b, c"), ("abcd", "a, b, c and 1 more"), ("abcabcde", "a, b, c and 2 more")],
)
def test_three_names_are_said_and_the_others_counted(names, message):
    assert some(names) == message


def test_a_long_id_keeps_its_file_its_beginning_and_its_end():
    assert short_id("golden/x.yaml::count") == "golden/x.yaml::count"
    assert short_id("golden/x.yaml::" + "a" * 73) == "golden/x.yaml::" + "a" * 73  # 88 letters
    assert short_id("golden/x.yaml::" + "a" * 70 + "-batch-16") == "golden/x.yaml::" + "a" * 60 + "…aaa-batch-16"
    assert short_id("f" * 90 + "::" + "a" * 30) == "f" * 90 + "::" + "a" * 11 + "…" + "a" * 12


def test_a_count_has_a_plural_but_for_one():
    assert [counted(number, "device") for number in (0, 1, 2)] == ["0 devices", "1 device", "2 devices"]


def test_a_noun_has_the_article_of_its_sound():
    nouns = [article(noun) for noun in ("peak", "intensity", "npu", "gpu")]
    assert nouns == ["a peak", "an intensity", "an npu", "a gpu"]


def test_numbers_of_five_digits_and_more_are_grouped():
    assert [grouped(number) for number in (9999, 10_000, -22_440, 1_234_567)] == [
        "9999",
        "10 000",
        "-22 440",
        "1 234 567",
    ]
    assert grouped(12_345, "_") == "12_345"
    assert counted(18_480, "row") == "18 480 rows"


def test_a_row_has_three_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert row("tdp", "70 W", "data sheet") == f"  {'tdp':<9} {'70 W':<17} data sheet"
    assert row("tdp", "70 W") == "  tdp       70 W"


def test_a_long_row_is_wrapped_below_its_third_column(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    first, second = row("tdp", "70 W", "word " * 15).splitlines()
    assert len(first) <= 80
    assert second == " " * 30 + second.strip()


def test_a_long_path_is_indented_less_than_other_lines():
    path = "rooflint/specs/architectures/nvidia/hopper-gh100.yaml:20"
    lines = row("facts", "4", f"per_group (quoted) {path}", width=80).splitlines()
    assert lines == ["  facts     4                 per_group (quoted)", f"{'':12}{path}"]
    assert row("facts", "4", "a " * 30 + "b" * 90, width=80).splitlines()[-1] == "b" * 90


@given(st.text(st.sampled_from("ab -\t\n×é\u00a0"), max_size=150))
def test_a_line_that_fits_is_what_wrapping_makes_of_it(text):
    plain = textwrap.TextWrapper(80, initial_indent="  or  ", subsequent_indent="    ")
    plain.break_long_words = plain.break_on_hyphens = False
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "80")
        lines = plain.fill(text).rstrip().splitlines()
        assume(all(len(line) <= 80 for line in lines))  # longer ones are indented less
        assert wrapped(text, "  or  ", 4).splitlines() == lines


# ---- Text that others wrote


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b]8;;http://a.example\x07link", r"\u001b[31mred\u001b]8;;http://a.example\u0007link"),
        ("gpu\u202e001A", r"gpu\u202e001A"),
        ("\x7fa\rb\r\nc\td", "\\u007fa\\u000db\r\nc\td"),
        ("a\x85b\u2028c", r"a\u0085b\u2028c"),
        ("a\u200bb\ufeffc\u00ad", r"a\u200bb\ufeffc\u00ad"),
        ("tag\U000e0041", r"tag\udb40\udc41"),
        ("16\u202f896 × 2\u00a0GHz – ½", "16\u202f896 × 2\u00a0GHz – ½"),
    ],
)
def test_what_would_act_on_a_terminal_is_shown_as_json_escapes_it(text, shown):
    assert visible(text) == shown
    assert json.loads(f'"{visible(text)}"', strict=False) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error::x", r"\u003a:error::x"),
        ("a\n \t::add-mask::x", "a\n \t\\u003a:add-mask::x"),
        ("line ##[error]x", r"line #\u0023[error]x"),
        ("tests/a.yaml::claim # [1] ## a :: b", "tests/a.yaml::claim # [1] ## a :: b"),
    ],
)
def test_what_a_ci_runner_would_obey_is_broken(text, shown):
    assert without_commands(text) == shown
    assert sanitized(f"\x1b{text}") == r"\u001b" + (shown if shown[0] != "\\" else text)


def test_claims_that_fail_agree_with_their_verb():
    assert (fail_text(1), fail_text(34), fail_text(1, "other claim")) == (
        "1 claim fails",
        "34 claims fail",
        "1 other claim fails",
    )


def test_a_change_names_the_operating_point_and_a_side_that_states_nothing():
    assert changed("tdp", "30w", "40 W", "4 W") == "tdp at 30w 40 W → 4 W"
    assert changed("tdp", None, None, "4 W") == "tdp nothing → 4 W"


def test_a_workflow_command_is_one_line_whatever_it_quotes():
    assert workflow_command("notice", "a", "b") == "::notice title=a::b"
    found = workflow_command("error", "100 %: a, b", "x\n::error::y 5 %", "specs/a,b.yaml", 7)
    assert found == "::error file=specs/a%2Cb.yaml,line=7,title=100 %25%3A a%2C b::x%0A::error::y 5 %25"
