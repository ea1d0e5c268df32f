"""The outcome of mutants: by hand on the tiny repository, and beside a slow twin; what a claim depends on."""

import math
import random
from dataclasses import replace

import pytest

from pytest_rooflint.golden.expect import parse_expectation
from pytest_rooflint.mutation import tables
from pytest_rooflint.mutation.engine import FailingSuiteError, baseline_of
from pytest_rooflint.mutation.operators import quantities
from pytest_rooflint.mutation.outcome import Outcome, groups, outcomes
from pytest_rooflint.suite.judge import brief, caught
from rooflint.base.errors import InputError
from rooflint.base.memo import known
from rooflint.hardware.registry import Registry

GOLDEN, SPEC = "golden/x1.yaml", "specs/hardware/acme/x1.yaml"


@pytest.fixture
def outcome(small):
    """`outcome(path, "200 MHz")`: what becomes of the tiny device when that fact, or that of a mode, says so."""

    def find(path, message, mode=None):
        baseline = baseline_of(small.suite())
        (group,) = groups(baseline.suite)
        pairs = zip(group.mutants, outcomes(group, baseline), strict=True)
        (found,) = [
            outcome
            for mutant, outcome in pairs
            if (mutant.fact.path, mutant.mutation.display, mutant.fact.at or None) == (path, message, mode)
        ]
        return found

    return find


CLOCK, BUS = "units.mac_array.clock", "memories.lpddr5.bus"


def test_a_mutant_that_leaves_the_printed_digits_is_killable_and_killed_by_its_witness(outcome):
    # 256 bit × 6.4 Gbit/s / 8 = 204.8 GB/s; 102.4 is printed
    claim = f"{GOLDEN}::bandwidth-lpddr5"
    assert outcome(BUS, "256 bit") == Outcome("killable", killed_by=claim, witness=claim)


def test_a_claim_that_quotes_from_memory_kills_where_no_other_does(small, outcome):
    # 256 bit move the breakpoint, too, whose page was opened
    memory = "source: {document: Acme talk, where: minute 3, grade: recalled}"
    small.edit(GOLDEN, "expect: 102.4 GB/s}", f"expect: 102.4 GB/s, {memory}}}")
    assert outcome(BUS, "256 bit").killed_by == f"{GOLDEN}::breakpoint-mac_array-int8-per-lpddr5"
    small.edit(GOLDEN, "  - {breakpoint: mac_array int8 / lpddr5, expect: 32.8 TOP/s / 102.4 GB/s}\n", "")
    assert outcome(BUS, "256 bit").killed_by == f"{GOLDEN}::bandwidth-lpddr5"
    assert baseline_of(small.suite()).recalled == {f"{GOLDEN}::bandwidth-lpddr5"}


def test_a_witness_is_the_first_claim_that_moves_beyond_its_digits(outcome):
    # 1001 MHz: INT8 32.80 TOP/s is still printed 32.8, FP16 8.200 TFLOP/s is no longer 8.19
    claim = f"{GOLDEN}::peak-mac_array-fp16"
    assert outcome(CLOCK, "1001 MHz") == Outcome("killable", killed_by=claim, witness=claim)


def test_a_move_within_the_printed_digits_is_not_killable(outcome):
    # 4 × 4096 × 2 × 501 MHz = 16.417 TOP/s, printed as 16.4
    assert outcome(CLOCK, "501 MHz", mode="low") == Outcome("within-digits")


def test_what_no_claim_speaks_of_is_uncorroborated(outcome):
    assert outcome("memories.lpddr5.capacity", "16 GB") == Outcome("uncorroborated")
    assert outcome("tdp", "14 W", mode="low") == Outcome("uncorroborated")


def test_what_moves_no_figure_is_equivalent(small, outcome):
    small.edit(SPEC, "tdp: [15 W", "launched: [2025, brief, p. 1]\ntdp: [15 W")
    assert outcome("launched", "2024") == Outcome("equivalent")
    assert outcome("launched", "nothing") == Outcome("equivalent")


def test_energies_follow_from_the_process_node(outcome):
    assert outcome("process", "14 nm") == Outcome("uncorroborated")


# ---- facts that are removed


def test_a_fact_that_a_claim_is_about_is_missed(small, outcome):
    small.edit(GOLDEN, "unguarded: {tdp: one document says it}", "compute: int8")
    small.edit(GOLDEN, "  - {count: core, expect: 4}", "  - {tdp: rated, expect: 15 W}")
    claim = f"{GOLDEN}::tdp-rated"
    assert outcome("tdp", "nothing") == Outcome("killable", killed_by=claim, witness=claim)


