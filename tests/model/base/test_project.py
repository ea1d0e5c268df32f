"""What a project configures, where that is looked for, and what is said where it is wrong."""

from pathlib import Path

import pytest

from rooflint.base.errors import InputError, Problem
from rooflint.base.project import configured, golden_folders, limit, named, share, texts
from rooflint.base.project import project as project_of


@pytest.fixture
def project(tmp_path):
    """`project(text)` writes a pyproject.toml beside the folders `specs` and `more specs`."""
    for name in ("specs", "more specs"):
        (tmp_path / name).mkdir()

    def write(text: str | bytes) -> Path:
        file = tmp_path / "pyproject.toml"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    return write


HEAD = "[tool.pytest.ini_options]\nminversion = '9.0'\n"


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("['specs']", ["specs"]),
        ("['specs', 'more specs']", ["specs", "more specs"]),
        ("'specs'", ["specs"]),
        ("'''specs \"more specs\"'''", ["specs", "more specs"]),
        ("[]", []),
        ("''", []),
    ],
)
def test_folders_are_named_beside_the_project_as_a_list_or_as_words(project, value, names):
    file = project(f"{HEAD}rooflint_specs = {value}\n")
    assert configured("rooflint_specs", file) == [file.parent / name for name in names]


def test_options_are_apart(project):
    file = project(f"{HEAD}rooflint_specs = ['specs']\nrooflint_golden = ['more specs']\n")
    assert configured("rooflint_golden", file) == [file.parent / "more specs"]


@pytest.mark.parametrize("text", ["", "[project]\nname = 'x'\n", HEAD, "[tool.other]\nrooflint_specs = ['specs']\n"])
def test_a_project_that_names_none_has_none(project, text):
    assert configured("rooflint_specs", project(text)) == []


def test_where_there_is_no_project_there_is_none(tmp_path):
    assert configured("rooflint_specs", tmp_path / "pyproject.toml") == []


def test_a_folder_that_is_not_there_is_refused_with_the_line(project):
    file = project(f"{HEAD}rooflint_specs = ['specs', 'absent']\n")
    with pytest.raises(InputError) as caught:
        configured("rooflint_specs", file)
    sentence = f"rooflint_specs: want a folder, found nothing at {file.parent / 'absent'}"
    assert caught.value.problems == (Problem(file, 3, sentence),)


def test_folders_are_told_by_name_where_they_need_not_be_there(project):
    file = project(f"{HEAD}rooflint_specs = ['specs', 'absent']\n")
    assert named("rooflint_specs", file) == [file.parent / "specs", file.parent / "absent"]


@pytest.mark.parametrize("text", ["[tool\n", HEAD + "rooflint_specs = \n", b"name = '\xff'\n"])
def test_what_is_no_toml_is_refused(project, text):
    with pytest.raises(InputError, match=r"pyproject\.toml:1  (is not TOML|cannot be read as UTF-8): "):
        configured("rooflint_specs", project(text))


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "rooflint_specs = 5\n",
        HEAD + "rooflint_specs = [5]\n",
        HEAD + "rooflint_specs = {a = 1}\n",
        HEAD + "rooflint_specs = 'an \"open quote'\n",
        "[tool]\npytest = 1\n",
        "tool = 1\n",
        "[tool.pytest]\nini_options = []\n",
    ],
)
def test_what_is_not_a_list_of_folders_is_refused_in_a_sentence(project, text):
    try:
        assert configured("rooflint_specs", project(text)) == []  # a table of somebody else may be overlooked
    except InputError as error:
        assert error.problems


# ---- a share in per cent


@pytest.mark.parametrize(
    ("value", "floor"), [("99.5", 0.995), ("95", 0.95), ("'99.5'", 0.995), ("0", 0.0), ("100", 1.0)]
)
def test_a_share_is_written_in_per_cent(project, value, floor):
    assert share("rooflint_mutation_floor", project(f"{HEAD}rooflint_mutation_floor = {value}\n")) == floor


def test_a_share_that_nobody_says_is_none(project, tmp_path):
    assert share("rooflint_mutation_floor", project(HEAD)) is None
    assert share("rooflint_mutation_floor", tmp_path / "nowhere.toml") is None


@pytest.mark.parametrize("value", ["101", "-1", "true", "'most'", "[95]", "nan"])
def test_what_is_no_share_is_refused_with_its_line(project, value):
    file = project(f"{HEAD}rooflint_mutation_floor = {value}\n")
    with pytest.raises(InputError) as caught:
        share("rooflint_mutation_floor", file)
    (problem,) = caught.value.problems
    assert (problem.file, problem.line) == (file, 3)
    assert problem.message.startswith("rooflint_mutation_floor: want per cent between 0 and 100, found ")


# ---- where the project is found


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", "[tool.pytest.ini_options]\nrooflint_specs = ['specs']\n"),
        ("pyproject.toml", "[tool.pytest]\nrooflint_specs = ['specs']\n"),
        ("pytest.toml", "[pytest]\nrooflint_specs = ['specs']\n"),
        ("pytest.ini", "[pytest]\nrooflint_specs = specs\n"),
        ("tox.ini", "[tox]\nenv_list = a\n[pytest]\nrooflint_specs =\n    specs\n"),
        ("setup.cfg", "[metadata]\nname = x\n[tool:pytest]\nrooflint_specs = specs\n"),
    ],
)
@pytest.mark.parametrize("below", [".", "tests", "tests/deep"])
def test_a_project_is_found_where_pytest_finds_it_also_from_a_folder_below(tmp_path, monkeypatch, name, text, below):
    for folder in ("specs", "tests/deep"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path / below)
    assert [folder.resolve() for folder in configured("rooflint_specs")] == [(tmp_path / "specs").resolve()]


