"""Kept captures: found by what went in, gone when anything of it changed."""

import json
import warnings
from pathlib import Path

import pytest

from rooflint.base.errors import RooflintError, extra
from rooflint.workloads import load
from rooflint.workloads.builders import mlp
from rooflint.workloads.load import RULES, ForeignCodeWarning, entry, libraries, network, rules
from rooflint.workloads.ops import COLUMNS, Op
from rooflint.workloads.tables import UnknownNetworkError, load_workload
from rooflint.workloads.workload import Workload

TABLE = mlp([4, 2], batch=3)


@pytest.fixture(autouse=True)
def _versions(monkeypatch):
    monkeypatch.setattr(load, "libraries", lambda: ["2.0", "1.0"])


def test_what_was_written_is_read_again(tmp_path):
    place = entry("net", [[3, 4]], tmp_path / "deep" / "down")
    assert place.read() is None
    place.write(TABLE)
    assert entry("net", [[3, 4]], tmp_path / "deep" / "down").read() == TABLE
    assert place.read().flow == TABLE.flow is not None
    assert [file.name for file in place.file.parent.iterdir()] == [place.file.name]


def test_a_batch_that_cannot_change_is_kept_with_its_reason(tmp_path):
    place = entry("net", [], tmp_path)
    place.write(type(TABLE).from_ops("net", TABLE.rows(), 3, "it mixes its samples"))
    assert place.read().fixed_batch == "it mixes its samples"
    assert place.read().flow is None


def test_another_network_input_version_or_rule_is_another_entry(tmp_path, monkeypatch):
    files = {entry(network, shapes, tmp_path).file for network in "ab" for shapes in ([], [[1, 3]], [[2, 3]])}
    monkeypatch.setattr(load, "libraries", lambda: ["2.1", "1.0"])
    files.add(entry("a", [], tmp_path).file)
    monkeypatch.setattr(load, "rules", lambda: "another digest")
    files.add(entry("a", [], tmp_path).file)
    assert len(files) == 8


def test_the_rules_are_the_text_of_modules_that_are_there():
    assert len(rules()) == 64
    assert {"ops.py", "capture/graph.py", "capture/trace.py", "capture/torchvision_networks.py"} <= set(RULES)


def test_an_entry_is_good_while_its_files_hold_what_they_held(tmp_path):
    source = tmp_path / "nets.py"
    source.write_text("one", encoding="utf-8")
    place = entry("nets:make", [], tmp_path)
    place.write(TABLE, [source])
    assert place.read() == TABLE
    source.write_text("two", encoding="utf-8")
    assert place.read() is None
    source.unlink()
    assert place.read() is None


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-20],
        lambda text: "[]",
        lambda text: "[" * 200_000,
        lambda text: json.dumps(json.loads(text) | {"columns": COLUMNS[:-1]}),
        lambda text: json.dumps(json.loads(text) | {"ops": [["fc", "linear", -1, 0, 0, 0, 0, 0, 0, 0, 0]]}),
        lambda text: json.dumps(json.loads(text) | {"ops": [["fc"]]}),
        lambda text: text.replace('"batch"', '"bunch"'),
        lambda text: text.replace('"flow"', '"flaw"'),
        lambda text: text.replace('"elements_constant"', '"constants"'),
        lambda text: text.replace('"reads":[[-1]]', '"reads":[[0]]'),
        lambda text: text.replace('"reads":[[-1]]', '"reads":[-1]'),
        lambda text: text.replace('"elements_input":12', '"elements_input":"12"'),
    ],
)
def test_an_entry_that_is_damaged_is_as_if_it_were_not_there(tmp_path, change):
    place = entry("net", [], tmp_path)
    place.write(TABLE)
    place.file.write_text(change(place.file.read_text(encoding="utf-8")), encoding="utf-8")
    assert place.read() is None


def test_a_library_that_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(load, "LIBRARIES", ("nonesuch-library",))
    with pytest.raises(RooflintError, match=r"needs nonesuch-library; in the clone of rooflint: "):
        libraries()


# ---- Networks by name, without torch: what is committed, and what was kept

ONE = Workload.from_ops("one", [Op("relu", "relu", other_ops=4, elements_in=4, elements_out=4)])


@pytest.fixture(autouse=True)
def _versions_of_networks(monkeypatch):
    monkeypatch.setattr(load, "libraries", lambda: ["2.0", "1.0"])


@pytest.mark.parametrize("name", ["resnet18", "torchvision/resnet18"])
def test_a_committed_table_needs_nothing_but_itself(name, tmp_path):
    assert network(name, folder=tmp_path) == load_workload("torchvision/resnet18")
    assert list(tmp_path.iterdir()) == []


def test_a_program_is_captured_again_when_its_file_changes(tmp_path, monkeypatch):
    tables = iter([mlp([2, 2]), ONE])
    file = tmp_path / "net.pt2"
    file.write_text("first", encoding="utf-8")
    monkeypatch.setattr(load, "_captured", lambda _: next(tables))
    assert [network(str(file), folder=tmp_path / "kept").total_macs for _ in "12"] == [4, 4]
    file.write_text("second", encoding="utf-8")
    assert network(str(file), folder=tmp_path / "kept") == ONE


