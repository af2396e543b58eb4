"""A real server on a free port, and Debian's Chromium with a watch on everything that it complains about or asks for."""

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import uvicorn
from playwright.sync_api import Browser, Page, Response, expect, sync_playwright
from sqlalchemy import Engine

from dashboard.app import create_app
from schemas.database import migrate
from schemas.settings import Settings
from tests import seeds
from tests.browser.seeding import put_some_calls, seeded  # noqa: F401 - a fixture
from tests.database import Fill, engine_of

CHROMIUM = "/usr/bin/chromium"
# Nothing is measured by it: so long a loaded machine may take for what a good one does in a second.
PATIENCE_S = 60.0
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

expect.set_options(timeout=PATIENCE_S * 1000)

if not os.path.exists(CHROMIUM):
    pytest.skip("there is no Chromium here", allow_module_level=True)


@dataclass
class Clock:
    """The time that the dashboard believes in."""

    now_ns: int = seeds.NOW_NS

    def __call__(self) -> int:
        """The time."""
        return self.now_ns


@dataclass
class Watched:
    """A browser page, what went wrong on it (console errors, exceptions, dialogs, requests to other hosts), and what it fetched."""

    page: Page
    wrong: list[str] = field(default_factory=list)
    fetched: list[Response] = field(default_factory=list)
    _now_s: float = seeds.NOW_NS / seeds.SECOND_NS

    def visit(self, url: str) -> None:
        """Open a page and wait until its charts are drawn."""
        self.page.goto(url)
        expect(self.page.locator(".plot:not([data-ready=yes])")).to_have_count(0)

    def later(self, seconds: float = 0) -> None:
        """Set the clock of the page on by so much. It stands still from then on: a page that takes long to draw must not renew itself."""
        self._now_s += seconds
        self.page.clock.set_fixed_time(self._now_s)

    @property
    def refreshed(self) -> list[Response]:
        """What the page fetched to renew itself; the browser fetches a favicon whenever it likes."""
        return [response for response in self.fetched if "x-toolvitals-refresh" in response.request.headers]

    @property
    def overflow(self) -> int:
        """How many pixels the page is wider than the window."""
        width: int = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        return width

    def until(self, expression: str) -> None:
        """Wait until an expression is true. Playwright's own waiting evaluates text in the page, which our CSP forbids."""
        deadline = time.monotonic() + PATIENCE_S
        while not self.page.evaluate(expression):
            assert time.monotonic() < deadline, expression
            self.page.wait_for_timeout(50)


@pytest.fixture
def fill(request: pytest.FixtureRequest) -> Fill:
    """What a fresh database is filled by."""
    return put_some_calls if "seeded" in request.fixturenames else migrate


@pytest.fixture
def engine(file: Callable[[Fill], Path], fill: Fill, tmp_path: Path) -> Iterator[Engine]:
    """An SQLite file of the newest schema, filled by `fill`."""
    engine = engine_of(f"sqlite:///{shutil.copy(file(fill), tmp_path / 'test.db')}")
    yield engine
    engine.dispose()


@pytest.fixture
def clock() -> Clock:
    """A clock that stands at NOW_NS until a test moves it."""
    return Clock()


@pytest.fixture
def address(engine: Engine, clock: Clock) -> Iterator[str]:
    """The address of a dashboard over `engine`, served by uvicorn in a thread."""
    app = create_app(engine, Settings(styleguide=True, zone="Europe/Berlin"), clock)
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning", ws="none"))
    thread = threading.Thread(target=server.run)
    thread.start()
    until = time.monotonic() + PATIENCE_S
    while not server.started:
        assert thread.is_alive()
        assert time.monotonic() < until
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for all tests."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Browser, address: str) -> Iterator[object]:
    """A function (width, theme) -> Watched; what went wrong is checked when the test ends. A violation of our CSP is a console error."""
    opened: list[Watched] = []

    def make(width: int = 1280, theme: str = "light") -> Watched:
        page = chromium.new_page(viewport={"width": width, "height": 844}, color_scheme=theme)
        page.set_default_timeout(PATIENCE_S * 1000)
        watched = Watched(page)
        # A page that answers 404 or 400 on purpose is no fault of the page.
        page.on("console", lambda m: watched.wrong.append(m.text) if m.type == "error" and "Failed to load" not in m.text else None)
        page.on("pageerror", lambda error: watched.wrong.append(str(error)))
        page.on("dialog", lambda dialog: (watched.wrong.append(f"dialog {dialog.message}"), dialog.dismiss()))
        host = urlsplit(address).netloc
        page.on("request", lambda r: watched.wrong.append(r.url) if urlsplit(r.url).netloc not in (host, "") else None)
        page.on("response", lambda response: watched.fetched.append(response))
        opened.append(watched)
        return watched

    yield make
    for watched in opened:
        watched.page.close()
    assert [wrong for watched in opened for wrong in watched.wrong] == []
