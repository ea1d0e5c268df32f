"""Systems: a card each, with the bandwidths of their links beside the claims on them."""

import re
from html import unescape

import pytest
from tests.report.pages import render_html

H100 = "nvidia/h100-sxm5-80gb"
SYSTEM = "nvidia/hgx-h100"


@pytest.fixture
def joined(evidence):
    """Evidence with a system of eight H100, on whose links and capacity there is a claim each."""
    pattern = next(one for one in evidence["verdicts"] if one["hardware"] == H100)
    at = {"hardware": SYSTEM, "file": "golden/systems/nvidia/hgx-h100.yaml", "outcome": "pass", "replay": False}
    claims = [
        pattern
        | at
        | {"line": 7, "id": "link", "nodeid": "s::link", "kind": "link", "headline": f"link nvlink of {SYSTEM}"},
        pattern
        | at
        | {"line": 8, "id": "hbm", "nodeid": "s::hbm", "kind": "capacity", "headline": f"capacity of {SYSTEM}"},
    ]
    published = evidence["devices"][0]["peaks"][0]["published"][0] | {
        "file": at["file"],
        "line": 7,
        "display": "900 GB/s",
    }
    factor = evidence["devices"][0]["peaks"][0]["factors"][0]
    bandwidths = [
        {"name": "nvlink, per device", "value": 9e11, "display": "900 GB/s", "formula": "18 nvlink × 50 GB/s"}
        | {"factors": [factor], "published": [published]},
        {
            "name": "nvlink bisection",
            "value": 3.6e12,
            "display": "3.6 TB/s",
            "formula": "half",
            "factors": [],
            "published": [],
        },
    ]
    system = {"id": SYSTEM, "name": "HGX H100", "device": H100, "count": 8, "topology": "switch", "link": "nvlink"}
    system |= {"notes": None, "file": "specs/hgx-h100.yaml", "sources": {}, "bandwidths": bandwidths, "facts": []}
    return evidence | {"systems": [system], "verdicts": [*evidence["verdicts"], *claims]}


def section(record):
    """The words of the section, spaces made one, and its markup."""
    found = re.search(r'<section id="systems".*?</section>', render_html(record), re.DOTALL)[0]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", found)).replace("\u00a0", " ").split()), found


def test_a_system_has_its_devices_its_links_and_the_bandwidths_that_follow(joined):
    words, markup = section(joined)
    assert f"HGX H100 {SYSTEM} 8 × h100-sxm5-80gb · nvlink · switch ✓ 2" in words
    assert '<a href="#device-nvidia-h100-sxm5-80gb">nvidia/h100-sxm5-80gb</a>' in markup
    assert "nvlink, per device 18 nvlink × 50 GB/s" in words
    assert "nvlink bisection half 3.6 TB/s ○ no claim" in words


def test_a_claim_stands_beside_its_bandwidth_or_below(joined):
    words, _ = section(joined)
    table, _, below = words.partition("other claims")
    assert "✓ 900 GB/s" in table
    assert "capacity" in below and "link nvlink" not in below


def test_a_claim_leads_to_the_card_of_its_system(joined):
    page = render_html(joined)
    assert page.count('id="device-nvidia-hgx-h100"') == 1


def test_without_a_system_there_is_no_section(evidence):
    assert 'id="systems"' not in render_html(evidence)