def test_a_fact_that_no_claim_is_about_is_not_missed(outcome):
    assert outcome("memories.lpddr5.capacity", "nothing") == Outcome("uncorroborated")


def test_a_fact_of_an_operating_point_gives_way_to_that_of_the_device(outcome):
    # 16.4 TOP/s at 500 MHz are 32.8 at 1 GHz
    claim = f"{GOLDEN}::peak-mac_array-int8-at-low"
    assert outcome(CLOCK, "nothing", mode="low") == Outcome("killable", killed_by=claim, witness=claim)


def test_a_fact_of_a_device_gives_way_to_that_of_its_architecture(small):
    die = "name: Acme die\nkind: npu\nsources: {brief: {document: Die brief, grade: read}}\nunits:\n  mac_array:\n"
    small.write("specs/architectures/acme/die.yaml", f"{die}    macs_per_clock: {{int8: [4096 MAC, brief, p. 2]}}\n")
    small.edit(SPEC, "kind: npu\n", "kind: npu\narchitecture: acme/die\n")
    baseline = baseline_of(small.suite())
    group = next(group for group in groups(baseline.suite) if not group.subject.is_architecture)
    found = {
        mutant.fact.path: outcome
        for mutant, outcome in zip(group.mutants, outcomes(group, baseline), strict=True)
        if mutant.mutation.operator == "removed"
    }
    assert found["units.mac_array.macs_per_clock.int8"] == Outcome("equivalent")  # the die says 4096 as well
    assert found["units.mac_array.macs_per_clock.fp16"].category == "killable"  # the die has no FP16


def test_a_device_that_cannot_do_without_a_fact_is_refused(small):
    (group,) = groups(small.suite())
    own = [mutant for mutant in group.mutants if not mutant.fact.at]
    removed = {mutant.fact.path for mutant in own if mutant.mutation.operator == "removed"}
    # a clock is needed, and half a bandwidth is none; a capacity and a TDP may be left out
    assert {"tdp", "memories.lpddr5.capacity"} <= removed
    assert not removed & {CLOCK, BUS, "memories.lpddr5.pin_rate"}


def test_a_claim_of_the_same_document_kills_and_makes_nothing_killable(small, outcome):
    document = "Acme X1 architecture brief, 2025"  # that of the facts
    small.edit(
        GOLDEN,
        "  - {count: core, expect: 4}",
        f'  - {{tdp: rated, expect: 15 W, source: {{document: "{document}", where: p. 1, grade: read}}}}',
    )
    assert outcome("tdp", "30 W") == Outcome("uncorroborated", killed_by=f"{GOLDEN}::tdp-rated")


def test_an_order_kills_although_it_corroborates_nothing(small, outcome):
    small.edit(SPEC, "units:\n", "clocks: {boost: [1000 MHz, brief, p. 2]}\nunits:\n")
    small.edit(GOLDEN, "  - {count: core, expect: 4}", "  - {clocks: mac_array <= boost}")
    assert outcome("clocks.boost", "500 MHz") == Outcome(
        "uncorroborated", killed_by=f"{GOLDEN}::clocks-mac_array-le-boost"
    )
    assert outcome("clocks.boost", "2000 MHz") == Outcome("uncorroborated")


def test_a_stated_tolerance_excuses_a_mutant_that_the_printed_digits_would_tell(small, outcome):
    small.edit(GOLDEN, "expect: 102.4 GB/s}", "expect: 102.4 GB/s ± 4 %, why: measured}")
    small.edit(GOLDEN, "  - {breakpoint: mac_array int8 / lpddr5, expect: 32.8 TOP/s / 102.4 GB/s}\n", "")
    # 6.5 Gbit/s: 104 GB/s, 1.6 % above the printed 102.4 ± 0.05
    assert outcome("memories.lpddr5.pin_rate", "6.5 Gbit/s") == Outcome(
        "killable", witness=f"{GOLDEN}::bandwidth-lpddr5"
    )


def test_a_figure_that_is_off_by_a_stated_tolerance_has_its_digits_laid_around_it(small, outcome):
    # the model says 102.4; 100.0 ± 0.05 is laid around it: 102.35 … 102.45
    small.edit(GOLDEN, "expect: 102.4 GB/s}", "expect: 100.0 GB/s ± 4 %, why: printed round}")
    small.edit(GOLDEN, "  - {breakpoint: mac_array int8 / lpddr5, expect: 32.8 TOP/s / 102.4 GB/s}\n", "")
    assert outcome("memories.lpddr5.pin_rate", "6.3 Gbit/s") == Outcome(
        "killable", witness=f"{GOLDEN}::bandwidth-lpddr5"
    )


