"""A user's own networks: factories, modules, saved programs, and what is wrong with them in one sentence."""

import subprocess
import sys
import warnings

import pytest
import torch
from torch import nn

from rooflint.workloads.capture.graph import CaptureError
from rooflint.workloads.capture.trace import capture
from rooflint.workloads.capture.user_model import capture_factory, capture_program
from rooflint.workloads.flow import INPUT
from rooflint.workloads.workload import WorkloadError

NETS = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.drop = nn.Dropout()
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        return self.head(self.drop(self.conv(x).relu().mean((2, 3))))

class Pixels(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)

    def forward(self, x):
        return self.conv(2 * x - 1).relu()

class Squeezed(Pixels):
    def forward(self, x):
        return self.conv(x.squeeze(0))

class Gram(nn.Module):
    def forward(self, x):
        return x @ x.T

class Branch(nn.Module):
    def forward(self, x):
        return x * 2 if x.sum() > 0 else x

class Grid(nn.Module):
    def forward(self, x):
        return x + torch.arange(5.0).repeat(len(x), 1)

class Two(nn.Module):
    def forward(self, *, left, right):
        return left + right

class Positional(nn.Module):
    def forward(self, left, right):
        return left + right

def two():
    return Two(), {"left": torch.empty(2, 5), "right": torch.empty(2, 5)}

ready = Net()
pixels = Pixels
squeezed = Squeezed
linear = nn.Linear(8, 8)
number = 3

def net():
    return Net(), torch.empty(2, 3, 8, 8)

def gram():
    return Gram(), (torch.empty(2, 5),)

def branch():
    return Branch(), torch.empty(2, 5)

def grid():
    return Grid(), torch.empty(2, 5)

def misfit():
    return nn.Linear(3, 3), torch.empty(2, 5)

def four():
    return 4

def scalar():
    return Branch(), 1.0

def broken():
    raise ValueError("no weights here\\nand more")
