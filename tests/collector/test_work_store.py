"""What the worker reads and writes: its work lists, the spans of traces, and the pruning of tree places."""

from contextlib import ExitStack
from typing import Any

import pytest
from sqlalchemy import text

from collector.core.chains import Attempt
from collector.settling import ATTEMPT_COLUMNS
from collector.work_store import ROLLING_UP
from schemas.spans import Ancestor, ToolSpan
from tests.database import Database, on_postgresql
from tests.spans import NOW_NS, TRACE, decoded, request, span, tool_span

ID = bytes.fromhex(TRACE)


def traces(database: Database, count: int) -> list[bytes]:
    """Notes of so many traces, made one nanosecond after the other."""
    for number in range(1, count + 1):
        database.insert(tool_span(trace=f"{count - number + 1:032x}"), now_ns=NOW_NS + number)
    return [(count - number + 1).to_bytes(16, "big") for number in range(1, count + 1)]


def test_the_longest_waiting_traces_come_first(database: Database) -> None:
    ids = traces(database, 5)
    assert list(database.work.pending_traces(3)) == ids[:3]


def test_a_version_changes_with_every_change(database: Database) -> None:
    versions = []
    for _ in range(3):
        database.insert(tool_span())
        versions.append(database.work.pending_traces(1)[ID])
    assert len(set(versions)) == 3


def test_a_note_that_was_made_anew_is_not_the_note_that_was_read(database: Database) -> None:
    database.insert(tool_span())
    read = database.work.pending_traces(1)
    database.settle()
    database.insert(tool_span(), now_ns=NOW_NS + 10**9)
    assert database.work.pending_traces(1) != read


def test_spans_are_read_back_as_they_were_stored(database: Database) -> None:
    given = decoded(request(tool_span(parent=2), span(number=2, parent=3), tool_span(number=4)))
    database.store.insert([given], NOW_NS)
    spans, places = database.work.spans_of([ID])[ID]
    assert sorted(spans) == sorted(given.tool_spans)
    assert places == list(given.ancestors)
    assert all(isinstance(one, ToolSpan) for one in spans)
    assert all(isinstance(one, Ancestor) for one in places)


def test_traces_without_a_tool_span_are_left_out(database: Database) -> None:
    database.insert(span(number=2, parent=1))
    assert database.work.spans_of([ID, bytes(16)]) == {}


def test_more_traces_than_one_statement_can_carry_are_read(database: Database) -> None:
    database.insert_together(tool_span(trace=f"{number:032x}") for number in range(1, 1001))
    ids = list(database.work.pending_traces(2000))
    assert set(database.work.spans_of(ids)) == set(ids)
    database.settle()
    assert set(database.work.calls_of(ids)) == set(ids)


def test_calls_are_read_back_by_their_trace(database: Database) -> None:
    database.take(tool_span(), tool_span(number=2), tool_span(trace="22" * 16))
    found = database.work.calls_of([ID])
    assert [row[1][-1] for row in found[ID]] == [1, 2]
    assert set(found) == {ID}


def test_a_trace_that_has_news_is_not_taken(database: Database) -> None:
    database.insert(tool_span())
    versions = database.work.pending_traces(10)
    database.insert(tool_span(number=2))
    with database.work.settling(versions) as transaction:
        assert transaction.ours == []


def test_a_trace_that_another_worker_settled_is_not_taken(database: Database) -> None:
    database.insert(tool_span())
    versions = database.work.pending_traces(10)
    database.settle()
    with database.work.settling(versions) as transaction:
        assert transaction.ours == []


@on_postgresql
def test_two_workers_take_different_traces_and_a_third_what_a_dead_one_had(database: Database) -> None:
    ids = traces(database, 5)
    with database.work.step() as one:
        assert set(one.pending_traces(2)) == set(ids[:2])
        dying = ExitStack()
        other = dying.enter_context(database.work.step())
        assert set(other.pending_traces(2)) == set(ids[2:4])
        with database.work.step() as third:
            assert set(third.pending_traces(2)) == set(ids[4:])
            with pytest.raises(RuntimeError), dying:
                raise RuntimeError("killed")
            assert set(third.pending_traces(2)) == set(ids[2:4])