@pytest.mark.slow
def test_a_capture_is_announced_and_what_is_kept_is_not(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(load, "_captured", lambda target, shapes: ONE)
    monkeypatch.setattr(load, "find_spec", lambda name: name == "torch")
    with caplog.at_level("INFO", "rooflint"):
        for _ in range(2):
            network("nets:make", folder=tmp_path)
    assert caplog.messages == ["capturing nets:make with torch, which takes up to a minute"]


def test_a_factory_is_captured_once_a_shape_and_again_when_asked(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(load, "_captured", lambda target, shapes: asked.append((target, shapes)) or ONE)
    for shapes in ([], [], [(1, 4)], [[1, 4]]):
        assert network("nets:make", shapes, tmp_path) == ONE
    assert asked == [("nets:make", []), ("nets:make", [[1, 4]])]
    network("nets:make", folder=tmp_path, fresh=True)
    assert len(asked) == 3


@pytest.mark.slow
def test_a_capture_that_cannot_be_kept_is_not_lost(tmp_path, monkeypatch):
    monkeypatch.setattr(load, "_captured", lambda target, shapes: ONE)
    (taken := tmp_path / "taken").write_text("a file, not a folder", encoding="utf-8")
    with pytest.warns(UserWarning, match="taken: cannot keep the capture of nets:make: "):
        assert network("nets:make", folder=taken) == ONE


@pytest.mark.slow
def test_captures_are_kept_in_the_users_cache_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(load, "user_cache_path", lambda name: tmp_path / name)
    monkeypatch.setattr(load, "_captured", lambda target, shapes: ONE)
    network("nets:make")
    assert len(list((tmp_path / "rooflint" / "captures").glob("nets-make-*.json"))) == 1


@pytest.mark.slow
def test_one_name_in_two_folders_is_two_networks(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(load, "_captured", lambda target, shapes: asked.append(target) or ONE)
    for folder in ("here", "there", "here"):
        (tmp_path / folder).mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / folder)
        network("nets:make", folder=tmp_path / "kept")
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("name", "shapes", "sentence"),
    [
        ("alexnet", [(1, 3, 64, 64)] * 2, "alexnet: want one shape, found 2"),
        ("net.pt2", [(1, 3)], "net.pt2: want no shape: it has its own, found 1"),
        ("alexnet", [(1, 3, -64, 64)], "want a shape of whole numbers such as 1, 3, 224, 224, found [1, 3, -64, 64]"),
        ("nets:make", [()], "found []"),
        ("nets:make", [(1, 2.5)], "found [1, 2.5]"),
    ],
)
def test_a_shape_that_no_input_has_is_refused(name, shapes, sentence, tmp_path):
    with pytest.raises(RooflintError) as error:
        network(name, shapes, tmp_path)
    assert str(error.value).endswith(sentence)


@pytest.mark.parametrize(
    ("name", "start"),
    [
        (
            "resnt18",
            "unknown network 'resnt18'; did you mean resnet18? 'rooflint networks' lists those that need no ",
        ),
        ("ResNet81", "unknown network 'ResNet81'; did you mean resnet18? "),
        ("whisper-tiny", "unknown network 'whisper-tiny'; did you mean whisper-base? "),
        (
            "zzz",
            "unknown network 'zzz'; 'rooflint networks' lists those that need no torch; capturing ",
        ),
    ],
)
def test_a_misspelt_network_is_asked_about_before_torch_is(name, start, tmp_path, monkeypatch):
    def absent():
        raise load.MissingTorchError(f"capturing a network needs torch; {extra('torch')}")

    monkeypatch.setattr(load, "libraries", absent)
    with pytest.raises(load.MissingTorchError) as error:
        network(name, folder=tmp_path)
    assert str(error.value).startswith(start)
    assert str(error.value).endswith(f"; capturing a network needs torch; {extra('torch')}")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("ResNet18", "resnet18?"),
        ("llama3", "llama-3.1-405b, llama-3.1-70b or llama-3.1-8b?"),
    ],
)
def test_the_beginning_of_a_name_is_asked_about_without_a_word_on_torch(name, meant, tmp_path, monkeypatch):
    def absent():
        raise load.MissingTorchError(f"capturing a network needs torch; {extra('torch')}")

    monkeypatch.setattr(load, "libraries", absent)
    with pytest.raises(load.WorkloadError) as error:
        network(name, folder=tmp_path)
    assert str(error.value) == f"unknown network '{name}'; did you mean {meant} 'rooflint networks' lists all"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("whisper-tiny", "unknown network 'whisper-tiny'; did you mean whisper-base? 'rooflint networks' lists those"),
        ("llama3", "unknown network 'llama3'; did you mean llama-3.1-405b, llama-3.1-70b or llama-3.1-8b? "),
        ("resnt18", "unknown network 'resnt18'; did you mean resnet18? "),
        ("maxvit_x", "unknown network 'maxvit_x'; did you mean maxvit_t? "),  # one of torchvision's
        ("zzz", "torchvision has no network 'zzz'"),
    ],
)
def test_a_misspelt_network_is_asked_about_where_torch_is_there_too(name, message, tmp_path, monkeypatch):
    def unknown(*_):
        raise UnknownNetworkError(name, ["resnet18", "maxvit_t"])

    monkeypatch.setattr(load, "_kept", unknown)
    with pytest.raises(RooflintError) as error:
        network(name, folder=tmp_path)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mine.py", "mine.py: want the function or class in it that makes the network, such as mine.py:make"),
        ("a.b/net.py", "a.b/net.py: want the function or class in it that makes the network, such as a.b/net.py:make"),
        ("w.pth", "w.pth: holds weights, not ops; want FILE.py:FACTORY, or the .pt2 of torch.export.save"),
        ("x.safetensors", "x.safetensors: holds weights, not ops; want "),
    ],
)
def test_a_file_without_a_network_names_what_is_wanted(name, message, tmp_path):
    with pytest.raises(RooflintError) as error:
        network(name, folder=tmp_path)
    assert str(error.value).startswith(message)


