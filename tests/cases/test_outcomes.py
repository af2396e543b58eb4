"""B01 to B15: what failed, what did not, and whose mistake it was."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.database import Database
from tests.spans import ERROR, from_json, tool_span

Take = Callable[[str], list[dict[str, Any]]]


def rolled_up(database: Database, *names: str) -> Counter[Any]:
    """Calls by these dimensions, at the finest grain and width."""
    found: Counter[Any] = Counter()
    for row in database.rollup():
        if (row["grain"], row["width_s"]) == (0, 60):
            found[tuple(row[name] for name in names)] += row["calls"]
    return found


def test_b01_a_tool_error_at_status_unset_is_a_failure_with_its_declared_category(take: Take, database: Database) -> None:
    [call] = take("b01")
    assert (call["tool"], call["outcome"], call["category"], call["retryable"]) == ("search_docs", "failure", "transient", 1)
    assert (call["decided_by"], call["category_decided_by"]) == ("declared", "declared")
    assert rolled_up(database, "outcome", "category", "retryable") == {("failure", "transient", "true"): 1}


@pytest.mark.parametrize("status", [0, 1], ids=["Unset", "OK"])
@pytest.mark.parametrize(
    "attributes",
    [{"isError": True}, {"error.type": "tool_error"}, {"gen_ai.tool.call.result": '{"content": [], "isError": true}'}],
    ids=["isError", "error.type", "the visible result"],
)
def test_b01_no_status_turns_a_failure_into_a_success(database: Database, status: int, attributes: dict[str, Any]) -> None:
    [call] = database.take(tool_span(status=status, attributes=attributes))
    assert call["outcome"] == "failure"


def test_b02_only_the_inner_tool_span_is_a_call_and_it_failed(take: Take, database: Database) -> None:
    [call] = take("b02")
    assert (call["tool"], call["outcome"], call["category"], call["message"]) == ("fetch", "failure", "transient", "upstream 500")
    assert sum(rolled_up(database, "outcome").values()) == 1
    [place] = database.rows("SELECT name FROM ancestry") or [{"name": "POST /mcp, a root that nothing passes through"}]
    assert place["name"].startswith("POST /mcp")
    assert database.counters()["refused_spans"] == 0


def test_b03_a_callers_mistake_is_a_validation_failure_and_no_outage_of_the_server(take: Take, database: Database) -> None:
    calls = take("b03")
    assert [(call["tool"], call["outcome"], call["category"], call["channel"]) for call in calls] == [
        ("create_ticket", "failure", "validation", "protocol"),
        ("create_ticket", "failure", "unclassified", "protocol"),
    ]
    assert rolled_up(database, "category") == {("validation",): 1, ("unclassified",): 1}


def test_b03_the_mix_does_not_jump_when_producers_upgrade(database: Database) -> None:
    new = tool_span(number=1, attributes={"rpc.response.status_code": "-32602"})
    old = tool_span(number=2, status=ERROR, attributes={"rpc.response.status_code": "-32602", "error.type": "-32602"})
    client = tool_span(number=3, kind=3, status=ERROR, attributes={"error.type": "-32602"})
    assert {(call["outcome"], call["category"], call["retryable"]) for call in database.take(new, old, client)} == {
        ("failure", "validation", 0)
    }


@pytest.mark.parametrize("code", ["-32700", "-32600", "-32601", "-32602", "-32002"])
def test_b03_an_unset_code_of_the_caller_never_becomes_a_success(database: Database, code: str) -> None:
    [call] = database.take(tool_span(attributes={"rpc.response.status_code": code}))
    assert (call["outcome"], call["channel"]) == ("failure", "protocol")


def test_b05_free_text_makes_no_failure(take: Take) -> None:
    [call] = take("b05")
    assert (call["outcome"], call["emptiness"], call["flags"]) == ("success", "data", "")


def test_b05_a_category_beside_is_error_false_is_a_failure_and_the_contradiction_is_named(database: Database) -> None:
    [call] = database.take(tool_span(attributes={"isError": False, "errorCategory": "permission"}))
    assert (call["outcome"], call["category"], call["flags"]) == ("failure", "permission", "contradicts_is_error")


def test_b10_a_handled_error_is_a_failure_by_the_producers_own_key(take: Take) -> None:
    """The specification lists tool.status among the names of an is-error attribute: so it is mapped by default."""
    [call] = take("b10")
    assert (call["outcome"], call["category"], call["decided_by"]) == ("failure", "unclassified", "is_error")
    assert call["message"] == "division by zero"


def test_b10_a_producers_own_key_can_be_mapped_by_a_setting(database: Database) -> None:
    given = tool_span("divide", attributes={"acme.outcome": "error", "gen_ai.tool.call.result": "division by zero"})
    assert [call["outcome"] for call in database.take(given)] == ["success"]
    database.use(aliases={"is_error": ("acme.outcome",)})
    database.rebuild()
    assert [(call["outcome"], call["category"]) for call in database.calls()] == [("failure", "unclassified")]


def test_b11_timeout_transport_fault_and_tool_error_stay_apart(take: Take, database: Database) -> None:
    calls = take("b11")
    assert [(call["category"], call["error_type"], call["channel"]) for call in calls] == [
        ("transient", "timeout", "transport"),
        ("transient", "connection_closed", "transport"),
        ("business", "tool_error", "tool"),
    ]
    assert rolled_up(database, "outcome", "category") == {("failure", "transient"): 2, ("failure", "business"): 1}


def test_b11_an_unknown_tool_still_names_its_server(database: Database) -> None:
    given = tool_span("serch", kind=3, status=ERROR, message="Unknown tool: serch", attributes={"mcp.server.name": "docs"})
    [call] = database.take(given)
    assert (call["server"], call["category"]) == ("docs", "validation")


def test_b13_a_cancelled_call_is_neither_failure_nor_success(take: Take, database: Database) -> None:
    calls = take("b13")
    assert [(call["outcome"], call["category"]) for call in calls] == [("cancelled", None), ("success", None)]
    assert calls[1]["emptiness"] == "data"
    assert rolled_up(database, "outcome") == {("cancelled",): 1, ("success",): 1}
    # Nor does what comes after it repeat it.
    assert [call["link"] for call in calls] == ["new", "new"]


def test_b15_a_declared_category_beats_an_internal_error_code(take: Take) -> None:
    [call] = take("b15")
    assert (call["category"], call["retryable"], call["channel"]) == ("validation", 0, "protocol")
    assert call["message"] == "Path not found: nonexistent_path.py"


@pytest.mark.parametrize(
    ("word", "category", "raw"),
    [
        ("VALIDATION ", "validation", "VALIDATION "),
        ("Transient", "transient", "Transient"),
        ("rate_limit", "transient", "rate_limit"),
        ("validation", "validation", None),
        ("phase_of_the_moon", "unclassified", "phase_of_the_moon"),
    ],
)
def test_b15_category_words_are_trimmed_and_folded_and_unknown_ones_kept(database: Database, word: str, category: str, raw: str) -> None:
    [call] = database.take(tool_span(attributes={"errorCategory": word}))
    assert (call["category"], call["raw_category"]) == (category, raw)


def test_b15_an_internal_error_code_alone_is_unclassified(database: Database) -> None:
    [call] = database.take(tool_span(attributes={"rpc.response.status_code": "-32603", "error.type": "-32603"}, status=ERROR))
    assert (call["category"], call["retryable"]) == ("unclassified", None)


def test_a_lone_span_and_its_request_are_the_same(database: Database) -> None:
    given = {"traceId": "0a" * 16, "spanId": "0b" * 8, "name": "tools/call x", "startTimeUnixNano": "1795428000000000000"}
    assert len(database.take(from_json(given), from_json(json.dumps(given)))) == 1
