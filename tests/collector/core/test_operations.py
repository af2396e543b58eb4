"""Operations: what their attempts say of them, whether gone through at once or gone on with."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.core.chains import Attempt
from collector.core.operations import SETTLED_AT, Chain, begun, ending, gone_on
from schemas.operations import ENDINGS
from tests.collector.core.test_chains import MS, S, attempt
from tests.tables import sentences


def told(*attempts: Attempt, went_on: bool = False) -> Chain | None:
    progress = begun("name", attempts)
    assert progress is not None
    return progress.chain(went_on)


def chain(*attempts: Attempt, went_on: bool = False) -> Chain:
    found = told(*attempts, went_on=went_on)
    assert found is not None
    return found


def call(at_ns: int, number: int = 1, outcome: str = "failure", **more: Any) -> Attempt:
    """An attempt of a second: the first is new, the others are retries."""
    link = {} if number == 1 else {"link": "retry", "link_strength": "same_arguments"}
    retryable = {"retryable": True} if outcome == "failure" else {}
    return attempt(at_ns, number=number, outcome=outcome, **{**link, **retryable, **more})


@sentences(
    "failed_first, attempts, failed_last, went_on, word",
    {
        "a retry that helped recovers": (True, 2, False, False, "recovered"),
        "it may take any number of them": (True, 9, False, False, "recovered"),
        "three failures exhaust it": (True, 3, True, False, "exhausted"),
        "after two it is given up": (True, 2, True, False, "abandoned"),
        "so it is after one": (True, 1, True, False, "abandoned"),
        "a retry was missed where the session went on": (True, 1, True, True, "missed"),
        "what did not fail first did not recover": (False, 2, False, False, "ended"),
        "it failed in the end": (False, 3, True, False, "failed"),
    },
)
def test_how_an_operation_ends(failed_first: bool, attempts: int, failed_last: bool, went_on: bool, word: str) -> None:
    assert ending(failed_first, attempts, failed_last, went_on) == word
    assert word in ENDINGS


def test_a_call_that_went_well_at_once_needs_no_row() -> None:
    assert told(call(0, outcome="success")) is None
    assert told(call(0, outcome="cancelled")) is None


def test_an_operation_that_recovers_says_when_and_how_long_it_took() -> None:
    found = chain(call(0), call(2 * S, 2), call(7 * S, 3, "success"))
    assert (found.ending, found.recovered_at, found.recovered_ns) == ("recovered", 3, 7 * S)
    # Gaps of one and four seconds.
    assert (found.second_ok, found.growth, found.closes_ns) == (False, 4 * 10**9, None)


def test_a_lone_failure_waits_for_its_session_only_if_it_could_have_been_retried() -> None:
    assert (chain(call(0), went_on=True).ending, chain(call(0), went_on=True).went_on) == ("missed", True)
    other = chain(call(0, retryable=False), went_on=True)
    assert (other.ending, other.went_on) == ("abandoned", None)


@sentences(
    "second, hot",
    {
        "after a pause": (call(3 * S, 2), False),
        "at once": (call(S + 99 * MS, 2), True),
        "a tenth of a second later": (call(S + 100 * MS, 2), False),
        "before the first has ended": (call(S - 50 * MS, 2), True),
    },
)
def test_a_retry_is_hot_that_gives_nothing_the_time_to_mend(second: Attempt, hot: bool) -> None:
    progress = begun("name", [call(0), second])
    assert progress is not None
    assert [retry.hot for retry in progress.retries] == [hot]


@pytest.mark.parametrize(("at_ns", "early"), [(5 * S + 999 * MS, True), (6 * S, False)])
def test_a_retry_is_early_before_the_time_that_the_failure_asked_for(at_ns: int, early: bool) -> None:
    progress = begun("name", [call(0, retry_after_ms=5000), call(at_ns, 2)])
    assert progress is not None
    assert progress.retries[0].early is early


def test_what_is_not_known_of_the_attempt_before_is_not_said() -> None:
    progress = begun("name", [call(0, end_ns=None, retryable=None), call(S, 2)])
    assert progress is not None
    [retry] = progress.retries
    assert (retry.gap_ns, retry.wasted, retry.early, retry.hot) == (None, False, False, False)


def test_only_what_is_known_not_to_be_retryable_is_wasted() -> None:
    for retryable, wasted in ((False, True), (0, True), (None, False), (True, False)):
        progress = begun("name", [call(0, retryable=retryable), call(3 * S, 2)])
        assert progress is not None
        assert progress.retries[0].wasted is wasted


def test_an_operation_is_as_strong_as_its_weakest_link() -> None:
    links = ("declared", "same_tool", "declared")
    found = chain(call(0), *(call(3 * S * number, number, link_strength=strength) for number, strength in enumerate(links, 2)))
    assert found.strength == "same_tool"
    assert chain(call(0)).strength == ""


def test_a_retry_without_a_predecessor_says_nothing_of_a_first_attempt() -> None:
    found = chain(call(0, 2, link_strength="declared"), call(3 * S, 3, "success"))
    assert (found.headless, found.ending, found.recovered_ns, found.strength) == (True, "ended", None, "same_arguments")
    progress = begun("name", [call(0, 2)])
    assert progress is not None
    assert [retry.gap_ns for retry in progress.retries] == [None]


def test_hostile_clocks_stay_within_64_bits() -> None:
    far = call(0, end_ns=2**63 - 1, retry_after_ms=2**62)
    assert chain(far).closes_ns == 2**63 - 1
    # The second gap lies ten thousand years after the first.
    found = chain(call(0), call(S + 1, 2, end_ns=1000 * S), call(2**62, 3))
    assert found.growth == 2**63 - 1


ATTEMPTS = st.lists(
    st.tuples(
        st.sampled_from([0, 50 * MS, S, 3 * S, 200 * S]),
        st.sampled_from([None, 0, 900 * MS]),
        st.sampled_from(["failure", "failure", "failure", "success", "cancelled"]),
        st.sampled_from([None, True, False]),
        st.sampled_from(["declared", "same_arguments", "same_tool"]),
        st.sampled_from(["a", "a", "a", "b"]),
        st.sampled_from([None, 2000]),
    ),
    min_size=SETTLED_AT + 1,
    max_size=12,
)


@given(ATTEMPTS, st.booleans(), st.data())
def test_going_on_with_an_operation_is_as_good_as_going_through_it(rows: list[Any], headless: bool, data: st.DataObject) -> None:
    at, attempts = 0, []
    for number, (gap, lasts, outcome, retryable, strength, client, retry_after) in enumerate(rows, 1):
        at += gap
        link = {"link": "retry", "link_strength": strength} if number > 1 or headless else {}
        named = {"retryable": retryable, "client": client, "retry_after_ms": retry_after, "outcome": outcome}
        attempts.append(attempt(at, lasts, number, **{**named, **link}))
    whole = begun("name", attempts)
    assert whole is not None
    place = data.draw(st.integers(SETTLED_AT, len(attempts) - 1))
    # What the database says of the operation before, whatever came of it then.
    before = begun("name", attempts[: data.draw(st.integers(place, len(attempts)))])
    assert before is not None
    stored = before.chain(None)
    assert stored is not None
    [retry] = [one for one in before.retries if one.place == place]
    further = gone_on(stored, retry, attempts[place - 1], attempts[place:])
    assert further.chain(None) == whole.chain(None)
    assert further.retries == whole.retries[-len(further.retries) :]
