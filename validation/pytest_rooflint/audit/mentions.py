"""Devices within identifiers, comments and docstrings: `A100_PEAK_FLOPS`, `# dense, H100 SXM`."""

import re

from pytest_rooflint.audit.columns import says_which_links
from pytest_rooflint.audit.rows import IsDevice

LONGEST_NAME = 6
"""Words of a name within an identifier or a comment."""
_WORD = re.compile(r"[A-Za-z0-9.]*[A-Za-z0-9]")
_COMPARED = frozenset({"than", "vs", "versus", "relative", "issue", "like"})
"""Words of comments that name a device beside the one that the figure is of."""
_VARIANTS = frozenset({"laptop", "mobile", "maxq", "max", "super", "ti", "lite", "pro", "ultra", "mini"})
"""Words beside the name of a device that make it another product."""


def within(text: str, is_device: IsDevice) -> tuple[str, str]:
    """The device that some words of a text name, and the other words; the longest name counts."""
    words = words_in(text)
    links = {place for place, word in enumerate(words) if says_which_links(word) or word.lower() == "ici"}
    for length in range(min(LONGEST_NAME, len(words)), 0, -1):
        for start in range(len(words) - length + 1):
            name = " ".join(words[start : start + length])
            if links & set(range(start, start + length)):
                continue  # H100_NVLINK_BW does not name an H100 NVL
            if re.search(r"\d", name) and is_device(name):
                return name, " ".join([*words[:start], *words[start + length :]])
    return "", text


def mentioned(comment: str, is_device: IsDevice) -> str:
    """The one device that a comment names; empty where there are several or none."""
    device, rest = within(comment, is_device)
    other, _ = within(rest, is_device) if device else ("", "")
    if not device or (other and other.lower() != device.lower()):
        return ""
    return "" if is_of_another(rest) or device.isdigit() else device


def is_of_another(rest: str) -> bool:
    """Whether the words beside the name of a device make it another product, or compare something with it."""
    return bool((_VARIANTS | _COMPARED) & {word.lower() for word in words_in(rest)})


def words_in(text: str) -> list[str]:
    """Words of an identifier or a comment: `A100_PEAK`, `peakFlops`."""
    return _WORD.findall(re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=\d)(?=[A-Z][a-z]{2})", " ", text.replace("_", " ")))
