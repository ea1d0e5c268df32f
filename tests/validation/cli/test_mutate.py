"""`rooflint mutate`: what it prints and writes, and which status it gives."""

import json
import math
import re
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from pytest_rooflint.cli.mutate import app
from rooflint.base.errors import RooflintError

GOLDEN, SPEC = "golden/x1.yaml", "specs/hardware/acme/x1.yaml"
BREAKPOINT = "  - {breakpoint: mac_array int8 / lpddr5, expect: 32.8 TOP/s / 102.4 GB/s}\n"


@pytest.fixture
def mutate(small):
    """`mutate(arguments)` in the tiny repository: exit status and what was printed."""

    def called(*arguments):
        result = CliRunner().invoke(app, ["--jobs=1", *arguments])
        if isinstance(result.exception, RooflintError):
            raise result.exception
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result.exit_code, result.stdout

    return called


@pytest.fixture
def loose(small):
    """A bandwidth with a tolerance of 4 % although four digits are printed: small errors of its facts survive."""
    small.edit(GOLDEN, "expect: 102.4 GB/s}", "expect: 102.4 GB/s ± 4 %, why: measured}")
    small.edit(GOLDEN, BREAKPOINT, "")
    return small


def document(mutate, *arguments):
    status, text = mutate("--format=json", *arguments)
    return status, json.loads(text)


@pytest.mark.slow
def test_a_tight_suite_has_no_survivor_and_a_score_of_what_it_speaks_of(mutate):
    status, text = mutate()
    assert status == 0
    killed, every = map(int, re.match(r"mutation score [\d.]+ %: (\d+) of (\d+) mutants killed\n", text).groups())
    assert 0 < killed < every  # no claim speaks of the capacity
    assert "survivor" not in text.replace("survivors", "")


@pytest.mark.slow
def test_counts_add_up_by_class_by_file_and_by_fact(mutate):
    _, found = document(mutate)
    counts, every = found["counts"], found["counts"]["mutants"] - found["counts"]["equivalent"]
    assert found["score"] == counts["killed"] / every
    assert found["independent"] == counts["killed_independently"] / every
    standings = ("killable", "within_digits", "uncorroborated", "equivalent")
    assert sum(counts[name] for name in standings) == counts["mutants"]
    assert counts["killed"] + counts["unseen"] + counts["equivalent"] == counts["mutants"]
    assert 0 < counts["killed_independently"] <= counts["killed"]
    for part in ("kinds", "classes", "subjects", "facts"):
        for name in (*standings, "mutants", "killed", "unseen"):
            assert sum(row[name] for row in found[part]) == counts[name], (part, name)
    assert found["gross"]["mutants"] == found["gross"]["killed"] > 0


@pytest.mark.slow
def test_each_fact_says_what_goes_unseen_and_what_would_notice(mutate):
    _, found = document(mutate)
    by_path = {(fact["path"], fact["at"]): fact for fact in found["facts"]}
    capacity = by_path["memories.lpddr5.capacity", None]
    assert capacity["unseen"] == capacity["mutants"] == capacity["uncorroborated"]
    assert capacity["would_kill"] == (
        "capacity: lpddr5 of acme/x1, from a document other than 'Acme X1 architecture brief, 2025'"
    )
    assert by_path["tdp", "low"]["would_kill"].startswith("tdp: rated at low of acme/x1, ")
    assert by_path["memories.lpddr5.bus", None]["would_kill"] is None  # nothing of it goes unseen
    assert by_path["process", None]["unseen"] == by_path["process", None]["mutants"]  # energies follow from it


@pytest.mark.slow
def test_a_survivor_names_its_line_and_the_claim_that_would_kill_it(loose, mutate):
    _, found = document(mutate)
    mutation = next(one for one in found["survivors"] if one["mutated"] == "6.5 Gbit/s")
    line = loose.line(SPEC, "pin_rate")
    assert (mutation["file"], mutation["line"], mutation["path"]) == (SPEC, line, "memories.lpddr5.pin_rate")
    assert (mutation["display"], mutation["class"], mutation["text"]) == (
        "6.4 Gbit/s",
        "digit",
        "the last digit is off by one",
    )
    claim = loose.line(GOLDEN, "bandwidth")
    # 0.05 of 102.4 is 0.049 %
    assert mutation["would_kill"] == (
        f"bandwidth: lpddr5 at {GOLDEN}:{claim}, if it allowed the ±0.049 % of its printed digits and not ±4 %"
    )


