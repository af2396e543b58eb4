"""What a call is once understood: one logical execution of a tool, whatever number of spans told of it."""

from typing import NamedTuple

OUTCOMES = ("success", "partial", "failure", "cancelled", "deferred")
EMPTINESS = ("data", "empty", "unknown")
CATEGORIES = ("transient", "validation", "business", "permission", "unclassified")
CHANNELS = ("tool", "protocol", "transport")

# How bad an outcome is: of several views of one call the worst seen is the call's.
SEVERITY = {"success": 0, "deferred": 1, "partial": 2, "cancelled": 3, "failure": 4}


class View(NamedTuple):
    """What one tool span says of its call, kept with the call because spans are pruned earlier than calls."""

    span_id: bytes
    layer: str
    service: str
    scope: str
    scope_version: str
    name: str
    start_ns: int
    duration_ns: int | None
    outcome: str
    emptiness: str | None
    category: str | None
    decided_by: str
    category_decided_by: str | None


class FailedChild(NamedTuple):
    """A failed span below a tool span: what a tool that answered all the same did not tell."""

    span_id: bytes
    name: str
    service: str
    error_type: str
    http_status: int | None
    peer: str
    recovered: bool


# A tuple in the order of its table's columns: thousands are made a second.
class Call(NamedTuple):
    """One logical execution of a tool. `call_id` is the span id of its outermost span known so far.

    `emptiness` is set for success and partial only, `category`, `retryable`, `channel` for failure only. Durations are None where
    the span's end is unknown or before its start. `link`, `link_strength`, `attempt` and `chain_id` are given by core/chains.py;
    `retry_of` is the call id that the emitter says is repeated.
    """

    trace_id: bytes
    call_id: bytes
    start_ns: int
    end_ns: int | None
    duration_ns: int | None
    server_duration_ns: int | None
    environment: str
    server: str
    client: str
    tool: str
    session: str | None
    outcome: str
    emptiness: str | None
    category: str | None
    raw_category: str | None
    retryable: bool | None
    channel: str | None
    error_type: str | None
    message: str | None
    decided_by: str
    category_decided_by: str | None
    link: str | None
    link_strength: str | None
    attempt: int | None
    chain_id: str | None
    declared_attempt: int | None
    retry_of: bytes | None
    retry_after_ms: int | None
    arguments_hash: int | None
    result_hash: int | None
    parent_span_id: bytes | None
    flags: tuple[str, ...]
    views: tuple[View, ...]
    failed_children: tuple[FailedChild, ...]
