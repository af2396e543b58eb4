"""What is kept of one tool span: its attributes without payloads, its errors, and facts about arguments and result."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.core.bodies import arguments_value, emptiness_of_seen, keyed_hash, parsed, see
from collector.core.emptiness import item_count
from collector.core.error_bodies import boolean, embedded_body
from collector.core.hints import category_hint
from collector.core.redaction import masked, secrets_in, suspicious
from schemas.vocabulary import ARGUMENT_EVENTS, ARGUMENT_PREFIXES, ERROR_WORDS, RESULT_EVENTS, Hit

STATUS_ERROR = 2
# Attributes that carry payloads under names of no concept of ours: conversations, schemas, whole requests.
PAYLOAD_KEY = re.compile(
    r".*[._](?:input|output|inputs|outputs|args|arguments|result|results|messages|message|prompt|completion|content|body|headers"
    r"|llm_request|llm_response|json_schema|definitions|parameters|stacktrace)(?:\.\d+)?(?:\..*)?",
    re.DOTALL,
)
KEPT_ALL_THE_SAME = frozenset({"error.message", "exception.message", "langfuse.observation.status_message", "logfire.msg"})
PAYLOAD_CONCEPTS = frozenset({"arguments", "result"})
NAME_CONCEPTS = frozenset({"tool", "server"})
FAILURE_CONCEPTS = frozenset({"is_error", "is_success", "category", "error_type"})
MOST_EVENTS = 8
MOST_REMEMBERED = 4096
# Of a result that did not fail only short texts are searched for words of failure: they matter if another view failed.
LONGEST_HINT = 2000
TRACEBACK = "Traceback (most recent call last)"


@dataclass(frozen=True, slots=True)
class EvidenceOptions:
    """Settings that evidence depends on; lengths in characters. `dispositions` remembers what is done with each attribute name."""

    lexicon: Mapping[str, Hit]
    name_length: int
    value_length: int
    body_length: int
    payloads: str
    hash_key: bytes
    dispositions: dict[str, tuple[str, int]] = field(default_factory=dict)


def disposition(key: str, options: EvidenceOptions) -> tuple[str, int]:
    """What is done with an attribute: its concept and rank, or ("kept", 0), or ("payload", 0) if it is left out."""
    hit = options.lexicon.get(key)
    if hit is not None:
        found = (hit.concept, hit.rank)
    elif key.startswith(ARGUMENT_PREFIXES):
        found = ("argument", 0)
    else:
        found = ("payload", 0) if PAYLOAD_KEY.fullmatch(key) and key not in KEPT_ALL_THE_SAME else ("kept", 0)
    # Names are few in real life; a sender of endless new ones only loses the memory's help.
    if len(options.dispositions) < MOST_REMEMBERED:
        options.dispositions[key] = found
    return found


def evidence_of(span: Span, attributes: Mapping[str, Any], tool: str, options: EvidenceOptions) -> str:
    """The JSON text that is stored for a tool span (schemas/spans.py says what it holds)."""
    kept: dict[str, Any] = {}
    evidence: dict[str, Any] = {"tool": tool, "attributes": kept}
    payloads: dict[str, tuple[int, Any]] = {}
    single: dict[str, Any] = {}
    status = span.status
    failing = status.code == STATUS_ERROR
    remembered, limit = options.dispositions, options.value_length
    shortest = min(limit, options.name_length)
    for key, value in attributes.items():
        concept, rank = remembered.get(key) or disposition(key, options)
        if concept == "payload":
            continue
        if concept == "argument":
            single[key] = value
            continue
        if concept in PAYLOAD_CONCEPTS:
            if concept not in payloads or rank < payloads[concept][0]:
                payloads[concept] = rank, value
            continue
        if concept in FAILURE_CONCEPTS:
            failing = failing or _tells_failure(concept, value)
        plainly = type(value) is str and len(value) <= shortest
        kept[key] = value if plainly else short(value, shortest if concept in NAME_CONCEPTS else limit)
    if single:
        payloads.setdefault("arguments", (len(single), {key.rpartition(".")[2]: value for key, value in single.items()}))
    events = _events(span, payloads, options) if span.events else None
    if events:
        evidence["events"] = events
        failing = True
    if status.message:
        evidence["status_message"] = short(_without_traceback(status.message), limit)
    return stored(evidence, _add_payload_facts(evidence, payloads, failing, options) if payloads else ())


def stored(evidence: dict[str, Any], learned: tuple[str, ...] = ()) -> str:
    """Evidence as it is stored: JSON text without secrets and without U+0000."""
    text = dumped(evidence)
    if learned or suspicious(text):
        evidence = masked(evidence, learned)
        text = dumped(evidence)
    return dumped(without_nul(evidence)) if "\\u0000" in text else text


def _add_payload_facts(
    evidence: dict[str, Any], payloads: Mapping[str, tuple[int, Any]], failing: bool, options: EvidenceOptions
) -> tuple[str, ...]:
    """Put the facts of arguments and result into the evidence. Returns the secrets that the arguments hold."""
    learned: tuple[str, ...] = ()
    if "arguments" in payloads:
        given = payloads["arguments"][1]
        arguments = arguments_value(given)
        evidence["arguments"] = {"hash": keyed_hash(arguments, options.hash_key), "size": _size(given)}
        if suspicious(text_of(given)):
            learned = secrets_in(arguments)
    if "result" in payloads:
        evidence["result"] = facts = result_facts(payloads["result"][1], options, failing=failing)
        failing = failing or "error" in facts
    if options.payloads == "always" or (options.payloads == "on_failure" and failing):
        evidence["payloads"] = {
            concept: short(text_of(masked(parsed(value) if isinstance(value, str) else value, learned)), options.value_length)
            for concept, (_, value) in payloads.items()
        }
    return learned


def result_facts(value: Any, options: EvidenceOptions, *, failing: bool) -> dict[str, Any]:
    """Facts about a result: size in bytes, hash, emptiness and the rule for it, items, error body, hints for a failed call.

    Keys that do not apply are left out. `failing`: the span says so, hence a text of the result is worth keeping as its message.
    """
    seen = see(value)
    emptiness, rule = emptiness_of_seen(seen)
    facts: dict[str, Any] = {"size": _size(value), "emptiness": emptiness, "rule": rule}
    if seen.visible:
        facts["hash"] = keyed_hash(seen.value, options.hash_key)
    count = item_count(seen.value)
    if count is not None:
        facts["count"] = count
    for flag in ("partial", "deferred", "denies_error"):
        if getattr(seen, flag):
            facts[flag] = True
    text = seen.value if isinstance(seen.value, str) else None
    if seen.error is not None:
        facts["error"] = {
            key: short(item, options.body_length) for key, item in asdict(seen.error).items() if item is not None and item is not False
        }
        text = seen.error.message or text
        failing = True
    elif text and "{" in text and len(text) <= LONGEST_HINT:
        body = embedded_body(text)
        if body is not None:
            facts["embedded"] = {key: short(item, options.body_length) for key, item in asdict(body).items() if item not in (None, False)}
    if text and (failing or len(text) <= LONGEST_HINT):
        hint = category_hint(text)
        if hint is not None:
            facts["hint"] = list(hint)
    if failing and text and seen.error is None:
        facts["excerpt"] = short(text, options.body_length)
    return facts


def _tells_failure(concept: str, value: Any) -> bool:
    if concept == "is_error":
        return boolean(value) is True or (isinstance(value, str) and value.casefold() in ERROR_WORDS)
    if concept == "is_success":
        return boolean(value) is False
    return concept in ("category", "error_type")


def _events(span: Span, payloads: dict[str, tuple[int, Any]], options: EvidenceOptions) -> list[dict[str, Any]]:
    """Exceptions, and (into `payloads`, weaker than any attribute) arguments and results that stand in events."""
    exceptions: list[dict[str, Any]] = []
    for event in span.events:
        if event.name in ARGUMENT_EVENTS or event.name in RESULT_EVENTS:
            concept, key = ("arguments", "content") if event.name in ARGUMENT_EVENTS else ("result", "message")
            found = next((pair.value.string_value for pair in event.attributes if pair.key == key), None)
            if found is not None and concept not in payloads:
                payloads[concept] = 1000, found
        elif event.name == "exception" and len(exceptions) < MOST_EVENTS:
            said = {pair.key: pair.value.string_value for pair in event.attributes}
            exceptions.append(
                {
                    "type": short(said.get("exception.type", ""), 256),
                    "message": short(_without_traceback(said.get("exception.message", "")), options.value_length),
                }
            )
    return exceptions


def _without_traceback(text: str) -> str:
    at = text.find(TRACEBACK)
    return text if at < 0 else text[:at].rstrip()


def short(value: Any, length: int) -> Any:
    """A value cut to `length` characters, with a marker that tells the original size; structured ones as JSON text."""
    if isinstance(value, str):
        return value if len(value) <= length else f"{value[:length]}… [cut, {len(value)} characters]"
    if isinstance(value, list | dict):
        text = dumped(value)
        return value if len(text) <= length else f"{text[:length]}… [cut, {len(text)} characters]"
    return value


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


def _size(value: Any) -> int:
    return len(value.encode()) if isinstance(value, str) else len(dumped(value))
