"""Which spans are tool spans, and which tool they name."""

from typing import Any

import orjson

from tests.spans import decoded, span
from tests.tables import sentences

NAMED = {"gen_ai.tool.name": "search"}


def tool_of(name: str, attributes: dict[str, Any], **settings: Any) -> str | None:
    """The tool that a span calls, None if it is no tool span."""
    for found in decoded(span(name, attributes=attributes), **settings).tool_spans:
        return str(orjson.loads(found.evidence)["tool"])
    return None


@sentences(
    "name, attributes, tool",
    {
        # Each mark, in the spelling of its convention, beside an attribute that names the tool.
        "the MCP method tools/call marks a tool span": ("x", {"mcp.method.name": "tools/call", **NAMED}, "search"),
        "the operation execute_tool marks one": ("x", {"gen_ai.operation.name": "execute_tool", **NAMED}, "search"),
        "OpenInference's kind TOOL marks one": ("x", {"openinference.span.kind": "TOOL", "tool.name": "search"}, "search"),
        "OpenLLMetry's kind tool marks one": ("x", {"traceloop.span.kind": "tool", "traceloop.entity.name": "search"}, "search"),
        "LangSmith's kind tool marks one": ("x", {"langsmith.span.kind": "tool", **NAMED}, "search"),
        "Langfuse's observation type tool marks one": ("x", {"langfuse.observation.type": "tool", **NAMED}, "search"),
        "the RPC method tools/call marks one": ("x", {"rpc.method": "tools/call", **NAMED}, "search"),
        "tools/call marks one in an attribute of any name": ("x", {"acme.request.method": "Tools/Call", **NAMED}, "search"),
        **{
            f"the kind {kind} of any convention marks one ({key})": ("x", {key: kind, **NAMED}, "search")
            for key, kind in {
                "acme.span.kind": "TOOL",
                "acme.span.type": "mcp_tool_call",
                "acme.spanKind": "Tool_Call",
                "acme.spanType": '"TOOL"',
                "acme.span_kind": "execute_tool",
                "acme.span_type": "tool",
                "acme.observation.type": "tool",
            }.items()
        },
        **{
            f"the kind {kind} that any span may have does not unmake one": (
                "MCP server handle request: tools/call",
                {"acme.span_type": kind, "request": '{"params": {"name": "search"}}'},
                "search",
            )
            for kind in ("span", "pending_span", "SERVER", "internal")
        },
        "the name of a span of such a kind is its tool": ("search", {"acme.span.type": "TOOL"}, "search"),
        "a second convention's kind beside it does not matter": (
            "search",
            {"acme.span.kind": "internal", "other.span.kind": "tool"},
            "search",
        ),
        "Spring AI's kind tool_call marks one": (
            "x",
            {"spring.ai.kind": "tool_call", "spring.ai.tool.definition.name": "search"},
            "search",
        ),
        "Sentry's operation mcp.server marks one": ("x", {"sentry.op": "mcp.server", "mcp.tool.name": "search"}, "search"),
        "Vercel's operation id marks one": ("x", {"ai.operationId": "ai.toolCall", "ai.toolCall.name": "search"}, "search"),
        "Vercel's span name marks one": ("ai.toolCall", {"ai.toolCall.name": "search"}, "search"),
        "Claude Code's tool span is one": ("claude_code.tool", {"tool_name": "Bash"}, "Bash"),
        "Claude Code's execution span takes its tool from its parent": ("claude_code.tool.execution", {}, ""),
        "Claude Code's execution span may name its tool": ("claude_code.tool.execution", {"tool_name": "Bash"}, "Bash"),
        "a span named running tool is one if an attribute names the tool": ("running tool", NAMED, "search"),
        # No attribute: the name speaks for itself.
        "a name of the form tools/call X": ("tools/call search", {}, "search"),
        "a name of the form execute_tool X": ("execute_tool search", {}, "search"),
        "a name of the form MCP send tools/call X": ("MCP send tools/call search", {}, "search"),
        "a name of the form MCP request: tools/call X": ("MCP request: tools/call search", {}, "search"),
        "a name of the form running tool: X": ("running tool: search", {}, "search"),
        "a server's handling names the tool in the request as text": (
            "MCP server handle request: tools/call",
            {"request": '{"method": "tools/call", "params": {"name": "search"}}'},
            "search",
        ),
        "a server's handling names the tool in the request as a map": (
            "MCP server handle request: tools/call",
            {"request": {"params": {"name": "search"}}},
            "search",
        ),
        "a server's handling may name an empty tool": (
            "MCP server handle request: tools/call",
            {"request": '{"params": {"name": ""}}'},
            "(unnamed)",
        ),
        "X.tool with OpenLLMetry's attributes": ("search.tool", {"traceloop.workflow.name": "w"}, "search"),
        "the name of a marked OpenLLMetry span is its tool": ("search.tool", {"traceloop.span.kind": "tool"}, "search"),
        "the name of a marked OpenInference span is its tool": ("search", {"openinference.span.kind": "TOOL"}, "search"),
        # Which name.
        "an empty name is (unnamed)": ("x", {"mcp.method.name": "tools/call", "gen_ai.tool.name": ""}, "(unnamed)"),
        "an attribute without a value is (unnamed)": ("x", {"mcp.method.name": "tools/call", "gen_ai.tool.name": None}, "(unnamed)"),
        "a weaker attribute without a value is (unnamed) too": ("x", {"rpc.method": "tools/call", "tool.name": None}, "(unnamed)"),
        "the strongest name that is present wins": (
            "tools/call weak",
            {"mcp.method.name": "tools/call", "tool_name": "weaker", "gen_ai.tool.name": "strong"},
            "strong",
        ),
        "an attribute beats the span's name": ("tools/call weak", {"mcp.method.name": "tools/call", "tool_name": "strong"}, "strong"),
        "FastMCP's component key is stripped": ("tools/call x", {"fastmcp.component.key": "tool:search@"}, "search"),
        "FastMCP's component key may carry a version": ("tools/call x", {"fastmcp.component.key": "tool:search@1.0"}, "search"),
        "FastMCP's component key may lack the version": ("tools/call x", {"fastmcp.component.key": "tool:search"}, "search"),
        "a name may hold anything": ("tools/call ../../etc/passwd\n\u202e", {}, "../../etc/passwd\n\u202e"),
        "an RPC of another protocol is no other MCP method": ("tools/call search", {"rpc.method": "Search"}, "search"),
    },
)
def test_a_tool_span(name: str, attributes: dict[str, Any], tool: str) -> None:
    assert tool_of(name, attributes) == tool


