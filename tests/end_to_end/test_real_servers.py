"""Real servers, clients and exporters on one side; the API, the export and the pages on the other."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import httpx
import pytest

from tests.end_to_end.conftest import Running

pytestmark = pytest.mark.end_to_end

EMITTER = Path(__file__).parent / "emitter.py"
# (server, tool, outcome, emptiness, category, channel) -> calls that the emitter made.
TRUTH = {
    ("orders", "get_order", "success", "data", None, None): 3,
    ("orders", "list_orders", "success", "empty", None, None): 2,
    ("orders", "cancel_order", "failure", None, "business", "tool"): 2,
    ("docs-mcp", "search_docs", "success", "unknown", None, None): 3,
    ("docs-mcp", "fetch_page", "failure", None, "unclassified", "tool"): 1,
    ("docs-mcp", "export_all", "failure", None, "transient", "transport"): 1,
}


def test_every_call_is_understood_from_span_to_page(up: Running) -> None:
    subprocess.run([sys.executable, str(EMITTER), up.http, up.grpc], check=True, timeout=120, capture_output=True)
    up.settled(calls=sum(TRUTH.values()))

    exported = subprocess.run(
        [sys.executable, "-P", "-m", "cli.main", "export", "calls", f"--data={up.data}"],
        check=True, timeout=120, capture_output=True, cwd=up.data,
    ).stdout  # fmt: skip
    calls = [json.loads(line) for line in exported.splitlines()]
    keys = ("server", "tool", "outcome", "emptiness", "category", "channel")
    assert Counter(tuple(call[key] for key in keys) for call in calls) == TRUTH
    assert [call["start_ns"] for call in calls] == sorted(call["start_ns"] for call in calls)
    # Agent, FastMCP client, SDK client, server: four spans, one call.
    assert {call["client"]: len(call["spans"]) for call in calls} == {"support-agent": 4, "research-agent": 2}

    with httpx.Client(base_url=up.web, timeout=60, trust_env=False) as client:
        listed = client.get("/api/v1/calls", params={"limit": 1000}).raise_for_status().json()["calls"]
        assert sorted(listed, key=lambda call: call["call_id"]) == sorted(calls, key=lambda call: call["call_id"])

        def counted() -> Counter[tuple[str, str, int, int]]:
            tools = client.get("/api/v1/tools").raise_for_status().json()["tools"]
            return Counter({(tool["server"], tool["tool"], tool["calls"], tool["failure"]): 1 for tool in tools})

        assert counted() == Counter(
            {(server, tool, count, count if outcome == "failure" else 0): 1 for (server, tool, outcome, *_), count in TRUTH.items()}
        )
        page = client.get("/tools/orders/cancel_order").raise_for_status()
        assert page.headers["content-type"].startswith("text/html")
        assert "cancel_order" in page.text
        assert "business" in page.text
