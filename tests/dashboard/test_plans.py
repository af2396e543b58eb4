"""No page reads more than it must: the plans of every statement that a page issues."""

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, event

from tests import seeds
from tests.database import on_sqlite

# The words are SQLite's; test_plans_on_postgresql.py asks the other engine.
pytestmark = on_sqlite

AGGREGATES = (
    "/",
    "/?range=30d&server=docs-mcp&compare=previous",
    "/?category=transient&channel=tool",
    "/tools",
    "/tools?sort=calls&range=7d&compare=previous",
    "/tools/docs-mcp/search_docs",
    "/tools/docs-mcp/(other)?range=7d",
    "/empties?range=30d",
    "/health",
)
LISTS = (
    "/calls",
    "/calls?tool=search_docs&server=docs-mcp",
    "/calls?outcome=failure&category=business",
    "/calls?session=s",
    "/calls?session=s&fingerprint=000000000000",
    "/calls?error_type=x&decided_by=body",
    "/calls?min_duration=1s&outcome=failure",
    "/calls?fingerprint=000000000000",
    f"/api/v1/calls?cursor={seeds.NOW_NS}.{'0' * 32}.{'0' * 16}",
)


@pytest.fixture
def statements(engine: Engine) -> Iterator[list[tuple[str, Any]]]:
    """Every SELECT that reaches the database, with its parameters."""
    seen: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if statement.startswith("SELECT"):
            seen.append((statement, parameters))

    event.listen(engine, "before_cursor_execute", note)
    yield seen
    event.remove(engine, "before_cursor_execute", note)


def plan(engine: Engine, statement: str, parameters: Any) -> str:
    with engine.connect().execution_options(read_only=True) as connection:
        rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
        return "; ".join(row[3] for row in rows)


@pytest.fixture(autouse=True)
def some_calls(engine: Engine) -> None:
    """A few calls, one of them failed, and its span."""
    rows = [seeds.call(n, outcome="failure" if n == 7 else "success", session="s") for n in range(1, 200)]
    seeds.put_calls(engine, rows)
    seeds.put(engine, "tool_span", [seeds.span(row) for row in rows])


@pytest.mark.parametrize("path", AGGREGATES)
def test_numbers_come_from_rollups_by_time(client: TestClient, engine: Engine, statements: list[Any], path: str) -> None:
    assert client.get(path).status_code == 200
    for statement, parameters in list(statements):
        how = plan(engine, statement, parameters)
        assert "FROM tool_span" not in statement
        for name in ("rollup", "duration"):
            if f"FROM {name}" in statement:
                assert f"SCAN {name}" not in how, (how, statement)
                # A range of buckets, or those of one tool each by the whole key.
                ways = ("bucket_ns>? AND bucket_ns<?)", "bucket_ns=? AND series_id=?)")
                assert any(f"(grain=? AND width_s=? AND {way}" in how for way in ways), (how, statement)
        if "FROM call" in statement:
            # Only lists and the newest call: by an index, and no more rows than are shown.
            assert "SCAN call" not in how.replace("SCAN call USING COVERING INDEX ix_call_start_ns", ""), (how, statement)
            assert "LIMIT" in statement


@pytest.mark.parametrize("path", LISTS)
def test_lists_of_calls_follow_an_index(client: TestClient, engine: Engine, statements: list[Any], path: str) -> None:
    assert client.get(path).status_code == 200
    listed = [pair for pair in statements if "FROM call" in pair[0]]
    assert listed
    for statement, parameters in listed:
        how = plan(engine, statement, parameters)
        assert "SEARCH call USING" in how, (how, statement)
        assert "OFFSET" not in statement or parameters[-1] == 0


def test_a_filter_by_tool_uses_the_index_that_leads_with_the_tool(client: TestClient, engine: Engine, statements: list[Any]) -> None:
    client.get("/calls?tool=search_docs&server=docs-mcp")
    plans = [plan(engine, *pair) for pair in statements if "FROM call" in pair[0] and "call.views" in pair[0]]
    assert plans
    assert all("ix_call_tool_server_start_ns (tool=? AND server=? AND start_ns>? AND start_ns<?)" in how for how in plans)


def test_a_call_and_its_trace_are_read_by_key(client: TestClient, engine: Engine, statements: list[Any]) -> None:
    row = seeds.call(7)
    assert client.get(f"/calls/{row['trace_id'].hex()}/{row['call_id'].hex()}?spans=failed").status_code == 200
    for statement, parameters in list(statements):
        if "tool_span" in statement:
            how = plan(engine, statement, parameters)
            assert "SCAN tool_span" not in how
            assert "SEARCH tool_span USING" in how
    # Payloads are read of the call's own spans alone, each by its key.
    payloads = [pair for pair in statements if "tool_span.evidence" in pair[0]]
    assert len(payloads) == 1
    assert "(trace_id=? AND span_id=?)" in plan(engine, *payloads[0])


def test_a_live_refresh_does_not_ask_for_the_names_of_the_filters(client: TestClient, statements: list[Any]) -> None:
    client.get("/")
    whole = len(statements)
    client.get("/", headers={"x-toolvitals-refresh": "1"})
    assert len(statements) - whole == whole - 2
