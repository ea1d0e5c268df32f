"""The fate of mutants: by hand on the tiny repository, beside a slow twin that asks every claim on the shipped one."""

import math
import random
from dataclasses import replace

import pytest

from pytest_rooflint.golden.expect import parse_expectation
from pytest_rooflint.mutation.baseline import Baseline, RedSuiteError
from pytest_rooflint.mutation.operators import quantities
from pytest_rooflint.mutation.outcome import Fate, fates, groups
from pytest_rooflint.suite.judge import brief
from rooflint.devices.registry import Registry

GOLDEN, SPEC = "golden/x1.yaml", "specs/hardware/acme/x1.yaml"


@pytest.fixture
def fate(small):
    """`fate(path, "200 MHz")`: what becomes of the tiny device when that fact, or that of a mode, says so."""

    def find(path, said, mode=None):
        baseline = Baseline.of(small.suite())
        (group,) = groups(baseline.suite)
        pairs = zip(group.mutants, fates(group, baseline), strict=True)
        (found,) = [
            fate
            for mutant, fate in pairs
            if (mutant.fact.path, mutant.slip.fact.display, group.subject.mode(mutant.fact)) == (path, said, mode)
        ]
        return found

    return find


CLOCK, BUS = "units.mac_array.clock", "memories.lpddr5.bus"


def test_a_mutant_that_leaves_the_printed_digits_is_killable_and_killed_by_its_witness(fate):
    # 256 bit × 6.4 Gbit/s / 8 = 204.8 GB/s; 102.4 is printed
    claim = f"{GOLDEN}::bandwidth-lpddr5"
    assert fate(BUS, "256 bit") == Fate("killable", killed_by=claim, witness=claim)


def test_a_witness_is_the_first_claim_that_moves_beyond_its_digits(fate):
    # 1001 MHz: INT8 32.80 TOP/s is still printed 32.8, FP16 8.200 TFLOP/s is no longer 8.19
    claim = f"{GOLDEN}::peak-mac_array-fp16"
    assert fate(CLOCK, "1001 MHz") == Fate("killable", killed_by=claim, witness=claim)


def test_a_move_within_the_printed_digits_is_not_killable(fate):
    # 4 × 4096 × 2 × 501 MHz = 16.417 TOP/s, printed as 16.4
    assert fate(CLOCK, "501 MHz", mode="low") == Fate("within-digits")


def test_what_no_claim_speaks_of_is_uncorroborated(fate):
    assert fate("memories.lpddr5.capacity", "16 GB") == Fate("uncorroborated")
    assert fate("tdp", "14 W", mode="low") == Fate("uncorroborated")


def test_what_moves_no_figure_is_equivalent(fate):
    assert fate("process", "14 nm") == Fate("equivalent")


def test_a_claim_of_the_same_document_kills_and_makes_nothing_killable(small, fate):
    document = "Acme X1 architecture brief, 2025"  # that of the facts
    small.edit(
        GOLDEN,
        "  - {count: core, expect: 4}",
        f'  - {{tdp: rated, expect: 15 W, source: {{document: "{document}", where: p. 1, grade: read}}}}',
    )
    assert fate("tdp", "30 W") == Fate("uncorroborated", killed_by=f"{GOLDEN}::tdp-rated")


def test_an_order_kills_although_it_corroborates_nothing(small, fate):
    small.edit(SPEC, "units:\n", "clocks: {boost: [1000 MHz, brief, p. 2]}\nunits:\n")
    small.edit(GOLDEN, "  - {count: core, expect: 4}", "  - {clocks: mac_array <= boost}")
    assert fate("clocks.boost", "500 MHz") == Fate("uncorroborated", killed_by=f"{GOLDEN}::clocks-mac_array-le-boost")
    assert fate("clocks.boost", "2000 MHz") == Fate("uncorroborated")


def test_a_stated_tolerance_excuses_a_mutant_that_the_printed_digits_would_tell(small, fate):
    small.edit(GOLDEN, "expect: 102.4 GB/s}", "expect: 102.4 GB/s ± 4 %, why: measured}")
    small.edit(GOLDEN, "  - {breakpoint: mac_array int8 / lpddr5, expect: 32.8 TOP/s / 102.4 GB/s}\n", "")
    # 6.5 Gbit/s: 104 GB/s, 1.6 % above the printed 102.4 ± 0.05
    assert fate("memories.lpddr5.pin_rate", "6.5 Gbit/s") == Fate("killable", witness=f"{GOLDEN}::bandwidth-lpddr5")


def test_a_figure_that_is_off_by_a_stated_tolerance_has_its_digits_laid_around_it(small, fate):
    # the model says 102.4; 100.0 ± 0.05 is laid around it: 102.35 … 102.45
    small.edit(GOLDEN, "expect: 102.4 GB/s}", "expect: 100.0 GB/s ± 4 %, why: printed round}")
    small.edit(GOLDEN, "  - {breakpoint: mac_array int8 / lpddr5, expect: 32.8 TOP/s / 102.4 GB/s}\n", "")
    assert fate("memories.lpddr5.pin_rate", "6.3 Gbit/s") == Fate("killable", witness=f"{GOLDEN}::bandwidth-lpddr5")


