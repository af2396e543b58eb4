"""Budgets, causes, incidents and alert quality of a week; and when reviews are made and sent: each decision by sentences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.core.default_rules import DEFAULTS
from collector.core.review.budgets import Targets, table, targets_of
from collector.core.review.counts import ToolCounts, together
from collector.core.review.due import Known, candidates, closed, closes_ns, due, sending
from collector.core.review.incidents import found, quality, storm_minutes
from collector.core.review.pareto import causes
from collector.core.review.telling import delivery_id, message
from collector.core.rulebook import read_rules
from schemas.alerting import HOUR_NS, MINUTE_NS, Alert, labels_of
from schemas.weeks import week_named
from tests.tables import sentences

WEEK = week_named("2026-W48", "Europe/Berlin")
TOOL, OTHER = ("shop", "get_order"), ("shop", "list_orders")
KINDS = {"retry_storm": "storm", "loop": "loop", "burn_rate": "burn"}


def counts(operations: int, bad: int = 0, **categories: int) -> ToolCounts:
    one = ToolCounts(calls=operations, completed=operations, attempts=operations, failed_last=bad)
    one.categories = categories or ({"transient": bad} if bad else {})
    return one


def alert(number: int, start_min: float, end_min: float | None, **changes: object) -> Alert:
    start = WEEK.start_ns + round(start_min * MINUTE_NS)
    end = None if end_min is None else WEEK.start_ns + round(end_min * MINUTE_NS)
    given_: dict[str, object] = {"rule": "retry_storm", "labels": labels_of(server="shop", tool="get_order"), "fired_ns": start} | changes
    return Alert(
        id=f"a{number}", severity="page", class_="fleet", state="resolved" if end else "firing", started_ns=start, last_true_ns=start,
        evaluated_ns=start, resolved_ns=end, **given_,  # type: ignore[arg-type]
    )  # fmt: skip


@sentences(
    "now, earlier, used, burn, days",
    {
        "within the budget": (counts(10_000, 60), [counts(10_000, 50)] * 3, 0.6, 0.525, 190 * 7 / 60),
        "this week alone used it up, four weeks not": (counts(10_000, 200), [counts(10_000)] * 3, 2.0, 0.5, 7.0),
        "four weeks used it up": (counts(10_000, 500), [counts(10_000)] * 3, 5.0, 1.25, 0.0),
        "no failure uses nothing": (counts(10_000), [counts(10_000)] * 3, 0.0, 0.0, None),
        "so few that it lasts longer than the four weeks it is of": (counts(10_000, 1), [counts(10_000)] * 3, 0.01, 0.0025, None),
        "new in this week": (counts(1_000, 5), [], 0.5, 0.5, 7.0),
        "what the caller did wrong is not charged": (
            counts(10_000, 90, validation=40, transient=50),
            [counts(10_000)] * 3,
            *(0.5, 0.125, None),
        ),
    },
)
def test_a_budget_is_used(now: ToolCounts, earlier: list[ToolCounts], used: float, burn: float, days: float | None) -> None:
    [row] = table({TOOL: now}, [{TOOL: one} for one in earlier], Targets(), [], 7.0)
    assert (row.used, row.burn_4_weeks) == (pytest.approx(used), pytest.approx(burn))
    assert row.days_left == (None if days is None else pytest.approx(days))
    assert row.good + row.bad == row.total


def test_targets_are_those_of_the_burn_rate_rule() -> None:
    text = DEFAULTS.replace("slo = 0.99", 'slo = 0.95\nslo_of = { "shop/get_order" = 0.999, "list_orders" = 0.9 }')
    targets = targets_of(read_rules(text).rules)
    assert [targets.of(one) for one in (TOOL, OTHER, ("bank", "get_order"))] == [0.999, 0.9, 0.95]
    assert targets_of([]) == Targets()


def test_those_that_used_most_of_their_budget_come_first_and_those_without_operations_not_at_all() -> None:
    rows = table({TOOL: counts(100, 1), OTHER: counts(100, 2), ("shop", "idle"): counts(0)}, [], Targets(), [], 7.0)
    assert [row.tool for row in rows] == ["list_orders", "get_order"]


@sentences(
    "failures, listed, rest",
    {
        "one cause makes four fifths": ({"a": 80, "b": 20}, ["a"], 20),
        "just less needs the next": ({"a": 79, "b": 21}, ["a", "b"], 0),
        "ties are in the order of names": ({"b": 10, "a": 10}, ["a", "b"], 0),
        "ten rows at most": ({f"t{number:02d}": 10 for number in range(20)}, [f"t{number:02d}" for number in range(10)], 100),
        "nothing failed": ({}, [], 0),
    },
)
def test_causes_are_listed_to_four_fifths_or_ten(failures: dict[str, int], listed: list[str], rest: int) -> None:
    pareto = causes({("shop", tool): counts(1_000, count) for tool, count in failures.items()})
    assert [row.tool for row in pareto.rows] == listed
    assert pareto.rest == rest
    assert [row.cumulative for row in pareto.rows] == pytest.approx(
        [sum(row.count for row in pareto.rows[: place + 1]) / pareto.failures for place in range(len(listed))]
    )


@sentences(
    "alerts, minutes",
    {
        "one": ([alert(1, 10, 40)], 30),
        "two at once are not twice as long": ([alert(1, 10, 40), alert(2, 20, 50)], 40),
        "one within another": ([alert(1, 10, 60), alert(2, 20, 30)], 50),
        "one after the other": ([alert(1, 10, 20), alert(2, 30, 40)], 20),
        "from before the week": ([alert(1, -100, 15)], 15),
        "that goes on": ([alert(1, 10_070, None)], 10),
        "a loop is none": ([alert(1, 10, 40, rule="loop")], 0),
        "one that never fired is none": ([alert(1, 10, 40, fired_ns=None)], 0),
        "it began before it was found": ([alert(1, 10, 40, first_bad_ns=WEEK.start_ns + 5 * MINUTE_NS)], 35),
    },
)
def test_storm_minutes(alerts: list[Alert], minutes: float) -> None:
    assert storm_minutes(alerts, KINDS, WEEK.start_ns, WEEK.end_ns) == minutes
    assert storm_minutes(alerts[::-1], KINDS, WEEK.start_ns, WEEK.end_ns) == minutes


@sentences(
    "bad, due_",
    {"a fifth of the budget is not above it": (20, False), "more is": (21, True)},
)
def test_a_post_mortem_is_due_above_a_fifth_of_the_budget(bad: int, due_: bool) -> None:
    week = {TOOL: counts(10_000, 30), OTHER: counts(10_000)}
    [incident] = found(
        [alert(1, 10, 40)], KINDS, week, Targets(), lambda *_: {TOOL: counts(200, bad), OTHER: counts(500, 500)}, WEEK.start_ns, WEEK.end_ns
    )
    assert (incident.bad, incident.budget_share, incident.post_mortem) == (bad, pytest.approx(bad / 100), due_)


def test_an_incident_of_a_server_is_about_all_of_its_tools() -> None:
    week = {TOOL: counts(1_000), OTHER: counts(1_000), ("bank", "pay"): counts(1_000)}
    [incident] = found(
        [alert(1, 10, 40, labels=labels_of(server="shop"))],
        KINDS,
        week,
        Targets(),
        lambda *_: {one: counts(100, 3) for one in week},
        WEEK.start_ns,
        WEEK.end_ns,
    )
    assert (incident.tool, incident.bad, incident.attempts, incident.budget_share) == ("", 6, 200, pytest.approx(0.3))


@sentences(
    "one, alone, acknowledged",
    {
        "over within five minutes by itself": (alert(1, 10, 15), 1, 0),
        "later": (alert(1, 10, 15.1), 0, 0),
        "within five minutes, but somebody had it": (alert(1, 10, 12, acknowledged_ns=1), 0, 1),
        "still firing": (alert(1, 10, None), 0, 0),
    },
)
def test_alert_quality(one: Alert, alone: int, acknowledged: int) -> None:
    said = quality([one], WEEK.start_ns, WEEK.end_ns)
    assert (said.fired, said.alone, said.acknowledged) == (1, alone, acknowledged)


def test_an_alert_belongs_to_the_week_in_which_it_fired() -> None:
    said = quality(
        [alert(1, -5, 10), alert(2, 5, 10), alert(3, 7 * 24 * 60, None), alert(4, 5, 10, fired_ns=None)], WEEK.start_ns, WEEK.end_ns
    )
    assert said.fired == 1


CLOSED_NS = closes_ns(WEEK)


@sentences(
    "known, now_ns, wanted",
    {
        "none yet": (None, WEEK.start_ns, True),
        "made half an hour ago": (Known(0, WEEK.start_ns), WEEK.start_ns + HOUR_NS // 2, False),
        "made an hour ago": (Known(0, WEEK.start_ns), WEEK.start_ns + HOUR_NS, True),
        "the week was closed since": (Known(0, CLOSED_NS - 1), CLOSED_NS, True),
        "closed, and looked at just now": (Known(1, CLOSED_NS), CLOSED_NS + 1, False),
        "closed, and looked at an hour ago": (Known(1, CLOSED_NS), CLOSED_NS + HOUR_NS, True),
    },
)
def test_a_review_is_due(known: Known | None, now_ns: int, wanted: bool) -> None:
    assert due(WEEK, known, now_ns) is wanted


def test_a_week_is_closed_after_its_retries_and_what_is_a_little_late() -> None:
    assert WEEK.end_ns + 62 * MINUTE_NS == CLOSED_NS
    assert [closed(WEEK, CLOSED_NS - 1), closed(WEEK, CLOSED_NS)] == [False, True]


def test_the_running_week_and_four_before_it_are_looked_at_back_to_the_first_call() -> None:
    names = ["2026-W48", "2026-W47", "2026-W46", "2026-W45", "2026-W44"]
    assert [week.name for week in candidates("Europe/Berlin", WEEK.start_ns, 0)] == names
    assert [week.name for week in candidates("Europe/Berlin", WEEK.start_ns, WEEK.before().start_ns)] == names[:2]
    assert candidates("Europe/Berlin", WEEK.start_ns, None) == []


def test_it_is_sent_from_nine_on_monday_of_its_zone() -> None:
    weeks = [WEEK.before(-1), WEEK, WEEK.before()]
    nine = WEEK.before(-1).at(9)
    assert sending(weeks, nine - 1) is None
    assert sending(weeks, nine) == WEEK
    assert sending([WEEK], WEEK.end_ns - 1) is None


def test_the_delivery_of_a_review_is_the_same_whoever_makes_it() -> None:
    ids = {delivery_id("UTC", "2026-W48", "a"), delivery_id("UTC", "2026-W48", "b"), delivery_id("UTC", "2026-W49", "a")}
    assert len(ids) == 3
    assert delivery_id("UTC", "2026-W48", "a") in ids


def test_what_is_told_has_no_marks_of_names() -> None:
    one = {"value": 5.0, "of": None, "mark": "~"}
    change = {
        "server": "<@here>",
        "tool": "[x](http://y)",
        "measure": "failures",
        "now": {"value": 0.1, "part": 1, "whole": 10},
        "before": {"value": 0.0},
    }
    names = ("operations", "operation_success", "retry_ratio", "known_empty_share", "storm_minutes")
    record = {
        "week": "2026-W48",
        "zone": "UTC",
        "numbers": dict.fromkeys(names, one),
        "changes": {"regressions": [change], "improvements": [], "mixed": []},
        "incidents": [{"post_mortem": True}],
        "actions": [{"closed_ns": None}],
    }
    body = message(record, "http://here", 1)
    for mark in "<@[(":
        assert mark not in body["description"].replace("(1 of 10)", "")
    assert "Storms and loops: 1, 1 of them used more than 20 % of a budget" in body["description"]
    assert body["url"] == "http://here/reviews/2026-W48"


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 9), st.integers(0, 9))), st.integers(0, 40))
def test_sums_do_not_depend_on_how_they_are_cut(rows: list[tuple[int, int, int]], cut: int) -> None:
    def summed(some: list[tuple[int, int, int]]) -> ToolCounts:
        total = ToolCounts()
        for calls, failures, retries in some:
            total.add_calls("success", "data", "", calls)
            total.add_calls("failure", "", "transient", failures)
            total.add_retries(calls + failures, retries, 0, 0, failures, 0)
        return total

    assert together([summed(rows[:cut]), summed(rows[cut:])]) == together([summed(rows[::-1])])
