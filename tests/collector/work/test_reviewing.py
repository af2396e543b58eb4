"""The review of a week over real tables: every section says what the calls say, on both engines, in any zone."""

import time

import pytest

from collector.alert_store import AlertStore, News
from collector.review_counts import PARTS, ReviewCounts
from collector.work import reviewing
from schemas.alerting import HOUR_NS, MINUTE_NS
from schemas.reviewing import EMPTIES, FAILURES, FEW, KEYS, NEW, SAME, WORSE, Review
from schemas.weeks import week_named
from tests.alerting import Fleet
from tests.database import Database
from tests.reviewing import BEFORE, BOOK, LATER_NS, SESSIONS, WEEK, ZONE, fleet_of_a_week, reviewer, seconds, storm, taken, two_weeks


@pytest.fixture
def filled(database: Database) -> Database:
    taken(database, two_weeks())
    AlertStore(database.engine).commit(News([storm()]))
    return database


def test_every_section_says_what_the_calls_say(filled: Database) -> None:
    review = reviewer(filled).make(WEEK, LATER_NS, 1)
    assert tuple(review.record()) == KEYS
    _numbers(review)
    # 40 sessions of 3, and 4 of a retry that helps and one that does not: 1 + 2 failures each.
    calls = SESSIONS * 5 + 4 * 4
    [worse] = review.changes.regressions
    assert (worse.tool, worse.measure, worse.mark) == ("get_order", FAILURES, WORSE)
    assert (worse.now.part, worse.now.whole) == (SESSIONS * 3 + 4 * 3, calls)
    assert (worse.before.part, worse.before.whole) == (SESSIONS + 4 * 3, calls)
    assert worse.sessions == SESSIONS
    assert worse.low is not None
    assert worse.low > 0
    assert review.changes.improvements == ()
    assert review.changes.judged == 2
    [first] = review.pareto.rows
    assert (first.category, first.tool, first.count) == ("transient", "get_order", SESSIONS * 3 + 4)
    assert (review.pareto.failures, review.pareto.rest) == (SESSIONS * 3 + 4 * 3, 8)
    assert (review.pareto.wasted, first.wasted) == (4, 4)


def _numbers(review: Review) -> None:
    numbers = review.numbers
    # Ten calls of each session, and two operations of two attempts of every tenth.
    assert numbers.operations.value == SESSIONS * 10 + 4 * 2 == numbers.operations.last_week
    success = numbers.operation_success
    assert success.of is not None
    assert (success.of.part, success.of.whole) == (SESSIONS * 7 + 4, SESSIONS * 10 + 8)
    assert success.mark == WORSE
    assert numbers.retry_ratio.of is not None
    assert (numbers.retry_ratio.of.part, numbers.retry_ratio.of.whole) == (8, SESSIONS * 10 + 16)
    assert numbers.known_empty_share.mark == SAME
    assert numbers.storm_minutes.value == 68
    assert numbers.storm_minutes.mark == FEW
    assert numbers.data.calls == SESSIONS * 10 + 16
    assert numbers.data.quarters == 672
    assert numbers.data.waiting == 0


def test_incidents_use_the_budget(filled: Database) -> None:
    review = reviewer(filled).make(WEEK, LATER_NS, 1)
    [incident] = review.incidents
    assert (incident.kind, incident.class_, incident.tool) == ("storm", "fleet", "get_order")
    # It lasted from 10:00 to 11:08, so it touched the quarters to 11:15.
    start_ns = WEEK.start_ns + 34 * HOUR_NS
    spans = [one.span for one in two_weeks().sent if one.span.name.endswith("get_order")]
    touched = [span for span in spans if start_ns <= span.start_time_unix_nano < start_ns + 75 * MINUTE_NS]
    assert incident.attempts == len(touched) < SESSIONS * 5 + 16
    assert 0 < incident.bad < SESSIONS * 3
    budgets = {row.tool: row for row in review.slo}
    order = budgets["get_order"]
    assert (order.bad, order.total) == (SESSIONS * 3, SESSIONS * 5 + 8)
    assert order.budget == pytest.approx(0.01 * order.total)
    assert order.used == pytest.approx(order.bad / order.budget)
    assert order.used_by_incidents == pytest.approx(incident.bad / order.budget)
    assert incident.budget_share == pytest.approx(incident.bad / order.budget)
    assert incident.post_mortem
    assert order.days_left == 0.0
    assert budgets["list_orders"].days_left is None
    quality = review.alert_quality
    assert (quality.fired, quality.acknowledged, quality.alone) == (1, 0, 0)


def test_fewer_failures_are_no_improvement_while_empties_rise(database: Database) -> None:
    fleet = Fleet()
    for week, failing in ((BEFORE, True), (WEEK, False)):
        for session in range(SESSIONS):
            start = seconds(week.start_ns + 34 * HOUR_NS)
            for number in range(5):
                swallowed = number < 2
                result = "[]" if swallowed and not failing else '[{"id": 1}]'
                failure = "transient" if swallowed and failing else None
                fleet.call(
                    start + number * 300,
                    failure=failure,
                    session=f"{week.name}{session}",
                    arguments=f"{number}",
                    **{"gen_ai.tool.call.result": result},
                )
    taken(database, fleet)
    review = reviewer(database).make(WEEK, LATER_NS, 1)
    assert review.changes.improvements == ()
    assert review.changes.regressions == ()
    [(failures, empties)] = review.changes.mixed
    assert (failures.measure, empties.measure) == (FAILURES, EMPTIES)
    assert failures.now.part == 0 < failures.before.part
    assert empties.mark == WORSE
    assert review.numbers.operation_success.mark == SAME


