"""Settling: what is pending becomes calls, whatever the order of arrival, and nothing else is touched."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from collector.work.settle import Settler
from collector.work_store import WorkStore
from schemas.settings import Settings
from tests.database import Database, NewDatabase, on_postgresql, on_sqlite
from tests.spans import CLIENT, ERROR, INTERNAL, NOW_NS, SERVER, agent_span, exception, request, result, span, tool_span
from tests.tables import sentences

AGENT = request(agent_span(seconds=0.4), service="agent", scope="agents")
CALLER = request(tool_span(number=2, parent=1, kind=CLIENT, start=0.1), service="agent", scope="mcp")
HANDLER = request(tool_span(number=3, parent=2, start=0.2, status=ERROR, attributes={"errorCategory": "transient"}), scope="mcp")


def identities(database: Database) -> list[int]:
    return [row["call_id"][-1] for row in database.calls()]


def test_views_that_come_apart_end_in_one_call(database: Database) -> None:
    database.take(HANDLER)
    assert identities(database) == [3]
    database.take(AGENT)
    assert identities(database) == [1, 3]
    database.take(CALLER)
    assert identities(database) == [1]
    [call] = database.calls()
    assert (call["outcome"], call["category"], call["server"], call["client"]) == ("failure", "transient", "docs-mcp", "agent")
    assert [view["span_id"][-1] for view in json.loads(call["views"])] == ["1", "2", "3"]


def test_an_ancestor_that_comes_last_joins_two_calls(database: Database) -> None:
    caller, handler = request(tool_span(kind=CLIENT), service="agent"), request(tool_span(number=2, parent=9, start=0.1))
    assert len(database.take(caller, handler)) == 2
    assert len(database.take(span("POST /mcp", 9, parent=1))) == 1


def test_a_failed_child_that_comes_late_is_told_on_the_call(database: Database) -> None:
    database.take(tool_span(attributes={"resultCount": 0}))
    [call] = database.take(span("GET /orders", 5, parent=1, status=ERROR, attributes={"http.response.status_code": 503}))
    [child] = json.loads(call["failed_children"])
    assert (child["span_id"], child["http_status"], child["recovered"]) == ("0000000000000005", 503, False)
    assert call["emptiness"] == "empty"


def test_settling_what_is_settled_changes_nothing(database: Database) -> None:
    before = database.take(AGENT, CALLER, HANDLER)
    database.rebuild()
    assert database.calls() == before
    assert database.rollup() == database.rollup_as_it_must_be()


def test_an_unchanged_trace_notes_no_bucket(database: Database) -> None:
    database.take(AGENT)
    database.insert(AGENT)
    assert database.settler.settle(NOW_NS) == 1
    assert database.rows("SELECT * FROM pending_bucket") == []


def test_a_call_that_moves_notes_both_minutes(database: Database) -> None:
    minute = 60
    database.take(request(tool_span(number=2, parent=1, start=0), service="docs-mcp"))
    database.insert(request(agent_span(start=-minute), service="agent"))
    database.settler.settle(NOW_NS)
    assert len(database.rows("SELECT * FROM pending_bucket")) == 2
    database.settle()
    assert database.rollup() == database.rollup_as_it_must_be()


def test_a_step_settles_so_many_traces(database: Database) -> None:
    database.insert_together(tool_span(trace=f"{number:032x}") for number in range(1, 8))
    assert [database.settler.settle(NOW_NS, limit=3) for _ in range(4)] == [3, 3, 1, 0]
    assert len(database.calls()) == 7


def test_a_trace_without_a_tool_span_is_taken_off_the_list(database: Database) -> None:
    database.insert(span(number=2, parent=1))
    database.settle()
    assert database.work.pending_count() == 0
    assert database.calls() == []


def test_calls_go_when_their_spans_have_gone(database: Database) -> None:
    database.take(tool_span(), tool_span(number=2))
    with database.engine.begin() as connection:
        connection.execute(text("DELETE FROM tool_span WHERE span_id = :second"), {"second": bytes([0] * 7 + [2])})
    database.insert(span(number=7, parent=6))
    database.settle()
    assert identities(database) == [1]
    assert database.rollup() == database.rollup_as_it_must_be()


class Interrupted:
    """Does something of another process between what a settler reads and what it writes, once; on leaving, until it is done."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, database: Database, interruption: Callable[[], object], waits: bool = True) -> None:
        self._settling = WorkStore.settling
        # On PostgreSQL, what it does to the same trace has to wait until this transaction ends.
        self._waits = waits and database.engine.dialect.name == "postgresql"
        self._interruptions = [interruption]
        self._pool = ThreadPoolExecutor(1)
        monkeypatch.setattr(WorkStore, "settling", lambda store, versions: self._interrupted(store, versions))

    def __enter__(self) -> None:
        """Be there for every store."""

    def __exit__(self, *_: object) -> None:
        self._done.result()
        self._pool.shutdown()

    @contextmanager
    def _interrupted(self, store: WorkStore, versions: Any) -> Iterator[Any]:
        if self._interruptions:
            self._done = self._pool.submit(self._interruptions.pop())
            if not self._waits:
                self._done.result()
        with self._settling(store, versions) as transaction:
            yield transaction


