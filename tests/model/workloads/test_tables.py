"""Op tables: what the committed ones say, and what is refused at the door."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.base import parsed
from rooflint.base.errors import InputError
from rooflint.workloads import tables
from rooflint.workloads.flow import INPUT, Flow
from rooflint.workloads.ops import Op
from rooflint.workloads.tables import Captured, load_workload, read_table, workload_ids, write_table
from rooflint.workloads.workload import Workload, WorkloadError

ORIGIN = Captured("2.13.0", "0.28.0", "by hand, for a test", (1, 3, 8, 8))
GOOD = """\
name: net
captured:
  torch: 2.13.0
  torchvision: 0.28.0
  method: "by hand, for a test"
  input: [1, 3, 8, 8]
batch: 1
columns: [name, kind, macs, other_ops, elements_in, elements_weight, elements_out, m, n, k, groups]
ops:
  - [conv1, conv2d, 30, 0, 10, 15, 6, 2, 3, 5, 1]
  - [relu, relu, 0, 6, 6, 0, 6, 0, 0, 0, 0]
"""
FLOWING = """\
name: net
captured:
  torch: 2.13.0
  torchvision: 0.28.0
  method: "by hand, for a test"
  input: [1, 3, 8, 8]
batch: 1
elements_input: 10
elements_constant: 15
returns: [conv1, relu]
columns: [name, kind, macs, other_ops, elements_in, elements_weight, elements_out, m, n, k, groups, window, reads]
ops:
  - [conv1, conv2d, 30, 0, 10, 15, 6, 2, 3, 5, 1, [1, 5, 1, 1, 1, 2], [input]]
  - [relu, relu, 0, 6, 6, 0, 6, 0, 0, 0, 0, [], [conv1]]
  - [add, add, 0, 6, 12, 0, 6, 0, 0, 0, 0, [], [input, relu]]
