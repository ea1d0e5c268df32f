"""The account of a recording: its tables, its conditions, and what stands beside a peak; on acme/k1, by hand."""

import datetime

import pytest

from pytest_rooflint.recordings.account import account, beside, peak_per_s, share
from pytest_rooflint.recordings.charts import of_product
from rooflint.hardware.registry import Registry
from rooflint_measure.record import (
    Conditions,
    Gemm,
    Measurement,
    Memory,
    Network,
    Reference,
    Samples,
    State,
    Stream,
    Traffic,
    Transfers,
    Unavailable,
    Wait,
)
from rooflint_measure.recording import Machine, Recording

NOWHERE = Unavailable(reason="not read")


@pytest.fixture
def k1(acme):
    return acme.suite().registry.get("acme/k1")


def state(clock_hz=1e9, load=NOWHERE):
    return State(clock_hz=clock_hz, clock_source="" if isinstance(clock_hz, Unavailable) else "nvml", load=load)


def row(subject, best_s=1e-3, *, threads=1, clocks=(1e9, 1e9), load=NOWHERE, disturbed=0, **more):
    """Four samples of 1.00, 1.04, 1.08 and 1.12 times the best; quartiles 1.03 and 1.09 over 1.06 are 5.66 %."""
    stolen = tuple(best_s if number < disturbed else 0.0 for number in range(4))
    samples = Samples(seconds=tuple(best_s * (1 + 0.04 * step) for step in range(4)), calls=1, stolen_s=stolen)
    conditions = Conditions(
        before=state(clocks[0], load), after=state(clocks[1]), during=(), threads=threads, affinity=(0,)
    )
    return Measurement(
        subject=subject, samples=samples, conditions=conditions, energy=more.pop("energy", NOWHERE), **more
    )


GEMM = Gemm(precision="int8", library="cublas", m=1000, n=2000, k=4000)
"""8 GMAC, 16 GOP: 16.384 TOP/s is half of the peak of 32.768 in 0.9765625 ms."""
COPY = Stream(kernel="copy", library="torch", array_bytes=10**8)
RESNET = Network(name="resnet18", batch=4, precision="int8", library="torch", macs=10**9, compiled=True)


def recorded(*rows, kind="gpu", count=1, left_out=None, **software):
    return Recording(
        taken=datetime.datetime(2026, 11, 20, 14, 30, tzinfo=datetime.UTC),
        command="rooflint measure gemm",
        rooflint="0.1.0",
        machine=Machine(device="Acme K1", kind=kind, count=count, software=software),
        measurements=rows,
        left_out=left_out or {},
    )


def grids(answer):
    return {one.heading: (one.table.columns, one.table.rows) for one in answer.sections if hasattr(one, "table")}


def prose(answer, heading):
    return next((one.sentences for one in answer.sections if one.heading == heading), None)


# ---- beside the model


def test_a_product_stands_beside_the_peak_and_a_pass_beside_the_bandwidth(k1):
    product, copy = row(GEMM, 0.9765625e-3), row(COPY, 1e-3, bytes_moved=0.64e8)
    assert (peak_per_s(product, k1), share(product, k1)) == (32.768e12, 0.5)
    # 64 MB in 1 ms are 64 GB/s, a quarter of 256
    assert (peak_per_s(copy, k1), share(copy, k1)) == (256e9, 0.25)


def test_there_is_no_share_without_a_device_a_peak_or_a_rate(k1):
    product = row(GEMM)
    assert (peak_per_s(product, None), share(product, None)) == (None, None)
    undisclosed = row(GEMM.model_copy(update={"precision": "fp64"}))
    assert (peak_per_s(undisclosed, k1), share(undisclosed, k1)) == (None, None)
    assert (peak_per_s(row(Wait(wanted_s=1e-3)), k1), share(row(Wait(wanted_s=1e-3)), k1)) == (None, None)


def test_a_network_stands_beside_the_product_that_was_timed_in_turn():
    # 1 GMAC in 1 ms over 8 GMAC in 2 ms
    reference = Reference(subject=GEMM, samples=Samples(seconds=(2e-3, 3e-3), calls=1))
    assert of_product(row(RESNET, 1e-3, reference=reference)) == 0.25
    assert of_product(row(RESNET)) is None
    assert of_product(row(COPY, reference=reference)) is None
    assert of_product(row(RESNET, reference=reference.model_copy(update={"subject": COPY}))) is None


