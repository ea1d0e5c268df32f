"""Claims about memories, links and storage, by hand: bandwidth, capacity, the bits of an element."""

import pytest

from rooflint.base.errors import InputError

# ---- `bandwidth`


HBM = {"memories.hbm.bus", "memories.hbm.pin_rate"}


@pytest.mark.parametrize(
    ("claim", "value", "facts"),
    [
        # 1024 bit / 8 × 2 Gbit/s
        ("bandwidth: hbm, expect: 256 GB/s", 256e9, HBM),
        # one of two parts
        ("bandwidth: hbm, per: gcd, expect: 128 GB/s", 128e9, {*HBM, "parts.gcd"}),
        ("bandwidth: ddr, expect: 25.6 GB/s", 25.6e9, {"memories.ddr.bandwidth"}),
    ],
)  # fmt: skip
def test_a_bandwidth_is_bus_times_pin_rate(one, paths, claim, value, facts):
    verdict = one(claim)
    assert (verdict.outcome, verdict.corroborated) == ("pass", True)
    assert verdict.obtained.value == pytest.approx(value, rel=1e-12)
    assert paths(verdict) == facts


def test_a_wrong_pin_rate_is_named_with_its_repair(acme, one):
    # 1024 bit / 8 × 3 Gbit/s = 384 GB/s are 3/2 of the printed 256
    acme.edit("specs/hardware/acme/k1.yaml", "pin_rate: [2 Gbit/s", "pin_rate: [3 Gbit/s")
    verdict = one("bandwidth: hbm, expect: 256 GB/s")
    assert (verdict.outcome, verdict.ratio_text) == ("fail", "3/2")
    assert ("memories.hbm.pin_rate", "2 Gbit/s") in {(c.fact.path, c.repair) for c in verdict.causes if c.fact}


def test_an_unknown_memory_or_unit_is_told(one, refusal):
    assert one("bandwidth: hbm3, expect: 1.00 GB/s").reason == "acme/k1 has no memory 'hbm3' (has: hbm, ddr)"
    assert "a bandwidth is in B/s" in refusal("bandwidth: hbm, expect: 1.00 GB")


# ---- `link`

SPEC = "specs/hardware/acme/k1.yaml"


@pytest.fixture
def linked(acme):
    """acme/k1 with six links of 25 GB/s in a direction: 6 × 25 GB/s × 2 = 300 GB/s."""
    acme.edit(SPEC, "caches:", "links: {ring: {count: [6, brief, p. 6], rate: [25 GB/s, brief, p. 6]}}\ncaches:")
    return acme


def test_a_link_is_counted_in_both_directions_or_in_one(linked, one, paths):
    verdict = one("link: ring, expect: 300 GB/s")
    assert (verdict.outcome, verdict.corroborated, verdict.obtained.value) == ("pass", True, 300e9)
    assert verdict.obtained.formula == "6 ring × 25 GB/s × 2 directions"
    assert paths(verdict) == {"links.ring.count", "links.ring.rate"}
    assert one("link: ring one-way, expect: 150 GB/s").outcome == "pass"


BOX = """\
name: Acme box
device: acme/k1
link: ring
topology: mesh
sources: {brief: {document: Acme box brief, grade: read}}
devices: [4, brief, p. 1]
nics: {eth: {count: [2, brief, p. 2], rate: [100 Gbit/s, brief, p. 2]}}
"""


@pytest.fixture
def boxed(linked, claims):
    """`boxed(line)`: the verdict on a claim about acme/box, four acme/k1 with two links to each other one."""
    linked.write("specs/systems/acme/box.yaml", BOX)
    return lambda line: claims(line, head="hardware: acme/box\n")[0]


