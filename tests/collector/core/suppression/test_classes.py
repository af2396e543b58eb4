"""How sure a suspicion is, which tools are suspects among many, and how often both are right on simulated fleets."""

from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.core.suppression.answers import DAY_NS, Answer, Repeat, look_for_disbelief, look_for_lost
from collector.core.suppression.bunching import look_for_bunch
from collector.core.suppression.chance import Looked, false_shares, together
from collector.core.suppression.children import Answers, Hiding, look_inside
from collector.core.suppression.classes import Case, Place, class_of, suspects
from collector.core.suppression.rises import Step, look_for_rise
from collector.core.suppression.siblings import Course, bad, look_beside, look_for_luck
from schemas.calls import FailedChild
from schemas.suppression import CONFIRMED, POSSIBLE, PROBABLE, SIGNALS, ByDesign, Signal, signals_in, written
from tests.tables import sentences


def seen(*ids: str, sessions: int = 1) -> list[Signal]:
    return [Signal(one, 5, 10, 1e-6, {"sessions": sessions}) for one in ids]


@sentences(
    "signals, class_",
    {
        "failed children in two sessions": (seen("Q1", sessions=2), CONFIRMED),
        "in one session": (seen("Q1"), POSSIBLE),
        "confirmed, whatever else there is": (seen("Q1", "Q4", sessions=3), CONFIRMED),
        "one duration and failing siblings": (seen("Q2", "Q3"), PROBABLE),
        "one duration and too good": (seen("Q2", "Q5"), PROBABLE),
        "too good and lost answers": (seen("Q5", "Q6"), PROBABLE),
        "failing siblings and too good are one": (seen("Q3", "Q5"), POSSIBLE),
        "a rise and disbelief prove less": (seen("Q4", "Q7"), POSSIBLE),
        "a failed child in one session and a duration": (seen("Q1", "Q2"), POSSIBLE),
        "nothing": ([], None),
    },
)
def test_classes(signals: list[Signal], class_: str | None) -> None:
    assert class_of(signals) == class_


def case(tool: str, *looks: Looked | None) -> Case:
    return Case(Place("production", "docs-mcp", tool), looks, 50, 200, 3, 210)


def test_a_tool_is_a_suspect_only_if_it_is_unlikely_among_all_that_were_looked_at() -> None:
    weak = Looked(9e-4, seen("Q3")[0])
    alone = suspects([case("a", weak)], {})
    assert [one.tool for one in alone] == ["a"]
    assert alone[0].q == pytest.approx(9e-4)
    # Among a hundred tools one is as unlikely by chance.
    assert suspects([case("a", weak), *(case(f"t{n}", Looked(0.5)) for n in range(99))], {}) == []


def test_tools_of_which_nothing_could_be_tested_do_not_count_among_all() -> None:
    weak = Looked(9e-4, seen("Q3")[0])
    assert [one.tool for one in suspects([case("a", weak), *(case(f"t{n}", None) for n in range(999))], {})] == ["a"]


def test_several_tests_of_one_tool_cost_as_much() -> None:
    assert together([0.01, 0.5, 1.0]) == pytest.approx(0.03)
    assert together([0.5, 0.9]) == 1.0
    assert together([]) == 1.0
    assert false_shares([]) == []


def test_the_surest_come_first_and_marks_are_on_them() -> None:
    mark = ByDesign("docs-mcp", "b", "nightly", "kim", 1, 2)
    found = suspects(
        [case("b", Looked(1e-12, seen("Q4")[0])), case("a", Looked(1e-6, Signal("Q1", 5, 9, 1e-6, {"sessions": 4})))],
        {("docs-mcp", "b"): mark},
    )
    assert [(one.tool, one.class_, one.by_design) for one in found] == [("a", CONFIRMED, None), ("b", POSSIBLE, mark)]
    assert found[1].false_positives == ("a deploy", "data that is really gone")


@given(st.permutations(range(6)))
def test_the_order_of_the_tools_makes_no_difference(order: list[int]) -> None:
    cases = [case(f"t{n}", Looked(10.0**-n, seen(SIGNALS[n])[0])) for n in range(6)]
    assert suspects([cases[n] for n in order], {}) == suspects(cases, {})


