"""Rows for tests of what reads: calls with their rollups, spans, and intake, written as the worker would."""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson
from sqlalchemy import Engine, insert
from sqlmodel import SQLModel

from collector.core.histogram import index_of
from collector.work.settle import Settler, bucket_of
from collector.work_store import WorkStore
from schemas import tables  # noqa: F401 - declares the tables in the metadata
from schemas.settings import Settings

SECOND_NS = 1_000_000_000
MINUTE_NS = 60 * SECOND_NS
# 2026-11-30T14:03:20Z: in the middle of a minute.
NOW_NS = 1_796_047_400 * SECOND_NS

HOSTILE_NAMES = (
    "<img src=x onerror=alert(1)>",
    "a</td><script>alert(7)</script>",
    "</script><script>alert(6)</script>",
    '"><svg onload=alert(4)>',
    "javascript:alert(5)",
    "{{ 7*7 }} %{x} $\\alpha$",
    "\u202egnp.exe",
    "a\nb\tc",
    "=HYPERLINK(1)",
    "../../etc/passwd",
    "a/b?c#d%2F",
    "é 工具 🛠",
    "~",
    "2024-01-01",
)


def call(number: int, **changes: Any) -> dict[str, Any]:
    """The row of a call: number 1 started a second before NOW_NS, number 2 two seconds, and so on. `views` may be a list."""
    row: dict[str, Any] = {
        "trace_id": number.to_bytes(16, "big"),
        "call_id": number.to_bytes(8, "big"),
        "start_ns": NOW_NS - number * SECOND_NS,
        "duration_ns": number * 1_000_000,
        "server_duration_ns": None,
        "environment": "production",
        "server": "docs-mcp",
        "client": "agent",
        "tool": "search_docs",
        "session": None,
        "outcome": "success",
        "emptiness": None,
        "category": None,
        "raw_category": None,
        "retryable": None,
        "channel": None,
        "error_type": None,
        "message": None,
        "decided_by": "no_failure",
        "category_decided_by": None,
        "link": None,
        "link_strength": None,
        "attempt": None,
        "chain_id": None,
        "declared_attempt": None,
        "retry_of": None,
        "retry_after_ms": None,
        "arguments_hash": None,
        "result_hash": None,
        "parent_span_id": None,
        "flags": "",
        "failed_children": "[]",
    } | changes
    row.setdefault("duration_idx", None if row["duration_ns"] is None else index_of(row["duration_ns"]))
    if row["outcome"] == "success" and row["emptiness"] is None:
        row["emptiness"] = "data"
    if row["outcome"] == "failure" and row["category"] is None:
        row["category"] = "unclassified"
    row.setdefault("end_ns", None if row["duration_ns"] is None else row["start_ns"] + row["duration_ns"])
    row["views"] = orjson.dumps(row.get("views") or [view(row)]).decode()
    return row


def view(row: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    """What one span says of a call: by default the same as the call."""
    return {
        "span_id": row["call_id"].hex(),
        "layer": "client",
        "service": row["client"],
        "scope": "mcp",
        "scope_version": "2.1",
        "name": f"tools/call {row['tool']}",
        "start_ns": row["start_ns"],
        "duration_ns": row["duration_ns"],
        "outcome": row["outcome"],
        "emptiness": row["emptiness"],
        "category": row["category"],
        "decided_by": row["decided_by"],
        "category_decided_by": row["category_decided_by"],
    } | changes


def span(row: Mapping[str, Any], span_id: bytes | None = None, **changes: Any) -> dict[str, Any]:
    """The row of a tool span of a call."""
    return {
        "trace_id": row["trace_id"],
        "span_id": span_id or row["call_id"],
        "parent_span_id": None,
        "start_ns": row["start_ns"],
        "end_ns": row["start_ns"] + (row["duration_ns"] or 0),
        "received_ns": row["start_ns"],
        "kind": 3,
        "status": 2 if row["outcome"] == "failure" else 0,
        "name": f"tools/call {row['tool']}",
        "service": row["client"],
        "environment": row["environment"],
        "scope": "mcp",
        "scope_version": "2.1",
        "evidence": '{"attributes": {"mcp.method.name": "tools/call"}, "status_message": "", "events": []}',
        "content_size": 1,
        "content_hash": 1,
    } | changes


def put(engine: Engine, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Insert rows."""
    if rows := list(rows):
        with engine.begin() as connection:
            connection.execute(insert(SQLModel.metadata.tables[table]), rows)


def put_calls(engine: Engine, rows: Iterable[Mapping[str, Any]]) -> None:
    """Insert calls and roll them up as the worker does."""
    rows = list(rows)
    put(engine, "call", rows)
    put(
        engine,
        "pending_bucket",
        [{"bucket_ns": minute, "noted_ns": 1, "version": 1} for minute in {bucket_of(row["start_ns"]) for row in rows}],
    )
    roll_up(engine)


def roll_up(engine: Engine) -> None:
    """Roll up what is pending."""
    settler = Settler(WorkStore(engine), Settings())
    while settler.roll_up():
        pass