def test_an_expected_failure_kills_when_it_fails_by_another_ratio_and_witnesses_nothing(small, fate):
    xfail = "xfail: {reason: counts a spare one, ratio: 4/5, until: 2199-01-01}"
    small.edit(GOLDEN, "count: core, expect: 4}", f"count: core, expect: 5, {xfail}}}")
    small.edit(GOLDEN, "  - {peak: mac_array int8, expect: 32.8 TOP/s}\n", "")
    killed = fate("units.mac_array.groups", "8")
    assert killed.standing == "killable"
    assert killed.witness != f"{GOLDEN}::count-core"
    lonely = "\n".join([*small.read(GOLDEN).splitlines()[:3], f"  - {{count: core, expect: 5, {xfail}}}", ""])
    small.write(GOLDEN, lonely + "  - {bandwidth: lpddr5, expect: 102.4 GB/s}\n")
    assert fate("units.mac_array.groups", "8") == Fate("uncorroborated", killed_by=f"{GOLDEN}::count-core")


def test_a_network_that_would_run_elsewhere_is_noticed_by_what_it_is_bound_by(small, fate):
    # at 16 × the bandwidth the MLP waits for arithmetic; nothing else rests on both
    small.write(GOLDEN, "\n".join(line for line in small.read(GOLDEN).splitlines() if "lpddr5" not in line) + "\n")
    assert fate(BUS, "2048 bit").killed_by.startswith(f"{GOLDEN}::bound-acme/x1")


def test_a_replay_neither_backs_nor_kills(shipped_suite):
    assert any(claim.is_replay for claim in shipped_suite.claims())
    assert not any(stand.claim.is_replay for stand in Baseline.of(shipped_suite).stands)


# ---- a red suite


def test_a_red_suite_has_no_score(small):
    line = small.edit(GOLDEN, "count: core, expect: 4", "count: core, expect: 5")
    with pytest.raises(
        RedSuiteError, match=rf"^a red suite has no mutation score; first mend {GOLDEN}:{line} \(rooflint"
    ):
        Baseline.of(small.suite())


def test_a_device_without_claims_is_red_too(small):
    small.write("specs/hardware/acme/x2.yaml", small.read(SPEC).replace("X1", "X2"))
    with pytest.raises(RedSuiteError, match=r"first mend specs/hardware/acme/x2\.yaml:1  acme/x2 has no claim"):
        Baseline.of(small.suite())


def test_a_golden_file_that_cannot_be_read_is_red_too(small):
    small.write("golden/broken.yaml", "claims: 3\n")
    with pytest.raises(RedSuiteError, match=r"golden/broken\.yaml:1"):
        Baseline.of(small.suite())


# ---- the slow twin


@pytest.fixture(scope="module")
def shipped(shipped_suite):
    baseline = Baseline.of(shipped_suite)
    return baseline, list(groups(shipped_suite))


def copied(registry, fact, other):
    """Every device and architecture read and rewritten, whether it holds the fact or not."""
    twin = Registry(registry.roots)

    def rewritten(facts):
        return {path: other if one == fact else one for path, one in facts.items()}

    for name in registry.architecture_files:
        found = registry.architecture(name)
        twin._architectures[name] = replace(found, facts=rewritten(found.facts))
    for name in registry.ids():
        found = registry.get(name)
        points = {mode: rewritten(overlay) for mode, overlay in found.operating_points.items()}
        twin._loaded[name] = replace(found, facts=rewritten(found.facts), operating_points=points)
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


def plain_fate(mutant, baseline):
    """Every claim judged before and after: (standing, ids of the reds, ids of those that witness)."""
    suite = baseline.suite
    wrong = replace(suite, registry=copied(suite.registry, mutant.fact, mutant.slip.fact))
    standing, reds, witnesses = "uncorroborated", set(), set()
    for stand in baseline.stands:
        before, after = stand.verdict, brief(stand.claim, wrong)
        if after.outcome == "fail":
            reds.add(stand.id)
        if before.corroborated:
            value = after.obtained.value if after.obtained else math.inf
            if not math.isclose(value, before.obtained.value, rel_tol=1e-9):
                standing = "within-digits" if standing == "uncorroborated" else standing
                if left_its_digits(stand.claim, before.obtained.value, value):
                    standing = "killable"
                    witnesses.add(stand.id)
    if standing == "uncorroborated" and not reds and not moves(suite.registry, wrong.registry):
        standing = "equivalent"
    return standing, reds, witnesses


def moves(one, two):
    """Whether any figure of any device or architecture differs."""
    pairs = [(one.get(name), two.get(name)) for name in one.ids()]
    pairs += [
        (r.as_hardware(), s.as_hardware())
        for r, s in ((one.architecture(n), two.architecture(n)) for n in one.architecture_files)
    ]
    return any(
        not math.isclose(value, after[name], rel_tol=1e-9)
        for before, after in ((quantities(left), quantities(right)) for left, right in pairs)
        for name, value in before.items()
    )


@pytest.mark.parametrize("seed", range(6))
def test_the_fate_of_a_mutant_is_what_asking_every_claim_on_a_copy_of_every_device_says(shipped, seed):
    baseline, all_groups = shipped
    chance = random.Random(seed)
    for group in chance.sample(all_groups, 6):
        chosen = chance.sample(group.mutants, min(2, len(group.mutants)))
        some = replace(group, mutants=tuple(chosen))
        for mutant, fate in zip(chosen, fates(some, baseline), strict=True):
            standing, reds, witnesses = plain_fate(mutant, baseline)
            assert (fate.standing, fate.killed_by is not None) == (standing, bool(reds)), mutant
            assert fate.killed_by is None or fate.killed_by in reds
            assert (fate.witness is not None) == bool(witnesses)
            assert fate.witness is None or fate.witness in witnesses
