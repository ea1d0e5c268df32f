"""Golden files: one claim a line, every problem of a file at once, each with its line and the wish."""

import datetime
import re

import pytest

from pytest_rooflint.golden import kinds
from pytest_rooflint.golden import read as golden
from rooflint.base.errors import InputError

HEAD = """\
hardware: acme/x1
source: {document: Product page, where: specifications, grade: read}
sources:
  db: {document: A database, where: row 7, grade: quoted}
claims:
"""


@pytest.fixture
def load(tmp_path):
    """Read claims below HEAD, or a whole text."""

    def read(text, head=HEAD):
        file = tmp_path / "claims.yaml"
        file.write_text(head + text, encoding="utf-8")
        return golden.load(file)

    return read


@pytest.fixture
def refused(load):
    """The problems of claims below HEAD: line (the first claim's is 6) and message."""

    def read(text, head=HEAD):
        with pytest.raises(InputError) as caught:
            load(text, head)
        return [(problem.line, problem.message) for problem in caught.value.problems]

    return read


# ---- what a claim says


def test_a_claim_keeps_its_line_its_subject_and_its_expectation(load):
    one, two = load(
        "  - {peak: mac_array int8, expect: 32.8 TOP/s}\n  # a comment\n  - {bandwidth: lpddr5, expect: 102.4 GB/s}\n"
    ).claims
    assert (one.kind, one.subject, one.line) == ("peak", "mac_array int8", 6)
    assert (two.kind, two.subject, two.line) == ("bandwidth", "lpddr5", 8)
    assert one.hardware == two.hardware == "acme/x1"
    assert one.expectation.value == pytest.approx(32.8e12)


def test_a_claim_of_several_lines_is_at_its_first(load):
    (claim,) = load("  -\n    peak: mac_array int8\n    expect: 32.8 TOP/s\n").claims
    assert claim.line == 7


def test_the_source_is_the_files_unless_the_claim_names_another(load):
    plain, keyed, placed, inline = load(
        "  - {count: a, expect: 1}\n"
        "  - {count: b, expect: 1, source: db}\n"
        "  - {count: c, expect: 1, source: db, where: row 9}\n"
        "  - {count: d, expect: 1, source: {document: Mine, where: p. 3, grade: device}}\n"
    ).claims
    assert str(plain.source) == "Product page, specifications (read)"
    assert str(keyed.source) == "A database, row 7 (quoted)"
    assert str(placed.source) == "A database, row 9 (quoted)"
    assert str(inline.source) == "Mine, p. 3 (device)"


def test_the_place_alone_may_differ(load):
    (claim,) = load("  - {count: a, expect: 1, where: 12}\n").claims
    assert str(claim.source) == "Product page, 12 (read)"


def test_the_reason_of_the_file_is_the_reason_of_its_claims(load):
    why = "why: the sheet rounds\n"
    one, two = load("  - {count: a, expect: 1}\n  - {count: b, expect: 1, why: its own}\n", why + HEAD).claims
    assert (one.why, two.why) == ("the sheet rounds", "its own")


def test_an_expected_failure_has_a_reason_and_a_day(load):
    (claim,) = load(
        "  - {count: a, expect: 1, xfail: {ratio: 2, reason: two sheets differ, until: 2027-11-30}}\n"
    ).claims
    assert (claim.xfail.reason, claim.xfail.until) == ("two sheets differ", datetime.date(2027, 11, 30))


def test_the_digits_of_an_excuse_are_those_that_were_written(load):
    (claim,) = load("  - {count: a, expect: 1, xfail: {ratio: 1.10, reason: r, until: 2027-11-30}}\n").claims
    assert (claim.xfail.ratio.low, claim.xfail.ratio.high) == pytest.approx((1.095, 1.105))


def test_truncation_is_said_in_the_claim(load):
    (claim,) = load("  - {breakpoint: mac_array int8 / lpddr5, expect: 114 op/B, rounding: truncated}\n").claims
    assert claim.expectation.tolerance == "truncated"


def test_a_bare_number_keeps_the_digits_that_were_printed(load):
    # 2.00 says ± 0.005, 2.0 says ± 0.05
    (claim,) = load("  - {ratio: mac_array int8 / mac_array fp16, expect: 2.00}\n").claims
    assert not claim.expectation.holds(2.04)


