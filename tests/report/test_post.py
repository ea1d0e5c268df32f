"""Posting the comment: to a fake of GitHub's API, from good and bad artifacts, and with hostile text in them."""

import io
import json
import os
import re
import subprocess
import sys
import threading
import zipfile
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from tests.report.test_comment import cause, claim_changes

from rooflint_report.post import AUTHOR, LARGEST_BYTES, LONGEST, MARK, NOTHING, SCHEMA, harmless, main
from rooflint_report.report import render_comment

ROOT = Path(__file__).resolve().parents[2]
HEAD, OTHER = "a" * 40, "b" * 40
REPOSITORY = "https://github.com/o/r"
TOKEN = "secret-token"
GOOD = {"schema": SCHEMA, "pull_request": 7, "head": HEAD, "text": "### ✗ One claim fails\n\n- `x1.yaml:4` is 1/2\n"}


def archive(content, name="comment.json"):
    """An artifact: data as JSON, or bytes as they are."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as members:
        members.writestr(name, content if isinstance(content, bytes) else json.dumps(content))
    return stream.getvalue()


class FakeGitHub:
    """Answers as GitHub does, from what a test puts here, and writes down what is asked and with which token."""

    def __init__(self):
        self.archive = archive(GOOD)
        self.artifacts = [{"id": 31, "name": "comment", "expired": False, "size_in_bytes": 400}]
        self.request = {"state": "open", "head": {"sha": HEAD, "ref": "topic", "repo": {"id": 5}}}
        self.comments, self.asked, self.storage_saw, self.redirect = [], [], [], ""

    def answer(self, method, path, data, token):  # noqa: PLR0911  # one for each address
        """Status and JSON, bytes, or an address to go to."""
        if path.startswith("/storage"):
            self.storage_saw.append(token)
            return 200, self.archive
        assert token == f"Bearer {TOKEN}"
        self.asked.append((method, path))
        page = re.search(r"[?&]page=(\d+)", path)
        match method, path.partition("?")[0].removeprefix("/repos/o/r"):
            case "GET", "/actions/runs/99/artifacts":
                return 200, {"artifacts": self.artifacts}
            case "GET", "/actions/artifacts/31/zip":
                return 302, self.redirect
            case "GET", "/pulls/7":
                return 200, self.request
            case "GET", "/issues/7/comments":
                first = 100 * (int(page[1]) - 1)
                return 200, self.comments[first : first + 100]
            case "POST", "/issues/7/comments":
                self.comments.append({"id": 1000 + len(self.comments), "user": {"login": AUTHOR}, **data})
                return 201, {}
            case "PATCH", changed if changed.startswith("/issues/comments/"):
                (one,) = [one for one in self.comments if one["id"] == int(changed.rpartition("/")[2])]
                one |= data
                return 200, one
        return 404, {"message": "Not Found"}

    @property
    def written(self):
        return [one for one in self.asked if one[0] != "GET"]


def handler(fake):
    class Handler(BaseHTTPRequestHandler):
        def _do(self):
            length = int(self.headers.get("Content-Length") or 0)
            data = json.loads(self.rfile.read(length)) if length else None
            status, found = fake.answer(self.command, self.path, data, self.headers.get("Authorization"))
            content = found if isinstance(found, bytes) else json.dumps(found).encode()
            self.send_response(status)
            if status == 302:
                self.send_header("Location", found)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = _do  # noqa: N815  # names that http.server looks up

        def log_message(self, *_):
            pass

    return Handler


@contextmanager
def served(fake):
    """The address at which a fake answers."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler(fake)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def fake():
    found = FakeGitHub()
    with served(found) as found.api:
        found.redirect = f"{found.api}/storage/31"
        yield found


@pytest.fixture
def environment(fake, tmp_path):
    run = {"id": 99, "event": "pull_request", "head_sha": HEAD, "head_branch": "topic", "head_repository": {"id": 5}}
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"workflow_run": run}), encoding="utf-8")
    return {
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_REPOSITORY": "o/r",
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_API_URL": fake.api,
        "GITHUB_TOKEN": TOKEN,
    }


@pytest.fixture
def posted(fake, environment, capsys):
    """Post once: the status, and what was printed."""

    def post():
        status = main(environment)
        return status, capsys.readouterr().out

    return post


# ---- what is posted


