"""What is a storm: each condition by itself, what it is called, and when it is over."""

from collector.core.storms import Baseline, Limits, Window, class_of, ended, judge, worth_a_look
from schemas.alerting import CLEAR, FLEET, HOLD, NO_DATA, PAGE, SINGLE, TRUE, WARN
from tests.tables import sentences

DAY_S = 86_400
QUIET = Baseline(12, DAY_S)
LIMITS = Limits()


@sentences(
    "window, baseline, condition, severity",
    {
        "nine retries are too few": (Window(9, 9, 300), QUIET, HOLD, PAGE),
        "ten of ten": (Window(10, 10, 300), QUIET, TRUE, PAGE),
        "ten of a hundred may be by chance": (Window(10, 100, 300), QUIET, HOLD, WARN),
        "seventeen of a hundred are a warning": (Window(17, 100, 300), QUIET, TRUE, WARN),
        "thirty of a hundred a page": (Window(30, 100, 300), QUIET, TRUE, PAGE),
        "what is usual is none": (Window(30, 100, 300), Baseline(30 * 288, DAY_S), HOLD, PAGE),
        "more than usual, but it varies as much": (Window(60, 100, 300), Baseline(30 * 288, DAY_S, 20.0), HOLD, PAGE),
        "a tool without a past": (Window(17, 100, 300), Baseline(0, DAY_S), TRUE, WARN),
    },
)
def test_a_storm(window: Window, baseline: Baseline, condition: str, severity: str) -> None:
    said = judge(window, baseline, LIMITS)
    assert (said.condition, said.severity) == (condition, severity)
    assert bool(said.missing) == (condition == HOLD)


def test_why_it_is_none_is_said_with_numbers() -> None:
    said = judge(Window(9, 400, 300), Baseline(8_640, DAY_S), LIMITS)
    assert said.missing == (
        "9 retries, fewer than 10",
        "at least 1.2% of the attempts are retries, less than 10%",
        "9 retries are usual here: 30.0 expected, chance 1",
    )


@sentences(
    "window, worth",
    {"few retries": (Window(9, 9, 300), False), "a small share": (Window(10, 100, 300), False), "both": (Window(10, 20, 300), True)},
)
def test_only_then_the_baseline_is_read(window: Window, worth: bool) -> None:
    assert worth_a_look(window, LIMITS) is worth


@sentences(
    "since, silent_s, severity, others, condition",
    {
        "few retries among enough attempts": (Window(1, 100, 300), 0.0, WARN, True, CLEAR),
        "still more than half of the limit": (Window(17, 100, 300), 0.0, WARN, True, HOLD),
        "which for a page is twice as much": (Window(15, 100, 300), 0.0, PAGE, True, CLEAR),
        "nineteen attempts say nothing": (Window(0, 19, 300), 0.0, WARN, True, HOLD),
        "no attempts are no data": (Window(0, 0, 300), 300.0, WARN, True, NO_DATA),
        "ten minutes of silence while others call": (Window(9, 10, 900), 600.0, WARN, True, CLEAR),
        "ten minutes of silence of everybody": (Window(9, 10, 900), 600.0, WARN, False, NO_DATA),
    },
)
def test_the_end_of_a_storm(since: Window, silent_s: float, severity: str, others: bool, condition: str) -> None:
    assert ended(since, silent_s, LIMITS, severity, others) == condition


@sentences(
    "retries, class_",
    {
        "five sessions": ([3, 3, 3, 3, 3], FLEET),
        "four": ([4, 4, 4, 4], SINGLE),
        "one of six makes more than half": ([10, 1, 1, 1, 1, 1], SINGLE),
        "one of six makes half": ([5, 1, 1, 1, 1, 1], FLEET),
        "none that is known": ([], SINGLE),
    },
)
def test_who_storms(retries: list[int], class_: str) -> None:
    assert class_of({str(number): count for number, count in enumerate(retries)}, LIMITS) == class_
