"""Kernels of the Python API: arrays in and out, the same seconds as a claim asks for, and what is refused."""

import numpy as np
import pytest

import rooflint as rl

H100 = "h100-sxm5"
ONE = {"m": 4096, "n": 512, "k": 8192}


def test_sizes_are_broadcast_and_each_is_timed_alone():
    together = rl.kernel("gemm", H100, m=4096, n=[1, 512], k=8192).seconds
    alone = [rl.kernel("gemm", H100, m=4096, n=n, k=8192).seconds.item() for n in (1, 512)]
    assert together == pytest.approx(alone)


def test_kernels_show_what_they_are_and_their_first_times():
    times = rl.kernel("gemm", H100, m=4096, n=[1, 8, 64, 512], k=8192)
    first = ", ".join(f"{seconds:.4g}" for seconds in times.seconds[:3])
    assert repr(times) == f"<DeviceKernel gemm on nvidia/h100-sxm5-80gb: {first}, … s>"


def test_the_floor_is_the_roofline():
    # 4096 · 512 · 8192 MAC × 2 / 989.4 TFLOP/s = 34.7 µs; memory takes less
    times = rl.kernel("gemm", rl.device(H100), **ONE)
    assert times.floor_s.item() == pytest.approx(2 * 4096 * 512 * 8192 / 989.42976e12)
    assert times.seconds.item() > times.floor_s.item()


def test_terms_add_up():
    times = rl.kernel("gemm", H100, **ONE, precision="FP8")
    assert sum(term.item() for term in times.terms.values()) == pytest.approx(times.seconds.item())
    assert "quantise" in times.terms


def test_the_error_band_is_that_of_held_out_families():
    times = rl.kernel("gemm", H100, **ONE)
    assert times.error_band == (min(times.errors.values()), max(times.errors.values()))
    assert times.error_band[0] < times.error_band[1]
    assert rl.kernel("gemm", H100, **ONE, precision="fp16").error_band is None  # not measured


def test_caveats_name_what_is_carried_over():
    assert "used unchanged in fp16" in rl.kernel("gemm", H100, **ONE, precision="fp16").caveats[0]
    assert not any("used unchanged" in one for one in rl.kernel("gemm", H100, **ONE).caveats)


def test_weights_that_stay_in_l2_are_faster():
    # 2 B × 2048² = 8 MiB of weights, which a cache of 50 MiB keeps
    sizes = {"m": 2048, "n": 16, "k": 2048}
    assert rl.kernel("gemm", H100, **sizes, copies=1).seconds < rl.kernel("gemm", H100, **sizes).seconds


def test_an_operating_point_is_slower():
    slow, fast = (rl.kernel("gemm", "agx-orin-64", **ONE, at=at, precision="fp16").floor_s for at in ("15w", ""))
    assert slow > fast


@pytest.mark.parametrize(
    ("op", "asked", "problem"),
    [
        ("gem", ONE, "op: want one of gemm, "),
        ("other", {}, "op: 'other' has no sizes"),
        ("gemm", {"m": 1, "n": 1}, "want sizes m, n, k, batch"),
        ("gemm", {**ONE, "m": 0}, "m: want 1 or more, found 0"),
        ("gemm", {**ONE, "m": np.nan}, "m: want 1 or more, found nan"),
        ("gemm", {**ONE, "m": "many"}, "sizes m, n, k, batch: could not convert"),
        ("gemm", {**ONE, "m": [1, 2], "n": [1, 2, 3]}, "sizes m, n, k, batch: shape mismatch"),
        ("gemm", {**ONE, "copies": 0}, "copies: want 1 or more, found 0"),
        ("gemm", {**ONE, "scale": "block"}, "gemm in bf16 has no option 'scale'"),
        ("gemm", {**ONE, "precision": "fp8", "scale": "row"}, "scale: want one of tensor, block, found 'row'"),
        ("gemm", {**ONE, "precision": "bf17"}, "unknown precision 'bf17'"),
        ("gemm", {**ONE, "calibration": "none.yaml"}, "none.yaml:1  cannot be read"),
    ],
)
def test_a_wrong_question_is_a_sentence(op, asked, problem):
    with pytest.raises(rl.RooflintError) as caught:
        rl.kernel(op, H100, **asked)
    assert problem in str(caught.value)


def test_a_device_without_kernel_models_is_named():
    with pytest.raises(rl.RooflintError, match="intel/xeon-8490h lacks the fact"):
        rl.kernel("gemm", "cpu", **ONE)