# ---- tables


def test_each_kind_has_a_table_and_columns_without_a_value_are_left_out(k1, make):
    reference = Reference(subject=GEMM, samples=Samples(seconds=(1e-3,), calls=1))
    found = account(
        recorded(
            row(RESNET, 1e-3, reference=reference),
            row(COPY, 1e-3, bytes_moved=0.64e8),
            row(GEMM, 0.9765625e-3, disturbed=1, energy=make.energy(40.96, idle_w=5.0)),
            row(Wait(wanted_s=2e-5), 2.1e-5, details={"waited_s": 2e-5, "bias": 0.05}),
            row(Wait(wanted_s=1e-3), 1e-3, details={"bias": 1}),
        ),
        k1,
    )
    assert grids(found) == {
        # the median of four samples is 1.06 of the best
        "Busy-waits": (
            ("wanted", "waited", "reported", "bias"),
            (("20 µs", "20 µs", "22.26 µs", "5 %"), ("1 ms", "—", "1.06 ms", "—")),
        ),
        "Matrix products": (
            ("precision", "library", "m×n×k", "rate", "spread", "of peak"),
            (("int8", "cublas", "1000×2000×4000", "16.38 TOP/s", "5.66 % *", "50 %"),),
        ),
        "Memory": (
            ("kernel", "library", "array", "rate", "spread", "of bandwidth"),
            (("copy", "torch", "100 MB", "64 GB/s", "5.66 %", "25 %"),),
        ),
        "Networks": (
            ("network", "batch", "precision", "latency", "rate", "of product", "of peak"),
            (("resnet18 compiled", "4", "int8", "1.06 ms", "2 TOP/s", "12.5 %", "6.1 %"),),
        ),
        # 2 s × 40.96 W over 100 calls; 16 GOP / 0.8192 J
        "Energy": (
            ("measurement", "power", "idle", "J/call", "op/s/W"),
            (("gemm-int8-cublas-1000x2000x4000", "41 W", "5 W", "0.8192", "19.53 GOP/s/W"),),
        ),
    }
    columns, _ = grids(account(recorded(row(GEMM)), None))["Matrix products"]
    assert columns == ("precision", "library", "m×n×k", "rate", "spread")


def test_a_share_of_a_product_in_another_precision_names_it():
    product = GEMM.model_copy(update={"precision": "fp32"})
    reference = Reference(subject=product, samples=Samples(seconds=(1e-3,), calls=1))
    _, ((*_, of_product),) = grids(account(recorded(row(RESNET, 1e-3, reference=reference)), None))["Networks"]
    assert of_product == "12.5 % fp32"


def test_a_network_that_is_quantized_in_part_says_what_its_share_is_of():
    dynamic = row(RESNET.model_copy(update={"modes": ("dynamic",)}))
    notes = [
        next(one.note for one in account(recorded(rows), None).sections if one.heading == "Networks")
        for rows in (dynamic, row(RESNET))
    ]
    assert notes[0].startswith("dynamic: linear layers alone run in int8")
    assert notes[1] == ""
    four_bit = row(RESNET.model_copy(update={"precision": "int4"}))
    note = next(one.note for one in account(recorded(four_bit), None).sections if one.heading == "Networks")
    assert note.startswith("int4: weights of linear layers from a multiple of 128 to a multiple of 16; others stay")


