"""Workloads of golden files: by name or by parameters, own tables before ours."""

import shutil

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from pytest_rooflint.golden.kinds import ClaimError
from pytest_rooflint.golden.workloads import build
from rooflint.workloads import tables
from rooflint.workloads.builders import conv2d, gemm, mlp


@pytest.mark.parametrize(
    ("text", "workload"),
    [
        ({"gemm": [64, 128, 256]}, gemm(64, 128, 256)),
        ({"gemm": [64, 128, 256], "batch": 4}, gemm(64, 128, 256, batch=4)),
        ({"mlp": [1024, 1024], "batch": 16}, mlp([1024, 1024], batch=16)),
        ({"mlp": [1024, 1024], "bias": False}, mlp([1024, 1024], bias=False)),
        (
            {"conv2d": {"c_in": 3, "h": 8, "w": 8, "c_out": 4, "kernel": 3}, "batch": 2},
            conv2d(n=2, c_in=3, h=8, w=8, c_out=4, kernel=3),
        ),
    ],
)
def test_parameters_name_a_workload(text, workload):
    assert build(text) == workload


def test_a_committed_network_goes_by_its_id_at_any_batch():
    one = build("torchvision/resnet18")
    assert build({"network": "torchvision/resnet18"}) == one
    # weights are shared, so eight images need eight times the products
    assert build({"network": "torchvision/resnet18", "batch": 8}).total_macs == 8 * one.total_macs


def test_an_own_table_comes_before_the_packaged_one(tmp_path):
    own = tmp_path / "workloads" / "torchvision" / "resnet18.yaml"
    own.parent.mkdir(parents=True)
    shutil.copy(tables.ROOT / "torchvision" / "resnet18.yaml", own)
    # the first convolution: 112² positions × 64 × (3 · 7²) MAC; without it the table is another one
    lines = own.read_text(encoding="utf-8").splitlines(keepends=True)
    first = next(line for line in lines if line.startswith("  - [conv1, conv2d"))
    rest = "".join(line for line in lines if line != first).replace("[conv1]", "[input]")
    own.write_text(rest, encoding="utf-8")
    assert build("torchvision/resnet18", (tmp_path,)).total_macs == (
        build("torchvision/resnet18").total_macs - 112**2 * 64 * 3 * 7**2
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "no workload given"),
        ("torchvision/resnet19", "unknown workload 'torchvision/resnet19'"),
        ("../../secrets", "unknown workload"),
        (5, "want a name or a mapping"),
        ([1, 2], "want a name or a mapping"),
        ({}, "found none"),
        ({"lstm": [1, 2]}, "want network, mlp, gemm or conv2d with their parameters, found lstm"),
        ({"gemm": [64, 128]}, "found gemm"),
        ({"gemm": [64, 128, 256], "transposed": True}, "found gemm, transposed"),
        ({"gemm": [64, 128, 0]}, "want a whole number of at least 1, found 0"),
        ({"gemm": [64, 128, 0.5]}, "found 0.5"),
        ({"gemm": ["64", 128, 256]}, "found 64"),
        ({"mlp": 1024}, "found mlp"),
        ({"mlp": [1024]}, "want at least two"),
        ({"mlp": [1024, 1024], "batch": 0}, "batch: want a whole number of at least 1"),
        ({"mlp": [10**30, 10**30]}, "2^53"),
        ({"conv2d": {"c_in": 3}}, "workload:"),
        ({"conv2d": {"c_in": 3, "h": 8, "w": 8, "c_out": 4, "kernel": 3, "colour": 1}}, "colour"),
        ({"network": "torchvision/resnet18", "batch": -1}, "batch"),
        ({"network": 7}, "found network"),
    ],
)
def test_what_is_no_workload_is_refused_in_a_sentence(text, says):
    with pytest.raises(ClaimError) as caught:
        build(text)
    assert says in str(caught.value)


def test_a_file_in_onnx_is_a_workload(tmp_path, monkeypatch):
    given = helper.make_tensor_value_info("x", 1, ["batch", 8])
    nodes = [helper.make_node("Gemm", ["x", "w"], ["y"])]
    weights = [numpy_helper.from_array(np.ones((8, 5), np.float32), "w")]
    graph = helper.make_graph(nodes, "net", [given], [helper.make_tensor_value_info("y", 1, None)], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), tmp_path / "net.onnx")
    monkeypatch.chdir(tmp_path)
    assert build({"network": "net.onnx", "batch": 3}).total_macs == 3 * 8 * 5
    with pytest.raises(ClaimError, match=r"workload: absent\.onnx: no such file"):
        build("absent.onnx")
