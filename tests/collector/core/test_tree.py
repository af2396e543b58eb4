"""Which spans are one execution, in which layers, and which stay apart."""

from typing import Any

from tests.spans import CLIENT, INTERNAL, SERVER, agent_span, calls, request, span, tool_span
from tests.tables import sentences


def layers(*given: Any) -> list[list[str]]:
    """The layers of each call's views, calls in order of start."""
    return [[view.layer for view in call.views] for call in calls(*given)]


def by_scope(given: Any, scope: str, service: str = "agent") -> Any:
    return request(given, service=service, scope=scope)


@sentences(
    "given, expected",
    {
        # Roles.
        "a span of kind CLIENT is a client": ([tool_span(kind=CLIENT)], [["client"]]),
        "a span of kind PRODUCER is a client": ([tool_span(kind=4)], [["client"]]),
        "a span of kind SERVER is a server": ([tool_span(kind=SERVER)], [["server"]]),
        "a span of kind CONSUMER is a server": ([tool_span(kind=5)], [["server"]]),
        "a span of kind INTERNAL is the agent's": ([agent_span()], [["agent"]]),
        "MCP send is a client, whatever its kind": ([span("MCP send tools/call x", kind=INTERNAL)], [["client"]]),
        "MCP request is a client, whatever its kind": ([span("MCP request: tools/call x", kind=INTERNAL)], [["client"]]),
        "MCP server handle request is a server, whatever its kind": (
            [span("MCP server handle request: tools/call", attributes={"request": {"params": {"name": "x"}}})],
            [["server"]],
        ),
        "an INTERNAL span below one of another service is a server": (
            [by_scope(agent_span(), "a"), by_scope(agent_span(number=2, parent=1), "b", "docs-mcp")],
            [["agent", "server"]],
        ),
        "an INTERNAL span below a CLIENT of another service is a server": (
            [by_scope(tool_span(kind=CLIENT), "a"), by_scope(agent_span(number=2, parent=1), "b", "docs-mcp")],
            [["client", "server"]],
        ),
        "an INTERNAL span of another service below a server is an agent of its own": (
            [by_scope(tool_span(), "a", "docs-mcp"), by_scope(agent_span(number=2, parent=1), "b", "other")],
            [["server"], ["agent"]],
        ),
        # One execution.
        "agent, client and server are one call": (
            [
                by_scope(agent_span(), "agents"),
                by_scope(tool_span(number=2, parent=1, kind=CLIENT), "mcp"),
                by_scope(tool_span(number=3, parent=2), "mcp", "docs-mcp"),
            ],
            [["agent", "client", "server"]],
        ),
        "two agent spans of two scopes are one call": (
            [by_scope(agent_span(), "agents"), by_scope(agent_span(number=2, parent=1), "framework")],
            [["agent", "agent"]],
        ),
        "two agent spans of two versions of a scope are one call": (
            [request(agent_span(), version="1"), request(agent_span(number=2, parent=1), version="2")],
            [["agent", "agent"]],
        ),
        "a framework's client and the SDK's are one call": (
            [
                by_scope(tool_span(kind=CLIENT), "fastmcp"),
                by_scope(span("MCP send tools/call search_docs", 2, parent=1, kind=CLIENT), "mcp"),
                by_scope(tool_span(number=3, parent=2), "mcp", "docs-mcp"),
            ],
            [["client", "client", "server"]],
        ),
        "all four are one call": (
            [
                by_scope(agent_span(), "agents"),
                by_scope(tool_span(number=2, parent=1, kind=CLIENT), "fastmcp"),
                by_scope(span("MCP send tools/call search_docs", 3, parent=2, kind=CLIENT), "mcp"),
                by_scope(tool_span(number=4, parent=3), "mcp", "docs-mcp"),
            ],
            [["agent", "client", "client", "server"]],
        ),
        "logfire's request and handling are one call": (
            [
                by_scope(span("MCP request: tools/call x", kind=CLIENT), "logfire"),
                by_scope(
                    span("MCP server handle request: tools/call", 2, parent=1, attributes={"request": '{"params": {"name": "x"}}'}),
                    "logfire",
                    "docs-mcp",
                ),
            ],
            [["client", "server"]],
        ),
        "Claude Code's tool and its execution are one call": (
            [span("claude_code.tool", attributes={"tool_name": "Bash"}), span("claude_code.tool.execution", 2, parent=1)],
            [["agent", "agent"]],
        ),
        # Non-tool spans between.
        "folding passes through spans that are no tool spans": (
            [
                by_scope(tool_span(kind=CLIENT), "a"),
                by_scope(span("POST /mcp", 2, parent=1, kind=CLIENT), "http"),
                by_scope(span("POST /mcp", 3, parent=2, kind=SERVER), "http", "docs-mcp"),
                by_scope(tool_span(number=4, parent=3), "a", "docs-mcp"),
            ],
            [["client", "server"]],
        ),
        # Calls that stay apart.
        "a tool that calls a tool of the same name": (
            [tool_span(), tool_span(number=2, parent=1)],
            [["server"], ["server"]],
        ),
        "siblings": ([tool_span(parent=9), tool_span(number=2, parent=9)], [["server"], ["server"]]),
        "parallel calls below one agent span": (
            [
                by_scope(agent_span("plan"), "a"),
                by_scope(tool_span(number=2, parent=1, kind=CLIENT), "b"),
                by_scope(tool_span(number=3, parent=1, kind=CLIENT), "b"),
            ],
            [["agent"], ["client"], ["client"]],
        ),
        "spans of two tools": ([agent_span("plan"), tool_span(number=2, parent=1)], [["agent"], ["server"]]),
        "a second server below one client": (
            [tool_span(kind=CLIENT), tool_span(number=2, parent=1), tool_span(number=3, parent=1, start=1)],
            [["client", "server"], ["server"]],
        ),
        "agent spans of one scope, such as a recursion": (
            [agent_span(), agent_span(number=2, parent=1, start=0.01)],
            [["agent"], ["agent"]],
        ),
        "a client below a server": ([tool_span(), tool_span(number=2, parent=1, kind=CLIENT)], [["server"], ["client"]]),
        "an agent below a client": (
            [by_scope(tool_span(kind=CLIENT), "a"), by_scope(agent_span(number=2, parent=1), "b")],
            [["client"], ["agent"]],
        ),
        "spans without a link, as Vercel's client and its server": (
            [
                by_scope(span("ai.toolCall", attributes={"ai.toolCall.name": "search_docs"}), "ai"),
                by_scope(tool_span(number=2, start=0.1), "mcp", "docs-mcp"),
            ],
            [["agent"], ["server"]],
        ),
        # Trees that are none.
        "a child whose parent never comes is a call": ([tool_span(parent=77)], [["server"]]),
        "a span that is its own parent is a call": ([tool_span(number=1, parent=1)], [["server"]]),
        "two spans that name each other as parents": (
            [tool_span(number=1, parent=2, kind=CLIENT), tool_span(number=2, parent=1, start=0.1)],
            [["client", "server"]],
        ),
        "places that name each other as parents lead nowhere": (
            [tool_span(number=1, parent=2), span("a", 2, parent=3), span("b", 3, parent=2)],
            [["server"]],
        ),
    },
)
def test_executions(given: list[Any], expected: list[list[str]]) -> None:
    assert layers(*given) == expected


