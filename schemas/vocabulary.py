"""Names on the wire: span attributes with their aliases (of each concept the first present wins), and words."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

# Concept -> attribute names, strongest first: the OpenTelemetry conventions for GenAI and MCP, and what emitters send.
ALIASES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        # The tool that is called.
        "tool": (
            "gen_ai.tool.name",
            "mcp.tool.name",
            "tool.name",
            "tool_name",
            "traceloop.entity.name",
            "spring.ai.tool.definition.name",
            "ai.toolCall.name",
            "fastmcp.component.key",
        ),
        # The MCP server that owns the tool.
        "server": ("mcp.server.name", "fastmcp.server.name", "litellm.mcp.server.name", "mcp_server_name"),
        # Where the server listens: a name for it if there is none.
        "server_address": ("server.address",),
        # The conversation of an agent.
        "conversation": (
            "gen_ai.conversation.id",
            "session.id",
            "langfuse.session.id",
            "traceloop.association.properties.session_id",
            "ai.telemetry.metadata.sessionId",
            "gen_ai.session.id",
            "lmnr.association.properties.session_id",
            "mlflow.trace.session",
            "langsmith.metadata.thread_id",
        ),
        # The transport session: some servers make a new one for each request, so it is evidence, not a key.
        "mcp_session": ("mcp.session.id",),
        "request_id": ("jsonrpc.request.id", "mcp.request.id", "rpc.jsonrpc.request_id"),
        # The id that the model gave to this tool call.
        "tool_call_id": (
            "gen_ai.tool.call.id",
            "tool_use_id",
            "tool_call.id",
            "ai.toolCall.id",
            "spring.ai.tool.call.id",
        ),
        "arguments": (
            "gen_ai.tool.call.arguments",
            "traceloop.entity.input",
            "input.value",
            "ai.toolCall.args",
            "tool_arguments",
            "gcp.vertex.agent.tool_call_args",
            "gen_ai.prompt",
            "langfuse.observation.input",
            "request",
            "spring.ai.tool.call.arguments",
            "mcp.tool.arguments",
            "gen_ai.tool.arguments",
            "gen_ai.tool.input",
            "tool.arguments",
            "tool.input",
            "mcp.tool.input",
            "lmnr.span.input",
            "mlflow.spanInputs",
        ),
        "result": (
            "gen_ai.tool.call.result",
            "traceloop.entity.output",
            "output.value",
            "ai.toolCall.result",
            "tool_response",
            "gcp.vertex.agent.tool_response",
            "gen_ai.completion",
            "langfuse.observation.output",
            "response",
            "mcp.tool.result.content",
            "spring.ai.tool.call.result",
            "mcp.tool.result",
            "gen_ai.tool.result",
            "gen_ai.tool.output",
            "tool.result",
            "tool.output",
            "mcp.tool.output",
            "lmnr.span.output",
            "mlflow.spanOutputs",
        ),
        # A tool's result on a span that is no tool span: evidence for the nearest tool span above.
        "carried_result": ("mcp.response.value",),
        # True, "true", or one of ERROR_WORDS.
        "is_error": (
            "isError",
            "is_error",
            "mcp.tool.result.is_error",
            "mcp.is_error",
            "gen_ai.tool.status",
            "tool.status",
            "langfuse.observation.level",
            "mcp.result.is_error",
            "mcp.tool.is_error",
            "mcp.tool.status",
            "gen_ai.tool.is_error",
            "tool.result.is_error",
            "tool.is_error",
        ),
        # The opposite: false, "false".
        "is_success": ("success", "mcp.tool.success", "mcp.success", "gen_ai.tool.success", "tool.success"),
        # True, or what went wrong.
        "error": ("mcp.tool.error", "gen_ai.tool.error", "tool.error"),
        "category": (
            "toolvitals.error.category",
            "errorCategory",
            "error_category",
            "error.category",
            "mcp.tool.error_category",
            "mcp.tool.error.category",
            "mcp.error.category",
            "mcp.failure.category",
            "gen_ai.tool.error.category",
            "gen_ai.error.category",
            "tool.error.category",
            "tool.error_category",
        ),
        "retryable": (
            "toolvitals.error.retryable",
            "isRetryable",
            "is_retryable",
            "retryable",
            "retriable",
            "isRetriable",
            "error.retryable",
            "mcp.tool.error.retryable",
            "mcp.error.retryable",
            "gen_ai.tool.error.retryable",
            "tool.error.retryable",
        ),
        "retry_after_ms": ("toolvitals.error.retry_after_ms", "retry_after_ms", "retryAfterMs"),
        "result_count": ("toolvitals.result.count", "resultCount", "result_count", "mcp.tool.result.count"),
        # Content blocks: 0 means empty, more says nothing about the data.
        "content_count": ("mcp.tool.result.content_count",),
        "result_empty": ("toolvitals.result.empty", "resultEmpty", "result_empty"),
        "result_type": ("mcp.result.type", "resultType", "result_type"),
        # 1 is the first attempt.
        "attempt": ("toolvitals.call.attempt", "retry.attempt", "gen_ai.tool.call.attempt"),
        # k is the k-th failure that caused a retry: attempt k + 1 follows.
        "retry_number": ("pydantic_ai.tool.retry.attempt",),
        # Span id (hex) of the earlier attempt.
        "retry_of": ("toolvitals.call.retry_of", "retry.of"),
        "error_type": (
            "error.type",
            "mcp.tool.error_type",
            "mcp.tool.error.type",
            "mcp.error.type",
            "gen_ai.tool.error.type",
            "tool.error.type",
        ),
        "jsonrpc_code": (
            "rpc.response.status_code",
            "rpc.jsonrpc.error_code",
            "jsonrpc.error.code",
            "mcp.error.code",
            "mcp.tool.error.code",
        ),
        "http_status": ("http.response.status_code", "http.status_code"),
        "error_message": (
            "toolvitals.error.message",
            "error.message",
            "langfuse.observation.status_message",
            "mcp.tool.error.message",
            "mcp.tool.error_message",
            "mcp.error.message",
            "gen_ai.tool.error.message",
            "gen_ai.tool.error_message",
            "tool.error.message",
            "tool.error_message",
        ),
        "exception_type": ("exception.type",),
        "exception_message": ("exception.message",),
        "environment": ("deployment.environment.name", "deployment.environment"),
    }
)

# Attributes that carry one argument each, named after the prefix.
ARGUMENT_PREFIXES = ("mcp.request.argument.", "mcp.tool.argument.", "gen_ai.tool.call.arguments.")

# Span events that carry arguments and results instead of attributes.
ARGUMENT_EVENTS = ("gen_ai.tool.message",)
RESULT_EVENTS = ("gen_ai.choice",)

# The MCP method of a tool call; an attribute of any name that says it makes a span a tool span, if it also names a tool.
TOOLS_CALL = "tools/call"

# Attribute -> the value (any case) that makes a span a tool span, if it also names a tool.
TOOL_MARKERS: Mapping[str, str] = MappingProxyType(
    {
        "gen_ai.operation.name": "execute_tool",
        "spring.ai.kind": "tool_call",
        "operation.name": "ai.toolcall",
        "sentry.op": "mcp.server",
    }
)

# How the conventions of agent observability end the name of the attribute that says what a span is (`traceloop.span.kind`), and
# the values that say a tool span.
KIND_ENDINGS = (".span.kind", ".span.type", ".spanKind", ".spanType", ".span_kind", ".span_type", ".observation.type")
TOOL_KINDS = frozenset({"tool", "tool_call", "mcp_tool_call", "execute_tool"})
# Values that every span may have: OpenTelemetry's kinds, and what backends tell from logs. They do not say that it is no tool span.
GENERAL_KINDS = frozenset({"", "span", "pending_span", "unspecified", "internal", "server", "client", "producer", "consumer", "unknown"})

# Values of status-like attributes that say "failed", and of error.type that say "did not fail".
ERROR_WORDS = frozenset({"error", "failed", "failure"})
SUCCESS_WORDS = frozenset({"", "ok", "success", "none", "null", "false", "_none"})

CANCELLED_WORDS = frozenset({"cancelled", "canceled", "cancellederror", "cancelederror", "aborterror", "asyncio.cancellederror", "-32800"})

# Category words as emitters spell them, trimmed and case-folded.
CATEGORY_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "transient": "transient",
        "rate_limit": "transient",
        "timeout": "transient",
        "unavailable": "transient",
        "network": "transient",
        "dependency": "transient",
        "validation": "validation",
        "invalid_argument": "validation",
        "bad_request": "validation",
        "not_found": "validation",
        "input": "validation",
        "permission": "permission",
        "auth": "permission",
        "authentication": "permission",
        "authorization": "permission",
        "forbidden": "permission",
        "permission_denied": "permission",
        "business": "business",
        "policy": "business",
        "business_rule": "business",
        "conflict": "business",
        "precondition": "business",
        "unclassified": "unclassified",
    }
)

# Rules that are right nearly always, and that a setting can switch off.
RISKY_RULES = ("exception_event", "error_key", "timeout_word")

UNNAMED_TOOL = "(unnamed)"
UNKNOWN_SERVICE = "unknown_service"


class Hit(NamedTuple):
    """Which concept an attribute name stands for, and its place among the aliases (0 is the strongest)."""

    concept: str
    rank: int


def lexicon(more: Mapping[str, tuple[str, ...]]) -> dict[str, Hit]:
    """Attribute name -> concept and rank, the user's aliases before the built-in ones. Raises ValueError for an unknown concept."""
    unknown = sorted(set(more) - set(ALIASES))
    if unknown:
        raise ValueError(f"aliases: no concept named {', '.join(unknown)}; known are {', '.join(ALIASES)}")
    # The user's names first: they may take a name away from the concept that it has by default.
    hits = {name: Hit(concept, rank) for concept, names in more.items() for rank, name in enumerate(names)}
    for concept, names in ALIASES.items():
        for rank, name in enumerate(names, start=len(more.get(concept, ()))):
            hits.setdefault(name, Hit(concept, rank))
    return hits
