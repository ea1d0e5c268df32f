"""A run as a user meets it: items, selection, a closed world, and guards against false passes."""

import gc
import re
import shlex

import pytest

IDS = [
    "peak-mac_array-int8",
    "peak-mac_array-int8-at-low",
    "peak-mac_array-fp16",
    "bandwidth-lpddr5",
    "breakpoint-mac_array-int8-per-lpddr5",
    "count-core",
    "ratio-mac_array-int8-per-mac_array-fp16",
    "bound-acme/x1-of-mlp-1024-1024-1024-batch-16-in-int8",
]
SPEC = "specs/hardware/acme/x1.yaml"
HEAD = "hardware: acme/x1\nsource: {document: Another page, where: here, grade: read}\nclaims:\n"
#: What rests on the INT8 rate: half of it is half a peak, half a breakpoint, half a ratio.
OF_INT8 = {IDS[0], IDS[1], IDS[4], IDS[6]}


# ---- items


@pytest.mark.slow
def test_a_second_run_reads_what_the_first_one_parsed_and_says_the_same(tiny, red):
    counts = [tiny.run().parseoutcomes()]
    kept = tiny.root / ".pytest_cache/d/rooflint"
    assert len([*kept.iterdir()]) == 2  # the golden file and the device
    stamps = {file: file.stat().st_mtime_ns for file in kept.iterdir()}
    counts.append(tiny.run().parseoutcomes())
    assert counts[0] == counts[1]
    assert {file: file.stat().st_mtime_ns for file in kept.iterdir()} == stamps
    line = tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    result = tiny.run()
    assert red(result) == OF_INT8
    assert f"{SPEC}:{line}" in result.stdout.str()


def test_without_the_cache_of_pytest_nothing_is_kept(tiny):
    tiny.run("-p", "no:cacheprovider").assert_outcomes(passed=9)
    assert not (tiny.root / ".pytest_cache").exists()


FREEZING = """
import gc

def pytest_collection_finish():
    print("frozen when collected:", gc.get_freeze_count() > 0)

def pytest_unconfigure():
    print("frozen at the end:", gc.get_freeze_count())
"""


@pytest.mark.slow
def test_claims_are_kept_from_the_garbage_collector(tiny):
    before = gc.get_threshold()
    tiny.write("conftest.py", FREEZING)
    result = tiny.run("-s", "golden")
    result.stdout.fnmatch_lines(["*frozen when collected: True*"])
    assert "frozen at the end: 0" not in result.stdout.str()
    assert gc.get_threshold() == before


LOST = """
class Lost:
    def __del__(self):
        raise ValueError("lost")

def test_leaves_a_cycle_behind():
    lost = Lost()
    lost.itself = lost
"""


@pytest.mark.slow
def test_pytest_sees_what_tests_beside_the_claims_leave_behind(tiny):
    tiny.write("conftest.py", FREEZING)
    tiny.write("tests/test_lost.py", LOST)
    result = tiny.script("pytest", "-s", "golden", "tests")
    assert "frozen when collected: True" in result.stdout
    assert "frozen at the end: 0\n" in result.stdout
    assert "ValueError: lost" in result.stdout + result.stderr


def test_one_wrong_fact_turns_exactly_the_claims_red_that_rest_on_it(halved, red):
    result = halved.run()
    assert red(result) == OF_INT8
    assert result.ret == 1


def test_a_red_claim_prints_its_verdict_and_no_traceback(halved):
    text = halved.run("-k", "peak-mac_array-int8 and not low").stdout.str()
    line = halved.line(SPEC, "macs_per_clock")
    assert "golden/x1.yaml:5  peak mac_array int8 of acme/x1" in text
    assert re.search(r"^  ratio +1/2 ", text, re.MULTILINE)
    assert f"{SPEC}:{line}" in text
    assert "Traceback" not in text and "judge.py" not in text and "items.py" not in text


@pytest.mark.slow
@pytest.mark.parametrize("id", IDS)
def test_a_claim_is_rerun_by_its_id_alone(tiny, id):
    result = tiny.run(f"golden/x1.yaml::{id}")
    result.assert_outcomes(passed=1)


@pytest.mark.slow
def test_the_printed_rerun_line_runs_just_that_claim_again(halved, red):
    lines = re.findall(r"^  rerun +(pytest .*)$", halved.run("-v").stdout.str(), re.MULTILINE)
    assert len(lines) == len(OF_INT8)
    for line in lines:
        program, *arguments = shlex.split(line)
        again = halved.run(*arguments)
        again.assert_outcomes(failed=1)
        assert program == "pytest"
        assert red(again) == {arguments[0].partition("::")[2]}


