"""One tool: how it fails, how often it comes back empty, how long it takes, who calls it."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response
from sqlalchemy import Connection

from dashboard import (
    alert_queries,
    call_queries,
    error_queries,
    queries,
    retry_queries,
    storm_shades,
    suppression_queries,
    time_axis,
    time_charts,
    tool_charts,
    tool_queries,
)
from dashboard.filters import KIND_NAMES, Filter, FilterError
from dashboard.pages.calls import in_groups
from dashboard.retry_metrics import record as retry_record
from dashboard.retrying import Retries
from dashboard.site import Site, TheSite, as_csv, as_json, ask, choice, figure, frame, page, wants_csv
from dashboard.tally import Tally
from dashboard.text import name_of_segment, visible
from schemas.calls import OUTCOMES
from schemas.contracts import NAMES, ContractQuality
from schemas.histogram import Percentiles
from schemas.rollups import OTHER_TOOLS

router = APIRouter()

RECENT = 20


@dataclass(frozen=True, slots=True)
class Tool:
    """What the page and its JSON twin say; `total` is the sum of `buckets` and of `clients`, `histograms` are packed, by outcome."""

    server: str
    tool: str
    total: Tally
    before: Tally | None
    times: Percentiles
    by_outcome: tuple[tuple[str, Percentiles], ...]
    histograms: Mapping[str, bytes]
    buckets: tuple[queries.Bucket, ...]
    packed: Mapping[int, bytes]
    clients: tuple[tuple[str, Tally], ...]
    errors: error_queries.Errors
    views: error_queries.Views
    recent: tuple[dict[str, Any], ...]
    folded: tuple[tool_queries.FoldedName, ...]
    retries: Retries | None
    contracts: tuple[ContractQuality, ...] = ()

    def timed(self, width: int) -> tuple[queries.Bucket, ...]:
        """The calls in buckets of a width that is a multiple of theirs, with percentiles."""
        parts: dict[int, list[bytes]] = {}
        for start, histogram in self.packed.items():
            parts.setdefault(start - start % width, []).append(histogram)
        return tuple(
            replace(bucket, times=queries.percentiles_of(bucket.tally, b"".join(parts.get(bucket.bucket_ns, ()))))
            for bucket in queries.wider(self.buckets, width)
        )

    def record(self, question: Filter) -> dict[str, Any]:
        """As JSON; times in nanoseconds, ratios from 0 to 1 or null."""
        return {
            "server": self.server,
            "tool": self.tool,
            "from_ns": question.from_ns,
            "to_ns": question.to_ns,
            "total": self.total.record() | self.times.record(),
            "outcomes": [{"outcome": outcome, "timed": times.calls, **times.record()} for outcome, times in self.by_outcome],
            "buckets": [bucket.record() for bucket in self.timed(time_axis.bucket_width(question))],
            "clients": [{"client": client, **tally.record()} for client, tally in self.clients],
            "error_types": self.errors.record(),
            "fingerprints": self.errors.fingerprints,
            "views": self.views,
            "folded": self.folded,
            "retries": retry_record(self.retries) if self.retries is not None else None,
            "contract": [one.record() for one in self.contracts],
            "recent": self.recent,
        }


def read(connection: Connection, question: Filter, now_ns: int) -> Tool:
    """Everything on the page, of one snapshot. The question names the server and the tool."""
    clients = queries.by_client(connection, question)
    failures = question.outcome in (None, "failure")
    total = sum((tally for _, tally in clients), Tally())
    width = time_axis.bucket_width(question)
    # One histogram an outcome and bar; what the tiles, the table and the chart show are sums of them.
    histograms = queries.durations(connection, question, ("outcome",), width)
    outcomes = [outcome for outcome in OUTCOMES if any(of == outcome for _, of in histograms)]
    by_outcome = {outcome: b"".join(part for (_, of), part in histograms.items() if of == outcome) for outcome in outcomes}
    by_start: dict[int, list[bytes]] = {}
    for (start, _), part in histograms.items():
        by_start.setdefault(start, []).append(part)
    return Tool(
        server=question.server or "",
        tool=question.tool or "",
        total=total,
        before=queries.total(connection, question.before()) if question.compare else None,
        times=queries.percentiles_of(total, b"".join(by_outcome.values())),
        by_outcome=tuple((outcome, queries.percentiles_of(total, packed)) for outcome, packed in by_outcome.items()),
        histograms=by_outcome,
        buckets=queries.over_time(connection, question),
        packed={start: b"".join(parts) for start, parts in by_start.items()},
        clients=clients,
        errors=error_queries.errors(connection, question, now_ns) if failures else error_queries.NO_ERRORS,
        views=error_queries.views(connection, question, now_ns),
        recent=call_queries.list_calls(connection, question, now_ns, RECENT).records,
        folded=tool_queries.folded_names(connection, question) if question.tool == OTHER_TOOLS else (),
        # An operation has calls of several kinds: under a filter by them nothing is said of operations.
        retries=None if set(question.active) & set(KIND_NAMES) else retry_queries.total(connection, question, now_ns),
        contracts=suppression_queries.contracts(connection, question),
    )


# The tables of the page, by the word that asks for them as CSV: rows of names and values.
TABLES: Mapping[str, Callable[[Tool, Filter], list[dict[str, Any]]]] = {
    "buckets": lambda data, question: data.record(question)["buckets"],
    "clients": lambda data, question: data.record(question)["clients"],
    "outcomes": lambda data, question: data.record(question)["outcomes"],
    "errors": lambda data, _: [
        dict(zip(("category", "error_type", "jsonrpc_code", "failures"), one, strict=True)) for one in data.errors.types
    ],
    "fingerprints": lambda data, _: [asdict(one) for one in data.errors.fingerprints],
    "views": lambda data, _: [asdict(one) for one in data.views.disagreements],
}


def _ask(site: Site, request: Request, server: str, tool: str, now_ns: int) -> Filter:
    question = ask(site, request, now_ns, "table")
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
    question = _ask(site, request, server, tool, now_ns)
    with queries.snapshot(site.engine) as connection:
        around = frame(site, connection, request, question, now_ns)
        around["here"] = question.but(server=None, tool=None)
        data = read(connection, question, now_ns)
        recent = in_groups(connection, data.recent, now_ns)
        storms = alert_queries.storms(connection, question)
    axis = time_axis.axis(question, now_ns, around["zone"])
    # Shares and percentiles of few calls are noise: their lines have points of a wider bar.
    wide = time_axis.axis(question, now_ns, around["zone"], time_axis.share_width(question, data.total.calls))
    wide_buckets = data.timed(wide.width_ns)
    bars = tool_charts.duration_bars(data.histograms)
    figures = {
        "outcomes": storm_shades.shaded(figure(time_charts.outcomes, data.buckets, question, axis), storms, axis),
        "failures": storm_shades.shaded(figure(time_charts.failures, data.buckets, question, axis), storms, axis),
        "shares": figure(time_charts.failing_and_empty, wide_buckets, question, wide),
        "durations": figure(time_charts.durations, wide_buckets, question, wide),
        "histogram": figure(tool_charts.duration_histogram, bars, [outcome for outcome, _ in data.by_outcome]),
    }
    return page(
        request,
        site,
        "tool.html",
        data=data,
        title=visible(data.tool) or "(unnamed)",
        figures=figures,
        axis=axis,
        spread=wide.placed(wide_buckets),
        wide=wide,
        wide_buckets=wide_buckets,
        bars=bars,
        recent=recent,
        asked=NAMES,
        **around,
    )


@router.get("/api/v1/tools/{server}/{tool:path}", tags=["read"])
def tool_json(request: Request, site: TheSite, server: str, tool: str) -> Response:
    """One tool: totals, buckets over time, clients, errors, views and recent calls; `format=csv` gives one `table`, the buckets first."""
    now_ns = site.clock()
    question = _ask(site, request, server, tool, now_ns)
    to_csv, table = wants_csv(request), choice(request, "table", tuple(TABLES))
    with queries.snapshot(site.engine) as connection:
        data = read(connection, question, now_ns)
    if to_csv:
        rows = TABLES[table](data, question)
        header = tuple(rows[0]) if rows else ()
        return as_csv(table, header, (list(row.values()) for row in rows))
    return as_json(data.record(question))
