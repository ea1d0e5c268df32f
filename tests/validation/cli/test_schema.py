"""`rooflint schema`: what an editor checks is what the loader checks, and the committed files are no older."""

import json
from pathlib import Path

import jsonschema
import pytest
import typer

import pytest_rooflint
import rooflint
from pytest_rooflint.cli.schema import schema, schemas
from pytest_rooflint.golden import read as golden_module
from pytest_rooflint.suite import world
from rooflint.base import strict_yaml
from rooflint_calibration import generations, powers, trainings
from rooflint_calibration.networks import FOLDER
from rooflint_calibration.package import PUBLISHED

ROOT = Path(__file__).parents[3]
SPECS = ROOT / "model" / "rooflint" / "specs"
TINY = Path(__file__).parents[1] / "tiny"
HEAD = "hardware: acme/x1\nsource: {document: Product page, where: specifications, grade: read}\nclaims:\n"


@pytest.fixture(scope="module")
def validators():
    """Each exported schema by its name."""
    found = {file.stem: content for file, content in schemas().items()}
    return {name: jsonschema.Draft202012Validator(content) for name, content in found.items()}


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """Both packages elsewhere, so that exporting writes no file of ours."""
    for package in (rooflint, pytest_rooflint):
        monkeypatch.setattr(package, "__file__", str(tmp_path / package.__name__ / "__init__.py"))
    return tmp_path


def status(check):
    with pytest.raises(typer.Exit) as ended:
        schema(check=check)
    return ended.value.exit_code


def errors(validator, file):
    return [error.message for error in validator.iter_errors(strict_yaml.load(file).data)]


# ---- the files


@pytest.mark.slow
def test_the_export_is_a_schema_of_the_draft_that_it_names(validators):
    model = {
        "hardware",
        "architecture",
        "process",
        "memory",
        "events",
        "circuits",
        "launches",
        "prices",
        "grid",
        "network",
        "system",
        "silicon",
        "silicon_ops",
        "device_calibration",
    }
    answers = {
        "compare",
        "analyze",
        "models",
        "sweep",
        "tdp_estimate",
        "tdp_registry",
        "explain_attention",
        "explain_collective",
        "explain_gemm",
        "explain_layer",
        "explore",
        "generate",
        "generate-sweep",
        "train",
    }
    measured = {"measure_compare", "measure_calibrate"}
    assert set(validators) == {
        *model,
        *answers,
        *measured,
        "evidence",
        "golden",
        "published",
        "networks",
        "generations",
        "trainings",
        "powers",
        "calibration",
        "calibrate_device",
        "calibrate_regressions",
    }
    for validator in validators.values():
        assert validator.schema["$schema"].endswith("2020-12/schema")
        validator.check_schema(validator.schema)


@pytest.mark.slow
def test_the_committed_schemas_are_those_of_the_models(capsys):
    assert status(check=True) == 0, capsys.readouterr().out


@pytest.mark.slow
def test_a_check_finds_a_missing_a_stale_and_a_fresh_schema(copied, capsys):
    assert status(check=True) == 1
    assert capsys.readouterr().out.count("differs from the models; run: rooflint schema") == 40
    assert list(copied.iterdir()) == []  # a check writes nothing
    assert status(check=False) == 0
    assert status(check=True) == 0
    capsys.readouterr()
    file = copied / "rooflint" / "schemas" / "hardware.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    content["properties"]["tpd"] = content["properties"].pop("tdp")
    file.write_text(json.dumps(content), encoding="utf-8")
    assert status(check=True) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert "hardware.json  differs from the models" in line


@pytest.mark.slow
def test_an_export_mends_a_stale_schema_and_leaves_a_fresh_one(copied, capsys):
    status(check=False)
    fresh, stale = (copied / part for part in ("rooflint/schemas/hardware.json", "pytest_rooflint/schemas/golden.json"))
    before = fresh.stat().st_mtime_ns
    stale.write_text("{}", encoding="utf-8")
    capsys.readouterr()
    assert status(check=False) == 0
    assert capsys.readouterr().out.split()[0].endswith("golden.json")
    assert fresh.stat().st_mtime_ns == before
    assert status(check=True) == 0
    assert sorted(file.name for file in fresh.parent.iterdir()) == [
        "analyze.json",
        "architecture.json",
        "circuits.json",
        "compare.json",
        "device_calibration.json",
        "events.json",
        "explain_attention.json",
        "explain_collective.json",
        "explain_gemm.json",
        "explain_layer.json",
        "explore.json",
        "generate-sweep.json",
        "generate.json",
        "grid.json",
        "hardware.json",
        "launches.json",
        "memory.json",
        "models.json",
        "network.json",
        "prices.json",
        "process.json",
        "silicon.json",
        "silicon_ops.json",
        "sweep.json",
        "system.json",
        "tdp_estimate.json",
        "tdp_registry.json",
        "train.json",
    ]


# ---- what they accept


@pytest.mark.slow
@pytest.mark.parametrize("part", ["hardware", "architectures", "process", "memory"])
def test_every_shipped_spec_validates(validators, part):
    validator = validators["architecture" if part == "architectures" else part]
    files = [*(SPECS / part).rglob("*.yaml"), *(TINY / "specs" / part).rglob("*.yaml")]
    assert len(files) > 10
    assert {file.name: found for file in files if (found := errors(validator, file))} == {}


