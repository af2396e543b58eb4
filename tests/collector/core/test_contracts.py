"""What failures are asked for, which messages tell nothing, and the error bodies that are suggested."""

import json
from typing import Any

import pytest

from collector.core.contracts import Told, generic, quality, suggested, tells
from collector.core.reading import Reading
from schemas.contracts import ASKED, NAMES, ContractFinding, ContractQuality, findings_in, written
from tests.tables import sentences

GOOD = Told(
    "aa/bb",
    "business",
    True,
    False,
    False,
    "The policy allows returns within 30 days.",
    "tool_error",
    "body",
    None,
    False,
    "Sorry.",
    None,
    False,
)


def told(**changes: Any) -> Told:
    return GOOD._replace(**changes)


def finding(name: str, *calls: Told) -> ContractFinding | None:
    return next((one for one in quality("", "s", "t", calls).findings if one.id == name), None)


@pytest.mark.parametrize(
    "message",
    [
        None, "", " ", "Error", "error!", "Operation failed", "Internal error", "Internal Server Error", "An error occurred", "Something went wrong.",
        "Unknown error (500)", "Tool execution failed", "ValueError", "httpx.ReadError", "Error executing tool get_order: ", "Sorry, please try again later.",
        "[object Object]", "null", "Unexpected error: Exception", "MCP error -32603: Internal error", "The request could not be completed",
    ],
)  # fmt: skip
def test_messages_that_fit_every_failure(message: str | None) -> None:
    assert generic(message)


@pytest.mark.parametrize(
    "message",
    [
        "Order A-17 was not found", "timeout after 30 s", "Operation failed: quota exceeded", "connection refused", "permission denied", "ValueError: bad date",
        "The backend did not answer within 2 s.", "Error executing tool get_order: no such customer", "Fehler beim Laden", "数据库连接失败", "missing field 'q'",
    ],
)  # fmt: skip
def test_messages_that_tell(message: str) -> None:
    assert not generic(message)


@sentences(
    "name, good, lacking",
    {
        "a category": ("category", GOOD, told(declared=False)),
        "whether to retry": ("retryable", GOOD, told(declared_retryable=None)),
        "a message": ("message", GOOD, told(message="Internal error")),
        "no contradiction": ("no_contradiction", GOOD, told(contradicts=True)),
        "a customer message of business errors": ("customer_message", GOOD, told(customer_message=None)),
        "the attempted query, where any has it": ("attempted_query", told(attempted='{"q": 1}'), GOOD),
        "partial results, where any has them": ("partial_results", told(partial_results=True), GOOD),
        "a real failure": ("honest_empty", GOOD, told(message="No results found.")),
    },
)
def test_what_failures_are_asked_for(name: str, good: Told, lacking: Told) -> None:
    found = finding(name, good, lacking._replace(call="cc/dd"))
    assert found is not None
    assert (found.k, found.n, found.example) == (1, 2, "cc/dd")
    assert found.missing == 1
    assert found.change
    assert isinstance(json.loads(found.suggested), dict)
    fine = finding(name, good, good)
    assert fine is None or (fine.k, fine.n, fine.change, fine.example, fine.pretty) == (2, 2, "", "", "")


@sentences(
    "name, call",
    {
        "customers are told of business errors alone": ("customer_message", told(category="transient", customer_message=None)),
        "a tool that never sends a query": ("attempted_query", GOOD),
        "a tool that never has parts": ("partial_results", GOOD),
        "a tool whose failures are failures": ("honest_empty", GOOD),
    },
)
def test_what_is_not_asked_for(name: str, call: Told) -> None:
    assert finding(name, call, call) is None


def test_an_honest_empty_is_asked_for_nothing_but_to_be_none() -> None:
    found = quality("", "s", "t", [told(message="404"), told(message="no matches")])
    assert [(one.id, one.k, one.n) for one in found.findings] == [("honest_empty", 0, 2)]
    assert json.loads(found.findings[0].suggested) == {"isError": False, "items": [], "count": 0}


