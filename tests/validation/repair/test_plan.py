"""The plan of a run: a patch of all proposals, where it is written, and what the terminal says of it."""

import re
import subprocess

import pytest

SPEC = "specs/hardware/acme/x1.yaml"
GOLDEN = "golden/x1.yaml"
PATCH = "rooflint.patch"


@pytest.mark.slow
def test_a_patch_of_files_with_spaces_and_windows_lines_applies(tiny, git):
    text = tiny.read(GOLDEN).replace("expect: 102.4 GB/s}", "expect: 99.4 GB/s}").replace("product page", "brochure")
    (tiny.root / GOLDEN).unlink()
    (tiny.root / "golden/my chip.yaml").write_bytes(text.replace("\n", "\r\n").encode())
    tiny.run("--rooflint-propose")
    result = git(tiny.root, "apply", PATCH)
    assert result.stderr == ""
    after = (tiny.root / "golden/my chip.yaml").read_bytes().decode()
    assert after == text.replace("99.4 GB/s", "102 GB/s").replace("\n", "\r\n")


@pytest.mark.slow
def test_a_file_without_a_last_newline_stays_without_one(tiny, mend):
    claim = "  - {bandwidth: lpddr5, expect: 102.4 GB/s}\n"
    tiny.write(GOLDEN, tiny.read(GOLDEN).replace(claim, "") + claim.replace("102.4", "99.4").rstrip("\n"))
    _, patch, second = mend()
    assert patch.count("\\ No newline at end of file\n") == 2
    assert second.ret == 0
    assert tiny.read(GOLDEN).endswith("expect: 102 GB/s}")


@pytest.mark.slow
def test_the_other_patch_program_takes_it_too(tiny):
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    tiny.run("--rooflint-propose")
    try:
        done = subprocess.run(
            ["patch", "-p1", "-i", PATCH], cwd=tiny.root, capture_output=True, encoding="utf-8", check=False
        )
    except FileNotFoundError:
        pytest.skip("patch(1) is not installed")
    assert done.returncode == 0, done.stdout
    assert "int8: [4096 MAC" in tiny.read(SPEC)


# ---- the run


@pytest.mark.slow
def test_the_run_that_wrote_a_proposal_stays_red(tiny):
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    result = tiny.run("--rooflint-propose")
    result.assert_outcomes(failed=4, passed=5)
    assert result.ret == 1
    assert "int8: [2048 MAC" in tiny.read(SPEC)
    text = result.stdout.str()
    assert "1 proposal; 4 red claims turn green with all of it, none turns red." in text
    assert "Read them, then: git apply rooflint.patch" in text
    assert f"  {SPEC}:14  units.mac_array.macs_per_clock.int8: 2048 MAC → 4096 MAC" in text


def test_a_green_run_writes_nothing_and_says_so(tiny):
    result = tiny.run("--rooflint-propose")
    assert result.ret == 0
    assert "nothing to propose: no claim of this run is red" in result.stdout.str()
    assert not (tiny.root / PATCH).exists()


@pytest.mark.slow
def test_the_patch_of_an_earlier_run_does_not_outlive_its_reason(tiny):
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    tiny.run("--rooflint-propose")
    assert (tiny.root / PATCH).exists()
    tiny.edit(SPEC, "int8: [2048 MAC", "int8: [4096 MAC")
    tiny.run("--rooflint-propose")
    assert not (tiny.root / PATCH).exists()


@pytest.mark.slow
def test_a_file_that_is_no_patch_of_ours_is_neither_removed_nor_replaced(tiny):
    tiny.write("own.patch", "mine\n")
    tiny.run("--rooflint-propose=own.patch")
    assert tiny.read("own.patch") == "mine\n"
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    text = " ".join(tiny.run("--rooflint-propose=own.patch").stdout.str().split())
    reason = "own.patch: cannot write the patch: is not a patch of rooflint and is not replaced; name another file"
    assert reason in text
    assert tiny.read("own.patch") == "mine\n"


