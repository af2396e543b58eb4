"""Every page in a browser: quiet, local, within the window, and shut to nobody."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import axe_playwright_python
import pytest

from tests.browser.conftest import Watched
from tests.browser.seeding import paths

pytestmark = pytest.mark.browser

Open = Callable[..., Watched]

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()


def faults(watched: Watched) -> list[str]:
    """What axe-core finds wrong on the page as it is."""
    watched.page.evaluate(AXE)
    # All that it found in order would be megabytes.
    found = watched.page.evaluate("axe.run({resultTypes: ['violations']}).then((found) => found.violations)")
    return [f"{one['id']} ({one['impact']}): {one['nodes'][0]['html'][:200]}" for one in found]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_every_page_fits_is_quiet_and_open_to_all(
    open_page: Open, address: str, seeded: list[dict[str, Any]], theme: str, width: int
) -> None:
    watched = open_page(width, theme)
    for name, path in paths(seeded).items():
        watched.visit(address + path)
        assert watched.overflow == 0, name
        assert faults(watched) == [], name
        watched.page.evaluate("document.querySelectorAll('details').forEach((details) => (details.open = true))")
        assert watched.overflow == 0, f"{name} with everything open"


@pytest.mark.parametrize("width", [1280, 390])
def test_the_first_page_without_any_span_fits_too(open_page: Open, address: str, width: int) -> None:
    watched = open_page(width)
    watched.visit(address)
    assert watched.page.get_by_text("Waiting for the first span").is_visible()
    assert watched.overflow == 0
    assert faults(watched) == []


@pytest.mark.parametrize("width", [1280, 390])
def test_no_label_of_an_axis_is_cut_or_touches_its_neighbour(
    open_page: Open, address: str, seeded: list[dict[str, Any]], width: int
) -> None:
    watched = open_page(width)
    for path in ("/", f"/tools/docs-mcp/{seeded[1]['tool']}", "/?range=24h", "/?range=30d", "/empties"):
        watched.visit(address + path)
        wrong = watched.page.evaluate(
            """[...document.querySelectorAll('.plot')].flatMap((plot) => {
                 const around = plot.getBoundingClientRect();
                 const boxes = [...plot.querySelectorAll('.xtick text')].map((text) => text.getBoundingClientRect());
                 const cut = [...plot.querySelectorAll('.xtick text, .ytick text')].filter((text) => {
                   const box = text.getBoundingClientRect();
                   return box.left < around.left - 1 || box.right > around.right + 1 || box.bottom > around.bottom + 1;
                 });
                 const touching = boxes.filter((box, i) => i && boxes[i - 1].right + 2 > box.left);
                 return [...cut.map((text) => `cut: ${text.textContent}`), ...touching.map(() => 'touching in ' + plot.className)];
               })"""
        )
        assert wrong == [], path


def test_a_first_load_is_small_and_plotly_comes_once(open_page: Open, address: str, seeded: list[dict[str, Any]]) -> None:
    watched = open_page()
    watched.visit(f"{address}/")
    ours = [response for response in watched.fetched if "plotly" not in response.url]
    assert len(ours) <= 10
    sizes = [response.request.sizes() for response in ours]
    assert sum(size["responseBodySize"] + size["responseHeadersSize"] for size in sizes) <= 150_000
    [plotly] = [response for response in watched.fetched if "plotly" in response.url]
    assert "immutable" in plotly.headers["cache-control"]
    assert plotly.headers["content-encoding"] == "gzip"
    watched.visit(f"{address}/tools/docs-mcp/{seeded[1]['tool']}")
    sent = "performance.getEntriesByType('resource').filter((one) => one.name.includes('plotly')).map((one) => one.transferSize)"
    assert watched.page.evaluate(sent) == [0]
