"""What one call says of all its views together."""

import itertools
import json
from typing import Any

import pytest

from collector.core.fold import fold
from schemas.calls import FailedChild
from tests.spans import (
    CLIENT,
    ERROR,
    LEXICON,
    NOW_NS,
    SECOND_NS,
    agent_span,
    call,
    calls,
    decoded,
    exception,
    folded,
    request,
    result,
    span,
    tool_span,
)
from tests.tables import sentences


def three(agent: dict[str, Any] | None = None, client: dict[str, Any] | None = None, server: dict[str, Any] | None = None) -> list[Any]:
    """Agent, client and server span of one call, each with changes."""
    return [
        request(agent_span(number=1, **{"seconds": 0.4, **(agent or {})}), service="agent", scope="agents"),
        request(
            tool_span(number=2, parent=1, kind=CLIENT, **{"start": 0.05, "seconds": 0.3, **(client or {})}), service="agent", scope="mcp"
        ),
        request(tool_span(number=3, parent=2, **{"start": 0.1, "seconds": 0.2, **(server or {})}), service="docs-mcp", scope="mcp"),
    ]


def attributes(**said: Any) -> dict[str, Any]:
    return {"attributes": {key.replace("__", "."): value for key, value in said.items()}}


BODY = '{"errorCategory": "business", "isRetryable": false, "description": "closed"}'
FAILURE, CANCELLED, DEFERRED = {"status": ERROR}, attributes(error__type="cancelled"), attributes(resultType="task")
PARTIAL, SUCCESS = attributes(output__value='{"partial": true}'), attributes(output__value="[1]")


def test_a_call_is_named_and_timed_by_its_outermost_span() -> None:
    found = call(*three())
    assert found.call_id == (1).to_bytes(8, "big")
    assert (found.duration_ns, found.server_duration_ns) == (4 * 10**8, 2 * 10**8)
    assert found.end_ns == found.start_ns + 4 * 10**8
    assert (found.client, found.server, found.tool) == ("agent", "docs-mcp", "search_docs")


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_a_call_is_the_same_in_any_order(order: tuple[int, ...]) -> None:
    given = three(FAILURE, attributes(error__type="-32001"), attributes(output__value="[]"))
    assert call(*(given[place] for place in order)) == call(*given)


def test_spans_alone_are_calls_of_their_own() -> None:
    _, client, server = three()
    found = call(server)
    assert (found.client, found.server, found.duration_ns, found.server_duration_ns) == ("", "docs-mcp", 2 * 10**8, 2 * 10**8)
    found = call(client)
    assert (found.client, found.server, found.server_duration_ns) == ("agent", "", None)


@sentences(
    "views, outcome",
    {
        "failure over everything": ((SUCCESS, CANCELLED, FAILURE), "failure"),
        "cancelled over partial": ((PARTIAL, CANCELLED, SUCCESS), "cancelled"),
        "partial over deferred": ((DEFERRED, PARTIAL, SUCCESS), "partial"),
        "deferred over success": ((SUCCESS, DEFERRED, SUCCESS), "deferred"),
        "success if nothing else": ((SUCCESS, {}, SUCCESS), "success"),
    },
)
def test_the_worst_outcome_counts(views: tuple[Any, Any, Any], outcome: str) -> None:
    for changes in itertools.permutations(views):
        assert call(*three(*changes)).outcome == outcome


def test_each_view_keeps_its_own_verdict() -> None:
    found = call(*three(FAILURE, attributes(errorCategory="transient"), attributes(output__value="[]")))
    assert [(view.layer, view.outcome, view.emptiness, view.category, view.decided_by) for view in found.views] == [
        ("agent", "failure", None, "unclassified", "status"),
        ("client", "failure", None, "transient", "declared"),
        ("server", "success", "empty", None, "no_failure"),
    ]
    assert [(view.service, view.scope, view.duration_ns) for view in found.views] == [
        ("agent", "agents", 4 * 10**8),
        ("agent", "mcp", 3 * 10**8),
        ("docs-mcp", "mcp", 2 * 10**8),
    ]