"""


@pytest.fixture
def nets(tmp_path, monkeypatch):
    """A module of that text where the user stands; forgotten again afterwards."""
    name = f"nets_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(NETS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return name


# ------------------------------------------------------------------------------------------------------------ factories


def test_a_factory_gives_a_module_and_what_it_is_called_with(nets):
    # 2 × 6 × 6 positions × 8 channels × 27, and 2 × 8 × 4
    table = capture_factory(f"{nets}:net")
    assert [(row.name, row.macs) for row in table.rows()] == [
        ("conv", 15_552),
        ("relu", 0),
        ("avg_pool", 0),
        ("head", 64),
    ]
    assert (table.name, table.batch, table.fixed_batch) == (f"{nets}:net", 2, "")


def test_a_factory_may_be_named_by_its_file_and_import_what_is_beside_it(nets, tmp_path, monkeypatch):
    (tmp_path / "uses.py").write_text(f"from {nets} import net as made\n", encoding="utf-8")
    (tmp_path / "deep").mkdir()
    monkeypatch.chdir(tmp_path / "deep")
    by_file, beside = capture_factory(f"../{nets}.py:net"), capture_factory(f"{tmp_path}/uses.py:made")
    monkeypatch.chdir(tmp_path)
    by_module = capture_factory(f"{nets}:net")
    assert by_file.name == f"../{nets}.py:net"
    assert [*by_file.rows()] == [*beside.rows()] == [*by_module.rows()]


def test_another_batch_of_a_users_module_is_what_a_capture_of_it_gives(nets):
    table = capture_factory(f"{nets}:net")
    assert table.at_batch(5) == capture_factory(f"{nets}:net", [(5, 3, 8, 8)])


def test_a_module_itself_and_a_shape_do_as_well(nets):
    assert capture_factory(f"{nets}:ready", [(2, 3, 8, 8)]).total_macs == 15_552 + 64


def test_a_class_is_a_factory(nets):
    assert capture_factory(f"{nets}:Net", [(2, 3, 8, 8)]).total_macs == 15_552 + 64


def test_inputs_may_have_names(nets):
    assert capture_factory(f"{nets}:two").at_batch(6).total_ops == 6 * 5


def test_constants_as_long_as_the_batch_grow_with_it(nets):
    # 2 × 5 positions are read beside 2 × 5 activations: at batch 4 both are 20
    (row,) = capture_factory(f"{nets}:grid").at_batch(4).rows()
    assert (row.elements_in, row.elements_weight, row.elements_out) == (40, 0, 20)


def test_a_network_that_mixes_its_samples_has_no_other_batch(nets):
    table = capture_factory(f"{nets}:gram")
    assert table.total_macs == 2 * 2 * 5
    assert table.at_batch(2) == table
    with pytest.raises(WorkloadError, match="has batch 2 and no other: its ops do not grow with the batch"):
        table.at_batch(4)


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("nonesuch.nets:net", "cannot import nonesuch.nets: ModuleNotFoundError: No module named 'nonesuch'"),
        ("{nets}:other", "{nets} has no attribute 'other'"),
        ("{nets}", "want package.module:factory or file.py:factory"),
        ("none.py:net", "none.py: no such file"),
        ("{nets}.py:other", "{nets}.py has no attribute 'other'"),
        ("{nets}:number", "want a factory or a module, found int"),
        ("{nets}:four", "want a torch.nn.Module from it, found int"),
        ("{nets}:broken", "calling it failed: ValueError: no weights here"),
        (
            "{nets}:Net",
            "want the shape of its input, such as --input 1,3,224,224, or a factory that returns (module, inputs)",
        ),
        ("{nets}:scalar", "want inputs with a tensor whose first axis is the batch"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(nets, target, sentence):
    target = target.format(nets=nets)
    with pytest.raises(CaptureError) as error:
        capture_factory(target)
    assert str(error.value) == f"{target}: {sentence.format(nets=nets)}"


@pytest.mark.parametrize(
    ("target", "start"),
    [
        ("branch", "torch.export cannot follow Branch: which ops run depends on the data"),
        ("misfit", "torch.export cannot follow Linear: "),
    ],
)
def test_what_torch_cannot_follow_is_said_in_one_line_and_nothing_is_printed(nets, capfd, target, start):
    with pytest.raises(CaptureError) as error:
        capture_factory(f"{nets}:{target}")
    assert str(error.value).startswith(start)
    assert "\n" not in str(error.value)
    assert capfd.readouterr() == ("", "")


def test_several_inputs_are_one(tmp_path, monkeypatch):
    (tmp_path / "two_inputs.py").write_text(
        "import torch\n\nclass Two(torch.nn.Module):\n    def forward(self, a, b):\n        return a.relu() + b\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    table = capture_factory("two_inputs:Two", [(2, 5), (2, 5)])
    assert (table.flow.elements_input, table.flow.reads) == (20, ((INPUT,), (INPUT, 0)))
    assert table.at_batch(4).flow.elements_input == 40


# ------------------------------------------------------------------------------------------------------- saved programs


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        return self.head(self.conv(x).relu().mean((2, 3)))


def saved(file, module, *, decomposed=False, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.export.export(module, (torch.empty(2, 3, 8, 8),), **options)
        torch.export.save(program.run_decompositions() if decomposed else program, file)
    return file


def test_a_saved_program_has_the_rows_of_its_module(tmp_path):
    module = Net().eval()
    table = capture_program(saved(tmp_path / "net.pt2", module))
    assert list(table.rows()) == list(capture(module, (2, 3, 8, 8)).rows())
    assert table.name == str(tmp_path / "net.pt2")


def test_a_program_that_was_exported_for_any_batch_scales(tmp_path):
    module = Net().eval()
    dynamic = {"x": {0: torch.export.Dim("batch")}}
    table = capture_program(saved(tmp_path / "net.pt2", module, dynamic_shapes=dynamic))
    assert list(table.at_batch(7).rows()) == list(capture(module, (7, 3, 8, 8)).rows())


def test_a_program_that_was_exported_for_one_batch_has_no_other(tmp_path):
    table = capture_program(saved(tmp_path / "net.pt2", Net().eval()))
    with pytest.raises(WorkloadError, match="exported for this batch alone; export it with dynamic_shapes"):
        table.at_batch(1)


def test_a_decomposed_program_costs_the_same(tmp_path):
    module = Net().eval()
    whole, fine = (capture_program(saved(tmp_path / f"{d}.pt2", module, decomposed=d)) for d in (False, True))
    assert (fine.total_macs, fine.total_ops) == (whole.total_macs, whole.total_ops)
    assert fine.total_bytes("fp32") == whole.total_bytes("fp32")


def test_a_program_that_was_exported_in_training_is_refused(tmp_path):
    file = saved(tmp_path / "net.pt2", nn.Sequential(nn.Dropout()))
    with pytest.raises(CaptureError, match=r"was exported in training; call module\.eval\(\) before exporting it$"):
        capture_program(file)


def test_a_file_that_is_no_program_is_refused_in_one_sentence(tmp_path, capfd):
    text, weights = tmp_path / "text.pt2", tmp_path / "weights.pt2"
    text.write_text("weights", encoding="utf-8")
    torch.save(Net().state_dict(), weights)
    for file, found in ((text, "found no archive"), (weights, "found "), (tmp_path / "gone.pt2", "no such file")):
        with pytest.raises(CaptureError, match=found) as error:
            capture_program(file)
        assert "\n" not in str(error.value)
    assert capfd.readouterr() == ("", "")


def test_a_saved_program_keeps_its_data_flow(tmp_path):
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True)).eval()
    batch = torch.export.Dim("batch", min=1, max=64)
    program = torch.export.export(module, (torch.empty(2, 3, 8, 8),), dynamic_shapes=({0: batch},))
    torch.export.save(program, tmp_path / "net.pt2")
    table = capture_program(tmp_path / "net.pt2")
    assert table.flow == capture(module, (2, 3, 8, 8)).flow
    assert len(table.fused()) == 1


def test_a_module_with_two_inputs_wants_a_shape_for_each(nets):
    with pytest.raises(CaptureError) as refused:
        capture_factory(f"{nets}:Positional", [(4, 5)])
    assert str(refused.value) == (
        f"{nets}:Positional: takes 2 inputs (left, right); want the shape of each, such as --input 4,5 --input 1,128"
    )
    assert capture_factory(f"{nets}:Positional", [(4, 5), (4, 5)]).batch == 4


# ---- models of transformers, whose import needs torchvision

OF_TRANSFORMERS = """
import torch
import transformers

