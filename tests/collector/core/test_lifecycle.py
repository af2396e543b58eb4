"""The life of an alert: step by step with a clock of its own, and what is told of it."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.core.lifecycle import REPEAT_NS, is_missing, reason_to_tell, step, told
from collector.core.ratios import condition, parse
from schemas.alerting import (
    CLEAR,
    CUSTOM,
    ESCALATED,
    FIRED,
    FIRING,
    FLAPPING,
    FLEET,
    HOLD,
    NO_DATA,
    PAGE,
    PENDING,
    REPEATED,
    RESOLVED,
    SECOND_NS,
    SINGLE,
    SOLVED,
    TICKET,
    TRUE,
    WARN,
    Alert,
    Finding,
    Rule,
    labels_of,
)
from tests.tables import sentences

S = SECOND_NS
MIN = 60 * S
LABELS = labels_of(server="orders", tool="get_order")


def rule(for_s: int = 0, keep_firing_s: int = 0) -> Rule:
    return Rule("r", CUSTOM, WARN, for_s, keep_firing_s)


def finding(condition: str, severity: str = WARN, class_: str = "", ripe: bool = True) -> Finding:
    return Finding("r", LABELS, condition, severity, class_, {}, None, ripe)


class Life:
    """An alert that is evaluated again and again, with all that is told of it."""

    def __init__(self, watched: Rule) -> None:
        self.rule = watched
        self.alert: Alert | None = None
        self.fired: list[int] = []
        self.told: list[str] = []
        self.transitions: list[tuple[str, str]] = []
        self.numbers = 0

    def at(self, now_ns: int, found: Finding) -> str:
        """Evaluate once; gives the state."""
        self.numbers += 1
        stepped = step(self.rule, self.alert, found, now_ns, str(self.numbers), self.fired)
        if stepped.alert is not None or (self.alert is not None and self.alert.state != RESOLVED):
            self.alert = stepped.alert
        for one in stepped.transitions:
            self.transitions.append((one.from_state, one.to_state))
            if one.to_state == FIRING and one.from_state == PENDING:
                self.fired.append(one.at_ns)
        if self.alert is not None and (event := reason_to_tell(self.alert, now_ns)) is not None:
            self.told.append(event)
            self.alert = told(self.alert, event, now_ns)
        return "inactive" if self.alert is None else self.alert.state

    def run(self, conditions: Iterable[str], every_ns: int, start_ns: int = 0) -> list[str]:
        """Evaluate one after the other; gives the states."""
        return [self.at(start_ns + place * every_ns, finding(one)) for place, one in enumerate(conditions)]


@sentences(
    "conditions, states",
    {
        "it holds for a minute, then dips shorter than it is kept, then is over": (
            [TRUE, TRUE, TRUE, CLEAR, CLEAR, CLEAR, CLEAR, CLEAR],
            [PENDING, PENDING, FIRING, FIRING, FIRING, FIRING, FIRING, RESOLVED],
        ),
        "if it holds again meanwhile, the dip counts anew": (
            [TRUE, TRUE, TRUE, CLEAR, CLEAR, TRUE, CLEAR, CLEAR, CLEAR, CLEAR, CLEAR],
            [PENDING, PENDING, *[FIRING] * 8, RESOLVED],
        ),
        "what holds shorter than it must was nothing": ([TRUE, TRUE, CLEAR], [PENDING, PENDING, "inactive"]),
        "what no longer holds is not pending, even if it is not over": ([TRUE, HOLD], [PENDING, "inactive"]),
        "a failed evaluation keeps what is pending": ([TRUE, NO_DATA, TRUE], [PENDING, PENDING, FIRING]),
        "without data nothing begins": ([NO_DATA, HOLD, CLEAR], ["inactive"] * 3),
        "data that stops ends nothing": ([TRUE, TRUE, TRUE, *[NO_DATA] * 50], [PENDING, PENDING, *[FIRING] * 51]),
        "time without data is no time of quiet": (
            [TRUE, TRUE, TRUE, CLEAR, NO_DATA, NO_DATA, NO_DATA, CLEAR, CLEAR, CLEAR, CLEAR],
            [PENDING, PENDING, *[FIRING] * 8, RESOLVED],
        ),
    },
)
def test_states_by_thirty_seconds(conditions: list[str], states: list[str]) -> None:
    assert Life(rule(60, 120)).run(conditions, 30 * S) == states


def test_a_value_that_swings_around_its_threshold_fires_once_and_ends_once() -> None:
    values = [21, 19, 22, 18, 21, 22, 23, 24, 16, 14, 16, 14, 14, 14, 14, 14, 14]
    expression = parse("ratio(outcome=failure) over 5m > 20%").recovering_at(0.15)
    for broken in range(len(values)):
        life = Life(rule(180, 300))
        for minute, value in enumerate(values):
            # One evaluation fails, and the worker restarts there: all that it knows is the alert.
            said = NO_DATA if minute == broken else condition(expression, value, 100)
            life.at(minute * MIN, finding(said))
        assert life.told.count(FIRED) <= 1
        assert life.told.count(SOLVED) <= 1
        assert set(life.told) <= {FIRED, SOLVED}
    life = Life(rule(180, 300))
    life.run([condition(expression, value, 100) for value in values], MIN)
    assert life.told == [FIRED, SOLVED]


def test_three_firings_within_an_hour_are_one_that_flaps_until_it_was_quiet_for_half_an_hour() -> None:
    life = Life(rule())
    wave = [TRUE] * 5 + [CLEAR] * 10
    life.run(wave * 5, MIN)
    assert life.told == [FIRED, SOLVED, FIRED, SOLVED, FLAPPING]
    assert life.alert is not None
    assert life.alert.flapping
    states = life.run([CLEAR] * 40, MIN, 75 * MIN)
    # The last wave had ten minutes of quiet already.
    assert states.index(RESOLVED) == 20
    assert life.told[-1] == SOLVED


def test_two_waves_75_minutes_apart_are_two_alerts() -> None:
    life = Life(rule(0, 600))
    life.run([TRUE] * 10 + [CLEAR] * 65 + [TRUE] * 10 + [CLEAR] * 20, MIN)
    assert life.told == [FIRED, SOLVED, FIRED, SOLVED]


def test_it_only_gets_worse_while_it_lives() -> None:
    life = Life(rule())
    for minute, (severity, class_) in enumerate([(WARN, SINGLE), (PAGE, SINGLE), (WARN, FLEET), (WARN, SINGLE)]):
        life.at(minute * MIN, finding(TRUE, severity, class_))
    assert life.alert is not None
    assert (life.alert.severity, life.alert.class_) == (PAGE, FLEET)
    assert life.told == [FIRED, ESCALATED]


def test_what_is_not_ripe_stays_pending_and_untold() -> None:
    life = Life(rule())
    assert [life.at(minute * MIN, finding(TRUE, ripe=False)) for minute in range(60)] == [PENDING] * 60
    assert life.told == []
    assert life.at(60 * MIN, finding(TRUE)) == FIRING


def firing(**given: object) -> Alert:
    fields: dict[str, object] = {
        "id": "a",
        "rule": "r",
        "labels": LABELS,
        "severity": TICKET,
        "class_": "",
        "state": FIRING,
        "started_ns": 0,
        "last_true_ns": 0,
        "evaluated_ns": 0,
        "fired_ns": 0,
    }
    return Alert(**{**fields, **given})  # type: ignore[arg-type]


TOLD = {"told": FIRED, "told_severity": TICKET, "told_ns": 0}


@sentences(
    "alert, now_ns, event",
    {
        "what fires is told": (firing(), 0, FIRED),
        "what flaps is told as that": (firing(flapping=True), 0, FLAPPING),
        "what is pending is not": (firing(state=PENDING), 0, None),
        "what is muted is not": (firing(muted_by="a storm"), 0, None),
        "what was muted and no longer holds once it is not is no news": (firing(evaluated_ns=1), 1, None),
        "what was told is not told again": (firing(**TOLD), REPEAT_NS - 1, None),
        "but after four hours": (firing(**TOLD), REPEAT_NS, REPEATED),
        "unless somebody has it": (firing(**TOLD, acknowledged_ns=1), REPEAT_NS, None),
        "and at once if it gets worse": (firing(**TOLD | {"told_severity": WARN}), 1, ESCALATED),
        "even if somebody has it": (firing(**TOLD | {"told_severity": WARN}, acknowledged_ns=1), 1, ESCALATED),
        "not if it gets better": (firing(**TOLD | {"told_severity": PAGE}), 1, None),
        "its end is told": (firing(**TOLD, state=RESOLVED), 1, SOLVED),
        "also if it is muted by then, or it would stay open elsewhere": (firing(**TOLD, state=RESOLVED, muted_by="x"), 1, SOLVED),
        "once": (firing(**TOLD | {"told": SOLVED}, state=RESOLVED), 1, None),
        "not the end of what was never told": (firing(state=RESOLVED), 1, None),
    },
)
def test_what_is_told(alert: Alert, now_ns: int, event: str | None) -> None:
    assert reason_to_tell(alert, now_ns) == event


@pytest.mark.parametrize(("minutes", "missing"), [(14, False), (15, True)])
def test_what_has_no_data_for_a_quarter_of_an_hour_is_missing(minutes: int, missing: bool) -> None:
    life = Life(rule())
    life.at(0, finding(TRUE))
    for minute in range(minutes + 1):
        life.at((minute + 1) * MIN, finding(NO_DATA))
    assert life.alert is not None
    assert is_missing(life.alert, (minutes + 1) * MIN) is missing
    life.at(60 * MIN, finding(HOLD))
    assert not is_missing(life.alert, 61 * MIN)


@given(st.lists(st.sampled_from([TRUE, HOLD, CLEAR, NO_DATA]), max_size=120), st.integers(0, 5), st.integers(0, 5))
def test_whatever_comes_each_life_is_told_once_begun_and_once_ended(conditions: list[str], hold: int, keep: int) -> None:
    life = Life(rule(hold * 60, keep * 60))
    life.run(conditions, MIN)
    for one, following in zip(life.told, life.told[1:], strict=False):
        assert (one in (FIRED, FLAPPING)) == (following == SOLVED)
    assert life.transitions.count((PENDING, FIRING)) == len(life.told) - life.told.count(SOLVED)
