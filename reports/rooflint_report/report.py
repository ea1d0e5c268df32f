"""`rooflint report`: from an evidence file to one HTML page and a Markdown summary.

The page is one file, fetches nothing and is readable without JavaScript. The summary is what a reader of a pull request
needs before opening the page.
"""

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from rooflint.base.files import is_replaceable, write_atomically
from rooflint.base.project import project_root
from rooflint.base.text import fail_text, short_id, visible
from rooflint_report import causes, differences, log_chart
from rooflint_report import comment as comments
from rooflint_report.claim_changes import effect
from rooflint_report.evidence import Evidence, EvidenceError, load_evidence
from rooflint_report.packing import data_block, folded
from rooflint_report.post import MARK
from rooflint_report.post import SCHEMA as POST_SCHEMA
from rooflint_report.sections import SECTIONS, coverage, failures, moved, mutation, section
from rooflint_report.sections.section import Page, Section, counted, grouped

app = typer.Typer(add_completion=False)

EVIDENCE = Path("reports/out/evidence.json")
SCRIPTS = ("shared.js", "page.js", "claims.js")
COMMENT = "comment.md"
"""Beside the evidence of a run that was compared with a base; empty where nothing changed."""
POST = "comment.json"
"""The same with pull request and commit, for the workflow that posts it; only where CI runs for a pull request."""


@app.command()
def report(
    evidence: Annotated[
        Path | None,
        typer.Argument(
            help="The evidence that a run of the golden suite wrote.", show_default=f"{EVIDENCE} in the project"
        ),
    ] = None,
    html: Annotated[Path | None, typer.Option(help="The page; report.html beside the evidence unless given.")] = None,
    summary: Annotated[Path | None, typer.Option(help="The Markdown; summary.md beside it unless given.")] = None,
    sarif: Annotated[Path | None, typer.Option(help="File for the causes of failures as SARIF 2.1.0.")] = None,
    code_quality: Annotated[
        Path | None, typer.Option(help="File for the causes of failures as Code Quality of GitLab.")
    ] = None,
) -> None:
    """Render the evidence of a run as one HTML page and a Markdown summary.

    Status 0 says that both were written, red or green; 2, that the evidence cannot be read or a file not be written.
    """
    evidence = evidence or project_root() / EVIDENCE
    try:
        written = render(
            evidence,
            html or evidence.parent / "report.html",
            summary or evidence.parent / "summary.md",
            sarif,
            code_quality,
        )
    except EvidenceError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None
    except OSError as error:
        typer.echo(f"{error.filename}: cannot be written ({error.strerror})", err=True)
        raise typer.Exit(2) from None
    for path, size in written:
        typer.echo(f"{path}  {_size(size)}")


def render(
    evidence: Path, html: Path, summary: Path, sarif: Path | None = None, code_quality: Path | None = None
) -> list[tuple[Path, int]]:
    """Write what is named, and return each file with its size in bytes."""
    content = load_evidence(evidence)
    texts = {html: render_html(content), summary: render_summary(content)}
    for file, form in ((sarif, causes.as_sarif), (code_quality, causes.as_code_quality)):
        if file:
            texts[file] = form(causes.of_evidence(content, [one for _, one in Page.of(content).fails]))
    texts |= _replaced(evidence.parent, content)
    for path, text in texts.items():
        write_atomically(path, text)
    return [(path, len(text.encode())) for path, text in texts.items()]


def _replaced(folder: Path, content: Evidence) -> dict[Path, str]:
    """The comment and its form for posting, where there is a base; those of an earlier run go where there is none.

    Raises EvidenceError for a file of another origin in their place.
    """
    comment = render_comment(content) if content.claim_changes else None
    post = comments.to_post(content, comment)
    texts = {}
    for name, text, mark in ((COMMENT, comment, MARK), (POST, post, POST_SCHEMA)):
        file = folder / name
        ours = is_replaceable(file, mark)
        if text is not None and not ours:
            raise EvidenceError(f"{file}: was not written by rooflint and is not replaced; move it, then try again")
        if text is not None:
            texts[file] = text
        elif ours:
            file.unlink(missing_ok=True)
    return texts


def _size(length: int) -> str:
    """Write a length in bytes: 364 B, 758 kB."""
    return f"{length} B" if length < 1000 else f"{length / 1000:.0f} kB"


# ---- How the run went, as one word and as a sentence

# pytest's own exit codes, beyond "all passed" and "some failed"
_ENDINGS = {2: "was interrupted", 3: "broke with an internal error", 4: "was called wrongly"}


class Headline(NamedTuple):
    """The state of the run as one word, and as a sentence."""

    state: str
    sentence: str


