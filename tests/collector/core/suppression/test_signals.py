"""Every signal: what flags it, what it says, and the innocent things that look like it and do not flag it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from collector.core.histogram import index_of
from collector.core.suppression.answers import DAY_NS, Answer, Repeat, look_for_disbelief, look_for_lost
from collector.core.suppression.bunching import look_for_bunch
from collector.core.suppression.chance import Looked, more_often
from collector.core.suppression.children import Answers, Hiding, look_inside, named
from collector.core.suppression.siblings import Course, bad, look_beside, look_for_luck
from schemas.calls import FailedChild
from schemas.suppression import Signal
from tests.tables import sentences

CHILD = FailedChild(b"12345678", "GET /orders", "orders", "503", 503, "db:80", False)


def signal(tested: Looked | None) -> Signal:
    assert tested is not None
    assert tested.signal is not None
    return tested.signal


def flagged(tested: Looked | None) -> bool:
    return tested is not None and tested.signal is not None


def hiding(number: int, emptiness: str = "empty", child: FailedChild = CHILD, sessions: int = 10) -> list[Hiding]:
    return [Hiding(f"{at}", f"s{at % sessions}", emptiness, [child]) for at in range(number)]


def test_fisher_is_one_sided_and_exact() -> None:
    # All three marked of 23 fall into the group of three: 1 in C(23, 3).
    assert more_often(3, 3, 0, 20) == pytest.approx(1 / 1771)
    assert more_often(0, 3, 3, 20) == 1.0
    assert more_often(3, 3, 0, 0) == more_often(0, 0, 3, 3) == 1.0


@sentences(
    "answers, inside, flag",
    {
        "empties hide failures that data does not": (Answers(20, 100), hiding(15), True),
        "three of three": (Answers(3, 20), hiding(3), True),
        "two are too few": (Answers(2, 10_000), hiding(2), False),
        "three of many empties": (Answers(400, 400), hiding(3), False),
        "a handled fallback fails under data too": (Answers(20, 100), [*hiding(15), *hiding(75, "data")], False),
        "a cache answers with data when its backend fails": (Answers(20, 100), [*hiding(4), *hiding(30, "data")], False),
        "a retried child went well later": (Answers(20, 100), hiding(15, child=CHILD._replace(recovered=True)), False),
        "a 404 means that there is none": (Answers(20, 100), hiding(15, child=CHILD._replace(http_status=404)), False),
        "hedged requests fail under every answer": (Answers(50, 50), [*hiding(50), *hiding(50, "data")], False),
        "answers that cannot be told are no empties": (Answers(20, 100), hiding(15, "unknown"), False),
    },
)
def test_q1_failed_children(answers: Answers, inside: list[Hiding], flag: bool) -> None:
    assert flagged(look_inside(answers, inside, Answers(0, 0), 0)) is flag


def test_q1_says_what_failed_and_in_how_many_sessions() -> None:
    found = signal(look_inside(Answers(20, 100), [*hiding(15, sessions=2), *hiding(1, "data")], Answers(0, 0), 0))
    assert found.says == (
        "15 of 20 empty answers (75.0 %) hide a failed span, mostly GET /orders to db:80 (503), in 2 sessions; of answers with data 1 of 100 do."
    )
    assert (found.k, found.n, found.examples) == (15, 20, ("0", "1", "2"))


@sentences(
    "siblings, siblings_hiding, flag",
    {
        "a tool without data is compared with the server's other tools": (Answers(0, 200), 2, True),
        "unless they fail inside as often": (Answers(0, 200), 190, False),
        "with nothing to compare nothing is said": (Answers(0, 0), 0, False),
    },
)
def test_q1_without_data(siblings: Answers, siblings_hiding: int, flag: bool) -> None:
    assert flagged(look_inside(Answers(30, 0), hiding(30), siblings, siblings_hiding)) is flag


def test_q1_says_nothing_of_a_tool_without_empties() -> None:
    assert look_inside(Answers(0, 50), hiding(9, "data"), Answers(0, 0), 0) is None


def test_a_failed_child_is_named_in_bounds_whatever_it_is_called() -> None:
    assert len(named(CHILD._replace(name="x" * 999, peer="y" * 999, http_status=None, error_type="z" * 999))) < 200


def histogram(*durations_s: tuple[float, int]) -> dict[int, int]:
    counts: dict[int, int] = {}
    for seconds, calls in durations_s:
        index = index_of(round(seconds * 1e9))
        counts[index] = counts.get(index, 0) + calls
    return counts


SPREAD = [(0.05 * 1.12**step, 10) for step in range(30)]


@sentences(
    "empty, data, near_s",
    {
        "all at a time-out of thirty seconds": ([(30.0, 20)], SPREAD, 30),
        "two per cent beside it": ([(30.5, 20)], SPREAD, 30),
        "at a duration that is not round": ([(7.7, 20)], SPREAD, None),
        "some of the empties": ([(0.1, 60), (5.0, 12)], SPREAD, 5),
    },
)
def test_q2_empties_bunch(empty: list[tuple[float, int]], data: list[tuple[float, int]], near_s: int | None) -> None:
    found = signal(look_for_bunch(histogram(*empty), histogram(*data)))
    assert found.detail["near_s"] == near_s
    assert found.strong is (near_s is not None)
    assert f"{found.k} of {found.n} empty answers took" in found.says


@sentences(
    "empty, data",
    {
        "four are too few": ([(30.0, 4)], SPREAD),
        "long polls end at their time with data too": ([(30.0, 20)], [(30.0, 300), (1.0, 100)]),
        "a rate limiter holds everything back": ([(2.0, 20), (4.0, 20)], [(2.0, 200), (4.0, 200)]),
        "cold starts are slow with and without data": ([(3.0, 6), (0.1, 100)], [(3.0, 60), (0.1, 1_000)]),
        "fast empties": ([(0.05, 50)], SPREAD),
        "empties spread over all durations": (SPREAD, SPREAD),
    },
)
def test_q2_is_not_flagged(empty: list[tuple[float, int]], data: list[tuple[float, int]]) -> None:
    assert not flagged(look_for_bunch(histogram(*empty), histogram(*data)))


@pytest.mark.parametrize(("empty", "data"), [({}, {1: 5}), ({1: 5}, {})])
def test_q2_needs_two_sides(empty: dict[int, int], data: dict[int, int]) -> None:
    assert look_for_bunch(empty, data) is None


def course(empty: Sequence[int], data: Sequence[int], failure: Sequence[int] | None = None) -> Course:
    failures = failure or [0] * len(empty)
    whole = [sum(three) for three in zip(empty, data, failures, strict=True)]
    return Course(*(np.array(one, dtype=np.int64) for one in (empty, data, failures, whole)))


def test_a_stretch_is_bad_by_the_lower_end_of_five_calls_or_more() -> None:
    # 4 of 4 are too few calls; 1 of 5 and 3 of 8 may be a fifth; 4 of 5 are more for certain (Wilson: 0.376).
    siblings = course([0] * 4, [0, 4, 5, 1], [4, 1, 3, 4])
    assert bad(siblings).tolist() == [False, False, False, True]


# Twelve stretches; siblings are down in the last three.
DOWN = np.array([False] * 9 + [True] * 3)
SIBLINGS = course([0] * 12, [20] * 9 + [4] * 3, [0] * 9 + [16] * 3)


@sentences(
    "tool, q3, q5",
    {
        "empties take the place of failures": (course([1] * 9 + [18] * 3, [19] * 9 + [2] * 3), True, True),
        "it fails as its siblings do": (course([1] * 12, [19] * 9 + [4] * 3, [0] * 9 + [15] * 3), False, False),
        "empties as at other times, and too good": (course([2] * 12, [18] * 12), False, True),
        "a shared season: some more empties, and failures": (course([4] * 12, [16] * 9 + [6] * 3, [0] * 9 + [10] * 3), False, False),
        "too few calls to tell luck": (course([0] * 12, [2] * 12), False, False),
    },
)
def test_q3_and_q5_while_siblings_fail(tool: Course, q3: bool, q5: bool) -> None:
    assert flagged(look_beside(tool, DOWN)) is q3
    assert flagged(look_for_luck(tool, SIBLINGS, DOWN)) is q5


def test_q3_and_q5_say_both_shares() -> None:
    tool = course([1] * 9 + [18] * 3, [19] * 9 + [2] * 3)
    assert signal(look_beside(tool, DOWN)).says == (
        "While other tools of the server failed (3 stretches of 5 min), 54 of 60 answers were empty (90.0 %); at other times 9 of 180 (5.0 %)."
    )
    assert signal(look_for_luck(tool, SIBLINGS, DOWN)).says == (
        "While 48 of 60 calls of the server's other tools failed (80.0 %), this one failed 0 times in 60 calls."
    )


def test_q3_and_q5_say_nothing_where_nothing_is_bad() -> None:
    tool = course([1] * 12, [19] * 12)
    assert look_beside(tool, np.zeros(12, dtype=bool)) is None
    assert look_for_luck(tool, SIBLINGS, np.zeros(12, dtype=bool)) is None


NOW = 30 * DAY_NS


def asked(arguments: int, *answers: tuple[float, bool]) -> list[Answer]:
    """Answers to one question: hours after NOW, and whether it was empty."""
    return [Answer(NOW + round(hours * 3_600e9), arguments, empty, f"{arguments}") for hours, empty in answers]


@sentences(
    "answers, flag, strong",
    {
        "twelve of twelve lost it": ([asked(n, (-24, False), (1, True)) for n in range(12)], True, False),
        "and had it back within a day": ([asked(n, (-24, False), (1, True), (3, False)) for n in range(12)], True, True),
        "back after two days is not soon": ([asked(n, (-24, False), (1, True), (50, False)) for n in range(12)], True, False),
        "a popular question counts once": (
            [asked(1, *((at, at > 0) for at in range(-20, 40)))] + [asked(n, (-1, False), (1, False)) for n in range(2, 40)],
            False,
            False,
        ),
        "nine are too few": ([asked(n, (-24, False), (1, True)) for n in range(9)], False, False),
        "data of eight days ago is forgotten": ([asked(n, (-24 * 8, False), (1, True)) for n in range(40)], False, False),
        "questions that never had data": ([asked(n, (-24, True), (1, True)) for n in range(40)], False, False),
        "a few deletions": ([asked(n, (-24, False), (1, n < 2)) for n in range(60)], False, False),
        "queries that depend on the time lost it before, too": (
            [asked(n, (-90, False), (-40, n % 3 == 0), (-30, False), (1, n % 3 == 1)) for n in range(60)],
            False,
            False,
        ),
    },
)
def test_q6_answers_vanish(answers: list[list[Answer]], flag: bool, strong: bool) -> None:
    tested = look_for_lost([one for some in answers for one in some], NOW)
    assert flagged(tested) is flag
    if flag:
        assert signal(tested).strong is strong
        assert "came back empty" in signal(tested).says


def test_q6_without_a_time_before_takes_the_first_quarter_for_usual() -> None:
    def flickers(hours: int, question: int) -> bool:
        return (hours * 7 + question * 13) % 10 == 0

    always = [one for n in range(30) for one in asked(n, *((hours, flickers(hours, n)) for hours in range(40)))]
    assert not flagged(look_for_lost(always, NOW))
    late = [one for n in range(30) for one in asked(n, *((hours, hours == 35) for hours in range(40)))]
    assert flagged(look_for_lost(late, NOW))


def test_q6_does_not_depend_on_the_order_of_the_answers() -> None:
    answers = [one for n in range(12) for one in asked(n, (-24, False), (1, True), (3, False))]
    assert look_for_lost(answers[::-1], NOW) == look_for_lost(answers, NOW)


def repeated(empty: int, data: int) -> list[Repeat]:
    return [Repeat(True, f"e{at}") for at in range(empty)] + [Repeat(False, f"d{at}") for at in range(data)]


@sentences(
    "empties, data, repeats, flag",
    {
        "agents ask again after empties": (100, 900, repeated(40, 30), True),
        "a habit of searching twice": (100, 900, repeated(35, 300), False),
        "a difference of less than ten points": (1_000, 9_000, repeated(120, 450), False),
        "too few to tell": (4, 900, repeated(1, 0), False),
    },
)
def test_q7_disbelief(empties: int, data: int, repeats: list[Repeat], flag: bool) -> None:
    assert flagged(look_for_disbelief(empties, data, repeats)) is flag


def test_q7_counts_repeats_that_came_before_their_answers_were_counted() -> None:
    found: Any = look_for_disbelief(5, 5, repeated(9, 9))
    assert 0 <= found.p <= 1


@pytest.mark.parametrize("counts", [(0, 5), (5, 0)])
def test_q7_needs_both(counts: tuple[int, int]) -> None:
    assert look_for_disbelief(*counts, repeated(1, 1)) is None


def test_words_of_a_signal_fit_what_it_saw() -> None:
    one = signal(look_inside(Answers(20, 100), hiding(15), Answers(0, 0), 0))
    assert "in 1 session;" in replace(one, detail={**one.detail, "sessions": 1}).says
