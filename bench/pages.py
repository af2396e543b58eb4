"""Measure the data of every page: python -m bench.pages 1000000 10000000 fills databases and prints milliseconds as JSON."""

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from bench.filling import fill, total
from dashboard.app import create_app, keep_loaded
from schemas.database import migrate, open_database
from schemas.rollups import SECOND_NS
from schemas.settings import Settings

RANGES = ("1h", "24h", "7d", "30d")
RUNS = 5
# The data ends at the start of a day; it is looked at in the afternoon before, at an odd second.
END_NS = 1_796_083_200 * SECOND_NS
NOW_NS = END_NS - 8 * 3600 * SECOND_NS + 17 * SECOND_NS
PAGES = {
    "overview": "/api/v1/overview?",
    "tools": "/api/v1/tools?",
    "tool": "/api/v1/tools/server-1/tool_01?",
    "empties": "/api/v1/empties?",
    "retries": "/api/v1/retries?",
    "retries, of a tool": "/api/v1/retries?server=server-1&tool=tool_01&",
    "operations": "/api/v1/chains?limit=50&",
    "operations, exhausted, of a tool": "/api/v1/chains?limit=50&state=exhausted&server=server-0&tool=tool_40&",
    "operations, open": "/api/v1/chains?limit=50&state=open&",
    "calls": "/api/v1/calls?limit=50&",
    "calls, failures": "/api/v1/calls?limit=50&outcome=failure&",
    "calls, a tool's permission errors": "/api/v1/calls?limit=50&tool=tool_40&category=permission&",
    "calls, of a client": "/api/v1/calls?limit=50&client=agent-2&",
    "alerts": "/api/v1/alerts?",
    "health": "/api/v1/health?",
    "status": "/api/v1/status?",
}
WITHOUT_RANGE = ("alerts", "health", "status")


@contextmanager
def filled(folder: Path, calls: int) -> Iterator[Engine]:
    """A database with so many calls, made if it is not there."""
    path = folder / f"pages-{calls}.db"
    engine = open_database(f"sqlite:///{path}")
    if not path.exists():
        migrate(engine)
        started = time.perf_counter()
        fill(engine, calls, END_NS)
        sys.stderr.write(f"{calls:,} calls in {time.perf_counter() - started:.0f} s\n")
    assert total(engine) == calls
    yield engine
    engine.dispose()


def measure(engine: Engine) -> dict[str, dict[str, float]]:
    """Milliseconds by page and range: the median of some requests, the first of them left out."""
    found: dict[str, dict[str, float]] = {}
    application = create_app(engine, Settings(), lambda: NOW_NS)
    keep_loaded()
    with TestClient(application) as client:
        for page, path in PAGES.items():
            for name in RANGES[:1] if page in WITHOUT_RANGE else RANGES:
                address = path if page in WITHOUT_RANGE else f"{path}range={name}"
                found.setdefault(page, {})[name] = round(statistics.median(_times(client, address)), 1)
    return found


def _times(client: TestClient, address: str) -> list[float]:
    times = []
    for _ in range(RUNS + 1):
        started = time.perf_counter()
        answer = client.get(address)
        times.append((time.perf_counter() - started) * 1000)
        assert answer.status_code == 200, (address, answer.text[:300])
    return times[1:]


def main(sizes: list[int], folder: Path) -> dict[str, Any]:
    """Measure at every size; each figure stands beside that of the other sizes."""
    measured = {}
    for calls in sizes:
        with filled(folder, calls) as engine:
            measured[calls] = measure(engine)
    names = {calls: f"{calls // 10**6}m" if calls % 10**6 == 0 else str(calls) for calls in sizes}
    first = measured[sizes[0]]
    return {page: {name: {names[calls]: measured[calls][page][name] for calls in sizes} for name in first[page]} for page in first}


if __name__ == "__main__":
    wanted = [int(word) for word in sys.argv[1:] if word.isdigit()] or [10**6]
    paths = [Path(word) for word in sys.argv[1:] if not word.isdigit()]
    with tempfile.TemporaryDirectory() as temporary:
        found = main(wanted, paths[0] if paths else Path(temporary))
        sys.stdout.write(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode() + "\n")
