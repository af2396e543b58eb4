"""Every SQL statement that alerting measures by: sums of rollups, and what is behind a suspicion, each by index and bounded; reads only."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, Connection, Engine, cast, func, select

from collector.statements import chunks, table
from schemas.retry_tables import ChainRow, RetryRollupRow
from schemas.rollups import MINUTE_S, SECOND_NS, Piece
from schemas.tables import CallRow, RollupRow, SeriesRow

# The grain that keeps tools apart, but not clients.
GRAIN = 1
MINUTE_NS = MINUTE_S * SECOND_NS
RETRY_SUMS = ("attempts", "failures", "retries", "wasted", "failed_last", "headless")
# How many calls are looked at behind one suspicion, and how many suspicions at once.
CALLS_BEHIND = 1_000
SUSPECTS = 200
# Of a session, the last so many calls: a loop that is longer is long enough.
STEPS = 200


class Series(NamedTuple):
    """What the rows of a series count."""

    id: int
    environment: str
    server: str
    tool: str
    outcome: str
    emptiness: str
    category: str
    retryable: str


class Behind(NamedTuple):
    """One call behind a suspicion."""

    trace_id: bytes
    call_id: bytes
    start_ns: int
    session: str | None
    outcome: str
    category: str | None
    channel: str | None
    link: str | None


class SessionCall(NamedTuple):
    """One call of a session; `call` names it as addresses of pages do."""

    start_ns: int
    server: str
    tool: str
    arguments_hash: int | None
    outcome: str
    result_hash: int | None
    call: str


class Suspect(NamedTuple):
    """A session that may go round in circles."""

    session: str
    server: str
    tool: str


class AlertCounts:
    """The database as alerting measures it. Safe to share between threads."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def series_after(self, last: int) -> list[Series]:
        """The series that came after one, by id: they never change."""
        series = table(SeriesRow).c
        columns = [series[name] for name in Series._fields]
        with self._reading() as connection:
            found = connection.execute(select(*columns).where(series.id > last, series.grain == GRAIN).order_by(series.id))
            return [Series(*row) for row in found]

    def retry_sums(self, pieces: Iterable[Piece]) -> list[tuple[int, ...]]:
        """(series, *RETRY_SUMS) of some buckets; a series may come several times."""
        return self._sums(table(RetryRollupRow).c, RETRY_SUMS, pieces)

    def call_sums(self, pieces: Iterable[Piece]) -> list[tuple[int, ...]]:
        """(series, calls) of some buckets; a series may come several times."""
        return self._sums(table(RollupRow).c, ("calls",), pieces)

    def _sums(self, rows: Any, names: Sequence[str], pieces: Iterable[Piece]) -> list[tuple[int, ...]]:
        found: list[tuple[int, ...]] = []
        with self._reading() as connection:
            for piece in pieces:
                within = (rows.grain == GRAIN, rows.width_s == piece.width_s, rows.bucket_ns >= piece.from_ns, rows.bucket_ns < piece.to_ns)
                # A sum of PostgreSQL is a Decimal unless it is told otherwise.
                query = (
                    select(rows.series_id, *(cast(func.sum(rows[name]), BigInteger) for name in names))
                    .where(*within)
                    .group_by(rows.series_id)
                )
                found.extend(map(tuple, connection.execute(query)))
        return found

    def retry_minutes(self, series_ids: Sequence[int], from_ns: int, to_ns: int) -> list[tuple[int, int, int]]:
        """(bucket, retries, attempts) of some series by minute, in order; minutes without calls are left out."""
        rows = table(RetryRollupRow).c
        sums: dict[int, tuple[int, int]] = {}
        # By the key, minute for minute: the rows of all other series lie between them.
        buckets = range(from_ns - from_ns % MINUTE_NS, to_ns, MINUTE_NS)
        with self._reading() as connection:
            for some in chunks(buckets):
                for ids in chunks(series_ids):
                    query = select(rows.bucket_ns, func.sum(rows.retries), func.sum(rows.attempts)).where(
                        rows.grain == GRAIN, rows.width_s == MINUTE_S, rows.bucket_ns.in_(list(some)), rows.series_id.in_(list(ids))
                    )
                    for bucket_ns, retries, attempts in connection.execute(query.group_by(rows.bucket_ns)):
                        known = sums.get(bucket_ns, (0, 0))
                        sums[bucket_ns] = known[0] + int(retries), known[1] + int(attempts)
        return [(bucket_ns, *sums[bucket_ns]) for bucket_ns in sorted(sums)]

    def behind(self, server: str, tools: Sequence[str], from_ns: int, to_ns: int) -> list[Behind]:
        """The last calls of some tools of a server in a range, the newest first; a bounded number."""
        call = table(CallRow).c
        found: list[Behind] = []
        with self._reading() as connection:
            for tool in tools:
                within = (call.tool == tool, call.server == server, call.start_ns >= from_ns, call.start_ns <= to_ns)
                query = select(*(call[name] for name in Behind._fields)).where(*within)
                found.extend(Behind(*row) for row in connection.execute(query.order_by(call.start_ns.desc()).limit(CALLS_BEHIND)))
        return found

    def first_failure(self, server: str, tool: str, from_ns: int, to_ns: int) -> int | None:
        """When the first call of a tool failed in a range."""
        call = table(CallRow).c
        within = (call.tool == tool, call.server == server, call.start_ns >= from_ns, call.start_ns <= to_ns)
        query = select(call.start_ns).where(*within, call.outcome == "failure").order_by(call.start_ns).limit(1)
        with self._reading() as connection:
            found: int | None = connection.execute(query).scalar()
        return found

    def last_call(self, server: str, tools: Sequence[str], to_ns: int) -> int | None:
        """When one of some tools was called last."""
        call = table(CallRow).c
        last: list[int] = []
        with self._reading() as connection:
            for tool in tools:
                within = (call.tool == tool, call.server == server, call.start_ns <= to_ns)
                found = connection.execute(select(call.start_ns).where(*within).order_by(call.start_ns.desc()).limit(1)).scalar()
                last.extend([] if found is None else [found])
        return max(last, default=None)

    def looping(self, from_ns: int, now_ns: int, attempts: int) -> set[Suspect]:
        """Sessions that may loop: their operations failed so often and may go on, or they lately asked what they knew already."""
        chain, call = table(ChainRow).c, table(CallRow).c
        failing = select(chain.session, chain.server, chain.tool).where(
            chain.closes_ns >= from_ns, chain.attempts >= attempts, chain.session.is_not(None), chain.start_ns <= now_ns
        )
        # Repeats are rare, but what they lie among is not: a busy fleet is looked at in part.
        lately = (
            select(call.session, call.server, call.tool, call.link)
            .where(call.start_ns >= from_ns, call.start_ns <= now_ns)
            .order_by(call.start_ns.desc())
            .limit(20 * CALLS_BEHIND)
            .subquery()
            .c
        )
        repeating = (
            select(lately.session, lately.server, lately.tool).where(lately.link == "repeat", lately.session.is_not(None)).distinct()
        )
        with self._reading() as connection:
            found = [*connection.execute(failing.distinct().limit(SUSPECTS)), *connection.execute(repeating.limit(SUSPECTS))]
        return {Suspect(*row) for row in found}

    def steps(self, session: str, now_ns: int) -> list[SessionCall]:
        """The last calls of a session, in order of start."""
        call = table(CallRow).c
        names = (*SessionCall._fields[:-1], "trace_id", "call_id")
        query = select(*(call[name] for name in names)).where(call.session == session, call.start_ns <= now_ns)
        with self._reading() as connection:
            rows = connection.execute(query.order_by(call.start_ns.desc(), call.call_id.desc()).limit(STEPS)).all()
        return [SessionCall(row[0], row[1], row[2], row[3], row[4], row[5], call_name(row.trace_id, row.call_id)) for row in reversed(rows)]

    def heard(self, series_ids: Sequence[int], from_ns: int, to_ns: int) -> list[int]:
        """The minutes in which some series have calls, in order."""
        return [bucket_ns for bucket_ns, _, attempts in self.retry_minutes(series_ids, from_ns, to_ns) if attempts]

    def _reading(self) -> Connection:
        return self._engine.connect().execution_options(read_only=True)


def call_name(trace_id: bytes, call_id: bytes) -> str:
    """How a call is named in addresses of pages."""
    return f"{trace_id.hex()}/{call_id.hex()}"
