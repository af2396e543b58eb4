"""What is kept of one tool span: its attributes without payloads, its errors, and facts about arguments and result."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.core.bodies import arguments_value, emptiness_of_seen, keyed_hash, parsed, see
from collector.core.emptiness import item_count
from collector.core.error_bodies import ErrorBody, embedded_body, tells_failure
from collector.core.hints import category_hint
from collector.core.redaction import MASK, is_secret_key, masked, secrets_in, suspicious
from collector.core.texts import dumped, short, size_of, text_of, without_nul
from collector.core.values import value_of
from schemas.vocabulary import ARGUMENT_EVENTS, ARGUMENT_PREFIXES, RESULT_EVENTS, Hit

STATUS_ERROR = 2
# Attributes that carry payloads under names of no concept of ours: conversations, schemas, whole requests.
PAYLOAD_KEY = re.compile(
    r".*[._](?:input|output|inputs|outputs|args|arguments|result|results|messages|message|prompt|completion|content|body|headers"
    r"|llm_request|llm_response|json_schema|definitions|parameters|stacktrace)(?:\.\d+)?(?:\..*)?",
    re.DOTALL,
)
KEPT_ALL_THE_SAME = frozenset({"error.message", "exception.message", "langfuse.observation.status_message", "logfire.msg"})
PAYLOAD_CONCEPTS = frozenset({"arguments", "result", "carried_result"})
NAME_CONCEPTS = frozenset({"tool", "server"})
FAILURE_CONCEPTS = frozenset({"is_error", "is_success", "error", "category", "error_type"})
MOST_EVENTS = 8
MOST_REMEMBERED = 4096
LONGEST_REMEMBERED = 40
LONGEST_SEEN = 1024
# The rank of a payload that is put together of events or single attributes: any attribute with the whole is stronger.
WEAKEST = 1000
# Facts about a result that quote it.
TEXT_FACTS = frozenset({"error", "embedded", "excerpt"})
# Of a result that did not fail only short texts are searched for words of failure: they matter if another view failed.
LONGEST_HINT = 2000
TRACEBACK = "Traceback (most recent call last)"


@dataclass(frozen=True, slots=True)
class EvidenceOptions:
    """Settings that evidence depends on; lengths in characters.

    `dispositions` remembers what is done with each attribute name, `clean` short values that hold no secret, `usual` attributes as sent
    that are simply kept, `seen` the facts of short payloads: agents ask again and again, and failures are alike. A sender of endless
    new ones only loses the memory's help.
    """

    lexicon: Mapping[str, Hit]
    name_length: int
    value_length: int
    body_length: int
    payloads: str
    hash_key: bytes
    dispositions: dict[str, "Disposition"] = field(default_factory=dict)
    clean: set[str] = field(default_factory=set)
    usual: dict[bytes, tuple[str, str]] = field(default_factory=dict)
    seen: dict[tuple[str, bool | None], Mapping[str, Any]] = field(default_factory=dict)


FactsOf = Callable[[Any, EvidenceOptions, bool | None], Mapping[str, Any]]


class Disposition(NamedTuple):
    """What is done with an attribute, and for payloads and flags which concept it stands for, and its rank there."""

    what: int
    concept: str = ""
    rank: int = 0


KEPT, DROPPED, SECRET, NAME, FLAG, PAYLOAD, ARGUMENT = range(7)


def disposition(key: str, options: EvidenceOptions) -> Disposition:
    """What is done with an attribute of this name."""
    hit = options.lexicon.get(key)
    if hit is not None:
        concepts = ((PAYLOAD, PAYLOAD_CONCEPTS), (FLAG, FAILURE_CONCEPTS), (NAME, NAME_CONCEPTS))
        found = Disposition(next((what for what, these in concepts if hit.concept in these), KEPT), hit.concept, hit.rank)
    elif key.startswith(ARGUMENT_PREFIXES):
        found = Disposition(ARGUMENT)
    elif is_secret_key(key):
        found = Disposition(SECRET)
    else:
        found = Disposition(DROPPED if PAYLOAD_KEY.fullmatch(key) and key not in KEPT_ALL_THE_SAME else KEPT)
    if len(options.dispositions) < MOST_REMEMBERED:
        options.dispositions[key] = found
    return found


class Gathered:
    """The attributes of a span, taken up in one pass: what is `kept`, the payloads apart, whether a flag tells of a failure.

    `fresh` holds the kept texts that are not known to be clean: the search for secrets looks at no more than it must.
    """

    __slots__ = ("failing", "fresh", "kept", "payloads")

    def __init__(self, attributes: Iterable[bytes], options: EvidenceOptions) -> None:
        """`attributes` are serialised KeyValues."""
        self.kept: dict[str, Any] = {}
        self.payloads: dict[str, tuple[int, Any]] = {}
        self.fresh: list[str] = []
        self.failing = False
        kept, usual = self.kept, options.usual
        for sent in attributes:
            known = usual.get(sent)
            if known is not None:
                kept[known[0]] = known[1]
            else:
                self._meet(sent, options)

    def _meet(self, sent: bytes, options: EvidenceOptions) -> None:
        """Take up an attribute that is not known to be simply kept."""
        pair = KeyValue.FromString(sent)
        key = pair.key
        found = options.dispositions.get(key) or disposition(key, options)
        what = found.what
        if what == DROPPED:
            return
        value = pair.value.string_value or value_of(pair.value)
        if what not in (KEPT, NAME) or type(value) is not str or len(value) > min(options.value_length, options.name_length):
            self._take(key, value, found, options)
            return
        self.kept[key] = value
        if value not in options.clean:
            self.fresh.append(value)
        elif len(options.usual) < MOST_REMEMBERED:
            options.usual[sent] = key, value

    def _take(self, key: str, value: Any, found: Disposition, options: EvidenceOptions) -> None:
        """Take up an attribute that is not simply kept."""
        if found.what == PAYLOAD:
            if found.concept not in self.payloads or found.rank < self.payloads[found.concept][0]:
                self.payloads[found.concept] = found.rank, value
        elif found.what == ARGUMENT:
            _, single = self.payloads.setdefault("arguments", (WEAKEST, {}))
            if isinstance(single, dict):
                single[key.rpartition(".")[2]] = value
        elif found.what == SECRET:
            self.kept[key] = MASK
        else:
            if found.what == FLAG:
                self.failing = self.failing or tells_failure(found.concept, value)
            length = min(options.value_length, options.name_length) if found.what == NAME else options.value_length
            self.kept[key] = short(value, length)
            if isinstance(value, list | dict) or (isinstance(value, str) and value not in options.clean):
                self.fresh.append(text_of(self.kept[key]))


def evidence_of(span: Span, gathered: Gathered, tool: str, options: EvidenceOptions) -> str:
    """The JSON text that is stored for a tool span (schemas/spans.py says what it holds)."""
    kept, payloads, fresh, status = gathered.kept, gathered.payloads, gathered.fresh, span.status
    evidence: dict[str, Any] = {"tool": tool, "attributes": kept}
    failing = gathered.failing or status.code == STATUS_ERROR
    if tool not in options.clean:
        fresh.append(tool)
    events = _events(span, payloads, options) if span.events else None
    if events:
        evidence["events"] = events
        fresh.append(dumped(events))
        failing = True
    if status.message:
        evidence["status_message"] = short(_without_traceback(status.message), options.value_length)
        fresh.append(evidence["status_message"])
    learned = _add_payload_facts(evidence, payloads, failing, options) if payloads else ()
    if payloads and TEXT_FACTS & evidence.get("result", {}).keys():
        fresh.append(dumped(evidence["result"]))
    if learned or suspicious("\n".join(fresh)):
        evidence = masked(evidence, learned)
    elif len(options.clean) < MOST_REMEMBERED:
        options.clean.update(text for text in fresh if len(text) <= LONGEST_REMEMBERED)
    return stored(evidence)


def stored(evidence: dict[str, Any]) -> str:
    """Evidence as it is stored: JSON text without U+0000."""
    text = dumped(evidence)
    return dumped(without_nul(evidence)) if "\\u0000" in text else text


def _add_payload_facts(
    evidence: dict[str, Any], payloads: Mapping[str, tuple[int, Any]], failing: bool, options: EvidenceOptions
) -> tuple[str, ...]:
    """Put the facts of arguments and result into the evidence. Returns the secrets that the arguments hold."""
    learned: tuple[str, ...] = ()
    if "arguments" in payloads:
        given = payloads["arguments"][1]
        evidence["arguments"] = _remembered(given, None, argument_facts, options)
        if suspicious(text_of(given)):
            learned = secrets_in(arguments_value(given))
    result = payloads.get("result") or payloads.get("carried_result")
    if result is not None:
        evidence["result"] = facts = _remembered(result[1], failing, result_facts, options)
        failing = failing or "error" in facts
    if options.payloads == "always" or (options.payloads == "on_failure" and failing):
        evidence["payloads"] = {
            concept: short(text_of(masked(parsed(value) if isinstance(value, str) else value, learned)), options.value_length)
            for concept, (_, value) in payloads.items()
        }
    return learned


def _remembered(value: Any, failing: bool | None, facts_of: FactsOf, options: EvidenceOptions) -> Mapping[str, Any]:
    """The facts of a payload, from memory if the same short text came before. `failing` is None for arguments."""
    if type(value) is not str or len(value) > LONGEST_SEEN:
        return facts_of(value, options, failing)
    key = value, failing
    facts = options.seen.get(key)
    if facts is None:
        facts = facts_of(value, options, failing)
        if len(options.seen) >= MOST_REMEMBERED:
            options.seen.clear()
        options.seen[key] = facts
    return facts


def argument_facts(value: Any, options: EvidenceOptions, _failing: bool | None = None) -> Mapping[str, Any]:
    """Facts about arguments: keyed hash, and size in bytes."""
    return {"hash": keyed_hash(arguments_value(value), options.hash_key), "size": size_of(value)}


def result_facts(value: Any, options: EvidenceOptions, failing: bool | None) -> dict[str, Any]:
    """Facts about a result: size in bytes, hash, emptiness and the rule for it, items, error body, hints for a failed call.

    Keys that do not apply are left out. `failing`: the span says so, hence a text of the result is worth keeping as its message.
    """
    seen = see(value)
    emptiness, rule = emptiness_of_seen(seen)
    facts: dict[str, Any] = {"size": size_of(value), "emptiness": emptiness, "rule": rule}
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
        facts["error"] = _body_facts(seen.error, options)
        text = seen.error.message or text
        failing = True
    elif text and "{" in text and len(text) <= LONGEST_HINT:
        body = embedded_body(text)
        if body is not None:
            facts["embedded"] = _body_facts(body, options)
    if text and (failing or len(text) <= LONGEST_HINT):
        hint = category_hint(text)
        if hint is not None:
            facts["hint"] = list(hint)
    if failing and text and seen.error is None:
        facts["excerpt"] = short(text, options.body_length)
    return facts


def _body_facts(body: ErrorBody, options: EvidenceOptions) -> dict[str, Any]:
    """The fields of an error body that say something."""
    said = ((name, getattr(body, name)) for name in ErrorBody.__slots__)
    return {
        name: short(value, options.body_length) for name, value in said if value is not None and (value is not False or name == "retryable")
    }


def _events(span: Span, payloads: dict[str, tuple[int, Any]], options: EvidenceOptions) -> list[dict[str, Any]]:
    """Exceptions, and (into `payloads`, weaker than any attribute) arguments and results that stand in events."""
    exceptions: list[dict[str, Any]] = []
    for event in span.events:
        if event.name in ARGUMENT_EVENTS or event.name in RESULT_EVENTS:
            concept, key = ("arguments", "content") if event.name in ARGUMENT_EVENTS else ("result", "message")
            found = next((pair.value.string_value for pair in event.attributes if pair.key == key), None)
            if found is not None and concept not in payloads:
                payloads[concept] = WEAKEST, found
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
