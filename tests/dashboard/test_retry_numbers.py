"""The numbers of retries equal what each definition says over all calls, for any range, filter, strength and moment of asking."""

from collections import defaultdict
from collections.abc import Sequence
from statistics import median_low
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboard import chain_queries, queries, retry_queries
from dashboard.filters import Filter
from dashboard.retry_metrics import record
from schemas.operations import STRENGTHS, at_least
from tests import operations
from tests.database import Database, NewDatabase
from tests.operations import Record, failed
from tests.retried import attempts, stubborn
from tests.spans import SECOND_NS, START_NS

MINUTE_NS = 60 * SECOND_NS


@pytest.fixture
def few_names(new_database: NewDatabase) -> Database:
    """A database that names one tool a day, and folds the others."""
    return new_database(names_a_day=1)


class Expected:
    """Part and whole of every ratio, and what else is told, by the words of docs/metrics.md."""

    def __init__(self) -> None:
        self.of: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        self.lost_us = 0
        self.open = self.hot = self.early = self.repairs = 0
        self.gaps: list[int] = []
        self.recoveries: list[int] = []
        self.strengths = dict.fromkeys(STRENGTHS, 0)

    def ratio(self, name: str, part: bool | int, whole: bool | int) -> None:
        self.of[name][0] += part
        self.of[name][1] += whole

    def attempt(self, call: Record, row: Record | None, hopeless: bool) -> None:
        retried = row is not None
        for name in ("retry_ratio", "retries_per_operation"):
            self.ratio(name, retried, name == "retry_ratio")
        self.ratio("amplification", 1, 0)
        self.ratio("attempt_success", not failed(call), 1)
        self.ratio("repair_success", call["link"] == "repair" and not failed(call), call["link"] == "repair")
        self.repairs += call["link"] == "repair"
        if row is None:
            return
        self.ratio("retry_success_per_attempt", not row["failed"], 1)
        self.ratio("wasted_retry_ratio", row["wasted"], 1)
        self.ratio("mislabelled_ratio", row["wasted"] and not row["failed"], row["wasted"])
        self.ratio("futile_retry_ratio", hopeless, 1)
        self.ratio("early_retry_ratio", row["early"] or row["hot"], 1)
        self.hot += row["hot"]
        self.early += row["early"]
        self.lost_us += (row["duration_ns"] or 0) // 1000 if row["wasted"] or hopeless else 0
        self.gaps += [] if row["gap_ns"] is None else [row["gap_ns"]]

    def operation(self, calls: Sequence[Record], chain: Record | None, now_ns: int) -> None:
        first, last, many = calls[0], calls[-1], len(calls)
        closes_ns = None if chain is None else chain["closes_ns"]
        is_open = closes_ns is not None and now_ns <= closes_ns
        self.open += is_open
        for name in ("retries_per_operation", "amplification"):
            self.ratio(name, 0, 1)
        self.ratio("operation_success", not is_open and not failed(last), not is_open)
        if first["link"] == "retry":
            return
        recovered = failed(first) and many > 1 and not failed(last)
        retryable = failed(first) and first["retryable"] == 1
        self.ratio("first_retry_success", many > 1 and not failed(calls[1]), many > 1)
        self.ratio("retry_success_rate", recovered, failed(first) and many > 1 and not is_open)
        self.ratio("recovery_all", recovered, failed(first) and not is_open)
        self.ratio("exhausted_ratio", failed(first) and failed(last) and many > 2 and not is_open, failed(first) and not is_open)
        self.ratio("missed_retry_ratio", chain is not None and bool(chain["went_on"]) and not is_open, retryable)
        if recovered and chain is not None:
            self.recoveries.append(chain["recovered_ns"])


def expected(calls: Sequence[Record], question: Filter, now_ns: int, strength: str) -> Expected:
    found = Expected()

    def asked(call: Record) -> bool:
        names = ("environment", "server", "client", "tool")
        return question.from_ns <= call["start_ns"] < question.to_ns and all(getattr(question, n) in (None, call[n]) for n in names)

    for one in operations.operations(calls):
        chain = operations.chain_of(one, calls)
        held = "" if chain is None else chain["strength"]
        if held not in at_least(strength):
            continue
        rows = {(row["trace_id"], row["call_id"]): row for row in operations.retries_of(one)}
        closed = chain is None or chain["closes_ns"] is None or now_ns > chain["closes_ns"]
        hopeless = chain is not None and closed and all(map(failed, one))
        for call in filter(asked, one):
            row = rows.get((call["trace_id"], call["call_id"]))
            found.attempt(call, row, hopeless)
            if row is not None:
                found.strengths[held] += 1
        if asked(one[0]):
            found.operation(one, chain, now_ns)
    return found


FILTERS: list[dict[str, str | None]] = [
    *([{}] * 3),
    {"server": "docs"},
    {"environment": "prod"},
    {"environment": "", "client": ""},
    {"tool": "search"},
    {"tool": "(other)"},
]