@pytest.mark.slow
def test_the_rerun_line_of_a_file_with_a_space_in_its_name_works_in_a_shell(halved):
    halved.write("golden/my chip.yaml", halved.read("golden/x1.yaml").replace("product page", "brochure"))
    lines = re.findall(r"^  rerun +(pytest .*my chip.*)$", halved.run().stdout.str(), re.MULTILINE)
    assert lines
    _, *arguments = shlex.split(lines[0])
    halved.run(*arguments).assert_outcomes(failed=1)


@pytest.mark.slow
def test_the_rerun_line_works_with_folders_from_the_command_line(halved):
    halved.write("pyproject.toml", "[tool.pytest.ini_options]\n")
    folders = ["--rooflint-golden=golden", "--rooflint-specs=specs"]
    result = halved.run(*folders)
    result.assert_outcomes(failed=len(OF_INT8), passed=len(IDS) + 1 - len(OF_INT8))
    line = re.findall(r"^  rerun +pytest (.*)$", result.stdout.str(), re.MULTILINE)[0]
    halved.run(*shlex.split(line)).assert_outcomes(failed=1)


@pytest.mark.slow
@pytest.mark.parametrize(("here", "there"), [("specs", "../golden"), ("golden", "."), ("golden", "x1.yaml")])
def test_the_rerun_line_works_where_it_was_printed(halved, monkeypatch, here, there):
    monkeypatch.chdir(halved.root / here)
    line = re.findall(r"^  rerun +pytest (.*)$", halved.run(there).stdout.str(), re.MULTILINE)[0]
    halved.run(*shlex.split(line)).assert_outcomes(failed=1)


def test_ids_stay_when_claims_are_added_above(tiny):
    tiny.edit("golden/x1.yaml", "claims:\n", "claims:\n  - {capacity: lpddr5, expect: 8.00 GB}\n")
    tiny.run(*(f"golden/x1.yaml::{id}" for id in IDS)).assert_outcomes(passed=len(IDS))


def test_a_golden_file_in_a_folder_below_is_collected_too(tiny):
    tiny.write("golden/more/deep/y.yml", HEAD + "  - {capacity: lpddr5, expect: 8.00 GB}\n")
    tiny.run().assert_outcomes(passed=len(IDS) + 2)


def test_yaml_elsewhere_and_tests_are_left_alone(tiny):
    tiny.write("other/z.yaml", "claims: [")
    tiny.write("tests/test_own.py", "def test_own():\n    pass\n")
    tiny.run().assert_outcomes(passed=len(IDS) + 2)


# ---- selection


def test_words_of_the_ids_select_them(tiny):
    tiny.run("-k", "peak and int8").assert_outcomes(passed=2, deselected=len(IDS) + 1 - 2)


def test_the_first_red_stops_a_run_that_asks_for_it(halved):
    result = halved.run("-x")
    result.assert_outcomes(failed=1)
    assert "stopping after 1 failures" in result.stdout.str()


@pytest.mark.slow
def test_what_was_red_is_run_again_and_alone(halved, red):
    halved.run()
    again = halved.run("--lf")
    again.assert_outcomes(failed=len(OF_INT8))
    assert red(again) == OF_INT8
    halved.edit(SPEC, "int8: [2048 MAC", "int8: [4096 MAC")
    fixed = halved.run("--lf")
    fixed.assert_outcomes(passed=len(OF_INT8))
    assert fixed.ret == 0


def test_an_open_world_is_run_again_too(tiny, red):
    tiny.write("specs/hardware/acme/x2.yaml", tiny.read(SPEC))
    assert red(tiny.run()) == {"closed-world"}
    again = tiny.run("--lf")
    again.assert_outcomes(failed=1)
    assert red(again) == {"closed-world"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "selection",
    [["golden/x1.yaml::count-core"], ["golden/x1.yaml"], ["-k", "count-core"], ["golden", "-k", "count-core"]],
)
def test_a_selection_is_not_red_for_what_the_world_lacks(tiny, selection):
    tiny.write("specs/hardware/acme/x2.yaml", tiny.read(SPEC))
    assert tiny.run().ret == 1
    assert tiny.run(*selection).ret == 0


