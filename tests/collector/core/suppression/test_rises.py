"""Q4: the score of a rise, by hand and by the definition, and when it is one."""

from math import log
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.core.suppression.rises import Step, chance, enough, look_for_rise, raised, score
from tests.tables import sentences


def each(answers: str) -> list[Step]:
    """One answer a step: e for empty, d for data."""
    return [Step(int(answer == "e"), 1, at) for at, answer in enumerate(answers)]


@pytest.mark.parametrize(("usual", "to"), [(0.01, 0.11), (0.05, 0.15), (0.1, 0.3), (0.2, 0.6), (0.4, 0.9)])
def test_a_rise_is_looked_for_to_three_times_as_many_or_ten_points_more(usual: float, to: float) -> None:
    assert raised(usual) == pytest.approx(to)


@pytest.mark.parametrize(("usual", "score"), [(0.01, 7), (0.099, 7), (0.1, 9), (0.5, 9)])
def test_where_empties_are_usual_more_is_needed(usual: float, score: int) -> None:
    assert enough(usual) == score


def test_the_score_by_hand() -> None:
    # p0 = .05, p1 = .15: ln 3 = 1.0986 for an empty answer, ln(.85/.95) = -.1112 for one with data.
    up, down = log(3), log(0.85 / 0.95)
    found = score(each("ddeedee"), 0.05)
    assert found.highest == pytest.approx(4 * up + down)
    assert (found.at, found.since) == (6, 2)
    assert score(each("eddddddddddddddd"), 0.05).highest == pytest.approx(up)


@given(st.text("ed", max_size=200), st.floats(0.001, 0.8))
def test_the_score_is_that_of_its_definition(answers: str, usual: float) -> None:
    to = raised(usual)
    current = highest = 0.0
    for answer in answers:
        current = max(0.0, current + (log(to / usual) if answer == "e" else log((1 - to) / (1 - usual))))
        highest = max(highest, current)
    assert score(each(answers), usual).highest == pytest.approx(highest)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 20)), max_size=60))
def test_steps_of_several_answers_never_score_more_than_their_worst_order(counts: list[tuple[int, int]]) -> None:
    together = [Step(empty, empty + data) for empty, data in counts]
    worst = [one for empty, data in counts for one in each("d" * data + "e" * empty)]
    assert score(together, 0.05).highest <= score(worst, 0.05).highest + 1e-9


BEFORE = Step(20, 1_000)


@sentences(
    "steps, before, flag",
    {
        "many empties from one moment on": (each("d" * 200 + "ed" * 20), BEFORE, True),
        "as always": (each(("d" * 49 + "e") * 8), BEFORE, False),
        "one empty answer": (each("d" * 200 + "e"), BEFORE, False),
        "three empty answers in a row of a tool that is never empty": (each("d" * 50 + "eee"), Step(0, 2_000), True),
        "a tool that is often empty is empty a little more often": (each("eed" * 10), Step(500, 1_000), False),
        "without a time before, the first quarter says what is usual": (each("d" * 150 + "e" * 30), Step(0, 0), True),
    },
)
def test_rises(steps: list[Step], before: Step, flag: bool) -> None:
    tested = look_for_rise(steps, before)
    assert tested is not None
    assert (tested.signal is not None) is flag


def test_a_rise_says_from_when_on() -> None:
    tested = look_for_rise(each("d" * 200 + "e" * 30), BEFORE)
    assert tested is not None
    assert tested.signal is not None
    assert (tested.signal.k, tested.signal.n) == (30, 30)
    assert (tested.signal.detail["since_ns"], tested.signal.detail["until_ns"]) == (200, 229)
    assert "30 of 30 answers were empty (100.0 %), before it 20 of 1,000 (2.0 %)" in tested.signal.says


@pytest.mark.parametrize("steps", [each("d" * 40), [], each("d" * 60)])
def test_too_few_answers_say_nothing_of_what_is_usual(steps: list[Step]) -> None:
    tested = look_for_rise(steps, Step(1, 20))
    assert tested is None or tested.signal is None


def test_the_chance_of_a_score_grows_with_the_answers_and_falls_with_the_score() -> None:
    assert chance(0.0, 100, 0.05) == 1.0
    assert chance(7.0, 100, 0.05) < chance(7.0, 10_000, 0.05) < 1.0
    assert chance(30.0, 10_000, 0.05) < 1e-6
    assert 0.0 <= chance(5_000.0, 10_000, 0.05) < 1e-6


def test_the_chance_of_a_score_is_at_least_as_large_as_in_simulated_runs() -> None:
    random = Random(7)
    runs, answers, usual = 300, 400, 0.05
    reached = sum(score([Step(int(random.random() < usual), 1) for _ in range(answers)], usual).highest >= 5 for _ in range(runs))
    assert reached / runs <= chance(5.0, answers, usual)
