"""SARIF 2.1.0, which code scanning reads: results at lines of files, each of a rule.

OASIS, Static Analysis Results Interchange Format, version 2.1.0, 2020.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Literal
from urllib.parse import quote

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


@dataclass(frozen=True)
class Place:
    """A line of a file, with what is said of it."""

    file: str
    line: int | None
    text: str = ""


@dataclass(frozen=True)
class Result:
    """One finding; without a place it is about the whole project."""

    rule: str
    level: Literal["error", "warning", "note"]
    text: str
    place: Place | None
    related: Sequence[Place] = ()


def as_sarif(rules: Mapping[str, str], results: Sequence[Result]) -> str:
    """The results as a document; `rules` says what each rule means that a result has."""
    used = sorted({one.rule for one in results})
    driver = {
        "name": "rooflint",
        "version": version("rooflint"),
        "rules": [{"id": _id(rule), "shortDescription": {"text": rules[rule]}} for rule in used],
    }
    run = {"tool": {"driver": driver}, "results": [_result(one) for one in results]}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, ensure_ascii=False, indent=2) + "\n"


def _id(rule: str) -> str:
    return rule.replace(" + ", "-and-").replace(" ", "-")


def _result(one: Result) -> dict[str, Any]:
    found: dict[str, Any] = {"ruleId": _id(one.rule), "level": one.level, "message": {"text": one.text}}
    if one.place:
        found["locations"] = [{"physicalLocation": _physical(one.place)}]
    if one.related:
        found["relatedLocations"] = [
            {"id": number, "physicalLocation": _physical(place), "message": {"text": place.text}}
            for number, place in enumerate(one.related)
        ]
    return found


def _physical(place: Place) -> dict[str, Any]:
    return {"artifactLocation": {"uri": quote(place.file)}, "region": {"startLine": place.line or 1}}
