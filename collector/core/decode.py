"""From an OTLP request to tool spans, the tree places of other spans, and the reasons for refusing some."""

from collections.abc import Mapping
from typing import Protocol
from zlib import crc32

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.core.evidence import EvidenceOptions, Gathered, evidence_of, result_facts, stored
from collector.core.recognition import tool_keys, tool_of
from collector.core.redaction import masked
from collector.core.values import cut, plain
from collector.core.wire import attributes_in
from schemas.spans import Ancestor, Decoded, Intake, Refusal, ToolSpan
from schemas.vocabulary import ALIASES, UNKNOWN_SERVICE, lexicon

LARGEST_NS = 2**63 - 1
# 2262-01-01. Not the largest: what is counted by starts ends later than the last of them.
LATEST_START_NS = 9_214_646_400 * 10**9
STATUS_ERROR = 2
NO_TRACE, NO_SPAN = bytes(16), bytes(8)
# Which attributes tell where a non-tool span went.
PEER_KEYS = ("server.address", "peer.service", "net.peer.name", "url.full", "db.system.name", "db.system")
SAMPLES = 3


class DecodeSettings(Protocol):
    """The settings that decoding depends on (schemas/settings.py says what they mean)."""

    @property
    def name_length(self) -> int: ...
    @property
    def value_length(self) -> int: ...
    @property
    def body_length(self) -> int: ...
    @property
    def store_payloads(self) -> str: ...
    @property
    def clock_skew_s(self) -> int: ...
    @property
    def call_days(self) -> int: ...
    @property
    def aliases(self) -> Mapping[str, tuple[str, ...]]: ...


class Decoder:
    """Decodes requests under fixed settings. Holds no state between requests, so threads may share one."""

    def __init__(self, settings: DecodeSettings, hash_key: bytes) -> None:
        self._name_length = settings.name_length
        self._retention_ns = settings.call_days * 86_400 * 10**9
        self._skew_ns = settings.clock_skew_s * 10**9
        self._call_days = settings.call_days
        self._tool_keys = tool_keys(settings.aliases)
        self._options = EvidenceOptions(
            lexicon=lexicon(settings.aliases),
            name_length=settings.name_length,
            value_length=settings.value_length,
            body_length=settings.body_length,
            payloads=settings.store_payloads,
            hash_key=hash_key,
        )

    def decode(self, request: ExportTraceServiceRequest, received_ns: int) -> Decoded:
        """What a request holds. Refuses single spans, never the request; `received_ns` is the time of receipt."""
        tool_spans: list[ToolSpan] = []
        ancestors: list[Ancestor] = []
        refused: dict[tuple[str, str], list[str]] = {}
        intake: list[Intake] = []
        received = 0
        for resource_spans in request.resource_spans:
            resource = plain(resource_spans.resource.attributes)
            service = self._name(str(resource.get("service.name") or UNKNOWN_SERVICE))
            environment = self._name(str(next((resource[key] for key in ALIASES["environment"] if resource.get(key)), "")))
            for scope_spans in resource_spans.scope_spans:
                scope, version = self._name(scope_spans.scope.name), self._name(scope_spans.scope.version)
                origin = crc32(f"{service}\0{environment}\0{scope}\0{version}\0".encode())
                tools, skewed, ignored, sample = 0, 0, 0, ""
                for span in scope_spans.spans:
                    received += 1
                    reason = self._refusal(span, received_ns)
                    if reason is None:
                        try:
                            item = self._read(span, service, environment, scope, version, origin, received_ns)
                        except Exception as error:  # a mistake of this program must not cost the neighbours
                            reason = f"toolvitals could not read it ({type(error).__name__})"
                    if reason is not None:
                        refused.setdefault((reason, service), []).append(f"{span.span_id.hex()} {self._name(span.name)}")
                        continue
                    skewed += max(span.start_time_unix_nano, span.end_time_unix_nano) > received_ns + self._skew_ns
                    if isinstance(item, ToolSpan):
                        tools += 1
                        tool_spans.append(item)
                        continue
                    ignored += 1
                    sample = sample or self._name(span.name)
                    if item is not None:
                        ancestors.append(item)
                if tools or ignored:
                    intake.append(Intake(service, scope, version, tools, ignored, skewed, sample))
        refusals = tuple(Refusal(reason, service, len(spans), ", ".join(spans[:SAMPLES])) for (reason, service), spans in refused.items())
        return Decoded(received, tuple(tool_spans), tuple(ancestors), refusals, tuple(intake))

    def _read(
        self, span: Span, service: str, environment: str, scope: str, version: str, origin: int, received_ns: int
    ) -> ToolSpan | Ancestor | None:
        """What is stored of one span: evidence, or its place in the tree if it is no tool span, or nothing."""
        content = span.SerializeToString()
        gathered = Gathered(attributes_in(content), self._options)
        tool = tool_of(span.name, gathered.kept, self._tool_keys, gathered.payloads.get("arguments"))
        if tool is None:
            return self._ancestor(span, gathered, service, received_ns)
        evidence = evidence_of(span, gathered, self._name(tool), self._options)
        return ToolSpan(
            span.trace_id,
            span.span_id,
            parent_of(span),
            span.start_time_unix_nano,
            min(span.end_time_unix_nano, LARGEST_NS),
            received_ns,
            span.kind,
            span.status.code,
            self._name(span.name),
            service,
            environment,
            scope,
            version,
            evidence,
            len(content),
            crc32(content, origin),
        )

    def _refusal(self, span: Span, received_ns: int) -> str | None:
        """Why a span cannot be taken, or None."""
        trace_id, span_id = span.trace_id, span.span_id
        if len(trace_id) != 16 or trace_id == NO_TRACE:
            return "trace id is not 16 bytes, or all zeros"
        if len(span_id) != 8 or span_id == NO_SPAN:
            return "span id is not 8 bytes, or all zeros"
        start = span.start_time_unix_nano
        if not start:
            return "start time is 0"
        if start >= LATEST_START_NS:
            return "start time is beyond the year 2261"
        if start < received_ns - self._retention_ns:
            return f"older than the retention of {self._call_days} days"
        return None

    def _ancestor(self, span: Span, gathered: Gathered, service: str, received_ns: int) -> Ancestor | None:
        """The tree place of a span that is no tool span; None for a root, which nothing passes through."""
        parent = parent_of(span)
        if parent is None:
            return None
        attributes = gathered.kept
        error_type = attributes.get("error.type")
        http = attributes.get("http.response.status_code", attributes.get("http.status_code"))
        _, result = gathered.payloads.get("carried_result", (0, None))
        return Ancestor(
            span.trace_id,
            span.span_id,
            parent,
            span.start_time_unix_nano,
            min(span.end_time_unix_nano, LARGEST_NS),
            received_ns,
            service,
            self._name(span.name),
            span.status.code == STATUS_ERROR or bool(error_type),
            self._name(str(error_type)) if error_type else "",
            http if type(http) is int and 0 < http < 1000 else None,
            self._name(str(next((attributes[key] for key in PEER_KEYS if attributes.get(key)), ""))),
            None if result is None else stored(masked(result_facts(result, self._options, False))),
        )

    def _name(self, text: str) -> str:
        if "\0" in text:
            text = text.replace("\0", "\ufffd")
        return text if len(text) <= self._name_length else cut(text, self._name_length)


def parent_of(span: Span) -> bytes | None:
    """The parent's span id; some exporters write that of a root as zeros."""
    parent = span.parent_span_id
    return parent if parent and parent != NO_SPAN else None