def headline(evidence: Evidence) -> Headline:
    """Say how the run went; an interrupted or an empty run is never green."""
    counts, status = evidence.counts, evidence.run.exit_status
    claims = counted(counts.claims, "claim")
    if complaint := _complaint(evidence):
        ending = f", and pytest {_ENDINGS[status]} (status {status})" if status in _ENDINGS else ""
        return Headline("Red", f"{complaint}{ending}.")
    if status in _ENDINGS:
        return Headline("Incomplete", f"pytest {_ENDINGS[status]} (status {status}) after {claims}.")
    if not counts.claims:
        return Headline("Empty", "no claim was checked, and an empty run shows nothing.")
    if status:
        return Headline("Red", f"every claim holds, but the run ended with status {status}: another test failed.")
    hold = "holds" if counts.pass_ == 1 else "hold"
    rest = [
        f"{grouped(counts.xfail)} known to disagree" if counts.xfail else "",
        f"{grouped(counts.undecided)} undecided" if counts.undecided else "",
        f"{grouped(counts.not_validated_here)} not validated here" if counts.not_validated_here else "",
        f"{grouped(counts.deselected)} deselected, so this is not a full check" if counts.deselected else "",
    ]
    return Headline(
        "Green", "; ".join([f"{grouped(counts.pass_)} of {claims} {hold}, none fails", *filter(None, rest)]) + "."
    )


def _complaint(evidence: Evidence) -> str:
    """Word the red part of the sentence, or nothing."""
    fails, problems = evidence.counts.fail, len(evidence.problems)
    mutation, changes = evidence.mutation, evidence.claim_changes
    losses = changes.unstated if changes and not (fails or problems) else 0
    parts = [
        _fails(evidence) if fails else "",
        f"{counted(problems, 'problem')} in the files" if problems else "",
        "fewer errors are caught than pyproject.toml asks" if mutation and mutation.holds is False else "",
        f"{counted(losses, 'check')} removed or weakened since the base without a stated reason" if losses else "",
    ]
    return " and ".join(filter(None, parts))


def _fails(evidence: Evidence) -> str:
    """How many claims fail, and the change since the base that makes most of them fail."""
    fails, claims = evidence.counts.fail, counted(evidence.counts.claims, "claim")
    blamed = causes.culprits(evidence)
    explained = len({claim for one in blamed for claim in one.cause.claims})
    if not explained:
        return f"{grouped(fails)} of {claims} {'fails' if fails == 1 else 'fail'}"
    more = f" and {counted(len(blamed) - 1, 'more changed line')}" if len(blamed) > 1 else ""
    rest = fails - explained
    others = f"; {counted(rest, 'other')} {'fails' if rest == 1 else 'fail'}" if rest > 0 else ""
    makes = f"{blamed[0].short}{more} {'make' if more else 'makes'}"
    return f"{makes} {grouped(explained)} of {claims} fail{others}"


# ---- The HTML page


def render_html(evidence: Evidence | Mapping[str, Any]) -> str:
    """The whole report as one self-contained HTML document; evidence as loaded, or as JSON data."""
    page = Page.of(Evidence.model_validate(evidence))
    sections = [(one, view) for one in in_order(page.evidence) if (view := one.view(page)) is not None]
    found = page.evidence
    compared = found.claim_changes or found.delta
    more = {
        "sections": sections,
        "script": script(*SCRIPTS),
        "sides": comments.Sides.of(found, compared) if compared else None,
        "since": _since(found),
        "moved_watches": moved.dumbbells(one for one in found.watched if one.has_moved),
        "cards": {verdict.nodeid: anchor for anchor, verdict in page.fails},
        "ticks": failures.octave_ticks(),
    }
    return folded(stripped(_render(environment(), "page.html.j2", page, **more)))


def _since(evidence: Evidence) -> list[str]:
    """What became of predictions and of claims since the base; none without one."""
    delta, claims = evidence.delta, evidence.claim_changes
    said = [comments.moves(evidence) or "no prediction moved"] if delta else []
    if claims:
        said.append(f"claims: {', '.join([*claims.counts.changes, f'{claims.counts.unchanged} unchanged'])}")
    return said


def in_order(evidence: Evidence) -> list[Section]:
    """Sections as they are read; without a base nothing moved, and what is watched stands beside other predictions."""
    if evidence.delta or evidence.claim_changes:
        return [*SECTIONS]
    rest = [one for one in SECTIONS if one.name != "moved"]
    watched = [replace(one, title="Watched") for one in SECTIONS if one.name == "moved"]
    place = next(number for number, one in enumerate(rest) if one.name == "power")
    return [*rest[:place], *watched, *rest[place:]]


def stripped(text: str) -> str:
    """Without blank lines and indentation, which templates leave, and with control characters that can be seen."""
    return "\n".join(line for line in map(str.strip, visible(text).splitlines()) if line) + "\n"