def test_precisions_of_the_file_are_those_of_its_claims_unless_they_say_otherwise(load):
    head = "workload: {mlp: [64, 64]}\ncompute: int8\nstorage: fp32\nsource: {document: D, grade: read}\nclaims:\n"
    one, two = load(
        "  - {bound: acme/x1, is: memory}\n  - {bound: acme/x2, is: memory, compute: fp16, storage: fp16}\n", head
    ).claims
    assert (one.option("compute"), one.option("storage")) == ("int8", "fp32")
    assert (two.option("compute"), two.option("storage")) == ("fp16", "fp16")


def test_a_workload_of_the_claim_comes_before_that_of_the_file(load):
    head = "workload: {mlp: [64, 64]}\nsource: {document: D, grade: read}\nclaims:\n"
    one, two = load(
        "  - {flops: all, expect: 8192 op}\n  - {flops: all, workload: net, expect: 1.00 op}\n", head
    ).claims
    assert one.workload == {"mlp": [64, 64]}
    assert two.workload == "net"


# ---- ids


@pytest.mark.parametrize(
    ("claim", "id"),
    [
        ("peak: mac_array int8, expect: 1.00 TOP/s", "peak-mac_array-int8"),
        ("peak: mac_array int8, sparse: true, expect: 1.00 TOP/s", "peak-mac_array-int8-sparse"),
        ("peak: mac_array int8 + dla int8, expect: 1.00 TOP/s", "peak-mac_array-int8-and-dla-int8"),
        ("peak: mac_array fp16, per: gcd, expect: 1.00 TFLOP/s", "peak-mac_array-fp16-per-gcd"),
        ("peak: mac_array int8, at: 30w, expect: 1.00 TOP/s", "peak-mac_array-int8-at-30w"),
        ("peak: mac_array int8, at: {acme/x1: 30w}, expect: 1.00 TOP/s", "peak-mac_array-int8-at-30w"),
        ("peak: mac_array int8, source: db, expect: 1.00 TOP/s", "peak-mac_array-int8-by-db"),
        (
            "peak: mac_array int8, sparse: true, per: gcd, at: 30w, source: db, expect: 1.00 TOP/s",
            "peak-mac_array-int8-sparse-per-gcd-at-30w-by-db",
        ),
        ("bandwidth: lpddr5, expect: 1.00 GB/s", "bandwidth-lpddr5"),
        ("breakpoint: mac_array int8 / lpddr5, expect: 1.00 op/B", "breakpoint-mac_array-int8-per-lpddr5"),
        ("clocks: base <= mac_array <= boost", "clocks-base-le-mac_array-le-boost"),
        ("ratio: mac_array int8 / mac_array fp16, expect: 2", "ratio-mac_array-int8-per-mac_array-fp16"),
        ("latency: acme/x1@30w < acme/x2, compute: int8", "latency-acme/x1-30w-lt-acme/x2-in-int8"),
        ("latency: acme/x1 < acme/x2, compute: int8, refuted: true", "latency-acme/x1-lt-acme/x2-in-int8-refuted"),
        ("flops: conv2d + linear, workload: torchvision/resnet18, expect: 1.00 GFLOP",
         "flops-conv2d-and-linear-of-torchvision/resnet18"),
        ("flops: all, workload: {mlp: [8, 8], batch: 2}, expect: 1.00 op", "flops-all-of-mlp-8-8-batch-2"),
    ],
)  # fmt: skip
def test_ids_are_readable_and_need_no_quoting(load, claim, id):
    (read,) = load(f"  - {{{claim}}}\n").claims
    assert read.id == id
    assert re.fullmatch(r"[A-Za-z0-9._/-]+", id)


def test_ids_do_not_depend_on_values_notes_or_neighbours(load):
    (one,) = load("  - {count: core, expect: 4}\n").claims
    two, other = load(
        '  - {count: core, expect: 5, note: "as printed", why: because}\n  - {count: tile, expect: 4}\n'
    ).claims
    assert one.id == two.id == "count-core"
    assert other.id == "count-tile"


def test_no_option_brings_a_character_into_an_id_that_a_shell_would_read(load):
    (claim,) = load('  - {count: core, per: "gcd; echo $HOME", expect: 4}\n').claims
    assert re.fullmatch(r"[A-Za-z0-9._/-]+", claim.id)


def test_the_same_bound_in_two_precisions_is_two_claims(load):
    head = "workload: {mlp: [64, 64]}\nsource: {document: D, grade: read}\nclaims:\n"
    one, two = load(
        "  - {bound: acme/x1, is: memory, compute: int8}\n  - {bound: acme/x1, is: compute, compute: fp32}\n", head
    ).claims
    assert one.id != two.id


# ---- problems