def test_an_expected_failure_kills_when_it_fails_by_another_ratio_and_witnesses_nothing(small, outcome):
    xfail = "xfail: {reason: counts a spare one, ratio: 4/5, until: 2199-01-01}"
    small.edit(GOLDEN, "count: core, expect: 4}", f"count: core, expect: 5, {xfail}}}")
    small.edit(GOLDEN, "  - {peak: mac_array int8, expect: 32.8 TOP/s}\n", "")
    killed = outcome("units.mac_array.groups", "8")
    assert killed.category == "killable"
    assert killed.witness != f"{GOLDEN}::count-core"
    lonely = "\n".join([*small.read(GOLDEN).splitlines()[:4], f"  - {{count: core, expect: 5, {xfail}}}", ""])
    small.write(GOLDEN, lonely + "  - {bandwidth: lpddr5, expect: 102.4 GB/s}\n")
    assert outcome("units.mac_array.groups", "8") == Outcome("uncorroborated", killed_by=f"{GOLDEN}::count-core")


def test_a_network_that_would_run_elsewhere_is_noticed_by_what_it_is_bound_by(small, outcome):
    # at 16 × the bandwidth the MLP waits for arithmetic; nothing else rests on both
    small.write(GOLDEN, "\n".join(line for line in small.read(GOLDEN).splitlines() if "lpddr5" not in line) + "\n")
    assert outcome(BUS, "2048 bit").killed_by.startswith(f"{GOLDEN}::bound-acme/x1")


@pytest.mark.slow
def test_a_replay_neither_backs_nor_kills(shipped_suite):
    assert any(claim.is_replay for claim in shipped_suite.claims())
    assert not any(judged.claim.is_replay for judged in baseline_of(shipped_suite).claims)


# ---- a red suite


def test_a_failing_suite_has_no_score(small):
    line = small.edit(GOLDEN, "count: core, expect: 4", "count: core, expect: 5")
    with pytest.raises(
        FailingSuiteError, match=rf"^a failing suite has no mutation score; first fix {GOLDEN}:{line} \(rooflint"
    ):
        baseline_of(small.suite())


def test_a_device_without_claims_fails_too(small):
    small.write("specs/hardware/acme/x2.yaml", small.read(SPEC).replace("X1", "X2"))
    with pytest.raises(FailingSuiteError, match=r"first fix specs/hardware/acme/x2\.yaml:1  acme/x2 has no claim"):
        baseline_of(small.suite())


def test_a_golden_file_that_cannot_be_read_is_red_too(small):
    small.write("golden/broken.yaml", "claims: 3\n")
    with pytest.raises(FailingSuiteError, match=r"golden/broken\.yaml:1"):
        baseline_of(small.suite())


def test_two_operating_points_on_one_line_have_mutants_of_their_own(small, outcome):
    # a claim is about the clock of the first; no claim is about the second
    points = (
        "low: {units.mac_array.clock: [500 MHz, brief, p. 4]}, lower: {units.mac_array.clock: [500 MHz, brief, p. 4]}"
    )
    small.write(SPEC, small.read(SPEC).partition("operating_points:")[0] + f"operating_points: {{{points}}}\n")
    claim = f"{GOLDEN}::peak-mac_array-int8-at-low"
    assert outcome(CLOCK, "1000 MHz", mode="low") == Outcome("killable", killed_by=claim, witness=claim)
    assert outcome(CLOCK, "1000 MHz", mode="lower") == Outcome("uncorroborated")


# ---- the slow twin


@pytest.fixture(scope="module")
def shipped(shipped_suite):
    baseline = baseline_of(shipped_suite)
    return baseline, list(groups(shipped_suite))


def copied(registry, fact, other):
    """Every device, system and architecture read and rewritten, whether it holds the fact or not; None removes it."""
    twin = Registry(registry.roots)

    def rewritten(facts, behind=None):
        changed = {path: other if one == fact else one for path, one in facts.items()}
        shown = {path: one or (behind or {}).get(path) for path, one in changed.items()}
        return {path: one for path, one in shown.items() if one}

    for name in registry.architecture_files:
        found = registry.architecture(name)
        known(twin, "architecture")[(name,)] = replace(found, facts=rewritten(found.facts))
    for name in (*registry.ids(), *registry.system_files):
        found = registry.get(name)
        points = {mode: rewritten(overlay) for mode, overlay in found.operating_points.items()}
        behind = registry.architecture(found.architecture).facts if found.architecture else {}
        behind = behind if fact.file == found.file else {}
        known(twin, "get")[(name,)] = replace(found, facts=rewritten(found.facts, behind), operating_points=points)
    return twin


