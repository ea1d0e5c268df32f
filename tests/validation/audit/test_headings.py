"""Figures below headings: lists of properties, and tables of them."""

import pytest

LIST = """# Boards

## NVIDIA GeForce RTX 3090

The board of 2020.

- **VRAM**: 24 GB GDDR6X
- Memory bandwidth: 1008 GB/s
- TDP: ~350 W

### Benchmarks

- Peak FP32: 35.6 TFLOPS

## Notes

- Memory bandwidth: 100 GB/s
"""


@pytest.fixture
def page(audited):
    return lambda text: audited(text, "page.md")


def test_a_list_is_of_the_device_of_its_heading(page):
    found = {one.quantity: (one.line, one.device, one.status) for one in page(LIST)}
    assert found == {
        "capacity": (7, "NVIDIA GeForce RTX 3090", "right"),
        "bandwidth": (8, "NVIDIA GeForce RTX 3090", "wrong"),  # that of the RTX 3090 Ti
        "tdp": (9, "NVIDIA GeForce RTX 3090", "right"),
        "fp32 peak": (13, "NVIDIA GeForce RTX 3090", "right"),
    }


def test_a_title_above_a_list_names_its_device_also_in_a_block_of_code(page):
    text = "```\nH100 SXM:\n- Memory: 80 GB\n- Bandwidth: 3350 GB/s\n\n"
    text += "**MI300X**\n- Memory: 192 GB\n- Bandwidth: 5.3 TB/s\nso\n- TDP: 1 W\n```\n"
    found = [(one.device, one.quantity, one.status) for one in page(text)]
    assert found == [
        ("H100 SXM", "capacity", "right"),
        ("H100 SXM", "bandwidth", "right"),
        ("MI300X", "capacity", "right"),
        ("MI300X", "bandwidth", "right"),
    ]


def test_a_table_of_properties_is_of_the_device_of_its_heading(page):
    text = "## A100 80GB SXM\n\n| Property | Value |\n|---|---|\n"
    text += "| FP16 Tensor | 624 TFLOPS |\n| TDP | 400 W |\n| Year | 2020 |\n"
    assert [one.status for one in page(text) if one.device] == ["wrong", "right"]


def test_a_table_of_something_else_below_a_heading_is_left_alone(page):
    text = LIST + "\n## H100 SXM\n\n| Batch | Memory |\n|---|---|\n| 1 | 20 GB |\n| 8 | 40 GB |\n"
    assert {one.device for one in page(text) if one.device} == {"NVIDIA GeForce RTX 3090"}


@pytest.mark.parametrize("entry", ["- Memory: 24 GB", "- Memory: 24 GB\n- Loss: 0.3", "- Batch: 8\n- Steps: 100"])
def test_one_figure_below_a_heading_says_too_little(page, entry):
    table = "| GPU | TDP |\n|---|---|\n| T4 | 70 W |\n"
    assert [one.device for one in page(f"{table}\n## RTX 4090\n\n{entry}\n") if one.device] == ["T4"]


def test_a_list_about_a_run_is_left_alone(page):
    run = "\n## RTX 4090\n\n- Memory: 18 GB\n- Power: 300 W\n- Latency: 12 ms\n"
    assert {one.device for one in page(LIST + run) if one.device} == {"NVIDIA GeForce RTX 3090"}


def test_an_entry_of_a_list_names_its_device_and_its_figures(page):
    text = "- **H100 SXM**: 989 TFLOPS (BF16, dense), 80 GB HBM3, 3.35 TB/s memory bandwidth, 700 W.\n"
    text += "* A100 80GB SXM - 624 TFLOPS BF16 / 80 GB / 2.0 TB/s\n1. MI300X (192 GB; 5.3 TB/s)\n"
    text += "[L40S](https://example.com/l40s): 48 GB, 864 GB/s\n"
    assert [(one.line, one.quantity, one.status) for one in page(text)] == [
        (1, "bf16 peak", "right"),
        (1, "capacity", "right"),
        (1, "bandwidth", "right"),
        (1, "tdp", "right"),
        (2, "bf16 peak", "wrong"),
        (2, "capacity", "right"),
        (2, "bandwidth", "right"),
        (3, "capacity", "right"),
        (3, "bandwidth", "right"),
        (4, "capacity", "right"),
        (4, "bandwidth", "right"),
    ]


def test_an_entry_that_is_a_device_owns_the_list_inside_it(page):
    text = "- H100 SXM\n  - Memory: 80 GB\n  - Bandwidth: 3.35 TB/s\n- **A100 80GB SXM**\n  * 80 GB HBM2e, 2.04 TB/s\n"
    text += "  * 624 TFLOPS BF16\n- Memory: 1 GB\n- TDP: 1 W\n\nMI300X:\n- 192 GB\n- 5.3 TB/s\n- 750 W of heat\n"
    assert [(one.line, one.device, one.quantity, one.status) for one in page(text)] == [
        (2, "H100 SXM", "capacity", "right"),
        (3, "H100 SXM", "bandwidth", "right"),
        (5, "A100 80GB SXM", "capacity", "right"),
        (5, "A100 80GB SXM", "bandwidth", "right"),
        (6, "A100 80GB SXM", "bf16 peak", "wrong"),
        (11, "MI300X", "capacity", "right"),
        (12, "MI300X", "bandwidth", "right"),
    ]


def test_a_list_of_a_run_is_left_alone(page):
    run = "- A100 SXM\n  - Memory used: 75 GB\n  - Power: 340 W\n  - 30 GB\n"
    assert {one.device for one in page(LIST + "\n# Runs\n\n" + run)} == {"NVIDIA GeForce RTX 3090"}


@pytest.mark.parametrize(
    "entry",
    [
        "- H100 SXM: needs 140 GB for weights, 3 TB/s",
        "- H100 SXM: 80 GB",
        "- A100 SXM: 40 GB / 80 GB, 1.6 TB/s",
        "- H100 SXM: 140 GB of the model, 12 GB of the cache",
        "- H100 SXM: fast, with 80 to 94 GB, 16/32 GB",
        "- 70B models: 140 GB, 3 TB/s",
        "- H100 SXM against A100: 2 TB/s, 3 TB/s",
    ],
)
def test_an_entry_that_may_be_about_something_else_is_left_alone(page, entry):
    assert not [one for one in page(f"{LIST}\n# Sizes\n\n{entry}\n") if one.line > len(LIST.splitlines())]
