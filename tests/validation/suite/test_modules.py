"""Which modules a module may import, and what changes with them."""

from types import SimpleNamespace

import pytest

from pytest_rooflint.suite import modules
from pytest_rooflint.suite.modules import ALL, Modules


@pytest.fixture
def package(tmp_path, monkeypatch):
    """`package(name=source)`: our modules are these."""

    def written(**sources):
        found = Modules()
        for name, source in sources.items():
            dotted = name.replace("_in_", ".")
            file = tmp_path / f"{name}.py"
            file.write_text(source, encoding="utf-8")
            found.__dict__.setdefault("files", {})[dotted] = file
        return found

    return written


def test_imports_are_followed_also_those_inside_functions(package):
    found = package(
        p="",
        p_in_a="from p.b import something\n",
        p_in_b="def later():\n    import p.c\n",
        p_in_c="import json\n",
        p_in_d="from p import a\n",
    )
    assert found.closure("p.a") == {"p", "p.a", "p.b", "p.c"}
    assert found.closure("p.c") == {"p", "p.c"}
    assert found.closure("p.d") == {"p", "p.a", "p.b", "p.c", "p.d"}
    assert found.closure("json") == frozenset()


def test_what_only_a_type_checker_imports_does_not_count(package):
    code = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import p.b\nelse:\n    import p.c\n"
    assert package(p="", p_in_a=code, p_in_b="", p_in_c="").closure("p.a") == {"p", "p.a", "p.c"}


@pytest.mark.parametrize("line", ["import p", "from p import anything"])
def test_a_package_that_imports_by_computed_names_may_import_all_below_it(package, line):
    lazy = "from importlib import import_module\ndef __getattr__(name): return import_module(NAMES[name])\n"
    assert package(p=lazy, p_in_a="", p_in_b="", q=line).closure("q") == {"p", "p.a", "p.b", "q"}
    assert package(p=lazy, p_in_a="", p_in_b="", q="import p.a").closure("q") == {"p", "p.a", "q"}


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("import a.b, c", ["a.b", "c"]),
        ("from a.b import c as d, e", ["a.b.c", "a.b.e"]),
        ("from . import c", ["p.c"]),
        ("from .q import c", ["p.q.c"]),
        ("import importlib\nimportlib.import_module('a.b')", ["importlib", "a.b"]),
        ("__import__(name)", [ALL]),
    ],
)
def test_every_way_to_import_is_read(tmp_path, code, names):
    file = tmp_path / "m.py"
    file.write_text(code, encoding="utf-8")
    assert sorted(modules._imports(file, "p.m")) == sorted(names)


def test_a_digest_changes_with_a_module_below_and_with_no_other(package):
    sources = {"p": "", "p_in_a": "import p.b\n", "p_in_b": "", "p_in_c": ""}
    before = package(**sources).digest("p.a")
    assert package(**{**sources, "p_in_b": "x = 1\n"}).digest("p.a") != before
    assert package(**{**sources, "p_in_c": "x = 1\n"}).digest("p.a") == before


def test_a_digest_changes_with_a_library_that_we_require(package, monkeypatch):
    before = package(p="").digest("p")
    assert any(name.startswith("numpy ") for name in Modules().libraries)
    plain = modules.version
    monkeypatch.setattr(modules, "version", lambda name: "0.0" if name == "numpy" else plain(name))
    assert package(p="").digest("p") != before


@pytest.fixture
def acme_kind(tmp_path, monkeypatch):
    """`acme_kind(source)`: a kind of another package, which imports a model beside it with that source, and YAML."""
    entry = SimpleNamespace(module="acme_claims.kinds", dist=None)
    monkeypatch.setattr(modules, "entry_points", lambda group: [entry])
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("acme_claims", "acme_model"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    code = "import json, acme_missing\nfrom acme_model import area\nfrom yaml import safe_load\n"
    (tmp_path / "acme_claims" / "kinds.py").write_text(code, encoding="utf-8")
    (tmp_path / "acme_claims" / "template.py").write_text("not {{ python", encoding="utf-8")

    def written(source):
        (tmp_path / "acme_model" / "area.py").write_text(source, encoding="utf-8")
        return Modules()

    return written


@pytest.mark.slow
def test_a_package_that_another_package_s_kind_imports_is_known_by_its_files(acme_kind):
    found = acme_kind("x = 1\n")
    everything = found.everything()
    assert {"acme_claims.kinds", "acme_model.area"} <= found.closure("acme_claims.kinds")
    assert acme_kind("x = 2\n").digest("acme_claims.kinds") != found.digest("acme_claims.kinds")
    assert acme_kind("x = 2\n").everything() != everything
    assert acme_kind("x = 1\n").digest("rooflint.base.units") == found.digest("rooflint.base.units")


def test_an_installed_package_that_such_a_kind_imports_is_known_by_its_version(acme_kind, monkeypatch):
    monkeypatch.setattr(modules, "requires", lambda name: [])
    found = acme_kind("")
    assert [one.partition(" ")[0] for one in found.libraries[1:]] == ["PyYAML"]
    assert not any(name.startswith("yaml") for name in found.files)


def test_all_our_packages_are_known():
    some = {"rooflint", "rooflint.base.units", "pytest_rooflint.claims.memory", "rooflint_report.evidence"}
    assert some <= Modules().files.keys()


def test_a_kind_imports_what_it_judges_with_and_not_all():
    found = Modules()
    memory = found.closure("pytest_rooflint.claims.memory")
    assert {"rooflint.hardware.device", "rooflint.base.units", "pytest_rooflint.golden.kinds"} <= memory
    assert not {"rooflint.prediction.predict", "pytest_rooflint.evidence.build", "rooflint.api.devices"} & memory
    assert "rooflint.prediction.predict" in found.closure("pytest_rooflint.claims.latency")
