"""What must never pass in silence: each of these runs is red and says why, where a lesser harness stays green.

An assertion with `pytest.approx` and its absolute tolerance, a loop over a list that came out empty, a dictionary that
keeps the last of two keys, a skip that nobody counts, a snapshot of one's own output: all of them pass.
"""

import json
import math
import os
from types import SimpleNamespace

import pytest

from pytest_rooflint.golden import kinds
from pytest_rooflint.golden.kinds import Kind, Obtained
from rooflint.base.units import JOULES

SPEC = "specs/hardware/acme/x1.yaml"
GOLDEN = "golden/x1.yaml"
HEAD = "hardware: acme/x1\nsource: {document: A paper on energy, where: table 1, grade: read}\nclaims:\n"


#: Claims of the tiny repository.
IDS = (
    "peak-mac_array-int8",
    "peak-mac_array-int8-at-low",
    "peak-mac_array-fp16",
    "bandwidth-lpddr5",
    "breakpoint-mac_array-int8-per-lpddr5",
    "count-core",
    "ratio-mac_array-int8-per-mac_array-fp16",
    "bound-acme/x1-of-mlp-1024-1024-1024-batch-16-in-int8",
)


@pytest.fixture
def red(tiny, red):
    """`red(wanted ids, "a part of what is said", …)`: the run ends red, and says so without a traceback."""

    def check(ids, *parts, arguments=()):
        result = tiny.run(*arguments)
        message = " ".join((result.stdout.str() + result.stderr.str()).split())
        assert result.ret not in (pytest.ExitCode.OK, pytest.ExitCode.INTERNAL_ERROR)
        assert red(result) == set(ids)
        for part in parts:
            assert part in message
        assert "Traceback" not in message
        return message

    return check


@pytest.fixture
def energy(tiny, monkeypatch):
    """A kind of claim that this test adds: an energy in joules, as the model would obtain it."""

    def obtains(value):
        def obtain(claim, context):
            if isinstance(value, Exception):
                raise value
            return Obtained(value, JOULES, f"{value} J")

        entries = {
            **kinds._entries(),
            "energy": SimpleNamespace(module=__name__, load=lambda: Kind("energy", "an energy", obtain, JOULES)),
        }
        monkeypatch.setattr(kinds, "_entries", lambda: entries)
        kinds.kind.cache_clear()

    yield obtains
    kinds.kind.cache_clear()


# ---- small numbers


@pytest.mark.slow
@pytest.mark.parametrize(
    ("obtained", "expect", "ratio"),
    [
        (16 * 0.8e-12, "0.80 pJ", "ratio 16"),  # |12.8e-12 - 0.8e-12| is below any usual absolute tolerance
        (0.8e-12 / 16, "0.80 pJ", "ratio 1/16"),
        (1.8e-12, "1.2 pJ", "ratio 3/2"),
        (1.5e-12, "1.0e-12 J", "ratio 3/2"),
        (0.0, "1.2 pJ", "ratio 0"),
    ],
)
def test_a_factor_on_a_small_number_which_an_absolute_tolerance_would_forgive(
    tiny, energy, red, obtained, expect, ratio
):
    energy(obtained)
    tiny.write("golden/energy.yaml", f"{HEAD}  - {{energy: one MAC, expect: {expect}}}\n")
    red({"energy-one-MAC"}, ratio, arguments=["golden/energy.yaml"])


def test_the_same_small_number_passes_where_it_agrees(tiny, energy):
    energy(0.8e-12)
    tiny.write("golden/energy.yaml", f"{HEAD}  - {{energy: one MAC, expect: 0.80 pJ}}\n")
    assert tiny.run("golden/energy.yaml").ret == 0


# ---- what has vanished


