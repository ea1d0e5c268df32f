"""Findings of recordings: what each sentence says, by hand, and that many networks make one sentence."""

from tests.validation.recordings.test_charts import PAIR, PRODUCT, drawn, metered, resnet, shown

from pytest_rooflint.recordings.findings import findings, ranking
from rooflint_measure.record import Network, Stream


def said(*rows):
    return [line for section in findings(rows) for line in section.sentences]


def test_what_has_no_figures_has_no_findings():
    assert said(shown(PRODUCT)) == []


def test_the_gain_of_a_batch_and_the_tail_are_named():
    # 8 samples in twice the time are 4 times the throughput; the 99th percentile is 2 ms of a median of 1 ms
    late = (1e-3,) * 97 + (2e-3,) * 3
    assert said(shown(resnet(), late), shown(resnet(8), (2e-3,))) == [
        "from batch 1 to 8, throughput grows by a factor of: 4 (resnet18 fp32)",
        "slow calls in 1 run, 99th percentile over median: 2 (resnet18 fp32 b1)",
    ]


def test_shares_of_products_in_another_precision_are_not_ranked_and_not_drawn():
    int8 = resnet().model_copy(update={"precision": "int8"})
    rows = [shown(resnet(1), reference=PAIR), shown(resnet(8), reference=PAIR), shown(int8, (1e-4,), reference=PAIR)]
    (ranked,) = [line for line in said(*rows) if line.startswith("networks reach ")]
    assert "int8" not in ranked
    curves = [one.name for name, section in drawn(*rows).items() if "Efficiency" in name for one in section.curves]
    assert curves == ["resnet18 fp32"]


def test_many_networks_are_one_sentence():
    # batch 8 in 8, 4, 2 and 1 times the time of batch 1: 1, 2, 4 and 8 times the throughput
    rows = [
        shown(resnet(batch, f"net{factor}"), (time_s,))
        for factor in (8, 4, 2, 1)
        for batch, time_s in ((1, 1e-3), (8, factor * 1e-3))
    ]
    assert said(*rows) == [
        "from batch 1 to 8, throughput grows by a factor of: 8 (net1 fp32), 4 (net2 fp32), 2 (net4 fp32), 1 (net8 fp32)"
    ]


def test_the_middle_of_a_long_ranking_is_counted():
    factors = {name: float(number) for number, name in enumerate("abcdefghi", 1)}
    assert ranking(factors) == "9 (i), 8 (h), 7 (g), 3 more, 3 (c), 2 (b), 1 (a)"
    # to count one in its place would save nothing
    assert ranking({name: factors[name] for name in "abcdefg"}).count(",") == 6


def half(batch=8, **settings):
    return resnet(batch).model_copy(update={"precision": "bf16", **settings})


def test_the_fastest_precision_and_mode_of_a_network_is_named_over_the_slowest():
    rows = [shown(resnet(8), (3e-3,)), shown(half(compiled=True), (1e-3,)), shown(half(), (2e-3,))]
    (line,) = said(*rows)
    assert line == "fastest precision and mode at batch 8, over fp32: bf16 compiled for resnet18 (3 ×)"


def test_each_network_names_its_slowest_way_where_they_differ():
    other = half().model_copy(update={"name": "vgg11"})
    rows = [shown(resnet(8), (3e-3,)), shown(half(), (1e-3,)), shown(other, (6e-3,))]
    (line,) = said(*rows, shown(resnet(8, "vgg11"), (2e-3,)))
    assert line == (
        "fastest precision and mode at batch 8: bf16 for resnet18 (3 × over fp32); fp32 for vgg11 (3 × over bf16)"
    )


def test_other_batches_and_other_machines_are_no_ways_of_one_network():
    lines = said(shown(resnet(1)), shown(resnet(8)), shown(resnet(1), where="B"))
    assert not [line for line in lines if "fastest precision" in line]


def test_what_memory_limits_is_named_by_precision_and_batch():
    # 2e11 B/s and 2 × 512³ op in 1 ms: a breakpoint of 1.3 op/B. ResNet-18 has 31, and the other 2 MAC for 8 B
    stream = Stream(kernel="copy", library="torch", array_bytes=10**6)
    thin = Network(name="thin", batch=1, precision="fp32", library="torch", macs=2)
    rows = [shown(PRODUCT, (1e-3,)), shown(stream, (1e-3,), bytes_moved=2e8), shown(resnet(), (50e-3,))]
    assert said(*rows, shown(thin, (1e-3,), bytes_moved=8.0)) == [
        "memory-bound at best: thin in fp32 b1; compute-bound at best: the other 1 run"
    ]


def test_findings_of_a_machine_bear_its_name_once():
    rows = [shown(resnet(batch), (1e-3,), where=where) for where in "AB" for batch in (1, 8)]
    assert [line for line in said(*rows) if "throughput" in line] == [
        f"{where}: from batch 1 to 8, throughput grows by a factor of: 8 (resnet18 fp32)" for where in "AB"
    ]


def test_the_fastest_machine_is_counted_over_the_networks_that_all_ran():
    lines = said(
        shown(resnet(1), (1e-3,), where="A"),
        shown(resnet(1), (2e-3,), where="B"),
        shown(resnet(8), (9e-3,), where="A"),
        shown(resnet(8), (4e-3,), where="B"),
        shown(resnet(1, "vgg11"), (1e-3,), where="B"),
    )
    assert "A is the fastest in 1 of 2 runs that all made" in lines
    assert "B is the fastest in 1 of 2 runs that all made" in lines


def test_the_least_energy_for_an_item_is_named_beside_the_most():
    # 80 J over 10 calls of 8 items are 1 J; 30 J over 10 calls of one item are 3 J
    lines = said(shown(resnet(8), energy=metered(80.0)), shown(resnet(1), energy=metered(30.0)))
    assert "resnet18 fp32 b8 takes the least energy for an item, 1 J; resnet18 fp32 b1 takes 3 J" in lines
