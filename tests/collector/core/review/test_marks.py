"""What is called a change between two weeks, and what is not: sentences, and a simulation of weeks in which nothing changed."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from collector.core.review.counts import Session
from collector.core.review.marks import Sample, failures, judge, judge_count, share_of
from collector.core.stats import Clustered, clustered, false_discoveries, newcombe, next_of, two_shares
from schemas.reviewing import BETTER, FEW, FEWER, GONE, MORE, NEW, SAME, WORSE
from tests.tables import sentences


def sample(part: int, whole: int, sessions: int = 60, effective: float | None = None) -> Sample:
    return Sample(part, whole, Clustered(part, whole, sessions, float(whole) if effective is None else effective))


@pytest.mark.parametrize(
    ("before", "now", "difference", "low", "high"),
    [
        ((6, 380), (12, 400), 0.014211, -0.008036, 0.037527),
        ((1, 18), (3, 20), 0.094444, -0.129928, 0.309765),
        ((20, 1000), (45, 900), 0.03, 0.013610, 0.047699),
        ((5, 40), (0, 30), -0.125, -0.261121, 0.008575),
    ],
)
def test_newcombe_as_specified(before: tuple[int, int], now: tuple[int, int], difference: float, low: float, high: float) -> None:
    assert now[0] / now[1] - before[0] / before[1] == pytest.approx(difference, abs=1e-6)
    assert newcombe(*now, *before) == pytest.approx((low, high), abs=1e-6)


@sentences(
    "before, now, mark",
    {
        "many more failures are worse": (sample(20, 1000), sample(60, 1000), WORSE),
        "many fewer are better": (sample(60, 1000), sample(20, 1000), BETTER),
        "a few more may be chance": (sample(6, 380), sample(12, 400), SAME),
        "beyond chance, but less than half a point": (sample(100, 1_000_000), sample(400, 1_000_000), SAME),
        "beyond chance, but less than a tenth of what it was": (sample(300_000, 1_000_000), sample(310_000, 1_000_000), SAME),
        "49 calls are too few": (sample(0, 49), sample(600, 1000), FEW),
        "50 are enough": (sample(0, 50), sample(600, 1000), WORSE),
        "too few before too": (sample(600, 1000), sample(0, 49), FEW),
        "29 sessions are too few": (sample(20, 1000, sessions=29), sample(600, 1000), FEW),
        "30 are enough": (sample(20, 1000, sessions=30), sample(600, 1000), WORSE),
        "failures that come in few sessions are worth few calls": (sample(20, 1000, effective=40), sample(60, 1000, effective=40), SAME),
        "not called before": (sample(0, 0), sample(60, 1000), NEW),
        "no longer called": (sample(60, 1000), sample(0, 0), GONE),
        "never called": (sample(0, 0), sample(0, 0), FEW),
        "no failure in either week": (sample(0, 1000), sample(0, 1000), SAME),
        "nothing but failures in both": (sample(900, 900), sample(1000, 1000), SAME),
    },
)
def test_a_share_is_marked(before: Sample, now: Sample, mark: str) -> None:
    assert judge([(before, now)])[0].mark == mark


def test_one_of_many_tools_must_be_surer_than_one_alone() -> None:
    changed, unchanged = (sample(30, 1000), sample(48, 1000)), (sample(30, 1000), sample(31, 1000))
    assert judge([changed])[0].mark == WORSE
    crowd = judge([changed, *[unchanged] * 50])
    assert crowd[0].interval == judge([changed])[0].interval
    assert crowd[0].mark == SAME


def test_a_tool_that_cannot_be_judged_makes_no_other_less_sure() -> None:
    changed, too_few = (sample(30, 1000), sample(48, 1000)), (sample(1, 20), sample(2, 20))
    assert judge([changed, *[too_few] * 50])[0].q == judge([changed])[0].q


def test_of_many_calls_some_sessions_tell_what_all_are_worth() -> None:
    half = Sample(100, 2000, Clustered(50, 1000, 100, 250.0))
    assert half.effective == 500.0


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)).map(lambda pair: (min(pair), max(pair)))), st.randoms(use_true_random=False)
)
def test_sessions_may_come_in_any_order(counts: list[tuple[int, int]], random: object) -> None:
    mixed = list(counts)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    one, other = clustered(counts), clustered(mixed)
    assert (one.part, one.whole, one.clusters) == (other.part, other.whole, other.clusters)
    assert one.effective == pytest.approx(other.effective)
    assert 0 <= one.effective <= one.whole or one.whole == 0


def test_sessions_of_one_call_each_are_independent() -> None:
    found = clustered([(1, 1)] * 10 + [(0, 1)] * 90)
    # V has k - 1 below it: a hundredth less.
    assert found.effective == pytest.approx(99.0)


def test_sessions_that_fail_as_a_whole_are_worth_one_call_each() -> None:
    assert clustered([(10, 10)] * 10 + [(0, 10)] * 90).effective == pytest.approx(99.0)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_false_discoveries_are_those_of_scipy(chances: list[float]) -> None:
    assert false_discoveries(chances) == pytest.approx(list(false_discovery_control(chances, method="bh")))


def test_nothing_tested_discovers_nothing() -> None:
    assert false_discoveries([]) == []


def test_the_chance_of_two_shares_is_that_of_the_pooled_test() -> None:
    # 45 of 900 against 20 of 1000: z = .03 / sqrt(.0342105 * .9657895 * (1/900 + 1/1000)) = 3.5921
    assert two_shares(0.05, 900, 0.02, 1000) == pytest.approx(3.280e-4, rel=1e-3)
    assert two_shares(0.0, 10, 0.0, 10) == 1.0


@sentences(
    "part, whole, shown",
    {
        "none of 40 may be one in eleven": (0, 40, 0.088),
        "none of none says nothing": (0, 0, None),
    },
)
def test_no_failure_has_an_upper_bound(part: int, whole: int, shown: float | None) -> None:
    high = share_of(part, whole).high
    assert high is None if shown is None else round(high or 0, 3) == shown


@sentences(
    "rate, before, neutral, mark",
    {
        "as always": (100.0, [99.0, 101.0, 100.0, 98.0], True, SAME),
        "twice as many": (200.0, [99.0, 101.0, 100.0, 98.0], True, MORE),
        "half": (50.0, [99.0, 101.0, 100.0, 98.0], True, FEWER),
        "twice as many where weeks vary as much": (200.0, [40.0, 210.0, 90.0, 160.0], True, SAME),
        "beyond how they vary, but by less than a tenth": (105.0, [100.0, 100.0, 100.0, 100.0], True, SAME),
        "weeks that are all the same": (100.0, [100.0, 100.0, 100.0, 100.0], True, SAME),
        "three weeks are too few": (200.0, [99.0, 101.0, 100.0], True, FEW),
        "more storms are worse": (3.0, [0.0, 0.0, 0.0, 0.0], False, WORSE),
        "fewer are better": (0.0, [3.0, 3.0, 3.0, 3.0], False, BETTER),
        "a storm of four minutes does not matter": (4 / 168, [0.0, 0.0, 0.0, 0.0], False, SAME),
    },
)
def test_a_count_is_marked_by_how_weeks_vary(rate: float, before: Sequence[float], neutral: bool, mark: str) -> None:
    assert judge_count(rate, before, neutral=neutral, least=5 / 168) == mark


def test_one_more_value_lies_where_t_says() -> None:
    # t(3, .975) = 3.182446; the spread of 1, 2, 3, 4 is 1.290994; sqrt(1 + 1/4) = 1.118034
    assert next_of([1, 2, 3, 4]) == pytest.approx((2.5 - 4.593466, 2.5 + 4.593466), abs=1e-5)


def week(random: np.random.Generator, sessions: int, alike: float = 0.05) -> list[Session]:
    """A week in which 6 % of calls fail, but by session: each has 1 to 40 calls and its own share (beta); `alike` is the correlation."""
    calls, many = random.integers(1, 41, sessions), 1 / alike - 1
    failed = random.binomial(calls, random.beta(0.06 * many, 0.94 * many, sessions))
    return [Session(int(x), int(n), 0, 0, 0, int(n)) for x, n in zip(failed, calls, strict=True)]


def counted(sessions: Sequence[Session]) -> Sample:
    return failures(sum(one.failures for one in sessions), sum(one.completed for one in sessions), sessions)


@pytest.mark.parametrize(("sessions", "alike"), [(60, 0.05), (60, 0.2), (60, 0.3), (100, 0.2), (300, 0.2)])
def test_weeks_in_which_nothing_changed_are_seldom_called_changed(sessions: int, alike: float) -> None:
    random = np.random.default_rng(20261130)
    times, wrong, naive = 1000, 0, 0
    for _ in range(times):
        before, now = counted(week(random, sessions, alike)), counted(week(random, sessions, alike))
        wrong += judge([(before, now)])[0].matters
        # What calls that are taken as independent would say.
        naive += judge([(sample(before.part, before.whole), sample(now.part, now.whole))])[0].matters
    assert wrong <= 0.06 * times
    assert naive > 0.12 * times


def test_a_doubled_share_is_found() -> None:
    random = np.random.default_rng(7)
    found = 0
    for _ in range(200):
        before = week(random, 400)
        now = [one._replace(failures=min(one.completed, 2 * one.failures)) for one in week(random, 400)]
        found += judge([(counted(before), counted(now))])[0].mark == WORSE
    assert found > 0.8 * 200