def test_a_unit_that_vanished_which_a_loop_over_units_would_not_miss(tiny, red):
    tiny.edit(SPEC, "  mac_array:", "  other_array:")
    tiny.edit(SPEC, "units.mac_array.clock", "units.other_array.clock")
    wanted = {"peak-mac_array-int8", "peak-mac_array-int8-at-low", "peak-mac_array-fp16"}
    wanted |= {"breakpoint-mac_array-int8-per-lpddr5", "ratio-mac_array-int8-per-mac_array-fp16"}
    red(wanted, "acme/x1 has no unit 'mac_array' (has: other_array)")


def test_a_precision_that_vanished(tiny, red):
    tiny.edit(SPEC, ", fp16: [1024 MAC, brief, p. 2]", "")
    red({"peak-mac_array-fp16", "ratio-mac_array-int8-per-mac_array-fp16"}, "fp16")


def test_a_memory_that_vanished(tiny, red):
    tiny.edit(SPEC, "  lpddr5:", "  lpddr6:")
    red({"bandwidth-lpddr5", "breakpoint-mac_array-int8-per-lpddr5"}, "acme/x1 has no memory 'lpddr5' (has: lpddr6)")


def test_a_device_whose_file_vanished(tiny, red):
    tiny.write("specs/hardware/acme/x2.yaml", tiny.read(SPEC))
    (tiny.root / SPEC).unlink()
    message = red({*IDS, "closed-world"}, "unknown device 'acme/x1'", "acme/x2 has no claim")
    assert "has no claim in any golden file" in message


def test_a_golden_file_that_vanished_leaves_a_device_that_nobody_checks(tiny, red):
    tiny.write("specs/hardware/acme/x2.yaml", tiny.read(SPEC))
    tiny.write("golden/x2.yaml", tiny.read(GOLDEN).replace("acme/x1", "acme/x2"))
    (tiny.root / GOLDEN).unlink()
    red({"closed-world"}, "specs/hardware/acme/x1.yaml:1 acme/x1 has no claim in any golden file")


def test_an_operating_point_that_vanished(tiny, red):
    tiny.write(SPEC, tiny.read(SPEC).partition("operating_points:")[0])
    red({"peak-mac_array-int8-at-low"}, "low")


# ---- prefixes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "old", "new", "id", "says"),
    [
        (GOLDEN, "expect: 102.4 GB/s}", "expect: 102.4 MB/s}", "bandwidth-lpddr5", "ratio 1000"),
        (GOLDEN, "expect: 102.4 GB/s}", "expect: 102.4 TB/s}", "bandwidth-lpddr5", "ratio 1/1000"),
        (GOLDEN, "expect: 102.4 GB/s}", "expect: 102.4 GiB/s}", "bandwidth-lpddr5", "counts in GiB"),
        (GOLDEN, "expect: 8.19 TFLOP/s}", "expect: 8.19 GFLOP/s}", "peak-mac_array-fp16", "ratio 1000"),
        (SPEC, "clock: [500 MHz", "clock: [5 GHz", "peak-mac_array-int8-at-low", "ratio 10"),
    ],
)
def test_a_slipped_prefix(tiny, red, file, old, new, id, says):
    tiny.edit(file, old, new)
    red({id}, says)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("clock: [1000 MHz", "clock: [1000 GHz", "'1000 GHz' is 1 THz, outside 1 MHz … 20 GHz; wrong unit or prefix?"),
        ("clock: [1000 MHz", "clock: [1000 mHz", "outside 1 MHz … 20 GHz"),
        ("pin_rate: [6.4 Gbit/s", "pin_rate: [6.4 GB/s", "want a rate per pin in bit/s"),
        ("pin_rate: [6.4 Gbit/s", "pin_rate: [6.4 kbit/s", "wrong unit or prefix?"),
        ("bus: [128 bit", "bus: [128 B", "want a bus width in bit"),
    ],
)
def test_a_slipped_prefix_or_unit_of_a_fact_is_refused_at_the_door(tiny, red, old, new, says):
    tiny.edit(SPEC, old, new)
    red({SPEC}, says)


# ---- no number at all


