"""No page makes PostgreSQL read a table of calls, spans or counts from end to end."""

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from tests import seeds
from tests.dashboard.test_plans import AGGREGATES, LISTS
from tests.database import Fill, on_postgresql
from tests.plans import plan, statements_of, whole_tables

pytestmark = on_postgresql

CALL = seeds.call(7)
PAGES = (*AGGREGATES, *LISTS, "/api/v1/status", f"/calls/{CALL['trace_id'].hex()}/{CALL['call_id'].hex()}?spans=failed")
# What grows with what is received; of the others there are a few rows however much that is.
LARGE = {"tool_span", "ancestry", "call", "chain", "retry", "series", "rollup", "duration", "retry_rollup", "retry_histogram"}


def some_calls(engine: Engine) -> None:
    """A few calls, one of them failed, and their spans."""
    rows = [seeds.call(n, outcome="failure" if n == 7 else "success", session="s") for n in range(1, 200)]
    seeds.put_calls(engine, rows)
    seeds.put(engine, "tool_span", [seeds.span(row) for row in rows])


@pytest.fixture
def fill() -> Fill:
    return some_calls


@pytest.mark.parametrize("path", PAGES)
def test_a_page_reads_no_large_table_whole(client: TestClient, engine: Engine, path: str) -> None:
    with statements_of(engine) as statements:
        assert client.get(path).status_code == 200
    read = {statement: whole_tables(plan(engine, statement, parameters)) & LARGE for statement, parameters in statements}
    assert {statement: tables for statement, tables in read.items() if tables} == {}
