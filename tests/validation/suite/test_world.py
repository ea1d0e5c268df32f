"""The closed world: what a suite lacks as a whole is red, whatever a run selects."""

import pytest

from pytest_rooflint.suite import world
from pytest_rooflint.suite.suite import Suite

HEAD = "hardware: acme/x1\nsource: {document: Product page, where: specifications, grade: read}\nclaims:\n"


@pytest.fixture
def wrong(tiny):
    """Problems of the world, as `file:line  message`."""
    return lambda: [str(problem) for problem in world.problems(tiny.suite())]


def test_the_tiny_world_is_closed(wrong):
    assert wrong() == []


def test_a_device_without_claims_is_named(tiny, wrong):
    tiny.write("specs/hardware/acme/x2.yaml", tiny.read("specs/hardware/acme/x1.yaml"))
    (problem,) = wrong()
    assert problem.startswith("specs/hardware/acme/x2.yaml:1  acme/x2 has no claim in any golden file")


def test_only_devices_of_the_configured_specs_need_claims(tiny, wrong):
    # the packaged devices are there to be spoken of, not to be covered
    assert "nvidia/t4" in tiny.suite().registry.files
    assert wrong() == []


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        (
            "specs/prices/own.yaml",
            "devices:\n  acme/x1:\n    purchase:\n      - {price: [30 USD/h, a, p. 1], date: 2025-01-01}\n",
            "devices.acme/x1.purchase.0.price: want a price of one device in USD such as 12500 USD, found '30 USD/h'",
        ),
        (
            "specs/grid/own.yaml",
            "places:\n  here:\n    name: Here\n    carbon:\n      - {intensity: [0.4 g/kWh, a, p. 1], year: 2025}\n",
            "places.here.carbon.0.intensity: '0.4 g/kWh' is 0.4 g/kWh, outside 0.5 g/kWh … 1500 g/kWh",
        ),
    ],
)
def test_a_wrong_price_or_place_is_named_although_no_claim_speaks_of_it(tiny, wrong, file, text, message):
    tiny.write(file, "name: Own\nsources: {a: {document: Bill, grade: read}}\n" + text)
    (problem,) = wrong()
    assert problem.startswith(f"{file}:")
    assert message in problem


@pytest.mark.parametrize(("text", "line"), [("name: Mine 8B\nfoo: [1\n", 3), ("name: Mine 8B\n", 1)])
def test_a_network_that_cannot_be_read_is_named_although_no_claim_speaks_of_it(tiny, wrong, text, line):
    tiny.write("specs/networks/acme/mine-8b.yaml", text)
    assert wrong()[0].startswith(f"specs/networks/acme/mine-8b.yaml:{line}  ")


def test_a_replay_covers_no_device(tiny, wrong):
    tiny.write(
        "golden/x1.yaml",
        "source: {document: A log, grade: read}\nsources: {log: {document: A log, grade: read}}\ncompute: int8\n"
        "hardware: acme/x1\n"
        "given: {OLD: {hardware: acme/x1, unit: mac_array, peak: [1 TOP/s, log, here]}}\n"
        "claims:\n  - {figure: peak OLD, expect: 1.00 TOP/s}\n",
    )
    (problem,) = wrong()
    assert "acme/x1 has no claim" in problem


def test_a_claim_of_an_order_is_not_a_claim_of_its_devices(tiny, wrong):
    tiny.write(
        "golden/x1.yaml",
        "workload: {mlp: [64, 64]}\ncompute: int8\nsource: {document: D, grade: read}\n"
        "claims:\n  - {latency: acme/x1 < acme/x1@low}\n",
    )
    (problem,) = wrong()
    assert "acme/x1 has no claim" in problem


def test_a_spec_that_cannot_be_read_is_named_with_its_lines(tiny, wrong):
    tiny.edit("specs/hardware/acme/x1.yaml", "tdp: [15 W, brief, p. 1]", "tdp: 15 W")
    tiny.edit("specs/hardware/acme/x1.yaml", "bus: [128 bit, brief", "bus: [128 bit, ds")
    assert [problem.split("  ")[0] for problem in wrong()] == ["specs/hardware/acme/x1.yaml:7"]
    tiny.edit("specs/hardware/acme/x1.yaml", "tdp: 15 W", "tdp: [15 W, brief, p. 1]")
    (problem,) = wrong()
    assert problem.startswith("specs/hardware/acme/x1.yaml:17  memories.lpddr5.bus: unknown source 'ds'")