def test_every_problem_of_a_file_comes_at_once_with_its_line(refused):
    found = refused(
        "  - {peak: mac_array int8, expect: 32.8 TOPS}\n"
        "  - {count: core, expect: 4}\n"
        "  - {bandwidth: lpddr5}\n"
        "  - {peek: mac_array int8, expect: 32.8 TOP/s}\n"
        "  - {count: core, expect: 4}\n"
        "  - {peak: mac_array int9, expect: 1.00 TOP/s}\n"
    )
    assert [line for line, _ in found] == [6, 8, 9, 10, 11]
    assert "write TOP/s" in found[0][1]
    assert "needs 'expect'" in found[1][1]
    assert "want one kind of claim" in found[2][1]
    assert "claimed twice (first in line 7)" in found[3][1]
    assert "unknown precision 'int9'" in found[4][1]


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        ("peak: mac_array int8", "a peak claim needs 'expect': what the source printed"),
        ("clocks: base <= boost, expect: 1 GHz", "a clocks claim takes no expectation here; remove 'expect'"),
        ("clocks: base", "want clocks with '<=' or '<' between them"),
        ("peak: mac_array int8, expect: 204.8 GB/s", "expect: a peak is in op/s, '204.8 GB/s' is in B/s"),
        ("bandwidth: lpddr5, expect: 204.8 Gbps", "write GB/s or Gbit/s"),
        ("bandwidth: lpddr5, expect: 204.8 GB", "a bandwidth is in B/s, '204.8 GB' is in B"),
        ("count: core, expect: 4.00 W", "'4.00 W' is in W"),
        ("tdp: rated, expect: 15", "a tdp is in W, '15' is"),
        ("tdp: rated, expect: 8 W", "'8 W' implies ±6.2 %, wider than ±5%; write '8 W ± 1 %' if the figure is exact"),
        (
            "bandwidth: lpddr5, expect: 100 GB/s ± 5 %",
            "tolerance '± 5 %' exceeds the printed precision, ±0.5 %; remove it or add 'why:'",
        ),
        ("tdp: rated, expect: 400W", "expect: '400W' is not a number with a unit; put a space between number and unit"),
        ("peak: mac_array int8, expect: 312e12", "expect: a peak is in op/s, '312e12' is a bare number; add its unit"),
        ("bandwidth: lpddr5, expect: nan", "cannot read 'nan'"),
        ("count: core, expect: 0", "want a value above zero"),
        ("count: core, expect: -4", "want a value in '-4'"),
        ("count: core, expect: true", "expect"),
        ("peak: mac_array, expect: 1.00 TOP/s", "want a unit and a precision such as 'tensor_core int8'"),
        ("peak: mac_array int8 fp16, expect: 1.00 TOP/s", "want a unit and a precision"),
        ("peak: mac_array int8 sparse, expect: 1.00 TOP/s", "the peak with sparsity is asked for by 'sparse: true'"),
        ("breakpoint: mac_array int8, expect: 1.00 op/B", "want two operands with '/' between them"),
        ("ratio: mac_array int8, expect: 2", "want two operands with '/' between them"),
        ("tdp: maximal, expect: 15 W", "want one of rated, typical, measured_max"),
        ("count: core, expect: 4, source: dbb", "unknown source 'dbb' (listed: db)"),
        ("count: core, expect: 4, zebra: true", "'zebra' is an unknown option for a count claim (known: expect, at"),
        ("peak: mac_array int8, sparse: 1, expect: 1.00 TOP/s", "sparse: want true or false, found '1'"),
        ("count: core, peak: mac_array int8, expect: 4", "two kinds (count, peak)"),
        ("expect: 4", "want one kind of claim out of"),
        ("count: core, expect: 4, xfail: {ratio: 2, reason: r, until: soon}", "want a date such as 2027-06-30, found"),
        ("count: core, expect: 4, xfail: {ratio: 2, reason: r}", "until: is missing"),
        ("count: core, expect: 4, xfail: {ratio: 2 ± 99 %, reason: r, until: 2027-01-01}", "want a number"),
        ("count: core, expect: 4, xfail: {ratio: 1 + 0.0, reason: r, until: 2027-01-01}", "want a number"),
        ("count: core, expect: 4, xfail: {ratio: 2 GB/s, reason: r, until: 2027-01-01}", "want a number or a fraction"),
        ("count: core, expect: 4, xfail: {ratio: 0.5, reason: r, until: 2027-01-01}", "add a digit"),
        ("clocks: base <= core, xfail: {ratio: 3, reason: r, until: 2027-01-01}", "'ratio:' needs an 'expect'"),
        ("count: core, expect: 4, xfail: {reason: r, until: 2027-01-01}", "add 'ratio:', obtained over expected"),
        ("count: core, expect: 4, xfail: {ratio: 2, until: 2027-01-01}", "reason: is missing"),
        ("count: core, expect: 4, xfail: true", "xfail"),
        ("count: core, expect: 4, rounding: up", "rounding"),
        ("count: core, expect: 4, source: {document: D, grade: read}", "where"),
        ("count: core, expect: 4, source: {document: D, where: p. 1, grade: certain}", "grade"),
        ("bound: acme/x1, compute: int8", "is: want one of compute, memory, launch, found 'None'"),
        ("bound: acme/x1, compute: int8, is: cpu", "is: want one of compute, memory, launch, found 'cpu'"),
        ("latency: acme/x1 < acme/x2", "a latency needs 'compute:'"),
        ("latency: acme/x1 <, compute: int8", "want devices with '<' between them, each once"),
        ("latency: acme/x1 < acme/x1, compute: int8", "want devices with '<' between them, each once"),
        ("latency: acme/x1 < acme/x2, compute: int9", "compute: unknown precision 'int9'"),
        ("latency: acme/x1 < acme/x2, compute: int8, storage: int9", "storage: unknown precision 'int9'"),
        ("latency: acme/x1 < acme/x2, compute: int8, expect: 1.00 µs", "takes no expectation here; remove 'expect'"),
        ("latency: acme/x1, compute: int8", "a latency claim needs 'expect'"),
        ("latency: acme/x1 < acme/x2, compute: int8, refuted: 1", "refuted: want true or false"),
        ("intensity: int9, expect: 1.00 op/B", "unknown precision 'int9'"),
        ("figure: peak GPU, expect: 1.00 TOP/s, compute: int8", "a figure needs assumptions under 'given:'"),
    ],
)  # fmt: skip
def test_a_claim_that_cannot_mean_anything_is_refused_in_a_sentence(refused, claim, says):
    found = refused(f"  - {{{claim}}}\n")
    assert {line for line, _ in found} == {6}
    assert any(says in message for _, message in found)


