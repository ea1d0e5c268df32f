"""The plan of a run: a patch of all proposals, where it is written, and what the terminal says of it."""

import subprocess

import pytest

SPEC = "specs/hardware/acme/x1.yaml"
GOLDEN = "golden/x1.yaml"
PATCH = "rooflint.patch"


def test_a_patch_of_files_with_spaces_and_windows_lines_applies(tiny, git):
    text = tiny.read(GOLDEN).replace("expect: 102.4 GB/s}", "expect: 99.4 GB/s}").replace("product page", "brochure")
    (tiny.root / GOLDEN).unlink()
    (tiny.root / "golden/my chip.yaml").write_bytes(text.replace("\n", "\r\n").encode())
    tiny.run("--rooflint-propose")
    result = git(tiny.root, "apply", PATCH)
    assert result.stderr == ""
    after = (tiny.root / "golden/my chip.yaml").read_bytes().decode()
    assert after == text.replace("99.4 GB/s", "102 GB/s").replace("\n", "\r\n")


def test_a_file_without_a_last_newline_stays_without_one(tiny, mend):
    claim = "  - {bandwidth: lpddr5, expect: 102.4 GB/s}\n"
    tiny.write(GOLDEN, tiny.read(GOLDEN).replace(claim, "") + claim.replace("102.4", "99.4").rstrip("\n"))
    _, patch, second = mend()
    assert patch.count("\\ No newline at end of file\n") == 2
    assert second.ret == 0
    assert tiny.read(GOLDEN).endswith("expect: 102 GB/s}")


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


def test_the_patch_of_an_earlier_run_does_not_outlive_its_reason(tiny):
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    tiny.run("--rooflint-propose")
    assert (tiny.root / PATCH).exists()
    tiny.edit(SPEC, "int8: [2048 MAC", "int8: [4096 MAC")
    tiny.run("--rooflint-propose")
    assert not (tiny.root / PATCH).exists()


def test_somebody_elses_file_is_not_removed(tiny):
    tiny.write("own.patch", "mine\n")
    tiny.run("--rooflint-propose=own.patch")
    assert tiny.read("own.patch") == "mine\n"


def test_without_the_option_nothing_is_proposed(tiny):
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    assert "git apply" not in tiny.run().stdout.str()
    assert not (tiny.root / PATCH).exists()


def test_a_folder_after_the_bare_option_is_not_taken_for_its_file(tiny):
    result = tiny.run("--rooflint-propose", "golden")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "want a file that ends in .patch, found 'golden'; write --rooflint-propose=FILE.patch" in result.stderr.str()


def test_a_place_that_cannot_be_written_is_named_without_a_traceback(tiny):
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    (tiny.root / "a.patch").mkdir()
    result = tiny.run("--rooflint-propose=a.patch")
    assert "a.patch: cannot write the patch" in result.stdout.str()
    assert "Traceback" not in result.stdout.str()
    assert [file.name for file in tiny.root.iterdir() if file.name.startswith(".a.patch")] == []


def test_from_a_folder_below_the_patch_lies_at_the_root_and_applies_there(tiny, monkeypatch, git):
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    monkeypatch.chdir(tiny.root / "golden")
    result = tiny.run("--rooflint-propose")
    assert "Read them, then: cd .. && git apply rooflint.patch" in result.stdout.str()
    assert git(tiny.root, "apply", "--check", PATCH).stderr == ""


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


def test_check_writes_it_beside_the_evidence(tiny, git):
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    result = tiny.script("rooflint", "check", "--propose", "--", "-p", "no:hypothesispytest")
    assert result.returncode == 1
    assert "git apply reports/out/proposal.patch" in result.stdout
    assert git(tiny.root, "apply", "--check", "reports/out/proposal.patch").stderr == ""
