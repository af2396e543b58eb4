"""Calls for tests in a browser: every kind of them, over forty minutes, of several tools and clients."""

from typing import Any

import pytest
from sqlalchemy import Engine

from tests import seeds

KINDS: tuple[dict[str, Any], ...] = (
    {},
    {"emptiness": "empty"},
    {"emptiness": "unknown"},
    {"outcome": "failure", "category": "transient", "retryable": True, "error_type": "TimeoutError", "message": "timed out after 30 s"},
    {"outcome": "failure", "category": "business", "retryable": False, "error_type": "tool_error", "message": "No results"},
    {"outcome": "cancelled"},
)


def some_calls() -> list[dict[str, Any]]:
    """800 calls of seven tools."""
    return [
        seeds.call(n, tool=f"a_rather_long_tool_name_{n % 7}", client=("agent", "batch", "")[n % 3 - 1], **KINDS[n % 6])
        for n in range(1, 2400, 3)
    ] + [seeds.call(n, tool=f"a_rather_long_tool_name_{n % 7}", **KINDS[n % 6]) for n in range(3, 600, 3)]


def put_some_calls(engine: Engine) -> None:
    """Insert `some_calls` and their spans."""
    rows = some_calls()
    seeds.put_calls(engine, rows)
    seeds.put(engine, "tool_span", [seeds.span(row) for row in rows])


@pytest.fixture
def seeded() -> list[dict[str, Any]]:
    """`some_calls`. A test that asks for them has a database that is filled with them (conftest.py)."""
    return some_calls()


def call_path(row: dict[str, Any]) -> str:
    """The address of a call's page."""
    return f"/calls/{row['trace_id'].hex()}/{row['call_id'].hex()}"


def paths(rows: list[dict[str, Any]]) -> dict[str, str]:
    """One address of each page, by its name."""
    return {
        "overview": "/?compare=previous",
        "tools": "/tools?compare=previous",
        "tool": f"/tools/docs-mcp/{rows[1]['tool']}",
        "empties": "/empties",
        "retries": "/retries",
        "operations": "/chains",
        "alerts": "/alerts",
        "calls": "/calls",
        "failures": "/calls?outcome=failure&columns=time,tool,verdict,error,decided_by,flags",
        "call": call_path(rows[1]),
        "health": "/health",
        "styleguide": "/styleguide",
        "wrong": "/?range=9h",
    }
