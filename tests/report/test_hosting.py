"""Where CI says the repository is: addresses of files, commits and requests, from good and from bad variables."""

import json

import pytest

from rooflint_report.hosting import hosting

HEAD, MERGE = "a" * 40, "b" * 40
GITHUB = {
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_REPOSITORY": "o/r",
    "GITHUB_SHA": MERGE,
    "GITHUB_RUN_ID": "4711",
}
GITLAB = {
    "CI_PROJECT_URL": "https://gitlab.example/group/sub/r",
    "CI_COMMIT_SHA": HEAD,
    "CI_PIPELINE_URL": "https://gitlab.example/group/sub/r/-/pipelines/9",
    "CI_MERGE_REQUEST_IID": "12",
}


@pytest.fixture
def event(tmp_path):
    def written(content):
        file = tmp_path / "event.json"
        file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return {"GITHUB_EVENT_PATH": str(file)}

    return written


def test_outside_ci_nothing_is_known(tmp_path):
    assert hosting({}, tmp_path) is None


def test_a_push_is_known_by_its_commit(tmp_path):
    found = hosting(GITHUB, tmp_path)
    assert (found.commit, found.pull_request, found.request_url) == (MERGE, None, None)
    assert found.blob("specs/x1.yaml", 4) == f"https://github.com/o/r/blob/{MERGE}/specs/x1.yaml#L4"
    assert found.commit_url(HEAD) == f"https://github.com/o/r/commit/{HEAD}"
    assert found.links == [("run and report", "https://github.com/o/r/actions/runs/4711")]


def test_links_of_a_pull_request_show_its_head_and_not_the_merge(tmp_path, event):
    found = hosting(GITHUB | event({"pull_request": {"number": 7, "head": {"sha": HEAD}}}), tmp_path)
    assert (found.commit, found.pull_request) == (HEAD, 7)
    assert found.request_url == "https://github.com/o/r/pull/7"


def test_a_project_in_a_folder_has_its_files_there(tmp_path):
    (tmp_path / "chips" / "npu").mkdir(parents=True)
    found = hosting(GITHUB | {"GITHUB_WORKSPACE": str(tmp_path)}, tmp_path / "chips" / "npu")
    assert found.blob("x1.yaml") == f"https://github.com/o/r/blob/{MERGE}/chips/npu/x1.yaml"
    assert hosting(GITHUB | {"GITHUB_WORKSPACE": str(tmp_path / "chips")}, tmp_path).folder == ""


def test_gitlab_has_other_addresses(tmp_path):
    found = hosting(GITLAB, tmp_path)
    assert found.blob("x1.yaml", 2) == f"https://gitlab.example/group/sub/r/-/blob/{HEAD}/x1.yaml#L2"
    assert found.request_url == "https://gitlab.example/group/sub/r/-/merge_requests/12"
    assert hosting(GITLAB | {"CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": MERGE}, tmp_path).commit == MERGE


@pytest.mark.parametrize("file", [None, "", "/etc/passwd", "../other/x.yaml", "a/../../x.yaml", "C:/x.yaml"])
def test_what_is_not_in_the_repository_has_no_address(tmp_path, file):
    assert hosting(GITHUB, tmp_path).blob(file, 1) is None


def test_signs_in_the_names_of_files_cannot_leave_a_link(tmp_path):
    found = hosting(GITHUB, tmp_path).blob('a) [b](c "d#e?f.yaml', 1)
    assert found.endswith("/a%29%20%5Bb%5D%28c%20%22d%23e%3Ff.yaml#L1")


@pytest.mark.parametrize(
    "variables",
    [
        {"GITHUB_SERVER_URL": "javascript:alert(1)//"},
        {"GITHUB_SERVER_URL": "https://a@evil.example"},
        {"GITHUB_REPOSITORY": "o/r)[x](//evil.example"},
        {"GITHUB_REPOSITORY": "o/r\n"},
        {"GITHUB_SHA": "main"},
        {"GITHUB_RUN_ID": "1)"},
    ],
)
def test_variables_that_make_no_sense_are_as_none(tmp_path, variables):
    assert hosting(GITHUB | variables, tmp_path) is None


@pytest.mark.parametrize("content", ["{", "[]", '{"pull_request": null}', '{"pull_request": 3}', "\x00"])
def test_an_event_that_cannot_be_read_is_that_of_a_push(tmp_path, event, content):
    assert hosting(GITHUB | event(content), tmp_path).commit == MERGE
    assert hosting(GITHUB | {"GITHUB_EVENT_PATH": str(tmp_path / "gone")}, tmp_path).commit == MERGE