@on_postgresql
def test_one_worker_rolls_up_and_the_others_do_not_wait(database: Database) -> None:
    database.insert(tool_span())
    database.settler.settle(NOW_NS)
    with database.engine.begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": ROLLING_UP})
        assert database.settler.roll_up() == 0
        assert database.rollup() == []
    assert database.settler.roll_up() == 1
    assert database.rollup() == database.rollup_as_it_must_be()


def test_what_is_written_while_settling_fails_is_not_kept(database: Database) -> None:
    database.insert(tool_span())
    versions = database.work.pending_traces(10)

    def fail() -> None:
        with database.work.settling(versions) as transaction:
            transaction.finish()
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        fail()
    assert database.work.pending_traces(10) == versions


def test_pending_work_is_counted(database: Database) -> None:
    traces(database, 3)
    assert database.work.pending_count() == 3
    while database.settler.settle(NOW_NS):
        pass
    assert database.work.pending_count() == 1
    database.settle()
    assert database.work.pending_count() == 0


def rows(database: Database) -> list[Any]:
    return [row["span_id"][-1] for row in database.rows("SELECT span_id FROM ancestry ORDER BY span_id")]


def test_old_places_are_pruned_in_steps_and_kept_ones_stay(database: Database) -> None:
    between, failed, idle = span("a", 7, parent=1), span("b", 8, parent=1, attributes={"error.type": "x"}), span("c", 9, parent=1)
    database.take(request(tool_span(kind=3), between, failed, idle), request(tool_span(number=2, parent=7), scope="other"))
    database.insert_together([span("d", number, parent=1, trace="22" * 16) for number in range(20, 25)])
    database.insert(span("e", 30, parent=1), now_ns=NOW_NS + 1)
    assert database.work.prune_ancestry(NOW_NS, 100) == 0
    assert database.work.prune_ancestry(NOW_NS + 1, 4) == 4
    assert database.work.prune_ancestry(NOW_NS + 1, 4) == 2
    assert database.work.prune_ancestry(NOW_NS + 1, 4) == 0
    assert rows(database) == [7, 8, 30]


def test_all_traces_are_noted_in_steps(database: Database) -> None:
    ids = sorted(traces(database, 5))
    database.insert(span(number=2, parent=1, trace="99" * 16))
    database.settle()
    assert database.work.mark_all_pending(None, 3, NOW_NS) == (ids[2], 3)
    assert database.work.mark_all_pending(ids[2], 3, NOW_NS) == (ids[4], 2)
    assert database.work.mark_all_pending(ids[4], 3, NOW_NS) == (None, 0)
    assert sorted(database.work.pending_traces(10)) == ids


def test_calls_are_paged_in_order_of_time(database: Database) -> None:
    given = [tool_span("a" if number % 2 else "b", number, start=number // 2) for number in range(1, 8)]
    database.take(*given)
    found: list[Any] = []
    cursor = None
    while page := database.work.calls_after(cursor, 2):
        found += page
        cursor = (page[-1].start_ns, page[-1].trace_id, page[-1].call_id)
    assert [row.call_id[-1] for row in found] == [1, 2, 3, 4, 5, 6, 7]
    assert [row.call_id[-1] for row in database.work.calls_after(None, 10, tool="b")] == [2, 4, 6]
    assert database.work.calls_after(None, 10, server="x") == []


def test_what_linking_reads_stands_in_the_order_of_its_record() -> None:
    assert [name.removesuffix("_attempt") if name == "declared_attempt" else name for name in ATTEMPT_COLUMNS] == list(Attempt._fields)
