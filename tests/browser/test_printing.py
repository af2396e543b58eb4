"""A review prints as a clean PDF of a few pages from the browser, and stands on a screen of any width."""

import re
from collections.abc import Callable

import pytest
from sqlalchemy import Engine

from collector.review_store import ReviewStore, Stored
from dashboard.review_example import REVIEW
from tests import seeds
from tests.browser.conftest import Watched
from tests.browser.test_looks import faults

pytestmark = pytest.mark.browser

TOOLS, WEEK = 50, "2026-W48"


@pytest.fixture(autouse=True)
def _a_full_review(engine: Engine) -> None:
    """A review of a fleet of 50 tools with long names, every section of it full."""
    names = [(f"a-server-with-a-long-name-{number % 5}", f"a_rather_long_tool_name_that_goes_on_{number}") for number in range(TOOLS)]

    def many(row: dict[str, object], count: int) -> list[dict[str, object]]:
        return [{**row, "server": server, "tool": tool} for server, tool in names[:count]]

    changes, pareto = REVIEW["changes"], REVIEW["pareto"]
    full = {
        **REVIEW,
        "zone": "Europe/Berlin",
        "slo": many(REVIEW["slo"][0], TOOLS),
        "changes": {
            **changes,
            "regressions": many(changes["regressions"][0], 5),
            "improvements": many(changes["improvements"][0], 5),
            "mixed": [[one, one] for one in many(changes["regressions"][0], 5)],
            "new": [[*name, 140] for name in names[:5]],
        },
        "pareto": {**pareto, "rows": many(pareto["rows"][0], 10)},
        "incidents": many(REVIEW["incidents"][0], 15),
        "suspects": many(REVIEW["suspects"][0], 8),
        "contract": [{**one, "findings": REVIEW["contract"][0]["findings"] * 6} for one in many(REVIEW["contract"][0], 5)],
        "alert_quality": {**REVIEW["alert_quality"], "rules": REVIEW["alert_quality"]["rules"] * 8},
    }
    ReviewStore(engine).save("Europe/Berlin", WEEK, Stored(1, seeds.NOW_NS, {}, full))
    row = {"zone": "Europe/Berlin", "week": WEEK, "owner": "kim", "due": "2026-12-24", "created_ns": 1, "closed_ns": None, "closed_by": ""}
    seeds.put(engine, "review_action", [{**row, "id": f"{number:04x}", "text": f"Back off in agent {number}"} for number in range(10)])


def pages(pdf: bytes) -> int:
    """How many pages a PDF has."""
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


def test_a_review_of_fifty_tools_prints_on_four_pages_at_most(open_page: Callable[..., Watched], address: str) -> None:
    watched = open_page()
    watched.visit(f"{address}/reviews/{WEEK}")
    pdf = watched.page.pdf(prefer_css_page_size=True)
    assert pdf.startswith(b"%PDF-")
    assert 2 <= pages(pdf) <= 4
    watched.page.emulate_media(media="print")
    for selector in (".top", "footer", "form", "#theme-button"):
        for one in watched.page.locator(selector).all():
            assert not one.is_visible(), selector
    for section in (
        "numbers",
        "changes",
        "slo",
        "pareto",
        "incidents",
        "suspects",
        "contract",
        "alert-quality",
        "actions",
        "notes",
        "method",
    ):
        assert watched.page.locator(f"#{section}").is_visible(), section
    # Nothing is cut off at the edge of the paper: 190 mm between the margins.
    watched.page.set_viewport_size({"width": 718, "height": 1000})
    assert watched.overflow <= 0


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")])
@pytest.mark.parametrize("path", ["/reviews", f"/reviews/{WEEK}"])
def test_reviews_fit_a_screen(open_page: Callable[..., Watched], address: str, path: str, width: int, theme: str) -> None:
    watched = open_page(width, theme)
    watched.visit(address + path)
    assert watched.overflow <= 0
    assert faults(watched) == []


def test_an_action_item_is_added_by_the_form(open_page: Callable[..., Watched], address: str) -> None:
    watched = open_page()
    watched.visit(f"{address}/reviews/{WEEK}")
    watched.page.get_by_text("Add an action item").click()
    form = watched.page.locator("form[action$='/actions']")
    form.get_by_label("What").fill("Look into the empties")
    form.get_by_label("Owner").fill("lee")
    form.get_by_role("button", name="Add").click()
    watched.page.wait_for_url("**/reviews/*#actions")
    assert watched.page.get_by_text("Look into the empties").first.is_visible()