def left_its_digits(claim, before, after):
    """Whether a corroborated figure left what its source printed, from the text of the claim."""
    printed = claim.expectation
    if printed.tolerance == "stated":
        printed = parse_expectation(printed.text)
    if printed.holds(before):
        return not printed.holds(after)
    low, high = printed.low / printed.value * before, printed.high / printed.value * before
    return not low * (1 - 1e-12) <= after <= high * (1 + 1e-12)


def planted(mutant, subject, registry):
    """A registry with a mutant: devices rewritten, tables read from a text with the wrong value."""
    fact, other = mutant.fact, mutant.mutation.fact
    if subject.table is None:
        return copied(registry, fact, other)
    if other is None:
        return tables.registry_with(fact, None, registry) if subject.table == "coefficients" else registry
    lines = fact.file.read_text("utf-8").splitlines(keepends=True)
    line = lines[fact.line - 1]
    assert line.count(f"[{fact.display},") == 1
    lines[fact.line - 1] = line.replace(f"[{fact.display},", f"[{other.display},")
    return registry.with_texts({fact.file: "".join(lines)})


def is_refused_as_a_whole(mutant, subject, registry):
    """Whether a price is right by itself, and too far from another of the same device for its file to be read."""
    if subject.table != "prices" or mutant.mutation.fact is None:
        return False
    try:
        tables.facts_of("prices", mutant.fact.file, planted(mutant, subject, registry))
    except InputError as error:
        return "times the" in str(error)
    return False


def plain_outcome(mutant, subject, baseline):
    """Every claim judged before and after: (category, ids of the failures, ids of those that witness)."""
    suite = baseline.suite
    wrong = replace(suite, registry=planted(mutant, subject, suite.registry))
    category, failures, witnesses = "uncorroborated", set(), set()
    for judged in baseline.claims:
        before, after = judged, caught(judged.claim, "", lambda claim=judged.claim: brief(claim, wrong))
        if after.outcome == "fail":
            failures.add(judged.id)
        if before.corroborated:
            value = after.obtained.value if after.obtained else math.inf
            if not math.isclose(value, before.value, rel_tol=1e-9):
                category = "within-digits" if category == "uncorroborated" else category
                if judged.claim.expectation is None or left_its_digits(judged.claim, before.value, value):
                    category = "killable"
                    witnesses.add(judged.id)
    moved = tables.matters(mutant.fact) if subject.table else moves(suite.registry, wrong.registry)
    if category == "uncorroborated" and not failures and not moved:
        category = "equivalent"
    return category, failures, witnesses


def moves(one, two):
    """Whether any figure of any device or architecture differs."""
    pairs = [(one.get(name), two.get(name)) for name in one.ids()]
    pairs += [
        (r.as_hardware(), s.as_hardware())
        for r, s in ((one.architecture(n), two.architecture(n)) for n in one.architecture_files)
    ]
    return any(
        name not in after or not math.isclose(value, after[name], rel_tol=1e-9)
        for before, after in ((quantities(left), quantities(right)) for left, right in pairs)
        for name, value in before.items()
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_the_fate_of_a_mutant_is_what_asking_every_claim_on_a_copy_of_every_device_says(shipped, seed):
    baseline, all_groups = shipped
    chance = random.Random(seed)
    some_tables = [group for group in all_groups if group.subject.table == "coefficients"]
    for group in chance.sample(all_groups, 6) + chance.sample(some_tables, 3):
        chosen = chance.sample(group.mutants, min(2, len(group.mutants)))
        some = replace(group, mutants=tuple(chosen))
        for mutant, outcome in zip(chosen, outcomes(some, baseline), strict=True):
            if is_refused_as_a_whole(mutant, group.subject, baseline.suite.registry):
                assert outcome.killed_by is None  # counted as surviving, although no run would get so far
                continue
            category, failures, witnesses = plain_outcome(mutant, group.subject, baseline)
            assert (outcome.category, outcome.killed_by is not None) == (category, bool(failures)), mutant
            assert outcome.killed_by is None or outcome.killed_by in failures
            assert (outcome.witness is not None) == bool(witnesses)
            assert outcome.witness is None or outcome.witness in witnesses
