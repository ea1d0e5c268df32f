"""The command that writes tables of torchvision's networks."""

import pytest

from rooflint.workloads.builders import mlp
from rooflint.workloads.capture import write as module_under_test
from rooflint.workloads.capture.write import main, write_torchvision
from rooflint.workloads.tables import ROOT, read_table, workload_ids

COMMITTED = [name.removeprefix("torchvision/") for name in workload_ids() if name.startswith("torchvision/")]


def test_writing_a_table_again_changes_nothing_but_versions(tmp_path):
    write_torchvision("resnet18", tmp_path)
    fresh, committed = (_without_versions(root / "torchvision/resnet18.yaml") for root in (tmp_path, ROOT))
    assert fresh == committed
    assert read_table(tmp_path / "torchvision/resnet18.yaml")[1].input == (1, 3, 224, 224)


def test_the_command_writes_what_it_is_asked_for(monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(module_under_test, "write_torchvision", lambda name: asked.append(name) or mlp([2, 2]))
    main(["resnet18", "vgg16"])
    assert asked == ["resnet18", "vgg16"]
    asked.clear()
    main([])
    assert asked == COMMITTED
    assert "1 ops, 4 MAC" in capsys.readouterr().out


def test_the_command_says_in_one_line_what_it_cannot_capture(capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["nonesuch"])
    assert exit_.value.code == 1
    assert capsys.readouterr().err == "nonesuch: torchvision has no network 'nonesuch'\n"


def _without_versions(file):
    lines = file.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith(("  torch:", "  torchvision:"))]
