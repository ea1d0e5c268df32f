"""Experts: how tokens are spread, work and bytes by hand, laws, and a layer as the kernels that it is made of."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.kernels.conftest import CHIPS, CONSTANTS

from rooflint.base.errors import RooflintError
from rooflint.kernels.experts import ExpertLayer, Experts, Layers, load, of_table, power_law
from rooflint.kernels.kernel import Work
from rooflint.kernels.products import Gemm
from rooflint.kernels.shapes import Shapes
from rooflint.kernels.tile import TILES, Menu

H100, B200 = CHIPS["nvidia/h100-sxm5-80gb"], CHIPS["nvidia/b200-sxm"]
MIXTRAL = (4096, 14336, 8, 2, 1)
SKEWS = st.sampled_from([0.0, 0.5, 1.01, 1.2, 2.0])
TOKENS = st.integers(1, 20_000)


def sizes(tokens, hidden=4096, width=14336, experts=8, top_k=2, ranks=1):
    return Layers(*(np.array([float(one)]) for one in (tokens, hidden, width, experts, top_k, ranks)))


def loaded(*some, skew=0.0, **others):
    return tuple(one.item() for one in load(sizes(*some, **others), skew))


def seconds(tokens, *others, skew=0.0, chip=H100):
    model = ExpertLayer(skew=skew)
    return model.predict(model.work(tokens, *(others or MIXTRAL)), chip, CONSTANTS).item()


# ---- How tokens are spread


@given(TOKENS, st.integers(2, 512), st.integers(1, 8), st.sampled_from([0.5, 1.01, 1.2, 2.0]))
def test_a_power_law_gives_every_pair_of_a_token_and_an_expert_once(tokens, experts, top_k, skew):
    each = power_law(tokens * top_k, tokens, experts, skew)
    assert each.sum() == tokens * top_k
    assert (each >= 0).all()
    assert (np.diff(each) <= 0).all()


def test_more_skew_gives_more_to_the_first_and_hits_fewer():
    spread = [power_law(16 * 8, 16, 256, skew) for skew in (1.01, 1.2, 3.0)]
    assert spread[0][0] <= spread[1][0] <= spread[2][0]
    many = [power_law(4096 * 2, 4096, 8, skew)[0] for skew in (0.5, 1.01, 1.2)]
    assert many[0] < many[1] < many[2]


def test_a_balanced_load_by_hand():
    assert loaded(1) == (2, 2)  # one token chooses two experts
    assert loaded(3) == (6, 6)
    assert loaded(100) == (8, 200)
    assert loaded(16, experts=256, top_k=8, ranks=8) == (16, 16)  # 128 pairs on 8 ranks of 32 experts
    assert loaded(1, experts=256, top_k=8, ranks=64) == (1, 1)  # no rank has less than one


@given(TOKENS, st.sampled_from([1, 2, 4, 8]), SKEWS)
def test_the_busiest_rank_has_at_least_its_share_and_at_most_everything(tokens, ranks, skew):
    hit, rows = loaded(tokens, experts=64, top_k=4, ranks=ranks, skew=skew)
    assert tokens * 4 / ranks <= rows + 0.5 <= tokens * 4 + 0.5
    assert 1 <= hit <= min(64 / ranks, rows)


# ---- A layer


def test_work_and_bytes_by_hand():
    model = ExpertLayer()
    work = model.work(100, *MIXTRAL)
    assert model.macs(work).item() == 3 * 200 * 4096 * 14336
    # three weights of all eight experts, 100 tokens and as many sums; 2 B each
    assert model.tensor_bytes(work).item() == 2 * (3 * 8 * 4096 * 14336 + 2 * 100 * 4096)


def test_a_rank_of_several_stores_a_sum_for_every_token_by_hand():
    model = ExpertLayer()
    work = model.work(4096, 7168, 2048, 256, 8, 64)
    # 4096 × 8 / 64 = 512 rows on 4 experts: three weights of each, 512 tokens in, 4096 sums out; 2 B each
    assert model.tensor_bytes(work).item() == 2 * (3 * 4 * 7168 * 2048 + (512 + 4096) * 7168)
    _, stream, one = model.parts(work, H100, CONSTANTS)[3]
    added = stream.time(one, H100, CONSTANTS).memory_s.item()
    attained = CONSTANTS.stream.dram_efficiency * H100.bandwidth_bytes_per_s
    assert added == pytest.approx(2 * (512 + 4096) * 7168 / attained)


def test_ranks_find_places_for_the_rows_of_all_ranks_by_hand():
    model = ExpertLayer()
    # of 4096 × 8 rows 512 are on this rank; before each of two products
    found = model.terms(model.work(4096, 7168, 2048, 256, 8, 64), H100, CONSTANTS)["other ranks"].item()
    assert found == pytest.approx(2 * (4096 * 8 - 512) * CONSTANTS.experts.row_clocks / 132 / H100.clock_hz)
    assert model.terms(model.work(4096, 7168, 2048, 256, 8, 1), H100, CONSTANTS)["other ranks"].item() == 0


@pytest.mark.parametrize("chip", [H100, CHIPS["nvidia/l40s"]])
@given(TOKENS, SKEWS)
def test_a_layer_is_no_faster_than_its_roofline(chip, tokens, skew):
    model = ExpertLayer(skew=skew)
    work = model.work(tokens, *MIXTRAL)
    assert model.predict(work, chip, CONSTANTS).item() >= model.floor_s(work, chip).item()


@given(TOKENS, st.integers(2, 4))
def test_more_tokens_never_take_much_less(tokens, factor):
    # a batch of tiles may fit the SMs better: products have the same waves
    assert seconds(factor * tokens) >= 0.98 * seconds(tokens)


def test_few_tokens_read_only_the_weights_of_the_experts_that_they_hit():
    few, all_hit = seconds(1), seconds(4)
    assert all_hit == pytest.approx(4 * few, rel=0.15)  # 2 experts, then 8


def test_skewed_tokens_hit_fewer_experts_and_are_faster_where_weights_are_read():
    assert seconds(16, 2048, 768, 128, 8, 1, skew=1.2) < 0.9 * seconds(16, 2048, 768, 128, 8, 1)


def test_ranks_share_experts():
    alone, shared = seconds(4096, 7168, 2048, 256, 8, 1), seconds(4096, 7168, 2048, 256, 8, 8)
    assert 4 < alone / shared <= 8  # launches are not shared


def test_a_layer_is_the_sum_of_its_kernels():
    model = ExpertLayer()
    work = model.work([1, 64, 4096], *MIXTRAL)
    parts = model.parts(work, H100, CONSTANTS)
    assert [name for name, _, _ in parts] == ["up", "activation", "down", "sum"]
    each = [kernel.predict(one, H100, CONSTANTS) for _, kernel, one in parts]
    assert model.predict(work, H100, CONSTANTS) == pytest.approx(np.sum(each, axis=0))
    assert np.sum(list(model.terms(work, H100, CONSTANTS).values()), axis=0) == pytest.approx(np.sum(each, axis=0))


def test_data_center_blackwell_reads_rows_of_few_tokens_in_place():
    either, sorted_ = ExpertLayer(), ExpertLayer(in_place=False)
    work = either.work([1, 64, 4096], *MIXTRAL)
    assert (either.predict(work, B200, CONSTANTS) <= sorted_.predict(work, B200, CONSTANTS)).all()
    # two launches for each product, one for the activation, and one for the sum
    launch = either.terms(work, B200, CONSTANTS)["launch"]
    assert launch[0] == pytest.approx(6 * CONSTANTS.stream.launch_clocks * B200.clock_s)
    _, product, up = either.parts(work, B200, CONSTANTS)[0]
    assert product.reads_in_place(up, B200, CONSTANTS)[:2].all()
    assert (either.topic, sorted_.topic) == ("moe_balanced", None)


@pytest.mark.parametrize("device", ["nvidia/h100-sxm5-80gb", "nvidia/l40s"])
def test_no_other_gpu_has_kernels_that_read_rows_in_place(device):
    work = ExpertLayer().work([1, 16384], *MIXTRAL)
    found = (ExpertLayer(in_place=one).predict(work, CHIPS[device], CONSTANTS).tolist() for one in (True, False))
    assert next(found) == next(found)


class Whole(Gemm):
    """Products each of which has all of k."""

    def menus(self, sizes, chip):
        return [(np.ones(len(sizes), bool), Menu(TILES, (1,)))]


def test_a_grouped_product_is_a_batch_of_products_whose_rows_are_sorted_first():
    some = Shapes(*(np.array([float(one)]) for one in (512, 28672, 4096, 8)))
    grouped, batch = Experts(), Whole()
    work = Work(some, 2.0)
    found, plain = grouped.time(work, H100, CONSTANTS), batch.time(work, H100, CONSTANTS)
    sorting = found.together_s - plain.together_s
    # 2 · 8 · 512 · 4096 elements of 2 B at what a stream attains, and 8 · 512 places
    by_hand = 2 * 8 * 512 * 4096 * 2 / (CONSTANTS.stream.dram_efficiency * H100.bandwidth_bytes_per_s)
    by_hand += 8 * 512 * CONSTANTS.experts.row_clocks / 132 / H100.clock_hz
    assert sorting.item() == pytest.approx(by_hand)
    assert found.launch_s().item() == CONSTANTS.experts.launch_clocks * H100.clock_s > plain.launch_s().item()
    assert sum(one.item() for one in grouped.terms(work, H100, CONSTANTS).values()) == found.seconds.item()


def test_a_table_of_ops_says_how_many_experts_are_hit_by_the_weights_that_are_read():
    found = of_table(*(np.array([float(one)]) for one in (12, 28672, 4096, 6 * 28672 * 4096 + 6 * 28672)))
    assert (found.batch.item(), found.m.item()) == (6, 2)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"ranks": 3}, "experts: want a multiple of the ranks"),
        ({"top_k": 9}, "top_k: want no more than there are experts"),
        ({"tokens": 0}, "tokens: want 1 or more, found 0"),
    ],
)
def test_layers_that_cannot_be_are_refused(wrong, message):
    right = {"tokens": 1, "hidden": 64, "width": 64, "experts": 8, "top_k": 2, "ranks": 1}
    with pytest.raises(RooflintError, match=message):
        ExpertLayer().work(**right | wrong)


@pytest.mark.parametrize("skew", [-1.0, 1.0])
def test_a_skew_without_a_power_law_is_refused(skew):
    with pytest.raises(RooflintError, match="skew: want 0 or more, but not 1"):
        ExpertLayer(skew=skew)
