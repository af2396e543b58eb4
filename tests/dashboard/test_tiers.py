"""Wide buckets say what minutes say, percentiles stand beside their counts, and folded names can be listed."""

import random

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from collector.work.settle import Settler, bucket_of
from collector.work_store import WorkStore
from dashboard import queries
from dashboard.filters import Filter, parse
from schemas.rollups import DAY_NS, MINUTE_S, OTHER_TOOLS
from schemas.settings import Settings
from tests import seeds
from tests.dashboard.reading import Page


def some_days(engine: Engine) -> None:
    """Calls at odd times of six days."""
    chance = random.Random(3)
    seeds.put_calls(
        engine,
        [
            seeds.call(
                number,
                start_ns=seeds.NOW_NS - chance.randrange(6) * DAY_NS - chance.randrange(3) * 10**11,
                tool=f"tool_{number % 4}",
                client=f"agent_{number % 3}",
                outcome="failure" if number % 5 == 0 else "success",
                duration_ns=None if number % 11 == 0 else chance.randrange(10**9),
            )
            for number in range(1, 900)
        ],
    )


@pytest.mark.parametrize("query", ["", "tool=tool_1&server=docs-mcp", "client=agent_2", "outcome=failure", "retryable=unknown"])
def test_every_tier_says_what_the_minutes_say(engine: Engine, monkeypatch: pytest.MonkeyPatch, query: str) -> None:
    some_days(engine)
    filters = [pair.split("=") for pair in query.split("&") if pair]
    question = parse([("from", "-5d"), ("to", "-2m"), *((name, value) for name, value in filters)], seeds.NOW_NS)

    def everything() -> list[object]:
        with queries.snapshot(engine) as connection:
            bars = queries.durations(connection, question, (), queries.bucket_width(question))
            return [
                queries.total(connection, question),
                queries.over_time(connection, question),
                queries.by_tool(connection, question),
                queries.by_client(connection, question),
                {bar: queries.percentiles([packed], 0, 10**18) for bar, packed in bars.items()},
                {
                    key: queries.percentiles([packed], 0, 10**18)
                    for key, packed in queries.durations(connection, question, ("server", "tool")).items()
                },
            ]

    tiers = everything()
    monkeypatch.setattr(queries, "cover", lambda from_ns, to_ns, _widest: (queries.Piece(MINUTE_S, from_ns, to_ns),))
    assert everything() == tiers
    assert tiers[0].calls > 0  # type: ignore[attr-defined]


def test_a_page_reads_few_buckets_whatever_the_range(engine: Engine) -> None:
    for days in (1, 7, 30, 400):
        question = Filter(seeds.NOW_NS - days * DAY_NS, seeds.NOW_NS)
        pieces = queries.cover(question.from_ns - question.from_ns % 10**11, question.to_ns - question.to_ns % (60 * 10**9))
        assert sum((piece.to_ns - piece.from_ns) // (piece.width_s * 10**9) for piece in pieces) < days + 70


def test_percentiles_are_shown_with_the_calls_behind_them(client: TestClient, engine: Engine) -> None:
    seeds.put_calls(
        engine,
        [
            *(seeds.call(number, tool="many", duration_ns=number * 10**6) for number in range(1, 201)),
            *(seeds.call(1000 + number, tool="some", duration_ns=5 * 10**6, start_ns=seeds.NOW_NS - number) for number in range(1, 51)),
            seeds.call(2000, tool="one", duration_ns=7 * 10**6, start_ns=seeds.NOW_NS - 9),
        ],
    )
    rows = {row["tool"]: row for row in client.get("/api/v1/tools").json()["tools"]}
    assert rows["many"]["p50_ns"] == pytest.approx(100 * 10**6, rel=0.011)
    assert rows["many"]["p99_ns"] == pytest.approx(198 * 10**6, rel=0.011)
    assert [rows["some"][name] for name in ("timed", "p50_ns", "p95_ns", "p99_ns")] == [50, 5 * 10**6, 5 * 10**6, None]
    assert [rows["one"][name] for name in ("timed", "p50_ns", "p95_ns")] == [1, 7 * 10**6, None]
    assert "not enough data: 50 calls with a known duration, 100 needed" in client.get("/tools").text
    assert [row["tool"] for row in client.get("/api/v1/tools?sort=p95").json()["tools"]] == ["many", "some", "one"]
    twin = client.get("/api/v1/tools/docs-mcp/many").json()
    assert twin["total"]["p95_ns"] == rows["many"]["p95_ns"]
    assert twin["outcomes"] == [
        {"outcome": "success", "timed": 200, **{name: rows["many"][name] for name in ("p50_ns", "p95_ns", "p99_ns")}}
    ]
    page = Page(client.get("/tools/docs-mcp/many").text)
    assert "Outcome Timed p50 p95 p99 success 200" in page.text


def test_folded_names_are_listed_behind_the_number_that_counts_them(client: TestClient, engine: Engine) -> None:
    rows = [seeds.call(number, tool=f"made_up_{number}", outcome="failure") for number in range(1, 9)]
    seeds.put(engine, "call", [*rows, seeds.call(20, tool="real")])
    minutes = {bucket_of(row["start_ns"]) for row in rows}
    seeds.put(engine, "pending_bucket", [{"bucket_ns": minute, "noted_ns": 1, "version": 1} for minute in minutes])
    settler = Settler(WorkStore(engine, names_a_day=2), Settings())
    while settler.roll_up():
        pass
    shown = {row["tool"]: row["calls"] for row in client.get("/api/v1/tools").json()["tools"]}
    assert shown == {"real": 1, "made_up_8": 1, OTHER_TOOLS: 7}
    listed = client.get("/api/v1/calls", params={"tool": OTHER_TOOLS}).json()["calls"]
    assert sorted(call["tool"] for call in listed) == [f"made_up_{number}" for number in range(1, 8)]
    failures = client.get("/api/v1/calls", params={"tool": OTHER_TOOLS, "outcome": "failure", "limit": 3}).json()
    assert len(failures["calls"]) == 3
    assert failures["next"]
    assert len(client.get("/api/v1/calls?tool=made_up_3&outcome=failure").json()["calls"]) == 1
