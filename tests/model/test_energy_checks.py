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
    said = energies.refused("process/45nm", "random_bit: [0.12", "random_bit: [0.24")
    assert said.startswith(
        "readings.one.wire.random_bit: 0.24 pJ/bit/mm is not about half of the 0.24 pJ/bit/mm (line "
    )


def test_two_readings_of_one_operation_are_held_together(energies):
    # 1.1 / 16 = 0.06875
    energies.texts["process/45nm"] += "  two: {multiply: {fp16: [1.2 pJ/op, b, t. 9]}}\n"
    assert energies.read().process("45nm").energy("multiply", "fp16").high == pytest.approx(1.2e-12, rel=1e-9, abs=0)
    said = energies.refused("process/45nm", "[1.1 pJ/op", "[0.06875 pJ/op")
    assert "readings.two.multiply.fp16: 1.2 pJ/op is 17.5 times the 0.06875 pJ/op in line" in said


def test_a_file_is_named_by_its_node(energies):
    energies.texts["process/hopper"] = energies.texts["process/45nm"]
    said = energies.refused("process/hopper", "name: 45 nm", "name: Hopper")
    assert said.startswith("'hopper' is no process node: want a name such as 4nm.yaml")
