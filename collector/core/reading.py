"""A tool span with its attributes read as concepts of the vocabulary: what classify and fold look at."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from collector.core.error_bodies import boolean, tells_failure
from collector.core.recognition import component_name
from schemas.spans import ToolSpan
from schemas.vocabulary import UNNAMED_TOOL, Hit

# Concepts of which every attribute counts, not only the best known one: a failure that any of them tells is a failure.
FLAGS = frozenset({"is_error", "is_success", "error"})
JSONRPC_LARGEST = -32000
MOST_ATTEMPTS = 1_000_000


@dataclass(slots=True)
class Reading:
    """One tool span, read. `results` are facts (core/evidence.py), the span's own first, then those carried for it."""

    span: ToolSpan
    tool: str
    text: dict[str, str] = field(default_factory=dict)
    is_error: bool = False
    denies_error: bool = False
    aborted: bool = False
    retryable: bool | None = None
    retry_after_ms: int | None = None
    result_count: int | None = None
    content_count: int | None = None
    result_empty: bool | None = None
    attempt: int | None = None
    jsonrpc_code: int | None = None
    http_status: int | None = None
    status_message: str = ""
    exceptions: tuple[tuple[str, str], ...] = ()
    arguments_hash: int | None = None
    results: tuple[Mapping[str, Any], ...] = ()


def read(span: ToolSpan, lexicon: Mapping[str, Hit], carried: tuple[Mapping[str, Any], ...] = ()) -> Reading:
    """Read a stored span. `carried`: facts of results that non-tool spans below it carry."""
    evidence = orjson.loads(span.evidence)
    best: dict[str, tuple[int, Any]] = {}
    reading = Reading(span, tool="")
    for key, value in evidence["attributes"].items():
        hit = lexicon.get(key)
        if hit is None or value is None:
            continue
        concept, rank = hit
        reading.is_error |= concept in FLAGS and tells_failure(concept, value)
        if concept == "is_error":
            reading.denies_error |= boolean(value) is False
            reading.aborted |= isinstance(value, str) and value.casefold() == "aborted"
        elif concept not in best or rank < best[concept][0]:
            best[concept] = rank, value
    for concept, (_, value) in best.items():
        if isinstance(value, str):
            reading.text[concept] = value
        elif isinstance(value, int | float) and not isinstance(value, bool):
            reading.text[concept] = str(int(value)) if value == int(value) else str(value)
        if concept in _TYPED:
            setattr(reading, concept, _TYPED[concept](value))
    wrong = reading.text.get("error")
    if wrong is not None and boolean(wrong) is None and tells_failure("error", wrong):
        reading.text.setdefault("error_message", wrong)
    if "error_type" in best:
        _add_code(reading, whole(best["error_type"][1]))
    named = reading.text.get("tool")
    reading.tool = (component_name(named) or UNNAMED_TOOL) if named is not None else evidence["tool"]
    reading.status_message = evidence.get("status_message", "")
    exceptions = [(event["type"], event["message"]) for event in evidence.get("events", ())]
    if "exception_type" in reading.text:
        exceptions.append((reading.text["exception_type"], reading.text.get("exception_message", "")))
    reading.exceptions = tuple(exceptions)
    reading.arguments_hash = evidence.get("arguments", {}).get("hash")
    own = (evidence["result"],) if "result" in evidence else ()
    reading.results = (*own, *carried)
    return reading


def _add_code(reading: Reading, code: int | None) -> None:
    """Take an error type that is a number for the JSON-RPC code or the HTTP status that it is."""
    if code is None:
        return
    if code <= JSONRPC_LARGEST:
        reading.jsonrpc_code = code if reading.jsonrpc_code is None else reading.jsonrpc_code
    elif 100 <= code < 600 and reading.http_status is None:
        reading.http_status = code


def whole(value: Any) -> int | None:
    """A whole number, whatever its type on the wire; None if it is none or beyond 64 bits."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = int(float(value)) if isinstance(value, float) else int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if -(2**63) <= number < 2**63 else None


def attempt(value: Any) -> int | None:
    """Which attempt a call says it is; None if that is no number that anyone counts to."""
    number = whole(value)
    return number if number is not None and 0 <= number <= MOST_ATTEMPTS else None


# Flags and numbers, whatever their type on the wire, by the field that they have in a Reading.
_TYPED: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("retryable", "result_empty"), boolean),
    **dict.fromkeys(("result_count", "content_count", "retry_after_ms", "http_status", "jsonrpc_code"), whole),
    "attempt": attempt,
}
