"""The worker's loop: it works until it is told to stop, survives a database that fails, and leaves nothing pending."""

import itertools
import logging
import signal
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from collector.leases import Leases
from collector.pruning import PruneStore
from collector.work import loop
from collector.work.loop import LEASE_NS, Worker, run_worker
from collector.work_store import ALL, Lane, WorkStore
from tests.database import Database
from tests.spans import NOW_NS, SECOND_NS, span, tool_span


class Scripted:
    """A store that does something before each step of settling, then is as the real one."""

    def __init__(self, database: Database, *steps: Callable[[], None]) -> None:
        self._work = database.work
        self._steps = list(steps)

    def step(self) -> AbstractContextManager[WorkStore]:
        if self._steps:
            self._steps.pop(0)()
        return self._work.step()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._work, name)


def fail() -> None:
    raise OperationalError("SELECT secret", {}, Exception("database is locked"))


@pytest.fixture(autouse=True)
def _frozen_clock_and_no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count(1000)
    monkeypatch.setattr(loop, "time", SimpleNamespace(time_ns=lambda: NOW_NS, monotonic=lambda: next(ticks) / 1000))
    for name in ("IDLE_S", "FAILED_S", "ROLL_UP_EVERY_S", "PRUNE_EVERY_S"):
        monkeypatch.setattr(loop, name, 0.0)


def worker_on(database: Database, store: Any = None, name: str = "worker") -> Worker:
    return Worker(store or database.work, PruneStore(database.engine), Leases(database.engine, name), database.settings)


def run(database: Database, *steps: Callable[[], None]) -> None:
    """Run a worker that is told to stop after these steps."""
    worker = worker_on(database, Scripted(database, *steps, lambda: worker.stop()))
    worker.run()


def test_what_is_pending_is_settled_and_rolled_up_before_the_end(database: Database) -> None:
    database.insert(tool_span())
    run(database, lambda: None, lambda: database.insert(tool_span(number=2)))
    assert len(database.calls()) == 2
    assert database.rollup() == database.rollup_as_it_must_be() != []
    assert database.work.pending_count() == 0


def test_what_arrives_with_the_order_to_stop_is_settled_too(database: Database) -> None:
    worker = worker_on(database)
    database.insert_together(tool_span(trace=f"{number:032x}") for number in range(1, 1200))
    worker.stop()
    worker.run()
    assert len(database.calls()) == 1199
    assert database.work.pending_count() == 0


def test_a_database_that_fails_is_tried_again(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    database.insert(tool_span())
    with caplog.at_level(logging.INFO):
        run(database, fail, fail)
    assert len(database.calls()) == 1
    assert caplog.text.count("settling failed, trying again") == 2
    assert "secret" not in caplog.text


@pytest.mark.parametrize(("age_s", "left"), [(899, 1), (901, 0)], ids=["within the window", "beyond it"])
def test_places_of_spans_that_are_no_tool_spans_are_pruned_by_age(database: Database, age_s: int, left: int) -> None:
    database.insert(span(number=2, parent=1), now_ns=NOW_NS - age_s * SECOND_NS)
    run(database, lambda: None)
    assert len(database.rows("SELECT * FROM ancestry")) == left


def test_the_window_of_late_arrivals_is_a_setting(database: Database) -> None:
    database.use(ancestry_window_s=10**6)
    database.insert(span(number=2, parent=1), now_ns=NOW_NS - 10**5 * SECOND_NS)
    run(database, lambda: None)
    assert len(database.rows("SELECT * FROM ancestry")) == 1


def leases(database: Database) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in database.rows("SELECT name, holder, until_ns FROM lease ORDER BY name")]


@pytest.mark.parametrize(("due_ns", "left"), [(1, 1), (0, 0)], ids=["is heard of", "is not heard of any more"])
def test_one_worker_prunes_as_long_as_it(database: Database, due_ns: int, left: int) -> None:
    database.insert(span(number=2, parent=1), now_ns=NOW_NS - 1000 * SECOND_NS)
    assert Leases(database.engine, "other").take("retention", NOW_NS - 1, NOW_NS + due_ns)
    run(database, lambda: None)
    assert len(database.rows("SELECT * FROM ancestry")) == left
    assert leases(database) == ([("retention", "other", NOW_NS + due_ns)] if left else [])


def test_a_worker_has_the_lease_while_it_runs_and_gives_it_back(database: Database) -> None:
    seen: list[Any] = []
    run(database, lambda: None, lambda: seen.extend(leases(database)))
    assert seen == [("retention", "worker", NOW_NS + LEASE_NS)]
    assert leases(database) == []


def test_rollups_wait_for_their_time(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "ROLL_UP_EVERY_S", 1e9)
    seen = []
    database.insert(tool_span())
    run(database, lambda: None, lambda: seen.append((len(database.calls()), len(database.rollup()))))
    assert seen == [(1, 0)]
    assert database.rollup() == database.rollup_as_it_must_be()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_signal_ends_the_worker_with_nothing_pending(
    database: Database, caplog: pytest.LogCaptureFixture, number: signal.Signals
) -> None:
    assert threading.current_thread() is threading.main_thread()
    before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
    database.use(worker_port=0)
    database.insert(tool_span())
    real, seen = WorkStore.pending_traces, []

    def pending_traces(store: WorkStore, limit: int, lane: Lane = ALL) -> dict[bytes, int]:
        seen.append(limit)
        if len(seen) == 2:
            signal.raise_signal(number)
        return real(store, limit, lane)

    patch = pytest.MonkeyPatch()
    patch.setattr(WorkStore, "pending_traces", pending_traces)
    try:
        with caplog.at_level(logging.INFO):
            run_worker(database.settings, database.engine)
    finally:
        patch.undo()
        for one, handler in before.items():
            signal.signal(one, handler)
    # What is looked for beside the work says what it did, too.
    ready, stopped = [record.message for record in caplog.records if record.name == loop.log.name]
    assert ready.startswith("worker ready, health and metrics on http://127.0.0.1:")
    assert stopped == "worker stopped, nothing pending"
    assert database.work.pending_count() == 0
    assert len(database.calls()) == 1
