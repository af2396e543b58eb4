"""What a tool span is, as evidence: what came, without the payloads, and what one span says by itself."""

from dataclasses import dataclass
from typing import NamedTuple


# ToolSpan and Ancestor are tuples in the order of their tables' columns: a row is the record, which the hot path counts on.
class ToolSpan(NamedTuple):
    """One received span that describes a tool call. Stored once, never changed, judged as often as the rules change.

    `end_ns` is 0 where the span has no usable end. `evidence` is a JSON object with the kept `attributes`, `status_message`,
    `events`, and the facts of `arguments` and `result` (see core/bodies.py); payloads themselves only if the settings say so.
    `content_size` (bytes) and `content_hash` (CRC-32 over origin and content) decide between two copies of one (trace_id, span_id).
    """

    trace_id: bytes
    span_id: bytes
    parent_span_id: bytes | None
    start_ns: int
    end_ns: int
    received_ns: int
    kind: int
    status: int
    name: str
    service: str
    environment: str
    scope: str
    scope_version: str
    evidence: str
    content_size: int
    content_hash: int


class Ancestor(NamedTuple):
    """The place in the tree of a span that is no tool span, and what it says if it failed.

    `failed`, `error_type`, `http_status`, `peer` and `name` are evidence for failed children; `evidence` is a JSON object with
    the facts of a tool result that such a span carries for its nearest tool span, or None.
    """

    trace_id: bytes
    span_id: bytes
    parent_span_id: bytes | None
    start_ns: int
    end_ns: int
    received_ns: int
    service: str
    name: str
    failed: bool
    error_type: str
    http_status: int | None
    peer: str
    evidence: str | None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Spans that were not taken (or requests that could not be read): why, how many, and one of them."""

    reason: str
    service: str
    count: int
    sample: str


class Verdict(NamedTuple):
    """What one span (or one call) says of the outcome, and the rules that decided it.

    `strength` ranks the evidence of the category: 5 declared, 4 body, 3 code, 2 class, 1 text, 0 none.
    """

    outcome: str
    decided_by: str
    emptiness: str | None = None
    category: str | None = None
    raw_category: str | None = None
    category_decided_by: str | None = None
    strength: int = 0
    retryable: bool | None = None
    channel: str | None = None
    error_type: str | None = None
    message: str | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Intake:
    """What one emitter sent in one request: counts of spans, and the name of one that was no tool span ('' if none)."""

    service: str
    scope: str
    scope_version: str
    tool_spans: int
    ignored_spans: int
    skewed_spans: int
    ignored_sample: str


@dataclass(frozen=True, slots=True)
class Decoded:
    """What one OTLP request holds: evidence to store, tree places, refusals, and counts by emitter. `received` counts all spans."""

    received: int
    tool_spans: tuple[ToolSpan, ...]
    ancestors: tuple[Ancestor, ...]
    refusals: tuple[Refusal, ...]
    intake: tuple[Intake, ...]
