"""JSON as it is read: what no reader can use is refused with its line."""

from pathlib import Path

import pytest

from rooflint.base import strict_json
from rooflint.base.errors import InputError

FILE = Path("a.json")


def test_plain_data_is_read():
    assert strict_json.parse('{"a": [1, 2.5, "NaN", null, true]}', FILE) == {"a": [1, 2.5, "NaN", None, True]}


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("NaN", "NaN"),
        ("-Infinity", "-Infinity"),
        ("1e999", "1e999"),
        ("-1.5E+400", "-1.5E+400"),
        ("1e999e-5", "1e999"),  # not JSON either; the number is what is met first
        ("9" * 5000, "one of 5000 characters"),
        ("9" * 500 + ".5", "one of 502 characters"),
    ],
)
def test_a_number_out_of_range_is_refused_with_its_line(value, found):
    with pytest.raises(InputError, match=rf"^a\.json:3  want finite numbers, found {found.replace('+', '.')}$"):
        strict_json.parse(f'{{"Infinity, 1e999": 1,\n "b": 2,\n "c": {value}}}', FILE)


def test_where_infinities_are_allowed_they_are_read():
    assert strict_json.parse("[1e999, -Infinity]", FILE, finite=False) == [float("inf"), float("-inf")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1,\n "b" 2}', r"a\.json:2  is not JSON: "),
        ("", r"a\.json:1  is not JSON: "),
        ("[" * 200_000, r"a\.json:1  is nested too deeply"),
        ('{"a":' * 200_000, r"a\.json:1  is nested too deeply"),
    ],
)
def test_what_is_not_json_is_refused_with_its_line(text, message):
    with pytest.raises(InputError, match=message):
        strict_json.parse(text, FILE)


def test_the_number_that_is_refused_is_the_one_that_is_named():
    text = '{"a": 1' + "0" * 400 + ',\n"b": NaN}'
    with pytest.raises(InputError, match=r"^a\.json:2  want finite numbers, found NaN$"):
        strict_json.parse(text, FILE)
    assert strict_json.parse("1" + "0" * 400, FILE) == 10**400


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": {"b": 1, "b": 1}}', "'b' is written twice; keep one"),
        ('{"a": "\\ud800"}', "half of a surrogate pair"),
        ('{"\\udfff": 1}', "half of a surrogate pair"),
    ],
)
def test_what_readers_would_take_for_different_things_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        strict_json.parse(text, FILE)


def test_a_surrogate_pair_is_one_character():
    assert strict_json.parse('"\\ud83d\\ude00"', FILE) == "\U0001f600"
