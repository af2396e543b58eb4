"""Nothing that asks for operations or retries reads a whole table of them, nor does what makes them."""

import re
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from dashboard.app import create_app
from schemas.settings import Settings
from tests.database import Database
from tests.plans import plan, statements_of, whole_tables
from tests.retried import story
from tests.spans import SECOND_NS, START_NS

# Tables with a row for each call, span, operation or retry, or for each of them in a minute.
LARGE = ("call", "tool_span", "chain", "retry", "retry_rollup", "retry_histogram", "rollup", "duration")
PATHS = (
    "/api/v1/retries?range=1h",
    "/api/v1/retries?range=30d",
    "/api/v1/retries?range=7d&strength=declared",
    "/api/v1/retries?range=24h&tool=search&server=docs-mcp&environment=(none)&client=(none)",
    "/api/v1/retries?range=24h&tool=(other)",
    "/api/v1/chains?range=30d",
    *(f"/api/v1/chains?range=30d&state={state}" for state in ("open", "recovered", "exhausted", "abandoned", "missed", "failed", "ended")),
    "/api/v1/chains?range=7d&tool=search&server=docs-mcp&client=(none)&strength=declared&state=exhausted",
    "/api/v1/chains?range=7d&tool=(other)&limit=1",
    f"/api/v1/chains/{1:032x}-{1:016x}",
    f"/api/v1/chains/{1:032x}-{1:016x}?after=3",
    f"/api/v1/chains/{8:032x}-{8:016x}",
)


@pytest.fixture
def client(database: Database) -> Iterator[TestClient]:
    """The dashboard a minute after some calls of which one operation is open still."""
    database.take(*story())
    with TestClient(create_app(database.engine, Settings(), lambda: START_NS + 130 * SECOND_NS)) as client:
        yield client


def read_whole(database: Database, how: str) -> set[str]:
    """The large tables that a plan reads from end to end."""
    if database.engine.dialect.name == "postgresql":
        return whole_tables(how) & set(LARGE)
    return set(re.findall(r"SCAN (\w+)", how)) & set(LARGE)


@pytest.mark.parametrize("path", PATHS)
def test_an_answer_reads_ranges_of_indexes(database: Database, client: TestClient, path: str) -> None:
    with statements_of(database.engine) as seen:
        assert client.get(path).status_code == 200
    asked = [pair for pair in seen if re.search(r"\b(chain|retry|retry_rollup|retry_histogram)\b", pair[0])]
    assert asked
    for statement, parameters in asked:
        how = plan(database.engine, statement, parameters)
        assert read_whole(database, how) == set(), (how, statement)


def test_what_is_open_is_found_by_its_own_index(database: Database, client: TestClient) -> None:
    with statements_of(database.engine) as seen:
        client.get("/api/v1/retries?range=30d")
        client.get("/api/v1/chains?range=30d&state=open")
    plans = [plan(database.engine, *pair) for pair in seen if "closes_ns >= " in pair[0]]
    assert len(plans) == 5
    assert all("ix_chain_closes_ns" in how for how in plans), plans
