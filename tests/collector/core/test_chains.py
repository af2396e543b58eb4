"""Chains: what is a retry and what is not (spec/retries.md section 1), and that the order in which calls come makes no difference."""

from collections.abc import Iterable, Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.core.chains import WINDOW_NS, Around, Attempt, CallId, Link, link_of, relink, strength

S = 10**9
MS = 10**6


def attempt(start_ns: int = 0, lasts_ns: int | None = S, number: int = 1, **given: object) -> Attempt:
    """A call of one session, tool and arguments, unless said otherwise; ids come of `number`."""
    fields = {
        "trace_id": number.to_bytes(16, "big"),
        "call_id": number.to_bytes(8, "big"),
        "start_ns": 1000 * S + start_ns,
        "end_ns": None if lasts_ns is None else 1000 * S + start_ns + lasts_ns,
        "server": "orders",
        "tool": "get_order",
        "session": "s1",
        "outcome": "failure",
        "category": "transient",
        "link": "new",
        "link_strength": None,
        "attempt": 1,
        "chain_id": None,
        "declared": None,
        "retry_of": None,
        "retry_after_ms": None,
        "arguments_hash": 7,
        "parent_span_id": None,
        "duration_ns": lasts_ns,
        "environment": "",
        "client": "agent",
        "retryable": None,
    }
    made = Attempt(**{**fields, **given})  # type: ignore[arg-type]
    return made if made.chain_id else made._replace(chain_id=made.own_chain)


def linked(call: Attempt, earlier: Attempt) -> Link:
    """The link of a call after one other."""
    fits = strength(call, earlier) is not None
    return link_of(call, earlier if fits else None, None, earlier, WINDOW_NS)


FIRST = attempt()


