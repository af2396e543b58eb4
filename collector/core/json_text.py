"""Read JSON that strangers wrote: no deeper than those who walk it can follow."""

from typing import Any

import orjson

# No tool's data is nested deeper; a text made of a thousand brackets is aimed at the stack of whoever walks it.
MOST_NESTED = 100


def loads(text: str) -> Any:
    """The value of a JSON text. Raises ValueError if it is none, or is nested too deeply."""
    value = orjson.loads(text)
    if text.count("[") + text.count("{") > MOST_NESTED and _too_deep(value):
        raise ValueError("nested too deeply")
    return value


def _too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MOST_NESTED):
        inner = (one for item in level for one in (item.values() if isinstance(item, dict) else item))
        level = [one for one in inner if isinstance(one, dict | list)]
        if not level:
            return False
    return True