@sentences(
    "interruption",
    {
        "a span arrives": lambda database: database.insert(HANDLER),
        "another worker settles": lambda database: database.settle(),
        "another worker settles, and a span arrives": lambda database: (database.settle(), database.insert(HANDLER, now_ns=NOW_NS + 10**9)),
        "a copy arrives, another worker settles, and a span arrives": lambda database: (
            database.insert(AGENT),
            database.settle(),
            database.insert(HANDLER, now_ns=NOW_NS + 10**9),
        ),
    },
)
@pytest.mark.parametrize("settled_before", [False, True], ids=["first", "again"])
def test_nothing_is_lost_if_meanwhile(
    new_database: NewDatabase, monkeypatch: pytest.MonkeyPatch, interruption: Any, settled_before: bool
) -> None:
    database = new_database()
    if settled_before:
        database.take(AGENT, CALLER)
    database.insert(AGENT, CALLER)
    with Interrupted(monkeypatch, database, lambda: interruption(database)):
        database.settle()
    database.insert(HANDLER)
    database.settle()
    calm = new_database()
    calm.take(AGENT, CALLER, HANDLER)
    assert database.calls() == calm.calls()
    assert database.rollup() == database.rollup_as_it_must_be() == calm.rollup()
    assert database.work.pending_count() == 0


