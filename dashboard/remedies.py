"""What to do so that calls can be understood: one line for each instrumentation and each thing that it leaves open. Pure."""

from collections.abc import Mapping

# By the beginning of the scope's name: how it is told to record results. The first that fits counts.
_RESULTS: Mapping[str, str] = {
    "mcp-python-sdk": "This SDK records no results: set toolvitals.result.count on the current span in the tool.",
    "fastmcp": "FastMCP records no results: set toolvitals.result.count on the current span in the tool.",
    "opentelemetry.instrumentation.mcp": "Let OpenLLMetry record content: TRACELOOP_TRACE_CONTENT=true.",
    "opentelemetry.instrumentation.": "Let it record content: OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true.",
    "openinference.": "Let OpenInference record outputs: leave OPENINFERENCE_HIDE_OUTPUTS unset.",
    "pydantic-ai": "Let Pydantic AI record content: InstrumentationSettings(include_content=True).",
    "gcp.vertex.agent": "Let Google ADK record content: ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=true.",
    "agent_framework": "Let Microsoft Agent Framework record content: ENABLE_SENSITIVE_DATA=true.",
}
_ANY_RESULT = "Record results, or set toolvitals.result.count on the span."
_FAILURES = "Declare it: toolvitals.error.category on the span, or errorCategory and isRetryable in the error body."
SERVICE_NAME = "Set OTEL_SERVICE_NAME (or the resource attribute service.name) where these spans are made."


def unknown_content(scope: str) -> str:
    """How to let it be known whether successes held data."""
    return next((line for start, line in _RESULTS.items() if scope.startswith(start)), _ANY_RESULT)


def unclassified(scope: str) -> str:
    """How to let the category of failures be known."""
    if scope.startswith(("mcp-python-sdk", "fastmcp")):
        return f"This SDK calls every failure tool_error. {_FAILURES}"
    return _FAILURES
