"""Published tables: what is refused, with its line, and which claims they want."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rooflint.golden import read
from pytest_rooflint.recordings.files import table_problems as problems
from pytest_rooflint.suite.suite import Suite
from rooflint.base.errors import InputError, RooflintError
from rooflint.hardware.registry import PACKAGED, Registry
from rooflint_calibration import published
from rooflint_calibration.package import PUBLISHED

TABLE = """\
title: Two products on an A40
device: nvidia/a40
op: gemm
precision: fp16
source: {document: Some paper, where: table 3, grade: read}
why: a profiler's duration of the kernel alone
timing: kernel
columns: [m, n, k, us]
rows:
  - [1, 4096, 4096, 64]
  - [4096, 12288, 4096, 3755]
"""


@pytest.fixture
def table(tmp_path):
    """`table((old, new), …)`: the file with some texts replaced."""
    file = tmp_path / PUBLISHED / "paper-a40.yaml"
    file.parent.mkdir(parents=True)

    def write(*edits):
        text = TABLE
        for old, new in edits:
            assert text.count(old) == 1
            text = text.replace(old, new)
        file.write_text(text, encoding="utf-8")
        return file

    return write


def test_a_table_has_its_columns_by_name_its_times_in_seconds_and_a_line_for_each_row(table):
    found = published.read(table())
    assert found.slug == "paper-a40"
    assert list(found.sizes["n"]) == [4096, 12288]
    assert list(found.sizes["batch"]) == [1, 1]  # nobody said it
    assert found.seconds == pytest.approx([64e-6, 3755e-6])
    assert found.lines == (10, 11)
    assert found.comparable.all()


def test_rows_that_are_too_short_are_kept_and_not_compared(table):
    found = published.read(table(("timing: kernel", "timing: kernel\nfrom_us: 100")))
    assert len(found) == 2
    assert list(found.comparable) == [False, True]


@pytest.mark.parametrize(
    ("edit", "wish"),
    [
        (
            ("[m, n, k, us]", "[m, k, n, us]"),
            "8  columns: want m, n, k, us, and batch before the last where needed; fou",
        ),
        (("[m, n, k, us]", "[us, m, n, k]"), "8  columns: want m, n, k, us"),
        (("op: gemm", "op: softmax"), "8  columns: want m, n, us; found m, n, k, us"),
        (("op: gemm", "op: gem"), "3  op: want 'gemm', 'convolution', 'layernorm'"),
        (("precision: fp16", "precision: fp61"), "4  precision: want one of fp64, fp32"),
        (
            ("timing: kernel", "timing: host"),
            "7  timing: host needs 'floor: {us, where}': what a call takes besides its k",
        ),
        (("timing: kernel", "timing: kernel\nfloor: {us: 4, where: p. 3}"), "7  timing: kernel has no floor"),
        (("[1, 4096, 4096, 64]", "[1, 4096, 64]"), "10  row: want 4 numbers, one a column; found 3"),
        (("[1, 4096, 4096, 64]", "[1.5, 4096, 4096, 64]"), "10  row: want whole sizes, found 1.5, 4096, 4096"),
        (("[1, 4096, 4096, 64]", "[4096, 12288, 4096, 3700]"), "11  row: the same sizes are in line 10"),
        (("[1, 4096, 4096, 64]", "[1, 4096, 4096, 0]"), "10  rows.0.3: want greater than 0, found 0"),
        (("[1, 4096, 4096, 64]", "[1, 4096, 4096, fast]"), "10  rows.0.3: want a valid number, found 'fast'"),
        (("grade: read", "grade: seen"), "5  source.grade: want 'read', 'device', 'quoted', 'recalled' or 'estimate'"),
        (("why: a profiler's duration of the kernel alone\n", ""), "1  why: is missing"),
        (("why: a", "unit: ms\nwhy: a"), "6  unknown key 'unit'"),
    ],
)
def test_each_problem_is_reported_with_its_line(table, edit, wish):
    with pytest.raises(InputError, match=re.escape(f"paper-a40.yaml:{wish}")):
        published.read(table(edit))


def test_a_name_that_no_file_has_is_told_the_names_that_there_are(table, tmp_path):
    table()
    with pytest.raises(
        RooflintError, match=re.escape("no table silicon/published/paper-a10.yaml (there are: paper-a40)")
    ):
        published.find("paper-a10", [tmp_path])
    assert published.find("paper-a40", [tmp_path]).slug == "paper-a40"


def test_tables_are_no_golden_files(table, tmp_path):
    file = table()
    suite = Suite.of([tmp_path], [PACKAGED])
    assert not suite.owns(file)
    assert suite.files == ()
    assert suite.owns(tmp_path / "silicon" / "published.yaml")  # the claims about them are


def claims_of(tmp_path, *subjects):
    lines = "".join(f"  - {{prediction: published {subject}, error: 9 %, bias: 9 %}}\n" for subject in subjects)
    file = tmp_path / "claims.yaml"
    file.write_text("source: {document: Some paper, where: all, grade: read}\nclaims:\n" + lines, encoding="utf-8")
    return read.load(file).claims


def told(tmp_path, claims=()):
    return [problem.message for problem in problems([tmp_path], Registry(), claims)]


def test_a_table_that_no_claim_is_about_is_a_problem(table, tmp_path):
    table()
    assert told(tmp_path, claims_of(tmp_path, "paper-a40 large")) == []
    (said,) = told(tmp_path, claims_of(tmp_path, "paper-a10"))
    assert "want 'prediction: published paper-a40'" in said


def test_a_table_of_no_device_and_one_that_cannot_be_read_are_problems(table, tmp_path):
    table(("device: nvidia/a40", "device: nvidia/a41"))
    claims = claims_of(tmp_path, "paper-a40")
    (said,) = told(tmp_path, claims)
    assert said.startswith("device: is of a device without spec: ")
    assert [problem.line for problem in problems([tmp_path], Registry(), claims)] == [2]
    table(("[1, 4096, 4096, 64]", "[1, 4096, 64]"))
    assert told(tmp_path, claims) == ["row: want 4 numbers, one a column; found 3"]


@given(
    rows=st.lists(
        st.tuples(*[st.integers(1, 2**20)] * 3, st.floats(1e-3, 1e8)),
        min_size=1,
        max_size=20,
        unique_by=lambda row: row[:3],
    )
)
def test_what_is_written_is_what_is_read(rows, tmp_path_factory):
    text = TABLE.partition("  - ")[0] + "".join(f"  - [{m}, {n}, {k}, {us!r}]\n" for m, n, k, us in rows)
    found = published.read(tmp_path_factory.getbasetemp() / "table.yaml", text)
    assert np.array_equal(np.stack([found.sizes[name] for name in ("m", "n", "k")], axis=1), [row[:3] for row in rows])
    assert found.seconds * 1e6 == pytest.approx([row[3] for row in rows])
