"""What depends on changed files is judged before the rest, and what is judged in the end stays the same."""

import re
import shutil

import pytest

from pytest_rooflint.session import first as module
from pytest_rooflint.session.first import FILE, First
from rooflint.hardware.registry import PACKAGED

SPEC, GOLDEN, STORE = "specs/hardware/acme/x1.yaml", "golden/x1.yaml", f".rooflint/{FILE}"
T4 = """\
hardware: nvidia/t4
source: {document: Acme review, where: p. 1, grade: read}
claims:
  - {tdp: rated, expect: 70 W}
"""


@pytest.fixture
def run(tiny, monkeypatch):
    """`run(...)`: what a run with a store prints, up to the results, and all of its outcomes."""
    tiny.write("golden/t4.yaml", T4)
    monkeypatch.setattr(module, "LIMIT_S", 60.0)

    def ran(*arguments):
        result = tiny.run("--rooflint-only", "--rooflint-store=.rooflint", *arguments)
        outcomes = {key: number for key, number in result.parseoutcomes().items() if key != "warnings"}
        return "\n".join(str(result.stdout).splitlines()), outcomes, result.ret

    return ran


def answer(text):
    """The sentence about claims that were judged first; empty where none was."""
    found = re.search(r"what depends on it, judged first: (.*)", text)
    return found[1] if found else ""


@pytest.mark.slow
def test_the_first_run_and_one_without_a_change_judge_nothing_first(run):
    for _ in range(2):
        text, outcomes, _ = run()
        assert "judged first" not in text
        assert outcomes == {"passed": 10}


@pytest.mark.slow
def test_claims_on_a_changed_device_are_judged_first_and_all_are_judged_then(run, tiny):
    run()
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    text, outcomes, status = run()
    # INT8: the peak at two operating points, the breakpoint and what the network is bound by; four other claims on it
    assert answer(text) == "4 fail, 4 pass"
    assert f"changed since the last run: {SPEC}" in text
    assert text.index("judged first") < text.index("short test summary")
    assert (outcomes, status) == ({"passed": 6, "failed": 4}, 1)
    assert (text.count("expected  "), text.count("FAILURES")) == (1, 0)  # told once, for all four


@pytest.mark.slow
def test_with_verbose_what_was_told_first_is_told_again(run, tiny):
    run()
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    assert run("-v")[0].count("expected  ") == 1 + 4


@pytest.mark.slow
def test_a_spec_that_can_no_longer_be_read_is_said_once_with_what_rests_on_it(run, tiny):
    run()
    tiny.edit(SPEC, "tdp: [15 W, brief, p. 1]", "tdp: 15 W")
    text = run()[0]
    head = text.partition("judged first")[0]
    assert (text.count(f"\n{SPEC}:7  tdp"), "FAILURES" in text) == (1, False)
    assert (
        f"{SPEC}:7  tdp: want [value, source, where], found '15 W'\n  claims that rest on it are not judged: 8 so far\n"
        in head
    )
    assert "also fails" not in head


@pytest.mark.slow
def test_a_changed_golden_file_is_judged_first_with_its_new_claims(run, tiny):
    run()
    tiny.write("golden/t4.yaml", T4 + "  - {capacity: gddr6, expect: 16 GB}\n")
    assert answer(run()[0]) == "2 pass"


@pytest.mark.slow
def test_a_golden_file_that_can_no_longer_be_read_is_said_first(run, tiny):
    run()
    tiny.write("golden/t4.yaml", T4.replace("70 W", "70 parsecs"))
    text, _, status = run()
    problem = "golden/t4.yaml:4  expect: unknown unit 'parsecs'"
    assert text.index(f"\n{problem}") < text.index("short test summary")
    assert (text.count(f"\n{problem}"), "judged first" in text, "FAILURES" in text) == (1, False, False)  # told once
    assert "FAILED golden/t4.yaml::readable - line 4: expect: unknown unit 'parsecs'" in text
    assert status == 1
    assert run("-v")[0].count(f"\n{problem}") == 1  # nothing changed, so it is not told first


@pytest.mark.slow
def test_an_architecture_is_what_its_devices_depend_on(run, tiny):
    text = tiny.read(SPEC).replace("kind: npu\n", "kind: npu\narchitecture: acme/die\n")
    rates = re.search(r"    macs_per_clock: .*\n", text)[0]
    tiny.write(SPEC, text.replace(rates, ""))
    die = "name: Acme die\nkind: npu\nsources: {brief: {document: Acme die brief, grade: read}}\nunits:\n  mac_array:\n"
    tiny.write("specs/architectures/acme/die.yaml", f"{die}{rates}")
    run()
    tiny.edit("specs/architectures/acme/die.yaml", "Acme die brief", "Acme die manual")
    assert answer(run()[0]) == "8 pass"