def made():
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    return transformers.BertModel(transformers.BertConfig(**sizes, vocab_size=100)), torch.zeros(2, 8, dtype=torch.long)
"""


@pytest.mark.slow
def test_a_factory_may_import_transformers_where_torchvision_is_beside_another_build_of_torch(tmp_path):
    (tmp_path / "own.py").write_text(OF_TRANSFORMERS, encoding="utf-8")
    code = """
from pathlib import Path
from rooflint.workloads.load import network
work = network("own.py:made", folder=Path("kept"))
print(work.at_batch(6).total_macs == 3 * work.total_macs)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, encoding="utf-8", check=False
    )
    assert (done.stdout.strip(), done.returncode) == ("True", 0), done.stderr


# -------------------------------------------------------------------------------------------------- one without a batch


def test_one_image_without_a_batch_is_refused_with_the_line_to_type(nets):
    with pytest.raises(CaptureError) as error:
        capture_factory(f"{nets}:pixels", [(3, 8, 8)])
    assert str(error.value) == (
        f"{nets}:pixels: want batch,channels,height,width, such as --input 1,3,8,8; found 3,8,8, which has no batch"
    )
    assert capture_factory(f"{nets}:pixels", [(1, 3, 8, 8)]).batch == 1


def test_layers_that_need_no_channels_take_what_they_are_given(nets):
    assert capture_factory(f"{nets}:linear", [(3, 4, 8)]).batch == 3
    assert capture_factory(f"{nets}:squeezed", [(1, 3, 8, 8)]).batch == 1  # its own convolution has no batch
