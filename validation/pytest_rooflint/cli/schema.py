"""`rooflint schema`: JSON Schemas of spec and golden files, so that editors complete the YAML, and of JSON answers."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

import pytest_rooflint
import rooflint
from pytest_rooflint.cli.calibrate_power import PowerCalibrationRecord
from pytest_rooflint.golden import kinds
from pytest_rooflint.golden.schema import CommonSpec, GoldenSpec
from pytest_rooflint.measuring.comparison import CalibrationRecord as MeasureCalibrationRecord
from pytest_rooflint.measuring.comparison import ComparisonRecord
from rooflint.answers.analyze import AnalyzeRecord
from rooflint.answers.compare import CompareRecord
from rooflint.answers.explain_gemm import GemmRecord
from rooflint.answers.models import ModelsRecord
from rooflint.answers.sweep import SweepRecord
from rooflint.answers.tdp_estimate import TdpEstimateRecord
from rooflint.answers.tdp_registry import TdpRegistryRecord
from rooflint.base.errors import shown
from rooflint.base.files import write_whole
from rooflint.coefficients.schema import CircuitsSpec, EventsSpec, LaunchesSpec, MemoryEnergySpec, ProcessSpec
from rooflint.cost.schema import GridSpec, PricesSpec
from rooflint.devices.schema import ArchitectureSpec, HardwareSpec
from rooflint.kernels.constants import SiliconOpsSpec, SiliconSpec
from rooflint.kernels.device_calibration import DeviceCalibrationSpec
from rooflint_calibration.device_answer import DeviceCalibrationRecord
from rooflint_calibration.published import PublishedSpec
from rooflint_calibration.regressions_answer import RegressionsRecord
from rooflint_report.evidence import Evidence

app = typer.Typer(add_completion=False)

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def schemas() -> dict[Path, dict[str, Any]]:
    """Every exported schema by its committed file."""
    model = Path(rooflint.__file__).parent / "schemas"
    harness = Path(pytest_rooflint.__file__).parent / "schemas"
    return {
        model / "hardware.json": {"$schema": _DRAFT, **HardwareSpec.model_json_schema()},
        model / "architecture.json": {"$schema": _DRAFT, **ArchitectureSpec.model_json_schema()},
        model / "process.json": {"$schema": _DRAFT, **ProcessSpec.model_json_schema()},
        model / "memory.json": {"$schema": _DRAFT, **MemoryEnergySpec.model_json_schema()},
        model / "circuits.json": {"$schema": _DRAFT, **CircuitsSpec.model_json_schema()},
        model / "events.json": {"$schema": _DRAFT, **EventsSpec.model_json_schema()},
        model / "launches.json": {"$schema": _DRAFT, **LaunchesSpec.model_json_schema()},
        model / "silicon.json": {"$schema": _DRAFT, **SiliconSpec.model_json_schema()},
        model / "silicon_ops.json": {"$schema": _DRAFT, **SiliconOpsSpec.model_json_schema()},
        model / "device_calibration.json": {"$schema": _DRAFT, **DeviceCalibrationSpec.model_json_schema()},
        model / "prices.json": {"$schema": _DRAFT, **PricesSpec.model_json_schema()},
        model / "grid.json": {"$schema": _DRAFT, **GridSpec.model_json_schema()},
        model / "compare.json": {"$schema": _DRAFT, **CompareRecord.model_json_schema()},
        model / "analyze.json": {"$schema": _DRAFT, **AnalyzeRecord.model_json_schema()},
        model / "models.json": {"$schema": _DRAFT, **ModelsRecord.model_json_schema()},
        model / "sweep.json": {"$schema": _DRAFT, **SweepRecord.model_json_schema()},
        model / "tdp_estimate.json": {"$schema": _DRAFT, **TdpEstimateRecord.model_json_schema()},
        model / "tdp_registry.json": {"$schema": _DRAFT, **TdpRegistryRecord.model_json_schema()},
        harness / "calibration.json": {"$schema": _DRAFT, **PowerCalibrationRecord.model_json_schema()},
        harness / "calibrate_device.json": {"$schema": _DRAFT, **DeviceCalibrationRecord.model_json_schema()},
        model / "explain_gemm.json": {"$schema": _DRAFT, **GemmRecord.model_json_schema()},
        harness / "golden.json": {"$schema": _DRAFT, **_golden()},
        harness / "calibrate_regressions.json": {"$schema": _DRAFT, **RegressionsRecord.model_json_schema()},
        harness / "evidence.json": {"$schema": _DRAFT, **Evidence.model_json_schema()},
        harness / "published.json": {"$schema": _DRAFT, **PublishedSpec.model_json_schema()},
        harness / "measure_compare.json": {"$schema": _DRAFT, **ComparisonRecord.model_json_schema()},
        harness / "measure_calibrate.json": {"$schema": _DRAFT, **MeasureCalibrationRecord.model_json_schema()},
    }


def _golden() -> dict[str, Any]:
    schema = GoldenSpec.model_json_schema()
    common = CommonSpec.model_json_schema()
    schema["$defs"] = {**schema.get("$defs", {}), **common.pop("$defs", {})}
    schema["properties"]["claims"]["items"] = {"oneOf": [_claim(kinds.kind(name), common) for name in kinds.names()]}
    return schema


def _claim(kind: kinds.Kind, common: dict[str, Any]) -> dict[str, Any]:
    subject = {"type": "string", "description": kind.says}
    return {
        "type": "object",
        "title": kind.name,
        "properties": {kind.name: subject, **common["properties"], **kind.options},
        "required": [kind.name],
        "additionalProperties": False,
    }


@app.command()
def schema(
    check: Annotated[
        bool, typer.Option("--check", help="Only compare with the committed files; status 1 if they differ.")
    ] = False,
) -> None:
    """Export the JSON Schemas of spec and golden files."""
    stale = []
    for file, content in schemas().items():
        text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        if file.is_file() and file.read_text(encoding="utf-8") == text:
            continue
        stale.append(file)
        if not check:
            write_whole(file, text)
    for file in stale:
        typer.echo(f"{shown(file)}  {'differs from the models; run: rooflint schema' if check else 'written'}")
    raise typer.Exit(1 if check and stale else 0)
