"""Empty answers that a tool reports as errors: failures that say nothing but that nothing was found. Pure."""

import re

# The whole text must be one of these, give or take its ending: "user not found in the directory of X" says more than that.
_PHRASES = frozenset(
    {
        "no results", "no results found", "no result", "no result found", "no matches", "no matches found", "no match", "no match found",
        "no matching results", "nothing found", "nothing matched", "not found", "0 results", "0 results found", "0 matches",
        "no data", "no data found", "no records", "no records found", "no rows", "no items found", "no documents found", "no hits",
        "404", "404 not found", "http 404", "http 404 not found", "http error 404", "http error 404: not found", "status 404",
        "empty result", "empty results", "none found",
    }
)  # fmt: skip
# What frameworks write before a tool's own words.
_PREFIX = re.compile(r"^(?:error(?: executing tool \S+)?|tool error|mcp error -?\d+|[a-z]*(?:error|exception)): *", re.IGNORECASE)


def says_nothing_found(message: str | None, category_decided_by: str | None) -> bool:
    """Whether a failure's message says that nothing was found and nothing else; without a message, whether it is an HTTP 404."""
    text = " ".join((message or "").split())
    while (cut := _PREFIX.sub("", text, count=1)) != text:
        text = cut
    said = text.strip(" .!\"'").lower()
    return said in _PHRASES if said else category_decided_by == "http:404"
