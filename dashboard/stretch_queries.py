"""SQL that finds the minutes which hold the latest matching calls, so that a list of rare calls reads only those."""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from sqlalchemy import BigInteger, ColumnElement, Connection, Table, column, func, select, text

from dashboard import queries
from dashboard.filters import Filter
from dashboard.queries import ROLLUP, SERIES
from schemas.rollups import GRAINS, KINDS, OTHER_TOOLS, SECOND_NS, WIDTHS_S, cover, grain_of

Stretch = tuple[int, int]


class Held(NamedTuple):
    """What stretches hold: a sum over columns of a table of counts, the dimensions that it needs, and those of its series that count."""

    table: Table
    rows: ColumnElement[int]
    dimensions: Sequence[str]
    grains: Sequence[tuple[str, ...]] = GRAINS
    series: ColumnElement[bool] | None = None


CALLS = Held(ROLLUP, ROLLUP.c.calls, KINDS)


def holding(connection: Connection, question: Filter, enough: int, held: Held = CALLS) -> list[Stretch]:
    """The latest stretches that together hold so many matching calls: minutes, or quarters of an hour where minutes are gone."""
    grain = grain_of({*held.dimensions, *queries.filtered(question)}, held.grains)
    counted = held.table.c
    of_series = queries.series(question.but(tool=None), grain)(held.table)
    if question.tool is not None:
        named = select(SERIES.c.id).where(SERIES.c.grain == grain, SERIES.c.tool.in_([question.tool, OTHER_TOOLS]))
        of_series.append(counted.series_id.in_(named))
    if held.series is not None:
        of_series.append(counted.series_id.in_(select(SERIES.c.id).where(SERIES.c.grain == grain, held.series)))

    def latest(stretches: Sequence[Stretch], width_s: int) -> list[tuple[int, int, int]]:
        start_ns, end_ns = as_table(stretches)
        found = (
            select(counted.bucket_ns, func.sum(held.rows))
            .where(counted.grain == grain, counted.width_s == width_s, *of_series)
            .where(counted.bucket_ns >= start_ns, counted.bucket_ns < end_ns)
            .group_by(counted.bucket_ns)
        )
        return [(bucket_ns, width_s, int(calls)) for bucket_ns, calls in connection.execute(found) if calls]

    pieces = cover(question.from_ns, question.to_ns)
    buckets: list[tuple[int, int, int]] = []
    for width_s in WIDTHS_S:
        if of_width := [(piece.from_ns, piece.to_ns) for piece in pieces if piece.width_s == width_s]:
            buckets += latest(of_width, width_s)
    for narrow_s, wide_s in reversed(tuple(pairwise(WIDTHS_S))):
        buckets = _until(sorted(buckets, reverse=True), enough)
        split = [(start, start + width_s * SECOND_NS) for start, width_s, _ in buckets if width_s == wide_s]
        parts = latest(split, narrow_s) if split else []
        there = {start - start % (wide_s * SECOND_NS) for start, _, _ in parts}
        buckets = [one for one in buckets if one[1] != wide_s or one[0] not in there] + parts
    return [(start, start + width_s * SECOND_NS) for start, width_s, _ in _until(sorted(buckets, reverse=True), enough)]


def _until(buckets: Sequence[tuple[int, int, int]], enough: int) -> list[tuple[int, int, int]]:
    """The first buckets that together hold so many calls."""
    counts = accumulate(calls for _, _, calls in buckets)
    return [one for one, so_far in zip(buckets, counts, strict=True) if so_far - one[2] < enough]


def as_table(stretches: Sequence[Stretch]) -> tuple[ColumnElement[int], ColumnElement[int]]:
    """Stretches as a table of a statement, neighbours joined: its columns of starts and of ends."""
    joined: list[Stretch] = []
    for start, end in sorted(stretches):
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    # As text: hundreds of parameters cost more to write down than the statement takes to run.
    given = ", ".join(f"({start:d}, {end:d})" for start, end in joined)
    made = (
        text(f"SELECT column1 AS start_ns, column2 AS end_ns FROM (VALUES {given}) AS given")
        .columns(column("start_ns", BigInteger), column("end_ns", BigInteger))
        .cte("stretch")
    )
    return made.c.start_ns, made.c.end_ns