def test_suspects_and_what_errors_say_are_those_of_the_week(filled: Database) -> None:
    made = reviewing.reviewer_of(filled.engine, BOOK)
    review = made.make(WEEK, LATER_NS, 1)
    assert [(one["tool"], one["failures"] > 0) for one in review.contract] == [("get_order", True)]
    # Its errors have no message: that is what to change.
    assert "message" in [one["id"] for one in review.contract[0]["findings"] if one["k"] < one["n"]]
    # Its empties come while its sibling fails, and at no other time.
    assert [(one["tool"], one["empty"], one["known"]) for one in review.suspects] == [("list_orders", SESSIONS * 2, SESSIONS * 5)]
    assert made.make(WEEK.before(2), LATER_NS, 1).contract == ()


def test_a_week_without_calls_has_zeros_and_dashes(database: Database) -> None:
    review = reviewer(database).make(WEEK, LATER_NS, 1)
    assert review.numbers.operations.value == 0
    assert review.numbers.operation_success.value is None
    assert review.numbers.operation_success.mark == FEW
    assert (review.slo, review.incidents, review.pareto.rows) == ((), (), ())
    assert review.numbers.data.with_calls == 0


def test_the_first_week_of_a_tool_is_new(database: Database) -> None:
    fleet = Fleet()
    fleet_of_a_week(fleet, WEEK, 1, 1)
    taken(database, fleet)
    review = reviewer(database).make(WEEK, LATER_NS, 1)
    assert [one[1] for one in review.changes.new] == ["get_order", "list_orders"]
    assert review.numbers.operation_success.mark == NEW
    gone = reviewer(database).make(WEEK.before(-1), LATER_NS + 168 * HOUR_NS, 1)
    assert [one[1] for one in gone.changes.gone] == ["get_order", "list_orders"]
    assert gone.numbers.operation_success.mark == "gone"


def test_a_running_week_is_partial_and_counts_what_has_gone_by(filled: Database) -> None:
    noon = WEEK.start_ns + 36 * HOUR_NS
    review = reviewer(filled).make(WEEK, noon, 0)
    assert review.partial
    operations = review.numbers.operations
    assert operations.rate == pytest.approx((operations.value or 0) / 36)
    assert operations.last_rate == pytest.approx((SESSIONS * 10 + 8) / 168)
    assert review.numbers.data.quarters == 36 * 4


def test_zones_cut_the_same_calls_into_other_weeks(database: Database) -> None:
    fleet = Fleet()
    for number, moment in enumerate(("2026-11-22T18:10:00", "2026-11-22T18:20:00", "2026-11-22T23:10:00", "2026-11-23T00:10:00")):
        hour, minute = int(moment[11:13]), int(moment[14:16])
        day = -1 if moment.startswith("2026-11-22") else 0
        fleet.call(day * 86_400 + (hour - 10) * 3_600 + minute * 60, session=f"s{number}")
    taken(database, fleet)
    found = {
        zone: reviewer(database).make(week_named("2026-W48", zone), LATER_NS, 1).numbers.operations.value
        for zone in ("Asia/Kathmandu", "Asia/Kolkata", "Europe/Berlin", "UTC", "America/New_York")
    }
    # Their weeks begin at 18:15, 18:30, 23:00, 00:00 and 05:00 of UTC.
    assert found == {"Asia/Kathmandu": 3, "Asia/Kolkata": 2, "Europe/Berlin": 2, "UTC": 1, "America/New_York": 0}


def test_of_many_calls_a_bounded_number_is_looked_at(filled: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = ReviewCounts(filled.engine)
    looked_at = counts.sessions("shop", "get_order", WEEK.start_ns, WEEK.end_ns, 216, 20 * PARTS)
    assert 0 < sum(one.calls for one in looked_at) <= 20 * PARTS
    monkeypatch.setattr(reviewing, "LOOKED_AT", 10)
    monkeypatch.setattr(reviewing, "OF_EACH", 5)
    # What is counted is all of them.
    assert {row.tool: row.total for row in reviewer(filled).make(WEEK, LATER_NS, 1).slo}["get_order"] == SESSIONS * 5 + 8


def test_beyond_so_many_tools_only_the_busiest_are_judged(filled: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reviewing, "MOST_TOOLS", 1)
    review = reviewer(filled).make(WEEK, LATER_NS, 1)
    assert (review.changes.judged, review.changes.too_few) == (1, 1)


def test_progress_is_told_from_none_to_all(filled: Database) -> None:
    told: list[float] = []
    reviewer(filled).make(WEEK, LATER_NS, 1, lambda done, _what: told.append(done))
    assert told == sorted(told)
    assert (told[0], told[-1]) == (0.0, 1.0)


def test_the_zone_of_the_machine_changes_nothing(filled: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for zone in ("UTC", "Asia/Tokyo", "America/New_York"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        found.append(reviewer(filled).make(week_named("2026-W48", ZONE), LATER_NS, 1))
    monkeypatch.undo()
    time.tzset()
    assert found[0] == found[1] == found[2]
