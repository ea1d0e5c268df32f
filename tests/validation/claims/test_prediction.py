"""`prediction`: measurements of a family that was left out, published tables, and what is not installed."""

import re

import pytest

from pytest_rooflint.golden import read
from pytest_rooflint.suite.judge import judge
from pytest_rooflint.suite.suite import Suite
from rooflint.base.errors import InputError, extra
from rooflint.hardware.registry import PACKAGED, Registry
from rooflint_calibration import networks, package, published, topics
from rooflint_calibration.package import PUBLISHED, NotInstalledError
from rooflint_calibration.topics import TOPICS


def test_where_the_measurements_are_not_installed_nothing_is_validated(monkeypatch, verdict):
    def absent():
        raise NotInstalledError(f"pyarrow is not installed; {extra('silicon')}")

    monkeypatch.setattr(package, "data_folder", absent)
    topics.measured.cache_clear()
    bounds = "error: 10 %, bias: 5 %"
    others = (f"{name} {next(iter(topics.measured_devices(name)))} all, {bounds}" for name in TOPICS)
    for line in (*others, "gemm order, right: 90 %", "gemm peak", "gemm roofline"):
        found = verdict(f"prediction: {line}")
        assert (found.outcome, found.obtained) == ("not validated here", None)
        assert found.reason == f"pyarrow is not installed; {extra('silicon')}"


@pytest.mark.parametrize(
    ("line", "wish"),
    [
        ("conv ada all, error: 1 %, bias: 1 %", "want a subject that begins with one of gemm, fp8_tensor, fp8_block, "),
        ("gemm volta all, error: 1 %, bias: 1 %", "want gemm and one of order, peak, roofline, or a family (ampere, "),
        ("gemm volta all, error: 1 %, bias: 1 %", "found 'gemm volta all'"),
        ("gemm ada short, error: 1 %, bias: 1 %", "large: > 20 GFLOP, small: < 1 GFLOP, narrow: m ≤ 16); found"),
        (
            "decode ada short, error: 1 %, bias: 1 %",
            "a regime (all, large: > 300 MB, small: < 10 MB); found 'decode ada",
        ),
        (
            "encoder ampere all, error: 1 %, bias: 1 %",
            "want encoder and a family (hopper, ada, blackwell, rtx_pro) and",
        ),
        ("gemm ada all, error: 1 %", "bias: is missing; want a share such as 12 %"),
        ("gemm ada all, error: 1, bias: 1 %", "error: want a share such as 12 %, found '1'"),
        ("gemm order", "right: is missing"),
        ("gemm peak, right: 9 %", "right: unknown option for 'gemm peak'"),
        ("gemm ada all, error: 1 %, bias: 1 %, rows: 0", "rows: want a whole number of at least 1, found '0'"),
        ("gemm ada all, error: 1 %, bias: 1 %, rows: many", "rows: want a whole number of at least 1, found 'many'"),
        ("gemm peak, rows: 9", "rows: unknown option for 'gemm peak', which uses all rows"),
        ("published some, error: 1 %, bias: 1 %, rows: 9", "rows: unknown option for 'published some'"),
        ("gemm peak, expect: 9 %", "a prediction claim takes no expectation here; remove 'expect'"),
    ],
)
def test_unknown_words_and_bounds_are_refused(verdict, line, wish):
    with pytest.raises(InputError) as caught:
        verdict(f"prediction: {line}")
    assert wish in str(caught.value)


# ---- published tables

SHAPES = ((1, 4096, 4096), (64, 22016, 4096), (4096, 12288, 4096))

HEAD = """\
title: Some products
device: {device}
op: gemm
precision: fp16
source: {{document: Some paper, where: table 3, grade: read}}
why: nothing was left out
timing: kernel
{more}columns: [m, n, k, us]
rows:
"""


@pytest.fixture
def on_table(tmp_path):
    """`on_table(claim, times, …)`: on a claim about a table whose rows took so many microseconds."""
    file, table = tmp_path / "claims.yaml", tmp_path / PUBLISHED / "paper.yaml"
    table.parent.mkdir(parents=True)

    def judged(line, times, device="nvidia/a40", more=""):
        rows = "".join(f"  - {[*shape, us]}\n" for shape, us in zip(SHAPES, times, strict=True))
        table.write_text(HEAD.format(device=device, more=more) + rows, encoding="utf-8")
        file.write_text(
            f"source: {{document: Some paper, where: all, grade: read}}\nclaims:\n  - {{prediction: {line}}}\n",
            encoding="utf-8",
        )
        (claim,) = read.load(file).claims
        return judge(claim, "", Suite.of([tmp_path], [PACKAGED]))

    return judged


