"""Collectives: laws of bytes and times, sums by hand, and the algorithm that is taken."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.kernels.conftest import CHIPS, CONSTANTS

from rooflint.base.errors import RooflintError
from rooflint.hardware.registry import Registry
from rooflint.kernels import collectives
from rooflint.kernels.chip import Link, MissingFactError
from rooflint.kernels.collectives import SWITCH_EFFICIENCY, Collective, Kind, Library, Messages, bound_s, ring_bytes
from rooflint.kernels.dispatch import kernel

REGISTRY = Registry()
H100 = CHIPS["nvidia/h100-sxm5-80gb"]
OWN = CONSTANTS.collectives
PLAIN, SWITCH = Link(450e9), Link(450e9, reduces=True)

KINDS = st.sampled_from(get_args(Kind))
BYTES = st.integers(1, 2**32).map(float)
MEMBERS = st.integers(1, 128).map(float)
LINKS = st.builds(Link, st.floats(1e9, 2e12), st.floats(0, 1e-5), st.booleans(), st.floats(0.5, 1.0))


def seconds(kind, message_bytes, members, link):
    """On an H100 with these links."""
    model = Collective(kind=kind)
    return model.predict(model.work(message_bytes, members), replace(H100, link=link), CONSTANTS)


def one(kind, message_bytes, members, link):
    return seconds(kind, message_bytes, members, link).item()


@given(KINDS, BYTES, st.floats(1, 4), MEMBERS, LINKS)
def test_a_longer_message_never_takes_less(kind, message_bytes, factor, members, link):
    assert one(kind, factor * message_bytes, members, link) >= one(kind, message_bytes, members, link)


@given(KINDS, BYTES, MEMBERS, LINKS)
def test_no_collective_is_faster_than_its_bytes_on_the_wire(kind, message_bytes, members, link):
    assert one(kind, message_bytes, members, link) >= bound_s(kind, message_bytes, members, link).item()


@given(KINDS, BYTES, LINKS)
def test_one_device_alone_takes_no_time(kind, message_bytes, link):
    assert one(kind, message_bytes, 1, link) == 0 == bound_s(kind, message_bytes, 1, link).item()


@given(KINDS, BYTES, MEMBERS, LINKS, st.floats(1, 8))
def test_faster_links_and_shorter_latencies_never_hurt(kind, message_bytes, members, link, factor):
    here = one(kind, message_bytes, members, link)
    assert one(kind, message_bytes, members, link._replace(bandwidth_bytes_per_s=factor * link[0])) <= here
    assert one(kind, message_bytes, members, link._replace(latency_s=link.latency_s / factor)) <= here


@given(BYTES, MEMBERS, st.floats(1e9, 2e12))
def test_switches_that_add_up_never_hurt(message_bytes, members, bandwidth):
    plain, switched = (one("all_reduce", message_bytes, members, Link(bandwidth, 0, able)) for able in (False, True))
    assert switched <= plain


@given(BYTES, MEMBERS)
def test_on_the_wire_an_all_reduce_is_a_reduce_scatter_and_an_all_gather(message_bytes, members):
    some = Messages(np.array([message_bytes]), np.array([members]))
    sent = {kind: ring_bytes(kind, some).item() for kind in ("all_reduce", "reduce_scatter", "all_gather")}
    assert sent["all_reduce"] == pytest.approx(sent["reduce_scatter"] + sent["all_gather"])


@given(BYTES, MEMBERS)
def test_a_reduce_scatter_takes_as_long_as_an_all_gather(message_bytes, members):
    assert one("reduce_scatter", message_bytes, members, PLAIN) == one("all_gather", message_bytes, members, PLAIN)


@given(KINDS, BYTES, MEMBERS, LINKS, st.sampled_from(get_args(Library)))
def test_latency_and_bandwidth_alone_lie_between_the_bound_and_the_prediction(
    kind, message_bytes, members, link, library
):
    model = Collective(kind=kind, library=library)
    work, chip = model.work(message_bytes, members), replace(H100, link=link)
    plain = model.alpha_beta_s(work, chip, CONSTANTS).item()
    assert model.floor_s(work, chip).item() <= plain <= model.predict(work, chip, CONSTANTS).item() * (1 + 1e-12)


def test_bytes_on_the_wire_by_hand():
    some = Messages(np.array([8e6, 8e6]), np.array([2.0, 8.0]))
    assert ring_bytes("all_gather", some).tolist() == [4e6, 7e6]  # (n − 1) / n of 8 MB
    assert ring_bytes("all_to_all", some).tolist() == [4e6, 7e6]
    assert ring_bytes("all_reduce", some).tolist() == [8e6, 14e6]  # twice that
    assert ring_bytes("point_to_point", some).tolist() == [8e6, 8e6]


def test_an_all_gather_by_hand():
    # 8 devices, 1 GB: 875 MB sent and 125 MB copied, 7 steps, and what is lost to chunks, at 1.83 GHz
    wire = (875e6 + 125e6 * OWN.copy_share) / (0.8 * 450e9)  # of NVLink NCCL counts on 20 of 25 GB/s
    chunks = 2 * np.sqrt(OWN.chunk_clocks / 1.83e9 * wire)
    by_hand = wire + chunks + 7 * OWN.step_clocks / 1.83e9 + OWN.launch_us * 1e-6
    assert one("all_gather", 1e9, 8, PLAIN) == pytest.approx(by_hand)


def test_a_short_all_reduce_by_hand():
    # 4 devices, 1 MB in two shots: 2 · 3/4 MB sent, no chunks; in one shot 3 MB
    two = 1.5e6 / (0.8 * 450e9) + 2 * OWN.exchange_us * 1e-6
    one_shot = 3e6 / (0.8 * 450e9) + OWN.exchange_us * 1e-6
    assert one("all_reduce", 1e6, 4, PLAIN) == pytest.approx(min(two, one_shot) + OWN.launch_us * 1e-6)


def test_switches_that_add_up_by_hand():
    # 8 devices, 1 GB: each sends it once and an eighth of the sum, at 0.85 of the rate that NCCL counts on
    wire = (1e9 + 125e6) / (SWITCH_EFFICIENCY * 0.8 * 450e9)
    chunks = 2 * np.sqrt(OWN.chunk_clocks / 1.83e9 * wire)
    by_hand = wire + chunks + 2 * OWN.exchange_us * 1e-6 + OWN.launch_us * 1e-6
    assert one("all_reduce", 1e9, 8, SWITCH) == pytest.approx(by_hand)


def test_a_faster_clock_never_hurts_and_a_part_that_is_copied_takes_longer_than_none():
    model = Collective(kind="all_gather")
    slow, fast = (replace(H100, clock_hz=hz) for hz in (1e9, 2e9))
    work = model.work([1e3, 1e6, 1e9], 8)
    assert (model.predict(work, fast, CONSTANTS) < model.predict(work, slow, CONSTANTS)).all()
    none = replace(CONSTANTS, collectives=replace(OWN, copy_share=0.0))
    assert (model.predict(work, H100, none) < model.predict(work, H100, CONSTANTS)).all()


def test_a_bound_by_hand():
    assert bound_s("all_reduce", 900e6, 2, PLAIN).item() == pytest.approx(2e-3)  # 900 MB at 450 GB/s
    assert bound_s("all_reduce", 800e6, 8, PLAIN).item() == pytest.approx(1.4e9 / 450e9)
    assert bound_s("all_reduce", 800e6, 8, SWITCH).item() == pytest.approx(800e6 / 450e9)  # up once, down once


@pytest.mark.parametrize(
    ("message_bytes", "members", "link", "library", "taken"),
    [
        (4096, 8, SWITCH, "framework", "1 shot"),
        (8e6, 8, PLAIN, "framework", "2 shot"),
        (1e9, 8, PLAIN, "framework", "ring"),
        (1e9, 8, SWITCH, "framework", "switch"),
        (1e9, 4, SWITCH, "framework", "ring"),  # NCCL lets the switch add up from 8 devices on
        (4096, 8, PLAIN, "nccl", "ring"),  # within a box, whatever the size
        (4096, 72, PLAIN, "nccl", "tree"),  # 2 · 7 steps instead of 142
    ],
)
def test_the_algorithm_that_takes_least_is_taken(message_bytes, members, link, library, taken):
    model = Collective(library=library)
    chip = CHIPS["nvidia/b200-sxm"]
    chip = chip.__class__(**{**vars(chip), "link": link})
    assert model.algorithms(model.work(message_bytes, members), chip, CONSTANTS) == [taken]


def test_sizes_are_broadcast_and_each_entry_is_what_it_is_alone():
    message, members = np.array([[1e3], [1e6], [1e9]]), np.array([1, 2, 4, 8])
    together = seconds("all_reduce", message, members, SWITCH).reshape(3, 4)
    alone = [[one("all_reduce", size, count, SWITCH) for count in members] for size in message.ravel()]
    assert together.tolist() == alone


def test_terms_add_up_and_the_longest_is_the_wire_of_long_messages():
    model = Collective(kind="all_gather")
    work = model.work([1e3, 1e6, 1e9], 8)
    terms = model.terms(work, H100, CONSTANTS)
    assert np.sum(list(terms.values()), axis=0) == pytest.approx(model.predict(work, H100, CONSTANTS))
    assert [max(terms, key=lambda name: terms[name][row]) for row in range(3)] == ["steps", "pipeline", "wire"]


def test_a_device_gives_its_fastest_links_in_one_direction():
    # 18 links · 25 GB/s, of which data sheets print both directions
    # and NCCL counts on 20.6 GB/s of each
    assert H100.link == Link(450e9, reduces=True, counted=20.6 / 25)
    assert kernel("collective", REGISTRY.get("nvidia/h100-sxm5-80gb"), REGISTRY, message_bytes=1e9, members=8).seconds[
        0
    ] == one("all_reduce", 1e9, 8, H100.link)


def test_a_device_without_links_lacks_a_fact():
    with pytest.raises(MissingFactError, match="lacks the facts 'links'"):
        collectives.link_of(CHIPS["nvidia/t4"])


@pytest.mark.parametrize(("option", "known"), [("kind", "all_reduce"), ("library", "framework")])
def test_an_unknown_option_is_refused_with_those_that_are_known(option, known):
    with pytest.raises(RooflintError, match=f"{option}: want one of {known}, .*found 'broadcast'"):
        Collective(**{option: "broadcast"})


def test_less_than_a_byte_or_a_device_is_refused():
    with pytest.raises(RooflintError, match="members: want 1 or more, found 0"):
        seconds("all_reduce", 1e6, 0, PLAIN)
    with pytest.raises(RooflintError, match="message_bytes: want 1 or more, found 0"):
        seconds("all_reduce", 0, 8, PLAIN)
