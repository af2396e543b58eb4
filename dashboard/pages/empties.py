"""Empties against failures: how often each tool comes back empty or fails, what looks like swallowed failures, and how errors are told."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from sqlalchemy import Connection

from dashboard import empties_charts, error_queries, queries, suppression_queries, time_axis, tool_charts
from dashboard.filters import Filter
from dashboard.forgery import COOKIE, FIELD, form_token
from dashboard.site import TheSite, as_csv, as_json, ask, choice, figure, frame, page, wants_csv
from dashboard.tally import Ratio, Tally
from schemas import contracts, suppression

router = APIRouter()

MOST_ROWS = 100


@dataclass(frozen=True, slots=True)
class Empties:
    """What the page and its JSON twin say; `total` is the sum of `tools`, those with most empties first, and of `buckets`."""

    total: Tally
    tools: tuple[queries.ToolTally, ...]
    buckets: tuple[queries.Bucket, ...]
    marked: error_queries.MarkedEmpties
    found: suppression_queries.Found

    def record(self, question: Filter) -> dict[str, Any]:
        """As JSON; ratios from 0 to 1 or null, intervals as [low, high] or null."""
        return {
            "from_ns": question.from_ns,
            "to_ns": question.to_ns,
            "total": shares(self.total),
            "tools": [{"server": tool.server, "tool": tool.tool, **shares(tool.tally)} for tool in self.tools],
            "buckets": [{"bucket_ns": bucket.bucket_ns, **shares(bucket.tally)} for bucket in self.buckets],
            "marked_as_errors": self.marked,
            "evaluated": self.found.evaluated,
            "suspects": [one.record() for one in self.found.suspects],
            "failed_inside": self.found.inside,
            "contract": [one.record() for one in self.found.contracts],
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
        queries.over_time(connection, question),
        error_queries.marked_empties(connection, question, now_ns),
        suppression_queries.found(connection, question, now_ns),
    )


@router.get("/empties", include_in_schema=False)
def empties_page(request: Request, site: TheSite) -> Response:
    """The page."""
    now_ns = site.clock()
    question = ask(site, request, now_ns)
    token = form_token(request)
    with queries.snapshot(site.engine) as connection:
        around = frame(site, connection, request, question, now_ns)
        data = read(connection, question, now_ns)
    # Shares of few calls are noise: their lines have points of a wider bar.
    wide = time_axis.axis(question, now_ns, around["zone"], time_axis.share_width(question, data.total.calls))
    wide_buckets = queries.wider(data.buckets, wide.width_ns)
    response = page(
        request,
        site,
        "empties.html",
        data=data,
        figures={
            "scatter": figure(tool_charts.failing_against_empty, data.tools, question),
            "shares": figure(empties_charts.shares, wide_buckets, question, wide),
        },
        wide=wide,
        spread=wide.placed(wide_buckets),
        drawn=len(tool_charts.on_scatter(data.tools)),
        most_rows=MOST_ROWS,
        found=data.found,
        suspected=[one for one in data.found.suspects if one.by_design is None],
        excused=[one for one in data.found.suspects if one.by_design is not None],
        unsuspected=[mark for mark in data.found.marks if not any(mark == one.by_design for one in data.found.suspects)],
        contracts=data.found.contracts,
        asked=contracts.NAMES,
        signals=suppression.NAMES,
        others=suppression.FALSE_POSITIVES,
        form_field=FIELD,
        form_token=token,
        **around,
    )
    response.set_cookie(COOKIE, token, httponly=True, samesite="strict", secure=request.url.scheme == "https")
    return response


Rows = list[dict[str, Any]]


def _marked(data: Empties, _: Filter) -> Rows:
    return [{name: getattr(one, name) for name in error_queries.MarkedEmpty.__dataclass_fields__} for one in data.marked.found]


def _suspects(data: Empties, question: Filter) -> Rows:
    said = data.record(question)["suspects"]
    return [
        {
            **{name: one[name] for name in ("environment", "server", "tool", "class", "q", "empty", "known", "failure", "completed")},
            **{name: signal[name] for name in ("id", "k", "n", "p", "says")},
            "by_design": one["by_design"]["note"] if one["by_design"] else None,
        }
        for one in said
        for signal in one["signals"]
    ]


def _contracts(data: Empties, _: Filter) -> Rows:
    return [
        {"environment": one.environment, "server": one.server, "tool": one.tool, "asked": finding.id, "has": finding.k, "of": finding.n}
        | {"change": finding.change, "example": finding.example, "suggested": finding.suggested}
        for one in data.found.contracts
        for finding in one.findings
    ]


# The tables of the page, by the word that asks for them as CSV: rows of names and values.
TABLES: Mapping[str, Callable[[Empties, Filter], Rows]] = {
    "tools": lambda data, question: data.record(question)["tools"],
    "buckets": lambda data, question: data.record(question)["buckets"],
    "marked": _marked,
    "suspects": _suspects,
    "contract": _contracts,
}


@router.get("/api/v1/empties", tags=["read"])
def empties_json(request: Request, site: TheSite) -> Response:
    """Per tool `empty`, `data`, `unknown`, `failure` with shares and intervals, suspects and contracts; `format=csv` for one `table`."""
    now_ns = site.clock()
    question = ask(site, request, now_ns, "table")
    to_csv, table = wants_csv(request), choice(request, "table", tuple(TABLES))
    with queries.snapshot(site.engine) as connection:
        data = read(connection, question, now_ns)
    if to_csv:
        rows = TABLES[table](data, question)
        header = tuple(rows[0]) if rows else ()
        return as_csv("empties" if table == "tools" else table, header, (list(row.values()) for row in rows))
    return as_json(data.record(question))
