"""A red run prints one block a cause, one line a claim, and the decisive line last."""

import json
import re
from contextlib import nullcontext, redirect_stdout
from io import StringIO
from types import SimpleNamespace

import pytest

from pytest_rooflint.session.fold import searching

SPEC = "specs/hardware/acme/x1.yaml"
REPAIR = "A single change fixes 4 of 4 failures and breaks nothing: write 4096 MAC instead of 2048 MAC at "


def blocks(text: str) -> int:
    """Verdicts that are printed in full."""
    return len(re.findall(r"^  rerun ", text, re.MULTILINE))


@pytest.fixture
def halved(tiny):
    """The tiny repository with half the INT8 rate, on which four claims rest."""
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    return tiny


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("-q",), ("-n", "2"), ("-p", "no:cacheprovider")])
def test_one_wrong_fact_is_one_block_and_a_line_for_each_claim_and_the_repair_comes_last(halved, red, options):
    result = halved.run(*options)
    result.assert_outcomes(passed=5, failed=4)
    text = result.stdout.str()
    assert (blocks(text), len(red(result))) == (1, 4)
    assert "  and       3 more claims for the same cause, listed below (-v shows all)" in text
    assert text.rstrip().splitlines()[-1].startswith(REPAIR)


@pytest.mark.slow
def test_verbose_shows_every_block(halved):
    text = halved.run("-v").stdout.str()
    assert (blocks(text), "for the same cause" in text) == (4, False)
    assert text.rstrip().splitlines()[-1].startswith(REPAIR)


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("-n", "2")])
def test_the_list_of_failures_says_what_fails_and_no_path_twice(halved, options, monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")
    halved.edit("golden/x1.yaml", "{count: core, expect: 4}", "{count: core, expect: 5}")
    text = halved.run(*options).stdout.str()
    failed = dict(re.findall(r"^FAILED golden/x1.yaml::(\S+) - (.*)", text, re.MULTILINE))
    assert len(failed) == 5
    assert text.rstrip().endswith("\n1 of 5 failures has another cause: golden/x1.yaml::count-core")
    assert failed["count-core"].startswith("4, not 5: ")
    assert failed["peak-mac_array-int8"].startswith("16.38 TOP/s, not 32.8 TOP/s: ")


@pytest.mark.slow
def test_other_causes_keep_their_blocks(halved, red):
    halved.edit("golden/x1.yaml", "{count: core, expect: 4}", "{count: core, expect: 5}")
    result = halved.run()
    result.assert_outcomes(passed=4, failed=5)
    assert (blocks(result.stdout.str()), len(red(result))) == (2, 5)


@pytest.mark.slow
def test_claims_without_a_figure_for_one_reason_are_one_block(tiny, red):
    tiny.edit("golden/x1.yaml", "hardware: acme/x1", "hardware: acme/x9")
    result = tiny.run()
    text = result.stdout.str()
    several = text.count("FAILED golden/x1.yaml::")
    assert several > 3
    assert text.count("reason    unknown device 'acme/x9'") < several
    assert "more claims for the same cause, listed below (-v shows all)" in text


@pytest.mark.slow
def test_other_tests_fail_as_they_do_without_us(halved):
    halved.write("tests/test_own.py", "def test_own():\n    assert 1 == 2\n")
    result = halved.run("tests", "golden")
    result.assert_outcomes(passed=5, failed=5)
    assert "assert 1 == 2" in result.stdout.str()


def test_without_failures_no_line_is_the_last_one(tiny):
    assert "A single change" not in tiny.run().stdout.str()


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("-n", "2")])
def test_a_memory_without_a_known_energy_is_named_with_the_file_to_write(tiny, options):
    assert "no energy of the memory" not in tiny.run(*options).stdout.str()
    for file in (SPEC, "golden/x1.yaml"):
        tiny.write(file, tiny.read(file).replace("lpddr5", "gddr9"))
    said = "no energy of the memory gddr9 is known (acme/x1), so predictions leave it out; write one to"
    assert f"{said} specs/memory/gddr9.yaml" in " ".join(tiny.run(*options).stdout.str().split())


# ---- a file that cannot be read


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--reruns", "1")])
def test_a_broken_spec_is_one_failure_and_the_claims_on_it_are_not_judged(tiny, options):
    tiny.edit(SPEC, "tdp: [15 W, brief, p. 1]", "tdp: 15 W")
    result = tiny.run("-rfs", *options)
    counts = result.parseoutcomes()
    assert counts["failed"] == 1
    assert counts["skipped"] == 7
    assert f"SKIPPED [7] golden/x1.yaml: not validated here: cannot read {SPEC}:7" in result.stdout.str()
    text = result.stdout.str()
    assert f"\n{SPEC}:7  tdp: want [value, source, where], found '15 W'" in text
    assert re.search(rf"^_+ {SPEC} _+$", text, re.MULTILINE)  # the spec fails, whichever claim read it first
    assert f"\nFAILED {SPEC} - line 7: tdp" in text
    assert (blocks(text), "claims that rest on it are not judged" in text) == (0, True)