def asked_of(database: Database, data: st.DataObject) -> tuple[Filter, int]:
    """A question about some minutes that begin or end among the calls, asked at a time when some operations are open, or all closed."""
    minutes = sorted({call["start_ns"] // MINUTE_NS for call in database.calls()})
    edges = sorted({*minutes, minutes[-1] + 1})
    first = data.draw(st.sampled_from([minutes[0] - 5, *edges[:-1]]))
    last = data.draw(st.sampled_from([one for one in (*edges, edges[-1] + 20) if one > first]))
    closing = [row["closes_ns"] for row in database.rows("SELECT closes_ns FROM chain WHERE closes_ns IS NOT NULL ORDER BY chain_id")]
    now_ns = data.draw(st.sampled_from([START_NS, START_NS + 10**6 * SECOND_NS, *closing]))
    now_ns += data.draw(st.sampled_from([0, 0, 1, -1, -60 * SECOND_NS]))
    return Filter(first * MINUTE_NS, last * MINUTE_NS).but(**data.draw(st.sampled_from(FILTERS))), now_ns


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=80)
@given(attempts() | stubborn(), st.data())
def test_each_number_is_what_its_definition_says(few_names: Database, given_spans: list[Any], data: st.DataObject) -> None:
    few_names.empty()
    few_names.insert_together(given_spans)
    few_names.settle()
    question, now_ns = asked_of(few_names, data)
    strength = data.draw(st.sampled_from(STRENGTHS))
    with queries.snapshot(few_names.engine) as connection:
        page = retry_queries.by_tool_and_client(connection, question, now_ns, strength)
        by_tool = retry_queries.by_tool(connection, question, now_ns, strength)
        total = retry_queries.total(connection, question, now_ns, strength)
        buckets = retry_queries.over_time(connection, question, now_ns, strength)
    calls = few_names.calls()
    folded = operations.folded(calls, few_names.names_a_day)
    for call in calls:
        hidden = (call["start_ns"] // operations.DAY_NS, call["server"], call["tool"]) in folded
        call["tool"] = "(other)" if hidden else call["tool"]
    must_be, told = expected(calls, question, now_ns, strength), record(page.total)
    assert told["of"] == {name: must_be.of[name] for name in told["of"]}
    assert (told["open_operations"], told["wasted_time_s"]) == (must_be.open, must_be.lost_us / 10**6)
    assert (told["hot_retries"], told["early_retries"], told["repairs"]) == (must_be.hot, must_be.early, must_be.repairs)
    assert told["retries_by_strength"] == must_be.strengths
    for name, values in (("backoff_p50_s", must_be.gaps), ("time_to_recovery_p50_s", must_be.recoveries)):
        assert told[name] == (pytest.approx(median_low(values) / 10**9, rel=0.011, abs=1e-9) if values else None)
    # The parts are the whole.
    plain = told | {"synchrony": None, "synchrony_retries": 0}
    assert record(total) == plain
    assert {key: record(one)["of"] for key, one in by_tool.items()} == {key: record(one)["of"] for key, one in page.tools}
    for parts in ([one for _, one in page.tools], [one for _, one in page.clients], [one.retries for one in buckets]):
        for name in ("attempts", "operations", "open_operations", "retries", "closed", "recovered", "exhausted", "abandoned", "missed"):
            assert sum(getattr(one, name) for one in parts) == getattr(page.total, name), name


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=40)
@given(attempts() | stubborn(), st.data())
def test_behind_every_number_stand_as_many_operations(few_names: Database, given_spans: list[Any], data: st.DataObject) -> None:
    few_names.empty()
    few_names.insert_together(given_spans)
    few_names.settle()
    question, now_ns = asked_of(few_names, data)
    # A name that is folded on one day and not on another is listed under itself on both.
    question = question.but(tool=None)
    strength = data.draw(st.sampled_from(STRENGTHS))
    limit = data.draw(st.integers(1, 4))
    with queries.snapshot(few_names.engine) as connection:
        total = retry_queries.total(connection, question, now_ns, strength)

        def listed(state: str | None) -> list[Record]:
            found: list[Record] = []
            after = None
            while True:
                page = chain_queries.list_chains(connection, question, now_ns, limit, state, strength, after)
                found += page.records
                after = page.next
                if after is None:
                    return found

        states = {state: listed(state) for state in ("open", "recovered", "exhausted", "abandoned", "missed", "failed", "ended")}
        everything = listed(None)
    counts = {"open": total.open_operations, "recovered": total.recovered, "exhausted": total.exhausted}
    counts |= {"abandoned": total.abandoned, "missed": total.missed}
    assert {state: len(states[state]) for state in counts} == counts
    assert [row["start_ns"] for row in everything] == sorted((row["start_ns"] for row in everything), reverse=True)
    ids = [row["chain_id"] for name, rows in states.items() if name != "missed" for row in rows]
    assert sorted(ids) == sorted(row["chain_id"] for row in everything)
    assert len(set(ids)) == len(ids)
