"""Figures from golden files: printed, disputed, known errors."""

import pytest

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


GOLDEN = """\
hardware: acme/k1
source: {document: Acme K1 brief, where: p. 1, grade: read}
claims:
  - {peak: mac_array int8, expect: 32.77 TOP/s}
  - {peak: mac_array int8, sparse: true, expect: 66 TOP/s,
     xfail: {ratio: 0.993, reason: rounded up, until: 2027-11-30}}
  - {count: vector, expect: 128}
  - {bandwidth: hbm, expect: 256 GB/s}
  - {peak: mac_array int8, per: gcd, expect: 16.38 TOP/s}
"""
OTHERS = """\
hardware: acme/k1
source: {document: A blog on Acme K1, where: line 1, grade: read}
claims:
  - {bandwidth: hbm, expect: 250 GB/s, xfail: {ratio: 1.024, reason: who knows, open: true, until: 2027-11-30}}
  - {tdp: rated, expect: 25 W, xfail: {ratio: 0.800, reason: a slip, until: 2027-11-30}}
  - {peak: mac_array int8, sparse: true, expect: 66 TOP/s,
     xfail: {ratio: 0.993, reason: repeats the vendor, until: 2027-11-30}}
  - {peak: mac_array int8, expect: 66 TOP/s,
     xfail: {ratio: 0.4965, reason: forgets sparsity, until: 2027-11-30}}
"""


@pytest.mark.slow
def test_a_slip_of_others_is_a_known_error_unless_the_vendor_prints_it_too(acme):
    acme.write("golden/vendor.yaml", GOLDEN)
    acme.write("golden/others.yaml", OTHERS)
    known = published((acme.root / "golden",), Registry((acme.root / "specs",)))
    told = [(one.quantity, one.subject, one.sparse, one.part, one.dispute) for one in known.printed["acme/k1"]]
    assert sorted(told, key=str) == [
        ("bandwidth", "hbm", False, None, "who knows"),  # an open disagreement, whoever prints it
        ("bandwidth", "hbm", False, None, None),
        ("count", "vector", False, None, None),
        ("peak", "mac_array int8", False, "gcd", None),
        ("peak", "mac_array int8", False, None, None),
        ("peak", "mac_array int8", True, None, "rounded up"),
    ]
    # 25 W are no figure of the vendor; 66 TOP/s are one of his with sparsity, and a slip without
    assert [(one.quantity, one.value, one.dispute) for one in known.refuted["acme/k1"]] == [
        ("tdp", 25.0, "a slip"),
        ("peak", 66e12, "forgets sparsity"),
    ]
    (peak,) = [one for one in known.printed["acme/k1"] if one.part == "gcd"]
    assert (peak.unit, peak.precision, peak.printed, peak.shown()) == (
        *("mac_array", "int8", "Acme K1 brief"),
        "16.38 TOP/s",
    )