@pytest.mark.slow
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_model_that_obtains_no_number_which_a_comparison_with_nan_lets_through(tiny, energy, red, value):
    energy(value)
    tiny.write("golden/energy.yaml", f"{HEAD}  - {{energy: one MAC, expect: 0.80 pJ}}\n")
    red({"energy-one-MAC"}, "the obtained value is not a finite number", arguments=["golden/energy.yaml"])


def test_no_number_is_no_known_disagreement_either(tiny, energy, red):
    energy(math.nan)
    excuse = "xfail: {ratio: 2, reason: r, until: 2999-01-01}"
    tiny.write("golden/energy.yaml", f"{HEAD}  - {{energy: one MAC, expect: 0.80 pJ, {excuse}}}\n")
    red({"energy-one-MAC"}, "the obtained value is not a finite number", arguments=["golden/energy.yaml"])


@pytest.mark.slow
@pytest.mark.parametrize("number", [".nan", ".inf", "-.inf"])
def test_no_number_in_a_spec(tiny, red, number):
    tiny.edit(SPEC, "groups: [4,", f"groups: [{number},")
    red({SPEC}, f"want a finite number, found {number}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("expect", "says"),
    [
        (".nan", "want a finite number, found .nan"),
        (".inf", "want a finite number, found .inf"),
        ("nan GB/s", "cannot read 'nan GB/s'"),
        ("inf GB/s", "cannot read 'inf GB/s'"),
        ("1e999 GB/s", "is out of range"),
        ("0 GB/s", "want a value above zero"),
        ("0", "want a value above zero"),
        ("-102.4 GB/s", "-102.4 GB/s"),
        ("100 GB/s - 100 GB/s", "want a value above zero"),
        ("102.4 GB/s ± 100 %", "is not a tolerance between 0 and 100 %"),
        ("102.4 GB/s ± 99 %, why: x", "is wider than ±30%; such a claim tests nothing"),
        ("102.4 GB/s ± 0 %", "is not a tolerance between 0 and 100 %"),
        ("102.4 GB/s ± nan %", "after '±'"),
    ],
)
def test_an_expectation_that_is_no_figure_or_forgives_everything(tiny, red, expect, says):
    tiny.edit(GOLDEN, "expect: 102.4 GB/s}", f"expect: {expect}}}")
    red({"readable"}, says, f"{GOLDEN}:8", arguments=[GOLDEN])


# ---- nothing there


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("# only\n# comments\n", "is empty"),
        ("hardware: acme/x1\nclaims: []\n", "claims"),
        ("hardware: acme/x1\n", "claims: is missing"),
        ("hardware: acme/x1\nclaims:\n", "claims"),
        ("[]\n", "want a mapping with the key 'claims'"),
        ("null\n", "want a mapping"),
    ],
)
def test_an_empty_golden_file_over_which_a_loop_runs_zero_times(tiny, red, text, says):
    tiny.write("golden/empty.yaml", text)
    red({"readable"}, says)


def test_an_empty_golden_folder(tiny, red):
    (tiny.root / GOLDEN).unlink()
    red({"closed-world"}, "no claim was found below golden")


def test_another_golden_folder_that_is_empty(tiny, red):
    (tiny.root / "other").mkdir()
    red({"closed-world"}, "no claim was found below other", arguments=["--rooflint-golden=other", "other"])


def test_a_key_that_is_written_twice_of_which_a_dictionary_keeps_the_last(tiny, red):
    tiny.edit(GOLDEN, "{count: core, expect: 4}", "{count: core, expect: 5, expect: 4}")
    red({"readable"}, "'expect' is written twice")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["x2.ymal", "x2.yaml.bak", "x2.YAML", "x2.json", "x2.txt", "x2"])
def test_a_golden_file_with_a_suffix_that_nobody_reads(tiny, red, name):
    tiny.write(f"golden/{name}", tiny.read(GOLDEN).replace("expect: 4", "expect: 5"))
    red({"closed-world"}, f"golden/{name}:1 not a .yaml file; files in a golden folder must be golden files")


