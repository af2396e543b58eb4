"""Start the servers and the agents of the demo, run until told to stop, send the last spans."""

import asyncio
import logging
import random
import signal
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from typing import Any

from opentelemetry import trace

from cli.demo.agents import billing, research, support, triage
from cli.demo.chance import Chance
from cli.demo.hosting import hosted
from cli.demo.servers import docs_server, orders_server, payments_server
from cli.demo.telemetry import Services, acting_as, http_exporter

SERVERS = ("orders-mcp", "docs-mcp", "payments-mcp")
AGENTS = ("support-agent", "research-agent", "triage-agent", "billing-agent")
# Conversations at a time, of each agent.
CONVERSATIONS = 2

log = logging.getLogger(__name__)


def run_fleet(endpoint: str, seed: int, pace: float) -> None:
    """Send real spans to an OTLP/HTTP endpoint until SIGINT or SIGTERM."""
    # The clients and servers log each planned failure; here they are the point.
    for chatty in ("mcp", "fastmcp", "FastMCP", "client", "httpx2"):
        logging.getLogger(chatty).setLevel(logging.CRITICAL)
    services = Services({service: http_exporter(endpoint) for service in (*SERVERS, *AGENTS)})
    trace.set_tracer_provider(services)
    chance = Chance(seed, time.monotonic())
    try:
        with ExitStack() as stack:
            orders = stack.enter_context(hosted(_app(orders_server(chance)), "orders-mcp"))
            docs = stack.enter_context(hosted(_app(docs_server(chance)), "docs-mcp"))
            payments = stack.enter_context(hosted(_app(payments_server(chance)), "payments-mcp"))
            log.info("the demo fleet is running: %s call %s", ", ".join(AGENTS), ", ".join(SERVERS))
            asyncio.run(_until_stopped(seed, pace, orders, docs, payments))
    finally:
        services.shutdown()


def _app(server: Any) -> Any:
    make = getattr(server, "http_app", None) or server.streamable_http_app
    return make(json_response=True, stateless_http=True)


async def _until_stopped(seed: int, pace: float, orders: str, docs: str, payments: str) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    lives = {
        "support-agent": lambda draw: support(orders, draw, pace),
        "research-agent": lambda draw: research(docs, draw, pace),
        "triage-agent": lambda draw: triage(docs, draw, pace),
        "billing-agent": lambda draw: billing(payments, draw, pace),
    }
    agents = [
        _forever(service, lives[service], random.Random(f"{seed}/{service}/{nth}")) for service in AGENTS for nth in range(CONVERSATIONS)
    ]
    tasks = [asyncio.create_task(agent) for agent in agents]
    await stop.wait()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _forever(service: str, live: Callable[[random.Random], Awaitable[None]], draw: random.Random) -> None:
    """An agent that loses its connection connects again."""
    with acting_as(service):
        while True:
            try:
                await live(draw)
            except Exception as error:
                log.warning("%s starts again: %s", service, error)
                await asyncio.sleep(1)