def test_a_selection_of_reruns_is_not_red_for_what_the_world_lacks(halved):
    halved.run("-k", "count-core or bandwidth or int8")
    halved.edit(SPEC, "int8: [2048 MAC", "int8: [4096 MAC")
    halved.write("specs/hardware/acme/x2.yaml", halved.read(SPEC))
    assert halved.run("--lf").ret == 0


def test_an_id_that_is_not_there_is_a_usage_error(tiny):
    assert tiny.run("golden/x1.yaml::peak-mac_array-int4").ret == pytest.ExitCode.USAGE_ERROR


# ---- red files, red worlds


def test_a_broken_file_is_one_red_item_and_the_others_run(tiny, red):
    tiny.write("golden/a-broken.yaml", f"{HEAD}  - {{peak: mac_array int8}}\n  - {{count: core, expect: 1 TOPS}}\n")
    result = tiny.run()
    result.assert_outcomes(failed=1, passed=len(IDS) + 1)
    assert red(result) == {"readable"}
    text = result.stdout.str()
    assert "golden/a-broken.yaml:4  a peak claim needs 'expect'" in text
    assert "golden/a-broken.yaml:5  expect: unknown unit 'TOPS'; write TOP/s" in text
    assert "Traceback" not in text


def test_a_broken_file_can_be_run_by_itself(tiny):
    tiny.write("golden/broken.yaml", "claims: [\n")
    tiny.run("golden/broken.yaml::readable").assert_outcomes(failed=1)


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"\xff\xfe", b"", b"a: &x 1\nb: *x\n", b"- 1\n", b"\x00"])
def test_a_file_that_is_no_text_or_no_golden_file_is_one_red_item(tiny, red, content):
    (tiny.root / "golden/odd.yaml").write_bytes(content)
    result = tiny.run()
    assert red(result) == {"readable"}
    assert "INTERNALERROR" not in result.stdout.str()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "ids", "says"),
    [
        ("hardware: acme/x1", "hardware: acme/x9", {*IDS[:7], "closed-world"}, "unknown device 'acme/x9'"),
        ("peak: mac_array int8, expect", "peak: mac int8, expect", {"peak-mac-int8"}, "has no unit 'mac'"),
        ("peak: mac_array fp16", "peak: mac_array fp64", {"peak-mac_array-fp64"}, "does not support fp64"),
        ("bandwidth: lpddr5", "bandwidth: hbm", {"bandwidth-hbm"}, "has no memory 'hbm'"),
        ("at: low", "at: high", {"peak-mac_array-int8-at-high"}, "has no operating point 'high' (has: low)"),
        ("count: core", "count: SM", {"count-SM"}, "no units or groups named 'SM'"),
        ("bound: acme/x1", "bound: acme/x9", {IDS[7].replace("x1", "x9")}, "unknown device 'acme/x9'"),
    ],
)
def test_a_vanished_subject_is_red(tiny, red, old, new, ids, says):
    tiny.edit("golden/x1.yaml", old, new)
    result = tiny.run()
    assert red(result) == ids
    assert says in " ".join(result.stdout.str().split())


def test_a_device_without_claims_is_red(tiny, red):
    tiny.write("specs/hardware/acme/x2.yaml", tiny.read(SPEC))
    result = tiny.run()
    assert red(result) == {"closed-world"}
    assert "specs/hardware/acme/x2.yaml:1  acme/x2 has no claim in any golden file" in result.stdout.str()


def test_the_same_claim_twice_in_a_file_is_red(tiny, red):
    tiny.edit("golden/x1.yaml", "  - {count: core, expect: 4}\n", "  - {count: core, expect: 4}\n" * 2)
    result = tiny.run()
    assert "readable" in red(result)
    assert "golden/x1.yaml:11  'count-core' is claimed twice (first in line 10)" in result.stdout.str()


def test_the_same_claim_in_two_files_is_red(tiny, red):
    tiny.write("golden/y.yaml", tiny.read("golden/x1.yaml"))
    result = tiny.run()
    assert red(result) == {"closed-world"}
    assert "golden/y.yaml:10  'count-core' of acme/x1 is claimed twice" in result.stdout.str()


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [[], ["golden"], ["."], ["golden", "--strict-markers"]])
def test_an_empty_golden_folder_is_red(tiny, red, arguments):
    (tiny.root / "golden/x1.yaml").unlink()
    result = tiny.run(*arguments)
    assert red(result) == {"closed-world"}
    assert "no claim was found below golden" in result.stdout.str()
    assert result.ret == 1


