"""A rendered page as its reader sees it: with all that is packed in it put where the page's script puts it."""

import base64
import json
import re
import zlib

from rooflint_report import report


def unpacked(page, name):
    """The data of a block, read as the page's script reads it."""
    (text,) = re.findall(rf'<script type="application/octet-stream" id="{name}">([\w+/=]+)</script>', page)
    return json.loads(zlib.decompress(base64.b64decode(text, validate=True), -15))


def claims(page):
    """The rows of the table of claims, each by the names of its columns."""
    found = unpacked(page, "claims-data")
    return [dict(zip(found["columns"], values, strict=True)) for values in zip(*found["columns"].values(), strict=True)]


def render_html(evidence):
    """The page with every template filled, and without the packed text of the templates."""
    page = report.render_html(evidence)
    if 'id="folded"' not in page:
        return page
    parts = unpacked(page, "folded")
    page = re.sub(r'<script type="application/octet-stream" id="folded">.*?</script>', "", page)
    folded = r' data-part="(\d+)"(>\s*<summary>(?:(?!</summary>).)*</summary>)'
    return re.sub(folded, lambda m: f"{m[2]}<template>{parts[int(m[1])]}</template>", page, flags=re.DOTALL)
