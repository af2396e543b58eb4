"""Values as text that may be stored: cut, without U+0000, and never cut in the middle of a secret."""

from typing import Any

import orjson

from collector.core.redaction import masked_text, suspicious
from collector.core.values import cut

# A secret is no longer than this, in characters.
LONGEST_SECRET = 1024


def short(value: Any, length: int) -> Any:
    """A value cut to `length` characters, with a marker that tells the original size; structured ones as JSON text."""
    if isinstance(value, str):
        return value if len(value) <= length else _cut_masked(value, length)
    if isinstance(value, list | dict):
        text = dumped(value)
        return value if len(text) <= length else _cut_masked(text, length)
    return value


def _cut_masked(text: str, length: int) -> str:
    """A text cut to `length`. What is masked later is the cut text, so a secret that the cut would break is masked now."""
    marked = cut(text, length)
    around = text[: length + LONGEST_SECRET]
    return f"{masked_text(around)[:length]}{marked[length:]}" if marked is not text and suspicious(around) else marked


def text_of(value: Any) -> str:
    """A payload as text."""
    return value if isinstance(value, str) else dumped(value)


def dumped(value: Any) -> str:
    """Compact JSON text; strangers as text."""
    return orjson.dumps(value, default=str).decode()


def without_nul(value: Any) -> Any:
    """A copy of a JSON-like value with U+0000, which PostgreSQL refuses, replaced by U+FFFD."""
    if isinstance(value, str):
        return value.replace("\0", "\ufffd")
    if isinstance(value, dict):
        return {without_nul(key): without_nul(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_nul(item) for item in value]
    return value


def size_of(value: Any) -> int:
    return len(value.encode()) if isinstance(value, str) else len(dumped(value))
