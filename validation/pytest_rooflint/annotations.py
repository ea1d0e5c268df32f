"""GitHub annotations: the worst ten failures, on their YAML lines. GitHub shows ten a step, so the worst come first."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

LIMIT = 10


def worst(rows: Sequence[Mapping[str, Any]], problems: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Workflow commands, the largest factor first; a file that cannot be read is worse than any factor."""
    found = [(math.inf, _problem(problem)) for problem in problems]
    found += [(_distance(row), _claim(row)) for row in rows if row["outcome"] == "fail"]
    yield from (line for _, line in sorted(found, key=lambda pair: -pair[0])[:LIMIT])


def _distance(row: Mapping[str, Any]) -> float:
    ratio = row["ratio"]
    return abs(math.log(ratio)) if ratio and math.isfinite(ratio) and ratio > 0 else math.inf


def _claim(row: Mapping[str, Any]) -> str:
    cause = _cause(row["causes"][0]) if row["causes"] else ""
    obtained = f", obtained {row['obtained']['display']}" if row["obtained"] else ""
    ratio = f", ratio {row['ratio_text']}" if row["ratio_text"] else ""
    reason = f"; {row['reason']}" if row["reason"] else ""
    return _command(
        row["file"],
        row["line"],
        row["headline"],
        f"expected {row['expected']['display']}{obtained}{ratio}{cause}{reason}",
    )


def _cause(cause: Mapping[str, Any]) -> str:
    mend = f" ({cause['file']}:{cause['line']}: write {cause['repair']})" if cause["repair"] else ""
    return f"; {cause['text']}{mend}"


def _problem(problem: Mapping[str, Any]) -> str:
    return _command(problem["file"], problem["line"], "rooflint", problem["what"])


def _command(file: str | None, line: int | None, title: str, message: str) -> str:
    place = f"file={_property(file)},line={line}," if file else ""
    return f"::error {place}title={_property(title)}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