@pytest.mark.parametrize(
    ("old", "new"), [('["golden"]', '["goldn"]'), ('["golden"]', '["golden", "goldn"]'), ('["specs"]', '["goldn"]')]
)
def test_a_configured_folder_that_is_not_there_is_never_green(tiny, old, new):
    tiny.write("golden/t4.yaml", f"{HEAD.replace('acme/x1', 'nvidia/t4')}  - {{count: SM, expect: 40}}\n")
    if "specs" in old:
        (tiny.root / "golden/x1.yaml").unlink()  # what is left speaks of a packaged device only
    tiny.edit("pyproject.toml", old, new)
    result = tiny.run()
    assert result.ret not in (0, pytest.ExitCode.INTERNAL_ERROR)
    assert "goldn" in result.stdout.str() + result.stderr.str()


def test_golden_files_without_a_claim_are_red(tiny, red):
    tiny.write("golden/x1.yaml", HEAD + "  []\n")
    assert red(tiny.run()) == {"readable"}


def test_a_run_in_which_everything_was_skipped_is_red(tiny):
    tiny.edit(SPEC, "    macs_per_clock: {int8: [4096 MAC, brief, p. 2], fp16: [1024 MAC, brief, p. 2]}\n", "")
    tiny.write(SPEC, f"{tiny.read(SPEC)}undisclosed: {{units.mac_array: secret}}\n")
    tiny.write("golden/x1.yaml", f"{HEAD}  - {{peak: mac_array int8, expect: 1.00 TOP/s, undisclosed: true}}\n")
    result = tiny.run("golden/x1.yaml")
    result.assert_outcomes(skipped=1)
    assert result.ret == 1
    assert "every claim was skipped; nothing was validated" in result.stdout.str()


def test_a_device_of_which_only_undisclosed_things_are_claimed_is_unchecked(tiny, red):
    tiny.edit(SPEC, "    macs_per_clock: {int8: [4096 MAC, brief, p. 2], fp16: [1024 MAC, brief, p. 2]}\n", "")
    tiny.write(SPEC, f"{tiny.read(SPEC)}undisclosed: {{units.mac_array: secret}}\n")
    tiny.write("golden/x1.yaml", f"{HEAD}  - {{peak: mac_array int8, expect: 1.00 TOP/s, undisclosed: true}}\n")
    assert red(tiny.run()) == {"closed-world"}


def test_code_and_hidden_files_of_a_golden_folder_are_none_of_ours(tiny):
    tiny.write("golden/conftest.py", "")
    (tiny.root / "golden/.cache").mkdir()
    tiny.write("golden/.cache/data.json", "{}")
    assert tiny.run().ret == 0
    tiny.write("golden/x2.ymal", "")
    assert tiny.run().ret == 1


def test_what_is_undisclosed_is_skipped_with_its_reason_among_others_that_pass(tiny):
    tiny.edit(SPEC, ", fp16: [1024 MAC, brief, p. 2]", "")
    tiny.write(SPEC, f"{tiny.read(SPEC)}undisclosed: {{units.mac_array.macs_per_clock.fp16: Acme keeps it}}\n")
    for claim in ("expect: 8.19 TFLOP/s", "fp16, expect: 4"):
        tiny.edit("golden/x1.yaml", claim, f"{claim}, undisclosed: true")
    result = tiny.run("-rs")
    result.assert_outcomes(skipped=2, passed=len(IDS) + 1 - 2)
    assert "Acme keeps it" in result.stdout.str()
    assert result.ret == 0


def test_a_spec_that_cannot_be_read_is_red_without_a_traceback(tiny, red):
    tiny.edit(SPEC, "tdp: [15 W, brief, p. 1]", "tdp: 15 W")
    result = tiny.run()
    assert red(result) == {SPEC}
    text = " ".join(result.stdout.str().split())
    assert "specs/hardware/acme/x1.yaml:7 tdp: want [value, source, where], found '15 W'" in text
    assert "Traceback" not in result.stdout.str()


def test_a_spec_file_with_a_name_that_is_no_id_is_red_without_a_crash(tiny):
    tiny.write("specs/hardware/acme/X2.yaml", tiny.read(SPEC))
    result = tiny.run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "'acme/X2' is not an id" in result.stdout.str()