@pytest.mark.slow
def test_without_the_option_nothing_is_proposed(tiny):
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    assert "git apply" not in tiny.run().stdout.str()
    assert not (tiny.root / PATCH).exists()


def test_a_folder_after_the_bare_option_is_not_taken_for_its_file(tiny):
    result = tiny.run("--rooflint-propose", "golden")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "want a file that ends in .patch, found 'golden'; write --rooflint-propose=FILE.patch" in result.stderr.str()


@pytest.mark.slow
def test_a_place_that_cannot_be_written_is_named_without_a_traceback(tiny):
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    (tiny.root / "a.patch").mkdir()
    result = tiny.run("--rooflint-propose=a.patch")
    assert "a.patch: cannot write the patch" in result.stdout.str()
    assert "Traceback" not in result.stdout.str()
    assert [file.name for file in tiny.root.iterdir() if file.name.startswith(".a.patch")] == []


@pytest.mark.slow
def test_from_a_folder_below_the_patch_lies_at_the_root_and_applies_there(tiny, monkeypatch, git):
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    monkeypatch.chdir(tiny.root / "golden")
    result = tiny.run("--rooflint-propose")
    assert "Read them, then: cd .. && git apply rooflint.patch" in result.stdout.str()
    assert git(tiny.root, "apply", "--check", PATCH).stderr == ""


@pytest.mark.slow
def test_workers_propose_what_one_process_proposes(tiny):
    pytest.importorskip("xdist")
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    tiny.edit(GOLDEN, "expect: 102.4 GB/s}", "expect: 99.4 GB/s}")
    tiny.script("pytest", "-q", "--rooflint-propose")
    alone = tiny.read(PATCH)
    (tiny.root / PATCH).unlink()
    result = tiny.script("pytest", "-q", "--rooflint-propose", "-n", "2")
    assert result.returncode == 1
    assert tiny.read(PATCH) == alone


@pytest.mark.slow
def test_check_writes_it_beside_the_evidence(tiny, git):
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    result = tiny.script("rooflint", "check", "--propose")
    assert result.returncode == 1
    assert "git apply reports/out/proposal.patch" in result.stdout
    assert git(tiny.root, "apply", "--check", "reports/out/proposal.patch").stderr == ""


# ---- Repairs of golden files: what to quote instead, and when nothing is proposed


@pytest.mark.slow
def test_a_golden_figure_becomes_what_the_model_obtains_in_as_many_digits(tiny, mend):
    # no fact alone gives 99.4 GB/s without breaking the breakpoint; 128 bit × 6.4 Gbit/s / 8 = 102.4, in three digits
    tiny.edit(GOLDEN, "{bandwidth: lpddr5, expect: 102.4 GB/s}", '{bandwidth: lpddr5,  expect: "99.4 GB/s"} # said')
    before = tiny.read(GOLDEN)
    _, patch, second = mend()
    assert second.ret == 0
    assert tiny.read(GOLDEN) == before.replace("99.4 GB/s", "102 GB/s")
    assert "#    only if the source really prints this: Acme X1 product page, 2025, specifications (read)\n" in patch
    assert "#    obtained 102.4 GB/s: 128 bit × 6.4 Gbit/s" in patch