@sentences(
    "views, category, by",
    {
        "declared over body": ((FAILURE, attributes(errorCategory="transient"), attributes(output__value=BODY)), "transient", "declared"),
        "body over code": ((attributes(error__type="-32602"), {}, attributes(output__value=BODY)), "business", "body"),
        "code over class": (({}, {"events": [exception("TimeoutError")]}, attributes(error__type="-32602")), "validation", "jsonrpc:-32602"),
        "class over text": (
            (attributes(error__type="PermissionError"), {"status": ERROR, "message": "timed out"}, {}),
            "permission",
            "class:PermissionError",
        ),
        "text over nothing": (({"status": ERROR, "message": "timed out"}, FAILURE, FAILURE), "transient", "text:timed out"),
        "server over client at equal strength": (
            ({}, attributes(errorCategory="transient"), attributes(errorCategory="business")),
            "business",
            "declared",
        ),
        "evidence of a view that took itself for a success": (
            (FAILURE, {}, attributes(output__value="Error: " + BODY)),
            "business",
            "body",
        ),
    },
)  # fmt: skip
def test_the_most_specific_evidence_gives_the_category(views: tuple[Any, Any, Any], category: str, by: str) -> None:
    found = call(*three(*views))
    assert (found.outcome, found.category, found.category_decided_by) == ("failure", category, by)


def test_retryable_of_another_view_counts_if_the_best_evidence_says_nothing_of_it() -> None:
    assert call(*three({}, attributes(isRetryable=True), attributes(errorCategory="business"))).retryable is True
    assert call(*three({}, attributes(), attributes(errorCategory="business"))).retryable is False


def test_the_message_of_the_error_body_is_the_calls() -> None:
    found = call(*three({"status": ERROR, "message": "tool failed"}, {}, attributes(output__value=BODY)))
    assert (found.message, found.decided_by) == ("closed", "status")


@sentences(
    "views, channel",
    {
        "transport if any view says so": (({"status": ERROR, "events": [exception("TimeoutError")]}, FAILURE, {}), "transport"),
        "protocol before tool": ((FAILURE, attributes(error__type="-32602"), {}), "protocol"),
        "tool otherwise": ((FAILURE, attributes(isError=True), {}), "tool"),
    },
)
def test_the_channel_of_all_views(views: tuple[Any, Any, Any], channel: str) -> None:
    assert call(*three(*views)).channel == channel


@sentences(
    "views, emptiness",
    {
        "from any view that knows": (({}, attributes(output__value="[]"), {}), "empty"),
        "from the innermost of several": ((attributes(output__value="[1]"), {}, attributes(output__value="[]")), "empty"),
        "declared before visible": ((attributes(resultCount=3), {}, attributes(output__value="[]")), "data"),
        "unknown if no view knows": (({}, {}, {}), "unknown"),
        "for a partial result too": (({}, {}, attributes(output__value='{"partial": true, "rows": [1]}')), "data"),
    },
)
def test_the_emptiness_of_all_views(views: tuple[Any, Any, Any], emptiness: str) -> None:
    assert call(*three(*views)).emptiness == emptiness


def test_emptiness_is_for_successes_and_the_category_for_failures() -> None:
    failed, well = call(*three(FAILURE, {}, attributes(resultCount=0))), call(*three({}, {}, attributes(resultCount=0)))
    assert (failed.emptiness, well.emptiness) == (None, "empty")
    assert (well.category, well.retryable, well.channel) == (None, None, None)


@sentences(
    "views, flags",
    {
        "the client gave up and the server finished": (
            (
                {"status": ERROR},
                {"status": ERROR, "events": [exception("TimeoutError")]},
                {"seconds": 5},
            ),
            ("server_finished",),
        ),
        "a client that gave up and a server that failed too": (
            ({"status": ERROR}, {"status": ERROR, "events": [exception("TimeoutError")]}, {"status": ERROR}),
            (),
        ),
        "a server that ran on for more than a second": (({}, {}, {"seconds": 1.3}), ("caller_gone",)),
        "a server that ran on for less": (({}, {}, {"seconds": 1.2}), ()),
        "a server that outlives a caller that failed": ((FAILURE, FAILURE, {"seconds": 5}), ()),
        "a server that outlives a caller that was cancelled": ((CANCELLED, CANCELLED, {"seconds": 5}), ()),
        "a caller without an end": (({}, {"seconds": -1}, {"seconds": 5}), ()),
        "one view saw a result and took it for a success": ((FAILURE, {}, SUCCESS), ("views_disagree",)),
        "one view saw nothing": ((FAILURE, {}, {}), ()),
        "a category beside isError false": (({}, {}, attributes(errorCategory="business", isError=False)), ("contradicts_is_error",)),
        "permission but retryable": (({}, {}, attributes(errorCategory="permission", isRetryable=True)), ("contradicts_retryable",)),
        "partial results beside an error": (
            ({}, {}, attributes(output__value=json.dumps({"isError": True, "partial_results": [1]}))),
            ("salvaged",),
        ),
        "a span of the future": (({}, {}, {"start": 661}), ("caller_gone", "clock_skew")),
        "a span that ends in the future": (({"seconds": 700}, {}, {}), ("clock_skew",)),
        "nothing": (({}, {}, {}), ()),
    },
)
def test_flags(views: tuple[Any, Any, Any], flags: tuple[str, ...]) -> None:
    assert call(*three(*views)).flags == flags