@pytest.mark.slow
def test_the_text_fits_eighty_columns_and_says_the_same(loose, mutate):
    _, text = mutate("--survivors=all")
    assert max(map(len, text.splitlines())) <= 80
    message = " ".join(text.split())
    assert (
        f"survivor {SPEC}:{loose.line(SPEC, 'pin_rate')} memories.lpddr5.pin_rate: 6.4 Gbit/s → 6.5 Gbit/s" in message
    )
    assert (
        f"would be killed by: bandwidth: lpddr5 at {GOLDEN}:{loose.line(GOLDEN, 'bandwidth')}, if it allowed" in message
    )
    assert f"unseen {SPEC}:{loose.line(SPEC, 'tdp: [15 W')} tdp: 15 W, " in message


@pytest.mark.slow
def test_survivors_are_listed_as_many_as_asked_for(loose, mutate):
    count = len(document(mutate)[1]["survivors"])
    assert count > 2
    assert mutate("--survivors=1")[1].count("\nsurvivor ") == 1
    assert f"… and {count - 1} more survivors (--survivors all)" in mutate("--survivors=1")[1]
    assert mutate("--survivors=all")[1].count("\nsurvivor ") == count


@pytest.mark.slow
def test_the_score_alone_is_a_few_lines_unless_it_is_too_low(loose, mutate):
    status, text = mutate("--survivors=0", "--floor=0")
    assert status == 0
    assert text.startswith("mutation score ")
    assert "\n`rooflint mutate` lists what is not caught\n" in text
    assert len(text.splitlines()) < 10 and "survivor" not in text
    status, text = mutate("--survivors=0", "--floor=100")
    assert (status, text.count("\nsurvivor ")) == (1, 3)


@pytest.mark.slow
def test_markdown_is_a_table(loose, mutate):
    _, text = mutate("--format=md", "--survivors=all")
    assert text.startswith("## Mutation score\n\n- mutation score ")
    assert "| operator | mutants | equivalent | killed | independently | unseen | survived |" in text
    assert re.search(r"^\| all \| \d+ \| ", text, re.MULTILINE)
    assert (
        f"| {SPEC}:{loose.line(SPEC, 'pin_rate')} | memories.lpddr5.pin_rate | 6.4 Gbit/s | 6.5 Gbit/s | digit |"
        in text
    )


# ---- the floor


def test_a_score_below_the_floor_is_red_and_lists_survivors(loose, mutate):
    status, text = mutate("--floor=100")
    assert status == 1
    assert "\nsurvivor " in text
    assert re.search(r"^failed: the score [\d.]+ % is below the floor of 100 %$", text, re.MULTILINE)


@pytest.mark.slow
def test_a_score_on_its_floor_is_green(mutate):
    floor = int(1000 * document(mutate)[1]["score"]) / 10
    status, text = mutate(f"--floor={floor}")
    assert status == 0
    assert f"(floor {floor:g} %)" in text
    assert "can be raised" not in text


@pytest.mark.slow
def test_a_score_above_its_floor_asks_to_raise_it(mutate):
    score = int(1000 * document(mutate)[1]["score"]) / 10
    status, text = mutate("--floor=10")
    assert status == 0
    assert text.endswith(f"the floor can be raised to {score:g} (rooflint_mutation_floor)\n")
    assert "can be raised" not in mutate("--floor=10", "--survivors=0")[1]  # as `check --mutate` asks: the score alone


@pytest.mark.slow
def test_the_floor_is_the_projects_own(loose, mutate):
    loose.edit(
        "pyproject.toml", 'rooflint_specs = ["specs"]', 'rooflint_specs = ["specs"]\nrooflint_mutation_floor = 100'
    )
    assert mutate()[0] == 1
    assert mutate("--floor=50")[0] == 0
    assert mutate("--class=factor-2")[0] == 0  # a floor is for all mutants, not for some


def test_a_gross_survivor_is_red_whatever_the_score(mutate, monkeypatch):
    from pytest_rooflint.mutation import outcome  # noqa: PLC0415

    def blind(group, baseline):
        for mutant, (found, basis) in zip(group.mutants, honest(group, baseline), strict=True):
            hidden = mutant.fact.path.endswith("bus") and mutant.mutation.fact.display == "256 bit"
            yield (replace(found, killed_by=None) if hidden else found), basis

    honest = outcome.trials
    monkeypatch.setattr("pytest_rooflint.mutation.engine.trials", blind)
    status, text = mutate("--floor=50", "--no-cache")
    assert status == 1
    assert "failed: claims miss 1 mutant of ×2 and more on corroborated peaks and bandwidths" in text
    assert "128 bit → 256 bit" in text