def test_the_comment_is_added_once_and_then_changed_in_place(fake, posted):
    assert posted() == (0, "commented on pull request 7\n")
    assert [one["body"] for one in fake.comments] == [f"{MARK}\n{GOOD['text']}"]
    assert posted() == (0, "the comment on pull request 7 is up to date\n")
    fake.archive = archive(GOOD | {"text": "### ✗ Two claims fail"})
    assert posted() == (0, "updated the comment on pull request 7\n")
    assert [one["body"] for one in fake.comments] == [f"{MARK}\n### ✗ Two claims fail\n"]
    assert fake.written == [("POST", "/repos/o/r/issues/7/comments"), ("PATCH", "/repos/o/r/issues/comments/1000")]


def test_nothing_moved_is_silence_or_one_line_where_a_comment_is(fake, posted):
    fake.archive = archive(GOOD | {"text": ""})
    assert posted() == (0, "nothing posted: nothing moved, and there is no comment\n")
    assert not fake.written
    fake.comments = [{"id": 3, "user": {"login": AUTHOR}, "body": f"{MARK}\n### ✗ One claim fails\n"}]
    assert posted()[0] == 0
    assert [one["body"] for one in fake.comments] == [f"{MARK}\n{NOTHING}\n"]


@pytest.mark.parametrize(
    "other",
    [
        {"user": {"login": "mallory"}, "body": f"{MARK}\nmine"},
        {"user": {"login": AUTHOR}, "body": f"another workflow quotes {MARK}"},
        {"user": None, "body": f"{MARK}\nof a deleted account"},
    ],
)
def test_a_comment_of_another_author_or_without_the_mark_at_its_start_is_never_changed(fake, posted, other):
    fake.comments = [{"id": 1, **other}]
    assert posted() == (0, "commented on pull request 7\n")
    assert fake.comments[0] == {"id": 1, **other}
    assert len(fake.comments) == 2


def test_the_comment_is_found_behind_a_hundred_others(fake, posted):
    fake.comments = [{"id": number, "user": {"login": "a"}, "body": MARK} for number in range(100)]
    fake.comments.append({"id": 500, "user": {"login": AUTHOR}, "body": MARK})
    assert posted() == (0, "updated the comment on pull request 7\n")
    assert fake.written == [("PATCH", "/repos/o/r/issues/comments/500")]


def test_the_token_does_not_follow_to_where_artifacts_are_stored(fake, posted):
    with served(elsewhere := FakeGitHub()) as address:
        elsewhere.archive, fake.redirect = fake.archive, f"{address}/storage/31"
        assert posted()[0] == 0
    assert elsewhere.storage_saw == [None]


# ---- artifacts that are not what a run leaves


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"not a zip", "is not an archive"),
        (b"", "is not an archive"),
        (archive(GOOD, name="../comment.json"), "is not an archive with comment.json"),
        (archive(b"{"), "is not JSON"),
        (archive(b"[" * 100_000), "is not JSON"),
        (archive(b"\xff\xfe"), "is not JSON"),
        (archive([GOOD]), "does not have the keys"),
        (archive(GOOD | {"more": 1}), "does not have the keys"),
        (archive(GOOD | {"schema": "rooflint-comment/2"}), "is not of the schema"),
        (archive(GOOD | {"pull_request": "7"}), "is not the number"),
        (archive(GOOD | {"pull_request": True}), "is not the number"),
        (archive(GOOD | {"pull_request": "7/../../x"}), "is not the number"),
        (archive(GOOD | {"pull_request": -7}), "is not the number"),
        (archive(GOOD | {"head": HEAD[:12]}), "head is not a commit"),
        (archive(GOOD | {"head": f"{HEAD}\n"}), "head is not a commit"),
        (archive(GOOD | {"text": ["a"]}), "is not a text"),
        (archive(GOOD | {"text": "a" * (LONGEST + 1)}), "is not a text"),
        (archive(b" " * (LARGEST_BYTES + 1)), "comment.json is larger"),  # a kilobyte packed
        (os.urandom(LARGEST_BYTES + 1), "the artifact is larger"),
        (archive(GOOD | {"head": OTHER}), "is of another commit than the run"),
    ],
)
def test_an_artifact_of_another_form_is_refused(fake, posted, content, reason):
    fake.archive = content
    status, said = posted()
    assert status == 1
    assert said.startswith("::error title=rooflint::") and reason in said and said.count("\n") == 1
    assert not fake.written


