"""The HTML page: one file, nothing fetched, well formed, and everything that the evidence says on it."""

import base64
import hashlib
import re
from collections import Counter
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from tests.report.pages import render_html
from tests.report.test_comment import CLAIM, SPEC, cause, claim_changes, watched

from rooflint_report import report
from rooflint_report.evidence import Evidence
from rooflint_report.report import in_order
from rooflint_report.sections import SECTIONS

VOID = {"meta", "link", "br", "input", "hr", "img"}
DRAWN = {"path", "circle", "use"}


class Reader(HTMLParser):
    """Collects what a page consists of, and complains where tags do not match."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.attributes, self.links, self.texts = [], [], [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice"
        self._note(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert tag in DRAWN, f"<{tag}/> is no drawing"
        self._note(tag, attrs)

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> at {self.getpos()}"

    def handle_data(self, data):
        self.texts.append((tuple(self.open), data))

    def _note(self, tag, attrs):
        for name, value in attrs:
            self.attributes.append((tag, name, value or ""))
            if name == "id":
                self.ids.append(value)
            if (tag, name) == ("a", "href"):
                self.links.append(value)

    @property
    def visible(self):
        shown = (text for path, text in self.texts if not {"script", "style", "title"} & set(path))
        return re.sub(r"\s+", " ", "".join(shown))


@pytest.fixture(params=["red", "green", "empty", "nasty", "mutated"])
def page(request, make_evidence, empty, mutated):
    records = {
        "red": make_evidence,
        "green": lambda: make_evidence(red=False),
        "empty": lambda: empty,
        "mutated": lambda: mutated,
        "nasty": lambda: make_evidence(nasty=True),
    }
    return render_html(records[request.param]())


# ------------------------------------------------------------------------------------------------ of every page


@pytest.mark.slow
def test_tags_match(page):
    assert page.startswith("<!doctype html>")
    assert Reader(page).open == []


@pytest.mark.slow
def test_anchors_are_unique(page):
    assert [anchor for anchor, count in Counter(Reader(page).ids).items() if count > 1] == []


@pytest.mark.slow
def test_every_link_has_its_target(page):
    read = Reader(page)
    assert read.links
    within = [link for link in read.links if not link.startswith("https://")]
    assert [link for link in within if link[0] != "#" or link[1:].partition("?")[0] not in read.ids] == []


@pytest.mark.slow
def test_labels_and_descriptions_point_at_something(page):
    read = Reader(page)
    named = [v for _, name, v in read.attributes if name in ("aria-labelledby", "aria-describedby", "for")]
    assert [value for value in named if value not in read.ids] == []


@pytest.mark.slow
def test_nothing_is_fetched(page):
    read = Reader(page)
    fetching = [
        (tag, name, value)
        for tag, name, value in read.attributes
        if name in ("src", "srcset", "href", "xlink:href", "action", "data", "poster", "background", "ping")
        and not value.startswith("#")
        and (tag, name) != ("a", "href")  # followed by a reader, not fetched by the page
    ]
    assert fetching == [("link", "href", "data:,")]
    styles = "".join(text for path, text in read.texts if "style" in path)
    styles += "".join(value for _, name, value in read.attributes if name == "style")
    assert styles
    assert not re.search(r"@import|url\(", styles)


@pytest.mark.slow
def test_the_page_forbids_fetching_and_every_script_but_its_own(page):
    policy = next(v for tag, name, v in Reader(page).attributes if tag == "meta" and v.startswith("default-src"))
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}'" in policy


@pytest.mark.slow
def test_no_element_listens_by_itself(page):
    assert [name for _, name, _ in Reader(page).attributes if name.startswith("on")] == []


@pytest.mark.slow
def test_headings_step_by_one(page):
    levels = [int(level) for level in re.findall(r"<h([1-6])", page)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_it_renders_the_same_twice(evidence):
    assert render_html(evidence) == render_html(evidence)


# ------------------------------------------------------------------------------------------------- hostile text


def test_evidence_is_text_wherever_it_stands(make_evidence):
    hostile, harmless = render_html(make_evidence(nasty=True)), render_html(make_evidence())
    assert "<script>alert" not in hostile
    assert "&lt;script&gt;alert" in hostile
    assert hostile.count("<script") == harmless.count("<script") == 2  # the page's own, and the data of the claims
    assert hostile.count("</style>") == harmless.count("</style>") == 1


@pytest.mark.slow
def test_template_syntax_in_evidence_is_not_run(make_evidence):
    visible = Reader(render_html(make_evidence(nasty=True))).visible
    assert "{{ 7 * 7 }}" in visible


@pytest.mark.slow
def test_the_address_of_a_document_is_a_link_if_it_is_one_of_the_web(make_evidence):
    page = render_html(make_evidence(nasty=True))
    assert "https://example.org/nvidia/h100-sxm5-80gb.pdf" in Reader(page).links
    assert "<code>javascript:alert(1)</code>" in page
    assert not [link for link in Reader(page).links if not link.startswith(("#", "https://"))]


def test_what_is_folded_is_drawn_when_it_is_opened(evidence):
    # what is in a template is no part of the page until the script puts it there
    page = render_html(evidence)
    outside = re.sub(r"<template>.*?</template>", "", page, flags=re.DOTALL)
    assert len(re.findall(r'<details class="(?:device" [^>]*|replay"|rest")>', page)) == page.count("<template>")
    assert page.count("<template>") > len(evidence["devices"])
    for table in ("peaks", "took"):  # of a device, of a replay
        assert f'class="{table}"' in page
        assert f'class="{table}"' not in outside
    assert page.count("drawn when they are opened, which needs JavaScript") == 1
    for verdict in evidence["verdicts"]:
        if verdict["outcome"] == "fail":
            assert verdict["nodeid"] in unescape(outside)


# ---------------------------------------------------------------------------------------------------- what it says


@pytest.mark.slow
def test_a_red_card_says_all_that_the_red_test_said(evidence):
    visible = Reader(render_html(evidence)).visible
    for text in [
        "peak tensor_core int8",
        "85 TOP/s",
        "170 TOP/s / 2",
        "NVIDIA Jetson AGX Orin 64GB, data sheet, product table",
        "10.65 TOP/s",
        "16 SM × 4 tensor_core × 64 MAC/clock × 2 op/MAC × 1.3005 GHz",
        "1/8",
        "it is volta's FP16 rate",
        "model/rooflint/specs/architectures/nvidia/ampere-ga10b.yaml:23",
        "repair: 512 MAC",
        "pytest golden/peaks/nvidia/jetson-agx-orin-64gb.yaml::peak-tensor_core-int8",
    ]:
        assert text in visible


def test_red_comes_before_everything_else(evidence):
    page = render_html(evidence)
    sections = re.findall(r'<section id="(\w+)"', page)
    assert sections[:3] == ["failures", "unsettled", "claims"]
    assert sections[-1] == "legend"
    expected = in_order(Evidence.model_validate(evidence))
    assert sections == [section.name for section in expected if section.name in sections]


def test_what_moved_comes_after_failures_where_there_is_a_base_and_late_where_there_is_none(evidence):
    run = Evidence.model_validate(evidence)
    compared = run.model_copy(update={"delta": object()})
    assert [one.name for one in in_order(compared)] == [one.name for one in SECTIONS]
    assert [one.title for one in in_order(compared)][:2] == ["Failures", "Moved"]
    titles = [one.title for one in in_order(run)]
    assert titles.index("Watched") + 1 == titles.index("Power")
    assert "Moved" not in titles


def test_the_farthest_red_comes_first(evidence):
    cards = re.findall(r'<article class="card" id="([^"]+)"', render_html(evidence))
    assert ["jetson" in card for card in cards] == [True, False, False]


@pytest.mark.slow
def test_the_best_repair_stands_above_all_reds(evidence):
    read = Reader(render_html(evidence))
    sentence = "With 110\u00a0CU written instead of 220\u00a0CU at model/rooflint/specs/hardware/amd/mi250x.yaml:15"
    visible = re.sub(r"[^\S\u00a0]+", " ", "".join(text for path, text in read.texts if "style" not in path))
    assert f"{sentence}, 2 of 3 failing claims pass and no other claim fails." in visible
    assert visible.index(sentence) < visible.index("Problems in the files") < visible.index("Every failing claim")


@pytest.mark.slow
def test_a_place_without_a_better_value_says_so(evidence):
    visible = Reader(render_html(evidence)).visible
    assert "With a value other than 64 MAC at " in visible
    assert "ampere-ga10b.yaml:23, 1 of 3 failing claims passes but 4 passing claims fail." in visible


def test_a_place_leads_to_the_reds_that_name_it(evidence):
    item = re.search(r'<ol class="places">\n<li>(.*?)</li>', render_html(evidence), re.DOTALL)[1]
    assert re.search(r'named by <a href="#fail-golden-peaks-amd-mi250x[^"]+">amd/mi250x</a> \(2\)', item)


@pytest.mark.slow
def test_a_cause_tells_what_its_repair_did(evidence):
    visible = Reader(render_html(evidence)).visible
    assert visible.count("with it, 2 failing claims pass and no other claim fails") == 2


def test_the_report_computes_no_place_of_its_own(evidence, without):
    page = render_html(without(evidence, "places"))
    assert "One repair" not in page
    assert page.count('<article class="card"') == 3


def test_many_places_are_cut_after_a_dozen(evidence):
    evidence["places"] = evidence["places"][:1] * 20
    page = render_html(evidence)
    assert page.count("written instead of") == 12
    assert "8 more repairs did less" in page


@pytest.mark.slow
def test_problems_are_red(evidence):
    visible = Reader(render_html(evidence)).visible
    assert "tdp: want [value, source, where], found '700 W' model/rooflint/specs/hardware/nvidia/l4.yaml:9" in visible


def test_a_green_page_has_no_red_section(green):
    page = render_html(green)
    assert 'id="red"' not in page
    assert "<b>Green:</b>" in page


def test_every_verdict_of_a_device_is_on_its_sheet(evidence):
    # beside a peak or a memory, or among its other claims
    of_devices = re.search(r'<section id="devices".*?</section>', render_html(evidence), re.DOTALL)[0]
    read = Reader(of_devices)
    shown = [path for path, text in read.texts if "details" in path and path[-1] == "b" and text.strip("()") == "✓"]
    passing = [v for v in evidence["verdicts"] if v["outcome"] == "pass" and v["hardware"]]
    assert len(shown) == len(passing)


@pytest.mark.slow
def test_every_fact_of_a_ladder_is_cited(evidence):
    visible = Reader(render_html(evidence)).visible
    assert "132 SM wp table 3 quoted :15" in visible.replace("\u00a0", " ")
    assert "512 MAC/clock wp p. 20 quoted hopper-gh100:23" in visible.replace("\u00a0", " ")


def test_a_document_is_listed_once_per_device(evidence):
    page = render_html(evidence)
    devices = re.findall(r'<details class="device".*?</details>', page, re.DOTALL)
    assert len(devices) == len(evidence["devices"])
    for device, record in zip(devices, evidence["devices"], strict=True):
        for source in record["sources"].values():
            assert unescape(device).count(source["document"]) == 1


def test_blind_spots_show_in_matrix_and_device(evidence):
    # H100: tensor_core and cuda_core bf16 have no claim of their own
    page = render_html(evidence)
    row = re.search(r"<tr><th><a href=\"#device-nvidia-h100-sxm5-80gb\"[^>]*>.*?</tr>", page)[0]
    assert row.count('<td class="bl">○</td>') == 1
    device = next(d for d in re.findall(r'<details class="device".*?</details>', page, re.DOTALL) if "hbm3" in d)
    assert device.count("○ no claim") == 2


def test_uncorroborated_claims_stand_in_brackets(evidence):
    assert re.search(r'<td class="ok">\(✓\)</td>', render_html(evidence))


def test_the_first_screen_explains_its_words(green):
    first = Reader(render_html(green)).visible
    assert "A claim is a published figure, compared with what the sourced facts of its device derive. 136 " in first
    assert "2 of them are replays, computed with the assumptions of an old document." in first
    assert "≠ xfail known to disagree, with a reason" in first
    assert "( ) uncorroborated of those that pass: no second document confirms them" in first
    assert '<a href="#legend">What the words mean</a>' in render_html(green)


@pytest.mark.slow
def test_quantities_without_a_claim_are_counted_in_plain_words(evidence):
    blind = sum(not p["published"] for d in evidence["devices"] for p in d["peaks"])
    visible = Reader(render_html(evidence)).visible
    assert f"{blind} derived peaks and bandwidths have no claim: each is marked ○ under Devices" in visible


def test_a_single_quantity_without_a_claim_is_singular(evidence):
    for peak in [p for d in evidence["devices"] for p in d["peaks"] if not p["published"]][1:]:
        peak["published"] = evidence["devices"][0]["peaks"][0]["published"]
    assert "1 derived peak or bandwidth has no claim: it is marked" in Reader(render_html(evidence)).visible


def test_every_published_figure_shows_its_document(evidence):
    # the H100's tf32 is claimed dense and sparse, both in the product table: once in full, then by its key
    visible = Reader(render_html(evidence)).visible.replace("\u00a0", " ")
    assert "1.000 ds product table read" in visible
    assert "✓ 494.7 TFLOP/s 1.000 ds product table read✓ 989.4 TFLOP/s sparse 1.000 ds same place" in visible


@pytest.mark.slow
def test_a_device_is_linked_at_its_heading_and_opens(evidence):
    page = render_html(evidence)
    assert page.count('<details class="device" id="device-') == len(evidence["devices"])
    assert ".device:target > summary {" in page


def test_the_matrix_has_short_names_for_narrow_screens(evidence):
    assert '<span class="short">h100-sxm5-80gb</span>' in render_html(evidence)


def test_undisclosed_devices_say_so(evidence):
    visible = Reader(render_html(evidence)).visible
    assert "no derived peak" in visible
    assert "Hailo publishes neither MAC count nor clock" in visible


def test_an_xfail_shows_reason_and_date(evidence):
    visible = Reader(render_html(evidence)).visible
    assert "the board manual prints 75 W" in visible
    assert "it expires on 2027-11-30." in visible


def test_days_that_differ_stand_with_their_claims(evidence):
    evidence["verdicts"][0] |= {"outcome": "xfail", "reason": "two sheets", "until": "2027-01-31"}
    visible = Reader(render_html(evidence)).visible
    assert "the board manual prints 75 W until 2027-11-30" in visible
    assert "two sheets until 2027-01-31" in visible


def test_a_dozen_disagreements_are_in_sight_and_the_rest_in_the_table_of_claims(evidence):
    for number, verdict in enumerate(evidence["verdicts"][:20]):
        verdict |= {"outcome": "xfail", "ratio": 2.0 + number, "until": "2027-11-30"}
    page = render_html(evidence)
    known = sum(v["outcome"] == "xfail" for v in evidence["verdicts"])
    opened = re.search(r'<section id="unsettled".*?</section>', page, re.DOTALL)[0]
    shown = re.search(r'aria-label="known disagreements".*?</table>', opened, re.DOTALL)[0]
    assert shown.count('<tr><th scope="row">') == 12
    assert "21.000" in shown.split('<tr><th scope="row">')[1]
    assert f'<a href="#claims?outcome=xfail&amp;sort=-ratio">All {known} known disagreements</a>' in opened
    assert "all expire on <time>2027-11-30</time>" in opened
    assert "until 2027" not in page


@pytest.mark.slow
def test_a_replay_shows_its_assumptions_beside_the_facts(evidence):
    visible = Reader(render_html(evidence)).visible.replace("\u00a0", " ")
    assert "units.tensor_core.macs_per_clock.int864 MAC512 MAC [1] p. 7 quoted1/8" in visible
    assert "= 1/8 (macs_per_clock.int8) × 1/2 (a MAC counted as one op)" in visible
    assert "latency GPU62.3 µs✓ 62.28 µs30.84 µs2.02" in visible


@pytest.mark.slow
def test_replays_of_one_document_stand_together(evidence):
    assert render_html(evidence).count('<details class="replay">') == 1


# ------------------------------------------------------------------------------------------------------------ size


@pytest.mark.slow
def test_two_hundred_reds_are_still_a_page_to_open(make_evidence):
    # the first fifty cards list their facts; the others link to the device, which lists them, too
    record = make_evidence(devices=66)
    red = next(v for v in record["verdicts"] if v["outcome"] == "fail" and v["causes"])
    for verdict in record["verdicts"][:200]:
        verdict |= {key: red[key] for key in ("outcome", "causes", "ratio", "ratio_text")}
    page = render_html(record)
    assert page.count('<article class="card"') >= 200
    assert page.count("it rests on</summary>") <= 50
    assert len(report.render_html(record).encode()) < 1_000_000


@pytest.mark.slow
def test_a_full_house_stays_below_400_kilobytes(make_evidence):
    record = make_evidence(devices=66)
    assert len(record["verdicts"]) > 1450
    assert sum(len(device["peaks"]) for device in record["devices"]) > 700
    assert len(report.render_html(record).encode()) < 400_000
    page = render_html(record)
    assert len(set(Reader(page).ids)) == len(Reader(page).ids)


@pytest.mark.slow
def test_where_the_repository_is_hosted_files_commit_and_pull_request_are_links(evidence):
    url, head = "https://github.com/acme/chips", "b" * 40
    hosting = {"service": "github", "url": url, "commit": head, "pull_request": 7, "run": None, "folder": "sub"}
    evidence["run"]["hosting"] = hosting
    links = Reader(render_html(evidence)).links
    spec = f"{url}/blob/{head}/sub/model/rooflint/specs/hardware/amd/mi250x.yaml"
    golden = f"{url}/blob/{head}/sub/golden/peaks/amd/mi250x.yaml"
    assert {spec, f"{spec}#L15", golden} <= set(links)  # of the device, a fact and a claim
    assert {f"{url}/commit/{evidence['run']['git']['commit']}", f"{url}/pull/7"} <= set(links)
    evidence["run"]["hosting"] = None
    assert not [link for link in Reader(render_html(evidence)).links if "github.com" in link]


def test_what_fails_if_a_change_is_reverted_is_short_and_has_its_whole_id_as_a_title(evidence):
    long = f"golden/x.yaml::allocation-{'-le-'.join('abcdefgh' * 4)}-batch-16"
    blamed = claim_changes([cause([CLAIM], breaks=[long])])
    head = render_html(evidence | {"claim_changes": blamed}).partition('class="tiles"')[0]
    link = re.search(r'<a href="#claims\?q=golden/x.yaml" title="([^"]+)">([^<]+)</a>', head)
    assert link[1] == long
    assert link[2].startswith("golden/x.yaml::allocation-a-le-b") and link[2].endswith("…e-h-batch-16")
    assert len(link[2]) <= 88


def test_watched_predictions_that_moved_stand_on_the_first_screen(evidence):
    moved, still = watched(1), watched(2, head=1e-3)
    head = render_html(evidence | {"claim_changes": claim_changes(), "watched": [moved, still]})
    first = head.partition('class="tiles"')[0]
    assert first.count('class="dumbbell"') == 1
    assert head.count('class="dumbbell"') == 3  # and both in their section
    unmoved = render_html(evidence | {"claim_changes": claim_changes(), "watched": [still]})
    assert 'class="dumbbell"' not in unmoved.partition('class="tiles"')[0]


def test_the_first_screen_says_what_moved_and_without_a_base_how_one_is_named(green):
    counts = claim_changes()["counts"] | {"new": 2, "unchanged": 8}
    record = green | {"claim_changes": claim_changes(counts=counts)}
    first = Reader(render_html(record)).visible.partition("✓ pass")[0]
    assert "Since the base, claims: 2 new, 8 unchanged." in " ".join(first.split())
    assert "Not compared with a base" not in first
    assert "Not compared with a base: rooflint check --against REVISION" in Reader(render_html(green)).visible


@pytest.mark.slow
def test_with_a_base_the_changed_lines_that_make_claims_fail_come_first(evidence):
    blamed = claim_changes([cause([CLAIM]), *(cause([CLAIM], line=number) for number in (30, 31, 32))])
    top = Reader(render_html(evidence | {"claim_changes": blamed})).visible.partition("✓ pass")[0]
    words = " ".join(top.split())
    assert f"{SPEC}:23 units.tensor_core.macs_per_clock.int8 512 MAC 64 MAC 1/8" in words
    assert "1 claim fails because of it." in words
    assert "Base main (0123456789ab) → head" in words
    assert f"Rerun pytest {CLAIM}" in words
    assert "Reverting it alone: 1 claim stops failing, no other fails." in top
    assert "1 more changed line makes claims fail; comment.md names them." in top
    assert "Reverting" not in Reader(render_html(evidence)).visible
