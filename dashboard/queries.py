"""Every SQL statement over rollups: what tiles, charts and tables count (calls: call_queries.py, intake: health_queries.py)."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, CompoundSelect, Connection, Engine, Table, func, literal, select, union_all
from sqlmodel import SQLModel

from dashboard.filters import KIND_NAMES, ROLLUP_NAMES, Filter
from dashboard.tally import Cell, Kinds, Tally, tally
from dashboard.time_axis import bucket_width
from schemas import tables  # noqa: F401 - declares the tables in the metadata
from schemas.histogram import UNKNOWN, Percentiles, percentiles
from schemas.rollups import DURATION_GRAINS, KINDS, MINUTE_S, SECOND_NS, WIDTHS_S, Piece, cover, grain_of, widest_in

ROLLUP: Table = SQLModel.metadata.tables["rollup"]
DURATION: Table = SQLModel.metadata.tables["duration"]
SERIES: Table = SQLModel.metadata.tables["series"]

# Most names that a filter offers; others can be typed.
MOST_NAMES = 200
# So many buckets of one tool are asked for one by one; of more, all rows between the first and the last are read.
SINGLE_BUCKETS = 400


@dataclass(frozen=True, slots=True)
class Bucket:
    """The calls that start in one bucket of a chart; buckets without calls have none."""

    bucket_ns: int
    tally: Tally
    times: Percentiles = UNKNOWN

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return {"bucket_ns": self.bucket_ns, **self.tally.record(), **self.times.record()}


@dataclass(frozen=True, slots=True)
class ToolTally:
    """The calls of one tool."""

    server: str
    tool: str
    tally: Tally
    times: Percentiles = UNKNOWN


@contextmanager
def snapshot(engine: Engine) -> Iterator[Connection]:
    """A read-only connection whose statements all see the same moment, so that the numbers of a page agree."""
    options: dict[str, Any] = {"read_only": True}
    if engine.dialect.name == "postgresql":
        options |= {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    with engine.connect() as connection:
        yield connection.execution_options(**options)


def rows(table: Table, question: Filter, grain: int, widest_s: int, columns: Sequence[str]) -> CompoundSelect[Any]:
    """The rows that count the matching calls, each call once: wide buckets within the range, narrower ones at its edges.

    The only place that chooses a tier. Each part is a range of the primary key; `columns` are those wanted besides `series_id`.
    """
    pieces = cover(question.from_ns, question.to_ns, widest_s) or (Piece(MINUTE_S, question.from_ns, question.to_ns),)
    wanted = series(question, grain)
    return union_all(
        *(
            select(table.c.series_id, *(table.c[name] for name in columns)).where(
                table.c.grain == grain,
                table.c.width_s == piece.width_s,
                *_buckets(table, question, piece),
                *wanted(table),
            )
            for piece in pieces
        )
    )


def _buckets(table: Table, question: Filter, piece: Piece) -> list[ColumnElement[bool]]:
    """The condition that rows are of the buckets of a piece."""
    starts = range(piece.from_ns, piece.to_ns, piece.width_s * SECOND_NS)
    if question.tool is not None and len(starts) <= SINGLE_BUCKETS:
        # One by one: between the rows of one tool lie those of all others.
        return [table.c.bucket_ns.in_(starts)]
    return [table.c.bucket_ns >= piece.from_ns, table.c.bucket_ns < piece.to_ns]


def series(question: Filter, grain: int) -> Callable[[Table], list[ColumnElement[bool]]]:
    """The condition that rows belong to the series that match, or none if all do."""
    conditions = [SERIES.c[name] == value for name in ROLLUP_NAMES if (value := getattr(question, name)) is not None]
    if not conditions:
        return lambda table: []
    found = select(SERIES.c.id).where(SERIES.c.grain == grain, *conditions).scalar_subquery()
    return lambda table: [table.c.series_id.in_(found)]


def filtered(question: Filter) -> set[str]:
    """The dimensions that a question has a condition on."""
    return {name for name in ROLLUP_NAMES if getattr(question, name) is not None}


def _tallies(
    connection: Connection, question: Filter, keys: Sequence[str], widest_s: int = WIDTHS_S[-1], bar_ns: int = 0
) -> dict[tuple[Any, ...], Tally]:
    """Tallies by dimensions, and with `bar_ns` by the start of a bar of that width before them.

    What failed is counted against all calls that completed, so filters by how calls went are applied to the sums.
    """
    grain = grain_of({*keys, *KINDS, *filtered(question)})
    places = question.but(**dict.fromkeys(KIND_NAMES))
    columns = ("bucket_ns", "calls", "last_ns", "timed", "duration_sum_us", "duration_min_ns", "duration_max_ns")
    part = rows(ROLLUP, places, grain, widest_s, columns).subquery().c
    by = [part.series_id, *([(part.bucket_ns - part.bucket_ns % bar_ns).label("bar_ns")] if bar_ns else [])]
    # Whole numbers first: to group texts is ten times as slow.
    sums = (
        select(
            *by,
            func.sum(part.calls).label("calls"),
            func.sum(part.timed).label("timed"),
            func.sum(part.duration_sum_us).label("sum_us"),
            func.min(part.duration_min_ns).label("min_ns"),
            func.max(part.duration_max_ns).label("max_ns"),
            func.max(part.last_ns).label("last_ns"),
        )
        .group_by(*by)
        .subquery()
        .c
    )
    key = [*([sums.bar_ns] if bar_ns else []), *(SERIES.c[name] for name in keys)]
    measures = (sums.calls, sums.timed, sums.sum_us, sums.min_ns, sums.max_ns, sums.last_ns)
    statement = select(*key, *(SERIES.c[name] for name in KINDS), *measures, SERIES.c.channel).where(SERIES.c.id == sums.series_id)
    cells: dict[tuple[Any, ...], list[Cell]] = defaultdict(list)
    at = len(key)
    for row in connection.execute(statement).all():
        # PostgreSQL sums integers to decimals.
        numbers = (None if value is None else int(value) for value in row[at + 4 : -1])
        values: tuple[Any, ...] = (*row[at : at + 4], *numbers, row[-1])
        cells[tuple(row[:at])].append(Cell(*values))
    kinds = Kinds(**{name: getattr(question, name) for name in KIND_NAMES})
    return {key: tally(group, kinds) for key, group in cells.items()}


def total(connection: Connection, question: Filter) -> Tally:
    """All calls that match."""
    return _tallies(connection, question, ()).get((), Tally())


def over_time(connection: Connection, question: Filter) -> tuple[Bucket, ...]:
    """The matching calls by time, in buckets of `bucket_width`, in order; buckets without calls are left out."""
    width = bucket_width(question)
    found = _tallies(connection, question, (), widest_in(width), width)
    return tuple(Bucket(int(key[0]), value) for key, value in sorted(found.items()) if value.calls or value.completed)


def wider(buckets: Iterable[Bucket], width: int) -> tuple[Bucket, ...]:
    """The same calls in buckets of a width that is a multiple of theirs."""
    sums: dict[int, Tally] = {}
    for bucket in buckets:
        start = bucket.bucket_ns - bucket.bucket_ns % width
        sums[start] = sums.get(start, Tally()) + bucket.tally
    return tuple(Bucket(start, tally) for start, tally in sums.items())


def by_tool(connection: Connection, question: Filter) -> tuple[ToolTally, ...]:
    """The matching calls by server and tool, those with the surest failures first, then by calls and name."""
    found = _tallies(connection, question, ("server", "tool"))
    tools = (ToolTally(server, tool, value) for (server, tool), value in found.items() if value.calls)
    return tuple(sorted(tools, key=lambda t: (-t.tally.impact, -t.tally.calls, t.server, t.tool)))


def by_dimensions(connection: Connection, question: Filter, names: Sequence[str]) -> dict[tuple[Any, ...], Tally]:
    """The matching calls by some dimensions."""
    return _tallies(connection, question, names)


def by_server(connection: Connection, question: Filter) -> tuple[tuple[str, Tally], ...]:
    """The matching calls by server, the one that has been silent for longest first."""
    found = _tallies(connection, question, ("server",))
    return tuple(sorted(((key[0], value) for key, value in found.items() if value.calls), key=lambda pair: (pair[1].last_ns, pair[0])))


def by_client(connection: Connection, question: Filter) -> tuple[tuple[str, Tally], ...]:
    """The matching calls by client, most calls first."""
    found = _tallies(connection, question, ("client",))
    return tuple(sorted(((key[0], value) for key, value in found.items() if value.calls), key=lambda pair: (-pair[1].calls, pair[0])))


def durations(connection: Connection, question: Filter, keys: Sequence[str], bar_ns: int = 0) -> dict[tuple[Any, ...], bytes]:
    """Packed histograms (schemas/histogram.py) of the matching calls by dimensions, with `bar_ns` by the start of a bar before them."""
    grain = min(grain_of({*keys, *filtered(question)}), max(DURATION_GRAINS))
    part = rows(DURATION, question, grain, widest_in(bar_ns) if bar_ns else WIDTHS_S[-1], ("bucket_ns", "packed")).subquery().c
    bar = part.bucket_ns - part.bucket_ns % bar_ns if bar_ns else literal(0)
    # Names are looked up once a series here: the database would repeat them on each of ten thousand rows.
    conditions = [SERIES.c[name] == value for name in ROLLUP_NAMES if (value := getattr(question, name)) is not None]
    named = select(SERIES.c.id, *(SERIES.c[name] for name in keys)).where(SERIES.c.grain == grain, *conditions)
    keys_of = {row[0]: tuple(row[1:]) for row in connection.execute(named).all()} if keys else {}
    found: dict[tuple[int, tuple[Any, ...]], list[bytes]] = defaultdict(list)
    for series_id, packed, bar_ns_at in connection.execute(select(part.series_id, part.packed, bar)).all():
        found[bar_ns_at, keys_of.get(series_id, ())].append(packed)
    return {(at, *values) if bar_ns else values: b"".join(parts) for (at, values), parts in found.items()}


def percentiles_of(tally: Tally, packed: bytes) -> Percentiles:
    """The percentiles of a tally's calls."""
    return percentiles([packed], tally.duration_min_ns, tally.duration_max_ns)