def test_a_misspelt_kind(tiny, red):
    tiny.edit(GOLDEN, "{bandwidth: lpddr5", "{bandwith: lpddr5")
    red({"readable"}, f"{GOLDEN}:8", "did you mean 'bandwidth'?")


def test_a_misspelt_option_which_a_lenient_reader_ignores(tiny, red):
    tiny.edit(GOLDEN, "{peak: mac_array int8, at: low", "{peak: mac_array int8, att: low")
    red({"readable"}, "did you mean 'at'?")


# ---- nothing judged


UNDISCLOSED = "undisclosed: {units.mac_array.macs_per_clock: Acme keeps it}\n"


def test_a_run_in_which_every_claim_is_undisclosed(tiny):
    tiny.edit(SPEC, "    macs_per_clock: {int8: [4096 MAC, brief, p. 2], fp16: [1024 MAC, brief, p. 2]}\n", "")
    tiny.write(SPEC, tiny.read(SPEC) + UNDISCLOSED)
    tiny.write(GOLDEN, HEAD + "  - {peak: mac_array int8, expect: 1.00 TOP/s, undisclosed: true}\n")
    result = tiny.run(GOLDEN)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "every claim was skipped; nothing was validated" in result.stdout.str()


@pytest.mark.slow
@pytest.mark.parametrize("argument", ["-knothing_of_that_name", "-mslow", "--ignore=golden", "--ignore-glob=*"])
def test_a_selection_that_leaves_nothing(tiny, argument):
    tiny.write("pyproject.toml", tiny.read("pyproject.toml") + 'markers = ["slow"]\n')
    assert tiny.run(argument).ret in (pytest.ExitCode.NO_TESTS_COLLECTED, pytest.ExitCode.TESTS_FAILED)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_a_golden_folder_that_is_passed_by_while_other_tests_pass(tiny, workers):
    tiny.write("test_own.py", "def test_own():\n    pass\n")
    result = tiny.script("pytest", "-q", "--ignore=golden", *workers)
    assert result.returncode == pytest.ExitCode.TESTS_FAILED
    assert "golden was ignored (by --ignore, norecursedirs or a conftest?); its claims were not judged" in result.stdout


def test_a_folder_above_the_golden_folder_that_is_passed_by(tiny):
    (tiny.root / "checks").mkdir()
    (tiny.root / "golden").rename(tiny.root / "checks/golden")
    tiny.edit("pyproject.toml", '["golden"]', '["checks/golden"]')
    tiny.write("test_own.py", "def test_own():\n    pass\n")
    tiny.write("conftest.py", "collect_ignore = ['checks']\n")
    result = tiny.run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "checks/golden was ignored" in result.stdout.str()


def test_other_tests_alone_are_nobodys_business(tiny):
    tiny.write("test_own.py", "def test_own():\n    pass\n")
    assert tiny.run("test_own.py").ret == 0


MARKS = """\
import pytest

def pytest_collection_modifyitems(items):
    for item in items:
        if "{part}" in item.name:
            item.add_marker(pytest.mark.{mark}(reason="later"))
"""


@pytest.mark.parametrize("part", ["", "peak", "closed-world"])
def test_a_claim_that_a_conftest_skips_which_pytest_counts_as_green(tiny, part):
    tiny.write("conftest.py", MARKS.format(part=part, mark="skip"))
    result = tiny.run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "skipped by a mark or a hook; excuse a claim in its golden file" in result.stdout.str()


@pytest.mark.slow
@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_a_red_claim_that_a_conftest_expects_to_fail(tiny, workers):
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    tiny.write("conftest.py", MARKS.format(part="", mark="xfail"))
    result = tiny.script("pytest", "-q", *workers)
    assert result.returncode == pytest.ExitCode.TESTS_FAILED
    assert "4 failures were hidden by a mark or a hook" in result.stdout


def test_a_closed_world_that_a_conftest_expects_to_fail(tiny):
    tiny.write("golden/x2.ymal", "")
    tiny.write("conftest.py", MARKS.format(part="closed-world", mark="xfail"))
    result = tiny.run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "1 failure was hidden by a mark or a hook" in result.stdout.str()