def test_a_file_in_onnx_needs_an_extra_that_the_message_names(tmp_path, monkeypatch):
    monkeypatch.setattr(load, "find_spec", lambda name: None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.onnx").write_bytes(b"")
    with pytest.raises(RooflintError) as error:
        network("net.onnx")
    assert str(error.value) == f"net.onnx: reading it needs onnx; {extra('onnx')}"


def test_a_file_in_onnx_that_is_not_there_needs_no_extra(monkeypatch):
    monkeypatch.setattr(load, "find_spec", lambda name: None)
    with pytest.raises(RooflintError, match=r"^no\.onnx: no such file$"):
        network("no.onnx")


# ---- code of others


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with a module in it, and a folder outside with another one; both can be imported."""
    (tmp_path / "project" / "deep").mkdir(parents=True)
    (tmp_path / "project" / "pyproject.toml").write_text("", encoding="utf-8")
    (tmp_path / "outside").mkdir()
    for place in ("project/own_net.py", "project/own.pt2", "outside/foreign_net.py", "outside/foreign.pt2"):
        (tmp_path / place).write_text("raise RuntimeError('this has run')", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "project" / "deep")
    monkeypatch.syspath_prepend(tmp_path / "outside")
    monkeypatch.syspath_prepend(tmp_path / "project")
    return tmp_path


def announced(source):
    """The warnings before code of a source would run."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        load._warn_of_foreign_code(source)
    return [str(one.message) for one in found]


@pytest.mark.parametrize(
    "source", ["own_net:make", Path("../own.pt2"), "json:loads", "absent_net:make", Path("no.pt2")]
)
def test_code_of_the_project_and_of_libraries_runs_without_a_warning(project, source):
    assert announced(source) == []


@pytest.mark.parametrize(
    "source",
    [
        "foreign_net:make",
        "foreign_net.inner:make",
        "../../outside/foreign_net.py:make",
        Path("../../outside/foreign.pt2"),
    ],
)
def test_code_from_elsewhere_is_announced_before_it_runs_unless_it_is_trusted(project, source):
    with pytest.warns(
        ForeignCodeWarning, match=rf"runs code of {project}/outside/foreign.*, outside of {project}/project;"
    ):
        load._warn_of_foreign_code(source)
    token = load.trusted.set(True)
    try:
        assert announced(source) == []
    finally:
        load.trusted.reset(token)


def test_each_part_of_a_namespace_is_looked_at(project):
    for place in ("project", "outside"):
        (project / place / "shared_space").mkdir()
    with pytest.warns(ForeignCodeWarning, match="outside/shared_space"):
        load._warn_of_foreign_code("shared_space.b:make")


def test_a_repository_around_the_home_is_no_project(tmp_path, monkeypatch):
    (tmp_path / "home" / "work").mkdir(parents=True)
    (tmp_path / "home" / ".git").mkdir()
    (tmp_path / ".git").mkdir()  # or the search would go on to what stands above the test
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert load._project(tmp_path / "home" / "work") == tmp_path
    (tmp_path / "home" / "work" / ".git").mkdir()
    assert load._project(tmp_path / "home" / "work") == tmp_path / "home" / "work"
    (tmp_path / "home" / "work" / "deep").mkdir()
    assert load._project(tmp_path / "home" / "work" / "deep") == tmp_path / "home" / "work"


def test_a_known_network_for_another_input_is_not_asked_about(tmp_path, monkeypatch):
    def absent():
        raise load.MissingTorchError(f"capturing a network needs torch; {extra('torch')}")

    monkeypatch.setattr(load, "libraries", absent)
    with pytest.raises(load.MissingTorchError) as error:
        network("resnet18", [(1, 3, 160, 160)], folder=tmp_path)
    says = (
        "resnet18: to capture it anew, or for another input, capturing a network needs torch; "
        "in the clone of rooflint: python -m pip install '.[torch]'"
    )
    assert str(error.value) == says