def test_news_that_arrive_meanwhile_need_no_further_push(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    database.take(AGENT, CALLER)
    database.insert(AGENT)

    def interruption() -> None:
        database.settle()
        database.insert(HANDLER, now_ns=NOW_NS + 10**9)

    with Interrupted(monkeypatch, database, interruption):
        database.settle()
    database.settle()
    [call] = database.calls()
    assert len(json.loads(call["views"])) == 3


def test_links_that_another_worker_makes_meanwhile_are_heeded(new_database: NewDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    def failed(number: int, start: float, trace: int) -> Any:
        said = {"session.id": "s", "gen_ai.tool.call.arguments": {"q": 1}, "errorCategory": "transient"}
        return tool_span("search", number, trace=f"{trace:032x}", start=start, attributes=said)

    first, second, third = failed(1, 0, trace=1), failed(2, 5, trace=2), failed(3, 10, trace=2)
    database, calm = new_database(), new_database()
    database.take(second)
    database.insert(third)
    other = Settler(database.work, database.settings)
    with Interrupted(monkeypatch, database, lambda: (database.insert(first), other.settle(NOW_NS, limit=2)), waits=False):
        database.settler.settle(NOW_NS)
    database.settle()
    expected = calm.take(first, second, third)
    assert [call["attempt"] for call in expected] == [1, 2, 3]
    assert database.calls() == expected


# Rebuild after a change of rules.


def test_a_rebuild_judges_stored_spans_by_the_rules_of_now(database: Database) -> None:
    well = database.take(tool_span(attributes={"acme.class": "transient", "acme.failed": "true"}))
    assert [row["outcome"] for row in well] == ["success"]
    database.use(aliases={"category": ("acme.class",), "is_error": ("acme.failed",)})
    database.rebuild()
    [call] = database.calls()
    assert (call["outcome"], call["category"], call["decided_by"]) == ("failure", "transient", "declared")
    assert database.rollup() == database.rollup_as_it_must_be()
    database.use()
    database.rebuild()
    assert database.calls() == well
    assert database.rollup() == database.rollup_as_it_must_be()


@sentences(
    "rule, given_span, outcome, category",
    {
        "error_key": ("error_key", tool_span(attributes=result({"error": "boom"})), "success", None),
        "exception_event": ("exception_event", tool_span(events=[exception("ValueError")]), "success", None),
        "timeout_word": ("timeout_word", tool_span(status=ERROR, message="timed out"), "failure", "unclassified"),
    },
)
def test_a_rule_that_is_switched_off_judges_no_more(database: Database, rule: str, given_span: Any, outcome: str, category: str) -> None:
    [before] = database.take(given_span)
    assert before["outcome"] == "failure"
    database.use(disabled_rules=(rule,))
    database.rebuild()
    [after] = database.calls()
    assert (after["outcome"], after["category"]) == (outcome, category)


def test_a_rebuild_needs_no_payloads(database: Database) -> None:
    body = '{"errorCategory": "business", "isRetryable": false}'
    before = database.take(tool_span(attributes=result(body)), tool_span(number=2, attributes=result("[]")))
    assert [(row["outcome"], row["category"], row["emptiness"]) for row in before] == [
        ("failure", "business", None),
        ("success", None, "empty"),
    ]
    database.rebuild()
    assert database.calls() == before


def test_a_rebuild_after_pruning_gives_the_same_calls(database: Database) -> None:
    between = span("POST /mcp", 7, parent=1)
    given = [
        request(tool_span(kind=CLIENT), between, service="agent"),
        request(agent_span(number=2, parent=7), service="docs-mcp"),
        request(agent_span(number=3, parent=7, start=1), service="docs-mcp"),
        span("GET /orders", 9, parent=2, status=ERROR),
        span("idle", 10, parent=1),
    ]
    before = database.take(*given)
    assert database.work.prune_ancestry(NOW_NS + 1, 100) == 1
    database.rebuild()
    assert database.calls() == before


# Any order, any batches, any repetition, settled in between or not.

TOOL_NAMES = ("search", "read")
NAMES = ("tools/call", "execute_tool", "MCP send tools/call", "running tool:", "GET", "GET", "POST")


@st.composite
def spans(draw: st.DrawFn) -> Any:
    """A span of some role somewhere in a small trace: any parent, also itself, one that never comes, or one that makes a circle."""
    role = draw(st.sampled_from(["tool", "agent", "other", "other", "claude", "writer"]))
    common: dict[str, Any] = {
        "number": draw(st.integers(1, 7)),
        "parent": draw(st.none() | st.integers(1, 9)),
        "trace": draw(st.sampled_from(["11" * 16, "22" * 16])),
        "start": draw(st.sampled_from([0.0, 0.1, 0.2, 5.0, 59.9, 61.0, 700.0])),
        "seconds": draw(st.sampled_from([-1.0, 0.0, 0.1, 3.0])),
        "status": draw(st.sampled_from([0, 0, ERROR])),
    }
    said = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "errorCategory": st.sampled_from(["transient", "odd"]),
                "isError": st.booleans(),
                "error.type": st.sampled_from(["tool_error", "timeout", "cancelled", "503"]),
                "gen_ai.tool.call.result": st.sampled_from(["[]", "[1]", '{"partial": true}', '{"isError": true}']),
                "gen_ai.tool.call.arguments": st.sampled_from(['{"q": 1}', '{"q": 2}']),
                "session.id": st.sampled_from(["s", "t"]),
                "retry.of": st.sampled_from(["0000000000000001", "0000000000000003"]),
                "retry.attempt": st.integers(1, 3),
                "http.response.status_code": st.sampled_from([200, 503]),
            },
        )
    )
    tool = draw(st.sampled_from(TOOL_NAMES))
    if role == "tool":
        made = tool_span(tool, kind=draw(st.sampled_from([INTERNAL, SERVER, CLIENT])), attributes=said, **common)
    elif role == "agent":
        made = agent_span(tool, attributes=said, **common)
    elif role == "claude":
        made = span("claude_code.tool.execution", attributes=said, **common)
    elif role == "writer":
        made = span("ResponseStreamWriter", attributes={"mcp.response.value": draw(st.sampled_from(["[]", '{"isError": true}']))}, **common)
    else:
        made = span(draw(st.sampled_from(["GET", "POST"])), attributes=said, **common)
    return request(
        made,
        service=draw(st.sampled_from(["agent", "docs-mcp"])),
        scope=draw(st.sampled_from(["a", "b"])),
        environment=draw(st.sampled_from(["", "prod"])),
    )


