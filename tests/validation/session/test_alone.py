"""Specs without a golden folder: form, sources and laws are one item, and the summary says what was not checked."""

import pytest

SPEC = "specs/hardware/acme/x1.yaml"
SAID = "specs of 1 device: form, sources and laws were checked, but no figure was compared with a document."


@pytest.fixture
def alone(tiny):
    """The tiny repository with specs only."""
    tiny.write("pyproject.toml", '[tool.pytest.ini_options]\nrooflint_specs = ["specs"]\n')
    (tiny.root / "golden" / "x1.yaml").unlink()
    return tiny


@pytest.mark.parametrize("options", [(), ("--rooflint-only", "-q"), ("specs",)])
def test_specs_alone_are_one_item_and_the_summary_says_how_figures_are_compared(alone, options):
    result = alone.run(*options)
    result.assert_outcomes(passed=1)
    said = " ".join(result.stdout.str().split())
    assert SAID in said
    assert "write golden/NAME.yaml" in said


def test_workers_of_xdist_check_them_too(alone):
    result = alone.run("-n", "1")
    result.assert_outcomes(passed=1)
    assert SAID in " ".join(result.stdout.str().split())


def test_a_spec_that_cannot_be_read_fails(alone):
    line = alone.edit(SPEC, "memories:", "memorys:")
    result = alone.run()
    result.assert_outcomes(failed=1)
    assert f"{SPEC}:{line}  unknown key 'memorys'" in result.stdout.str()


def test_a_spec_that_breaks_a_law_fails(alone):
    alone.edit(SPEC, "int8: [4096 MAC", "int8: [256 MAC")  # narrower than the 1024 of fp16, and slower
    result = alone.run()
    result.assert_outcomes(failed=1)
    assert "acme/x1 breaks a law (peak width: a unit is not slower in a narrower format" in result.stdout.str()


def test_a_folder_of_specs_without_a_device_fails(alone):
    (alone.root / SPEC).unlink()
    result = alone.run()
    result.assert_outcomes(failed=1)
    assert "a configured specs folder must have a device below hardware/" in result.stdout.str()


def test_other_tests_alone_leave_them_out(alone):
    alone.write("tests/test_own.py", "def test_own():\n    pass\n")
    result = alone.run("tests")
    result.assert_outcomes(passed=1)
    assert SAID not in " ".join(result.stdout.str().split())


def test_a_missing_folder_is_refused(alone):
    alone.write("pyproject.toml", '[tool.pytest.ini_options]\nrooflint_specs = ["spec"]\n')
    result = alone.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "rooflint_specs: want a folder, found nothing at" in result.stderr.str()


@pytest.mark.slow
@pytest.mark.parametrize("options", [("--changed",), ("--report",)])
def test_check_checks_them_too(alone, options):
    found = alone.script("rooflint", "check", *options)
    assert found.returncode == 0, found.stderr
    assert SAID in found.stdout
    assert ("no report: it is about claims" in found.stdout) == (options == ("--report",))
