"""Where the repository is hosted, as CI tells it in its environment; and the addresses of its files and commits."""

import json
import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal
from urllib.parse import quote

from pydantic import Field, ValidationError

from rooflint_report.verdicts import Record

Address = Annotated[str, Field(pattern=r"^https?://[A-Za-z0-9.:-]+(/[A-Za-z0-9._~-]+)+$")]
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")]


class Hosting(Record):
    """The repository and the run on GitHub or GitLab."""

    service: Literal["github", "gitlab"]
    url: Address
    """Of the repository."""
    commit: Hash
    """The commit that links show; for a pull request its head, not the merge that CI judges."""
    pull_request: Annotated[int, Field(gt=0)] | None
    """Number of the pull or merge request; null outside of one."""
    run: Address | None
    """The CI run."""
    folder: str
    """The project's folder in the repository; empty for its top."""

    def blob(self, file: str | None, line: int | None = None) -> str | None:
        """Address of a file in that commit, at a line; None for what is not in the repository."""
        if not file or file.startswith("/") or ":" in file:
            return None
        path = PurePosixPath(self.folder, file)
        if ".." in path.parts:
            return None
        return f"{self._page('blob')}/{self.commit}/{quote(str(path))}" + (f"#L{line}" if line else "")

    def commit_url(self, commit: str) -> str:
        """Address of a commit."""
        return f"{self._page('commit')}/{quote(commit, safe='')}"

    @property
    def request_url(self) -> str | None:
        """Address of the pull or merge request; None outside of one."""
        page = self._page("pull" if self.service == "github" else "merge_requests")
        return f"{page}/{self.pull_request}" if self.pull_request else None

    @property
    def links(self) -> list[tuple[str, str]]:
        """The pull or merge request and the run, with their addresses."""
        found = [("pull request", self.request_url), ("run and report", self.run)]
        return [(text, address) for text, address in found if address]

    def _page(self, name: str) -> str:
        return f"{self.url}/{name}" if self.service == "github" else f"{self.url}/-/{name}"


def hosting(environment: Mapping[str, str] = os.environ, here: Path | None = None) -> Hosting | None:
    """Where a run in a folder is hosted; None outside CI, and where the variables make no sense."""
    read = {"GITHUB_REPOSITORY": _github, "CI_PROJECT_URL": _gitlab}
    found = next((function for name, function in read.items() if environment.get(name)), None)
    if found is None:
        return None
    try:
        return found(environment, here or Path.cwd())
    except ValidationError:
        return None


def _github(environment: Mapping[str, str], here: Path) -> Hosting:
    request = _event(environment.get("GITHUB_EVENT_PATH")).get("pull_request")
    head = request.get("head") if isinstance(request, dict) else None
    url = f"{environment.get('GITHUB_SERVER_URL', 'https://github.com')}/{environment['GITHUB_REPOSITORY']}"
    run = environment.get("GITHUB_RUN_ID")
    return Hosting.model_validate(
        {
            "service": "github",
            "url": url,
            "commit": head.get("sha") if isinstance(head, dict) else environment.get("GITHUB_SHA"),
            "pull_request": request.get("number") if isinstance(request, dict) else None,
            "run": f"{url}/actions/runs/{run}" if run else None,
            "folder": _inside(environment.get("GITHUB_WORKSPACE"), here),
        }
    )


def _gitlab(environment: Mapping[str, str], here: Path) -> Hosting:
    return Hosting.model_validate(
        {
            "service": "gitlab",
            "url": environment["CI_PROJECT_URL"],
            "commit": environment.get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA") or environment.get("CI_COMMIT_SHA"),
            "pull_request": environment.get("CI_MERGE_REQUEST_IID") or None,
            "run": environment.get("CI_PIPELINE_URL"),
            "folder": _inside(environment.get("CI_PROJECT_DIR"), here),
        }
    )


def _event(file: str | None) -> dict[str, object]:
    """What started the run on GitHub; empty where that cannot be read."""
    try:
        found = json.loads(Path(file).read_bytes()) if file else {}
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _inside(top: str | None, here: Path) -> str:
    """A folder from the top of the checkout; empty for the top, and for a folder outside."""
    if not top or not here.resolve().is_relative_to(Path(top).resolve()):
        return ""
    found = here.resolve().relative_to(Path(top).resolve()).as_posix()
    return "" if found == "." else found
