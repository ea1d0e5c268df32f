"""What a page shows on demand, compressed inside it: text of markup and tables shrinks to a seventh.

The script of the page reads it by `DecompressionStream`, which browsers have had since May 2023.
"""

import base64
import json
import re
import zlib

_RAW_DEFLATE = -15
_FOLDED = re.compile(r">(\s*<summary>(?:(?!</summary>).)*</summary>)\s*<template>(.*?)</template>", re.DOTALL)


def packed(data: object) -> str:
    """JSON data as base64 of raw deflate; the same data give the same text."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    compressor = zlib.compressobj(9, zlib.DEFLATED, _RAW_DEFLATE)
    return base64.b64encode(compressor.compress(text) + compressor.flush()).decode()


def data_block(name: str, data: object) -> str:
    """An element that no browser runs or shows, by whose id the script finds the data."""
    return f'<script type="application/octet-stream" id="{name}">{packed(data)}</script>'


def folded(page: str) -> str:
    """A page without its templates; what was in them is packed, as a list, before the body ends.

    A template is all that a `details` has beside its summary. The `details` keeps the number of its part: two elements
    less to build.
    """
    parts: list[str] = []

    def numbered(found: re.Match[str]) -> str:
        parts.append(found[2])
        return f' data-part="{len(parts) - 1}">{found[1]}'

    text = _FOLDED.sub(numbered, page)
    return text.replace("</body>", f"{data_block('folded', parts)}\n</body>") if parts else text