def test_the_list_has_a_row_a_measurement_in_base_units(k1, make):
    product = row(GEMM, 0.9765625e-3, disturbed=1, energy=make.energy(40.96))
    listed = account(recorded(product, row(COPY, 1e-3, bytes_moved=0.64e8)), k1).listing
    first, second = listed.records()
    assert first == {
        **{"name": "gemm-int8-cublas-1000x2000x4000", "kind": "gemm", "precision": "int8", "library": "cublas"},
        **{"samples": 4, "disturbed": 1, "best_s": 0.9765625e-3, "median_s": pytest.approx(1.03515625e-3)},
        **{"spread": pytest.approx(0.06 / 1.06), "ops": 16 * 10**9, "bytes": None},
        **{"ops_per_s": 16.384e12, "bytes_per_s": None, "peak_per_s": 32.768e12, "efficiency": 0.5},
        **{"share_of_reference": None, "joules_per_call": pytest.approx(0.8192)},
        # 16 Gop over 4 000 000 + 8 000 000 + 2 000 000 B
        **{
            "ops_per_byte": pytest.approx(8000 / 7),
            "counted_bytes": None,
            "peak_memory_bytes": None,
            "items_per_s": None,
        },
        **{"inputs_s": None, "outputs_s": None},
        **{"joules_per_item": None, "mean_w": pytest.approx(40.96), "max_w": None},
    }
    assert (second["precision"], second["bytes"], second["bytes_per_s"]) == (None, 0.64e8, 64e9)


def test_the_title_and_the_record_are_those_of_the_recording(k1):
    found = account(recorded(row(GEMM)), k1)
    assert (found.title, found.subtitle) == ("Measured on Acme K1", "2026-11-20 14:30 UTC, rooflint measure gemm")
    assert found.record["schema"] == "rooflint-recording/2"


def test_networks_have_bytes_memory_items_and_what_limits_them(k1, make):
    # 2 GOP over 4 MB: 500 op/B, right of 32.768 TOP/s over 256 GB/s; 4 MB in 1 ms are 4 GB/s; 4 items in 1.06 ms
    more = {"memory": Memory(peak_bytes=3 * 10**9, source="torch allocator"), "bytes_moved": 4e6}
    found = account(recorded(row(RESNET, 1e-3, energy=make.energy(41, max_w=60.0), **more)), k1)
    (memory,) = [one for one in found.sections if one.heading == "Networks and memory"]
    assert memory.table.columns == ("network", "op/B", "bound by", "bandwidth", "of bandwidth", "memory", "items/s")
    (cells,) = memory.table.rows
    assert cells[1:] == ("500", "compute", "4 GB/s", "1.56 %", "3 GB", "3774")
    assert "torch allocator" in memory.note
    assert "which side of the breakpoint op/B is on, 128 op/B (" in memory.note
    # 4 items for 0.82 J
    (energy,) = [one for one in found.sections if one.heading == "Energy"]
    cells_of = dict(zip(energy.table.columns, energy.table.rows[0], strict=True))
    assert (cells_of["most"], cells_of["J/call"], cells_of["items/s/W"]) == ("60 W", "0.82", "4.878")


def test_copies_to_a_device_stand_beside_the_latency_that_leaves_them_out(k1):
    # 106 µs of 1.06 ms
    moved = {"inputs_bytes": 602112, "inputs_s": 96e-6, "outputs_bytes": 4000, "outputs_s": 10e-6, "source": "pageable"}
    copied = row(RESNET, 1e-3, transfers=Transfers(**moved))
    found = account(recorded(copied, row(RESNET, 1e-3, transfers=Unavailable(reason="a CPU"))), k1)
    columns, rows = grids(found)["Copies to the device and back"]
    assert columns == ("network", "inputs", "in", "outputs", "out", "of the latency")
    assert [cells[1:] for cells in rows] == [("602.1 kB", "96 µs", "4 kB", "10 µs", "10 %")]
    assert "Copies to the device and back" not in grids(account(recorded(row(RESNET)), k1))
    first, _ = found.listing.records()
    assert first["inputs_s"] == 96e-6


def test_a_share_above_the_whole_is_marked_in_its_row(k1):
    fast = Reference(subject=GEMM, samples=Samples(seconds=(20e-3,), calls=1))
    found = account(recorded(row(RESNET, 1e-3, reference=fast)), k1)
    (networks,) = [one for one in found.sections if one.heading == "Networks"]
    assert networks.table.rows[0][5:] == ("250 %!", "6.1 %")


# ---- sentences


