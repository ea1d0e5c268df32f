"""One value of a YAML text changed, and not a character around it."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rooflint.yaml_text import PlaceError, keys_at, line_of_key, value_at, with_entry_before, with_value

SPEC = """\
# ½ a comment with × and ±, so that bytes are no characters
name:   "Acme — X1"   # spaces, an em dash
units:
  mac_array: {groups: [4, brief, "p. 2, × 2"], clock: [1000 MHz, brief, p. 2]}   # rows
memories:
  lpddr5:
    bus: ["128 bit", 'brief', p. 3]
operating_points:
  low: {units.mac_array.clock: [500 MHz, brief, p. 4]}
claims:
  - {peak: x, expect: 2}
  - peak: y
    expect: 1.50 TB/s
notes: >
  folded
  text
long: a plain value
  of two lines
"""


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        (("units", "mac_array", "groups", 0), "[4, brief", "[8, brief"),
        (("units", "mac_array", "clock", 0), "[1000 MHz,", "[8,"),
        (("memories", "lpddr5", "bus", 0), '"128 bit"', '"8"'),
        (("memories", "lpddr5", "bus", 1), "'brief'", "'8'"),
        (("operating_points", "low", "units.mac_array.clock", 0), "[500 MHz,", "[8,"),
        (("claims", 0, "expect"), "expect: 2}", "expect: 8}"),
        (("claims", 1, "expect"), "1.50 TB/s", "8"),
        (("name",), '"Acme — X1"', '"8"'),
    ],
)
def test_a_value_is_replaced_and_nothing_else(path, old, new):
    assert with_value(SPEC, path, "8") == SPEC.replace(old, new)


def test_a_value_is_read_as_its_quotes_enclose_it():
    assert value_at(SPEC, ("claims", 1, "expect")) == "1.50 TB/s"
    assert value_at(SPEC, ("memories", "lpddr5", "bus", 0)) == "128 bit"


def test_lines_are_those_of_the_keys():
    assert line_of_key(SPEC, ("units", "mac_array", "clock")) == 4
    assert line_of_key(SPEC, ("claims", 1, "expect")) == 13


def test_keys_of_what_is_no_mapping_are_none():
    assert keys_at(SPEC, ("operating_points",)) == ["low"]
    assert keys_at(SPEC, ("claims",)) == keys_at(SPEC, ("nothing",)) == []


def test_an_entry_goes_into_a_flow_mapping_with_a_comma():
    found = with_entry_before(SPEC, ("claims", 0, "expect"), "sparse: true")
    assert found == SPEC.replace("{peak: x, expect: 2}", "{peak: x, sparse: true, expect: 2}")


def test_an_entry_goes_into_a_block_mapping_with_a_line_of_its_own():
    found = with_entry_before(SPEC, ("claims", 1, "expect"), "sparse: true")
    assert found == SPEC.replace("    expect: 1.50 TB/s", "    sparse: true\n    expect: 1.50 TB/s")
    first = with_entry_before(SPEC, ("claims", 1, "peak"), "sparse: true")
    assert first == SPEC.replace("  - peak: y", "  - sparse: true\n    peak: y")


def test_windows_lines_stay_windows_lines():
    text = SPEC.replace("\n", "\r\n")
    assert with_value(text, ("claims", 1, "expect"), "8") == text.replace("1.50 TB/s", "8")
    assert "    sparse: true\r\n    expect" in with_entry_before(text, ("claims", 1, "expect"), "sparse: true")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (("units", "vector"), "has no 'units.vector'"),
        (("claims", 7, "expect"), "has no"),
        (("claims", "expect"), "has no"),
        (("units",), "is no value that stands in one line"),
        (("notes",), "is no value that stands in one line"),
        (("long",), "runs over several lines"),
    ],
)
def test_what_cannot_be_changed_in_place_is_said_so(path, message):
    with pytest.raises(PlaceError, match=message):
        with_value(SPEC, path, "8")


def test_an_entry_needs_a_key_to_stand_before():
    with pytest.raises(PlaceError, match="no key"):
        with_entry_before(SPEC, ("claims", 0), "sparse: true")
    with pytest.raises(PlaceError, match="no key"):
        line_of_key(SPEC, ("claims", 0))


WORDS = st.text("abc é×½🙂", min_size=1, max_size=6).map(str.strip).filter(bool)


@given(st.lists(WORDS, min_size=1, max_size=5), st.data())
def test_any_value_of_any_list_can_be_replaced(words, data):
    # written by hand rather than dumped, with comments between
    text = "# ±\nlist:\n" + "".join(f"  - {word}   # {word}\n" for word in words)
    place = data.draw(st.integers(0, len(words) - 1))
    wanted = [*words[:place], "new", *words[place + 1 :]]
    found = with_value(text, ("list", place), "new")
    assert yaml.safe_load(found) == {"list": wanted}
    assert found.splitlines()[place + 2] == f"  - new   # {words[place]}"
