"""Scenario 10 of every instrumentation, a tool that answers with nothing because its backend failed, is evidence on every page."""

import json
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from dashboard.app import create_app
from tests.dashboard.reading import Page
from tests.database import Database, on_sqlite
from tests.faithfulness import RECEIVED_NS, requests, truth

# The one file that both engines read alike: what they store is compared elsewhere.
pytestmark = on_sqlite

# Where the failed span and the call are both visible.
SILENT = [row for row in truth() if row["scenario"] == "10" and row["failed_child"] and row["calls"]]


@pytest.fixture
def database(database: Database) -> Database:
    """The captures of this scenario, received and settled."""
    traces = {bytes.fromhex(span.split("/")[0]) for row in SILENT for span in row["spans"]}
    mine = [
        one
        for one in requests()
        if any(span.trace_id in traces for part in one.resource_spans for scope in part.scope_spans for span in scope.spans)
    ]
    database.insert_together(mine, now_ns=RECEIVED_NS)
    database.settle(RECEIVED_NS)
    return database


@pytest.fixture
def client(database: Database) -> Iterator[TestClient]:
    with TestClient(create_app(database.engine, database.settings, lambda: RECEIVED_NS)) as client:
        yield client


def test_every_one_of_them_is_shown(database: Database, client: TestClient) -> None:
    assert len(SILENT) >= 10
    by_span = {f"{call['trace_id'].hex()}/{view}": call for call in database.calls() for view in _spans(call)}
    for row in SILENT:
        call = next(by_span[span] for span in row["spans"] if span in by_span)
        address = f"{call['trace_id'].hex()}/{call['call_id'].hex()}"
        page = Page(client.get(f"/calls/{address}").text)
        assert "What failed inside" in page.text, row["set"]
        expected = "may be hidden in an empty result" if call["emptiness"] == "empty" else "nobody can tell whether the answer held data"
        assert expected in page.text, (row["set"], call["emptiness"])
    found = client.get("/api/v1/empties?range=30d").json()["failed_inside"]
    assert found
    assert all(one["failed_children"] for one in found)


def _spans(call: dict[str, object]) -> list[str]:
    return [view["span_id"] for view in json.loads(str(call["views"]))]
