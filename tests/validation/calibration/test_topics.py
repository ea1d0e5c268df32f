"""Topics: the terms of a row add up to what is predicted of it, and a regime holds the rows up to its bounds."""

from dataclasses import replace

import numpy as np
import pytest

from rooflint.coefficients.library import Coefficients
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import chip_of
from rooflint.kernels.constants import constants_file
from rooflint_calibration import package, topics
from rooflint_calibration.rows import Rows
from rooflint_calibration.topics import TOPICS

REGISTRY = Registry()
LAUNCHES = Coefficients(REGISTRY).launches()
CONSTANTS = constants_file(REGISTRY).constants


def drawn(topic, rows=60):
    """Sizes of a topic as tables have them, from the smallest to the largest."""
    draw = np.random.default_rng(4)
    if TOPICS[topic].op == "collective":
        return np.column_stack([2.0 ** draw.integers(0, 31, rows), 2.0 ** draw.integers(0, 5, rows)])
    if TOPICS[topic].op == "expert_exchange":
        tokens, hidden, experts = (2.0 ** draw.integers(*ends, rows) for ends in ((0, 11), (10, 13), (3, 9)))
        others = np.column_stack([np.full(rows, 8.0), 2.0 * draw.integers(2, 13, rows)])
        return np.column_stack([tokens, hidden, np.full(rows, 2.0), experts, others])
    if TOPICS[topic].op == "expert_layer":
        experts, ranks = 2.0 ** draw.integers(3, 9, rows), 2.0 ** draw.integers(0, 3, rows)
        tokens, hidden, width = (2.0 ** draw.integers(*ends, rows) for ends in ((0, 15), (10, 13), (9, 14)))
        return np.stack([tokens, hidden, width, experts, np.full(rows, 2.0), ranks], axis=1)
    if TOPICS[topic].op.startswith("latent"):
        return 2.0 ** np.stack([draw.integers(0, high, rows) for high in (7, 8, 15)], axis=1)
    if "tokens" not in TOPICS[topic].columns:
        sizes = 2.0 ** draw.integers(0, 15, (rows, 3))
        return np.column_stack([sizes, draw.integers(1, 7, rows)])[:, : len(TOPICS[topic].columns)]
    kv = 2.0 ** draw.integers(0, 5, rows)
    batch, group, tokens = (2.0 ** draw.integers(0, high, rows) for high in (7, 4, 15))
    return np.stack([batch, kv * group, kv, tokens, np.full(rows, 128.0)], axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("device", ["nvidia/l40s", "nvidia/h100-sxm5-80gb"])  # warps that wait, and those that do not
@pytest.mark.parametrize("topic", TOPICS)
def test_terms_add_up_to_what_is_predicted(topic, device):
    chip, sizes = chip_of(REGISTRY.get(device), TOPICS[topic].precision, LAUNCHES), drawn(topic)
    terms = TOPICS[topic].terms(sizes, chip, CONSTANTS)
    assert np.sum(list(terms.values()), axis=0) == pytest.approx(
        TOPICS[topic].predict(sizes, chip, CONSTANTS), rel=1e-9
    )
    assert all((seconds >= -1e-15).all() for seconds in terms.values())


@pytest.mark.parametrize(
    ("device", "sizes", "called"),
    [
        ("nvidia/l40s", (16, 64, 2048), "step"),  # one of the smallest tiles, with a long k
        ("nvidia/l40s", (1024, 1024, 1024), "feed"),  # small tiles, whose operands are many for their arithmetic
        ("nvidia/h100-sxm5-80gb", (8192, 8192, 8192), "main loop"),
    ],
)
def test_the_main_loop_is_called_what_binds_it(device, sizes, called):
    chip = replace(chip_of(REGISTRY.get(device), "bf16", LAUNCHES), tdp_w=1e9)  # or power binds
    terms = TOPICS["gemm"].terms(np.array([[*sizes, 6.0]]), chip, CONSTANTS)
    assert {"main loop", "feed", "step"} & set(terms) == {called}


@pytest.mark.parametrize("topic", ["prefill", "decode"])
def test_to_fill_a_block_is_a_term_of_its_own(topic):
    chip, sizes = chip_of(REGISTRY.get("nvidia/l40s"), "bf16", LAUNCHES), np.array([[1.0, 8, 8, 128, 128]])
    assert TOPICS[topic].terms(sizes, chip, CONSTANTS)["fill"] > 0


# ---- Regimes: rows just inside and just outside of each bound


def columns(*rows):
    return np.array(rows, float)


@pytest.mark.parametrize(
    ("topic", "sizes", "inside"),
    [
        # 2 · m · n · k op: 20 GFLOP is not above 20, and 1 GFLOP not below 1
        (
            "gemm",
            columns((1000, 10000, 1000, 6), (1001, 10000, 1000, 6), (500, 1000, 1000, 6), (499, 1000, 1000, 6)),
            {"large": [1], "small": [3], "narrow": []},
        ),
        ("gemm", columns((16, 8192, 8192, 6), (17, 8192, 8192, 6)), {"large": [], "small": [], "narrow": [0]}),
        (
            "fp8_block",
            columns((1001, 10000, 1000, 6), (16, 1000, 1000, 6)),
            {"large": [0], "small": [1], "narrow": [1]},
        ),
        # half of 4 · batch · heads · tokens² · width op: 2 · 8 · 3125² · 128 = 20 GFLOP; 2 · 4 · 2500² · 20 = 1 GFLOP
        (
            "prefill",
            columns((1, 8, 2, 3125, 128), (1, 8, 2, 3126, 128), (1, 4, 2, 2500, 20), (1, 4, 2, 2499, 20)),
            {"large": [1], "small": [3], "short": []},
        ),
        # an encoder's scores are not halved: 4 · 4 · 3125² · 128 = 20 GFLOP
        (
            "encoder",
            columns((1, 4, 4, 3125, 128), (1, 4, 4, 3126, 128), (512, 4, 4, 64, 128), (512, 4, 4, 65, 128)),
            {"large": [1], "small": [], "short": [2]},
        ),
        # a cache of 2 · 64 · 8 · 1144 · 128 · 2 B = 299.9 MB, 300.16 MB with one token more; 9.96 and 10.03 MB
        (
            "decode",
            columns((64, 8, 8, 1142, 128), (64, 8, 8, 1145, 128), (1, 8, 8, 2432, 128), (1, 8, 8, 2448, 128)),
            {"large": [1], "small": [2]},
        ),
        # in FP8 twice as many tokens fit
        ("decode_fp8", columns((64, 8, 8, 2280, 128), (64, 8, 8, 2290, 128)), {"large": [1], "small": []}),
        # causal, keys of 192 and values of 128 elements: 2 · 320 · 10 · 2500² / 2 = 20 GFLOP
        (
            "mla_prefill",
            columns((1, 10, 2500), (1, 10, 2501), (1, 2, 1249), (1, 1, 64)),
            {"large": [1], "small": [2, 3], "short": [3]},
        ),
        # latents of 576 elements: 64 · 4069 · 576 · 2 B and a head = 300.1 MB; 1 · 8678 · 1152 B = 9.997 MB
        ("mla_decode", columns((64, 1, 4060), (64, 1, 4069), (1, 1, 8678), (1, 1, 8681)), {"large": [1], "small": [2]}),
        # tokens, and ranks
        (
            "moe_balanced",
            columns(*((tokens, 64, 64, 8, 2, 1) for tokens in (4, 5, 64, 65, 1024)), (1025, 64, 64, 8, 2, 2)),
            {"large": [5], "small": [0, 1, 2], "fewest": [0], "ranks": [5]},
        ),
        # bytes of the message, and its GPUs
        (
            "all_reduce",
            columns((1e6, 2), (1e6 + 2, 2), (2e6, 8), (64e3 - 2, 4), (64e3, 8)),
            {"large": [1, 2], "small": [3], "pairs": [1], "boxes": [2]},
        ),
        # 3 B an element: 2 read, 1 written
        (
            "quantise",
            columns((1000, 33333), (1000, 33334), (1000, 333), (1000, 334)),
            {"large": [1], "small": [2]},
        ),
    ],
)
def test_a_regime_ends_at_its_bound(topic, sizes, inside):
    found = {name: np.flatnonzero(TOPICS[topic].inside(name, sizes)).tolist() for name in TOPICS[topic].regimes}
    assert found == {"all": list(range(len(sizes))), **inside}


def test_rows_with_too_few_or_too_many_sizes_have_no_regime():
    with pytest.raises(ValueError, match="zip"):
        TOPICS["gemm"].inside("all", columns((16, 4096, 4096)))


def test_the_roofline_is_the_dense_peak_of_large_products_and_memory_of_narrow_ones():
    chip = TOPICS["gemm"].chip(REGISTRY, "nvidia/l40s")
    found = TOPICS["gemm"].roofline(columns((8192, 8192, 8192, 6), (1, 16384, 16384, 6)), chip)
    # 8192³ MAC / (142 SMs · 512 MAC · 2.52 GHz) = 3.0 ms; 16384² · 2 B / 864 GB/s = 0.621 ms
    assert found == pytest.approx([3.0006e-3, 0.6214e-3], rel=1e-3)


# ---- Which rows and devices there are


@pytest.fixture
def measured(monkeypatch, tmp_path):
    """Six products of an L40S, as if the package were installed; the shapes of all but one are above 20 GFLOP."""
    m = np.array([16.0, 4096, 8192, 12288, 16384, 20480])
    rows = Rows("nvidia/l40s", TOPICS["gemm"].columns, np.column_stack([m, m, m, np.full(6, 6.0)]), m * 1e-6)

    def read(folder, device, chip):
        assert (folder, device, chip.sms) == (tmp_path, "nvidia/l40s", 142)
        return rows

    monkeypatch.setattr(package, "data_folder", lambda: tmp_path)
    monkeypatch.setattr(topics, "TOPICS", {"gemm": replace(TOPICS["gemm"], read=read)})
    topics.measured.cache_clear()
    yield rows
    topics.measured.cache_clear()


def test_a_sample_has_so_many_rows_of_a_regime_and_the_chip(measured):
    large, chip = topics.sample(REGISTRY, "gemm", "nvidia/l40s", "large")
    assert large["m"].tolist() == [4096, 8192, 12288, 16384, 20480]
    assert (chip.sms, chip.l2_bytes) == (142, 96 * 2**20)
    few, _ = topics.sample(REGISTRY, "gemm", "nvidia/l40s", "large", 2)
    assert len(few) == 2
    assert set(few["m"]) < set(large["m"])
    assert len(topics.sample(REGISTRY, "gemm", "nvidia/l40s")[0]) == 6


def test_constants_of_a_family_are_those_fitted_without_it():
    file = constants_file(REGISTRY)
    found = topics.unseen(REGISTRY, "ada").products
    assert found.overlap == file.specs("products")["overlap"].folds["ada"] != CONSTANTS.products.overlap
    with pytest.raises(KeyError, match="volta"):
        topics.unseen(REGISTRY, "volta")


def test_a_family_without_a_device_that_has_the_op_is_left_out():
    assert topics.measured_devices("gemm")["ampere"] == ("nvidia/a100-sxm4-80gb",)
    assert list(topics.measured_devices("fp8_tensor")) == ["hopper", "ada", "blackwell", "rtx_pro"]
    assert topics.measured_devices("fp8_tensor")["hopper"] == ("nvidia/h100-sxm5-80gb", "nvidia/h200-sxm-141gb")
