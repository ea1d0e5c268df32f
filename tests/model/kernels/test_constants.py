"""The files of constants: what is shipped, and what is refused."""

import re
from pathlib import Path

import pytest

from rooflint.base.errors import InputError, RooflintError
from rooflint.hardware.registry import PACKAGED, Registry
from rooflint.kernels.constants import FILES, GROUPS, PRODUCTS, constants_file, names, read

SHIPPED = constants_file(Registry())


def text(file):
    return (PACKAGED / file).read_text(encoding="utf-8")


def refused(tmp_path, file, changed):
    path = tmp_path / file
    path.write_text(changed, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read(path)
    (problem,) = caught.value.problems
    return problem


@pytest.mark.parametrize("group", GROUPS)
def test_every_shipped_constant_says_what_it_is_and_where_it_comes_from(group):
    assert set(SHIPPED.specs(group)) == set(names(group))
    for name, constant in SHIPPED.specs(group).items():
        assert constant.meaning.endswith(".")
        assert SHIPPED.fact(group, name).source.grade == "estimate"  # fitted or chosen, read nowhere
        assert bool(constant.folds) == (constant.found == "fitted"), name


def test_shares_are_shares():
    constants = SHIPPED.constants
    assert 0 < constants.products.matrix_efficiency <= 1
    assert 0 < constants.products.dram_efficiency < 1
    assert constants.products.overlap >= 1
    assert constants.products.l2_ratio >= 1
    assert 0 < constants.stream.dram_efficiency < 1
    assert 0 < constants.prefill.matrix_efficiency < 1
    assert 0 <= constants.prefill.sync_block <= 1
    assert 0 < constants.quantised.energy_share < 1
    assert 0 < constants.quantised.int8_energy_share < 1
    assert 0 < constants.cores.transform_bytes < 1


@pytest.mark.parametrize("file", FILES)
def test_a_root_of_ones_own_goes_before_the_packaged_one(tmp_path, file):
    (tmp_path / file).write_text(text(file).replace("rows_per_family: ", "rows_per_family: 9"), encoding="utf-8")
    own = constants_file(Registry((tmp_path, PACKAGED)))
    assert [own.files[name].path.parent for name in FILES] == [tmp_path if name == file else PACKAGED for name in FILES]
    assert own.files[file].spec.fit.rows_per_family > SHIPPED.files[file].spec.fit.rows_per_family


def test_a_root_without_the_files_is_refused(tmp_path):
    with pytest.raises(RooflintError, match=r"no silicon\.yaml in "):
        constants_file(Registry((tmp_path / "none",)))


@pytest.mark.parametrize(
    ("group", "name", "misspelt"),
    [
        ("products", "overlap", "overlapp"),
        ("prefill", "matrix_efficiency", "matrixefficiency"),
        ("cores", "other_instructions", "other_things"),
    ],
)
def test_a_misspelt_constant_is_refused_with_the_one_that_is_missing(tmp_path, group, name, misspelt):
    _, file, key = GROUPS[group]
    shipped = text(file)
    problem = refused(tmp_path, file, shipped.replace(f"  {name}:", f"  {misspelt}:"))
    assert problem.line == 1 + shipped.splitlines().index(f"{key}:")
    wanted = f"{key}.{name}: is missing; unknown constant '{misspelt}' (known: {', '.join(names(group))})"
    assert problem.message == wanted


def test_a_bare_number_is_refused(tmp_path):
    lines = text(PRODUCTS).splitlines()
    bare = "\n".join(
        "    value: 3" if line.startswith("    value:") and before.startswith("    unit: pJ") else line
        for before, line in zip(["", *lines], lines, strict=False)
    )
    message = refused(tmp_path, PRODUCTS, bare).message
    assert message == "constants.energy_pj.value: want [value, source, where], found 3"


def test_constants_that_have_not_seen_a_family_are_those_of_its_folds():
    unseen = SHIPPED.without("ada")
    assert unseen.products.start_clocks == SHIPPED.specs("products")["start_clocks"].folds["ada"]
    assert unseen.decode.block_clocks == SHIPPED.specs("decode")["block_clocks"].folds["ada"]
    assert unseen.cores.energy_pj == SHIPPED.specs("cores")["energy_pj"].folds["ada"]
    assert unseen.prefill.sync_block == SHIPPED.constants.prefill.sync_block  # chosen, not fitted


def test_a_family_is_left_out_of_the_groups_that_are_asked():
    unseen = SHIPPED.without("volta", ["cores"])
    assert unseen.cores != SHIPPED.constants.cores
    assert unseen.products == SHIPPED.constants.products


def test_a_family_that_no_fit_has_seen_changes_nothing():
    assert SHIPPED.without("unknown") == SHIPPED.constants
    assert set(SHIPPED.families("cores")) >= {"volta", "turing", "pascal"}
    assert set(SHIPPED.families()) == {"ampere", "hopper", "ada", "blackwell", "rtx_pro"}


def test_the_page_counts_the_constants_of_every_group():
    text = (Path(__file__).parents[3] / "docs/method-silicon.md").read_text(encoding="utf-8")
    counted = dict(re.findall(r"^\| (\w+) \| (\d+ \| \d+) \|", text, re.MULTILINE))
    found = {group: [one.found for one in SHIPPED.specs(group).values()] for group in GROUPS}
    for group, kinds in found.items():
        assert counted[group] == f"{kinds.count('fitted')} | {kinds.count('chosen')}", group
    every = [kind for kinds in found.values() for kind in kinds]
    assert counted["all"] == f"{every.count('fitted')} | {every.count('chosen')}"
