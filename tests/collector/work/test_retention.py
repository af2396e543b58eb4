"""What is too old goes in slices, what was counted of it stays, and the file gets smaller."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event

from collector.pruning import PruneStore
from collector.work.retention import Retention, limits_at
from collector.work.settle import bucket_of
from schemas.rollups import DAY_NS
from tests import seeds, spans
from tests.database import Database, on_postgresql, on_sqlite
from tests.plans import plan, statements_of, whole_tables

NOW_NS = seeds.NOW_NS


def retention(database: Database, spare_pages: int = 0) -> Retention:
    return Retention(database.work, PruneStore(database.engine), database.settings, lambda: 0.0, lambda _: None, spare_pages)


def prune(database: Database, now_ns: int = NOW_NS) -> dict[str, int]:
    worker = retention(database)
    removed: dict[str, int] = {}
    while (done := worker.step(now_ns)) is not None:
        removed[done.what] = removed.get(done.what, 0) + done.rows
    return removed


def put(database: Database, days: int, count: int = 30) -> list[dict[str, Any]]:
    """Calls of a day, with a span each and a tree place that it rests on."""
    rows = [
        seeds.call(days * 1000 + number, start_ns=NOW_NS - days * DAY_NS - number * seeds.SECOND_NS, tool=f"tool_{number % 3}")
        for number in range(1, count)
    ]
    seeds.put_calls(database.engine, rows)
    seeds.put(database.engine, "tool_span", [seeds.span(row) for row in rows])
    place = {"parent_span_id": None, "end_ns": 0, "service": "", "name": "", "failed": False, "error_type": "", "http_status": None}
    place |= {"peer": "", "evidence": None, "kept": True, "span_id": b"12345678"}
    seeds.put(
        database.engine,
        "ancestry",
        [place | {"trace_id": row["trace_id"], "start_ns": row["start_ns"], "received_ns": row["start_ns"]} for row in rows],
    )
    return rows


def count(database: Database, table: str) -> int:
    rows: list[dict[str, int]] = database.rows(f"SELECT count(*) AS n FROM {table}")
    return rows[0]["n"]


def test_each_kind_goes_after_its_time(database: Database) -> None:
    for days in (40, 20, 5):
        put(database, days)
    before = database.rollup()
    removed = prune(database)
    assert {name: removed[name] for name in ("spans", "calls")} == {"spans": 58, "calls": 29}
    assert (count(database, "tool_span"), count(database, "ancestry"), count(database, "call")) == (29, 29, 58)
    # Of older days the minutes are gone, and all else is as it was.
    minute_ns = limits_at(NOW_NS, database.settings).minute_ns
    assert database.rollup() == [row for row in before if row["width_s"] > 60 or row["bucket_ns"] >= minute_ns]
    assert prune(database) == {}
    removed = prune(database, NOW_NS + 500 * DAY_NS)
    assert database.rollup() == []
    assert {count(database, name) for name in ("call", "tool_span", "ancestry", "tool_name", "duration")} == {0}


def test_a_slice_of_counts_is_no_larger_where_one_bucket_has_many_tools(database: Database) -> None:
    rows = [seeds.call(number, start_ns=NOW_NS - number, tool=f"tool_{number}") for number in range(1, 120)]
    seeds.put_calls(database.engine, rows)
    store, limits = PruneStore(database.engine), limits_at(NOW_NS + 500 * DAY_NS, database.settings)
    slices = []
    while removed := store.rollups(limits, 20):
        slices.append(removed)
    assert max(slices) == 20
    assert database.rollup() == []
    assert {count(database, name) for name in ("duration", "retry_rollup", "retry_histogram")} == {0}


def test_counts_whose_calls_are_gone_stay_when_their_bucket_is_computed_again(database: Database) -> None:
    rows = put(database, 40)
    prune(database)
    before = database.rollup()
    assert {row["width_s"] for row in before} == {900, 7200, 86400}
    seeds.put(database.engine, "pending_bucket", [{"bucket_ns": bucket_of(rows[0]["start_ns"]), "noted_ns": 1, "version": 1}])
    database.settle()
    assert database.rollup() == before
    assert count(database, "pending_bucket") == 0


def test_a_late_call_is_counted_where_minutes_are_gone(database: Database) -> None:
    rows = put(database, 20)
    prune(database)
    late = seeds.call(77, start_ns=rows[3]["start_ns"] + 1, outcome="failure", duration_ns=5)
    seeds.put_calls(database.engine, [late])
    expected = [row for row in database.rollup_as_it_must_be() if row["width_s"] > 60]
    assert database.rollup() == expected
    assert sum(row["calls"] for row in expected if row["grain"] == 2 and row["width_s"] == 86400) == 30


def test_slices_are_small_transactions(database: Database) -> None:
    put(database, 40, 500)
    removed: list[int] = []
    rests: list[float] = []
    worker = Retention(database.work, PruneStore(database.engine), database.settings, iter(range(10**6)).__next__, rests.append)
    while (done := worker.step(NOW_NS)) is not None:
        if done.what in ("spans", "calls"):
            removed.append(done.rows)
    # The clock says that each took a second, so they shrink.
    assert removed[0] == 200
    assert min(removed[1:3]) == 20
    # And others may write for as long.
    assert set(rests) == {1}
    assert len(rests) >= len(removed)


@on_sqlite
def test_the_file_gets_smaller(database: Database) -> None:
    [file] = database.rows("PRAGMA database_list")
    put(database, 40, 3000)

    def size() -> int:
        with database.engine.connect() as connection:
            connection.exec_driver_sql("COMMIT")
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").all()
            connection.exec_driver_sql("BEGIN")
        return Path(file["file"]).stat().st_size

    full = size()
    prune(database)
    assert size() < full / 2


@on_sqlite
def test_nothing_is_deleted_by_reading_a_whole_table(database: Database) -> None:
    put(database, 40)
    plans: list[str] = []

    def explain(connection: Connection, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if not statement.startswith(("EXPLAIN", "PRAGMA", "BEGIN", "COMMIT")):
            driver: Any = connection.connection.driver_connection
            parameters = parameters[0] if isinstance(parameters, list) else parameters
            plans.extend(row[3] for row in driver.execute(f"EXPLAIN QUERY PLAN {statement}", parameters))

    event.listen(database.engine, "before_cursor_execute", explain)
    prune(database)
    event.remove(database.engine, "before_cursor_execute", explain)
    # Spans are read in the order of their rows, a slice; intake and refusals, which are small, outside of a transaction that writes.
    allowed = ("SCAN tool_span", "SCAN refusal")
    scans = [plan for plan in plans if plan.startswith("SCAN") and "CONSTANT ROW" not in plan]
    assert [plan for plan in scans if not plan.startswith(allowed)] == []


@on_postgresql
def test_on_postgresql_nothing_is_deleted_by_reading_a_whole_table_either(database: Database) -> None:
    put(database, 40)
    with statements_of(database.engine) as statements:
        prune(database)
    plans = [plan(database.engine, *one) for one in statements]
    assert [one for one in plans if "ix_tool_span_received_ns" in one]
    # Refusals are few.
    assert {table for one in plans for table in whole_tables(one)} == {"refusal"}
    assert whole_tables(plan(database.engine, "SELECT * FROM call, tool_span", ())) == {"call", "tool_span"}


def test_what_would_go_is_told_before(database: Database) -> None:
    put(database, 40)
    put(database, 5)
    told = {one.table: one for one in retention(database).old(NOW_NS)}
    assert (told["call"].rows, told["call"].going) == (58, 29)
    assert told["call"].oldest_ns == NOW_NS - 5 * DAY_NS - 29 * seeds.SECOND_NS
    assert told["rollup"].going > 0
    prune(database)
    assert {one.going for one in retention(database).old(NOW_NS)} == {0}


@on_sqlite
@pytest.mark.parametrize("spare", [0, 10**6])
def test_the_worker_leaves_spare_pages(database: Database, spare: int) -> None:
    put(database, 40, 3000)
    worker = retention(database, spare)
    kinds = set()
    while (done := worker.step(NOW_NS)) is not None:
        kinds.add(done.what)
    assert ("pages" in kinds) is (spare == 0)


def test_calls_outlive_their_spans_when_a_copy_comes_late(database: Database) -> None:
    named = {"mcp.method.name": "tools/call", "gen_ai.tool.name": "search"}
    copied = spans.span("tools/call search", 1, kind=spans.CLIENT, attributes=named)
    other = spans.span("tools/call search", 2, kind=spans.SERVER, parent=1, attributes=named)
    before = database.take(copied, other)
    assert before
    later_ns = spans.NOW_NS + 20 * DAY_NS
    prune(database, later_ns)
    assert (count(database, "tool_span"), database.calls()) == (0, before)
    database.insert(copied, now_ns=later_ns)
    database.settle(later_ns)
    assert (count(database, "tool_span"), database.calls()) == (1, before)
