"""Charts of recordings: their points by hand, the findings in words, and what has no figures is not drawn."""

import numpy as np
import pytest

from pytest_rooflint.recordings import charts
from pytest_rooflint.recordings.charts import Shown, intensity
from rooflint_measure.record import (
    Conditions,
    Energy,
    Gemm,
    Measurement,
    Network,
    Reference,
    Samples,
    State,
    Stream,
    Unavailable,
)

NOWHERE = Unavailable(reason="not read")
#: 2 × 512³ op over 3 × 512² elements of 4 B
PRODUCT = Gemm(precision="fp32", library="mkl", m=512, n=512, k=512)
MACS = 1_814_073_344
"""Of ResNet-18."""


def resnet(batch=1, name="resnet18"):
    return Network(name=name, batch=batch, precision="fp32", library="torch", macs=batch * MACS)


def shown(subject, seconds=(1e-3,) * 4, *, where="", power_w=NOWHERE, at_s=(None,) * 3, **more):
    before, during, after = (State(clock_hz=NOWHERE, power_w=power_w, read_at_s=each) for each in at_s)
    row = Measurement(
        subject=subject,
        samples=Samples(seconds=tuple(seconds), calls=1),
        conditions=Conditions(before=before, after=after, during=(during,), threads=1, affinity=(0,)),
        energy=more.pop("energy", NOWHERE),
        **more,
    )
    return Shown(row, None, where)


def drawn(*rows):
    return {section.heading: section for section in charts.sections(rows)}


PAIR = Reference(subject=PRODUCT, samples=Samples(seconds=(1e-3,), calls=1))
"""512³ MAC in 1 ms: 134.2 GMAC/s."""


def test_efficiency_is_drawn_over_the_work_of_a_call_one_curve_a_network():
    # 1.814 GMAC in 27.03 ms are 67.1 GMAC/s, half of the product in turn
    time_s = 2 * MACS / 512**3 * 1e-3
    (curve,) = drawn(shown(resnet(8), (4 * time_s,), reference=PAIR), shown(resnet(), (time_s,), reference=PAIR))[
        "Efficiency over size"
    ].curves
    assert curve.name == "resnet18 fp32"
    assert curve.x == (2 * MACS, 16 * MACS)
    assert curve.y == pytest.approx((50.0, 100.0))


def test_the_intensity_of_a_product_counts_each_matrix_once():
    assert intensity(shown(PRODUCT).row) == pytest.approx(2 * 512**3 / (3 * 512**2 * 4))


def test_a_call_that_takes_one_of_several_matrices_moves_one():
    several = PRODUCT.model_copy(update={"weight_copies": 10})
    assert intensity(shown(several).row) == intensity(shown(PRODUCT).row)


def test_the_intensity_of_a_network_is_that_of_its_table():
    # 2 op of 1.814 GMAC over 116.95 MB
    assert intensity(shown(resnet()).row) == pytest.approx(2 * MACS / 116.95e6, rel=1e-3)


def test_a_network_without_a_table_has_no_point():
    assert intensity(shown(resnet(name="of-the-user")).row) is None


def test_without_a_spec_the_roof_is_the_fastest_that_was_measured():
    stream = Stream(kernel="copy", library="torch", array_bytes=10**6)
    roofline = drawn(shown(PRODUCT, (1e-3,)), shown(stream, (1e-3,), bytes_moved=2e8), shown(resnet(), (50e-3,)))[
        "Roofline"
    ]
    (roof,) = roofline.roofs
    assert (roof.peak_ops_per_s, roof.bandwidth_bytes_per_s) == (pytest.approx(2 * 512**3 / 1e-3), 2e11)
    assert [point.label for point in roofline.points] == ["gemm fp32 mkl", "resnet18 fp32 b1"]
    assert roofline.points[1].attained_ops_per_s == pytest.approx(2 * MACS / 50e-3)


def test_roofs_of_two_machines_are_apart():
    stream = Stream(kernel="copy", library="torch", array_bytes=10**6)
    rows = [
        shown(subject, (1e-3,), where=where, **({"bytes_moved": 2e8} if subject is stream else {}))
        for where in ("one", "two")
        for subject in (PRODUCT, stream)
    ]
    assert [roof.name for roof in drawn(*rows)["Roofline"].roofs] == ["one fp32, measured", "two fp32, measured"]