@pytest.mark.slow
def test_a_suite_without_independent_sources_misses_their_floor(small, mutate):
    specs = 'rooflint_specs = ["specs"]'
    small.edit("pyproject.toml", specs, f"{specs}\nrooflint_mutation_independent_floor = 20")
    assert mutate()[0] == 0
    small.edit(GOLDEN, '"Acme X1 product page, 2025"', '"Acme X1 architecture brief, 2025"')
    status, text = mutate()
    assert status == 1
    assert re.search(r"^killed by an independent source 0 % \(floor 20 %\): 0 of \d+$", text, re.MULTILINE)
    assert "failed: the share killed by an independent source, 0 % is below the floor of 20 %\n" in text
    assert mutate("--floor=1")[0] == 0  # another floor is asked for alone


@pytest.mark.slow
def test_figures_without_a_claim_need_a_reason_or_room_below_the_ceiling(small, mutate):
    _, found = document(mutate)
    guards = found["guards"]
    assert guards["unguarded"] == sum(one["unguarded"] for one in guards["kinds"]) > guards["reasoned"] == 1
    specs = 'rooflint_specs = ["specs"]'
    small.edit("pyproject.toml", specs, f"{specs}\nrooflint_unguarded_ceiling = {guards['unguarded'] - 2}")
    status, text = mutate()
    assert status == 1
    assert "add a claim, or state the reason under 'unguarded:'\n" in text
    assert text.endswith("`rooflint mutate --only ID --survivors all` lists what one device lacks\n")
    figures = (one for one in found["facts"] if one["mutants"] > one["equivalent"])
    silent = next(one for one in figures if not one["killed"] and not one["reason"])
    name = f"{silent['path']} at {silent['at']}" if silent["at"] else silent["path"]
    small.edit(GOLDEN, "unguarded: {", f"unguarded: {{{name}: one document prints it, ")
    assert mutate()[0] == 0
    assert mutate("--floor=1")[0] == 0  # which is asked for alone


# ---- what is asked for


@pytest.mark.slow
def test_a_class_and_a_device_are_chosen_alone(mutate):
    _, found = document(mutate, "--class=memory-clock")
    assert [row["name"] for row in found["classes"]] == ["memory-clock"]
    assert found["counts"]["mutants"] == 1  # one rate per pin
    assert document(mutate, "--only=acme/*")[1] == document(mutate)[1]


@pytest.mark.slow
def test_nothing_is_kept_where_that_is_not_wanted(small, mutate):
    first = mutate("--no-cache")
    assert not (small.root / ".rooflint").exists()
    assert mutate() == first
    assert (small.root / ".rooflint/mutation/device/acme/x1.json").is_file()


@pytest.mark.slow
def test_a_kept_score_is_that_of_the_files_as_they_are(small, mutate):
    def same():
        assert document(mutate) == document(mutate, "--no-cache")

    same()
    same()  # now from what is kept
    assert len(document(mutate, "--class=memory-clock")[1]["classes"]) == 1  # not kept as the score of all
    same()
    small.edit(SPEC, "name:", "# a line more\nname:")
    same()
    small.edit(GOLDEN, BREAKPOINT, "")
    same()
    small.edit(GOLDEN, "expect: 102.4 GB/s}", "expect: 102.4 GB/s ± 4 %, why: measured}")
    same()
    assert document(mutate)[1]["survivors"]


@pytest.mark.slow
def test_a_kept_score_is_not_worked_out_again(small, mutate, monkeypatch):
    first = mutate()

    def refused(*_):
        raise AssertionError("a mutant was made")

    for name in ("group_of", "_mutant"):
        monkeypatch.setattr(f"pytest_rooflint.mutation.store.{name}", refused)
    assert mutate() == first
    small.edit(SPEC, "name:", "# a line more\nname:")
    with pytest.raises(AssertionError, match="a mutant was made"):
        mutate()


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["", "[1]", "[[1]]", "{", '[["device", "acme/x1"]]', '[["device", "acme/x1", "", null]]']
)
def test_broken_kept_scores_are_worked_out_again(small, mutate, text):
    first = mutate()
    small.write(".rooflint/mutation/scores.json", text)
    assert mutate() == first