def test_an_execution_span_whose_parent_never_comes_is_unnamed() -> None:
    [call] = calls(span("claude_code.tool.execution", parent=7))
    assert call.tool == "(unnamed)"


def test_claude_codes_execution_has_the_tool_of_its_parent() -> None:
    [call] = calls(span("claude_code.tool", attributes={"tool_name": "Bash"}), span("claude_code.tool.execution", 2, parent=1))
    assert [view.name for view in call.views] == ["claude_code.tool", "claude_code.tool.execution"]
    assert call.tool == "Bash"


def test_of_several_fitting_children_the_outermost_layer_folds_then_the_earliest() -> None:
    given = [
        by_scope(agent_span(), "a"),
        by_scope(tool_span(number=2, parent=1, start=0.1), "b", "docs-mcp"),
        by_scope(tool_span(number=3, parent=1, start=0.3, kind=CLIENT), "b"),
        by_scope(tool_span(number=4, parent=1, start=0.2, kind=CLIENT), "b"),
    ]
    assert [[int.from_bytes(view.span_id, "big") for view in call.views] for call in calls(*given)] == [[1, 4], [2], [3]]


def test_a_deep_trace_is_no_trouble() -> None:
    given = [agent_span(number=1), *(agent_span(number=number, parent=number - 1, start=number / 1000) for number in range(2, 3000))]
    assert len(calls(*given)) == 2999


def test_a_deep_circle_is_no_trouble() -> None:
    given = [tool_span(number=number, parent=number % 1500 + 1) for number in range(1, 1501)]
    assert len(calls(*given)) == 1500