@pytest.mark.slow
@pytest.mark.parametrize(
    ("claim", "printed", "wanted"),
    [
        ("{count: core, expect: 4}", "expect: 5", "expect: 4"),
        ("{peak: mac_array int8, expect: 32.8 TOP/s}", "expect: 29.1 TOP/s", "expect: 32.8 TOP/s"),
        ("{peak: mac_array int8, expect: 32.8 TOP/s}", "expect: 9.1 TOP/s", "expect: 33 TOP/s"),
        ("{peak: mac_array int8, expect: 32.8 TOP/s}", "expect: 58.2 TOP/s / 2", "expect: 65.5 TOP/s / 2"),
        (
            "{peak: mac_array int8, expect: 32.8 TOP/s}",
            "expect: 29.1 TOP/s, rounding: truncated",
            "expect: 32.7 TOP/s, rounding: truncated",
        ),
        (
            "{peak: mac_array int8, expect: 32.8 TOP/s}",
            "expect: 27 TOP/s ± 4 %, why: they round",
            "expect: 33 TOP/s ± 4 %, why: they round",
        ),
        # the same digits, another prefix
        ("{bandwidth: lpddr5, expect: 102.4 GB/s}", "expect: 102.4 MB/s", "expect: 102.4 GB/s"),
        ("{peak: mac_array int8, expect: 32.8 TOP/s}", "expect: 32.8 GOP/s", "expect: 32.8 TOP/s"),
    ],
)
def test_digits_and_what_stands_around_them_are_kept(tiny, mend, claim, printed, wanted):
    tiny.edit(GOLDEN, claim, re.sub(r"expect: .*\}", f"{printed}}}", claim))
    before = tiny.read(GOLDEN)
    _, _, second = mend()
    assert second.ret == 0
    assert tiny.read(GOLDEN) == before.replace(printed, wanted)


@pytest.mark.slow
def test_a_sparse_figure_taken_for_a_dense_one_is_called_sparse(tiny, mend):
    tiny.edit(SPEC, "    circuit:", "    sparsity: {int8: [2, brief, p. 2]}\n    circuit:")
    tiny.edit(GOLDEN, "{peak: mac_array int8, expect: 32.8 TOP/s}", "{peak: mac_array int8, expect: 65.5 TOP/s}")
    _, patch, second = mend()
    assert "+  - {peak: mac_array int8, sparse: true, expect: 65.5 TOP/s}" in patch
    assert "65.5 TOP/s is the figure with sparsity; if only that is printed, '65.5 TOP/s / 2' with a note" in patch
    assert second.ret == 0


@pytest.mark.slow
def test_what_a_fact_mends_is_not_mended_in_the_golden_file_too(tiny):
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    tiny.run("--rooflint-propose")
    assert GOLDEN not in re.findall(r"^--- a/(\S+)", tiny.read(PATCH), re.MULTILINE)


@pytest.mark.slow
def test_specs_and_golden_files_are_mended_in_one_patch(tiny, mend):
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    tiny.edit(GOLDEN, "expect: 102.4 GB/s}", "expect: 99.4 GB/s}")
    _, patch, second = mend()
    assert re.findall(r"^--- a/(\S+)", patch, re.MULTILINE) == [SPEC, GOLDEN]
    assert second.ret == 0


# ---- refusals


def test_a_claim_without_a_document_of_its_own_is_not_given_the_models_printout(tiny, refused):
    tiny.edit(GOLDEN, "Acme X1 product page, 2025", "Acme X1 architecture brief, 2025")
    tiny.edit(GOLDEN, "expect: 102.4 GB/s}", "expect: 99.4 GB/s}")
    message = refused()
    assert f"{GOLDEN}::bandwidth-lpddr5: has no document of its own" in message
    assert "would only repeat the model; check the document" in message


def test_a_convention_is_not_divided_away(tiny, refused):
    # 16.38 TFLOP/s counts a MAC as two MACs; half of it would be right for the wrong reason
    tiny.edit(GOLDEN, "expect: 8.19 TFLOP/s", "expect: 16.38 TFLOP/s")
    message = refused()
    assert "is off by 1/2, a convention (a MAC is counted as one op)" in message
    assert "quote 16.38 TFLOP/s with what makes it comparable" in message


def test_a_rounded_figure_that_was_doubled_is_a_convention_too(tiny, refused):
    # 16.45 is twice 8.225; the print of 8.192 ends at 8.195
    tiny.edit(GOLDEN, "expect: 8.19 TFLOP/s", "expect: 16.45 TFLOP/s")
    assert "a convention (a MAC is counted as one op); quote 16.45 TFLOP/s" in refused()


