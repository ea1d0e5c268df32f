"""A suite: which files are its own, how they are read, and what they would say with another text."""

import random
from pathlib import Path

import pytest

from pytest_rooflint.golden.kinds import packages
from pytest_rooflint.suite import suite as module
from pytest_rooflint.suite import world
from pytest_rooflint.suite.suite import Suite
from rooflint.base.errors import InputError, RooflintError
from rooflint.base.parsed import Parsed
from rooflint.hardware.registry import PACKAGED

ROOT = Path(__file__).parents[3]


def test_without_configured_specs_all_devices_are_there_and_none_needs_a_claim(tiny):
    suite = Suite.of([ROOT / "golden/peaks/seed"], [])
    assert (suite.spec_roots, suite.devices()) == ((), [])
    assert {one.id for one in suite.readable()} == set(suite.registry.files)
    assert [one.id for one in suite.reported()] == ["seed/tpu-edge-pro"]
    assert world.problems(suite) == []


def test_the_packaged_specs_need_claims_where_the_project_names_them():
    suite = Suite.of([ROOT / "golden/peaks/seed"], [PACKAGED])
    missing = [str(problem) for problem in world.problems(suite)]
    assert any("nvidia/t4 has no claim" in one for one in missing)
    assert not any("seed/tpu-edge-pro has no claim" in one for one in missing)


def test_a_spec_is_the_users_own_only_in_the_configured_folders(tiny):
    suite = tiny.suite()
    own, shipped = (suite.registry.get(name).file for name in ("acme/x1", "nvidia/t4"))
    assert (suite.is_own(own), suite.is_own(shipped)) == (True, False)
    assert Suite.of([], [PACKAGED]).is_own(shipped)


def test_golden_folders_within_those_of_the_project_are_a_part_of_it(tiny):
    other = tiny.write("golden/part/x1.yaml", tiny.read("golden/x1.yaml"))
    outside = tiny.write("elsewhere/x1.yaml", tiny.read("golden/x1.yaml"))
    whole, part = Suite.of_project(), Suite.of_project([Path("golden/part")])
    assert (part.golden_roots, part.part) == (whole.golden_roots, (other.parent.resolve(),))
    assert part.files == (other.resolve(),)
    assert set(whole.files) == {other.resolve(), (tiny.root / "golden/x1.yaml").resolve()}
    assert part.options == ()  # a rerun finds the file without them
    alone = Suite.of_project([Path("elsewhere")])
    assert (alone.golden_roots, alone.part, alone.files) == ((outside.parent.resolve(),), (), (outside.resolve(),))


def test_a_file_is_read_once_and_refused_with_the_same_words(tiny):
    file = tiny.write("golden/broken.yaml", "claims: [\n")
    suite = tiny.suite()
    with pytest.raises(InputError) as first:
        suite.read(file)
    file.unlink()
    with pytest.raises(InputError) as second:
        suite.read(file)
    assert first.value is second.value


def test_yaml_below_a_golden_folder_is_ours_and_nothing_else(tiny):
    suite = tiny.suite()
    assert suite.owns(tiny.root / "golden/x1.yaml")
    assert suite.owns(tiny.root / "golden/deep/er/x1.yml")
    assert not suite.owns(tiny.root / "specs/hardware/acme/x1.yaml")
    assert not suite.owns(tiny.root / "golden/test_x.py")
    assert not suite.owns(tiny.root / "golden2/x1.yaml")


def test_an_own_device_comes_before_the_packaged_one_of_that_id(tiny):
    tiny.write("specs/hardware/nvidia/t4.yaml", tiny.read("specs/hardware/acme/x1.yaml"))
    assert tiny.suite().registry.get("nvidia/t4").name == "Acme X1"


def test_a_suite_with_another_text_reads_it_and_leaves_the_file(tiny):
    suite = tiny.suite()
    file = tiny.root / "golden/x1.yaml"
    other = suite.with_text(file, tiny.read("golden/x1.yaml").replace("expect: 4}", "expect: 5}", 1))
    ids = [claim.id for claim in suite.read(file).claims]
    place = ids.index("count-core")
    assert (suite.read(file).claims[place].expectation.value, other.read(file).claims[place].expectation.value) == (
        4,
        5,
    )
    assert other.text(file) != suite.text(file) == tiny.read("golden/x1.yaml")


