"""Every way to name a network, in every command that takes one: each is accepted, or refused in one sentence."""

import json
import warnings
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
import torch
from torch import nn
from typer.testing import CliRunner

from pytest_rooflint.cli import measure
from pytest_rooflint.recordings import network_runs
from rooflint.base.errors import RooflintError
from rooflint.cli import explore, networks
from rooflint_measure.stopwatches import network, stream

NETS = """
from torch import nn, randn

def make():
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 6 * 6, 5))

def whole():
    return make(), randn(1, 3, 8, 8)
"""
LLAMA = {
    "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 256,
    "num_key_value_heads": 2, "intermediate_size": 96, "max_position_embeddings": 128,
}  # fmt: skip
LARGE = 5e7
"""Weights of a network that is not built here."""
SHAPE = ("--input", "1,3,8,8")
SOURCES = {
    "a language model": ("llama-3.2-1b", ()),
    "an encoder": ("bert-base", ()),
    "an image from noise": ("sdxl-unet", ()),
    "config.json": ("config.json", ()),
    "torchvision, kept": ("resnet18", ()),
    "torchvision, at a shape": ("torchvision/squeezenet1_1", ("--input", "1,3,64,64")),
    "file.py:factory": ("nets.py:whole", ()),
    "file.py:factory, at a shape": ("nets.py:make", SHAPE),
    "package.module:factory": ("pack.nets:whole", ()),
    "program": ("net.pt2", ()),
    "graph": ("net.onnx", ()),
}
COMMANDS = {
    "compare": lambda name, more: (networks.app, ["compare", name, "-d", "l4", *more]),
    "analyze": lambda name, more: (networks.app, ["analyze", name, "l4", *more]),
    "models": lambda name, more: (networks.app, ["models", "l4", name, *more]),
    "sweep": lambda name, more: (networks.app, ["sweep", name, "-d", "l4", "--batches", "1,2", *more]),
    "explore": lambda name, more: (explore.app, ["l4", "--vary", "SM.clock=x0.9,x1.1", "-n", name, *more]),
    "compare --generate": lambda name, more: (
        networks.app, ["compare", name, "-d", "l4", "--prompt", "16", "--generate", "4", *more],
    ),
    "sweep --generate": lambda name, more: (
        networks.app, ["sweep", name, "-d", "l4", "--batches", "1,2", "--prompt", "16", "--generate", "4", *more],
    ),
    "analyze --train": lambda name, more: (networks.app, ["analyze", name, "l4", "--train", "--prompt", "16", *more]),
    "measure network": lambda name, more: (measure.app, ["network", name, "--seconds", "0.1", *more]),
}  # fmt: skip
WRITE, STEP = ("compare --generate", "sweep --generate"), ("analyze --train",)
PICTURES, CAPTURES = ("torchvision, kept",), ("file.py:factory", "package.module:factory", "program", "graph")
SHAPED = ("torchvision, at a shape", "file.py:factory, at a shape")
NEEDS = "need a language model by name, or a config.json"
REFUSED = {
    (source, command): f"{SOURCES[source][0]}: {sentence}"
    for sources, commands, sentence in (
        ((*PICTURES, *CAPTURES), WRITE, f"--generate, --tp, --pp, --cp and --ep {NEEDS}"),
        ((*PICTURES, *CAPTURES), STEP, "training needs a language model by name, or a config.json"),
        (("an encoder",), WRITE, "is an encoder, which writes no tokens; want no --generate, --tp, --pp, --cp or --ep"),
        (
            ("an image from noise",),
            (*WRITE, *STEP),
            "--generate, --train and --tp need a single decoder or encoder; predict it without them",
        ),
        (("graph",), ("measure network",), "torch runs no .onnx file; name the module that it was exported from"),
    )
    for source in sources
    for command in commands
} | {
    (source, command): f"--input cannot be used with {other}"
    for source in SHAPED
    for commands, other in (
        (WRITE, "--generate, whose answer has both phases"),
        (STEP, "--train, whose answer is one step"),
    )
    for command in commands
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a network in each form."""
    place = tmp_path_factory.mktemp("nets")
    (place / "pack").mkdir()
    (place / "pack" / "__init__.py").write_text("", encoding="utf-8")
    for file in (place / "nets.py", place / "pack" / "nets.py"):
        file.write_text(NETS, encoding="utf-8")
    (place / "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    module, given = nn.Sequential(nn.Linear(8, 4), nn.ReLU()).eval(), torch.randn(2, 8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.export.export(module, (given,), dynamic_shapes=({0: torch.export.Dim("batch")},))
        torch.export.save(program, place / "net.pt2")
    shapes = [onnx.helper.make_tensor_value_info(name, 1, ["batch", size]) for name, size in (("x", 8), ("y", 4))]
    weight = onnx.numpy_helper.from_array(np.ones((8, 4), np.float32), "w")
    product = onnx.helper.make_node("MatMul", ["x", "w"], ["y"])
    graph = onnx.helper.make_graph([product], "net", shapes[:1], shapes[1:], [weight])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)]), place / "net.onnx")
    return place


@pytest.fixture
def here(folder, monkeypatch):
    """That folder, where captures are kept, and small networks that are called once instead of timed."""

    def once(model, setting, **_):
        network.prepared(model, setting)
        raise network.NotMeasuredError("it was called once")

    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.setattr(network, "measured", once)
    monkeypatch.setattr(network, "lacking_memory", lambda weights: "it is large" if weights > LARGE else "")
    monkeypatch.setattr(network_runs, "reference", lambda request, precision: SimpleNamespace())
    monkeypatch.setattr(stream, "passes", lambda device: [])


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("source", SOURCES)
def test_a_network_is_accepted_or_refused_in_one_sentence(source, command, here):
    name, more = SOURCES[source]
    app, words = COMMANDS[command](name, more)
    runner = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"})
    if sentence := REFUSED.get((source, command)):
        with pytest.raises(RooflintError) as error:
            runner.invoke(app, words, catch_exceptions=False)
        assert str(error.value) == sentence
    elif command == "measure network":
        why = (
            "it is large"
            if source in ("a language model", "an encoder", "an image from noise")
            else "it was called once"
        )
        with pytest.raises(RooflintError, match=rf"^nothing was measured \(network \S+ fp32 b\d: {why}\)$"):
            runner.invoke(app, words, catch_exceptions=False)
    else:
        result = runner.invoke(app, words, catch_exceptions=False)
        assert result.exit_code == 0, result.output
