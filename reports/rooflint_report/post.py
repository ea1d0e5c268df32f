"""Posts the comment that a run on a pull request left as an artifact: `python -m rooflint_report.post`.

The workflow that starts it may write comments, and the run that made the artifact executed code of the pull request.
So the artifact is data: its size, form, commit and pull request are checked, and what could act in its text is broken.
It needs the standard library only, so that nothing has to be installed where the token is.
"""

import io
import json
import os
import re
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import Request, urlopen

from rooflint.base.text import sanitized, visible

MARK = "<!-- rooflint -->"
"""Begins the one comment of a pull request, and finds it again."""
SCHEMA = "rooflint-comment/1"
ARTIFACT, MEMBER = "comment", "comment.json"
AUTHOR = "github-actions[bot]"
"""Who posts with the token of a workflow; a comment of another author is never taken for ours."""
NOTHING = "Nothing moved: claims and predictions are as in the base."
LARGEST_BYTES = 200_000
LONGEST = 60_000
"""Characters; GitHub takes 65 536."""
PAGES = 30
"""Of a hundred comments each."""
TIMEOUT_S = 30


class RefusedError(Exception):
    """The artifact is not what a run of rooflint leaves; the message says what is wrong, and fails the workflow."""


class IdleError(Exception):
    """There is nothing to post; the message says why."""


@dataclass(frozen=True)
class Posting:
    """A comment to post, as its artifact states it."""

    pull_request: int
    head: str
    text: str


# ---- the artifact


def unpacked(archive: bytes) -> Posting:
    """The comment in an artifact. Raises RefusedError."""
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as members, members.open(MEMBER) as stream:
            content = stream.read(LARGEST_BYTES + 1)  # what the archive says of its size is a claim of its author
    except (zipfile.BadZipFile, KeyError, NotImplementedError, RuntimeError, OSError, EOFError, ValueError) as error:
        raise RefusedError(f"the artifact is not an archive with {MEMBER} ({type(error).__name__})") from None
    if len(content) > LARGEST_BYTES:
        raise RefusedError(f"{MEMBER} is larger than {LARGEST_BYTES} B")
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        raise RefusedError(f"{MEMBER} is not JSON") from None
    return _checked(found)


def _checked(found: object) -> Posting:
    if not isinstance(found, dict) or found.keys() != {"schema", "pull_request", "head", "text"}:
        raise RefusedError(f"{MEMBER} does not have the keys schema, pull_request, head and text")
    number, head, text = found["pull_request"], found["head"], found["text"]
    if found["schema"] != SCHEMA:
        raise RefusedError(f"{MEMBER} is not of the schema {SCHEMA}")
    if type(number) is not int or not 0 < number < 10**9:
        raise RefusedError("pull_request is not the number of a pull request")
    if not isinstance(head, str) or not re.fullmatch(r"[0-9a-f]{40}", head):
        raise RefusedError("head is not a commit")
    if not isinstance(text, str) or len(text) > LONGEST:
        raise RefusedError(f"text is not a text of at most {LONGEST} characters")
    return Posting(number, head, text)


# ---- the text

_GAP = "\u200b"
"""Shows nothing, and keeps what stands around it from being read as one sign."""
_DETAILS = re.compile(r"<details><summary>[\w ,]*</summary>|</details>")
_LINK = re.compile(r"(?<=\])\((?P<address>https?://[\w.:/~%#-]+)\)")
_BREAKS = (
    (r"&(?!(?:amp|lt|gt);)(?=[#A-Za-z])", "&" + _GAP),  # an entity may stand for any of the signs below
    (r"<(?=[A-Za-z/!?])", "<" + _GAP),
    (r"\](?=[(\[:])", "]" + _GAP),
    (r"!(?=\[)", "!" + _GAP),
    (r"/(?=/)", "/" + _GAP),
    (r"(?i)(?<=www)(?=\.)|(?<=mailto)(?=:)|(?<=xmpp)(?=:)", _GAP),
    (r"(?<![A-Za-z0-9])@(?=\w)|@(?=[\w-]+\.\w)", "@" + _GAP),
    (r"#(?=\d)", "#" + _GAP),
    (r"(?i)(?<=gh)(\\?-)(?=\d)", r"\g<1>" + _GAP),
    (r"(?m)^(\s*)(?=/)", r"\g<1>" + _GAP),  # a command to a bot
    (r"`{2}(?=`)|~{2}(?=~)", r"\g<0>" + _GAP),  # a block that swallows the rest, or a drawing
    (r"\$(?=[$`])", "$" + _GAP),
)


