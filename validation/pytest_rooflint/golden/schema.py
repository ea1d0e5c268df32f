"""The schema of golden files: pydantic models that validate them and export as JSON Schema."""

import datetime
import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, WithJsonSchema
from pydantic_core import PydanticCustomError

from rooflint.hardware.schema import Id, SourceSpec, Strict, Text, Word

MODE = r"^[a-z0-9][a-z0-9_]*$"


def _refusal(message: str) -> PydanticCustomError:
    return PydanticCustomError("claim", "{message}", {"message": message})


def _date(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return datetime.date.fromisoformat(value)
        except ValueError:
            pass
    raise _refusal(f"want a date such as 2027-06-30, found '{value}'")


def _printed(value: Any) -> Any:
    if value is not None and (isinstance(value, bool) or not isinstance(value, str | int | float)):
        raise _refusal(f"want what the source printed, such as 989.4 TFLOP/s, found {value}")
    return value


def _place(value: Any) -> Any:
    if value is not None and (isinstance(value, bool) or not isinstance(value, str | int | float)):
        raise _refusal(f"want a page, table or row, found {value}")
    return value if value is None else str(value)


def _modes(value: Any) -> Any:
    single = {"one": value} if isinstance(value, str) else value
    wrong = not isinstance(single, dict) or not single or not all(isinstance(mode, str) for mode in single.values())
    if value is not None and wrong:
        raise _refusal(f"want an operating point such as 30w, or one for each device, found {value}")
    return value


def _source(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    try:
        return InlineSourceSpec.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        what = ".".join(map(str, first["loc"]))
        raise _refusal(
            f"want a key of 'sources', or {{document, where, grade}}: {what} {first['msg'].lower()}"
        ) from error


_TEXT_OR_NUMBER = WithJsonSchema({"type": ["string", "number"]})


class XfailSpec(Strict):
    """A known disagreement: its ratio, the reason, and the date of its review."""

    ratio: Annotated[Any, BeforeValidator(_printed), _TEXT_OR_NUMBER] = None
    reason: Text
    until: Annotated[datetime.date, BeforeValidator(_date, json_schema_input_type=str)]
    open: bool = False
    """Whether it is not known that the printed figure is the wrong one."""


class InlineSourceSpec(SourceSpec):
    """A document that is cited in the claim itself."""

    where: Text


_AT = {
    "anyOf": [
        {"type": "string", "pattern": MODE},
        {"type": "object", "additionalProperties": {"type": "string", "pattern": MODE}},
    ]
}


class _SourceSchema:
    """The JSON Schema of `source`, made when it is asked for: a run of claims does without."""

    @staticmethod
    def __get_pydantic_json_schema__(core: Any, handler: Any) -> dict[str, Any]:
        return {"anyOf": [{"type": "string"}, InlineSourceSpec.model_json_schema()]}


class CommonSpec(Strict):
    """Keys that every kind of claim has."""

    expect: Annotated[Any, BeforeValidator(_printed), _TEXT_OR_NUMBER] = None
    at: Annotated[Any, BeforeValidator(_modes), WithJsonSchema(_AT)] = None
    source: Annotated[Any, BeforeValidator(_source), _SourceSchema] = None
    where: Annotated[Any, BeforeValidator(_place), _TEXT_OR_NUMBER] = None
    rounding: Literal["half", "truncated"] = "half"
    undisclosed: bool = False
    note: Text | None = None
    why: Text | None = None
    xfail: XfailSpec | None = None


def _workload(value: Any) -> Any:
    """The id of a network or a mapping, which the claims that use it read further."""
    if isinstance(value, str) and not _NETWORK.fullmatch(value):
        raise _refusal(f"want the id of a network such as torchvision/resnet18, found '{value}'")
    return value


_NETWORK = re.compile(r"[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*")


class GivenSpec(Strict):
    """Assumptions about one device, under a label that the claims use."""

    hardware: Text
    at: Text | None = None
    unit: Text
    memory: Word | None = None
    peak: list[Any] | None = None
    facts: dict[str, list[Any]] = Field(default_factory=dict)
    conventions: dict[str, Any] = Field(default_factory=dict)
    formula: dict[str, dict[str, list[Any]]] = Field(default_factory=dict)
    why: dict[str, Text] = Field(default_factory=dict)


class UnderivedSpec(Strict):
    """A figure that a replayed document prints and that its assumptions do not give."""

    printed: Text
    where: Text | None = None
    source: Word | None = None
    why: Text


Device = Annotated[Text, Field(max_length=200, description="vendor/name, as its spec file is called")]
"""The id of a device; another name is refused where devices are known, with the id that is meant."""


class GoldenSpec(Strict):
    """golden/**/*.yaml: what others published or measured about one subject."""

    title: Text | None = None
    hardware: Device | None = None
    architecture: Id | None = None
    machine: Text | None = None
    workload: Annotated[Any, BeforeValidator(_workload)] = None
    compute: Word | None = None
    storage: Word | None = None
    source: SourceSpec | None = None
    sources: dict[Word, SourceSpec] = Field(default_factory=dict)
    why: Text | None = None
    unguarded: dict[Text, Text] = Field(default_factory=dict)
    """Facts of the device, by path (`tdp at 30w`), that no claim from a second document guards; each with the reason.
    Without a device at the top of the file, the name of the fact's file comes first: `events/cpu events.retired`."""
    given: dict[Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$")], GivenSpec] = Field(default_factory=dict)
    underived: list[UnderivedSpec] = Field(
        default_factory=list,
        description="Figures of a replayed document without a claim: they do not follow from its assumptions",
    )
    removed: dict[str, Text] = Field(
        default_factory=dict,
        description="Why a claim, a file or a recording is gone: its id, or its path from this folder, and the reason",
    )
    claims: Annotated[list[dict[str, Any]], Field(min_length=1)]
