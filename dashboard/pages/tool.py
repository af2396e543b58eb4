"""One tool: how it fails, how often it comes back empty, how long it takes, who calls it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response
from sqlalchemy import Connection

from dashboard import call_queries, charts, queries
from dashboard.filters import Filter, FilterError
from dashboard.site import TheSite, as_json, ask, frame, page
from dashboard.tally import Tally
from dashboard.text import name_of_segment, visible
from schemas.calls import OUTCOMES
from schemas.histogram import Percentiles

router = APIRouter()

RECENT = 20


@dataclass(frozen=True, slots=True)
class Tool:
    """What the page and its JSON twin say; `total` is the sum of `buckets` and of `clients`."""

    server: str
    tool: str
    total: Tally
    times: Percentiles
    by_outcome: tuple[tuple[str, Percentiles], ...]
    buckets: tuple[queries.Bucket, ...]
    clients: tuple[tuple[str, Tally], ...]
    errors: call_queries.ErrorTypes
    recent: tuple[dict[str, Any], ...]

    def record(self, question: Filter) -> dict[str, Any]:
        """As JSON; times in nanoseconds, ratios from 0 to 1 or null."""
        return {
            "server": self.server,
            "tool": self.tool,
            "from_ns": question.from_ns,
            "to_ns": question.to_ns,
            "total": self.total.record() | self.times.record(),
            "outcomes": [{"outcome": outcome, "timed": times.calls, **times.record()} for outcome, times in self.by_outcome],
            "buckets": [bucket.record() for bucket in self.buckets],
            "clients": [{"client": client, **tally.record()} for client, tally in self.clients],
            "error_types": self.errors,
            "recent": self.recent,
        }


def read(connection: Connection, question: Filter, now_ns: int) -> Tool:
    """Everything on the page, of one snapshot. The question names the server and the tool."""
    clients = queries.by_client(connection, question)
    failures = question.outcome in (None, "failure")
    total = sum((tally for _, tally in clients), Tally())
    width = queries.bucket_width(question)
    # One histogram an outcome and bar; what the tiles, the table and the chart show are sums of them.
    histograms = queries.durations(connection, question, ("outcome",), width)
    outcomes = [outcome for outcome in OUTCOMES if any(of == outcome for _, of in histograms)]
    buckets = queries.over_time(connection, question)
    starts = [bucket.bucket_ns for bucket in buckets]

    def times(starts: Iterable[int], of: Iterable[str]) -> Percentiles:
        return queries.percentiles_of(total, b"".join(histograms.get((start, outcome), b"") for start in starts for outcome in of))

    return Tool(
        server=question.server or "",
        tool=question.tool or "",
        total=total,
        times=times(starts, outcomes),
        by_outcome=tuple((outcome, times(starts, [outcome])) for outcome in outcomes),
        buckets=tuple(replace(bucket, times=times([bucket.bucket_ns], outcomes)) for bucket in buckets),
        clients=clients,
        errors=call_queries.error_types(connection, question, now_ns) if failures else call_queries.ErrorTypes((), 0, True),
        recent=call_queries.list_calls(connection, question, now_ns, RECENT).records,
    )


def _ask(request: Request, server: str, tool: str, now_ns: int) -> Filter:
    question = ask(request, now_ns)
    if question.server is not None or question.tool is not None:
        raise FilterError(["Server and tool stand in the path of this address, not in its query."])
    try:
        return question.but(server=name_of_segment(server), tool=name_of_segment(tool))
    except ValueError:
        raise HTTPException(404, "The address names no tool.") from None


@router.get("/tools/{server}/{tool:path}", include_in_schema=False)
def tool_page(request: Request, site: TheSite, server: str, tool: str) -> Response:
    """The page; it exists for any name, because a tool without calls in the range may have some in another."""
    now_ns = site.clock()
    question = _ask(request, server, tool, now_ns)
    with queries.snapshot(site.engine) as connection:
        around = frame(site, connection, request, question, now_ns)
        around["here"] = question.but(server=None, tool=None)
        data = read(connection, question, now_ns)
    figures = {
        "outcomes": charts.outcomes_over_time(data.buckets, question, now_ns),
        "failures": charts.failures_over_time(data.buckets, question, now_ns),
        "shares": charts.failures_and_empties(data.buckets, question, now_ns),
        "durations": charts.durations(data.buckets, question, now_ns),
    }
    return page(
        request,
        site,
        "tool.html",
        data=data,
        title=visible(data.tool) or "(unnamed)",
        figures={name: charts.figure_json(figure) for name, figure in figures.items()},
        **around,
    )


@router.get("/api/v1/tools/{server}/{tool:path}", tags=["read"])
def tool_json(request: Request, site: TheSite, server: str, tool: str) -> Response:
    """One tool: totals, buckets over time, clients, error types and recent calls."""
    now_ns = site.clock()
    question = _ask(request, server, tool, now_ns)
    with queries.snapshot(site.engine) as connection:
        return as_json(read(connection, question, now_ns).record(question))
