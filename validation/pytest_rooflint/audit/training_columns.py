"""Columns of training runs: MFU, HFU, the rate of a device, and what these follow from.

What they are checked by needs predictions, so it is a module of its own, `pytest_rooflint.audit.training`.
"""

import re
from collections.abc import Callable, Sequence

from pytest_rooflint.audit.rows import IsDevice, Row
from rooflint.diagnosis.figures import RATE, SHARES

_NETWORKS = re.compile(r"(language )?model( name| size)?|network|llm|architecture|workload|config(uration)?")
EACH = re.compile(r"(/|\bper\b|_per_)\s*_?(gpu|tpu|npu|device|chip|accelerator|card)\b")
_TOKENS = re.compile(r"\b(tokens?|toks?|t)\s*(/|per)\s*s(ec(ond)?)?\b|\b(tokens?|tok)_per_s(ec(ond)?)?\b|\btps\b")
FLOPS = re.compile(r"([tgp]|tera|giga|peta)\s*-?flops?(\b|_)", re.IGNORECASE)
_REACHED = re.compile(r"\b(achieved|attained|measured|actual|model|training)\b")
_LENGTH = re.compile(r"\bseq(uence)?[ _-]?len(gth)?\b|\bcontext([ _-]len(gth)?)?\b|\btokens per sequence\b")
PREFIXES = {"t": "TFLOP/s", "g": "GFLOP/s", "p": "PFLOP/s"}


def guessed(
    names: Sequence[str], rows: Sequence[Row], is_device: IsDevice, is_network: Callable[[str], bool]
) -> dict[str, str]:
    """Roles of the columns of training runs by name; nothing of a table that has neither MFU nor HFU nor such a rate.

    A column of models is one of networks where most of them are, and beside one of devices.
    """
    roles = {name: role for name in names if (role := _role(name))}
    if not roles:
        return {}
    roles |= {
        name: "network"
        for name in names
        if _NETWORKS.fullmatch(name.strip().lower())
        and (_are(name, rows, is_network) or any(_are(other, rows, is_device) for other in names if other != name))
    }
    shares = any(role in SHARES for role in roles.values())
    return roles if shares or {RATE, "network"} <= {*roles.values()} else {}


def _role(name: str) -> str | None:
    plain = re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower()
    words = set(re.findall(r"[a-z]+", plain))
    utilization = bool({"flop", "flops"} & words) and bool({"utilization", "utilisation"} & words)
    if "mfu" in words or (utilization and "hardware" not in words):
        return "mfu"
    if "hfu" in words or utilization:
        return "hfu"
    if FLOPS.search(plain) and (EACH.search(plain) or _REACHED.search(plain)) and "peak" not in words:
        return RATE
    if _TOKENS.search(plain):
        return "tokens"
    return "length" if _LENGTH.search(plain) else None


def _are(name: str, rows: Sequence[Row], known: Callable[[str], bool]) -> bool:
    """Whether most texts of a column are known."""
    texts = {row[name].text for row in rows if name in row}
    return 2 * sum(map(known, texts)) > len(texts)
