"""From one span to its verdict: an ordered list of rules, the first that applies decides and is named."""

import re
from collections.abc import Collection

from collector.core.categories import CategoryEvidence, bodies_of, class_names, codes_of, evidence_for, says_timeout, texts_of
from collector.core.reading import Reading
from schemas.spans import Verdict
from schemas.vocabulary import CANCELLED_WORDS, SUCCESS_WORDS

STATUS_ERROR = 2
DEFERRED_TYPES = frozenset({"input_required", "task"})

_CANCELLED = re.compile(r"(?:MCP error -?\d+:\s*)?(?:[\w.]+\.)?(?:CancelledError|CanceledError|AbortError)\b", re.IGNORECASE)
_TIMEOUT_CLASS = re.compile(r"\w*timeout\w*|deadline_?exceeded", re.IGNORECASE)
_CONNECTION_CLASS = re.compile(r"\w*connect(?:ion)?_?\w*", re.IGNORECASE)


def classify(reading: Reading, disabled: Collection[str] = ()) -> Verdict:
    """What one span says of the outcome. `disabled` names risky rules that are switched off."""
    outcome, rule = _outcome(reading, disabled)
    if outcome == "failure":
        return failure(reading, rule, evidence_for(reading, disabled))
    if outcome in ("cancelled", "deferred"):
        return Verdict(outcome, rule, message=next(texts_of(reading), None), error_type=reading.text.get("error_type"))
    emptiness, _ = emptiness_in(reading)
    return Verdict(outcome, rule, emptiness)


def _outcome(reading: Reading, disabled: Collection[str]) -> tuple[str, str]:
    """The ordered rules. A status of Unset or OK never overrides the ones before it."""
    if "category" in reading.text:
        return "failure", "declared"
    if is_cancelled(reading):
        return "cancelled", "cancelled"
    if reading.is_error:
        return "failure", "is_error"
    if reading.text.get("result_type") in DEFERRED_TYPES or any(facts.get("deferred") for facts in reading.results):
        return "deferred", "deferred"
    body = _failing_body(reading, disabled)
    if body is not None:
        return "failure", body
    error_type = reading.text.get("error_type")
    if error_type is not None and error_type.strip().casefold() not in SUCCESS_WORDS:
        return "failure", "error_type"
    if any(True for _ in codes_of(reading)):
        return "failure", "jsonrpc_code"
    if reading.span.status == STATUS_ERROR:
        return "failure", "status"
    if reading.exceptions and not _has_result(reading) and "exception_event" not in disabled:
        return "failure", "exception_event"
    partial = any(facts.get("partial") for facts in reading.results)
    return ("partial", "partial") if partial else ("success", "no_failure")


def is_cancelled(reading: Reading) -> bool:
    """Whether the call was called off: by error type, code, exception, or a message that begins with such a class."""
    error_type = reading.text.get("error_type")
    if error_type is not None and _is_cancelled_word(error_type):
        return True
    if reading.aborted or -32800 in codes_of(reading) or _is_cancelled_text(reading.status_message):
        return True
    return any(_is_cancelled_word(kind) or _is_cancelled_text(message) for kind, message in reading.exceptions)


def _is_cancelled_word(word: str) -> bool:
    return word.strip().casefold() in CANCELLED_WORDS or word.rpartition(".")[2].casefold() in CANCELLED_WORDS


def _is_cancelled_text(text: str) -> bool:
    return bool(text) and (_CANCELLED.match(text) is not None or text.strip().casefold() in CANCELLED_WORDS)


def _failing_body(reading: Reading, disabled: Collection[str]) -> str | None:
    for facts in reading.results:
        by = facts.get("error", {}).get("by")
        if by is not None and by not in disabled:
            return f"body:{by}"
    for text in (reading.status_message, *(message for _, message in reading.exceptions)):
        # Only a message that is an error body as a whole: a prefix before it is read once the failure is known otherwise.
        if text.lstrip().startswith("{"):
            from_text = next((body for body in bodies_of(reading) if body.by not in disabled), None)
            if from_text is not None:
                return f"body:{from_text.by}"
    return None


def _has_result(reading: Reading) -> bool:
    return any(facts["rule"] not in ("object", "json", "opaque") or facts["emptiness"] == "data" for facts in reading.results)


def failure(reading: Reading, rule: str, evidence: CategoryEvidence) -> Verdict:
    """The verdict of a span that failed by `rule`, with the category that `evidence` gives."""
    retryable = evidence.retryable
    if retryable is None:
        retryable = {"transient": True, "unclassified": None}.get(evidence.category, False)
    flags = set()
    if rule == "declared" and (reading.denies_error or any(facts.get("denies_error") for facts in reading.results)):
        flags.add("contradicts_is_error")
    if evidence.retryable is not None and evidence.category != "unclassified" and evidence.retryable != (evidence.category == "transient"):
        flags.add("contradicts_retryable")
    if any(facts.get("error", {}).get("partial_results") for facts in reading.results):
        flags.add("salvaged")
    return Verdict(
        "failure",
        rule,
        category=evidence.category,
        raw_category=evidence.raw,
        category_decided_by=evidence.by,
        strength=evidence.strength,
        retryable=retryable,
        channel=channel(reading),
        error_type=reading.text.get("error_type") or next(class_names(reading), None),
        message=message(reading),
        flags=tuple(sorted(flags)),
    )


def channel(reading: Reading) -> str:
    """Where the failure travelled: transport (no answer came), protocol (a JSON-RPC error), tool (an answer that says so)."""
    names = list(class_names(reading))
    if not reading.results:
        codes = list(codes_of(reading))
        timed_out = any(_TIMEOUT_CLASS.fullmatch(name) for name in names) or says_timeout(reading)
        if (timed_out and (not codes or codes[0] in (-32001, -32000))) or any(_CONNECTION_CLASS.fullmatch(name) for name in names):
            return "transport"
        if reading.http_status is not None and reading.http_status >= 400 and not codes:
            return "transport"
    return "protocol" if any(True for _ in codes_of(reading)) else "tool"


def message(reading: Reading) -> str | None:
    """What a failed span says happened: the field of its error body, else its status message, exception or result text."""
    said = next((body.message for body in bodies_of(reading) if body.message), None)
    return said or next(texts_of(reading), None)


def emptiness_in(reading: Reading) -> tuple[str, str]:
    """Whether a success holds data, and the rule: declared counts and flags first, then what the result shows."""
    if reading.result_count is not None:
        return ("empty" if reading.result_count == 0 else "data"), "declared"
    if reading.result_empty is not None:
        return ("empty" if reading.result_empty else "data"), "declared"
    for facts in reading.results:
        if facts["emptiness"] != "unknown":
            return facts["emptiness"], facts["rule"]
    if reading.content_count == 0:
        return "empty", "content_count"
    return "unknown", "unseen"
