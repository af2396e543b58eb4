"""Calls made of what thirty instrumentations really emit tell the truth, in any order, any batches, and sent twice."""

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from schemas.database import migrate
from tests import operations
from tests.database import Database, Fill
from tests.faithfulness import RECEIVED_NS, record, requests, score, shuffled, single_spans

# Requests in one transaction: the durability of each is tested elsewhere.
TOGETHER = 200


def receive(database: Database, given: Iterable[ExportTraceServiceRequest], settling: bool) -> tuple[Any, Any]:
    """Receive requests, settle some of the work in between if asked, and all of it in the end."""
    given = list(given)
    for number, start in enumerate(range(0, len(given), TOGETHER)):
        database.insert_together(given[start : start + TOGETHER], now_ns=RECEIVED_NS)
        if settling:
            database.settler.settle(RECEIVED_NS, limit=50 + 50 * number)
    database.settle(RECEIVED_NS)
    return database.calls(), database.rollup()


@pytest.fixture(scope="module")
def as_captured(file: Callable[[Fill], Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """The calls and rollups of the captures as they were sent, made on SQLite: the other engine must say the same."""
    path = tmp_path_factory.mktemp("captured") / "test.db"
    shutil.copy(file(migrate), path)
    database = Database(f"sqlite:///{path}")
    found = receive(database, requests(), settling=False)
    database.close()
    return found


def test_the_calls_tell_what_really_happened(as_captured: tuple[Any, Any]) -> None:
    calls, _ = as_captured
    found = score([record(row) for row in calls])
    assert found.faults == []
    assert found.totals["right"] >= 2244


def test_rollups_equal_a_group_by_over_the_calls(database: Database) -> None:
    receive(database, requests(), settling=True)
    assert database.rollup() == database.rollup_as_it_must_be()


def test_operations_and_retries_are_what_the_calls_say(database: Database) -> None:
    receive(database, requests(), settling=True)
    operations.check(database)


def test_no_span_is_refused_or_lost(database: Database) -> None:
    receive(database, requests(), settling=False)
    found = database.counters()
    assert (found["refused_spans"], found["conflicting_spans"]) == (0, 0)
    assert found["received_spans"] == found["tool_spans"] + found["ignored_spans"] + found["duplicate_spans"]


@pytest.mark.parametrize(("new_url", "seed"), [("sqlite", 1), ("sqlite", 2), ("postgresql", 2)], indirect=["new_url"])
def test_the_order_of_requests_and_sending_them_twice_make_no_difference(
    database: Database, as_captured: tuple[Any, Any], seed: int
) -> None:
    assert receive(database, shuffled([*requests(), *requests()], seed), settling=True) == as_captured


@pytest.mark.parametrize(("new_url", "seed"), [("sqlite", 3), ("sqlite", 4), ("postgresql", 4)], indirect=["new_url"])
def test_a_request_for_each_span_in_any_order_makes_no_difference(database: Database, as_captured: tuple[Any, Any], seed: int) -> None:
    assert receive(database, shuffled(single_spans(requests()), seed), settling=True) == as_captured


def test_one_request_for_all_makes_no_difference(database: Database, as_captured: tuple[Any, Any]) -> None:
    whole = ExportTraceServiceRequest()
    for request in requests():
        whole.MergeFrom(request)
    assert receive(database, [whole], settling=False) == as_captured