@pytest.mark.slow
def test_a_kind_that_breaks_is_red_and_its_claim_does_not_vanish_from_the_evidence(tiny, energy):
    energy(ZeroDivisionError("division by zero"))
    tiny.write("golden/energy.yaml", f"{HEAD}  - {{energy: one MAC, expect: 0.80 pJ}}\n")
    assert tiny.run("--rooflint-evidence=evidence.json").ret == pytest.ExitCode.TESTS_FAILED
    (problem,) = json.loads(tiny.read("evidence.json"))["problems"]
    assert problem["what"] == "energy-one-MAC was not judged: ZeroDivisionError: division by zero"
    assert (problem["file"], problem["line"]) == ("golden/energy.yaml", 4)


@pytest.mark.slow
def test_a_kind_that_breaks_does_not_stop_what_is_tried_for_others(tiny, energy):
    energy(ZeroDivisionError("division by zero"))
    tiny.write("golden/energy.yaml", f"{HEAD}  - {{energy: one MAC, expect: 0.80 pJ}}\n")
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    result = tiny.run("--rooflint-propose")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "1 proposal; 4 red claims turn green with all of it, none turns red." in result.stdout.str()


def test_a_kind_that_cannot_be_loaded_is_a_sentence(tiny, red, monkeypatch):
    def load():
        raise ImportError("no module named 'acme'")

    entries = {**kinds._entries(), "energy": SimpleNamespace(module=__name__, load=load)}
    monkeypatch.setattr(kinds, "_entries", lambda: entries)
    kinds.kind.cache_clear()
    tiny.write("golden/energy.yaml", f"{HEAD}  - {{energy: one MAC, expect: 0.80 pJ}}\n")
    red({"readable"}, "golden/energy.yaml:4 the kind 'energy' cannot be loaded: ImportError: no module named 'acme'")


# ---- excuses


def test_an_excuse_that_fits_every_disagreement(tiny, red):
    tiny.edit(GOLDEN, "count: core, expect: 4", "count: core, expect: 5, xfail: {reason: r, until: 2999-01-01}")
    red({"readable"}, "xfail: add 'ratio:', obtained over expected")


@pytest.mark.slow
def test_an_excuse_of_today_does_not_cover_the_slip_of_tomorrow(tiny, red):
    tiny.edit(GOLDEN, "expect: 102.4 GB/s}", "expect: 100.0 GB/s, xfail: {ratio: 1.024, reason: r, until: 2999-01-01}}")
    assert tiny.run(GOLDEN).ret == 0
    tiny.edit(SPEC, "bus: [128 bit", "bus: [64 bit")
    red(
        {"bandwidth-lpddr5", "breakpoint-mac_array-int8-per-lpddr5"},
        "the ratio is 0.512, but the expected failure has 1.024 (r)",
        arguments=[GOLDEN],
    )


@pytest.mark.slow
def test_an_excuse_that_is_not_needed_any_more(tiny, red):
    tiny.edit(GOLDEN, "expect: 102.4 GB/s}", "expect: 102.4 GB/s, xfail: {ratio: 1.024, reason: r, until: 2999-01-01}}")
    red({"bandwidth-lpddr5"}, "your spec now equals a figure known to be wrong")
    tiny.edit(GOLDEN, "until: 2999-01-01}", "until: 2999-01-01, open: true}")
    red({"bandwidth-lpddr5"}, "passes although it is expected to fail; remove 'xfail' (r)")


def test_an_excuse_whose_day_is_over(tiny, red):
    tiny.edit(GOLDEN, "expect: 102.4 GB/s}", "expect: 100.0 GB/s, xfail: {ratio: 1.024, reason: r, until: 2020-01-01}}")
    red({"bandwidth-lpddr5"}, "the expected failure ended on 2020-01-01; settle it or set a later date (r)")


