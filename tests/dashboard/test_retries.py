"""The numbers of retries, from spans as exporters send them to the answer that a page gets."""

import csv
import io
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from dashboard.app import create_app
from schemas.settings import Settings
from tests.database import Database
from tests.spans import SECOND_NS, START_NS, request, tool_span
from tests.tables import sentences

TRANSIENT, PERMISSION, WELL = {"errorCategory": "transient"}, {"errorCategory": "permission"}, {"isError": False}
LATER_NS = START_NS + 3600 * SECOND_NS
Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def clock() -> list[int]:
    """What time it is, for tests to change."""
    return [LATER_NS]


@pytest.fixture
def client(database: Database, clock: list[int]) -> Iterator[TestClient]:
    """The dashboard over the database, an hour after the calls."""
    with TestClient(create_app(database.engine, Settings(), lambda: clock[0])) as client:
        yield client


@pytest.fixture
def ask(client: TestClient) -> Ask:
    """Ask for all retries of the two hours around the calls."""

    def ask(**filters: str) -> dict[str, Any]:
        answer = client.get("/api/v1/retries", params={"from": "2026-11-23T09:00:00Z", "to": "2026-11-23T11:00:00Z", **filters})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    return ask


def call(
    number: int, start: float, said: dict[str, Any], q: str = "x", session: str | None = "s", tool: str = "search", **more: Any
) -> Any:
    """A call of a tenth of a second with arguments, in a trace of its own."""
    named = {"gen_ai.tool.call.arguments": {"q": q}, **({} if session is None else {"session.id": session})}
    more = {"trace": f"{number:032x}", "seconds": 0.1} | more
    return tool_span(tool, number, start=start, attributes=named | said, **more)


def worked_vector() -> list[Any]:
    """F(retryable) F(retryable) S; F(not) F(not); F(retryable) alone, whose session goes on; S."""
    return [
        *(call(number, start, said, "a") for number, start, said in ((1, 0, TRANSIENT), (2, 2, TRANSIENT), (3, 6, WELL))),
        *(call(number, start, PERMISSION, "b", "t") for number, start in ((4, 0), (5, 1))),
        call(6, 0, TRANSIENT, "c", "u"),
        call(7, 300, WELL, "d", "u"),
    ]


def test_the_worked_vector(database: Database, ask: Ask) -> None:
    database.take(*worked_vector())
    total = ask()["total"]
    assert {name: total[name] for name in ("attempts", "operations", "open_operations", "retries")} == {
        "attempts": 7,
        "operations": 4,
        "open_operations": 0,
        "retries": 3,
    }
    assert total["of"] == {
        "retry_ratio": [3, 7],
        "retries_per_operation": [3, 4],
        "amplification": [7, 4],
        "attempt_success": [2, 7],
        "operation_success": [2, 4],
        "retry_success_per_attempt": [1, 3],
        "first_retry_success": [0, 2],
        "retry_success_rate": [1, 2],
        "recovery_all": [1, 3],
        "wasted_retry_ratio": [1, 3],
        "mislabelled_ratio": [0, 1],
        "futile_retry_ratio": [1, 3],
        "early_retry_ratio": [0, 3],
        "missed_retry_ratio": [1, 2],
        "exhausted_ratio": [0, 3],
        "repair_success": [0, 0],
    }
    assert (total["retry_ratio"], total["retries_per_operation"], total["amplification"]) == (pytest.approx(0.4286, abs=1e-4), 0.75, 1.75)
    # The one that recovered: from 0.1 s to 6.1 s, gaps of 1.9 and 3.9 s; beside it one gap of 0.9 s.
    assert total["time_to_recovery_p50_s"] == total["time_to_recovery_p90_s"] == 6.0
    assert total["backoff_p50_s"] == pytest.approx(1.9, rel=0.011)
    assert total["backoff_growth"] == pytest.approx(3.9 / 1.9)
    assert total["wasted_time_s"] == 0.1
    assert (total["recovered"], total["exhausted"], total["abandoned"], total["missed"]) == (1, 0, 2, 1)
    assert total["retries_by_strength"] == {"declared": 0, "same_arguments": 3, "same_tool": 0}
    assert total["funnel"] == [
        {"attempt": 1, "reached": 4, "ended_well": 1},
        {"attempt": 2, "reached": 2, "ended_well": 0},
        {"attempt": 3, "reached": 1, "ended_well": 1},
        {"attempt": 4, "reached": 0, "ended_well": 0},
    ]


def second_vector() -> list[Any]:
    """A fails and is repeated with success; B is well; C fails three times; D fails for permission and is left alone."""
    return [
        *(call(number, start, said, "a") for number, start, said in ((1, 0, TRANSIENT), (2, 1, WELL))),
        call(3, 0, WELL, "b"),
        *(call(number, start, TRANSIENT, "c") for number, start in ((4, 0), (5, 1), (6, 3))),
        call(7, 0, PERMISSION, "d"),
    ]


