"""Verdicts: the text alone is enough to repair a red claim, and every other form says the same."""

import re
from dataclasses import replace

import pytest

from pytest_rooflint.suite.verdict import tally


@pytest.fixture(autouse=True)
def _wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def halved(acme, claims):
    """INT8 at half its rate in the architecture, claimed by a data sheet: 8 × 2 × 512 × 2 × 1 GHz = 16.38 TOP/s."""
    acme.edit("specs/architectures/acme/a1.yaml", "int8: [1024 MAC", "int8: [512 MAC")
    (verdict,) = claims("peak: mac_array int8, expect: 32.77 TOP/s, note: printed as dense")
    return verdict


def row(text, label):
    """A labelled line of a verdict."""
    (found,) = re.findall(rf"^  {label} +(.*)$", text, re.MULTILINE)
    return found


def test_a_red_verdict_begins_with_file_line_and_what_is_claimed(halved):
    assert halved.text().splitlines()[0] == "golden/k1.yaml:4  peak mac_array int8 of acme/k1"


def test_a_red_verdict_sets_what_was_printed_beside_what_was_obtained(halved):
    text = halved.text()
    # half a unit of the last digit: 0.005 / 32.77
    assert row(text, "expected").split("  ")[0] == "32.77 TOP/s"
    assert row(text, "expected").endswith("32.77 TOP/s (±0.015 %), Acme data sheet, p. 1 (read)")
    assert row(text, "obtained").split("  ")[0] == "16.38 TOP/s"
    assert row(text, "obtained").endswith("8 tile × 2 mac_array × 512 MAC/clock × 2 op/MAC × 1000 MHz")
    assert row(text, "ratio").startswith("1/2 ")
    assert row(text, "note") == "printed as dense"


def test_a_red_verdict_names_every_fact_with_its_grade_file_and_line(acme, halved):
    text = halved.text()
    device, architecture = "specs/hardware/acme/k1.yaml", "specs/architectures/acme/a1.yaml"
    for fact, file, part in [
        ("groups", device, "  mac_array: {groups"),
        ("per_group", architecture, "per_group: [2"),
        ("macs_per_clock.int8", architecture, "macs_per_clock"),
        ("clock", device, "  mac_array: {groups"),
    ]:
        assert f"{fact} (read)  {file}:{acme.line(file, part)}" in text


def test_a_red_verdict_says_what_to_write_and_where(halved):
    assert re.search(
        r"specs/architectures/acme/a1\.yaml:8  units\.mac_array\.macs_per_clock\.int8; write 1024 MAC", halved.text()
    )


def test_a_red_verdict_ends_in_the_command_that_runs_just_it(halved):
    assert halved.text().splitlines()[-1].split() == ["rerun", "pytest", "golden/k1.yaml::peak-mac_array-int8"]


def test_a_verdict_without_a_figure_gives_the_reason(claims):
    (verdict,) = claims("peak: tensor_core int8, expect: 1.00 TOP/s")
    text = verdict.text()
    assert row(text, "expected").startswith("1.00 TOP/s")
    assert row(text, "reason") == "acme/k1 has no unit 'tensor_core' (has: mac_array, vector, secret)"
    assert "obtained" not in text and "ratio" not in text


def test_a_ratio_that_nothing_explains_has_no_known_cause(claims):
    # 16384 op / 4416 B = 3.71 op/B rests on no fact that could be wrong
    (verdict,) = claims("intensity: int8, expect: 5.123 op/B", head="workload: {mlp: [64, 64], batch: 2}\n")
    assert "no known cause" in row(verdict.text(), "ratio")


def test_a_red_order_says_what_holds_instead(claims):
    (verdict,) = claims("clocks: boost <= base")
    text = verdict.text()
    assert row(text, "expected").startswith("boost <= base")
    assert row(text, "obtained") == "boost 1200 MHz, base 800 MHz"


