"""Which networks are captured: quick ones, with `-m slow` the others, with `--every-network` all; torch's counter."""

import warnings

import pytest


def pytest_addoption(parser):
    parser.addoption(
        "--every-network",
        action="store_true",
        help="capture all of torchvision's networks, twice each: some ten minutes",
    )


def pytest_generate_tests(metafunc):
    if "any_network" in metafunc.fixturenames:
        from rooflint.workloads.capture.torchvision_networks import networks  # noqa: PLC0415  # torch, which only these tests need

        every = metafunc.config.getoption("every_network", default=False)
        names = networks() if every else metafunc.module.ONE_OF_EACH
        metafunc.parametrize("any_network", captures(names, quick=names if every else metafunc.module.QUICK))


def captures(names, quick):
    """Parameters of which each is captured once: in one process, and by default only the quick ones."""
    return [
        pytest.param(name, marks=[pytest.mark.xdist_group(name), *([] if name in quick else [pytest.mark.slow])])
        for name in names
    ]


def pytest_terminal_summary(terminalreporter, config):
    if not config.getoption("every_network", default=False):
        terminalreporter.write_line("captured quick networks; -m slow takes one of each kind, --every-network all")


@pytest.fixture
def flops():
    """`flops(module, shape)`: torch's own count; on the meta device, because on the CPU it misses attention."""
    import torch  # noqa: PLC0415  # which only these tests need
    from torch.utils.flop_counter import FlopCounterMode  # noqa: PLC0415

    def counted(module, shape):
        with torch.no_grad(), warnings.catch_warnings(), FlopCounterMode(display=False) as counter:
            warnings.simplefilter("ignore")
            module(torch.empty(shape, device="meta"))
        return counter.get_total_flops()

    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    yield counted
    torch.backends.mha.set_fastpath_enabled(before)
