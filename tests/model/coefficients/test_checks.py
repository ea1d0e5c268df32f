"""What cannot all be true in one file: a slip of 8 or 16 shows where two readings meet."""

import pytest


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        # 4 / 8 = 0.5 beside the 5 of the same scope: 10 times
        ("typical: [4 pJ/bit", "typical: [0.5 pJ/bit", "5 pJ/bit is 10 times the 0.5 pJ/bit in line"),
        # 0.5 × 16 = 8 for the pins alone, of a device of 4 by the same paper
        (
            "typical: [0.5 pJ/bit",
            "typical: [8 pJ/bit",
            "8 pJ/bit is io alone, and above the device of the 4 pJ/bit in line",
        ),
        # an end above the other
        ("low: [4 pJ/bit", "low: [8 pJ/bit", "8 pJ/bit is above the 7 pJ/bit"),
        ("low: [3 pJ/bit, b, p. 1], ", "", "readings.guess: want a typical value, or low and high"),
    ],
)
def test_readings_of_a_memory_that_cannot_both_be_true_are_refused(energies, old, new, sentence):
    assert sentence in energies.refused("memory/hbm9", old, new)


def test_documents_that_merely_disagree_stand_side_by_side(energies):
    # 3 to 9: a factor of 3, where a unit that slipped is 8
    energies.edit("memory/hbm9", "typical: [4 pJ/bit", "typical: [9 pJ/bit")
    assert energies.read().memory("hbm9").energy("device").high == pytest.approx(9 * 8e-12, rel=1e-9, abs=0)


def test_a_part_of_one_document_may_exceed_the_whole_of_another(energies):
    energies.edit("memory/hbm9", "typical: [0.5 pJ/bit, a,", "typical: [4.5 pJ/bit, b,")
    assert energies.read().memory("hbm9").energy("io")


def test_a_transition_costs_about_twice_a_random_bit(energies):
    # 310 pJ for 2560 bit mm and 240 fJ for a transition are 0.505 of one another; one taken for the other is 1
    message = energies.refused("process/45nm", "random_bit: [0.12", "random_bit: [0.24")
    assert message.startswith(
        "readings.one.wire.random_bit: 0.24 pJ/bit/mm is not about half of the 0.24 pJ/bit/mm (line "
    )


def test_two_readings_of_one_operation_are_held_together(energies):
    # 1.1 / 16 = 0.06875
    energies.texts["process/45nm"] += "  two: {multiply: {fp16: [1.2 pJ/op, b, t. 9]}}\n"
    assert energies.read().process("45nm").energy("multiply", "fp16").high == pytest.approx(1.2e-12, rel=1e-9, abs=0)
    message = energies.refused("process/45nm", "[1.1 pJ/op", "[0.06875 pJ/op")
    assert "readings.two.multiply.fp16: 1.2 pJ/op is 17.5 times the 0.06875 pJ/op in line" in message


def test_a_file_is_named_by_its_node(energies):
    energies.texts["process/hopper"] = energies.texts["process/45nm"]
    message = energies.refused("process/hopper", "name: 45 nm", "name: Hopper")
    assert message.startswith("'hopper' is not a process node: want a name such as 4nm.yaml")


# ---- What cannot all be true of events, idle power and launches: slips of 8 and of 1000 where readings meet


@pytest.mark.parametrize(
    ("file", "old", "new", "sentence"),
    [
        # 30 × 1000 leaves the window of a lane's instruction
        (
            "events/gpu",
            "[30 pJ,",
            "[30000 pJ,",
            "'30000 pJ' per lane_instruction is outside 0.1 … 500 pJ; wrong unit or prefix?",
        ),
        # 30 × 8 = 240 beside 20 … 40 at the same node
        ("events/gpu", "[30 pJ,", "[240 pJ,", "240 pJ is 12 times the 20 pJ in line"),
        # 5 / 8 = 0.625 at 7 nm: 30 at 45 nm is 48 times that, and 6 × 45 / 7 = 38.6 would be believed
        ("events/gpu", "[5 pJ,", "[0.625 pJ,", "30 pJ is 48 times the 0.625 pJ in line"),
        # a younger node is not dearer by more than documents disagree: 5 × 50 = 250 against 30
        ("events/gpu", "[5 pJ,", "[250 pJ,", "30 pJ is 0.12 times the 250 pJ in line"),
        # 12 × 8 = 96 is more than the 30 that it is a part of; 9 × 8 = 72 likewise
        ("events/gpu", "[12 pJ,", "[96 pJ,", "96 pJ is a part of, and with the others above, the 30 pJ in line"),
        # each alone below 30, together 12 + 20 = 32
        ("events/gpu", "[9 pJ,", "[20 pJ,", "20 pJ is a part of, and with the others above, the 30 pJ in line"),
        ("events/gpu", "low: [20 pJ,", "low: [50 pJ,", "50 pJ is above the 40 pJ"),
        (
            "events/gpu",
            "low: [20 pJ, b, p. 1], ",
            "",
            "events.instruction.readings.guess: want a typical value, or low and high",
        ),
        # 50 W of 300 read as 400 W: 8 times
        ("events/gpu", "low: [50/300, a, p. 5], high: [60/300,", "low: [8/300, a, p. 5], high: [60/300,", "7.5 times"),
        # 2.5 × 8 = 20 µs beside 1 … 4 µs
        ("launches", "[2.5 µs,", "[20 µs,", "20 µs is 20 times the 1 µs; wrong unit or prefix?"),
        ("launches", "low: [1 µs, b, p. 1], ", "", "readings.guess: want a typical value, or low and high"),
    ],
)
def test_figures_that_cannot_all_be_true_are_refused(energies, file, old, new, sentence):
    assert sentence in energies.refused(file, old, new)


def test_documents_that_merely_disagree_stand_side_by_side_of_event_checks(energies):
    # 100 against 20: a factor of 5 at one node
    energies.edit("events/gpu", "[30 pJ,", "[100 pJ,")
    assert energies.read().events("gpu").energy("instruction").high == pytest.approx(100e-12, rel=1e-9, abs=0)


def test_a_reading_without_a_node_is_held_against_none_with_one(energies):
    # 0.1 pJ without a node beside 30 pJ at 45 nm: by documents that may speak of other circuits
    energies.edit("events/gpu", "[1 pJ, b, p. 3]", "[0.1 pJ, b, p. 3]")
    assert energies.read().events("gpu").energy("instruction").typical == pytest.approx(30e-12, rel=1e-9, abs=0)


def test_a_part_of_one_document_may_exceed_the_whole_of_another_of_event_checks(energies):
    energies.edit("events/gpu", "[12 pJ, a, p. 1]", "[35 pJ, b, p. 1]")
    assert energies.read().events("gpu").energy("fetch")


def test_parts_that_share_something_are_held_against_the_whole_one_by_one(energies):
    # 12 + 25 = 37 with fetch in both: neither is above 30
    energies.edit("events/gpu", "covers: [operands]", "covers: [fetch, operands]")
    energies.edit("events/gpu", "[9 pJ,", "[25 pJ,")
    assert energies.read().events("gpu").energy("operands")
    message = energies.refused("events/gpu", "[25 pJ,", "[31 pJ,")
    assert "31 pJ is a part of, and above, the 30 pJ in line" in message


def test_a_file_is_named_by_its_kind(energies):
    energies.texts["events/toaster"] = energies.texts["events/gpu"]
    message = energies.refused("events/toaster", "name: GPU", "name: Toaster")
    assert message.startswith("'toaster' is not a kind of processor: want one of cpu, gpu, tpu, kpu, npu")
