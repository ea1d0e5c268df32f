"""Energy of a sample beside what whole systems took in MLPerf: the table of docs/method-energy.md."""

import re
from pathlib import Path

import pytest

from pytest_rooflint.golden.workloads import build
from rooflint.energy.model import Energies
from rooflint.hardware.registry import Registry
from rooflint.prediction.predict import SILICON, Setting, predict

PAGE = Path(__file__).parents[3] / "docs/method-energy.md"
NETWORKS = {"ResNet-50": {"network": "torchvision/resnet50"}, "BERT-large": {"network": "bert-large", "prompt": 177}}
BATCHES = {
    ("ResNet-50", "a100-pcie-80gb"): 2048,
    ("BERT-large", "a100-pcie-80gb"): 1024,
    ("ResNet-50", "h100-pcie-80gb"): 2048,
    ("BERT-large", "h100-pcie-80gb"): 1280,
    ("ResNet-50", "h100-sxm5-80gb"): 2048,
    ("BERT-large", "h100-sxm5-80gb"): 1280,
    ("ResNet-50", "jetson-agx-orin-64gb"): 256,
    ("ResNet-50", "jetson-orin-nx-16gb"): 256,
}
ROW = re.compile(
    r"^\| (?P<network>ResNet-50|BERT-large) \| \d × (?P<device>\S+), v\d\.\d \| (?P<rate>[\d.]+) \| (?P<wall>[\d.]+) "
    r"\| (?P<each>[\d.]+) \| (?P<typical>[\d.]+) \| (?P<low>[\d.]+) … (?P<high>[\d.]+) \|$",
    re.MULTILINE,
)
ROWS = list(ROW.finditer(PAGE.read_text(encoding="utf-8")))


def test_the_page_has_a_row_of_each_system():
    assert {(row["network"], row["device"]) for row in ROWS} == set(BATCHES)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['network']}-{row['device']}")
def test_the_least_that_an_accelerator_takes_is_less_than_its_whole_system_took(row):
    registry, batch = Registry(), BATCHES[row["network"], row["device"]]
    setting = Setting("int8", fuse=True, launch="graph", fidelity=SILICON)
    work = build(NETWORKS[row["network"]]).at_batch(batch)
    found = predict(registry.get(f"nvidia/{row['device']}"), work, Energies.of(registry), setting)
    low, typical, high = (
        1e3 * joules / batch for joules in (found.energy.ends_j[0], found.energy.total_j, found.energy.ends_j[1])
    )
    wall = 1e3 * float(row["wall"]) / float(row["rate"])
    assert wall == pytest.approx(float(row["each"]), abs=0.01)
    for name, one in (("low", low), ("typical", typical), ("high", high)):
        assert one == pytest.approx(float(row[name]), abs=0.01), name
    assert low < wall
