"""/api/v1/status and the health page say what came, what is pending, and how far the data reaches."""

from fastapi.testclient import TestClient
from sqlalchemy import Engine

from schemas.database import newest_schema
from tests import seeds
from tests.dashboard.reading import Page

HOUR_NS = 60 * seeds.MINUTE_NS


def test_a_new_database_is_all_zeros(client: TestClient, engine: Engine) -> None:
    assert client.get("/api/v1/status").json() == {
        "received_spans": 0,
        "tool_spans": 0,
        "ignored_spans": 0,
        "refused_spans": 0,
        "duplicate_spans": 0,
        "conflicting_spans": 0,
        "pending_traces": 0,
        "calls": 0,
        "settled_lag_s": 0,
        "oldest_ns": None,
        "newest_ns": None,
        "database": engine.dialect.name,
        "schema": newest_schema(),
    }


def test_counts_and_lag(client: TestClient, engine: Engine) -> None:
    seeds.put_calls(engine, [seeds.call(n) for n in (3, 9, 200)])
    seeds.put(engine, "counter", [{"name": "received_spans", "value": 10}, {"name": "something_new", "value": 1}])
    seeds.put(engine, "pending_trace", [{"trace_id": b"1" * 16, "noted_ns": seeds.NOW_NS - 2_500_000_000, "version": 1}])
    status = client.get("/api/v1/status").json()
    assert (status["received_spans"], status["calls"], status["pending_traces"]) == (10, 3, 1)
    assert status["settled_lag_s"] == 2.5
    assert status["newest_ns"] == seeds.NOW_NS - 3 * seeds.SECOND_NS
    assert status["oldest_ns"] == seeds.NOW_NS - 200 * seeds.SECOND_NS


def test_a_call_of_a_wrong_clock_is_never_the_newest(client: TestClient, engine: Engine) -> None:
    skewed = seeds.call(1, start_ns=seeds.NOW_NS + HOUR_NS)
    seeds.put_calls(engine, [skewed, seeds.call(5)])
    assert client.get("/api/v1/status").json()["newest_ns"] == seeds.NOW_NS - 5 * seeds.SECOND_NS
    assert "Data to 14:03:15" in Page(client.get("/").text).text


def test_the_health_page_names_refusals_and_emitters(client: TestClient, engine: Engine) -> None:
    hour = seeds.NOW_NS - seeds.NOW_NS % HOUR_NS
    sent = {"scope": "mcp", "scope_version": "2.1", "ignored_spans": 3, "skewed_spans": 1, "ignored_sample": "GET /"}
    seeds.put(
        engine,
        "intake",
        [{"hour_ns": hour - i * HOUR_NS, "service": "docs", "tool_spans": 5, "last_ns": hour, **sent} for i in range(3)],
    )
    refusal = {"reason": "no trace id", "service": "docs", "count": 4, "first_ns": 1, "last_ns": seeds.NOW_NS, "sample": "00ff"}
    seeds.put(engine, "refusal", [refusal])
    twin = client.get("/api/v1/health").json()
    [emitter] = twin["emitters"]
    assert (emitter["tool_spans"], emitter["ignored_spans"], emitter["skewed_spans"]) == (15, 9, 3)
    assert twin["refusals"] == [refusal]
    text = Page(client.get("/health").text).text
    assert "no trace id" in text
    assert newest_schema() in text
    assert client.get("/api/v1/health?format=csv&table=nothing").status_code == 400
