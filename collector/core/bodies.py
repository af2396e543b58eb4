"""Look through the wrappers around arguments, results and error bodies, and keep the facts instead of the payload."""

import re
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import orjson

from collector.core import reprs
from collector.core.emptiness import blank_text, emptiness_of
from collector.core.error_bodies import CATEGORY_KEYS, TOOL_FAILURE_META, ErrorBody, embedded_body, error_body, failing_body, truth
from collector.core.json_text import loads

# A result larger than this is not parsed: it certainly holds data, and parsing it would stall the neighbours.
BEGINNINGS = '{["'
LARGEST_PARSED = 1_000_000
DEEPEST = 8

FAILED_SOURCE_KEYS = ("failed_sources", "failedSources", "failed_shards", "failedShards")
DEFERRED_TYPES = frozenset({"input_required", "task"})
ENVELOPE_KEYS = frozenset({"kwargs", "input", "inputs", "input_str", "tags", "metadata"})
# A wrapper has at least one of these keys, and the tool's own object says more than its data only if it has one of those.
WRAPPER_MARKS = ENVELOPE_KEYS | {
    "lc", "type", "jsonrpc", "output", "content", "structuredContent", "isError", "is_error", "result", "text", "json", "toolResult",
}  # fmt: skip
PAYLOAD_MARKS = frozenset(
    {"partial", "resultType", "result_type", "_meta", "isError", "is_error", "error", *CATEGORY_KEYS, *FAILED_SOURCE_KEYS}
)
BEGINS_AS_JSON = re.compile(r"""\s*(?:\{\s*"[^"]*"\s*:|\[\s*[{\["])""")


@dataclass(slots=True)
class Seen:
    """What a result is under its wrappers: text or a value (`visible` False if the emitter wrote no value), and what they say."""

    value: Any = None
    visible: bool = True
    error: ErrorBody | None = None
    denies_error: bool = False
    partial: bool = False
    deferred: bool = False


def parsed(text: str) -> Any:
    """The value that a text is as JSON or as a Python repr, or the text itself."""
    head = text[:1] if text[:1] in BEGINNINGS else text.lstrip()[:1]
    if head and (head in BEGINNINGS or text.strip() in ("null", "true", "false")) and len(text) <= LARGEST_PARSED:
        try:
            return loads(text)
        except ValueError:
            pass
    return reprs.value_in(text)


def see(value: Any, depth: int = 0) -> Seen:
    """Take the wrappers off a result."""
    if isinstance(value, str):
        inner = parsed(value)
        if inner is value or depth >= DEEPEST:
            return Seen(value=value, visible=not reprs.opaque(value) and not _broken(value))
        # Plain JSON text: its own look decides; a number or another string is data as it stands.
        return see(inner, depth + 1) if isinstance(inner, dict | list | str) else Seen(value=inner)
    if depth >= DEEPEST:
        return Seen(value=value)
    if isinstance(value, dict):
        return _see_object(value, depth)
    if isinstance(value, list) and value and all(_is_block(item) for item in value):
        return _see_blocks(value, depth)
    return Seen(value=value)


def _broken(text: str) -> bool:
    """Whether a text begins as JSON but is none: cut short by the emitter, so it may hold data or not."""
    return len(text) <= LARGEST_PARSED and BEGINS_AS_JSON.match(text) is not None


def _is_block(item: Any) -> bool:
    if not isinstance(item, dict):
        return False
    if item.get("type") in ("text", "image", "audio", "resource", "resource_link", "tool_result"):
        return True
    return set(item) in ({"text"}, {"json"}, {"toolResult"})


def _see_object(value: dict[str, Any], depth: int) -> Seen:
    # The two most common objects first: the tool's own data, and an MCP result.
    if WRAPPER_MARKS.isdisjoint(value):
        return _see_payload(value)
    if "isError" in value and isinstance(value.get("content"), list):
        return _see_result(value, depth)
    if value.get("lc") is not None and isinstance(value.get("kwargs"), dict):
        return see(value["kwargs"], depth + 1)
    if value.get("type") == "tool" and isinstance(value.get("data"), dict):
        return see(value["data"], depth + 1)
    if isinstance(value.get("jsonrpc"), str):
        return _see_jsonrpc(value, depth)
    if "output" in value and set(value) <= ENVELOPE_KEYS | {"output"}:
        return see(value["output"], depth + 1)
    if set(value) and set(value) <= ENVELOPE_KEYS and len(value) > 1:
        return Seen(visible=False)
    if _is_block(value):
        return _see_blocks([value], depth)
    kind = value.get("type")
    if kind in ("content", "json", "text", "error-text", "error-json") and set(value) <= {"type", "value"} and "value" in value:
        inner = see(value["value"], depth + 1)
        return _failed(inner, "is_error") if kind.startswith("error") else inner
    if isinstance(value.get("content"), list) or _is_message(value):
        return _see_result(value, depth)
    if "is_error" in value and set(value) <= {"result", "is_error"}:
        inner = see(value.get("result"), depth + 1)
        return _failed(inner, "is_error") if truth(value["is_error"]) else inner
    if set(value) == {"result"} and isinstance(value["result"], str):
        return see(value["result"], depth + 1)
    return _see_payload(value)


