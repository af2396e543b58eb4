"""Every SQL statement that a weekly review counts by: rollups of whole quarters of an hour, sessions by index, alerts; reads only."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, Connection, Engine, Row, case, cast, func, select

from collector.alert_store import read_alert
from collector.series import GRAIN, Series, series_after
from collector.statements import table
from schemas.alert_tables import AlertRow
from schemas.alerting import Alert
from schemas.retry_tables import RetryRollupRow
from schemas.rollups import GRAINS, QUARTER_S, RETRY_GRAINS, SECOND_NS, WIDTHS_S, Piece
from schemas.tables import CallRow, PendingBucketRow, PendingTraceRow, RollupRow, SeriesRow

QUARTER_NS = QUARTER_S * SECOND_NS
RETRY_SUMS = ("attempts", "retries", "wasted", "missed", "failed_last", "headless")
# The coarsest grain, of kinds alone: whether anything changed.
TOTALS = len(GRAINS) - 1
# Of a tool that has more calls than are looked at, those at the end of each of so many parts of the stretch.
PARTS = 7


class SessionSum(NamedTuple):
    """Calls of a tool by one session (by one trace, for calls without), those of a part of a week."""

    session: str | None
    trace_id: bytes | None
    failures: int
    completed: int
    empty: int
    known: int
    retries: int
    calls: int


def quarters(from_ns: int, to_ns: int) -> tuple[Piece, ...]:
    """All quarters of an hour that a stretch touches, as the fewest buckets. Minutes are not kept for long enough."""
    return _covered(from_ns - from_ns % QUARTER_NS, to_ns + -to_ns % QUARTER_NS, WIDTHS_S[-1])


def _covered(from_ns: int, to_ns: int, widest_s: int) -> tuple[Piece, ...]:
    for width_s in (one for one in reversed(WIDTHS_S) if QUARTER_S <= one <= widest_s):
        width_ns = width_s * SECOND_NS
        first, last = from_ns + -from_ns % width_ns, to_ns - to_ns % width_ns
        if first < last:
            return (*_covered(from_ns, first, width_s), Piece(width_s, first, last), *_covered(last, to_ns, width_s))
    return ()


class ReviewCounts:
    """The database as reviews count it. Safe to share between threads."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def series(self) -> dict[int, Series]:
        """What the rows of each series count."""
        with self._reading() as connection:
            return {one.id: one for one in series_after(connection, 0)}

    def call_sums(self, pieces: Iterable[Piece]) -> list[tuple[int, int]]:
        """(series, calls) of some buckets; a series may come several times."""
        return self._sums(RollupRow, ("calls",), pieces, GRAIN)

    def retry_sums(self, pieces: Iterable[Piece]) -> list[tuple[int, ...]]:
        """(series, *RETRY_SUMS) of some buckets; a series may come several times."""
        return self._sums(RetryRollupRow, RETRY_SUMS, pieces, GRAIN)

    def totals(self, pieces: Sequence[Piece]) -> dict[str, int]:
        """What was counted in all, by few rows: where it changes, so did the numbers of a review."""
        series = table(SeriesRow).c
        found: dict[str, int] = {}
        with self._reading() as connection:
            kinds = select(series.id, series.outcome, series.emptiness, series.category).where(series.grain == TOTALS)
            names = {row.id: f"{row.outcome} {row.category or row.emptiness}" for row in connection.execute(kinds)}
        for series_id, calls in self._sums(RollupRow, ("calls",), pieces, TOTALS):
            found[names[series_id]] = found.get(names[series_id], 0) + calls
        for _, *sums in self._sums(RetryRollupRow, RETRY_SUMS, pieces, _retry_grain()):
            for name, value in zip(RETRY_SUMS, sums, strict=True):
                found[name] = found.get(name, 0) + value
        return dict(sorted(found.items()))

    def quarters_with_calls(self, from_ns: int, to_ns: int) -> int:
        """In how many quarters of an hour anything was called."""
        rollup = table(RollupRow).c
        within = (rollup.grain == TOTALS, rollup.width_s == QUARTER_S, rollup.bucket_ns >= from_ns, rollup.bucket_ns < to_ns)
        with self._reading() as connection:
            return int(connection.execute(select(func.count(rollup.bucket_ns.distinct())).where(*within)).scalar_one())

    def first_bucket(self) -> int | None:
        """When the first day begins that anything was counted of."""
        rollup = table(RollupRow).c
        # By the key: the first row of the widest buckets.
        query = select(func.min(rollup.bucket_ns)).where(rollup.grain == TOTALS, rollup.width_s == WIDTHS_S[-1])
        with self._reading() as connection:
            found: int | None = connection.execute(query).scalar()
        return found

    def sessions(self, server: str, tool: str, from_ns: int, to_ns: int, calls: int, most: int) -> list[SessionSum]:
        """Calls of a tool by session, of a tool with so many `calls` in the stretch; of at `most` so many of them, spread over it."""
        parts = PARTS if calls > most else 1
        edges = [from_ns + (to_ns - from_ns) * place // parts for place in range(parts + 1)]
        limit = most // parts
        found: list[SessionSum] = []
        with self._reading() as connection:
            for start, end in pairwise(edges):
                found.extend(map(SessionSum._make, connection.execute(_sessions(server, tool, start, end, limit)).all()))
        return found

    def alerts(self, from_ns: int, to_ns: int) -> list[Alert]:
        """Alerts that fired before the end of a stretch and were not over before its beginning."""
        alert = table(AlertRow)
        fired = (alert.c.fired_ns < to_ns, alert.c.fired_ns.is_not(None))
        lasting = select(alert).where(*fired, alert.c.resolved_ns.is_(None))
        ended = select(alert).where(*fired, alert.c.resolved_ns > from_ns)
        with self._reading() as connection:
            rows: list[Row[Any]] = [*connection.execute(lasting), *connection.execute(ended)]
        return sorted(map(read_alert, rows), key=lambda one: (one.fired_ns or 0, one.id))

    def waiting(self) -> int:
        """Traces and minutes that are not counted yet."""
        with self._reading() as connection:
            return sum(
                int(connection.execute(select(func.count()).select_from(table(model))).scalar_one())
                for model in (PendingTraceRow, PendingBucketRow)
            )

    def _sums(self, model: Any, names: Sequence[str], pieces: Iterable[Piece], grain: int) -> list[Any]:
        rows = table(model).c
        found: list[tuple[int, ...]] = []
        with self._reading() as connection:
            for piece in pieces:
                within = (rows.grain == grain, rows.width_s == piece.width_s, rows.bucket_ns >= piece.from_ns, rows.bucket_ns < piece.to_ns)
                # A sum of PostgreSQL is a Decimal unless it is told otherwise.
                sums = (cast(func.sum(rows[name]), BigInteger) for name in names)
                found.extend(map(tuple, connection.execute(select(rows.series_id, *sums).where(*within).group_by(rows.series_id))))
        return found

    def _reading(self) -> Connection:
        return self._engine.connect().execution_options(read_only=True)


def _retry_grain() -> int:
    return min(range(len(RETRY_GRAINS)), key=lambda grain: len(RETRY_GRAINS[grain]))


def _sessions(server: str, tool: str, from_ns: int, to_ns: int, limit: int) -> Any:
    call = table(CallRow).c
    within = (call.tool == tool, call.server == server, call.start_ns >= from_ns, call.start_ns < to_ns)
    some = (
        select(call.session, call.trace_id, call.outcome, call.emptiness, call.link)
        .where(*within)
        .order_by(call.start_ns.desc())
        .limit(limit)
        .subquery()
        .c
    )

    def count(condition: Any) -> Any:
        return func.count(case((condition, 1)))

    alone = case((some.session.is_(None), some.trace_id))
    return select(
        some.session,
        alone.label("alone"),
        count(some.outcome == "failure"),
        count(some.outcome.in_(("success", "partial", "failure"))),
        count((some.outcome == "success") & (some.emptiness == "empty")),
        count((some.outcome == "success") & some.emptiness.in_(("data", "empty"))),
        count(some.link == "retry"),
        func.count(),
    ).group_by(some.session, alone)
