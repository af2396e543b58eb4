"""What the text of a failure says about its category: a short list, the weakest evidence of all."""

import re
from collections.abc import Iterable

# (category, name shown in decided_by, pattern). The first that matches counts; the name says which words were found.
_PATTERNS: tuple[tuple[str, str, str], ...] = (
    (
        "validation",
        "unknown tool",
        r"\bunknown tool\b|\bno such tool\b|\bno tool (?:with that name|named|called)\b|\btool not found"
        r"|\btool ['\"`]?[\w.\-/]+['\"`]? (?:was not found|not found|does not exist|is not (?:found|available|registered))",
    ),
    (
        "validation",
        "validation error",
        r"validation errors?\b|\binvalid (?:arguments?|params?|parameters?|input)\b|input validation",
    ),
    ("validation", "field required", r"\bfield required\b|\bmissing required (?:argument|parameter|field)|required property"),
    ("permission", "unauthorized", r"\bunauthori[sz]ed\b|\bnot authori[sz]ed\b|\bauthentication (?:failed|required)"),
    ("permission", "permission denied", r"\bpermission denied\b|\baccess denied\b|\bforbidden\b"),
    ("transient", "rate limit", r"\brate[ -]limit(?:ed|s)?\b|\btoo many requests\b"),
    (
        "transient",
        "timed out",
        r"\btimed[ -]out\b|\bdeadline exceeded\b|\bdue to timeout\b|\btimeout (?:error|exceeded|reached)\b",
    ),
    ("transient", "unavailable", r"\b(?:temporarily|service) unavailable\b|\bconnection (?:refused|reset|closed)\b"),
)
_COMPILED = tuple((category, name, re.compile(pattern, re.IGNORECASE)) for category, name, pattern in _PATTERNS)
# Lower-case words, one of which is in any text that a pattern above can match: spares most texts the patterns.
_WORDS = (
    "tool", "valid", "required", "author", "authenti", "denied", "forbidden", "limit", "too many", "timed", "timeout", "deadline",
    "unavailable", "connection",
)  # fmt: skip
TIMEOUT_WORD = "timed out"


def category_hint(text: str, disabled: Iterable[str] = ()) -> tuple[str, str] | None:
    """Category and the name of the words that hint at it, or None. `disabled` may hold `timeout_word`."""
    lowered = text.lower()
    if not any(word in lowered for word in _WORDS):
        return None
    for category, name, pattern in _COMPILED:
        if pattern.search(text) and not (name == TIMEOUT_WORD and "timeout_word" in disabled):
            return category, name
    return None