def test_what_exceeds_the_peak_is_a_finding_about_the_spec(k1):
    # 16 GOP in 0.4 ms are 40 TOP/s of 32.768, and of 16.384 in the mode low
    fast = recorded(row(GEMM, 0.4e-3), row(GEMM, 0.9765625e-3))
    name = "gemm-int8-cublas-1000x2000x4000"
    reason = "a clock, a count or a rate of"
    assert prose(account(fast, k1), "Above what the spec derives") == (
        f"{name} reaches 122 %: {reason} acme/k1 is too low",
    )
    low = prose(account(fast, k1.at("low")), "Above what the spec derives")
    assert low == (f"{name} reaches 244 %: {reason} acme/k1@low is too low",)
    assert prose(account(recorded(row(GEMM, 0.9765625e-3)), k1), "Above what the spec derives") is None
    assert prose(account(fast, None), "Above what the spec derives") is None


def test_the_conditions_name_machine_software_threads_clock_and_disturbance(k1):
    found = recorded(
        row(GEMM, disturbed=1, clocks=(1.2e9, 1.8e9), threads=4),
        row(GEMM, threads=1, clocks=(NOWHERE, 1.5e9)),
        torch="2.13",
        numpy="2.4",
    )
    assert prose(account(found, k1), "Conditions") == (
        f"gpu, 1 used; fingerprint {found.machine.digest}",
        "compared with acme/k1, Acme K1",
        "torch 2.13, numpy 2.4",
        "1, 4 threads",
        "clock 1.2 to 1.8 GHz (nvml)",
        "1 of 8 samples were disturbed (stolen, queued, throttled); they are kept",
        "energy not available: not read",
    )


def test_a_slice_of_a_socket_is_compared_with_its_own_cores_and_says_so():
    whole = Registry.of(()).get("amd/epyc-9654")
    product = row(Gemm(precision="fp32", library="openblas", m=100, n=100, k=100), 1e-3)
    part, all_cores = (account(recorded(product, kind="cpu", count=count), whole) for count in (2, 96))
    shares = [grids(one)["Matrix products"][1][0][-1] for one in (part, all_cores)]
    assert float(shares[0].split()[0]) == pytest.approx(48 * float(shares[1].split()[0]), rel=0.01)
    assert prose(part, "Conditions")[1] == (
        "compared with 2 of the 96 cores of amd/epyc-9654, AMD EPYC 9654: peaks are those of 2 cores, "
        "bandwidth and caches those of the whole"
    )
    assert prose(all_cores, "Conditions")[1] == "compared with amd/epyc-9654, AMD EPYC 9654"


def test_what_is_not_known_is_said(k1):
    blind = Samples(seconds=(1e-3, 1e-3), calls=1)
    one = row(GEMM, clocks=(NOWHERE, NOWHERE)).model_copy(update={"samples": blind})
    conditions = prose(account(recorded(one), None), "Conditions")
    assert conditions[1:5] == (
        "the registry has no device of exactly that name, so there is no peak; name the device with --hardware ID",
        "1 thread",
        "clock not available: not read",
        "0 of 2 samples were disturbed (stolen, queued, throttled); they are kept; "
        "this system does not count stolen time",
    )


def test_a_clock_without_a_source_says_so(k1):
    one = row(GEMM)
    bare = State(clock_hz=1e9)
    conditions = one.conditions.model_copy(update={"before": bare, "after": bare})
    found = recorded(one.model_copy(update={"conditions": conditions}))
    assert "clock 1 to 1 GHz (no source named)" in prose(account(found, k1), "Conditions")


def test_a_wait_has_no_energy_to_miss(k1):
    assert not [one for one in prose(account(recorded(row(Wait(wanted_s=1e-3))), k1), "Conditions") if "energy" in one]


@pytest.mark.parametrize(
    ("kind", "load", "is_busy"), [("cpu", 2.4, False), ("cpu", 2.5, False), ("cpu", 2.6, True), ("gpu", 9.0, False)]
)
def test_a_cpu_with_more_tasks_than_cores_was_slowed_down(k1, kind, load, is_busy):
    message = prose(account(recorded(row(GEMM, load=load), kind=kind, count=2), k1), "Conditions")
    sentence = f"up to {load} runnable tasks on 2 CPUs: other processes ran, and slowed the measurements down"
    assert (sentence in message) is is_busy


