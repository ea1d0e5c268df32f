"""The file of constants of streams and of attention: what is shipped, and what is refused."""

import pytest

from rooflint.base.errors import InputError, RooflintError
from rooflint.devices.registry import PACKAGED, Registry
from rooflint.kernels.constants import silicon_file
from rooflint.kernels.op_constants import FILE, GROUPS, names, ops_file, read

TEXT = (PACKAGED / FILE).read_text(encoding="utf-8")


@pytest.mark.parametrize("group", GROUPS)
def test_every_shipped_constant_says_what_it_is_and_where_it_comes_from(group):
    shipped = ops_file(Registry())
    assert set(shipped.specs(group)) == set(names(group))
    for name, constant in shipped.specs(group).items():
        assert constant.meaning.endswith(".")
        assert shipped.fact(group, name).source.grade == "estimate"  # fitted or chosen, read nowhere
        assert bool(constant.folds) == (constant.found == "fitted"), name


def test_shares_are_shares():
    constants = ops_file(Registry()).constants
    assert 0 < constants.stream.dram_efficiency < 1
    assert 0 < constants.prefill.matrix_efficiency < 1
    assert 0 <= constants.prefill.sync_block <= 1


def test_a_root_of_ones_own_goes_before_the_packaged_one(tmp_path):
    (tmp_path / FILE).write_text(TEXT.replace("rows_per_family: ", "rows_per_family: 9"), encoding="utf-8")
    assert ops_file(Registry((tmp_path, PACKAGED))).file == tmp_path / FILE
    with pytest.raises(RooflintError, match=r"no silicon_ops\.yaml in "):
        ops_file(Registry((tmp_path / "none",)))


def test_a_misspelt_constant_is_refused_with_the_one_that_is_missing(tmp_path):
    file = tmp_path / FILE
    file.write_text(TEXT.replace("  matrix_efficiency:", "  matrixefficiency:"), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read(file, silicon_file(Registry()))
    (problem,) = caught.value.problems
    assert problem.line == 1 + TEXT.splitlines().index("prefill:")
    wanted = "prefill.matrix_efficiency: is missing; unknown constant 'matrixefficiency' (known: m"
    assert problem.message.startswith(wanted)


def test_constants_that_have_not_seen_a_family_are_those_of_its_folds():
    file = ops_file(Registry())
    unseen = file.without("ada")
    assert unseen.decode.block_clocks == file.specs("decode")["block_clocks"].folds["ada"]
    assert unseen.products == silicon_file(Registry()).without("ada")
    assert unseen.prefill.sync_block == file.constants.prefill.sync_block  # chosen, not fitted
