"""Two weeks of a small fleet for tests of reviews, with a change between them that is there, and one that is not."""

from typing import Any

from collector.core.default_rules import DEFAULTS
from collector.core.review.budgets import targets_of
from collector.core.rulebook import read_rules
from collector.review_counts import ReviewCounts
from collector.work.reviewing import Reviewer, Watched
from schemas.alerting import HOUR_NS, MINUTE_NS, SECOND_NS, STORM, Alert, labels_of
from schemas.weeks import Week, week_named
from tests.alerting import Fleet
from tests.database import Database
from tests.spans import START_NS, request

ZONE = "Europe/Berlin"
WEEK: Week = week_named("2026-W48", ZONE)
BEFORE = WEEK.before()
# Wednesday after the week, when it is long closed.
LATER_NS = WEEK.end_ns + 58 * HOUR_NS
SESSIONS = 40
BOOK = read_rules(DEFAULTS)


def seconds(moment_ns: int) -> float:
    """A moment as the builders of spans count: from START_NS."""
    return (moment_ns - START_NS) / SECOND_NS


def fleet_of_a_week(fleet: Fleet, week: Week, failing: int, empty: int) -> None:
    """40 sessions of ten calls, on Tuesday from 09:45: of each, `failing` calls of get_order fail, `empty` answers of list_orders are empty."""
    for session in range(SESSIONS):
        start = seconds(week.start_ns + 34 * HOUR_NS) - 900 + session % 4 * 900
        named: dict[str, Any] = {"session": f"{week.name}-{session}"}
        for number in range(5):
            failure = "transient" if number < failing else None
            fleet.call(start + number * 300, failure=failure, tool="get_order", arguments=f"{number}", **named)
            result = "[]" if number < empty else '[{"id": 1}]'
            more = {"gen_ai.tool.call.result": result}
            fleet.call(start + 100 + number * 300, tool="list_orders", arguments=f"{number}", **named, **more)
        # A retry that helps, and one that cannot: after a failure that no retry mends.
        if session % 10 == 0:
            fleet.operation(start + 1_600, [False, True], tool="get_order", arguments="r", **named)
            fleet.operation(start + 1_700, [False, False], tool="get_order", arguments="w", failure="permission", **named)


def two_weeks() -> Fleet:
    """The week before WEEK, and WEEK: get_order fails twice as often as before, list_orders is empty as often as before."""
    fleet = Fleet()
    fleet_of_a_week(fleet, BEFORE, 1, 2)
    fleet_of_a_week(fleet, WEEK, 3, 2)
    return fleet


def taken(database: Database, fleet: Fleet) -> None:
    """Receive a fleet, and settle."""
    spans = sorted(fleet.sent, key=lambda one: one.end)
    for start in range(0, len(spans), 500):
        database.insert(request(*(one.span for one in spans[start : start + 500]), service="shop"), now_ns=LATER_NS)
    database.settle(LATER_NS)


def storm(number: int = 1, **changes: Any) -> Alert:
    """A storm that was found on Tuesday of WEEK, eight minutes after it began, and lasted an hour from then."""
    began = WEEK.start_ns + 34 * HOUR_NS
    return Alert(
        **{
            "id": f"a{number}",
            "rule": "retry_storm",
            "labels": labels_of(server="shop", tool="get_order"),
            "severity": "page",
            "class_": "fleet",
            "state": "resolved",
            "started_ns": began + 5 * MINUTE_NS,
            "last_true_ns": began + HOUR_NS,
            "evaluated_ns": began + HOUR_NS,
            "fired_ns": began + 8 * MINUTE_NS,
            "resolved_ns": began + 68 * MINUTE_NS,
            "first_bad_ns": began,
            "evidence": {"says": "41 of 90 attempts are retries"},
            **changes,
        }
    )


def reviewer(database: Database) -> Reviewer:
    """Who reviews a database by the built-in rules."""
    kinds = {rule.name: rule.kind for rule in BOOK.rules}
    assert STORM in kinds.values()
    return Reviewer(ReviewCounts(database.engine), Watched(targets_of(BOOK.rules), kinds))