def test_the_second_vector(database: Database, ask: Ask) -> None:
    database.take(*second_vector())
    total = ask()["total"]
    assert (total["attempts"], total["operations"]) == (7, 4)
    assert total["of"]["attempt_success"] == [2, 7]
    assert total["of"]["operation_success"] == [2, 4]
    assert total["of"]["retry_success_rate"] == [1, 2]
    assert total["of"]["exhausted_ratio"] == [1, 3]


@sentences(
    "given, links",
    {
        "forty successful calls with equal arguments in a minute are polling": (
            [call(number, 1.5 * number, WELL) for number in range(1, 41)],
            {"new": 1, "repeat": 39},
        ),
        "parallel copies of one turn are a fan-out, also where they fail": (
            [call(number, 0.001 * number, TRANSIENT) for number in range(1, 5)],
            {"new": 1, "concurrent": 3},
        ),
        "pages with a cursor are other arguments, also after one that failed": (
            [call(number, number, TRANSIENT if number == 2 else WELL, f"cursor {number}") for number in range(1, 6)],
            {"new": 5},
        ),
        "the same question an hour later is new, also after a failure": (
            [call(1, 0.1 - 3600, TRANSIENT), call(2, 0.1, WELL)],
            {"new": 2},
        ),
    },
)
def test_no_retries(database: Database, ask: Ask, given: list[Any], links: dict[str, int]) -> None:
    calls = database.take(*given)
    assert {link: sum(one["link"] == link for one in calls) for link in links} == links
    total = ask()["total"]
    assert (total["attempts"], total["operations"], total["retries"]) == (len(given), len(given), 0)
    # Without retries their rates are not 0 %, they are not there.
    assert {total[name] for name in ("retry_success_rate", "wasted_retry_ratio", "futile_retry_ratio", "synchrony", "backoff_p50_s")} == {
        None
    }
    assert total["retry_ratio"] == 0
    assert [row["retries"] for row in ask()["tools"]] == [0]


def test_nothing_has_no_rates(ask: Ask) -> None:
    found = ask()
    assert (found["tools"], found["clients"], found["buckets"]) == ([], [], [])
    values = {name: value for name, value in found["total"].items() if name not in ("of", "funnel", "retries_by_strength")}
    assert {value for value in values.values() if value is not None} == {0}
    assert all(found["total"][name] is None for name in found["total"]["of"])


def test_what_is_open_counts_in_no_rate_until_it_is_closed(database: Database, clock: list[int], ask: Ask) -> None:
    database.take(*second_vector())
    # C ends at 3.1 s, D at 0.1 s.
    clock[0] = START_NS + 60 * SECOND_NS
    total = ask(**{"from": "2026-11-23T09:00:00Z", "to": "now"})["total"]
    assert (total["operations"], total["open_operations"]) == (4, 2)
    assert (total["of"]["operation_success"], total["of"]["retry_success_rate"]) == ([2, 2], [1, 1])
    assert (total["of"]["futile_retry_ratio"], total["of"]["exhausted_ratio"], total["wasted_time_s"]) == ([0, 3], [0, 1], 0)
    for now_s, still_open in ((120.1, 2), (120.2, 1), (123.1, 1), (123.2, 0)):
        clock[0] = START_NS + round(now_s * 10) * SECOND_NS // 10
        total = ask(**{"from": "2026-11-23T09:00:00Z", "to": "now"})["total"]
        assert total["open_operations"] == still_open, now_s
    assert (total["of"]["futile_retry_ratio"], total["wasted_time_s"]) == ([2, 3], 0.2)


def test_a_known_retry_after_keeps_an_operation_open_twice_as_long(database: Database, clock: list[int], ask: Ask) -> None:
    database.take(call(1, 0, TRANSIENT | {"retry_after_ms": 100_000}), call(2, 30, TRANSIENT | {"retry_after_ms": 100_000}))
    assert ask()["total"]["of"]["early_retry_ratio"] == [1, 1]
    clock[0] = START_NS + 200 * SECOND_NS
    assert ask()["total"]["open_operations"] == 1
    clock[0] = START_NS + 231 * SECOND_NS
    assert ask()["total"]["open_operations"] == 0


def test_weaker_links_can_be_left_out_with_all_their_calls(database: Database, ask: Ask) -> None:
    unseen = [
        tool_span("search", number, trace="c" * 32, parent=90, start=number, seconds=0.1, attributes=said)
        for number, said in ((10, TRANSIENT), (11, TRANSIENT), (12, WELL))
    ]
    declared = [call(20, 0, TRANSIENT, "p"), call(21, 1, WELL | {"retry.attempt": 2}, "p")]
    database.take(*second_vector(), *unseen, *declared)
    found = {strength: ask(strength=strength)["total"] for strength in ("same_tool", "same_arguments", "declared")}
    assert {name: (one["attempts"], one["operations"], one["retries"]) for name, one in found.items()} == {
        "same_tool": (12, 6, 6),
        "same_arguments": (9, 5, 4),
        "declared": (4, 3, 1),
    }
    assert found["same_tool"]["retries_by_strength"] == {"declared": 1, "same_arguments": 3, "same_tool": 2}
    assert [one["of"]["retry_success_rate"] for one in found.values()] == [[3, 4], [2, 3], [1, 1]]
    assert [one["of"]["attempt_success"] for one in found.values()] == [[4, 12], [3, 9], [2, 4]]