@pytest.mark.slow
def test_a_broken_spec_is_one_failure_of_all_workers_of_xdist(tiny):
    # three workers share nine items; which one comes first differs, and the closed world repeats the problem or fails
    tiny.edit(SPEC, "tdp: [15 W, brief, p. 1]", "tdp: 15 W")
    result = tiny.run("-n", "3", "--rooflint-evidence", "e.json", "--junitxml", "j.xml")
    assert result.ret == 1
    counts = result.parseoutcomes()
    assert (counts["failed"], counts["skipped"] + counts.get("passed", 0)) == (1, 8)
    (first,) = re.findall(r"^FAILED (\S+)", result.stdout.str(), re.MULTILINE)
    evidence = json.loads(tiny.read("e.json"))
    outcomes = {one["nodeid"]: one["outcome"] for one in evidence["verdicts"]}
    assert len(outcomes) == 8
    assert {*outcomes.values()} == {"not validated here"}
    assert [(one["file"], one["line"]) for one in evidence["problems"]] == [(SPEC, 7)]
    assert first in ("golden::closed-world", SPEC)
    assert tiny.read("j.xml").count("<failure") == 1


@pytest.mark.slow
def test_another_problem_of_the_closed_world_is_a_failure_of_its_own(tiny):
    tiny.edit(SPEC, "tdp: [15 W, brief, p. 1]", "tdp: 15 W")
    tiny.write("specs/hardware/acme/x2.yaml", tiny.read(SPEC).replace("tdp: 15 W", "tdp: [15 W, brief, p. 1]"))
    for options in ((), ("-n", "2")):
        result = tiny.run(*options)
        assert result.parseoutcomes()["failed"] == 2
        assert "FAILED golden::closed-world" in result.stdout.str()


@pytest.mark.slow
def test_each_claim_fails_alone_for_a_broken_spec(tiny):
    tiny.edit(SPEC, "tdp: [15 W, brief, p. 1]", "tdp: 15 W")
    for name in ("bandwidth-lpddr5", "peak-mac_array-fp16"):
        tiny.run(f"golden/x1.yaml::{name}").assert_outcomes(failed=1)
    tiny.run("-k", "closed-world").assert_outcomes(failed=1, deselected=8)


def test_a_broken_golden_file_is_one_failure(tiny):
    tiny.write("golden/x1.yaml", tiny.read("golden/x1.yaml") + "  - {peak: [\n")
    head = "hardware: acme/x1\nsource: {document: D, where: p. 1, grade: read}\nclaims:\n"
    tiny.write("golden/x2.yaml", f"{head}  - {{capacity: lpddr5, expect: 8.00 GB}}\n")
    result = tiny.run()
    result.assert_outcomes(failed=1, passed=2)
    assert "FAILED golden/x1.yaml::readable" in result.stdout.str()


# ---- skips and expected failures


def test_skips_and_expected_failures_are_explained_in_one_line_each(tiny):
    tiny.edit(
        "golden/x1.yaml",
        "{count: core, expect: 4}",
        "{count: core, expect: 8, xfail: {ratio: 1/2, reason: r, until: 2999-01-01}}",
    )
    tiny.write(SPEC, f"{tiny.read(SPEC)}undisclosed: {{units.mac_array.macs_per_clock.int4: secret}}\n")
    undisclosed = "  - {peak: mac_array int4, expect: 1.00 TOP/s, undisclosed: true}\n"
    tiny.write("golden/x1.yaml", tiny.read("golden/x1.yaml").rstrip() + "\n" + undisclosed)
    text = tiny.run("-rsx").stdout.str()
    assert "1 claim expected to fail, for the reason in the golden file; -rx lists them" in text
    assert "XFAIL golden/x1.yaml::count-core - r" in text
    assert (
        "SKIPPED [1] golden/x1.yaml: not validated here: mac_array.macs_per_clock.int4 is undisclosed: secret" in text
    )
    assert "1 claim not validated here: mac_array.macs_per_clock.int4 is undisclosed: secret" in text


def test_a_run_of_one_claim_counts_the_other_failures_apart(halved):
    text = halved.run("golden/x1.yaml::peak-mac_array-int8").stdout.str()
    assert "(fixes at least 4 failures of all claims, breaks nothing)" in " ".join(text.split())
    last = text.rstrip().splitlines()[-1]
    assert last.startswith("A single change fixes 1 of 1 failures here (at least 4 among all claims) and breaks")


def said(config, text):
    """What a terminal gets while causes are searched."""
    told = StringIO()
    with redirect_stdout(told):
        searching(config)(text)
    return told.getvalue()


@pytest.fixture
def terminal():
    """A configuration of pytest with a terminal of 30 columns, of which 20 are written."""
    writer = SimpleNamespace(fullwidth=30, width_of_current_line=20)
    plugins = {
        "terminalreporter": SimpleNamespace(isatty=True),
        "capturemanager": SimpleNamespace(global_and_fixture_disabled=nullcontext),
    }
    return SimpleNamespace(
        pluginmanager=SimpleNamespace(getplugin=plugins.get), get_terminal_writer=lambda: writer, plugins=plugins
    )


def test_a_search_is_told_on_a_terminal_in_the_room_that_is_left_and_taken_back(terminal):
    assert said(terminal, "trying repair 1 of 9") == "\x1b7 trying r\x1b[K\x1b8"
    assert said(terminal, "") == "\x1b7 \x1b[K\x1b8"


def test_a_search_is_silent_without_a_terminal_and_in_a_worker(terminal):
    terminal.workerinput = {}
    assert said(terminal, "trying") == ""
    del terminal.workerinput
    terminal.plugins["terminalreporter"].isatty = False
    assert said(terminal, "trying") == ""
    del terminal.plugins["terminalreporter"]
    assert said(terminal, "trying") == ""
