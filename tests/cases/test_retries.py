"""B20, B21, B23, B24 and B47: what is a retry, what it achieves, and that asking for it stays cheap."""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from fastapi.testclient import TestClient

from dashboard.app import create_app
from schemas.settings import Settings
from tests.database import Database, on_sqlite
from tests.plans import plan, statements_of
from tests.spans import SECOND_NS, START_NS, request, tool_span

ALL = {"from": "2026-11-23T09:00:00Z", "to": "2026-11-23T11:00:00Z"}


@pytest.fixture
def client(database: Database) -> Iterator[TestClient]:
    """The dashboard, an hour after the cases."""
    with TestClient(create_app(database.engine, Settings(), lambda: START_NS + 3600 * SECOND_NS)) as client:
        yield client


def called(number: int, start: float, session: str, q: str, **said: Any) -> Any:
    named = {"session.id": session, "gen_ai.tool.call.arguments": {"q": q}}
    return tool_span("get_balance", number, trace=f"{number:032x}", start=start, attributes=named | said)


def b20() -> list[Any]:
    transient = {"errorCategory": "transient", "isRetryable": True}
    return [
        called(1, 0, "s", "a", **transient),
        called(2, 1, "s", "a"),
        called(3, 0, "s", "b"),
        *(called(number, number, "s", "c", **transient) for number in (4, 5, 6)),
        called(7, 0, "s", "d", errorCategory="permission", isRetryable=False),
    ]


def test_b20_attempts_and_operations_are_two_grains_and_each_number_says_which(database: Database, client: TestClient) -> None:
    database.take(*b20())
    total = client.get("/api/v1/retries", params=ALL).json()["total"]
    assert (total["attempts"], total["operations"], total["retries"]) == (7, 4, 3)
    assert total["of"]["attempt_success"] == [2, 7]
    assert total["of"]["operation_success"] == [2, 4]
    assert total["of"]["retry_success_rate"] == [1, 2]


def test_b20_without_retried_calls_there_is_no_retry_success_rate(database: Database, client: TestClient) -> None:
    database.take(called(3, 0, "s", "b"), called(7, 0, "s", "d", errorCategory="permission"))
    total = client.get("/api/v1/retries", params=ALL).json()["total"]
    assert (total["retries"], total["retry_success_rate"], total["of"]["retry_success_rate"]) == (0, None, [0, 0])


def test_b21_only_a_call_that_says_so_or_repeats_its_arguments_is_a_retry(
    take: Callable[[str], list[dict[str, Any]]], client: TestClient
) -> None:
    calls = take("b21")
    assert [call["link"] for call in calls] == ["new", "new", "retry"]
    total = client.get("/api/v1/retries", params=ALL).json()["total"]
    assert total["retries_by_strength"] == {"declared": 1, "same_arguments": 0, "same_tool": 0}


def test_b21_what_is_inferred_is_labelled_and_can_be_left_out(database: Database, client: TestClient) -> None:
    database.take(*b20())
    inferred = client.get("/api/v1/retries", params=ALL).json()["total"]
    assert inferred["retries_by_strength"] == {"declared": 0, "same_arguments": 3, "same_tool": 0}
    sure = client.get("/api/v1/retries", params=ALL | {"strength": "declared"}).json()["total"]
    assert (sure["retries"], sure["retry_success_rate"]) == (0, None)


def b23() -> list[Any]:
    failing = [
        called(
            number + 1,
            10 * number,
            "s1",
            "x",
            errorCategory="permission",
            isRetryable=False,
            **({"retry.of": f"{number:016x}"} if number else {}),
        )
        for number in range(90)
    ]
    return failing + [called(1000 + number, 30 * number, "s2", f"y{number}") for number in range(30)]