@pytest.mark.parametrize(
    "claim",
    [
        "count: core, expect: true",
        "count: core, expect: [4]",
        "count: core, expect: 4, at: [30w]",
        "count: core, expect: 4, source: {document: D, grade: read}",
    ],
)
def test_one_slip_is_one_problem_in_the_words_of_the_file(refused, claim):
    ((_, message),) = refused(f"  - {{{claim}}}\n")
    assert not re.search(r"constrained|InlineSourceSpec|dict\[|\.(int|str|float)\b", message)


def test_a_file_that_does_not_name_its_device_is_refused_claim_by_claim(refused):
    head = "source: {document: D, grade: read}\nclaims:\n"
    found = refused("  - {count: core, expect: 4}\n  - {ratio: a int8 / a fp16, expect: 2}\n", head)
    assert found == [
        (3, "a count claim needs 'hardware:' at the top of the file"),
        (4, "a ratio claim needs 'hardware or architecture:' at the top of the file"),
    ]


def test_an_architecture_has_rates_but_no_peaks(refused, load):
    head = "architecture: acme/a1\nsource: {document: D, grade: read}\nclaims:\n"
    assert refused("  - {peak: mac_array int8, expect: 1.00 TOP/s}\n", head) == [
        (4, "a peak claim needs 'hardware:' at the top of the file")
    ]
    (claim,) = load("  - {ratio: mac_array int8 / mac_array fp16, expect: 2}\n", head).claims
    assert (claim.hardware, claim.architecture) == (None, "acme/a1")


def test_a_source_that_is_a_text_is_told_its_keys(refused):
    assert refused("  - {count: core, expect: 4}\n", "hardware: acme/x1\nsource: Brief\nclaims:\n") == [
        (2, "source: want {document, grade}, found 'Brief'")
    ]


