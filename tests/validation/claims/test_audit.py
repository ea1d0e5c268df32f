"""`audit:` as a claim: a table in the repository is guarded like any other expectation."""

import pytest

GOLDEN = "source: {document: our own README, grade: read}\nclaims:\n  - {audit: ../gpus.csv}\n"

BROCHURE = """\
hardware: acme/x1
source: {document: Acme brochure, grade: read}
claims:
  - {peak: mac_array int8, expect: 200 TOP/s, xfail: {ratio: 0.1638, reason: a brochure, until: 2099-01-01}}
"""


@pytest.fixture
def table(tiny):
    """Somebody's repository with a table and a golden file that guards it."""

    def written(text, golden=GOLDEN):
        tiny.write("gpus.csv", text)
        tiny.write("golden/tables.yaml", golden)
        return tiny

    return written


def judged(repository):
    result = repository.run("golden/tables.yaml", "-q")
    return result.ret, result.stdout.str()


@pytest.mark.slow
def test_a_table_without_an_error_is_green(table):
    assert judged(table("device,bf16_tflops\nH100 SXM5,989\n"))[0] == 0


@pytest.mark.slow
def test_a_wrong_figure_is_red_and_explained(table):
    status, text = judged(table("device,bf16_tflops\nH100 SXM5,1979\nA100,312\n"))
    assert status == 1
    assert "gpus.csv:2  H100 SXM5: bf16 peak 1.979 PFLOP/s: wrong" in text
    assert "sparse for dense" in text
    assert "2 figures of 2 devices: 1 wrong, 1 right" in text
    assert "A100: bf16" not in text


@pytest.mark.slow
def test_a_table_of_which_nothing_could_be_checked_is_red(table):
    status, text = judged(table("device,bf16_tflops\nFrobnicator,989\n"))
    assert status == 1
    assert "no figure could be checked" in text


@pytest.mark.slow
def test_a_device_of_the_repository_is_audited_too(table):
    assert judged(table("device,int8_tops\nacme/x1,1\n"))[0] == 1


@pytest.mark.slow
def test_columns_may_be_mapped(table):
    golden = GOLDEN.replace("gpus.csv}", "gpus.csv, map: {flops: peak bf16 FLOP/s}}")
    assert judged(table("device,flops\nH100 SXM5,989e12\n", golden))[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("golden", "message"),
    [
        (GOLDEN.replace("gpus.csv", "none.csv"), "found no file at ../none.csv"),
        (GOLDEN.replace("gpus.csv}", "gpus.csv, map: 3}"), "map: want the meaning of columns"),
        (GOLDEN.replace("gpus.csv}", "gpus.csv, expect: 3}"), "takes no expectation here; remove 'expect'"),
    ],
)
def test_a_claim_that_means_nothing_is_refused_at_the_door(table, golden, message):
    status, text = judged(table("device,bf16\nH100 SXM5,989\n", golden))
    assert status == 1
    assert message in text


@pytest.mark.slow
def test_a_table_that_cannot_be_read_is_red_with_its_line(table):
    status, text = judged(table("device,bf16\nH100,1,2,3\n"))
    assert status == 1
    assert "gpus.csv:2  want 2 columns, found 4" in text


@pytest.mark.slow
def test_a_strict_claim_leaves_nothing_open(table):
    text = "device,bf16_tflops\nH100 SXM5,989\nFrobnicator,1\n"
    assert judged(table(text))[0] == 0
    status, message = judged(table(text, GOLDEN.replace("gpus.csv}", "gpus.csv, strict: true}")))
    assert status == 1
    assert "no spec named 'Frobnicator'" in message


@pytest.mark.slow
@pytest.mark.parametrize(("brochure", "status"), [("", 1), (BROCHURE, 0)], ids=["error", "dispute"])
def test_the_projects_own_golden_files_tell_a_dispute_from_an_error(table, brochure, status):
    repository = table("device,int8_tops\nacme/x1,200\n")
    if brochure:
        repository.write("golden/brochure.yaml", brochure)
    assert judged(repository)[0] == status


@pytest.mark.slow
def test_a_guarded_table_does_not_stand_in_the_way_of_the_mutation_score(table):
    repository = table("device,bf16_tflops\nH100 SXM5,989\n")
    result = repository.script("rooflint", "mutate", "--no-cache", "--jobs", "1", "--floor", "0")
    assert "Traceback" not in result.stderr
    assert "mutation score" in result.stdout