@cache
def environment() -> Environment:
    """Autoescape is on: whatever the evidence says is text."""
    found = _environment(autoescape=True)
    found.filters["data_block"] = lambda name, data: Markup(data_block(name, data))
    found.filters |= {"effect": effect, "short_id": short_id}
    found.filters |= {"ruler_x": failures.ruler_x, "tied": section.tied, "tied_factors": section.tied_factors}
    found.globals |= {
        "short": section.SHORT,
        "shapes": log_chart.SHAPES,
        "is_blind": coverage.is_blind,
        "colours": log_chart.COLOURS,
    }
    return found


def _environment(**settings: Any) -> Environment:
    """What the templates of the page and of the summary share."""
    found = Environment(
        loader=PackageLoader("rooflint_report"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        **settings,
    )
    found.filters |= {
        "claimed": section.claimed,
        "counted": counted,
        "fail_text": fail_text,
        "grouped": grouped,
        "ratio": section.ratio_text,
        "deviation": section.deviation,
        "fixed": failures.fixed,
        "broken": failures.broken,
        "percent": differences.score_percent,
        "share_of": mutation.share_of,
    }
    found.globals |= {"marks": section.MARKS, "tried": failures.tried}
    return found


def _render(found: Environment, template: str, page: Page, **more: Any) -> str:
    return found.get_template(template).render(
        page=page,
        evidence=page.evidence,
        headline=headline(page.evidence),
        blind=coverage.blind(page.evidence),
        culprits=causes.culprits(page.evidence),
        together=causes.together(page.evidence),
        repairs=causes.repairs(page.evidence),
        lost=causes.lost(page.evidence),
        **more,
    )


@cache
def script(*names: str) -> Mapping[str, str]:
    """The scripts of these files as one, and its Content-Security-Policy source: it runs in a page, and no other."""
    templates = files(__package__).joinpath("templates")
    text = stripped("".join(templates.joinpath(name).read_text(encoding="utf-8") for name in names)).rstrip("\n")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return {"text": text, "source": f"sha256-{digest}"}


# ---- The Markdown summary

LIMIT_BYTES = 60_000
LONGEST_TEXT = 300


def render_summary(evidence: Evidence | Mapping[str, Any]) -> str:
    """Markdown below 60 kB: the comment of a run with a base, failures by cause as many as fit, the rest."""
    page = Page.of(Evidence.model_validate(evidence))
    begun = render_comment(page.evidence)
    sections = [(one, view) for one in SECTIONS if (view := one.view(page)) is not None]
    for shown in (40, 20, 10, 5, 2, 0):
        text = _render(_markdown(), "summary.md.j2", page, sections=sections, shown=shown)
        text = f"{begun}\n{text}" if begun else text
        if len(text.encode()) < LIMIT_BYTES:
            break
    return text


def render_comment(evidence: Evidence | Mapping[str, Any]) -> str:
    """The comment for a pull request in Markdown; empty without a base, and where nothing changed."""
    content = Evidence.model_validate(evidence)
    found = comments.comment(content)
    if found is None:
        return ""
    sizes = {
        "mark": Markup(MARK),
        "culprits": comments.CULPRITS,
        "losses": comments.LOSSES,
        "folded": comments.FOLDED,
        "longest": LONGEST_TEXT,
    }
    return _markdown().get_template("comment.md.j2").render(comment=found, hosting=content.run.hosting, **sizes)


@cache
def _markdown() -> Environment:
    """Every expression is escaped for Markdown on its way out; HTML escaping is part of that."""
    found = _environment(autoescape=False, finalize=escaped, keep_trailing_newline=True)
    found.filters |= {"code": code, "escaped": escaped, "linked": linked}
    return found


def escaped(value: object) -> Markup:
    """Text on one line, its Markdown and HTML defused, cut to a length that a summary can bear."""
    if isinstance(value, Markup):
        return value
    text = re.sub(r"([\\`*_{}\[\]()#+|~$-])", r"\\\1", _line(value))
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"(?i)(?<=:)(?=//)|(?<=\bwww)(?=\.)", "\u200b", text)  # an address would become a link
    text = re.sub(r"(?i)(?<=#)(?=\d)|(?<=\bgh\\-)(?=\d)", "\u200b", text)  # and the number of an issue, too
    text = re.sub(r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}\b", r"`\g<0>`", text)  # a hash would become one, too
    return Markup(re.sub(r"@(?=\w)", "@\u200b", text))


def code(value: object) -> Markup:
    """Make a code span; its fence is one backtick longer than any run of them inside."""
    text = _line(value)
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return Markup(f"{fence}{pad}{text}{pad}{fence}")


def linked(text: Markup, address: str | None) -> Markup:
    """Make a link, of escaped text to an address that Hosting made; the text alone without one."""
    return Markup(f"[{text}]({address})") if address else text


def _line(value: object) -> str:
    text = visible(" ".join(str(value).split()))
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…"
