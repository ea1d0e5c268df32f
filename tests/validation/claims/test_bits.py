"""The kind `bits`: storage by hand, and what is refused."""

import pytest

from rooflint.base.errors import InputError


@pytest.fixture
def judged(repository):
    """The verdict on one claim."""

    def verdict(line):
        source = "source: {document: Somebody's format, where: table 1, grade: read}\n"
        repository.write("golden/bits.yaml", f"{source}claims:\n  - {{{line}}}\n")
        (one,) = repository.verdicts("golden/bits.yaml").values()
        return one

    return verdict


@pytest.mark.parametrize(
    ("claim", "shown", "formula"),
    [
        # 32 × 6 + 8 = 200 bits a block
        ("bits: mxfp6, expect: 200 bit / 32", "6.25 bit", "6 bit + 8 bit / 32"),
        ("bits: mxfp6, expect: 6.25 bit", "6.25 bit", "6 bit + 8 bit / 32"),
        ("bits: mxfp6, expect: 25 B / 32", "6.25 bit", "6 bit + 8 bit / 32"),
        ("bits: tf32, expect: 32 bit", "32 bit", "32 bit"),
    ],
)
def test_an_element_takes_its_bits_and_its_share_of_the_scale(judged, claim, shown, formula):
    verdict = judged(claim)
    assert verdict.outcome == "pass", verdict.text()
    assert verdict.corroborated
    assert (verdict.obtained.shown(), verdict.obtained.formula) == (shown, formula)


def test_bits_without_the_scale_fail(judged):
    verdict = judged("bits: mxfp6, expect: 6.00 bit")
    assert verdict.outcome == "fail"
    assert "6.25 bit" in verdict.text()


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        ("bits: mxfp5, expect: 5.25 bit", "unknown precision 'mxfp5'"),
        ("bits: mxfp6, expect: 6.25 GFLOP/s", "expect"),
        ("bits: mxfp6, expect: 6.25 bit, at: 30w", "at: a bits claim takes no operating point here"),
    ],
)
def test_a_claim_that_cannot_mean_anything_is_refused(judged, claim, sentence):
    with pytest.raises(InputError) as caught:
        judged(claim)
    assert sentence in str(caught.value)