@st.composite
def session_calls(draw: st.DrawFn) -> Any:
    """A call of one tool in one session, in a trace of its own or one of few, that may repeat or mend others."""
    number = draw(st.integers(1, 40))
    said = {
        "session.id": "s",
        "gen_ai.tool.call.arguments": {"q": draw(st.integers(1, 4))},
        **draw(st.sampled_from([{}, {}, {"errorCategory": "validation"}, {"errorCategory": "transient"}, {"error.type": "cancelled"}])),
        **draw(st.sampled_from([{}, {}, {}, {"retry.attempt": 2}, {"retry.of": f"{number - 1:016x}"}])),
    }
    trace = f"{draw(st.sampled_from([number, 50])):032x}"
    return tool_span("search", number, trace=trace, start=draw(st.integers(0, 30)), attributes=said)


def tables(database: Database) -> Any:
    return database.calls(), database.rollup()


@pytest.fixture
def two(new_database: NewDatabase) -> tuple[Database, Database]:
    """Two databases that each example empties."""
    return new_database(), new_database()


def in_session(number: int, start: float, q: int, **said: Any) -> Any:
    arguments = {"session.id": "s", "gen_ai.tool.call.arguments": {"q": q}, **said}
    return tool_span("search", number, trace=f"{number:032x}", start=start, attributes=arguments)


@pytest.mark.parametrize("between", [1, 2, 3])
def test_a_repair_is_none_once_other_calls_have_come_between(database: Database, between: int) -> None:
    refused, mended = in_session(1, 0, 1, errorCategory="validation"), in_session(9, 10, 2)
    assert [row["link"] for row in database.take(refused, mended)] == ["new", "repair"]
    database.insert_together(in_session(number, number, 10 + number) for number in range(2, 2 + between))
    database.settle()
    assert [row["link"] for row in database.calls()] == ["new", "repair", *["new"] * between]


SOME_SPANS = st.lists(spans(), min_size=1, max_size=9) | st.lists(session_calls(), min_size=1, max_size=12)


@on_sqlite
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=120)
@given(SOME_SPANS, st.data())
def test_calls_and_rollups_do_not_depend_on_how_spans_come(
    two: tuple[Database, Database], given_spans: list[Any], data: st.DataObject
) -> None:
    check_any_order(*two, given_spans, data)


@on_postgresql
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=15)
@given(SOME_SPANS, st.data())
def test_nor_do_they_on_postgresql(two: tuple[Database, Database], given_spans: list[Any], data: st.DataObject) -> None:
    check_any_order(*two, given_spans, data)


def check_any_order(plain: Database, wild: Database, given_spans: list[Any], data: st.DataObject) -> None:
    plain.empty()
    wild.empty()
    plain.insert_together(given_spans)
    plain.settle()
    arrivals = data.draw(st.permutations([*given_spans, *data.draw(st.lists(st.sampled_from(given_spans), max_size=4))]))
    while arrivals:
        size = data.draw(st.integers(1, len(arrivals)))
        wild.insert_together(arrivals[:size])
        arrivals = arrivals[size:]
        step = data.draw(st.sampled_from(["wait", "settle", "one trace", "all"]))
        if step == "settle":
            wild.settler.settle(NOW_NS)
        elif step == "one trace":
            wild.settler.settle(NOW_NS, limit=1)
            wild.settler.roll_up(limit=1)
        elif step == "all":
            wild.settle()
    wild.settle()
    assert tables(wild) == tables(plain)
    assert plain.rollup() == plain.rollup_as_it_must_be()
    assert sum(row["calls"] for row in plain.rollup() if row["grain"] == 0 and row["width_s"] == 60) == len(plain.calls())
    assert [wild.work.pending_count(), plain.work.pending_count()] == [0, 0]
    assert wild.rows("SELECT * FROM refusal") == []
    told = [view["span_id"] for call in plain.calls() for view in json.loads(call["views"])]
    assert len(told) == len(plain.rows("SELECT span_id FROM tool_span"))


@on_sqlite
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=60)
@given(st.lists(spans(), min_size=1, max_size=9))
def test_pruning_what_no_call_rests_on_changes_no_call(two: tuple[Database, Database], given_spans: list[Any]) -> None:
    database, _ = two
    database.empty()
    database.insert_together(given_spans)
    database.settle()
    before = tables(database)
    while database.work.prune_ancestry(NOW_NS + 1, 100):
        pass
    database.rebuild()
    assert tables(database) == before


def test_two_settlers_share_nothing_but_the_database(database: Database) -> None:
    other = Settler(database.work, Settings())
    database.insert_together(tool_span(trace=f"{number:032x}") for number in range(1, 6))
    assert database.settler.settle(NOW_NS, limit=2) == 2
    assert other.settle(NOW_NS, limit=2) == 2
    database.settle()
    assert len(database.calls()) == 5
