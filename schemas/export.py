"""A call as it leaves the system: one flat JSON object, and table cells that no spreadsheet takes for a formula."""

from typing import Any

import orjson

RECORD_KEYS = (
    "trace_id",
    "call_id",
    "spans",
    "tool",
    "server",
    "client",
    "session",
    "environment",
    "start_ns",
    "duration_ns",
    "server_duration_ns",
    "outcome",
    "emptiness",
    "category",
    "retryable",
    "channel",
    "error_type",
    "message",
    "decided_by",
    "category_decided_by",
    "link",
    "link_strength",
    "attempt",
    "chain_id",
    "failed_children",
    "flags",
)

# Characters that make a spreadsheet read a cell as a formula, or that it strips before it looks for one.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def call_record(row: Any) -> dict[str, Any]:
    """One row of table call (anything with its columns as attributes) as a JSON-ready dict with exactly RECORD_KEYS.

    Ids are lower-case hex, times and durations integer nanoseconds (None if unknown), `spans` the hex ids of all tool spans folded
    into the call, the outermost first, `failed_children` a list of objects, `flags` a list of words.
    """
    return {
        "trace_id": row.trace_id.hex(),
        "call_id": row.call_id.hex(),
        "spans": [view["span_id"] for view in orjson.loads(row.views)],
        "tool": row.tool,
        "server": row.server,
        "client": row.client,
        "session": row.session,
        "environment": row.environment,
        "start_ns": row.start_ns,
        "duration_ns": row.duration_ns,
        "server_duration_ns": row.server_duration_ns,
        "outcome": row.outcome,
        "emptiness": row.emptiness,
        "category": row.category,
        # SQLite keeps booleans as 0 and 1.
        "retryable": None if row.retryable is None else bool(row.retryable),
        "channel": row.channel,
        "error_type": row.error_type,
        "message": row.message,
        "decided_by": row.decided_by,
        "category_decided_by": row.category_decided_by,
        "link": row.link,
        "link_strength": row.link_strength,
        "attempt": row.attempt,
        "chain_id": row.chain_id,
        "failed_children": orjson.loads(row.failed_children),
        "flags": row.flags.split(),
    }


def csv_cell(value: Any) -> str:
    """A value as a CSV cell: '' for None, JSON for lists and objects, an apostrophe before text that reads as a formula."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
