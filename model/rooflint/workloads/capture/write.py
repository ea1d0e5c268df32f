"""Capture: networks become Workloads. Needs torch; `import rooflint` does not import this module.

python -m rooflint.workloads.capture.write resnet18 …     # writes specs/workloads/torchvision/resnet18.yaml
python -m rooflint.workloads.capture.write                # writes every committed table again
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from rooflint.base.errors import RooflintError
from rooflint.workloads.capture.torchvision_networks import capture_torchvision, family, import_torchvision, input_shape
from rooflint.workloads.tables import ROOT, Captured, workload_ids, write_table
from rooflint.workloads.workload import Workload

METHOD = "torch.export(strict=False) on the meta device, pre-dispatch ATen"


def write_torchvision(network: str, root: Path = ROOT) -> Workload:
    """Capture a torchvision network and write its table."""
    workload = capture_torchvision(network)
    method = f"{METHOD}, every box passes" if family(network) == "detection" else METHOD
    origin = Captured(version_of(torch), version_of(import_torchvision()), method, input_shape(network))
    write_table(workload, origin, root / f"{workload.name}.yaml")
    return workload


def version_of(package: Any) -> str:
    """`2.13.0` for 2.13.0+cpu: the build does not change the graph."""
    return str(package.__version__).partition("+")[0]


def main(arguments: Sequence[str] | None = None) -> None:
    """`python -m rooflint.workloads.capture.write [network …]`."""
    parser = argparse.ArgumentParser(
        "python -m rooflint.workloads.capture.write", description="Write op tables of networks."
    )
    parser.add_argument("networks", nargs="*", help="names in torchvision; all committed ones if none is given")
    committed = [name.removeprefix("torchvision/") for name in workload_ids() if name.startswith("torchvision/")]
    for network in parser.parse_args(arguments).networks or committed:
        try:
            workload = write_torchvision(network)
        except RooflintError as error:
            parser.exit(1, f"{network}: {error}\n")
        print(f"{workload.name}: {len(workload)} ops, {workload.total_macs} MAC")


if __name__ == "__main__":
    main()