"""


# ---------------------------------------------------------------------------------------------------------- hand counts


def test_resnet18_has_68_ops():
    # 8 blocks × 2 convolutions + conv1 + 3 downsamples = 20, each with its normalisation; 8 × 2 + 1 ReLU; 8 additions
    kinds, counts = np.unique(load_workload("torchvision/resnet18").kinds, return_counts=True)
    assert dict(zip(kinds.tolist(), counts.tolist(), strict=True)) == {
        "conv2d": 20, "batch_norm": 20, "relu": 17, "add": 8, "max_pool": 1, "avg_pool": 1, "linear": 1,
    }  # fmt: skip


def test_resnet18_multiplies_and_accumulates_1814_million_times():
    # conv1    112² × 64 × 3·7²                                          =  118 013 952
    # layer1   4 × 56² × 64 × 64·3²                                      =  462 422 016
    # layer2   28² × 128 × (64·3² + 3 × 128·3² + 64)                     =  411 041 792
    # layer3   14² × 256 × (128·3² + 3 × 256·3² + 128)                   =  411 041 792
    # layer4    7² × 512 × (256·3² + 3 × 512·3² + 256)                   =  411 041 792
    # fc       512 × 1000                                                =      512 000
    assert load_workload("torchvision/resnet18").total_macs == 1_814_073_344


def test_resnet18_computes_3_6436_gop():
    # 2 × 1 814 073 344 for convolutions and fc                          = 3 628 146 688
    # 5 × 2 483 712 normalised, 2 308 096 rectified, 752 640 added       =    15 479 296
    assert load_workload("torchvision/resnet18").total_ops == 3_643_625_984


def test_resnet18_moves_116_95_megabytes_in_fp32():
    # 4 B × (9 308 160 in + 11 699 112 weights + 8 230 376 out) = 116 950 592 B; 3 643 625 984 op / 116 950 592 B
    resnet18 = load_workload("torchvision/resnet18")
    assert resnet18.total_bytes("fp32") == 116_950_592
    assert round(resnet18.intensity_ops_per_byte("fp32"), 2) == 31.16


def test_resnet18_reads_every_parameter_once():
    # 11 689 512 parameters (torchvision's weights.meta), and 2 × 4800 running means and variances
    assert load_workload("torchvision/resnet18").elements_weight.sum() == 11_689_512 + 9_600


def test_resnet50_computes_8_178_gop_in_convolutions_and_fc():
    # conv1    112² × 64 × 3·7²                                                              =   118 013 952
    # layer1   56² × (64·64 + 64·64·3² + 64·256 + 64·256 + 2 × (256·64 + 64·64·3² + 64·256)) =   667 942 912
    # layer2   128·56²·256 + 28² × (128·128·3² + 128·512 + 256·512 + 3 × (512·128 + 128·128·3² + 128·512))
    #                                                                                        = 1 027 604 480
    # layer3   256·28²·512 + 14² × (256·256·3² + 256·1024 + 512·1024 + 5 × (1024·256 + 256·256·3² + 256·1024))
    #                                                                                        = 1 464 336 384
    # layer4   512·14²·1024 + 7² × (512·512·3² + 512·2048 + 1024·2048 + 2 × (2048·512 + 512·512·3² + 512·2048))
    #                                                                                        =   809 238 528
    # fc       2048 × 1000                                                                   =     2 048 000
    # sum, in MAC                                                                            = 4 089 184 256
    assert load_workload("torchvision/resnet50").total_macs == 4_089_184_256


def test_vit_b_16_computes_35_13_gop_with_its_attention():
    # patches  196 × 768 × 3·16²                                         =    115 605 504
    # a layer  197 × 768 × (2304 + 768 + 3072 + 3072)                    =  1 394 343 936
    #          Q·Kᵀ and P·V: 12 heads × 197² × (64 + 64)                 =     59 610 624
    # head     768 × 1000                                                =        768 000
    # 115 605 504 + 12 × 1 453 954 560 + 768 000                         = 17 563 828 224
    assert load_workload("torchvision/vit_b_16").total_macs == 17_563_828_224


def test_attention_writes_no_scores_and_counts_their_softmax():
    # scores 12 × 197²: one op to scale and five of softmax each; q, k, v in, one out: 197 × 768 elements each
    vit = load_workload("torchvision/vit_b_16")
    row = next(row for row in vit.rows() if row.kind == "attention")
    assert row.other_ops == 6 * 12 * 197**2
    assert (row.elements_in, row.elements_weight, row.elements_out) == (3 * 197 * 768, 0, 197 * 768)
    assert (row.m, row.n, row.k, row.groups) == (197, 197, 128, 12)


# ------------------------------------------------------------------------------------------------------ all the tables


@pytest.mark.parametrize("workload_id", workload_ids())
def test_every_committed_table_knows_its_data_flow(workload_id):
    # one picture in, one result out, which is the last; everything else is read by somebody
    workload = load_workload(workload_id)
    assert workload.flow.elements_input == 3 * 224 * 224
    assert workload.flow.returns == (len(workload) - 1,)
    assert [row for row, readers in enumerate(workload.flow.readers()) if not readers] == [len(workload) - 1]


@pytest.mark.parametrize("workload_id", workload_ids())
def test_every_committed_table_can_be_read_and_scaled(workload_id):
    workload = load_workload(workload_id)
    assert workload.batch == 1
    assert workload.at_batch(32).total_macs == 32 * workload.total_macs
    assert workload.total_bytes("fp32") > 0


def test_the_networks_that_architects_use_are_there():
    wanted = {"resnet18", "resnet50", "mobilenet_v2", "vit_b_16"}
    assert {f"torchvision/{name}" for name in wanted} <= set(workload_ids())


# ------------------------------------------------------------------------------------------------------------- refusals


def test_a_good_table_is_read(tmp_path):
    workload, captured = read_table(_file(tmp_path, GOOD))
    assert captured == ORIGIN
    assert list(workload.rows()) == [
        Op("conv1", "conv2d", 30, 0, 10, 15, 6, 2, 3, 5, 1),
        Op("relu", "relu", 0, 6, 6, 0, 6),
    ]


def test_a_table_says_what_each_convolution_slides_over_its_input(tmp_path):
    older, _ = read_table(_file(tmp_path, GOOD))
    assert older.windows == ((), ())
    newer, _ = read_table(_file(tmp_path, FLOWING))
    assert newer.windows == ((1, 5, 1, 1, 1, 2), (), ())
    assert newer.at_batch(3).windows == newer.windows


def test_a_table_may_say_which_op_reads_which_result(tmp_path):
    assert read_table(_file(tmp_path, GOOD))[0].flow is None
    workload, _ = read_table(_file(tmp_path, FLOWING))
    assert workload.flow == Flow(((INPUT,), (0,), (INPUT, 1)), (0, 1), 10, 15)
    some, _ = read_table(_file(tmp_path, FLOWING.replace("elements_constant: 15\n", "")))
    assert some.flow == Flow(workload.flow.reads, (0, 1), 10)
    assert load_workload("net", tmp_path) == some
    write_table(workload, ORIGIN, tmp_path / "again.yaml")
    assert (tmp_path / "again.yaml").read_text(encoding="utf-8").partition("\n")[2] == FLOWING


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("[input, relu]", "[relu, input]", 15, "reads: want names of ops above or input, in their order, each once"),
        ("[input, relu]", "[relu, relu]", 15, "reads: want names of ops above or input, in their order, each once"),
        ("[input, relu]", "[input, bn1]", 15, "in their order, each once, found [input, bn1]"),
        ("[input, relu]", "[input, add]", 15, "in their order, each once, found [input, add]"),
        ("[input, relu]", "[input, [relu]]", 15, "in their order, each once, found [input, ['relu']]"),
        ("[input, relu]", "relu", 15, "in their order, each once, found relu"),
        (", [conv1]]", "]", 14, "want a row of 13 columns, found 12 entries"),
        ("- [add, add", "- [input, add", 15, "name: want another than input, which is the input of the network"),
        ("- [add, add", "- [conv1, add", 15, "conv1: want a name that no op above has"),
        (
            "returns: [conv1, relu]",
            "returns: [relu, conv1]",
            10,
            "returns: want names of ops, in their order, each once",
        ),
        (
            "returns: [conv1, relu]",
            "returns: add",
            10,
            "returns: want names of ops, in their order, each once, found add",
        ),
        ("returns: [conv1, relu]\n", "", 1, "want elements_input and returns where there is a column reads, and only"),
        ("elements_constant: 15", "elements_constant: 1.5", 9, "elements_constant: want a whole number from 0 to 2^53"),
        (", reads]", "]", 1, "want elements_input and returns where there is a column reads, and only there"),
        ("[1, 5, 1, 1, 1, 2]", "5", 13, "window: want a list of whole numbers, found 5"),
        ("[1, 5, 1, 1, 1, 2]", "[1, 5, 1, 1, 1, -2]", 13, "window: want a list of whole numbers, found [1, 5, 1"),
        ("[1, 5, 1, 1, 1, 2]", "[1, 5]", 13, "conv1: want a window (kernel_height, kernel_width, stride, dilation"),
        ("[1, 5, 1, 1, 1, 2]", "[1, 4, 1, 1, 1, 2]", 13, "height, width) that fits m and k"),
        ("[1, 5, 1, 1, 1, 2]", "[1, 5, 1, 1, 1, 3]", 13, "height, width) that fits m and k"),
        ("elements_input: 10", "elements_input: ten", 8, "elements_input: want a whole number from 0 to 2^53"),
        ("elements_input: 10", "elements_input: -1", 8, "elements_input: want a whole number from 0 to 2^53"),
        ("batch: 1", "batch: 3", 8, "elements_input: want a whole number from 0 to 2^53, a multiple of the batch"),
    ],
)
def test_a_wrong_data_flow_is_refused_with_file_and_line(tmp_path, old, new, line, message):
    assert FLOWING.count(old) == 1
    file = _file(tmp_path, FLOWING.replace(old, new))
    with pytest.raises(InputError) as refused:
        read_table(file)
    problem = refused.value.problems[0]
    assert (problem.file, problem.line) == (file, line)
    assert message in problem.message


def test_constants_are_counted_only_where_the_data_flow_is_known(tmp_path):
    file = _file(tmp_path, GOOD.replace("batch: 1\n", "batch: 1\nelements_constant: 15\n"))
    with pytest.raises(
        InputError, match=r"net\.yaml:8 .*elements_constant: want it only where there is a column reads"
    ):
        read_table(file)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("batch: 1\n", "", 1, "want the keys name, captured, batch, columns, ops, found name, captured, columns, ops"),
        ("name: net", "name: 5", 1, "name: want a text, found 5"),
        (
            "  torch: 2.13.0\n",
            "",
            2,
            "captured: want torch, torchvision, method, input, found torchvision, method, input",
        ),
        ("input: [1, 3, 8, 8]", "input: 8", 6, "input: want a shape such as [1, 3, 224, 224], found 8"),
        ("torch: 2.13.0", "torch: 2.13", 3, "torch: want a text, found 2.13"),
        ("batch: 1", "batch: true", 7, "batch: want a whole number of at least 1, found True"),
        ("batch: 1", "batch: 0", 7, "batch: want a whole number of at least 1, found 0"),
        ("batch: 1", "batch: 4", 10, "conv1: want multiples of the batch"),
        ("macs, other_ops", "other_ops, macs", 8, "columns: want [name, kind, macs, other_ops, elements_in"),
        ("m, n, k, groups]", "m, n, k]", 8, "columns: want [name, kind, macs, other_ops, elements_in"),
        (", 5, 1]", ", 5]", 10, "want a row of 11 columns, found 10 entries"),
        ("conv2d, 30, 0", "conv2d, 30, -1", 10, "other_ops: want a whole number from 0 to 2^53, found -1"),
        ("conv2d, 30, 0", "conv2d, 30, .nan", 10, "want a finite number, found .nan"),
        ("conv2d, 30, 0", "conv2d, 30, 1.5", 10, "other_ops: want a whole number from 0 to 2^53, found 1.5"),
        ("conv2d, 30, 0", "conv2d, 30, true", 10, "other_ops: want a whole number from 0 to 2^53, found True"),
        ("conv2d, 30, 0", "conv2d, 30, 9007199254740993", 10, "other_ops: want a whole number from 0 to 2^53"),
        ("conv2d, 30,", "conv2d, 31,", 10, "conv1: want macs = m·n·k·groups"),
        ("[relu, relu", "[conv1, relu", 11, "conv1: want a name that no op above has"),
        ("[relu, relu", "[relu, 7", 11, "kind: want a text, found 7"),
        ("  - [conv1, conv2d", "  - name: [conv1, conv2d", 10, "want a row of 11 columns, found name"),
    ],
)
def test_a_wrong_table_is_refused_with_file_and_line(tmp_path, old, new, line, message):
    assert GOOD.count(old) == 1
    file = _file(tmp_path, GOOD.replace(old, new))
    with pytest.raises(InputError) as refused:
        read_table(file)
    problem = refused.value.problems[0]
    assert (problem.file, problem.line) == (file, line)
    assert message in problem.message


@pytest.mark.parametrize("old", ["batch: 1", "conv2d, 30,"])
def test_a_table_that_does_not_add_up_has_its_line_where_its_rows_are_kept_from_another_process(
    tmp_path, monkeypatch, old
):
    monkeypatch.setattr(parsed, "user_cache_path", lambda name: tmp_path / "cache" / name)
    file, said = _file(tmp_path, GOOD.replace(old, old.replace("1", "4").replace("30", "31"))), []
    for _ in range(2):
        tables._parsed.cache_clear()  # as a new process
        with pytest.raises(InputError) as refused:
            read_table(file)
        said.append(refused.value.problems)
    assert (tmp_path / "cache" / "rooflint" / "parsed").is_dir()
    assert said[0] == said[1]
    assert said[0][0].line == 10


@pytest.mark.parametrize("workload_id", ["torchvision/resnet18", "torchvision/swin_t"])
def test_a_table_kept_from_another_process_is_that_of_the_file(tmp_path, monkeypatch, workload_id):
    monkeypatch.setattr(parsed, "user_cache_path", lambda name: tmp_path / name)
    found = []
    for _ in range(2):
        tables._parsed.cache_clear()
        found.append(load_workload(workload_id))
    assert list(found[0].rows()) == list(found[1].rows())
    assert found[0].flow == found[1].flow
    monkeypatch.setattr(tables, "parse", None)
    tables._parsed.cache_clear()
    assert list(load_workload(workload_id).rows()) == list(found[0].rows())


def test_every_wrong_row_is_named_at_once(tmp_path):
    with pytest.raises(InputError) as refused:
        read_table(_file(tmp_path, GOOD.replace(", 1]", ", -1]").replace("0, 0]", "0, -1]")))
    assert [problem.line for problem in refused.value.problems] == [10, 11]


def test_a_table_without_ops_is_refused(tmp_path):
    with pytest.raises(InputError, match="net has no ops"):
        read_table(_file(tmp_path, GOOD[: GOOD.index("ops:\n")] + "ops: []\n"))


def test_a_table_is_called_as_its_file(tmp_path):
    _file(tmp_path, GOOD, "other.yaml")
    with pytest.raises(InputError, match="name: want other, as the file is called, found net"):
        load_workload("other", tmp_path)


@pytest.mark.parametrize("workload_id", ["resnet19", "../workloads/net", "/etc/passwd", "net/", "", "net.yaml"])
def test_an_unknown_id_is_refused_with_those_that_exist(tmp_path, workload_id):
    _file(tmp_path, GOOD)
    with pytest.raises(WorkloadError, match=r"^unknown workload '.*' \(known: net\)$"):
        load_workload(workload_id, tmp_path)


# -------------------------------------------------------------------------------------------------------------- writing


@pytest.mark.slow
@given(
    name=st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1), macs=st.integers(0, 2**53)
)
def test_a_table_that_was_written_reads_as_it_was(tmp_path_factory, name, macs):
    workload = Workload.from_ops("net", [Op(name, "gemm", macs, 1, 2, 3, 4, m=macs, n=1, k=1, groups=1)])
    file = tmp_path_factory.mktemp("tables") / "net.yaml"
    write_table(workload, ORIGIN, file)
    assert read_table(file) == (workload, ORIGIN)


@pytest.mark.parametrize(
    "name", ["0", "1.0", "null", "No", "1e3", ".nan", "a: b", "a #b", "- a", '"', "\\", "2.13.0", "a@2"]
)
def test_a_name_that_yaml_would_take_for_something_else_is_quoted(tmp_path, name):
    workload = Workload.from_ops("net", [Op(name, "add")])
    write_table(workload, ORIGIN, tmp_path / "net.yaml")
    assert read_table(tmp_path / "net.yaml")[0] == workload


def test_an_op_that_is_called_as_the_input_is_cannot_be_written(tmp_path):
    workload = Workload.from_ops("net", [Op("input", "add")], flow=Flow.chain(1, 0))
    with pytest.raises(WorkloadError, match=r"^net: want no op called input, which is the input of the network$"):
        write_table(workload, ORIGIN, tmp_path / "net.yaml")


def test_a_reader_never_meets_half_a_table(tmp_path, monkeypatch):
    file = _file(tmp_path, GOOD)

    def broken(*_):
        raise OSError("no space left")

    monkeypatch.setattr(Path, "replace", broken)
    with pytest.raises(OSError, match="no space left"):
        write_table(Workload.from_ops("net", [Op("a", "add")]), ORIGIN, file)
    assert file.read_text(encoding="utf-8") == GOOD
    assert list(tmp_path.iterdir()) == [file]


def _file(folder: Path, text: str, name: str = "net.yaml") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file
