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
        ('{"a": 1,\n}', r"a\.json:2  is not JSON: "),
        ("", r"a\.json:1  is not JSON: "),
        ("[" * 200_000, r"a\.json:1  is nested too deeply"),
        ('{"a":' * 200_000, r"a\.json:1  is nested too deeply"),
    ],
)
def test_what_is_not_json_is_refused_with_its_line(text, message):
    with pytest.raises(InputError, match=message):
        strict_json.parse(text, FILE)