def test_a_client_that_timed_out_is_a_failure_of_the_transport_though_the_server_finished() -> None:
    found = call(*three({}, attributes(error__type="-32001") | {"status": ERROR, "message": "Request timed out"}, {"seconds": 5}))
    assert (found.outcome, found.category, found.channel, found.flags) == ("failure", "transient", "transport", ("server_finished",))
    assert found.duration_ns == 4 * 10**8
    assert found.server_duration_ns == 5 * 10**9


@sentences(
    "end, end_ns, duration_ns",
    {
        "an end before the start is none": (-SECOND_NS, None, None),
        "an end of 0 is none": (None, None, None),
        "an end at the start is no time": (0, 0, 0),
        "an end of another century is no duration": (10**18, 10**18, None),
    },
)
def test_durations_that_cannot_be(end: int | None, end_ns: int | None, duration_ns: int | None) -> None:
    given = tool_span()
    given.end_time_unix_nano = 0 if end is None else given.start_time_unix_nano + end
    found = call(given)
    assert found.end_ns == (None if end_ns is None else found.start_ns + end_ns)
    assert (found.duration_ns, found.server_duration_ns) == (duration_ns, duration_ns)


@sentences(
    "views, server",
    {
        "its name in any view, the innermost first": (
            (attributes(mcp_server_name="outer"), attributes(mcp__server__name="inner"), {}),
            "inner",
        ),
        "else the service of the server's own span": (({}, attributes(server__address="mcp.example"), {}), "docs-mcp"),
    },
)
def test_the_server_is_named_by(views: tuple[Any, Any, Any], server: str) -> None:
    assert call(*three(*views)).server == server


def test_without_a_server_span_the_address_names_the_server() -> None:
    assert call(*three({}, attributes(server__address="mcp.example"))[:2]).server == "mcp.example"


@sentences(
    "views, session",
    {
        "the conversation, the agent's first": (
            (attributes(gen_ai__conversation__id="a"), attributes(session__id="b"), attributes(mcp__session__id="c")),
            "a",
        ),
        "else the session of the transport": (({}, {}, attributes(mcp__session__id="c")), "c"),
        "nothing": (({}, {}, {}), None),
    },
)
def test_the_session_is(views: tuple[Any, Any, Any], session: str | None) -> None:
    assert call(*three(*views)).session == session


def test_the_environment_is_that_of_the_innermost_view_that_has_one() -> None:
    agent = request(agent_span(), service="agent", environment="laptop")
    server = request(tool_span(number=2, parent=1), environment="production")
    assert call(agent, server).environment == "production"
    assert call(agent, request(tool_span(number=2, parent=1))).environment == "laptop"


def test_what_the_emitter_says_of_retries_is_kept() -> None:
    found = calls(
        tool_span(number=1, parent=9),
        tool_span(number=2, parent=9, start=1, **attributes(retry__attempt=2, retry__of="0000000000000001", retry_after_ms=500)),
    )
    assert [(one.declared_attempt, one.retry_of, one.retry_after_ms) for one in found] == [
        (None, None, None),
        (2, (1).to_bytes(8, "big"), 500),
    ]


@sentences("text", {"no hex": "first", "too short": "01", "empty": ""})
def test_an_id_of_an_earlier_attempt_that_is_none_is_left_out(text: str) -> None:
    assert call(tool_span(**attributes(retry__of=text))).retry_of is None


def test_the_call_that_is_repeated_is_named_by_its_outermost_span() -> None:
    first = three()
    second = request(tool_span(number=12, parent=9, start=1, **attributes(retry__of=(3).to_bytes(8, "big").hex())))
    assert calls(*first, second)[1].retry_of == (1).to_bytes(8, "big")