def test_the_first_file_that_configures_pytest_is_the_project(tmp_path, monkeypatch):
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")
    outer = tmp_path / "pyproject.toml"
    outer.write_text(HEAD, encoding="utf-8")
    for name, text in (
        ("pyproject.toml", "[project]\nname = 'x'\n"),
        ("tox.ini", "[tox]\n"),
        ("setup.cfg", "[metadata]\n"),
    ):
        Path(name).write_text(text, encoding="utf-8")
    assert project_of() == outer
    Path("pyproject.toml").write_text(HEAD, encoding="utf-8")
    assert project_of() == Path("pyproject.toml")
    Path("pytest.ini").write_text("", encoding="utf-8")  # pytest takes it even when it is empty
    assert project_of() == Path("pytest.ini")


def test_without_a_project_its_settings_are_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert (configured("rooflint_specs"), share("rooflint_mutation_floor")) == ([], None)


def test_a_broken_file_is_refused_in_the_working_directory_and_passed_over_above_it(tmp_path, monkeypatch):
    (tmp_path / "inner").mkdir()
    (tmp_path / "pyproject.toml").write_text("[tool\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "inner")
    assert configured("rooflint_specs") == []
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"pyproject\.toml:1  is not TOML"):
        configured("rooflint_specs")


@pytest.mark.parametrize("text", ["rooflint_specs\n", "[pytest\n"])
def test_what_is_not_an_ini_file_is_refused(tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    Path("pytest.ini").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"pytest\.ini:1  is not an INI file"):
        configured("rooflint_specs")


# ---- golden folders, and a part of them


@pytest.mark.parametrize(
    ("given", "roots", "part"),
    [
        ([], ["/a/golden"], []),
        (["/a/golden"], ["/a/golden"], []),
        (["/a/golden/x"], ["/a/golden"], ["/a/golden/x"]),
        (["/a/golden/x", "/a/golden/y/z"], ["/a/golden"], ["/a/golden/x", "/a/golden/y/z"]),
        (["/a/golden/x", "/b"], ["/a/golden/x", "/b"], []),
        (["/a/goldenly"], ["/a/goldenly"], []),
        (["/a"], ["/a"], []),
    ],
)
def test_folders_below_those_of_the_project_are_a_part_and_others_stand_in_their_place(given, roots, part):
    found = golden_folders([Path(one) for one in given], [Path("/a/golden")])
    assert found == (tuple(map(Path, roots)), tuple(map(Path, part)))


def test_without_a_project_given_folders_are_the_whole():
    assert golden_folders([Path("/b/x")], []) == ((Path("/b/x"),), ())


# ---- a whole number


def test_a_limit_is_a_whole_number_or_none(project):
    assert limit("rooflint_unguarded_ceiling", project(f"{HEAD}rooflint_unguarded_ceiling = 20\n")) == 20
    assert limit("rooflint_unguarded_ceiling", project(f"{HEAD}rooflint_unguarded_ceiling = 0\n")) == 0
    assert limit("rooflint_unguarded_ceiling", project(HEAD)) is None


@pytest.mark.parametrize(("value", "found"), [("-1", "-1"), ("1.5", "1.5"), ("true", "True"), ("'many'", "many")])
def test_what_is_no_limit_is_refused_with_its_line(project, value, found):
    file = project(f"{HEAD}rooflint_unguarded_ceiling = {value}\n")
    with pytest.raises(InputError) as caught:
        limit("rooflint_unguarded_ceiling", file)
    (problem,) = caught.value.problems
    assert (problem.file, problem.line) == (file, 3)
    assert problem.message == f"rooflint_unguarded_ceiling: want a whole number, found '{found}'"


# ---- texts


def test_texts_have_the_lines_that_they_stand_in(project):
    file = project(f'{HEAD}rooflint_watch = [\n  "a b",\n\n  "c d",  # why\n]\n')
    assert texts("rooflint_watch", file) == [("a b", 4), ("c d", 6)]
    assert texts("rooflint_watch", project(f'{HEAD}rooflint_watch = ["a b", "c d"]\n')) == [("a b", 3), ("c d", 3)]
    assert texts("rooflint_watch", project(HEAD)) == []


def test_texts_of_an_ini_file_stand_in_lines(tmp_path):
    file = tmp_path / "pytest.ini"
    file.write_text("[pytest]\nrooflint_watch =\n  a b\n  c d\n", encoding="utf-8")
    assert texts("rooflint_watch", file) == [("a b", 3), ("c d", 4)]


@pytest.mark.parametrize("value", ["'a b'", "7", "[1]", "['a', ['b']]"])
def test_what_is_no_list_of_texts_is_refused_with_its_line(project, value):
    file = project(f"{HEAD}rooflint_watch = {value}\n")
    with pytest.raises(InputError) as caught:
        texts("rooflint_watch", file)
    (problem,) = caught.value.problems
    assert (problem.file, problem.line) == (file, 3)
    assert problem.message.startswith("rooflint_watch: want a list of texts, found ")