@pytest.mark.parametrize(
    ("claim", "headline"),
    [
        ("peak: mac_array int8, sparse: true, expect: 1.00 TOP/s", "peak mac_array int8 with sparsity of acme/k1"),
        ("peak: mac_array int8, per: gcd, expect: 1.00 TOP/s", "peak mac_array int8 per gcd of acme/k1"),
        ("peak: mac_array int8, at: low, expect: 1.00 TOP/s", "peak mac_array int8 of acme/k1 at low"),
    ],
)
def test_a_headline_reads_as_a_sentence(claims, claim, headline):
    (verdict,) = claims(claim)
    assert verdict.headline == headline


def test_figures_that_differ_are_printed_with_the_digits_that_tell_them_apart(claims):
    # 32.768 against 32.7674 TOP/s are both 32.77 in four digits
    (verdict,) = claims("peak: mac_array int8, expect: 32.7674 TOP/s")
    assert verdict.outcome == "fail"
    assert row(verdict.text(), "expected").split()[0] != row(verdict.text(), "obtained").split()[0]


def test_a_narrow_terminal_wraps_words_but_no_path_and_no_command(halved, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = halved.text().splitlines()
    assert any(line.strip().startswith("specs/architectures/acme/a1.yaml:8") for line in lines)
    assert lines[-1].endswith("pytest golden/k1.yaml::peak-mac_array-int8")
    assert all(len(line) <= 80 for line in lines[:-1] if "specs/" not in line)


# ---- JUnit


def test_properties_carry_expected_obtained_ratio_unit_and_source(halved):
    assert dict(halved.properties()) == {
        "expected": "32.77 TOP/s",
        "obtained": "16.38 TOP/s",
        "ratio": "0.499969",  # 16.384 / 32.77
        "unit": "TOP/s",
        "source": "Acme data sheet, p. 1 (read)",
        "corroborated": "false",
    }


def test_a_bare_count_has_no_unit(claims):
    (verdict,) = claims("count: tile, expect: 8")
    assert dict(verdict.properties())["expected"] == "8"
    assert dict(verdict.properties())["unit"] == ""


def test_properties_of_a_vanished_subject_are_texts_too(claims):
    (verdict,) = claims("peak: tensor_core int8, expect: 1.00 TOP/s")
    properties = dict(verdict.properties())
    assert (properties["obtained"], properties["ratio"]) == ("", "")
    assert all(isinstance(value, str) for value in properties.values())


def test_properties_of_an_order_say_it_in_words(claims):
    (verdict,) = claims("clocks: base <= boost")
    assert dict(verdict.properties())["expected"] == "base <= boost"
    assert dict(verdict.properties())["unit"] == ""


def test_as_many_digits_are_printed_as_tell_two_figures_apart_ten_at_the_most(claims):
    pairs = {
        "32.7674": ("32.7674", "32.768"),
        "32.768020": ("32.76802", "32.768"),
        "32.76800010": ("32.7680001", "32.768"),
    }
    for printed, shown in pairs.items():
        (verdict,) = claims(f"peak: mac_array int8, expect: {printed} TOP/s")
        assert verdict.outcome == "fail"
        assert (verdict.expected_display.split()[0], verdict.obtained_display.split()[0]) == shown
    (verdict,) = claims("peak: mac_array int8, expect: 32.7681 TOP/s ± 1 %, why: rounded")
    assert (verdict.expected_display, verdict.obtained_display) == ("32.77 TOP/s", "32.77 TOP/s")


# ---- slack, and what a run counts


@pytest.mark.parametrize(
    ("line", "slack"),
    [
        ("peak: mac_array int8, expect: 32.77 TOP/s", 0.6),  # 3 of 5 GOP/s below the value
        ("peak: mac_array int8, expect: 32.768 TOP/s", 1.0),
        ("peak: mac_array int8, expect: 30 TOP/s ± 10 %, why: rounded", 0.0773),  # 0.232 of 3 TOP/s are left
        ("clocks: base <= boost", None),
        ("peak: tensor_core int8, expect: 1.00 TOP/s", None),
    ],
)
def test_slack_is_the_share_of_the_tolerance_that_is_left(claims, line, slack):
    (verdict,) = claims(line)
    assert verdict.slack == (slack and pytest.approx(slack, abs=1e-4))


def test_a_run_counts_what_is_loose_stale_and_uncorroborated(claims):
    sharp, loose, order, red = claims(
        "peak: mac_array int8, expect: 32.77 TOP/s",
        "peak: mac_array fp16, expect: 14.7 TFLOP/s ± 5 %, why: rounded",
        "clocks: base <= boost",
        "peak: mac_array int8, sparse: true, expect: 1.00 TOP/s",
    )
    # 14.7456 holds by the digits of 14.7: 14.65 to 14.75
    assert [(one.loose, one.stale is not None) for one in (sharp, loose, order, red)] == [
        (False, False),
        (True, True),
        (False, False),
        (False, False),
    ]
    assert loose.stale.text == "the printed digits suffice (±0.34 %)"
    assert [one.brief().uncorroborated for one in (sharp, loose, order, red)] == [
        not sharp.corroborated,
        not loose.corroborated,
        True,
        False,  # a red claim is counted as red
    ]
    assert not replace(order.brief(), replay=True).uncorroborated
    assert not replace(order.brief(), corroborated=True).uncorroborated
    assert [replace(order, corroborated=known).brief().uncorroborated for known in (True, False)] == [False, True]


# ---- repairs and reruns


def test_a_repair_that_was_tried_says_how_the_other_claims_fared(halved):
    (first, *_) = halved.causes
    assert "; write 1024 MAC\n" in halved.text()
    for fixes, breaks, said in [(2, 0, "fixes 2 failures, breaks nothing"), (1, 3, "fixes 1 failure, breaks 3")]:
        tried = replace(halved, causes=(replace(first, fixes=fixes, breaks=breaks),))
        assert f"; write 1024 MAC ({said})" in tried.text()
    unrepaired = replace(halved, causes=(replace(first, repaired=None),))
    assert "; write" not in unrepaired.text()
    assert f"{first.fact.path}\n" in unrepaired.text()


def test_further_causes_follow_the_likeliest(halved):
    (first, *_) = halved.causes
    both = replace(halved, causes=(first, replace(first, text="a second one", fact=None)))
    assert row(both.text(), "ratio").split()[0] == "1/2"
    assert row(both.text(), "or").split(maxsplit=1) == ["1/2", "a second one"]


def test_a_verdict_without_a_ratio_names_its_causes_as_reasons(halved):
    text = replace(halved, ratio_text=None, reason="it could not be derived").text()
    assert row(text, "reason") == "it could not be derived"
    assert row(text, "because").startswith("1/2")


def test_a_fact_is_listed_once_and_only_where_the_claim_is_red(halved):
    twice = replace(halved, obtained=replace(halved.obtained, facts=halved.facts * 2))
    assert twice.text() == halved.text()
    assert "facts " in halved.text()
    assert "facts " not in replace(halved, outcome="xfail").text()


def test_the_command_is_relative_to_where_the_run_was_started(acme, halved):
    below = replace(halved, started_in=acme.root / "golden", options=("--rootdir=..",))
    assert below.rerun == "pytest --rootdir=.. k1.yaml::peak-mac_array-int8"
    assert replace(halved, started_in=acme.root).rerun == halved.rerun


def test_verdicts_are_counted_by_outcome(halved):
    assert tally([]) == "no claims"
    assert tally([halved, replace(halved, outcome="pass"), halved]) == "2 fail, 1 pass"


@pytest.mark.parametrize(
    ("claim", "workload", "headline"),
    [
        ("intensity: int8, expect: 5.123 op/B", "{mlp: [64, 64], batch: 2}", "intensity int8 of mlp 64 × 64"),
        ("flops: macs, expect: 1.814 GMAC", "torchvision/resnet18", "flops macs of torchvision/resnet18"),
        ("flops: macs, expect: 1.814 GMAC", "{network: torchvision/resnet18}", "flops macs of torchvision/resnet18"),
        ("bound: nvidia/t4, is: memory, compute: int8", "{mlp: [64, 64]}", "bound of nvidia/t4 on mlp 64 × 64"),
    ],
)
def test_a_claim_about_a_workload_names_it(claims, claim, workload, headline):
    (verdict,) = claims(claim, head=f"workload: {workload}\n")
    assert verdict.headline == headline