def harmless(text: str, repository: str) -> str:
    """The text with all broken that could link elsewhere, notify somebody or be more than a text.

    Links to pages of the repository and folded details stay. `repository` is its address.
    """
    text = sanitized(text.replace(_GAP, "").replace(MARK, ""))
    kept: list[str] = []

    def keep(found: re.Match[str]) -> str:
        address = found.groupdict().get("address")
        if address is not None and not _is_page(address, repository):
            return found[0]
        kept.append(found[0])
        return f"\x00{len(kept) - 1}\x00"  # no such sign is in the text: they are visible by now

    for pattern in (_DETAILS, _LINK):
        text = pattern.sub(keep, text)
    for what, instead in _BREAKS:
        text = re.sub(what, instead, text)
    return re.sub("\x00(\\d+)\x00", lambda found: kept[int(found[1])], text).strip()


def _is_page(address: str, repository: str) -> bool:
    """Whether it is the address of a file, commit, pull request or run of the repository."""
    page = address.removeprefix(f"{repository}/")
    return page != address and ".." not in page and page.startswith(("blob/", "commit/", "pull/", "actions/runs/"))


# ---- GitHub


class GitHub:
    """The part of GitHub's API that posting needs, for one repository."""

    def __init__(self, api: str, repository: str, token: str) -> None:
        self.api = f"{api.rstrip('/')}/repos/{quote(repository)}"
        self.token = token

    def artifact(self, run: int) -> bytes:
        """The archive that a run left. Raises IdleError for none, RefusedError for one that is too large."""
        found = self._json("GET", f"/actions/runs/{run}/artifacts?name={ARTIFACT}&per_page=10")["artifacts"]
        named = [one for one in found if one.get("name") == ARTIFACT and not one.get("expired")]
        if not named:
            raise IdleError(f"run {run} left no artifact '{ARTIFACT}'")
        one = max(named, key=lambda artifact: int(artifact["id"]))  # of the last attempt
        if one["size_in_bytes"] > LARGEST_BYTES:
            raise RefusedError(f"the artifact is larger than {LARGEST_BYTES} B")
        content = self._sent("GET", f"/actions/artifacts/{int(one['id'])}/zip")
        if len(content) > LARGEST_BYTES:
            raise RefusedError(f"the artifact is larger than {LARGEST_BYTES} B")
        return content

    def pull_request(self, number: int) -> dict[str, Any]:
        """A pull request."""
        found: dict[str, Any] = self._json("GET", f"/pulls/{number}")
        return found

    def comment(self, number: int, author: str) -> dict[str, Any] | None:
        """The comment on a pull request that begins with the mark and is by that author."""
        own = (
            one
            for one in self._comments(number)
            if (one.get("user") or {}).get("login") == author and str(one.get("body")).startswith(MARK)
        )
        return next(own, None)

    def _comments(self, number: int) -> Iterator[dict[str, Any]]:
        for page in range(1, PAGES + 1):
            found = self._json("GET", f"/issues/{number}/comments?per_page=100&page={page}")
            yield from found
            if len(found) < 100:
                return

    def create(self, number: int, body: str) -> None:
        """Add a comment."""
        self._json("POST", f"/issues/{number}/comments", {"body": body})

    def update(self, comment: int, body: str) -> None:
        """Change a comment."""
        self._json("PATCH", f"/issues/comments/{comment}", {"body": body})

    def _json(self, method: str, path: str, data: Mapping[str, Any] | None = None) -> Any:
        return json.loads(self._sent(method, path, data, limit=16 * 1024**2))

    def _sent(
        self, method: str, path: str, data: Mapping[str, Any] | None = None, *, limit: int = LARGEST_BYTES
    ) -> bytes:
        request = Request(f"{self.api}{path}", method=method, data=json.dumps(data).encode() if data else None)
        request.add_header("Accept", "application/vnd.github+json")
        request.add_header("X-GitHub-Api-Version", "2022-11-28")
        # not to where an artifact is stored: GitHub redirects there, to another host
        request.add_unredirected_header("Authorization", f"Bearer {self.token}")
        with urlopen(request, timeout=TIMEOUT_S) as answer:  # the address is GitHub's, from the runner
            content: bytes = answer.read(limit + 1)
        return content