@pytest.mark.slow
@pytest.mark.parametrize("part", ["prices", "grid"])
def test_every_shipped_file_of_money_and_carbon_validates(validators, part):
    files = list((SPECS / part).rglob("*.yaml"))
    assert len(files) > 3
    assert {file.name: found for file in files if (found := errors(validators[part], file))} == {}


@pytest.mark.slow
def test_the_shipped_events_validate(validators):
    found = {file.stem: errors(validators["events"], file) for file in (SPECS / "events").glob("*.yaml")}
    assert found == {"cpu": [], "gpu": [], "kpu": [], "npu": [], "tpu": []}


@pytest.mark.parametrize("name", ["circuits", "launches"])
def test_the_shipped_single_files_validate(validators, name):
    assert errors(validators[name], SPECS / f"{name}.yaml") == []


@pytest.mark.slow
def test_every_shipped_golden_file_validates(validators):
    tables = set((ROOT / "golden" / PUBLISHED).glob("*.yaml"))
    networks = set((ROOT / "golden" / FOLDER).glob("*.yaml"))
    written = set((ROOT / "golden" / generations.FOLDER).glob("*.yaml"))
    trained = set((ROOT / "golden" / trainings.FOLDER).glob("*.yaml"))
    powered = set((ROOT / "golden" / powers.FOLDER).glob("*.yaml"))
    shipped = {*(ROOT / "golden").rglob("*.yaml"), *(TINY / "golden").rglob("*.yaml")}
    files = shipped - tables - networks - written - trained - powered
    assert len(files) > 5
    assert {file.name: found for file in files if (found := errors(validators["golden"], file))} == {}
    assert {file.name: found for file in powered if (found := errors(validators["powers"], file))} == {}
    assert {file.name: found for file in tables if (found := errors(validators["published"], file))} == {}
    assert {file.name: found for file in networks if (found := errors(validators["networks"], file))} == {}
    assert {file.name: found for file in written if (found := errors(validators["generations"], file))} == {}
    assert {file.name: found for file in trained if (found := errors(validators["trainings"], file))} == {}


# ---- what they refuse, as the loader does


@pytest.mark.parametrize(
    "claim",
    [
        "peek: a int8, expect: 1.00 TOP/s",
        "peak: a int8, sparce: true, expect: 1.00 TOP/s",
        "peak: a int8, count: a, expect: 1",
        "peak: a int8, sparse: maybe, expect: 1.00 TOP/s",
        "count: a, expect: 1, rounding: up",
        "count: a, expect: 1, xfail: {reason: r}",
        "count: a, expect: 1, xfail: {reason: r, until: 2099-01-01, who: me}",
        "count: a, expect: 1, source: {document: D, grade: read}",
        "count: a, expect: [1]",
        "count: a, expect: true",
        "bound: acme/x1, is: cpu, compute: int8",
        "expect: 1",
    ],
)
def test_a_claim_that_the_loader_refuses_is_underlined_in_an_editor(validators, tmp_path, claim):
    file = tmp_path / "x.yaml"
    file.write_text(f"{HEAD}  - {{{claim}}}\n", encoding="utf-8")
    with pytest.raises(golden_module.InputError):
        golden_module.load(file)
    assert errors(validators["golden"], file) != []


@pytest.mark.slow
@pytest.mark.parametrize(
    "claim",
    [
        "peak: a int8, expect: 170 TOP/s / 2, sparse: true, per: gcd, at: 30w, note: n",
        "count: a, expect: 132",
        "ratio: a int8 / a fp16, expect: 2.5",
        "clocks: base <= boost",
        "peak: a int8, at: {acme/x1: 30w}, expect: 1.00 TOP/s",
        "bound: acme/x1, is: memory, compute: int8, workload: {mlp: [8, 8], batch: 2}",
        "flops: all, expect: 1.00 op, workload: torchvision/resnet18",
        "count: a, expect: 1, xfail: {ratio: 2, reason: r, until: 2099-01-01}",
        "count: a, expect: 1, source: {document: D, where: p. 1, grade: read}, where: 3",
        "count: a, expect: 100 ± 5, why: because",
    ],
)
def test_a_claim_that_the_loader_reads_is_not_underlined(validators, tmp_path, claim):
    file = tmp_path / "x.yaml"
    file.write_text(f"{HEAD}  - {{{claim}}}\n", encoding="utf-8")
    assert len(golden_module.load(file).claims) == 1
    assert errors(validators["golden"], file) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tdp: [15 W, brief, p. 1]", "tdp: 15 W"),
        ("tdp: [15 W, brief, p. 1]", "tdp: [15 W, brief]"),
        ("tdp: [15 W, brief, p. 1]", "tpd: [15 W, brief, p. 1]"),
        ("kind: npu", "kind: toaster"),
        ("grade: read", "grade: certain"),
        ("group: core", "group: core\n    peak: [32 TOP/s, brief, p. 2]"),
        ("circuit: systolic_mac", "circuit: magic"),
        ("name: Acme X1\n", ""),
        ("int8: [4096 MAC", "int9: [4096 MAC"),
    ],
)
def test_a_spec_that_the_loader_refuses_is_underlined_in_an_editor(validators, tiny, old, new):
    tiny.edit("specs/hardware/acme/x1.yaml", old, new)
    assert world.problems(tiny.suite()) != []
    assert errors(validators["hardware"], tiny.root / "specs/hardware/acme/x1.yaml") != []
