"""The door for YAML: what is read, which line it stands in, and everything that is refused."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rooflint.base.errors import InputError, Problem
from rooflint.base.files import MAX_BYTES
from rooflint.base.strict_yaml import (
    MAX_DEPTH,
    PlaceError,
    keys_at,
    line_of_key,
    load,
    parse,
    value_at,
    with_entry_before,
    with_value,
)

FILE = Path("specs/hardware/acme/one.yaml")


def read(text):
    return parse(text, FILE).data


def problems(text):
    with pytest.raises(InputError) as caught:
        parse(text, FILE)
    assert all(problem.file == FILE for problem in caught.value.problems)
    return [(problem.line, problem.message) for problem in caught.value.problems]


# --------------------------------------------------------------------------------------------------------- what is read


def test_scalars_are_those_of_yaml_1_2():
    text = "[1, -5, +7, 1.5, .5, 1e3, true, FALSE, null, ~, , word]".replace(", ,", ', "",')
    assert read(text) == [1, -5, 7, 1.5, 0.5, 1000.0, True, False, None, None, "", "word"]


def test_words_that_yaml_1_1_would_convert_stay_words():
    # yes and on were booleans, 1:30 was 90, 0o17 and 0x1f were numbers, 1_000 was 1000, and a day was a date
    words = ["yes", "no", "on", "off", "1:30", "0o17", "0x1f", "1_000", "2022-11-20", "="]
    assert read(f"[{', '.join(words)}]") == words


def test_a_leading_zero_is_decimal():
    assert read("a: 012") == {"a": 12}


def test_quotes_and_blocks_keep_a_number_a_text():
    assert read("a: '9.0'\nb: \"132\"\nc: |\n  7\nd: >-\n  8\n") == {"a": "9.0", "b": "132", "c": "7\n", "d": "8"}


def test_a_number_with_a_unit_is_text():
    assert read("tdp: [700 W, wp, table 3]") == {"tdp": ["700 W", "wp", "table 3"]}


def test_a_number_is_kept_as_it_was_written_too():
    # 2.50 is printed to a hundredth, 2.5 to a tenth
    document = parse("a: 2.50\nb: {c: [1e3, 012, +7]}\nd: '2.50'\ne: word\n", FILE)
    assert document.data == {"a": 2.5, "b": {"c": [1000.0, 12, 7]}, "d": "2.50", "e": "word"}
    written = {path: document.texts[path] for path in (("a",), ("b", "c", 0), ("b", "c", 1), ("b", "c", 2))}
    assert list(written.values()) == ["2.50", "1e3", "012", "+7"]
    assert ("d",) not in document.texts
    assert ("e",) not in document.texts


def test_a_number_beyond_floats_stays_text_for_the_unit_parser_to_refuse():
    assert read("a: 1e999") == {"a": "1e999"}
    assert read(f"a: {'1' * 40}") == {"a": "1" * 40}


def test_keys_are_text_and_no_merge_happens():
    assert read("1: a\ntrue: b\n<<: {c: d}") == {"1": "a", "true": "b", "<<": {"c": "d"}}


def test_ampersand_and_star_inside_a_text_are_no_anchors():
    assert read("a: AT&T\nb: 2 * 3") == {"a": "AT&T", "b": "2 * 3"}


def test_an_empty_value_is_none():
    assert read("a:\nb: 1") == {"a": None, "b": 1}


def test_windows_line_ends_and_a_byte_order_mark_do_no_harm(tmp_path):
    file = tmp_path / "one.yaml"
    file.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n")
    document = load(file)
    assert document.data == {"a": 1, "b": 2}
    assert document.line(("b",)) == 2


LETTERS = st.characters(categories=("L", "N", "P", "S", "Zs"), max_codepoint=0xFFFD)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(LETTERS, max_size=12)
)
DATA = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(LETTERS, max_size=8), inner, max_size=4),
    max_leaves=12,
).filter(lambda data: data != "")


@pytest.mark.slow
@given(st.dictionaries(st.text(LETTERS, min_size=1, max_size=8), DATA, min_size=1, max_size=4))
def test_json_is_yaml_and_is_read_as_json_reads_it(data):
    text = json.dumps(data, ensure_ascii=False)
    assert read(text) == json.loads(text)


# ---------------------------------------------------------------------------------------------------------------- lines


def test_every_node_has_its_line():
    document = parse("# a comment\nname: One\n\nunits:\n  tc: {groups: [132, wp,\n    table 3]}\n", FILE)
    assert document.line(("name",)) == 2
    assert document.line(("units", "tc", "groups")) == 5
    assert document.line(("units", "tc", "groups", 2)) == 6


def test_what_the_file_does_not_have_is_said_at_the_nearest_node_above():
    document = parse("name: One\nunits:\n  tc:\n    groups: 1\n", FILE)
    assert document.line(("units", "tc", "clock")) == 3
    assert document.line(("memories", "hbm")) == 1
    assert document.problem(("units", "tc", "clock"), "is missing") == Problem(FILE, 3, "is missing")


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12))
def test_lines_count_blank_lines_and_comments(gaps):
    text, lines, here = "", [], 1
    for number, gap in enumerate(gaps):
        text += "# comment\n" * gap + f"key{number}: {number}\n"
        lines.append(here + gap)
        here += gap + 1
    document = parse(text, FILE)
    assert [document.line((f"key{number}",)) for number in range(len(gaps))] == lines


# ------------------------------------------------------------------------------------------------------------- refusals


def test_a_key_written_twice_is_refused_with_both_lines():
    assert problems("tdp: 1\nname: x\ntdp: 2\n") == [(3, "'tdp' is written twice (first in line 1); keep one")]


def test_a_key_written_three_times_names_the_first_line_each_time():
    assert problems("a: 1\na: 2\na: 3\n") == [
        (2, "'a' is written twice (first in line 1); keep one"),
        (3, "'a' is written twice (first in line 1); keep one"),
    ]


def test_a_key_written_twice_deep_inside_is_found_however_it_is_quoted():
    text = "units:\n  tc:\n    clock: 1\n    'clock': 2\n"
    assert problems(text) == [(4, "'clock' is written twice (first in line 3); keep one")]
    assert problems("{1: a, '1': b}") == [(1, "'1' is written twice (first in line 1); keep one")]


@pytest.mark.parametrize("number", [".nan", ".NaN", ".inf", "-.inf", "+.INF"])
def test_nan_and_infinities_are_refused(number):
    assert problems(f"a: 1\nb: [{number}]") == [(2, f"want a finite number, found {number}")]


def test_a_quoted_nan_is_a_text():
    assert read("a: '.nan'") == {"a": ".nan"}


NO_ANCHORS = "anchors and aliases are not part of this format; write it out"


@pytest.mark.parametrize("text", ["a: 1\nb: &x 1\nc: *x", "a: 1\nb: *unknown", "a: 1\nb: &x [*x]", "a: 1\n&k b: 2"])
def test_anchors_and_aliases_are_refused(text):
    assert problems(text) == [(2, NO_ANCHORS)]


def test_an_alias_bomb_is_refused_before_it_grows():
    # ten lists of ten aliases each: 10¹⁰ words, were they written out
    lists = [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10) if n else 'word'}]" for n in range(11)]
    assert problems("\n".join(lists)) == [(1, NO_ANCHORS)]


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("a: 1\nb: !mine 2", "!mine"),
        ("a: 1\nb: !!binary aGk=", "tag:yaml.org,2002:binary"),
        ("a: 1\nb: !!python/name:os.system x", "tag:yaml.org,2002:python/name:os.system"),
    ],
)
def test_tags_of_scalars_are_refused(text, tag):
    assert problems(text) == [(2, f"tags such as '{tag}' are not part of this format")]


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\nb: !mine {c: 2}",
        "a: 1\nb: !mine [2]",
        "a: 1\nb: !!set {c, d}",
        "a: 1\nb: !!python/object:os.system {}",
    ],
)
def test_tags_of_collections_are_refused(text):
    ((line, message),) = problems(text)
    assert line == 2
    assert message.startswith("tags such as '")


def test_tags_of_keys_are_refused():
    assert problems("a: 1\n!mine b: 2") == [(2, "tags such as '!mine' are not part of this format")]


@pytest.mark.parametrize("text", ["a: !!str 132", "a: !!int '5'", "a: !!float 1", "a: !!null x"])
def test_a_tag_that_would_change_what_is_read_is_refused_not_ignored(text):
    # `!!str 132` says text, and is read as the number 132
    ((line, message),) = problems(text)
    assert line == 1
    assert message.startswith("tags such as '")


def test_several_documents_are_refused():
    ((line, message),) = problems("a: 1\n---\nb: 2\n")
    assert line == 2
    assert message == "want one document, found another one after '---'"


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n"])
def test_an_empty_file_is_refused(text):
    assert problems(text) == [(1, "is empty")]


def test_a_collection_as_key_is_refused():
    assert problems("a: 1\n? [b]\n: 2") == [(2, "want a text as key, found a collection")]


@pytest.mark.parametrize(
    ("text", "line"),
    [("a: 1\n b: 2\n", 2), ("a: [1, 2\n", 2), ("a: 1\nb: 'x\n", 2), ("}", 1)],
)
def test_what_is_no_yaml_is_refused_near_its_line(text, line):
    ((found, message),) = problems(text)
    assert found in (line, line + 1)  # some errors are noticed at the start of the next line
    assert message.startswith("is not YAML: ")


@pytest.mark.parametrize("text", ["a: \x00", "a: \x07"])
def test_control_characters_are_refused(text):
    ((_, message),) = problems(text)
    assert message.startswith("is not YAML: ")
    assert "\n" not in message


def test_depth_ends_at_the_limit():
    def nested(depth):
        return "[" * depth + "1" + "]" * depth

    assert read(nested(MAX_DEPTH)) == json.loads(nested(MAX_DEPTH))
    assert problems(nested(MAX_DEPTH + 1)) == [(1, f"is nested deeper than {MAX_DEPTH} levels")]


def test_a_long_way_down_in_blocks_is_refused_too():
    text = "\n".join(f"{' ' * depth}a:" for depth in range(40))
    ((line, message),) = problems(text)
    assert message == f"is nested deeper than {MAX_DEPTH} levels"
    assert line == MAX_DEPTH + 1 + 1  # the root is at line 1 and has depth 0; each level is a line


def test_a_file_of_brackets_is_refused_and_does_not_kill_the_interpreter(tmp_path):
    # below the size limit, 100 kB; a process of its own, because what must not happen is a segmentation fault
    file = tmp_path / "deep.yaml"
    file.write_text("[" * 100_000, encoding="utf-8")
    code = (
        "import sys; from pathlib import Path; from rooflint.base import errors, strict_yaml\n"
        "try: strict_yaml.load(Path(sys.argv[1]))\n"
        "except errors.InputError: print('refused')"
    )
    result = subprocess.run([sys.executable, "-c", code, file], capture_output=True, encoding="utf-8", check=False)
    assert (result.returncode, result.stdout) == (0, "refused\n")


def test_an_oversized_file_is_refused_before_it_is_parsed(tmp_path):
    file = tmp_path / "big.yaml"
    file.write_text("a: 1\n" + "#" * (MAX_BYTES - 5), encoding="utf-8")
    assert load(file).data == {"a": 1}  # just as large as it may be
    file.write_text("a: 1\n" + "#" * (MAX_BYTES - 4), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load(file)
    assert caught.value.problems == (Problem(file, 1, "is larger than 256 KiB; split it"),)


def test_the_limit_can_be_another(tmp_path):
    file = tmp_path / "small.yaml"
    file.write_text("a: 1\n" + "#" * 2048, encoding="utf-8")
    with pytest.raises(InputError, match="is larger than 2 KiB; split it"):
        load(file, max_bytes=2048)


def test_what_is_not_utf8_is_refused_with_its_line_and_byte(tmp_path):
    file = tmp_path / "latin.yaml"
    file.write_bytes("name: One\ndocument: Zürich\n".encode("latin-1"))
    with pytest.raises(InputError) as caught:
        load(file)
    assert caught.value.problems == (Problem(file, 2, "want UTF-8, found byte 0xfc"),)


def test_utf16_is_refused(tmp_path):
    file = tmp_path / "utf16.yaml"
    file.write_bytes("name: One\n".encode("utf-16"))
    with pytest.raises(InputError) as caught:
        load(file)
    assert caught.value.problems == (Problem(file, 1, "want UTF-8, found byte 0xff"),)


def test_what_cannot_be_read_is_refused_with_the_reason(tmp_path):
    with pytest.raises(InputError) as caught:
        load(tmp_path / "absent.yaml")
    assert caught.value.problems == (Problem(tmp_path / "absent.yaml", 1, "cannot be read: No such file or directory"),)
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        load(tmp_path)


def test_all_problems_of_a_file_are_said_at_once_in_order():
    assert [line for line, _ in problems("a: .nan\nb: 1\nb: .inf\nc: !x 1\n")] == [1, 3, 3, 4]


@pytest.mark.slow
@given(st.text(max_size=60))
def test_any_text_is_data_or_an_input_error(text):
    try:
        document = parse(text, FILE)
    except InputError as error:
        assert error.problems
        assert all(1 <= problem.line <= text.count("\n") + text.count("\r") + 2 for problem in error.problems)
    else:
        assert document.line(()) >= 1


@given(
    st.dictionaries(st.text("abcxyz_", min_size=1, max_size=6), st.integers(-(10**20), 10**20), min_size=1, max_size=5)
)
def test_plain_yaml_is_read_as_the_reference_reads_it(data):
    text = yaml.safe_dump(data)
    assert read(text) == yaml.safe_load(text)


# ---- One value of a YAML text changed, and not a character around it

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
        (("claims", 2, "expect"), "has no"),
        (("claims", "expect"), "has no"),
        (("units",), "is not a scalar on one line"),
        (("notes",), "is not a scalar on one line"),
        (("long",), "spans several lines"),
    ],
)
def test_what_cannot_be_changed_in_place_is_said_so(path, message):
    with pytest.raises(PlaceError, match=message):
        with_value(SPEC, path, "8")


def test_an_entry_needs_a_key_to_stand_before():
    with pytest.raises(PlaceError, match="is not a key"):
        with_entry_before(SPEC, ("claims", 0), "sparse: true")
    with pytest.raises(PlaceError, match="is not a key"):
        line_of_key(SPEC, ("claims", 0))


WORDS = st.text("abc é×½🙂", min_size=1, max_size=6).filter(lambda text: text == text.strip())


@given(st.lists(WORDS, min_size=1, max_size=5), st.data())
def test_any_value_of_any_list_can_be_replaced(words, data):
    # written by hand rather than dumped, with comments between
    text = "# ±\nlist:\n" + "".join(f"  - {word}   # {word}\n" for word in words)
    place = data.draw(st.integers(0, len(words) - 1))
    wanted = [*words[:place], "new", *words[place + 1 :]]
    found = with_value(text, ("list", place), "new")
    assert yaml.safe_load(found) == {"list": wanted}
    assert found.splitlines()[place + 2] == f"  - new   # {words[place]}"


@pytest.mark.parametrize(
    ("text", "line", "character"),
    [
        ('name: "a\\n\\u001b[31m"', 1, "U+001B"),
        ('a: 1\nname: "x \\u202e y"', 2, "U+202E"),
        ('a: 1\n"k\\x07": 2', 2, "U+0007"),
        ("a:\n  - fine\n  - 'x \u2066 y'", 3, "U+2066"),
    ],
)
def test_invisible_characters_are_refused_with_their_line(text, line, character):
    with pytest.raises(InputError, match=rf":{line}  want visible characters, found {character.replace('+', '.')}$"):
        parse(text, FILE)