@pytest.mark.slow
def test_a_failing_claim_is_printed_in_full(run, tiny):
    run()
    tiny.write("golden/t4.yaml", T4.replace("70 W", "75 W"))
    head = run()[0].partition("judged first")[0]
    assert "golden/t4.yaml:4  tdp rated of nvidia/t4" in head
    assert "rerun     pytest --rooflint" not in head
    assert "rerun     pytest golden/t4.yaml::tdp-rated" in head


@pytest.mark.slow
@pytest.mark.parametrize("text", ["", "{", "[]", '{"files": 3}', '{"files": {}, "claims": [1]}', "\x00"])
def test_whatever_stands_in_the_store_the_run_is_the_same_and_keeps_its_own(run, tiny, text):
    tiny.write(STORE, text)
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    said, outcomes, status = run()
    assert (answer(said), outcomes, status) == ("", {"passed": 6, "failed": 4}, 1)
    tiny.edit(SPEC, "int8: [2048 MAC", "int8: [4096 MAC")
    assert answer(run()[0]) == "8 pass"


@pytest.mark.slow
def test_what_an_old_store_names_and_is_gone_is_left_out(run, tiny):
    run()
    (tiny.root / "golden/t4.yaml").unlink()
    tiny.edit(GOLDEN, "  - {count: core, expect: 4}\n", "")
    text, outcomes, status = run()
    assert answer(text) == "7 pass"
    assert (outcomes, status) == ({"passed": 8}, 0)


@pytest.mark.slow
def test_a_run_of_some_claims_judges_nothing_first_and_keeps_nothing(run, tiny):
    run()
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    before = tiny.read(STORE)
    for selection in (["-k", "int8"], ["golden/x1.yaml"]):
        assert answer(run(*selection)[0]) == ""
    run("-x")
    assert tiny.read(STORE) == before


@pytest.mark.slow
def test_slow_claims_follow_with_the_rest(run, tiny, monkeypatch):
    run()
    monkeypatch.setattr(module, "LIMIT_S", 0.0)
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    text, outcomes, _ = run()
    assert "judged first" not in text
    assert outcomes == {"passed": 6, "failed": 4}


def test_claims_that_take_longer_than_the_limit_are_counted(small):
    small.write("golden/t4.yaml", T4)
    suite = small.suite()
    file = small.root / STORE
    before = First(suite, file)
    claims = suite.claims()
    before.asked = [
        {"file": str(claim.file.relative_to(small.root)), "id": claim.id, "names": ["device acme/x1"], "goldens": []}
        | {"any_golden": False, "seconds": 9.0 if claim.kind == "bound" else 0.0}
        for claim in claims
    ]
    before.keep(is_red=False)
    small.edit(SPEC, "capacity: [8 GB", "capacity: [16 GB")
    slow = sum(claim.kind == "bound" for claim in claims)
    said = list(First(small.suite(), file).sentences(small.root, excuses=True))
    assert slow == 1
    assert said[-1].endswith("8 pass; 1 more claim with the rest")


def test_a_store_that_cannot_be_written_changes_nothing(run, tiny):
    tiny.write(".rooflint", "a file")
    assert run()[1:] == ({"passed": 10}, 0)


@pytest.mark.slow
def test_workers_send_what_was_asked_for(run, tiny):
    pytest.importorskip("xdist")
    run("-n", "1")
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    text, outcomes, _ = run("-n", "1")
    assert answer(text) == "4 fail, 4 pass"
    assert text.count("judged first") == 1
    assert outcomes == {"passed": 6, "failed": 4}


@pytest.mark.slow
def test_claims_on_a_device_that_was_renamed_are_judged_first(run, tiny):
    run()
    (tiny.root / SPEC).rename((tiny.root / SPEC).with_name("x9.yaml"))
    assert answer(run()[0]) == "8 fail"


@pytest.mark.slow
def test_a_run_from_another_folder_finds_nothing_changed(run, tiny, monkeypatch):
    run()
    monkeypatch.chdir(tiny.root / "golden")
    text = str(tiny.run("--rooflint-only", f"--rooflint-store={tiny.root / '.rooflint'}").stdout)
    assert "changed since the last run" not in text
    assert "10 passed" in text


# ---- alone, as `rooflint check --changed`


@pytest.fixture
def changed(tiny):
    """`changed()`: exit status and lines of `rooflint check --changed`."""
    tiny.write("golden/t4.yaml", T4)

    def judged(*arguments):
        found = tiny.script("rooflint", "check", "--changed", *arguments)
        return found.returncode, found.stdout + found.stderr

    return judged


@pytest.mark.slow
def test_without_a_kept_run_all_claims_are_judged(changed):
    status, text = changed()
    assert status == 0
    assert text.startswith("no earlier run of the whole suite was kept, so all claims are judged\n")
    assert "10 passed" in text
    assert text.endswith("\nall claims were judged: no earlier run of the whole suite was kept\n")


