"""What the names of rules mean, in a sentence for somebody who never read the code. Pure."""

from collections.abc import Mapping

OUTCOME_RULES: Mapping[str, str] = {
    "declared": "The span carries an error category, which only a failure has.",
    "cancelled": "The error type, the status message or an exception is a cancellation: neither for nor against the tool.",
    "is_error": "The span says by an attribute such as isError that the tool's answer was an error.",
    "deferred": "The answer asks for input or hands out a task: it comes later.",
    "body": "The answer itself says that it is an error (isError, or an error category), whatever the span's status.",
    "error_key": "The answer consists of nothing but an error text.",
    "error_type": "The span carries error.type.",
    "jsonrpc_code": "The answer was a JSON-RPC error, although the span's status does not say so.",
    "status": "The span's status is ERROR.",
    "exception_event": "The span recorded an exception and shows no answer.",
    "partial": "The answer says that it is partial or lists sources that failed.",
    "no_failure": "Nothing in the span speaks of a failure. An unset status counts as success.",
}

CATEGORY_RULES: Mapping[str, str] = {
    "declared": "The span declares its category.",
    "body": "The error body names its category.",
    "http": "The HTTP status decides the category.",
    "jsonrpc": "The JSON-RPC error code decides the category.",
    "class": "The class of the error decides the category.",
    "error_type": "The word in error.type decides the category.",
    "unknown_tool": "The tool does not exist, so the caller has to change its request.",
    "text": "The wording of the error hints at the category: the weakest evidence.",
    "timeout_word": "The error message speaks of a timeout: weak evidence.",
    "none": "Nothing tells the category. Declare it with toolvitals.error.category.",
}

FLAGS: Mapping[str, str] = {
    "server_finished": "The client gave up, but the server finished its work.",
    "caller_gone": "The server went on for more than a second after its caller had left.",
    "salvaged": "The tool failed but returned partial results.",
    "views_disagree": "The spans of this call do not agree on how it ended.",
    "contradicts_is_error": "The span declares an error category and says that it is no error.",
    "contradicts_retryable": "The span's retryability does not go with its category.",
    "clock_skew": "The span's time lies in the future: some clock is wrong.",
}

OUTCOMES: Mapping[str, str] = {
    "success": "The call succeeded",
    "partial": "The call succeeded in part",
    "failure": "The call failed",
    "cancelled": "The call was cancelled",
    "deferred": "The call was deferred",
}

CATEGORIES: Mapping[str, str] = {
    "transient": "a passing fault, so a retry can help",
    "validation": "the request was wrong, so it has to change",
    "business": "a rule of the business said no",
    "permission": "the caller lacks a permission",
    "unclassified": "nothing tells what kind of failure it was",
}

# OTLP's numbers.
SPAN_KINDS: Mapping[int, str] = {1: "internal", 2: "server", 3: "client", 4: "producer", 5: "consumer"}
SPAN_STATUS: Mapping[int, str] = {0: "unset", 1: "ok", 2: "error"}


def outcome_rule(decided_by: str) -> str:
    """The sentence for a value of decided_by."""
    return _sentence(OUTCOME_RULES, decided_by)


def category_rule(decided_by: str | None) -> str:
    """The sentence for a value of category_decided_by; '' for None."""
    return _sentence(CATEGORY_RULES, decided_by) if decided_by else ""


def _sentence(sentences: Mapping[str, str], decided_by: str) -> str:
    rule, _, detail = decided_by.partition(":")
    known = sentences.get(rule)
    if known is None:
        return f"Rule “{decided_by}” decided."
    return f"{known} ({detail})" if detail else known
