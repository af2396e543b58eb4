"""Q4: the moment from which on a tool comes back empty more often than it used to."""

from collections.abc import Sequence
from math import exp, expm1, log
from typing import NamedTuple

from collector.core.stats import wilson
from collector.core.suppression.chance import Looked
from schemas.suppression import Q4, Signal

# A score that is reached by chance once in some thousand answers; where empties are usual, once in ten thousand.
ENOUGH, ENOUGH_OF_MANY = 7, 9
MANY = 0.1
# Fewer answers say nothing of what is usual.
LEAST_BEFORE = 50
# Shares that logarithms can be taken of.
LEAST_SHARE, MOST_SHARE = 1e-4, 0.85


class Step(NamedTuple):
    """Some answers in a row whose order is not known: empty ones, and all of which it is known. One answer a step is the exact test."""

    empty: int
    known: int
    start_ns: int = 0


class Score(NamedTuple):
    """The highest score, the step that it was reached at, and the first step of the rise that led there."""

    highest: float
    at: int
    since: int


def raised(usual: float) -> float:
    """The share of empties that a rise is looked for to: three times as many, ten points more at least."""
    return min(0.9, max(3 * usual, usual + 0.1))


def enough(usual: float) -> int:
    """The score from which on a rise is one."""
    return ENOUGH_OF_MANY if usual >= MANY else ENOUGH


def score(steps: Sequence[Step], usual: float) -> Score:
    """The Bernoulli CUSUM of a share: C = max(0, C + x ln(p1/p0) + (1-x) ln((1-p1)/(1-p0))) (Page 1954, Reynolds and Stoumbos 1999)."""
    up, down = _gains(usual)
    current, since = 0.0, 0
    best = Score(0.0, 0, 0)
    for at, step in enumerate(steps):
        if current == 0.0:
            since = at
        current = max(0.0, current + step.empty * up + (step.known - step.empty) * down)
        if current > best.highest:
            best = Score(current, at, since)
    return best


def chance(highest: float, answers: int, usual: float) -> float:
    """The chance of a score as high within so many answers at the usual share: by the mean run between such scores (Siegmund 1985)."""
    up, down = _gains(usual)
    drift = usual * up + (1 - usual) * down
    between = (exp(min(highest, 700.0)) - highest - 1) / -drift
    return -expm1(-answers / between) if between > 0 else 1.0


def look_for_rise(steps: Sequence[Step], before: Step) -> Looked | None:
    """Whether empties rose at some moment. `before` are the answers before the first step; None where too few say what is usual.

    Without answers from before, the first quarter of the steps stands for them.
    """
    if before.known < LEAST_BEFORE:
        before, steps = _parted(steps)
    answers = sum(step.known for step in steps)
    if before.known < LEAST_BEFORE or not answers:
        return None
    # The upper end of what is usual: a share of few answers is not known well, and what is above it by chance is no rise.
    usual = min(MOST_SHARE, max(LEAST_SHARE, wilson(before.empty, before.known)[1]))
    found = score(steps, usual)
    p = chance(found.highest, answers, usual)
    if found.highest < enough(usual):
        return Looked(p)
    since = steps[found.since : found.at + 1]
    detail = {
        "before_k": before.empty,
        "before_n": before.known,
        "score": found.highest,
        "needed": enough(usual),
        "since_ns": since[0].start_ns,
        "until_ns": since[-1].start_ns,
    }
    return Looked(p, Signal(Q4, sum(step.empty for step in since), sum(step.known for step in since), p, detail))


def _parted(steps: Sequence[Step]) -> tuple[Step, Sequence[Step]]:
    """What happened first, as one step, and the rest: a quarter of the answers, 50 at least."""
    wanted = max(LEAST_BEFORE, sum(step.known for step in steps) // 4)
    empty = known = 0
    for at, step in enumerate(steps):
        if known >= wanted:
            return Step(empty, known), steps[at:]
        empty, known = empty + step.empty, known + step.known
    return Step(empty, known), ()


def _gains(usual: float) -> tuple[float, float]:
    up = raised(usual)
    return log(up / usual), log((1 - up) / (1 - usual))
