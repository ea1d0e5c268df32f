"""Problems that a user can repair: where they are, how the place is written, and in what order they come."""

from pathlib import Path

from rooflint.base.errors import InputError, Problem, RooflintError, extra, refuse, shown, shown_short
from rooflint.hardware.registry import PACKAGED


def test_a_problem_is_one_line_with_the_file_as_the_reader_sees_it(tmp_path, monkeypatch):
    (tmp_path / "specs").mkdir()
    monkeypatch.chdir(tmp_path)
    assert str(Problem(tmp_path / "specs" / "one.yaml", 4, "is empty")) == "specs/one.yaml:4  is empty"
    monkeypatch.chdir(tmp_path / "specs")
    assert shown(tmp_path / "specs" / "one.yaml") == "one.yaml"
    assert shown(tmp_path / "other.yaml") == (tmp_path / "other.yaml").as_posix()


def test_an_error_says_its_problems_by_file_and_line():
    one, two, three = (
        Problem(Path(f"/nowhere/{name}.yaml"), line, "no") for name, line in (("b", 1), ("a", 9), ("a", 2))
    )
    error = InputError([one, two, three])
    assert error.problems == (three, two, one)
    assert str(error) == "/nowhere/a.yaml:2  no\n/nowhere/a.yaml:9  no\n/nowhere/b.yaml:1  no"


def test_a_refusal_is_the_error_for_a_single_problem():
    error = refuse(Path("/nowhere/a.yaml"), 3, "is empty")
    assert isinstance(error, InputError)
    assert isinstance(error, RooflintError)
    assert error.problems == (Problem(Path("/nowhere/a.yaml"), 3, "is empty"),)
    assert str(error) == "/nowhere/a.yaml:3  is empty"


def test_of_many_problems_twenty_are_listed_and_the_others_counted():
    problems = [Problem(Path("/nowhere/a.yaml"), line, "no") for line in range(1, 24)]
    lines = str(InputError(problems)).splitlines()
    assert lines[19:] == ["/nowhere/a.yaml:20  no", "and 3 more problems"]
    assert len(str(InputError(problems[:20])).splitlines()) == 20
    assert len(InputError(problems).problems) == 23


def test_a_loop_of_links_is_shown_by_its_name(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert shown(tmp_path / "loop") == (tmp_path / "loop").as_posix()


def test_a_problem_is_one_line_of_limited_length_whatever_it_quotes():
    assert Problem(Path("a.yaml"), 1, "found 'a\n::error::b\r'").message == "found 'a\\n::error::b\\r'"
    found = Problem(Path("a.yaml"), 1, f"unknown key '{'k' * 5000}'; did you mean 'kind'?").message
    assert len(found) == 2003
    assert found.startswith("unknown key 'kkk")
    assert found.endswith("kkk'; did you mean 'kind'?")


def test_a_shipped_file_is_shown_from_the_package_on_and_another_one_as_always(tmp_path, monkeypatch):
    shipped = PACKAGED / "hardware" / "nvidia" / "t4.yaml"
    monkeypatch.chdir(tmp_path)
    assert shown_short(shipped) == "rooflint/specs/hardware/nvidia/t4.yaml"
    assert shown_short(tmp_path / "one.yaml") == "one.yaml"
    assert shown_short(Path("/elsewhere/one.yaml")) == "/elsewhere/one.yaml"
    monkeypatch.chdir(shipped.parent)
    assert shown_short(shipped) == "t4.yaml"


def test_an_extra_is_installed_from_the_clone_as_the_readme_installs_the_rest():
    assert extra("torch") == "in the clone of rooflint: python -m pip install '.[torch]'"
    assert "python -m pip install '.[torch]'" in (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