@pytest.mark.parametrize(
    ("call", "earlier", "link", "evidence"),
    [
        pytest.param(attempt(2 * S, number=2), FIRST, "retry", "same_arguments", id="the same arguments after a failure are a retry"),
        pytest.param(
            attempt(2 * S, number=2), attempt(outcome="success"), "repeat", "same_arguments", id="after a success they are a repeat"
        ),
        pytest.param(attempt(2 * S, number=2), attempt(outcome="partial"), "repeat", "same_arguments", id="after a partial result too"),
        pytest.param(attempt(2 * S, number=2), attempt(outcome="cancelled"), "new", None, id="after a cancelled call they are new"),
        pytest.param(attempt(2 * S, number=2), attempt(outcome="deferred"), "new", None, id="a next round of a deferred call is new"),
        pytest.param(
            attempt(S // 2, number=2), FIRST, "concurrent", "same_arguments", id="a call that overlaps is concurrent, not a retry"
        ),
        pytest.param(attempt(S - 50 * MS, number=2), FIRST, "retry", "same_arguments", id="50 ms of overlap are a clock, not a fan-out"),
        pytest.param(attempt(S - 51 * MS, number=2), FIRST, "concurrent", "same_arguments", id="51 ms are a fan-out"),
        pytest.param(attempt(121 * S, number=2), FIRST, "retry", "same_arguments", id="120 s after the end it is a retry still"),
        pytest.param(attempt(121 * S + 1, number=2), FIRST, "new", None, id="later it is new"),
        pytest.param(
            attempt(200 * S, number=2), attempt(retry_after_ms=100_000), "retry", "same_arguments", id="it may wait twice as long as told"
        ),
        pytest.param(attempt(3600 * S, number=2), attempt(outcome="success"), "new", None, id="the same question an hour later is new"),
        pytest.param(attempt(2 * S, number=2, arguments_hash=8), FIRST, "new", None, id="other arguments are never a retry"),
        pytest.param(
            attempt(2 * S, number=2, arguments_hash=8),
            attempt(category="validation"),
            "repair",
            None,
            id="other arguments after refused ones mend",
        ),
        pytest.param(attempt(2 * S, number=2, tool="list_orders"), FIRST, "new", None, id="another tool after a failure is no retry"),
        pytest.param(attempt(2 * S, number=2, server="docs"), FIRST, "new", None, id="nor is the same tool of another server"),
        pytest.param(attempt(2 * S, number=2, session="s2"), FIRST, "new", None, id="nor is another session"),
        pytest.param(attempt(2 * S, number=2, arguments_hash=None), FIRST, "new", None, id="arguments seen on one side only prove nothing"),
        pytest.param(
            attempt(2 * S, number=2, arguments_hash=None),
            attempt(arguments_hash=None),
            "new",
            None,
            id="unseen arguments need one parent, a session is not enough",
        ),
        pytest.param(
            attempt(2 * S, number=2, arguments_hash=None, parent_span_id=b"p" * 8),
            attempt(arguments_hash=None, parent_span_id=b"p" * 8),
            "retry",
            "same_tool",
            id="unseen arguments under one parent are the same tool",
        ),
        pytest.param(attempt(2 * S, number=2, declared=2), FIRST, "retry", "declared", id="a declared attempt is a retry"),
        pytest.param(attempt(2 * S, number=2, declared=2), attempt(outcome="success"), "retry", "declared", id="whatever came before"),
        pytest.param(
            attempt(2 * S, number=2, retry_of=b"x" * 8), attempt(session="s2"), "retry", "declared", id="even if that is not known"
        ),
    ],
)
def test_a_call_after_another(call: Attempt, earlier: Attempt, link: str, evidence: str | None) -> None:
    """Each rule of section 1, one at a time."""
    found = linked(call, earlier)
    assert (found.link, found.strength) == (link, evidence)


def test_a_retry_joins_the_chain_of_its_predecessor_and_counts_on() -> None:
    """A chain is named by its first call."""
    second = FIRST.linked(Link("retry", "same_arguments", 2, "first"))
    assert linked(attempt(2 * S, number=3), second) == Link("retry", "same_arguments", 3, "first")


def line_of(calls: Iterable[Attempt], updates: Mapping[CallId, Attempt]) -> list[Attempt]:
    """All calls in order, with the links found by now."""
    return sorted((updates.get(call.key, call) for call in calls), key=lambda one: one.order)


def around_in(calls: Sequence[Attempt]):  # type: ignore[no-untyped-def]
    """Looks at all calls, plainly."""

    def around(call: Attempt, updates: Mapping[CallId, Attempt]) -> Around:
        line = line_of(calls, updates)
        before = [one for one in line if one.order < call.order]
        after = [one for one in line if one.order > call.order]
        fits = [one for one in before if strength(call, one)]
        near = [one for one in before if (one.tool, one.server) == (call.tool, call.server) and (one.session == call.session)]
        named = [one for one in before if one.call_id == call.retry_of]
        return Around(fits[-1] if fits else None, named[-1] if named else None, near[-1] if near else None, tuple(after))

    return around


def settled(calls: Sequence[Attempt]) -> dict[CallId, Attempt]:
    """All calls with the links that they have once all are known."""
    updates = relink(calls, around_in(calls))
    return {call.key: updates.get(call.key, call) for call in calls}


ATTEMPTS = st.builds(
    lambda at, lasts, outcome, hashed, session: (at * S // 4, lasts * S // 4, outcome, hashed, session),
    st.integers(0, 1600),
    st.integers(0, 8),
    st.sampled_from(["failure", "success", "cancelled"]),
    st.sampled_from([1, 2, None]),
    st.sampled_from(["s1", "s2", None]),
)


@given(st.lists(ATTEMPTS, max_size=12), st.data())
def test_links_do_not_depend_on_the_order_of_arrival(rows: list[tuple[int, int, str, int | None, str | None]], data: st.DataObject) -> None:
    """Calls that come one by one, in any order, end with the links they have when all come at once."""
    calls = [
        attempt(at, lasts, number + 1, outcome=outcome, arguments_hash=hashed, session=session, parent_span_id=b"p" * 8)._replace(
            trace_id=b"t" * 16
        )
        for number, (at, lasts, outcome, hashed, session) in enumerate(rows)
    ]
    known: dict[CallId, Attempt] = {}
    for call in data.draw(st.permutations(calls)):
        known[call.key] = call
        known.update(relink([call], around_in(list(known.values()))))
    assert known == settled(calls)