# ---- posting


def post(github: GitHub, run: Mapping[str, Any], repository: str, author: str = AUTHOR) -> str:
    """Post what a run on a pull request left, and say what was done. `repository` is its address.

    Raises IdleError where there is nothing to post, RefusedError where the artifact is not to be trusted.
    """
    if run["event"] != "pull_request":
        raise IdleError("the run was not for a pull request")
    found = unpacked(github.artifact(int(run["id"])))
    if found.head != run["head_sha"]:
        raise RefusedError(f"the artifact is of another commit than the run, {run['head_sha']}")
    _refuse_another(github.pull_request(found.pull_request), run, found)
    earlier = github.comment(found.pull_request, author)
    text = harmless(found.text, repository)
    if not text and earlier is None:
        raise IdleError("nothing moved, and there is no comment")
    body = f"{MARK}\n{text or NOTHING}\n"
    if earlier is None:
        github.create(found.pull_request, body)
        return f"commented on pull request {found.pull_request}"
    if earlier["body"].split() != body.split():
        github.update(int(earlier["id"]), body)
        return f"updated the comment on pull request {found.pull_request}"
    return f"the comment on pull request {found.pull_request} is up to date"


def _refuse_another(request: Mapping[str, Any], run: Mapping[str, Any], found: Posting) -> None:
    """Let only the open pull request through that the run was for, and only while it is at that commit."""
    head, origin = request["head"], run["head_repository"]
    if not head["repo"] or (head["repo"]["id"], head["ref"]) != ((origin or {}).get("id"), run["head_branch"]):
        raise RefusedError(f"the run was not for pull request {found.pull_request}")
    if request["state"] != "open":
        raise IdleError(f"pull request {found.pull_request} is closed")
    if head["sha"] != found.head:
        raise IdleError(f"pull request {found.pull_request} is at another commit by now")


def main(environment: Mapping[str, str] = os.environ) -> int:
    """Exit status: 0 posted, or nothing to post; 1 refused, or GitHub did not do it."""
    run = json.loads(Path(environment["GITHUB_EVENT_PATH"]).read_bytes())["workflow_run"]
    repository = environment["GITHUB_REPOSITORY"]
    github = GitHub(environment["GITHUB_API_URL"], repository, environment["GITHUB_TOKEN"])
    try:
        said = post(github, run, f"{environment['GITHUB_SERVER_URL']}/{repository}")
    except IdleError as error:
        said = f"nothing posted: {error}"
    except RefusedError as error:
        print(f"::error title=rooflint::{visible(str(error))}")
        return 1
    except HTTPError as error:
        print(f"::error title=rooflint::GitHub answered {error.code} to {urlsplit(error.url).path}")
        return 1
    except OSError as error:
        print(f"::error title=rooflint::GitHub cannot be reached ({visible(str(error))})")
        return 1
    print(sanitized(said))
    return 0


if __name__ == "__main__":
    sys.exit(main())
