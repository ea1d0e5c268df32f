"""Claims: their ids need no quoting in a shell, their sources read as a citation."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rooflint.golden.claim import Claim, ClaimSource, slug


@pytest.mark.parametrize(
    ("text", "id"),
    [
        ("tensor_core int8", "tensor_core-int8"),
        ("tensor_core int8 / lpddr5", "tensor_core-int8-per-lpddr5"),
        ("tensor_core int8 + dla int8", "tensor_core-int8-and-dla-int8"),
        ("base <= tensor_core <= boost", "base-le-tensor_core-le-boost"),
        ("a>=b", "a-ge-b"),
        ("nvidia/t4 < nvidia/l4", "nvidia/t4-lt-nvidia/l4"),
        ("nvidia/x@30w", "nvidia/x-30w"),
        ("  spaces  ", "spaces"),
    ],
)
def test_signs_become_words(text, id):
    assert slug(text) == id


@given(st.text())
def test_only_characters_that_a_shell_leaves_alone_remain(text):
    assert re.fullmatch(r"[A-Za-z0-9._/-]*", slug(text))


@given(st.text())
def test_a_slug_of_a_slug_is_itself(text):
    assert slug(slug(text)) == slug(text)


def test_a_source_reads_as_a_citation():
    assert str(ClaimSource("ds", "Data sheet", "quoted", "p. 7")) == "Data sheet, p. 7 (quoted)"
    assert str(ClaimSource(None, "Data sheet", "read")) == "Data sheet (read)"


def test_an_operating_point_is_one_for_all_devices_or_one_a_device():
    common = Claim("latency", "a < b", "id", Path("x.yaml"), 1, None, at="30w")
    own = Claim("latency", "a < b", "id", Path("x.yaml"), 1, None, at={"a": "30w"})
    assert (common.mode_of("a"), common.mode_of("b")) == ("30w", "30w")
    assert (own.mode_of("a"), own.mode_of("b")) == ("30w", None)
