"""Settling in several processes: each trace is in one lane, all come to the same calls, and a process that ends is started again."""

import os
import signal
import time
from typing import Any

import pytest

from collector.work.settlers import Settlers
from collector.work_store import Lane
from tests.database import Database, on_sqlite
from tests.spans import NOW_NS, tool_span

WAIT_S = 60


def insert_traces(database: Database, count: int) -> None:
    """So many failing calls of one session, each in a trace of its own and a second after the one before."""
    said = {"session.id": "s", "gen_ai.tool.call.arguments": {"q": 1}, "errorCategory": "transient"}
    for number in range(count):
        database.insert(tool_span(number=number + 1, trace=f"{number + 1:032x}", start=float(number), attributes=said))


def stored(database: Database) -> list[Any]:
    """What settling writes: calls, rollups and operations."""
    return [database.calls(), database.rollup(), database.rows("SELECT * FROM chain"), database.rows("SELECT * FROM retry ORDER BY place")]


def until_nothing_waits(database: Database, settlers: Settlers) -> None:
    """Settle the worker's own lane, until the processes have settled theirs."""
    until = time.monotonic() + WAIT_S
    while database.work.pending_traces(1):
        assert time.monotonic() < until
        settlers.tend()
        if not database.settler.settle(NOW_NS, lane=settlers.own):
            time.sleep(0.02)


@on_sqlite
@pytest.mark.parametrize("lanes", [1, 2, 3, 16])
def test_each_trace_is_in_one_lane(database: Database, lanes: int) -> None:
    insert_traces(database, 40)
    found = [list(database.work.pending_traces(100, Lane(number, lanes))) for number in range(lanes)]
    assert all(found)
    assert sorted(trace for lane in found for trace in lane) == sorted(database.work.pending_traces(100))


def test_several_processes_come_to_the_calls_that_one_comes_to(database: Database) -> None:
    insert_traces(database, 64)
    database.settle()
    alone = stored(database)
    assert [call["link"] for call in alone[0]] == ["new"] + ["retry"] * 63
    database.empty()
    insert_traces(database, 64)
    settlers = Settlers(database.engine.url.render_as_string(hide_password=False), database.settings, 2)
    try:
        until_nothing_waits(database, settlers)
    finally:
        settlers.close()
    database.settle()
    assert stored(database) == alone


@on_sqlite
def test_a_process_that_ends_is_started_again(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    settlers = Settlers(database.engine.url.render_as_string(hide_password=False), database.settings, 1)
    try:
        [process] = settlers._all
        os.kill(process.process.pid or 0, signal.SIGKILL)
        process.process.join()
        insert_traces(database, 10)
        until_nothing_waits(database, settlers)
    finally:
        settlers.close()
    assert [record.message for record in caplog.records] == ["a settling process ended (exit code -9), it is started again"]
    assert len(database.calls()) == 10
