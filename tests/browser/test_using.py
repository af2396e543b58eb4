"""The dashboard as it is used: filters, selections, the way back, tables, zones, themes, and the keyboard."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PATIENCE_S, Watched
from tests.browser.seeding import call_path

pytestmark = pytest.mark.browser

Open = Callable[..., Watched]


def centre(watched: Watched, selector: str) -> tuple[float, float]:
    """The middle of the first element that matches and has a size, scrolled into view."""
    for element in watched.page.locator(selector).all():
        element.scroll_into_view_if_needed()
        box = element.bounding_box()
        if box is not None and box["height"] > 1:
            return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    raise AssertionError(f"nothing of {selector} is to be seen")


def select(watched: Watched, chart: str, start: float, end: float) -> None:
    """Drag over a chart, from one share of its width to another."""
    page = watched.page
    area = page.locator(f"#chart-{chart} .nsewdrag").first
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * start, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * end, y, steps=5)
    page.mouse.up()


@pytest.mark.parametrize("chart", ["outcomes", "failures", "shares", "durations"])
def test_a_selection_on_any_time_chart_becomes_the_range_and_back_takes_it_back(
    open_page: Open, address: str, seeded: list[dict[str, Any]], chart: str
) -> None:
    watched = open_page()
    page = watched.page
    start = f"{address}/tools/docs-mcp/{seeded[1]['tool']}?client=agent"
    watched.visit(start)
    select(watched, chart, 0.5, 0.75)
    page.wait_for_url("**from=2026-11-30T13*")
    assert "client=agent" in page.url
    assert page.locator("input[name=from]").input_value().startswith("2026-11-30T13:3")
    select_of_client = page.locator("select[name=client]")
    expect(select_of_client).to_have_value("agent")
    page.go_back()
    page.wait_for_url(start)
    expect(page.locator(".ranges [aria-current]").first).to_have_text("1h")
    expect(select_of_client).to_be_enabled()


def test_a_selection_counts_the_calls_of_its_bars(open_page: Open, address: str, seeded: object) -> None:
    watched = open_page()
    watched.visit(f"{address}/")
    select(watched, "outcomes", 0.5, 0.75)
    watched.page.wait_for_url("**from=*")
    expect(watched.page.locator(".plot:not([data-ready=yes])")).to_have_count(0)
    drawn = watched.page.evaluate(
        "document.querySelector('#chart-outcomes .plot').data.flatMap((bar) => bar.y).reduce((sum, value) => sum + (value ?? 0), 0)"
    )
    assert f"{drawn:,} calls:" in watched.page.locator("#tiles").inner_text()


def test_a_bar_opens_the_calls_behind_it(open_page: Open, address: str, seeded: object) -> None:
    watched = open_page()
    watched.visit(address)
    watched.page.mouse.click(*centre(watched, "#chart-mix .point path"))
    watched.page.wait_for_url("**/calls?**outcome=failure**")
    assert watched.page.locator("table.calls tbody tr").count()
    watched.page.go_back()
    expect(watched.page.locator("#chart-failures .plot")).to_have_attribute("data-ready", "yes")
    watched.page.mouse.click(*centre(watched, "#chart-failures .point path"))
    watched.page.wait_for_url("**/calls?**from=2026-11-30T13**outcome=failure**")
    assert watched.page.locator("table.calls tbody tr").count()


def test_a_dot_opens_its_tool(open_page: Open, address: str, seeded: object) -> None:
    watched = open_page()
    watched.visit(f"{address}/empties")
    watched.page.mouse.click(*centre(watched, "#chart-scatter .point"))
    watched.page.wait_for_url("**/tools/docs-mcp/a_rather_long_tool_name_*")


def test_a_chart_as_table_leads_to_as_many_calls_as_it_says(open_page: Open, address: str, seeded: object) -> None:
    watched = open_page()
    watched.visit(address)
    watched.page.locator("#chart-failures summary").press("Enter")
    number = watched.page.locator("#chart-failures td a").last
    count = number.inner_text()
    number.click()
    watched.page.wait_for_url("**/calls?from=**")
    expect(watched.page.locator("#calls .hint").first).to_contain_text(f"{count} match")


def test_a_choice_in_the_filter_bar_acts_at_once(open_page: Open, address: str, seeded: object) -> None:
    watched = open_page()
    watched.visit(f"{address}/?mix=share")
    watched.page.locator("select[name=tool]").select_option("a_rather_long_tool_name_3")
    watched.page.wait_for_url("**tool=a_rather_long_tool_name_3**")
    assert "server=" not in watched.page.url
    assert "mix=share" in watched.page.url
    assert watched.page.locator("#card-tools tbody tr").count() == 1
    watched.page.locator("select[name=category]").select_option("business")
    watched.page.wait_for_url("**category=business**")
    watched.page.get_by_label("Compare with the period before").check()
    watched.page.wait_for_url("**compare=previous**")
    watched.page.get_by_role("link", name="Take the filter category away").click()
    watched.page.wait_for_url(lambda url: "category" not in url)
    assert "compare=previous" in watched.page.url


def test_the_zone_of_the_browser_is_offered_and_kept(open_page: Open, address: str, seeded: list[dict[str, Any]], chromium: Any) -> None:
    context = chromium.new_context(timezone_id="Asia/Tokyo")
    context.set_default_timeout(PATIENCE_S * 1000)
    page = context.new_page()
    page.goto(f"{address}/calls")
    expect(page.locator("#calls thead")).to_contain_text("Time (Europe/Berlin)")
    page.locator("select[name=zone]").select_option(label="Asia/Tokyo (this browser)")
    page.wait_for_url("**zone=Asia%2FTokyo**")
    expect(page.locator("#calls thead")).to_contain_text("Time (Asia/Tokyo)")
    first = page.locator("table.calls time").first
    expect(first).to_have_text("23:03:19")
    first.click()
    page.wait_for_url("**/calls/*/*?zone=Asia%2FTokyo")
    assert "JST" in page.locator("#facts").inner_text()
    page.get_by_role("link", name="Show UTC").click()
    page.wait_for_url("**?zone=UTC")
    assert "UTC" in page.locator("#facts").inner_text()
    context.close()


def test_columns_are_chosen(open_page: Open, address: str, seeded: object) -> None:
    watched = open_page()
    watched.visit(f"{address}/calls?outcome=failure")
    watched.page.get_by_text("Columns", exact=True).click()
    watched.page.get_by_label("decided by", exact=True).check()
    watched.page.get_by_role("button", name="Show these").click()
    watched.page.wait_for_url("**columns=**")
    assert "outcome=failure" in watched.page.url
    expect(watched.page.locator("#calls thead")).to_contain_text("Decided by")
    watched.page.get_by_role("link", name="Older").click()
    watched.page.wait_for_url("**cursor=**")
    expect(watched.page.locator("#calls thead")).to_contain_text("Decided by")


def test_the_theme_is_chosen_and_kept(open_page: Open, address: str, seeded: object) -> None:
    watched = open_page(theme="light")
    page = watched.page
    watched.visit(address)
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.locator("#theme-button").click()
    page.locator("#theme-button").click()
    dark = page.evaluate(ground)
    assert dark != light
    watched.visit(f"{address}/tools")
    assert page.evaluate(ground) == dark
    watched.visit(f"{address}/tools?theme=light")
    assert page.evaluate(ground) == light


def test_the_evidence_of_a_span_comes_on_demand(open_page: Open, address: str, seeded: list[dict[str, Any]]) -> None:
    watched = open_page()
    watched.visit(address + call_path(seeded[1]))
    watched.page.get_by_role("link", name="attributes").click()
    watched.page.locator("#evidence pre").get_by_text("mcp.method.name").wait_for()


def test_the_keyboard_goes_from_the_overview_to_a_call(open_page: Open, address: str, seeded: object) -> None:
    watched = open_page()
    page = watched.page
    watched.visit(f"{address}/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"

    def tab_to(selector: str) -> None:
        for _ in range(250):
            page.keyboard.press("Tab")
            if page.evaluate(f"document.activeElement.matches({selector!r})"):
                outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
                assert outline != "none", selector
                return
        raise AssertionError(f"the keyboard never reaches {selector}")

    tab_to("#chart-outcomes summary")
    page.keyboard.press("Enter")
    assert page.locator("#chart-outcomes details").get_attribute("open") is not None
    tab_to("#card-tools th a")
    page.keyboard.press("Enter")
    page.wait_for_url("**/tools/docs-mcp/**")
    tab_to("#card-recent td a")
    page.keyboard.press("Enter")
    page.wait_for_url("**/calls/*/*")


@pytest.mark.parametrize("path", ["/", "/tools", "/calls", "/empties", "/health"])
def test_everything_that_can_be_used_has_a_name(open_page: Open, address: str, seeded: object, path: str) -> None:
    watched = open_page()
    watched.visit(address + path)
    unnamed = watched.page.evaluate(
        """[...document.querySelectorAll('a, button, input:not([type=hidden]), select')].filter((e) =>
             !(e.textContent.trim() || e.ariaLabel || e.labels?.length)).length"""
    )
    assert unnamed == 0


def test_what_was_folded_out_is_in_the_address_and_a_reload_shows_it_again(open_page: Open, address: str, seeded: object) -> None:
    watched = open_page()
    page = watched.page
    watched.visit(f"{address}/calls?range=1h")
    opened = page.locator("details[open]")
    expect(opened).to_have_count(0)
    page.locator("summary", has_text="Columns").click()
    page.locator("summary", has_text="More filters").click()
    # The browser tells of what is unfolded a moment later.
    expect(page).to_have_url(re.compile("open=more%2Ccolumns$"))
    shared = page.url
    page.reload()
    expect(opened).to_have_count(2)
    # Who is sent the address sees it too, and who folds one in sends one less.
    other = open_page()
    other.visit(shared)
    expect(other.page.locator("details[open]")).to_have_count(2)
    page.locator("summary", has_text="Columns").click()
    expect(page).to_have_url(re.compile("open=more$"))
    page.reload()
    expect(opened).to_have_count(1)
