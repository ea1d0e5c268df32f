"""Foretell: what one state of the model says of measured rows, asked as data, so that another state can ask it.

    python -m rooflint_calibration.foretell < request > answer

A request has groups of rows of one topic and device; the answer has, in the same order, their seconds, by term where
that is asked, or why there are none. Both are JSON, with a version, as the two sides are two revisions of this file.
"""

import json
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from rooflint.base.errors import RooflintError
from rooflint.coefficients.coefficients import Coefficients
from rooflint.devices.registry import Registry
from rooflint.kernels.chip import chip_of
from rooflint_calibration.foretold import predicted_s, without
from rooflint_calibration.shares import shares_s

SCHEMA = "rooflint-foretell/1"


def asked(groups: list[dict[str, Any]]) -> dict[str, Any]:
    """A request: each group has topic, precision, device, family, sizes, and whether terms are wanted."""
    return {"schema": SCHEMA, "groups": groups}


def answered(request: Mapping[str, Any], registry: Registry) -> dict[str, Any]:
    """What the model that is installed says. Raises RooflintError for a request of another version."""
    if request["schema"] != SCHEMA:
        raise RooflintError(f"want a request {SCHEMA}, found {request['schema']}")
    return {"schema": SCHEMA, "groups": [_group(group, registry) for group in request["groups"]]}


def _group(group: Mapping[str, Any], registry: Registry) -> dict[str, Any]:
    try:
        constants = without(registry, group["family"])
        device = registry.get(group["device"])
        chip = chip_of(device, group["precision"], Coefficients(registry).launches())
        sizes = np.asarray(group["sizes"], float)
        found = {"seconds": predicted_s(group["topic"], sizes, chip, constants).tolist()}
        terms = shares_s(group["topic"], sizes, chip, constants) if group["terms"] else {}
    except KeyError as error:
        return {"why_not": f"it knows no {error.args[0]}"}
    except RooflintError as error:
        return {"why_not": str(error)}
    return {**found, "terms": {name: seconds.tolist() for name, seconds in terms.items()}}


def main() -> None:
    """Answer the request on standard input."""
    json.dump(answered(json.load(sys.stdin), Registry()), sys.stdout, allow_nan=False)


if __name__ == "__main__":
    main()
