"""Every SQL statement over single calls and their spans: lists, one call, the spans of a trace."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any

import orjson
from sqlalchemy import BigInteger, ColumnElement, Connection, Row, Table, and_, column, exists, func, or_, select, text, tuple_
from sqlmodel import SQLModel

from dashboard import queries
from dashboard.filters import CALL_NAMES, DAY_NS, MINUTE_NS, Filter, FilterError
from dashboard.queries import ROLLUP, SERIES
from schemas.export import call_record
from schemas.rollups import KINDS, OTHER_TOOLS, SECOND_NS, WIDTHS_S, cover, grain_of

CALL: Table = SQLModel.metadata.tables["call"]
TOOL_NAME: Table = SQLModel.metadata.tables["tool_name"]
TOOL_SPAN: Table = SQLModel.metadata.tables["tool_span"]

# Rollups follow calls within seconds; calls younger than this are looked for without them.
_FRESH_NS = 5 * MINUTE_NS
SPANS_A_PAGE = 500

Stretch = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Cursor:
    """The place after a call in a list, newest first."""

    start_ns: int
    trace_id: bytes
    call_id: bytes

    def __str__(self) -> str:
        return f"{self.start_ns}.{self.trace_id.hex()}.{self.call_id.hex()}"

    @staticmethod
    def parse(text: str) -> "Cursor":
        """Read what `str` wrote. Raises FilterError."""
        try:
            start, trace_id, call_id = text.split(".")
            cursor = Cursor(int(start), bytes.fromhex(trace_id), bytes.fromhex(call_id))
        except ValueError:
            raise FilterError(["The cursor is not one that this program gave."]) from None
        if not -(2**63) <= cursor.start_ns < 2**63:
            raise FilterError(["The cursor is not one that this program gave."])
        return cursor


@dataclass(frozen=True, slots=True)
class CallPage:
    """Some calls as records (schemas/export.py), newest first, and where the list goes on (None at its end)."""

    records: tuple[dict[str, Any], ...]
    next: Cursor | None


@dataclass(frozen=True, slots=True)
class ErrorTypes:
    """How often each (category, error type) occurs among the newest `looked_at` matching failures; `all` if there are no more."""

    counts: tuple[tuple[str, str | None, int], ...]
    looked_at: int
    all: bool


@dataclass(frozen=True, slots=True)
class SpanLine:
    """One line of a waterfall: a tool span without its payload. `end_ns` is 0 where it is unknown."""

    span_id: str
    parent_span_id: str | None
    start_ns: int
    end_ns: int
    kind: int
    status: int
    name: str
    service: str
    scope: str
    scope_version: str


@dataclass(frozen=True, slots=True)
class SpanPage:
    """Some tool spans of a trace in order of start: numbers `first` to `first + len(lines) - 1` (from 1) of `total`."""

    lines: tuple[SpanLine, ...]
    first: int
    total: int
    start_ns: int
    end_ns: int


def list_calls(connection: Connection, question: Filter, now_ns: int, limit: int, after: Cursor | None = None) -> CallPage:
    """The newest matching calls, `limit` of them, after a cursor."""
    rows = list(_newest(connection, question, now_ns, limit + 1, after, tuple(CALL.c)))
    last = rows[limit - 1] if len(rows) > limit else None
    following = Cursor(last.start_ns, last.trace_id, last.call_id) if last is not None else None
    return CallPage(tuple(call_record(row) for row in rows[:limit]), following)


def error_types(connection: Connection, question: Filter, now_ns: int, limit: int = 500) -> ErrorTypes:
    """What the newest matching failures are, by category and error type: the split inside a category."""
    failures = question.but(outcome="failure")
    rows = list(_newest(connection, failures, now_ns, limit + 1, None, (CALL.c.category, CALL.c.error_type)))
    counts = Counter((row.category or "unclassified", row.error_type) for row in rows[:limit])
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0][0], item[0][1] or ""))
    return ErrorTypes(tuple((*key, n) for key, n in ordered), min(len(rows), limit), len(rows) <= limit)


def _newest(
    connection: Connection,
    question: Filter,
    now_ns: int,
    limit: int,
    after: Cursor | None,
    columns: tuple[ColumnElement[Any], ...],
) -> Iterator[Row[Any]]:
    statement = (
        select(*columns).where(*_conditions(question)).order_by(CALL.c.start_ns.desc(), CALL.c.trace_id.desc(), CALL.c.call_id.desc())
    )
    if after is not None:
        place = tuple_(CALL.c.start_ns, CALL.c.trace_id, CALL.c.call_id)
        statement = statement.where(CALL.c.start_ns <= after.start_ns, place < tuple_(after.start_ns, after.trace_id, after.call_id))
    # Rare calls (ten refusals in a month) would be sought through all others. The rollup knows the minutes that hold any, so only
    # those are read. Where an index serves, or where only a row of call can tell, the range is read as it is.
    whole_name = question.server is not None and question.tool not in (None, OTHER_TOOLS)
    by_index = whole_name and question.outcome is None and question.category is None
    end = min(question.to_ns, after.start_ns + 1) if after else question.to_ns
    fresh = max(question.from_ns, now_ns - now_ns % MINUTE_NS - _FRESH_NS)
    if by_index or not question.active or set(question.active) & set(CALL_NAMES):
        fresh = question.from_ns
    left = limit
    if fresh < end:
        for row in connection.execute(statement.where(CALL.c.start_ns >= fresh, CALL.c.start_ns < end).limit(left)):
            left -= 1
            yield row
    older = replace(question, to_ns=min(end + -end % MINUTE_NS, fresh))
    while left and older.from_ns < older.to_ns and (stretches := _holding(connection, older, left)):
        start_ns, end_ns = _columns(stretches)
        for row in connection.execute(statement.where(CALL.c.start_ns >= start_ns, CALL.c.start_ns < end_ns).limit(left)):
            left -= 1
            yield row
        # Calls before the cursor in its minute were counted but are not listed, and those of `(other)` may have another name.
        older = replace(older, to_ns=stretches[-1][0])


def _holding(connection: Connection, question: Filter, enough: int) -> list[Stretch]:
    """The latest stretches that together hold so many matching calls: minutes, or quarters of an hour where minutes are gone."""
    grain = grain_of({*KINDS, *queries.filtered(question)})
    of_series = queries.series(question.but(tool=None), grain)(ROLLUP)
    if question.tool is not None:
        named = select(SERIES.c.id).where(SERIES.c.grain == grain, SERIES.c.tool.in_([question.tool, OTHER_TOOLS]))
        of_series.append(ROLLUP.c.series_id.in_(named))

    def latest(stretches: Sequence[Stretch], width_s: int) -> list[tuple[int, int, int]]:
        start_ns, end_ns = _columns(stretches)
        found = (
            select(ROLLUP.c.bucket_ns, func.sum(ROLLUP.c.calls))
            .where(ROLLUP.c.grain == grain, ROLLUP.c.width_s == width_s, *of_series)
            .where(ROLLUP.c.bucket_ns >= start_ns, ROLLUP.c.bucket_ns < end_ns)
            .group_by(ROLLUP.c.bucket_ns)
        )
        return [(bucket_ns, width_s, int(calls)) for bucket_ns, calls in connection.execute(found)]

    pieces = cover(question.from_ns, question.to_ns)
    buckets: list[tuple[int, int, int]] = []
    for width_s in WIDTHS_S:
        if of_width := [(piece.from_ns, piece.to_ns) for piece in pieces if piece.width_s == width_s]:
            buckets += latest(of_width, width_s)
    for narrow_s, wide_s in reversed(tuple(pairwise(WIDTHS_S))):
        buckets = _until(sorted(buckets, reverse=True), enough)
        split = [(start, start + width_s * SECOND_NS) for start, width_s, _ in buckets if width_s == wide_s]
        parts = latest(split, narrow_s) if split else []
        there = {start - start % (wide_s * SECOND_NS) for start, _, _ in parts}
        buckets = [one for one in buckets if one[1] != wide_s or one[0] not in there] + parts
    return [(start, start + width_s * SECOND_NS) for start, width_s, _ in _until(sorted(buckets, reverse=True), enough)]


def _until(buckets: Sequence[tuple[int, int, int]], enough: int) -> list[tuple[int, int, int]]:
    """The first buckets that together hold so many calls."""
    counts = accumulate(calls for _, _, calls in buckets)
    return [one for one, so_far in zip(buckets, counts, strict=True) if so_far - one[2] < enough]


def _columns(stretches: Sequence[Stretch]) -> tuple[ColumnElement[int], ColumnElement[int]]:
    """Stretches as a table of a statement, neighbours joined: its columns of starts and of ends."""
    joined: list[Stretch] = []
    for start, end in sorted(stretches):
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    # As text: hundreds of parameters cost more to write down than the statement takes to run.
    given = ", ".join(f"({start:d}, {end:d})" for start, end in joined)
    made = (
        text(f"SELECT column1 AS start_ns, column2 AS end_ns FROM (VALUES {given}) AS given")
        .columns(column("start_ns", BigInteger), column("end_ns", BigInteger))
        .cte("stretch")
    )
    return made.c.start_ns, made.c.end_ns


def _conditions(question: Filter) -> Iterator[ColumnElement[bool]]:
    for name in ("environment", "server", "client"):
        if (value := getattr(question, name)) is not None:
            yield CALL.c[name] == value
    if question.tool == OTHER_TOOLS:
        day_ns = CALL.c.start_ns - CALL.c.start_ns % DAY_NS
        of_call = (TOOL_NAME.c.day_ns == day_ns, TOOL_NAME.c.server == CALL.c.server, TOOL_NAME.c.tool == CALL.c.tool)
        yield or_(CALL.c.tool == OTHER_TOOLS, exists().where(*of_call, TOOL_NAME.c.named.is_(False)))
    elif question.tool is not None:
        # The index that leads with the tool has the time after the server: without one it is no help, and must look so.
        yield (CALL.c.tool if question.server is not None else CALL.c.tool.concat("")) == question.tool
    names = ("outcome", "emptiness", "category", "channel", "session", "decided_by", "category_decided_by", "error_type")
    for name in names:
        if (value := getattr(question, name)) is not None:
            # '' asks for calls that have no such value, which rollups write as '' and calls as NULL.
            yield CALL.c[name] == value if value else or_(CALL.c[name].is_(None), CALL.c[name] == "")
    if question.retryable is not None:
        known = {"true": CALL.c.retryable.is_(True), "false": CALL.c.retryable.is_(False)}
        # Rollups count only failures as unknown.
        unknown = and_(CALL.c.retryable.is_(None), CALL.c.outcome == "failure")
        yield known.get(question.retryable, unknown)
    if question.flag is not None:
        yield (" " + CALL.c.flags + " ").contains(f" {question.flag} ", autoescape=True)
    if question.trace is not None:
        yield CALL.c.trace_id == bytes.fromhex(question.trace)


def one_call(connection: Connection, trace_id: bytes, call_id: bytes) -> dict[str, Any] | None:
    """One call: its record, and beside it what only its own page shows (`views`, `retry_of`, …). None if unknown."""
    statement = select(CALL).where(CALL.c.trace_id == trace_id, CALL.c.call_id == call_id)
    row = connection.execute(statement).one_or_none()
    if row is None:
        return None
    return call_record(row) | {
        "end_ns": row.end_ns,
        "views": orjson.loads(row.views),
        "raw_category": row.raw_category,
        "retry_of": row.retry_of.hex() if row.retry_of else None,
        "retry_after_ms": row.retry_after_ms,
        "parent_span_id": row.parent_span_id.hex() if row.parent_span_id else None,
    }


def trace_spans(connection: Connection, trace_id: bytes, page: int, failed: bool) -> SpanPage:
    """A page (from 1) of the tool spans of a trace, in order of start; `failed`: only those with status ERROR or a failed call."""
    conditions = [TOOL_SPAN.c.trace_id == trace_id]
    if failed:
        calls = select(CALL.c.call_id).where(CALL.c.trace_id == trace_id, CALL.c.outcome == "failure")
        conditions.append(or_(TOOL_SPAN.c.status == 2, TOOL_SPAN.c.span_id.in_(calls)))
    count, start_ns, end_ns, last_start_ns = connection.execute(
        select(func.count(), func.min(TOOL_SPAN.c.start_ns), func.max(TOOL_SPAN.c.end_ns), func.max(TOOL_SPAN.c.start_ns)).where(
            *conditions
        )
    ).one()
    columns = [TOOL_SPAN.c[name] for name in SpanLine.__dataclass_fields__]
    # The order is not the key's, so all lines of the trace are sorted anyway: here a number of the page costs no more than a key.
    offset = (page - 1) * SPANS_A_PAGE
    statement = select(*columns).where(*conditions).order_by(TOOL_SPAN.c.start_ns, TOOL_SPAN.c.span_id)
    lines = tuple(
        SpanLine(row[0].hex(), row[1].hex() if row[1] else None, *row[2:])
        for row in connection.execute(statement.limit(SPANS_A_PAGE).offset(offset))
    )
    return SpanPage(lines, offset + 1, count, start_ns or 0, max(end_ns or 0, last_start_ns or 0))


def span_evidence(connection: Connection, trace_id: bytes, span_id: bytes) -> dict[str, Any] | None:
    """The stored evidence of one tool span (attributes, status message, events, facts of arguments and result), or None."""
    statement = select(TOOL_SPAN.c.evidence).where(TOOL_SPAN.c.trace_id == trace_id, TOOL_SPAN.c.span_id == span_id)
    evidence = connection.execute(statement).scalar_one_or_none()
    if evidence is None:
        return None
    loaded: dict[str, Any] = orjson.loads(evidence)
    return loaded