@sentences(
    "name, attributes",
    {
        "the outer HTTP span names no tool": ("POST /mcp", {"mcp.method.name": "tools/call", "http.response.status_code": 200}),
        "tools/list": ("tools/list", {"mcp.method.name": "tools/list"}),
        "initialize": ("initialize", {"mcp.method.name": "initialize", **NAMED}),
        "resources/read": ("resources/read", {"mcp.method.name": "resources/read", **NAMED}),
        "another MCP method by the name rpc.method": ("x", {"rpc.method": "prompts/get", **NAMED}),
        "another MCP method by the name mcp.method": ("tools/call x", {"mcp.method": "tools/list"}),
        "an MCP ping": ("x", {"rpc.method": "ping", "gen_ai.operation.name": "execute_tool", **NAMED}),
        "a cancel notification carries neither link nor id": (
            "notifications/cancelled",
            {"mcp.method.name": "notifications/cancelled", **NAMED},
        ),
        "Google ADK's merged span": (
            "execute_tool (merged tools)",
            {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "(merged tools)"},
        ),
        "Google ADK's merged span of newer versions": ("execute_tool (merged)", {"gen_ai.operation.name": "execute_tool"}),
        "OpenLLMetry's ResponseStreamWriter": ("ResponseStreamWriter", {"traceloop.span.kind": "tool", **NAMED}),
        "a mark without any name": ("something", {"gen_ai.operation.name": "execute_tool"}),
        "a name without any mark": ("something", NAMED),
        "a chat span that names a tool": ("chat gpt", {"gen_ai.operation.name": "chat", **NAMED}),
        "a span that says it is a chain, whatever its name": ("execute_tool x", {"openinference.span.kind": "CHAIN"}),
        **{
            f"a span of another kind ({kind}) that names a tool": ("execute_tool x", {"acme.span.type": kind, **NAMED})
            for kind in ("LLM", "tools", "toolkit", '"AGENT"', "mcp_server")
        },
        "a kind that is a number": ("x", {"acme.span.kind": 3, **NAMED}),
        "the bare names span.kind and type are OpenTracing's and anybody's": ("x", {"span.kind": "tool", "type": "tool", **NAMED}),
        "another MCP method beside a kind": ("x", {"acme.span.type": "tool", "mcp.method.name": "tools/list", **NAMED}),
        "tools/call in an attribute of a span without a tool": ("POST /mcp", {"acme.request.method": "tools/call"}),
        "text in which tools/call stands": ("x", {"acme.note": "a tools/call of somebody", **NAMED}),
        "running tool without a name": ("running tool", {}),
        "X.tool without OpenLLMetry's attributes": ("search.tool", {}),
        "a server's handling whose request is cut": ("MCP server handle request: tools/call", {"request": '{"params": {"na'}),
        "a server's handling without a request": ("MCP server handle request: tools/call", {}),
        "a server's handling of something else": (
            "MCP server handle request: tools/list",
            {"request": '{"params": {"name": "search"}}'},
        ),
        "Vercel's span without a name": ("ai.toolCall", {}),
        "an application's own span": ("GET /orders", {"http.response.status_code": 503}),
    },
)
def test_no_tool_span(name: str, attributes: dict[str, Any]) -> None:
    assert tool_of(name, attributes) is None


def test_a_span_that_is_no_tool_span_is_ignored_not_refused() -> None:
    found = decoded(span("GET /orders"))
    assert (found.received, found.tool_spans, found.refusals) == (1, (), ())
    assert [(one.tool_spans, one.ignored_spans, one.ignored_sample) for one in found.intake] == [(0, 1, "GET /orders")]


def test_a_users_alias_names_the_tool_before_the_built_in_ones() -> None:
    attributes = {"acme.tool": "ours", "gen_ai.tool.name": "theirs", "rpc.method": "tools/call"}
    assert tool_of("x", attributes, aliases={"tool": ("acme.tool",)}) == "ours"