def test_a_wait_that_an_error_body_asks_for_is_kept() -> None:
    assert call(tool_span(attributes=result('{"isError": true, "retry_after": 2}'))).retry_after_ms == 2000


def test_hashes_come_from_the_first_view_that_shows_arguments_and_result() -> None:
    shown = {"gen_ai.tool.call.arguments": '{"q": "a"}', "gen_ai.tool.call.result": "[1]"}
    one, other = call(*three({}, {"attributes": shown})), call(*three({"attributes": shown}))
    assert (one.arguments_hash, one.result_hash) == (other.arguments_hash, other.result_hash)
    assert one.arguments_hash is not None


# Failed children.


def backend(number: int, start: float = 0.1, *, parent: int = 3, failed: bool = True, **more: Any) -> Any:
    said = {"server.address": "orders", **({"error.type": "503", "http.response.status_code": 503} if failed else {})}
    return request(span("GET /orders", number, parent=parent, start=start, **{"attributes": said, **more}), service="docs-mcp")


def test_a_failed_span_below_a_call_is_evidence_on_it() -> None:
    found = call(*three({}, {}, attributes(resultCount=0)), backend(10))
    assert (found.outcome, found.emptiness) == ("success", "empty")
    assert found.failed_children == (FailedChild((10).to_bytes(8, "big"), "GET /orders", "docs-mcp", "503", 503, "orders", False),)


@sentences(
    "more, recovered",
    {
        "a later sibling that did the same well": ([backend(11, 0.2, failed=False)], True),
        "an earlier one": ([backend(11, 0.0, failed=False)], False),
        "a later one that failed too": ([backend(11, 0.2)], False),
        "one of another peer": ([backend(11, 0.2, failed=False, attributes={"server.address": "other"})], False),
        "one below another parent": ([backend(11, 0.2, parent=2, failed=False)], False),
    },
)
def test_a_failed_child_is_recovered_by(more: list[Any], recovered: bool) -> None:
    assert call(*three(), backend(10), *more).failed_children[0].recovered is recovered


def test_failed_children_pass_up_to_the_nearest_tool_span() -> None:
    deep = [request(span("query", 20, parent=3)), backend(21, parent=20)]
    other = request(tool_span("other", 30, parent=3))
    found = calls(*three(), *deep, other, backend(31, parent=30))
    assert {one.tool: [child.span_id[-1] for child in one.failed_children] for one in found} == {"search_docs": [21], "other": [31]}


def test_a_failed_span_that_no_call_stands_above_is_nobodys() -> None:
    assert call(*three(), backend(10, parent=77)).failed_children == ()


# Results that other spans carry.


def test_a_result_on_a_span_below_is_evidence_for_the_nearest_call() -> None:
    writer = request(span("ResponseStreamWriter", 9, parent=8, attributes={"mcp.response.value": '{"content": [], "isError": false}'}))
    between = request(span("send", 8, parent=3))
    assert call(*three(), writer, between).emptiness == "empty"


# What must not be pruned.


def test_only_places_that_a_call_rests_on_are_kept() -> None:
    between = request(span("POST /mcp", 7, parent=1, kind=CLIENT), service="agent")
    client = request(agent_span(), service="agent", scope="a")
    server = request(agent_span(number=2, parent=7), service="docs-mcp", scope="b")
    second = request(agent_span(number=3, parent=7, start=1), service="docs-mcp", scope="b")
    idle, failing = request(span("idle", 20, parent=2)), backend(21, parent=2)
    mended = backend(22, 0.5, parent=2, failed=False)
    given = [client, between, server, second, idle, failing, mended]
    found = folded(*given)
    assert {span_id[-1] for span_id in found.kept} == {7, 21, 22}
    everything = decoded(*given)
    kept = [one for one in everything.ancestors if one.span_id in found.kept]
    assert fold(everything.tool_spans, kept, LEXICON) == found


def test_the_time_of_receipt_says_whether_a_clock_is_wrong() -> None:
    early = decoded(tool_span(start=700), now_ns=NOW_NS)
    late = decoded(tool_span(start=700), now_ns=NOW_NS + 700 * SECOND_NS)
    assert fold(early.tool_spans, (), LEXICON).calls[0].flags == ("clock_skew",)
    assert fold(late.tool_spans, (), LEXICON).calls[0].flags == ()
