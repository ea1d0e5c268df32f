"""Figures from golden files: printed, disputed, known errors."""

from pytest_rooflint.audit.published import published, shipped
from rooflint.hardware.registry import Registry

REGISTRY = Registry()


def test_published_figures_tell_vendors_from_others():
    known = published((), REGISTRY)
    l40s = [one for one in known.printed["nvidia/l40s"] if one.dispute]
    assert any(one.precision == "fp16" for one in l40s)
    assert all(one.dispute for figures in known.refuted.values() for one in figures)
    assert not any(one.printed.startswith("NVIDIA") for one in known.refuted.get("nvidia/h100-sxm5-80gb", ()))


def test_golden_files_that_come_with_the_package_are_found():
    assert list(shipped().rglob("*.yaml"))
