"""What a review reads it reads by index: rollups by their key, sessions by tool and time, alerts by when they fired or ended."""

from hypothesis import given
from hypothesis import strategies as st

from collector.alert_store import AlertStore, News
from collector.review_counts import QUARTER_NS, ReviewCounts, quarters
from collector.review_store import ReviewStore
from schemas.alerting import HOUR_NS
from schemas.rollups import SECOND_NS, WIDTHS_S
from tests.alerting import Fleet
from tests.database import Database
from tests.plans import plan, statements_of, whole_tables
from tests.reviewing import LATER_NS, WEEK, ZONE, reviewer, seconds, storm, taken

LARGE = {"call", "rollup", "retry_rollup", "alert", "chain", "retry", "review", "review_action", "review_note", "delivery"}


@given(st.integers(0, 10**6), st.integers(0, 10**4))
def test_quarters_cover_what_they_touch_once_and_in_order(start_s: int, length_s: int) -> None:
    start_ns, end_ns = start_s * SECOND_NS, (start_s + length_s) * SECOND_NS
    pieces = quarters(start_ns, end_ns)
    at = start_ns - start_ns % QUARTER_NS
    for piece in pieces:
        assert piece.from_ns == at < piece.to_ns
        assert piece.width_s in WIDTHS_S[1:]
        assert (piece.to_ns - piece.from_ns) % (piece.width_s * SECOND_NS) == 0 == piece.from_ns % (piece.width_s * SECOND_NS)
        at = piece.to_ns
    assert at == end_ns + -end_ns % QUARTER_NS or not pieces


def test_a_review_reads_no_large_table_from_end_to_end(database: Database) -> None:
    fleet = Fleet()
    for number in range(40):
        fleet.call(seconds(WEEK.start_ns) + number, session=f"s{number % 4}", arguments=f"{number}")
    taken(database, fleet)
    AlertStore(database.engine).commit(News([storm(), storm(2, resolved_ns=None, state="firing")]))
    store = ReviewStore(database.engine)
    with statements_of(database.engine) as statements:
        made = reviewer(database)
        made.seen(WEEK)
        made.make(WEEK, LATER_NS, 1)
        ReviewCounts(database.engine).first_bucket()
        store.latest(ZONE, WEEK.name)
        store.actions(ZONE, WEEK.name, WEEK.start_ns)
        store.notes(ZONE, WEEK.name)
    assert len(statements) > 20
    for statement, parameters in statements:
        how = plan(database.engine, statement, parameters)
        if database.engine.dialect.name == "postgresql":
            # Open alerts have an index of their own, which is as long as they are many.
            assert not whole_tables(how) & LARGE or "using uq_alert_open" in how, (statement, how)
        else:
            assert not [name for name in LARGE if f"SCAN {name}" in how], (statement, how)


def test_a_year_of_history_costs_no_more_than_five_weeks_of_it(database: Database) -> None:
    first_ns = WEEK.before(4).start_ns - QUARTER_NS
    with statements_of(database.engine) as statements:
        reviewer(database).make(WEEK, LATER_NS, 1)
    rollups = [(text, values) for text, values in statements if "rollup.bucket_ns >=" in text]
    assert len(rollups) > 10
    for text, values in rollups:
        moments = [one for one in (values.values() if isinstance(values, dict) else values) if isinstance(one, int) and one > 10**17]
        assert min(moments) >= first_ns, text


def test_calls_without_a_session_are_counted_by_trace(database: Database) -> None:
    fleet = Fleet()
    for number in range(6):
        fleet.call(
            seconds(WEEK.start_ns + number * 24 * HOUR_NS), failure="transient" if number < 2 else None, trace=7 + number % 3, session=""
        )
    fleet.call(seconds(WEEK.start_ns), session="one", failure="business")
    taken(database, fleet)
    rows = ReviewCounts(database.engine).sessions("shop", "get_order", WEEK.start_ns, WEEK.end_ns, 7, 7)
    named = {(row.session, row.trace_id) for row in rows}
    assert sum(row.failures for row in rows) == 3
    assert len({key for key in named if key[0] is None}) == 3


def test_alerts_of_a_week_are_those_that_lasted_into_it_and_fired_before_its_end(database: Database) -> None:
    over = storm(1, fired_ns=WEEK.start_ns - 5, resolved_ns=WEEK.start_ns)
    into = storm(2, fired_ns=WEEK.start_ns - 5, resolved_ns=WEEK.start_ns + 1)
    goes_on = storm(3, fired_ns=WEEK.end_ns - 1, resolved_ns=None, state="firing")
    after = storm(4, fired_ns=WEEK.end_ns, resolved_ns=None, state="firing", rule="loop")
    pending = storm(5, fired_ns=None, resolved_ns=None, state="pending", rule="burn_rate")
    AlertStore(database.engine).commit(News([over, into, goes_on, after, pending]))
    found = ReviewCounts(database.engine).alerts(WEEK.start_ns, WEEK.end_ns)
    assert [one.id for one in found] == ["a2", "a3"]
    assert found[0] == into
