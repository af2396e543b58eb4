"""B16 and B18: one execution is one call, however many spans tell of it and however often they are sent."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from tests.cases.conftest import INPUTS
from tests.database import Database
from tests.faithfulness import single_spans
from tests.spans import CLIENT, from_json, request, tool_span

SPANS = list(single_spans([from_json((INPUTS / "b16.json").read_text())]))


def test_b16_agent_client_and_server_are_one_call_and_one_failure(take: Callable[[str], list[dict[str, Any]]], database: Database) -> None:
    [call] = take("b16")
    assert (call["outcome"], call["category"], call["retryable"]) == ("failure", "transient", 1)
    assert (call["duration_ns"], call["server_duration_ns"]) == (400_000_000, 300_000_000)
    assert (call["client"], call["server"]) == ("agent", "docs-mcp")
    assert sum(row["calls"] for row in database.rollup() if (row["grain"], row["width_s"]) == (0, 60)) == 1


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_b16_the_order_of_arrival_makes_no_difference(database: Database, order: tuple[int, ...]) -> None:
    for place in order:
        database.take(SPANS[place])
    together = database.calls(), database.rollup()
    database.empty()
    database.take(from_json((INPUTS / "b16.json").read_text()))
    assert together == (database.calls(), database.rollup())


def test_b16_the_client_alone_counts(database: Database) -> None:
    [call] = database.take(SPANS[1])
    assert (call["outcome"], call["client"], call["server_duration_ns"]) == ("failure", "agent", None)


def test_b16_parallel_calls_and_a_nested_call_of_the_same_tool_stay_apart(database: Database) -> None:
    parallel = [request(tool_span(number=number, parent=9, kind=CLIENT), service="agent") for number in (1, 2)]
    outer, nested = tool_span(number=3), tool_span(number=4, parent=3, start=0.01)
    assert len(database.take(*parallel, outer, nested)) == 4


def test_b18_a_batch_that_is_sent_again_is_stored_once(database: Database) -> None:
    batch = [tool_span(number=number, start=number) for number in range(1, 11)]
    first = database.take(request(*batch))
    assert database.take(request(*batch)) == first
    calls = database.take(request(*batch, tool_span(number=11, start=11)))
    assert calls[:-1] == first
    assert len(calls) == 11
    counters = database.counters()
    assert (counters["tool_spans"], counters["duplicate_spans"], counters["conflicting_spans"]) == (11, 20, 0)
    assert database.rollup() == database.rollup_as_it_must_be()


def test_b18_a_copy_that_was_cut_loses_against_the_whole_whichever_comes_first(database: Database) -> None:
    cut, whole = tool_span(seconds=0), tool_span(seconds=2, attributes={"isError": True})
    [call] = database.take(cut, whole, cut)
    assert (call["outcome"], call["duration_ns"]) == ("failure", 2_000_000_000)
    assert database.counters()["conflicting_spans"] == 2
