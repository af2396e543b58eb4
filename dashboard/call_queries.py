"""SQL that lists calls: newest first, by every filter, a page at a time, without reading more of them than it must."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, Table, and_, or_, select, tuple_
from sqlmodel import SQLModel

from dashboard.filters import CALL_NAMES, LENGTH_NAMES, Filter, FilterError
from dashboard.fingerprints import fingerprint
from dashboard.moments import MINUTE_NS, length
from dashboard.place_queries import placed
from dashboard.stretch_queries import as_table, holding
from schemas import tables  # noqa: F401 - declares the tables in the metadata
from schemas.export import call_record
from schemas.rollups import OTHER_TOOLS

CALL: Table = SQLModel.metadata.tables["call"]

Found = Row[*tuple[Any, ...]]

# Filters that neither an index nor a rollup answers, and how many of the latest calls a page looks at for them: of failures whose
# messages have to be compared one by one, fewer.
SEARCHED_NAMES = ("decided_by", "category_decided_by", "error_type", "flag", "fingerprint", *LENGTH_NAMES)
SEARCHED, ALIKE_SEARCHED = 20_000, 2_000
# Rollups follow calls within seconds; calls younger than this are looked for without them.
_FRESH_NS = 5 * MINUTE_NS


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
    """Some calls as records (schemas/export.py), newest first, and where the list goes on (None at its end).

    `searched_ns` is given where the search stopped before the page was full: calls that started earlier were not looked at.
    """

    records: tuple[dict[str, Any], ...]
    next: Cursor | None
    searched_ns: int | None = None


def list_calls(connection: Connection, question: Filter, now_ns: int, limit: int, after: Cursor | None = None) -> CallPage:
    """The newest matching calls, `limit` of them, after a cursor; fewer where only so much could be searched (`searched_ns`)."""
    by_key = question.session is not None or question.trace is not None
    if question.fingerprint is not None or (set(question.active) & set(SEARCHED_NAMES) and not by_key):
        return _search(connection, question, now_ns, limit, after)
    rows = list(newest(connection, question, now_ns, limit + 1, after, tuple(CALL.c)))
    return CallPage(tuple(call_record(row) for row in rows[:limit]), _following(rows, limit))


def _following(rows: Sequence[Found], limit: int) -> Cursor | None:
    return Cursor(rows[limit - 1].start_ns, rows[limit - 1].trace_id, rows[limit - 1].call_id) if len(rows) > limit else None


def newest(
    connection: Connection,
    question: Filter,
    now_ns: int,
    limit: int,
    after: Cursor | None,
    columns: tuple[ColumnElement[Any], ...],
) -> Iterator[Found]:
    """Columns of the newest matching calls, `limit` of them, after a cursor."""
    statement = _statement(question, after, columns)
    # Rare calls (ten refusals in a month) would be sought through all others. The rollup knows the minutes that hold any, so only
    # those are read. Where an index serves the range is read as it is.
    whole_name = question.server is not None and question.tool not in (None, OTHER_TOOLS)
    by_index = whole_name and question.outcome is None and question.category is None
    end = min(question.to_ns, after.start_ns + 1) if after else question.to_ns
    fresh = _fresh_ns(question, now_ns)
    if by_index or not question.active or set(question.active) & set(CALL_NAMES):
        fresh = question.from_ns
    left = limit
    if fresh < end:
        for row in connection.execute(statement.where(CALL.c.start_ns >= fresh, CALL.c.start_ns < end).limit(left)):
            left -= 1
            yield row
    older = replace(question, to_ns=min(end + -end % MINUTE_NS, fresh))
    while left and older.from_ns < older.to_ns and (stretches := holding(connection, older, left)):
        start_ns, end_ns = as_table(stretches)
        for row in connection.execute(statement.where(CALL.c.start_ns >= start_ns, CALL.c.start_ns < end_ns).limit(left)):
            left -= 1
            yield row
        # Calls before the cursor in its minute were counted but are not listed, and those of `(other)` may have another name.
        older = replace(older, to_ns=stretches[-1][0])


def _search(connection: Connection, question: Filter, now_ns: int, limit: int, after: Cursor | None) -> CallPage:
    """As `list_calls`, by what no index and no rollup knows: so many of the latest calls that may match are looked at, no more."""
    places = question.but(**dict.fromkeys(CALL_NAMES))
    if question.fingerprint is not None:
        places = places.but(outcome="failure")
    end = min(question.to_ns, after.start_ns + 1) if after else question.to_ns
    fresh = _fresh_ns(question, now_ns)
    stretches = [(fresh, end)] if fresh < end else []
    older = replace(places, to_ns=min(end + -end % MINUTE_NS, fresh))
    enough = ALIKE_SEARCHED if question.fingerprint is not None else SEARCHED
    held = holding(connection, older, enough) if older.from_ns < older.to_ns else []
    stretches += held
    rows: list[Found] = []
    if stretches:
        start_ns, end_ns = as_table(stretches)
        statement = _statement(question, after, tuple(CALL.c)).where(CALL.c.start_ns >= start_ns, CALL.c.start_ns < end_ns)
        found = connection.execute(statement if question.fingerprint is not None else statement.limit(limit + 1))
        rows = list(islice((row for row in found if _alike(row, question.fingerprint)), limit + 1))
    following, searched_ns = _following(rows, limit), None
    if following is None and held and holding(connection, replace(places, to_ns=held[-1][0]), 1):
        searched_ns = held[-1][0]
        following = Cursor(searched_ns, b"", b"")
    return CallPage(tuple(call_record(row) for row in rows[:limit]), following, searched_ns)


def _alike(row: Found, wanted: str | None) -> bool:
    return wanted is None or fingerprint(row.category, row.error_type, row.message) == wanted


def _fresh_ns(question: Filter, now_ns: int) -> int:
    """From here on calls may not be rolled up yet."""
    return max(question.from_ns, now_ns - now_ns % MINUTE_NS - _FRESH_NS)


def _statement(question: Filter, after: Cursor | None, columns: tuple[ColumnElement[Any], ...]) -> Select[Any]:
    newest_first = (CALL.c.start_ns.desc(), CALL.c.trace_id.desc(), CALL.c.call_id.desc())
    statement = select(*columns).where(*_conditions(question)).order_by(*newest_first)
    if after is None:
        return statement
    place = tuple_(CALL.c.start_ns, CALL.c.trace_id, CALL.c.call_id)
    return statement.where(CALL.c.start_ns <= after.start_ns, place < tuple_(after.start_ns, after.trace_id, after.call_id))


def _conditions(question: Filter) -> Iterator[ColumnElement[bool]]:
    yield from placed(CALL, question)
    if question.tool not in (None, OTHER_TOOLS):
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
    if question.min_duration is not None:
        yield CALL.c.duration_ns >= length("min_duration", question.min_duration, [])
    if question.max_duration is not None:
        yield CALL.c.duration_ns < length("max_duration", question.max_duration, [])
    if question.fingerprint is not None:
        yield CALL.c.outcome == "failure"
    if question.trace is not None:
        yield CALL.c.trace_id == bytes.fromhex(question.trace)
