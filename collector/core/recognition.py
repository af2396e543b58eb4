"""Which spans are tool spans, and which tool they name."""

import re
from collections.abc import Mapping
from typing import Any

import orjson

from schemas.vocabulary import ALIASES, GENERAL_KINDS, KIND_ENDINGS, TOOL_KINDS, TOOL_MARKERS, TOOLS_CALL, UNNAMED_TOOL

# Attributes that speak of another MCP method, or another operation, than a tool call.
METHOD_KEYS = ("mcp.method.name", "mcp.method", "rpc.method")
OPERATION_KEY = "gen_ai.operation.name"

# Names that no attribute needs to confirm; the group is the tool.
NAMED = re.compile(
    r"(?:tools/call|execute_tool|MCP send tools/call|MCP request: tools/call|MCP server handle request: tools/call"
    r"|running tool:) (.+)",
    re.DOTALL,
)
HANDLES_REQUEST = "MCP server handle request: tools/call"
RUNNING_TOOL = "running tool"
CLAUDE_CODE = frozenset({"claude_code.tool", "claude_code.tool.execution"})
CLAUDE_CODE_EXECUTION = "claude_code.tool.execution"
VERCEL_TOOL_CALL = "ai.toolCall"
# Google ADK closes parallel calls with a span that is no call; OpenLLMetry's transport span is evidence for its ancestor.
NEVER = frozenset({"execute_tool (merged tools)", "execute_tool (merged)", "ResponseStreamWriter"})


def tool_of(name: str, attributes: Mapping[str, Any], tool_keys: tuple[str, ...], arguments: tuple[int, Any] | None = None) -> str | None:
    """The tool that a span calls: `(unnamed)` if it names an empty one, '' if its parent span names it, None if it is no tool span.

    `attributes` are plain values; `tool_keys` the attributes that name a tool, strongest first; `arguments` the
    rank and value of the call's arguments, which are a whole request in the spans that name the method only.
    """
    if name in NEVER:
        return None
    # What most emitters send, told by two look-ups.
    if attributes.get("mcp.method.name") == TOOLS_CALL and tool_keys[0] in attributes:
        return _named(attributes[tool_keys[0]])
    kinds = {_word(value) for key, value in attributes.items() if key.endswith(KIND_ENDINGS) and isinstance(value, str)} - GENERAL_KINDS
    is_of_kind = not TOOL_KINDS.isdisjoint(kinds)
    marked = is_of_kind or _is_marked(name, attributes)
    if not marked and (kinds or isinstance(attributes.get(OPERATION_KEY), str)):
        return None
    if any(_is_another_method(attributes.get(key)) for key in METHOD_KEYS):
        return None
    by_name = named_tool(name, attributes, arguments)
    if not marked and by_name is None and name not in CLAUDE_CODE and name != RUNNING_TOOL:
        return None
    named_by = next((key for key in tool_keys if key in attributes), None)
    if named_by is not None:
        return _named(attributes[named_by])
    if by_name is not None:
        return by_name
    if name == CLAUDE_CODE_EXECUTION:
        return ""
    # Conventions of agent observability: a span of the kind bears the tool's name itself.
    if is_of_kind:
        return name.removesuffix(".tool") or UNNAMED_TOOL
    return None


def _word(value: str) -> str:
    """A word in any case; MLflow sends attributes as JSON, so in quotes."""
    return value.strip(' "').casefold()


def _is_marked(name: str, attributes: Mapping[str, Any]) -> bool:
    """Whether a span says that it is a tool call, other than by its kind."""
    if name == VERCEL_TOOL_CALL or attributes.get("ai.operationId") == VERCEL_TOOL_CALL:
        return True
    if any(isinstance(attributes.get(key), str) and _word(attributes[key]) == value for key, value in TOOL_MARKERS.items()):
        return True
    return any(isinstance(value, str) and len(value) == len(TOOLS_CALL) and value.casefold() == TOOLS_CALL for value in attributes.values())


def _is_another_method(value: Any) -> bool:
    """An MCP method other than tools/call; rpc.method of other protocols is none of ours."""
    return isinstance(value, str) and value.casefold() != TOOLS_CALL and ("/" in value or value in ("initialize", "ping"))


def named_tool(name: str, attributes: Mapping[str, Any], arguments: tuple[int, Any] | None) -> str | None:
    """The tool in the span's own name, or in the request that its name speaks of."""
    found = NAMED.fullmatch(name)
    if found:
        return found.group(1).strip() or UNNAMED_TOOL
    if name == HANDLES_REQUEST:
        return _requested_tool(arguments[1]) if arguments else None
    if name.endswith(".tool") and len(name) > 5 and any(key.startswith("traceloop.") for key in attributes):
        return name[:-5]
    return None


def _requested_tool(request: Any) -> str | None:
    if isinstance(request, str):
        try:
            request = orjson.loads(request)
        except orjson.JSONDecodeError:
            return None
    params = request.get("params") if isinstance(request, dict) else None
    name = params.get("name") if isinstance(params, dict) else None
    return (name or UNNAMED_TOOL) if isinstance(name, str) else None


def _named(value: Any) -> str:
    return (component_name(str(value)) if value is not None else "") or UNNAMED_TOOL


def component_name(named: str) -> str:
    """The bare tool name: `tool:search@1.0` is FastMCP's key of the component `search`."""
    if named.startswith("tool:"):
        return named[5:].rpartition("@")[0] or named[5:]
    return named


def tool_keys(more: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The attributes that name a tool, the user's aliases first."""
    return (*more.get("tool", ()), *ALIASES["tool"])
