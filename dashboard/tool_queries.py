"""SQL over rollups for the list of tools: how each went over time, which are new, which fell silent, and the names that are folded."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection, Table, func, select
from sqlmodel import SQLModel

from dashboard.filters import KIND_NAMES, Filter
from dashboard.moments import DAY_NS
from dashboard.queries import ROLLUP, SERIES, filtered, rows
from dashboard.tally import COMPLETED
from dashboard.time_axis import WIDTHS_NS
from schemas.rollups import WIDTHS_S, grain_of, widest_in

TOOL_NAME: Table = SQLModel.metadata.tables["tool_name"]

# Points of a trend at most, days that a tool must have been silent to be new, and folded names that a page lists.
MOST_POINTS = 32
NEW_AFTER_DAYS = 7
MOST_FOLDED = 500

Tool = tuple[str, str]


@dataclass(frozen=True, slots=True)
class SeenTool:
    """A tool without calls in the range, and the start of its last call before it."""

    server: str
    tool: str
    last_ns: int


@dataclass(frozen=True, slots=True)
class FoldedName:
    """A tool name that rollups count as `(other)`, and when it was first called in the range."""

    tool: str
    first_ns: int


def trends(connection: Connection, question: Filter, tools: Sequence[Tool]) -> Mapping[Tool, list[int | None]]:
    """Failures over time of some tools, evenly spaced; None where no call completed."""
    width = next((one for one in WIDTHS_NS if question.span_ns <= one * (MOST_POINTS - 1)), WIDTHS_NS[-1])
    grain = grain_of({"server", "tool", *KIND_NAMES[:-1], *filtered(question)})
    columns = (SERIES.c.id, SERIES.c.server, SERIES.c.tool, SERIES.c.outcome, SERIES.c.category)
    named = SERIES.c.tool.in_(sorted({tool for _, tool in tools}))
    wanted = select(*columns).where(SERIES.c.grain == grain, named, SERIES.c.outcome.in_(sorted(COMPLETED)))
    shown = set(tools)
    series = {
        row.id: ((row.server, row.tool), row.outcome == "failure" and question.category in (None, row.category))
        for row in connection.execute(wanted)
        if (row.server, row.tool) in shown
    }
    part = rows(ROLLUP, question.but(**dict.fromkeys(KIND_NAMES)), grain, widest_in(width), ("bucket_ns", "calls")).subquery().c
    bar = part.bucket_ns - part.bucket_ns % width
    # Summed by series, not by tool: to group texts is ten times as slow.
    counts = select(part.series_id, bar, func.sum(part.calls)).group_by(part.series_id, bar)
    found: dict[Tool, dict[int, int]] = {tool: {} for tool in tools}
    for series_id, bar_ns, calls in connection.execute(counts).all():
        if series_id in series:
            tool, failed = series[series_id]
            points = found[tool]
            points[bar_ns] = points.get(bar_ns, 0) + (int(calls) if failed else 0)
    starts = range(question.from_ns - question.from_ns % width, question.to_ns, width)
    return {tool: [points.get(start) for start in starts] for tool, points in found.items()}


def last_before(connection: Connection, question: Filter) -> dict[Tool, int]:
    """The tools that were called in the week before the range, and when last."""
    earlier = replace(
        question.but(**dict.fromkeys(KIND_NAMES)),
        from_ns=max(0, question.from_ns - NEW_AFTER_DAYS * DAY_NS),
        to_ns=question.from_ns,
        preset=None,
    )
    grain = grain_of({"server", "tool", *filtered(earlier)})
    part = rows(ROLLUP, earlier, grain, WIDTHS_S[-1], ("last_ns",)).subquery().c
    latest = select(part.series_id, func.max(part.last_ns).label("last_ns")).group_by(part.series_id).subquery().c
    statement = select(SERIES.c.server, SERIES.c.tool, latest.last_ns).where(SERIES.c.id == latest.series_id)
    found: dict[Tool, int] = {}
    for server, tool, last_ns in connection.execute(statement):
        found[server, tool] = max(last_ns, found.get((server, tool), 0))
    return found


def quiet_tools(before: Mapping[Tool, int], present: Iterable[Tool], from_ns: int) -> tuple[SeenTool, ...]:
    """Tools that were called in the day before the range but not in it, latest first; they read 'no calls', never 0 %."""
    here = set(present)
    seen = (
        SeenTool(server, tool, last_ns)
        for (server, tool), last_ns in before.items()
        if (server, tool) not in here and last_ns >= from_ns - DAY_NS
    )
    return tuple(sorted(seen, key=lambda tool: (-tool.last_ns, tool.server, tool.tool)))


def new_tools(before: Mapping[Tool, int], present: Iterable[Tool]) -> frozenset[Tool]:
    """Tools that were not called in the week before the range. None is new where that week holds no call at all."""
    return frozenset(tool for tool in present if tool not in before) if before else frozenset()


def folded_names(connection: Connection, question: Filter) -> tuple[FoldedName, ...]:
    """The names of a server's tools that are counted as `(other)`, in the order of the days they were called on."""
    statement = (
        select(TOOL_NAME.c.tool, func.min(TOOL_NAME.c.first_ns))
        .where(
            TOOL_NAME.c.day_ns >= question.from_ns - question.from_ns % DAY_NS,
            TOOL_NAME.c.day_ns < question.to_ns,
            TOOL_NAME.c.server == question.server,
            TOOL_NAME.c.named.is_(False),
        )
        .group_by(TOOL_NAME.c.tool)
        .order_by(func.min(TOOL_NAME.c.first_ns), TOOL_NAME.c.tool)
        .limit(MOST_FOLDED)
    )
    return tuple(FoldedName(*row) for row in connection.execute(statement))