def _is_message(value: dict[str, Any]) -> bool:
    """A tool message of an agent framework, or an MCP result whose content was left out."""
    if "content" in value and (value.get("type") == "tool" or value.get("role") == "tool" or "tool_call_id" in value):
        return True
    return ("isError" in value or "is_error" in value) and ("content" in value or "structuredContent" in value)


def _see_result(value: dict[str, Any], depth: int) -> Seen:
    """An MCP result or a tool message: content beside flags."""
    structured = value.get("structuredContent", value.get("structured_content"))
    artifact = value.get("artifact")
    if structured is None and isinstance(artifact, dict):
        structured = artifact.get("structured_content", artifact.get("structuredContent"))
    content = value.get("content")
    seen = _see_blocks(content, depth) if isinstance(content, list) else see(content, depth + 1)
    if structured is not None:
        # The structured form is the value itself; the text blocks repeat it for models. Both may carry the error body.
        text, seen = seen, _see_payload(structured) if isinstance(structured, dict) else Seen(value=structured)
        if seen.error is None and text.error is not None:
            seen.value, seen.error = text.value, text.error
        seen.partial = seen.partial or text.partial
    meta = value.get("_meta", value.get("meta"))
    failure = meta.get(TOOL_FAILURE_META) if isinstance(meta, dict) else None
    if isinstance(failure, dict):
        seen.error = error_body(failure, "tool_failure")
        return seen
    said = value.get("isError", value.get("is_error"))
    if truth(said) or value.get("status") == "error":
        return _failed(seen, "is_error" if truth(said) else "status")
    seen.deferred = seen.deferred or str(value.get("resultType", value.get("result_type"))) in DEFERRED_TYPES
    seen.denies_error = said is not None
    return seen


def _see_jsonrpc(value: dict[str, Any], depth: int) -> Seen:
    error = value.get("error")
    if isinstance(error, dict):
        body = error_body(error, "jsonrpc")
        return Seen(value=body.message, error=body)
    return see(value["result"], depth + 1) if "result" in value else Seen(visible=False)


def _see_blocks(blocks: list[Any], depth: int) -> Seen:
    """Content blocks: one text block is looked into, several are data unless all are blank."""
    if not blocks:
        return Seen(value=[])
    inner = [_see_block(block, depth) for block in blocks]
    if len(inner) == 1:
        return inner[0]
    error = next((one.error for one in inner if one.error), None)
    texts = [one.value for one in inner if isinstance(one.value, str)]
    full = [one for one in inner if not (isinstance(one.value, str) and blank_text(one.value))]
    value: Any = "\n".join(texts) if len(texts) == len(inner) else [one.value for one in full]
    return Seen(value=value, error=error, partial=any(one.partial for one in inner))


def _see_block(block: Any, depth: int) -> Seen:
    if not isinstance(block, dict):
        return see(block, depth + 1)
    if isinstance(block.get("toolResult"), dict):
        return see(block["toolResult"], depth + 1)
    for key in ("text", "content", "json"):
        if key in block:
            return see(block[key], depth + 1)
    return Seen(value=block)


def _see_payload(value: dict[str, Any]) -> Seen:
    """The tool's own object: an error body, partial, deferred, or plain data."""
    if PAYLOAD_MARKS.isdisjoint(value):
        return Seen(value=value)
    partial = value.get("partial") is True or any(value.get(key) for key in FAILED_SOURCE_KEYS)
    deferred = str(value.get("resultType", value.get("result_type"))) in DEFERRED_TYPES
    return Seen(value=value, error=failing_body(value), partial=partial, deferred=deferred)


def _failed(seen: Seen, by: str) -> Seen:
    """The same result, known to be a failure: its text may be, or hold, the error body."""
    if seen.error is not None:
        return seen
    if isinstance(seen.value, dict):
        seen.error = error_body(seen.value, by)
        return seen
    text = seen.value if isinstance(seen.value, str) else None
    seen.error = (embedded_body(text) if text else None) or ErrorBody(by=by, message=text)
    seen.error = replace(seen.error, by=by)
    return seen


def arguments_value(value: Any) -> Any:
    """The arguments under the wrappers that frameworks put around them; the same for each view of one call."""
    value = parsed(value) if isinstance(value, str) else value
    for _ in range(DEEPEST):
        if not isinstance(value, dict):
            break
        if isinstance(value.get("params"), dict) and "method" in value:
            value = value["params"].get("arguments", {})
        elif "arguments" in value and set(value) <= {"tool_name", "name", "arguments", "_meta", "meta", "task", "id", "type"}:
            value = value["arguments"]
        elif "inputs" in value and set(value) <= ENVELOPE_KEYS:
            value = value["inputs"]
        elif "input_str" in value and set(value) <= ENVELOPE_KEYS:
            value = value["input_str"]
        else:
            break
        value = parsed(value) if isinstance(value, str) else value
    return value


def keyed_hash(value: Any, key: bytes) -> int:
    """Signed 64-bit keyed hash of the canonical JSON of a value (sorted keys)."""
    try:
        canonical = orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    except (TypeError, orjson.JSONEncodeError):
        canonical = repr(value).encode("utf-8", "replace")
    return int.from_bytes(blake2b(canonical, key=key, digest_size=8).digest(), "big", signed=True)


def emptiness_of_seen(seen: Seen) -> tuple[str, str]:
    """Emptiness of a result and the rule that says so."""
    if not seen.visible:
        return "unknown", "opaque"
    return emptiness_of(seen.value)
