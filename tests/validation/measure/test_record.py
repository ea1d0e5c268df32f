"""Measurements: rates, noise, energy, disturbed samples and names."""

import pytest
from pydantic import ValidationError

from rooflint_measure.record import (
    Conditions,
    Energy,
    Gemm,
    Measurement,
    Network,
    Samples,
    State,
    Stream,
    Unavailable,
    Wait,
    label,
)

PRODUCT = Gemm(precision="fp16", library="cublas", m=10, n=20, k=30)


def measured(subject, seconds=(0.5, 0.25, 1.0), **more):
    state = State(clock_hz=1e9)
    return Measurement(
        subject=subject,
        samples=Samples(seconds=seconds, calls=1),
        conditions=Conditions(before=state, after=state, threads=1, affinity=(0,)),
        energy=Unavailable(reason="not requested"),
        **more,
    )


def test_rates_are_those_of_the_fastest_sample():
    # 2 × 10 × 20 × 30 op = 12 000 op in 0.25 s; 100 B in 0.25 s
    found = measured(PRODUCT, bytes_moved=100.0)
    assert (found.ops, found.ops_per_s, found.bytes_per_s) == (12_000, 48_000, 400)
    wait = measured(Wait(wanted_s=1e-3))
    assert (wait.ops, wait.ops_per_s, wait.bytes_per_s) == (None, None, None)


def test_work_counts_every_product_of_a_batch():
    assert PRODUCT.model_copy(update={"batch": 3}).macs == 18_000


def test_noise_is_the_quartile_distance_over_the_median():
    # quartiles of 1, 2, 3, 4, 8: 2 and 4, median 3
    samples = Samples(seconds=(8, 1, 2, 3, 4), calls=1)
    assert (samples.best_s, samples.median_s, samples.spread) == (1, 3, pytest.approx(2 / 3))


def test_energy_of_a_call_includes_the_idle_power():
    # 100 J in 2 s of 4 calls: 50 W, 25 J a call
    found = Energy(source="meter", joules=100, seconds=2, calls=4, idle_w=10)
    assert (found.mean_w, found.call_j) == (50, 25)


def test_a_sample_is_disturbed_beyond_a_share_of_its_whole_time():
    # two calls of 1 s make a sample of 2 s: 1 % of it is 20 ms, 5 % is 100 ms
    samples = Samples(
        seconds=(1, 1, 1, 1, 1),
        calls=2,
        stolen_s=(0.02, 0.021, 0, 0, 0),
        queued_s=(0.1, 0, 0.101, 0, 0),
        throttled={3: ("sw_power_cap",)},
    )
    assert [samples.disturbance(number) for number in range(5)] == [(), ("stolen",), ("queued",), ("sw_power_cap",), ()]
    assert samples.disturbed == (1, 2, 3)
    assert samples.quiet_s == (1, 1)


def test_a_lost_core_disturbs_a_sample_where_nothing_says_for_how_long():
    samples = Samples(seconds=(1, 1, 1), calls=1, preempted=(0, 1, 3))
    assert samples.disturbed == (1, 2)
    assert samples.disturbance(2) == ("preempted",)
    assert Samples(seconds=(1, 1, 1), calls=1, preempted=(0, 1, 3), queued_s=(0, 0.01, 0.1)).disturbed == (2,)


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ({"stolen_s": (0.0,)}, "want a stolen value for each of 2 samples, found 1"),
        ({"queued_s": (0.0,) * 3}, "want a queued value for each of 2 samples, found 3"),
        ({"preempted": (0,)}, "want a preempted value for each of 2 samples, found 1"),
        ({"throttled": {2: ("heat",)}}, "want throttled samples among 2, found number 2"),
        ({"throttled": {-1: ("heat",)}}, "found number -1"),
    ],
)
def test_columns_have_an_entry_for_each_sample(columns, complaint):
    assert Samples(seconds=(1, 1), calls=1, throttled={1: ("heat",)}, stolen_s=(0, 0)).disturbed == (1,)
    with pytest.raises(ValidationError, match=complaint):
        Samples(seconds=(1, 1), calls=1, **columns)


@pytest.mark.parametrize(
    ("subject", "name"),
    [
        (Wait(wanted_s=20e-6), "wait-20us"),
        (PRODUCT, "gemm-fp16-cublas-10x20x30"),
        (PRODUCT.model_copy(update={"batch": 2, "weight_copies": 6}), "gemm-fp16-cublas-2x10x20x30-6w"),
        (Stream(kernel="copy", library="numpy", array_bytes=4096), "stream-copy-numpy-4096"),
        (
            Network(name="resnet18", batch=8, precision="fp32", library="torch", macs=1),
            "network-resnet18-fp32-torch-b8",
        ),
        (
            Network(
                name="x", batch=1, precision="fp32", library="torch", macs=1, layout="channels_last", graph=True,
                compiled=True,
            ),
            "network-x-fp32-torch-b1-channels_last-compiled-graph",
        ),
    ],
)  # fmt: skip
def test_a_name_tells_what_was_measured(subject, name):
    assert label(subject) == measured(subject).name == name


def test_what_was_not_read_says_so():
    assert str(State(clock_hz=1e9).power_w) == "not available: not read"


def test_disturbed_samples_are_kept_and_marked():
    # of 1 s × 1 call 0.05 s is 5 % stolen, 0.005 s is 0.5 %; the limit is 1 %
    # of 1 s × 1 call 0.06 s is 6 % without a core, of 2 s 3 %; the limit is 5 %
    samples = Samples(
        seconds=(1.0, 1.0, 2.0, 1.0),
        calls=1,
        stolen_s=(0.05, 0.005, 0.0, 0.0),
        queued_s=(0.0, 0.0, 0.06, 0.06),
        throttled={2: ("sw_power_cap",)},
    )
    assert [samples.disturbance(number) for number in range(4)] == [("stolen",), (), ("sw_power_cap",), ("queued",)]
    assert samples.disturbed == (0, 2, 3)
    assert samples.quiet_s == (1.0,)
    assert samples.best_s == 1.0


def test_a_product_counts_two_ops_a_mac():
    # 2 × (2 × 3 × 4) = 48 op in 2 s
    row = measured(Gemm(precision="fp32", library="mkl", m=2, n=3, k=4), (2.0, 3.0))
    assert (row.ops, row.ops_per_s) == (48, 24.0)
    assert row.name == "gemm-fp32-mkl-2x3x4"
    assert label(Wait(wanted_s=2e-5)) == "wait-20us"
