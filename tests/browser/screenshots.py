"""Take a picture of every page, for people to leaf through: python -m tests.browser.screenshots FOLDER [SECONDS]."""

import contextlib
import html
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Browser, expect, sync_playwright

from cli.ports import free_port
from tests.browser.conftest import ARGUMENTS, CHROMIUM

HOST = "127.0.0.1"
# The payment gateway of the demo goes down within 90 s for the first time, and comes back within as many.
SECONDS = 300
VARIANTS = (("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390))


@contextlib.contextmanager
def demo(seconds: int) -> Iterator[str]:
    """The address of a dashboard over what the demo fleet sent in so many seconds."""
    ports = {name: free_port(HOST) for name in ("port", "otlp-http-port", "otlp-grpc-port", "worker-port")}
    with tempfile.TemporaryDirectory() as data:
        options = [word for name, number in ports.items() for word in (f"--{name}", str(number))]
        command = [sys.executable, "-m", "cli.main", "demo", "--data", data, "--seed", "3", "--pace", "2", *options]
        process = subprocess.Popen(command, env=None)
        try:
            address = f"http://{HOST}:{ports['port']}"
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                if process.poll() is not None:
                    raise SystemExit("the demo ended before its time")
                time.sleep(1)
            yield address
        finally:
            process.send_signal(signal.SIGINT)
            process.wait()


def pages(address: str) -> dict[str, str]:
    """The addresses of all pages by name, of what there is to see."""
    with httpx.Client(base_url=address, timeout=30) as client:
        chains = client.get("/api/v1/chains?range=30m&state=recovered&limit=100").json()["chains"]
        [failure, *_] = client.get("/api/v1/calls?range=30m&outcome=failure&limit=1").json()["calls"]
        reviews = client.get("/api/v1/reviews").json()["reviews"]
    longest: dict[str, Any] = max(chains, key=lambda chain: chain["attempts"], default={})
    found = {
        "overview": "/?range=30m",
        "tools": "/tools?range=30m",
        "tool": "/tools/payments-mcp/charge_card?range=30m",
        "retries": "/retries?range=30m",
        "operation": f"/chains/{longest.get('chain_id', '')}",
        "empties": "/empties?range=30m",
        "calls": "/calls?range=30m&outcome=failure",
        "call": f"/calls/{failure['trace_id']}/{failure['call_id']}",
        "alerts": "/alerts",
        "reviews": "/reviews",
        "health": "/health",
    }
    if reviews:
        found["review"] = f"/reviews/{reviews[0]['week']}"
    return found if longest else {name: path for name, path in found.items() if name != "operation"}


def take(browser: Browser, url: str, path: Path, theme: Any, width: int, *, whole: bool) -> None:
    """A picture of a page whose charts are drawn: all of it, or what fits a window."""
    page = browser.new_page(viewport={"width": width, "height": 860 if width > 640 else 844}, color_scheme=theme)
    page.goto(url)
    expect(page.locator(".plot:not([data-ready=yes])")).to_have_count(0, timeout=30_000)
    page.screenshot(path=path, full_page=whole)
    page.close()


def main(folder: Path, seconds: int) -> None:
    """Fill a folder with pictures and a page that shows them side by side."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    with demo(seconds) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        for name, path in pages(address).items():
            files = []
            for theme, width in VARIANTS:
                files.append(f"{name}-{theme}-{width}.png")
                take(browser, address + path, folder / files[-1], theme, width, whole=True)
            shown = "".join(f'<a href="{file}"><img src="{file}" alt="{file}" loading="lazy"></a>' for file in files)
            rows.append(f"<h2>{html.escape(name)}</h2><div>{shown}</div>")
        browser.close()
    style = "body{font:15px system-ui;margin:2rem}div{display:flex;gap:1rem;align-items:start;overflow:auto}img{width:320px;border:1px solid #ccc}"
    index = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>toolvitals</title><style>{style}</style>{"".join(rows)}</html>'
    (folder / "index.html").write_text(index)
    sys.stdout.write(f"{len(rows)} pages in {folder / 'index.html'}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else SECONDS)
