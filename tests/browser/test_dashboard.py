"""The dashboard in a browser: quiet, local, readable on a desk and on a phone, live, and not to be tricked."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine

from tests import seeds
from tests.browser.conftest import Clock, Watched

pytestmark = pytest.mark.browser

Open = Callable[..., Watched]


def some_calls() -> list[dict[str, Any]]:
    """Calls of every kind over 40 minutes."""
    kinds = [
        {},
        {"emptiness": "empty"},
        {"emptiness": "unknown"},
        {"outcome": "failure", "category": "transient", "retryable": True, "error_type": "TimeoutError", "message": "timed out"},
        {"outcome": "failure", "category": "business", "retryable": False, "error_type": "tool_error"},
        {"outcome": "cancelled"},
    ]
    return [seeds.call(n, tool=f"a_rather_long_tool_name_{n % 7}", **kinds[n % 6]) for n in range(1, 2400, 3)]


@pytest.fixture
def seeded(engine: Engine) -> list[dict[str, Any]]:
    """A database with `some_calls` and their spans."""
    rows = some_calls()
    seeds.put_calls(engine, rows)
    seeds.put(engine, "tool_span", [seeds.span(row) for row in rows])
    return rows


def paths(rows: list[dict[str, Any]]) -> list[str]:
    """One address of each page."""
    row = rows[1]
    call = f"/calls/{row['trace_id'].hex()}/{row['call_id'].hex()}"
    return ["/", "/tools", f"/tools/docs-mcp/{row['tool']}", "/calls?outcome=failure", call, "/health", "/?range=9h"]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_every_page_fits_and_is_quiet(open_page: Open, address: str, seeded: list[dict[str, Any]], theme: str, width: int) -> None:
    watched = open_page(width, theme)
    for path in paths(seeded):
        watched.visit(address + path)
        overflow = watched.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert overflow == 0, path
        assert watched.page.evaluate("getComputedStyle(document.documentElement).colorScheme")


@pytest.mark.parametrize("width", [1280, 390])
def test_the_first_page_without_any_span_fits_too(open_page: Open, address: str, width: int) -> None:
    watched = open_page(width)
    watched.visit(address)
    assert watched.page.get_by_text("Waiting for the first span").is_visible()
    assert watched.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0


def test_a_new_failure_appears_without_reload(open_page: Open, address: str, engine: Engine, clock: Clock, seeded: object) -> None:
    watched = open_page()
    page = watched.page
    page.clock.install()
    watched.visit(f"{address}/")
    page.evaluate("window.marker = 'same document'")
    page.evaluate("window.scrollTo(0, 300)")
    drawn = page.evaluate("document.querySelector('#chart-failures .plot').data.length")
    row = seeds.call(9999, start_ns=seeds.NOW_NS, tool="brand_new", outcome="failure", category="permission", message="keep out")
    seeds.put_calls(engine, [row])
    page.clock.run_for(11_000)
    page.locator("#card-latest").get_by_text("brand_new").wait_for()
    watched.until(f"document.querySelector('#chart-failures .plot').data.length === {drawn + 1}")
    assert page.evaluate("window.marker") == "same document"
    assert page.evaluate("window.scrollY") == 300


def test_the_first_call_turns_the_waiting_page_into_a_dashboard(open_page: Open, address: str, engine: Engine) -> None:
    watched = open_page()
    watched.page.clock.install()
    watched.visit(address)
    seeds.put_calls(engine, [seeds.call(1, outcome="failure")])
    watched.page.clock.run_for(11_000)
    watched.page.locator("#tiles").wait_for()
    watched.page.locator("#chart-outcomes .plot[data-ready=yes]").wait_for()


def test_a_lost_connection_is_told(open_page: Open, address: str, seeded: object) -> None:
    watched = open_page()
    watched.page.clock.install()
    watched.visit(address)
    watched.page.route("**/*", lambda route: route.fulfill(status=503, body="gone"))
    watched.page.clock.run_for(11_000)
    watched.page.get_by_text("disconnected").wait_for()


def test_hostile_names_run_nothing_and_load_nothing(open_page: Open, address: str, engine: Engine) -> None:
    rows = [
        seeds.call(n, tool=name, server=name, client=name, error_type=name, message=name, outcome="failure")
        for n, name in enumerate(seeds.HOSTILE_NAMES + tuple(name for name in seeds.HOSTILE_NAMES if "$" in name), 1)
    ]
    seeds.put_calls(engine, rows)
    seeds.put(engine, "tool_span", [seeds.span(row, name=row["tool"], service=row["tool"]) for row in rows])
    watched = open_page()
    for path in ("/", "/tools", "/calls"):
        watched.visit(address + path)
    watched.visit(address)
    labels = watched.page.locator("#chart-mix .ytick text").all_text_contents()
    assert "<img src=x o…r=alert(1)>" in labels
    assert "{{ 7*7 }} %{x} $\\alpha$" in labels
    watched.page.mouse.move(*centre(watched, "#chart-mix .point path"))
    watched.page.locator("#chart-mix .hovertext").wait_for()
    links = watched.page.locator("#card-tools th.name a").evaluate_all("links => links.map((link) => link.href)")
    for link in links[:4]:
        watched.visit(link)
        assert watched.page.locator("h1.mono").is_visible()


def centre(watched: Watched, selector: str) -> tuple[float, float]:
    """The middle of the first element that matches, scrolled into view."""
    element = watched.page.locator(selector).first
    element.scroll_into_view_if_needed()
    box = element.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_selection_on_a_time_chart_becomes_the_range(open_page: Open, address: str, seeded: object) -> None:
    watched = open_page()
    page = watched.page
    watched.visit(address)
    box = page.locator("#chart-outcomes .nsewdrag").first.bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.5, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.75, y, steps=5)
    page.mouse.up()
    page.wait_for_url("**from=2026-11-30T13*")
    assert page.locator("input[name=from]").input_value().startswith("2026-11-30T13:3")


def test_a_bar_opens_the_calls_behind_it(open_page: Open, address: str, seeded: object) -> None:
    watched = open_page()
    watched.visit(address)
    watched.page.mouse.click(*centre(watched, "#chart-mix .point path"))
    watched.page.wait_for_url("**/calls?**outcome=failure**")
    assert watched.page.locator("table.calls tbody tr").count()


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
    watched.visit(address + paths(seeded)[4])
    watched.page.get_by_role("link", name="attributes").click()
    watched.page.locator("#evidence pre").get_by_text("mcp.method.name").wait_for()


def test_a_choice_in_the_filter_bar_acts_at_once(open_page: Open, address: str, seeded: object) -> None:
    watched = open_page()
    watched.visit(address)
    watched.page.locator("select[name=tool]").select_option("a_rather_long_tool_name_3")
    watched.page.wait_for_url("**tool=a_rather_long_tool_name_3")
    assert "server=" not in watched.page.url
    assert watched.page.locator("#card-tools tbody tr").count() == 1


def test_the_keyboard_reaches_everything(open_page: Open, address: str, seeded: object) -> None:
    watched = open_page()
    watched.visit(f"{address}/tools")
    watched.page.keyboard.press("Tab")
    assert watched.page.evaluate("document.activeElement.className") == "skip"
    unnamed = watched.page.evaluate(
        """[...document.querySelectorAll('a, button, input:not([type=hidden]), select')].filter((e) =>
             !(e.textContent.trim() || e.ariaLabel || e.labels?.length)).length"""
    )
    assert unnamed == 0