def test_a_process_of_its_own_names_its_kernels_and_unset_variables(k1):
    first = row(GEMM, details={"core": "Zen", "unset OPENBLAS_CORETYPE": "Haswell"})
    second = row(GEMM, details={"core": "Zen"})
    third = row(GEMM, details={"unset OPENBLAS_CORETYPE": "Haswell"})
    message = prose(account(recorded(first, second, third), k1), "Conditions")
    ran = "gemm-int8-cublas-1000x2000x4000 ran in a process of its own, on kernels for Zen"
    assert message[-2:] == (f"{ran} (unset OPENBLAS_CORETYPE of Haswell)", ran)


def test_of_many_runs_without_room_the_two_ends_are_named(k1):
    unfit = {f"network n{number} fp32 b1": f"does not fit the budget; want --budget {number}m" for number in (3, 4, 5)}
    assert len(prose(account(recorded(row(GEMM), left_out=unfit), k1), "Left out")) == 3
    unfit |= {"network n6 fp32 b1": "does not fit the budget; want --budget 6m", "gemm fp8": "no library"}
    assert prose(account(recorded(row(GEMM), left_out=unfit), k1), "Left out") == (
        "gemm fp8: no library",
        "4 runs without room in the budget, from network n3 fp32 b1 (want --budget 3m) to network n6 fp32 b1 (want "
        "--budget 6m)",
    )


def test_what_was_left_out_has_its_reason(k1):
    assert prose(account(recorded(row(GEMM), left_out={"gemm fp8": "no library"}), k1), "Left out") == (
        "gemm fp8: no library",
    )
    assert prose(account(recorded(row(GEMM)), k1), "Left out") is None


# ---- several recordings


def sections_of(answer):
    return {section.heading: section for section in answer.sections}


def test_recordings_side_by_side_have_each_time_over_that_on_the_first():
    # medians are 1.06 times the best: 1.06 ms, and twice as long on the second
    answer = beside([(recorded(row(GEMM, 1e-3)), None), (recorded(row(GEMM, 2e-3), row(COPY)), None)])
    found = sections_of(answer)
    times = {cells[0]: cells[1:] for cells in found["Times"].table.rows}
    assert times["gemm-int8-cublas-1000x2000x4000"] == ("1.06 ms", "2.12 ms (2 ×)")
    assert times["stream-copy-torch-100000000"] == ("—", "1.06 ms")
    assert found["Compared"].sentences == ("B takes 2 times as long as A in the geometric mean of 1 measurement",)


def test_recordings_without_a_common_measurement_say_so():
    found = sections_of(beside([(recorded(row(GEMM)), None), (recorded(row(COPY)), None)]))
    assert found["Compared"].sentences == ("B and A have no measurement in common",)


def test_an_account_has_charts_only_where_they_are_drawn(k1):
    recording = recorded(row(RESNET))
    assert "Distributions of latency" not in sections_of(account(recording, k1))
    assert "Distributions of latency" in sections_of(account(recording, k1, drawn=True))


def test_bytes_by_counters_stand_beside_those_of_the_model_and_say_who_counted(k1):
    counted = Traffic(bytes=3e6, calls=4, source="memory controllers, other processes included")
    refused = Unavailable(reason="no hardware counters")
    rows = row(RESNET, 1e-3, bytes_moved=2e6, traffic=counted), row(COPY, 1e-3, traffic=refused)
    found = account(recorded(*rows), k1)
    columns, cells = grids(found)["Bytes by hardware counters"]
    assert columns == ("network", "counted", "by the model", "ratio", "bandwidth")
    # 3 MB in 1.06 ms, the median
    assert cells == ((rows[0].name, "3 MB", "2 MB", "1.5", "2.83 GB/s"),)
    (note,) = [one.note for one in found.sections if one.heading == "Bytes by hardware counters"]
    assert note == "of a call; counted by: memory controllers, other processes included"
    assert "bytes by hardware counters not available: no hardware counters" in prose(found, "Conditions")
    assert "Bytes by hardware counters" not in grids(account(recorded(rows[1]), k1))
