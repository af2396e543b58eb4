"""Error bodies: which objects say that a call failed, and what they say about it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from collector.core.json_text import loads
from schemas.vocabulary import ERROR_WORDS, SUCCESS_WORDS

# Text longer than this is not searched for an error body.
LONGEST_SEARCHED = 1_000_000

CATEGORY_KEYS = ("errorCategory", "error_category", "errorcategory", "category")
RETRYABLE_KEYS = ("isRetryable", "is_retryable", "retryable", "retriable", "isRetriable")
MESSAGE_KEYS = ("description", "message", "error_description", "detail", "error", "reason")
ATTEMPTED_KEYS = ("attempted", "attempted_query", "attemptedQuery")
PARTIAL_KEYS = ("partial_results", "partialResults")
CUSTOMER_KEYS = ("customer_message", "customerMessage", "user_message")
RETRY_AFTER_KEYS = ("retry_after_ms", "retryAfterMs")
TOOL_FAILURE_META = "io.modelcontextprotocol/toolFailure"

# Of the category keys those that no tool uses for data of its own.
_DECLARES = frozenset(CATEGORY_KEYS[:3])


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """The fields of an error body. `by` says what made it one: is_error, status, body, error_key, jsonrpc, tool_failure."""

    by: str
    category: str | None = None
    retryable: bool | None = None
    message: str | None = None
    attempted: str | None = None
    partial_results: bool = False
    alternatives: bool = False
    customer_message: str | None = None
    retry_after_ms: int | None = None
    code: int | None = None


def failing_body(value: dict[str, Any]) -> ErrorBody | None:
    """The error body that an object is by itself, or None: its own data may hold any word, only these shapes say failure."""
    meta = value.get("_meta")
    if isinstance(meta, dict) and isinstance(meta.get(TOOL_FAILURE_META), dict):
        return error_body(meta[TOOL_FAILURE_META], "tool_failure")
    if truth(value.get("isError")) or truth(value.get("is_error")):
        return error_body(value, "is_error")
    if not _DECLARES.isdisjoint(value) and any(key in value for key in RETRYABLE_KEYS):
        return error_body(value, "body")
    error = value.get("error")
    if isinstance(error, dict) and failing_body(error) is not None:
        return error_body(error, "body")
    if len(value) == 1 and isinstance(error, str) and error.strip():
        return error_body(value, "error_key")
    return None


def error_body(value: dict[str, Any], by: str) -> ErrorBody:
    """Read the fields of an object that is known to be an error body."""
    wait = first(value, RETRY_AFTER_KEYS)
    seconds = first(value, ("retry_after", "retryAfter", "retry_after_s"))
    if wait is None and isinstance(seconds, int | float) and not isinstance(seconds, bool):
        wait = seconds * 1000
    attempted = first(value, ATTEMPTED_KEYS)
    code = value.get("code")
    category = first(value, CATEGORY_KEYS)
    return ErrorBody(
        by=by,
        code=code if by == "jsonrpc" and isinstance(code, int) else None,
        category=category if isinstance(category, str) else None,
        retryable=boolean(first(value, RETRYABLE_KEYS)),
        message=_text(first(value, MESSAGE_KEYS)),
        attempted=_text(attempted),
        partial_results=bool(first(value, PARTIAL_KEYS)),
        alternatives=bool(value.get("alternatives")),
        customer_message=_text(first(value, CUSTOMER_KEYS)),
        retry_after_ms=int(wait) if isinstance(wait, int | float) and not isinstance(wait, bool) and 0 <= wait < 1e12 else None,
    )


def embedded_body(text: str) -> ErrorBody | None:
    """The error body inside a text that is known to tell of a failure: after a prefix, or inside the repr of an exception."""
    for found in _objects(text):
        body = failing_body(found)
        if body is not None:
            return body
    return None


def _objects(text: str) -> Iterator[dict[str, Any]]:
    if len(text) > LONGEST_SEARCHED:
        return
    start, end = text.find("{"), text.rfind("}")
    if start < 0:
        return
    chunk = text[start : end + 1] if end > start else ""
    # In a repr the quotes and backslashes of the JSON are escaped once more.
    for candidate in (chunk, chunk.replace('\\"', '"').replace("\\'", "'").replace("\\\\", "\\")):
        try:
            yield loads(candidate)
        except ValueError:
            continue
        return
    yield from _cut_short(text[start:])


# An error body that the emitter cut short still shows its first fields.
_CATEGORY_IN_TEXT = re.compile(r"""["'](?:errorCategory|error_category)\\*["']\s*:\s*\\*["'](\w+)\\*["']""")
_RETRYABLE_IN_TEXT = re.compile(r"""["'](?:isRetryable|is_retryable|retryable)\\*["']\s*:\s*(true|false)""", re.IGNORECASE)


def _cut_short(text: str) -> Iterator[dict[str, Any]]:
    category, retryable = _CATEGORY_IN_TEXT.search(text), _RETRYABLE_IN_TEXT.search(text)
    if category and retryable:
        yield {"errorCategory": category.group(1), "isRetryable": retryable.group(1).casefold() == "true"}


def first(value: dict[str, Any], keys: tuple[str, ...]) -> Any:
    """The value of the first of the keys that is present and not null."""
    for key in keys:
        found = value.get(key)
        if found is not None:
            return found
    return None


def truth(value: Any) -> bool:
    """Whether a flag says true: as bool or as text in any case."""
    return boolean(value) is True


def boolean(value: Any) -> bool | None:
    """A flag as bool, whatever its type on the wire; None if it is none."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}.get(value.strip().casefold())
    return {1: True, 0: False}.get(int(value)) if isinstance(value, int | float) and value in (0, 1) else None


def says_error(value: Any) -> bool:
    """Whether an attribute that tells what went wrong tells of anything: true, or a text that is no word of success."""
    return boolean(value) is True or (isinstance(value, str) and boolean(value) is None and value.strip().casefold() not in SUCCESS_WORDS)


def tells_failure(concept: str, value: Any) -> bool:
    """Whether an attribute of this concept (FAILURE_CONCEPTS of evidence.py) may say that the call failed."""
    if concept == "is_error":
        return boolean(value) is True or (isinstance(value, str) and value.strip().casefold() in ERROR_WORDS)
    if concept == "is_success":
        return boolean(value) is False
    return says_error(value) if concept == "error" else True


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, dict) and isinstance(value.get("message"), str):
        return str(value["message"])
    return orjson.dumps(value, default=str).decode()
