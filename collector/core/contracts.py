"""How much the failures of a tool say: category, retryability, a message that tells, no contradiction, and what else it sends at times."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from collector.core.categories import bodies_of, category_of_word
from collector.core.reading import Reading
from schemas.contracts import (
    ATTEMPTED,
    CATEGORY,
    CONTRADICTION,
    CUSTOMER,
    HONEST_EMPTY,
    MESSAGE,
    PARTIAL,
    RETRYABLE,
    ContractFinding,
    ContractQuality,
)
from schemas.honest_empties import says_nothing_found

# Words that fit every failure: a message of nothing else tells nothing.
_GENERIC = frozenset(
    {
        "a", "action", "again", "an", "and", "any", "at", "bad", "be", "but", "call", "calls", "can", "cannot", "code", "command",
        "complete", "completed", "contact", "could", "default", "do", "encountered", "error", "errors", "exception",
        "exceptiongroup", "execute", "executing", "execution", "fail", "failed", "failing", "fails", "failure", "fatal", "for",
        "function", "general", "generic", "handle", "happened", "has", "have", "i", "in", "internal", "is", "issue", "it", "job",
        "later", "may", "mcp", "mcperror", "message", "method", "msg", "n", "na", "nan", "none", "not", "null", "object",
        "occurred", "of", "oops", "operation", "or", "our", "perform", "please", "problem", "process", "processing", "reason",
        "request", "response", "result", "run", "running", "runtimeerror", "server", "some", "something", "sorry", "status",
        "support", "task", "that", "the", "there", "this", "to", "tool", "toolerror", "try", "trying", "unable", "undefined",
        "unexpected", "unhandled", "unknown", "unspecified", "us", "was", "we", "went", "while", "with", "wrong", "you", "your",
    }
)  # fmt: skip
_WORD = re.compile(r"[^\W\d_]+")
# A class of exceptions by itself is no message.
_CLASS = re.compile(r"^[\w.]*(?:Error|Exception|Failure|Fault)$")
# What the suggestion leaves to be filled in.
_FILL = "<{}>"
LONGEST_SUGGESTED = 300


class Told(NamedTuple):
    """What one failed call says. `declared` is the category that the tool itself gives, `category` the one that the call was given."""

    call: str
    category: str
    declared: bool
    retryable: bool | None
    declared_retryable: bool | None
    message: str | None
    error_type: str | None
    category_decided_by: str | None
    retry_after_ms: int | None
    contradicts: bool
    customer_message: str | None
    attempted: str | None
    partial_results: bool


def tells(call: Mapping[str, Any], readings: Sequence[Reading]) -> Told:
    """What a failed call (columns of its row, and `call` as addresses of pages name it) says, with the spans that told of it."""
    bodies = [body for reading in readings for body in bodies_of(reading)]
    said = [reading.retryable for reading in readings] + [body.retryable for body in bodies]
    words = [reading.text.get("category") for reading in readings] + [body.category for body in bodies]
    by = call["category_decided_by"] or ""
    # Codes of the protocol are part of the contract; HTTP codes, class names and words are how we guess.
    declared = by in ("declared", "body") or by.startswith("jsonrpc:") or any(category_of_word(word) for word in words if word)
    return Told(
        call["call"],
        call["category"] or "unclassified",
        declared and call["category"] not in (None, "unclassified"),
        call["retryable"],
        next((one for one in said if one is not None), None),
        call["message"],
        call["error_type"],
        call["category_decided_by"],
        call["retry_after_ms"],
        not {"contradicts_is_error", "contradicts_retryable"}.isdisjoint(call["flags"].split()),
        next((body.customer_message for body in bodies if body.customer_message), None),
        next((body.attempted for body in bodies if body.attempted), None),
        any(body.partial_results for body in bodies),
    )


def generic(message: str | None) -> bool:
    """Whether a message fits every failure: it is missing, a class name, or of no words but those that say that something failed."""
    text = (message or "").strip()
    if _CLASS.match(text):
        return True
    words = [word.casefold() for word in _WORD.findall(re.sub(r"executing tool \S+", "", text))]
    return all(word in _GENERIC or _CLASS.match(word.capitalize()) is not None for word in words)


def quality(environment: str, server: str, tool: str, told: Sequence[Told]) -> ContractQuality:
    """How much some failures of a tool say, the newest first."""
    empties = [one for one in told if says_nothing_found(one.message, one.category_decided_by)]
    real = [one for one in told if one not in empties]
    business = [one for one in real if one.category == "business"]
    findings = [
        _finding(CATEGORY, real, lambda one: one.declared),
        _finding(RETRYABLE, real, lambda one: one.declared_retryable is not None),
        _finding(MESSAGE, real, lambda one: not generic(one.message)),
        _finding(CONTRADICTION, real, lambda one: not one.contradicts),
        _finding(CUSTOMER, business, lambda one: bool(one.customer_message)),
        _finding(ATTEMPTED, _if_ever(real, lambda one: one.attempted is not None), lambda one: one.attempted is not None),
        _finding(PARTIAL, _if_ever(real, lambda one: one.partial_results), lambda one: one.partial_results),
        _finding(HONEST_EMPTY, told if empties else (), lambda one: one not in empties),
    ]
    return ContractQuality(environment, server, tool, len(told), tuple(one for one in findings if one.n))


def _if_ever(told: Sequence[Told], has: Callable[[Told], bool]) -> Sequence[Told]:
    return told if any(map(has, told)) else ()


def _finding(name: str, told: Iterable[Told], has: Callable[[Told], bool]) -> ContractFinding:
    told = list(told)
    lacking = [one for one in told if not has(one)]
    example = lacking[0] if lacking else None
    if example is None:
        return ContractFinding(name, len(told), len(told))
    body = {"isError": False, "items": [], "count": 0} if name == HONEST_EMPTY else suggested(example, name)
    return ContractFinding(name, len(told) - len(lacking), len(told), example.call, json.dumps(body))


def suggested(told: Told, name: str) -> dict[str, Any]:
    """An error body for a call as it could have been: what the call says, and in angle brackets what it leaves to its author."""
    known = told.category != "unclassified"
    # The category says whether a retry can help, where the two contradict each other.
    retryable = told.category == "transient" if known else told.retryable
    body: dict[str, Any] = {
        "isError": True,
        "errorCategory": told.category if known else _FILL.format("transient, validation, business or permission"),
        "isRetryable": retryable if retryable is not None else _FILL.format("true if the same request can succeed later, else false"),
        "description": _description(told),
    }
    if told.retry_after_ms is not None and retryable is not False:
        body["retryAfterMs"] = told.retry_after_ms
    if told.category == "business":
        body["customerMessage"] = _short(told.customer_message) or _FILL.format("what the customer may be told")
    if told.attempted or name == ATTEMPTED:
        body["attemptedQuery"] = _short(told.attempted) or _FILL.format("the arguments that were tried")
    if name == PARTIAL:
        body["partialResults"] = []
    return body


def _description(told: Told) -> str:
    if not generic(told.message):
        return _short(told.message) or ""
    cause = f", here {_short(told.error_type)}" if told.error_type and told.error_type != "tool_error" else ""
    return _FILL.format(f"what failed, with which value, and what to do{cause}")


def _short(text: str | None) -> str | None:
    return text if text is None or len(text) <= LONGEST_SUGGESTED else text[: LONGEST_SUGGESTED - 1] + "\u2026"