def test_power_is_drawn_in_the_order_of_measuring():
    found = drawn(shown(PRODUCT, power_w=90.0), shown(resnet(), power_w=400.0))
    (curve,) = found["Power over time"].curves
    assert curve.y == (90.0, 90.0, 90.0, 400.0, 400.0, 400.0)
    assert "Power by measurement" not in found


def test_power_is_drawn_in_seconds_where_every_state_has_a_time():
    # read at 1000, 1001 and 1004 s, then at 1010, 1012 and 1013 s: 0, 1, 4, 10, 12 and 13 s since the first
    late = shown(resnet(), power_w=400.0, at_s=(1010.0, 1012.0, 1013.0))
    found = drawn(late, shown(PRODUCT, power_w=90.0, at_s=(1000.0, 1001.0, 1004.0)))["Power over time"]
    (curve,) = found.curves
    assert curve.x == (0.0, 1.0, 4.0, 10.0, 12.0, 13.0)
    assert curve.y == (90.0,) * 3 + (400.0,) * 3


def test_power_of_two_devices_is_two_curves():
    found = drawn(shown(PRODUCT, power_w=90.0, where="A"), shown(PRODUCT, power_w=40.0, where="B"))["Power over time"]
    assert [(curve.name, curve.y) for curve in found.curves] == [("A", (90.0,) * 3), ("B", (40.0,) * 3)]


def test_a_metered_run_stands_beside_its_idle_power():
    energy = Energy(source="nvml power", joules=800.0, seconds=2.0, calls=4, idle_w=70.0)
    mean, idle = drawn(shown(PRODUCT, energy=energy))["Power by measurement"].curves
    assert (mean.y, idle.y) == ((400.0,), (70.0,))


def test_a_distribution_is_that_of_the_samples():
    times = np.linspace(1e-3, 2e-3, 101)
    (curve,) = drawn(shown(resnet(), times))["Distributions of latency"].curves
    assert dict(zip(curve.y, curve.x, strict=True)) == pytest.approx(
        {100 * share: 1e-3 + share * 1e-3 for share in charts.SHARES}
    )


def test_what_has_no_figures_is_not_drawn():
    assert drawn(shown(PRODUCT)) == {}


def metered(joules, max_w=None):
    return Energy(source="nvml", joules=joules, seconds=1.0, calls=10, idle_w=5.0, max_w=max_w)


def test_the_highest_power_is_drawn_where_it_was_read():
    found = drawn(shown(resnet(), energy=metered(30.0, 42.0)), shown(resnet(8), energy=metered(30.0)))
    curves = {curve.name: curve for curve in found["Power by measurement"].curves}
    assert (curves["highest of it"].x, curves["highest of it"].y) == ((1.0,), (42.0,))


def test_more_networks_than_a_chart_has_room_for_are_a_chart_for_each_precision():
    half = [resnet(1, f"net{number}").model_copy(update={"precision": "bf16"}) for number in range(charts.MOST)]
    product = PAIR.model_copy(update={"subject": PRODUCT.model_copy(update={"precision": "bf16"})})
    rows = [shown(one, reference=product) for one in half]
    assert "Distributions of latency" in drawn(*rows)
    found = drawn(*rows, shown(resnet(), reference=PAIR))
    for heading in ("Efficiency over size", "Distributions of latency"):
        sizes = {name: len(section.curves) for name, section in found.items() if name.startswith(heading)}
        assert sizes == {f"{heading}, bf16": charts.MOST, f"{heading}, fp32": 1}


def test_states_of_one_moment_stay_in_the_order_of_reading():
    rows = [shown(PRODUCT, power_w=power, at_s=at) for power, at in ((400.0, (0.0, 1.0, 2.0)), (90.0, (2.0, 3.0, 4.0)))]
    (curve,) = drawn(*rows)["Power over time"].curves
    assert (curve.x, curve.y) == ((0.0, 1.0, 2.0, 2.0, 3.0, 4.0), (400.0,) * 3 + (90.0,) * 3)