def test_a_device_of_a_vanished_architecture_is_named(tiny, wrong):
    tiny.edit("specs/hardware/acme/x1.yaml", "kind: npu", "kind: npu\narchitecture: acme/a9")
    (problem,) = wrong()
    assert problem.startswith("specs/hardware/acme/x1.yaml:3  unknown architecture 'acme/a9'")


@pytest.mark.parametrize("name", ["X2.yaml", "x 2.yaml", "x1.yml"])
def test_a_spec_file_whose_name_is_no_id_or_a_second_one_is_a_problem(tiny, wrong, name):
    tiny.write(f"specs/hardware/acme/{name}", tiny.read("specs/hardware/acme/x1.yaml"))
    problems = wrong()
    assert any("id" in problem for problem in problems)


def test_an_architecture_that_cannot_be_read_is_a_problem_even_if_no_device_uses_it(tiny, wrong):
    tiny.write("specs/architectures/acme/a1.yaml", "name: [\n")
    (problem,) = wrong()
    assert problem.startswith("specs/architectures/acme/a1.yaml:")


def test_a_world_without_a_claim_is_one_problem(tiny, wrong):
    (tiny.root / "golden/x1.yaml").unlink()
    (problem,) = wrong()
    assert "no claim was found below golden" in problem


def test_what_a_file_that_cannot_be_read_may_claim_is_not_missed(tiny, wrong):
    tiny.write("golden/x1.yaml", "not a golden file\n")
    assert wrong() == []  # the file fails by itself
    tiny.write("golden/x2.yaml", f"{HEAD}  - {{capacity: lpddr5, expect: 8.00 GB}}\n")
    assert wrong() == []


def test_a_golden_folder_that_is_not_there_holds_no_claim(tiny):
    suite = Suite.of([tiny.root / "goldn"], [tiny.root / "specs"])
    (problem,) = world.problems(suite)
    assert "no claim was found below goldn" in str(problem)


def test_the_same_claim_in_two_files_is_named_with_both_places(tiny, wrong):
    head = tiny.read("golden/x1.yaml").split("  - {peak")[0]
    tiny.write("golden/y.yaml", f"{head}  - {{count: core, expect: 4}}\n")
    (problem,) = wrong()
    assert problem.startswith("golden/y.yaml:5  'count-core' of acme/x1 is claimed twice from the same document")
    assert "(also golden/x1.yaml:10)" in problem
    tiny.edit("golden/y.yaml", "product page", "brochure")
    assert wrong() == []


def test_one_figure_from_two_documents_is_two_claims(tiny, wrong):
    tiny.write("golden/y.yaml", HEAD.replace("Product page", "Brochure") + "  - {count: core, expect: 4}\n")
    assert wrong() == []


def test_the_same_claim_about_a_workload_in_two_files_is_a_double_too(tiny, wrong):
    text = (
        "workload: {mlp: [64, 64]}\nsource: {document: A paper, where: table 2, grade: read}\n"
        "claims:\n  - {flops: macs, expect: 4096 MAC}\n"
    )
    tiny.write("golden/one.yaml", text)
    tiny.write("golden/two.yaml", text)
    (problem,) = wrong()
    assert problem.startswith("golden/two.yaml:4  'flops-macs'")


def test_a_broken_file_hides_no_other_claim(tiny, wrong):
    tiny.write("golden/broken.yaml", "claims: [\n")
    assert wrong() == []  # it is a red item of its own


def test_a_packaged_device_may_be_claimed_next_to_own_ones(tiny):
    tiny.write("golden/t4.yaml", HEAD.replace("acme/x1", "nvidia/t4") + "  - {count: SM, expect: 40}\n")
    (verdict,) = tiny.verdicts("golden/t4.yaml").values()
    assert verdict.outcome == "pass"
    assert world.problems(tiny.suite()) == []


# ---- rated powers

GOLDEN, SPEC, REASON = "golden/x1.yaml", "specs/hardware/acme/x1.yaml", "unguarded: {tdp: one document says it}"
SECOND = "  - {tdp: rated, expect: 15 W}\n"


@pytest.fixture
def unguarded(tiny):
    """Without the reason, and with these claims instead."""

    def edit(*claims):
        tiny.edit(GOLDEN, REASON, "")
        tiny.write(GOLDEN, tiny.read(GOLDEN).rstrip() + "\n" + "".join(claims))

    return edit


