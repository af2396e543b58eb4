"""Which tools are suspects, from the rows of the worker: every signal with its calls, and the fleets that show none."""

from collections.abc import Callable

import pytest
from sqlalchemy import Engine

from collector.suppression_counts import SuppressionCounts
from collector.work.suspecting import find_suspects
from schemas.suppression import CONFIRMED, POSSIBLE, PROBABLE, Suspect
from tests import seeds
from tests.database import on_sqlite
from tests.suppressed import DAY_NS, END_NS, HOUR_NS, SECOND_NS, START_NS, Calls, child, inside
from tests.tables import sentences

# The statements are plain; what differs between the engines is tested where they are planned.
pytestmark = on_sqlite

Fleet = Callable[[Calls], None]


def found(engine: Engine, fleet: Fleet) -> list[Suspect]:
    calls = Calls()
    fleet(calls)
    seeds.put_calls(engine, calls.rows)
    return find_suspects(SuppressionCounts(engine), START_NS, END_NS, END_NS)


def hides_failed_children(calls: Calls) -> None:
    for number, start in enumerate(calls.steady(200)):
        swallowed = number % 10 == 0
        calls.add(
            start, session=f"s{number}", emptiness="empty" if swallowed else "data", failed_children=inside(child()) if swallowed else "[]"
        )


def hides_failed_children_and_never_has_data(calls: Calls) -> None:
    for number, start in enumerate(calls.steady(40)):
        calls.add(start, session=f"s{number}", emptiness="empty", failed_children=inside(child()))
        calls.add(start + SECOND_NS, tool="other", session=f"s{number}")


def falls_back_as_often_with_data(calls: Calls) -> None:
    for number, start in enumerate(calls.steady(200)):
        calls.add(start, emptiness="empty" if number % 2 else "data", failed_children=inside(child()) if number % 3 else "[]")


def hides_in_one_session(calls: Calls) -> None:
    for number, start in enumerate(calls.steady(200)):
        swallowed = number % 10 == 0
        calls.add(start, session="s", emptiness="empty" if swallowed else "data", failed_children=inside(child()) if swallowed else "[]")


def times_out_while_siblings_fail(calls: Calls) -> None:
    """An outage of two hours: siblings fail, this tool waits five seconds and answers with nothing."""
    down = END_NS - DAY_NS
    for start in calls.steady(2_000):
        calls.add(start, duration_ns=calls.random.randrange(50, 400) * 1_000_000, arguments_hash=calls.random.randrange(40))
    for start in calls.steady(120, down, down + 2 * HOUR_NS, 24):
        calls.add(start, tool="sibling", outcome="failure", category="transient")
        calls.add(start, emptiness="empty", duration_ns=5_010_000_000, arguments_hash=calls.random.randrange(40))


def finds_nothing_now_and_then(calls: Calls) -> None:
    for start in calls.steady(3_000):
        empty = calls.likely(0.3)
        calls.add(start, emptiness="empty" if empty else "data", arguments_hash=calls.random.randrange(60) * 2 + empty)
        calls.add(start, tool="sibling", outcome="failure" if calls.likely(0.02) else "success")


def ids(suspects: list[Suspect]) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(one.tool, one.class_, tuple(signal.id for signal in one.signals)) for one in suspects]


@sentences(
    "fleet, suspects",
    {
        "a failed span under every empty answer": (hides_failed_children, [("search_docs", CONFIRMED, ("Q1",))]),
        "no answer with data: compared with the other tools of the server": (
            hides_failed_children_and_never_has_data,
            [("search_docs", CONFIRMED, ("Q1",))],
        ),
        "one session alone is not sure": (hides_in_one_session, [("search_docs", POSSIBLE, ("Q1",))]),
        "a handled fallback fails under answers with data as well": (falls_back_as_often_with_data, []),
        "an outage that is swallowed": (times_out_while_siblings_fail, [("search_docs", PROBABLE, ("Q2", "Q3", "Q4", "Q5", "Q6"))]),
        "an honest search": (finds_nothing_now_and_then, []),
    },
)
def test_suspects(engine: Engine, fleet: Fleet, suspects: list[tuple[str, str, tuple[str, ...]]]) -> None:
    assert ids(found(engine, fleet)) == suspects


@pytest.mark.parametrize("fleet", [hides_failed_children, times_out_while_siblings_fail])
def test_each_signal_has_calls_to_look_at(engine: Engine, fleet: Fleet) -> None:
    for suspect in found(engine, fleet):
        for signal in suspect.signals:
            assert 1 <= len(signal.examples) <= 3, signal.id
            assert f"{signal.k:,}" in signal.says


@sentences(
    "sessions, traces, before",
    {
        "in one session": (("s", "s"), (1, 2), "empty"),
        "in one trace, by an emitter that names no session": ((None, None), (1, 1), "empty"),
        "in one trace, the session changed": (("s", "t"), (1, 1), "empty"),
        "nowhere that is kept": ((None, None), (1, 2), None),
    },
)
def test_what_is_asked_again_is_known_by_session_or_by_trace(
    engine: Engine, sessions: tuple[str | None, str | None], traces: tuple[int, int], before: str | None
) -> None:
    asked = [
        seeds.call(
            10 - number,
            trace_id=trace.to_bytes(16, "big"),
            session=session,
            arguments_hash=7,
            emptiness="data" if number else "empty",
            link="repeat" if number else "new",
        )
        for number, (session, trace) in enumerate(zip(sessions, traces, strict=True))
    ]
    seeds.put_calls(engine, asked)
    [again] = SuppressionCounts(engine).repeats(0, seeds.NOW_NS)
    assert again.before == before
