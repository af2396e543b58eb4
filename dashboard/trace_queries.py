"""SQL over one call and its trace: the call with what only its page shows, the tool spans around it, the evidence of one span."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection, Table, func, or_, select
from sqlmodel import SQLModel

from dashboard.call_queries import CALL
from schemas.export import call_record

TOOL_SPAN: Table = SQLModel.metadata.tables["tool_span"]

SPANS_A_PAGE = 500


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


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """What a span's result says of a failure: names and values of the fields that were kept."""

    span_id: str
    layer: str
    fields: tuple[tuple[str, str], ...]


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


def error_bodies(connection: Connection, trace_id: bytes, views: Iterable[Mapping[str, Any]]) -> tuple[ErrorBody, ...]:
    """The error bodies that the spans of one call show, the outermost first; the same body is given once."""
    found: list[ErrorBody] = []
    for view in views:
        result = (span_evidence(connection, trace_id, bytes.fromhex(view["span_id"])) or {}).get("result") or {}
        body = result.get("error") or result.get("embedded") or {}
        fields = tuple((name.replace("_", " "), str(value)) for name, value in body.items() if value not in (None, "", False))
        if fields and fields not in [one.fields for one in found]:
            found.append(ErrorBody(view["span_id"], view["layer"], fields))
    return tuple(found)


def span_evidence(connection: Connection, trace_id: bytes, span_id: bytes) -> dict[str, Any] | None:
    """The stored evidence of one tool span (attributes, status message, events, facts of arguments and result), or None."""
    statement = select(TOOL_SPAN.c.evidence).where(TOOL_SPAN.c.trace_id == trace_id, TOOL_SPAN.c.span_id == span_id)
    evidence = connection.execute(statement).scalar_one_or_none()
    if evidence is None:
        return None
    loaded: dict[str, Any] = orjson.loads(evidence)
    return loaded
