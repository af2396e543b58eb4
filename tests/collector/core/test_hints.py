"""Words of a failure that hint at its category."""

from collector.core.hints import category_hint
from tests.tables import sentences


@sentences(
    "text, hint",
    {
        "an unknown tool": ("Unknown tool: serch", ("validation", "unknown tool")),
        "a tool that was not found": ("Tool 'serch' not found", ("validation", "unknown tool")),
        "a tool that does not exist": ("the tool `a.b/c-d` does not exist", ("validation", "unknown tool")),
        "a validation error": ("1 validation error for call[search]", ("validation", "validation error")),
        "invalid arguments": ("Invalid arguments: q", ("validation", "validation error")),
        "a missing field": ("q: Field required", ("validation", "field required")),
        "a missing parameter": ("missing required parameter: owner", ("validation", "field required")),
        "unauthorized": ("401 Unauthorized", ("permission", "unauthorized")),
        "not authorised": ("not authorised to read", ("permission", "unauthorized")),
        "permission denied": ("Permission denied: /etc", ("permission", "permission denied")),
        "forbidden": ("Forbidden", ("permission", "permission denied")),
        "a rate limit": ("rate-limited, slow down", ("transient", "rate limit")),
        "too many requests": ("Too Many Requests", ("transient", "rate limit")),
        "timed out": ("Timed out while waiting for response", ("transient", "timed out")),
        "a deadline": ("context deadline exceeded", ("transient", "timed out")),
        "unavailable": ("Service Unavailable", ("transient", "unavailable")),
        "a refused connection": ("connection refused", ("transient", "unavailable")),
        "the caller's mistake comes before a time-out that it mentions": (
            "validation error: timed out is no state",
            ("validation", "validation error"),
        ),
    },
)
def test_words_hint(text: str, hint: tuple[str, str]) -> None:
    assert category_hint(text) == hint


@sentences(
    "text",
    {
        "a plain failure": "Operation failed",
        "the word timeout alone": "timeout=30 was passed to search",
        "the word tool alone": "the tool broke",
        "the word connection alone": "bad connection string",
        "no text": "",
    },
)
def test_other_words_do_not(text: str) -> None:
    assert category_hint(text) is None


def test_the_word_of_a_timeout_can_be_switched_off() -> None:
    assert category_hint("timed out", ("timeout_word",)) is None
    assert category_hint("timed out: service unavailable", ("timeout_word",)) == ("transient", "unavailable")
