"""`rooflint schema`: JSON Schemas of spec and golden files, so that editors complete the YAML, and of JSON answers."""

import json
from collections.abc import Mapping
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import BaseModel, RootModel

import pytest_rooflint
import rooflint
from pytest_rooflint.cli.calibrate_power import PowerCalibrationRecord
from pytest_rooflint.golden import kinds
from pytest_rooflint.golden.schema import CommonSpec, GoldenSpec
from pytest_rooflint.recordings.comparison import CalibrationRecord as MeasureCalibrationRecord
from pytest_rooflint.recordings.comparison import ComparisonRecord
from rooflint.answers import (
    analyze,
    compare,
    explain_attention,
    explain_collective,
    explain_gemm,
    explain_layer,
    explore,
    generation,
    generation_sweep,
    sweep,
    tdp_estimate,
    tdp_registry,
    training,
)
from rooflint.base.errors import shown
from rooflint.base.files import write_atomically
from rooflint.coefficients.schema import CircuitsSpec, EventsSpec, LaunchesSpec, MemoryEnergySpec, ProcessSpec
from rooflint.cost.schema import GridSpec, PricesSpec
from rooflint.hardware.schema import ArchitectureSpec, HardwareSpec, SystemSpec
from rooflint.kernels.constants import SiliconOpsSpec, SiliconSpec
from rooflint.kernels.device_calibration import DeviceCalibrationSpec
from rooflint.workloads.networks import SPECS
from rooflint_calibration.device_answer import DeviceCalibrationRecord
from rooflint_calibration.generations import GenerationTableSpec
from rooflint_calibration.networks import NetworkTableSpec
from rooflint_calibration.powers import PowerTableSpec
from rooflint_calibration.published import PublishedSpec
from rooflint_calibration.regressions import RegressionsRecord
from rooflint_calibration.trainings import TrainingTableSpec
from rooflint_report.evidence import Evidence

app = typer.Typer(add_completion=False)

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


class NetworkFile(RootModel[reduce(or_, SPECS.values())]):  # type: ignore[misc]
    """specs/networks/<family>/<name>.yaml: the configuration of one network."""


_MODEL: Mapping[str, type[BaseModel]] = {
    "hardware": HardwareSpec,
    "architecture": ArchitectureSpec,
    "system": SystemSpec,
    "process": ProcessSpec,
    "memory": MemoryEnergySpec,
    "circuits": CircuitsSpec,
    "events": EventsSpec,
    "launches": LaunchesSpec,
    "silicon": SiliconSpec,
    "silicon_ops": SiliconOpsSpec,
    "device_calibration": DeviceCalibrationSpec,
    "prices": PricesSpec,
    "grid": GridSpec,
    "network": NetworkFile,
    "compare": compare.CompareRecord,
    "analyze": analyze.AnalyzeRecord,
    "models": sweep.ModelsRecord,
    "sweep": sweep.SweepRecord,
    "generate": generation.GenerateRecord,
    "generate-sweep": generation_sweep.GenerateSweepRecord,
    "train": training.TrainRecord,
    "tdp_estimate": tdp_estimate.TdpEstimateRecord,
    "tdp_registry": tdp_registry.TdpRegistryRecord,
    "explain_attention": explain_attention.AttentionRecord,
    "explain_collective": explain_collective.CollectiveRecord,
    "explain_layer": explain_layer.LayerRecord,
    "explain_gemm": explain_gemm.GemmRecord,
    "explore": explore.ExploreRecord,
}
_HARNESS: Mapping[str, type[BaseModel]] = {
    "calibration": PowerCalibrationRecord,
    "calibrate_device": DeviceCalibrationRecord,
    "calibrate_regressions": RegressionsRecord,
    "evidence": Evidence,
    "generations": GenerationTableSpec,
    "networks": NetworkTableSpec,
    "powers": PowerTableSpec,
    "published": PublishedSpec,
    "trainings": TrainingTableSpec,
    "measure_compare": ComparisonRecord,
    "measure_calibrate": MeasureCalibrationRecord,
}


def schemas() -> dict[Path, dict[str, Any]]:
    """Every exported schema by its committed file."""
    model, harness = (Path(str(package.__file__)).parent / "schemas" for package in (rooflint, pytest_rooflint))
    found = {model / f"{name}.json": shape.model_json_schema() for name, shape in _MODEL.items()}
    found |= {harness / f"{name}.json": shape.model_json_schema() for name, shape in _HARNESS.items()}
    found[harness / "golden.json"] = _golden()
    return {file: {"$schema": _DRAFT, **schema} for file, schema in found.items()}


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
            write_atomically(file, text)
    for file in stale:
        typer.echo(f"{shown(file)}  {'differs from the models; run: rooflint schema' if check else 'written'}")
    raise typer.Exit(1 if check and stale else 0)
