"""Networks by name, without torch: what is committed, and what was kept."""

import pytest

from rooflint import capture_cache, networks
from rooflint.errors import RooflintError
from rooflint.networks import network
from rooflint.workload import Op, Workload, mlp
from rooflint.workload_tables import load_workload

ONE = Workload.from_ops("one", [Op("relu", "relu", other_ops=4, elements_in=4, elements_out=4)])


@pytest.fixture(autouse=True)
def _versions(monkeypatch):
    monkeypatch.setattr(capture_cache, "libraries", lambda: ["2.0", "1.0"])


@pytest.mark.parametrize("name", ["resnet18", "torchvision/resnet18"])
def test_a_committed_table_needs_nothing_but_itself(name, tmp_path):
    assert network(name, folder=tmp_path) == load_workload("torchvision/resnet18")
    assert list(tmp_path.iterdir()) == []


def test_a_program_is_captured_again_when_its_file_changes(tmp_path, monkeypatch):
    tables = iter([mlp([2, 2]), ONE])
    file = tmp_path / "net.pt2"
    file.write_text("first", encoding="utf-8")
    monkeypatch.setattr(networks, "_captured_program", lambda _: next(tables))
    assert [network(str(file), folder=tmp_path / "kept").total_macs for _ in "12"] == [4, 4]
    file.write_text("second", encoding="utf-8")
    assert network(str(file), folder=tmp_path / "kept") == ONE


def test_a_factory_is_captured_once_a_shape_and_again_when_asked(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(networks, "_factory", lambda target, shapes: asked.append((target, shapes)) or ONE)
    for shapes in ([], [], [(1, 4)], [[1, 4]]):
        assert network("nets:make", shapes, tmp_path) == ONE
    assert asked == [("nets:make", []), ("nets:make", [[1, 4]])]
    network("nets:make", folder=tmp_path, fresh=True)
    assert len(asked) == 3


def test_a_capture_that_cannot_be_kept_is_not_lost(tmp_path, monkeypatch):
    monkeypatch.setattr(networks, "_factory", lambda target, shapes: ONE)
    (taken := tmp_path / "taken").write_text("a file, not a folder", encoding="utf-8")
    with pytest.warns(UserWarning, match="taken: cannot keep the capture of nets:make: "):
        assert network("nets:make", folder=taken) == ONE


def test_captures_are_kept_in_the_users_cache_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(networks, "user_cache_path", lambda name: tmp_path / name)
    monkeypatch.setattr(networks, "_factory", lambda target, shapes: ONE)
    network("nets:make")
    assert len(list((tmp_path / "rooflint" / "captures").glob("nets-make-*.json"))) == 1


def test_one_name_in_two_folders_is_two_networks(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(networks, "_factory", lambda target, shapes: asked.append(target) or ONE)
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
            "resnt18: did you mean resnet18? It is not among the networks that need no capture (convnext_tiny, ",
        ),
        ("ResNet18", "ResNet18: did you mean resnet18? It is not among "),
        ("zzz", "zzz is not among the networks that need no capture (convnext_tiny, "),
    ],
)
def test_a_misspelt_network_is_asked_about_before_torch_is(name, start, tmp_path, monkeypatch):
    def absent():
        raise capture_cache.MissingTorchError("capturing a network needs torch: install rooflint[torch]")

    monkeypatch.setattr(capture_cache, "libraries", absent)
    with pytest.raises(capture_cache.MissingTorchError) as error:
        network(name, folder=tmp_path)
    assert str(error.value).startswith(start)
    assert str(error.value).endswith("; capturing a network needs torch: install rooflint[torch]")
