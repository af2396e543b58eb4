"""The hourly look: when it is done, by whom, what it stores and forgets; and that its statements read no more than they must."""

import json
from typing import Any

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import OperationalError

from collector.leases import Leases
from collector.suppression_counts import SuppressionCounts
from collector.suppression_store import SuppressionStore
from collector.work.suppressing import EVERY_NS, KEPT_NS, SOONEST_NS, Suppression, pause_ns
from schemas.rollups import DAY_NS
from schemas.suppression import signals_in
from tests import plans, seeds
from tests.suppressed import END_NS, START_NS, Calls, child, inside
from tests.tables import sentences

NOW_NS = seeds.NOW_NS


class Clock:
    def __init__(self) -> None:
        self.now_ns = NOW_NS

    def __call__(self) -> int:
        return self.now_ns


@pytest.fixture
def clock() -> Clock:
    return Clock()


def looking(engine: Engine, clock: Clock, holder: str = "one") -> Suppression:
    return Suppression(SuppressionCounts(engine), SuppressionStore(engine), Leases(engine, holder), clock)


def rows(engine: Engine, query: str) -> list[dict[str, Any]]:
    with engine.connect() as connection:
        return [dict(row) for row in connection.execute(text(query)).mappings()]


@pytest.fixture
def suppressed(engine: Engine) -> Engine:
    """A tool that hides a failed span under every empty answer, fails without a word, and is asked again."""
    calls = Calls()
    for number, start in enumerate(calls.steady(120, minutes=20)):
        swallowed = number % 6 == 0
        calls.add(
            start,
            session=f"s{number // 2}",
            arguments_hash=number // 2,
            emptiness="empty" if swallowed else "data",
            failed_children=inside(child()) if swallowed else "[]",
            link="repeat" if number % 6 == 1 else None,
        )
        calls.add(start, outcome="failure", message="Internal error") if number % 10 == 0 else None
    seeds.put_calls(engine, calls.rows)
    return engine


def test_what_is_found_is_stored_with_when_it_was_found_first(suppressed: Engine, clock: Clock) -> None:
    look = looking(suppressed, clock)
    assert look.step()
    [found] = rows(suppressed, "SELECT * FROM suspect")
    assert (found["server"], found["tool"], found["class_"], found["empty"], found["failure"]) == (
        "docs-mcp",
        "search_docs",
        "confirmed",
        20,
        12,
    )
    assert signals_in(found["signals"])[0].id == "Q1"
    [contract] = rows(suppressed, "SELECT * FROM contract")
    assert (contract["tool"], contract["failures"]) == ("search_docs", 12)
    assert json.loads(rows(suppressed, "SELECT value FROM meta WHERE name = 'suppression_evaluated'")[0]["value"]) == {
        "at_ns": NOW_NS, "from_ns": START_NS, "to_ns": END_NS,
    }  # fmt: skip
    clock.now_ns += EVERY_NS
    assert look.step()
    [again] = rows(suppressed, "SELECT * FROM suspect")
    assert (again["found_ns"], again["seen_ns"]) == (NOW_NS, NOW_NS + EVERY_NS)


def test_agents_that_ask_again_are_a_signal(suppressed: Engine, clock: Clock) -> None:
    looking(suppressed, clock).step()
    [found] = rows(suppressed, "SELECT * FROM suspect")
    [again] = [one for one in signals_in(found["signals"]) if one.id == "Q7"]
    assert (again.k, again.n, again.detail["data_k"]) == (20, 20, 0)


@sentences(
    "later_ns, holder, done",
    {
        "at once": (0, "one", False),
        "before the hour is over": (EVERY_NS - 1, "one", False),
        "after an hour": (EVERY_NS, "one", True),
        "after a restart, by the row": (EVERY_NS - 1, "two", False),
        "by another worker once the first gave nothing back": (EVERY_NS, "two", True),
        "when the clock was set back": (-EVERY_NS, "one", True),
    },
)
def test_it_looks_once_an_hour(engine: Engine, clock: Clock, later_ns: int, holder: str, done: bool) -> None:
    assert looking(engine, clock).step()
    clock.now_ns += later_ns
    assert looking(engine, clock, holder).step() is done


