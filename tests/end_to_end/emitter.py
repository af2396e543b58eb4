"""A process of known truth: real MCP servers and clients make a known set of calls, real exporters send their spans.

    emitter.py OTLP_HTTP_URL OTLP_GRPC_TARGET

FastMCP's server and client export over HTTP, the official SDK's over gRPC.
"""

import asyncio
import json
import random
import sys
from typing import Any

import fastmcp
import mcp
from fastmcp import FastMCP
from fastmcp.tools.base import ToolResult
from mcp.server import MCPServer
from mcp.types import CallToolResult, TextContent
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter

from cli.demo.agents import fastmcp_caller, sdk_caller
from cli.demo.calling import Agent, Caller, Policy
from cli.demo.hosting import hosted
from cli.demo.telemetry import Services, acting_as, http_exporter

ONCE = Policy(attempts=1, first_pause_s=0, growth=1, respects_retryable=True, records_content=True)
TERSE = Policy(attempts=1, first_pause_s=0, growth=1, respects_retryable=True, records_content=False)
REFUSAL = json.dumps({"isError": True, "errorCategory": "business", "isRetryable": False, "description": "Too late."})

ORDERS = FastMCP("orders")
DOCS = MCPServer("docs")


@ORDERS.tool
async def get_order(order_id: str) -> ToolResult:
    """Answers with data."""
    return ToolResult(content=json.dumps({"order_id": order_id, "status": "shipped"}))


@ORDERS.tool
async def list_orders(customer_id: str) -> ToolResult:
    """Finds nothing."""
    return ToolResult(content="[]")


@ORDERS.tool
async def cancel_order(order_id: str) -> ToolResult:
    """Refuses, and says why."""
    return ToolResult(content=REFUSAL, is_error=True)


@DOCS.tool()
async def search_docs(query: str) -> CallToolResult:
    """Answers with data that no span shows."""
    return CallToolResult(content=[TextContent(text=f"about {query}")])


@DOCS.tool()
async def fetch_page(page: str) -> CallToolResult:
    """Breaks."""
    raise RuntimeError("Operation failed")


@DOCS.tool()
async def export_all() -> CallToolResult:
    """Takes longer than anybody waits."""
    await asyncio.sleep(600)
    return CallToolResult(content=[TextContent(text="done")])


# The others may take as long as a loaded machine does.
PATIENCE_S = 60.0

# Tool -> arguments and how often it is called: 3 + 2 + 2 + 3 + 1 + 1 = 12 calls.
ORDER_CALLS = (
    ("get_order", {"order_id": "A-1"}, 3),
    ("list_orders", {"customer_id": "K-1"}, 2),
    ("cancel_order", {"order_id": "A-1"}, 2),
)
DOC_CALLS = (("search_docs", {"query": "returns"}, 3), ("fetch_page", {"page": "returns"}, 1), ("export_all", {}, 1))


def patient(call: Caller) -> Caller:
    """Waits for every tool but the one that must not be waited for."""

    async def wait(tool: str, arguments: dict[str, Any], timeout_s: float) -> tuple[str, bool]:
        return await call(tool, arguments, timeout_s if tool == "export_all" else PATIENCE_S)

    return wait


async def _talk(service: str, call: Caller, policy: Policy, calls: tuple[tuple[str, dict[str, str], int], ...]) -> None:
    with acting_as(service):
        agent = Agent(patient(call), policy, f"{service}-1", random.Random(1))
        for tool, arguments, times in calls:
            for _ in range(times):
                await agent.use(tool, arguments)


async def _run(orders: str, docs: str) -> None:
    async with fastmcp.Client(orders) as client:
        await _talk("support-agent", fastmcp_caller(client), ONCE, ORDER_CALLS)
    async with mcp.Client(docs) as client:
        await _talk("research-agent", sdk_caller(client), TERSE, DOC_CALLS)


def main(http: str, grpc: str) -> None:
    """Make the calls, send every span, and end."""
    over_grpc = {service: GrpcExporter(endpoint=grpc, insecure=True) for service in ("docs-mcp", "research-agent")}
    services = Services({"orders-mcp": http_exporter(http), "support-agent": http_exporter(http), **over_grpc})
    trace.set_tracer_provider(services)
    orders_app = ORDERS.http_app(json_response=True, stateless_http=True)
    docs_app = DOCS.streamable_http_app(json_response=True, stateless_http=True)
    with hosted(orders_app, "orders-mcp") as orders, hosted(docs_app, "docs-mcp") as docs:
        asyncio.run(_run(orders, docs))
    services.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
