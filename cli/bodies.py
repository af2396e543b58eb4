"""Read OTLP request bodies from files: raw protobuf or JSON, lines of JSON, and captures."""

import base64
import binascii
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROTOBUF = "application/x-protobuf"
JSON = "application/json"
PROTOBUF_SUFFIXES = (".pb", ".binpb")
JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")

# First key of an OTLP/JSON request -> its signal; also in snake case, as some tools write it.
_SIGNALS = {
    "resourceSpans": "traces",
    "resource_spans": "traces",
    "resourceMetrics": "metrics",
    "resource_metrics": "metrics",
    "resourceLogs": "logs",
    "resource_logs": "logs",
}


@dataclass(frozen=True, slots=True)
class Body:
    """One request to send, and where it came from."""

    source: str
    signal: str
    content_type: str
    content: bytes


class Unreadable(Exception):
    """A file that is none of the known kinds; the message says where and why."""


def read_bodies(path: Path) -> list[Body]:
    """The requests in a file. Raises Unreadable or OSError."""
    content = path.read_bytes()
    if path.suffix in PROTOBUF_SUFFIXES:
        return [Body(str(path), "traces", PROTOBUF, content)]
    whole = _parsed(content)
    if isinstance(whole, dict) and (signal := _signal(whole)):
        return [Body(str(path), signal, JSON, content)]
    # Protobuf has no mark of its own, and may begin like text does: what is not JSON is taken for it.
    first = content.lstrip().split(b"\n", 1)[0]
    if path.suffix not in JSON_SUFFIXES and not isinstance(_parsed(first), dict):
        return [Body(str(path), "traces", PROTOBUF, content)]
    return list(_lines(path, content))


def _lines(path: Path, content: bytes) -> Iterator[Body]:
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        source = f"{path}:{number}"
        item = _parsed(line)
        if not isinstance(item, dict):
            raise Unreadable(f"{source}: neither an OTLP body nor a JSON line")
        if "body" in item:
            yield _captured(source, item)
        elif signal := _signal(item):
            yield Body(source, signal, JSON, line)
        elif number > 1:  # a capture's first line tells of versions
            raise Unreadable(f"{source}: a JSON object that holds neither spans nor a captured body")


def _captured(source: str, item: dict[str, Any]) -> Body:
    try:
        content = base64.b64decode(item["body"], validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise Unreadable(f"{source}: body is not base64: {error}") from None
    return Body(source, str(item.get("signal") or "traces"), str(item.get("content_type") or PROTOBUF), content)


def _signal(item: dict[str, Any]) -> str | None:
    return next((_SIGNALS[key] for key in item if key in _SIGNALS), None)


def _parsed(text: bytes) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None