def test_ops_that_are_counted_as_mac_are_a_convention_of_a_workload_too(tiny, refused):
    # a GEMM of 64³ has 262144 MAC, 524 kop
    claim = "flops: macs, workload: {gemm: [64, 64, 64]}, expect: 262 kFLOP"
    tiny.write("golden/w.yaml", f"source: {{document: A paper, where: p. 1, grade: read}}\nclaims:\n  - {{{claim}}}\n")
    assert "is off by 2, a convention (an op is counted as a MAC); quote 262 kFLOP" in refused("golden/w.yaml")


@pytest.mark.slow
def test_a_dense_figure_under_a_sparse_claim_is_left_to_a_person(tiny, refused):
    tiny.edit(SPEC, "    circuit:", "    sparsity: {int8: [2, brief, p. 2]}\n    circuit:")
    tiny.write(GOLDEN, tiny.read(GOLDEN) + "  - {peak: mac_array int8, sparse: true, expect: 32.77 TOP/s}\n")
    assert "quotes the dense figure, 32.77 TOP/s; remove 'sparse: true'" in refused()


def test_of_two_printed_values_none_is_changed(tiny, refused):
    tiny.edit(GOLDEN, "expect: 32.8 TOP/s / 102.4 GB/s", "expect: 27.9 TOP/s / 102.4 GB/s")
    assert "rests on 2 printed values; the figures do not say which one is misprinted" in refused()


def test_two_documents_that_agree_with_each_other_are_not_changed(tiny, refused):
    # no fact is found for 29.3 / 32.77, but two documents print it
    tiny.edit(GOLDEN, "claims:", "sources: {two: {document: A review, where: p. 1, grade: read}}\nclaims:")
    tiny.edit(
        GOLDEN,
        "  - {peak: mac_array int8, expect: 32.8 TOP/s}",
        "  - {peak: mac_array int8, expect: 29.3 TOP/s}\n  - {peak: mac_array int8, expect: 29.3 TOP/s, source: two}",
    )
    assert "is off by the same factor as peak-mac_array-int8" in refused()


def test_an_order_has_no_figure(tiny, refused):
    tiny.edit(GOLDEN, "is: memory", "is: compute")
    assert "has no figure to replace it with" in refused()


def test_a_vanished_unit_has_no_figure_either(tiny, refused):
    tiny.edit(GOLDEN, "peak: mac_array fp16", "peak: mac_aray fp16")
    assert "has no figure to replace it with: acme/x1 has no unit 'mac_aray'" in refused()


def test_a_known_disagreement_that_changed_is_settled_by_a_person(tiny, refused):
    excuse = "xfail: {ratio: 2, reason: r, until: 2999-01-01, open: true}"
    tiny.edit(GOLDEN, "{count: core, expect: 4}", f"{{count: core, expect: 4, {excuse}}}")
    assert "is a known disagreement that changed" in refused()


# ---- what the golden files say together


SPARSE = "    sparsity: {int8: [2, brief, p. 2]}\n    circuit:"


@pytest.mark.slow
def test_a_claim_that_is_there_already_is_not_proposed_a_second_time(tiny, refused):
    tiny.edit(SPEC, "    circuit:", SPARSE)
    tiny.edit(GOLDEN, "{peak: mac_array int8, expect: 32.8 TOP/s}", "{peak: mac_array int8, expect: 65.5 TOP/s}")
    tiny.write(GOLDEN, tiny.read(GOLDEN) + "  - {peak: mac_array int8, sparse: true, expect: 65.5 TOP/s}\n")
    assert "would be refused: 'peak-mac_array-int8-sparse' is claimed twice" in refused()


@pytest.mark.slow
def test_nor_where_it_is_in_another_file(tiny, refused):
    tiny.edit(SPEC, "    circuit:", SPARSE)
    tiny.edit(GOLDEN, "{peak: mac_array int8, expect: 32.8 TOP/s}", "{peak: mac_array int8, expect: 65.5 TOP/s}")
    head = "".join(tiny.read(GOLDEN).partition("claims:\n")[:2])
    tiny.write("golden/a.yaml", head + "  - {peak: mac_array int8, sparse: true, expect: 65.5 TOP/s}\n")
    assert "'peak-mac_array-int8-sparse' of acme/x1 is claimed twice from the same document" in refused()
