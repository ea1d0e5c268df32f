"""Layers of files: the first root that speaks of a thing, whatever the files are called."""

import pytest

from rooflint.errors import InputError
from rooflint.prices import Prices


def test_files_of_a_root_are_its_own(economics):
    registry = economics.registry()
    assert [file.name for file in Prices(registry).files(registry.roots[0])] == ["acme.yaml"]


def test_a_root_without_the_section_has_no_files(specs):
    assert Prices(specs.registry()).devices() == []


def test_a_file_that_is_no_mapping_is_refused_with_its_place(economics):
    economics.texts["prices/acme"] = "- a\n"
    with pytest.raises(InputError, match=r"acme\.yaml:1  want a mapping of keys"):
        economics.prices().devices()


def test_a_name_that_is_no_id_is_refused(economics):
    economics.texts["prices/My Prices"] = economics.texts["prices/acme"]
    with pytest.raises(InputError, match="is not an id"):
        economics.prices().devices()