def test_b23_ninety_attempts_are_one_operation_of_eighty_nine_wasted_retries(database: Database, client: TestClient) -> None:
    database.insert_together(b23())
    database.settle()
    total = client.get("/api/v1/retries", params=ALL).json()["total"]
    assert total["of"]["wasted_retry_ratio"] == total["of"]["futile_retry_ratio"] == [89, 89]
    # The good calls of the other session neither hide it nor belong to it.
    assert (total["attempts"], total["operations"], total["exhausted"]) == (120, 31, 1)
    [chain] = client.get("/api/v1/chains", params=ALL).json()["chains"]
    assert (chain["attempts"], chain["state"], chain["session"], chain["strength"]) == (90, "exhausted", "s1", "declared")
    found = client.get(f"/api/v1/chains/{chain['chain_id']}").json()
    assert [attempt["place"] for attempt in found["attempts"]] == list(range(1, 91))
    assert [attempt["wasted"] for attempt in found["attempts"]] == [None, *[True] * 89]


def test_b24_a_tight_loop_without_backoff_is_one_operation_whose_retries_are_hot(database: Database, client: TestClient) -> None:
    named = {"session.id": "s", "gen_ai.tool.call.arguments": {"url": "http://away"}, "errorCategory": "transient"}
    spans = [tool_span("fetch", number, start=number / 1000, seconds=0.0009, attributes=named) for number in range(1, 1201)]
    for start in range(0, 1200, 400):
        database.insert(request(*spans[start : start + 400]))
        database.settle()
    total = client.get("/api/v1/retries", params=ALL).json()["total"]
    assert (total["attempts"], total["operations"], total["hot_retries"]) == (1200, 1, 1199)
    assert (total["early_retry_ratio"], total["backoff_growth"], total["amplification"]) == (1.0, pytest.approx(1.0), 1200.0)
    assert total["backoff_p50_s"] == pytest.approx(0.0001, rel=0.011)
    [chain] = client.get("/api/v1/chains", params=ALL).json()["chains"]
    places, after = [], ""
    while True:
        found = client.get(f"/api/v1/chains/{chain['chain_id']}?after={after}").json()
        places += [attempt["place"] for attempt in found["attempts"]]
        if found["next"] is None:
            break
        after = found["next"]
    assert places == list(range(1, 1201))


PAGES = (
    "/api/v1/overview?",
    "/api/v1/tools?",
    "/api/v1/tools/docs-mcp/get_balance?",
    "/api/v1/calls?limit=2&",
    "/api/v1/retries?",
    "/api/v1/chains?limit=2&",
)


@on_sqlite
@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("asked", ["24h", "7d", "30d"])
def test_b47_no_page_reads_all_calls_or_all_operations(database: Database, client: TestClient, page: str, asked: str) -> None:
    database.take(*b20())
    with statements_of(database.engine) as seen:
        assert client.get(f"{page}range={asked}").status_code == 200
    for statement, parameters in seen:
        how = plan(database.engine, statement, parameters)
        assert not re.search(r"SCAN (call|tool_span|chain|retry)\b(?! USING COVERING INDEX ix_call_start_ns)", how), (how, statement)


@pytest.mark.parametrize("page", ["calls", "chains"])
def test_b47_lists_are_paged_by_key_and_hold_everything_once(database: Database, client: TestClient, page: str) -> None:
    database.insert_together(b23())
    database.insert_together(called(2000 + number, 7 * number, f"t{number}", "z", errorCategory="transient") for number in range(40))
    database.settle()
    found: list[dict[str, Any]] = []
    cursor = ""
    while cursor is not None:
        with statements_of(database.engine) as seen:
            answer = client.get(f"/api/v1/{page}", params=ALL | {"limit": 7, "cursor": cursor}).json()
        assert not [statement for statement, parameters in seen if "OFFSET" in statement and parameters[-1]]
        found += answer[page]
        cursor = answer["next"]
    names = [one.get("chain_id") if page == "chains" else (one["trace_id"], one["call_id"]) for one in found]
    assert len(set(names)) == len(names) == (41 if page == "chains" else 160)
    assert all(one["start_ns"] >= other["start_ns"] for one, other in pairwise(found))
