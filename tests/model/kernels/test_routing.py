"""Dispatch and combine: laws of bytes and times, sums by hand, and which kernels are taken."""

from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.kernels.conftest import CHIPS, CONSTANTS

from rooflint.base.errors import RooflintError
from rooflint.hardware.registry import Registry
from rooflint.kernels.dispatch import kernel
from rooflint.kernels.routing import MOST_TOKENS, ExpertExchange
from rooflint.workloads.parallelism import Way

H100, B200 = CHIPS["nvidia/h100-sxm5-80gb"], CHIPS["nvidia/b200-sxm"]
OWN = CONSTANTS.routing

WAYS = st.sampled_from(get_args(Way))
KERNELS = st.sampled_from([None, "normal", "low_latency"])
TOKENS = st.integers(1, 100_000)
LAYERS = st.tuples(st.integers(128, 16_384), st.integers(1, 8), st.sampled_from([8, 64, 256, 384]))
MEMBERS = st.sampled_from([1, 2, 4, 8])


def one(tokens, layer, members, *, chip=H100, sms=20, **options):
    exchange = ExpertExchange(**options)
    return exchange.predict(exchange.work(tokens, *layer, members, sms), chip, CONSTANTS).item()


@given(WAYS, KERNELS, TOKENS, st.integers(0, 5000), LAYERS, MEMBERS)
def test_more_tokens_never_take_less(way, kernels, tokens, more, layer, members):
    options = {"way": way, "kernels": kernels}
    assert one(tokens + more, layer, members, **options) >= one(tokens, layer, members, **options)


@given(WAYS, KERNELS, TOKENS, LAYERS, MEMBERS, st.sampled_from(["fp8", "bf16"]))
def test_no_exchange_is_faster_than_what_must_be_sent(way, kernels, tokens, layer, members, precision):
    exchange = ExpertExchange(precision, way=way, kernels=kernels)
    work = exchange.work(tokens, *layer, members)
    assert exchange.predict(work, H100, CONSTANTS).item() >= exchange.floor_s(work, H100).item()


@given(WAYS, KERNELS, TOKENS, LAYERS, MEMBERS, st.floats(1, 8))
def test_faster_links_and_more_sms_never_hurt(way, kernels, tokens, layer, members, factor):
    options = {"way": way, "kernels": kernels}
    here = one(tokens, layer, members, **options)
    link = H100.link._replace(bandwidth_bytes_per_s=factor * H100.link.bandwidth_bytes_per_s)
    assert one(tokens, layer, members, chip=H100.__class__(**{**vars(H100), "link": link}), **options) <= here
    assert one(tokens, layer, members, sms=24, **options) <= here


@given(WAYS, KERNELS, TOKENS, LAYERS)
def test_one_device_alone_takes_no_time(way, kernels, tokens, layer):
    assert one(tokens, layer, 1, way=way, kernels=kernels) == 0


def test_a_normal_dispatch_by_hand():
    # 4096 tokens of 7168 to 8 of 256 experts on 8 devices: each goes to 5.2946 of them, 7 of 8 abroad
    copies, row = 4096 * 5.29465, 7168 * (1 + 4 / 128)
    wire = copies * 7 / 8 * row / (20.6 / 25 * 450e9)
    carried = (4096 * OWN.token_clocks + copies * row / OWN.sm_bytes) / 20 / H100.clock_hz
    found = one(4096, (7168, 8, 256), 8, precision="fp8", kernels="normal")
    assert found == pytest.approx(max(wire, carried) + OWN.launch_us * 1e-6, rel=1e-4)
    # with few SMs they are what takes longest, and twice as many take half as long
    few, more = (one(65536, (7168, 8, 256), 8, precision="fp8", kernels="normal", sms=sms) for sms in (4, 8))
    launch = OWN.launch_us * 1e-6
    assert few - launch == pytest.approx(2 * (more - launch))


def test_a_low_latency_dispatch_by_hand():
    # 256 experts in two rounds on 132 SMs: 128 of them, so that 256 tokens are two each; 8 copies, 7 of 8 abroad
    row = 7168 * (1 + 4 / 128) + 16
    wire = 256 * 8 * 7 / 8 * row / (OWN.low_latency_efficiency * 20.6 / 25 * 450e9)
    by_hand = wire + (2 * OWN.prepare_us + OWN.latency_us + 256 * OWN.expert_ns / 1000) * 1e-6
    found = one(256, (7168, 8, 256), 8, precision="fp8", kernels="low_latency")
    assert found == pytest.approx(by_hand)


def test_a_low_latency_combine_prepares_nothing_and_sends_whole_results():
    wire = 256 * 8 * 7 / 8 * 2 * 7168 / (OWN.low_latency_efficiency * 20.6 / 25 * 450e9)
    by_hand = wire + (OWN.latency_us + 256 * OWN.expert_ns / 1000) * 1e-6
    assert one(256, (7168, 8, 256), 8, way="combine", kernels="low_latency") == pytest.approx(by_hand)


def test_few_tokens_take_low_latency_kernels_and_many_take_normal_ones():
    layer, options = (7168, 8, 256), {"precision": "fp8"}
    for tokens, taken in ((16, "low_latency"), (MOST_TOKENS + 1, "normal"), (32_768, "normal")):
        assert one(tokens, layer, 8, **options) == one(tokens, layer, 8, kernels=taken, **options)


def test_sizes_are_broadcast_and_each_entry_is_what_it_is_alone():
    exchange, tokens = ExpertExchange(way="combine"), np.array([1, 300, 5000])
    together = exchange.predict(exchange.work(tokens, 4096, 8, 128, 8), B200, CONSTANTS)
    assert together.tolist() == [one(each, (4096, 8, 128), 8, chip=B200, way="combine") for each in tokens]
    terms = exchange.terms(exchange.work(tokens, 4096, 8, 128, 8), B200, CONSTANTS)
    assert np.sum(list(terms.values()), axis=0) == pytest.approx(together)


def test_errors_are_those_of_the_precision_that_was_measured():
    registry = Registry()
    sizes = {"tokens": 128, "hidden": 7168, "top_k": 8, "experts": 256, "members": 8, "kernels": "normal"}
    hopper = registry.get("nvidia/h100-sxm5-80gb")
    for precision, known in (("fp8", True), ("bf16", False)):
        found = kernel("expert_exchange", hopper, registry, precision=precision, **sizes)
        assert (found.own_error is not None) is known
    assert any("within a box" in caveat for caveat in found.caveats)


@pytest.mark.parametrize(("option", "known"), [("way", "dispatch"), ("kernels", "normal")])
def test_an_unknown_option_is_refused_with_those_that_are_known(option, known):
    with pytest.raises(RooflintError, match=f"{option}: want one of {known}, .*found 'fast'"):
        ExpertExchange(**{option: "fast"})


def test_experts_that_devices_cannot_share_are_refused():
    with pytest.raises(RooflintError, match="experts: want a multiple of the members"):
        ExpertExchange().work(1, 128, 2, 9, 2)
    with pytest.raises(RooflintError, match="top_k: want no more than there are experts"):
        ExpertExchange().work(1, 128, 9, 8, 2)