@pytest.fixture
def predicted_us(tmp_path):
    """What the model says of the three products on an A40."""
    text = HEAD.format(device="nvidia/a40", more="") + "".join(f"  - {[*shape, 1]}\n" for shape in SHAPES)
    table = published.read(tmp_path / "paper.yaml", text)
    given = published.given_of(table, Registry())
    return [1e6 * float(seconds) for seconds in published.predicted_s(table, given)]


def test_a_table_that_took_as_long_as_predicted_passes(on_table, predicted_us):
    found = on_table("published paper, error: 0.1 %, bias: 0.1 %", predicted_us)
    assert found.outcome == "pass"
    assert found.obtained.others == ("nvidia/a40",)


def test_a_table_that_took_longer_is_red_and_names_the_rows_that_are_farthest_off(on_table, predicted_us):
    slow = [predicted_us[0], 2 * predicted_us[1], 1.1 * predicted_us[2]]
    found = on_table("published paper, error: 5 %, bias: 50 %", slow)
    assert found.outcome == "fail"
    # (0 + 1/2 + 1/11) / 3
    assert found.obtained.value == pytest.approx(0.197, abs=1e-3)
    first, second, _ = found.obtained.details.splitlines()
    assert re.search(
        r"paper\.yaml:11  m 64, n 22016, k 4096 is predicted at 0\.50 of its time: [\d.]+ µs, measured [\d.]+ µs$",
        first,
    )
    assert "m 4096, n 12288, k 4096 is predicted at 0.91" in second
    assert "the plain roofline: error" in found.obtained.formula


def test_where_the_plain_roofline_is_nearer_the_verdict_says_so_first(on_table, predicted_us):
    fast = [0.4 * us for us in predicted_us]  # below any roofline that has no launch and no loss
    found = on_table("published paper, error: 5 %, bias: 50 %", fast)
    assert found.obtained.details.splitlines()[0].strip() == "the plain roofline is nearer to these rows"


def test_a_lean_alone_turns_red_too(on_table, predicted_us):
    slow = [1.1 * us for us in predicted_us]
    assert on_table("published paper, error: 15 %, bias: 5 %", slow).outcome == "fail"
    assert on_table("published paper, error: 15 %, bias: 10 %", slow).outcome == "pass"


def test_a_regime_is_a_part_of_the_table(on_table, predicted_us):
    slow = [predicted_us[0], predicted_us[1], 2 * predicted_us[2]]
    assert on_table("published paper large, error: 40 %, bias: 60 %", slow).outcome == "fail"
    assert on_table("published paper narrow, error: 1 %, bias: 1 %", slow).outcome == "pass"


def test_a_row_faster_than_the_dense_peak_is_red_unless_the_table_says_why(on_table, predicted_us):
    # 2 · 4096 · 12288 · 4096 op / 149.7 TFLOP/s = 2754 µs
    fast = [predicted_us[0], predicted_us[1], 2700]
    line = "published paper, error: 50 %, bias: 50 %"
    found = on_table(line, fast)
    assert found.outcome == "fail"
    assert "paper.yaml:12  m 4096, n 12288, k 4096 is faster than the dense peak" in found.obtained.details
    assert on_table(line, fast, more="beats_peak: its clock is above the printed one\n").outcome == "pass"


def test_rows_that_are_not_compared_decide_nothing(on_table, predicted_us):
    odd = [10 * predicted_us[0], *predicted_us[1:]]
    assert on_table("published paper, error: 1 %, bias: 1 %", odd, more="from_us: 0.1\n").outcome == "fail"
    assert on_table("published paper large, error: 1 %, bias: 1 %", odd, more="from_us: 5000\n").outcome == "fail"
    found = on_table("published paper small, error: 1 %, bias: 1 %", predicted_us, more="from_us: 5000\n")
    assert "has no row to compare that is 'small'" in found.reason


