"""The file of constants: what is shipped, and what is refused."""

import pytest

from rooflint.base.errors import InputError, RooflintError
from rooflint.devices.registry import PACKAGED, Registry
from rooflint.kernels.constants import FILE, NAMES, read, silicon_file

TEXT = (PACKAGED / FILE).read_text(encoding="utf-8")


def refused(tmp_path, text):
    file = tmp_path / FILE
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read(file)
    return [problem.message for problem in caught.value.problems]


def test_every_shipped_constant_says_what_it_is_and_where_it_comes_from():
    shipped = silicon_file(Registry())
    assert set(shipped.spec.constants) == set(NAMES)
    for name, constant in shipped.spec.constants.items():
        assert constant.meaning.endswith(".")
        assert shipped.fact(name).source.grade == "estimate"  # fitted or chosen, read nowhere
        assert bool(constant.folds) == (constant.found == "fitted"), name


def test_shares_are_shares():
    constants = silicon_file(Registry()).constants
    assert 0 < constants.matrix_efficiency <= 1
    assert 0 < constants.dram_efficiency < 1
    assert constants.overlap >= 1
    assert constants.l2_ratio >= 1


def test_a_root_of_ones_own_goes_before_the_packaged_one(tmp_path):
    (tmp_path / FILE).write_text(TEXT.replace("rows_per_family: ", "rows_per_family: 9"), encoding="utf-8")
    own = silicon_file(Registry((tmp_path, PACKAGED)))
    assert own.file == tmp_path / FILE
    assert silicon_file(Registry((tmp_path / "none", PACKAGED))).file == PACKAGED / FILE
    with pytest.raises(RooflintError, match=r"no silicon\.yaml in "):
        silicon_file(Registry((tmp_path / "none",)))


def test_a_misspelt_constant_is_refused_with_the_one_that_is_missing(tmp_path):
    (message,) = refused(tmp_path, TEXT.replace("  overlap:", "  overlapp:"))
    assert message.startswith("constants.overlap: is missing; unknown constant 'overlapp' (known: matrix_efficiency, ")


def test_a_bare_number_is_refused(tmp_path):
    text = "\n".join(
        "    value: 3" if line.startswith("    value:") and before.startswith("    unit: pJ") else line
        for before, line in zip(["", *TEXT.splitlines()], TEXT.splitlines(), strict=False)
    )
    assert refused(tmp_path, text) == ["constants.energy_pj.value: want [value, source, where], found 3"]
