"""OTLP values as plain Python values, and long texts cut."""

import re
from typing import Any

from opentelemetry.proto.common.v1.common_pb2 import AnyValue


def plain(attributes: Any) -> dict[str, Any]:
    """Attributes as plain Python values; of two with one key the last counts."""
    return {pair.key: pair.value.string_value or value_of(pair.value) for pair in attributes}


def value_of(value: AnyValue) -> Any:
    """An OTLP value as a plain Python value: bytes as hex text, an empty value as None."""
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [value_of(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        return {item.key: value_of(item.value) for item in value.kvlist_value.values}
    if kind == "bytes_value":
        return value.bytes_value.hex()
    return getattr(value, kind) if kind else None


_CUT = re.compile(r"… \[cut, \d+ characters\]")


def cut(text: str, length: int) -> str:
    """The first `length` characters with a marker that tells the original size; a text that was cut so already stays."""
    return text if _CUT.fullmatch(text, length) else f"{text[:length]}… [cut, {len(text)} characters]"