def test_a_broken_architecture_does_not_cost_a_red_claim_its_verdict(halved, red):
    halved.write("specs/architectures/acme/a1.yaml", "name: [\n")
    result = halved.run(*(f"golden/x1.yaml::{id}" for id in IDS))
    assert red(result) == OF_INT8
    assert "strict_yaml.py" not in result.stdout.str()


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["build", "dist", ".hidden"])
def test_claims_that_pytest_does_not_visit_do_not_count_as_checked(tiny, folder):
    # pytest does not enter such folders; a closed world that counts their claims would be green without judging one
    (tiny.root / "golden" / folder).mkdir()
    (tiny.root / "golden/x1.yaml").rename(tiny.root / "golden" / folder / "x1.yaml")
    result = tiny.run()
    judged = result.parseoutcomes().get("passed", 0) > 1
    assert judged or result.ret != 0


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [[], ["golden"]])
def test_a_golden_folder_behind_a_link_is_judged_or_red(tiny, arguments):
    (tiny.root / "golden").rename(tiny.root / "elsewhere")
    (tiny.root / "golden").symlink_to(tiny.root / "elsewhere")
    result = tiny.run(*arguments)
    judged = result.parseoutcomes().get("passed", 0) > 1
    assert judged or result.ret != 0


def test_a_whole_run_that_ignores_every_golden_file_is_red(tiny):
    assert tiny.run("--ignore-glob=*/x1.yaml").ret != 0


# ---- expected failures

EXCUSED = "expect: 5, xfail: {ratio: 0.80, reason: two sheets differ, until: %s}"


def test_a_known_disagreement_is_an_xfail_with_its_reason(tiny):
    tiny.edit("golden/x1.yaml", "count: core, expect: 4", f"count: core, {EXCUSED % '2999-01-01'}")
    result = tiny.run("-rx")
    result.assert_outcomes(xfailed=1, passed=len(IDS))
    assert "two sheets differ" in result.stdout.str()
    assert result.ret == 0


def test_an_expired_excuse_is_red(tiny, red):
    tiny.edit("golden/x1.yaml", "count: core, expect: 4", f"count: core, {EXCUSED % '2020-01-01'}")
    result = tiny.run()
    assert red(result) == {"count-core"}
    assert "ended on 2020-01-01" in result.stdout.str()


def test_an_excuse_that_is_not_needed_is_red(tiny, red):
    tiny.edit("golden/x1.yaml", "core, expect: 4", "core, expect: 4, xfail: {ratio: 2, reason: r, until: 2999-01-01}")
    result = tiny.run()
    assert red(result) == {"count-core"}
    assert "your spec now equals a figure known to be wrong" in " ".join(result.stdout.str().split())


def test_excuses_can_be_switched_off_as_in_pytest(tiny, red):
    tiny.edit("golden/x1.yaml", "count: core, expect: 4", f"count: core, {EXCUSED % '2999-01-01'}")
    assert red(tiny.run("--runxfail")) == {"count-core"}


# ---- tolerance, through a spec


@pytest.mark.slow
def test_there_is_no_absolute_tolerance_through_a_spec(tiny, red):
    # a launch of 1.8 ns against a printed 1.2 ns: far apart, however small; the network adds 1 op and 3 B, 29 ps
    tiny.edit(SPEC, "memories:", "launch_overhead: [1.8 ns, brief, p. 5]\nmemories:")
    claim = "compute: int8, workload: {gemm: [1, 1, 1]}"
    tiny.write("golden/y.yaml", HEAD + f"  - {{latency: acme/x1, expect: 1.2 ns, {claim}}}\n")
    assert red(tiny.run("golden/y.yaml")) == {"latency-acme/x1-of-gemm-1-1-1-in-int8"}
    tiny.write("golden/y.yaml", HEAD + f"  - {{latency: acme/x1, expect: 1.8 ns, {claim}}}\n")
    assert red(tiny.run("golden/y.yaml")) == set()


# ---- JUnit


# ---- GitHub


# ---- what the run says at its end


@pytest.mark.slow
def test_claims_that_no_second_document_backs_are_counted_at_the_end(tiny):
    # a bound claims no figure that a document could print
    assert "1 of 8 claims are uncorroborated" in tiny.run().stdout.str()
    tiny.edit("golden/x1.yaml", "Acme X1 product page, 2025", "Acme X1 architecture brief, 2025")
    assert "8 of 8 claims are uncorroborated" in tiny.run().stdout.str()


# ---- asleep


# ---- order


def test_the_closed_world_stands_last_in_its_folder(tiny):
    lines = [line for line in tiny.run("--collect-only", "-q").outlines if "::" in line]
    assert lines[-1] == "golden::closed-world" or lines[-1].endswith("closed-world")
    assert lines[0].startswith("golden/x1.yaml::peak-mac_array-int8")
