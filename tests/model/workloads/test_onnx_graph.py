"""Graphs in ONNX, built here node by node: rows by hand, sizes that the graph computes, and what is refused."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from typer.testing import CliRunner

from rooflint.api.predictions import predict
from rooflint.base.errors import RooflintError
from rooflint.cli.main import program
from rooflint.workloads.builders import conv2d, mlp
from rooflint.workloads.flow import INPUT
from rooflint.workloads.onnx_graph import read_onnx
from rooflint.workloads.ops import UnknownOpError

FLOAT = TensorProto.FLOAT


def weight(name, *shape):
    return numpy_helper.from_array(np.ones(shape, np.float32), name)


def numbers(name, *values):
    return numpy_helper.from_array(np.array(values, np.int64), name)


def node(op, inputs, outputs, **more):
    return helper.make_node(op, inputs.split(), outputs.split(), **more)


@pytest.fixture
def saved(tmp_path):
    """`saved(nodes, inputs, weights)`: a file with that graph, whose last result is returned."""

    def save(nodes, inputs, weights=(), opset=23, domains=()):
        given = [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items()]
        last = helper.make_tensor_value_info(nodes[-1].output[0], FLOAT, None)
        graph = helper.make_graph(nodes, "net", given, [last], list(weights))
        opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
        onnx.save(helper.make_model(graph, opset_imports=opsets), tmp_path / "net.onnx")
        return tmp_path / "net.onnx"

    return save


IMAGE = {"x": (FLOAT, ["batch", 3, 8, 8])}


def rows(workload):
    return {row.name: row for row in workload.rows()}


def test_a_multilayer_perceptron_is_the_built_one(saved):
    nodes = [node("Gemm", "x w0 b0", "h", transB=1), node("Gemm", "h w1 b1", "y", transB=1)]
    weights = [weight("w0", 4, 8), weight("b0", 4), weight("w1", 2, 4), weight("b1", 2)]
    found = read_onnx(saved(nodes, {"x": (FLOAT, ["batch", 8])}, weights))
    for batch in (1, 16):
        built = mlp([8, 4, 2], batch=batch)
        assert [row[1:] for row in found.at_batch(batch).rows()] == [row[1:] for row in built.rows()]
        assert found.at_batch(batch).flow == built.flow


def test_a_product_with_weights_and_a_vector_added_to_it_is_one_linear_layer(saved):
    nodes = [node("MatMul", "x w", "h"), node("Add", "b h", "y"), node("Relu", "y", "z")]
    found = rows(read_onnx(saved(nodes, {"x": (FLOAT, ["n", 5, 8])}, [weight("w", 8, 4), weight("b", 4)])))
    assert [row.kind for row in found.values()] == ["linear", "relu"]
    # 5 positions × 4 × 8; 8·4 weights and 4 of the bias
    assert [(row.macs, row.elements_weight, row.other_ops) for row in found.values()] == [(160, 36, 0), (0, 0, 20)]


@pytest.mark.parametrize("extra", ["", "h"])
def test_what_is_added_stays_apart_where_others_read_the_product(saved, extra):
    nodes = [node("MatMul", "x w", "h"), node("Add", "h b", "y"), node("Mul", f"y {extra or 'y'}", "z")]
    found = read_onnx(saved(nodes, {"x": (FLOAT, ["n", 5, 8])}, [weight("w", 8, 4), weight("b", 4)]))
    assert [row.kind for row in found.rows()] == (["linear", "add", "mul"] if extra else ["linear", "mul"])


def test_a_tensor_that_is_used_twice_is_read_once(saved):
    # 5 × 8 elements in, and as many out
    (row,) = read_onnx(saved([node("Add", "x x", "y")], {"x": (FLOAT, ["n", 5, 8])})).rows()
    assert (row.elements_in, row.elements_out, row.other_ops) == (40, 40, 40)


@pytest.mark.parametrize("groups", [1, 3])
def test_a_convolution_is_the_built_one(saved, groups):
    more = {"strides": [2, 2], "pads": [1, 1, 1, 1], "group": groups, "kernel_shape": [3, 3]}
    nodes = [node("Conv", "x w b", "y", **more)]
    found = read_onnx(saved(nodes, IMAGE, [weight("w", 6, 3 // groups, 3, 3), weight("b", 6)]))
    built = conv2d(n=2, c_in=3, h=8, w=8, c_out=6, kernel=3, stride=2, padding=1, groups=groups)
    assert [row[1:] for row in found.at_batch(2).rows()] == [row[1:] for row in built.rows()]


def test_sizes_that_the_graph_computes_are_followed(saved):
    # the shape of x without its last axis, and -1: [n, 3, -1]; then batch × 3 rows of 64 times 64 × 5
    nodes = [
        node("Shape", "x", "shape"),
        node("Slice", "shape zero two", "leading"),
        node("Concat", "leading rest", "wanted", axis=0),
        node("Reshape", "x wanted", "flat"),
        node("Transpose", "flat", "turned", perm=[0, 2, 1]),
        node("Transpose", "turned", "back", perm=[0, 2, 1]),
        node("MatMul", "back w", "y"),
    ]
    weights = [numbers("zero", 0), numbers("two", 2), numbers("rest", -1), weight("w", 64, 5)]
    found = read_onnx(saved(nodes, IMAGE, weights))
    (row,) = found.at_batch(4).rows()
    assert (row.kind, row.m, row.n, row.k) == ("linear", 12, 5, 64)
    assert found.flow.reads == ((INPUT,),)


def test_attention_is_its_products_and_a_softmax_or_one_op(saved):
    heads = {name: (FLOAT, ["n", 2, 6, 4]) for name in "qkv"}
    parts = [
        node("Transpose", "k", "kt", perm=[0, 1, 3, 2]),
        node("MatMul", "q kt", "scores"),
        node("Softmax", "scores", "p", axis=-1),
        node("MatMul", "p v", "y"),
    ]
    apart = rows(read_onnx(saved(parts, heads))).values()
    (whole,) = read_onnx(saved([node("Attention", "q k v", "y")], heads)).rows()
    # 2 heads × 6 × 6 × 4, twice
    assert [(row.kind, row.macs) for row in apart] == [("matmul", 288), ("softmax", 0), ("matmul", 288)]
    assert (whole.kind, whole.macs, whole.groups) == ("attention", 576, 2)


def test_a_lookup_reads_what_it_picks(saved):
    nodes = [node("Gather", "table ids", "y")]
    (row,) = read_onnx(saved(nodes, {"ids": (TensorProto.INT64, ["n", 5])}, [weight("table", 100, 8)])).rows()
    # 5 rows of 8 and 5 ids
    assert (row.kind, row.elements_in, row.elements_weight, row.elements_out) == ("embedding", 45, 0, 40)


@pytest.mark.parametrize(
    ("nodes", "kind", "ops"),
    [
        ([node("Clip", "x zero six", "y")], "clamp", 2),
        ([node("Clip", "x zero", "y")], "clamp_min", 1),
        ([node("Gelu", "x", "y", approximate="tanh")], "gelu", 9),
        ([node("HardSwish", "x", "y")], "hardswish", 5),
        ([node("QuantizeLinear", "x one nought", "y")], "quantize", 5),
        ([node("Max", "x x", "y")], "maximum", 1),
    ],
)
def test_elementwise_ops_cost_what_those_of_torch_cost(saved, nodes, kind, ops):
    limits = [numpy_helper.from_array(np.array(value, np.float32), name) for name, value in (("zero", 0), ("six", 6))]
    limits += [
        numpy_helper.from_array(np.array(1, np.float32), "one"),
        numpy_helper.from_array(np.array(0, np.int8), "nought"),
    ]
    (row,) = read_onnx(saved(nodes, IMAGE, limits)).rows()
    assert (row.kind, row.other_ops, row.elements_weight) == (kind, ops * 3 * 64, 0)


def test_quantised_layers_are_the_layers_with_integers(saved):
    integers = {"x": (TensorProto.UINT8, ["batch", 3, 8, 8])}
    scale, zero = (
        numpy_helper.from_array(np.array(0.1, np.float32), "s"),
        numpy_helper.from_array(np.array(1, np.uint8), "z"),
    )
    kernel = numpy_helper.from_array(np.ones((6, 3, 3, 3), np.uint8), "w")
    (row,) = read_onnx(saved([node("QLinearConv", "x s z w s z s z", "y")], integers, [scale, zero, kernel])).rows()
    # 6 × 6 positions × 6 × 27
    assert (row.kind, row.macs, row.elements_weight) == ("conv2d", 36 * 6 * 27, 6 * 27)
    product = {"a": (TensorProto.UINT8, ["n", 4, 8])}
    (row,) = read_onnx(
        saved([node("MatMulInteger", "a w", "y")], product, [numpy_helper.from_array(np.ones((8, 5), np.uint8), "w")])
    ).rows()
    assert (row.kind, row.macs, row.elements_weight) == ("linear", 4 * 5 * 8, 40)


def test_weights_that_are_dequantised_are_constants(saved):
    nodes = [node("DequantizeLinear", "w s", "wf"), node("MatMul", "x wf", "y")]
    small = [
        numpy_helper.from_array(np.ones((8, 5), np.int8), "w"),
        numpy_helper.from_array(np.array(0.1, np.float32), "s"),
    ]
    found = read_onnx(saved(nodes, {"x": (FLOAT, ["n", 4, 8])}, small))
    assert [(row.kind, row.elements_weight) for row in found.rows()] == [("linear", 40)]
    assert found.flow.elements_constant == 40


# ---- sizes of inputs


PAIR = {"ids": (TensorProto.INT64, ["n", "words"]), "mask": (FLOAT, ["n", "words"])}
MASKED = [node("Gather", "table ids", "h"), node("ReduceSum", "h one", "s", keepdims=0), node("Mul", "s mask", "y")]
TABLE = [weight("table", 100, 8), numbers("one", 2)]


def test_one_shape_is_enough_where_names_say_the_others(saved):
    found = read_onnx(saved(MASKED, PAIR, TABLE), [[3, 7]])
    assert found.batch == 3
    assert rows(found)["Mul_2"].elements_in == 2 * 3 * 7
    assert found.at_batch(6).flow.elements_input == 2 * 6 * 7


def test_a_missing_size_shows_the_line_to_type(saved):
    file = saved(MASKED, PAIR, TABLE)
    with pytest.raises(RooflintError) as refused:
        read_onnx(file)
    assert str(refused.value) == (
        f"{file}: input 'ids' of n × words; input 'mask' of n × words: want a number for words, "
        "such as --input 1,128 --input 1,128"
    )
    assert read_onnx(file, [[1, 128], [1, 128]]).batch == 1


@pytest.mark.parametrize(
    ("shapes", "says"),
    [
        ([[1, 4, 8, 8]], "want batch × 3 × 8 × 8 for its input 'x', where names are any size; found 1, 4, 8, 8"),
        ([[1, 3, 8]], "found 1, 3, 8"),
        ([[1, 3, 8, 8], [1]], "has input 'x' of batch × 3 × 8 × 8; found 2 shapes"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(saved, shapes, says):
    file = saved([node("Relu", "x", "y")], IMAGE)
    with pytest.raises(RooflintError) as refused:
        read_onnx(file, shapes)
    assert str(refused.value) == f"{file}: {says}" or str(refused.value).endswith(says)


def test_sizes_that_contradict_one_another_are_refused(saved):
    file = saved(MASKED, PAIR, TABLE)
    with pytest.raises(RooflintError, match="words: is 7 in one input and 9 in 'mask'"):
        read_onnx(file, [[3, 7], [3, 9]])


FIXED = {"x": (FLOAT, [2, 3, 8, 8])}


def test_a_fixed_batch_that_scales_may_be_another(saved):
    file = saved([node("Relu", "x", "y")], FIXED)
    assert read_onnx(file).batch == 2
    assert read_onnx(file).at_batch(8) == read_onnx(file, [[8, 3, 8, 8]])


def test_a_batch_that_the_graph_has_written_down_stays(saved):
    nodes = [node("Reshape", "x sizes", "h"), node("MatMul", "h w", "y")]
    file = saved(nodes, FIXED, [numbers("sizes", 2, 192), weight("w", 192, 5)])
    found = read_onnx(file)
    assert found.batch == 2 and "exported for this batch alone" in found.fixed_batch
    with pytest.raises(RooflintError, match="has batch 2 and no other: it was exported for this batch alone"):
        read_onnx(file, [[8, 3, 8, 8]])


def test_a_prediction_has_the_batch_of_the_file_unless_another_is_asked_for(saved):
    file = saved([node("Relu", "x", "y")], FIXED)
    ask = [str(file), "-d", "h100-sxm5"]
    assert "\nbatch 2, " in CliRunner().invoke(program, ["compare", *ask]).stdout
    assert "\nbatch 8, " in CliRunner().invoke(program, ["compare", *ask, "-b", "8"]).stdout
    assert (predict(file, "h100-sxm5").batch, predict(file, "h100-sxm5", batch=8).batch) == (2, 8)


def test_a_batch_that_is_asked_for_and_cannot_be_had_is_refused(saved):
    nodes = [node("Reshape", "x sizes", "h"), node("MatMul", "h w", "y")]
    file = saved(nodes, FIXED, [numbers("sizes", 2, 192), weight("w", 192, 5)])
    with pytest.raises(RooflintError, match="has batch 2 and no other: it was exported for this batch alone"):
        CliRunner().invoke(program, ["analyze", str(file), "h100-sxm5", "-b", "1"], catch_exceptions=False)


# ---- what is refused


@pytest.mark.parametrize(
    ("nodes", "domains", "says"),
    [
        ([node("Det", "x", "y", name="here")], (), r"node 'here' \(Det\): unknown op Det: its cost is not known"),
        ([node("Lstm2", "x", "y", name="here")], (), "node 'here': unknown op Lstm2$"),
        ([node("Fused", "x", "y", domain="own")], ("own",), r"node 'Fused_0': unknown op own\.Fused$"),
    ],
)
def test_an_unknown_op_is_named_with_its_node_and_file(saved, nodes, domains, says):
    file = saved(nodes, IMAGE, domains=domains)
    with pytest.raises(UnknownOpError, match=says) as refused:
        read_onnx(file)
    assert str(refused.value).startswith(f"{file}: ")


@pytest.mark.parametrize(
    ("nodes", "says"),
    [
        ([node("NonZero", "x", "y")], "its size depends on the data"),
        ([node("MatMul", "x w", "y")], "does not fit its inputs"),
    ],
)
def test_what_cannot_be_sized_is_told_in_one_sentence(saved, nodes, says):
    with pytest.raises(RooflintError, match=says) as refused:
        read_onnx(saved(nodes, IMAGE, [weight("w", 7, 5)]))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", [b"", b"not a model", b"\x08\x07\xff\xff"])
def test_another_file_is_refused(tmp_path, text):
    (tmp_path / "net.onnx").write_bytes(text)
    with pytest.raises(RooflintError, match=r"net\.onnx: ") as refused:
        read_onnx(tmp_path / "net.onnx")
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(RooflintError, match=r"no\.onnx: no such file"):
        read_onnx(tmp_path / "no.onnx")