def test_signals_are_read_as_they_were_written() -> None:
    signals = (Signal("Q1", 3, 9, 1e-5, {"child": "é\u202e<b>", "sessions": 2}, ("a/b",)), Signal("Q2", 5, 9, 1e-5))
    assert signals_in(written(signals)) == signals


# Simulated fleets: a week in stretches of an hour, in which tools are called at random.
STRETCHES, CALLS = 168, 4
CHILD = FailedChild(b"12345678", "GET", "orders", "503", 503, "db", False)


def simulated(random: Random, tool: str, empties: float, swallowed: float, down: range, siblings: Course) -> Case:
    """A tool with a share of honest empties, that answers with nothing after five seconds instead of failing while it is down."""
    empty, data, failure = (np.zeros(STRETCHES, dtype=np.int64) for _ in range(3))
    inside: list[Hiding] = []
    durations: dict[str, dict[int, int]] = {"empty": {}, "data": {}}
    answers: list[Answer] = []
    repeats: list[Repeat] = []
    for at in range(STRETCHES):
        for number in range(CALLS):
            question = random.randrange(60)
            hidden = at in down and random.random() < swallowed
            nothing = hidden or question < 60 * empties
            bucket = 74 if hidden else random.randrange(-120, 20)
            (empty if nothing else data)[at] += 1
            kind = durations["empty" if nothing else "data"]
            kind[bucket] = kind.get(bucket, 0) + 1
            call = f"{at}/{number}"
            if hidden or random.random() < 0.02:
                inside.append(Hiding(call, f"s{at}", "empty" if nothing else "data", [CHILD]))
            answers.append(Answer(at * DAY_NS // 24 + number, question, nothing, call))
            if random.random() < 0.05:
                repeats.append(Repeat(nothing, call))
    course = Course(empty, data, failure, empty + data)
    stretches = bad(siblings)
    empties_, data_ = int(empty.sum()), int(data.sum())
    looks = [
        look_inside(Answers(empties_, data_), inside, Answers(0, 0), 0),
        look_for_bunch(durations["empty"], durations["data"]),
        look_beside(course, stretches),
        look_for_rise([Step(int(e), int(e + d), at) for at, (e, d) in enumerate(zip(empty, data, strict=True))], Step(0, 0)),
        look_for_luck(course, siblings, stretches),
        look_for_lost(answers, 0),
        look_for_disbelief(empties_, data_, repeats),
    ]
    return Case(Place("", "s", tool), looks, empties_, empties_ + data_, 0, empties_ + data_)


def siblings_down(random: Random, down: range) -> Course:
    failure = np.array([random.choices((0, 1, 16), (95, 5, 0))[0] + (16 if at in down else 0) for at in range(STRETCHES)], dtype=np.int64)
    whole = np.full(STRETCHES, 20, dtype=np.int64)
    return Course(whole * 0, whole - failure, failure, whole)


def runs(count: int, make: Callable[[Random], list[Case]]) -> list[list[str]]:
    return [[one.class_ for one in suspects(make(Random(seed)), {})] for seed in range(count)]


def test_fleets_that_hide_nothing_are_suspected_in_a_twentieth_of_all_weeks_at_most() -> None:
    quiet = range(0)
    found = runs(40, lambda random: [simulated(random, f"t{n}", 0.1 * n, 0.0, quiet, siblings_down(random, quiet)) for n in range(5)])
    assert sum(map(bool, found)) <= 2


@sentences(
    "hours, share",
    {
        "an outage of three hours": (3, 1.0),
        "half of the calls of six hours": (6, 0.5),
    },
)
def test_a_tool_that_swallows_an_outage_is_found_and_its_neighbours_are_not(hours: int, share: float) -> None:
    down = range(100, 100 + hours)

    def fleet(random: Random) -> list[Case]:
        honest = [simulated(random, f"t{n}", 0.1 * n, 0.0, range(0), siblings_down(random, range(0))) for n in range(4)]
        return [simulated(random, "swallows", 0.05, share, down, siblings_down(random, down)), *honest]

    found = runs(15, fleet)
    assert sum(classes[:1] == [CONFIRMED] for classes in found) >= 14
    assert sum(len(classes) > 1 for classes in found) <= 1