def test_a_text_of_the_greatest_length_is_posted(fake, posted):
    fake.archive = archive(GOOD | {"text": "a" * LONGEST})
    assert posted()[0] == 0


def test_an_artifact_that_says_it_is_large_is_not_loaded(fake, posted):
    fake.artifacts[0]["size_in_bytes"] = LARGEST_BYTES + 1
    assert posted()[0] == 1
    assert fake.asked == [("GET", "/repos/o/r/actions/runs/99/artifacts?name=comment&per_page=10")]


@pytest.mark.parametrize(
    "head",
    [
        {"sha": HEAD, "ref": "topic", "repo": {"id": 6}},  # the same commit and branch in another repository
        {"sha": HEAD, "ref": "another", "repo": {"id": 5}},
        {"sha": HEAD, "ref": "topic", "repo": None},  # deleted
        {"sha": OTHER, "ref": "main", "repo": {"id": 1}},
    ],
)
def test_nothing_is_posted_on_a_pull_request_of_somebody_else(fake, posted, head):
    fake.request["head"] = head
    status, said = posted()
    assert (status, said) == (1, "::error title=rooflint::the run was not for pull request 7\n")
    assert not fake.written


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"state": "closed"}, "pull request 7 is closed"),
        ({"head": {"sha": OTHER, "ref": "topic", "repo": {"id": 5}}}, "pull request 7 is at another commit by now"),
    ],
)
def test_a_pull_request_that_moved_on_gets_no_stale_comment(fake, posted, changed, reason):
    fake.request |= changed
    assert posted() == (0, f"nothing posted: {reason}\n")
    assert not fake.written


def test_a_run_without_the_artifact_posts_nothing(fake, posted):
    fake.artifacts = [{"id": 31, "name": "evidence", "expired": False, "size_in_bytes": 1}]
    assert posted() == (0, "nothing posted: run 99 left no artifact 'comment'\n")


def test_what_github_refuses_is_one_sentence_without_the_token(fake, posted):
    fake.archive = archive(GOOD | {"pull_request": 8})
    assert posted() == (1, "::error title=rooflint::GitHub answered 404 to /repos/o/r/pulls/8\n")


def test_a_server_that_is_not_there_is_one_sentence(environment, capsys):
    assert main(environment | {"GITHUB_API_URL": "http://127.0.0.1:9"}) == 1
    assert capsys.readouterr().out.startswith("::error title=rooflint::GitHub cannot be reached (")


# ---- hostile text

#: What GitHub takes for a mention, an issue or a link in the text that a reader sees.
ACTS = re.compile(
    r"(?i)(?<![a-z0-9])@[a-z0-9]|(?<!&)#\d|\bgh-\d|https?://|\bwww\.|mailto:|[\w.+-]+@[\w-]+\.\w|(?m:^\s*/\w)"
)
SIGNS = (
    "@someone", "@org/team", "&#64;someone", "&commat;someone", "\\@someone", "a@b.example", "@", "&#", "64;", "#12",
    "\\#12", "o/r#3", "GH-4", "gh\\-4", "https://evil.example/x", "http", "s://evil.example", "www.evil.example",
    "[a](https://evil.example)", "[a](javascript:alert)", "[a](<https://evil.example>)", "![a](//evil.example/a.png)",
    "[a]", "[b]: https://evil.example", "(//evil.example)", "<script>alert(1)</script>", "<img src=//evil.example/a>",
    "<details open>", "</details>", "<details><summary>x</summary>", "<!--", "-->", "<!-- rooflint -->", "<https://e.x>",
    "<a@b.example>", "`", "``", "```", "```mermaid\n", "~~~\n", "$$", "*", "**", "_", "|", "a|b\n-|-\n", "\n", "\n\n",
    "\n/merge", "\n@dependabot merge", "::set-output name=a::b", "\n::error::x", "##[error]", " ", "x", "\\", "\r",
    "\u202e", "\u200b", "\x00", "\x000\x00", f"[a]({REPOSITORY}/pull/1)", f"[a]({REPOSITORY}/../../x/y)", "-", "# ",
    "1. ", f"[a]({REPOSITORY}.evil.example/pull/1)", "    ", "mailto:a", "h:", "//", "![", "](", "]",
)  # fmt: skip
PAGES = re.compile(rf"{re.escape(REPOSITORY)}/(blob|commit|pull|actions/runs)/")