@pytest.mark.parametrize(
    ("claim", "formula"),
    [
        ("link: ring, expect: 1200 GB/s", "4 devices × 6 ring × 25 GB/s × 2 directions"),
        ("link: ring one-way, per: device, expect: 150 GB/s", "6 ring × 25 GB/s × 1 direction"),
        ("link: ring pair one-way, expect: 50.0 GB/s", "6 ring × 25 GB/s × 1 direction × 1/3 (others)"),
        # two devices of a half, two of the other, 50 GB/s for each pair
        (
            "link: ring bisection one-way, expect: 200 GB/s",
            "4 devices × 1/2 × 2 in the other half × 6 ring × 25 GB/s × 1 direction × 1/3 (others)",
        ),
        ("link: eth one-way, expect: 200 Gbit/s", "2 eth × 100 Gbit/s × 1 direction"),
        ("link: eth one-way, per: device, expect: 50.0 Gbit/s", "2 eth × 100 Gbit/s × 1 direction × 1/4 devices"),
        ("bandwidth: hbm, expect: 1024 GB/s", "4 devices × 1024 bit × 2 Gbit/s × 1/8 B/bit"),
        ("bandwidth: hbm, per: device, expect: 256 GB/s", "1024 bit × 2 Gbit/s × 1/8 B/bit"),
    ],
)
def test_a_claim_about_a_system_is_about_all_of_its_devices(boxed, claim, formula):
    verdict = boxed(claim)
    assert (verdict.outcome, verdict.obtained.formula) == ("pass", formula)


@pytest.mark.parametrize(
    ("claim", "ratio", "text"),
    [
        (
            "link: ring, expect: 300 GB/s",
            "4",
            "one device is expected, all of the system are counted ('per: device' is one)",
        ),
        (
            "link: eth one-way, per: device, expect: 200 Gbit/s",
            "1/4",
            "all devices of the system are expected, one is counted",
        ),
        ("link: ring one-way, expect: 1200 GB/s", "1/2", ""),
    ],
)
def test_a_figure_of_one_device_for_that_of_all_is_named(boxed, claim, ratio, text):
    verdict = boxed(claim)
    assert (verdict.outcome, verdict.ratio_text) == ("fail", ratio)
    assert not text or verdict.causes[0].text == text


def test_parts_of_a_system_are_refused_of_a_device(linked, one, boxed, refusal):
    assert one("link: ring bisection, expect: 1.00 GB/s").reason == (
        "acme/k1 is a device; want a system for 'ring bisection'"
    )
    assert boxed("link: ring switch, expect: 1.00 GB/s").reason == "acme/box has no switches"
    assert boxed("link: ring, per: gcd, expect: 1.00 GB/s").reason == "acme/box has no parts named 'gcd' (has: device)"
    # a word that changed nothing would make a claim about something else pass
    assert boxed("link: eth bisection one-way, expect: 200 Gbit/s").reason == (
        "eth are network cards; want 'ring' for 'eth bisection one-way'"
    )
    assert boxed("link: ring pair, per: device, expect: 100 GB/s").reason == (
        "want 'ring pair' or 'per: device', not both"
    )
    assert "of a system one of bisection, pair, switch, switches" in refusal("link: ring sideways, expect: 1.00 GB/s")


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ("50 GB/s", "both directions are in the rate already, and counted × 2 again"),
        ("12.5 GB/s", "the rate of a link is halved, as if it were of both directions"),
    ],
)
def test_a_rate_in_the_wrong_direction_is_named_with_its_repair(linked, one, wrong, text):
    linked.edit(SPEC, "rate: [25 GB/s", f"rate: [{wrong}")
    first, *_ = one("link: ring, expect: 300 GB/s").causes
    assert (first.text, first.fact.path, first.repair) == (text, "links.ring.rate", "25 GB/s")


def test_links_of_the_full_chip_are_named_as_a_wrong_count(linked, one):
    linked.edit(SPEC, "count: [6, brief", "count: [8, brief")
    causes = one("link: ring, expect: 300 GB/s").causes
    assert ("links.ring.count", "6") in {(cause.fact.path, cause.repair) for cause in causes if cause.fact}