def test_tools_and_clients_add_up_to_the_total_and_filters_say_the_same(database: Database, ask: Ask) -> None:
    outer = tool_span("read", 40, trace="d" * 32, kind=3, start=1, seconds=0.3, attributes=TRANSIENT)
    inner = tool_span("read", 41, trace="d" * 32, parent=40, start=1.1, seconds=0.1)
    database.take(*worked_vector(), request(outer, service="agent"), inner)
    whole = ask()
    assert [(row["server"], row["tool"], row["retries"]) for row in whole["tools"]] == [("docs-mcp", "search", 3), ("docs-mcp", "read", 0)]
    assert [row["client"] for row in whole["clients"]] == ["", "agent"]
    for rows in (whole["tools"], whole["clients"], whole["buckets"]):
        for name in ("attempts", "operations", "retries", "open_operations"):
            assert sum(row[name] for row in rows) == whole["total"][name]
    [search, read] = whole["tools"]
    assert ask(tool="search")["total"] == {name: value for name, value in search.items() if name not in ("server", "tool")}
    assert ask(client="agent")["total"] == {name: value for name, value in read.items() if name not in ("server", "tool")}


def test_the_attempts_are_those_of_the_other_pages(database: Database, client: TestClient, ask: Ask) -> None:
    database.take(*worked_vector())
    overview = client.get("/api/v1/overview", params={"from": "2026-11-23T09:00:00Z", "to": "2026-11-23T11:00:00Z"}).json()["total"]
    total = ask()["total"]
    assert total["attempts"] == overview["calls"]
    assert total["of"]["attempt_success"] == [overview["calls"] - overview["failure"], overview["calls"]]


def test_retries_at_once_are_hot_and_retries_together_have_no_jitter(database: Database, ask: Ask) -> None:
    together = [call(100 * session + turn, 10 * turn, TRANSIENT, session=f"s{session}") for session in range(10) for turn in range(1, 5)]
    hot = [call(2001 + number, 0.15 * number, TRANSIENT, session="hot", tool="read") for number in range(5)]
    database.take(*together, *hot)
    rows = {row["tool"]: row for row in ask()["tools"]}
    assert (rows["read"]["hot_retries"], rows["read"]["early_retry_ratio"]) == (4, 1.0)
    assert (rows["search"]["hot_retries"], rows["search"]["retries"]) == (0, 30)
    # Thirty retries in three of the seconds that the range has of the five minutes.
    assert (rows["search"]["synchrony"], rows["search"]["synchrony_retries"]) == (pytest.approx(10 - 0.1), 30)
    assert rows["search"]["backoff_growth"] == pytest.approx(1.0)


def test_a_repair_is_no_retry_and_is_counted_with_its_success(database: Database, ask: Ask) -> None:
    database.take(call(1, 0, {"errorCategory": "validation"}, "wrong"), call(2, 1, WELL, "right"))
    total = ask()["total"]
    assert (total["retries"], total["repairs"], total["repair_success"], total["operations"]) == (0, 1, 1.0, 2)


def test_a_retry_whose_first_attempt_was_never_received_is_an_operation_of_its_own(database: Database, ask: Ask) -> None:
    database.take(call(1, 0, WELL | {"retry.attempt": 3}))
    total = ask()["total"]
    assert (total["attempts"], total["operations"], total["retries"]) == (1, 1, 1)
    # Nobody knows how its first attempt went.
    assert (total["of"]["retry_success_rate"], total["of"]["retry_success_per_attempt"]) == ([0, 0], [1, 1])


def test_the_table_of_tools_or_of_clients_comes_as_csv(database: Database, client: TestClient) -> None:
    database.take(*worked_vector())
    for by, key in (("tool", "server"), ("client", "client")):
        answer = client.get("/api/v1/retries", params={"range": "24h", "format": "csv", "by": by})
        [row] = csv.DictReader(io.StringIO(answer.text))
        assert key in row
        assert (row["retries"], row["retry_success_rate_part"], row["retry_success_rate_of"], row["retries_declared"]) == (
            "3",
            "1",
            "2",
            "0",
        )


@sentences(
    "query, problem",
    {
        "a filter by how calls went has no meaning for operations": ("category=transient", "an operation has several"),
        "a strength that there is not": ("strength=weak", "“strength” is one of same_tool, same_arguments, declared."),
        "a filter that there is not": ("sesion=s", "There is no filter named “sesion”"),
    },
)
def test_a_question_without_an_answer_is_refused_in_words(client: TestClient, query: str, problem: str) -> None:
    for path in ("/api/v1/retries", "/api/v1/chains"):
        answer = client.get(f"{path}?{query}")
        assert answer.status_code == 400
        assert problem in answer.json()["problems"][0]
