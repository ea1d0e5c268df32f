"""Text as Markdown: what the evidence says stays text, whatever characters it is made of."""

import re

from markupsafe import Markup

_LONGEST = 300


def escaped(value: object) -> Markup:
    """Text on one line, its Markdown and HTML defused, cut to a length that a summary can bear."""
    if isinstance(value, Markup):
        return value
    text = re.sub(r"([\\`*_{}\[\]()#+|~$-])", r"\\\1", _line(value))
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return Markup(re.sub(r"@(?=\w)", "@\u200b", text))


def code(value: object) -> Markup:
    """Make a code span; its fence is one backtick longer than any run of them inside."""
    text = _line(value)
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return Markup(f"{fence}{pad}{text}{pad}{fence}")


def _line(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
