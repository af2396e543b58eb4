"""Every SQL statement over rollups: what tiles, charts and tables count (calls: call_queries.py, intake: health_queries.py)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, Table, func, select
from sqlmodel import SQLModel

from dashboard.filters import DAY_NS, MINUTE_NS, ROLLUP_NAMES, Filter
from dashboard.tally import Cell, Tally, tally
from schemas import tables  # noqa: F401 - declares the tables in the metadata

ROLLUP: Table = SQLModel.metadata.tables["rollup"]

# Most names that a filter offers; others can be typed.
MOST_NAMES = 200
# Bars of a chart at most, and the widths that clocks have.
MOST_BUCKETS = 120
WIDTHS_NS = tuple(n * MINUTE_NS for n in (1, 2, 5, 15, 30, 60, 120, 360, 720, 1440, 10080))


@dataclass(frozen=True, slots=True)
class Bucket:
    """The calls that start in one bucket of a chart; buckets without calls have none."""

    bucket_ns: int
    tally: Tally


@dataclass(frozen=True, slots=True)
class ToolTally:
    """The calls of one tool."""

    server: str
    tool: str
    tally: Tally


@dataclass(frozen=True, slots=True)
class SeenTool:
    """A tool without calls in the range, and the minute of its last call before it."""

    server: str
    tool: str
    last_ns: int


@contextmanager
def snapshot(engine: Engine) -> Iterator[Connection]:
    """A read-only connection whose statements all see the same moment, so that the numbers of a page agree."""
    options: dict[str, Any] = {"read_only": True}
    if engine.dialect.name == "postgresql":
        options |= {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    with engine.connect() as connection:
        yield connection.execution_options(**options)


def tier(question: Filter) -> Table:
    """The rollup table that answers a question: the one place to choose a coarser one for long ranges."""
    return ROLLUP


def bucket_width(question: Filter) -> int:
    """Width in nanoseconds of the bars of a chart: the smallest that gives at most MOST_BUCKETS."""
    # Whole minutes at both ends make a range of an hour up to two minutes longer.
    length = question.span_ns - 2 * MINUTE_NS
    return next((width for width in WIDTHS_NS if length <= width * MOST_BUCKETS), WIDTHS_NS[-1])


def matching(question: Filter, table: Table) -> list[ColumnElement[bool]]:
    """The conditions of a question on a rollup table; the time comes first, because it leads the primary key."""
    conditions = [table.c.bucket_ns >= question.from_ns, table.c.bucket_ns < question.to_ns]
    values = ((name, getattr(question, name)) for name in ROLLUP_NAMES)
    return conditions + [table.c[name] == value for name, value in values if value is not None]


def _tallies(connection: Connection, question: Filter, keys: Sequence[ColumnElement[Any]]) -> dict[tuple[Any, ...], Tally]:
    table = tier(question)
    kinds = (table.c.outcome, table.c.emptiness, table.c.category, table.c.retryable)
    sums = (
        func.sum(table.c.calls),
        func.sum(table.c.timed),
        func.sum(table.c.duration_sum_ns),
        func.max(table.c.duration_max_ns),
        func.max(table.c.bucket_ns),
    )
    labelled = [key.label(f"key_{i}") for i, key in enumerate(keys)]
    statement = select(*labelled, *kinds, *sums).where(*matching(question, table)).group_by(*labelled, *kinds)
    cells: dict[tuple[Any, ...], list[Cell]] = defaultdict(list)
    for row in connection.execute(statement):
        at = len(keys)
        # PostgreSQL sums integers to decimals.
        cells[tuple(row[:at])].append(Cell(*row[at : at + 4], *(int(value) for value in row[at + 4 :])))
    return {key: tally(group) for key, group in cells.items()}


def total(connection: Connection, question: Filter) -> Tally:
    """All calls that match."""
    return _tallies(connection, question, ()).get((), Tally())


def over_time(connection: Connection, question: Filter) -> tuple[Bucket, ...]:
    """The matching calls by time, in buckets of `bucket_width`, in order; buckets without calls are left out."""
    width = bucket_width(question)
    start = ROLLUP.c.bucket_ns - ROLLUP.c.bucket_ns % width
    found = _tallies(connection, question, (start,))
    return tuple(Bucket(int(key[0]), value) for key, value in sorted(found.items()))


def by_tool(connection: Connection, question: Filter) -> tuple[ToolTally, ...]:
    """The matching calls by server and tool, those with the surest failures first, then by calls and name."""
    table = tier(question)
    found = _tallies(connection, question, (table.c.server, table.c.tool))
    tools = (ToolTally(server, tool, value) for (server, tool), value in found.items())
    return tuple(sorted(tools, key=lambda t: (-t.tally.impact, -t.tally.calls, t.server, t.tool)))


def by_client(connection: Connection, question: Filter) -> tuple[tuple[str, Tally], ...]:
    """The matching calls by client, most calls first."""
    found = _tallies(connection, question, (tier(question).c.client,))
    return tuple(sorted(((key[0], value) for key, value in found.items()), key=lambda pair: (-pair[1].calls, pair[0])))


def quiet_tools(connection: Connection, question: Filter, present: Iterable[tuple[str, str]]) -> tuple[SeenTool, ...]:
    """Tools that called in the day before the range but not in it (`present`), latest first; they read 'no calls', never 0 %."""
    earlier = question.but(outcome=None, emptiness=None, category=None, retryable=None, channel=None)
    table = tier(question)
    conditions = matching(earlier, table)
    conditions[:2] = [table.c.bucket_ns >= question.from_ns - DAY_NS, table.c.bucket_ns < question.from_ns]
    statement = select(table.c.server, table.c.tool, func.max(table.c.bucket_ns)).where(*conditions).group_by(table.c.server, table.c.tool)
    here = set(present)
    seen = (SeenTool(*row) for row in connection.execute(statement) if (row[0], row[1]) not in here)
    return tuple(sorted(seen, key=lambda tool: (-tool.last_ns, tool.server, tool.tool)))


def names(connection: Connection, question: Filter) -> dict[str, tuple[str, ...]]:
    """What the filters offer: values of environment, server, client and tool in the last day of the range, most calls first."""
    table = tier(question)
    dimensions = (table.c.environment, table.c.server, table.c.client, table.c.tool)
    statement = (
        select(*dimensions, func.sum(table.c.calls))
        .where(table.c.bucket_ns >= max(question.from_ns, question.to_ns - DAY_NS), table.c.bucket_ns < question.to_ns)
        .group_by(*dimensions)
    )
    counts: dict[str, dict[str, int]] = {column.name: defaultdict(int) for column in dimensions}
    for row in connection.execute(statement):
        for name, value in zip(counts, row[:4], strict=True):
            counts[name][value] += int(row[4])
    return {name: tuple(sorted(sorted(values), key=values.__getitem__, reverse=True)[:MOST_NAMES]) for name, values in counts.items()}