@pytest.mark.slow
def test_alone_only_what_depends_on_changes_is_judged_and_fails_the_command(changed, tiny):
    changed()
    assert changed() == (0, "nothing changed since the last run\n")
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    status, text = changed()
    assert status == 1
    assert text.startswith(f"changed since the last run: {SPEC}\n")
    assert text.endswith("what depends on it: 4 fail, 4 pass\n")
    tiny.edit(SPEC, "int8: [2048 MAC", "int8: [4096 MAC")
    assert changed() == (0, "nothing changed since the last run\n")


@pytest.mark.slow
def test_a_file_that_cannot_be_read_fails_the_command(changed, tiny):
    changed()
    tiny.write("golden/t4.yaml", "claims: [\n")
    status, text = changed()
    assert status == 1
    assert "\ngolden/t4.yaml:2  is not YAML" in text


@pytest.mark.slow
def test_claims_for_which_there_is_no_time_are_counted(changed, tiny, monkeypatch):
    changed()
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    monkeypatch.chdir(tiny.root)
    monkeypatch.setattr(module, "ALONE_S", 0.0)
    lines = []
    assert module.judge_changed(None, None, tiny.root / ".rooflint", lines.append) == 0
    assert lines[-1] == "what depends on it: no claims; 8 slower claims left to a full run"


@pytest.fixture
def again(tiny, run, monkeypatch):
    """`again()`: what `rooflint check --changed` says after a run, in this process, and its exit status."""
    monkeypatch.chdir(tiny.root)

    def judged():
        lines = []
        return module.judge_changed(None, None, tiny.root / ".rooflint", lines.append), lines

    return judged


def test_what_failed_in_the_last_run_is_judged_again_until_it_passes(run, tiny, again):
    tiny.edit(SPEC, "int8: [4096 MAC", "int8: [2048 MAC")
    run()
    status, lines = again()
    assert (status, lines[0], lines[-1]) == (1, "4 claims failed in the last run", "judged again: 4 fail")
    tiny.edit(SPEC, "int8: [2048 MAC", "int8: [4096 MAC")
    status, lines = again()
    assert status == 0
    assert lines[:2] == [f"changed since the last run: {SPEC}", "4 claims failed in the last run"]


def test_the_causes_of_what_depends_on_changes_are_tried_on_other_claims(run, tiny, again):
    # of the breakpoint alone, 102.4 / 204.8 might as well be a rate in MAC; of the bandwidth, too, it is the bus
    run()
    line = tiny.edit(SPEC, "bus: [128 bit", "bus: [256 bit")
    status, lines = again()
    text = "\n".join(lines)
    assert status == 1
    assert text.count("  rerun ") == 1
    assert f"{SPEC}:{line}" in text
    assert "write 128 bit (fixes at least 2 failures of all claims, breaks nothing)" in " ".join(text.split())
    assert "also fails: golden/x1.yaml" in text


def test_a_run_that_failed_otherwise_than_by_a_claim_is_no_base(run, tiny, again):
    tiny.write("specs/hardware/acme/x2.yaml", tiny.read(SPEC))  # a device without a claim
    run()
    assert again() == ("the last run failed for another reason than a claim", [])


def test_a_run_of_other_folders_is_no_base_and_one_of_them_is_named(run, tiny, again):
    run()
    tiny.edit("pyproject.toml", '["specs"]', '["specs", "more"]')
    (tiny.root / "more").mkdir()
    assert again() == ("the last run did not cover more/", [])


@pytest.mark.slow
def test_other_options_are_refused_beside_it(changed):
    status, text = changed("--report", "-k", "int8")
    assert status == 2
    assert "--changed judges claims and writes nothing; remove --report, -k, int8" in text


@pytest.mark.slow
@pytest.mark.parametrize("inside", [False, True])
def test_a_run_in_another_environment_with_the_same_shipped_specs_is_known(
    changed, tiny, monkeypatch, tmp_path_factory, inside
):
    # a hook of pre-commit is installed apart, with its own copy of what is shipped; tox has one below the project
    changed()
    copy = (tiny.root / ".tox" if inside else tmp_path_factory.mktemp("environment")) / "specs"
    shutil.copytree(PACKAGED, copy)
    lines = []
    monkeypatch.chdir(tiny.root)
    for place in ("rooflint.hardware.registry", "pytest_rooflint.session.first"):
        monkeypatch.setattr(f"{place}.PACKAGED", copy)
    assert module.judge_changed(None, None, tiny.root / ".rooflint", lines.append) == 0
    assert lines == ["nothing changed since the last run"]
    spec = copy / "hardware/nvidia/t4.yaml"
    spec.write_text(spec.read_text(encoding="utf-8") + "# a later release\n", encoding="utf-8")
    assert module.judge_changed(None, None, tiny.root / ".rooflint", lines.append) == 0
    assert lines[1:] == [
        "changed since the last run: rooflint/specs/hardware/nvidia/t4.yaml",
        "what depends on it: 1 pass",
    ]
