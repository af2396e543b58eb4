"""How much failures say, from the spans that a collector received."""

import json

from collector.suppression_counts import SuppressionCounts
from collector.work.contracting import LOOKED_AT, find_contract_faults
from schemas.contracts import ContractQuality
from tests.database import Database
from tests.spans import ERROR, START_NS, tool_span

MINUTE_NS = 60 * 10**9
START, END = START_NS - START_NS % (15 * MINUTE_NS), START_NS + 60 * MINUTE_NS
TRACES = [f"{number:032x}" for number in range(1, 400)]


def qualities(database: Database) -> list[ContractQuality]:
    return find_contract_faults(SuppressionCounts(database.engine), START, END)


def body(**fields: object) -> dict[str, object]:
    return {"isError": True, "gen_ai.tool.call.result": json.dumps({"isError": True, **fields})}


def test_what_a_tool_says_is_read_from_its_spans(database: Database) -> None:
    whole = body(
        errorCategory="business", isRetryable=False, description="Too late to cancel.", customerMessage="Sorry.", attemptedQuery={"id": 7}
    )
    bare = {"error.type": "tool_error"}
    database.take(
        tool_span(trace=TRACES[0], attributes=whole),
        tool_span(trace=TRACES[1], status=ERROR, message="Internal error", attributes=bare),
        tool_span(trace=TRACES[2], status=ERROR, message="No results found", attributes=bare),
        tool_span(trace=TRACES[3]),
    )
    [found] = qualities(database)
    assert (found.server, found.tool, found.failures) == ("docs-mcp", "search_docs", 3)
    said = {one.id: (one.k, one.n) for one in found.findings}
    assert said == {
        "category": (1, 2), "retryable": (1, 2), "message": (1, 2), "no_contradiction": (2, 2), "customer_message": (1, 1), "attempted_query": (1, 2),
        "honest_empty": (2, 3),
    }  # fmt: skip
    category = found.findings[0]
    assert category.example == f"{TRACES[1]}/{1:016x}"
    assert json.loads(category.suggested)["isError"] is True


def test_a_tool_that_was_not_reached_is_asked_for_nothing(database: Database) -> None:
    database.take(tool_span(trace=TRACES[0], status=ERROR, message="timed out", attributes={"error.type": "TimeoutError"}))
    assert qualities(database) == []


def test_the_newest_failures_are_looked_at_and_no_more(database: Database) -> None:
    spans = [
        tool_span(trace=TRACES[number], start=number * 5, status=ERROR, message="Error" if number < 20 else f"order {number} is locked")
        for number in range(LOOKED_AT + 20)
    ]
    database.take(*spans)
    [found] = qualities(database)
    assert found.failures == LOOKED_AT
    assert {one.id: one.k for one in found.findings}["message"] == LOOKED_AT


def test_of_spans_that_aged_out_the_call_is_left(database: Database) -> None:
    database.take(
        tool_span(trace=TRACES[0], attributes=body(errorCategory="permission", isRetryable=False, description="The token lacks a scope."))
    )
    with database.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM tool_span")
    [found] = qualities(database)
    assert {one.id: one.k for one in found.findings} == {"category": 1, "retryable": 0, "message": 1, "no_contradiction": 1}