@sentences(
    "first_ns, pause",
    {
        "without a call, in an hour": (None, EVERY_NS),
        "of calls that have just begun, in five minutes": (NOW_NS - 1, SOONEST_NS),
        "of calls of twenty minutes, in twenty minutes": (NOW_NS - 4 * SOONEST_NS, 4 * SOONEST_NS),
        "of calls of a day, in an hour": (NOW_NS - DAY_NS, EVERY_NS),
        "of calls of the future, in five minutes": (NOW_NS + 1, SOONEST_NS),
    },
)
def test_young_calls_are_looked_at_again_sooner(first_ns: int | None, pause: int) -> None:
    assert pause_ns(first_ns, NOW_NS) == pause


def test_who_has_just_begun_to_send_is_told_within_minutes(engine: Engine, clock: Clock) -> None:
    seeds.put_calls(engine, [seeds.call(1, start_ns=NOW_NS - 1)])
    assert looking(engine, clock).step()
    clock.now_ns += SOONEST_NS - 1
    assert not looking(engine, clock).step()
    clock.now_ns += 2
    assert looking(engine, clock).step()


def test_two_workers_do_not_look_at_once(engine: Engine, clock: Clock) -> None:
    Leases(engine, "other").take("suppression", NOW_NS, NOW_NS + 600 * 10**9)
    assert not looking(engine, clock).step()


def test_a_suspect_that_is_none_any_more_stays_until_it_is_forgotten(suppressed: Engine, clock: Clock) -> None:
    look = looking(suppressed, clock)
    look.step()
    clock.now_ns += 8 * DAY_NS
    look.step()
    [left] = rows(suppressed, "SELECT * FROM suspect")
    assert left["seen_ns"] == NOW_NS
    clock.now_ns = NOW_NS + KEPT_NS + EVERY_NS
    look.step()
    assert rows(suppressed, "SELECT * FROM suspect") == rows(suppressed, "SELECT * FROM contract") == []


def test_a_database_that_is_away_leaves_everything_as_it_was(engine: Engine, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    look = looking(engine, clock)

    def gone(*_: object) -> None:
        look.stop()
        raise OperationalError("SELECT", {}, Exception("gone"))

    monkeypatch.setattr(SuppressionCounts, "series", gone)
    look.run()
    assert rows(engine, "SELECT * FROM meta WHERE name = 'suppression_evaluated'") == []


def test_every_statement_reads_by_an_index(suppressed: Engine, clock: Clock) -> None:
    look = looking(suppressed, clock)
    with plans.statements_of(suppressed) as seen:
        look.step()
    asked = [(statement, parameters) for statement, parameters in seen if statement.startswith("SELECT") and "lease" not in statement]
    texts = " ".join(statement for statement, _ in asked)
    # All that there are came up: this is not a test of some.
    for name in ("duration", "rollup", "series", "failed_children <> '[]'", "link = 'repeat'", "tool_span", "by_design", "suspect"):
        assert name in texts, name
    for statement, parameters in asked:
        how = plans.plan(suppressed, statement, parameters)
        if suppressed.dialect.name == "postgresql":
            assert plans.whole_tables(how) <= {"suspect", "by_design", "series"}, (statement, how)
            continue
        for table in ("call", "rollup", "duration", "tool_span", "ancestry"):
            assert f"SCAN {table}" not in how, (statement, how)
        if "failed_children <> '[]'" in statement:
            assert "ix_call_child_failed (start_ns>? AND start_ns<?)" in how
        if "link = 'repeat'" in statement:
            assert "ix_call_asked_again (start_ns>? AND start_ns<?)" in how
            assert "SEARCH earlier USING INDEX" in how
            assert "(session=? AND tool=? AND server=? AND arguments_hash=? AND start_ns<?)" in how
        if "FROM call" in statement and "GROUP BY" not in statement:
            assert "LIMIT" in statement, statement
