"""All tools: a sortable table, thousands of names folded, quiet tools apart."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from sqlalchemy import Connection

from dashboard import queries
from dashboard.filters import Filter, FilterError
from dashboard.site import TheSite, as_csv, as_json, ask, frame, page, wants_csv, whole_number
from dashboard.tally import Ratio, Tally
from schemas.histogram import UNKNOWN

router = APIRouter()

# Rows before the rest is folded, and rows a page of the full list.
FOLDED_AT = 50
A_PAGE = 200


def _share(ratio: Ratio) -> float:
    return -1.0 if ratio.value is None else ratio.value


def _known(ns: int | None) -> int:
    return -1 if ns is None else ns


# Sort word -> what it sorts by; all but the names start with the largest.
SORTS: Mapping[str, Callable[[queries.ToolTally], Any]] = {
    "impact": lambda t: t.tally.impact,
    "tool": lambda t: (t.tool, t.server),
    "calls": lambda t: t.tally.calls,
    "failure": lambda t: t.tally.failure,
    "rate": lambda t: _share(t.tally.failure_ratio),
    "retryable": lambda t: _share(t.tally.retryable_ratio),
    "empty": lambda t: t.tally.empty,
    "mean": lambda t: t.tally.mean_ns or 0,
    "p50": lambda t: _known(t.times.p50_ns),
    "p95": lambda t: _known(t.times.p95_ns),
    "p99": lambda t: _known(t.times.p99_ns),
    "max": lambda t: t.tally.max_ns or 0,
    "last": lambda t: t.tally.last_ns,
}


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools in the order asked for; `total` is their sum."""

    total: Tally
    tools: tuple[queries.ToolTally, ...]
    quiet: tuple[queries.SeenTool, ...]


def read(connection: Connection, question: Filter, sort: str, ascending: bool) -> Tools:
    """Everything on the page, of one snapshot."""
    times = queries.durations(connection, question, ("server", "tool"))
    tools = tuple(
        replace(tool, times=queries.percentiles_of(tool.tally, times.get((tool.server, tool.tool), b"")))
        for tool in queries.by_tool(connection, question)
    )
    quiet = queries.quiet_tools(connection, question, ((tool.server, tool.tool) for tool in tools))
    ordered = tuple(sorted(tools, key=SORTS[sort], reverse=not ascending))
    return Tools(sum((tool.tally for tool in tools), Tally()), ordered, quiet)


def _order(request: Request) -> tuple[str, bool]:
    asked = request.query_params.get("sort") or "impact"
    sort, ascending = asked.removeprefix("-"), not asked.startswith("-")
    if sort not in SORTS:
        raise FilterError([f"“sort” is one of {', '.join(SORTS)}, turned round by a - before it."])
    # Without a sign each column starts with its interesting end: names from A, numbers from the largest.
    return sort, ascending if sort == "tool" else not ascending


@router.get("/tools", include_in_schema=False)
def tools_page(request: Request, site: TheSite) -> Response:
    """The page; with `all` the full list, a page at a time."""
    now_ns = site.clock()
    question = ask(request, now_ns, "sort", "all", "page")
    sort, ascending = _order(request)
    everything = bool(request.query_params.get("all"))
    number = whole_number(request, "page", 1, 100_000)
    with queries.snapshot(site.engine) as connection:
        around = frame(site, connection, request, question, now_ns)
        data = read(connection, question, sort, ascending)
    first = (number - 1) * A_PAGE if everything else 0
    shown = data.tools[first : first + A_PAGE] if everything else data.tools[:FOLDED_AT]
    rest = () if everything else data.tools[FOLDED_AT:]
    return page(
        request,
        site,
        "tools.html",
        data=data,
        shown=shown,
        first=first,
        rest=sum((tool.tally for tool in rest), Tally()),
        rest_names=len(rest),
        everything=everything,
        number=number,
        last_page=-(-len(data.tools) // A_PAGE),
        sort=sort,
        ascending=ascending,
        asked_sort=request.query_params.get("sort") or "",
        **around,
    )


@router.get("/api/v1/tools", tags=["read"])
def tools_json(request: Request, site: TheSite) -> Response:
    """Counts of outcomes, emptiness and categories a tool, with ratios (null for 0 of 0); `format=csv` for a table."""
    now_ns = site.clock()
    question = ask(request, now_ns, "sort")
    sort, ascending = _order(request)
    with queries.snapshot(site.engine) as connection:
        data = read(connection, question, sort, ascending)
    rows = [{"server": tool.server, "tool": tool.tool, **tool.tally.record(), **tool.times.record()} for tool in data.tools]
    if wants_csv(request):
        header = ["server", "tool", *Tally().record(), *UNKNOWN.record()]
        return as_csv("tools", header, ([row[name] for name in header] for row in rows))
    return as_json(
        {
            "from_ns": question.from_ns,
            "to_ns": question.to_ns,
            "total": data.total.record(),
            "tools": rows,
            "quiet": data.quiet,
        }
    )