def names(connection: Connection, question: Filter) -> dict[str, tuple[str, ...]]:
    """What the filters offer: values of environment, server, client and tool in the last day of the range, most calls first."""
    last_day = question.unfiltered.last_day()
    # From a wide bucket on: which names there are is no count, and narrow buckets at the edge are most of the rows.
    last_day = replace(last_day, from_ns=last_day.from_ns - last_day.from_ns % (WIDTHS_S[-2] * SECOND_NS))
    dimensions = ("environment", "server", "client", "tool")
    counts: dict[str, dict[str, int]] = {name: defaultdict(int) for name in dimensions}
    for grain, wanted in ((grain_of(dimensions), ("client",)), (grain_of({"server", "tool"}), ("environment", "server", "tool"))):
        part = rows(ROLLUP, last_day, grain, WIDTHS_S[-1], ("calls",)).subquery().c
        sums = select(part.series_id, func.sum(part.calls).label("calls")).group_by(part.series_id).subquery().c
        statement = select(*(SERIES.c[name] for name in wanted), sums.calls).where(SERIES.c.id == sums.series_id)
        for row in connection.execute(statement).all():
            for name, value in zip(wanted, row, strict=False):
                counts[name][value] += int(row[-1])
    return {name: tuple(sorted(sorted(values), key=values.__getitem__, reverse=True)[:MOST_NAMES]) for name, values in counts.items()}
