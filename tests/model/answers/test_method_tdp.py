"""docs/method-tdp.md: every figure about the registry is what the model says today."""

import re
from pathlib import Path

import pytest

from rooflint.answers.tdp_registry import ends, ratio_shown
from rooflint.coefficients.library import Coefficients
from rooflint.energy.model import Energies
from rooflint.energy.power import VERDICTS, PowerCheck, survey
from rooflint.hardware.registry import Registry

PAGE = " ".join((Path(__file__).parents[3] / "docs" / "method-tdp.md").read_text(encoding="utf-8").split())
REGISTRY = Registry()
ENERGIES = Energies(Coefficients(REGISTRY))
FIVE = {
    "B100": "nvidia/b100-sxm",
    "H100 SXM5": "nvidia/h100-sxm5-80gb",
    "A100 SXM4 80 GB": "nvidia/a100-sxm4-80gb",
    "V100 SXM3": "nvidia/v100-sxm3-32gb",
    "T4": "nvidia/t4",
}


def tensor_cores(device):
    (one,) = survey(REGISTRY.get(device), ENERGIES, "fp16", "tensor_core")
    return one


@pytest.fixture(scope="module")
def every():
    """All loads of all devices at their own points."""
    found = [survey(REGISTRY.get(name), ENERGIES) for name in REGISTRY.ids()]
    return [one for several in found for one in several if isinstance(one, PowerCheck)]


@pytest.mark.parametrize("name", FIVE)
def test_a_row_of_the_five_gpus_is_what_the_registry_says(name):
    one = tensor_cores(FIVE[name])
    parts = " + ".join(f"{one.cause_w(cause):.0f}" for cause in ("compute", "memory", "static"))
    each = f"{one.exhausting_j_per_op * 1e12:.2f}"
    cells = (name, f"{one.limit_w:.0f} W", f"{parts} W", ratio_shown(one.ratio), ends(one), one.verdict, each)
    assert f"| {' | '.join(cells)} |" in PAGE


def test_the_lowest_power_of_a_t4_is_added_up_as_the_page_does():
    arithmetic, _, memory, idle = (power.low_w for power in tensor_cores("nvidia/t4").powers)
    assert f"published arithmetic {arithmetic:.1f} W, GDDR6 {memory:.1f} W and {idle:.0f} W idle are" in PAGE
    assert f"are {arithmetic + memory + idle:.1f} of 70 W" in PAGE


def test_the_t4_would_be_undecided_with_28_w_idle():
    one = tensor_cores("nvidia/t4")
    assert one.low_w - 36 + 28 <= one.limit_w < one.low_w


def test_the_page_counts_loads_and_verdicts_as_they_are(every):
    count = {verdict: sum(one.verdict == verdict for one in every) for verdict in VERDICTS}
    above = sum(one.ratio > 1 for one in every if one.verdict == "undecided")
    devices = len({one.load.hardware.id for one in every})
    assert (
        f"Of {len(every)} loads of {devices} devices {count['cannot sustain']} cannot sustain, "
        f"{count['sustains']} sustain and {count['undecided']} are undecided, of {above} of which the typical power is "
        "above the limit."
    ) in PAGE


def test_the_lanes_of_an_h100_have_in_the_sum_what_the_page_says():
    (one,) = survey(REGISTRY.get("nvidia/h100-sxm5-80gb"), ENERGIES, "fp32", "cuda_core")
    assert f"this sum has {one.low_w:.0f} to {one.high_w:.0f} W at {one.load.peak_ops_per_s / 1e12:.1f}" in PAGE


def test_tiles_of_kpus_are_the_other_loads_that_cannot_be_sustained(every):
    others = [one.load.device for one in every if one.verdict == "cannot sustain" and one.load.device != "nvidia/t4"]
    assert all(re.match(r"stillwater/kpu-", device) for device in others)
    assert len(others) == 8