def test_the_score_is_added_to_evidence_and_nothing_else_changes(small, mutate):
    small.write("e.json", '{"schema": "rooflint-evidence/3", "run": {"started": "×"}}')
    found = document(mutate, "--evidence=e.json")[1]
    assert json.loads(small.read("e.json")) == {
        "schema": "rooflint-evidence/3",
        "run": {"started": "×"},
        "mutation": found,
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--only=nobody/*"], r"--only: no device or architecture matches 'nobody/\*'"),
        (["--class=typo"], r"--class: unknown 'typo' \(known: sparse-for-dense, "),
        (["--survivors=few"], "--survivors: want a number or all, found 'few'"),
        (["--evidence=nowhere.json"], r"nowhere\.json: want the evidence of a run to add to: "),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(mutate, arguments, sentence):
    with pytest.raises(RooflintError, match=f"^{sentence}"):
        mutate(*arguments)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["", "[1]", "{"])
def test_evidence_that_is_none_stays_as_it_is(small, mutate, text):
    small.write("e.json", text)
    with pytest.raises(RooflintError, match=r"e\.json: want the evidence of a run"):
        mutate("--evidence=e.json")
    assert small.read("e.json") == text


def test_without_golden_files_there_is_nothing_to_ask(small, mutate):
    small.write("pyproject.toml", "[tool.pytest.ini_options]\n")
    with pytest.raises(RooflintError, match="no golden folder: write rooflint_golden"):
        mutate()


@pytest.mark.slow
def test_a_floor_that_is_none_is_refused_with_its_line(small, mutate):
    line = small.edit(
        "pyproject.toml", 'rooflint_specs = ["specs"]', 'rooflint_specs = ["specs"]\nrooflint_mutation_floor = "all"'
    )
    with pytest.raises(RooflintError, match=rf"pyproject\.toml:{line + 1}  rooflint_mutation_floor: want per cent"):
        mutate()


# ---- as a program


@pytest.mark.slow
def test_the_same_is_found_on_any_number_of_cores(small, mutate, monkeypatch):
    monkeypatch.setattr("pytest_rooflint.mutation.engine.FEW", 0)
    two = small.read(SPEC).replace("X1", "X2")
    small.write("specs/hardware/acme/x2.yaml", two)
    small.write("golden/x2.yaml", small.read(GOLDEN).replace("acme/x1", "acme/x2").replace("X1", "X2"))
    one, two, five = (mutate("--format=json", "--no-cache", f"--jobs={jobs}") for jobs in (1, 2, 5))
    assert one == two == five
    status, text = one
    assert status == 0
    assert {row["id"] for row in json.loads(text)["subjects"]} == {"acme/x1", "acme/x2"}


@pytest.mark.slow
def test_nothing_but_the_score_is_printed(small):
    result = small.script("rooflint", "mutate", "--format=json", "--no-cache")
    assert (result.returncode, result.stderr) == (0, "")  # a bar is for terminals
    assert json.loads(result.stdout)["counts"]["mutants"] > 0


@pytest.mark.slow
def test_a_red_suite_ends_with_two_and_one_sentence(small):
    small.edit(GOLDEN, "count: core, expect: 4", "count: core, expect: 5")
    result = small.script("rooflint", "mutate")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("a failing suite has no mutation score; first fix golden/x1.yaml:")
    assert result.stderr.count("\n") == 1
    assert not (small.root / ".rooflint/mutation/device").exists()  # of mutants; verdicts are kept for the next run


@pytest.mark.slow
def test_check_puts_the_score_into_its_evidence_and_its_report(tiny):
    result = tiny.script("rooflint", "check", "--mutate", "--report")
    assert result.returncode == 0, result.stdout + result.stderr
    shown = re.search(r"mutation score (\S+ %)", result.stdout)[1]
    score = json.loads(tiny.read("reports/out/evidence.json"))["mutation"]["score"]
    assert 0.5 < score < 1  # removed facts and the process node are in no claim
    assert shown == f"{math.floor(1000 * score) / 10:g} %"
    assert f"a score of <b>{shown}</b>" in tiny.read("reports/out/report.html")


@pytest.mark.slow
def test_check_is_red_below_the_floor_and_reports_all_the_same(tiny):
    tiny.edit(GOLDEN, "expect: 102.4 GB/s}", "expect: 102.4 GB/s ± 4 %, why: measured}")
    tiny.edit(GOLDEN, BREAKPOINT, "")
    tiny.edit(
        "pyproject.toml", 'rooflint_specs = ["specs"]', 'rooflint_specs = ["specs"]\nrooflint_mutation_floor = 100'
    )
    result = tiny.script("rooflint", "check", "--mutate", "--report")
    assert result.returncode == 1
    assert "✗ below the floor" in tiny.read("reports/out/report.html")