def acting(text):
    """What GitHub would not take for text, for folded details, or for a link to a page of the repository."""
    reader = MarkdownIt("gfm-like")
    reader.linkify.set({"fuzzy_link": False})  # GitHub makes no link of x.py; www. and // are looked for below
    tokens = [one for block in reader.parse(harmless(text, REPOSITORY)) for one in (block, *(block.children or ()))]
    for one in tokens:
        is_html = one.type in ("html_block", "html_inline")
        if one.type in ("image", "fence") or (one.type == "link_open" and not PAGES.match(one.attrs["href"])):
            yield one
        if is_html and re.search(r"<[A-Za-z/!?]", re.sub(r"</?(details|summary)>", "", one.content)):
            yield one
        # text and the text of links; signs that stand for others are those signs by now
        if (is_html or one.type == "text") and ACTS.search(PAGES.sub("", one.content)):
            yield one  # in a block of HTML no link is made of an address


@pytest.mark.slow
@pytest.mark.parametrize("sign", SIGNS)
def test_what_could_act_is_text(sign):
    assert [*acting(sign), *acting(f"a {sign} b"), *acting(f"- **`a`** ({sign})")] == []


@given(st.lists(st.sampled_from(SIGNS), max_size=8).map("".join))
def test_no_mixture_of_signs_acts(text):
    assert [*acting(text)] == []


def test_unchanged_text_would_act():
    html = MarkdownIt("gfm-like").render("@someone [a](https://evil.example) <script>")
    assert ACTS.search(html) and "evil.example" in html and "<script>" in html


def test_commands_to_the_runner_are_broken_in_the_text_too():
    assert harmless("::error::x\n##[group]", REPOSITORY) == "\\u003a:error::x\n#\\u0023[group]"


def test_our_own_comment_looks_the_same_after_that(evidence):
    record = evidence | {"claim_changes": claim_changes([cause(["golden/x.yaml::a"])])}
    hosting = {"service": "github", "url": REPOSITORY, "commit": HEAD, "pull_request": 7, "folder": "", "run": None}
    record["run"] = record["run"] | {"hosting": hosting | {"run": f"{REPOSITORY}/actions/runs/4711"}}
    text = render_comment(record)
    assert text.startswith(f"{MARK}\n###")

    def html(text):
        return MarkdownIt("gfm-like").render(text).replace("\u200b", "").strip()

    before, after = html(text.replace(f"{MARK}\n", "")), html(harmless(text, REPOSITORY))
    assert after == before
    assert after.count("<a href") == text.count("](") > 4


# ---- the workflow

WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "comment.yml").read_text(encoding="utf-8"))
(JOB,) = WORKFLOW["jobs"].values()


def test_the_workflow_may_write_comments_and_nothing_else():
    assert WORKFLOW["permissions"] == {}
    written = [name for name, access in JOB["permissions"].items() if access != "read"]
    assert written == ["pull-requests"]
    checkout, post = JOB["steps"]
    assert checkout["with"]["ref"] == "${{ github.event.repository.default_branch }}"
    assert "${{" not in post["run"]


def test_the_step_of_the_workflow_posts_with_the_checked_out_folders_and_the_standard_library(
    fake, environment, tmp_path
):
    checkout, post = JOB["steps"]
    for folder in checkout["with"]["sparse-checkout"].split():
        for file in [*(ROOT / folder).rglob("*.py"), *(ROOT / folder).parent.glob("*.py")]:
            copy = tmp_path / file.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(file.read_bytes())
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to(sys.executable)
    known = {"PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": post["env"]["PYTHONPATH"]}
    done = subprocess.run(
        ["bash", "-e", "-c", post["run"]],
        cwd=tmp_path, env=environment | known, check=True, capture_output=True, encoding="utf-8",
    )  # fmt: skip
    assert done.stdout == "commented on pull request 7\n"


def test_ci_leaves_the_artifact_that_is_posted():
    ci = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    assert WORKFLOW[True]["workflow_run"]["workflows"] == [ci["name"]]
    (kept,) = [one["with"] for one in ci["jobs"]["report"]["steps"] if one.get("with", {}).get("name") == "comment"]
    assert kept["path"] == "reports/out/comment.json"
