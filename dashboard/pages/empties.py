"""Empties against failures: how often each tool comes back empty, how often it fails, and how much of that is known."""

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from sqlalchemy import Connection

from dashboard import error_queries, queries, tool_charts
from dashboard.filters import Filter
from dashboard.site import TheSite, as_csv, as_json, ask, choice, figure, frame, page, wants_csv
from dashboard.tally import Ratio, Tally

router = APIRouter()

MOST_ROWS = 100


@dataclass(frozen=True, slots=True)
class Empties:
    """What the page and its JSON twin say; `total` is the sum of `tools`, those with most empties first."""

    total: Tally
    tools: tuple[queries.ToolTally, ...]
    marked: error_queries.MarkedEmpties

    def record(self, question: Filter) -> dict[str, Any]:
        """As JSON; ratios from 0 to 1 or null, intervals as [low, high] or null."""
        return {
            "from_ns": question.from_ns,
            "to_ns": question.to_ns,
            "total": shares(self.total),
            "tools": [{"server": tool.server, "tool": tool.tool, **shares(tool.tally)} for tool in self.tools],
            "marked_as_errors": self.marked,
        }


def shares(tally: Tally) -> dict[str, Any]:
    """Counts of a tally with its three shares and their 95 % intervals (Wilson)."""

    def share(name: str, ratio: Ratio) -> dict[str, Any]:
        return {f"{name}_ratio": ratio.value, f"{name}_interval": ratio.interval}

    counts = ("calls", "completed", "data", "empty", "unknown", "failure")
    return {
        **{name: getattr(tally, name) for name in counts},
        **share("empty", tally.empty_ratio),
        **share("failure", tally.failure_ratio),
        **share("unknown", tally.unknown_ratio),
    }


def read(connection: Connection, question: Filter, now_ns: int) -> Empties:
    """Everything on the page, of one snapshot."""
    tools = queries.by_tool(connection, question)
    return Empties(
        sum((tool.tally for tool in tools), Tally()),
        tuple(sorted(tools, key=lambda tool: (-tool.tally.empty, -tool.tally.calls, tool.server, tool.tool))),
        error_queries.marked_empties(connection, question, now_ns),
    )


@router.get("/empties", include_in_schema=False)
def empties_page(request: Request, site: TheSite) -> Response:
    """The page."""
    now_ns = site.clock()
    question = ask(site, request, now_ns)
    with queries.snapshot(site.engine) as connection:
        around = frame(site, connection, request, question, now_ns)
        data = read(connection, question, now_ns)
    return page(
        request,
        site,
        "empties.html",
        data=data,
        figures={"scatter": figure(tool_charts.failing_against_empty, data.tools, question)},
        drawn=len(tool_charts.on_scatter(data.tools)),
        most_rows=MOST_ROWS,
        **around,
    )


@router.get("/api/v1/empties", tags=["read"])
def empties_json(request: Request, site: TheSite) -> Response:
    """Per tool `empty`, `data`, `unknown` and `failure` with shares and intervals; `format=csv` for a `table`: tools or marked."""
    now_ns = site.clock()
    question = ask(site, request, now_ns, "table")
    to_csv, table = wants_csv(request), choice(request, "table", ("tools", "marked"))
    with queries.snapshot(site.engine) as connection:
        data = read(connection, question, now_ns)
    if to_csv and table == "marked":
        names = tuple(error_queries.MarkedEmpty.__dataclass_fields__)
        return as_csv("marked", names, ([getattr(one, name) for name in names] for one in data.marked.found))
    if to_csv:
        rows = [{"server": tool.server, "tool": tool.tool, **shares(tool.tally)} for tool in data.tools]
        return as_csv("empties", ("server", "tool", *shares(Tally())), (list(row.values()) for row in rows))
    return as_json(data.record(question))
