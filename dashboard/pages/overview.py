"""The landing page: what broke, and the headline numbers of all tools."""

from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from sqlalchemy import Connection

from dashboard import (
    alert_queries,
    call_queries,
    changes,
    queries,
    retry_charts,
    retry_queries,
    storm_shades,
    time_axis,
    time_charts,
    tool_charts,
)
from dashboard.filters import KIND_NAMES, Filter
from dashboard.moments import MINUTE_NS
from dashboard.pages import connect
from dashboard.pages.calls import in_groups
from dashboard.retry_metrics import record as retry_record
from dashboard.retrying import Retries
from dashboard.site import TheSite, as_csv, as_json, ask, choice, figure, frame, page, wants_csv
from dashboard.tally import Tally

router = APIRouter()

MOST_TOOLS = 12
LATEST = 8
MIXES = ("count", "share")
RETRY_TILES = ("operation_success", "retry_success_rate", "retry_ratio")


@dataclass(frozen=True, slots=True)
class Overview:
    """What the page and its JSON twin say; `total` is the sum of `tools` and of `buckets`, `before` that of the period before."""

    total: Tally
    before: Tally
    buckets: tuple[queries.Bucket, ...]
    tools: tuple[queries.ToolTally, ...]
    tools_before: dict[tuple[str, str], Tally]
    changes: tuple[changes.Change, ...]
    retries: Retries | None
    retries_before: Retries | None
    retry_buckets: tuple[retry_queries.RetryBucket, ...]
    latest_failures: tuple[dict[str, Any], ...]
    calls_a_minute: float

    def record(self, question: Filter) -> dict[str, Any]:
        """As JSON; times in nanoseconds, ratios from 0 to 1 or null."""
        return {
            "from_ns": question.from_ns,
            "to_ns": question.to_ns,
            "calls_a_minute": self.calls_a_minute,
            "total": self.total.record(),
            "before": self.before.record(),
            "retries": retry_record(self.retries) if self.retries is not None else None,
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
    # An operation has calls of several kinds: under a filter by them nothing is said of operations.
    operations = not set(question.active) & set(KIND_NAMES)
    return Overview(
        total=total,
        before=sum((tool.tally for tool in before), Tally()),
        buckets=queries.over_time(connection, question),
        tools=tools,
        tools_before={(tool.server, tool.tool): tool.tally for tool in before},
        changes=changes.grown(tools, before),
        retries=retry_queries.total(connection, question, now_ns) if operations else None,
        retries_before=retry_queries.total(connection, question.before(), now_ns) if operations else None,
        retry_buckets=retry_queries.over_time(connection, question, now_ns) if operations else (),
        latest_failures=call_queries.list_calls(connection, failures, now_ns, LATEST).records if shown else (),
        calls_a_minute=total.calls / elapsed_ns * MINUTE_NS,
    )


@router.get("/", include_in_schema=False)
def overview_page(request: Request, site: TheSite) -> Response:
    """The page; how to connect instead, as long as there is no call at all."""
    now_ns = site.clock()
    question = ask(site, request, now_ns, "mix")
    mix = choice(request, "mix", MIXES)
    with queries.snapshot(site.engine) as connection:
        around = frame(site, connection, request, question, now_ns)
        if around["fresh"].newest_ns is None:
            return connect.connect_page(request, site, connection, now_ns)
        data = read(connection, question, now_ns)
        latest = in_groups(connection, data.latest_failures, now_ns)
        alerts = alert_queries.banner(connection)
        storms = alert_queries.storms(connection, question)
    axis = time_axis.axis(question, now_ns, around["zone"])
    wide = time_axis.share_width(question, data.total.calls)
    points = time_axis.axis(question, now_ns, around["zone"], wide)
    figures = {
        "outcomes": storm_shades.shaded(figure(time_charts.outcomes, data.buckets, question, axis), storms, axis),
        "failures": storm_shades.shaded(figure(time_charts.failures, data.buckets, question, axis), storms, axis),
        "mix": figure(tool_charts.failure_mix, data.tools, question, mix == "share"),
    }
    return page(
        request,
        site,
        "overview.html",
        data=data,
        alerts=alerts,
        storms=storms,
        shown=data.tools[:MOST_TOOLS],
        figures=figures,
        axis=axis,
        latest=latest,
        spread=points.placed(queries.wider(data.buckets, wide)),
        retried={name: retry_charts.on_axis(data.retry_buckets, points, attrgetter(name)) for name in RETRY_TILES},
        budget=retry_charts.ATTEMPT_BUDGET,
        mainly=changes.main_category(data.total),
        mix=mix,
        keep={"mix": mix if mix != MIXES[0] else ""},
        mixes=MIXES,
        **around,
    )


@router.get("/api/v1/overview", tags=["read"])
def overview_json(request: Request, site: TheSite) -> Response:
    """Totals, buckets over time, tools, what changed, and the latest failures; `format=csv` gives the buckets over time."""
    now_ns = site.clock()
    question = ask(site, request, now_ns)
    to_csv = wants_csv(request)
    with queries.snapshot(site.engine) as connection:
        if to_csv:
            buckets = queries.over_time(connection, question)
            return as_csv("overview", ("bucket_ns", *Tally().record()), ([b.bucket_ns, *b.tally.record().values()] for b in buckets))
        return as_json(read(connection, question, now_ns).record(question))
