"""The landing page: what broke, and the headline numbers of all tools."""

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from sqlalchemy import Connection

from dashboard import call_queries, changes, charts, queries
from dashboard.filters import MINUTE_NS, Filter
from dashboard.pages import connect
from dashboard.site import TheSite, as_json, ask, frame, page
from dashboard.tally import Tally

router = APIRouter()

MOST_TOOLS = 12
LATEST = 8


@dataclass(frozen=True, slots=True)
class Overview:
    """What the page and its JSON twin say; `total` is the sum of `tools` and of `buckets`."""

    total: Tally
    buckets: tuple[queries.Bucket, ...]
    tools: tuple[queries.ToolTally, ...]
    changes: tuple[changes.Change, ...]
    earlier_calls: int
    latest_failures: tuple[dict[str, Any], ...]
    calls_a_minute: float

    def record(self, question: Filter) -> dict[str, Any]:
        """As JSON; times in nanoseconds, ratios from 0 to 1 or null."""
        return {
            "from_ns": question.from_ns,
            "to_ns": question.to_ns,
            "calls_a_minute": self.calls_a_minute,
            "total": self.total.record(),
            "buckets": [{"bucket_ns": bucket.bucket_ns, **bucket.tally.record()} for bucket in self.buckets],
            "tools": [{"server": tool.server, "tool": tool.tool, **tool.tally.record()} for tool in self.tools],
            "changes": self.changes,
            "latest_failures": self.latest_failures,
        }


def read(connection: Connection, question: Filter, now_ns: int) -> Overview:
    """Everything on the page, of one snapshot."""
    tools = queries.by_tool(connection, question)
    before = queries.by_tool(connection, question.before())
    total = sum((tool.tally for tool in tools), Tally())
    elapsed_ns = max(MINUTE_NS, min(now_ns, question.to_ns) - question.from_ns)
    failures = question.but(outcome="failure")
    shown = question.outcome in (None, "failure")
    return Overview(
        total=total,
        buckets=queries.over_time(connection, question),
        tools=tools,
        changes=changes.grown(tools, before),
        earlier_calls=sum(tool.tally.calls for tool in before),
        latest_failures=call_queries.list_calls(connection, failures, now_ns, LATEST).records if shown else (),
        calls_a_minute=total.calls / elapsed_ns * MINUTE_NS,
    )


@router.get("/", include_in_schema=False)
def overview_page(request: Request, site: TheSite) -> Response:
    """The page; how to connect instead, as long as there is no call at all."""
    now_ns = site.clock()
    question = ask(request, now_ns)
    with queries.snapshot(site.engine) as connection:
        around = frame(site, connection, request, question, now_ns)
        if around["fresh"].newest_ns is None:
            return connect.connect_page(request, site, connection, now_ns)
        data = read(connection, question, now_ns)
    figures = {
        "outcomes": charts.outcomes_over_time(data.buckets, question, now_ns),
        "failures": charts.failures_over_time(data.buckets, question, now_ns),
        "mix": charts.failure_mix(data.tools, question),
    }
    return page(
        request,
        site,
        "overview.html",
        data=data,
        shown=data.tools[:MOST_TOOLS],
        figures={name: charts.figure_json(figure) for name, figure in figures.items()},
        mainly=changes.main_category(data.total),
        **around,
    )


@router.get("/api/v1/overview", tags=["read"])
def overview_json(request: Request, site: TheSite) -> Response:
    """Totals, buckets over time, tools, what changed, and the latest failures, for the filters of the page."""
    now_ns = site.clock()
    question = ask(request, now_ns)
    with queries.snapshot(site.engine) as connection:
        return as_json(read(connection, question, now_ns).record(question))
