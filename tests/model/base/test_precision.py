"""Precisions: widths, names, and what their rates are printed in."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.base.precision import (
    POLICIES,
    PRECISIONS,
    WIDE,
    Precision,
    UnknownPrecisionError,
    bytes_per_element,
    named,
    nearest,
    precision,
    rate_unit,
    tensor_bytes,
)
from rooflint.hardware.registry import Registry


@pytest.mark.parametrize(
    ("name", "size"),
    [("fp64", 8), ("fp32", 4), ("bf16", 2), ("fp16", 2), ("fp8", 1), ("fp6", 0.75), ("fp4", 0.5), ("int8", 1)],
)
def test_an_element_takes_as_many_bytes_as_its_name_has_bits(name, size):
    assert bytes_per_element(name) == size


def test_four_bits_are_half_a_byte_and_one_bit_an_eighth():
    assert bytes_per_element("int4") == 0.5
    assert bytes_per_element("int1") == 0.125


def test_a_tensor_without_block_scales_takes_its_elements_and_no_more():
    assert tensor_bytes(33, "fp16") == 66
    assert tensor_bytes(33, "int4") == 16.5


def test_a_format_without_block_scales_stores_its_bits():
    assert all(one.stored_bits == one.bits for one in PRECISIONS.values() if not one.scale_bits)
    # 4 bit + 8 bit / 16 elements
    assert Precision("nvfp4", 4, floating=True, block=16, scale_bits=8).stored_bits == 4.5


def test_six_bits_and_an_eight_bit_scale_for_32_elements_are_six_and_a_quarter():
    # 6 bit + 8 bit / 32 elements = 6.25 bit = 0.78125 B
    assert precision("mxfp6").stored_bits == 6.25
    assert bytes_per_element("mxfp6") == 0.78125


def test_a_block_that_is_begun_has_a_whole_scale():
    # 32 elements × 6/8 B + 1 scale × 1 B = 25 B; one element more takes 0.75 B and a second scale
    assert tensor_bytes(32, "mxfp6") == 25
    assert tensor_bytes(33, "mxfp6") == 26.75
    assert tensor_bytes(0, "mxfp6") == 0
    # 24 576 elements × 0.75 B + 768 scales = 19 200 B = 24 576 × 0.78125 B
    assert tensor_bytes(np.array([24_576, 1]), "mxfp6").tolist() == [19_200, 1.75]


def test_tf32_computes_with_19_bits_and_is_stored_in_32():
    assert precision("tf32").bits == 32


def test_the_accumulator_changes_the_rate_and_not_the_storage():
    for name in ("fp16", "fp8"):
        assert precision(f"{name}_acc16").accumulate == "fp16"
        assert precision(name).accumulate is None
        assert bytes_per_element(f"{name}_acc16") == bytes_per_element(name)


@given(st.sampled_from(sorted(PRECISIONS)), st.randoms(use_true_random=False))
def test_a_name_is_known_in_any_case(name, random):
    written = "".join(random.choice((letter.lower(), letter.upper())) for letter in name)
    assert precision(written).name == name


def test_names_say_their_width():
    # fp16_acc16 has 16 bits, tf32 is stored in 32
    for name, known in PRECISIONS.items():
        head = name.removeprefix("mx").split("_")[0]
        assert known.bits == int(head.lstrip("abcdefghijklmnopqrstuvwxyz"))


def test_an_unknown_precision_is_refused_with_those_that_exist():
    with pytest.raises(UnknownPrecisionError) as caught:
        precision("fp17")
    assert str(caught.value) == f"unknown precision 'fp17' (known: {', '.join(PRECISIONS)})"
    assert str(caught.value).startswith("unknown precision 'fp17' (known: fp64, fp32, tf32, bf16, ")


@pytest.mark.parametrize(("name", "unit"), [("fp16", "FLOP/s"), ("bf16", "FLOP/s"), ("int8", "OP/s"), ("INT4", "OP/s")])
def test_only_floating_point_rates_are_flops(name, unit):
    assert rate_unit(name) == unit


def test_every_precision_of_the_shipped_specs_is_known():
    devices = map(Registry().get, Registry().ids())
    used = {name for device in devices for unit in device.units.values() for name in unit.precisions}
    assert {"fp16", "int8"} <= used <= set(PRECISIONS)


@pytest.mark.parametrize(
    ("name", "having", "found"),
    [
        ("bf16", ["fp16", "fp32", "fp64", "int4", "int8"], "fp16"),
        ("fp8", ["int8", "fp64", "fp16"], "fp16"),
        ("bf16", ["int8", "int4"], "int8"),
        ("int4", ["fp4", "int32", "int8"], "int8"),
        ("fp16", ["fp16_acc16", "bf16"], "bf16"),
        ("bf16", [], None),
    ],
)
def test_the_nearest_precision_is_of_the_same_sort_and_of_nearly_as_many_bits(name, having, found):
    assert nearest(name, having) == found


# ---- policies


def test_four_bits_and_a_scale_for_128_for_32_or_for_16_elements():
    # 4 bit + 16 bit / 128; 4 bit + 8 bit / 32; 4 bit + 8 bit / 16; 8 bit + 32 bit / 128²
    stored = {name: one.weights.stored_bits for name, one in POLICIES.items()}
    assert [stored[one] for one in ("w4a16", "mxfp4", "nvfp4-kv8", "fp8-block")] == [4.125, 4.25, 4.5, 8 + 32 / 16384]


def test_policies_are_made_of_formats_that_exist():
    for one in POLICIES.values():
        assert {one.activations, one.cache, *one.compute} <= set(PRECISIONS)
        assert one.source


def test_what_weights_are_widened_to_computes_wide():
    assert all(POLICIES[name].compute == WIDE for name in ("w4a16", "w4a16-kv8", "mxfp4"))


def test_names_of_policies_and_of_formats_are_known_in_any_case():
    assert (named("W4A16"), named("FP8-kv8"), named("BF16")) == ("w4a16", "fp8-kv8", "bf16")
    with pytest.raises(UnknownPrecisionError, match=r"unknown precision 'w5' \(known: fp64, .*; policies: w4a16, "):
        named("w5")
