"""A run with a wrong fact."""

import pytest


@pytest.fixture
def halved(tiny):
    """INT8 at half its rate: 4 × 2048 × 2 × 1 GHz = 16.38 instead of 32.77 TOP/s."""
    tiny.edit("specs/hardware/acme/x1.yaml", "int8: [4096 MAC", "int8: [2048 MAC")
    return tiny
