"""The dashboard while it is watched: new calls appear in place, only what is seen is fetched, and a lost connection is told."""

from collections.abc import Callable

import pytest
from sqlalchemy import Engine

from tests import seeds
from tests.browser.conftest import Watched

pytestmark = pytest.mark.browser

Open = Callable[..., Watched]


def test_a_new_failure_appears_without_reload(open_page: Open, address: str, engine: Engine, seeded: object) -> None:
    watched = open_page()
    page = watched.page
    watched.later()
    watched.visit(f"{address}/")
    page.evaluate("window.marker = 'same document'")
    page.evaluate("window.scrollTo(0, 300)")
    drawn = page.evaluate("document.querySelector('#chart-failures .plot').data.length")
    row = seeds.call(9999, start_ns=seeds.NOW_NS, tool="brand_new", outcome="failure", category="permission", message="keep out")
    seeds.put_calls(engine, [row])
    watched.later(11)
    page.locator("#card-tools").get_by_text("brand_new").wait_for()
    watched.until(f"document.querySelector('#chart-failures .plot').data.length === {drawn + 1}")
    assert page.evaluate("window.marker") == "same document"
    assert page.evaluate("window.scrollY") == 300
    # The list of failures is further down: it is fetched once it is looked at.
    page.locator("#card-latest").scroll_into_view_if_needed()
    watched.later(11)
    page.locator("#card-latest").get_by_text("brand_new").wait_for()


def test_only_what_is_seen_is_fetched(open_page: Open, address: str, seeded: object) -> None:
    watched = open_page()
    watched.later()
    watched.visit(f"{address}/")
    whole = watched.fetched[0].body()
    with watched.page.expect_response(lambda response: "x-toolvitals-refresh" in response.request.headers):
        watched.later(11)
    watched.until("document.querySelector('.live-text').textContent === 'updated 0 s ago'")
    [refresh] = watched.refreshed
    asked = refresh.request.headers["x-toolvitals-refresh"].split()
    assert "tiles" in asked
    assert "card-latest" not in asked
    assert b"Latest failures" not in refresh.body()
    assert len(refresh.body()) < len(whole) * 0.7


def test_an_open_table_stays_open_and_scrolled(open_page: Open, address: str, engine: Engine, seeded: object) -> None:
    watched = open_page()
    page = watched.page
    watched.later()
    watched.visit(f"{address}/")
    page.locator("#chart-outcomes summary").click()
    page.evaluate("document.querySelector('#chart-outcomes .scroll').scrollTop = 50")
    seeds.put_calls(engine, [seeds.call(9999, start_ns=seeds.NOW_NS, outcome="failure", category="permission")])
    watched.later(11)
    page.locator("#chart-outcomes table").get_by_text("permission").wait_for()
    assert page.locator("#chart-outcomes details").get_attribute("open") is not None
    assert page.evaluate("document.querySelector('#chart-outcomes .scroll').scrollTop") == 50


def test_the_first_call_turns_the_waiting_page_into_a_dashboard(open_page: Open, address: str, engine: Engine) -> None:
    watched = open_page()
    watched.later()
    watched.visit(address)
    seeds.put(engine, "counter", [{"name": "received_spans", "value": 3}, {"name": "ignored_spans", "value": 3}])
    watched.later(11)
    watched.page.get_by_text("3 spans arrived, but none describes a tool call").wait_for()
    seeds.put_calls(engine, [seeds.call(1, outcome="failure")])
    watched.later(11)
    watched.page.locator("#tiles").wait_for()
    watched.page.locator("#chart-outcomes .plot[data-ready=yes]").wait_for()


def test_a_lost_connection_is_told_and_found_again(open_page: Open, address: str, seeded: object) -> None:
    watched = open_page()
    watched.later()
    watched.visit(address)
    watched.page.route("**/*", lambda route: route.fulfill(status=503, body="gone"))
    watched.later(11)
    watched.page.get_by_text("disconnected, data is 11 s old").wait_for()
    watched.page.unroute("**/*")
    watched.later(11)
    watched.page.get_by_text("updated 0 s ago").wait_for()


def test_a_page_about_the_past_does_not_refresh(open_page: Open, address: str, seeded: object) -> None:
    watched = open_page()
    watched.page.clock.install()
    watched.visit(f"{address}/?from=-2h&to=-1h")
    watched.page.clock.run_for(30_000)
    assert watched.refreshed == []
    assert watched.page.locator("#live-state").is_hidden()
