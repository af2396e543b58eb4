"""What is rolled up equals a GROUP BY over the calls at every width and grain, whatever order they came in."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, event, text

from schemas.rollups import DAY_NS, OTHER_TOOLS
from schemas.tables import SQLModel
from tests import seeds
from tests.database import Database, NewDatabase, on_postgresql, on_sqlite

NAMES_A_DAY = 3
MINUTE_NS = seeds.MINUTE_NS
# Near the end of a day, so that calls fall on two.
START_NS = seeds.NOW_NS - seeds.NOW_NS % DAY_NS - 5 * MINUTE_NS

CALLS = st.lists(
    st.fixed_dictionaries(
        {
            "start_ns": st.builds(lambda minute, rest: START_NS + minute * MINUTE_NS + rest, st.integers(0, 40), st.integers(0, 10**9)),
            "duration_ns": st.none() | st.sampled_from([0, 1, 10**9, 30 * 10**9, 30 * DAY_NS]) | st.integers(0, 10**12),
            "environment": st.sampled_from(["", "prod"]),
            "server": st.sampled_from(["", "docs"]),
            "client": st.sampled_from(["a", "b"]),
            "tool": st.sampled_from(["", "read", "write", OTHER_TOOLS, "é", "z" * 256]),
            "outcome": st.sampled_from(["success", "failure", "failure", "partial", "cancelled"]),
            "retryable": st.sampled_from([None, True, False]),
            "channel": st.sampled_from([None, "tool", "transport"]),
        }
    ),
    max_size=25,
)


@pytest.fixture
def few_names(new_database: NewDatabase) -> Database:
    """A database that has few names a day as dimensions."""
    return new_database(names_a_day=NAMES_A_DAY)


def check(database: Database) -> None:
    assert database.rollup() == database.rollup_as_it_must_be()
    [counted] = database.rows("SELECT coalesce(sum(value), 0) AS calls FROM counter WHERE name = 'calls'")
    assert database.rows("SELECT count(*) AS calls FROM call") == [counted]


def put(database: Database, rows: list[dict[str, Any]]) -> None:
    seeds.put(database.engine, "call", rows)
    note(database, {row["start_ns"] for row in rows})


def note(database: Database, starts: set[int]) -> None:
    minutes = {start - start % MINUTE_NS for start in starts}
    seeds.put(database.engine, "pending_bucket", [{"bucket_ns": minute, "noted_ns": 1, "version": 1} for minute in minutes])


@on_sqlite
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(calls=CALLS, order=st.randoms(use_true_random=False), cut=st.integers(0, 25))
def test_rollups_equal_a_group_by_over_calls(few_names: Database, calls: list[dict[str, Any]], order: Any, cut: int) -> None:
    check_group_by(few_names, calls, order, cut)


@on_postgresql
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=8)
@given(calls=CALLS, order=st.randoms(use_true_random=False), cut=st.integers(0, 25))
def test_so_they_do_on_postgresql(few_names: Database, calls: list[dict[str, Any]], order: Any, cut: int) -> None:
    check_group_by(few_names, calls, order, cut)


def check_group_by(few_names: Database, calls: list[dict[str, Any]], order: Any, cut: int) -> None:
    few_names.empty()
    rows = [seeds.call(number, **call) for number, call in enumerate(calls, 1)]
    order.shuffle(rows)
    for part in (rows[:cut], rows[cut:]):
        put(few_names, part)
        few_names.settle()
        check(few_names)


def test_calls_that_change_or_go_take_their_rows_along(database: Database) -> None:
    rows = [seeds.call(number, duration_ns=number * 10**6) for number in range(1, 400)]
    put(database, rows)
    database.settle()
    with database.engine.begin() as connection:
        connection.execute(text("UPDATE call SET outcome = 'failure', emptiness = NULL, category = 'business' WHERE start_ns % 3 = 0"))
        connection.execute(text("UPDATE call SET duration_ns = NULL, duration_idx = NULL WHERE start_ns % 7 = 0"))
        connection.execute(text("DELETE FROM call WHERE start_ns % 5 = 0"))
    note(database, {row["start_ns"] for row in rows})
    database.settle()
    check(database)
    with database.engine.begin() as connection:
        connection.execute(delete(SQLModel.metadata.tables["call"]))
    note(database, {row["start_ns"] for row in rows})
    database.settle()
    assert database.rollup() == []
    check(database)


def test_durations_beyond_belief_do_not_overflow(database: Database) -> None:
    put(database, [seeds.call(number, start_ns=seeds.NOW_NS, duration_ns=30 * DAY_NS, end_ns=None) for number in range(1, 5000)])
    database.settle()
    check(database)


def test_a_bucket_whose_calls_are_as_before_is_not_written(database: Database) -> None:
    put(database, [seeds.call(number) for number in range(1, 100)])
    database.settle()
    written: list[str] = []
    event.listen(
        database.engine,
        "before_cursor_execute",
        lambda _c, _cursor, statement, *_: written.append(statement) if statement.startswith(("INSERT", "DELETE")) else None,
    )
    note(database, {seeds.NOW_NS - 60 * seeds.SECOND_NS})
    written.clear()
    database.settle()
    assert [statement.split(" WHERE")[0] for statement in written] == ["DELETE FROM pending_bucket"]


def tools(database: Database) -> dict[str, int]:
    found = database.rows(
        "SELECT tool, sum(calls) AS calls FROM rollup JOIN series ON id = series_id WHERE rollup.grain = 1 AND width_s = 86400 GROUP BY 1"
    )
    return {row["tool"]: row["calls"] for row in found}


def failed(number: int, tool: str, **changes: Any) -> dict[str, Any]:
    return seeds.call(number, tool=tool, outcome="failure", error_type="-32602", **changes)


def test_names_beyond_the_days_number_are_folded_until_they_succeed(few_names: Database) -> None:
    put(few_names, [failed(100 - number, f"made_up_{number}") for number in range(10)])
    few_names.settle()
    assert tools(few_names) == {"made_up_0": 1, "made_up_1": 1, "made_up_2": 1, OTHER_TOOLS: 7}
    put(few_names, [seeds.call(1, tool="made_up_9"), seeds.call(2, tool="search_docs")])
    few_names.settle()
    assert tools(few_names) == {"made_up_0": 1, "made_up_1": 1, "made_up_2": 1, "made_up_9": 2, "search_docs": 1, OTHER_TOOLS: 6}
    check(few_names)


def test_an_earlier_name_that_comes_late_takes_the_place_of_a_later_one(few_names: Database) -> None:
    put(few_names, [failed(100 - number, f"made_up_{number}") for number in range(5)])
    few_names.settle()
    put(few_names, [failed(200, "earliest")])
    few_names.settle()
    assert tools(few_names) == {"earliest": 1, "made_up_0": 1, "made_up_1": 1, OTHER_TOOLS: 3}
    check(few_names)


def test_an_earlier_call_of_a_folded_name_is_folded_too(few_names: Database) -> None:
    put(few_names, [failed(100 - number, f"made_up_{number}") for number in range(5)])
    few_names.settle()
    put(few_names, [failed(200, "made_up_4", start_ns=seeds.NOW_NS - 96 * seeds.SECOND_NS - 1)])
    few_names.settle()
    assert tools(few_names) == {"made_up_0": 1, "made_up_1": 1, "made_up_2": 1, OTHER_TOOLS: 3}
    check(few_names)


def test_a_name_that_has_succeeded_is_named_on_the_days_before_too(few_names: Database) -> None:
    put(few_names, [failed(number, f"made_up_{number}", start_ns=seeds.NOW_NS - DAY_NS + number) for number in range(1, 8)])
    few_names.settle()
    assert "made_up_7" not in tools(few_names)
    put(few_names, [seeds.call(9, tool="made_up_7")])
    few_names.settle()
    assert tools(few_names)["made_up_7"] == 2
    check(few_names)


@on_sqlite
def test_five_thousand_invented_names_leave_two_thousand_and_the_real_ones(database: Database) -> None:
    rows = [failed(number, f"tool_{number * 7919 % 5000:05d}", start_ns=seeds.NOW_NS - number * 10**6) for number in range(1, 5001)]
    put(database, rows + [seeds.call(number, tool="search_docs") for number in range(6000, 6100)])
    database.settle()
    shown = tools(database)
    # The real tool was called first, so it takes one of the places.
    assert (len(shown), shown["search_docs"], shown[OTHER_TOOLS]) == (2001, 100, 3001)
    check(database)