def test_no_failures_are_no_share() -> None:
    empty = quality("", "s", "t", [])
    assert (empty.share, empty.faults, empty.record()["share"]) == (None, (), None)


def test_the_share_is_of_all_that_is_asked_for_and_faults_come_most_first() -> None:
    found = quality("", "s", "t", [GOOD, told(declared=False, declared_retryable=None), told(declared=False)])
    assert found.share == pytest.approx(12 / 15)
    assert [one.id for one in found.faults] == ["category", "retryable"]
    assert found.order < ContractQuality("", "a", "a", 3, ()).order


@sentences(
    "call, body",
    {
        "all that the call says": (
            told(category="transient", message="db is away", retryable=True, retry_after_ms=500),
            {"isError": True, "errorCategory": "transient", "isRetryable": True, "description": "db is away", "retryAfterMs": 500},
        ),
        "the category decides where the two contradict": (
            told(category="permission", retryable=True, message="no scope"),
            {"isError": True, "errorCategory": "permission", "isRetryable": False, "description": "no scope"},
        ),
        "what is left to its author": (
            told(category="unclassified", retryable=None, message="Error", error_type="KeyError"),
            {
                "isError": True,
                "errorCategory": "<transient, validation, business or permission>",
                "isRetryable": "<true if the same request can succeed later, else false>",
                "description": "<what failed, with which value, and what to do, here KeyError>",
            },
        ),
        "business errors tell the customer": (
            told(customer_message=None, message="x" * 400),
            {
                "isError": True,
                "errorCategory": "business",
                "isRetryable": False,
                "description": "x" * 299 + "…",
                "customerMessage": "<what the customer may be told>",
            },
        ),
    },
)
def test_suggested_bodies(call: Told, body: dict[str, Any]) -> None:
    assert suggested(call, "category") == body


def test_a_suggestion_escapes_what_a_tool_wrote() -> None:
    found = finding("category", told(declared=False, message="\u202e</script>\x07 evil"))
    assert found is not None
    assert "\u202e" not in found.suggested + found.pretty
    assert "\x07" not in found.suggested + found.pretty


def test_findings_are_read_as_they_were_written() -> None:
    findings = quality("", "s", "t", [told(declared=False, message="é")]).findings
    assert findings_in(written(findings)) == findings
    assert set(NAMES) == set(ASKED)


def reading(**given: Any) -> Reading:
    return Reading(None, "t", **given)  # type: ignore[arg-type]


ROW = {
    "call": "aa/bb", "category": "business", "category_decided_by": "body", "retryable": False, "error_type": None, "message": "no", "retry_after_ms": None,
    "flags": "",
}  # fmt: skip


@sentences(
    "row, readings, declared, retryable",
    {
        "a body says both": ({}, [reading(results=({"error": {"by": "body", "category": "business", "retryable": False}},))], True, False),
        "an attribute says it": ({"category_decided_by": "declared"}, [reading(text={"category": "business"}, retryable=True)], True, True),
        "an HTTP code is our guess": ({"category": "transient", "category_decided_by": "http:503"}, [reading()], False, None),
        "a code of the protocol is not": ({"category": "validation", "category_decided_by": "jsonrpc:-32602"}, [reading()], True, None),
        "a word that nobody knows is no category": ({"category": "unclassified"}, [reading(text={"category": "weird"})], False, None),
        "spans that aged out leave what the call says": ({}, [], True, None),
    },
)
def test_what_a_failure_says(row: dict[str, Any], readings: list[Reading], declared: bool, retryable: bool | None) -> None:
    found = tells({**ROW, **row}, readings)
    assert (found.declared, found.declared_retryable) == (declared, retryable)


def test_bodies_say_the_rest() -> None:
    body = {"by": "body", "customer_message": "Sorry.", "attempted": "q=1", "partial_results": True}
    found = tells({**ROW, "flags": "contradicts_retryable views_disagree"}, [reading(), reading(results=({"error": body},))])
    assert (found.customer_message, found.attempted, found.partial_results, found.contradicts) == ("Sorry.", "q=1", True, True)
