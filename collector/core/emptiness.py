"""Whether a result holds data: a query that matched nothing is a finding, one that cannot be seen is unknown."""

from typing import Any

from collector.core.json_text import loads

# Objects within objects that are looked through.
DEEPEST = 16
# Keys whose empty value makes the whole object empty, if it is the only key (or the only other one is a count of 0).
DATA_KEYS = frozenset({"result", "results", "items", "data", "rows", "records", "matches", "content"})
COUNT_KEYS = frozenset({"count", "total", "total_count", "totalCount", "size", "length", "num_results", "resultCount", "result_count"})
# Whole texts that say "nothing found". Free text beyond this list is data.
PHRASES = frozenset({"no results", "no results found", "no matches", "no matches found", "nothing found", "0 results"})


def blank_text(text: str) -> bool:
    """Whether a text holds nothing but white space."""
    return not text.strip()


def emptiness_of(value: Any, depth: int = 0) -> tuple[str, str]:
    """`data` or `empty`, and the rule that says so. 0, false and "0" are data, as is what lies too deep to look at."""
    if depth > DEEPEST:
        return "data", "deep"
    if value is None:
        return "empty", "null"
    if isinstance(value, str):
        return _of_text(value, depth)
    if isinstance(value, list):
        return ("data", "list") if value else ("empty", "list")
    if isinstance(value, dict):
        return _of_object(value, depth)
    return "data", "scalar"


def _of_text(text: str, depth: int) -> tuple[str, str]:
    stripped = text.strip()
    if not stripped:
        return "empty", "blank"
    if stripped.casefold().rstrip(".!") in PHRASES:
        return "empty", "phrase"
    if stripped in ("[]", "{}", '""', "null"):
        return "empty", "json"
    if stripped[0] in "[{" and len(stripped) < 4096:
        try:
            return emptiness_of(loads(stripped), depth + 1)
        except ValueError:
            return "data", "text"
    return "data", "text"


def _of_object(value: dict[str, Any], depth: int) -> tuple[str, str]:
    if not value:
        return "empty", "object"
    data = [key for key in value if key in DATA_KEYS]
    rest = [key for key in value if key not in DATA_KEYS]
    if len(data) == 1 and all(key in COUNT_KEYS and value[key] in (0, "0") and value[key] is not False for key in rest):
        inner, _ = emptiness_of(value[data[0]], depth + 1)
        if inner == "empty":
            return "empty", f"key:{data[0]}"
    return "data", "object"


def item_count(value: Any) -> int | None:
    """How many items a result holds, where its shape tells: a list, or an object around one list."""
    if isinstance(value, list):
        return len(value)
    if isinstance(value, dict):
        lists = [inner for key, inner in value.items() if key in DATA_KEYS and isinstance(inner, list)]
        return len(lists[0]) if len(lists) == 1 else None
    return None