def test_a_table_that_there_is_not_and_a_device_that_lacks_an_input_are_red_in_a_sentence(on_table, predicted_us):
    found = on_table("published pamper, error: 1 %, bias: 1 %", predicted_us)
    assert found.outcome == "fail"
    assert found.reason == "no table silicon/published/pamper.yaml (there are: paper)"
    found = on_table("published paper, error: 1 %, bias: 1 %", predicted_us, device="nvidia/p40")
    assert found.outcome == "fail"
    assert "paper.yaml:2  device: nvidia/p40 computes fp16 on its cuda_core" in found.reason


@pytest.mark.parametrize(
    ("line", "wish"),
    [
        ("published, error: 1 %, bias: 1 %", "want published and a table of silicon/published and perhaps a regime"),
        ("published paper huge, error: 1 %, bias: 1 %", "found 'published paper huge'"),
        ("published paper, error: 1 %", "bias: is missing"),
        ("published paper, error: 1 %, bias: 1 %, right: 90 %", "right: unknown option for 'published paper'"),
    ],
)
def test_unknown_words_about_a_table_are_refused(on_table, line, wish):
    with pytest.raises(InputError, match=wish):
        on_table(line, (1, 1, 1))


# ---- whole networks

NETWORKS = """\
title: A layer on two GPUs
workload: {mlp: [4096, 4096]}
precision: int8
fuse: true
source: {document: Some paper, where: table 3, grade: read}
why: two rows
rows:
"""


@pytest.fixture
def on_network(tmp_path):
    """`on_network(claim, t4, l4)`: on a claim about a table of two GPUs, each of that many samples a second."""
    file, table = tmp_path / "claims.yaml", tmp_path / networks.FOLDER / "layer.yaml"
    table.parent.mkdir(parents=True)

    def judged(line, **rates):
        rest = "accelerators: 1, batch: 8, launch: graph, round: v0, submitter: A, system: a"
        rows = "".join(f"  - {{device: nvidia/{name}, per_s: {rate}, {rest}}}\n" for name, rate in rates.items())
        table.write_text(NETWORKS + rows, encoding="utf-8")
        file.write_text(
            f"source: {{document: Some paper, where: all, grade: read}}\nclaims:\n  - {{prediction: {line}}}\n",
            encoding="utf-8",
        )
        (claim,) = read.load(file).claims
        return judge(claim, "", Suite.of([tmp_path], [PACKAGED]))

    return judged


def test_a_result_faster_than_the_bound_is_red_and_named(on_network):
    # 16 MiB of weights at 320 GB/s on a T4 take 52.6 µs for 8 samples, 152 000 a second; on an L4 they stay in L2
    assert on_network("network layer bound", t4=150_000, l4=150_000).outcome == "pass"
    found = on_network("network layer bound", t4=155_000, l4=155_000)
    assert (found.outcome, found.obtained.value) == ("fail", 1)
    assert re.search(r"layer\.yaml:8  nvidia/t4, batch 8: 6\.\d+ µs a sample, published 6\.45", found.obtained.details)


def test_errors_of_networks_are_of_their_kernels_beside_the_bound(on_network):
    found = on_network("network layer, error: 1 %, bias: 1 %", t4=1000, l4=1000)
    assert found.outcome == "fail"
    assert found.obtained.prediction.table == "layer"
    assert found.obtained.prediction.roofline_error > found.obtained.value > 0.9
    first, second = found.obtained.details.splitlines()
    assert "nvidia/l4" in first  # farther off, as it is the faster one
    assert "nvidia/t4" in second


def test_the_order_of_devices_is_counted_in_pairs(on_network):
    assert on_network("network layer order, right: 100 %", t4=1000, l4=2000).outcome == "pass"
    found = on_network("network layer order, right: 50 %", t4=2000, l4=1000)
    assert (found.outcome, found.obtained.value) == ("fail", 0)


@pytest.mark.parametrize(
    ("line", "wish"),
    [
        ("network layer", "error: is missing"),
        ("network layer order", "right: is missing"),
        ("network layer large, error: 1 %, bias: 1 %", "found 'network layer large'"),
        ("network layer bound, error: 1 %", "error: unknown option for 'network layer bound'"),
    ],
)
def test_unknown_words_about_a_network_are_refused(on_network, line, wish):
    with pytest.raises(InputError, match=wish):
        on_network(line, t4=1, l4=1)
