"""One aggregate feeds every number: tiles, table rows, charts, JSON, CSV and the lists behind them agree."""

import csv
import io
from collections import Counter
from urllib.parse import urlencode

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from dashboard import kinds
from dashboard.pages.tools import OPERATIONS
from tests import seeds
from tests.dashboard.reading import Page
from tests.database import Fill

OUTCOMES = ("success", "partial", "failure", "cancelled", "deferred")


def some_calls() -> list[dict[str, object]]:
    """Some 3,000 calls of three tools over 50 minutes, of every kind."""
    kinds = [
        {"outcome": "success", "emptiness": "data"},
        {"outcome": "success", "emptiness": "data"},
        {"outcome": "success", "emptiness": "empty"},
        {"outcome": "success", "emptiness": "unknown"},
        {"outcome": "partial", "emptiness": "empty"},
        {"outcome": "failure", "category": "transient", "retryable": True, "error_type": "timeout"},
        {"outcome": "failure", "category": "transient", "retryable": True, "error_type": "connection_closed"},
        {"outcome": "failure", "category": "validation", "retryable": False, "error_type": "-32602"},
        {"outcome": "failure", "category": "unclassified", "error_type": "tool_error"},
        {"outcome": "cancelled"},
        {"outcome": "deferred"},
    ]
    tools = ("search", "read", "write")
    return [
        seeds.call(n, tool=tools[n % 3], client=("a", "")[n % 2], **kinds[n * 7 % 11], duration_ns=n if n % 5 else None)
        for n in range(1, 3001)
    ]


def put_some_calls(engine: Engine) -> None:
    seeds.put_calls(engine, some_calls())


@pytest.fixture
def fill() -> Fill:
    return put_some_calls


@pytest.fixture
def calls() -> list[dict[str, object]]:
    return some_calls()


def test_the_overview_says_one_number_everywhere(client: TestClient, calls: list[dict[str, object]]) -> None:
    page = Page(client.get("/").text)
    twin = client.get("/api/v1/overview").json()
    truth = Counter(row["outcome"] for row in calls)
    failures, completed = truth["failure"], truth["success"] + truth["partial"] + truth["failure"]
    assert {name: twin["total"][name] for name in OUTCOMES} == {name: truth[name] for name in OUTCOMES}
    assert twin["total"]["failure_ratio"] == failures / completed
    assert f"{failures:,} of {completed:,}" in page.text
    assert f"{len(calls):,} calls:" in page.text
    for name in ("calls", "failure", "empty", "transient"):
        assert sum(tool[name] for tool in twin["tools"]) == twin["total"][name]
        assert sum(bucket[name] for bucket in twin["buckets"]) == twin["total"][name]
    assert page.drawn("outcomes") == len(calls)
    assert page.drawn("failures") == page.drawn("mix") == failures


def test_a_tool_says_the_same_on_its_own_page_in_the_table_and_as_csv(client: TestClient) -> None:
    rows = client.get("/api/v1/tools").json()["tools"]
    table = csv.DictReader(io.StringIO(client.get("/api/v1/tools?format=csv").text))
    by_csv = {row["tool"]: row for row in table}
    assert len(rows) == 3
    for row in rows:
        twin = client.get(f"/api/v1/tools/docs-mcp/{row['tool']}").json()
        page = Page(client.get(f"/tools/docs-mcp/{row['tool']}").text)
        assert {name: twin["total"][name] for name in row if name in twin["total"]} | {
            name: twin["retries"][name] for name in OPERATIONS
        } == {name: value for name, value in row.items() if name not in ("server", "tool")}
        assert sum(client["calls"] for client in twin["clients"]) == row["calls"]
        assert sum(count for _, _, count in twin["error_types"]["counts"]) == min(row["failure"], 500)
        assert page.drawn("outcomes") == row["calls"] == int(by_csv[row["tool"]]["calls"])
        assert page.drawn("failures") == row["failure"] == int(by_csv[row["tool"]]["failure"])


@pytest.mark.parametrize(
    ("path", "twin", "base"),
    [
        pytest.param("/", "/api/v1/overview", "range=1h", id="overview"),
        pytest.param("/tools", "/api/v1/tools", "range=1h", id="tools"),
        pytest.param("/tools/docs-mcp/read", "/api/v1/tools/docs-mcp/read", "range=1h&server=docs-mcp&tool=read", id="tool"),
    ],
)
def test_behind_every_number_stand_as_many_calls(client: TestClient, path: str, twin: str, base: str) -> None:
    total = client.get(twin).json()["total"]
    links = set(Page(client.get(path).text).links)
    for kind in kinds.ALL:
        name = kind.name
        link = f"/calls?{base}&{urlencode(kind.filters)}"
        if not total[name]:
            assert link not in links
            continue
        assert link in links
        page = Page(client.get(link).text)
        assert f"{total[name]:,} match" in page.text
        assert len(client.get(f"/api/v1{link}&limit=1000").json()["calls"]) == min(1000, total[name])


def test_the_pages_of_a_list_hold_every_call_once_and_in_order(client: TestClient, calls: list[dict[str, object]]) -> None:
    for query in ("range=1h", "range=1h&outcome=failure", "range=1h&tool=read", "range=1h&client=(none)&emptiness=unknown"):
        found: list[tuple[int, str, str]] = []
        cursor = ""
        while cursor is not None:
            answer = client.get(f"/api/v1/calls?{query}&limit=170&cursor={cursor}").json()
            found += [(call["start_ns"], call["trace_id"], call["call_id"]) for call in answer["calls"]]
            cursor = answer["next"]
        assert found == sorted(found, reverse=True)
        assert len(set(found)) == len(found)
        wanted = dict(pair.split("=") for pair in query.split("&")[1:])
        wanted = {name: value.replace("(none)", "") for name, value in wanted.items()}
        assert len(found) == sum(all(row[name] == value for name, value in wanted.items()) for row in calls)


def test_the_running_minute_counts_up_to_now(client: TestClient, calls: list[dict[str, object]]) -> None:
    twin = client.get("/api/v1/overview?from=-30m").json()
    elapsed = (seeds.NOW_NS - twin["from_ns"]) / seeds.MINUTE_NS
    assert twin["calls_a_minute"] == pytest.approx(twin["total"]["calls"] / elapsed)


def test_filters_act_on_everything(client: TestClient) -> None:
    whole, part = (client.get(f"/api/v1/overview?{query}").json() for query in ("", "client=a&tool=read"))
    assert 0 < part["total"]["calls"] < whole["total"]["calls"]
    assert [tool["tool"] for tool in part["tools"]] == ["read"]
    assert {call["client"] for call in part["latest_failures"]} == {"a"}


def test_the_split_by_error_type_is_one_click_away(client: TestClient) -> None:
    page = Page(client.get("/calls?outcome=failure&category=transient").text)
    links = [link for link in page.links if "error_type=" in link]
    counts = {link.split("error_type=")[1]: len(client.get(f"/api/v1{link}&limit=1000").json()["calls"]) for link in links}
    assert set(counts) == {"timeout", "connection_closed"}
    assert sum(counts.values()) == client.get("/api/v1/overview").json()["total"]["transient"]