def test_nobody_is_quoted_by_silence(refused):
    assert refused("  - {count: core, expect: 4}\n", "hardware: acme/x1\nclaims:\n") == [
        (3, "no source given; add 'source:' to the claim or to the file")
    ]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (HEAD.replace("hardware:", "hardwear:") + "  - {count: core, expect: 4}\n", 1, "did you mean 'hardware'?"),
        (HEAD.replace("where: specifications", "were: p. 1") + "  - {count: core, expect: 4}\n", 2,
         "did you mean 'where'?"),
        (HEAD.replace("grade: read", "grade: known") + "  - {count: core, expect: 4}\n", 2, "grade"),
        (HEAD + "  []\n", 5, "claims"),
        (HEAD, 5, "claims"),
        ("hardware: acme/x1\n", 1, "claims: is missing"),
        ("- a\n- b\n", 1, "want a mapping with the key 'claims'"),
        ("", 1, "is empty"),
        (HEAD + "  - {count: core, expect: .nan}\n", 6, "want a finite number, found .nan"),
        (HEAD + "  - {count: core, expect: -.inf}\n", 6, "want a finite number"),
        (HEAD + "  - {count: core, count: tile, expect: 4}\n", 6, "'count' is written twice"),
        (HEAD + "  - &a {count: core, expect: 4}\n  - *a\n", 6, "anchors and aliases"),
        (HEAD + "  - {count: core, expect: 4\n", 7, "is not YAML"),
        (HEAD + "  - count\n", 6, "claims.0"),
        (HEAD + f"  - {{count: core, expect: 4, note: {'x' * 300_000}}}\n", 1, "is larger than 256 KiB"),
    ],
)  # fmt: skip
def test_a_file_that_is_none_is_refused_with_the_line(refused, text, line, says):
    ((found, message), *_) = refused("", text)
    assert found == line
    assert says in message


def test_a_misspelt_kind_is_told_which_was_meant(refused):
    ((_, message),) = refused("  - {bandwith: lpddr5, expect: 1.00 GB/s}\n")
    assert "bandwith" in message
    assert "did you mean 'bandwidth'" in message


def test_a_misspelt_option_is_told_which_was_meant(refused):
    ((_, message),) = refused("  - {peak: mac_array int8, sparce: true, expect: 1.00 TOP/s}\n")
    assert "did you mean 'sparse'" in message


def test_an_operating_point_for_a_device_that_the_claim_does_not_speak_of_is_refused(refused):
    ((line, message),) = refused("  - {peak: mac_array int8, at: {acme/x2: low}, expect: 1.00 TOP/s}\n")
    assert line == 6
    assert "acme/x2" in message


def test_a_section_number_is_a_place_too(load):
    # facts take [4, arch, 3.1]; a claim's `where: 3.1` is no worse
    (claim,) = load("  - {count: core, expect: 4, where: 3.1}\n").claims
    assert str(claim.source) == "Product page, 3.1 (read)"


# ---- the registry of kinds


def test_every_kind_that_is_installed_can_be_asked_for_and_says_what_it_claims():
    assert {"peak", "bandwidth", "capacity", "breakpoint", "count", "tdp", "clocks", "ratio", "sparsity"} <= set(
        kinds.names()
    )
    for name in kinds.names():
        assert kinds.kind(name).name == name
        assert len(kinds.kind(name).says) > 20


def test_a_workload_that_no_network_can_be_called_is_refused_also_where_no_claim_uses_it(tiny, red):
    line = tiny.edit("golden/x1.yaml", "claims:", "workload: ../../../etc/passwd\nclaims:")
    result = tiny.run("golden/x1.yaml")
    assert red(result) == {"readable"}
    assert (
        f"golden/x1.yaml:{line}  workload: want the id of a network such as torchvision/resnet18, "
        "found '../../../etc/passwd'"
    ) in result.stdout.str()


def test_a_reason_for_a_removed_claim_is_read_and_refused_where_the_claim_still_stands(load, refused):
    head = HEAD.replace("claims:", "removed: {count-core: misprinted, old.yaml: withdrawn}\nclaims:")
    assert load("  - {tdp: rated, expect: 15.0 W}\n", head).spec.removed["old.yaml"] == "withdrawn"
    assert refused("  - {count: core, expect: 4}\n", head) == [
        (5, "'count-core' is claimed in this file; remove it from 'removed', or the claim")
    ]
    assert refused("  - {tdp: rated, expect: 15.0 W}\n", head.replace("misprinted", "''"))[0][0] == 5


CLAIM = "  - {peak: mac_array int8, expect: 32.8 TOP/s}\n"
GIVEN = "given: {OLD: {hardware: acme/x1, unit: mac_array}}\n"


@pytest.mark.parametrize(
    ("below", "says"),
    [
        ("underived: [{printed: 5 µs, why: no rule}]\n", "'underived' is for replays; add 'given:', or remove it"),
        (f"{GIVEN}underived:\n  - {{printed: 5 µs, why: no rule, source: log}}\n", "unknown source 'log' (listed: "),
        (f"{GIVEN}underived:\n  - {{printed: 5 µs}}\n", "underived.0.why"),
    ],
)
def test_figures_that_do_not_follow_belong_to_a_replay_and_have_a_reason(refused, below, says):
    ((line, message),) = refused(CLAIM + below)
    assert says in message
    assert line == 7 + below.count("\n") - 1
