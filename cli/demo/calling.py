"""Call a tool as an agent framework does, and retry as its policy says."""

import asyncio
import json
import random
from dataclasses import dataclass
from typing import Any, Protocol

from opentelemetry import trace

TIMEOUT_S = 1.2


class Caller(Protocol):
    """A client's way to call a tool: the text of the result and whether it is an error. Raises if there is no result."""

    async def __call__(self, tool: str, arguments: dict[str, Any], timeout_s: float) -> tuple[str, bool]: ...


@dataclass(frozen=True, slots=True)
class Policy:
    """How an agent retries. `respects_retryable`: it gives up on errors that say a retry is of no use."""

    attempts: int
    first_pause_s: float
    growth: float
    respects_retryable: bool
    # Whether the agent records a span with arguments and result for each call, or leaves it to the MCP client.
    records_content: bool


SUPPORT = Policy(attempts=3, first_pause_s=0.4, growth=2, respects_retryable=True, records_content=True)
RESEARCH = Policy(attempts=2, first_pause_s=0.05, growth=1, respects_retryable=False, records_content=True)
TRIAGE = Policy(attempts=2, first_pause_s=0.05, growth=1, respects_retryable=False, records_content=False)
BILLING = Policy(attempts=7, first_pause_s=0.25, growth=1, respects_retryable=True, records_content=True)


class Agent:
    """One conversation of an agent: its calls belong together by a conversation id."""

    def __init__(self, call: Caller, policy: Policy, conversation: str, draw: random.Random) -> None:
        self._call = call
        self._policy = policy
        self._conversation = conversation
        self._draw = draw
        self._tracer = trace.get_tracer("demo.agent", "1.0.0")

    async def use(self, tool: str, arguments: dict[str, Any]) -> str | None:
        """Call a tool, with retries; the text of its result, None if it never worked."""
        pause_s = self._policy.first_pause_s
        for attempt in range(self._policy.attempts):
            if attempt:
                await asyncio.sleep(pause_s)
                pause_s *= self._policy.growth
            text, failed = await self._once(tool, arguments)
            if not failed:
                return text
            if self._policy.respects_retryable and not _may_heal(text):
                return None
        return None

    async def use_and_cancel(self, tool: str, arguments: dict[str, Any]) -> None:
        """Call a tool and lose interest at once, as when the user closes the window."""
        task = asyncio.create_task(self._once(tool, arguments))
        await asyncio.sleep(0.03)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def _once(self, tool: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        if not self._policy.records_content:
            return await self._attempt(tool, arguments)
        with self._tracer.start_as_current_span(
            f"execute_tool {tool}",
            attributes={
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": tool,
                "gen_ai.tool.call.id": f"call_{self._draw.getrandbits(48):012x}",
                "gen_ai.tool.call.arguments": json.dumps(arguments),
                "gen_ai.conversation.id": self._conversation,
            },
        ) as span:
            try:
                text, failed = await self._attempt(tool, arguments)
            except asyncio.CancelledError:
                span.set_attribute("error.type", "CancelledError")
                raise
            span.set_attribute("gen_ai.tool.call.result", text)
            if failed:
                span.set_attribute("error.type", "tool_error")
                span.set_status(trace.StatusCode.ERROR)
            return text, failed

    async def _attempt(self, tool: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        try:
            return await self._call(tool, arguments, TIMEOUT_S)
        # Whatever a client raises instead of a result (time-out, protocol error, lost connection), an agent goes on.
        except Exception as error:
            return str(error), True


def _may_heal(text: str) -> bool:
    try:
        body = json.loads(text)
    except ValueError:
        return True
    return not isinstance(body, dict) or bool(body.get("isRetryable", True))
