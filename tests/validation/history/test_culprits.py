"""Causes of failures against a base: changes of facts and of claims planted in a tiny repository."""

GOLDEN = "golden/x1.yaml"
MORE = "golden/more.yaml"
X1 = "specs/hardware/acme/x1.yaml"


def lines(found):
    """File and line of each change that makes a claim fail, in their order."""
    return [(one.file, one.line) for one in found.causes.changes if one.claims]


def test_nothing_fails_and_there_is_no_cause(guarded, against):
    assert against(guarded).causes is None
    guarded.edit(MORE, "± 3 %", "± 4 %")
    assert against(guarded).causes is None


def test_one_wrong_fact_is_the_cause_of_all_that_fail(guarded, against):
    line = guarded.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    found = against(guarded).causes
    (cause,) = found.changes
    assert (cause.file, cause.line, cause.path) == (X1, line, "memories.lpddr5.pin_rate")
    assert (cause.base, cause.head) == ("6.4 Gbit/s", "12.8 Gbit/s")
    assert set(cause.claims) == set(cause.fixes) == set(found.failing) == set(found.all_.fixes)
    assert (cause.breaks, found.pairs, found.unexplained, found.untried) == ([], [], [], 0)
    assert found.text == f"1 changed line makes {len(found.failing)} claims fail"


def test_a_changed_expectation_is_the_cause_at_its_line(guarded, against):
    line = guarded.edit(GOLDEN, "count: core, expect: 4", "count: core, expect: 5")
    found = against(guarded).causes
    (cause,) = found.changes
    assert lines(against(guarded)) == [(GOLDEN, line)]
    assert (cause.path, cause.base, cause.head) == ("count-core", "4", "5")
    assert cause.fixes == found.failing == [f"{GOLDEN}::count-core"]


def test_a_harmless_change_beside_a_wrong_one_is_no_cause(guarded, against):
    guarded.edit(MORE, "102 GB/s ± 3 %", "102.4 GB/s ± 3 %")
    line = guarded.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    found = against(guarded)
    assert lines(found) == [(X1, line)]
    assert [one.path for one in found.causes.changes if not one.claims] == ["bandwidth-lpddr5"]


def test_two_wrong_facts_of_one_product_are_both_needed(guarded, against):
    rate = guarded.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    cores = guarded.edit(X1, "groups: [4,", "groups: [8,")
    found = against(guarded)
    assert sorted(lines(found)) == sorted([(X1, rate), (X1, cores)])
    (pair,) = found.causes.pairs
    assert set(pair.fixes) | {name for one in found.causes.changes for name in one.fixes} == set(found.causes.failing)


def test_a_fact_and_the_expectation_that_follows_it_to_another_value_are_both_named(guarded, against):
    # 4 cores, claimed as 4, are now 8, claimed as 5: neither alone is right again
    fact = guarded.edit(X1, "groups: [4,", "groups: [8,")
    claim = guarded.edit(GOLDEN, "count: core, expect: 4", "count: core, expect: 5")
    found = against(guarded)
    assert sorted(lines(found)) == sorted([(X1, fact), (GOLDEN, claim)])
    pair = found.causes.pairs[0]
    assert pair.fixes == [f"{GOLDEN}::count-core"]


def test_a_new_claim_fails_because_of_the_fact_that_it_finds_wrong(guarded, against):
    line = guarded.edit(X1, "groups: [4,", "groups: [8,")
    guarded.edit(MORE, "8.0 GB}\n", "8.0 GB}\n  - {count: core, expect: 4}\n")
    found = against(guarded)
    assert lines(found) == [(X1, line)]
    guarded.edit(X1, "groups: [8,", "groups: [4,")
    new = guarded.edit(MORE, "count: core, expect: 4", "count: core, expect: 5")
    found = against(guarded)
    assert lines(found) == [(MORE, new)]
    assert (found.causes.changes[0].base, found.causes.changes[0].head) == (None, "5")


LOW = "low: {tdp: [7 W, brief, p. 4], units.mac_array.clock: [500 MHz, brief, p. 4]}"
NO_CLOCK = "low: {tdp: [7 W, brief, p. 4]}"


def test_a_removed_fact_of_an_operating_point_is_the_cause(guarded, against):
    guarded.edit(X1, LOW, NO_CLOCK)
    (cause,) = against(guarded).causes.changes
    assert (cause.path, cause.at, cause.base, cause.head) == ("units.mac_array.clock", "low", "500 MHz", None)
    assert cause.fixes == [f"{GOLDEN}::peak-mac_array-int8-at-low"]


def test_an_added_fact_of_an_operating_point_is_the_cause(guarded, against, git):
    guarded.edit(X1, LOW, NO_CLOCK)
    guarded.edit(GOLDEN, "at: low, expect: 16.4 TOP/s", "at: low, expect: 32.8 TOP/s")
    git(guarded.root, "commit", "-qam", "No clock")
    line = guarded.edit(X1, NO_CLOCK, LOW)
    found = against(guarded)
    assert lines(found) == [(X1, line)]
    assert found.causes.changes[0].base is None


def test_reverting_a_right_fact_that_its_claims_follow_breaks_them(guarded, against):
    # 8 cores on both sides are right together; the rate is wrong
    guarded.edit(X1, "groups: [4,", "groups: [8,")
    for old, new in (("32.8 TOP/s}", "65.5 TOP/s}"), ("16.4 TOP", "32.8 TOP"), ("8.19 TFLOP", "16.4 TFLOP")):
        guarded.edit(GOLDEN, old, new)
    guarded.edit(GOLDEN, "32.8 TOP/s / 102.4", "65.5 TOP/s / 102.4")
    guarded.edit(GOLDEN, "count: core, expect: 4", "count: core, expect: 8")
    line = guarded.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    found = against(guarded)
    assert lines(found) == [(X1, line)]
    assert [one.path for one in found.causes.changes if one.breaks]  # the cores