def test_a_rated_power_without_a_claim_or_a_reason_is_named_with_what_to_add(tiny, wrong, unguarded):
    unguarded()
    (problem,) = wrong()
    line = tiny.line(SPEC, "tdp: [15 W")
    assert problem.startswith(f"{SPEC}:{line}  no claim from a document other than '")
    assert "holds the rated power of acme/x1; add '{tdp: rated, expect: …}'" in problem
    assert problem.endswith("or the reason why there is none: 'unguarded: {tdp: …}'")


def test_a_claim_from_a_second_document_guards_a_rated_power(wrong, unguarded):
    unguarded(SECOND)
    assert wrong() == []


@pytest.mark.parametrize(
    "claim",
    [
        "  - {tdp: rated, expect: 15 W, source: {document: '2025, Acme X1 architecture brief', where: p, grade: read}}"
        "\n",
        "  - {tdp: rated, expect: 15 W, source: {document: A guess, where: here, grade: estimate}}\n",
        "  - {tdp: rated, expect: 30 W, xfail: {ratio: 1/2, reason: r, until: 2999-01-01}}\n",
        "  - {tdp: rated, at: low, expect: 15 W}\n",
        "  - {tdp: idle, expect: 1.0 W}\n",
    ],
    ids=["the spec's document", "an estimate", "a disputed figure", "a mode", "another power"],
)
def test_no_other_claim_guards_a_rated_power(wrong, unguarded, claim):
    unguarded(claim)
    (problem,) = wrong()
    assert "holds the rated power of acme/x1" in problem


def test_a_reason_that_is_not_true_any_more_is_named_with_its_line(tiny, wrong):
    tiny.edit(GOLDEN, REASON, REASON + "\nwhy: a reason")
    tiny.edit(GOLDEN, "claims:\n", "claims:\n" + SECOND)
    line, claim = tiny.line(GOLDEN, REASON), tiny.line(GOLDEN, "tdp: rated")
    says = "unguarded: says why no second document gives the rated power, but the claim in line"
    assert wrong() == [f"{GOLDEN}:{line}  {says} {claim} does"]
    tiny.edit(GOLDEN, SECOND, "")
    tiny.edit(SPEC, "tdp: [15 W, brief, p. 1]\n", "")
    (problem,) = wrong()
    assert problem.endswith("but acme/x1 has none")


# ---- packaged devices, and a part of the golden folders

T4 = HEAD.replace("acme/x1", "nvidia/t4") + "  - {peak: tensor_core int8, expect: 130 TOP/s}\n"


def test_a_packaged_device_needs_neither_a_claim_of_its_power_nor_a_reason(tiny, wrong):
    tiny.write("golden/t4.yaml", T4)
    assert wrong() == []
    tiny.write("golden/t4.yaml", T4.replace("claims:", "unguarded: {tdp: not rated}\nclaims:"))
    assert wrong() == []


def test_a_reason_that_is_not_true_of_a_packaged_device_is_named_too(tiny, wrong):
    # 70 W is in the spec from NVIDIA's own page, and a second document is quoted beside the reason why there is none
    reason = T4.replace("claims:", "unguarded: {tdp: none}\nclaims:")
    tiny.write("golden/t4.yaml", f"{reason}  - {{tdp: rated, expect: 70 W}}\n")
    (problem,) = wrong()
    assert problem.startswith("golden/t4.yaml:3  unguarded: says why no second document gives the rated power, but ")


def test_a_part_of_the_golden_folders_need_not_speak_of_every_device(tiny):
    tiny.write("specs/hardware/acme/x2.yaml", tiny.read("specs/hardware/acme/x1.yaml"))
    tiny.write("golden/part/x1.yaml", tiny.read("golden/x1.yaml"))
    tiny.write("golden/notes.txt", "not a golden file")
    of_part = Suite.of([tiny.root / "golden"], [tiny.root / "specs"], part=[tiny.root / "golden/part"])
    assert world.problems(of_part) == []
    tiny.write("golden/part/notes.txt", "not a golden file")
    (problem,) = world.problems(of_part)
    assert str(problem).startswith("golden/part/notes.txt:1  not a .yaml file")
    assert any("acme/x2 has no claim" in str(problem) for problem in world.problems(tiny.suite()))