def test_a_silence_that_was_broken(tiny, red):
    tiny.edit(GOLDEN, "expect: 102.4 GB/s}", "expect: 102.4 GB/s, undisclosed: true}")
    red({"bandwidth-lpddr5"}, "the facts are disclosed now; remove 'undisclosed'")


# ---- one's own printout


@pytest.mark.slow
@pytest.mark.parametrize(
    "document", ["rooflint peaks acme/x1", "Output of Rooflint 0.1.0", "our rooflint report, 2026"]
)
def test_a_golden_file_that_quotes_the_model_itself_as_a_snapshot_does(tiny, red, document):
    tiny.edit(GOLDEN, "Acme X1 product page, 2025", document)
    red({"readable"}, f"cites rooflint itself ('{document}'); cite an independent source")


def test_a_claim_from_the_document_of_its_own_facts_passes_and_is_counted_apart(tiny):
    tiny.edit(GOLDEN, "Acme X1 product page, 2025", "Acme X1 architecture brief, 2025")
    assert "8 of 8 claims are uncorroborated" in tiny.run().stdout.str()


@pytest.mark.parametrize("phase", ["setup", "call"])
def test_a_claim_that_a_hook_skips(tiny, phase):
    tiny.write("conftest.py", f"import pytest\n\ndef pytest_runtest_{phase}(item):\n    pytest.skip('later')\n")
    result = tiny.run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert f"{GOLDEN}::{IDS[0]} and 8 more were skipped by a mark or a hook" in result.stdout.str()


@pytest.mark.slow
def test_a_red_report_that_a_hook_repaints(tiny):
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    hook = "@pytest.hookimpl(wrapper=True, tryfirst=True)\ndef pytest_runtest_makereport(item, call):\n"
    tiny.write(
        "conftest.py", f"import pytest\n\n{hook}    report = yield\n    report.outcome = 'passed'\n    return report\n"
    )
    result = tiny.run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "4 failures were hidden by a mark or a hook" in result.stdout.str()


# ---- hostile files


def test_a_pipe_among_the_golden_files_is_a_problem_and_nothing_waits_for_it(tiny, red):
    os.mkfifo(tiny.root / "golden" / "pipe.yaml")
    red({"readable"}, "golden/pipe.yaml:1 want a regular file, found a pipe or a device")


def test_links_that_lead_in_circles_are_not_followed(tiny):
    (tiny.root / "golden" / "loop").symlink_to(tiny.root / "golden")
    (tiny.root / "golden" / "self").symlink_to("self")
    tiny.run().assert_outcomes(passed=len(IDS) + 1)


@pytest.mark.slow
def test_a_name_cannot_give_orders_to_the_terminal_or_to_the_runner(tiny, red):
    tiny.edit("golden/x1.yaml", "expect: 102.4 GB/s}", "expect: 99 GB/s, note: '##[error]x'}")
    message = red({IDS[3]})
    assert "##[" not in message
    tiny.edit("golden/x1.yaml", "'##[error]x'", '"a\\u001b[31m"')
    red({"readable"}, "want visible characters, found U+001B")


@pytest.mark.slow
def test_of_thousands_of_errors_in_a_file_twenty_are_printed(tiny, red):
    tiny.write("golden/many.yaml", HEAD + "  - {pek: int8}\n" * 1000)
    message = red({"readable"}, "and 980 more problems")
    listed = message.partition("short test summary")[0]  # which repeats the first
    assert listed.count("want one kind of claim out of") == 20


@pytest.mark.slow
@pytest.mark.parametrize("name", ["x\n::error::y.yaml", "x\u202ey.yaml", "##[error]y.yaml"])
def test_a_file_whose_name_gives_orders_is_not_collected_and_the_run_is_red(tiny, name):
    (tiny.root / "golden" / name).write_text("claims: [", encoding="utf-8")
    result = tiny.run()
    assert result.ret == 1
    text = result.stdout.str()
    assert "not collected by pytest" in text
    assert "\n::error" not in text and "\u202e" not in text and "##[" not in text
