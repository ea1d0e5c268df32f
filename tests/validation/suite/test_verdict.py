"""Verdicts: the text alone is enough to repair a red claim, and every other form says the same."""

import re

import pytest


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


def test_an_unexplained_ratio_says_so_instead_of_guessing(claims):
    # 16384 op / 4416 B = 3.71 op/B rests on no fact that could be wrong
    (verdict,) = claims("intensity: int8, expect: 5.123 op/B", head="workload: {mlp: [64, 64], batch: 2}\n")
    assert "unexplained" in row(verdict.text(), "ratio")


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
