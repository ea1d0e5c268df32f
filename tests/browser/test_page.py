"""What only a browser can tell of the report: its script, its keys, narrow screens, print, and accessibility."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

OPEN_ALL = "for (const one of document.querySelectorAll('details')) one.open = true"


@pytest.fixture
def claims(view):
    """`claims(asked)`: the page at the table of claims, which is drawn."""

    def show(asked="", **settings):
        page = view(f"#claims?{asked}", **settings)
        expect(page.locator("#claims tbody tr").first).to_be_visible()
        return page

    return show


def names(page):
    return page.locator("#claims tbody .open").all_inner_texts()


# ---- the table of claims


def test_the_address_chooses_and_sorts(claims):
    page = claims("q=h100+fp16&outcome=pass&sort=-claim")
    assert len(names(page)) > 2
    assert names(page) == sorted(names(page), reverse=True)
    assert {cell.split("/")[1] for cell in page.locator("#claims td:nth-child(3)").all_inner_texts()} == {
        "h100-sxm5-80gb"
    }
    assert page.locator("#claims-q").input_value() == "h100 fp16"
    assert page.locator("[aria-sort=descending]").inner_text().startswith("claim")


def test_a_name_in_quotes_is_no_part_of_another_one(claims, view):
    assert len(names(claims("q=nvidia/h100"))) > 2
    assert set(claims('q="nvidia/h100-sxm5-80gb"').locator("#claims td:nth-child(3)").all_inner_texts()) == {
        "nvidia/h100-sxm5-80gb"
    }
    expect(view('#claims?q="nvidia/h100"').locator("#claims-found")).to_have_text("0 of 136")
    assert names(claims('q="nvidia+h100+sxm5+80gb"')) != []  # by the name that people use


def test_escape_empties_the_search_and_leaves_it(claims):
    page = claims("q=h100")
    page.focus("#claims-q")
    page.keyboard.press("Escape")
    assert page.locator("#claims-q").input_value() == ""
    assert page.evaluate("document.activeElement === document.body")


def test_what_is_chosen_stands_in_the_address(claims):
    page = claims()
    page.fill("#claims-q", "orin")
    page.get_by_label("kind").select_option("peak")
    page.locator("input[value=fail]").check()
    assert page.url.endswith("#claims?q=orin&outcome=fail&kind=peak")
    assert names(page) == ["peak tensor_core int8"]
    page.reload()
    expect(page.locator("#claims tbody .open")).to_have_text(["peak tensor_core int8"])
    page.get_by_role("button", name="Clear").click()
    expect(page.locator("#claims-found")).to_have_text("")
    assert page.url.endswith("#claims")


def test_a_head_sorts_both_ways_and_then_no_more(claims):
    page = claims("outcome=pass")
    before, head = names(page), page.get_by_role("button", name="claim", exact=True)
    head.click()
    up = names(page)
    head.click()
    down = names(page)
    head.click()
    assert up[0] < down[0]
    assert names(page) == before
    assert page.locator("[aria-sort=ascending], [aria-sort=descending]").count() == 0


def test_more_than_a_hundred_claims_are_drawn_on_demand(claims):
    page = claims()
    total = int(re.search(r"\d+", page.locator("#claims-h .n").inner_text())[0])
    assert (len(names(page)), total > 100) == (100, True)
    page.locator("#claims-more").click()
    assert len(names(page)) == total
    expect(page.locator("#claims-more")).to_be_hidden()


def test_a_phone_draws_fewer_claims_each_in_few_lines(claims):
    page = claims(width=360)
    assert len(names(page)) == 25
    expected, obtained = (
        page.locator(f"#claims tbody tr:first-child td:nth-child({n})").bounding_box() for n in (4, 5)
    )
    assert expected["y"] == obtained["y"]


def test_keys_walk_open_and_copy(claims):
    page = claims("outcome=fail")
    first, second = names(page)[:2]
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.textContent") == second
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.textContent") == first
    page.keyboard.press("o")
    detail = page.locator("#claims .detail")
    expect(detail).to_contain_text("golden/peaks/")
    page.keyboard.press("c")
    expect(detail.get_by_role("button")).to_have_text("copied")
    assert page.evaluate("navigator.clipboard.readText()") == detail.locator("code.copy").inner_text()
    page.keyboard.press("o")
    expect(detail).to_have_count(0)


def test_a_key_searches_and_another_shows_the_keys(view):
    page = view()
    page.keyboard.press("/")
    expect(page.locator("#claims-q")).to_be_focused()
    page.keyboard.type("j?")
    assert page.locator("#claims-q").input_value() == "j?"
    page.keyboard.press("Escape")
    assert page.locator("#claims-q").input_value() == ""
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#keys")).to_be_hidden()


def test_a_tile_leads_to_its_claims(view):
    page = view()
    page.get_by_role("link", name="✗ fail").click()
    expect(page.locator("#claims tbody .open")).to_have_count(3)


# ---- what is drawn when it is opened


def test_a_device_is_drawn_when_it_is_opened(view):
    page = view(red=False)
    device = page.locator("details.device").first
    assert device.locator("table").count() == 0
    device.locator("summary").press("Enter")
    expect(device.locator("table.peaks")).to_be_visible()


def test_the_coverage_of_a_vendor_has_the_heads_of_its_columns(view):
    page = view(red=False)
    page.locator("#coverage summary").first.press("Enter")
    expect(page.locator("#coverage th[scope=colgroup]").first).to_be_visible()
    heads = page.locator("#coverage details[open] thead tr").first.locator("th").all_inner_texts()
    assert heads[0] == "device" and {"peak", "bandwidth", "breakpoint"} <= set(heads)


def test_a_link_to_a_device_opens_it(view):
    page = view("#device-amd-mi250x")
    expect(page.locator("details.device[open] table.peaks")).to_be_visible()


def test_each_peak_of_a_device_is_a_dot_on_its_row(view):
    page = view(red=False)
    at = "getComputedStyle(document.querySelector('.device > summary'), '::after').backgroundPosition"
    layers = "getComputedStyle(document.querySelector('.device > summary'), '::after').backgroundImage"
    assert len(page.evaluate(at).split(",")) > 2
    repeat = "getComputedStyle(document.querySelector('.device > summary'), '::after').backgroundRepeat"
    assert set(page.evaluate(repeat).split(", ")) == {"no-repeat"}
    assert page.evaluate(layers).count("radial-gradient") >= len(page.evaluate(at).split(","))


def test_a_sheet_is_drawn_once(view):
    page = view("#device-amd-mi250x")
    summary = page.locator("#device-amd-mi250x > summary")
    for _ in range(2):
        summary.press("Enter")
    expect(page.locator("#device-amd-mi250x > .body")).to_have_count(1)


def test_devices_are_found(view):
    page = view(red=False)
    page.fill("#find", "tpu")
    expect(page.locator("details.device:visible")).to_have_count(1)
    expect(page.locator("#found")).to_have_text("1 of 10 devices")


def test_without_a_script_what_failed_can_be_read(view):
    page = view(script=False)
    assert page.locator("article.card:visible").count() >= 1
    for text in ("repair: 512 MAC", "expected", "obtained", "rerun"):
        assert text in page.locator("#failures").inner_text()


# ---- all readers


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("red", [True, False])
def test_nothing_stands_in_the_way_of_any_reader(claims, scheme, width, red):
    page = claims(scheme=scheme, width=width, red=red)
    page.evaluate(OPEN_ALL)
    page.locator("#claims tbody .open").first.click()
    expect(page.locator("table.peaks").first).to_be_visible()
    found = Axe().run(page)
    assert [(one["id"], len(one["nodes"])) for one in found.response["violations"]] == []


@pytest.mark.parametrize("width", [360, 800, 1280])
def test_the_page_is_as_wide_as_the_screen(claims, width):
    page = claims(width=width)
    page.evaluate(OPEN_ALL)
    expect(page.locator("table.peaks").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_the_sections_are_one_row_that_scrolls_on_a_phone(claims):
    page = claims(width=390)
    row = page.locator("nav ul")
    assert row.bounding_box()["height"] < 50
    page.locator("nav li").last.scroll_into_view_if_needed()
    assert row.evaluate("row => row.scrollLeft") > 0
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_no_heading_hides_behind_the_bar(view):
    page = view(red=False)
    for link in page.locator("nav ul a").all():
        link.click()
        page.wait_for_timeout(100)
        target = page.locator(link.get_attribute("href").partition("?")[0]).locator("h2").bounding_box()
        bar = page.locator("nav").bounding_box()
        assert target["y"] >= bar["y"] + bar["height"] or page.evaluate("scrollY") == 0


# ---- charts

STRAY = """() => [...document.querySelectorAll("svg.chart, .plot > svg")].flatMap((svg) => {
  const edge = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll("text")].map((text) => [text.textContent, text.getBoundingClientRect()]);
  const outside = ([, box]) => box.left < edge.left - 1 || box.right > edge.right + 1 || box.bottom > edge.bottom + 1;
  const touch = ([, one], [, other]) => Math.min(one.right, other.right) - Math.max(one.left, other.left) > 1
    && Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > 3;
  return [...texts.filter(outside), ...texts.filter((one, at) => texts.slice(0, at).some((other) => touch(one, other)))]
    .map(([text]) => text);
})"""


@pytest.mark.parametrize("width", [360, 1280])
def test_names_in_charts_touch_no_other_and_stay_inside(view, width):
    page = view(red=False, width=width)
    page.evaluate(OPEN_ALL)
    expect(page.locator("svg.chart:visible").first).to_be_visible()
    assert page.locator("svg.chart").count() > 10
    assert page.evaluate(STRAY) == []
