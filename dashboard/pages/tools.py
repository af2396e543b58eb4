"""All tools: a sortable table, thousands of names folded, quiet tools apart."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from sqlalchemy import Connection

from dashboard import alert_queries, queries, retry_queries, suppression_queries, tool_queries
from dashboard.filters import KIND_NAMES, Filter, FilterError
from dashboard.retrying import Retries
from dashboard.site import TheSite, as_csv, as_json, ask, frame, page, wants_csv, whole_number
from dashboard.tally import Ratio, Tally
from schemas.contracts import ContractQuality
from schemas.histogram import UNKNOWN
from schemas.rollups import OTHER_TOOLS

router = APIRouter()

# Rows before the rest is folded, and rows a page of the full list.
FOLDED_AT = 50
A_PAGE = 200
OPERATIONS = ("operations", "retries", "operation_success", "retry_success_rate", "amplification")


def _share(ratio: Ratio) -> float:
    return -1.0 if ratio.value is None else ratio.value


def _known(ns: int | None) -> int:
    return -1 if ns is None else ns


def _mixed(tool: queries.ToolTally) -> tuple[int, int]:
    """Failures by their largest category."""
    return max((tool.tally.transient, 4), (tool.tally.validation, 3), (tool.tally.business, 2), (tool.tally.permission, 1))


# Sort word -> what it sorts by; all but the names start with the largest.
SORTS: Mapping[str, Callable[[queries.ToolTally], Any]] = {
    "impact": lambda t: t.tally.impact,
    "tool": lambda t: (t.tool, t.server),
    "calls": lambda t: t.tally.calls,
    "failure": lambda t: t.tally.failure,
    "rate": lambda t: _share(t.tally.failure_ratio),
    "answered": lambda t: t.tally.success + t.tally.partial,
    "mix": _mixed,
    "retryable": lambda t: _share(t.tally.retryable_ratio),
    "empty": lambda t: t.tally.empty,
    "mean": lambda t: t.tally.mean_ns or 0,
    "p50": lambda t: _known(t.times.p50_ns),
    "p95": lambda t: _known(t.times.p95_ns),
    "p99": lambda t: _known(t.times.p99_ns),
    "max": lambda t: t.tally.max_ns or 0,
    "last": lambda t: t.tally.last_ns,
}


RETRY_SORTS: Mapping[str, Callable[[Retries], Ratio]] = {
    "operations": lambda r: Ratio(r.operations, 1),
    "recovered": lambda r: r.retry_success_rate,
    "amplification": lambda r: r.amplification,
}


# What is looked up for the rows that are shown, and for all only if they are sorted by it.
BESIDE_SORTS = ("trend", "contract")


@dataclass(frozen=True, slots=True)
class Beside:
    """What stands beside the counts of some tools: failures over time, how much their errors say, and of which there is an alarm."""

    trends: Mapping[tool_queries.Tool, Sequence[int | None]]
    contracts: Mapping[tool_queries.Tool, ContractQuality]
    stormed: frozenset[tuple[str, str | None]]
    suspected: frozenset[tool_queries.Tool]

    def storms(self, tool: queries.ToolTally) -> bool:
        """Whether retries of a tool, or all over its server, were a storm in the range."""
        return not self.stormed.isdisjoint({(tool.server, tool.tool), (tool.server, None)})

    def rising(self, tool: queries.ToolTally) -> int:
        """How many more failures the later half of the range has than the earlier one."""
        counts = [failures or 0 for failures in self.trends[tool.server, tool.tool]]
        return sum(counts[len(counts) // 2 :]) - sum(counts[: len(counts) // 2])

    def silence(self, tool: queries.ToolTally) -> float:
        """How much the errors of a tool do not say, 0 to 1; -1 where it is not known."""
        quality = self.contracts.get((tool.server, tool.tool))
        return -1.0 if quality is None or quality.share is None else 1 - quality.share


def beside(connection: Connection, question: Filter, now_ns: int, tools: Sequence[queries.ToolTally]) -> Beside:
    """What stands beside the counts of some tools."""
    places = [(tool.server, tool.tool) for tool in tools]
    marks = suppression_queries.by_design(connection, now_ns)
    suspects = suppression_queries.suspects(connection, question, marks)
    return Beside(
        tool_queries.trends(connection, question, places),
        suppression_queries.contracts_of(connection, question, places),
        alert_queries.stormed(connection, question),
        frozenset((one.server, one.tool) for one in suspects if one.by_design is None),
    )


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools in the order asked for; `total` is their sum. `before` are tools of the period before, if it is compared with."""

    total: Tally
    tools: tuple[queries.ToolTally, ...]
    quiet: tuple[tool_queries.SeenTool, ...]
    new: frozenset[tool_queries.Tool]
    before: dict[tool_queries.Tool, Tally]
    retries: Mapping[tool_queries.Tool, Retries]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The tools as JSON and CSV have them."""
        return [
            {"server": tool.server, "tool": tool.tool, **tool.tally.record(), **tool.times.record(), **self._operations(tool)}
            for tool in self.tools
        ]

    def _operations(self, tool: queries.ToolTally) -> dict[str, Any]:
        found = self.retries.get((tool.server, tool.tool), Retries())
        ratios = {name: getattr(found, name).value for name in ("operation_success", "retry_success_rate", "amplification")}
        return {"operations": found.operations, "retries": found.retries, **ratios}

    def record(self, question: Filter) -> dict[str, Any]:
        """As JSON; times in nanoseconds, ratios from 0 to 1 or null."""
        return {
            "from_ns": question.from_ns,
            "to_ns": question.to_ns,
            "total": self.total.record(),
            "tools": self.rows,
            "quiet": self.quiet,
        }


def read(connection: Connection, question: Filter, now_ns: int, sort: str, ascending: bool) -> Tools:
    """Everything on the page, of one snapshot."""
    times = queries.durations(connection, question, ("server", "tool"))
    tools = tuple(
        replace(tool, times=queries.percentiles_of(tool.tally, times.get((tool.server, tool.tool), b"")))
        for tool in queries.by_tool(connection, question)
    )
    before = queries.by_tool(connection, question.before()) if question.compare else ()
    present = [(tool.server, tool.tool) for tool in tools]
    last = tool_queries.last_before(connection, question)
    retries: Mapping[tool_queries.Tool, Retries] = {}
    # An operation has calls of several kinds: under a filter by them nothing is said of operations.
    if not set(question.active) & set(KIND_NAMES):
        retries = retry_queries.by_tool(connection, question, now_ns)

    around = beside(connection, question, now_ns, tools) if sort in BESIDE_SORTS else None

    def by(tool: queries.ToolTally) -> Any:
        if around is not None:
            return around.rising(tool) if sort == "trend" else around.silence(tool)
        retried = RETRY_SORTS.get(sort)
        return SORTS[sort](tool) if retried is None else _share(retried(retries.get((tool.server, tool.tool), Retries())))

    return Tools(
        sum((tool.tally for tool in tools), Tally()),
        tuple(sorted(tools, key=by, reverse=not ascending)),
        tool_queries.quiet_tools(last, present, question.from_ns),
        tool_queries.new_tools(last, present),
        {(tool.server, tool.tool): tool.tally for tool in before},
        retries,
    )


def _order(request: Request) -> tuple[str, bool]:
    asked = request.query_params.get("sort") or "impact"
    sort, ascending = asked.removeprefix("-"), not asked.startswith("-")
    if sort not in (known := (*SORTS, *RETRY_SORTS, *BESIDE_SORTS)):
        raise FilterError([f"“sort” is one of {', '.join(known)}, turned round by a - before it."])
    # Without a sign each column starts with its interesting end: names from A, numbers from the largest.
    return sort, ascending if sort == "tool" else not ascending


@router.get("/tools", include_in_schema=False)
def tools_page(request: Request, site: TheSite) -> Response:
    """The page; with `all` the full list, a page at a time."""
    now_ns = site.clock()
    question = ask(site, request, now_ns, "sort", "all", "page")
    sort, ascending = _order(request)
    everything = bool(request.query_params.get("all"))
    number = whole_number(request, "page", 1, 100_000)
    with queries.snapshot(site.engine) as connection:
        around = frame(site, connection, request, question, now_ns)
        data = read(connection, question, now_ns, sort, ascending)
        first = (number - 1) * A_PAGE if everything else 0
        shown = data.tools[first : first + A_PAGE] if everything else data.tools[:FOLDED_AT]
        around_shown = beside(connection, question, now_ns, shown)
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
        keep={"sort": request.query_params.get("sort") or "", "all": "1" if everything else ""},
        beside=around_shown,
        other=OTHER_TOOLS,
        **around,
    )


@router.get("/api/v1/tools", tags=["read"])
def tools_json(request: Request, site: TheSite) -> Response:
    """Counts of outcomes, emptiness and categories a tool, with ratios (null for 0 of 0); `format=csv` for a table."""
    now_ns = site.clock()
    question = ask(site, request, now_ns, "sort")
    sort, ascending = _order(request)
    to_csv = wants_csv(request)
    with queries.snapshot(site.engine) as connection:
        data = read(connection, question, now_ns, sort, ascending)
    if to_csv:
        header = ["server", "tool", *Tally().record(), *UNKNOWN.record(), *OPERATIONS]
        return as_csv("tools", header, ([row[name] for name in header] for row in data.rows))
    return as_json(data.record(question))
