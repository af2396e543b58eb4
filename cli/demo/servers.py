"""Three MCP servers: orders (FastMCP), docs and payments (official SDK). Each tells of its failures in another way."""

import asyncio
import time
from typing import Any

from fastmcp import FastMCP
from fastmcp.tools.base import ToolResult
from mcp.server import MCPServer
from mcp.types import CallToolResult, TextContent

from cli.demo.bodies import error_body, result, swallow_backend_failure, tag
from cli.demo.chance import Chance

SLOW_S = 2.5
TYPICAL_S = 0.08


async def _lived_through(chance: Chance, tool: str) -> str:
    """Let the call take its time, and say what became of it."""
    fate = chance.fate(tool, time.monotonic())
    await asyncio.sleep(SLOW_S if fate == "slow" else chance.seconds(TYPICAL_S))
    return fate


def orders_server(chance: Chance) -> FastMCP:
    """Orders: error results carry a JSON body; spans say only that a tool failed."""
    server = FastMCP("orders")

    async def answer(tool: str, asked: dict[str, Any], data: dict[str, Any]) -> ToolResult:
        fate = await _lived_through(chance, tool)
        if body := error_body(fate, asked):
            return ToolResult(content=body, is_error=True)
        return ToolResult(content=result(fate, data))

    @server.tool
    async def get_order(order_id: str) -> ToolResult:
        """Look up one order."""
        return await answer("get_order", {"order_id": order_id}, {"order_id": order_id, "status": "shipped", "total": "59.90"})

    @server.tool
    async def list_orders(customer_id: str, limit: int = 10) -> ToolResult:
        """List the orders of a customer."""
        found = {"orders": [{"order_id": "A-10234", "status": "shipped"}]}
        return await answer("list_orders", {"customer_id": customer_id, "limit": limit}, found)

    @server.tool
    async def update_shipping_address(order_id: str, address: str) -> ToolResult:
        """Change where an order goes, as long as it has not left."""
        asked = {"order_id": order_id, "address": address}
        return await answer("update_shipping_address", asked, {"order_id": order_id, "changed": True})

    return server


def docs_server(chance: Chance) -> MCPServer:
    """Docs: a plain server on the official SDK, which says nothing of categories; sometimes it hides a failure behind []."""
    server = MCPServer("docs")

    async def answer(tool: str, asked: dict[str, Any], data: dict[str, Any]) -> CallToolResult:
        fate = await _lived_through(chance, tool)
        if fate == "swallowed":
            swallow_backend_failure("search-index")
        return _sdk_result(fate, asked, data)

    @server.tool()
    async def search_docs(query: str) -> CallToolResult:
        """Search the manuals."""
        return await answer("search_docs", {"query": query}, {"results": [{"title": "Returns", "page": "returns"}]})

    @server.tool()
    async def fetch_page(page: str) -> CallToolResult:
        """Read one page."""
        return await answer("fetch_page", {"page": page}, {"page": page, "text": "Items can be sent back within 30 days."})

    @server.tool()
    async def list_recent_changes(days: int = 7) -> CallToolResult:
        """List pages that changed lately; most often there are none."""
        return await answer("list_recent_changes", {"days": days}, {"items": [{"page": "returns"}]})

    return server


def payments_server(chance: Chance) -> MCPServer:
    """Payments: puts category and retryability on its spans, as the helper for tool authors does."""
    server = MCPServer("payments")

    async def answer(tool: str, asked: dict[str, Any], data: dict[str, Any]) -> CallToolResult:
        fate = await _lived_through(chance, tool)
        tag(fate)
        return _sdk_result(fate, asked, data)

    @server.tool()
    async def refund_payment(payment_id: str, amount: float) -> CallToolResult:
        """Give money back."""
        asked = {"payment_id": payment_id, "amount": amount}
        return await answer("refund_payment", asked, {"refund_id": "R-771", "amount": amount})

    @server.tool()
    async def get_invoice(invoice_id: str) -> CallToolResult:
        """Read an invoice."""
        return await answer("get_invoice", {"invoice_id": invoice_id}, {"invoice_id": invoice_id, "total": "59.90"})

    @server.tool()
    async def charge_card(customer_id: str, amount: float) -> CallToolResult:
        """Charge the stored card of a customer."""
        asked = {"customer_id": customer_id, "amount": amount}
        return await answer("charge_card", asked, {"charge_id": "C-1002", "amount": amount})

    return server


def _sdk_result(fate: str, asked: dict[str, Any], data: dict[str, Any]) -> CallToolResult:
    if body := error_body(fate, asked):
        return CallToolResult(content=[TextContent(text=body)], is_error=True)
    return CallToolResult(content=[TextContent(text=result(fate, data))])