def test_a_device_is_read_anew_where_its_own_file_or_its_architecture_says_something_else(acme):
    suite = acme.suite()
    for name, unit, old, new in (
        ("architectures/acme/a1.yaml", "int8", "1024 MAC", "2048 MAC"),
        ("hardware/acme/k1.yaml", "int8", "clock: [1000 MHz", "clock: [2000 MHz"),
    ):
        file = next(iter((acme.root / "specs").resolve().glob(name)))
        peak = suite.registry.get("acme/k1").unit("mac_array").peak_ops_per_s(unit)
        other = suite.with_text(file, suite.text(file).replace(old, new, 1))
        assert other.registry.get("acme/k1").unit("mac_array").peak_ops_per_s(unit) == 2 * peak
        assert suite.registry.get("acme/k1").unit("mac_array").peak_ops_per_s(unit) == peak


def test_a_text_that_is_no_spec_is_refused_as_a_file_would_be(acme):
    file = (acme.root / "specs/hardware/acme/k1.yaml").resolve()
    other = acme.suite().with_text(file, "name: [\n")
    with pytest.raises(InputError, match=r"k1\.yaml:2  is not YAML"):
        other.registry.get("acme/k1")


def test_only_what_rests_on_changed_files_is_read_again(acme):
    acme.write(
        "specs/hardware/acme/k2.yaml", acme.read("specs/hardware/acme/k1.yaml").replace("architecture: acme/a1\n", "")
    )
    acme.write("golden/one.yaml", "hardware: acme/k1\nclaims: []\n")
    before = acme.suite()
    devices = {device: before.registry.get(device) for device in ("acme/k1", "nvidia/t4")}
    acme.edit("specs/architectures/acme/a1.yaml", "int8: [1024 MAC", "int8: [2048 MAC")
    now = before.reread({acme.root.resolve() / "specs/architectures/acme/a1.yaml"})
    assert now.registry.get("nvidia/t4") is devices["nvidia/t4"]
    old, new = (
        one.unit("mac_array").peak_ops_per_s("int8") for one in (devices["acme/k1"], now.registry.get("acme/k1"))
    )
    assert new == 2 * old


def test_golden_files_may_come_change_and_go(tiny):
    suite = tiny.suite()
    count = len(suite.claims())
    first = suite.claims()[0]
    other = tiny.write("golden/other.yaml", tiny.read("golden/x1.yaml"))
    more = suite.reread({other})
    assert (len(more.claims()), more.claims()[0]) == (2 * count, next(c for c in more.claims() if c.file == other))
    assert any(claim is first for claim in more.claims())
    other.unlink()
    assert len(more.reread({other}).claims()) == count


def test_the_folders_of_a_project_are_those_it_names_or_those_given(tiny):
    suite = Suite.of_project()
    assert (suite.golden_roots, suite.spec_roots) == ((tiny.root / "golden",), (tiny.root / "specs",))
    assert suite.options == ()
    given = Suite.of_project([Path("golden")], [Path("specs")])
    assert (given.golden_roots, given.options) == (
        suite.golden_roots,
        ("--rooflint-golden=golden", "--rooflint-specs=specs"),
    )
    tiny.write("pyproject.toml", "[tool.pytest.ini_options]\n")
    with pytest.raises(RooflintError, match="no golden folder: write rooflint_golden"):
        Suite.of_project()


# ---- golden files that an earlier process read


@pytest.mark.slow
def test_a_golden_file_that_was_kept_is_the_one_that_its_text_states(tmp_path, monkeypatch):
    root = Path(__file__).parents[3] / "golden"
    parsed, plain = Parsed(tmp_path, packages()), Suite.of([root], [])
    sample = random.Random(15).sample(plain.files, 25)
    for file in sample:
        Suite.of([root], [], parsed=parsed).read(file)
    golden = {file: plain.read(file) for file in sample}
    monkeypatch.setattr(module, "load", None)  # nothing is parsed from here on
    assert {file: Suite.of([root], [], parsed=parsed).read(file) for file in sample} == golden


def test_a_kept_golden_file_is_refused_once_a_file_that_it_needs_is_gone(tiny, tmp_path):
    table = tiny.write("gpus.csv", "device,bf16_tflops\nH100 SXM5,989\n")
    file = tiny.write("golden/t.yaml", "source: {document: D, grade: read}\nclaims:\n  - {audit: ../gpus.csv}\n")
    parsed = Parsed(tmp_path / "kept", packages())

    def read():
        return Suite.of([tiny.root / "golden"], [tiny.root / "specs"], parsed=parsed).read(file)

    assert read() == read()
    table.unlink()
    with pytest.raises(InputError, match="found no file at"):
        read()


def test_a_text_in_place_of_a_golden_file_is_not_kept(tiny, tmp_path):
    suite = Suite.of([tiny.root / "golden"], [tiny.root / "specs"], parsed=Parsed(tmp_path / "kept", packages()))
    file = tiny.root / "golden/x1.yaml"
    suite.with_text(file, suite.text(file)).read(file)
    assert not (tmp_path / "kept").exists()
    suite.read(file)
    assert (tmp_path / "kept").exists()
