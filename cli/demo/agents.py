"""Agents that never tire: support (FastMCP client, patient), research and triage (official client), billing (retries hot)."""

import asyncio
import random
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import fastmcp
import mcp
from opentelemetry import trace

from cli.demo.calling import BILLING, RESEARCH, SUPPORT, TRIAGE, Agent, Caller, Policy

Story = Callable[[Agent, random.Random], Awaitable[None]]


def fastmcp_caller(client: Any) -> Caller:
    """Calls through a connected FastMCP client."""

    async def call(tool: str, arguments: dict[str, Any], timeout_s: float) -> tuple[str, bool]:
        answer = await client.call_tool(tool, arguments, timeout=timeout_s, raise_on_error=False)
        return "".join(getattr(block, "text", "") for block in answer.content), answer.is_error

    return call


def sdk_caller(client: mcp.Client) -> Caller:
    """Calls through a connected client of the official SDK."""

    async def call(tool: str, arguments: dict[str, Any], timeout_s: float) -> tuple[str, bool]:
        answer = await client.call_tool(tool, arguments, read_timeout_seconds=timeout_s)
        return "".join(getattr(block, "text", "") for block in answer.content), bool(answer.is_error)

    return call


async def support(orders_url: str, draw: random.Random, pace: float) -> None:
    """Answers customers, one after another."""
    async with fastmcp.Client(orders_url) as client:
        await _converse("support-agent", fastmcp_caller(client), SUPPORT, _help_customer, draw, pace)


async def research(docs_url: str, draw: random.Random, pace: float) -> None:
    """Reads the manuals."""
    async with mcp.Client(docs_url) as client:
        await _converse("research-agent", sdk_caller(client), RESEARCH, _read_up, draw, pace)


async def triage(docs_url: str, draw: random.Random, pace: float) -> None:
    """Reads a page now and then, and tells nothing of what it read: whether pages were empty stays unknown."""
    async with mcp.Client(docs_url) as client:
        await _converse("triage-agent", sdk_caller(client), TRIAGE, _glance, draw, pace)


async def billing(payments_url: str, draw: random.Random, pace: float) -> None:
    """Moves money, and does not wait long when that fails: in an outage its retries are the storm."""
    async with mcp.Client(payments_url) as client:
        await _converse("billing-agent", sdk_caller(client), BILLING, _settle_bill, draw, pace)


async def _converse(name: str, call: Caller, policy: Policy, story: Story, draw: random.Random, pace: float) -> None:
    tracer = trace.get_tracer("demo.agent", "1.0.0")
    while True:
        conversation = str(uuid.UUID(int=draw.getrandbits(128), version=4))
        attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, "gen_ai.conversation.id": conversation}
        with tracer.start_as_current_span(f"invoke_agent {name}", attributes=attributes):
            await story(Agent(call, policy, conversation, draw), draw)
        await asyncio.sleep(draw.expovariate(1.0) / pace)


async def _help_customer(agent: Agent, draw: random.Random) -> None:
    customer, order = f"K-{draw.randrange(1000, 1400)}", f"A-{draw.randrange(10000, 10400)}"
    if draw.random() < 0.02:  # a model that misspells a tool
        await agent.use("get_ordr", {"order_id": order})
    if draw.random() < 0.02:  # a model that forgets an argument
        await agent.use("list_orders", {"limit": 5})
    if draw.random() < 0.04:  # a customer who closes the window
        await agent.use_and_cancel("list_orders", {"customer_id": customer})
        return
    await agent.use("list_orders", {"customer_id": customer})
    # Several at once: fan-out, not retries.
    await asyncio.gather(*(agent.use("get_order", {"order_id": f"A-{draw.randrange(10000, 10400)}"}) for _ in range(2)))
    if draw.random() < 0.4:
        await agent.use("update_shipping_address", {"order_id": order, "address": f"{draw.randrange(1, 99)} Mill Road"})


async def _read_up(agent: Agent, draw: random.Random) -> None:
    topic = draw.choice(("refund window", "customs", "gift cards", "address change", "warranty", "bulk orders"))
    await agent.use("search_docs", {"query": topic})
    await agent.use("fetch_page", {"page": topic.replace(" ", "-")})
    if draw.random() < 0.5:
        await agent.use("list_recent_changes", {"days": draw.choice((1, 7, 30))})


async def _glance(agent: Agent, draw: random.Random) -> None:
    await agent.use("fetch_page", {"page": draw.choice(("returns", "shipping", "contact"))})


async def _settle_bill(agent: Agent, draw: random.Random) -> None:
    customer, amount = f"K-{draw.randrange(1000, 1400)}", draw.randrange(5, 250) + 0.9
    await agent.use("get_invoice", {"invoice_id": f"I-{draw.randrange(5000, 5400)}"})
    if draw.random() < 0.5:
        await agent.use("charge_card", {"customer_id": customer, "amount": amount})
    else:
        await agent.use("refund_payment", {"payment_id": f"P-{draw.randrange(7000, 7400)}", "amount": amount})
    if draw.random() < 0.01:  # a stuck agent: the same question again and again, whatever the answer
        for _ in range(8):
            await agent.use("get_invoice", {"invoice_id": "I-0000"})
            await asyncio.sleep(0.5)
