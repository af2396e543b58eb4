"""Loops are counted consecutively, in one session, of the same call with the same end."""

from collector.core.loops import IDLE_NS, Limits, Loop, Step, loop_at_the_end
from tests.tables import sentences

S = 10**9


def steps(pattern: str, every_ns: int = 10 * S, results: int | None = 1) -> list[Step]:
    """One call a letter: capitals fail, the letter is the arguments; a dot is half an hour of nothing."""
    made, now_ns = [], 0
    for letter in pattern:
        if letter == ".":
            now_ns += IDLE_NS
            continue
        outcome = "failure" if letter.isupper() else "success"
        made.append(Step(now_ns, "bank", "get_balance", ord(letter.lower()), outcome, results, f"call {len(made)}"))
        now_ns += every_ns
    return made


@sentences(
    "pattern, times, period, alert",
    {
        "two failures are none yet": ("AA", 0, 0, False),
        "three failures are worth a warning": ("AAA", 3, 1, False),
        "five still": ("AAAAA", 5, 1, False),
        "six are worth an alert": ("AAAAAA", 6, 1, True),
        "ninety are one loop of ninety": ("A" * 90, 90, 1, True),
        "other calls before do not matter": ("xyAAAAAA", 6, 1, True),
        "a good answer of another call ends it": ("AAAAAAb", 0, 0, False),
        "so does another call in between": ("AAAAABAAA", 3, 1, False),
        "the same call that succeeds ends it": ("AAAAAAa", 0, 0, False),
        "half an hour of nothing ends it": ("AAAAAA.A", 0, 0, False),
        "what came after half an hour counts alone": ("AAA.AAA", 3, 1, False),
        "two calls in turn": ("AB" * 6, 6, 2, True),
        "three": ("ABC" * 3, 3, 3, False),
        "four": ("ABCD" * 6, 6, 4, True),
        "five in turn are no circle that is looked for": ("ABCDE" * 6, 0, 0, False),
        "good answers that are the same are counted too": ("aaaaaa", 6, 1, True),
        "a circle of good and bad": ("Ab" * 3, 3, 2, False),
    },
)
def test_loops(pattern: str, times: int, period: int, alert: bool) -> None:
    found = loop_at_the_end(steps(pattern), Limits())
    assert (found is not None) == (times > 0)
    if found is not None:
        assert (found.times, found.period, found.alert) == (times, period, alert)


def test_good_answers_that_are_not_known_to_be_the_same_are_no_loop() -> None:
    assert loop_at_the_end(steps("a" * 40, results=None), Limits()) is None


def test_failures_need_no_result_to_be_the_same() -> None:
    assert loop_at_the_end(steps("A" * 6, results=None), Limits()) is not None


@sentences(
    "count, found",
    {"14 answers of a tool that only reads are nothing": (14, None), "15 are worth a warning": (15, False), "30 an alert": (30, True)},
)
def test_tools_that_only_read_may_be_asked_five_times_as_often(count: int, found: bool | None) -> None:
    loop = loop_at_the_end(steps("a" * count), Limits(), frozenset({("bank", "get_balance")}))
    assert (None if loop is None else loop.alert) is found


def test_a_loop_says_where_and_since_when() -> None:
    assert loop_at_the_end(steps("xAAAAAA"), Limits()) == Loop(
        "bank", "get_balance", "failure", 6, 1, True, 10 * S, 60 * S, ("call 4", "call 5", "call 6")
    )