def test_an_unknown_link_and_further_words_are_refused(linked, one, refusal):
    assert one("link: star, expect: 1.00 GB/s").reason == "acme/k1 has no link 'star' (has: ring)"
    assert "want a link such as 'nvlink', or 'nvlink one-way'" in refusal("link: ring both, expect: 1.00 GB/s")


# ---- `capacity`


@pytest.mark.parametrize(
    ("claim", "value", "fact"),
    [
        ("capacity: hbm, expect: 16 GiB", 16 * 2**30, "memories.hbm.capacity"),
        # 16 GiB are 17.18 GB
        ("capacity: hbm, expect: 17.18 GB", 16 * 2**30, "memories.hbm.capacity"),
        # one of two parts
        ("capacity: hbm, per: gcd, expect: 8.00 GiB", 8 * 2**30, "parts.gcd"),
        ("capacity: l2, expect: 4.00 MiB", 4 * 2**20, "caches.l2.capacity"),
    ],
)
def test_a_capacity_is_that_of_the_memory_or_cache(one, paths, claim, value, fact):
    verdict = one(claim)
    assert (verdict.outcome, verdict.corroborated, verdict.obtained.value) == ("pass", True, value)
    assert fact in paths(verdict)


def test_gib_for_gb_is_named(one):
    # 2^30 / 10^9 = 1.0737
    verdict = one("capacity: hbm, expect: 16.0 GB")
    assert (verdict.outcome, round(verdict.ratio, 4)) == ("fail", 1.0737)
    assert "GB" in verdict.causes[0].text and "GiB" in verdict.causes[0].text


def test_what_is_neither_memory_nor_cache_is_told(one, refusal):
    assert "acme/k1 has no memory 'l3'" in one("capacity: l3, expect: 1.00 MiB").reason
    assert "a capacity is in B" in refusal("capacity: hbm, expect: 1.00 GB/s")


# ---- `bits`


@pytest.fixture
def judged(repository):
    """The verdict on one claim."""

    def verdict(line):
        source = "source: {document: Somebody's format, where: table 1, grade: read}\n"
        repository.write("golden/bits.yaml", f"{source}claims:\n  - {{{line}}}\n")
        (one,) = repository.verdicts("golden/bits.yaml").values()
        return one

    return verdict


@pytest.mark.parametrize(
    ("claim", "shown", "formula"),
    [
        # 32 × 6 + 8 = 200 bits a block
        ("bits: mxfp6, expect: 200 bit / 32", "6.25 bit", "6 bit + 8 bit / 32"),
        ("bits: mxfp6, expect: 6.25 bit", "6.25 bit", "6 bit + 8 bit / 32"),
        ("bits: mxfp6, expect: 25 B / 32", "6.25 bit", "6 bit + 8 bit / 32"),
        ("bits: tf32, expect: 32 bit", "32 bit", "32 bit"),
    ],
)
def test_an_element_takes_its_bits_and_its_share_of_the_scale(judged, claim, shown, formula):
    verdict = judged(claim)
    assert verdict.outcome == "pass", verdict.text()
    assert verdict.corroborated
    assert (verdict.obtained.shown(), verdict.obtained.formula) == (shown, formula)


def test_bits_without_the_scale_fail(judged):
    verdict = judged("bits: mxfp6, expect: 6.00 bit")
    assert verdict.outcome == "fail"
    assert "6.25 bit" in verdict.text()


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        ("bits: mxfp5, expect: 5.25 bit", "unknown precision 'mxfp5'"),
        ("bits: mxfp6, expect: 6.25 GFLOP/s", "expect"),
        ("bits: mxfp6, expect: 6.25 bit, at: 30w", "at: a bits claim takes no operating point here"),
    ],
)
def test_a_claim_that_cannot_mean_anything_is_refused(judged, claim, sentence):
    with pytest.raises(InputError) as caught:
        judged(claim)
    assert sentence in str(caught.value)
