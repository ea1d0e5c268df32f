"""What is kept between runs."""

from pytest_rooflint.suite import store


def test_digests_are_of_files_that_claims_read(small):
    (small.root / "golden/README.md").write_text("# Claims\n", encoding="utf-8")
    names = set(store.digests([small.root / "golden", small.root / "specs"]))
    assert names == {"golden/x1.yaml", "specs/hardware/acme/x1.yaml"}


def test_what_is_kept_is_none_of_gits_business(tmp_path):
    file = tmp_path / ".rooflint" / "check.json"
    assert store.kept(file) == ""
    store.keep(file, "{}")
    assert store.kept(file) == "{}"
    assert (file.parent / ".gitignore").read_text(encoding="utf-8") == "*\n"
    file.write_bytes(b"\xff")
    assert store.kept(file) == ""
