"""Q6 and Q7: the same question answered otherwise than before, and agents that ask again because they do not believe an answer."""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from scipy.stats import binom

from collector.core.stats import newcombe, wilson
from collector.core.suppression.chance import RARE, Looked, more_often
from schemas.suppression import Q6, Q7, Signal

DAY_NS = 86_400 * 10**9
REMEMBERED_NS, BACK_NS = 7 * DAY_NS, DAY_NS
LEAST_QUESTIONS = 10
# A hundredth of questions may lose their answer at any time.
USUAL = 0.01
LEAST_DIFFERENCE = 0.1
MOST_EXAMPLES = 3


class Answer(NamedTuple):
    """One answer of which it is known whether it held data; `call` names it as addresses of pages do."""

    start_ns: int
    arguments_hash: int
    empty: bool
    call: str


class _Question(NamedTuple):
    """What became of one question after it had held data: how often it was asked again, was empty then, the first such call, and back."""

    asked: int
    empty: int
    gone: Answer | None
    back: bool


def look_for_lost(answers: Iterable[Answer], start_ns: int) -> Looked | None:
    """Q6: whether questions that held data within 7 days come back empty from `start_ns` on, more often than they did before it.

    Each question (the same arguments) counts once, whoever asks it how often. None below ten of them. Where too little was asked again
    before, the first quarter of the answers says what is usual.
    """
    answers = sorted(answers)
    usual = _usual(answers, start_ns)
    if usual is None and answers:
        start_ns = max(start_ns, answers[len(answers) // 4].start_ns)
        usual = _usual(answers, start_ns)
    now = [one for one in _questions(answers, start_ns) if one.asked]
    if len(now) < LEAST_QUESTIONS:
        return None
    lost = [one for one in now if one.gone is not None]
    # One that is asked often loses its answer at some time more easily than one that is asked once.
    expected = max(USUAL, sum(1 - (1 - (usual or 0.0)) ** one.asked for one in now) / len(now))
    p = float(binom.sf(len(lost) - 1, len(now), expected))
    if p >= RARE:
        return Looked(p)
    back = sum(one.back for one in lost)
    detail = {"back": back, "expected": expected, "strong": 2 * back >= len(lost)}
    return Looked(p, Signal(Q6, len(lost), len(now), p, detail, tuple(one.gone.call for one in lost if one.gone)[:MOST_EXAMPLES]))


def _usual(answers: Iterable[Answer], before_ns: int) -> float | None:
    """The share of empties among answers to questions that held data, before a time; None where fewer than ten were asked again."""
    questions = [one for one in _questions([answer for answer in answers if answer.start_ns < before_ns], 0) if one.asked]
    if len(questions) < LEAST_QUESTIONS:
        return None
    # The upper end: what few answers say of what is usual is not known well.
    return wilson(sum(one.empty for one in questions), sum(one.asked for one in questions))[1]


def _questions(answers: Iterable[Answer], start_ns: int) -> list[_Question]:
    """What became of each question from a time on. The answers are in order."""
    by_question: dict[int, list[Answer]] = defaultdict(list)
    for answer in answers:
        by_question[answer.arguments_hash].append(answer)
    return [_question(some, start_ns) for some in by_question.values()]


def _question(answers: Iterable[Answer], start_ns: int) -> _Question:
    known_ns: int | None = None
    gone: Answer | None = None
    asked = empty = 0
    back = False
    for answer in answers:
        if known_ns is not None and answer.start_ns >= start_ns and answer.start_ns - known_ns <= REMEMBERED_NS:
            asked, empty = asked + 1, empty + answer.empty
            if answer.empty and gone is None:
                gone = answer
        if not answer.empty:
            known_ns = answer.start_ns
            back = back or (gone is not None and answer.start_ns - gone.start_ns <= BACK_NS)
    return _Question(asked, empty, gone, back)


class Repeat(NamedTuple):
    """A call that asks the same again after an answer; `empty` says whether that answer was."""

    empty: bool
    call: str


def look_for_disbelief(empty: int, data: int, repeats: Iterable[Repeat]) -> Looked | None:
    """Q7: whether agents repeat a call more often after empty answers than after data. None if there are not both."""
    if not empty or not data:
        return None
    repeats = list(repeats)
    after_empty = [one for one in repeats if one.empty]
    # One answer may be followed by several repeats, of which only the first follows it; counts of another moment may be less.
    k, data_k = min(len(after_empty), empty), min(len(repeats) - len(after_empty), data)
    p = more_often(k, empty, data_k, data)
    low, high = newcombe(k, empty, data_k, data)
    if low <= LEAST_DIFFERENCE:
        return Looked(p)
    detail = {"data_k": data_k, "data_n": data, "low": low, "high": high}
    return Looked(p, Signal(Q7, k, empty, p, detail, tuple(one.call for one in after_empty[:MOST_EXAMPLES])))
