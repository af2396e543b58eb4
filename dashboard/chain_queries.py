"""SQL over operations: the list of those that did not go well at once, and one operation with its attempts."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, Table, and_, or_, select, tuple_
from sqlmodel import SQLModel

from dashboard.filters import Filter, FilterError
from dashboard.moments import MINUTE_NS
from dashboard.place_queries import placed
from dashboard.queries import SERIES
from dashboard.retry_queries import ROLLUP
from dashboard.stretch_queries import Held, as_table, holding
from schemas.operations import ABANDONED, ENDED, EXHAUSTED, FAILED, MISSED, OPEN, RECOVERED, SAME_TOOL, at_least
from schemas.rollups import OTHER_TOOLS, RETRY_GRAINS

CALL: Table = SQLModel.metadata.tables["call"]
CHAIN: Table = SQLModel.metadata.tables["chain"]
RETRY: Table = SQLModel.metadata.tables["retry"]

# Counts follow operations within seconds; operations younger than this are looked for without them.
_FRESH_NS = 5 * MINUTE_NS
ATTEMPTS_A_PAGE = 200
_NAME = re.compile("([0-9a-f]{32})-([0-9a-f]{16})")

RECORD_KEYS = (
    *("chain_id", "start_ns", "end_ns", "environment", "server", "client", "tool", "session", "attempts", "headless", "strength"),
    *("first_outcome", "first_category", "first_retryable", "last_outcome", "state", "recovered_ns", "closes_ns", "went_on"),
)
_ATTEMPT = (
    *("trace_id", "call_id", "start_ns", "duration_ns", "client", "environment", "outcome", "category", "retryable", "error_type"),
    *("message", "retry_after_ms", "link", "link_strength", "attempt"),
)
_FLAGS = ("headless", "first_retryable", "went_on", "retryable", "wasted", "early", "hot")
_R = ROLLUP.c
_ALL = _R.failed_first + _R.headless + _R.retried - _R.failed_retried
# What the counts say of a state; of some only that there are operations that could have it.
_COUNTED: Mapping[str | None, ColumnElement[int]] = {
    RECOVERED: _R.recovered,
    EXHAUSTED: _R.exhausted,
    MISSED: _R.missed,
    ABANDONED: _R.failed_first - _R.recovered - _R.exhausted,
    FAILED: _ALL - _R.failed_first,
    ENDED: _ALL - _R.failed_first,
    None: _ALL,
}


@dataclass(frozen=True, slots=True)
class ChainCursor:
    """The place after an operation in a list, newest first."""

    start_ns: int
    chain_id: str

    def __str__(self) -> str:
        return f"{self.start_ns}.{self.chain_id}"

    @staticmethod
    def parse(text: str) -> "ChainCursor":
        """Read what `str` wrote. Raises FilterError."""
        start, _, chain_id = text.partition(".")
        if not start.removeprefix("-").isdecimal() or not -(2**63) <= int(start) < 2**63 or not chain_id.isascii() or "\0" in chain_id:
            raise FilterError(["The cursor is not one that this program gave."])
        return ChainCursor(int(start), chain_id)


@dataclass(frozen=True, slots=True)
class ChainPage:
    """Some operations as records, newest first, and where the list goes on (None at its end)."""

    records: tuple[dict[str, Any], ...]
    next: ChainCursor | None


@dataclass(frozen=True, slots=True)
class OneChain:
    """An operation, a page of its attempts in order, and how many of them stand before the next page (None at the end)."""

    chain: dict[str, Any]
    attempts: tuple[dict[str, Any], ...]
    next: int | None


def list_chains(
    connection: Connection,
    question: Filter,
    now_ns: int,
    limit: int,
    state: str | None = None,
    strength: str = SAME_TOOL,
    after: ChainCursor | None = None,
) -> ChainPage:
    """The newest matching operations that have a row, `limit` of them, after a cursor; the missed are listed among the abandoned too."""
    found = list(_newest(connection, question, now_ns, limit + 1, state, strength, after))
    following = ChainCursor(found[limit - 1].start_ns, found[limit - 1].chain_id) if len(found) > limit else None
    return ChainPage(tuple(_record(row, now_ns) for row in found[:limit]), following)


def _newest(
    connection: Connection, question: Filter, now_ns: int, limit: int, state: str | None, strength: str, after: ChainCursor | None
) -> Iterator[Row[Any]]:
    chain = CHAIN.c
    # What is open is few, and has an index: plus nothing, so that the one by time is no choice.
    start = chain.start_ns + 0 if state == OPEN else chain.start_ns
    statement = select(CHAIN).where(*_conditions(question), chain.strength.in_(at_least(strength)))
    statement = statement.order_by(start.desc(), chain.chain_id.desc())
    if after is not None:
        statement = statement.where(start <= after.start_ns, tuple_(start, chain.chain_id) < tuple_(after.start_ns, after.chain_id))
    if state == OPEN:
        inside = (chain.closes_ns >= now_ns, start >= question.from_ns, start < question.to_ns)
        yield from connection.execute(statement.where(*inside).limit(limit))
        return
    statement = _in_state(statement, state, now_ns)
    end = min(question.to_ns, after.start_ns + 1) if after else question.to_ns
    fresh, left = max(question.from_ns, now_ns - now_ns % MINUTE_NS - _FRESH_NS), limit
    if fresh < end:
        for row in connection.execute(statement.where(chain.start_ns >= fresh, chain.start_ns < end).limit(left)):
            left -= 1
            yield row
    # Rare ones would be sought through all others: the counts know the minutes that hold any.
    held = Held(ROLLUP, _COUNTED[state], (), RETRY_GRAINS, SERIES.c.strength.in_(at_least(strength)))
    older = replace(question, to_ns=min(end + -end % MINUTE_NS, fresh))
    while left and older.from_ns < older.to_ns and (stretches := holding(connection, older, left, held)):
        start_ns, end_ns = as_table(stretches)
        for row in connection.execute(statement.where(chain.start_ns >= start_ns, chain.start_ns < end_ns).limit(left)):
            left -= 1
            yield row
        older = replace(older, to_ns=stretches[-1][0])


def _in_state(statement: Select[Any], state: str | None, now_ns: int) -> Select[Any]:
    if state is None:
        return statement
    endings = (ABANDONED, MISSED) if state == ABANDONED else (state,)
    return statement.where(CHAIN.c.ending.in_(endings), or_(CHAIN.c.closes_ns.is_(None), CHAIN.c.closes_ns < now_ns))


def _conditions(question: Filter) -> Iterator[ColumnElement[bool]]:
    yield from placed(CHAIN, question)
    if question.tool not in (None, OTHER_TOOLS):
        yield CHAIN.c.tool == question.tool


def one_chain(connection: Connection, chain_id: str, now_ns: int, after: int = 0) -> OneChain | None:
    """An operation and its attempts after the first `after`; also one of a single call that has no row. None if there is none."""
    if (named := _NAME.fullmatch(chain_id)) is None:
        return None
    key = (bytes.fromhex(named[1]), bytes.fromhex(named[2]))
    row = connection.execute(select(CHAIN).where(CHAIN.c.chain_id == chain_id)).one_or_none()
    columns = [CALL.c[name] for name in (*_ATTEMPT, "end_ns", "server", "tool", "session", "chain_id")]
    first = connection.execute(select(*columns).where(CALL.c.trace_id == key[0], CALL.c.call_id == key[1])).one_or_none()
    if first is not None and first.link == "retry" and first.chain_id != chain_id:
        first = None
    if row is None:
        return None if first is None else OneChain(_alone(first, chain_id), (_attempt(first, None),), None)
    headless = bool(row.headless)
    found = [_attempt(first, None)] if first is not None and not headless and not after else []
    wanted = (RETRY.c.place, RETRY.c.gap_ns, RETRY.c.wasted, RETRY.c.early, RETRY.c.hot)
    same = and_(CALL.c.trace_id == RETRY.c.trace_id, CALL.c.call_id == RETRY.c.call_id)
    statement: Select[Any] = (
        select(*columns, *wanted)
        .where(same, RETRY.c.chain_id == chain_id, RETRY.c.place > after)
        .order_by(RETRY.c.start_ns, RETRY.c.place)
        .limit(ATTEMPTS_A_PAGE + 1)
    )
    found += [_attempt(one, one) for one in connection.execute(statement)]
    following = found[ATTEMPTS_A_PAGE - 1]["place"] if len(found) > ATTEMPTS_A_PAGE else None
    return OneChain(_record(row, now_ns), tuple(found[:ATTEMPTS_A_PAGE]), following)


def chains_named(connection: Connection, chain_ids: Iterable[str], now_ns: int) -> dict[str, dict[str, Any]]:
    """The operations of more than one attempt among some, by their id."""
    wanted = select(CHAIN).where(CHAIN.c.chain_id.in_(list(chain_ids)), CHAIN.c.attempts > 1)
    return {row.chain_id: _record(row, now_ns) for row in connection.execute(wanted)}


def state_of(ending: str, closes_ns: int | None, now_ns: int) -> str:
    """What has become of an operation by now."""
    return OPEN if closes_ns is not None and closes_ns >= now_ns else ending


def _record(row: Row[Any], now_ns: int) -> dict[str, Any]:
    state = state_of(row.ending, row.closes_ns, now_ns)
    return _plain({name: state if name == "state" else getattr(row, name) for name in RECORD_KEYS})


def _alone(call: Row[Any], chain_id: str) -> dict[str, Any]:
    """An operation of one call that needs no row, as a record."""
    known = {name: getattr(call, name) for name in ("start_ns", "end_ns", "environment", "server", "client", "tool", "session")}
    ended = {"first_outcome": call.outcome, "last_outcome": call.outcome, "state": ENDED}
    alone = {"chain_id": chain_id, "attempts": 1, "headless": False, "strength": ""} | known | ended
    return {name: alone.get(name) for name in RECORD_KEYS}


def _attempt(call: Row[Any], retry: Row[Any] | None) -> dict[str, Any]:
    """A call as an attempt; `place` counts those that were received, `attempt` is what the emitter says or else the same."""
    told = {name: getattr(call, name) for name in _ATTEMPT} | {"trace_id": call.trace_id.hex(), "call_id": call.call_id.hex()}
    names = ("place", "gap_ns", "wasted", "early", "hot")
    return _plain(told | {name: getattr(retry, name) if retry is not None else 1 if name == "place" else None for name in names})


def _plain(record: dict[str, Any]) -> dict[str, Any]:
    # SQLite keeps booleans as 0 and 1.
    return {name: bool(value) if name in _FLAGS and value is not None else value for name, value in record.items()}
