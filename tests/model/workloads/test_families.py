"""Tables of a family are those that are made row by row, in every field."""

from dataclasses import fields, replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.base.errors import RooflintError
from rooflint.workloads import transformer
from rooflint.workloads.configuration import Transformer
from rooflint.workloads.families import Family, polynomials, symbols
from rooflint.workloads.flow import Role, Share
from rooflint.workloads.networks import network_named, network_names
from rooflint.workloads.ops import QUANTITIES, Op
from rooflint.workloads.parallelism import Parallelism, shard, stage
from rooflint.workloads.transformer import Step, decode_steps, table
from rooflint.workloads.workload import Workload

WAYS = (Parallelism(), Parallelism(tp=2), Parallelism(tp=8), Parallelism(pp=4), Parallelism(tp=2, ep=8))


def transformers():
    for name in network_names():
        net = network_named(name).configuration
        if isinstance(net, Transformer):
            yield net


def row_by_row(*asked, **more):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transformer, "_of_family", lambda run: False)
        return table(*asked, **more)


def differences(one, other):
    for field in fields(Workload):
        mine, theirs = getattr(one, field.name), getattr(other, field.name)
        if isinstance(mine, np.ndarray):
            same = mine.dtype == theirs.dtype and np.array_equal(mine, theirs)
            if not same or mine.flags.writeable:
                yield field.name
        elif field.name == "remake":
            if mine is not theirs and (mine.func, mine.args) != (theirs.func, theirs.args):
                yield field.name
        elif mine != theirs:
            yield field.name


def test_digits_of_a_run_on_symbols_are_coefficients():
    batch, new, seen = symbols(3)
    op = Op("a", "linear", 6 * batch * new * seen, 0, 5 * batch + 4 * new, 7, 3 * batch * new, repeats=1)
    found = polynomials([op], [Role(Share("linear", 7, 2), 9 * seen)], 3)
    assert found.terms == ((), (0,), (1,), (0, 1), (2,), (0, 1, 2))
    # a sample adds 5 elements that are read, a new token 4, 7 are weights, and 3 of each token are written
    place = {name: at for at, name in enumerate((*QUANTITIES, "narrow", "channels", "cache_in", "cache_out"))}
    one, of_batch, of_new, of_both, of_seen, of_all = (row[:, 0] for row in found.coefficients)
    assert of_all[place["macs"]] == 6
    assert (of_batch[place["elements_in"]], of_new[place["elements_in"]]) == (5, 4)
    assert (of_both[place["elements_out"]], of_seen[place["cache_in"]]) == (3, 9)
    assert [one[place[name]] for name in ("elements_weight", "narrow", "channels", "repeats")] == [7, 7, 2, 1]


@pytest.mark.parametrize("net", [*transformers()], ids=lambda net: net.name)
def test_a_table_of_a_family_is_that_made_row_by_row(net):
    asked = [(7, 1, [Step(100)]), (2, 300, [Step(0)]), (1, 2, [Step(5)]), (3, 1, decode_steps(40, 100))]
    if net.encoder:
        asked = [(batch, net.context if net.encoder.image else new, [Step(0)]) for batch in (1, 6) for new in (1, 50)]
    for how in WAYS:
        try:
            part = stage(shard(net, how), how)
        except RooflintError:
            continue
        for shape in asked:
            for every in (False, True):
                found, slow = table(part, *shape, every=every), row_by_row(part, *shape, every=every)
                assert not [*differences(found, slow)]


NAMES = ("llama-3.1-8b", "gemma-3-27b", "llama-4-scout", "deepseek-v3", "gpt-oss-20b", "gpt-j-6b")
TRANSFORMERS = [network_named(name).transformer for name in NAMES]


@given(
    st.sampled_from(TRANSFORMERS), st.integers(1, 2**40), st.integers(1, 1500),
    st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 5)), min_size=1, max_size=6),
)  # fmt: skip
def test_any_shape_is_that_made_row_by_row_or_refused_alike(net, batch, new, steps):
    asked = net, batch, new, [Step(*step) for step in steps]
    try:
        slow = row_by_row(*asked)
    except RooflintError as error:
        with pytest.raises(type(error)) as refused:
            table(*asked)
        assert str(refused.value) == str(error)
    else:
        assert not [*differences(table(*asked), slow)]


def made_by(call):
    """What a network with an encoder and a decoder makes row by row."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Family, "table", lambda *asked, **more: None)
        return call()


@pytest.mark.parametrize("name", ["t5-base", "whisper-base"])
@pytest.mark.parametrize("batch", [1, 5, 1000])
def test_an_encoder_and_a_decoder_have_families_of_first_tokens_and_of_steps(name, batch):
    net = network_named(name).configuration
    asked = [partial(net.first, batch, source, new) for source, new in ((net.source, 1), (7, 1), (30, 4))]
    asked += [partial(net.step, batch, new, past) for new, past in ((1, 9), (1, 1), (6, 20))]
    for call in asked:
        assert not [*differences(call(), made_by(call))]
    with pytest.raises(RooflintError, match="batch: want a whole number of at least 1"):
        net.first(0, 7)


@pytest.mark.parametrize("batch", [2**40, 2**70])
def test_a_batch_beyond_what_is_counted_is_refused_and_no_overflow(batch):
    with pytest.raises(RooflintError, match=r"no larger than 2\^53"):
        table(TRANSFORMERS[0], batch, 1000)
    with pytest.raises(RooflintError, match=r"no larger than 2\^53"):
        network_named("t5-base").configuration.first(batch, 500)


@pytest.mark.parametrize("batch", [0, -1, True])
def test_what_is_no_batch_is_refused(batch):
    with pytest.raises(RooflintError, match="batch: want a whole number of at least 1"):
        table(TRANSFORMERS[0], batch, 4)


def test_another_context_is_another_family():
    short = replace(TRANSFORMERS[0], context=10)
    assert table(TRANSFORMERS[0], 1, 11).total_macs
    with pytest.raises(RooflintError, match="want at most 10 tokens"):
        table(short, 1, 11)


# ---- Prompts with images

LLAVA = network_named("llava-1.5-7b").configuration
WINDOWED = replace(network_named("mistral-7b").configuration, window=700, window_layers=8)
SEEN = (LLAVA, *(LLAVA.written_by(net) for net in (WINDOWED, network_named("mixtral-8x7b").configuration)))


@given(st.sampled_from(SEEN), st.integers(1, 70), st.integers(577, 4096), st.booleans())
def test_prompts_with_images_are_those_that_are_made_row_by_row(net, batch, tokens, every):
    by_family = net.table(batch, tokens, every=every)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Family, "table", lambda *asked, **more: None)
        one_by_one = net.table(batch, tokens, every=every)
    assert [*differences(by_family, one_by_one)] == []


def test_a_prompt_with_images_beyond_the_largest_counts_is_made_row_by_row():
    with pytest.raises(RooflintError, match=r"no larger than 2\^53"):
        LLAVA.table(10**12, 1024)
